"""What is understood of a question: its words, whose words are wanted, which time, what kind of answer."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memos.recall.understand import Question, understand

NOW = datetime(2024, 5, 15, 12, tzinfo=UTC)
PEOPLE = {"Ann": 10, "Bo Berg": 8, "小明": 5, "user": 3, "assistant": 3}


def ask(text: str, people: dict[str, int] | None = None, years: range | None = None, zone: str = "UTC") -> Question:
    return understand(text, PEOPLE if people is None else people, now=NOW, zone=zone, years=years)


@pytest.mark.parametrize(
    ("text", "speakers"),
    [
        ("What does Ann like?", {"Ann": 1.0}),
        ("what does ANN's sister like?", {"Ann": 1.0}),
        ("What did Bo say?", {"Bo Berg": 1.0}),
        ("What did Bo Berg say to Ann?", {"Bo Berg": 1.0}),
        ("Where did Ann and Bo meet?", {"Ann": 0.5, "Bo Berg": 0.5}),
        ("What do both Bo and later Ann enjoy?", {"Ann": 0.5, "Bo Berg": 0.5}),
        ("Ann & Bo?", {"Ann": 0.5, "Bo Berg": 0.5}),
        ("小明喜欢什么?", {"小明": 1.0}),
        ("小明和Ann去了哪里", {"小明": 0.5, "Ann": 0.5}),
        ("Where do I live?", {"user": 0.5}),
        ("What's my dog called?", {"user": 0.5}),
        ("我住在哪里", {"user": 0.5}),
        ("What did you recommend to me?", {"assistant": 0.5}),
        ("你推荐了什么", {"assistant": 0.5}),
        ("Where is the annex of the boat house?", {}),
        ("Where is the kayak?", {}),
        ("Where is the user guide?", {}),
    ],
)
def test_whose_words_are_wanted(text: str, speakers: dict[str, float]) -> None:
    assert dict(ask(text).speakers) == speakers


def test_without_such_speakers_nobody_is_wanted() -> None:
    assert ask("Where do I live?", {"Ann": 1}).speakers == {}
    assert ask("What did Ann say?", {}).speakers == {}


def test_names_of_speakers_are_not_searched_as_words() -> None:
    question = ask("What does Ann's kayak cost?")
    assert "ann" not in question.terms and any(t.startswith("kayak") for t in question.terms)
    assert "Ann" not in question.meaning and "kayak" in question.meaning
    assert ask("Ann").terms and ask("Ann").meaning == "Ann"


def spans(text: str, **options: object) -> list[tuple[str, str]]:
    return [(f"{w.start:%Y-%m-%d}", f"{w.end:%Y-%m-%d}") for w in ask(text, **options).spans]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What happened on 8 May 2023?", [("2023-05-08", "2023-05-09")]),
        ("What happened yesterday?", [("2024-05-14", "2024-05-15")]),
        ("What happened in June 2023?", [("2023-06-01", "2023-07-01")]),
        ("2023年5月8日发生了什么", [("2023-05-08", "2023-05-09")]),
        ("昨天发生了什么", [("2024-05-14", "2024-05-15")]),
        ("What happened?", []),
        ("What happens every Monday?", []),
    ],
)
def test_which_time_is_asked_for(text: str, expected: list[tuple[str, str]]) -> None:
    assert spans(text) == expected


def test_a_date_without_a_year_may_be_of_any_year_of_the_cube() -> None:
    assert [s[0] for s in spans("What happened on 8 May?", years=range(2021, 2024))] == [
        "2021-05-08",
        "2022-05-08",
        "2023-05-08",
    ]
    assert [s[0] for s in spans("What happened on 29 February?", years=range(2023, 2026))] == ["2024-02-29"]
    assert spans("What happened on 8 May 2020?", years=range(2021, 2024)) == [("2020-05-08", "2020-05-09")]
    assert len(spans("What happened yesterday?", years=range(2021, 2024))) == 1


def test_a_day_is_a_day_of_the_zone() -> None:
    (wanted,) = ask("What happened on 8 May 2023?", zone="Asia/Tokyo").spans
    assert wanted.start == datetime(2023, 5, 7, 15, tzinfo=UTC) and wanted.end == datetime(2023, 5, 8, 15, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "name", "when"),
    [
        ("Who gave her the kayak?", True, False),
        ("Which city did she visit?", True, False),
        ("When did she leave?", False, True),
        ("Since when does she row?", False, True),
        ("谁送了礼物", True, False),
        ("什么时候出发", False, True),
        ("Why did she leave?", False, False),
    ],
)
def test_what_kind_of_answer_is_wanted(text: str, name: bool, when: bool) -> None:
    question = ask(text)
    assert (question.asks_name, question.asks_when) == (name, when)


@settings(max_examples=150, deadline=None)
@given(
    text=st.text(max_size=80), names=st.lists(st.text(min_size=1, max_size=12).filter(lambda n: n.strip()), max_size=4)
)
def test_any_text_is_understood(text: str, names: list[str]) -> None:
    question = understand(text, dict.fromkeys(names, 1), now=NOW, years=range(2020, 2025))
    assert all(0 <= v <= 1 for v in question.speakers.values())
    assert set(question.speakers) <= set(names)
    assert all(w.start < w.end for w in question.spans)


ALSO = (("Robert Chen", "Bobby"), ("Ann", "Annie"), ("王伟", "小王", "user"))


def ask_knowing(text: str) -> Question:
    return understand(text, PEOPLE, now=NOW, aliases=ALSO)


def test_other_names_of_somebody_named_are_searched_too() -> None:
    found = ask_knowing("What did Bobby buy?")
    assert {"robert", "chen", "bobby"} <= set(found.terms) and found.terms["chen"] < found.terms["bobby"]
    assert "bobby" in ask_knowing("What did Robert Chen buy?").terms
    assert ask_knowing("What did Ann buy?").terms.keys() == ask("What did Ann buy?").terms.keys() | {"anni"}


def test_an_alias_of_a_speaker_wants_the_words_of_that_speaker() -> None:
    assert ask_knowing("What did Annie buy?").speakers == {"Ann": 1.0}
    assert ask_knowing("小王买了什么").speakers == {"user": 1.0}


def test_names_within_other_words_mean_nobody() -> None:
    assert ask_knowing("Who wears bobbysocks?").terms.keys() == ask("Who wears bobbysocks?").terms.keys()
    assert ask_knowing("Where is the user guide?").terms.keys() == ask("Where is the user guide?").terms.keys()

"""Who is spoken of, since when, how sure; what roles, context and hygiene change; and that reading never raises."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reading_cases import NOW, facts, say, shown

from memos.memory.model import Kind
from memos.reading.finding import Finding
from memos.reading.rules import read_message
from memos.reading.sense import makes_sense


def test_the_text_stands_on_its_own_in_the_third_person() -> None:
    assert [f.text for f in facts("I live in Oslo.")] == ["The user lives in Oslo."]
    assert [f.text for f in facts(say("I'm allergic to peanuts.", name="Caroline"))] == [
        "Caroline is allergic to peanuts."
    ]
    assert [f.text for f in facts("I live in Oslo.", user="alice")] == ["Alice lives in Oslo."]
    assert [f.text for f in facts("我住在奥斯陆。")] == ["用户住在奥斯陆。"]
    assert [f.text for f in facts("I always walk my dog at night.")] == ["The user always walks their dog at night."]
    assert [f.text for f in facts("I don't live in Berlin any more.")] == ["The user no longer lives in Berlin."]
    assert [f.text for f in facts("I can't eat nuts.")] == ["The user cannot eat nuts."]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("I live in Oslo.", Kind.PROFILE),
        ("I like coffee.", Kind.PREFERENCE),
        ("Remind me to call Bo tomorrow.", Kind.COMMITMENT),
        ("My desk is on floor 3.", Kind.FACT),
    ],
)
def test_the_kind_of_a_finding(text: str, kind: Kind) -> None:
    assert [f.kind for f in facts(text)] == [kind]


def test_a_name_on_the_message_is_the_subject() -> None:
    found = facts(say("I moved to Oslo. My brother lives in Paris.", name="Caroline"))
    assert [f.subject for f in found] == ["Caroline", "Caroline's brother"]


def test_a_named_assistant_speaks_for_herself() -> None:
    found = facts(say("I live in Oslo.", "assistant", "Melanie"))
    assert [(f.subject, f.text, f.said_by) for f in found] == [("Melanie", "Melanie lives in Oslo.", "assistant")]


@pytest.mark.parametrize(
    "text",
    ["I live in Oslo.", "Your name is Bob.", "I like coffee.", "我住在北京", "You live in Oslo.", "My dog Rex died."],
)
def test_an_unnamed_assistant_teaches_nothing_about_the_user(text: str) -> None:
    assert facts(say(text, "assistant")) == []


def test_an_unnamed_assistant_may_state_things() -> None:
    found = facts(say("The boiler serial is HK-902-FENNEL.", "assistant"))
    assert [(f.subject, f.value, f.said_by) for f in found] == [("boiler serial", "HK-902-FENNEL", "assistant")]


@pytest.mark.parametrize("role", ["system", "developer", "tool"])
def test_nothing_at_all_is_learned_from_other_roles(role: str) -> None:
    assert read_message(say("I live in Oslo. The boiler serial is HK-902.", role)) == ()


def test_recalled_memories_are_not_learned_again() -> None:
    text = "<memories>\n- I live in Rome.\n</memories>\nI like coffee."
    found = facts(text)
    assert shown(found) == ["likes:coffee"]
    assert text[found[0].start : found[0].end] == "I like coffee"
    assert not [f for f in read_message(say(text)) if "Rome" in f.text]


# --- time -----------------------------------------------------------------------------------------


def test_a_move_begins_at_its_date() -> None:
    (found,) = facts("I moved to Oslo last week.")
    assert (found.valid_from, found.valid_to, found.single) == (datetime(2024, 4, 29, tzinfo=UTC), None, True)
    (found,) = facts("我上周搬到上海了")
    assert found.valid_from == datetime(2024, 4, 29, tzinfo=UTC)
    (found,) = facts("我下个月搬到上海。")
    assert found.valid_from == datetime(2024, 6, 1, tzinfo=UTC)  # not yet


def test_what_is_over_ends() -> None:
    (found,) = facts("I lived in Rome until 2019.")
    assert (found.ended, found.valid_to) == (True, datetime(2020, 1, 1, tzinfo=UTC))
    (found,) = facts("I used to live in Rome.")
    assert (found.ended, found.valid_to) == (True, NOW)
    (found,) = facts("I lived in Rome from 2010 to 2014.")
    assert (found.valid_from, found.valid_to) == (datetime(2010, 1, 1, tzinfo=UTC), datetime(2015, 1, 1, tzinfo=UTC))
    (found,) = facts("I quit my job at Acme last week.")
    assert (found.ended, found.value, found.valid_to) == (True, "Acme", datetime(2024, 4, 29, tzinfo=UTC))


def test_what_goes_on_begins_at_its_since() -> None:
    (found,) = facts("I have lived in Oslo since 2016.")
    assert (found.ended, found.valid_from) == (False, datetime(2016, 1, 1, tzinfo=UTC))


def test_commitments_are_due() -> None:
    (found,) = facts("Remind me to call Bo tomorrow at 3pm.")
    assert found.due == (datetime(2024, 5, 9, 15, tzinfo=UTC), datetime(2024, 5, 9, 16, tzinfo=UTC))
    (found,) = facts("下周一我要去北京")
    assert found.due == (datetime(2024, 5, 13, tzinfo=UTC), datetime(2024, 5, 14, tzinfo=UTC))
    (found,) = facts("I plan to learn Spanish.")
    assert found.due is None


def test_events_need_a_past_date() -> None:
    found = [f for f in read_message(say("I went to a chess club yesterday.", name="Ann")) if f.kind is Kind.EVENT]
    assert [(f.text, f.valid_from) for f in found] == [
        ("Ann went to a chess club yesterday (2024-05-07).", datetime(2024, 5, 7, tzinfo=UTC))
    ]
    assert not [f for f in read_message(say("I went to a chess club.")) if f.kind is Kind.EVENT]
    assert not [f for f in read_message(say("I didn't go there yesterday.")) if f.kind is Kind.EVENT]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("And the wifi password is hunter2.", "The wifi password is hunter2."),
        ("So our gate code is 4471.", "The user's gate code is 4471."),
        ("And I live in Rome.", "The user lives in Rome."),
        ("I live at 14 Harrow Lane.", "The user lives at 14 Harrow Lane."),
        ("My new boss is Maria.", "The user has a new boss named Maria."),
        ("I started a new job as a nurse.", "The user works as a nurse."),
        ("My flight was moved to 20 May.", "The user's flight is on 20 May."),
    ],
)
def test_sentences_begin_with_their_subject(text: str, said: str) -> None:
    assert [f.text for f in facts(text)] == [said]


def test_what_somebody_is_called_is_told_in_the_language_of_the_name() -> None:
    assert [f.text for f in facts("Please call me Mara from now on.", user="marta")] == ["Marta is called Mara."]
    assert [f.text for f in facts("以后叫我悦悦就行。", user="yue")] == ["yue叫悦悦。"]


def test_a_time_of_day_alone_does_not_say_which_day() -> None:
    (found,) = facts("The flight leaves at 8:15.")
    assert (found.kind, found.due) == (Kind.FACT, None)
    (found,) = facts("The flight leaves at 8:15 on Friday.")
    assert (found.kind, found.due and found.due[0]) == (Kind.COMMITMENT, datetime(2024, 5, 10, 8, 15, tzinfo=UTC))


# --- sense ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "sensible"),
    [
        ("Bergen", True),
        ("US", True),
        ("the friends I have", True),
        ("Bergen and I'm", False),
        ("Bergen and", False),
        ("and Bergen", False),
        ("Bergen I", False),
        ("coffee and we", False),
        ("the", False),
        ("Oslo but", False),
        ("nuts and they are", False),
        ("咖啡所以", False),
        ("上海我", False),
    ],
)
def test_a_value_that_runs_into_the_next_clause_is_refused(value: str, sensible: bool) -> None:
    finding = Finding(Kind.PROFILE, f"Ann: {value}.", "Ann", "home_city", value, 0, len(value))
    assert makes_sense(finding) is sensible


# --- keys and slots -------------------------------------------------------------------------------


def key(text: str) -> str:
    (found,) = facts(text)
    return found.key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I drink oat milk.", "Oat milk is what I drink."),
        ("I live in Oslo.", "Oslo is where I live."),
        ("I'm allergic to peanuts.", "i'm allergic to Peanuts!"),
        ("My desk is on floor 9.", "My desk moved to floor 9."),
        ("My favourite colour is blue.", "Blue is my favourite colour."),
    ],
)
def test_the_same_in_other_words_has_the_same_key(one: str, other: str) -> None:
    assert key(one) == key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Locker 14 code is 2207", "Locker 15 code is 2207"),
        ("Locker 14 code is 2207", "Locker 14 code is 9913"),
        ("I can eat nuts", "I can't eat nuts"),
        ("I live in Oslo.", "I don't live in Oslo."),
        ("My height is 1.75 m.", "My height is 175 m."),
        ("I like jazz.", "I don't like jazz."),
        ("我能吃坚果", "我不能吃坚果"),
    ],
)
def test_numbers_and_negation_are_part_of_the_key(one: str, other: str) -> None:
    assert key(one) != key(other)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("My desk is on floor 3.", "Actually, my desk is on floor 9."),
        ("My desk is on floor 3.", "My desk moved to floor 9."),
        ("My exam is on 20 May at 9.", "My exam has been pushed back to 22 May."),
        ("My desk is on floor 3.", "My desk is not on floor 3 but on floor 9."),
        ("I live in Oslo.", "No, I live in Bergen."),
        ("My name is Al.", "I'm Alice."),
    ],
)
def test_a_correction_names_the_same_slot(old: str, new: str) -> None:
    (before,), (after,) = facts(old), facts(new)
    assert before.slot == after.slot
    assert before.single
    assert after.single
    assert before.key != after.key


def test_repeats_within_a_message_are_one_finding() -> None:
    assert shown(facts("I like coffee. Yes, I like coffee!")) == ["likes:coffee"]


# --- answers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "answer", "expected"),
    [
        ("What's your name?", "Alice", ["name:Alice"]),
        ("Hi! What is your name?", "It's Alice.", ["name:Alice"]),
        ("Where do you live?", "In Oslo", ["home_city:Oslo"]),
        ("Which city do you live in?", "oslo", ["home_city:oslo"]),
        ("What do you do for a living?", "I'm a nurse", ["job:nurse"]),
        ("What's your job?", "a software engineer", ["job:software engineer"]),
        ("Do you have any allergies?", "Peanuts and cats", ["allergy:Peanuts", "allergy:cats"]),
        ("你叫什么名字？", "王小明", ["name:王小明"]),
        ("你住在哪里？", "奥斯陆", ["home_city:奥斯陆"]),
        ("What's your name?", "Why?", []),
        ("What's your name?", "I'd rather not say", []),
        ("Do you have any allergies?", "No", []),
        ("Do you have any allergies?", "none that I know of", []),
        ("Where do you live?", "far away", []),
        ("What is your favourite name?", "Alice", []),
        ("Your name is nice.", "Alice", []),
        ("What's your name? Never mind.", "Alice", []),
        ("你叫什么名字？", "不告诉你", []),
    ],
)
def test_short_answers_are_read_with_their_question(question: str, answer: str, expected: list[str]) -> None:
    assert shown(facts(answer, previous=[say(question, "assistant")])) == expected


def test_nobody_answers_his_own_question() -> None:
    assert facts("Alice", previous=[say("What's your name?", "user")]) == []


# --- names ----------------------------------------------------------------------------------------


def test_names_are_entities_and_mentions() -> None:
    found = read_message(say("My friend Anna lives in Paris."))
    entities = {f.value: f.attribute for f in found if f.kind is Kind.ENTITY}
    assert entities == {"Anna": "person", "Paris": "place"}
    home = next(f for f in found if f.attribute == "home_city")
    assert [name.text for name in home.mentions] == ["Anna", "Paris"]


# --- properties -----------------------------------------------------------------------------------

PIECES = st.sampled_from(
    [
        "I ",
        "my ",
        "We ",
        "live in ",
        "Oslo",
        "don't ",
        "any more",
        ". ",
        ", ",
        "and ",
        "but ",
        "allergic to ",
        "'m ",
        "nuts",
        "last week",
        "My dog Rex ",
        "died",
        "is ",
        "floor 3",
        "“",
        "”",
        '"',
        "?",
        "我",
        "住在",
        "北京",
        "对花生",
        "过敏",
        "喜欢",
        "叫",
        "王小明",
        "，",
        "。",
        "吗",
        "remind me to ",
        "call ",
        "tomorrow",
        "favourite ",
        "book ",
        "not ",
        "always ",
        "never ",
        "used to ",
        "<memories>",
        "</memories>",
        "\n",
        "İ",
        "😀",
        "code is 2207",
        "have ",
        "quit my job",
        "gave up ",
        "coffee",
        "at 14 Harrow Lane",
        "Leeds",
        "搬家了",
        "新地址是",
        "离婚了",
        "而且",
        "two kids",
        "提醒我",
        "明天",
    ]
)


@given(
    st.lists(PIECES | st.text(max_size=6), max_size=14).map("".join),
    st.sampled_from(["user", "assistant"]),
    st.sampled_from([None, "Bo"]),
)
def test_any_text_is_read_with_true_evidence(text: str, role: str, name: str | None) -> None:
    for finding in read_message(say(text, role, name), previous=[say("What's your name?", "assistant", "X")]):
        assert 0 <= finding.start < finding.end <= len(text)
        assert finding.value
        assert finding.value in text[finding.start : finding.end]
        assert 0 < finding.confidence <= 1
        assert finding.text
        assert finding.subject
        assert finding.attribute
        if finding.due:
            assert finding.due[0] < finding.due[1]


def test_long_and_hostile_texts_stay_fast() -> None:
    for text in (
        "I live in " * 5_000,
        "my " * 20_000,
        "a" * 50_000,
        "I like a, b and " * 3_000,
        "My dog " * 5_000,
        "我" * 20_000,
        "," * 20_000,
        "\n" * 20_000,
    ):
        begin = time.perf_counter()
        read_message(say(text))
        assert time.perf_counter() - begin < 5, text[:20]

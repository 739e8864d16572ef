"""The analyzer: what of a text can be found, in every script, and that no text can hurt it."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memos.text.analysis import FRAME_WORDS, analyze, content_terms, is_stop
from memos.text.stopwords import STOP, STOPWORDS

TEXTS = st.text(max_size=80) | st.text(alphabet="aAé9-._/:@#+'’, \n茶ー한ก👍🏽\u200d\u0301\ud800🇳", max_size=60)


def finds(query: str, document: str) -> bool:
    """Whether every content term of the query is in the document."""
    wanted = analyze(query, query=True).content_terms()
    return bool(wanted) and set(wanted) <= set(analyze(document).terms)


# R085: two-character CJK words and mixed runs
@pytest.mark.parametrize(
    ("query", "document", "found"),
    [
        ("茶馆", "紫藤茶馆周五营业", True), ("周五", "紫藤茶馆周五营业", True), ("茶", "紫藤茶馆周五营业", True),
        ("Rust写", "用Rust写的调度器", True), ("rust", "用Rust写的调度器", True), ("喫茶", "東京の喫茶店", True),
        ("찻집", "서울 찻집", True),
        ("茶楼", "紫藤茶馆周五营业", False), ("馆茶", "紫藤茶馆周五营业", False), ("ｶﾌｪ", "東京のカフェ", True),
        ("𠮷野家", "昨日は𠮷野家で食べた", True),
    ],
)  # fmt: skip
def test_cjk_is_found_by_characters_and_pairs(query: str, document: str, found: bool) -> None:
    assert finds(query, document) is found


def test_a_query_uses_pairs_only_where_there_are_two_characters() -> None:
    assert analyze("茶馆很好", query=True).terms == ["茶馆", "馆很", "很好"]
    assert analyze("茶 馆", query=True).terms == ["茶", "馆"]
    assert analyze("茶馆").terms == ["茶", "茶馆", "馆"]


@pytest.mark.parametrize(
    ("text", "whole", "parts"),
    [
        ("ZX-4417", "=zx-4417", {"zx", "4417"}), ("snake_case", "=snake_case", {"snak", "cas"}),
        ("CamelCase", "=camelcase", {"camel", "cas"}),
        ("kebab-case", "=kebab-case", {"kebab", "cas"}),
        ("(foo.bar/baz.py)", "=foo.bar/baz.py", {"=baz.py", "foo", "bar", "baz", "py"}),
        ("/etc/hosts", "=/etc/hosts", {"etc", "host"}), ("E1234:", "=e1234", {"e", "1234"}),
        ("HK-902-FENNEL.", "=hk-902-fennel", {"902"}),
        ("v2.3.1", "=v2.3.1", {"2", "3", "1"}),
        ("Ann.Lee@example.com", "=ann.lee@example.com", {"=ann.lee", "=example.com", "ann", "lee"}),
        (
            "https://www.GitHub.com/a-b/c.py?x=1", "=https://www.github.com/a-b/c.py?x=1",
            {"=github.com/a-b/c.py?x=1", "=github.com", "=a-b", "=c.py", "github", "py"},
        ),
        ("`TypeError:`", "=typeerror", {"typ", "error", "typeerror"}),
        ("+1 (555) 123-4567", "15551234567", {"555", "4567"}),
        ("555-123-4567", "=555-123-4567", {"5551234567"}), ("C++", "=c++", {"c"}), ("C#", "=c#", {"c"}),
        ("node.js", "=node.js", {"js"}),
        ("iPhone", "=iphone", {"iphon"}), ("7:30pm", "=7:30pm", {"7", "30", "pm"}), ("5th", "=5th", {"5"}),
        ("1,234,567", "1234567", set()),
        ("C:\\Users\\ann", "=c:\\users\\ann", {"user", "ann"}), ("2023-05-08", "=2023-05-08", {"2023", "05", "08"}),
    ],
)  # fmt: skip
def test_identifiers_are_kept_whole_and_in_parts(text: str, whole: str, parts: set[str]) -> None:
    for written in (text, f"see {text}, please", f"“{text}”"):
        terms = analyze(written).terms
        assert whole in terms
        assert parts <= set(terms)


@pytest.mark.parametrize(
    ("query", "document"),
    [
        ("support group", "She went to the Support Groups."), ("café", "the cafe"), ("resume", "my Résumés"),
        ("Straße", "STRASSE"),
        ("alice house", "Alice’s house"), ("homme", "l’homme"), ("книга", "о книгах"), ("ΟΔΟΣ", "οδός"),
        ("４５", "45"), ("٤٥", "45"),
        ("ﬁle", "file"), ("co\u200boperate", "cooperate"), ("👍🏽", "ok 👍"), ("🇳🇴", "🇸🇪🇳🇴"),
        ("visit US", "a visit to the US"),
        ("สวัสดี", "สวัสดีครับ"), ("ទឹកដោះ", "ទឹកដោះគោ"), ("दुनिया", "नमस्ते दुनिया"), ("مكتبة", "في المكتبة مكتبه"),
        ("Łódź", "lodz"),
        ("2023", "2023年5月8日"), ("analysis.py", "see src/text/analysis.py"), ("github", "GitHub"),
        ("mcdonald", "McDonald's"),
        ("е\u0308лка", "ёлка"), ("wi-fi", "Wi-Fi"),
    ],
)  # fmt: skip
def test_other_spellings_are_found(query: str, document: str) -> None:
    assert finds(query, document)


def test_stop_words_stay_in_order_and_are_flagged() -> None:
    found = analyze("Where did the children go?")
    assert found.terms == ["where", "did", "the", "child", "go"]
    assert found.content_terms() == content_terms(found.terms) == ["child", "go"]
    assert is_stop("的")
    assert not is_stop("=us")


def test_words_of_content_are_never_stop_words() -> None:
    content = (
        "war die hat man son pour sin may march van bent ben dan come comment dove era hay ella mia bin fur uber ai os "
        "nas art gut bald main chat pain mine ill won id cans wills live home work "
        "love tell said mention cat dog car tea oslo"
    )
    lost = {word for word in content.split() if not analyze(word).content_terms()} - {"mine"}
    assert lost == set()


def test_frame_words_of_questions_are_not_stop_words() -> None:
    for word in ("tell", "said", "mention", "告诉"):
        assert set(analyze(word, query=True).terms) <= FRAME_WORDS
    assert not FRAME_WORDS & STOP


def test_every_stop_word_is_flagged_as_it_is_written() -> None:
    for language, words in STOPWORDS.items():
        missed = [word for word in words if analyze(word, query=True).content_terms()]
        assert missed == [] or language in ("zh", "ja", "ko"), (language, missed)


@given(TEXTS, st.booleans())
def test_any_text_gives_clean_terms_and_the_same_ones_again(text: str, query: bool) -> None:
    terms = analyze(text, query=query).terms
    assert terms == analyze(text, query=query).terms
    for term in terms:
        assert term.encode("utf-8")
        assert 0 < len(term) <= 64
        assert not any(char.isspace() or char == '"' or char < " " for char in term)


@given(TEXTS, st.text(max_size=10))
def test_the_terms_of_a_text_do_not_depend_on_what_stands_around_it(text: str, other: str) -> None:
    alone = analyze(text).terms
    around = analyze(f"alpha {text} omega {other}").terms
    assert set(alone) <= set(around) or "+" in text or "(" in text


@given(TEXTS)
def test_a_text_finds_itself(text: str) -> None:
    assert set(analyze(text, query=True).terms) <= set(analyze(text).terms)


def test_long_words_are_bounded_and_found_exactly() -> None:
    word = "a" * 100_000
    assert finds(word, f"see {word} there")
    assert not finds(word, word + "b")
    assert finds("x-" * 50_000 + "y", "x-" * 50_000 + "y")


@pytest.mark.parametrize(
    "junk",
    [
        "a" * 10,
        "-a",
        "-",
        "'",
        "a-",
        "茶",
        "\u0301",
        "+1 ",
        "(",
        "(1",
        "/",
        "a'",
        "1,",
        "\ud800",
        "\ufdfa",
        "x.",
        "Aa",
        "ก",
        "🇳",
        "\x00",
        "\u200d",
        "://",
    ],
)
def test_a_megabyte_of_junk_takes_linear_time(junk: str) -> None:
    text = junk * (1_000_000 // len(junk))
    start = time.process_time()
    analyze(text)
    assert time.process_time() - start < 15

"""Names in text: found with their type, and ordinary capitals left alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memos.text.names import NameType, find_names


def names(text: str) -> dict[str, str]:
    return {name.text: str(name.type) for name in find_names(text)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hey Mel! How was it?", {"Mel": "person"}),
        ("I live in Oslo.", {"Oslo": "place"}),
        ("I live in Zwolle.", {"Zwolle": "place"}),
        ("We flew to New York City and South Africa", {"New York City": "place", "South Africa": "place"}),
        ("I work at Acme Corp.", {"Acme Corp": "organisation"}),
        ("I work for Zorbix now", {"Zorbix": "organisation"}),
        ("She studies at the University of Oslo", {"University of Oslo": "organisation"}),
        ("I saw Dr. Müller", {"Müller": "person"}),
        ("My friend Xiomara came", {"Xiomara": "person"}),
        ("my dog Rex", {"Rex": "person"}),
        ("a cat named Whiskers", {"Whiskers": "person"}),
        ("with Anna and Bob", {"Anna": "person", "Bob": "person"}),
        ("Sara's birthday", {"Sara": "person"}),
        ("Does Caroline know Melanie?", {"Caroline": "person", "Melanie": "person"}),
        ("We saw Lake Tahoe", {"Lake Tahoe": "place"}),
        ("the boiler serial is HK-902-FENNEL", {"HK-902-FENNEL": "identifier"}),
        ("ticket ZX-4417 is open", {"ZX-4417": "identifier"}),
        ("set max_tokens to 5", {"max_tokens": "identifier"}),
        ("mail a.b@c.org", {"a.b@c.org": "email"}),
        ("see https://x.org/a?b=1.", {"https://x.org/a?b=1": "url"}),
        ("ping @alice please", {"@alice": "person"}),
        ("my iPhone 15 Pro broke", {"iPhone 15 Pro": "product"}),
        ("I drive a Toyota Corolla", {"Toyota Corolla": "product"}),
        ("Paris is nice", {"Paris": "place"}),
        ("We drove to Nice", {"Nice": "place"}),
        ("I read Becoming Nicole", {"Nicole": "person"}),
        ("我叫王小明", {"王小明": "person"}),
        ("我朋友李雷住在上海", {"李雷": "person", "上海": "place"}),
        ("张老师说的", {"张老师": "person"}),
        ("我去张阿姨家", {"张阿姨": "person"}),
        ("王小明医生来了", {"王小明": "person"}),
        ("我住在南京路", {"南京路": "place"}),
        ("My dog Pixel is here. Pixel is cute.", {"Pixel": "person"}),
        ("Pixel is my dog", {"Pixel": "person"}),
        ("I bought a Pixel 8", {"Pixel": "product"}),
        ("我去了奥斯陆", {"奥斯陆": "place"}),
        ("他在阿里巴巴公司工作", {"阿里巴巴公司": "organisation"}),
        ("她毕业于北京大学", {"北京大学": "organisation"}),
        ("我在看《红楼梦》", {"红楼梦": "other"}),
        ("我有一只狗叫旺财", {"旺财": "person"}),
    ],
)
def test_names_are_found_with_their_type(text: str, expected: dict[str, str]) -> None:
    assert names(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "I May go on Monday", "Yesterday was fun", "Thanks a lot", "What a day", "The house is big", "Painting is fun",
        "HELLO WORLD THIS IS BAD", "I'm fine. Really. Ok", "In June", "My English is bad", "OK Wow LOL",
        "Christmas is here",
        "it costs 12-34", "well-known", "e.g. this", "3-4 times", "我在一家公司工作", "提醒我叫出租车", "我去医院",
        "我们上大学", "我喜欢中国菜",
        "We went. Everyone laughed.", "- Buy milk\n- Sell bread", "Hiking was great!", "Nice work!",
        "", "A", "'Tis", "I", "Mom and Dad",
    ],
)  # fmt: skip
def test_ordinary_words_are_no_names(text: str) -> None:
    assert names(text) == {}


def test_the_word_around_it_decides_between_person_and_place() -> None:
    assert [n.type for n in find_names("What did Sofia do in Sofia?")] == [NameType.PERSON, NameType.PLACE]


@given(
    st.lists(
        st.sampled_from(
            [
                "Anna",
                "New",
                "York",
                "of",
                "the",
                "Dr.",
                "@x",
                "ZX-1",
                "我叫",
                "王",
                "小明",
                "公司",
                "《",
                "》",
                "'s",
                "&",
                ".",
            ]
        )
        | st.text(max_size=5),
        max_size=12,
    ).flatmap(lambda words: st.sampled_from([" ".join(words), "".join(words)]))
)
def test_any_text_is_safe_and_spans_hold(text: str) -> None:
    at = 0
    for name in find_names(text):
        assert at <= name.start < name.end <= len(text)
        assert text[name.start : name.end] == name.text
        assert 0 < name.confidence <= 1
        at = name.end

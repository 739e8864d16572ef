"""Which memories a request to forget means: all that is surely about it, never anything beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memos import MemOS

KNOWN = [
    "I live in Oslo and my ex Tom lives in Paris.", "My ex called yesterday. He was angry.",
    "My sister Anna's phone number is 555-9999.", "My phone number is 555-1234.", "My sister's birthday is June 1.",
    "My birthday is May 3.", "My boss is Tom.", "My brother is called Tom.", "I like coffee.", "I like black coffee.",
    "My wife likes coffee.", "I don't like olives.", "My car is red.", "My wife's car is blue.", "The wifi password is sunflower.",
    "The garage password is 7788.", "Tom Hanks is my favourite actor.", "I met Linda at Tom's Diner.", "My dog is named Rex.",
    "I'm allergic to nuts.", "My son is allergic to milk.", "I work at Acme.", "My friend works at Acme too.",
    "My dentist appointment is on Friday at 10.", "The meeting is on Friday.",
    "我的妹妹住在上海。", "我住在北京。", "我喜欢喝咖啡。", "我老婆喜欢喝咖啡。", "我的猫叫咪咪，我很喜欢它。", "我妹妹的电话是13900000000。",
    "我的电话是13800138000。", "我的前女友叫小丽，我住在朝阳区。",
]  # fmt: skip


@pytest.fixture(scope="module")
def memos(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemOS]:
    home: Path = tmp_path_factory.mktemp("targets")
    with MemOS(home, embedder="none", background=False) as made:
        for text in KNOWN:
            made.add(text, wait=True)
        yield made


def hidden(memos: MemOS, text: str) -> list[str]:
    """The messages that would be hidden."""
    done = memos.feedback(text, dry_run=True)
    return [t.text for one in done.operations for t in one.targets if t.text in KNOWN]


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("Forget everything about my brother.", ["My brother is called Tom."]),
        ("Forget my ex.", ["My ex called yesterday. He was angry."]),
        ("Forget my phone number.", ["My phone number is 555-1234.", "我的电话是13800138000。"]),
        ("Forget the wifi password.", ["The wifi password is sunflower."]),
        ("Forget that I like coffee.", ["I like coffee."]),
        ("Forget that my wife likes coffee.", ["My wife likes coffee."]),
        ("Forget my car.", ["My car is red."]),
        ("Forget my allergies.", ["I'm allergic to nuts."]),
        ("forget my birthday", ["My birthday is May 3."]),
        ("Forget my sister's birthday.", ["My sister's birthday is June 1."]),
        ("Forget the meeting.", ["The meeting is on Friday."]),
        ("Forget that I work at Acme", ["I work at Acme."]),
        ("Forget what I said about Linda", ["I met Linda at Tom's Diner."]),
        ("忘掉我妹妹的电话", ["我妹妹的电话是13900000000。"]),
        ("忘掉我的电话", ["我的电话是13800138000。", "My phone number is 555-1234."]),
        ("忘掉我喜欢喝咖啡", ["我喜欢喝咖啡。"]),
        ("忘掉我的妹妹住在上海这件事", ["我的妹妹住在上海。"]),
    ],
)  # fmt: skip
def test_what_is_about_it_goes(memos: MemOS, text: str, gone: list[str]) -> None:
    assert sorted(set(hidden(memos, text))) == sorted(gone)


@pytest.mark.parametrize(
    "text",
    [
        "Forget what I said about Tom.", "Forget Tom.", "Delete my password.", "Forget the password.", "Forget coffee.",
        "Forget Friday.", "Forget my allergy to milk.", "Forget Oslo.", "Forget Acme.", "Forget Anna.", "Forget about work",
        "Forget that I hate coffee", "Forget that I live in Bergen", "Delete all facts about me", "Forget my name",
        "Forget his phone number", "Forget my family.", "Remove the last thing I said.", "Forget what I told you yesterday.",
        "Delete Tom Hanks.", "Forget my sister's phone number.", "忘了咖啡的事", "删除电话", "忘掉北京", "忘掉我前女友的事", "删掉我住在上海",
        "把上海忘了", "把我说过的都删掉", "删除我的资料", "忘掉猫", "把我的地址删掉",
    ],
)  # fmt: skip
def test_what_is_not_certain_stays(memos: MemOS, text: str) -> None:
    done = memos.feedback(text, dry_run=True)
    assert done.operations == ()
    assert done.message


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("Forget the blue canoe.", ["The blue canoe is old."]),
        ("Forget everything about the blue canoe.", ["The blue canoe is old."]),
        ("Forget the canoe.", []),
        ("Forget the green canoe.", []),
        ("Forget everything about canoe hats.", []),
        ("Forget *.", []),
        ("Forget %.", []),
        ("Forget .*", []),
        ("Forget everything about %.", []),
        ('Forget "".', []),
        ("忘掉*。", []),
        ("Replace % with x everywhere.", []),
        ("Replace .* with x everywhere.", []),
    ],
)
def test_all_of_its_words_have_to_be_there(tmp_path: Path, text: str, gone: list[str]) -> None:
    told = ["The blue canoe is old.", "The blue hat is new.", "The red canoe is big."]
    with MemOS(tmp_path, embedder="none", background=False) as memos:
        memos.add(told, wait=True)
        memos.feedback(text)
        left = {m.text for m in memos.list().items}
    assert [t for t in told if t not in left] == gone

from __future__ import annotations

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from memos.models.wordpiece import UNKNOWN, WordPiece

PIECES = WordPiece.load()
SCRIPTS = st.one_of(
    st.characters(min_codepoint=1, max_codepoint=0x17F),
    st.characters(min_codepoint=0x386, max_codepoint=0x3CE),
    st.characters(min_codepoint=0x400, max_codepoint=0x45F),
    st.characters(min_codepoint=0x5D0, max_codepoint=0x5EA),
    st.characters(min_codepoint=0x2000, max_codepoint=0x206F),
    st.characters(min_codepoint=0x3000, max_codepoint=0x30FE),
    st.characters(min_codepoint=0x4E00, max_codepoint=0x9FA5),
    st.characters(min_codepoint=0xAC00, max_codepoint=0xD7A3),
    st.characters(min_codepoint=0x1F600, max_codepoint=0x1F64F),
    st.sampled_from(
        ["\t", "\n", "\u00a0", "\u200b", "\ufeff", "\u0301", "Σ", "İ", "ß", "’", "—", "\U00020000", "\ufffd"]
    ),
)

ORDINARY = ["I", "you'll", "2023-05-08", "don't", "re-read", "naïve", "$5.99", "a_b", "C++", "e.g.", "东京", "🙂"]


@pytest.fixture(scope="module")
def reference():
    model = tokenizers.models.WordPiece(PIECES.vocabulary, unk_token="[UNK]", max_input_chars_per_word=100)
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.normalizer = tokenizers.normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    return tokenizer


def test_words_pieces_and_punctuation_become_the_published_ids():
    assert PIECES.encode("Hello, world!") == [7592, 1010, 2088, 999]
    assert PIECES.encode("unaffable") == [14477, 20961, 3468]


def test_case_accents_and_control_characters_make_no_difference():
    assert PIECES.encode("CAFÉ\x00\u200b Zürich") == PIECES.encode("cafe zurich")


def test_each_ideograph_is_a_word_and_an_unknown_word_is_one_token():
    assert len(PIECES.encode("北京")) == 2
    assert PIECES.encode("x" * 101) == [UNKNOWN]


def test_nothing_readable_gives_no_tokens():
    assert PIECES.encode("") == PIECES.encode(" \n\t\u200b") == []


@given(st.text(SCRIPTS, max_size=60))
@settings(max_examples=300, deadline=None)
def test_equal_to_the_reference_tokenizer(reference, text):
    assert PIECES.encode(text) == reference.encode(text, add_special_tokens=False).ids


@given(st.lists(st.sampled_from(ORDINARY), max_size=30))
@settings(max_examples=100, deadline=None)
def test_equal_to_the_reference_tokenizer_on_ordinary_words(reference, words):
    text = " ".join(words)
    assert PIECES.encode(text) == reference.encode(text, add_special_tokens=False).ids

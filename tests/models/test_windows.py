from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memos.models.windows import Limits, batches_of, estimated_tokens, windows_of

TEXTS = st.lists(st.text(st.sampled_from("ab c\n界é"), max_size=200), max_size=12)


@given(TEXTS, st.integers(1, 40))
def test_windows_joined_are_the_text_and_none_is_too_long(texts, longest):
    windows = windows_of(texts, list(range(len(texts))), longest)
    for index, text in enumerate(texts):
        parts = [window.text for window in windows if window.owner == index]
        assert "".join("".join(parts).split()) == "".join(text.split())
        assert all(part in text for part in parts)
    assert all(window.tokens <= longest and window.text.strip() for window in windows)


@given(TEXTS, st.integers(1, 60), st.integers(1, 5))
def test_batches_keep_the_order_and_the_limits(texts, tokens, count):
    windows = windows_of(texts, list(range(len(texts))), 1000)
    batches = list(batches_of(windows, Limits(batch_tokens=tokens, batch_texts=count)))
    assert [window for batch in batches for window in batch] == windows
    for batch in batches:
        assert 1 <= len(batch) <= count
        assert len(batch) == 1 or sum(window.tokens for window in batch) <= tokens


def test_a_cut_falls_on_white_space_where_there_is_some():
    windows = windows_of(["alpha beta gamma delta epsilon"], [0], 4)
    assert [window.text for window in windows] == ["alpha beta ", "gamma delta ", "epsilon"]


def test_estimates_are_on_the_high_side():
    assert estimated_tokens("abcdef") == 2
    assert estimated_tokens("你好吗") == 3
    assert estimated_tokens("") == 1

from __future__ import annotations

import numpy as np
import pytest

from memos.models.alignment import align, fit, generated_sentences

WORDS = [f"word{i}" for i in range(4001)]


class Encoders:
    """Two encoders of which the second is a rotation of the first; counts its calls."""

    def __init__(self) -> None:
        rng = np.random.default_rng(3)
        self.rotation = np.linalg.qr(rng.standard_normal((12, 12)))[0][:, :6]
        self.calls = 0

    def source(self, texts):
        self.calls += 1
        rows = np.array([np.random.default_rng(sum(map(ord, t)) * 31 + len(t)).standard_normal(12) for t in texts])
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)

    def target(self, texts):
        rows = self.source(texts) @ self.rotation
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def test_a_linear_relation_is_found():
    encoders = Encoders()
    sentences = generated_sentences(WORDS, 300)
    alignment = fit(encoders.source(sentences), encoders.target(sentences))
    unseen = ["quite another text", "and one more", "三"]
    likeness = np.sum(alignment(encoders.source(unseen)) * encoders.target(unseen), axis=1)
    assert likeness.min() > 0.9


def test_generated_sentences_are_many_and_always_the_same():
    sentences = generated_sentences(WORDS, 1024)
    assert sentences == generated_sentences(WORDS, 1024)
    assert len(set(sentences)) > 1000


def test_fitted_once_then_read_from_the_file(tmp_path):
    encoders = Encoders()
    first = align(encoders.source, encoders.target, WORDS, key="a", cache=tmp_path / "new")
    calls = encoders.calls
    again = align(encoders.source, encoders.target, WORDS, key="a", cache=tmp_path / "new")
    assert encoders.calls == calls
    np.testing.assert_array_equal(first.matrix, again.matrix)
    align(encoders.source, encoders.target, WORDS, key="b", cache=tmp_path / "new")
    assert encoders.calls > calls
    assert not list(tmp_path.rglob("*.tmp"))


@pytest.mark.parametrize("damage", ["empty", "half", "noise", "nan"])
def test_a_damaged_file_is_replaced(tmp_path, damage):
    encoders = Encoders()
    expected = align(encoders.source, encoders.target, WORDS, key="a", cache=tmp_path)
    (file,) = tmp_path.iterdir()
    content = file.read_bytes()
    if damage == "nan":
        np.savez(file, centre=expected.centre, matrix=expected.matrix * np.nan, offset=expected.offset)
    else:
        file.write_bytes({"empty": b"", "half": content[: len(content) // 2], "noise": b"\x07" * 500}[damage])
    again = align(encoders.source, encoders.target, WORDS, key="a", cache=tmp_path)
    np.testing.assert_allclose(again.matrix, expected.matrix, atol=1e-6)


def test_a_folder_that_cannot_be_written_only_costs_time(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    encoders = Encoders()
    assert align(encoders.source, encoders.target, WORDS, key="a", cache=blocked).matrix.shape == (12, 6)

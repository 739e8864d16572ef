"""Generated chat traffic for speed measurements: any number of messages with a natural spread of word rarity, by a
fixed seed.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memos.models.wordpiece import WordPiece

_OPENERS = (
    "I think",
    "Yesterday",
    "We should",
    "Did you see",
    "The team said",
    "My sister told me",
    "Last week",
    "Honestly",
)
_NAMES = ("Ana", "Boris", "Chen", "Dalia", "Emeka", "Freya", "Goran", "Hana")
_CONSONANTS, _VOWELS = "bcdfglmnprstv", "aeiou"
VOCABULARY = 60_000
START = datetime(2024, 1, 1, tzinfo=UTC)


def vocabulary(rng: np.random.Generator) -> list[str]:
    """All different words: some 19,000 English ones in random order of frequency, then pronounceable made-up ones."""
    real = [w for w in WordPiece.load().vocabulary if len(w) > 2 and w.isascii() and w.isalpha()]
    words = dict.fromkeys(rng.permutation(np.asarray(real, dtype=object)).tolist())
    while len(words) < VOCABULARY:
        syllables = rng.integers(2, 5)
        words["".join(rng.choice(list(_CONSONANTS)) + rng.choice(list(_VOWELS)) for _ in range(syllables))] = None
    return list(words)


def messages(count: int, *, seed: int = 1, per_session: int = 25) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """`count` messages of about 40 words as (session, chat messages); word frequencies follow Zipf's law."""
    rng = np.random.default_rng(seed)
    words = np.asarray(vocabulary(rng), dtype=object)
    ranks = 1 / np.arange(1, len(words) + 1) ** 1.05
    weights = np.cumsum(ranks / ranks.sum())
    done = 0
    while done < count:
        size = min(per_session, count - done)
        lengths = rng.integers(25, 55, size)
        picked = words[np.searchsorted(weights, rng.random(int(lengths.sum())))]
        when = START + timedelta(minutes=int(done))
        out, at = [], 0
        for i, length in enumerate(lengths):
            text = f"{_OPENERS[int(rng.integers(len(_OPENERS)))]} the {' '.join(picked[at : at + length])}."
            at += int(length)
            name = _NAMES[(done + i) % len(_NAMES)]
            out.append({"role": "user", "name": name, "content": text, "message_id": f"m{done + i}",
                        "chat_time": when + timedelta(seconds=i)})  # fmt: skip
        yield f"s{done // per_session}", out
        done += size


def questions(count: int, *, seed: int = 1) -> list[str]:
    """Questions of 4 to 9 content words over the same vocabulary, a common word or two among them."""
    rng = np.random.default_rng(seed)
    words = vocabulary(rng)
    rng = np.random.default_rng(seed + 1)
    out = []
    for _ in range(count):
        rare = [words[i] for i in rng.integers(200, 15_000, int(rng.integers(3, 7)))]
        common = [words[i] for i in rng.integers(0, 200, int(rng.integers(1, 3)))]
        name = _NAMES[int(rng.integers(len(_NAMES)))]
        out.append(f"What did {name} say about {' '.join([*rare, *common])}?")
    return out


def vectors(count: int, dim: int, *, seed: int = 2) -> NDArray[np.float32]:
    """Unit vectors in clusters, as embeddings of chat are."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((200, dim)).astype(np.float32)
    out = centres[rng.integers(0, len(centres), count)] + 0.8 * rng.standard_normal((count, dim)).astype(np.float32)
    return np.asarray(out / np.linalg.norm(out, axis=1, keepdims=True), np.float32)

"""A linear map from one embedding space into another, learned from sentences that both models read.

Used to place the multilingual encoder's vectors in MiniLM's space, so that one cube needs one space. The map is fitted
once on this machine from generated English sentences (ridge regression, always the same input), then kept in a file.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
Encoder = Callable[[Sequence[str]], Vectors]

_RECIPE = "1"
_SENTENCES = 1024
_RIDGE = 0.3
_TEMPLATES = (
    "I like {0}.",
    "my {0} is {1}",
    "we talked about {0} with my {1} yesterday",
    "Where is the {0}?",
    "What {0} do I have?",
    "the {0} of the {1}",
    "She wants to {0} her {1} next week",
    "I had a problem with {0}, so I bought a {1}.",
    "{0} {1} {2}",
    "He said that {0} was more {1} than {2}",
)
_STRIDES = ((7919, 13), (10007, 4001), (5003, 977))


@dataclass(frozen=True, slots=True)
class Alignment:
    """target = (source - centre) @ matrix + offset, scaled to length 1."""

    centre: Vectors
    matrix: Vectors
    offset: Vectors

    def __call__(self, source: Vectors) -> Vectors:
        """Map rows of the source space to unit rows of the target space."""
        target = (source - self.centre) @ self.matrix + self.offset
        return np.asarray(target / np.linalg.norm(target, axis=1, keepdims=True), dtype=np.float32)


def align(source: Encoder, target: Encoder, words: Sequence[str], *, key: str, cache: Path | None) -> Alignment:
    """Return the map from `source` to `target`: kept in the folder `cache` under `key`, or else fitted (seconds).

    `key` names both models; a damaged, foreign or unwritable cache file is not an error: the map is fitted again.
    """
    name = hashlib.sha256(f"{_RECIPE}:{key}".encode()).hexdigest()[:16]
    file = cache / f"align-{name}.npz" if cache else None
    known = _load(file) if file else None
    if known is not None:
        return known
    sentences = generated_sentences(words, _SENTENCES)
    fitted = fit(source(sentences), target(sentences))
    if file:
        _save(file, fitted)
    return fitted


def fit(source: Vectors, target: Vectors) -> Alignment:
    """Fit by ridge regression on centred rows; the part that varies is stretched to the variance it must explain.

    Without the stretch, regression to the mean would leave all mapped vectors alike (0.4 of the variance is explained).
    """
    x, y = source.astype(np.float64), target.astype(np.float64)
    centre, offset = x.mean(axis=0), y.mean(axis=0)
    x, y = x - centre, y - offset
    matrix = np.linalg.solve(x.T @ x + _RIDGE * np.eye(x.shape[1]), x.T @ y)
    explained = np.square(x @ matrix).sum() / np.square(y).sum()
    matrix /= np.sqrt(explained)
    return Alignment(*(np.asarray(part, np.float32) for part in (centre, matrix, offset)))


def generated_sentences(words: Sequence[str], count: int) -> list[str]:
    """Fill the templates with `words`, walking the list in fixed strides: the same sentences on every machine."""
    return [
        _TEMPLATES[i % len(_TEMPLATES)].format(
            *(words[(i * stride + start) % len(words)] for stride, start in _STRIDES)
        )
        for i in range(count)
    ]


def default_cache() -> Path:
    """Return the user's cache folder for MemOS, by the custom of the operating system (not created here)."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "memos"


def _load(file: Path) -> Alignment | None:
    try:
        with np.load(file, allow_pickle=False) as parts:
            centre, matrix, offset = (np.asarray(parts[name], np.float32) for name in ("centre", "matrix", "offset"))
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error):
        return None
    fits = matrix.ndim == 2 and centre.shape == matrix.shape[:1] and offset.shape == matrix.shape[1:]
    return Alignment(centre, matrix, offset) if fits and all(map(_finite, (centre, matrix, offset))) else None


def _finite(part: Vectors) -> bool:
    return bool(np.isfinite(part).all())


def _save(file: Path, alignment: Alignment) -> None:
    """Write beside and rename, so that nobody reads half a file. A folder that cannot be written only costs time."""
    temporary = None
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=file.parent, suffix=".tmp")
        with os.fdopen(handle, "wb") as out:
            np.savez(out, centre=alignment.centre, matrix=alignment.matrix, offset=alignment.offset)
        os.replace(temporary, file)
    except OSError:
        if temporary:
            with contextlib.suppress(OSError):
                os.unlink(temporary)

"""Arrays that grow at the end in amortised constant time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class Growable:
    """A numpy array that can be appended to along its last axis. `view` is the filled part; do not keep it across
    appends.
    """

    def __init__(self, dtype: Any, lead: tuple[int, ...] = (), capacity: int = 64) -> None:
        self._data: NDArray[Any] = np.zeros((*lead, capacity), dtype=dtype)
        self.size = 0

    @property
    def view(self) -> NDArray[Any]:
        """The filled part."""
        return self._data[..., : self.size]

    def extend(self, values: NDArray[Any]) -> None:
        """Append along the last axis."""
        end = self.size + values.shape[-1]
        if end > self._data.shape[-1]:
            grown = np.zeros((*self._data.shape[:-1], max(end, self._data.shape[-1] * 3 // 2)), dtype=self._data.dtype)
            grown[..., : self.size] = self.view
            self._data = grown
        self._data[..., self.size : end] = values
        self.size = end

    @property
    def nbytes(self) -> int:
        """Bytes held, spare room included."""
        return int(self._data.nbytes)

"""The sentence encoder all-MiniLM-L6-v2 (6-layer BERT, 384 dimensions) as a plain numpy forward pass.

The weights (int8 per column, Apache-2.0) come from an installed data package; products run in float32. Differs from the
reference runtime by less than 1e-5 in cosine. Finding the file and checking its hash is `bundled`'s business.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from memos.errors import ModelError
from memos.models.onnx_weights import read_initializers

DIM = 384
MAX_TOKENS = 256
"""The longest run of tokens the model was trained for, frame tokens included."""

_HEADS = 12
_WIDTH = 32  # of a head, and of a column block
_LAYERS = 6
_ROWS = 16
_SMALL = _ROWS * DIM * _WIDTH  # multiplications in one product, see _Linear
_TOKENS_PER_PASS = 512
_EPSILON = np.float32(1e-12)
_GELU_A, _GELU_B = np.float32(0.7978845608), np.float32(0.7978845608 * 0.044715)

Matrix = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class _Linear:
    """A dense layer cut into tiles of 384 inputs and 32 outputs: (k / 384, n / 32, 384, 32).

    Products of 16 x 384 x 32 are just small enough for OpenBLAS to run in the calling thread: with its own threads the
    whole is up to 8 times slower when other work keeps the cores busy. On AVX-512 they
    also skip packing (2.4 times faster for a short question).
    """

    tiles: Matrix
    bias: Matrix

    def __call__(self, rows: Matrix) -> Matrix:
        """(rows, k) -> (n / 32, rows, 32)."""
        count = len(rows)
        out = np.empty((self.tiles.shape[1], count, _WIDTH), np.float32)
        for start in range(0, count, _ROWS):
            some = rows[start : start + _ROWS]
            target = out[:, start : start + _ROWS]
            np.matmul(some[:, :DIM], self.tiles[0], out=target)
            for index, tile in enumerate(self.tiles[1:], start=1):
                target += some[:, index * DIM : (index + 1) * DIM] @ tile
        out += self.bias
        return out


@dataclass(frozen=True, slots=True)
class _Norm:
    gain: Matrix
    shift: Matrix

    def __call__(self, rows: Matrix) -> Matrix:
        centred: Matrix = rows - rows.mean(axis=1, keepdims=True, dtype=np.float32)
        variance = np.einsum("ij,ij->i", centred, centred) / np.float32(rows.shape[1])
        centred *= np.reciprocal(np.sqrt(variance + _EPSILON))[:, None]
        centred *= self.gain
        centred += self.shift
        return centred


@dataclass(frozen=True, slots=True)
class _Layer:
    query_key_value: _Linear
    attention_out: _Linear
    attention_norm: _Norm
    widen: _Linear
    narrow: _Linear
    out_norm: _Norm


class MiniLM:
    """Token ids in, unit vectors out. Holds about 55 MB; safe for use by several threads."""

    def __init__(self, onnx: bytes) -> None:
        """Read the weights from the bytes of the int8 ONNX file.

        Raises:
            ModelError: the file does not hold the expected tensors.
        """
        tensors = read_initializers(onnx)
        try:
            # Copied out of the file's buffer, so that the 23 MB file can be freed.
            self._words = np.array(tensors["inner.embeddings.word_embeddings.weight_q"])
            self._word_scale = np.array(tensors["inner.embeddings.word_embeddings.weight_scale"], np.float32)
            self._places = _dequantised(tensors, "inner.embeddings.position_embeddings.weight")
            self._places += tensors["inner.embeddings.token_type_embeddings.weight"][0]
            self._input_norm = _norm(tensors, "inner.embeddings.LayerNorm")
            self._layers = _layers(tensors)
        except (KeyError, ValueError, IndexError) as error:
            raise ModelError(f"the MiniLM weights have an unexpected layout ({error})") from error

    def embed(self, sequences: Sequence[Sequence[int]]) -> Matrix:
        """Return one unit vector per token sequence (frame tokens included, 1 to 512 tokens each): shape (n, 384)."""
        out = np.empty((len(sequences), DIM), np.float32)
        start = tokens = 0
        for index, sequence in enumerate(sequences):
            if tokens and tokens + len(sequence) > _TOKENS_PER_PASS:
                out[start:index] = self._forward(sequences[start:index])
                start, tokens = index, 0
            tokens += len(sequence)
        if start < len(sequences):
            out[start:] = self._forward(sequences[start:])
        return out

    def _forward(self, sequences: Sequence[Sequence[int]]) -> Matrix:
        """Run all sequences as one flat matrix of tokens; only attention looks at their borders."""
        lengths = [len(sequence) for sequence in sequences]
        borders = np.concatenate([[0], np.cumsum(lengths)])
        ids = np.concatenate([np.asarray(sequence, np.int64) for sequence in sequences])
        places = np.concatenate([np.arange(length) for length in lengths])
        rows = self._words[ids] * self._word_scale[ids]
        rows += self._places[places]
        rows = self._input_norm(rows)
        for layer in self._layers:
            rows = layer.attention_norm(
                rows + _flat(layer.attention_out(_attention(layer.query_key_value(rows), borders)))
            )
            rows = layer.out_norm(rows + _flat(layer.narrow(_flat(_gelu(layer.widen(rows))))))
        pooled = np.add.reduceat(rows, borders[:-1], axis=0)
        pooled /= np.linalg.norm(pooled, axis=1, keepdims=True)
        return pooled


def _attention(heads: Matrix, borders: NDArray[np.int64]) -> Matrix:
    """Self-attention inside each sequence: (36, n, 32), queries already scaled -> (n, 384)."""
    query, key, value = heads[:_HEADS], heads[_HEADS : 2 * _HEADS], heads[2 * _HEADS :]
    out = np.empty((heads.shape[1], DIM), np.float32)
    for start, end in pairwise(borders.tolist()):
        keys, values = key[:, start:end].transpose(0, 2, 1), value[:, start:end]
        step = _SMALL // (_WIDTH * (end - start))
        for low in range(start, end, step):
            high = min(low + step, end)
            weights: Matrix = query[:, low:high] @ keys
            weights -= weights.max(axis=-1, keepdims=True)
            np.exp(weights, out=weights)
            weights /= weights.sum(axis=-1, keepdims=True)
            out[low:high] = _flat(weights @ values)
    return out


def _flat(blocks: Matrix) -> Matrix:
    """(blocks, n, 32) -> (n, blocks * 32)."""
    return blocks.transpose(1, 0, 2).reshape(blocks.shape[1], -1)


def _gelu(x: Matrix) -> Matrix:
    """The tanh form of GELU (Hendrycks and Gimpel, 2016)."""
    y = x * x
    y *= _GELU_B
    y += _GELU_A
    y *= x
    np.tanh(y, out=y)
    y += np.float32(1)
    y *= x
    y *= np.float32(0.5)
    return y


def _layers(tensors: dict[str, NDArray[np.generic]]) -> list[_Layer]:
    # The exporter named the dense matrices by graph position: six per layer, in the order they are used.
    names = [name.removesuffix("_q") for name in tensors if name.startswith("val_") and name.endswith("_q")]
    if len(names) != 6 * _LAYERS:
        raise ValueError(f"{len(names)} dense matrices, not {6 * _LAYERS}")
    layers = []
    for index in range(_LAYERS):
        prefix = f"inner.encoder.layer.{index}"
        query, key, value, out, widen, narrow = (
            _dequantised(tensors, name) for name in names[6 * index : 6 * index + 6]
        )
        bias = [_float(tensors, f"{prefix}.attention.self.{part}.bias") for part in ("query", "key", "value")]
        scale = np.float32(_WIDTH**-0.5)
        layers.append(
            _Layer(
                _linear(np.hstack([query * scale, key, value]), np.concatenate([bias[0] * scale, bias[1], bias[2]])),
                _linear(out, _float(tensors, f"{prefix}.attention.output.dense.bias")),
                _norm(tensors, f"{prefix}.attention.output.LayerNorm"),
                _linear(widen, _float(tensors, f"{prefix}.intermediate.dense.bias")),
                _linear(narrow, _float(tensors, f"{prefix}.output.dense.bias")),
                _norm(tensors, f"{prefix}.output.LayerNorm"),
            )
        )
    return layers


def _linear(weight: Matrix, bias: Matrix) -> _Linear:
    inputs, outputs = weight.shape
    tiles = weight.reshape(inputs // DIM, DIM, outputs // _WIDTH, _WIDTH).transpose(0, 2, 1, 3)
    return _Linear(np.ascontiguousarray(tiles), bias.reshape(-1, 1, _WIDTH))


def _norm(tensors: dict[str, NDArray[np.generic]], name: str) -> _Norm:
    return _Norm(_float(tensors, f"{name}.weight"), _float(tensors, f"{name}.bias"))


def _float(tensors: dict[str, NDArray[np.generic]], name: str) -> Matrix:
    return np.array(tensors[name], np.float32)


def _dequantised(tensors: dict[str, NDArray[np.generic]], name: str) -> Matrix:
    return np.asarray(tensors[f"{name}_q"].astype(np.float32) * tensors[f"{name}_scale"].astype(np.float32))

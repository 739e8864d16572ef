"""Reads the stored tensors out of an ONNX file with numpy alone, so that no ONNX runtime has to be installed.

Only what a weights file needs is understood (protobuf fields, raw tensor data); the graph itself is not interpreted.
The caller has verified the file by its sha256 before: this reader is no guard against hostile files.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from memos.errors import ModelError

_MODEL_GRAPH = 7
_GRAPH_INITIALIZER = 5
_TENSOR_DIMS, _TENSOR_TYPE, _TENSOR_NAME, _TENSOR_RAW = 1, 2, 8, 9
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_DTYPES: dict[int, str] = {1: "<f4", 2: "u1", 3: "i1", 6: "<i4", 7: "<i8", 9: "?", 10: "<f2", 11: "<f8"}


def read_initializers(data: bytes) -> dict[str, NDArray[np.generic]]:
    """Return every tensor stored with raw data in the ONNX model `data`, by name, as read-only views of `data`."""
    tensors: dict[str, NDArray[np.generic]] = {}
    for field, start, end in _fields(data, 0, len(data)):
        if field != _MODEL_GRAPH:
            continue
        for graph_field, tensor_start, tensor_end in _fields(data, start, end):
            if graph_field == _GRAPH_INITIALIZER:
                name, tensor = _tensor(data, tensor_start, tensor_end)
                if tensor is not None:
                    tensors[name] = tensor
    return tensors


def _tensor(data: bytes, start: int, end: int) -> tuple[str, NDArray[np.generic] | None]:
    name, type_code, shape, raw = "", 0, list[int](), None
    for field, low, high in _fields(data, start, end):
        if field == _TENSOR_DIMS:
            shape.extend(_dims(data, low, high))
        elif field == _TENSOR_TYPE:
            type_code = low
        elif field == _TENSOR_NAME:
            name = data[low:high].decode()
        elif field == _TENSOR_RAW:
            raw = (low, high)
    if raw is None:
        return name, None
    if type_code not in _DTYPES:
        raise ModelError(f"tensor {name!r} has ONNX data type {type_code}, which is not supported")
    dtype = np.dtype(_DTYPES[type_code])
    flat = np.frombuffer(data, dtype, count=(raw[1] - raw[0]) // dtype.itemsize, offset=raw[0])
    return name, flat.reshape(shape)


def _dims(data: bytes, low: int, high: int) -> Iterator[int]:
    if high < 0:  # one unpacked varint, its value is in `low`
        yield low
    else:
        while low < high:
            value, low = _varint(data, low)
            yield value


def _fields(data: bytes, position: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Yield (field number, start, end) of each field; a varint field yields (number, value, -1)."""
    while position < end:
        key, position = _varint(data, position)
        kind = key & 7
        if kind == _VARINT:
            value, position = _varint(data, position)
            yield key >> 3, value, -1
        elif kind == _BYTES:
            length, position = _varint(data, position)
            yield key >> 3, position, position + length
            position += length
        elif kind in (_FIXED32, _FIXED64):
            position += 4 if kind == _FIXED32 else 8
        else:
            raise ModelError(f"not an ONNX file: unknown protobuf wire type {kind} at byte {position}")


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7

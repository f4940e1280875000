"""TensorFlow's checkpoints: arrays by name, from a table of keys (.index) and the files with their bytes."""

import math
import pathlib
import struct

import numpy as np

from isthmus import protobuf
from isthmus.element_types import named_dtype

# The end of a table: two handles (the second: the index), then this number.
_FOOTER, _MAGIC = 48, 0xDB4775248B80FB57
# Numbers of TensorFlow's DataType. Those without a NumPy type of their own are ml_dtypes's.
_STRING = 7
_TYPES = {
    1: "float32", 2: "float64", 3: "int32", 4: "uint8", 5: "int16", 6: "int8", 8: "complex64", 9: "int64",
    10: "bool", 14: "bfloat16", 17: "uint16", 18: "complex128", 19: "float16", 22: "uint32", 23: "uint64",
    24: "float8_e5m2", 25: "float8_e4m3fn", 29: "int4", 30: "uint4",
}
# Fields of a TensorProto with elements, by type; narrow integers share one, and 16 bits of floats are in integers.
_INT_VALUES, _HALF_VALUES = 7, 13
_VALUES = {
    "float32": 5, "float64": 6, "complex64": 9, "int64": 10, "bool": 11, "complex128": 12, "float16": _HALF_VALUES,
    "bfloat16": _HALF_VALUES, "uint32": 16, "uint64": 17, "float8_e5m2": 18, "float8_e4m3fn": 18,
}
_BYTE_VALUES = {5, 6, 9, 12, 18}  # the elements as they are in memory
# Elements that a constant may leave out: a few bytes must not become an array of any size.
_MAX_REPEATED = 2**20


def _dtype(number: int) -> np.dtype:
    if number not in _TYPES:
        raise ValueError(f"a variable of TensorFlow's type {number} has no array")
    return named_dtype(_TYPES[number])


def constant(tensor: bytes) -> np.ndarray:
    """The array of a TensorProto: all its bytes, or elements of which the last is repeated. Those that are left out
    altogether are zeros."""
    dtype = _dtype(protobuf.integer(tensor, 1))
    shape = [protobuf.integer(dim, 1) for dim in protobuf.messages(tensor, 2, 2)]
    content = protobuf.message(tensor, 4)
    if content:
        return np.frombuffer(content, dtype).reshape(shape)
    elements, count = _elements(tensor, dtype), math.prod(shape)
    missing = max(count - len(elements), 0)
    if missing > _MAX_REPEATED:
        raise ValueError(f"a constant of {dtype} leaves out {missing} of its elements, the most that are read here "
                         f"are {_MAX_REPEATED}")
    last = elements[-1] if len(elements) else np.zeros((), dtype)
    return np.concatenate([elements, np.full(missing, last, dtype)])[:count].reshape(shape)


def _elements(tensor: bytes, dtype: np.dtype) -> np.ndarray:
    """The elements that a TensorProto lists one by one."""
    field = _VALUES.get(dtype.name, _INT_VALUES)
    if field in _BYTE_VALUES:
        return np.frombuffer(b"".join(protobuf.messages(tensor, field)), dtype)
    numbers = np.array(protobuf.integers(tensor, field), np.uint64).astype(np.int64)
    if field == _HALF_VALUES:
        return numbers.astype(np.uint16).view(dtype)
    return numbers.astype(dtype)


def _entries(table: bytes, offset: int, size: int):
    """Keys and values of a block; keys omit what they share with the key before."""
    if table[offset + size] != 0:
        raise ValueError("the checkpoint's index is compressed")
    block = table[offset:offset + size]
    at, end, key = 0, size - 4 * (struct.unpack_from("<I", block, size - 4)[0] + 1), b""
    while at < end:
        shared, at = protobuf.varint(block, at)
        own, at = protobuf.varint(block, at)
        length, at = protobuf.varint(block, at)
        key = key[:shared] + block[at:at + own]
        yield key, block[at + own:at + own + length]
        at += own + length


class Checkpoint:
    """`prefix`.index and its files of data."""

    def __init__(self, prefix: pathlib.Path):
        self._prefix = prefix
        table = prefix.with_name(prefix.name + ".index").read_bytes()
        if len(table) < _FOOTER or struct.unpack_from("<Q", table, len(table) - 8)[0] != _MAGIC:
            raise ValueError(f"{prefix}.index is no table of TensorFlow")
        self._values = {}
        at = len(table) - _FOOTER
        for _ in range(2):  # past the handle of what describes the table
            _, at = protobuf.varint(table, at)
        for _, handle in _entries(table, *self._handle(table, at)):
            self._values.update(_entries(table, *self._handle(handle, 0)))
        self._shards = protobuf.integer(self._values.pop(b"", b""), 1)

    @staticmethod
    def _handle(data: bytes, at: int):
        offset, at = protobuf.varint(data, at)
        return offset, protobuf.varint(data, at)[0]

    def _bytes(self, entry: bytes) -> bytes:
        shard, offset, size = (protobuf.integer(entry, field) for field in (3, 4, 5))
        path = self._prefix.with_name(f"{self._prefix.name}.data-{shard:05}-of-{self._shards:05}")
        with open(path, "rb") as file:
            file.seek(offset)
            data = file.read(min(size, path.stat().st_size))
        if len(data) != size:
            raise ValueError(f"{path} is cut off")
        return data

    def array(self, key: str) -> np.ndarray:
        entry = self._values.get(key.encode())
        if entry is None:
            raise ValueError(f"{self._prefix} has no {key}")
        if any(True for _ in protobuf.messages(entry, 7)):
            raise ValueError(f"{key} is saved in slices, which are not put together here")
        shape = [protobuf.integer(dim, 1) for dim in protobuf.messages(entry, 2, 2)]
        return np.frombuffer(self._bytes(entry), _dtype(protobuf.integer(entry, 1))).reshape(shape)

    def text(self, key: str) -> bytes:
        """The one string of an entry: its length, a checksum of that, and its bytes."""
        entry = self._values.get(key.encode())
        if entry is None or protobuf.integer(entry, 1) != _STRING:
            raise ValueError(f"{self._prefix} has no text {key}")
        data = self._bytes(entry)
        length, at = protobuf.varint(data, 0)
        if at + 4 + length != len(data):
            raise ValueError(f"{key} of {self._prefix} is damaged")
        return data[at + 4:]

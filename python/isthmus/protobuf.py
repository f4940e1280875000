"""Messages of protobuf, read field by field without their declarations."""


def varint(data: bytes, at: int):
    """The integer at a position, and the position behind it."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            return value, at
        if shift > 63:
            raise ValueError("not a protobuf message")


def fields(data: bytes):
    """Number and value of each field of a message: an integer, or bytes (numbers of fixed size too)."""
    at, end = 0, len(data)
    while at < end:
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
            yield key >> 3, value
            continue
        if kind not in (1, 2, 5):
            raise ValueError("not a protobuf message")
        size = 8 if kind == 1 else 4
        if kind == 2:
            size, at = varint(data, at)
        if size > end - at:
            raise IndexError("a message is cut off")
        yield key >> 3, data[at:at + size]
        at += size


def messages(data: bytes, *path: int):
    """The messages, or strings, at a path of field numbers."""
    if not path:
        yield data
        return
    for number, value in fields(data):
        if number == path[0] and isinstance(value, bytes):
            yield from messages(value, *path[1:])


def message(data: bytes, *path: int) -> bytes:
    """The last message at a path; empty if there is none."""
    last = b""
    for last in messages(data, *path):
        pass
    return last


def text(data: bytes, *path: int) -> str:
    return message(data, *path).decode()


def integer(data: bytes, number: int) -> int:
    """An integer; 0 if there is none."""
    return next((v for n, v in fields(data) if n == number and isinstance(v, int)), 0)


def integers(data: bytes, number: int) -> list:
    """A repeated integer, packed or not."""
    result = []
    for n, value in fields(data):
        if n != number:
            continue
        if isinstance(value, int):
            result.append(value)
            continue
        at = 0
        while at < len(value):
            one, at = varint(value, at)
            result.append(one)
    return result

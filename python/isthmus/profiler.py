"""What a plugin's profiler recorded, without a framework: its steps with times, flops and bytes.

    recording = profiler.record(client, lambda: program(x).block_until_ready())
"""

import collections
import ctypes
import struct

from isthmus import protobuf
from isthmus.c_api import Error, P, S

# PJRT_Extension_Type_Profiler, and places in PLUGIN_Profiler_Api (pjrt_c_api/profiler.h).
_PROFILER = 1
_ERROR_DESTROY, _ERROR_MESSAGE, _CREATE, _DESTROY, _START, _STOP, _COLLECT = 2, 3, 5, 6, 7, 8, 9


class Step:
    """A kernel or a library call of a program: how often it ran, for how long, and what it is."""

    def __init__(self, name: str):
        self.name, self.count, self.seconds = name, 0, 0.0
        self.source = self.category = self.scope = self.stack = ""
        self.flops = self.bytes = 0.0  # of one occurrence


def record(client, body) -> "list[Step]":
    """Runs `body` and returns the steps of all programs that ran, by the device's time line."""
    return steps(_collect(client._api, body))


def _collect(api, body) -> bytes:
    table = _profiler_table(api)
    functions = (P * 13).from_address(table)

    def call(place: int, *fields):
        """Calls an entry with `fields` behind struct_size; returns the fields as they are then."""
        arguments = (S * (1 + len(fields)))(8 * (1 + len(fields)), *fields)
        error = ctypes.CFUNCTYPE(P, P)(functions[place])(ctypes.addressof(arguments))
        if not error:
            return list(arguments)[1:]
        message = (S * 4)(32, error, 0, 0)
        ctypes.CFUNCTYPE(None, P)(functions[_ERROR_MESSAGE])(ctypes.addressof(message))
        text = ctypes.string_at(message[2], message[3]).decode(errors="replace")
        gone = (S * 2)(16, error)
        ctypes.CFUNCTYPE(None, P)(functions[_ERROR_DESTROY])(ctypes.addressof(gone))
        raise Error(13, text)

    profiler = call(_CREATE, 0, 0, 0)[2]
    try:
        call(_START, profiler)
        try:
            body()
        finally:
            call(_STOP, profiler)
        _, data, size = call(_COLLECT, profiler, 0, 0)
        return ctypes.string_at(data, size) if size else b""
    finally:
        call(_DESTROY, profiler)


def _profiler_table(api) -> int:
    extension = api.extensions
    while extension:
        # PJRT_Extension_Base: struct_size, type, next.
        if ctypes.c_int.from_address(extension + 8).value == _PROFILER:
            return ctypes.c_void_p.from_address(extension + 24).value
        extension = ctypes.c_void_p.from_address(extension + 16).value
    raise Error(12, "the plugin has no profiler")


# ---- XSpace, tensorflow/profiler's xplane.proto

def _entries(items):
    """A map from numbers to messages."""
    for item in items:
        pair = dict(protobuf.fields(item))
        yield pair.get(1, 0), pair.get(2, b"")


def steps(space: bytes) -> "list[Step]":
    """The steps on the lines of devices, the longest first."""
    found = {}
    for number, plane in protobuf.fields(space):
        if number != 1:
            continue
        parts = collections.defaultdict(list)
        for field, value in protobuf.fields(plane):
            parts[field].append(value)
        if not parts[2] or not parts[2][0].startswith(b"/device:"):
            continue
        names = {key: dict(protobuf.fields(value)).get(2, b"").decode()
                 for key, value in _entries(parts[5])}
        infos = {key: _describe(value, names) for key, value in _entries(parts[4])}
        for line in parts[3]:
            content = collections.defaultdict(list)
            for field, value in protobuf.fields(line):
                content[field].append(value)
            if not content[2] or not content[2][0].startswith(b"XLA Ops"):
                continue
            for event in content[4]:
                _count(event, infos, names, found)
    return sorted(found.values(), key=lambda step: -step.seconds)


def _describe(metadata: bytes, names: dict) -> Step:
    step = Step("")
    for field, value in protobuf.fields(metadata):
        if field == 2:
            step.name = value.decode()
        if field != 5:
            continue
        stat = dict(protobuf.fields(value))
        name = names.get(stat.get(1))
        if 2 in stat:
            number, = struct.unpack("<d", stat[2])
            if name == "flops":
                step.flops = number
            elif name == "bytes_accessed":
                step.bytes = number
        elif 5 in stat:
            attribute = {"hlo_category": "category", "tf_op": "scope", "source_stack": "stack"}.get(name)
            if attribute:
                setattr(step, attribute, stat[5].decode())
    return step


def _count(event: bytes, infos: dict, names: dict, found: dict) -> None:
    values = collections.defaultdict(list)
    for field, value in protobuf.fields(event):
        values[field].append(value)
    number = values[1][0]
    if number not in infos:
        return
    step = found.setdefault(id(infos[number]), infos[number])
    step.count += 1
    step.seconds += (values[3][0] if values[3] else 0) * 1e-12
    for stat in map(dict, map(protobuf.fields, values[4])):
        if names.get(stat.get(1)) == "source" and 7 in stat:
            step.source = names.get(stat[7], "")

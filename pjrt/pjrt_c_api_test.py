"""Compares our declarations of the C API with an independent description of it.

pypjrt ships ctypes structures generated from the public headers of API 0.114. Every structure,
field offset, size and enumeration value that it knows is turned into a static_assert, and the
compiler checks them against include/isthmus/pjrt_c_api.h.
"""

import ctypes
import pathlib
import re
import shutil
import subprocess

import pytest

abi = pytest.importorskip("pypjrt._abi.pjrt_0_114")

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADERS = sorted((ROOT / "include/isthmus/pjrt_c_api").glob("*.h"))


def declared():
    """Names of our structures and enumerators."""
    text = "\n".join(header.read_text() for header in HEADERS)
    structs = set(re.findall(r"^struct ((?:PJRT|PLUGIN)_\w+) \{", text, re.M))
    constants = set(re.findall(r"^  (PJRT_\w+) = -?\d+,$", text, re.M))
    return structs, constants


def constants():
    """Enumerator values of the independent description."""
    return {
        name: value
        for name, value in vars(abi).items()
        if name.startswith("PJRT_") and isinstance(value, int) and not name.startswith("PJRT_API_")
    }


def structures():
    return {
        name: kind
        for name, kind in vars(abi).items()
        if name.startswith(("PJRT_", "PLUGIN_"))
        and isinstance(kind, type)
        and issubclass(kind, ctypes.Structure)
        and getattr(kind, "_fields_", None)
    }


def leaves(kind, base=0):
    """(name, offset, size) of every field, those of anonymous unions among them."""
    anonymous = set(getattr(kind, "_anonymous_", ()))
    for name, *_ in kind._fields_:
        field = getattr(kind, name)
        if name in anonymous:
            yield from leaves(dict((f[0], f[1]) for f in kind._fields_)[name], base + field.offset)
        else:
            yield name, base + field.offset, field.size


def compile_checks(lines, tmp_path):
    compiler = next((c for c in ("clang++-22", "clang++", "g++") if shutil.which(c)), None)
    if compiler is None:
        pytest.skip("no C++ compiler")
    source = tmp_path / "check.cc"
    source.write_text('#include "isthmus/pjrt_c_api.h"\n' + "\n".join(lines) + "\n")
    run = subprocess.run(
        [compiler, "-std=c++20", "-fsyntax-only", f"-I{ROOT}/include", str(source)],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr[:4000]


def test_every_structure_of_the_table_is_declared():
    ours, _ = declared()
    needed = {name for name in structures() if f"{name[:-5]}" in abi.SLOT}
    assert len(needed) == 138
    assert needed - ours == set()


def test_layouts_agree(tmp_path):
    ours, _ = declared()
    lines = []
    for name, kind in structures().items():
        if name not in ours or name == "PJRT_Api":
            continue
        lines.append(f"static_assert(sizeof({name}) == {ctypes.sizeof(kind)});")
        for field, offset, size in leaves(kind):
            lines.append(f"static_assert(offsetof({name}, {field}) == {offset});")
            lines.append(f"static_assert(sizeof({name}::{field}) == {size});")
    assert len(lines) > 1000
    # The profiler's structures are no part of the table, and are compared too.
    assert "static_assert(offsetof(PLUGIN_Profiler_Api, serialize) == 96);" in lines
    compile_checks(lines, tmp_path)


def test_table_order_agrees(tmp_path):
    lines = [
        f"static_assert(offsetof(PJRT_Api, {name}) == {abi.VTABLE_OFFSET + 8 * slot});"
        for name, slot in abi.SLOT.items()
    ]
    assert len(lines) == 138
    compile_checks(lines + ["static_assert(sizeof(PJRT_Api) == 1144);"], tmp_path)


def test_enumerations_agree(tmp_path):
    _, ours = declared()
    theirs = constants()
    common = ours & set(theirs)
    assert len(common) > 80
    compile_checks([f"static_assert({name} == {theirs[name]});" for name in common], tmp_path)


def test_sizes_known_from_shipped_plugins(tmp_path):
    """Sizes at API 0.112, as read from shipped plugins and headers."""
    sizes = {
        "PJRT_Client_Create_Args": 88,
        "PJRT_Client_Compile_Args": 56,
        "PJRT_Program": 48,
        "PJRT_ExecuteOptions": 144,
        "PJRT_LoadedExecutable_Execute_Args": 80,
        "PJRT_Client_BufferFromHostBuffer_Args": 120,
        "PJRT_Buffer_ToHostBuffer_Args": 56,
        "PJRT_Buffer_MemoryLayout": 80,
        "PJRT_NamedValue": 56,
        "PJRT_Executable_GetCompiledMemoryStats_Args": 144,
        "PJRT_Executable_DeserializeAndLoad_Args": 72,
        "PJRT_Client_CreateViewOfDeviceBuffer_Args": 112,
        "PJRT_Api_Version": 24,
        "PJRT_Layouts_Extension": 80,
        "PJRT_FFI_Extension": 48,
        "PJRT_Shardings_Extension": 40,
        "PJRT_Profiler_Extension": 40,
    }
    compile_checks([f"static_assert(sizeof({n}) == {s});" for n, s in sizes.items()], tmp_path)

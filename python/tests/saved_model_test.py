"""SavedModels with a program of StableHLO, read without TensorFlow: models written here, field by field.

Those that jax2tf, torch_xla and Keras write are tried where TensorFlow is: test/keras/saved_model_test.py.
"""

import shutil
import struct
import subprocess
import sys

import numpy as np
import pytest

import isthmus
from isthmus import checkpoint

CODE = """func.func @main(%w: tensor<2x3xf32>, %y: tensor<3xf32>, %x: tensor<2xf32>)
    -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [0] x [0]
      : (tensor<2xf32>, tensor<2x3xf32>) -> tensor<3xf32>
  %1 = stablehlo.add %0, %y : tensor<3xf32>
  return %0, %1 : tensor<3xf32>, tensor<3xf32>
}"""
W = np.arange(6, dtype=np.float32).reshape(2, 3)


def varint(number):
    result = b""
    while number > 127:
        result, number = result + bytes([number & 127 | 128]), number >> 7
    return result + bytes([number])


def message(*fields):
    """Of pairs of number and value: an integer, text, or a message."""
    result = b""
    for number, value in fields:
        if isinstance(value, int):
            result += varint(number << 3) + varint(value)
        else:
            value = value.encode() if isinstance(value, str) else value
            result += varint(number << 3 | 2) + varint(len(value)) + value
    return result


def node(name, operation, inputs, **attributes):
    return message((1, name), (2, operation), *((3, i) for i in inputs), *(
        (5, message((1, key), (2, value))) for key, value in attributes.items()))


def function(name, arguments, nodes, returned):
    signature = message((1, name), *((2, message((1, a))) for a in arguments),
                        *((3, message((1, r))) for r in returned))
    return message((1, signature), *((3, n) for n in nodes),
                   *((4, message((1, r), (2, value))) for r, value in returned.items()))


def table(entries):
    """A table of one block, as leveldb lays it out; each key shares one byte with the last."""
    def block(pairs):
        data, last = b"", b""
        for key, value in pairs:
            shared = 1 if last and key[:1] == last[:1] else 0
            data += varint(shared) + varint(len(key) - shared) + varint(len(value)) + key[shared:] + value
            last = key
        return data + struct.pack("<II", 0, 1)

    data = block(sorted(entries.items()))
    index = block([(b"\x7f", varint(0) + varint(len(data)))])
    end = varint(0) * 2 + varint(len(data) + 5) + varint(len(index))
    return data + bytes(5) + index + bytes(5) + end.ljust(40, b"\0") + struct.pack("<Q", 0xDB4775248B80FB57)


NODES = [
    node("Read", "ReadVariableOp", ["resource"]),
    node("Call", "XlaCallModule", ["Read:value:0", "y", "x", "^Read"], module=message((2, CODE)),
         Tout=message((1, message((6, b"\x01\x01"))))),
    node("Same", "IdentityN", ["Call:output:0", "Call:output:1"]),
]


def write(folder, nodes=NODES, returned=("Same:output:1", "Call:output:0")):
    """serving_default(x, y) -> its program's second and first result; the variable `w` is its third argument."""
    inner = function("inner", ["x", "y", "resource"], nodes, dict(zip("ab", returned)))
    outer = function("outer", ["x", "y", "unknown"], [
        node("Inner", "StatefulPartitionedCall", ["x", "y", "unknown"], f=message((10, message((1, "inner"))))),
    ], {"a": "Inner:output:0", "b": "Inner:output:1"})
    objects = message(
        (1, message((1, message((1, 1), (2, "signatures"))), (1, message((1, 2), (2, "w"))))),
        (1, message((1, message((1, 3), (2, "serving_default"))))),
        (1, message((7, b""))),
        (1, message((8, message((1, "outer"), (2, "x"), (2, "y"))))),
        (2, message((1, "outer"), (2, message((2, b"\x02"))))))
    empty, wide = function("none", [], [], {}), function("wide", ["x", "y", "r"], [], {"a": "x"})
    graph = message((2, message((2, message((1, inner), (1, outer), (1, empty), (1, wide))))),
                    (5, message((1, "serving_default"), (2, b""))), (7, objects))
    (folder / "saved_model.pb").write_bytes(message((1, 1), (2, graph)))
    saved_objects = message((1, message((1, message((1, 1), (2, "w"))))), (1, message(
        (2, message((1, "VARIABLE_VALUE"), (3, "w/.ATTRIBUTES/VARIABLE_VALUE"))))))
    text = varint(len(saved_objects)) + bytes(4) + saved_objects
    shape = message((2, message((1, 2))), (2, message((1, 3))))
    (folder / "variables").mkdir()
    (folder / "variables/variables.index").write_bytes(table({
        b"": message((1, 1)),
        b"_CHECKPOINTABLE_OBJECT_GRAPH": message((1, 7), (4, W.nbytes), (5, len(text))),
        b"w/.ATTRIBUTES/VARIABLE_VALUE": message((1, 1), (2, shape), (5, W.nbytes)),
    }))
    (folder / "variables/variables.data-00000-of-00001").write_bytes(W.tobytes() + text)


def test_variables_and_results_are_those_of_the_signature(tmp_path):
    write(tmp_path)
    program = isthmus.compile(tmp_path)
    x, y = np.array([1, 2], np.float32), np.array([10, 20, 30], np.float32)
    for results in (program(x, y), program(x, y=y), program(y=y, x=x)):
        np.testing.assert_array_equal(results[0], x @ W + y)
        np.testing.assert_array_equal(results[1], x @ W)
    with pytest.raises(TypeError, match="got 1 arguments, expected 2: x, y"):
        program(x)
    with pytest.raises(TypeError, match="expected the names"):
        program(x, z=y)
    with pytest.raises(ValueError, match="no signature other; it has: serving_default"):
        isthmus.compile(tmp_path, signature="other")


MAIN = r"""
#include <stdio.h>
#include "model.h"

int main(void) {
  const float x[2] = {1, 2}, y[3] = {10, 20, 30};
  float a[3], b[3];
  const char* problem = model_run(x, y, a, b);
  if (problem) return puts(problem), 1;
  return printf("%g %g %g %g %g %g", a[0], a[1], a[2], b[0], b[1], b[2]) < 0;
}
"""


@pytest.mark.parametrize("returned", ["10", "11"])
def test_results_of_an_object_file_are_those_of_the_signature(tmp_path, package, returned):
    library = package / "libisthmus_model.so"
    if not library.exists():  # sanitizer builds have none
        pytest.skip("this build has no libisthmus_model")
    (tmp_path / "saved").mkdir()
    write(tmp_path / "saved", returned=[f"Call:output:{number}" for number in returned])
    (tmp_path / "main.c").write_text(MAIN)

    def run(*command):
        done = subprocess.run(list(map(str, command)), cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run(sys.executable, "-m", "isthmus", "compile", "saved", "--signature", "serving_default", "-o", "model.o")
    assert "argument1, y: [3] of float" in (tmp_path / "model.h").read_text()
    run(shutil.which("clang-22") or "cc", "-std=c99", "-Wall", "-Werror", "-pedantic", "main.c", "model.o",
        f"-I{package / 'include'}", library.resolve(), f"-Wl,-rpath,{library.resolve().parent}", "-o", "main")
    x, y = np.array([1, 2], np.float32), np.array([10, 20, 30], np.float32)
    both = [x @ W, x @ W + y]
    expected = np.concatenate([both[int(number)] for number in returned])
    np.testing.assert_array_equal(np.array(run(tmp_path / "main").split(), np.float32), expected)


@pytest.mark.parametrize("nodes, said", [
    ([node("End", "AddV2", ["x", "y"])], "no program of StableHLO.*isthmus-convert"),
    ([*NODES, node("Write", "AssignVariableOp", ["resource", "x"]), node("End", "Identity", ["Call:output:0"])],
     "AssignVariableOp with a variable.*isthmus-convert"),
    ([*NODES, node("End", "AddV2", ["x", "y"])], "a result of outer is none of its program's.*isthmus-convert"),
    ([node("Sum", "AddV2", ["x", "y"]), node("End", "XlaCallModule", ["Sum:z:0"], module=message((2, CODE)),
                                             Tout=message((1, message((6, b"\x01")))))],
     "TensorFlow's AddV2.*isthmus-convert"),
    ([*NODES, node("Call2", "XlaCallModule", []), node("End", "Identity", ["Call:output:0"])],
     "damaged"),
    ([node("End", "PartitionedCall", ["x", "y", "resource"], f=message((10, message((1, "inner")))))],
     "nested more than 64 deep, at inner"),
    ([node("Left", "PartitionedCall", ["x", "y", "resource"], f=message((10, message((1, "gone"))))),
      node("End", "Identity", ["Left"])], "function gone is called, but it is missing"),
    ([node("End", "Identity", ["gone"])], "gone, which is nowhere"),
    ([node("End", "Identity", ["End"])], "a cycle: End uses its own result"),
    ([node("A", "Identity", ["B"]), node("B", "IdentityN", ["x", "C", "A"]), node("C", "Identity", ["x"]),
      node("End", "Identity", ["x"])], "a cycle: [AB] uses its own result"),
    # Calls at the end of chains, at every depth.
    ([node("End", "Identity", ["I0"]), *(node(f"I{i}", "Identity", [f"I{i + 1}"]) for i in range(100)),
      node("I100", "PartitionedCall", ["x", "y", "resource"], f=message((10, message((1, "inner")))))],
     "nested more than 64 deep"),
    ([node("End", "PartitionedCall", ["x", "y", "resource"], f=message((10, message((1, "wide"))))),
      *(node(f"C{i}", "PartitionedCall", [], f=message((10, message((1, "none"))))) for i in range(1000))],
     "called more than 1000 times"),
])
def test_what_is_no_program_is_refused(tmp_path, nodes, said):
    write(tmp_path, nodes, ["End:output:0"] * 2)
    with pytest.raises(ValueError, match=said):
        isthmus.compile(tmp_path)


def test_nodes_may_be_in_any_order_in_long_chains(tmp_path):
    chain = [node(f"I{i}", "Identity", [f"I{i + 1}"]) for i in range(5000)]
    write(tmp_path, [*chain, node("I5000", "Identity", ["Call:output:1"]), *reversed(NODES)], ("I0", "Same:output:0"))
    x, y = np.array([1, 2], np.float32), np.array([10, 20, 30], np.float32)
    results = isthmus.compile(tmp_path)(x, y)
    np.testing.assert_array_equal(results[0], x @ W + y)
    np.testing.assert_array_equal(results[1], x @ W)


def shaped(number, dims, *values):
    return message((1, number), (2, message(*((2, message((1, dim))) for dim in dims))), *values)


@pytest.mark.parametrize("tensor, expected", [
    (shaped(1, [0]), np.zeros(0, np.float32)),
    (shaped(9, [2, 0, 3]), np.zeros((2, 0, 3), np.int64)),
    (shaped(1, [2, 3]), np.zeros((2, 3), np.float32)),
    (shaped(6, [2]), np.zeros(2, np.int8)),
    (shaped(10, []), np.array(False)),
    (shaped(1, [2, 2], (5, struct.pack("<3f", 1, 2, 3))), np.array([[1, 2], [3, 3]], np.float32)),
    (shaped(3, [3], (7, 5), (7, 2**64 - 2)), np.array([5, -2, -2], np.int32)),
    (shaped(6, [2], (7, 2**64 - 3)), np.array([-3, -3], np.int8)),
    (shaped(19, [2], (13, varint(0x3C00))), np.ones(2, np.float16)),
    (shaped(22, [2], (16, 2**32 - 1)), np.full(2, 2**32 - 1, np.uint32)),
    (shaped(23, [1], (17, 2**64 - 1)), np.full(1, 2**64 - 1, np.uint64)),
    (shaped(8, [2], (9, struct.pack("<2f", 1, 2))), np.full(2, 1 + 2j, np.complex64)),
    (shaped(10, [3], (11, b"\0\1")), np.array([False, True, True])),
    (shaped(3, [2], (4, struct.pack("<2i", 7, -7))), np.array([7, -7], np.int32)),
])
def test_constants_may_leave_out_what_is_repeated_or_zero(tensor, expected):
    array = checkpoint.constant(tensor)
    assert array.dtype == expected.dtype
    np.testing.assert_array_equal(array, expected, strict=True)


def test_what_needs_ml_dtypes_says_so():
    # NumPy knows its types from its first import on, so it is another process that has none.
    program = f"""import sys; sys.modules["ml_dtypes"] = None
from isthmus import checkpoint
checkpoint.constant(bytes.fromhex("{shaped(14, [2]).hex()}"))"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100)
    assert ended.returncode == 1 and "arrays of bfloat16 need the package ml_dtypes" in ended.stderr


@pytest.mark.parametrize("dims", [[2**40], [2**20, 2], [2**64 - 1], [0, 2**64 - 1]])
def test_constants_of_a_few_bytes_are_not_large(dims):
    with pytest.raises((ValueError, OverflowError)):
        checkpoint.constant(shaped(1, dims))


def test_damaged_models_are_refused(tmp_path):
    write(tmp_path)
    files = [tmp_path / "saved_model.pb", tmp_path / "variables/variables.index",
             tmp_path / "variables/variables.data-00000-of-00001"]
    from isthmus import artifacts

    for path in files:
        whole = path.read_bytes()
        for at in range(0, len(whole), max(len(whole) // 60, 1)):
            path.write_bytes(whole[:at])
            try:
                artifacts.read(tmp_path)
            except ValueError:
                pass
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1:])
            try:
                artifacts.read(tmp_path)
            except (ValueError, OSError):
                pass
        path.write_bytes(whole)

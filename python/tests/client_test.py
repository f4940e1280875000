"""`isthmus.compile`: programs without any framework, over the C API by ctypes."""

import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

import isthmus
from isthmus import c_api

ROOT = pathlib.Path(__file__).resolve().parents[2]

ADD = """func.func @main(%x: tensor<3x4xf32>, %y: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = stablehlo.add %x, %y : tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}"""

TWO = """func.func @main(%x: tensor<4xi32>) -> (tensor<4xi32>, tensor<i32>) {
  %0 = stablehlo.constant dense<0> : tensor<i32>
  %1 = stablehlo.reduce(%x init: %0) applies stablehlo.add across dimensions = [0]
    : (tensor<4xi32>, tensor<i32>) -> tensor<i32>
  %2 = stablehlo.multiply %x, %x : tensor<4xi32>
  return %2, %1 : tensor<4xi32>, tensor<i32>
}"""


def identity(kind, shape):
    return (f"func.func @main(%x: tensor<{shape}x{kind}>) -> tensor<{shape}x{kind}> "
            f"{{ return %x : tensor<{shape}x{kind}> }}")


def test_arrays_of_any_strides():
    add = isthmus.compile(ADD)
    x = np.arange(24, dtype=np.float32).reshape(4, 6)[:, ::2].T
    y = np.asfortranarray(np.ones((3, 4), np.float32))[::-1]
    np.testing.assert_array_equal(add(x, y), x + y)
    np.testing.assert_array_equal(add(add(x, y), y), x + 2 * y)


def test_several_results():
    squares, total = isthmus.compile(TWO)(np.arange(4, dtype=np.int32))
    assert squares.shape == (4,) and squares.dtype == np.int32
    np.testing.assert_array_equal(squares, [0, 1, 4, 9])
    assert int(total) == 6


@pytest.mark.parametrize("kind, dtype", [
    ("i1", "bool"), ("i8", "int8"), ("i16", "int16"), ("i64", "int64"), ("ui8", "uint8"),
    ("ui32", "uint32"), ("f16", "float16"), ("f64", "float64"), ("complex<f32>", "complex64"),
    ("complex<f64>", "complex128"), ("bf16", "bfloat16"), ("f8E4M3FN", "float8_e4m3fn"),
    ("i4", "int4")])
def test_element_types(kind, dtype):
    if not hasattr(np, dtype):
        dtype = getattr(pytest.importorskip("ml_dtypes"), dtype)
    x = np.array([0, 1, 1, 0, 1]).astype(dtype)
    got = np.asarray(isthmus.compile(identity(kind, 5))(x))
    assert got.dtype == x.dtype
    np.testing.assert_array_equal(got.astype(np.complex64), x.astype(np.complex64))


def test_empty_and_scalar_arrays():
    assert np.asarray(isthmus.compile(identity("f32", "0x3"))(np.zeros((0, 3), np.float32))).shape == (0, 3)
    scalar = isthmus.compile("func.func @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }")
    assert float(scalar(np.float32(2.5))) == 2.5


def test_memory_lives_as_long_as_numpy_has_it():
    result = isthmus.compile(ADD)(np.ones((3, 4), np.float32), np.ones((3, 4), np.float32))
    view, capsule = np.asarray(result), np.from_dlpack(result)
    assert not view.flags.writeable
    del result
    isthmus.compile(ADD)(np.zeros((3, 4), np.float32), np.zeros((3, 4), np.float32)).block_until_ready()
    assert (view == 2).all() and (capsule == 2).all()


def test_caller_may_change_its_array_at_once():
    x = np.ones((3, 4), np.float32)
    result = isthmus.compile(ADD)(x, x)
    x[:] = 5
    assert (np.asarray(result) == 2).all()


def test_errors():
    with pytest.raises(isthmus.Error, match="unknown|expected|error"):
        isthmus.compile("func.func @main() { nonsense }")
    add = isthmus.compile(ADD)
    with pytest.raises(isthmus.Error, match="2 parameters"):
        add(np.zeros((3, 4), np.float32))
    with pytest.raises(isthmus.Error):
        np.asarray(add(np.zeros((3, 5), np.float32), np.zeros((3, 4), np.float32)))
    with pytest.raises(isthmus.Error, match="cannot be on a device"):
        add(np.array(["a"]), np.zeros((3, 4), np.float32))


def test_serialized_executables():
    data = isthmus.compile(ADD).serialize()
    x = np.ones((3, 4), np.float32)
    np.testing.assert_array_equal(isthmus.deserialize(data)(x, x), x + x)


def test_several_devices():
    client = isthmus.Client(num_devices=2)
    assert client.num_devices == 2
    x = np.ones((3, 4), np.float32)
    for device in (0, 1):
        np.testing.assert_array_equal(client.compile(ADD, device=device)(x, x), x + x)


def test_sizes_that_an_artifact_leaves_open(tmp_path):
    """The results of JAX's own CPU client, from programs that are compiled for several sizes."""
    pytest.importorskip("flatbuffers")
    code = """
import sys, jax, numpy, jax.numpy as jnp
from jax import export
jax.config.update("jax_platforms", "cpu")
rows, more = export.symbolic_shape("b, 2*c", constraints=["b >= 2"])
def program(x, unused, y):
    joined = jnp.concatenate([x, y * 2])
    return (jnp.cumsum(x, 0), jax.lax.cummax(x, 1, reverse=True), jax.nn.softmax(x @ y.T),
            jnp.sort(joined, 0), jnp.argmax(joined, 0), joined.reshape(-1)[::2], x[1:] - x[:-1],
            x.reshape(x.shape[0], -1, 2).sum(1), jnp.arange(x.shape[1]) * x.shape[0], jnp.where(x > 0, x, 0),
            jax.lax.conv(x[None, None], jnp.ones((2, 1, 2, 2)), (1, 2), "SAME"),
            jax.lax.conv(x[:, None], jnp.ones((2, 1, 3)), (1,), [(1, 1)]))
of = jax.ShapeDtypeStruct
exported = export.export(jax.jit(program))(of((rows, more), "f4"), of((), "f4"), of((3, more), "f4"))
open(sys.argv[1] + "/model.jax", "wb").write(exported.serialize())
for b, c in (2, 4), (7, 6):
    x, y = numpy.random.RandomState(b).randn(2, 9, c).astype("f4")
    numpy.savez(f"{sys.argv[1]}/{b}.npz", x[:b], y[:3], *jax.jit(program)(x[:b], 0, y[:3]))
"""
    subprocess.run([sys.executable, "-c", code, tmp_path], check=True, env={**os.environ, "JAX_PLATFORMS": "cpu"})
    model = tmp_path / "model.jax"
    for rows in (2, 7):
        arrays = np.load(tmp_path / f"{rows}.npz")
        x, y, *expected = (arrays[name] for name in arrays.files)
        program = isthmus.compile(model, shapes=[x.shape, (), y.shape])
        for got, want in zip(program(x, np.float32(0), y), expected, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
    with pytest.raises(isthmus.Error, match=r"parameter 0: expected a static shape, got tensor<\?x\?xf32>"):
        isthmus.compile(model)
    with pytest.raises(isthmus.Error, match=r"parameter 2 of tensor<3x\?xf32> is given the shape \[4, 4\]"):
        isthmus.compile(model, shapes=[(2, 4), (), (4, 4)])
    for wrong in (1, 4), (2, 5):
        with pytest.raises(isthmus.Error, match="Input shapes do not match"):
            isthmus.compile(model, shapes=[wrong, (), (3, wrong[1])])


def test_artifacts_of_jax_export(tmp_path):
    jax = pytest.importorskip("jax")
    from jax import export

    def program(unused, x, *, scale):
        return jax.numpy.sin(x) * scale, x.sum()

    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    exported = export.export(jax.jit(program, static_argnames="scale"), platforms=("cpu", "tpu"))(
        x, x, scale=3)
    path = tmp_path / "program.jax"
    path.write_bytes(exported.serialize())
    for source in (exported, bytes(exported.serialize()), path, str(path)):
        sines, total = isthmus.compile(source)(x, x)
        np.testing.assert_allclose(sines, 3 * np.sin(x), rtol=1e-6)
        assert float(total) == 15
        for wrong in ((x,), (x, x, x)):
            with pytest.raises(TypeError, match=f"got {len(wrong)} arguments, expected 2"):
                isthmus.compile(source)(*wrong)


def test_nothing_but_numpy_is_imported():
    code = (f"import isthmus, numpy, sys; isthmus.compile('''{ADD}''');"
            "print([m for m in ('jax', 'torch', 'tensorflow', 'ml_dtypes') if m in sys.modules])")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_what_is_left_at_the_end_is_silent():
    # The module is emptied while something still has it and arrays, as TensorFlow does.
    code = (f"import os, sys, isthmus, numpy; f = isthmus.compile('''{ADD}'''); x = numpy.ones((3, 4), 'f4');"
            "from isthmus import c_api; os.kept = [f, f(x, x)]; sys.kept = [os, c_api]")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""


def test_table_is_that_of_the_headers():
    header = (ROOT / "include/isthmus/pjrt_c_api/table.h").read_text()
    slots = ["Error_Destroy", "Error_Message"] + re.findall(r"X\((\w+)\)", header)
    folder = ROOT / "include/isthmus/pjrt_c_api"
    text = "".join(path.read_text() for path in folder.glob("*.h"))
    for name, (slot, fields) in c_api.ENTRIES.items():
        assert slots[slot] == name
        body = re.search(rf"struct PJRT_{name}_Args {{\s*ISTHMUS_PJRT_HEAD(.*?)\n}};", text, re.S).group(1)
        declared = re.findall(r"(\w+)(?:\)\([^;]*)?;", body)
        assert [field.split(":")[0] for field in fields.split()] == declared, name


def test_info_says_what_a_device_can_do():
    done = subprocess.run([sys.executable, "-m", "isthmus", "info"], capture_output=True, text=True,
                          check=True)
    assert "platform  cpu" in done.stdout
    assert re.search(r"matrix product +f64 \d+ us, f32 \d+ us", done.stdout)
    # NumPy alone is enough.
    code = "import sys; sys.modules['ml_dtypes'] = None; from isthmus import info; info.main([], True)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "bf16 needs ml_dtypes" in done.stdout
    done = subprocess.run([sys.executable, "-m", "isthmus", "info", "--brief", "/no/such/library.so"],
                          capture_output=True, text=True)
    assert done.returncode == 1
    assert "no devices" in done.stdout

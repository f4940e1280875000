"""Handlers that users compile: buffers, attributes, states, contexts, errors, older signatures."""

import ctypes
import os
import pathlib
import shutil
import subprocess
import sys

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLE = HERE.parent.parent / "examples/ffi/normalize_rows.py"
COMPILER = os.environ.get("CXX") or next(filter(shutil.which, ("clang++-22", "clang++", "c++", "g++")), None)


@pytest.fixture(scope="module")
def handlers(tmp_path_factory):
    """The compiled and registered handlers."""
    assert COMPILER, "no C++ compiler"
    path = tmp_path_factory.mktemp("ffi") / "handlers.so"
    subprocess.run([COMPILER, "-std=c++17", "-O1", "-fPIC", "-shared", f"-I{jax.ffi.include_dir()}",
                    str(HERE / "ffi_handlers.cc"), "-o", str(path)], check=True)
    library = ctypes.CDLL(str(path))
    for function in (library.counterTypeId, library.counterTypeInfo):
        function.restype = ctypes.c_void_p
    for name in ("Affine", "Attributes", "CopyAll", "AddInPlace", "Fail", "SumOnThreads"):
        jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(getattr(library, name)), platform="isthmus")
    jax.ffi.register_ffi_type("Counter", {
        "type_id": jax.ffi.pycapsule(ctypes.c_void_p(library.counterTypeId())),
        "type_info": jax.ffi.pycapsule(ctypes.c_void_p(library.counterTypeInfo()))}, platform="isthmus")
    jax.ffi.register_ffi_target("Count", {
        "instantiate": jax.ffi.pycapsule(library.CounterInstantiate),
        "execute": jax.ffi.pycapsule(library.CounterExecute)}, platform="isthmus")
    jax.ffi.register_ffi_target("Untyped", jax.ffi.pycapsule(library.untypedDouble), platform="isthmus",
                                api_version=0)
    return library


@pytest.fixture(autouse=True)
def on_our_device(ours, handlers):
    with jax.default_device(ours):
        yield


def like(x):
    return jax.ShapeDtypeStruct(x.shape, x.dtype)


def test_buffers_and_scalars():
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    f = jax.jit(lambda x: jax.ffi.ffi_call("Affine", like(x))(
        x * 2, scale=np.float32(3), offset=np.float64(0.5)) - 1)
    np.testing.assert_array_equal(f(x), x * 6 - 0.5)


def test_attributes_of_every_kind():
    with jax.enable_x64(True):
        out = jax.ffi.ffi_call("Attributes", jax.ShapeDtypeStruct((5,), np.int64))(
            array=np.array([1, 2, 39], np.int64), text="seven !", flag=True,
            nested={"inner": np.int32(-5), "word": "ox"})
    assert np.asarray(out).tolist() == [42, 7, 1, -5, 2]


def test_missing_attribute_is_an_error():
    with pytest.raises(jax.errors.JaxRuntimeError, match="(?s)@Affine at .*ffi_test.py.*number of attributes"):
        jax.block_until_ready(jax.ffi.ffi_call("Affine", like(np.ones(2, np.float32)))(
            np.ones(2, np.float32), scale=np.float32(3)))


@pytest.mark.parametrize("dtype", [
    np.bool_, np.int8, np.int16, np.int32, np.uint8, np.uint16, np.uint32, np.float16, np.float32,
    np.complex64, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.int4])
def test_types(dtype):
    x = np.arange(6).reshape(2, 3).astype(dtype)
    y = np.array([1]).astype(dtype)
    out = jax.ffi.ffi_call("CopyAll", (like(x), like(y)))(x, y)
    np.testing.assert_array_equal(np.asarray(out[0]), x)
    np.testing.assert_array_equal(np.asarray(out[1]), y)


def test_layouts_of_a_call():
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    # Column-major for the handler, which copies: the same array comes out …
    f = jax.ffi.ffi_call("CopyAll", (like(x),), input_layouts=[(1, 0)], output_layouts=[(1, 0)])
    np.testing.assert_array_equal(np.asarray(jax.jit(f)(x)[0]), x)
    # … unless it reads row-major what was written column-major.
    f = jax.ffi.ffi_call("CopyAll", (jax.ShapeDtypeStruct((3, 2), np.float32),), input_layouts=[(1, 0)])
    np.testing.assert_array_equal(np.asarray(jax.jit(f)(x)[0]), x.T)


def test_aliases_are_one_buffer():
    f = jax.jit(lambda x: jax.ffi.ffi_call(
        "AddInPlace", (like(x), jax.ShapeDtypeStruct((), np.bool_)), input_output_aliases={0: 0})(x * 2))
    y, is_one = f(np.array([1, 5], np.int32))
    np.testing.assert_array_equal(y, [3, 11])
    assert bool(is_one)


def test_aliased_parameter_stays_as_it_is():
    x = jnp.array([1, 5], jnp.int32)
    y, _ = jax.jit(lambda x: jax.ffi.ffi_call(
        "AddInPlace", (like(x), jax.ShapeDtypeStruct((), np.bool_)), input_output_aliases={0: 0})(x))(x)
    np.testing.assert_array_equal(x, [1, 5])
    np.testing.assert_array_equal(y, [2, 6])


def test_errors_have_code_and_message():
    f = jax.jit(lambda: jax.ffi.ffi_call("Fail", (), has_side_effect=True)(message="far away"))
    with pytest.raises(jax.errors.JaxRuntimeError, match="(?s)OUT_OF_RANGE.*far away"):
        jax.block_until_ready(f())
        jax.effects_barrier()


def test_state_belongs_to_the_call_site(handlers):
    result = jax.ShapeDtypeStruct((), np.int64)
    with jax.enable_x64(True):
        f = jax.jit(lambda: jax.ffi.ffi_call("Count", result, has_side_effect=True)(first=np.int64(5)))
        g = jax.jit(lambda: jax.ffi.ffi_call("Count", result, has_side_effect=True)(first=np.int64(70)))
        assert [int(h()) for h in (f, f, g, f, g)] == [5, 6, 70, 7, 71]
        assert handlers.countersAlive() == 2
        with pytest.raises(jax.errors.JaxRuntimeError, match="counters start at 0"):
            jax.ffi.ffi_call("Count", result)(first=np.int64(-1))
    del f, g
    jax.clear_caches()
    assert handlers.countersAlive() == 0


def test_contexts_and_asynchronous_end():
    x = np.arange(100, dtype=np.float32)
    results = (jax.ShapeDtypeStruct((), np.float32), jax.ShapeDtypeStruct((), np.int32))
    for device in jax.devices("isthmus"):
        total, place = jax.jit(lambda x: jax.ffi.ffi_call("SumOnThreads", results)(x, fails=False))(
            jax.device_put(x, device))
        assert (float(total), int(place)) == (9900.0, device.id)


def test_asynchronous_error():
    results = (jax.ShapeDtypeStruct((), np.float32), jax.ShapeDtypeStruct((), np.int32))
    with pytest.raises(jax.errors.JaxRuntimeError, match="(?s)UNAVAILABLE.*failed later"):
        jax.block_until_ready(jax.ffi.ffi_call("SumOnThreads", results)(np.ones(3, np.float32), fails=True))


def test_handler_in_control_flow_and_under_vmap():
    def step(i, x):
        return jax.ffi.ffi_call("Affine", like(x), vmap_method="broadcast_all")(
            x, scale=np.float32(2), offset=np.float64(1))

    run = jax.jit(lambda x: jax.lax.fori_loop(0, 5, step, x))
    x = np.arange(3, dtype=np.float32)
    np.testing.assert_array_equal(run(x), x * 32 + 31)
    np.testing.assert_array_equal(jax.jit(jax.vmap(lambda x: step(0, x)))(np.ones((2, 3), np.float32)), 3)


def test_untyped_handler():
    from jax._src.interpreters import mlir
    from jax.extend import core

    primitive = core.Primitive("untyped")
    primitive.def_abstract_eval(lambda x: jax.core.ShapedArray(x.shape, x.dtype))

    def lower(context, x):
        # API version 1: void (void* out, const void** in).
        return mlir.custom_call("Untyped", result_types=[x.type], operands=[x], api_version=1).results

    mlir.register_lowering(primitive, lower)
    assert float(jax.jit(primitive.bind)(jnp.float32(21))) == 42


def test_unknown_handler_is_named():
    with pytest.raises(jax.errors.JaxRuntimeError, match="(?s)UNIMPLEMENTED.*@nobody.*ffi_test.py"):
        jax.ffi.ffi_call("nobody", like(np.ones(2, np.float32)))(np.ones(2, np.float32))


def test_example_of_the_documentation():
    result = subprocess.run([sys.executable, str(EXAMPLE)], env={**os.environ, "CXX": COMPILER},
                            capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.splitlines() == ["on isthmus", "[[0.6, 0.8], [0.3846, 0.9231]]", "(2, 2, 2)"]

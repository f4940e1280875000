"""Python functions that programs call: their values, their order, their errors, JAX inside of them."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax.experimental import checkify, io_callback


@pytest.fixture(autouse=True)
def on_our_device(ours):
    with jax.default_device(ours):
        yield
        jax.effects_barrier()


def called(function, *arguments, like=None, **options):
    like = arguments[0] if like is None else like
    return jax.pure_callback(function, jax.ShapeDtypeStruct(like.shape, like.dtype), *arguments, **options)


def refuse(_):
    raise ValueError("not today")


def test_pure_callback_computes():
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    y = jax.jit(lambda x: called(lambda a: np.sin(a), x * 2) + 1)(x)
    np.testing.assert_allclose(y, np.sin(x * 2) + 1, rtol=1e-6)


@pytest.mark.parametrize("dtype", [
    np.bool_, np.int8, np.uint16, np.int32, np.float16, np.float32, np.complex64, ml_dtypes.bfloat16,
    ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2fnuz, ml_dtypes.int4, ml_dtypes.uint4])
def test_types_pass_both_ways(dtype):
    x = np.array([[0, 1, 2], [3, 1, 0]]).astype(dtype)
    seen = []

    def function(a):
        seen.append(np.asarray(a))
        return np.asarray(a)[::-1]

    y = jax.jit(lambda x: called(function, x))(x)
    np.testing.assert_array_equal(np.asarray(y), x[::-1])
    assert y.dtype == dtype and seen[0].dtype == dtype
    np.testing.assert_array_equal(seen[0], x)


def test_arrays_without_elements_and_several_results():
    shapes = (jax.ShapeDtypeStruct((0, 3), np.float32), jax.ShapeDtypeStruct((), np.int32))
    f = jax.jit(lambda x: jax.pure_callback(lambda a: (a, np.int32(len(a))), shapes, x))
    empty, length = f(jnp.zeros((0, 3)))
    assert empty.shape == (0, 3) and int(length) == 0


def test_callbacks_have_run_when_the_call_returns():
    """On one device, as on JAX's own CPU client: what a callback prints comes before what its caller prints next."""
    seen = []

    @jax.jit
    def long(x):
        for _ in range(4):
            x = x @ x / 512
        jax.debug.callback(lambda a: seen.append(float(a)), x[0, 0])
        return x

    x = jax.block_until_ready(jnp.ones((512, 512)))
    y = long(x)
    assert seen == [1.0]
    del y

    @jax.jit
    def raises(x):
        return called(refuse, x @ x)

    with pytest.raises(jax.errors.JaxRuntimeError, match="not today"):
        raises(x)


def test_vmap_and_gradient():
    @jax.custom_jvp
    def sine(x):
        return called(lambda a: np.sin(a), x, vmap_method="expand_dims")

    sine.defjvp(lambda x, t: (sine(*x), jnp.cos(*x) * t[0]))
    x = np.linspace(0, 1, 5, dtype=np.float32)
    np.testing.assert_allclose(jax.jit(jax.vmap(sine))(x), np.sin(x), rtol=1e-6)
    np.testing.assert_allclose(jax.jit(jax.vmap(jax.grad(sine)))(x), np.cos(x), rtol=1e-6)


def test_ordered_callbacks_keep_their_order_in_a_loop():
    seen = []

    def body(i, x):
        io_callback(lambda a: seen.append(("first", int(a))), None, i, ordered=True)
        io_callback(lambda a: seen.append(("second", int(a))), None, i, ordered=True)
        return x + 1

    assert int(jax.jit(lambda x: jax.lax.fori_loop(0, 4, body, x))(0)) == 4
    jax.effects_barrier()
    assert seen == [(word, i) for i in range(4) for word in ("first", "second")]


def test_order_holds_from_program_to_program():
    seen = []
    f = jax.jit(lambda x: io_callback(lambda a: seen.append(int(a)), None, x, ordered=True))
    for i in range(20):
        f(i)
    jax.effects_barrier()
    assert seen == list(range(20))


def test_debug_print(capfd):
    jax.jit(lambda x: jax.debug.print("x is {x} and {}", x + 1, x=x))(jnp.int32(4))
    jax.effects_barrier()
    assert capfd.readouterr().out == "x is 4 and 5\n"


def test_debug_callback_in_one_branch():
    seen = []

    def f(x):
        jax.lax.cond(x > 0, lambda: jax.debug.callback(lambda a: seen.append(int(a)), x), lambda: None)
        return x

    f = jax.jit(f)
    for x in (3, -1, 5):
        f(x)
        jax.effects_barrier()
    assert seen == [3, 5]


def test_raising_leaves_everything_usable():
    f = jax.jit(lambda x: called(refuse, x) * 2)
    for _ in range(3):
        with pytest.raises(jax.errors.JaxRuntimeError, match="(?s)refuse.*ValueError: not today"):
            jax.block_until_ready(f(jnp.ones(3)))
    np.testing.assert_array_equal(jax.jit(lambda x: called(lambda a: a * 2, x))(jnp.ones(3)), [2, 2, 2])


def test_raising_ordered_callback_does_not_fail_the_next():
    with pytest.raises(jax.errors.JaxRuntimeError, match="not today"):
        jax.jit(lambda x: io_callback(refuse, None, x, ordered=True))(1)
        jax.effects_barrier()
    seen = []
    jax.jit(lambda x: io_callback(lambda a: seen.append(int(a)), None, x, ordered=True))(2)
    jax.effects_barrier()
    assert seen == [2]


def test_result_of_a_wrong_shape_is_an_error():
    f = jax.jit(lambda x: called(lambda a: np.zeros(5, np.float32), x))
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"\(5,\)|\[5\]"):
        jax.block_until_ready(f(jnp.ones(3)))


def test_checkify_and_debug_check():
    def logarithm(x):
        checkify.check(x > 0, "{x} is not positive", x=x)
        return jnp.log(x)

    error, _ = jax.jit(checkify.checkify(logarithm))(-1.0)
    assert "-1.0 is not positive" in error.get()
    error, value = jax.jit(checkify.checkify(logarithm))(1.0)
    assert error.get() is None and float(value) == 0
    error, _ = jax.jit(checkify.checkify(jnp.log, errors=checkify.nan_checks))(-1.0)
    assert "nan" in error.get()
    error, _ = jax.jit(checkify.checkify(lambda x, i: x[i], errors=checkify.index_checks))(jnp.ones(3), 7)
    assert "out-of-bounds" in error.get()


def test_debug_nans_and_infs():
    divide = jax.jit(lambda x, y: x / y)
    with jax.debug_nans(True), pytest.raises(FloatingPointError, match="nan"):
        divide(jnp.float32(0), jnp.float32(0))
    with jax.debug_infs(True), pytest.raises(FloatingPointError, match="inf"):
        divide(jnp.float32(1), jnp.float32(0))
    assert np.isnan(divide(jnp.float32(0), jnp.float32(0)))


# With one thread, whatever waits for a thread that a callback holds would wait forever.
@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("devices", [1, 2])
def test_callbacks_that_call_jax_again(python, threads, devices):
    program = """
        import jax, jax.numpy as jnp, numpy as np
        large = jax.jit(lambda x: x @ x / len(x))

        def nested(depth):
            if depth == 0:
                return large
            inner = nested(depth - 1)
            return jax.jit(lambda x: jax.pure_callback(
                lambda a: np.asarray(inner(jnp.asarray(a))), jax.ShapeDtypeStruct(x.shape, x.dtype), x) + 1)

        print(float(nested(5)(jnp.ones((300, 300)))[0, 0]))
        # Chains, and many at once, on all devices; x = 1 is mapped to 2, 2 to 5, …
        f = nested(1)
        x = jax.device_put(jnp.ones((64, 64)), jax.devices()[-1])
        for _ in range(4):
            x = f(x)
        print(float(x[0, 0]))
        many = [f(jax.device_put(jnp.full((64, 64), float(i)), jax.devices()[i % len(jax.devices())]))
                for i in range(40)]
        print([float(y[0, 0]) for y in many] == [i * i + 1.0 for i in range(40)])
    """
    result = python(program, timeout=120, JAX_PLATFORMS="isthmus", ISTHMUS_NUM_THREADS=threads,
                    ISTHMUS_NUM_DEVICES=devices)
    assert result.stdout.split() == ["6.0", "677.0", "True"]


def test_errors_of_a_nested_program_pass_through(python):
    result = python("""
        import jax, jax.numpy as jnp, numpy as np

        def refuse(_):
            raise KeyError("inner")

        inner = jax.jit(lambda x: jax.pure_callback(refuse, x, x))
        outer = jax.jit(lambda x: jax.pure_callback(lambda a: np.asarray(inner(a)), x, x))
        try:
            outer(jnp.float32(1)).block_until_ready()
        except jax.errors.JaxRuntimeError as error:
            print("inner" in str(error))
    """, JAX_PLATFORMS="isthmus")
    assert result.stdout == "True\n"


def test_callbacks_of_a_program_on_two_devices():
    mesh = jax.sharding.Mesh(np.array(jax.devices("isthmus")[:2]), ("i",))
    split = jax.NamedSharding(mesh, jax.P("i"))
    seen = []

    def f(x):
        y = io_callback(lambda a: (seen.append(np.asarray(a).tolist()), np.asarray(a) * 2)[1],
                        jax.ShapeDtypeStruct(x.shape, x.dtype), x, ordered=False)
        jax.debug.callback(lambda a: seen.append(("block", np.asarray(a).tolist())), x, partitioned=True)
        return y + x

    x = jax.device_put(np.arange(4, dtype=np.float32), split)
    y = jax.jit(f, out_shardings=split)(x)
    jax.effects_barrier()
    np.testing.assert_array_equal(y, np.arange(4) * 3)
    # One call for all devices, and one for each.
    assert sorted(map(str, seen)) == ["('block', [0.0, 1.0])", "('block', [2.0, 3.0])", "[0.0, 1.0, 2.0, 3.0]"]


def test_buffer_callback_writes_in_place():
    from jax.experimental import buffer_callback

    def double(context, out, x):
        assert context.stage == buffer_callback.ExecutionStage.EXECUTE
        assert out.writeable and not x.writeable
        with pytest.raises(jax.errors.JaxRuntimeError, match="GPU context is not available"):
            context.stream
        np.asarray(out)[...] = np.asarray(x) * 2

    x = np.arange(6, dtype=np.int32).reshape(2, 3)
    f = buffer_callback.buffer_callback(double, jax.ShapeDtypeStruct(x.shape, x.dtype))
    np.testing.assert_array_equal(jax.jit(lambda x: f(x) + 1)(x), x * 2 + 1)
    bad = buffer_callback.buffer_callback(refuse_buffers, jax.ShapeDtypeStruct(x.shape, x.dtype))
    with pytest.raises(jax.errors.JaxRuntimeError, match="not in place"):
        jax.block_until_ready(bad(x))


def refuse_buffers(*_):
    raise ValueError("not in place")

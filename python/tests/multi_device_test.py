"""Several devices in one process: pmap, shard_map and sharded arrays, against NumPy."""

import pytest

HEAD = """
    import functools
    import jax, jax.numpy as jnp, numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
    assert jax.devices()[0].client is jax.devices("isthmus")[0].client
    n = jax.device_count()
    mesh = Mesh(np.array(jax.devices()), ("x",))
    try:
        from jax import shard_map
    except ImportError:
        from jax.experimental.shard_map import shard_map
    def sharded(f, in_specs=P("x"), out_specs=P("x")):
        return jax.jit(shard_map(f, mesh=mesh, in_specs=in_specs, out_specs=out_specs))
"""


def check(python, body, devices=4):
    program = HEAD + body + '\n    print("good")'
    result = python(program, JAX_PLATFORMS="isthmus", ISTHMUS_NUM_DEVICES=devices)
    assert result.stdout.splitlines()[-1] == "good", result.stdout + result.stderr


def test_shard_map_psum(python):
    body = """
    x = np.arange(n * 3, dtype=np.float32).reshape(n, 3)
    got = sharded(lambda x: x + jax.lax.psum(x, "x"))(x)
    np.testing.assert_array_equal(got, x + x.sum(axis=0))
    """
    check(python, body, devices=1)
    check(python, body, devices=4)


def test_other_reductions(python):
    check(python, """
    x = np.random.default_rng(0).normal(size=(n, 5)).astype(np.float32)
    np.testing.assert_array_equal(sharded(lambda x: jax.lax.pmax(x, "x"), out_specs=P())(x)[0], x.max(0))
    np.testing.assert_array_equal(sharded(lambda x: jax.lax.pmin(x, "x"), out_specs=P())(x)[0], x.min(0))
    np.testing.assert_allclose(
        sharded(lambda x: jax.lax.pmean(x, "x"), out_specs=P())(x)[0], x.mean(0), rtol=1e-6, atol=1e-7)
    """)


def test_all_gather_and_scatter(python):
    check(python, """
    x = np.arange(n * n * 2, dtype=np.float32).reshape(n * n, 2)
    got = sharded(lambda x: jax.lax.all_gather(x, "x", tiled=True)[None])(x)
    for shard in np.asarray(got):
        np.testing.assert_array_equal(shard, x)
    got = sharded(lambda x: jax.lax.psum_scatter(x, "x", tiled=True))(x)
    np.testing.assert_array_equal(got, x.reshape(n, n, 2).sum(0))
    """)


def test_all_to_all_and_permute(python):
    check(python, """
    x = np.arange(n * n, dtype=np.int32).reshape(n, n)
    got = sharded(lambda x: jax.lax.all_to_all(x, "x", split_axis=1, concat_axis=0, tiled=True),
                  out_specs=P(None, "x"))(x)
    np.testing.assert_array_equal(got, x)
    x = np.arange(n, dtype=np.int32)
    got = sharded(lambda x: jax.lax.ppermute(x, "x", [(i, (i + 1) % n) for i in range(n)]))(x)
    np.testing.assert_array_equal(got, np.roll(x, 1))
    got = sharded(lambda x: jax.lax.ppermute(x, "x", [(0, 1)]))(x + 5)
    np.testing.assert_array_equal(got, np.where(x == 1, 5, 0))
    """)


def test_small_collectives_of_one_kind(python):
    # They are joined: along whichever dimension, of whatever shapes, with work on some in between.
    check(python, """
    r = np.random.default_rng(0)
    draw = lambda *shape: r.integers(-99, 99, shape).astype(np.float32)
    rows, columns, cube = draw(n, 6), draw(3, n * 2), draw(2, n, 3)
    whole, wide, deep = draw(n * 2, 5), draw(3, n * n), draw(n, 2, n)
    def f(rows, columns, cube, whole, wide, deep):
        i = 1 + jax.lax.axis_index("x").astype(np.float32)
        gather = lambda x, d: jax.lax.all_gather(x, "x", axis=d, tiled=True)
        scatter = lambda x, d: jax.lax.psum_scatter(x * i, "x", scatter_dimension=d, tiled=True)
        swap = lambda x, a, b: jax.lax.all_to_all(x, "x", a, b, tiled=True)
        pass_on = lambda x: jax.lax.ppermute(x, "x", [(k, (k + 1) % n) for k in range(n)])
        gathered = -gather(rows, 0), gather(columns, 1) + 1, gather(cube, 1)
        scattered = scatter(whole, 0) * 2, scatter(wide, 1), scatter(deep, 2)
        swapped = swap(whole * i, 0, 1), swap(wide * i, 1, 0) + 2, swap(deep * i, 2, 2)
        return gathered, scattered, swapped, (pass_on(rows) + 3, pass_on(columns), pass_on(cube))
    parts = (P("x"), P(None, "x"), P(None, "x"))
    g, s, a, p = jax.jit(shard_map(
        f, mesh=mesh, in_specs=(*parts, P(), P(), P()),
        out_specs=((P(), P(), P()), (P("x"), P(None, "x"), P(None, None, "x")),
                   (P("x"), P(None, "x"), P(None, None, "x")), parts),
        check_vma=False))(rows, columns, cube, whole, wide, deep)
    for got, want in zip(g, (-rows, columns + 1, cube)): np.testing.assert_array_equal(got, want)
    total = n * (n + 1) / 2
    for got, want in zip(s, (whole * total * 2, wide * total, deep * total)):
        np.testing.assert_array_equal(got, want)
    of_each = lambda x: [x * (k + 1) for k in range(n)]
    def swapped(x, d, e):
        parts = [np.split(y, n, d) for y in of_each(x)]
        return [np.concatenate([parts[k][j] for k in range(n)], e) for j in range(n)]
    for got, want in zip(a, (np.concatenate(swapped(whole, 0, 1), 0),
                             np.concatenate(swapped(wide, 1, 0), 1) + 2,
                             np.concatenate(swapped(deep, 2, 2), 2))):
        np.testing.assert_array_equal(got, want)
    for got, want in zip(p, (np.roll(rows, 1, 0) + 3, np.roll(columns, 2, 1), np.roll(cube, 1, 1))):
        np.testing.assert_array_equal(got, want)
    """)


def test_collectives_beside_work(python):
    # Those of the next layer set out before this one is computed; halos set out together; sums of
    # gradients wait for nobody before the next gradient.
    check(python, """
    r = np.random.default_rng(0)
    w = [r.normal(size=(n * 4, 32)).astype(np.float32) for _ in range(5)]
    x = r.normal(size=(n * 2, n * 4)).astype(np.float32)
    def layers(x, *w):
        for part in w:
            x = jnp.tanh(x @ jax.lax.all_gather(part, "x", tiled=True)) @ jnp.eye(32, n * 4)
        return x
    def loss(*a): return jax.lax.psum((layers(*a) ** 2).sum(), "x")
    def whole(x, *w):
        for part in w: x = jnp.tanh(x @ part) @ jnp.eye(32, n * 4)
        return (x ** 2).sum()
    grads = tuple(range(6))
    got = jax.jit(shard_map(jax.value_and_grad(loss, grads), mesh=mesh, in_specs=(P("x"),) * 6,
                            out_specs=(P(), (P("x"),) * 6)))(x, *w)
    want = jax.jit(jax.value_and_grad(whole, grads), device=jax.devices()[0])(x, *w)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, 2e-4, 2e-4), got, want)
    def step(i, y):
        left = jax.lax.ppermute(y[-1:], "x", [(k, (k + 1) % n) for k in range(n)])
        right = jax.lax.ppermute(y[:1], "x", [(k, (k - 1) % n) for k in range(n)])
        inner = (y + jnp.roll(y, 1, 0) + jnp.roll(y, -1, 0)) / 3
        y = jnp.concatenate([(left + y[:1] + y[1:2]) / 3, inner[1:-1],
                             (y[-2:-1] + y[-1:] + right) / 3])
        return y + jax.lax.psum(y[0, 0], "x") * 0
    y = r.normal(size=(n * 8, 3)).astype(np.float32)
    got = sharded(lambda y: jax.lax.fori_loop(0, 25, step, y))(y)
    for _ in range(25): y = (y + np.roll(y, 1, 0) + np.roll(y, -1, 0)) / 3
    np.testing.assert_allclose(got, y, 1e-4, 1e-4)
    """)


def test_a_device_that_fails_beside_a_collective(python):
    check(python, """
    def fails(k):
        if k == 2: raise ValueError("not two")
        return k
    @functools.partial(sharded, out_specs=(P("x"), P("x"), P("x")))
    def f(x):
        large = jax.lax.psum(jnp.tile(x, (1, 50000)), "x")
        called = jax.pure_callback(fails, jax.ShapeDtypeStruct((), np.int32),
                                   jax.lax.axis_index("x"))
        small = jax.lax.ppermute(x + called, "x", [(0, 1), (1, 0)])
        return large[:, :1] + x, small, x
    for _ in range(3):
        try:
            jax.block_until_ready(f(np.ones((n, 1), np.float32)))
            assert False, "no error"
        except Exception as error:
            assert "not two" in str(error), error
    x = np.arange(n, dtype=np.float32)
    total = sharded(lambda x: jax.lax.psum(x, "x"), out_specs=P())(x)
    np.testing.assert_array_equal(total, [x.sum()])
    """)


def test_axis_index(python):
    check(python, """
    got = sharded(lambda x: x * 0 + jax.lax.axis_index("x"))(np.zeros(n, np.int32))
    np.testing.assert_array_equal(got, np.arange(n))
    """)


def test_subgroups(python):
    check(python, """
    mesh = Mesh(np.array(jax.devices()).reshape(2, 2), ("a", "b"))
    x = np.arange(16, dtype=np.float32).reshape(4, 4)
    f = jax.jit(shard_map(lambda x: jax.lax.psum(x, "b"), mesh=mesh, in_specs=P("a", "b"),
                          out_specs=P("a")))
    np.testing.assert_array_equal(f(x), x[:, :2] + x[:, 2:])
    """)


def test_pmap_over_a_function_of_several_arguments(python):
    check(python, """
    x = np.arange(n * 2, dtype=np.float32).reshape(n, 2)
    got = jax.pmap(lambda x, w: (x @ w, jax.lax.pmean(x, "i")), axis_name="i", in_axes=(0, None))(
        x, np.ones((2, 3), np.float32))
    np.testing.assert_allclose(got[0], x @ np.ones((2, 3)), rtol=1e-6)
    np.testing.assert_allclose(got[1], np.tile(x.mean(0), (n, 1)), rtol=1e-6)
    """)


def test_automatic_sharding(python):
    check(python, """
    a = np.random.default_rng(0).normal(size=(8, 16)).astype(np.float32)
    b = np.random.default_rng(1).normal(size=(16, 12)).astype(np.float32)
    rows = jax.device_put(a, NamedSharding(mesh, P("x", None)))
    columns = jax.device_put(b, NamedSharding(mesh, P(None, "x")))
    got = jax.jit(lambda a, b: jnp.tanh(a @ b).sum(axis=1))(rows, columns)
    np.testing.assert_allclose(got, np.tanh(a @ b).sum(axis=1), rtol=1e-4, atol=1e-5)
    f = jax.jit(lambda a: a.T * 2, out_shardings=NamedSharding(mesh, P("x", None)))
    np.testing.assert_allclose(f(rows), a.T * 2)
    """)


def test_data_parallel_training(python):
    check(python, """
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(n * 8, 5)).astype(np.float32), rng.normal(size=(n * 8, 1)).astype(np.float32)
    loss = lambda w, x, y: jax.lax.pmean(jnp.mean((x @ w - y) ** 2), "x")
    def step(w, x, y):
        return w - 0.1 * jax.grad(loss)(w, x, y)
    parallel = sharded(step, in_specs=(P(), P("x"), P("x")), out_specs=P())
    w = v = np.zeros((5, 1), np.float32)
    for _ in range(20):
        w = parallel(w, x, y)
        v = v - 0.1 * (2 / len(x)) * x.T @ (x @ v - y)
    np.testing.assert_allclose(w, v, rtol=1e-4, atol=1e-5)
    """)


def test_exported_for_one_device_and_called_on_many(python):
    check(python, """
    one = Mesh(np.array(jax.devices()[:1]), "i")
    f = jax.jit(lambda x: jnp.sum(x * x, axis=0), in_shardings=NamedSharding(one, P("i")))
    x = np.arange(n * 3, dtype=np.float32).reshape(n, 3)
    exported = jax.export.deserialize(jax.export.export(f)(x).serialize())
    got = exported.call(jax.device_put(x, NamedSharding(mesh, P("x"))))
    np.testing.assert_array_equal(got, (x * x).sum(axis=0))
    """)


def test_collectives_on_every_type(python):
    check(python, """
    import ml_dtypes
    jax.config.update("jax_enable_x64", True)
    rng = np.random.default_rng(0)
    ring = [(i, (i + 1) % n) for i in range(n)]
    def exchange(x):
        return (jax.lax.all_gather(x, "x", tiled=True)[None], jax.lax.ppermute(x, "x", ring),
                jax.lax.all_to_all(x, "x", split_axis=1, concat_axis=1, tiled=True))
    exchanged = sharded(exchange)
    added = sharded(lambda x: jax.lax.psum(x, "x"), out_specs=P())
    largest = sharded(lambda x: (jax.lax.pmax(x, "x"), jax.lax.pmin(x, "x")), out_specs=P())
    for name in ["bool", "int4", "uint4", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64",
                 "uint64", "bfloat16", "float16", "float32", "float64", "complex64", "complex128",
                 "float8_e4m3fn", "float8_e5m2"]:
        dtype = jnp.dtype(name)
        # Small whole numbers, so that sums are exact in every type.
        x = rng.integers(0, 2, (n, n)).astype(dtype)
        if dtype.kind == "c":
            x = x + 1j * rng.integers(0, 2, (n, n)).astype(dtype)
        gathered, moved, transposed = exchanged(x)
        for shard in np.asarray(gathered):
            np.testing.assert_array_equal(shard, x, err_msg=name)
        np.testing.assert_array_equal(moved, np.roll(x, 1, axis=0), err_msg=name)
        np.testing.assert_array_equal(transposed, x.T, err_msg=name)
        if name != "bool":
            wide = x.astype(np.complex128 if dtype.kind == "c" else np.float64)
            np.testing.assert_array_equal(added(x)[0], wide.sum(0).astype(dtype), err_msg=name)
        if dtype.kind != "c":
            top, bottom = largest(x)
            wide = x.astype(np.float64)
            np.testing.assert_array_equal(top[0], wide.max(0).astype(dtype), err_msg=name)
            np.testing.assert_array_equal(bottom[0], wide.min(0).astype(dtype), err_msg=name)
    """)


def test_reductions_by_any_computation(python):
    # JAX itself only ever adds and compares: its programs with other operations put in.
    check(python, """
    from jax._src import compiler
    from jax._src.interpreters import mlir
    from jax._src.lib import xla_client
    from jax._src.lib.mlir import ir
    devices = jax.devices()
    spread = NamedSharding(mesh, P("x"))
    def run(f, x, old, new):
        x = jax.device_put(x, spread)
        text = sharded(f).lower(x).as_text()
        assert old in text, text
        with mlir.make_ir_context() as context, ir.Location.unknown(context):
            executable = devices[0].client.compile_and_load(
                ir.Module.parse(text.replace(old, new)),
                executable_devices=xla_client.DeviceList(tuple(devices)),
                compile_options=compiler.get_compile_options(
                    num_replicas=1, num_partitions=n, device_assignment=np.arange(n)[None]))
        shards, = executable.execute_sharded([x]).disassemble_into_single_device_arrays()
        return np.concatenate([np.asarray(shard) for shard in shards])
    x = np.random.default_rng(0).integers(0, 1000, (n * n, 3), dtype=np.int32)
    blocks = x.reshape(n, n, 3)
    got = run(lambda x: jax.lax.psum(x, "x") + 0 * x, x, "stablehlo.add %arg2, %arg3",
              "stablehlo.xor %arg2, %arg3")
    np.testing.assert_array_equal(got, np.tile(np.bitwise_xor.reduce(blocks), (n, 1)))
    got = run(lambda x: jax.lax.psum_scatter(x, "x", tiled=True), x, "stablehlo.add %arg2, %arg3",
              "stablehlo.xor %arg2, %arg3")
    np.testing.assert_array_equal(got, np.bitwise_xor.reduce(blocks))
    """)


def test_groups_and_several_axes(python):
    check(python, """
    x = np.arange(n * n * 2, dtype=np.float32).reshape(n, n * 2)
    pairs = [[0, 2], [1, 3], [4, 6], [5, 7]]
    partner = np.array([2, 3, 0, 1, 6, 7, 4, 5])
    def grouped(f):
        return jax.jit(shard_map(f, mesh=mesh, in_specs=P("x"), out_specs=P("x"), check_vma=False))
    got = grouped(lambda x: jax.lax.psum(x, "x", axis_index_groups=pairs))(x)
    np.testing.assert_array_equal(got, x + x[partner])
    got = grouped(lambda x: jax.lax.all_gather(x, "x", axis_index_groups=pairs, tiled=True))(x)
    np.testing.assert_array_equal(
        got, np.concatenate([x[[min(i, partner[i]), max(i, partner[i])]] for i in range(n)]))
    grid = Mesh(np.array(jax.devices()).reshape(4, 2), ("a", "b"))
    def over(f, spec=P("a", "b")):
        return jax.jit(shard_map(f, mesh=grid, in_specs=spec, out_specs=spec))
    blocks = x.reshape(4, 2, 2, 8).transpose(0, 2, 1, 3)  # of device (a, b)
    def whole(blocks):
        return blocks.transpose(0, 2, 1, 3).reshape(x.shape)
    for axes, expected in [("a", blocks.sum(0, keepdims=True)), ("b", blocks.sum(1, keepdims=True)),
                           (("a", "b"), blocks.sum((0, 1), keepdims=True))]:
        got = over(lambda x: x * 0 + jax.lax.psum(x, axes))(x)
        np.testing.assert_array_equal(got, whole(np.broadcast_to(expected, blocks.shape)))
    got = over(lambda x: x * 0 + jax.lax.axis_index(("b", "a")))(x)
    index = np.arange(8).reshape(2, 4).T[:, :, None, None]
    np.testing.assert_array_equal(got, whole(np.broadcast_to(index, blocks.shape)))
    # One axis by hand, the other left to the compiler.
    half = jax.jit(shard_map(lambda x: jax.lax.psum(jnp.sin(x), "a"), mesh=grid, in_specs=P("a"),
                             out_specs=P(), axis_names={"a"}))
    np.testing.assert_allclose(half(x), np.sin(x).reshape(4, 2, 16).sum(0), rtol=1e-5, atol=1e-5)
    """, devices=8)


def test_collectives_in_loops_and_branches(python):
    check(python, """
    x = np.random.default_rng(0).normal(size=(n, 6)).astype(np.float32)
    got = sharded(lambda x: jax.lax.fori_loop(
        0, 20, lambda i, c: 0.5 * c + 0.1 * jax.lax.pmean(c, "x"), x))(x)
    want = x
    for _ in range(20):
        want = 0.5 * want + 0.1 * want.mean(0)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)
    # As many rounds as all devices together want.
    def grows(x):
        return jax.lax.while_loop(lambda c: jax.lax.psum(jnp.sum(c), "x") < 1000.0,
                                  lambda c: c * 2.0, jnp.abs(x))
    want = np.abs(x)
    while want.sum() < 1000:
        want = want * 2
    np.testing.assert_allclose(sharded(grows)(x), want, rtol=1e-5)
    ring = [(i, (i + 1) % n) for i in range(n)]
    got = sharded(lambda x: jax.lax.scan(
        lambda c, _: (jax.lax.ppermute(c, "x", ring), None), x, length=n + 1)[0])(x)
    np.testing.assert_array_equal(got, np.roll(x, 1, axis=0))
    got = sharded(lambda x: jax.lax.cond(jax.lax.psum(x[0, 0], "x") > -1e9,
                                         lambda v: jax.lax.psum(v, "x") + 0 * v, lambda v: v, x))(x)
    np.testing.assert_allclose(got, np.tile(x.sum(0), (n, 1)), rtol=1e-4, atol=1e-5)
    # Devices may take different branches.
    got = sharded(lambda x: jax.lax.cond(jax.lax.axis_index("x") % 2 == 0, jnp.sin, jnp.cos, x))(x)
    want = np.where(np.arange(n)[:, None] % 2 == 0, np.sin(x), np.cos(x))
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
    """)


def test_work_on_split_arrays_stays_split(python):
    check(python, """
    a = np.random.default_rng(0).normal(size=(8, 16)).astype(np.float32)
    b = np.random.default_rng(1).normal(size=(16, 12)).astype(np.float32)
    e = lambda v: np.exp(v - v.max(-1, keepdims=True))
    rows, columns, whole = P("x"), P(None, "x"), P()
    cases = [
        ("elementwise", lambda a: jnp.tanh(a) * 2 + a, np.tanh(a) * 2 + a, rows, rows),
        ("broadcast", lambda a: a + jnp.arange(16.0), a + np.arange(16, dtype=np.float32), rows, rows),
        ("broadcast along", lambda a: a + jnp.arange(16.0), a + np.arange(16, dtype=np.float32),
         columns, columns),
        ("transpose", lambda a: a.T, a.T, rows, columns),
        ("sum of rows", lambda a: a.sum(1), a.sum(1), rows, rows),
        ("sum of columns", lambda a: a.sum(0), a.sum(0), rows, whole),
        ("softmax", lambda a: jax.nn.softmax(a), e(a) / e(a).sum(-1, keepdims=True), rows, rows),
        ("softmax along", lambda a: jax.nn.softmax(a), e(a) / e(a).sum(-1, keepdims=True), columns,
         None),
        ("matmul", lambda a: a @ b, a @ b, rows, rows),
        ("matmul along", lambda a: a @ b, a @ b, columns, whole),
        ("with itself", lambda a: a @ a.T, a @ a.T, rows, rows),
        ("reshape", lambda a: a.reshape(4, 2, 16), a.reshape(4, 2, 16), rows, rows),
        ("flatten", lambda a: a.reshape(-1), a.reshape(-1), rows, rows),
        ("flatten along", lambda a: a.reshape(-1), a.reshape(-1), columns, rows),
        ("slice", lambda a: a[:, 3:7:2], a[:, 3:7:2], rows, rows),
        ("slice along", lambda a: a[2:6], a[2:6], rows, None),
        ("reverse", lambda a: a[:, ::-1], a[:, ::-1], rows, rows),
        ("reverse along", lambda a: a[::-1], a[::-1], rows, None),
        ("roll", lambda a: jnp.roll(a, 3, 1), np.roll(a, 3, 1), rows, rows),
        ("concatenate", lambda a: jnp.concatenate([a, a], 1), np.concatenate([a, a], 1), rows, rows),
        ("pad", lambda a: jnp.pad(a, ((0, 0), (1, 2))), np.pad(a, ((0, 0), (1, 2))), rows, rows),
        ("sort", lambda a: jnp.sort(a, 1), np.sort(a, 1), rows, rows),
        ("sort along", lambda a: jnp.sort(a, 0), np.sort(a, 0), rows, None),
        ("cumulative sum", lambda a: jnp.cumsum(a, 1), np.cumsum(a, 1), rows, rows),
        ("argmax", lambda a: a.argmax(1), a.argmax(1), rows, rows),
        ("gather", lambda a: a[:, jnp.array([3, 1])], a[:, [3, 1]], rows, rows),
        ("gather along", lambda a: a[jnp.array([3, 1])], a[[3, 1]], rows, None),
        ("scatter", lambda a: a.at[:, 2].add(1), a + (np.arange(16) == 2), rows, rows),
        ("scatter along", lambda a: a.at[2].add(1), a + (np.arange(8) == 2)[:, None], rows, None),
        ("loop", lambda a: jax.lax.fori_loop(0, 3, lambda i, c: c * 2 + a, a), a * 15, rows, rows),
        ("scan", lambda a: jax.lax.scan(lambda c, r: (c + r, c), a[0] * 0, a)[1],
         np.cumsum(a, 0) - a, rows, None),
        ("branch", lambda a: jax.lax.cond(a.sum() > 1e9, lambda v: v, lambda v: -v, a), -a, rows, rows),
        ("where", lambda a: jnp.where(a > 0, a, 0), np.where(a > 0, a, 0), columns, columns),
        ("triangle", jnp.tril, np.tril(a), rows, rows),
        ("gradient", jax.grad(lambda a: (a ** 2).sum()), 2 * a, rows, rows),
        ("copy", lambda a: jnp.array(a, copy=True), a, rows, rows),
        ("barrier", lambda a: jax.lax.optimization_barrier((a, a + 1))[1], a + 1, rows, rows),
    ]
    for name, f, want, split, kept in cases:
        got = jax.jit(f)(jax.device_put(a, NamedSharding(mesh, split)))
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4, err_msg=name)
        if kept is not None:
            expected = NamedSharding(mesh, kept)
            assert got.sharding.is_equivalent_to(expected, got.ndim), (name, got.sharding)
    """)


def test_constraints_and_donation(python):
    check(python, """
    a = np.random.default_rng(0).normal(size=(8, 16)).astype(np.float32)
    rows, columns = NamedSharding(mesh, P("x")), NamedSharding(mesh, P(None, "x"))
    f = jax.jit(lambda a: jax.lax.with_sharding_constraint(a * 2, rows) + 1)
    assert f(a).sharding.is_equivalent_to(rows, 2)
    np.testing.assert_array_equal(f(a), a * 2 + 1)
    # Uneven blocks cannot be: the constraint is only a wish.
    g = jax.jit(lambda a: jax.lax.with_sharding_constraint(a[:5], rows).sum(0))
    np.testing.assert_allclose(g(a), a[:5].sum(0), rtol=1e-5)
    given = jax.device_put(a, rows)
    got = jax.jit(lambda a: a * 2, donate_argnums=0, out_shardings=rows)(given)
    np.testing.assert_array_equal(got, a * 2)
    assert given.is_deleted()
    given = jax.device_put(a, rows)
    got = jax.jit(lambda a: a * 2, donate_argnums=0, out_shardings=columns)(given)
    np.testing.assert_array_equal(got, a * 2)
    assert got.sharding.is_equivalent_to(columns, 2)
    """)


def test_an_error_on_one_device_leaves_the_others(python):
    check(python, """
    def fails_on(x):
        def callback(v):
            if v[0] == 2:
                raise ValueError("device two")
            return v
        return jax.pure_callback(callback, jax.ShapeDtypeStruct(x.shape, x.dtype), x) + 1
    x = np.arange(n, dtype=np.float32)
    failed = False
    try:
        jax.block_until_ready(sharded(lambda x: fails_on(x) + jax.lax.psum(x, "x"))(x))
    except Exception as error:
        failed = "device two" in str(error)
    assert failed
    np.testing.assert_array_equal(sharded(lambda x: jax.lax.psum(x, "x") + x)(x), x + x.sum())
    """)


def test_inspection_of_shardings(python):
    check(python, """
    seen = []
    def f(x):
        jax.debug.inspect_array_sharding(x, callback=seen.append)
        y = x.T
        jax.debug.inspect_array_sharding(y, callback=seen.append)
        return y + 1
    x = jax.device_put(np.arange(24.).reshape(8, 3), NamedSharding(mesh, P("x")))
    with jax.set_mesh(mesh):
        y = jax.jit(f)(x)
    np.testing.assert_array_equal(y, np.arange(24.).reshape(8, 3).T + 1)
    assert [s.spec for s in seen] == [P("x"), P(None, "x")], seen

    def refuse(sharding):
        raise ValueError("not today")
    @jax.jit
    def g(x):
        jax.debug.inspect_array_sharding(x, callback=refuse)
        return x * 2
    try:
        g(x)
        raise AssertionError("the error of the callback is lost")
    except jax.errors.JaxRuntimeError as error:
        assert "not today" in str(error)

    # In code of each device nobody splits.
    seen.clear()
    def h(x):
        jax.debug.inspect_array_sharding(x, callback=seen.append)
        return x
    np.testing.assert_array_equal(sharded(h)(x), x)
    assert [s.spec for s in seen] == [P()], seen
    """)


def test_what_users_split_is_computed_in_blocks(python):
    check(python, """
    rows, both = NamedSharding(mesh, P("x")), NamedSharding(mesh, P(None, "x"))
    def whole_of(f, *arguments):
        text = f.lower(*arguments).compile().as_text()
        return [word for word in ("all-gather", "all-reduce", "[8,6]", "[6,8]") if word in text]

    # Counters of each type, split along their own dimension and along another.
    for dtype in (np.int8, np.uint32, np.int32, np.int16, np.float32, np.float16, np.complex64):
        for axis in (0, 1):
            x = jax.device_put(np.ones((8, 6), dtype), rows)
            f = jax.jit(lambda x: x * jax.lax.broadcasted_iota(dtype, (8, 6), axis))
            count = np.broadcast_to(np.arange((8, 6)[axis]).reshape((-1, 1) if axis == 0 else (1, -1)), (8, 6))
            np.testing.assert_array_equal(f(x), count.astype(dtype))
            assert not whole_of(f, x), whole_of(f, x)

    # Random bits are the same however they are split.
    x = jax.device_put(np.zeros((8, 6), np.float32), rows)
    f = jax.jit(lambda x: jax.random.normal(jax.random.key(3), x.shape) + x)
    np.testing.assert_array_equal(f(x), f(np.zeros((8, 6), np.float32)))
    assert not whole_of(f, x), whole_of(f, x)

    # A scan over time, split by batch: carries and stacked results begin as zeros.
    def scan(w, xs):
        def step(h, x):
            h = jnp.tanh(x + h @ w)
            return h, h
        return jax.lax.scan(step, jnp.zeros((8, 3)), xs)[1]
    w, xs = np.eye(3, dtype=np.float32) / 2, np.linspace(-1, 1, 120, dtype=np.float32).reshape(5, 8, 3)
    f = jax.jit(scan)
    ours = jax.device_put(xs, both)
    np.testing.assert_array_equal(f(w, ours), f(w, xs))
    assert "all-gather" not in f.lower(w, ours).compile().as_text()
    assert f(w, ours).sharding.is_equivalent_to(both, 3)

    # Reversal exchanges blocks; branches have blocks.
    x = jax.device_put(np.arange(48.).reshape(8, 6), rows)
    f = jax.jit(lambda x: x[::-1, ::-1])
    np.testing.assert_array_equal(f(x), np.arange(48.).reshape(8, 6)[::-1, ::-1])
    assert f(x).sharding.is_equivalent_to(rows, 2) and not whole_of(f, x)
    f = jax.jit(lambda p, x: x + jax.lax.cond(p, lambda: jnp.ones((8, 6)), lambda: jnp.zeros((8, 6))))
    np.testing.assert_array_equal(f(True, x), np.arange(48.).reshape(8, 6) + 1)
    np.testing.assert_array_equal(f(False, x), np.arange(48.).reshape(8, 6))
    assert not whole_of(f, True, x), whole_of(f, True, x)

    # Factorisations of a batch.
    a = np.random.default_rng(0).normal(size=(8, 4, 4)).astype(np.float32)
    f = jax.jit(lambda a: jnp.linalg.qr(a)[0])
    q = f(jax.device_put(a, rows))
    np.testing.assert_allclose(np.abs(q), np.abs(np.linalg.qr(a)[0]), atol=1e-5)
    assert not whole_of(f, jax.device_put(a, rows))
    """)


def test_sums_over_split_dimensions(python):
    check(python, """
    rows = NamedSharding(mesh, P("x"))
    x = np.linspace(-1, 1, 8 * 6, dtype=np.float32).reshape(8, 6)
    y = np.linspace(-2, 1, 8 * 5, dtype=np.float32).reshape(8, 5)
    ours = jax.device_put(x, rows), jax.device_put(y, rows)
    f = jax.jit(lambda x, y: x.T @ y)
    np.testing.assert_allclose(f(*ours), x.T @ y, rtol=1e-5, atol=1e-6)
    text = f.lower(*ours).compile().as_text()
    assert "all-reduce" in text and "all-gather" not in text, text
    for reduce in (jnp.sum, jnp.mean, jnp.max, jnp.prod):
        for axis in (0, 1, None):
            got = jax.jit(lambda x: reduce(x, axis))(ours[0])
            np.testing.assert_allclose(got, reduce(x, axis), rtol=1e-5, atol=1e-6)
    assert jax.jit(lambda x: jnp.any(x > 0.9))(ours[0])
    np.testing.assert_array_equal(jax.jit(lambda x: (x > 0).T @ (x > 0))(ours[0]), (x > 0).T @ (x > 0))
    # A sum that does not begin with zero begins once.
    begun = jax.jit(lambda x: jax.lax.reduce(x, np.float32(3), jax.lax.add, (0, 1)))
    np.testing.assert_allclose(begun(ours[0]), x.sum() + 3, atol=1e-5)
    """)


def test_unreduced_arrays(python):
    check(python, """
    from jax.sharding import AxisType, reshard
    jax.set_mesh(jax.make_mesh((2, 2), ("x", "y"), devices=jax.devices(), axis_types=(AxisType.Explicit,) * 2))
    x = jax.device_put(np.arange(8, dtype=np.float32), P("x"))
    total = jax.lax.reduce_sum(x, [0], out_sharding=P(unreduced={"x"}))
    assert total.sharding.spec == P(unreduced={"x"})
    assert sorted(float(shard.data) for shard in total.addressable_shards) == [6, 6, 22, 22]
    assert float(reshard(total, P())) == 28
    a, b = np.arange(16).reshape(4, 4), np.arange(16).reshape(4, 4) % 5
    product = jax.jit(lambda a, b: jnp.einsum("ij,jk->ik", a, b, out_sharding=P("y", None, unreduced={"x"})))(
        jax.device_put(a, P("y", "x")), jax.device_put(b, P("x", None)))
    assert product.sharding.spec == P("y", None, unreduced={"x"})
    assert all(shard.data.shape == (2, 4) for shard in product.addressable_shards)
    np.testing.assert_array_equal(reshard(product, P(None, "x")), a @ b)
    """)


def test_programs_made_for_gspmd(python):
    check(python, """
    jax.config.update("jax_use_shardy_partitioner", False)
    grid = Mesh(np.array(jax.devices()).reshape(2, 2), ("x", "y"))
    def at(*spec):
        return NamedSharding(grid, P(*spec))
    x = np.arange(64.).reshape(8, 8)
    a, b = jax.device_put(x, at(None, "x")), jax.device_put(x, at("y", "x"))
    @jax.jit
    def f(a, b):
        return jax.lax.with_sharding_constraint(a + b, at("y")) * 2
    np.testing.assert_array_equal(f(a, b), x * 4)
    assert f(a, b).sharding.is_equivalent_to(at("y"), 2)
    g = jax.jit(lambda a: a + 1, out_shardings=at(("y", "x")))
    np.testing.assert_array_equal(g(a), x + 1)
    assert g(a).sharding.is_equivalent_to(at(("y", "x")), 2)
    h = jax.jit(shard_map(lambda a: jax.lax.psum(a, "x"), mesh=grid, in_specs=P("x"), out_specs=P()))
    np.testing.assert_array_equal(h(a), x[:4] + x[4:])
    exported = jax.export.export(jax.jit(lambda a, b: jax.lax.with_sharding_constraint(a + b, at("x"))))(a, b)
    jax.config.update("jax_use_shardy_partitioner", True)
    np.testing.assert_array_equal(jax.jit(exported.call, out_shardings=at("x"))(a, b), x * 2)
    """)


def test_scatters_of_split_updates(python):
    check(python, """
    rows = NamedSharding(mesh, P("x"))
    at, values = np.array([0, 3, 3, 1, 7, 0, 3, 9]), np.linspace(1, 2, 40, dtype=np.float32).reshape(8, 5)
    base = np.linspace(-1, 1, 25, dtype=np.float32).reshape(5, 5)
    f = jax.jit(lambda base, at, values: base.at[at].add(values, mode="drop"))
    want = base.copy()
    np.add.at(want, at[at < 5], values[at < 5])
    ours = f(base, jax.device_put(at, rows), jax.device_put(values, rows))
    np.testing.assert_allclose(ours, want, rtol=1e-6)
    assert "all-gather" not in f.lower(base, jax.device_put(at, rows), jax.device_put(values, rows)).compile().as_text()
    # Other updates than sums see all of them, in order.
    last = jax.jit(lambda base, at, values: base.at[at].max(values, mode="drop"))(
        base, jax.device_put(at, rows), jax.device_put(values, rows))
    want = base.copy()
    np.maximum.at(want, at[at < 5], values[at < 5])
    np.testing.assert_array_equal(last, want)
    """)


@pytest.mark.parametrize("clear", [False, True], ids=["at_exit", "cleared"])
def test_numpy_view_outlives_its_client(python, clear):
    """A view of a replicated array, kept at module scope, once crashed when the client was gone."""
    python(f"""
        import gc
        import jax, numpy as np
        from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

        def main():
            mesh = Mesh(np.array(jax.devices()), "x")
            x = jax.device_put(np.arange(1 << 16, dtype=np.float32), NamedSharding(mesh, P("x")))
            double = jax.jit(lambda x: x * 2, out_shardings=NamedSharding(mesh, P()))
            return np.asarray(double(x))

        kept = main()
        if {clear}:
            jax.clear_caches()
            import jax.extend.backend
            jax.extend.backend.clear_backends()
            gc.collect()
            assert kept[3] == 6
            del kept
            gc.collect()
    """, JAX_PLATFORMS="isthmus,cpu", ISTHMUS_NUM_DEVICES=8, MALLOC_PERTURB_=165)


def test_openblas_has_one_thread_while_devices_call_it(python):
    """Its threads once kept all devices waiting for each other: a thousand times as long."""
    check(python, """
    import ctypes
    import scipy.linalg.cython_blas  # whose OpenBLAS is what jaxlib's LAPACK calls
    paths = {line.split()[-1] for line in open("/proc/self/maps") if "openblas" in line}
    numbers = [getattr(ctypes.CDLL(path), "scipy_openblas_get_num_threads", None) for path in paths]
    number = next(filter(None, numbers), lambda: 1)
    before, seen = number(), set()
    a = np.random.default_rng(0).normal(size=(n, 300, 300)).astype(np.float32)
    a = jax.device_put(a + a.mT, NamedSharding(mesh, P("x")))
    f = jax.jit(jnp.linalg.eigvalsh)
    for _ in range(100):
        result = f(a)
        while not result.is_ready():
            seen.add(number())
        if 1 in seen:
            break
    assert 1 in seen, seen
    assert number() == before
    np.testing.assert_allclose(result, np.linalg.eigvalsh(np.asarray(a)), atol=1e-3)
    """)

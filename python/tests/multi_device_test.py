"""Several devices in one process: pmap, shard_map and sharded arrays, against NumPy."""

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

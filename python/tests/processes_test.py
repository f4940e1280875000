"""Several processes, joined by jax.distributed.initialize."""

import processes

GATHER = """
    from jax.experimental import multihost_utils
    print(jax.process_count(), "PJRT C API" in jax.devices()[0].client.platform_version)
    print(multihost_utils.process_allgather(np.float32(rank + 1)).sum())
"""


def lines(result):
    """What the program printed, without what the transport of JAX's own client says."""
    return [line for line in result.stdout.splitlines() if not line.startswith("[Gloo]")]


def test_jobs_that_never_asked_are_left_alone(tmp_path):
    """The wheel is installed and JAX_PLATFORMS unset: JAX's own client runs the job."""
    for result in processes.run(tmp_path, 2, GATHER):
        assert lines(result) == ["2 False", "3.0"]


def test_jobs_on_jax_cpu_are_left_alone(tmp_path):
    for result in processes.run(tmp_path, 2, GATHER, JAX_PLATFORMS="cpu"):
        assert lines(result) == ["2 False", "3.0"]


OURS = {"JAX_PLATFORMS": "isthmus", "ISTHMUS_NUM_DEVICES": 2,
        "ISTHMUS_COLLECTIVE_TIMEOUT_SECONDS": processes.PATIENCE_SECONDS}

MESH = """
    from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
    try:
        from jax import shard_map
    except ImportError:
        from jax.experimental.shard_map import shard_map
    assert jax.devices()[0].client.platform_version.find("isthmus") >= 0
    mesh = Mesh(np.array(jax.devices()), "x")
    n = jax.device_count()
    rows = NamedSharding(mesh, P("x"))
    def put(array, sharding=rows):
        return jax.make_array_from_callback(array.shape, sharding, lambda index: array[index])
    def check(result, expected):
        for shard in result.addressable_shards:
            np.testing.assert_allclose(shard.data, expected[shard.index], rtol=1e-6)
"""


def test_jobs_on_both_platforms(tmp_path):
    """Each joins the job once: JAX's own client as well as ours."""
    program = """
        print(jax.device_count("isthmus"), jax.device_count("cpu"),
              "isthmus" in jax.devices()[0].client.platform_version)
    """
    for result in processes.run(tmp_path, 2, program, **OURS | {"JAX_PLATFORMS": "isthmus,cpu"}):
        assert lines(result) == ["4 2 True"]


def test_devices_are_numbered_as_on_jax_cpu(tmp_path):
    program = """
        d = jax.devices()
        print([(x.id, x.process_index, x.local_hardware_id) for x in d])
        print([x.id for x in jax.local_devices()], jax.process_index(), jax.process_count())
        print(jax.device_count(), jax.local_device_count(), jax.devices()[-1].platform)
    """
    ours = processes.run(tmp_path, 2, program, **OURS)
    theirs = processes.run(tmp_path, 2, program, JAX_PLATFORMS="cpu", JAX_NUM_CPU_DEVICES=2)
    assert [lines(result) for result in ours] == [lines(result) for result in theirs]
    assert "(2049, 1, None)" in ours[0].stdout


def test_global_arrays_and_collectives(tmp_path):
    processes.run(tmp_path, 2, MESH + """
    x = np.arange(n * 6, dtype=np.float32).reshape(n * 2, 3)
    check(jax.jit(lambda x: x * 2 + x.sum(0))(put(x)), x * 2 + x.sum(0))
    check(jax.jit(lambda x: x.T @ x, out_shardings=NamedSharding(mesh, P()))(put(x)), x.T @ x)
    # Resharding: all-gather, and all-to-all or whatever the partitioner takes.
    columns = NamedSharding(mesh, P(None, "x"))
    y = np.arange(n * n * 4, dtype=np.int32).reshape(n * 2, n * 2)
    check(jax.jit(lambda y: y + 1, out_shardings=columns)(put(y)), y + 1)
    check(jax.jit(lambda y: y + 1, out_shardings=NamedSharding(mesh, P()))(put(y)), y + 1)

    def sharded(f, out_specs=P("x")):
        return jax.jit(shard_map(f, mesh=mesh, in_specs=P("x"), out_specs=out_specs))
    z = np.arange(n * n, dtype=np.float32).reshape(n, n)
    check(sharded(lambda z: jax.lax.psum_scatter(z[0], "x", tiled=True))(put(z)), z.sum(0))
    check(sharded(lambda z: jax.lax.all_to_all(z, "x", 1, 0, tiled=True), P(None, "x"))(put(z)), z)
    check(sharded(lambda z: jax.lax.ppermute(z, "x", [(i, (i + 1) % n) for i in range(n)]))(put(z)),
          np.roll(z, 1, 0))
    check(sharded(lambda z: jax.lax.pmax(z, "x"), P())(put(z)), z.max(0, keepdims=True))
    # In a loop, and in groups that lie in one process and across.
    def loop(z):
        return jax.lax.fori_loop(0, 5, lambda i, z: z + jax.lax.pmean(z, "x"), z)
    expected = z.copy()
    for _ in range(5):
        expected += expected.mean(0)
    check(sharded(loop)(put(z)), expected)
    for order in ([0, 1, 2, 3], [3, 0, 2, 1]):
        square = Mesh(np.array(jax.devices())[order].reshape(2, 2), ("a", "b"))
        for axis, number in (("a", 0), ("b", 1)):
            f = jax.jit(shard_map(lambda z: jax.lax.psum(z, axis), mesh=square, in_specs=P("a", "b"),
                                  out_specs=P(*(None if name == axis else name for name in "ab"))))
            halves = np.stack(np.split(z, 2, number)).sum(0)
            check(f(put(z, NamedSharding(square, P("a", "b")))), halves)
    # Large enough to be reduced in shares.
    w = np.arange(n * 40000, dtype=np.float32).reshape(n, 40000) % 11
    check(sharded(lambda w: jax.lax.psum(w, "x"), P())(put(w)), w.sum(0, keepdims=True))
    """, **OURS)


def test_multihost_utils_and_pmap(tmp_path):
    processes.run(tmp_path, 2, MESH + """
    from jax.experimental import multihost_utils as hosts
    np.testing.assert_array_equal(hosts.process_allgather(np.arange(3.) + rank),
                                  [[0, 1, 2], [1, 2, 3]])
    assert hosts.broadcast_one_to_all(np.float32(rank + 5)) == 5
    hosts.sync_global_devices("here")
    hosts.assert_equal(np.arange(4), "equal")
    try:
        hosts.assert_equal(np.float32(rank), "not equal")
        raise SystemExit("assert_equal let unequal values pass")
    except AssertionError:
        pass
    x = np.arange(2.) + 2 * rank
    np.testing.assert_array_equal(
        jax.pmap(lambda x: jax.lax.psum(x, "i"), axis_name="i")(x), [6., 6.])
    whole = hosts.host_local_array_to_global_array(x, mesh, P("x"))
    check(jax.jit(lambda x: x + x.sum())(whole), np.arange(4.) + 6)
    """, **OURS)


def test_processes_of_different_size_and_local_programs(tmp_path):
    """A program of one process needs no other, and may run between those of all."""
    program = MESH + """
    for _ in range(3):
        local = jax.jit(lambda x: x + 1)(np.arange(4.) * rank)
        np.testing.assert_array_equal(local, np.arange(4.) * rank + 1)
        check(jax.jit(lambda x: x + x.sum(0))(put(np.ones((12, 2), np.float32))), np.full((12, 2), 13))
    print(n)
    """
    connect = 'import os, sys\nos.environ["ISTHMUS_NUM_DEVICES"] = "21"[int(sys.argv[1])]\n'
    with processes.Job(tmp_path, [program] * 2, connect + processes.CONNECT, **OURS) as job:
        for result in job.finish():
            assert result.returncode == 0, job.report()
            assert lines(result) == ["3"]


def test_checkpoint_is_restored_by_other_processes(tmp_path):
    """Each process writes its shards; another number of processes reads them in another sharding."""
    head = MESH + """
    import glob, os, pathlib
    folder = pathlib.Path(os.environ["CHECKPOINT"])
    whole = np.random.default_rng(0).normal(size=(16, 8)).astype(np.float32)
    """
    processes.run(tmp_path, 2, head + """
    from jax.experimental import multihost_utils
    x = jax.jit(lambda x: x * 2)(put(whole))
    for shard in x.addressable_shards:
        np.save(folder / f"{shard.index[0].start or 0}.npy", shard.data)
    multihost_utils.sync_global_devices("saved")
    assert len(glob.glob(str(folder / "*.npy"))) == n
    """, CHECKPOINT=tmp_path, **OURS)
    alone = "import sys, jax, jax.numpy as jnp, numpy as np\n"
    with processes.Job(tmp_path, [head + """
    parts = sorted((int(path.stem), path) for path in folder.glob("*.npy"))
    saved = np.concatenate([np.load(path) for _, path in parts])
    x = put(saved, NamedSharding(mesh, P(None, "x")))
    check(jax.jit(lambda x: x / 2)(x), whole)
    """], alone, CHECKPOINT=tmp_path, **OURS) as job:
        (result,) = job.finish()
        assert result.returncode == 0, job.report()


STAGES = """
    from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
    d = jax.devices()
    first, second = (NamedSharding(Mesh(np.array(d[i:i + 2]), "x"), P("x")) for i in (0, 2))
    def put(array, sharding):
        return jax.make_array_from_callback(
            array.shape, sharding, lambda index: array[index], dtype=array.dtype)
    def check(result, expected):
        for shard in result.addressable_shards:
            np.testing.assert_array_equal(np.asarray(shard.data), expected[shard.index])
"""


def test_arrays_go_to_devices_of_other_processes(tmp_path):
    """jax.device_put between shardings on different processes, there and back, while programs run."""
    for result in processes.run(tmp_path, 2, STAGES + """
    for shape, dtype in (((4, 3), "f4"), ((2, 1), "i1"), ((0, 5), "f4"), ((512, 1024), "f8"), ((2,), "?")):
        with jax.enable_x64(True):
            x = (np.arange(np.prod(shape)).reshape(shape) % 97).astype(dtype)
            y = jax.device_put(put(x, first), second)
            check(y, x)
            check(jax.device_put(y, first), x)
    # A pipeline of two stages: what is sent is not there yet, and many are under way.
    stages = [jax.jit(lambda h: jnp.tanh(h) + 1), jax.jit(lambda h: h * 2)]
    batches = [np.full((4, 256), i, np.float32) for i in range(8)]
    results = []
    for batch in batches:
        hidden = put(batch, first)
        if rank == 0:
            hidden = stages[0](hidden)
        hidden = jax.device_put(hidden, second)
        results.append(stages[1](hidden) if rank == 1 else hidden)
    for batch, result in zip(batches, results):
        for shard in result.addressable_shards:
            np.testing.assert_allclose(shard.data, 2 * (np.tanh(batch[:2]) + 1), rtol=1e-6)
    # In both directions at once, and a tree in one call.
    a, b = put(np.arange(4.), first), put(-np.arange(4.), second)
    there, back = jax.device_put(a, second), jax.device_put(b, first)
    check(there, np.arange(4.)); check(back, -np.arange(4.))
    tree = jax.device_put({"a": a, "c": [put(np.arange(6.), first)]}, second)
    check(tree["a"], np.arange(4.)); check(tree["c"][0], np.arange(6.))
    from jax.experimental import multihost_utils as hosts
    hosts.sync_global_devices("done")
    print("right")
    """, **OURS):
        assert lines(result) == ["right"]


def test_an_array_that_failed_fails_where_it_was_sent(tmp_path):
    """The error of the sender's contents is the receiver's, and the job goes on."""
    out = processes.run(tmp_path, 2, STAGES + """
    def fails(x):
        raise ValueError("no data today")
    everywhere = NamedSharding(first.mesh, P())
    x = put(np.ones(2, np.float32), everywhere)
    if rank == 0:
        x = jax.jit(lambda x: jax.pure_callback(fails, jax.ShapeDtypeStruct((2,), "f4"), x),
                    out_shardings=everywhere)(x)
    y = jax.device_put(x, NamedSharding(second.mesh, P()))
    if rank == 1:
        try:
            print(np.asarray(y.addressable_shards[0].data))
        except Exception as error:
            print("no data today" in str(error), "transfer" in str(error))
    check(jax.device_put(put(np.arange(4.), first), second), np.arange(4.))
    from jax.experimental import multihost_utils as hosts
    hosts.sync_global_devices("done")
    jax.distributed.shutdown()  # not at exit, where JAX looks at the failed program first
    """, **OURS)
    assert lines(out[1]) == ["True True"]

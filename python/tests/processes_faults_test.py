"""A process of several that dies, stops or does something else: the others say so, and end."""

import os
import re
import signal
import subprocess
import time

import pytest

import processes

# Reductions for ever; what ends them is printed. JAX's own service would end a process some time after
# it has lost another, which is not what is tested here.
ENDLESS = """
    from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
    mesh = Mesh(np.array(jax.devices()), "x")
    x = jax.make_array_from_callback((count, 4), NamedSharding(mesh, P("x")), lambda i: np.ones((1, 4)))
    step = jax.jit(lambda x: x * x.sum() / x.sum())
    try:
        for i in range(10**9):
            x = jax.block_until_ready(step(x))
            if i == 20:
                print("running", flush=True)
    except Exception as error:
        print("error:", error, flush=True)
    np.testing.assert_array_equal(jax.jit(lambda x: x + 1)(np.arange(3)), [1, 2, 3])
    print("alive", flush=True)
    import os; os._exit(0)
"""


def variables(timeout):
    return {"JAX_PLATFORMS": "isthmus", "ISTHMUS_NUM_DEVICES": 1,
            "ISTHMUS_COLLECTIVE_TIMEOUT_SECONDS": timeout}


def errors_of_survivors(tmp_path, count, victim, what, timeout):
    """Does `what` to one of `count` processes in the middle of its work; what the others then say."""
    with processes.Job(tmp_path, [ENDLESS] * count, **variables(timeout)) as job:
        for rank in range(count):
            job.wait_for_text(rank, "running")
        what(job.processes[victim])
        survivors = [rank for rank in range(count) if rank != victim]
        results = job.finish(survivors)
        for result in results:
            assert result.returncode == 0 and "alive" in result.stdout, job.report()
        return [result.stdout for result in results]


def test_killed_process_is_named(tmp_path):
    start = time.monotonic()
    texts = errors_of_survivors(tmp_path, 3, 1, lambda process: process.kill(), processes.PATIENCE_SECONDS)
    assert time.monotonic() - start < processes.PATIENCE_SECONDS  # nobody waited for the timeout
    for text in texts:
        assert "process 1" in text and "process1.py" not in text
        assert "all-reduce" in text
    assert any("process0.py:" in text for text in texts), texts  # the line of the program


def test_stopped_process_is_named(tmp_path):
    texts = errors_of_survivors(
        tmp_path, 2, 1, lambda process: os.kill(process.pid, signal.SIGSTOP), 5)
    assert "process 1 has not answered for 5 s" in texts[0]
    assert "all-reduce" in texts[0]


@pytest.fixture
def two_networks():
    """Two network namespaces with a cable between them; skips where we may not make any."""
    names = [f"isthmus{os.getpid()}{end}" for end in "ab"]
    run = lambda *command: subprocess.run(["ip", *command], check=True, capture_output=True)
    try:
        for name in names:
            run("netns", "add", name)
        run("link", "add", "cable", "netns", names[0], "type", "veth", "peer", "name", "cable",
            "netns", names[1])
        for number, name in enumerate(names):
            run("-n", name, "link", "set", "lo", "up")
            run("-n", name, "address", "add", f"10.77.0.{number + 1}/24", "dev", "cable")
            run("-n", name, "link", "set", "cable", "up")
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no network namespaces here")
    yield names, lambda: run("-n", names[1], "link", "set", "cable", "down")
    for name in names:
        subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True)


def test_cut_off_process_is_named(tmp_path, two_networks):
    """Also: the connections go over the interface that reaches the coordinator."""
    names, cut = two_networks
    prefixes = [["ip", "netns", "exec", name] for name in names]
    with processes.Job(tmp_path, [ENDLESS] * 2, host="10.77.0.1", prefixes=prefixes, **variables(5)) as job:
        for rank in range(2):
            job.wait_for_text(rank, "running")
        cut()
        (result,) = job.finish([0])
        assert "process 1 has not answered for 5 s" in result.stdout, job.report()


def test_lost_packets_change_nothing(tmp_path, two_networks):
    """The cable's ends take bursts of a few packets only and drop the rest."""
    names, _ = two_networks
    tc = lambda name, *command: subprocess.run(
        ["tc", "-n", name, "-s", "qdisc", *command], check=True, capture_output=True, text=True).stdout
    program = """
    from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
    mesh = Mesh(np.array(jax.devices()), "x")
    size = 1 << 16
    x = jax.make_array_from_callback(
        (count, size), NamedSharding(mesh, P("x")), lambda i: np.arange(size, dtype="f")[None] + i[0].start)
    step = jax.jit(lambda x: x.sum(0), out_shardings=NamedSharding(mesh, P()))
    for _ in range(4):
        np.testing.assert_array_equal(step(x), 2 * np.arange(size, dtype="f") + 1)
    print("right", flush=True)
    """
    prefixes = [["ip", "netns", "exec", name] for name in names]
    with processes.Job(tmp_path, [program] * 2, host="10.77.0.1", prefixes=prefixes,
                       **variables(processes.PATIENCE_SECONDS)) as job:
        try:
            for name in names:
                tc(name, "add", "dev", "cable", "root", "tbf", "rate", "100mbit", "burst", "3kb", "limit", "6kb")
        except (OSError, subprocess.CalledProcessError):
            pytest.skip("no queues that drop packets here")
        for result in job.finish():
            assert result.returncode == 0 and "right" in result.stdout, job.report()
    dropped = [int(re.search(r"dropped (\d+)", tc(name, "show", "dev", "cable"))[1]) for name in names]
    assert min(dropped) > 0, dropped


def test_different_programs_are_found(tmp_path):
    program = """
    from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
    mesh = Mesh(np.array(jax.devices()), "x")
    x = jax.make_array_from_callback((count, 4), NamedSharding(mesh, P("x")), lambda i: np.ones((1, 4)))
    def train(x): return x / x.sum()
    def evaluate(x): return x - x.max(axis=0)
    try:
        jax.block_until_ready(jax.jit([train, evaluate][rank])(x))
    except Exception as error:
        print("error:", error, flush=True)
    import os; os._exit(0)
    """
    with processes.Job(tmp_path, [program] * 2, **variables(processes.PATIENCE_SECONDS)) as job:
        for result in job.finish():
            assert "jit_train" in result.stdout and "jit_evaluate" in result.stdout, job.report()


def test_failure_of_one_process_reaches_the_other(tmp_path):
    program = """
    from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
    try:
        from jax import shard_map
    except ImportError:
        from jax.experimental.shard_map import shard_map
    mesh = Mesh(np.array(jax.devices()), "x")
    x = jax.make_array_from_callback((count, 4), NamedSharding(mesh, P("x")), lambda i: np.ones((1, 4)))
    def fail(y):
        if rank == 1:
            raise ValueError("out of luck")
        return y
    f = lambda y: jax.lax.psum(jax.pure_callback(fail, jax.ShapeDtypeStruct(y.shape, y.dtype), y), "x")
    try:
        jax.block_until_ready(jax.jit(shard_map(f, mesh=mesh, in_specs=P("x"), out_specs=P()))(x))
    except Exception as error:
        print("error:", error, flush=True)
    import os; os._exit(0)
    """
    with processes.Job(tmp_path, [program] * 2, **variables(processes.PATIENCE_SECONDS)) as job:
        results = job.finish()
        assert "out of luck" in results[0].stdout and "process 1" in results[0].stdout, job.report()


def test_process_that_ends_early_is_named(tmp_path):
    """Before it launches what the others wait with."""
    first = """
    from jax.experimental import multihost_utils
    try:
        multihost_utils.sync_global_devices("here")
    except Exception as error:
        print("error:", error, flush=True)
    import os; os._exit(0)
    """
    other = "jax.devices(); import os; os._exit(0)"
    with processes.Job(tmp_path, [first, other], **variables(processes.PATIENCE_SECONDS)) as job:
        results = job.finish()
        assert "the connection to process 1 is gone" in results[0].stdout, job.report()


def test_dead_coordinator_is_reported(tmp_path):
    """By the collective or, if that is faster, by JAX's service, which then ends the process."""
    with processes.Job(tmp_path, [ENDLESS] * 2, **variables(processes.PATIENCE_SECONDS)) as job:
        for rank in range(2):
            job.wait_for_text(rank, "running")
        job.processes[0].kill()
        (result,) = job.finish([1])
        said = result.stdout + result.stderr
        assert "connection to process 0 is gone" in said or "coordination service" in said, said

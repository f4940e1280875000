"""A process that joins a job twice, or too late: it is refused, and every process ends.

JAX's own service refuses some of them before our client is made; where it lets them pass, our own check does.
"""

import pytest

import processes


def variables(timeout):
    return {"JAX_PLATFORMS": "isthmus", "ISTHMUS_NUM_DEVICES": 1,
            "ISTHMUS_COLLECTIVE_TIMEOUT_SECONDS": timeout}


# Connects to JAX's service as process `node` of `nodes`, which are others than those of our job where JAX would
# refuse the process itself, and says what comes of joining the job.
JOIN = """
import os, sys, time, jax, numpy as np
from jax._src import distributed
rank, count, port = map(int, sys.argv[1:4])
def join(process, processes, node=None, nodes=None):
    jax.distributed.initialize(f"localhost:{port}", nodes or processes, process if node is None else node,
                               initialization_timeout=100)
    distributed.global_state.process_id, distributed.global_state.num_processes = process, processes
def total():
    from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
    mesh = Mesh(np.array(jax.devices()), "x")
    x = jax.make_array_from_callback((jax.device_count(),), NamedSharding(mesh, P("x")), lambda i: np.ones(1))
    return float(jax.jit(lambda x: x.sum())(x))
def attempt():
    try:
        print("total", total(), flush=True)
    except Exception as error:
        print("error:", error, flush=True)
def leave():
    jax.distributed.shutdown()
    os._exit(0)
"""


def test_two_processes_of_one_number(tmp_path):
    """Three processes of JAX's service, two of which say that they are process 1 of our job."""
    program = """
    join([0, 1, 1][rank], 2, node=rank, nodes=3)
    attempt()
    leave()
    """
    with processes.Job(tmp_path, [program] * 3, JOIN, **variables(processes.PATIENCE_SECONDS)) as job:
        results = job.finish()
        assert all(result.returncode == 0 for result in results), job.report()
        said = [result.stdout for result in results]
        assert "total 2.0" in said[0], job.report()
        # Whichever came first of the two is in the job, which the other one does not disturb.
        refused, = (text for text in said[1:] if "error:" in text)
        joined, = (text for text in said[1:] if "error:" not in text)
        assert "total 2.0" in joined, job.report()
        assert "process 1 of 2 has joined this job already" in refused, job.report()


def test_process_of_a_number_that_works_already(tmp_path):
    """The job goes on computing while a second process 1 knocks, long after it began."""
    first = """
    join(rank, 2, node=rank, nodes=3)
    attempt()
    client = distributed.global_state.client
    client.key_value_set(f"working/{rank}", "yes")
    client.blocking_key_value_get("refused", 100_000)
    attempt()
    leave()
    """
    late = """
    join(1, 2, node=rank, nodes=3)
    client = distributed.global_state.client
    for other in range(2):
        client.blocking_key_value_get(f"working/{other}", 100_000)
    attempt()
    client.key_value_set("refused", "yes")
    leave()
    """
    with processes.Job(tmp_path, [first, first, late], JOIN, **variables(processes.PATIENCE_SECONDS)) as job:
        results = job.finish()
        assert all(result.returncode == 0 for result in results), job.report()
        for result in results[:2]:
            assert result.stdout.count("total 2.0") == 2, job.report()
        assert "process 1 of 2 has joined this job already" in results[2].stdout, job.report()


def test_process_that_comes_when_the_others_have_given_up(tmp_path):
    first = """
    join(rank, 2)
    attempt()
    client = distributed.global_state.client
    client.key_value_set("given up", "yes")
    leave()
    """
    late = """
    join(rank, 2)
    client = distributed.global_state.client
    client.blocking_key_value_get("given up", 100_000)
    attempt()
    leave()
    """
    with processes.Job(tmp_path, [first, late], JOIN, **variables(2)) as job:
        results = job.finish()
        assert all(result.returncode == 0 for result in results), job.report()
        for result in results:
            assert "process 1 of 2 did not join within 2 s" in result.stdout, job.report()


def test_process_of_no_number(tmp_path):
    """One more than the job has."""
    program = """
    join(rank, 2, node=rank, nodes=3)
    attempt()
    leave()
    """
    with processes.Job(tmp_path, [program] * 3, JOIN, **variables(processes.PATIENCE_SECONDS)) as job:
        results = job.finish()
        assert all(result.returncode == 0 for result in results), job.report()
        for result in results[:2]:
            assert "total 2.0" in result.stdout, job.report()
        assert "node_id is 2 and num_nodes 2" in results[2].stdout, job.report()


@pytest.mark.parametrize("late", [False, True])
def test_second_process_is_refused_by_the_service(tmp_path, late):
    """Without our help: JAX's service may end the process that it refuses, and those that it then trusts no more."""
    program = f"""
    late = {late}
    import pathlib
    while rank == 2 and late and not pathlib.Path("works").exists():
        time.sleep(0.05)
    try:
        jax.distributed.initialize(f"localhost:{{port}}", 2, min(rank, 1), initialization_timeout=10)
        for i in range(10**9 if late else 10):
            total()
            if i == 5:
                pathlib.Path("works").touch()
        print("worked", flush=True)
        time.sleep(15 if rank == 0 else 0)  # its service outlives the refusal
    except Exception as error:
        print("error:", error, flush=True)
    os._exit(0)
    """
    with processes.Job(tmp_path, [program] * 3, JOIN, **variables(30)) as job:
        refused = 0
        for result in job.finish([2] if late else None, timeout=120):
            if "worked" not in result.stdout:
                assert "error:" in result.stdout or "distributed service" in result.stderr, job.report()
                refused += 1
        assert refused, job.report()  # nobody works with both

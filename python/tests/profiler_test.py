"""jax.profiler on isthmus: what a trace holds, and that nothing stops working while one is taken."""

import concurrent.futures
import glob
import gzip
import inspect
import json
import os
import pathlib
import socket
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

DEVICE = "/device:CUSTOM:ISTHMUS:"
FILE = os.path.basename(__file__)


def read(folder):
    """The planes of a trace, as {plane: {line: [event]}}; lines of one name are put together."""
    (path,) = glob.glob(f"{folder}/plugins/profile/*/*.xplane.pb")
    planes = {}
    # ProfileData owns what its events point to.
    data = jax.profiler.ProfileData.from_file(path)
    for plane in data.planes:
        lines = planes.setdefault(plane.name, {})
        for line in plane.lines:
            events = lines.setdefault(line.name, [])
            for event in line.events:
                stats = dict(event.stats)
                events.append((event.name, event.start_ns, event.duration_ns, stats))
    return planes


def kernels(planes, device=0):
    return planes[f"{DEVICE}{device}"]["XLA Ops"]


def names(events):
    return [event[0] for event in events]


def here(offset=0):
    return inspect.currentframe().f_back.f_lineno + offset


@jax.jit
def step(x, w):
    y = jnp.tanh(x @ w)  # one kernel: the product with its epilogue
    return jnp.sort(y, axis=-1).sum()


STEP_LINE = inspect.getsourcelines(step.__wrapped__)[1]
DOT_LINE = STEP_LINE + 2
SORT_LINE = STEP_LINE + 3
PRODUCT = f"{FILE}:{DOT_LINE} fusion(dot_general, tanh)"


@pytest.fixture
def arrays():
    x = np.random.default_rng(0).normal(size=(256, 256)).astype(np.float32)
    step(x, x).block_until_ready()
    return x, x


def test_kernels_are_named_by_source_line(tmp_path, arrays):
    with jax.profiler.trace(tmp_path):
        step(*arrays).block_until_ready()
    events = kernels(read(tmp_path))
    assert PRODUCT in names(events)
    # In a function that JAX makes itself: named by the line that calls it.
    assert f"{FILE}:{SORT_LINE} sort" in names(events)
    (dot,) = [event for event in events if event[0] == PRODUCT]
    assert dot[3]["hlo_op"] == "fusion"
    assert dot[3]["hlo_module"] == "jit_step"
    assert dot[3]["source"] == f"{__file__}:{DOT_LINE}"


def test_times_add_up(tmp_path, arrays):
    runs = 5
    with jax.profiler.trace(tmp_path):
        for _ in range(runs):
            step(*arrays).block_until_ready()
    planes = read(tmp_path)
    modules = [e for e in planes[f"{DEVICE}0"]["XLA Modules"] if e[0] == "jit_step"]
    assert len(modules) == runs
    assert len({event[3]["run_id"] for event in modules}) == runs
    for _, start, duration, _ in modules:
        assert duration > 0
        inside = [e for e in kernels(planes) if start <= e[1] < start + duration]
        assert len(inside) >= 3
        total = sum(event[2] for event in inside)
        # All but what comes before the first kernel.
        assert 0.5 * duration < total <= duration + 1
        for first, second in zip(inside, inside[1:]):
            assert first[1] + first[2] <= second[1] + 1, "kernels of one run do not overlap"


def test_the_host_shows_compilation_and_copies(tmp_path):
    def fresh(x):
        return jnp.cos(x) * 3

    with jax.profiler.trace(tmp_path):
        result = jax.jit(fresh)(jnp.ones((64, 64)))
        np.array(result.T)
    host = [event for line in read(tmp_path)["/host:CPU"].values() for event in line]
    found = {event[0]: event for event in host}
    compiled = found["compile jit_fresh"]
    for stage in ("stage legalize", "stage simplify", "stage fuse", "stage plan", "stage compile"):
        inside = [
            event
            for event in host
            if event[0] == stage
            and compiled[1] <= event[1]
            and event[1] + event[2] <= compiled[1] + compiled[2] + 1
        ]
        assert len(inside) == 1, stage


def test_annotations_are_beside_the_kernels(tmp_path, arrays):
    with jax.profiler.trace(tmp_path):
        for number in range(2):
            with jax.profiler.StepTraceAnnotation("train", step_num=number):
                with jax.profiler.TraceAnnotation("forward"):
                    step(*arrays).block_until_ready()
    planes = read(tmp_path)
    host = [event for line in planes["/host:CPU"].values() for event in line]
    assert names(host).count("train") == 2
    forward = sorted(event[1:3] for event in host if event[0] == "forward")
    runs = sorted(e[1:3] for e in planes[f"{DEVICE}0"]["XLA Modules"] if e[0] == "jit_step")
    # The same clock: each run is in its annotation.
    assert len(forward) == len(runs) == 2
    for (begin, duration), (start, run) in zip(forward, runs):
        assert begin <= start and start + run <= begin + duration + 1000


def test_one_after_the_other(tmp_path, arrays):
    for number in range(3):
        folder = tmp_path / str(number)
        with jax.profiler.trace(folder):
            for _ in range(number + 1):
                step(*arrays).block_until_ready()
        events = names(kernels(read(folder)))
        assert events.count(PRODUCT) == number + 1


def test_an_empty_trace(tmp_path):
    with jax.profiler.trace(tmp_path):
        pass
    assert not [plane for plane in read(tmp_path) if plane.startswith(DEVICE)]


def test_an_exception_ends_the_trace(tmp_path, arrays):
    with pytest.raises(ZeroDivisionError):
        with jax.profiler.trace(tmp_path / "one"):
            step(*arrays).block_until_ready()
            1 / 0
    assert kernels(read(tmp_path / "one"))
    with jax.profiler.trace(tmp_path / "two"):
        step(*arrays).block_until_ready()
    assert kernels(read(tmp_path / "two"))


def test_many_threads(tmp_path, arrays):
    def work(_):
        for _ in range(20):
            step(*arrays).block_until_ready()

    with jax.profiler.trace(tmp_path):
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(work, range(4)))
    lines = read(tmp_path)[f"{DEVICE}0"]
    events = [event for name, line in lines.items() if name.startswith("XLA Ops") for event in line]
    assert names(events).count(PRODUCT) == 80


def test_loops_and_branches(tmp_path):
    @jax.jit
    def program(x):
        small = jax.lax.fori_loop(0, 1000, lambda i, c: c * 0.5 + 1, jnp.float32(0))
        loop_line = here(-1)
        large = jax.lax.fori_loop(0, 7, lambda i, c: jnp.sin(c @ c), x)
        program.lines = loop_line, here(-1)
        return jax.lax.cond(x[0, 0] > 0, lambda: jnp.sort(large), lambda: large) + small

    x = np.full((200, 200), 0.01, np.float32)
    program(x).block_until_ready()
    with jax.profiler.trace(tmp_path):
        program(x).block_until_ready()
    small, large = program.lines
    events = names(kernels(read(tmp_path)))
    # A loop of small kernels is one step; of others, each round's kernels are.
    assert events.count(f"{FILE}:{small} while") == 1
    assert events.count(f"{FILE}:{large} fusion(dot_general, sine)") == 7
    assert len([name for name in events if name.endswith(" sort")]) == 1


def test_deserialized_programs_keep_their_names(tmp_path, arrays):
    from jax.experimental import serialize_executable

    compiled = step.lower(*arrays).compile()
    loaded = serialize_executable.deserialize_and_load(
        *serialize_executable.serialize(compiled), execution_devices=jax.devices()[:1]
    )
    with jax.profiler.trace(tmp_path):
        jax.block_until_ready(loaded(*arrays))
    assert PRODUCT in names(kernels(read(tmp_path)))


def test_callbacks_and_custom_calls(tmp_path):
    @jax.jit
    def program(x):
        y = jax.pure_callback(np.sin, x, x)
        callback_line = here(-1)
        q, _ = jnp.linalg.qr(y)
        program.lines = callback_line, here(-1)
        return q

    x = np.random.default_rng(0).normal(size=(32, 32)).astype(np.float32)
    program(x).block_until_ready()
    with jax.profiler.trace(tmp_path):
        program(x).block_until_ready()
    callback, qr = program.lines
    events = names(kernels(read(tmp_path)))
    assert [e for e in events if e.startswith(f"{FILE}:{callback} custom_call @xla_ffi_python")]
    assert [e for e in events if e.startswith(f"{FILE}:{qr} custom_call @lapack_sgeqrf")]


def test_options_choose_what_is_recorded(tmp_path, arrays):
    options = jax.profiler.ProfileOptions()
    for level in (2, 0):
        options.host_tracer_level = level
        with jax.profiler.trace(tmp_path / str(level), profiler_options=options):
            jax.jit(lambda x: x * level)(arrays[0]).block_until_ready()
        planes = read(tmp_path / str(level))
        assert kernels(planes)
        host = [event for line in planes["/host:CPU"].values() for event in line]
        assert ("stage fuse" in names(host)) == (level > 0)


def test_trace_viewers_get_the_kernels(tmp_path, arrays):
    with jax.profiler.trace(tmp_path, create_perfetto_trace=True):
        step(*arrays).block_until_ready()
    for kind in ("perfetto_trace.json.gz", "*.trace.json.gz"):
        path = glob.glob(f"{tmp_path}/plugins/profile/*/{kind}")[0]
        events = json.load(gzip.open(path))["traceEvents"]
        planes = {e["pid"]: e["args"]["name"] for e in events if e.get("name") == "process_name"}
        dots = [
            event
            for event in events
            if event.get("name") == PRODUCT
            and planes[event["pid"]] == f"{DEVICE}0"
        ]
        assert len(dots) == 1, kind
        assert dots[0]["dur"] > 0
        assert dots[0]["args"]["tf_op"] == "jit(step)/tanh"
        assert dots[0]["args"]["hlo_category"] == "output fusion"


def in_process(code, *arguments, **environment):
    """Runs a program on a platform of its own, with the same plugin."""
    run = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | environment,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    return run.stdout


MANY_DEVICES = """
import sys, jax, jax.numpy as jnp, numpy as np
from jax.sharding import PartitionSpec as P
mesh = jax.sharding.Mesh(np.array(jax.devices()[:4]), ("i",))
f = jax.jit(jax.shard_map(lambda x: jax.lax.psum(jnp.sin(x), "i"), mesh=mesh,
                          in_specs=P("i"), out_specs=P()))
x = np.ones((64, 64), np.float32)
f(x).block_until_ready()
with jax.profiler.trace(sys.argv[1]):
    f(x).block_until_ready()
"""


def test_each_device_is_a_plane(tmp_path):
    in_process(MANY_DEVICES, tmp_path, ISTHMUS_NUM_DEVICES="4")
    planes = read(tmp_path)
    for device in range(4):
        modules = planes[f"{DEVICE}{device}"]["XLA Modules"]
        assert len([name for name in names(modules) if "lambda" in name]) == 1
        assert [name for name in names(kernels(planes, device)) if name.endswith("all_reduce")]


SERVED = """
import sys, threading, jax, numpy as np
jax.profiler.start_server(int(sys.argv[1]))
f = jax.jit(lambda x: (x @ x).sum())
x = np.ones((200, 200), np.float32)
print("ready", flush=True)
over = threading.Event()
threading.Thread(target=lambda: (sys.stdin.readline(), over.set()), daemon=True).start()
while not over.is_set():
    f(x).block_until_ready()
"""


def test_a_server_is_asked_from_outside(tmp_path):
    """What TensorBoard's capture button does, where its client is installed."""
    capture = pytest.importorskip("xprof.convert._pywrap_profiler_plugin")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    served = subprocess.Popen(
        [sys.executable, "-c", SERVED, str(port)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert served.stdout.readline() == "ready\n"
        capture.trace(f"127.0.0.1:{port}", str(tmp_path), "", True, 500, 3, {})
    finally:
        served.communicate("\n", timeout=60)
    assert kernels(read(tmp_path))


SERVER = """
import sys, jax, numpy as np
jax.profiler.start_server(int(sys.argv[1]))
with jax.profiler.trace(sys.argv[2]):
    jax.jit(lambda x: (x @ x).sum())(np.ones((200, 200), np.float32)).block_until_ready()
jax.profiler.stop_server()
"""


def test_a_server_beside_a_trace(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    in_process(SERVER, port, tmp_path)
    assert kernels(read(tmp_path))


def test_memory_profiles_and_statistics_during_a_trace(tmp_path, arrays):
    device = jax.devices()[0]
    before = device.memory_stats()["bytes_in_use"]
    with jax.profiler.trace(tmp_path):
        held = jax.device_put(np.ones((1 << 20,), np.float32)) + 1
        held.block_until_ready()
        stats = device.memory_stats()
        assert stats["bytes_in_use"] >= before + held.nbytes
        assert stats["peak_bytes_in_use"] >= stats["bytes_in_use"]
        profile = tmp_path / "memory.prof"
        jax.profiler.save_device_memory_profile(profile)
    # A compressed profile that names where the array was made.
    text = gzip.decompress(profile.read_bytes())
    assert pathlib.Path(__file__).name.encode() in text
    assert kernels(read(tmp_path))

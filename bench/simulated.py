"""Measures this machine's devices, simulates sharded training steps on them, and runs these.

    ISTHMUS_NUM_DEVICES=8 JAX_PLATFORMS=isthmus python bench/simulated.py PATH/isthmus-simulate [--keep DIR]

The description of the machine (peak of products, memory, launch, and a line through the times of two
all-reduces) is of all devices working at the same time, as they do in a step. Devices of a CPU share its
cores, and their kernels do not reach the peaks of large ones, so the ratio shows how far rooflines go.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P


def best(function, *arguments, seconds=1.0):
    """The shortest time of a call."""
    jax.block_until_ready(function(*arguments))
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 3:
        begin = time.perf_counter()
        jax.block_until_ready(function(*arguments))
        times.append(time.perf_counter() - begin)
    return min(times)


def describe(mesh):
    """The machine as isthmus-simulate reads it, measured with all devices at work."""
    n = mesh.size

    def each(function):
        return jax.jit(jax.shard_map(function, mesh=mesh, in_specs=P("x"), out_specs=P("x")))

    def put(*shape):
        return jax.device_put(np.ones(shape, "f"), NamedSharding(mesh, P("x")))

    size, long = 512, 1 << 22
    launch = best(each(lambda a: a + 1), put(n, 8))
    product = best(each(lambda a: a @ a.T), put(n * size, size))
    memory = best(each(lambda a: a + 1), put(n, long))
    element = best(each(lambda a: jax.lax.fori_loop(0, 64, lambda i, x: x * 1.01 + 1, a)), put(n, 1 << 14))
    reduced = each(lambda a: jax.lax.psum(a, "x") + jnp.zeros_like(a))
    short_time, long_time = best(reduced, put(n, 8)), best(reduced, put(n, 1 << 20))
    latency = max(short_time - launch, 0) / (2 * np.ceil(np.log2(n)))
    rate = 2 * (n - 1) / n * 4 * (1 << 20) / max(long_time - short_time, 1e-9)
    return {"name": f"{n} devices of this machine",
            "device": {"contraction_flops": {"f32": 2 * size**3 / product},
                       "element_flops": 128 * (1 << 14) / element,
                       "memory_bytes_per_second": 8 * long / memory, "memory_bytes": 1e9,
                       # One launch of the whole program costs this; a kernel within it next to nothing.
                       "launch_seconds": 1e-7},
            "network": [{"name": "memory", "size": n, "bytes_per_second": rate, "latency_seconds": latency}]}


def programs(mesh):
    """Training steps: name, function, arguments."""
    rng = np.random.default_rng(0)

    def put(shape, *spec):
        return jax.device_put(rng.normal(size=shape).astype("f") * 0.1, NamedSharding(mesh, P(*spec)))

    def step(loss):
        return jax.jit(lambda w, x: jax.tree.map(lambda p, g: p - 0.01 * g, w, jax.grad(loss)(w, x)))

    def mlp(w, x):
        for weight in w:
            x = jnp.tanh(x @ weight)
        return jnp.mean(x**2)

    def scanned(w, x):
        return jnp.mean(jax.lax.scan(lambda h, p: (jnp.tanh(h @ p[0]) @ p[1], None), x, w)[0] ** 2)

    yield "data parallel MLP", step(mlp), ([put((1024, 1024))] * 4, put((1024, 1024), "x"))
    yield ("tensor parallel layers", step(scanned),
           ((put((8, 512, 2048), None, None, "x"), put((8, 2048, 512), None, "x")), put((512, 512))))
    yield ("sharded weights (FSDP)", step(scanned),
           ((put((8, 512, 1024), None, "x"), put((8, 1024, 512), None, "x")), put((512, 512), "x")))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("simulator")
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    folder = options.keep or pathlib.Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    mesh = Mesh(np.array(jax.devices()), "x")
    machine = folder / "machine.json"
    machine.write_text(json.dumps(describe(mesh), indent=2))
    print(machine.read_text())
    print(f"{'program':24} {'measured':>10} {'simulated':>10} {'ratio':>6}")
    for name, function, arguments in programs(mesh):
        text = folder / (name.replace(" ", "_") + ".mlir")
        text.write_text(function.lower(*arguments).as_text(debug_info=True))
        report = json.loads(subprocess.run(
            [options.simulator, text, "--machine", machine, "--json"], check=True, capture_output=True,
            text=True).stdout)
        # Collectives of a CPU's devices are done by the threads that compute.
        simulated = report["synchronous_seconds"]
        measured = best(function, *arguments, seconds=2.0)
        print(f"{name:24} {measured * 1e3:7.2f} ms {simulated * 1e3:7.2f} ms {simulated / measured:6.2f}")


if __name__ == "__main__":
    main()

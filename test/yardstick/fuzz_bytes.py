"""Hostile bytes through the C API: each gives an error (or is still valid), never a crash.

    ./dev yardstick fuzz [--count 10000] [--targets NAME ...] [--library FILE]

Everything that a caller hands over as bytes (programs in each format, compile options, serialized
executables and topologies) is made for real by JAX, and then cut, gets bits flipped, or is replaced by
random bytes, COUNT times each. Cases run in batches in a worker process; a batch that crashes is run
again case by case and the case is kept in out/yardstick/fuzz/. Memory that grows with the cases
counts as a leak.
"""

import argparse
import base64
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import fuzz_bytes_worker  # noqa: E402
import worker_pool  # noqa: E402

ROOT = HERE.parent.parent
BATCH = 100
# Growth of the worker over all its batches but the first few, which fill caches.
LEAK_MEGABYTES = 64
# Where every mutation is noticed: bytecode that is cut or random, and what carries a digest.
NEVER_ACCEPTED = {("bytecode", "truncated"), ("bytecode", "random"), ("hlo", "random"),
                  ("executable", "truncated"), ("executable", "flipped"), ("executable", "random")}


def seeds(library):
    """Returns {target: [bytes, ...]}, made by JAX on its own CPU client and by the plugin."""
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax
    import jax.numpy as jnp
    import numpy as np
    import pypjrt
    from jaxlib import _jax, xla_client

    def network(w, x):
        return jnp.sum(jax.nn.softmax(jnp.tanh(x @ w), axis=-1) ** 2)

    def loop(x):
        return jax.lax.while_loop(lambda v: v[0] < 10, lambda v: (v[0] + 1, v[1] * 1.5), (0, x))

    def mixed(x):
        y = jnp.sort(x)[::-1].reshape(4, 4).T
        return jnp.cumsum(y, axis=0).at[1, 2].add(3.0), jnp.argmax(y), jnp.where(y > 0, y, 0j)

    square = jnp.zeros((16, 16))
    programs = [(jax.grad(network), (square, square)), (loop, (1.0,)), (mixed, (jnp.zeros(16),)),
                (lambda x: jax.lax.conv_general_dilated(x, x, (1, 1), "SAME"),
                 (jnp.zeros((1, 2, 5, 5)),)), (lambda x: x + jnp.arange(1000.0), (1.0,))]
    found = {"bytecode": [], "text": [], "hlo": [], "options": [], "executable": [], "topology": []}
    client = pypjrt.Client.create(str(library))
    for function, arguments in programs:
        lowered = jax.jit(function).lower(*arguments)
        module = lowered.compiler_ir("stablehlo")
        program = _jax.mlir.serialize_portable_artifact(module, "1.0.0", True)
        found["bytecode"].append(program)
        found["text"].append(lowered.as_text().encode())
        found["hlo"].append(lowered.compiler_ir("hlo").as_serialized_hlo_module_proto())
        with client.compile(program) as executable:
            found["executable"].append(executable.serialize())

    options = xla_client.CompileOptions()
    found["options"].append(options.SerializeAsString())
    options.num_replicas, options.num_partitions = 2, 4
    options.device_assignment = xla_client.DeviceAssignment.create(
        np.arange(8, dtype=np.int32).reshape(2, 4))
    options.env_option_overrides = [("xla_cpu_enable_fast_math", "true"), ("isthmus", "1")]
    build = options.executable_build_options
    build.use_spmd_partitioning = build.use_shardy_partitioner = True
    build.allow_spmd_sharding_propagation_to_output = [True, False]
    found["options"].append(options.SerializeAsString())
    found["topology"].append(fuzz_bytes_worker.serialize_topology(client))
    return found


def run_batch(worker, batch, options, folder):
    """Runs a batch; if it crashes, runs its cases one by one. Returns (accepted, bad cases)."""
    answer = worker.run(batch, options.seconds * batch["count"])
    if answer["status"] == "pass":
        return answer, []
    bad = []
    for index in range(batch["begin"], batch["begin"] + batch["count"]):
        single = worker.run({**batch, "begin": index, "count": 1}, options.seconds)
        if single["status"] != "pass":
            name = f"{batch['target']}-{batch['mutation']}-{batch['name']}-{index}"
            bad.append(f"{name}: {single['status']}: {single['message'].strip()[-300:]}")
            folder.mkdir(parents=True, exist_ok=True)
            seed = base64.b64decode(batch["seed"])
            (folder / f"{name}.bin").write_bytes(
                fuzz_bytes_worker.mutate(seed, batch["mutation"], index))
    if not bad:
        bad.append(f"{batch['target']}-{batch['mutation']}-{batch['name']} from {batch['begin']}: "
                   f"{answer['status']} as a batch only: {answer['message'].strip()[-300:]}")
    return {"accepted": 0, "megabytes": 0}, bad


def run_cases(worker, target, mutation, seeds_of_target, options):
    """Runs all cases of one mutation of one target; returns what is wrong."""
    failures, first, last, accepted, batches = [], None, None, 0, 0
    for begin in range(0, options.count, BATCH):
        which = batches % len(seeds_of_target)
        batch = {"target": target, "mutation": mutation, "name": str(which), "begin": begin,
                 "count": min(BATCH, options.count - begin),
                 "seed": base64.b64encode(seeds_of_target[which]).decode()}
        answer, bad = run_batch(worker, batch, options, options.out)
        failures += bad
        accepted += answer["accepted"]
        batches += 1
        if bad:
            first = None
        elif batches == len(seeds_of_target) + 1:
            first = answer["megabytes"]
        last = answer["megabytes"]
    grown = last - first if first and last else 0
    print(f"{target} {mutation}: {options.count} cases, {accepted} still valid, "
          f"{grown:.0f} MB more memory at the end", flush=True)
    if (target, mutation) in NEVER_ACCEPTED and accepted:
        failures.append(f"{target} {mutation}: {accepted} cases were accepted")
    if grown > LEAK_MEGABYTES:
        failures.append(f"{target} {mutation}: memory grew by {grown:.0f} MB")
    return failures


def main():
    targets = list(fuzz_bytes_worker.TARGETS)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", type=pathlib.Path, help="the plugin (default: the wheel's)")
    parser.add_argument("--count", type=int, default=10000, help="cases of each mutation")
    parser.add_argument("--targets", nargs="+", choices=targets, default=targets)
    parser.add_argument("--seconds", type=float, default=10, help="time-out of one case")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "out/yardstick/fuzz")
    options = parser.parse_args()
    if options.library is None:
        import isthmus
        options.library = isthmus.library_path()

    found = seeds(options.library)
    worker = worker_pool.Worker(
        [sys.executable, str(HERE / "fuzz_bytes_worker.py"), str(options.library)], {})
    failures = []
    for target in options.targets:
        for mutation in ["truncated", "flipped", "random"] + ["edited"] * (target == "text"):
            failures += run_cases(worker, target, mutation, found[target], options)
    worker.stop()
    for failure in failures[:50]:
        print(f"FAILED {failure}")
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

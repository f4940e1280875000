"""Hostile program bytes through the C API: each gives an error (or is still a program), never a crash.

    ./dev yardstick fuzz [--count 10000] [--library FILE]

Real programs, as JAX sends them, are cut, get bits flipped, or are replaced by random bytes, COUNT
times each. Cases run in batches in a worker process; a batch that crashes is run again case by case
and the case is kept in out/yardstick/fuzz/. Memory that grows with the cases counts as a leak.
"""

import argparse
import base64
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import worker_pool  # noqa: E402

ROOT = HERE.parent.parent
KINDS = ["truncated", "flipped", "random", "text"]
BATCH = 100
# Growth of the worker over all its batches but the first few, which fill caches.
LEAK_MEGABYTES = 64


def seed_programs():
    """Portable artifacts of a few programs, as bytes, made by JAX on its own CPU client."""
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax
    import jax.numpy as jnp
    from jaxlib import _jax

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
    for function, arguments in programs:
        lowered = jax.jit(function).lower(*arguments)
        module = lowered.compiler_ir("stablehlo")
        yield _jax.mlir.serialize_portable_artifact(module, "1.0.0", True)
        yield lowered.as_text().encode()


def run_batch(worker, batch, options, folder):
    """Runs a batch; if it crashes, runs its cases one by one. Returns (accepted, bad cases)."""
    answer = worker.run(batch, options.seconds * batch["count"])
    if answer["status"] == "pass":
        return answer, []
    bad = []
    for index in range(batch["begin"], batch["begin"] + batch["count"]):
        single = worker.run({**batch, "begin": index, "count": 1}, options.seconds)
        if single["status"] != "pass":
            bad.append(f"{batch['kind']}-{batch['name']}-{index}: {single['status']}: "
                       f"{single['message'].strip()[-300:]}")
            folder.mkdir(parents=True, exist_ok=True)
            from fuzz_bytes_worker import mutate
            program = mutate(base64.b64decode(batch["program"]), batch["kind"], index)
            (folder / f"{batch['kind']}-{batch['name']}-{index}.bin").write_bytes(program)
    if not bad:
        bad.append(f"{batch['kind']}-{batch['name']} from {batch['begin']}: {answer['status']} as a "
                   f"batch only: {answer['message'].strip()[-300:]}")
    return {"accepted": 0, "megabytes": 0}, bad


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", type=pathlib.Path, help="the plugin (default: the wheel's)")
    parser.add_argument("--count", type=int, default=10000, help="cases of each kind")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--seconds", type=float, default=10, help="time-out of one case")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "out/yardstick/fuzz")
    options = parser.parse_args()
    if options.library is None:
        import isthmus
        options.library = isthmus.library_path()

    programs = list(seed_programs())
    binary, text = programs[0::2], programs[1::2]
    worker = worker_pool.Worker(
        [sys.executable, str(HERE / "fuzz_bytes_worker.py"), str(options.library)], {})
    failures, first, last = [], None, None
    for kind in options.kinds:
        seeds = text if kind == "text" else binary
        accepted, batches = 0, 0
        for begin in range(0, options.count, BATCH):
            which = batches % len(seeds)
            batch = {"kind": kind, "name": str(which), "begin": begin,
                     "count": min(BATCH, options.count - begin),
                     "program": base64.b64encode(seeds[which]).decode()}
            answer, bad = run_batch(worker, batch, options, options.out)
            failures += bad
            accepted += answer["accepted"]
            batches += 1
            if bad:
                first = None
            elif batches == len(seeds) + 1:
                first = answer["megabytes"]
            last = answer["megabytes"]
        grown = last - first if first and last else 0
        print(f"{kind}: {options.count} cases, {accepted} still programs, "
              f"{grown:.0f} MB more memory at the end", flush=True)
        if kind in ("truncated", "random") and accepted:
            failures.append(f"{kind}: {accepted} cases were accepted")
        if grown > LEAK_MEGABYTES:
            failures.append(f"{kind}: memory grew by {grown:.0f} MB")
    worker.stop()
    for failure in failures[:50]:
        print(f"FAILED {failure}")
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

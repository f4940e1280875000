"""Times the workloads on isthmus and on JAX's own CPU client, side by side in one process.

    ./dev bench [--set target|more|all] [--only PATTERN] [--repetitions N] [--json FILE]
                [--compile-only]

Each time is the best of the repetitions, which alternate: other work on the machine only adds.
"""

import argparse
import json
import os
import pathlib
import re
import sys
import time

os.environ.setdefault("JAX_PLATFORMS", "isthmus")

import jax  # noqa: E402
import numpy as np  # noqa: E402

import more_workloads  # noqa: E402
import workloads  # noqa: E402

# A timing shorter than this is repeated and divided: clocks and schedulers are not finer.
SHORTEST = 0.02
# A ratio down to this counts as level.
LEVEL = 0.95


def compile_on(device, function, arguments, salt):
    """Returns (jitted, arguments there, seconds). The salt makes the program new for any cache."""
    with jax.default_device(device):
        placed = jax.device_put(arguments, device)
        jitted = jax.jit(lambda *a: (function(*a), np.float32(salt)))
        lowered = jitted.lower(*placed)
        begin = time.perf_counter()
        lowered.compile()
        # The jitted function, not the compiled one, has JAX's fast path of calls.
        return jitted, placed, time.perf_counter() - begin


def time_calls(jitted, arguments, calls):
    begin = time.perf_counter()
    for _ in range(calls):
        result = jitted(*arguments)
    jax.block_until_ready(result)
    return (time.perf_counter() - begin) / calls


def calls_needed(jitted, arguments):
    """How many calls take SHORTEST together; also warms up."""
    jax.block_until_ready(jitted(*arguments))
    calls = 1
    while (taken := time_calls(jitted, arguments, calls) * calls) < SHORTEST and calls < 10_000:
        calls = max(calls * 2, int(calls * SHORTEST / max(taken, 1e-7)))
    return calls


def agree(ours, theirs):
    """True if two results are equal to the precision that a different order of sums allows."""
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs)):
        a, b = np.asarray(a), np.asarray(b)
        scale = max(float(np.max(np.abs(b), initial=0)), 1e-6)
        if not np.allclose(a, b, rtol=1e-3, atol=1e-4 * scale):
            return False
    return True


def measure(function, arguments, devices, options):
    """Returns {"run": {platform: [seconds]}, "compile": …, "agree": bool} of one workload."""
    times = {"run": {name: [] for name in devices}, "compile": {name: [] for name in devices}}
    ready = {}
    for repetition in range(options.compile_repetitions):
        for name, device in devices.items():
            *program, seconds = compile_on(device, function, arguments, repetition)
            times["compile"][name].append(seconds)
            ready[name] = program
    results = [jitted(*placed)[0] for jitted, placed in ready.values()]
    times["agree"] = agree(*results)
    del results
    if not options.compile_only:
        calls = {name: calls_needed(*program) for name, program in ready.items()}
        for repetition in range(options.repetitions):
            order = list(ready) if repetition % 2 else list(ready)[::-1]
            for name in order:
                times["run"][name].append(time_calls(*ready[name], calls[name]))
    return times


def show(seconds):
    for unit, factor in [("s ", 1), ("ms", 1e3), ("us", 1e6)]:
        if seconds * factor >= 1 or unit == "us":
            return f"{seconds * factor:8.2f} {unit}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--platform", default="isthmus")
    parser.add_argument("--set", choices=["target", "more", "all"], default="target",
                        help="the twelve and the demo's step, the others, or all")
    parser.add_argument("--only", default="", help="a regular expression on names")
    parser.add_argument("--repetitions", type=int, default=15)
    parser.add_argument("--compile-repetitions", type=int, default=3)
    parser.add_argument("--compile-only", action="store_true")
    parser.add_argument("--json", type=pathlib.Path, default=workloads.ROOT / "out/bench.json")
    options = parser.parse_args()

    devices = {options.platform: jax.devices(options.platform)[0], "JAX CPU": jax.devices("cpu")[0]}
    print(f"{'':30}{options.platform:>11}{'JAX CPU':>11}{'ratio':>7}   "
          f"{'compile':>11}{'JAX CPU':>11}{'ratio':>7}")
    report, slower = {}, {}
    chosen = {}
    if options.set != "more":
        chosen |= workloads.workloads()
    if options.set != "target":
        chosen |= more_workloads.workloads()
    for name, pair in chosen.items():
        if not re.search(options.only, name):
            continue
        function, arguments = pair() if callable(pair) else pair
        try:
            times = measure(function, arguments, devices, options)
        except Exception as error:  # one workload that fails must not hide the others
            print(f"{name:30}{type(error).__name__}: {str(error).splitlines()[0][:90]}", flush=True)
            report[name] = {"error": str(error)[:1000]}
            slower[name] = 0.0
            continue
        line = f"{name:30}"
        for kind in ("run", "compile"):
            ours, theirs = (min(t) if t else float("nan") for t in times[kind].values())
            times[f"{kind}_ratio"] = theirs / ours
            line += f"{show(ours):>11}{show(theirs):>11}{theirs / ours:7.2f}   "
        if not times["agree"]:
            line += " RESULTS DIFFER"
        print(line, flush=True)
        report[name] = times
        if name not in workloads.EXTRA:
            slower[name] = times["run_ratio"]

    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(
        {"jax": jax.__version__, "cores": os.cpu_count(), "workloads": report}, indent=1))
    if slower and not options.compile_only:
        level = sum(ratio >= LEVEL for ratio in slower.values())
        print(f"{level} of {len(slower)} level or faster; the slowest at "
              f"{min(slower.values()):.2f} of the speed of JAX's CPU client")
    wrong = [name for name, times in report.items() if not times.get("agree")]
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

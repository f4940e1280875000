"""Times the workloads on isthmus and on JAX's own client for the same devices, side by side in one process.

    ./dev bench [--set target|more|everyday|programs|further|all|accelerator] [--only PATTERN] [--repetitions N]
                [--json FILE] [--seconds N] [--compile-only] [--peaks] [--platform NAME] [--beside cpu|isthmus]
                [--precision f32|tf32]

With --platform cuda that is JAX's own CUDA plugin, or where it is not installed its CPU client. XLA rounds operands of
f32 to TF32 there unless it is told otherwise, and Isthmus only if it is told to: both are told the same (--precision).
Each time is the best of the repetitions, which alternate: other work on the machine only adds.
Beside the JSON file come a table (.md) and a chart (.svg).
"""

import argparse
import contextlib
import json
import os
import pathlib
import re
import sys
import time

_PLATFORM = re.search(r" --platform[ =](\w+)", " ".join(sys.argv))
_PLATFORM = _PLATFORM[1] if _PLATFORM else "isthmus"
if _PLATFORM == "cuda":
    # Both use the GPU; whatever the environment names, all three are wanted.
    os.environ["JAX_PLATFORMS"] = ""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
os.environ.setdefault("JAX_PLATFORMS", "isthmus" if _PLATFORM == "isthmus" else f"isthmus,{_PLATFORM},cpu")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

import accelerator  # noqa: E402
import everyday  # noqa: E402
import further  # noqa: E402
import more_workloads  # noqa: E402
import programs  # noqa: E402
import report as reports  # noqa: E402
import workloads  # noqa: E402

# What `--set` names; `all` are those that fit a CPU.
SETS = {"target": workloads, "more": more_workloads, "everyday": everyday, "programs": programs, "further": further,
        "accelerator": accelerator}
X64 = set().union(*(getattr(module, "X64", ()) for module in SETS.values()))

NARROW = {"bf16": jnp.bfloat16, "f16": jnp.float16}

# A timing shorter than this is repeated and divided: clocks and schedulers are not finer.
SHORTEST = 0.02


def compile_on(device, function, arguments, salt):
    """Returns (jitted, arguments there), seconds, costs, bytes and the program's text in the generic form. The salt
    makes the program new for any cache."""
    with jax.default_device(device):
        placed = jax.device_put(arguments, device)
        jitted = jax.jit(lambda *a: (function(*a), np.float32(salt)))
        lowered = jitted.lower(*placed)
        begin = time.perf_counter()
        compiled = lowered.compile()
        seconds = time.perf_counter() - begin
        # The jitted function, not the compiled one, has JAX's fast path of calls.
        text = lowered.compiler_ir("stablehlo").operation.get_asm(print_generic_op_form=True, large_elements_limit=16)
        return (jitted, placed), seconds, compiled.cost_analysis() or {}, held_bytes(compiled), text


def held_bytes(compiled):
    """What a run holds at once: arguments, results and the compiler's temporary memory."""
    memory = compiled.memory_analysis()
    return (memory.argument_size_in_bytes + memory.output_size_in_bytes + memory.temp_size_in_bytes
            - memory.alias_size_in_bytes) if memory else float("nan")


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


def is_narrow(x):
    return jnp.issubdtype(x.dtype, jnp.inexact) and jnp.finfo(x.dtype).bits < 32


def in_f64(function, arguments):
    """The results that a workload has if no operation rounds to a narrow type."""
    with jax.enable_x64(True), jax.default_device(jax.devices("cpu")[0]):
        wide = jax.tree.map(lambda x: np.asarray(x).astype(np.float64) if is_narrow(np.asarray(x)) else x, arguments)
        return jax.tree.leaves(jax.jit(function)(*wide))


def as_near(ours, theirs, exact):
    """True if our errors are no larger than theirs. Of narrow types each operation may round or not, and where what was
    rounded cancels, results that are equally good lie many units apart."""
    ours, theirs = (np.abs(np.asarray(x).astype(np.float64) - np.asarray(exact)) for x in (ours, theirs))
    return bool(ours.max() <= 1.5 * theirs.max() and ours.mean() <= 1.2 * theirs.mean())


def agree(ours, theirs, function, arguments, text):
    """True if two results are equal to the precision that a different order of sums allows, in a program of this text."""
    exact = None
    # Wide results of narrow arithmetic are no more precise: gradients in bf16 of parameters in f32.
    rounded = max([float(jnp.finfo(dtype).eps) for name, dtype in NARROW.items() if f"x{name}>" in text], default=0)
    for i, (a, b) in enumerate(zip(jax.tree.leaves(ours), jax.tree.leaves(theirs))):
        # Narrow types are rounded at last: one unit of 8 bits is 4e-3.
        tolerance = max(1e-3, 2 * rounded) if jnp.issubdtype(a.dtype, jnp.inexact) else 1e-3
        a, b = np.asarray(a), np.asarray(b)
        scale = max(float(np.max(np.abs(b), initial=0)), 1e-6)
        if np.allclose(a, b, rtol=tolerance, atol=max(1e-4, rounded / 4) * scale):
            continue
        if not is_narrow(a):
            return False
        exact = exact or in_f64(function, arguments)
        if not as_near(a, b, exact[i]):
            return False
    return True


def chosen_devices(platform, beside):
    """The name of the platform, and {name: device} of it and of what it is compared with."""
    if platform != "cuda":
        name = {"cpu": "JAX CPU"}.get(beside, beside)
        return platform, {platform: jax.devices(platform)[0], name: jax.devices(beside)[0]}
    from isthmus import cuda_backend

    name = cuda_backend.register_beside()
    if cuda_backend.has_jax_plugin():
        jax.config.update("jax_platforms", f"{name},cuda,cpu")
        return name, {name: jax.devices(name)[0], "JAX CUDA": jax.devices("cuda")[0]}
    print("JAX's own CUDA plugin (jax-cuda13-plugin, jax-cuda12-plugin) is not installed: compared with its CPU client")
    jax.config.update("jax_platforms", f"{name},cpu")
    return name, {name: jax.devices(name)[0], "JAX CPU": jax.devices("cpu")[0]}


def set_precision(precision):
    """Has both platforms multiply f32 in f32, or both in TF32. Before JAX makes its clients."""
    if precision == "tf32":
        os.environ["ISTHMUS_CUDA_TF32"] = "1"
    else:
        os.environ.pop("ISTHMUS_CUDA_TF32", None)
        # Products whose own precision is DEFAULT; those of the workloads that ask for one keep it.
        jax.config.update("jax_default_matmul_precision", "highest")


def measure(function, arguments, devices, options):
    """Returns {"run": {platform: [seconds]}, "compile": …, "memory": {platform: bytes}, "agree": bool} of one
    workload."""
    times = {"run": {name: [] for name in devices}, "compile": {name: [] for name in devices}, "memory": {}}
    ready = {}
    for repetition in range(options.compile_repetitions):
        for name, device in devices.items():
            ready[name], seconds, cost, times["memory"][name], text = compile_on(device, function, arguments, repetition)
            times["compile"][name].append(seconds)
            if name == options.platform:
                ours = cost
    results = [jitted(*placed)[0] for jitted, placed in ready.values()]
    times["agree"] = agree(*results, function, arguments, text)
    result_shapes = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), results[0])
    del results
    if not options.compile_only:
        calls = {name: calls_needed(*program) for name, program in ready.items()}
        for repetition in range(options.repetitions):
            order = list(ready) if repetition % 2 else list(ready)[::-1]
            for name in order:
                times["run"][name].append(time_calls(*ready[name], calls[name]))
        if options.peaks:
            times["peak"] = reports.share_of_peak(
                ours.get("flops", 0), text, (ready[options.platform][1], result_shapes),
                min(times["run"][options.platform]), options.peaks)
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--platform", default="isthmus")
    parser.add_argument("--beside", choices=["cpu", "isthmus"], default="cpu",
                        help="cpu: JAX's own client; both platforms must be in JAX_PLATFORMS")
    parser.add_argument("--set", choices=[*SETS, "all"], default="target",
                        help="the twelve and the demo's step; what users meet between; what they meet every day; "
                             "whole programs; loops and moves; what fills a GPU; all but that")
    parser.add_argument("--only", default="", help="a regular expression on names")
    parser.add_argument("--repetitions", type=int, default=15)
    parser.add_argument("--compile-repetitions", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="a workload that has not begun by then is left out")
    parser.add_argument("--compile-only", action="store_true")
    parser.add_argument("--peaks", action="store_true",
                        help="measure the machine's peaks, and each workload's share of them")
    parser.add_argument("--json", type=pathlib.Path, default=workloads.ROOT / "out/bench.json")
    parser.add_argument("--precision", choices=["f32", "tf32"], default="f32",
                        help="of products and convolutions of f32 by both sides, with --platform cuda")
    options = parser.parse_args()

    if options.platform == "cuda":
        set_precision(options.precision)
    options.platform, devices = chosen_devices(options.platform, options.beside)
    # Where a platform is missing JAX may give out another one of the same alias.
    assert devices[options.platform].platform != "cpu" or options.platform == "isthmus", "JAX has another platform"
    baseline = list(devices)[1]
    print(f"{'':30}{options.platform:>13}{baseline:>11}{'ratio':>7}   "
          f"{'compile':>11}{baseline:>11}{'ratio':>7}   {'memory':>6}")
    if options.peaks:
        options.peaks = reports.measured_peaks()
    found, slower = {}, {}
    chosen = {}
    for name, module in SETS.items():
        if options.set == name or options.set == "all" and module is not accelerator:
            chosen |= module.workloads()
    begin = time.monotonic()
    for name, pair in chosen.items():
        if not re.search(options.only, name):
            continue
        if time.monotonic() - begin > options.seconds:
            print(f"{name:30}left out: {options.seconds:.0f} s are over")
            continue
        function, arguments = pair() if callable(pair) else pair
        try:
            with jax.enable_x64(True) if name in X64 else contextlib.nullcontext():
                times = measure(function, arguments, devices, options)
        except Exception as error:  # one workload that fails must not hide the others
            print(f"{name:30}{type(error).__name__}: {str(error).splitlines()[0][:90]}", flush=True)
            found[name] = {"error": str(error)[:1000]}
            slower[name] = 0.0
            continue
        line = f"{name:30}"
        for kind in ("run", "compile"):
            ours, theirs = (min(t) if t else float("nan") for t in times[kind].values())
            times[f"{kind}_ratio"] = theirs / ours
            line += f"{reports.show(ours):>11}{reports.show(theirs):>11}{theirs / ours:7.2f}   "
        ours, theirs = times["memory"].values()
        times["memory_ratio"] = ours / theirs
        line += f"{ours / theirs:6.2f}"
        if not times["agree"]:
            line += " RESULTS DIFFER"
        print(line, flush=True)
        found[name] = times
        if name not in workloads.EXTRA:
            slower[name] = times["run_ratio"]

    options.json.parent.mkdir(parents=True, exist_ok=True)
    report = {"jax": jax.__version__, "threads": os.cpu_count(), "peaks": options.peaks, "platforms": list(devices),
              "precision": options.precision if baseline == "JAX CUDA" else None,
              "device": devices[options.platform].device_kind, "workloads": found}
    options.json.write_text(json.dumps(report, indent=1))
    options.json.with_suffix(".md").write_text(reports.markdown(report))
    options.json.with_suffix(".svg").write_text(reports.chart(report))
    print("\n".join(reports.summary({name: found[name] for name in slower})))
    wrong = [name for name, times in found.items() if not times.get("agree")]
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

"""StableHLO's own tests, compiled and run through JAX's client on a platform and on JAX's CPU.

    ./dev yardstick stablehlo --stablehlo ../stablehlo [--only PATTERN] [--fresh] [--kernels]
    ./dev yardstick stablehlo --stablehlo ../stablehlo --platform xpu --driver pocl --sample 5
    ./dev yardstick stablehlo --stablehlo ../stablehlo --runner "isthmus-run --backend reference"

Results go to out/yardstick/stablehlo-PLATFORM.jsonl; a stopped run goes on where it was.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shlex
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import comparison  # noqa: E402
import platforms  # noqa: E402
import stablehlo_programs  # noqa: E402
import worker_pool  # noqa: E402

ROOT = HERE.parent.parent

# Files whose expected values are not exact to the 3 ulps that they allow: XLA computes these as
# e^(x + log 1/2) ± e^(-x + log 1/2) in f32. An exact evaluator cannot pass them.
INEXACT = {"cosh_float32_20_20_chlo", "sinh_float32_20_20_chlo"}


def run_files(options):
    """Runs every file by a command; returns whether all passed that StableHLO's interpreter passes."""
    def run(path):
        split = ["--split"] if "interpret" in path.parts else []
        try:
            done = subprocess.run([*shlex.split(options.runner), "--quiet", *split, path],
                                  capture_output=True, text=True, timeout=options.seconds)
        except subprocess.TimeoutExpired:
            return path, "took too long"
        return path, None if done.returncode == 0 else done.stderr.strip() or f"{done.returncode}"

    files = [path for folder in ("stablehlo/testdata", "stablehlo/tests/interpret")
             for path in sorted((options.stablehlo / folder).rglob("*.mlir"))
             if re.search(options.only, str(path))]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(run, files))
    lost = 0
    for path, error in results:
        if error is None:
            continue
        # StableHLO's own interpreter does not pass what is disabled.
        text = path.read_text()
        why = ("disabled" if "RUN-DISABLED" in text else "wants arguments" if "--args=" in text else
               "inexact" if path.stem in INEXACT else "")
        lost += not why
        print(f"{path.name}{f' ({why})' if why else ''}: {error[:500]}")
    print(f"{sum(error is None for _, error in results)} of {len(files)} files pass, {lost} are lost")
    return 1 if lost else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stablehlo", type=pathlib.Path, default=os.environ.get("STABLEHLO_DIR"),
                        help="a checkout of openxla/stablehlo (or STABLEHLO_DIR)")
    platforms.add_options(parser)
    parser.add_argument("--only", default="", help="a regular expression on names")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "out/yardstick")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=120, help="time-out of one program")
    parser.add_argument("--fresh", action="store_true", help="forget the platform's old results")
    parser.add_argument("--kernels", action="store_true",
                        help="let neither platform fold the programs, whose inputs are constants")
    parser.add_argument("--runner", help="a command that runs a file, instead of JAX's client")
    options = parser.parse_args()
    if not options.stablehlo:
        parser.error("--stablehlo or STABLEHLO_DIR must name a checkout of openxla/stablehlo")

    if options.runner:
        return run_files(options)
    items = [item for item in stablehlo_programs.programs(options.stablehlo)
             if re.search(options.only, item["name"])]
    items = platforms.sample(items, lambda item: item["name"], options)
    if not items:
        parser.error(f"no programs in {options.stablehlo} match")
    found = {}
    # Both or neither: what is folded has other roundings than a kernel's result.
    variables = {"ISTHMUS_FOLD_BYTES": "0", "XLA_FLAGS": "--xla_disable_hlo_passes=constant_folding"
                 } if options.kernels else {}
    for platform in dict.fromkeys(["cpu", options.platform]):
        suffix = "-kernels" if options.kernels else ""
        where = platform if platform == "cpu" else platforms.label(options)
        path = options.out / f"stablehlo-{where}{suffix}.jsonl"
        if options.fresh and platform == options.platform and path.exists():
            path.unlink()
        print(f"{len(items)} programs on {platform}", flush=True)
        named = platform if platform == "cpu" else f"{platform},cpu"
        found[platform] = worker_pool.run_all(
            items, [sys.executable, str(HERE / "stablehlo_worker.py"), platform],
            {"JAX_PLATFORMS": named, **variables, **platforms.environment(options)}, path, options.jobs, options.seconds)
    lost = comparison.summarize(found[options.platform], found["cpu"])
    crashed = [name for name, result in found[options.platform].items()
               if result["status"] in ("crash", "timeout")]
    for name in crashed:
        print(f"crashed or hung: {name}")
    if not options.kernels:
        passing = sum(result["status"] == "pass" for result in found["cpu"].values())
        platforms.write_report("stablehlo", options, passing, lost, crashed)
    return 1 if lost or crashed else 0


if __name__ == "__main__":
    sys.exit(main())

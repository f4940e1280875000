"""Prints what `python -m isthmus explain` finds of workloads: each kernel's time and share of the device's peak.

    python bench/kernels.py [--platform cuda] [--set accelerator] [--only PATTERN] [--rows N] [--seconds N] [--choices]

Needs the platform's plugin (ISTHMUS_CUDA_PLUGIN_PATH) and JAX, which only traces here.
"""

import argparse
import contextlib
import os
import re
import sys
import time

os.environ["JAX_PLATFORMS"] = "cpu"

import compare  # noqa: E402
import jax  # noqa: E402
import numpy as np  # noqa: E402

from isthmus import explain  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--platform", default="isthmus")
    parser.add_argument("--set", choices=compare.SETS, default="target")
    parser.add_argument("--only", default="", help="a regular expression on names")
    parser.add_argument("--rows", type=int, default=6, help="of the slowest kernels of each workload")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="a workload that has not begun by then is left out")
    parser.add_argument("--choices", action="store_true", help="print what the compiler chose, too")
    options = parser.parse_args()
    begin, failed = time.monotonic(), 0
    for name, pair in compare.SETS[options.set].workloads().items():
        if not re.search(options.only, name) or time.monotonic() - begin > options.seconds:
            continue
        function, arguments = pair() if callable(pair) else pair
        try:
            with jax.enable_x64(True) if name in compare.X64 else contextlib.nullcontext():
                # An argument that nobody reads stays one.
                model = jax.jit(function, keep_unused=True).lower(*arguments).as_text()
            arrays = [np.asarray(x) for x in jax.tree.leaves(arguments)]
            report = explain.explain(model, arrays, runs=5, platform=options.platform)
        except Exception as error:  # one workload that fails must not hide the others
            print(f"{name}: {type(error).__name__}: {str(error).splitlines()[0][:200]}", flush=True)
            failed = 1
            continue
        report.name = name
        report.rows = sorted(report.rows, key=lambda row: -row["seconds"])[:options.rows]
        if not options.choices:
            report.choices = []
        print(report.text(), "\n", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())

"""The platforms and drivers that a yardstick runs on, and the report that ./dev truth reads."""

import json
import os
import pathlib
import sys

import pytest_options

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "python/tests"))

import opencl_drivers  # noqa: E402

# Platform cuda without a GPU: the driver that interprets PTX (ADR 45), and none of NVIDIA's libraries, whose streams it has not.
FAKE_GPU = {"ISTHMUS_CUDA_LIBRARY": str(ROOT / "build/release/backends/cuda/libisthmus_fake_cuda.so"), "ISTHMUS_CUDA_BLAS": "",
            "ISTHMUS_CUDA_DNN": "", "ISTHMUS_YARDSTICK_FAKE_GPU": "1"}


def add_options(parser):
    """Those of every yardstick that runs on a platform."""
    parser.add_argument("--platform", default="isthmus", help="the platform to look at")
    parser.add_argument("--driver", choices=[*opencl_drivers.DRIVERS, "fake"],
                        help="whose devices platform xpu has; fake: platform cuda without a GPU, whose PTX is interpreted")
    parser.add_argument("--sample", type=int, default=1, help="every Nth test only, of each file")
    parser.add_argument("--seed", type=int, default=0, help="another sample for every number")


def label(options):
    """Names the platform and its driver in files."""
    return f"{options.platform}-{options.driver}" if options.driver else options.platform


def environment(options):
    """The variables of a process on the platform; raises if the driver is not installed."""
    if not options.driver:
        return {}
    if options.driver == "fake":
        return FAKE_GPU
    variables, is_installed = opencl_drivers.DRIVERS[options.driver]
    if not is_installed:
        raise SystemExit(f"no OpenCL driver of {options.driver} is installed")
    # Both drivers are for CPUs: tests of JAX that skip what they do not know would do so in `setUp`, and fail where
    # that has changed something of JAX's before, which only `tearDown` undoes.
    return {"ISTHMUS_XPU_LIBRARY_PATH": str(opencl_drivers.LIBRARY), "ISTHMUS_YARDSTICK_DEVICE": "cpu", **variables}


def sample(items, name, options):
    """The items that --sample and --seed ask for, which depends on their names alone."""
    kept = pytest_options.sample([name(item) for item in items], options.sample, options.seed)
    return [item for item in items if name(item) in kept]


def write_report(yardstick, options, passing_there, lost, crashed):
    """How many of the tests that pass on the reference pass here too, by name those that do not. A run of some
    files or tests only leaves no report."""
    if getattr(options, "only", "") or getattr(options, "tests", ""):
        return
    path = ROOT / "out/results" / f"yardstick-{yardstick}-{label(options)}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({
        "yardstick": yardstick, "platform": options.platform, "driver": options.driver or "",
        "sample": options.sample, "seed": options.seed, "reference": passing_there, "lost": sorted(lost),
        "crashed": sorted(crashed)}, indent=1) + "\n")
    print(f"report: {os.path.relpath(path)}")

"""The tests from the user's side on simulated devices: asynchronous, with memory of their own, which do what
nothing orders in any order. With ISTHMUS_TEST_SIMULATED=all (./dev test --set simulated), those that take long, too."""

import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "build/release"
EVERYDAY = ["arrays", "custom_partitioning", "epilogues", "errors", "float_mode", "hostile_programs", "kernels", "layouts",
            "memories", "programs", "smoke", "tuples"]
# Of other platforms, of tools, or of processes that choose their plugin themselves.
ELSEWHERE = ["bench_report", "client", "compile_time", "cuda", "cuda_kernels", "device_programs", "further_platforms", "hostile_calls",
             "processes", "processes_faults", "processes_joining", "processes_training", "registration", "saved_model",
             "sharded_programs", "simulated", "version_skew", "wheel", "xpu", "xpu_attention", "xpu_conversions", "xpu_kernels",
             "xpu_products"]
LONG = sorted({path.name.removesuffix("_test.py") for path in HERE.glob("*_test.py")} - {*EVERYDAY, *ELSEWHERE})
# What cannot hold here, and why.
EXCEPT = {
    "dlpack": "exchanges in place are of the host's memory",
    "views_share_memory": "a view is of the host's memory",
    "raising_ordered_callback": "JAX keeps the token of a launch that failed after it had been handed over",
    "result_of_a_wrong_shape": "the same",
    "buffer_callback_writes_in_place": "the same",
}
ALL_PROGRAMS = "programs = list(device_programs.PROGRAMS)"
SOME_PROGRAMS = "programs = list(device_programs.PROGRAMS)[::5]"
TAKES_ALL = os.environ.get("ISTHMUS_TEST_SIMULATED") == "all"


def built(name):
    library = BUILD / f"pjrt/libisthmus_{name}.so"
    if not library.is_file():
        assert not os.environ.get("ISTHMUS_REQUIRE_PLUGIN"), f"{library} is not built"
        pytest.skip(f"{library.name} is not built: ./dev build isthmus_{name}_plugin")
    return library


@pytest.mark.parametrize("name", EVERYDAY + (LONG if TAKES_ALL else []))
def test_on_simulated_devices(name):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider",
         "-k", " and ".join(f"not {one}" for one in EXCEPT), HERE / f"{name}_test.py"],
        capture_output=True, text=True, timeout=900,
        env=os.environ | {"ISTHMUS_LIBRARY_PATH": str(built("simulated"))})
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]


def test_programs_by_kernels_of_groups(python):
    """A vendor's device in full, by include/isthmus alone: programs that users write, beside JAX's CPU client."""
    python(f"""
        import sys; sys.path.insert(0, {str(HERE)!r})
        import device_programs, jax
        assert jax.default_backend() == "simulated_kernels"
        {ALL_PROGRAMS if TAKES_ALL else SOME_PROGRAMS}
        for name in programs:
            device_programs.main(name)
    """, JAX_PLATFORMS="simulated_kernels,cpu",
           PJRT_NAMES_AND_LIBRARY_PATHS=f"simulated_kernels:{built('simulated_kernels')}", timeout=900)

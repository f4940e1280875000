"""What a user tries first on a platform: the smoke tests, twenty programs of users' kinds, and the demo.

    ./dev yardstick device --platform xpu --driver intel|pocl

The tests are those of python/tests, each program in a process of its own and compared with JAX's CPU client.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from xml.etree import ElementTree

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import platforms  # noqa: E402

ROOT = HERE.parent.parent
# Of each part: the file, and what its tests are named.
PARTS = {
    "smoke": ("xpu_test.py", r"test_(prints_arange|adds|jits|pmaps)\["),
    "programs": ("device_programs_test.py", r"test_agrees_with_cpu\["),
}


def run_tests(file, wanted, driver):
    """{test: whether it passed} of those that match `wanted` and are of the driver."""
    names = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider", ROOT / "python/tests" / file],
        capture_output=True, text=True, cwd=ROOT).stdout.split("\n")
    chosen = [name for name in names if re.search(wanted, name) and re.search(rf"\b{driver}\b", name.split("::")[-1])]
    if not chosen:
        raise SystemExit(f"{file} has no tests {wanted} of {driver}")
    with tempfile.NamedTemporaryFile(suffix=".xml") as xml:
        subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={xml.name}", *chosen],
                       cwd=ROOT)
        cases = list(ElementTree.parse(xml.name).getroot().iter("testcase"))
    passed = {case.get("name"): len(case) == 0 for case in cases}
    return {name.split("::")[-1]: passed.get(name.split("::")[-1], False) for name in chosen}


def run_demo(options):
    """Whether the demo's training reaches its accuracy, along the losses of JAX's CPU client."""
    done = subprocess.run(
        [sys.executable, "examples/digits/compare.py", "--platform", options.platform, "--out",
         f"out/digits-{platforms.label(options)}.png"], cwd=ROOT, env={**os.environ, **platforms.environment(options)})
    if done.returncode:
        print(f"the demo ended with {done.returncode}")
    return {"examples/digits": done.returncode == 0}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    platforms.add_options(parser)
    parser.add_argument("--part", choices=[*PARTS, "demo"], help="this one only")
    options = parser.parse_args()
    if options.platform != "xpu" or not options.driver:
        parser.error("--platform xpu and a --driver are what there are such tests of")
    failed = 0
    for part in [*PARTS, "demo"]:
        if options.part not in (None, part):
            continue
        results = run_tests(*PARTS[part], options.driver) if part in PARTS else run_demo(options)
        lost = [name for name, is_passed in results.items() if not is_passed]
        print(f"{part}: {len(results) - len(lost)} of {len(results)} pass", *lost)
        platforms.write_report(part, options, len(results), lost, [])
        failed += len(lost)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

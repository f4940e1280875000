"""StableHLO's tests of its verifier and of portable artifacts, read by our tools.

    ./dev yardstick verifier --stablehlo ../stablehlo [--tools build/release/tools]

Each part of a test that expects an error must be refused, each other one accepted and, printed (pretty
and generic), read again. Each portable artifact of tests/vhlo must import. Needs the targets
isthmus-opt and isthmus-run. Messages are ours: only that there is one is compared.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = ["ops_stablehlo*.mlir", "verify_*.mlir", "print_*.mlir", "ops_sparse.mlir",
         "replica_groups_mesh_axes.mlir"]
# What StableHLO's verifier accepts and its specification does not, so that no compiler takes it.
BEYOND_THE_SPECIFICATION = {"reduce_i2": "initial values are scalars",
                            "reduce_window_i2": "initial values are scalars"}
# The short form of a loop, which StableHLO defines, has no place for types of its own in the body.
PRINTED_WITH_OTHER_TYPES = "use of value '%iterArg' expects different type"
# Files that need dialects which no framework sends.
OTHER_DIALECTS = r"\b(?:tensor|arith|shape)\.\w+"


def parts(path):
    """The parts of a test file: (line, text)."""
    line = 1
    for text in re.split(r"^// -----.*$", path.read_text(), flags=re.MULTILINE):
        if re.sub(r"//.*", "", text).strip():
            yield line, text
        line += text.count("\n")


def read(tool, text, *options):
    return subprocess.run([tool, "--allow-unregistered-dialect", *options, "-"], input=text,
                          capture_output=True, text=True, timeout=60)


def check_part(tool, text):
    """Returns what is wrong with how a part is read, or None."""
    is_invalid = "expected-error" in re.sub(r".*RUN:.*", "", text)
    done = read(tool, text)
    if done.returncode not in (0, 1):
        return f"crashed: {done.stderr.strip()[-300:]}"
    first = done.stderr.strip().splitlines()[:1]
    if is_invalid:
        return None if done.returncode == 1 and first else "accepted, and is not valid"
    if done.returncode == 1:
        if any(f" {rule}:" in first[0] for rule in BEYOND_THE_SPECIFICATION):
            return None
        return f"refused: {first[0]}"
    for options in ([], ["--mlir-print-op-generic"]):
        printed = read(tool, text, *options).stdout
        again = read(tool, printed)
        if PRINTED_WITH_OTHER_TYPES in again.stderr and not options:
            continue
        if again.returncode != 0:
            return f"does not read what it printed {options}: {again.stderr.strip()[:300]}"
        if again.stdout != done.stdout:
            return f"reads something else than it printed {options}"
    return None


def check_artifact(tool, path):
    """Returns what is wrong with how a portable artifact is imported, or None."""
    # No function of this name is there, which is said after the import.
    done = subprocess.run([tool, path, "--function", "none.of.them"], capture_output=True,
                          text=True, timeout=60)
    imported = "there is no such function" in done.stderr
    is_invalid = path.name.startswith("invalid")
    if done.returncode == 1 and imported != is_invalid:
        return None
    return f"imported: {imported}: {done.stderr.strip()[:300]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stablehlo", type=pathlib.Path, default=os.environ.get("STABLEHLO_DIR"),
                        help="a checkout of openxla/stablehlo (or STABLEHLO_DIR)")
    parser.add_argument("--tools", type=pathlib.Path, default=ROOT / "build/release/tools")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    if not options.stablehlo:
        parser.error("--stablehlo or STABLEHLO_DIR must name a checkout of openxla/stablehlo")
    tests = options.stablehlo / "stablehlo/tests"
    checks = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for pattern in FILES:
            for path in sorted(tests.glob(pattern)):
                for line, text in parts(path):
                    if not re.search(OTHER_DIALECTS, text):
                        checks.append((f"{path.name}:{line}", pool.submit(
                            check_part, options.tools / "isthmus-opt", text)))
        for path in sorted((tests / "vhlo").glob("*.bc")):
            checks.append((path.name, pool.submit(
                check_artifact, options.tools / "isthmus-run", path)))
        wrong = [(name, check.result()) for name, check in checks if check.result()]
    for name, what in wrong:
        print(f"{name}: {what}")
    print(f"{len(checks)} programs, {len(wrong)} of them are wrong")
    return 1 if wrong or not checks else 0


if __name__ == "__main__":
    sys.exit(main())

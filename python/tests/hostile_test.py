"""Bytes that are cut, flipped or random give an error each time, and nothing worse.

A quick version of test/yardstick/fuzz_bytes.py, in a process of its own so that a crash is seen.
"""

import pathlib
import subprocess
import sys

FUZZER = pathlib.Path(__file__).resolve().parents[2] / "test/yardstick/fuzz_bytes.py"


def test_hostile_bytes(library):
    result = subprocess.run(
        [sys.executable, FUZZER, "--library", library, "--count", "200"],
        capture_output=True, text=True, timeout=600)
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-3000:]

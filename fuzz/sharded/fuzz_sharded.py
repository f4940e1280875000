"""Random sharded programs: eight devices of a platform, one, and JAX's CPU client give the same bits.

    ./dev fuzz sharded [--platform NAME] [--seconds N] [--seed N] [--first N] [--count N]

Of a program on which they do not, the shortest beginning that still fails is named. Exit status 1 if
there was one. `python fuzz_sharded.py --show SEED NUMBER LENGTH` prints a program.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent


def differences(expected, results):
    import numpy as np
    for i, (one, other) in enumerate(zip(expected, results)):
        if one.shape != other.shape or one.dtype != other.dtype:
            return f"result {i} is {other.dtype}{other.shape}, not {one.dtype}{one.shape}"
        # What is outside an array may be filled with no number.
        differs = (one != other) & ~((one != one) & (other != other))
        if differs.any():
            place = tuple(map(int, np.argwhere(differs)[0]))
            return (f"result {i} of shape {one.shape} differs at {int(differs.sum())} places, first at "
                    f"{place}: {one[place]} became {other[place]}")
    return None


def judge(platform, seed, number, length=None):
    """What is wrong with a program, or None; and the names of its operations."""
    import jax
    import maker
    program = maker.Program(seed, number, length)
    expected = program.run(jax.devices("cpu")[:1])
    ours = jax.devices(platform)
    for devices in (ours[:1], ours):
        try:
            wrong = differences(expected, program.run(devices))
        except Exception as error:  # whatever a program makes us raise is a failure of ours
            wrong = str(error).splitlines()[0][:400]
        if wrong:
            return f"{len(devices)} devices: {wrong}", program
    return None, program


def work(options):
    """In a process of its own, which may die: a line of JSON for each program."""
    number, end = options.first, time.time() + options.seconds
    while time.time() < end and (not options.count or number < options.first + options.count):
        print(json.dumps({"begins": number}), flush=True)
        wrong, program = judge(options.platform, options.seed, number)
        row = {"number": number, "wrong": wrong}
        if wrong:
            for length in range(1, program.length + 1):
                shorter, small = judge(options.platform, options.seed, number, length)
                if shorter:
                    row |= {"wrong": shorter, "length": length, "names": small.names}
                    break
        print(json.dumps(row), flush=True)
        number += 1


def supervise(options):
    end, first, failures, count = time.time() + options.seconds, options.first, 0, 0
    environment = os.environ | {"JAX_PLATFORMS": f"{options.platform},cpu", "ISTHMUS_NUM_DEVICES": "8"}
    while time.time() < end and (not options.count or first < options.first + options.count):
        left = ["--count", str(options.first + options.count - first)] if options.count else []
        command = [sys.executable, __file__, "--work", "--platform", options.platform, "--seed", str(options.seed),
                   "--first", str(first), "--seconds", str(end - time.time()), *left]
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        last = None
        for line in process.stdout:
            row = json.loads(line)
            last = row.get("begins", last)
            if "number" not in row:
                continue
            count, first = count + 1, row["number"] + 1
            if row["wrong"]:
                failures += 1
                print(f"{options.seed} {row['number']} {row.get('length', 'whole')}: "
                      f"{' '.join(row.get('names', []))}: {row['wrong']}", flush=True)
        if process.wait() == 0:
            break
        failures, count, first = failures + 1, count + 1, (first if last is None else last) + 1
        print(f"{options.seed} {last}: the process died with status {process.returncode}", flush=True)
    print(f"{count} sharded programs of seed {options.seed}, {failures} failures")
    return 1 if failures else 0


def show(seed, number, length):
    import jax
    import maker
    program = maker.Program(seed, number, length)
    traced, _ = program.traced(jax.devices())
    print(program.axes, program.specs)
    print(traced.lower().as_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--platform", default="isthmus", help="or xpu, or any other plugin's")
    parser.add_argument("--seconds", type=float, default=60, help="how long")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the first program")
    parser.add_argument("--count", type=int, default=0, help="how many programs; 0: until the time is up")
    parser.add_argument("--show", nargs=3, type=int, metavar=("SEED", "NUMBER", "LENGTH"))
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.show:
        return show(*options.show)
    return work(options) if options.work else supervise(options)


if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    sys.exit(main())

"""JAX on Isthmus beside PyTorch, eager and compiled, on the same number of threads.

    ./dev bench --set torch [--only PATTERN] [--repetitions N] [--threads N] [--json FILE]

Each time is the best of repetitions that alternate between the three processes. Results must agree; a training
step's is the loss of its second step.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import arrays
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
SIDES = {"isthmus": "jax", "eager": "eager", "compiled": "compiled"}
# Relative to the largest value; bf16 is rounded at other places.
TOLERANCE = {"f32": 2e-3, "bf16": 3e-2}
SHORTEST = 0.05  # seconds of a repetition
REST = 0.3  # seconds in which the threads of the process before stop waiting busily


class Side:
    def __init__(self, name, threads):
        self.name = name
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "TOKENIZERS_PARALLELISM": "false"}
        environment.setdefault("JAX_PLATFORMS", "isthmus")
        self._process = subprocess.Popen([sys.executable, str(HERE / "worker.py"), SIDES[name], str(threads)],
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)

    def ask(self, command):
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"{self.name} ended with status {self._process.wait()}")
        return json.loads(answer)

    def stop(self):
        self._process.stdin.close()
        self._process.wait()


def largest_difference(ours, theirs):
    """Relative to the largest value, of lists of arrays."""
    return max(float(np.abs(a - b).max()) / max(float(np.abs(b).max()), 1e-6)
               for a, b in zip(ours, theirs, strict=True))


def measure(name, type_, sides, repetitions):
    times, results, runs = {side.name: [] for side in sides}, {}, {}
    first = {}
    with tempfile.TemporaryDirectory() as folder:
        for side in sides:
            path = f"{folder}/{side.name}.npz"
            first[side.name] = side.ask({"prepare": [name, type_], "results": path})
            with np.load(path) as stored:
                results[side.name] = [stored[key] for key in stored.files]
            runs[side.name] = max(1, int(SHORTEST / max(side.ask({"time": 1})[0], 1e-6)))
    for _ in range(repetitions):
        for side in sides:
            time.sleep(REST)
            times[side.name] += side.ask({"time": runs[side.name]})
    difference = max(largest_difference(results["isthmus"], results[other]) for other in ("eager", "compiled"))
    return {"first": first, "run": {side: min(seconds) for side, seconds in times.items()},
            "difference": difference, "agree": difference <= TOLERANCE[type_]}


def markdown(report):
    lines = ["# Beside PyTorch", "",
             f"JAX {report['jax']} on Isthmus beside PyTorch {report['torch']}, eager and by `torch.compile`, {report['threads']} "
             "threads each; milliseconds, best of alternating repetitions; a ratio above 1 means that Isthmus is faster. "
             "`first` is a step with all that is compiled.", "",
             "| workload | type | Isthmus | eager | ratio | compiled | ratio | first: Isthmus | eager | compiled |",
             "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for row in report["workloads"]:
        ours, eager, compiled = (row["run"][side] * 1e3 for side in SIDES)
        mark = "" if row["agree"] else " **results differ**"
        cells = [f"{ours:.2f}", f"{eager:.2f}", f"{eager / ours:.2f}", f"{compiled:.2f}", f"{compiled / ours:.2f}",
                 *(f"{row['first'][side]:.1f} s" for side in SIDES)]
        lines.append(f"| {row['name']}{mark} | {row['type']} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def versions():
    import importlib.metadata
    return {name: importlib.metadata.version(name) for name in ("jax", "torch")}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="a regular expression on names with their type")
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--json", type=pathlib.Path, default=HERE.parent.parent / "out/bench-torch.json")
    options = parser.parse_args()
    wanted = [(name, type_) for name in arrays.OPERATIONS + arrays.MODELS for type_ in ("f32", "bf16")
              if re.search(options.only, f"{name} {type_}") and not (name == "sort 1M" and type_ == "bf16")]
    if not wanted:
        parser.error(f"nothing matches {options.only}")
    sides = [Side(name, options.threads) for name in SIDES]
    report = {**versions(), "threads": options.threads, "workloads": []}
    for name, type_ in wanted:
        row = {"name": name, "type": type_} | measure(name, type_, sides, options.repetitions)
        report["workloads"].append(row)
        shown = "  ".join(f"{side} {seconds * 1e3:9.2f} ms" for side, seconds in row["run"].items())
        print(f"{name:22} {type_:5} {shown}  {'' if row['agree'] else 'RESULTS DIFFER '}"
              f"({row['difference']:.1e})", flush=True)
    for side in sides:
        side.stop()
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(report, indent=1))
    options.json.with_suffix(".md").write_text(markdown(report))
    return 0 if all(row["agree"] for row in report["workloads"]) else 1


if __name__ == "__main__":
    sys.exit(main())

"""Runs a program: by the reference evaluator (isthmus-run), and through JAX's client on a platform."""

import pathlib
import subprocess
import sys
import tempfile

import numpy as np

from program import DTYPES

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "test/yardstick"))
import worker_pool  # noqa: E402

LEVELS = (0, 1, 2)


def run_reference(program, tool, seconds=60):
    """The results as arrays, or a text that says why there are none."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        # Command lines are too short for the inputs.
        (folder / "program.mlir").write_text(program.text(hold_inputs=True))
        try:
            done = subprocess.run(
                [tool, "--backend=reference", "--quiet", f"--output={folder}",
                 folder / "program.mlir"],
                capture_output=True, text=True, timeout=seconds)
        except subprocess.TimeoutExpired:
            return "takes too long"
        if done.returncode != 0:
            return (f"died of signal {-done.returncode}: " if done.returncode < 0 else "") + \
                done.stderr.strip().replace(str(folder), "")[:2000]
        results = []
        for i, value in enumerate(program.results):
            data = np.frombuffer((folder / f"{i}.bin").read_bytes(), DTYPES[value.type.element])
            results.append(data.reshape(value.type.shape))
        return results


class Clients:
    """JAX's client on both platforms, in a process that may die."""

    def __init__(self, environment):
        self._worker = worker_pool.Worker([sys.executable, str(HERE / "worker.py")], environment)
        self._folder = tempfile.TemporaryDirectory()

    def run(self, program, platforms, seconds=120):
        """For each of [platform, level]: its results, or a text."""
        folder = pathlib.Path(self._folder.name)
        inputs = {f"i{i}": np.frombuffer(np.ascontiguousarray(v.data).tobytes(), np.uint8)
                  for i, v in enumerate(program.inputs)}
        np.savez(folder / "inputs.npz", **inputs)
        answer = self._worker.run({
            "text": program.text(), "folder": str(folder), "platforms": platforms,
            "inputs": [[v.type.element, v.type.shape] for v in program.inputs]}, seconds)
        if "errors" not in answer and len(platforms) > 1:
            # It may have been the first platform's.
            return [self.run(program, [platform], seconds)[0] for platform in platforms]
        if "errors" not in answer:
            return [f"{answer['status']}: {answer['message']}"] * len(platforms)
        found = []
        for k, error in enumerate(answer["errors"]):
            if error:
                found.append(error)
                continue
            with np.load(folder / f"results{k}.npz") as arrays:
                found.append([
                    np.frombuffer(arrays[f"r{i}"].tobytes(), DTYPES[v.type.element])
                    .reshape(v.type.shape) for i, v in enumerate(program.results)])
        return found

    def stop(self):
        self._worker.stop()



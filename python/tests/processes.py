"""Programs of several processes: starts them, waits for all, and shows what each said."""

import dataclasses
import os
import signal
import socket
import subprocess
import sys
import textwrap
import time

# A process that waits longer than this for its peers has lost them, however slow the machine is.
PATIENCE_SECONDS = 240

# What every program begins with: `rank` and `count`, and JAX connected to the others.
CONNECT = """
import sys, jax, jax.numpy as jnp, numpy as np
rank, count, port = map(int, sys.argv[1:4])
jax.distributed.initialize(f"{sys.argv[4]}:{port}", count, rank, initialization_timeout=200)
"""


@dataclasses.dataclass
class Result:
    """What one process left."""
    returncode: int
    stdout: str
    stderr: str


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]


class Job:
    """Processes that run one program, or one each: `programs` has one entry per process."""

    def __init__(self, folder, programs, connect=CONNECT, host="localhost", prefixes=None, **variables):
        """`prefixes` of the command of each process; `host` is the name of the first one's machine."""
        environment = {name: value for name, value in os.environ.items()
                       if name not in ("JAX_PLATFORMS", "ISTHMUS_NUM_DEVICES", "XLA_FLAGS")}
        environment |= {name: str(value) for name, value in variables.items()}
        self.port = free_port()
        self.processes = []
        self._files = []
        for rank, program in enumerate(programs):
            script = folder / f"process{rank}.py"
            script.write_text(connect + textwrap.dedent(program))
            out, err = (open(folder / f"process{rank}.{name}", "w+") for name in ("out", "err"))
            self._files.append((out, err))
            prefix = prefixes[rank] if prefixes else []
            self.processes.append(subprocess.Popen(
                [*prefix, sys.executable, str(script), str(rank), str(len(programs)), str(self.port), host],
                cwd=folder, env=environment, stdout=out, stderr=err))

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait()
        for files in self._files:
            for file in files:
                file.close()

    def text(self, rank, stream=0) -> str:
        """What a process has written so far."""
        file = self._files[rank][stream]
        file.flush()
        file.seek(0)
        return file.read()

    def wait_for_text(self, rank, text, timeout=PATIENCE_SECONDS):
        """Returns when a process has written `text`."""
        deadline = time.monotonic() + timeout
        while text not in self.text(rank):
            assert self.processes[rank].poll() is None, self.report()
            assert time.monotonic() < deadline, self.report()
            time.sleep(0.05)

    def finish(self, ranks=None, timeout=PATIENCE_SECONDS) -> list[Result]:
        """Waits until these processes (default: all) have ended."""
        deadline = time.monotonic() + timeout
        ranks = range(len(self.processes)) if ranks is None else ranks
        for rank in ranks:
            try:
                self.processes[rank].wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                raise AssertionError(f"process {rank} does not end\n{self.report()}") from None
        return [Result(self.processes[rank].returncode, self.text(rank), self.text(rank, 1))
                for rank in ranks]

    def report(self) -> str:
        """Everything that all processes have written."""
        return "\n".join(
            f"--- process {rank}, exit code {process.poll()}\n{self.text(rank)}{self.text(rank, 1)}"
            for rank, process in enumerate(self.processes))


def run(folder, count, program, **variables) -> list[Result]:
    """Runs one program in `count` processes, all of which must succeed."""
    with Job(folder, [program] * count, **variables) as job:
        results = job.finish()
        assert all(result.returncode == 0 for result in results), job.report()
        return results

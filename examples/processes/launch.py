"""Starts the processes of train.py on this machine, and waits for them."""

import argparse
import os
import pathlib
import socket
import subprocess
import sys


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--devices", type=int, default=2, help="of each process")
    parser.add_argument("--steps", type=int, default=20)
    options = parser.parse_args()
    with socket.socket() as probe:
        probe.bind(("", 0))
        port = probe.getsockname()[1]
    environment = {"JAX_PLATFORMS": "isthmus"} | os.environ | {"JAX_NUM_CPU_DEVICES": str(options.devices)}
    processes = [
        subprocess.Popen(
            [sys.executable, pathlib.Path(__file__).with_name("train.py"),
             "--coordinator", f"localhost:{port}", "--processes", str(options.processes),
             "--index", str(index), "--steps", str(options.steps)], env=environment)
        for index in range(options.processes)]
    sys.exit(max(process.wait() for process in processes))


if __name__ == "__main__":
    main()

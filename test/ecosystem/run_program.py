"""Runs a program of the folder `programs` and prints its results as JSON: run_program.py PROGRAM."""

import json
import pathlib
import sys
import time


def main():
    path = pathlib.Path(__file__).parent / "programs" / f"{sys.argv[1]}.py"
    begin = time.monotonic()
    names = {"__name__": "__main__"}
    exec(compile(path.read_text(), str(path), "exec"), names)
    import jax
    print(json.dumps({
        "results": [float(x) for x in names["RESULTS"]],
        "device": str(jax.devices()[0]),
        "seconds": round(time.monotonic() - begin, 1),
    }))


if __name__ == "__main__":
    main()

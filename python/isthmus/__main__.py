"""python -m isthmus COMMAND: where things are, and programs from the command line.

    python -m isthmus library|include|cmake
    python -m isthmus info [PLUGIN.so ...]
    python -m isthmus run MODEL --input x.npy --input y.npy --output result.npy
"""

import argparse
import pathlib
import sys
import time

import isthmus


def run(options) -> int:
    import numpy as np

    from isthmus import client

    program = client.compile(options.model)
    arrays = [np.load(path) for path in options.input]
    results = program(*arrays)
    results = results if isinstance(results, tuple) else (results,)
    for result in results:
        result.block_until_ready()
    if options.repeat:
        begin = time.perf_counter()
        for _ in range(options.repeat):
            last = program(*arrays)
            for result in last if isinstance(last, tuple) else (last,):
                result.block_until_ready()
        print(f"{(time.perf_counter() - begin) / options.repeat * 1e6:.1f} us a run", file=sys.stderr)
    if options.output:
        if len(options.output) != len(results):
            raise SystemExit(f"isthmus run: {len(results)} results, {len(options.output)} --output")
        for path, result in zip(options.output, results):
            np.save(path, np.asarray(result))
    else:
        for result in results:
            print(np.asarray(result))
    return 0


def main(arguments=None) -> int:
    parser = argparse.ArgumentParser(prog="python -m isthmus")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("library", help="the plugin's path")
    commands.add_parser("include", help="the folder of headers for C and C++")
    commands.add_parser("cmake", help="the folder for -Disthmus_DIR")
    information = commands.add_parser(
        "info", help="platforms, devices, drivers, and what each can do")
    information.add_argument("plugin", nargs="*", type=pathlib.Path, help="default: all there are")
    information.add_argument("--brief", action="store_true", help="without trying programs")
    runner = commands.add_parser("run", help="runs a program on arrays from files")
    runner.add_argument("model", type=pathlib.Path,
                        help="StableHLO, or what jax.export, torch_xla.stablehlo or jax2tf saved")
    runner.add_argument("--input", action="append", default=[], metavar="FILE.npy")
    runner.add_argument("--output", action="append", default=[], metavar="FILE.npy")
    runner.add_argument("--repeat", type=int, default=0, help="also measures so many runs")
    options = parser.parse_args(arguments)
    if options.command == "run":
        try:
            return run(options)
        except (OSError, ValueError, TypeError, RuntimeError) as error:
            print(f"isthmus run: {error}", file=sys.stderr)
            return 1
    if options.command == "info":
        from isthmus import info

        return info.main(options.plugin, not options.brief)
    package = pathlib.Path(isthmus.__file__).parent
    print(isthmus.library_path() if options.command == "library" else package / options.command)
    return 0


def run_command() -> int:
    """The command `isthmus-run`."""
    return main(["run", *sys.argv[1:]])


def info_command() -> int:
    """The command `isthmus-info`."""
    return main(["info", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())

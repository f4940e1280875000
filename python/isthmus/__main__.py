"""python -m isthmus COMMAND: where things are, and programs from the command line.

    python -m isthmus library|include|cmake
    python -m isthmus info [PLUGIN.so ...]
    python -m isthmus run MODEL --input x.npy --input y.npy --output result.npy
    python -m isthmus convert SAVED_MODEL -o FOLDER
    python -m isthmus compile MODEL -o model.o --header model.h
    python -m isthmus explain MODEL --html page.html
    python -m isthmus replay REPRODUCER
"""

import argparse
import base64
import os
import pathlib
import re
import sys
import time

import isthmus


def run(options) -> int:
    import numpy as np

    from isthmus import client

    arrays = [np.load(path) for path in options.input]
    program = client.compile(options.model, signature=options.signature, shapes=[a.shape for a in arrays])
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


def compile_model(options) -> int:
    from isthmus import client, object_file

    name = options.name or re.sub(r"\W", "_", options.output.stem)
    if not name.isidentifier():
        raise ValueError(f"--name {name} is no name of a function in C")
    library = pathlib.Path(isthmus.library_path()).parent / "libisthmus_model.so"
    shapes = [[int(size) for size in given.split(",") if size] for given in options.shape]
    executable = client.compile(options.model, signature=options.signature, shapes=shapes or None)
    model = object_file.Model(executable, name, library)
    options.output.write_bytes(model.object_file())
    header = options.header or options.output.with_suffix(".h")
    header.write_text(model.header())
    print(f"{options.output} and {header}: {model.signature()}")
    return 0


def convert_model(options) -> int:
    from isthmus import convert

    shapes = {}
    for given in options.shape:
        name, _, sizes = given.rpartition("=")
        shapes[name] = [int(size) for size in sizes.split(",") if size]
    program = convert.convert(options.model, options.output, signature=options.signature, shapes=shapes)
    print(f"{options.output}: takes {', '.join(program.names) or 'nothing'}")
    return 0


def explain_model(options) -> int:
    import numpy as np

    from isthmus import explain

    report = explain.explain(options.model, [np.load(path) for path in options.input], options.repeat,
                             options.platform, options.measure)
    if options.html:
        options.html.write_text(report.page())
    print(report.text())
    return 0


def replay(options) -> int:
    """Compiles the program of a reproducer, as compiler/driver/reproducer.h writes it, once more."""
    text, asked = options.file.read_bytes(), None
    lines = text.decode(errors="replace").splitlines() if text.startswith(b"// Isthmus reproducer") else []
    for line in lines:
        if not line.startswith("//"):
            break
        name, _, value = line[3:].partition("=")
        if line.startswith("// CompileOptionsProto: "):
            asked = base64.b64decode(line.partition(": ")[2]) or None
        elif re.fullmatch("ISTHMUS_[A-Z_]+", name):
            os.environ[name] = value  # before the library reads them

    from isthmus import explain

    explain.client_of(options.platform).compile(text, options=asked)
    print(f"isthmus replay: {options.file} compiles on platform {options.platform}")
    return 0


def _main(arguments=None) -> int:
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
                        help="StableHLO, or what jax.export, torch_xla.stablehlo, jax2tf or convert saved")
    runner.add_argument("--signature", help="of a SavedModel; default: serving_default, or its only one")
    runner.add_argument("--input", action="append", default=[], metavar="FILE.npy")
    runner.add_argument("--output", action="append", default=[], metavar="FILE.npy")
    runner.add_argument("--repeat", type=int, default=0, help="also measures so many runs")
    compiler = commands.add_parser(
        "compile", help="writes an object file and a header, for programs without a compiler")
    compiler.add_argument("model", type=pathlib.Path, help="as for run")
    compiler.add_argument("--signature", help="as for run")
    compiler.add_argument("--shape", action="append", default=[], metavar="8,32",
                          help="of each argument in turn, if the program leaves sizes open")
    compiler.add_argument("-o", "--output", type=pathlib.Path, required=True, metavar="FILE.o")
    compiler.add_argument("--header", type=pathlib.Path, metavar="FILE.h",
                          help="default: beside the object file")
    compiler.add_argument("--name", help="of the function's prefix; default: the object file's")
    converter = commands.add_parser(
        "convert", help="makes a program of a SavedModel of TensorFlow's operations; needs TensorFlow")
    converter.add_argument("model", type=pathlib.Path, metavar="SAVED_MODEL")
    converter.add_argument("-o", "--output", type=pathlib.Path, required=True, metavar="FOLDER")
    converter.add_argument("--signature", help="default: serving_default, or the only one")
    converter.add_argument("--shape", action="append", default=[], metavar="NAME=8,32",
                           help="of an argument whose sizes the model leaves open")
    explainer = commands.add_parser("explain", help="shows where a program's time goes")
    explainer.add_argument("model", type=pathlib.Path, help="as for run")
    explainer.add_argument("--input", action="append", default=[], metavar="FILE.npy",
                           help="default: numbers are made up")
    explainer.add_argument("--repeat", type=int, default=20, help="runs that are measured")
    explainer.add_argument("--platform", default="isthmus", metavar="isthmus|xpu|cuda|NAME",
                           help="default: isthmus, on the CPU; NAME: a further plugin's, libisthmus_NAME.so")
    explainer.add_argument("--measure", action="store_true",
                           help="measures the device's peaks though they are known from an earlier time")
    explainer.add_argument("--html", type=pathlib.Path, metavar="PAGE.html")
    replayer = commands.add_parser("replay", help="compiles what the compiler failed on once more")
    replayer.add_argument("file", type=pathlib.Path, metavar="REPRODUCER",
                          help="the file that an internal error names")
    replayer.add_argument("--platform", default="isthmus", metavar="isthmus|xpu|cuda|NAME")
    options = parser.parse_args(arguments)
    command = {"run": run, "compile": compile_model, "convert": convert_model,
               "explain": explain_model, "replay": replay}.get(options.command)
    if command:
        try:
            return command(options)
        except BrokenPipeError:
            raise
        except (OSError, ValueError, TypeError, RuntimeError) as error:
            print(f"isthmus {options.command}: {error}", file=sys.stderr)
            return 1
    if options.command == "info":
        from isthmus import info

        return info.main(options.plugin, not options.brief)
    package = pathlib.Path(isthmus.__file__).parent
    print(isthmus.library_path() if options.command == "library" else package / options.command)
    return 0


def main(arguments=None) -> int:
    """The command `isthmus`: returns its exit status."""
    try:
        status = _main(arguments)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # who reads has seen enough; nothing more may be written, not even at the end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def run_command() -> int:
    """The command `isthmus-run`."""
    return main(["run", *sys.argv[1:]])


def convert_command() -> int:
    """The command `isthmus-convert`."""
    return main(["convert", *sys.argv[1:]])


def info_command() -> int:
    """The command `isthmus-info`."""
    return main(["info", *sys.argv[1:]])


def compile_command() -> int:
    """The command `isthmus-compile`."""
    return main(["compile", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())

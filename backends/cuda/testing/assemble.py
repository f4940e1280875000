"""Compiles programs of one operation each to PTX, and assembles it with ptxas. No GPU is needed."""

import argparse
import concurrent.futures
import dataclasses
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from isthmus import cuda_backend

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools"))
import op_cases  # noqa: E402

ROOT, BUILD = op_cases.ROOT, op_cases.BUILD
PAGE = ROOT / "docs/ptx.md"
CAPABILITIES = (80, 90)
MARK = "<!-- Written by ./dev ptx: do not edit. -->"


@dataclasses.dataclass
class Compiled:
    """A program of one operation, compiled for one compute capability."""
    op: str
    type: str
    name: str
    capability: int
    kernels: int
    on_host: list
    file: pathlib.Path | None
    error: str | None
    registers: int = 0
    spills: int = 0
    shared: int = 0


def compile_cases(paths, folder: pathlib.Path) -> list:
    """Every case for every capability."""
    libdevice = cuda_backend.toolkit_file("nvvm/libdevice/libdevice.10.bc")
    command = [BUILD / "tools/isthmus-ptx", "--output", folder, "--sm", ",".join(map(str, CAPABILITIES))]
    command += ["--libdevice", libdevice] if libdevice else []
    said = subprocess.run([*command, *paths], check=True, capture_output=True, text=True).stdout
    result = []
    for line in said.splitlines():
        op, kind, name, capability, kernels, on_host, file, error = line.split("\t")
        result.append(Compiled(op, kind, name, int(capability), int(kernels),
                               [] if on_host == "-" else on_host.split(";"),
                               None if file == "-" else pathlib.Path(file),
                               None if error == "-" else error))
    return result


def assemble(one: Compiled, ptxas: pathlib.Path) -> None:
    """Adds what ptxas says of the program: the largest numbers of its kernels, or the error."""
    if one.file is None or one.error:
        return
    run = subprocess.run([ptxas, "-v", f"-arch=sm_{one.capability}", one.file, "-o", "/dev/null"],
                         capture_output=True, text=True)
    if run.returncode != 0:
        one.error = (run.stderr + run.stdout).strip()
        return
    numbers = lambda pattern: [int(n) for n in re.findall(pattern, run.stderr)] or [0]
    one.registers = max(numbers(r"Used (\d+) registers"))
    one.spills = max(numbers(r"(\d+) bytes spill stores"))
    one.shared = max(numbers(r"(\d+) bytes smem"))


def ptxas_path():
    return cuda_backend.toolkit_file("bin/ptxas")


def run(folder: pathlib.Path, count: int | None = None) -> list:
    """All cases, or about `count` of them, compiled and assembled."""
    ptxas = ptxas_path()
    if ptxas is None:
        raise FileNotFoundError("no ptxas: pip install -r dev.d/requirements/cuda.txt")
    programs = compile_cases(op_cases.files(folder, count), folder)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda one: assemble(one, ptxas), programs))
    return programs


def table(programs: list):
    """The page's rows, one for each operation."""
    ops = sorted({one.op for one in programs})
    yield ("| operation | programs | kernels | registers, sm_80 | registers, sm_90 | spilled bytes | "
           "shared bytes | on the host |")
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for op in ops:
        own = [one for one in programs if one.op == op]
        registers = [max(one.registers for one in own if one.capability == c) for c in CAPABILITIES]
        host = sorted({function.split(" at ")[0] for one in own for function in one.on_host})
        yield (f"| {op} | {len(own) // len(CAPABILITIES)} | "
               f"{sum(one.kernels for one in own) // len(CAPABILITIES)} | {registers[0]} | {registers[1]} | "
               f"{max(one.spills for one in own)} | {max(one.shared for one in own)} | {', '.join(host)} |")


def page(programs: list) -> str:
    version = subprocess.run([ptxas_path(), "--version"], capture_output=True, text=True,
                             check=True).stdout.strip().splitlines()[-2]
    commit = subprocess.run(["git", "describe", "--always", "--dirty", "--exclude", "*"], cwd=ROOT, capture_output=True,
                            text=True, check=True).stdout.strip()
    failed = [one for one in programs if one.error]
    count = len(programs) // len(CAPABILITIES)
    lines = [MARK, "# What ptxas says of every operation", "",
             f"Commit {commit}: {count} programs of one operation each (`ops/test`, `conformance/op_matrix.py`, "
             "`backends/cuda/testing/large_programs.mlir`), "
             f"compiled for {' and '.join(f'sm_{c}' for c in CAPABILITIES)} and assembled "
             f"({version}); {len(failed)} failed. Registers are of a thread, spills and shared memory of a "
             "kernel: the largest of the operation's programs. The kernels of programs that users write have run on an H100 and an H200 "
             "([how fast](benchmark/cuda.md)).", ""]
    lines += table(programs)
    if failed:
        lines += ["", "Failed:", ""]
        lines += [f"- {one.op} {one.type} {one.name}, sm_{one.capability}: {one.error}" for one in failed]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, help="about so many programs, and no page")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        programs = run(pathlib.Path(folder), options.sample)
        if options.sample is None:
            PAGE.write_text(page(programs))
            print(PAGE.relative_to(ROOT))
    failed = [one for one in programs if one.error]
    for one in failed:
        print(f"{one.op} {one.type} {one.name}, sm_{one.capability}: {one.error}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

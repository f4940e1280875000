"""Compiles programs of one operation each to SPIR-V in every form of kernels, and has spirv-val judge it. No device is needed."""

import argparse
import concurrent.futures
import dataclasses
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools"))
import op_cases  # noqa: E402

FORMS = ("vectors", "elements", "groups", "matrices")


@dataclasses.dataclass
class Compiled:
    """A program of one operation in one form."""
    op: str
    type: str
    name: str
    form: str
    kernels: int
    file: pathlib.Path | None
    error: str | None

    def __str__(self):
        return f"{self.op} {self.type} {self.name}, {self.form}: {self.error}"


def compile_cases(paths, folder: pathlib.Path, forms) -> list:
    """Every case in these forms, each form by a process of its own."""
    def run(form):
        own = folder / form
        own.mkdir()
        command = [op_cases.BUILD / "tools/isthmus-spirv", "--output", own, "--forms", form, *paths]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        lines = [line for said in pool.map(run, forms) for line in said]
    result = []
    for line in lines:
        op, kind, name, form, kernels, file, error = line.split("\t")
        result.append(Compiled(op, kind, name, form, int(kernels), None if file == "-" else pathlib.Path(file),
                               None if error == "-" else error))
    return result


def validate(one: Compiled) -> None:
    """Adds what spirv-val finds wrong."""
    if one.file is None or one.error:
        return
    run = subprocess.run([validator(), "--target-env", "spv1.4", one.file], capture_output=True, text=True)
    if run.returncode != 0:
        one.error = (run.stderr + run.stdout).strip() or f"spirv-val ended with {run.returncode}"


def validator():
    return shutil.which("spirv-val")


def run(folder: pathlib.Path, count: int | None = None, forms=FORMS) -> list:
    """All cases, or about `count` of them, compiled and validated."""
    programs = compile_cases(op_cases.files(folder, count), folder, forms)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(validate, programs))
    return programs


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, help="about so many programs")
    parser.add_argument("--forms", default=",".join(FORMS))
    options = parser.parse_args()
    if validator() is None:
        print("no spirv-val: apt-get install spirv-tools", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        programs = run(pathlib.Path(folder), options.sample, options.forms.split(","))
    failed = [one for one in programs if one.error]
    for one in failed:
        print(one, file=sys.stderr)
    modules = sum(one.file is not None for one in programs)
    print(f"{len(programs)} programs, {modules} modules, {len(failed)} failed")
    return 1 if failed or not modules else 0


if __name__ == "__main__":
    sys.exit(main())

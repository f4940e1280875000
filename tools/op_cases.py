"""Programs of one operation each, as files that isthmus-ptx and isthmus-spirv read."""

import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("ISTHMUS_BUILD", ROOT / "build/release"))


def chlo_cases(folder: pathlib.Path) -> pathlib.Path:
    """The cases of chlo's operations, which the conformance kit does not have."""
    path = folder / "chlo_cases.txt"
    files = sorted((ROOT / "ops/test/chlo").glob("*.mlir"))
    subprocess.run([BUILD / "tools/write-op-cases", path, *files], check=True, stderr=subprocess.DEVNULL)
    return path


def large_cases(folder: pathlib.Path) -> pathlib.Path:
    """The programs of large_programs.mlir as cases: large enough for kernels by groups of threads."""
    text = (ROOT / "backends/cuda/testing/large_programs.mlir").read_text()
    path = folder / "large_cases.txt"
    with open(path, "w") as out:
        for part in text.split("// case ")[1:]:
            title, _, program = part.partition("\n")
            op, kind, name = title.split()
            out.write(f"case {op} {kind} 0 {name}\nprogram {len(program.encode())}\n{program}\nend\n")
    return path


def sample(paths, count: int, folder: pathlib.Path) -> pathlib.Path:
    """About `count` of the cases, evenly spread, but at least one of each operation."""
    cases = []
    for path in paths:
        cases += [text + "end\n" for text in path.read_text().split("end\n") if text.startswith("case ")]
    step = max(1, len(cases) // count)
    seen, chosen = set(), []
    for number, case in enumerate(cases):
        op = case.split(" ", 2)[1]
        if number % step == 0 or op not in seen:
            chosen.append(case)
        seen.add(op)
    result = folder / "sample.txt"
    result.write_text("".join(chosen))
    return result


def files(folder: pathlib.Path, count: int | None = None) -> list:
    """All cases, or of those of the kit and of chlo about `count`."""
    paths = [BUILD / "conformance/op_cases.txt", chlo_cases(folder)]
    if count is not None:
        paths = [sample(paths, count, folder)]
    return [*paths, large_cases(folder)]


def judged(tool: str, judge, how: str, run, count: int):
    """A fixture of tests of what `tool` writes: what `run(folder, count)` makes of about `count` cases. Skips them where the
    tool is not built, or where there is no `judge()` (None), both of which CI must have; `how` says how to get one."""
    import pytest

    @pytest.fixture(scope="module")
    def programs(tmp_path_factory):
        lacks = pytest.fail if os.environ.get("ISTHMUS_REQUIRE_PLUGIN") else pytest.skip
        if not (BUILD / "tools" / tool).is_file():
            lacks(f"{tool} is not built: ./dev build {tool}")
        if judge() is None:
            lacks(how)
        return run(tmp_path_factory.mktemp(tool), count)

    return programs

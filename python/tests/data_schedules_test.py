"""Schedules of sorts, selections and Fourier transforms: said in the log, obeyed where a dump was edited, and refused where
they cannot be. On platform cuda, whose fake driver interprets the kernels."""

import re

import pytest

pytest.importorskip("isthmus.cuda_backend")

from comparing import comparing  # noqa: E402
from cuda_test import cuda  # noqa: E402, F401

COMPARE = comparing("cuda")
# Of each: a program, what its schedule is, what it is made, what cannot be, and what is said then.
CASES = {
    "sort": (
        "compare(lambda x: (jnp.sort(x), jnp.argsort(x)), random.integers(0, 99, 1500).astype(np.float32), tolerance=0)",
        r"chunk=\d+ grain=\d+ run=\d+ threads=\d+", "chunk=256 grain=4 run=2 threads=64",
        "chunk=256 grain=4 run=2 threads=32", "threads times grain must be lines times chunk"),
    "sort by work-items": (
        "compare(lambda x: jnp.sort(x, 0), random.integers(0, 99, (150, 3)).astype(np.float32), tolerance=0)",
        r"chunk=\d+ grain=\d+ run=\d+ lines=\d+ threads=\d+", "chunk=8 grain=32 run=8",
        "chunk=8 grain=12 run=8", "grain must be a multiple of run"),
    "top_k": (
        "compare(lambda x: lax.top_k(x, 9), array(2, 20_000).round(2), tolerance=0)",
        r"lanes=4 chunk=\d+ grain=\d+ threads=\d+", "lanes=2 chunk=2500 threads=64",
        "lanes=8 chunk=2500 threads=64", "not of vectors of so many lanes"),
    "fft": (
        "compare(lambda x: jnp.fft.fft(x), array(3, 64), tolerance=2e-4)",
        r"factors=16,4 (lines=\d+ )?threads=\d+", "factors=2,8,4 lines=2 threads=24",
        "factors=2,8,2 lines=2 threads=24", "make 32, expected 64"),
}


def edit(tmp_path, pattern, text):
    """Writes what was dumped with edited schedules where they override. How many were edited."""
    count = 0
    for dumped in (tmp_path / "dump").rglob("*schedule.mlir"):
        edited, here = re.subn(pattern, text, dumped.read_text())
        if not here:
            continue
        # Overrides are by programs' names, dumps by their numbers as well.
        target = tmp_path / "override" / dumped.parent.name.split("-", 1)[1] / dumped.name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(edited)
        count += here
    return count


@pytest.mark.parametrize("case", CASES)
def test_an_edited_schedule_is_obeyed_and_a_wrong_one_refused(cuda, tmp_path, case):  # noqa: F811
    program, pattern, other, wrong, problem = CASES[case]
    program = COMPARE + f"\n    {program}\n"
    log = cuda(program, JAX_PLATFORMS="cuda,cpu", ISTHMUS_DUMP=tmp_path / "dump", ISTHMUS_LOG="compile").stderr
    assert re.search(rf"data \d+ \(.*{pattern}.* ns=.* \(.+\)", log), log
    assert edit(tmp_path, pattern, other) >= 1
    cuda(program, JAX_PLATFORMS="cuda,cpu", ISTHMUS_DUMP=tmp_path / "after", ISTHMUS_OVERRIDE=tmp_path / "override")
    before, after = (sorted(path.read_text() for path in (tmp_path / folder).rglob("kernels.ll"))
                     for folder in ("dump", "after"))
    assert before != after
    edit(tmp_path, pattern, wrong)
    program = program.replace("compare(lambda", "refused(lambda")
    said = cuda(program.replace("refused(", """
    def refused(function, *arrays, tolerance):
        try:
            jax.jit(function)(*arrays)
        except Exception as error:
            print(error)
    refused(""", 1), JAX_PLATFORMS="cuda,cpu", ISTHMUS_OVERRIDE=tmp_path / "override")
    assert problem in said.stdout, said.stdout + said.stderr

"""Edited LLVM IR and PTX are what platform cuda loads; what cannot stand for what was generated is refused by the file's name."""

import pytest

pytest.importorskip("isthmus.cuda_backend")

from cuda_test import cuda  # noqa: E402, F401

PROGRAM = """
    import jax, numpy as np
    def run(name):
        def function(x):
            return x + 3
        function.__name__ = name
        try:
            print(name, np.asarray(jax.jit(function)(np.arange(4, dtype=np.float32))).tolist())
        except Exception as error:
            print(name, error)
    for name in NAMES:
        run(name)
"""
# Of each: the file, what is replaced there, by what, and what is printed.
EDITS = {
    "ir": ("kernels.ll", "fadd", "fsub", "[-3.0, -2.0, -1.0, 0.0]"),
    "ir_broken": ("kernels.ll", "fadd", "fplus", "override kernels.ll: line "),
    "ir_lost": ("kernels.ll", "@kernel0", "@other", "override kernels.ll: it lacks the function kernel0"),
    "ptx": ("kernels.ptx", "add.f32", "sub.f32", "[-3.0, -2.0, -1.0, 0.0]"),
    "ptx_broken": ("kernels.ptx", "add.f32", "plus.f32", "override kernels.ptx: "),
    "ptx_lost": ("kernels.ptx", "kernel0", "other", "override kernels.ptx: it lacks the kernel kernel0"),
    "ptx_parameters": ("kernels.ptx", "kernel0_param_1", "kernel0_param_2",
                       "override kernels.ptx: its kernel kernel0 has other parameters"),
}


def test_edited_code_is_loaded_or_refused(cuda, tmp_path):  # noqa: F811
    program = f"    NAMES = {list(EDITS)}\n" + PROGRAM
    plain = cuda(program, ISTHMUS_DUMP=tmp_path / "dump").stdout
    assert plain.count("[3.0, 4.0, 5.0, 6.0]") == len(EDITS), plain
    for name, (file, old, new, _) in EDITS.items():
        (folder,) = (tmp_path / "dump").glob(f"*-jit_{name}")
        text = (folder / file).read_text()
        assert old in text, text
        edited = tmp_path / "override" / f"jit_{name}"
        edited.mkdir(parents=True)
        (edited / file).write_text(text.replace(old, new))
    said = cuda(program, ISTHMUS_OVERRIDE=tmp_path / "override").stdout
    for name, (*_, expected) in EDITS.items():
        (line,) = [line for line in said.split("\n") if line.startswith(name + " ")]
        assert expected in line, said

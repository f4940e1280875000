"""A sample of all operations is compiled to SPIR-V in every form of kernels, and every module is validated."""

import importlib.util
import pathlib

_spec = importlib.util.spec_from_file_location("validate", pathlib.Path(__file__).with_name("validate.py"))
validate = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(validate)

programs = validate.op_cases.judged(
    "isthmus-spirv", validate.validator, "NO SPIRV-VAL: apt-get install spirv-tools", validate.run, 100)


def test_every_module_is_valid(programs):
    assert len({one.op for one in programs}) > 90
    for form in validate.FORMS:
        own = [one for one in programs if one.form == form]
        assert sum(one.file is not None for one in own) > 0.8 * len(own) > 80
    failed = [str(one) for one in programs if one.error]
    assert not failed, "\n".join(failed)


def test_forms_differ(programs):
    """Each has its own kernels of a product: in vectors, by element, by groups with their memory, with the instruction."""
    files = {one.form: one.file.read_bytes() for one in programs if one.name.startswith("tensor_cores") and one.file}
    assert set(files) == set(validate.FORMS) and len(set(files.values())) == len(files)
    assert b"matrix_mad" in files["matrices"] and b"matrix_mad" not in files["groups"]


def test_what_is_wrong_is_found(programs, tmp_path):
    one = next(one for one in programs if one.file)
    broken = tmp_path / "broken.spv"
    broken.write_bytes(one.file.read_bytes()[:-4])
    found = validate.Compiled("add", "f32", "broken", one.form, 1, broken, None)
    validate.validate(found)
    assert found.error

"""Each field of the target model decides something: somebody outside compiler/target reads it."""

import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODEL = ROOT / "compiler/target/target_model.h"
TYPES = r"(?:unsigned|bool|double|int|int64_t|std::string|AtomicFloats|DeviceKind|Intrinsics|ProductModel|ProductUnit)"
# A member of the model, by the names that it is given, that is used and not only assigned to.
USE = re.compile(r"(?:[tT]arget_?(?:\(\))?|model_?|products)\.(\w+)\b(?!\s*=[^=])")


def uncommented(text):
    return re.sub(r"//[^\n]*", "", text)


def members(name):
    """The names of a struct's fields, and of its functions with their bodies."""
    body = re.search(r"\nstruct %s \{\n(.*?)\n\};" % name, uncommented(MODEL.read_text()), re.S)[1]
    functions = dict(re.findall(r"\n  %s (\w+)\([^)]*\) const \{(.*?)\}\n" % TYPES, body, re.S))
    declarations = re.findall(r"^  %s (\w+[^;(]*);" % TYPES, body, re.M)
    fields = [re.match(r"\w+", part.strip())[0] for line in declarations for part in line.split(",")]
    return fields, functions


def used_members():
    """What all code but compiler/target and tests uses of the model, and perhaps of other things."""
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.h", "*.cc"],
                            cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a checkout")
    files = [file for file in listed.stdout.split()
             if not re.search(r"^compiler/target/|_(test|testing|benchmark)\.|/testing/", file)]
    return {name for file in files if (ROOT / file).exists() for name in USE.findall(uncommented((ROOT / file).read_text()))}


@pytest.mark.parametrize("name, least", [("ProductModel", 30), ("TargetModel", 110)])
def test_each_field_has_a_reader(name, least):
    fields, functions = members(name)
    assert len(fields) >= least and len(set(fields)) == len(fields)
    bodies = set(re.findall(r"\w+", " ".join(functions.values())))
    used = used_members() | bodies
    unread = [member for member in [*fields, *functions] if member not in used]
    assert not unread, f"{name}: nobody outside compiler/target asks for {unread}"

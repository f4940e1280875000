"""What becomes of well-known programs: compared with files that `./dev bless` writes."""

import difflib
import pathlib
import subprocess

import pytest

HERE = pathlib.Path(__file__).parent
TOOL = HERE.parent.parent / "build/release/tools/isthmus-opt"


@pytest.mark.skipif(not TOOL.is_file(), reason="isthmus-opt is not built: ./dev build")
@pytest.mark.parametrize("name", sorted(path.stem for path in HERE.glob("*.mlir")))
def test_schedules(name):
    done = subprocess.run([TOOL, HERE / f"{name}.mlir", "--to", "schedule"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    expected = (HERE / "expected" / f"{name}.mlir").read_text()
    changes = list(difflib.unified_diff(expected.splitlines(), done.stdout.splitlines(), "expected", "now", "", "", 1))
    assert not changes, "if this is meant, ./dev bless and commit:\n" + "\n".join(changes[:80])


def test_nothing_is_expected_of_what_is_not_there():
    assert {path.name for path in HERE.glob("*.mlir")} == {path.name for path in (HERE / "expected").iterdir()}

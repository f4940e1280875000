"""The manifest of known failures: that it is well formed, and that it only shrinks."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "yardstick"))

import known_failures  # noqa: E402
from known_failures import Manifest  # noqa: E402

TEXT = """# A comment.
complete a_test
a_test.T.x  a reason in words
b_test.T.y  another reason in words
"""


def test_ours_only_shrinks():
    ours, before = known_failures.load(), known_failures.previous()
    if before is not None:
        assert not known_failures.grown(before, ours)


def test_complete_files_are_files_that_the_yardstick_runs():
    globs = (known_failures.PATH.parent / "jax_files.txt").read_text().split("\n")
    for name in known_failures.load().complete:
        assert any(pathlib.PurePath(f"{known_failures.bare(name)}.py").match(glob) for glob in globs if glob), name


def test_reads_tests_and_complete_files():
    manifest = Manifest(TEXT)
    assert manifest.reasons == {
        "a_test.T.x": "a reason in words", "b_test.T.y": "another reason in words"}
    assert manifest.complete == {"a_test"}


@pytest.mark.parametrize("line", [
    "a_test.T.z", "a_test.T.z  ", "a_test.T.z  hard", "a_test.T.z a reason in words",
    "test_z  a reason in words", "a_test.T.x  there already, it is"])
def test_refuses_malformed_lines(line):
    with pytest.raises(ValueError, match="line 4"):
        Manifest(TEXT.replace("b_test.T.y  another reason in words", line))


def test_grows_only_for_files_that_are_not_complete():
    before = Manifest(TEXT)
    assert known_failures.grown(before, Manifest(TEXT + "c_test.T.z  a reason in words\n")) == []
    assert known_failures.grown(before, Manifest("complete a_test b_test\n")) == []
    (problem,) = known_failures.grown(
        before, Manifest(TEXT.replace("b_test", "a_test.T.xx  some reason or other\nb_test")))
    assert "a_test.T.xx" in problem
    (problem,) = known_failures.grown(before, Manifest(TEXT.replace("complete a_test\n", "")))
    assert "no longer complete" in problem


def test_a_run_must_match():
    manifest = Manifest(TEXT)
    assert known_failures.judge(["a_test.T.x"], {"c_test.T.z"}, manifest, "0.10") == ([], [])
    assert known_failures.judge(["a_test.T.q"], {"a_test.T.x"}, manifest, "0.10") == (
        ["a_test.T.q"], ["a_test.T.x"])


def test_lines_of_one_version_of_jax():
    manifest = Manifest(TEXT + "complete 0.12:c_test\n0.12:c_test.T.z  a reason in words\n")
    assert known_failures.judge(["c_test.T.z", "b_test.T.y"], set(), manifest, "0.12") == ([], [])
    assert known_failures.judge(["c_test.T.z"], set(), manifest, "0.10") == (["c_test.T.z"], [])
    assert known_failures.judge([], {"c_test.T.z"}, manifest, "0.10") == ([], [])
    assert known_failures.judge([], {"c_test.T.z"}, manifest, "0.12") == ([], ["c_test.T.z"])
    more = Manifest(TEXT + "complete 0.12:c_test\n0.12:c_test.T.z  a reason in words\n"
                    "0.12:c_test.T.new  a reason in words\nc_test.T.new  a reason in words\n")
    (problem,) = known_failures.grown(manifest, more)
    assert "0.12:c_test.T.new" in problem
    with pytest.raises(ValueError, match="line 5"):
        Manifest(TEXT + "0.12:c_test.z  a reason in words\n")

"""The front door: what ./dev lists, refuses and adds up."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent


def dev(*arguments):
    return subprocess.run([ROOT / "dev", *arguments], capture_output=True, text=True)


def test_lists_every_command_with_a_sentence():
    shown = dev().stdout
    for file in (ROOT / "dev.d").iterdir():
        if file.is_file() and os.access(file, os.X_OK):
            (line,) = [line for line in shown.splitlines() if line.split()[:1] == [file.name]]
            assert line.rstrip().endswith((".", ")")), line


def test_refuses_unknown_commands():
    for name in ["nonsense", "../dev", "lib.sh", ""]:
        result = dev(name) if name else dev("--nonsense")
        assert result.returncode == 2
        assert "no such command" in result.stderr


def summarize(tmp_path, text):
    report = tmp_path / "report.xml"
    report.write_text(text)
    return subprocess.run(
        [sys.executable, ROOT / "dev.d/summary.py", report], capture_output=True, text=True)


def test_summary_counts_failures_and_errors(tmp_path):
    result = summarize(tmp_path, """<testsuites><testsuite>
        <testcase classname="a" name="good"/>
        <testcase classname="a" name="bad"><failure/></testcase>
        <testcase classname="a" name="broken"><error/></testcase>
        <testcase classname="a" name="absent"><skipped/></testcase>
        </testsuite></testsuites>""")
    assert result.returncode == 1
    assert result.stdout.splitlines()[-1] == "1 passed, 2 failed, 1 skipped"
    assert "failed: a.bad" in result.stdout


def test_summary_of_nothing_but_successes(tmp_path):
    result = summarize(tmp_path, '<testsuite><testcase classname="a" name="good"/></testsuite>')
    assert result.returncode == 0
    assert result.stdout.splitlines()[-1] == "1 passed, 0 failed, 0 skipped"


# A Python of some version whose virtual environments are its copies.
PYTHON = """#!/bin/sh
case "$1 $2" in
  "-V ") echo "Python VERSION" ;;
  "-m venv") mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
esac
"""


def make_venv(folder, version):
    python = folder / f"python{version}"
    python.write_text(PYTHON.replace("VERSION", version))
    python.chmod(0o755)
    (folder / "requirements.txt").touch()
    return subprocess.run(
        ["bash", "-c", f'source "$0"; make_venv "{folder}/env" "{folder}/requirements.txt" "{python}"',
         ROOT / "dev.d/lib.sh"], capture_output=True, text=True, env={**os.environ, "ROOT": str(folder)})


def test_own_environments_of_another_python_are_made_anew(tmp_path):
    for version in ("3.11", "3.12"):
        result = make_venv(tmp_path, version)
        assert result.returncode == 0, result.stderr
        assert version in (tmp_path / "env/bin/python").read_text()
        assert not (tmp_path / "env/old").exists()
        (tmp_path / "env/old").touch()


@pytest.mark.parametrize("python", [None, "3.11"])
def test_environments_of_others_are_not_deleted(tmp_path, python):
    (tmp_path / "env/bin").mkdir(parents=True)
    if python:
        (tmp_path / "env/bin/python").write_text(PYTHON.replace("VERSION", python))
        (tmp_path / "env/bin/python").chmod(0o755)
    (tmp_path / "env/theirs").touch()
    result = make_venv(tmp_path, "3.12")
    assert result.returncode != 0 and "not made by ./dev" in result.stderr
    assert (tmp_path / "env/theirs").exists()

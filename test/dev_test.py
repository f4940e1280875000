"""The front door: what ./dev lists, refuses and adds up."""

import os
import pathlib
import subprocess
import sys

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

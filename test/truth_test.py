"""What ./dev truth makes of the yardsticks' reports."""

import importlib.machinery
import importlib.util
import json
import pathlib
import sys

import pytest

PATH = pathlib.Path(__file__).resolve().parents[1] / "dev.d/truth"


@pytest.fixture
def truth(tmp_path, monkeypatch):
    """The command as a module, over a folder of its own."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    loader = importlib.machinery.SourceFileLoader("truth", str(PATH))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("truth", loader))
    loader.exec_module(module)
    module.RESULTS = tmp_path
    module.PAGE = tmp_path / "status.md"
    module.written = lambda path: ("2026-01-02", "abc1234")
    return module


def report(folder, yardstick, driver, **more):
    contents = {"yardstick": yardstick, "platform": "xpu", "driver": driver, "sample": 1, "reference": 200, "lost": [],
                "crashed": []} | more
    path = folder / f"yardstick-{yardstick}-xpu-{driver}.json"
    path.write_text(json.dumps(contents))
    return path


def rows(text):
    return [line for line in text.splitlines() if line.startswith("| xpu")]


def test_counts_what_passes_of_what_passes_on_the_cpu(truth, tmp_path):
    report(tmp_path, "jax", "intel", sample=40, lost=["a_test.T.f", "a_test.T.g"], crashed=["a_test.T.g"])
    text = "\n".join(truth.of_platforms())
    assert rows(text) == ["| xpu | intel | JAX's tests, every 40th | 200 | 198 (99.00 %) | 1 | 2026-01-02, abc1234 | "
                          "`./dev yardstick jax --platform xpu --driver intel --sample 40` |"]
    assert text.count("`a_test.T.g`") == 1


def test_a_sample_by_another_seed_has_a_line_of_its_own(truth, tmp_path):
    path = report(tmp_path, "jax", "intel", sample=40, seed=0)
    truth.PAGE.write_text("\n".join(truth.of_platforms()) + "\n")
    path.unlink()
    report(tmp_path, "jax", "intel", sample=40, seed=3)
    assert [row.split("|")[3].strip() for row in rows("\n".join(truth.of_platforms()))] == [
        "JAX's tests, every 40th", "JAX's tests, every 40th by seed 3"]


def test_keeps_lines_whose_report_is_not_there(truth, tmp_path):
    path = report(tmp_path, "stablehlo", "pocl", lost=["f"])
    report(tmp_path, "smoke", "intel", reference=5)
    truth.PAGE.write_text("\n".join(truth.of_platforms()) + "\n")
    before = rows(truth.PAGE.read_text())
    path.unlink()
    report(tmp_path, "smoke", "intel", reference=6)
    text = "\n".join(truth.of_platforms())
    after = rows(text)
    # Nor are the tests that failed forgotten, until they are run again.
    failure = "- xpu, pocl, StableHLO's tests: `f`"
    assert failure in text.splitlines()
    report(tmp_path, "stablehlo", "pocl")
    assert failure not in "\n".join(truth.of_platforms())
    assert len(after) == 2 and after[1] == before[1] and "| 199 (99.50 %) |" in after[1]
    assert "| 6 | 6 (100.00 %) |" in after[0]


def test_suites_have_titles_of_their_own(truth):
    """By which their lines are kept."""
    titles = [title for _, title, _ in truth.SUITES]
    assert len(set(titles)) == len(titles)


def test_keeps_the_names_of_a_suite_that_was_not_run(truth, tmp_path):
    path = tmp_path / "ctest.xml"
    path.write_text('<testsuite><testcase name="a"/><testcase name="b"><failure/></testcase></testsuite>')
    truth.git = lambda *arguments: ""
    truth.PAGE.write_text("\n".join(truth.suites()) + "\n\n## Another section\n\n- C++ tests: `c`\n")
    path.unlink()
    text = "\n".join(truth.suites())
    assert "- C++ tests: `b`" in text and "`c`" not in text


def test_without_reports_there_is_no_section(truth):
    assert list(truth.of_platforms()) == []

"""What ./dev yardstick jax --together runs: files that ask for as many devices in one pytest, with one report."""

import json
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "yardstick"))

import jax_tests  # noqa: E402
import platforms  # noqa: E402

PASSES = "def test_passes():\n    pass\n"
ASKS = "# jtu.request_cpu_devices(8)\n"
# As JAX's: classes, and what another platform's pytest is told.
LOSES = """
import os, unittest
class ApiTest(unittest.TestCase):
    def test_lost(self):
        self.assertEqual(os.environ["JAX_PLATFORMS"], "cpu")
    def test_devices(self):
        self.assertIn(os.environ.get("ISTHMUS_NUM_DEVICES"), [None, "8"])
    def test_wrong_everywhere(self):
        self.fail("here and there")
"""


@pytest.fixture(name="checkout")
def _checkout(tmp_path, monkeypatch):
    tests = tmp_path / "jax/tests"
    tests.mkdir(parents=True)
    (tests / "lax_test.py").write_text(PASSES)
    (tests / "nn_test.py").write_text(PASSES)
    (tests / "api_test.py").write_text(ASKS + LOSES)
    monkeypatch.setattr(platforms, "ROOT", tmp_path)
    # What the session of these tests may have.
    for variable in ("JAX_PLATFORMS", "ISTHMUS_NUM_DEVICES"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(sys, "argv", ["jax_tests.py", "--jax", str(tests.parent), "--together", "--jobs", "1",
                                      "--out", str(tmp_path / "out"), "--sample", "2", "--seed", "5"])
    return tmp_path


def test_the_reports_of_all_groups_are_one_summary(checkout, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", [*sys.argv[:-4]])
    assert jax_tests.main() == 1
    said = capsys.readouterr().out
    assert "of 4 that pass on the reference, 3 pass here: 75.00 %" in said
    assert "api_test.ApiTest.test_lost" in said
    report = json.loads((checkout / "out/results/yardstick-jax-isthmus.json").read_text())
    assert (report["reference"], report["lost"], report["crashed"]) == (4, ["api_test.ApiTest.test_lost"], [])
    assert sorted(path.name for path in (checkout / "out/jax-isthmus").glob("*.xml")) == [
        "together-1.xml", "together-8.xml"]


def test_a_group_has_as_much_time_as_its_files(checkout, monkeypatch):
    limits = {}

    def run(command, timeout, **_):
        files = tuple(sorted(pathlib.Path(word).stem for word in command if word.endswith("_test.py")))
        limits[files] = timeout
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr(jax_tests.subprocess, "run", run)
    monkeypatch.setattr(sys, "argv", [*sys.argv, "--file-seconds", "60"])
    jax_tests.main()
    assert limits == {("lax_test", "nn_test"): 120, ("api_test",): 60}
    # Nothing was reported: that is a crash, and not that nothing is lost.
    report = json.loads((checkout / "out/results/yardstick-jax-isthmus.json").read_text())
    assert (report["sample"], report["seed"]) == (2, 5)
    assert report["crashed"] == ["together-1.whole.file", "together-8.whole.file"]


# Else tests skip in `setUp`, and JAX finds its compilation cache changed: only `tearDown` puts it back.
def test_what_the_drivers_of_cpus_have_is_a_cpu(checkout, monkeypatch):
    drivers = {"ours": ({"ISTHMUS_OPENCL_DEVICE": "ours"}, True)}
    monkeypatch.setattr(platforms.opencl_drivers, "DRIVERS", drivers)
    told = []

    def run(command, env, **_):
        if env["JAX_PLATFORMS"] != "cpu":
            told.append((env["ISTHMUS_OPENCL_DEVICE"], env["ISTHMUS_YARDSTICK_DEVICE"]))

    monkeypatch.setattr(jax_tests.subprocess, "run", run)
    command = ["jax_tests.py", "--jax", str(checkout / "jax"), "--out", str(checkout / "out"), "--together",
               "--platform", "xpu", "--driver", "ours"]
    for more in ([], ["--device", "gpu"]):
        monkeypatch.setattr(sys, "argv", [*command, *more])
        jax_tests.main()
    assert told == [("ours", "cpu")] * 2 + [("ours", "gpu")] * 2

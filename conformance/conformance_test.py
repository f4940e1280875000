"""The kit: finds no fault with Isthmus, and every seeded one with the defective plugin."""

import ctypes
import os
import pathlib
import subprocess
import sys
import xml.etree.ElementTree

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("ISTHMUS_BUILD", ROOT / "build" / "release"))
CONFORM = BUILD / "conformance" / "isthmus-conform"
PLUGIN = BUILD / "pjrt" / "libisthmus.so"
DEFECTIVE = BUILD / "conformance" / "libisthmus_defective_plugin.so"

pytestmark = pytest.mark.skipif(
    not CONFORM.exists() and not os.environ.get("ISTHMUS_REQUIRE_PLUGIN"), reason="not built")


def conform(plugin, *options, **environment):
    return subprocess.run([CONFORM, plugin, *options], capture_output=True, text=True, timeout=600,
                          env=os.environ | {"ISTHMUS_NUM_DEVICES": "2"} | environment)


def defects():
    if not DEFECTIVE.exists():
        return []
    library = ctypes.CDLL(str(DEFECTIVE))
    library.isthmus_defect_name.restype = library.isthmus_defect_check.restype = ctypes.c_char_p
    return [(i, library.isthmus_defect_name(i).decode(), library.isthmus_defect_check(i).decode())
            for i in range(library.isthmus_num_defects())]


def test_isthmus_is_complete(tmp_path):
    junit, html = tmp_path / "report.xml", tmp_path / "report.html"
    done = conform(PLUGIN, "--quiet", "--junit", junit, "--html", html)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert "grade: 4" in done.stdout
    suite = xml.etree.ElementTree.parse(junit).getroot()[0]
    assert int(suite.get("tests")) > 800
    assert int(suite.get("failures")) + int(suite.get("errors")) == 0
    # A check that is skipped holds nothing: on this platform none may be.
    assert int(suite.get("skipped")) == 0, done.stdout
    page = html.read_text()
    assert "<h2>Operations and types</h2>" in page
    assert "<h2>Failures</h2>\n<p>None." in page
    assert page.count(">has it<") == 5 and "not yet" not in page


def test_there_are_enough_defects():
    assert len(defects()) >= 30


@pytest.mark.parametrize("index, name, check", defects(), ids=[d[1] for d in defects()])
def test_finds(index, name, check, tmp_path):
    done = conform(DEFECTIVE, "--only", check, "--timeout", "10", "--repro", tmp_path,
                   ISTHMUS_DEFECTIVE_BASE=str(PLUGIN), ISTHMUS_DEFECT=str(index))
    assert done.returncode == 1, f"{name}: not found\n{done.stdout}"
    assert check in done.stdout
    # Each failure comes with something to try it again with.
    assert list(tmp_path.glob("*.c"))


@pytest.mark.parametrize("check", sorted({d[2] for d in defects()}))
def test_finds_nothing_without_a_defect(check):
    done = conform(DEFECTIVE, "--only", check, ISTHMUS_DEFECTIVE_BASE=str(PLUGIN))
    assert done.returncode == 0, done.stdout


def test_refuses_what_is_no_plugin(tmp_path):
    library = tmp_path / "empty.so"
    subprocess.run(["cc", "-shared", "-o", library, "-x", "c", "/dev/null"], check=True)
    done = conform(library, "--only", "table.version")
    assert done.returncode == 1 and "GetPjrtApi" in done.stdout
    assert "grade: none" in done.stdout


@pytest.mark.parametrize("defect, says", [
    ("client_create_fails", "It cannot be judged here: plugin.makes_a_client: INVALID_ARGUMENT"),
    ("client_create_hangs", "It cannot be judged here: plugin.makes_a_client: no end within 2 s, in or after PJRT_Client_Create"),
    ("initialize_aborts", "It cannot be judged here: plugin.loads: signal Aborted, in or after PJRT_Plugin_Initialize")])
def test_says_once_that_a_plugin_is_for_other_machines(defect, says):
    done = conform(DEFECTIVE, "--timeout", "2", ISTHMUS_DEFECTIVE_BASE=str(PLUGIN), ISTHMUS_NO_DEVICE=defect)
    assert done.returncode == 1
    assert says in done.stdout and "grade: none" in done.stdout
    assert sum(line.startswith(("FAIL", "HANG", "CRASH")) for line in done.stdout.splitlines()) == 1


def test_checks_the_platform():
    assert conform(PLUGIN, "--only", "client.platform", "--platform", "cpu").returncode == 0
    assert conform(PLUGIN, "--only", "client.platform", "--platform", "abacus").returncode == 1


def test_makes_the_client_with_options():
    simulated = BUILD / "pjrt" / "libisthmus_simulated.so"
    # Beside the option, of which the simulated backend alone knows: a device with too little memory is out of it.
    done = conform(simulated, "--only", "buffer.", "--option", "memory_bytes=4096")
    assert done.returncode == 1 and "RESOURCE_EXHAUSTED" in done.stdout, done.stdout[-2000:]
    for option in ("memory_bytes=16777216", "num_devices:int64=3", "memory_fraction=0.5", "platform_name=abacus"):
        assert conform(simulated, "--only", "client.", "--option", option).returncode == 0, option
    assert conform(simulated, "--only", "client.", "--platform", "abacus", "--option", "platform_name=abacus").returncode == 0
    # Types are those of the C API.
    for option in ("memory_bytes=0.5", "memory_bytes=1,2", "memory_bytes:string=4096", "platform_name=true"):
        done = conform(simulated, "--only", "client.", "--option", option)
        assert "plugin.makes_a_client: INVALID_ARGUMENT" in done.stdout, option
    for wrong, says in (("num_devices", "name=value"), ("num_devices:int64=x", "'x' is no int64"), ("a:real=1", "'1' is no real")):
        done = conform(simulated, "--option", wrong)
        assert done.returncode == 2 and says in done.stderr, done.stderr


def test_simulated_devices_are_complete():
    done = conform(BUILD / "pjrt" / "libisthmus_simulated.so", "--quiet")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert " 0 fail" in done.stdout and "grade: 4" in done.stdout


def test_devices_that_run_kernels_are_complete():
    """A vendor's device with groups, collectives and the host's functions, by include/isthmus alone."""
    done = conform(BUILD / "pjrt" / "libisthmus_simulated_kernels.so", "--quiet")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert " 0 fail" in done.stdout and "grade: 4" in done.stdout


def test_says_what_the_skeleton_lacks():
    done = conform(BUILD / "pjrt" / "libisthmus_skeleton.so", ISTHMUS_NUM_DEVICES="1")
    assert done.returncode == 0, done.stdout[-4000:]
    skipped = {line.split()[1].rstrip(":") for line in done.stdout.splitlines()
               if line.startswith("skip")}
    assert {"serialization.round_trip", "devices.all_reduce"} <= skipped
    assert len(skipped) < 20


def test_its_wheel_is_a_program(tmp_path):
    subprocess.run([sys.executable, ROOT / "tools/wheel_file.py", "conform", BUILD, tmp_path], check=True)
    wheel, = tmp_path.glob("isthmus_conform-*.whl")
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index",
                    "--disable-pip-version-check", "--prefix", tmp_path / "prefix", wheel], check=True)
    done = subprocess.run([tmp_path / "prefix/bin/isthmus-conform", PLUGIN, "--grade", "1"],
                          capture_output=True, text=True)
    assert done.returncode == 0 and "grade: 1" in done.stdout, done.stdout + done.stderr

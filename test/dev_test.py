"""The front door: what ./dev lists, refuses and adds up."""

import importlib.machinery
import importlib.util
import os
import pathlib
import re
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


@pytest.mark.parametrize("required, status", [("", 0), ("1", 1)])
def test_packages_that_cannot_be_installed_fail_where_their_tests_must_run(tmp_path, required, status):
    (tmp_path / "env/bin").mkdir(parents=True)
    (tmp_path / "env/bin/python").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "env/bin/python").chmod(0o755)
    (tmp_path / "extra.txt").write_text("nothing-of-this-name\n")
    result = subprocess.run(
        ["bash", "-c", f"source {ROOT}/dev.d/lib.sh; install_extra {tmp_path}/env {tmp_path}/extra.txt"],
        capture_output=True, text=True, env=os.environ | {"ROOT": str(tmp_path), "ISTHMUS_REQUIRE_PLUGIN": required})
    assert result.returncode == status, result.stderr
    assert not (tmp_path / "env/.isthmus-stamp-extra").exists()


@pytest.mark.parametrize("required, outcome", [("", "2 skipped, 1 passed"), ("1", "2 failed, 1 passed")])
def test_what_is_required_and_not_there_fails(tmp_path, required, outcome):
    (tmp_path / "some_test.py").write_text("""
import required

def test_lacks():
    required.lacks("nothing is there")

@required.needs(False, "nothing is there")
def test_needs():
    assert False

@required.needs(True, "it is there")
def test_has():
    pass
""")
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "some_test.py"], cwd=tmp_path, capture_output=True,
        text=True, env=os.environ | {"PYTHONPATH": str(ROOT / "python/tests"), "ISTHMUS_REQUIRE_PLUGIN": required})
    assert sorted(outcome.split(", ")) == sorted(re.findall(r"\d+ (?:failed|passed|skipped)", result.stdout.splitlines()[-1]))


def bench(folder, *arguments):
    """What `./dev bench` runs in a folder whose commands and Python do nothing but say that they were called."""
    for name in ("bench", "lib.sh"):
        (folder / "dev.d").mkdir(exist_ok=True)
        (folder / "dev.d" / name).write_text((ROOT / "dev.d" / name).read_text())
    for file, text in {"dev.d/wheel": "", "dev.d/build": 'echo "built $@"', "env/bin/python": 'echo "$@"; env | grep -E "^(ISTHMUS|PJRT)_" || true'}.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(f"#!/bin/sh\n{text}\n")
        (folder / file).chmod(0o755)
    (folder / "dev.d/requirements").mkdir()
    for file in (ROOT / "dev.d/requirements").iterdir():
        (folder / "dev.d/requirements" / file.name).touch()
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("ISTHMUS_", "PJRT_"))}
    return subprocess.run(["bash", folder / "dev.d/bench", *arguments], capture_output=True, text=True, check=True,
                          env=environment | {"ROOT": str(folder), "ISTHMUS_VENV": str(folder / "env")}).stdout


@pytest.mark.parametrize("arguments, variable, library, package", [
    (["--platform", "cuda"], "ISTHMUS_CUDA_PLUGIN_PATH", "libisthmus_cuda.so", "jax-cuda.txt"),
    (["--only", "x", "--platform=xpu"], "ISTHMUS_XPU_LIBRARY_PATH", "libisthmus_xpu.so", "xpu.txt"),
])
def test_bench_of_a_device_finds_its_plugin_and_its_packages(tmp_path, arguments, variable, library, package):
    shown = bench(tmp_path, *arguments)
    assert f"{variable}={tmp_path}/build/release/pjrt/{library}" in shown
    assert f"--requirement dev.d/requirements/{package}" in shown
    assert f"built {library.removeprefix('lib').removesuffix('.so')}_plugin" in shown
    assert f"bench/compare.py {' '.join(arguments)}" in shown


def test_bench_of_a_vendors_device_finds_its_plugin(tmp_path):
    shown = bench(tmp_path, "--platform", "acme")
    assert "built isthmus_acme_plugin" in shown
    assert f"PJRT_NAMES_AND_LIBRARY_PATHS=acme:{tmp_path}/build/release/pjrt/libisthmus_acme.so" in shown


def test_bench_of_the_cpu_installs_nothing(tmp_path):
    assert bench(tmp_path, "--only", "cuda") == f"bench/compare.py --only cuda\nISTHMUS_VENV={tmp_path}/env\n"


def test_bench_compares_with_the_cuda_plugin_of_the_same_jax():
    def versions(name):
        lines = (ROOT / "dev.d/requirements" / name).read_text().splitlines()
        return {line.split("==")[1] for line in lines if line.startswith(("jax==", "jax-cuda12-"))}
    assert versions("jax-cuda.txt") == versions("python.txt")


def command(name):
    """A command in Python as a module."""
    loader = importlib.machinery.SourceFileLoader(name, str(ROOT / "dev.d" / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


def test_doclint_wants_a_comment_of_each_virtual_function():
    doclint = command("doclint")
    lines = [
        "// A device.", "class Device {", " public:", "  virtual ~Device() = default;", "  virtual int number() const = 0;",
        "  // What it is called.", "  virtual std::string name() const = 0;", "  virtual std::string version() const = 0;",
        "  virtual bool isLost() const { return false; }  // for good", "",
        "  // Copies of `bytes` bytes:", "  virtual Status copyFrom(const void* from,", "                          size_t bytes) = 0;",
        "  virtual Status copyTo(void* to,", "                        size_t bytes) = 0;", "};"]
    functions = doclint.virtual_functions(lines)
    assert functions == [4, 6, 7, 8, 11, 13]
    assert [number for number in functions if not doclint.has_own_comment(lines, number)] == [4, 7]


def test_sizes_measures_functions_of_cpp():
    sizes = command("sizes")
    text = "\n".join([
        "namespace a {", "constexpr int kTable[] = {", "  f(1),", "};",
        "class C : public B<int> {", " public:", "  C(int x) : x_(x) {}", "  int first() const {",
        "    auto inner = [](int) {", "      return \"}\"; // }", "    };", "    return '{' + 1'000;", "  }", "};",
        "template <typename T>", "T second(T x) {", "  if (x) {", "  }", "}", "}  // namespace a"])
    found = [(re.findall(r"(\w+) *\(", head)[0], first, lines) for first, lines, head in sizes.functions(text)]
    assert found == [("C", 7, 1), ("first", 8, 6), ("second", 15, 5)]
    long = "void f() {\n" + "  g();\n" * 119 + "}\n"
    assert list(sizes.check_functions("x.cc", long, {})) == ["x.cc:1: f has 121 lines, more than 120"]

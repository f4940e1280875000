"""JAX's own test files on a platform and on JAX's CPU, test by test.

    ./dev yardstick jax --jax ../jax [--only PATTERN] [--fresh]
    ./dev yardstick jax --jax ../jax --platform xpu --driver intel --sample 20

The checkout must be at the tag of the installed JAX. Each file runs in its own pytest with one
worker that is replaced when it crashes; a file that has a report is not run again. Reports go to
out/yardstick/jax-PLATFORM-DRIVER/FILE.xml. known_failures.txt names the tests that may fail, with reasons.

`--together` is for small samples: files that ask for as many devices share a pytest, which imports and collects once.

JAX's tests skip much on platforms whose names they do not know. `--device cpu` tells them that the
device under test is a CPU; those of platform xpu's drivers are, and the tests are told so.
"""

import argparse
import importlib.metadata
import os
import pathlib
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import comparison  # noqa: E402
import known_failures  # noqa: E402
import platforms  # noqa: E402

ROOT = HERE.parent.parent


def test_files(checkout):
    """The files of jax_files.txt that the checkout has, in its order, each once."""
    found = {}
    for line in (HERE / "jax_files.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            for path in sorted((checkout / "tests").glob(line)):
                found.setdefault(path.stem, path)
    return found


def devices_of(path):
    """How many devices the tests of a file ask JAX's CPU client for."""
    asked = re.search(r"request_cpu_devices\((\d+)\)", path.read_text(encoding="utf-8"))
    return int(asked[1]) if asked else 1


def groups_of(files, together):
    """The files of each pytest, by the name of its report."""
    groups = {}
    for name, path in files.items():
        groups.setdefault(f"together-{devices_of(path)}" if together else name, []).append(path)
    return groups


def run_files(name, paths, platform, directory, options):
    """Runs files with one pytest unless its report is there already."""
    xml = directory / f"{name}.xml"
    if xml.exists() and not options.tests:
        return
    named = platform if platform == "cpu" else f"{platform},cpu"
    environment = {
        **os.environ, "JAX_PLATFORMS": named, "JAX_NUM_GENERATED_CASES": str(options.cases),
        "PYTHONDONTWRITEBYTECODE": "1", "ISTHMUS_YARDSTICK_SAMPLE": str(options.sample),
        "ISTHMUS_YARDSTICK_SEED": str(options.seed),
        "PYTHONPATH": os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(HERE)]))}
    if platform != "cpu":
        environment |= platforms.environment(options)
        environment |= {"ISTHMUS_NUM_DEVICES": str(devices_of(paths[0]))}
        if options.device:
            environment |= {"ISTHMUS_YARDSTICK_DEVICE": options.device}
    command = [
        sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "pytest_options", "--color=no",
        "-n", str(options.jobs), "--max-worker-restart=200", f"--timeout={options.seconds}",
        "--tb=short", "-c", os.devnull, f"--rootdir={paths[0].parent}",
        f"--confcutdir={paths[0].parent}", f"--junitxml={xml}.part", *map(str, paths)]
    if options.tests:
        command += ["-k", options.tests]
    begin = time.monotonic()
    seconds = options.file_seconds * len(paths)
    with open(directory / f"{name}.log", "w", encoding="utf-8") as log:
        # The tests write files beside themselves; give them a folder of their own.
        try:
            subprocess.run(command, env=environment, stdout=log, stderr=log, check=False,
                           timeout=seconds)
        except subprocess.TimeoutExpired:
            log.write(f"\n{name} took more than {seconds} s\n")
    part = pathlib.Path(f"{xml}.part")
    if part.exists():
        part.replace(xml)
    print(f"{platform:8} {name}: {time.monotonic() - begin:.0f} s", flush=True)


def read_report(xml):
    """Returns {test: {"status", "message"}} of one report."""
    results = {}
    for case in ElementTree.parse(xml).getroot().iter("testcase"):
        # pytest's names are those of modules, with a class if there is one.
        modules = case.get("classname", "").split(".")
        file, group = modules[-2:] if len(modules) > 1 else modules * 2
        name = f"{file}.{group}.{case.get('name')}"
        status, message = "pass", ""
        for kind in ("failure", "error", "skipped"):
            child = case.find(kind)
            if child is not None:
                status = {"failure": "fail", "error": "fail", "skipped": "skip"}[kind]
                message = error_line((child.get("message") or "") + "\n" + (child.text or ""))
                if "crashed while running" in message or "worker" in message and "crash" in message:
                    status = "crash"
                break
        results[name] = {"status": status, "message": message}
    return results


def error_line(text):
    """The line of a failure that says most: the error of the plugin, else the last exception."""
    lines = [line.strip().removeprefix("E ").strip() for line in text.splitlines() if line.strip()]
    for line in lines:
        if re.search(r"UNIMPLEMENTED|INTERNAL:|INVALID_ARGUMENT|crashed|Timeout", line):
            return line[:500]
    for line in reversed(lines):
        if re.match(r"[\w.]*(Error|Exception)\b", line):
            return line[:500]
    return lines[0][:500] if lines else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jax", type=pathlib.Path, default=os.environ.get("JAX_SOURCE_DIR"),
                        help="a checkout of jax-ml/jax (or JAX_SOURCE_DIR)")
    platforms.add_options(parser)
    parser.add_argument("--device", default="", help="jax_test_dut: what the tests are told that the device is")
    parser.add_argument("--only", default="", help="a regular expression on file names")
    parser.add_argument("--tests", default="", help="pytest's -k: run these even if reported")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "out/yardstick")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--cases", type=int, default=5, help="JAX_NUM_GENERATED_CASES")
    parser.add_argument("--seconds", type=int, default=300, help="time-out of one test")
    parser.add_argument("--file-seconds", type=int, default=7200, help="time-out of one file")
    parser.add_argument("--together", action="store_true", help="one pytest for all files that ask for as many devices")
    parser.add_argument("--fresh", action="store_true", help="forget the platform's old reports")
    options = parser.parse_args()
    if not options.jax:
        parser.error("--jax or JAX_SOURCE_DIR must name a checkout of jax-ml/jax")
    if options.together and (options.only or options.tests):
        parser.error("--together runs all files")

    files = {name: path for name, path in test_files(options.jax).items()
             if re.search(options.only, name)}
    found = {"cpu": {}, options.platform: {}}
    suffix = f"-sample-{options.sample}" if options.sample > 1 else ""
    suffix += f"-seed-{options.seed}" if options.sample > 1 and options.seed else ""
    for name, paths in groups_of(files, options.together).items():
        for platform in found:
            where = platform if platform == "cpu" else platforms.label(options)
            directory = options.out / f"jax-{where}{suffix}"
            directory.mkdir(parents=True, exist_ok=True)
            xml = directory / f"{name}.xml"
            if options.fresh and platform == options.platform:
                xml.unlink(missing_ok=True)
            run_files(name, paths, platform, directory, options)
            if xml.exists():
                found[platform] |= read_report(xml)
            else:
                found[platform][f"{name}.whole.file"] = {
                    "status": "crash", "message": "pytest wrote no report"}

    here, reference = found[options.platform], found["cpu"]
    # A test that is not even collected here is as lost as one that fails.
    for name, result in reference.items():
        if result["status"] == "pass":
            here.setdefault(name, {"status": "absent", "message": "not collected"})
    lost = comparison.summarize(here, reference)
    passed = {name for name, result in here.items() if result["status"] == "pass"}
    version = ".".join(importlib.metadata.version("jax").split(".")[:2])
    new, healed = known_failures.judge(lost, passed, known_failures.load(), version)
    if options.platform != "isthmus":
        healed = []  # the manifest is of platform isthmus
    for name in healed:
        print(f"known failure passes, take it out of known_failures.txt: {name}")
    print(f"{len(lost) - len(new)} known failures, {len(new)} others")
    passing = sum(result["status"] == "pass" for result in reference.values())
    crashed = [name for name, result in here.items() if result["status"] == "crash"]
    platforms.write_report("jax", options, passing, lost, crashed)
    (options.out / f"jax-{platforms.label(options)}-lost.txt").write_text(
        "".join(f"{name} {here[name]['status']}: {here[name]['message']}\n" for name in lost))
    return 1 if new or healed else 0


if __name__ == "__main__":
    sys.exit(main())

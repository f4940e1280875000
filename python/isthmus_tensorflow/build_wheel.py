"""Compiles the bridge against the installed TensorFlow and writes the wheel isthmus-tensorflow.

Usage: python build_wheel.py [--output FOLDER] [--library-only]   (needs tensorflow and a C++ compiler)
"""

import argparse
import importlib.metadata
import importlib.util
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))
from wheel_file import write_wheel  # noqa: E402

VERSION = "0.1.0"
LIBRARY = "libisthmus_tensorflow.so"


def tensorflow_version() -> str:
    for name in ("tensorflow-cpu", "tensorflow"):
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    raise SystemExit("build_wheel.py: TensorFlow is not installed")


def compile_bridge(output: pathlib.Path) -> None:
    # Found, not imported: importing would load an older bridge.
    root = pathlib.Path(importlib.util.find_spec("tensorflow").submodule_search_locations[0])
    subprocess.run([
        os.environ.get("CXX", "g++"), "-std=c++20", "-O2", "-shared", "-fPIC", "-fvisibility=hidden",
        "-D_GLIBCXX_USE_CXX11_ABI=1", "-DEIGEN_MAX_ALIGN_BYTES=64", "-w",
        f"-I{root}/include", str(HERE / "bridge.cc"), str(HERE / "kernels.cc"), "-o", str(output),
        f"-L{root}", "-l:libtensorflow_cc.so.2", "-l:libtensorflow_framework.so.2",
        "-Wl,-rpath,$ORIGIN/../tensorflow", "-Wl,--as-needed"], check=True)


def write_bridge_wheel(library: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    version = tensorflow_version()
    major, minor = version.split(".")[:2]
    # One build for each version of TensorFlow, and one wheel: the local part names it.
    own = f"{VERSION}+tf{major}.{minor}"
    return write_wheel(
        folder, "isthmus-tensorflow", own, f"Devices of type ISTHMUS for TensorFlow {major}.{minor}",
        "py3-none-linux_x86_64", {f"tensorflow-plugins/{LIBRARY}": library.read_bytes()}, ["isthmus"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("dist"))
    parser.add_argument("--library-only", action="store_true")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    library = options.output / LIBRARY
    compile_bridge(library)
    if options.library_only:
        print(library)
        return
    path = write_bridge_wheel(library, options.output)
    library.unlink()
    print(path)


if __name__ == "__main__":
    main()

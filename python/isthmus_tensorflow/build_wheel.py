"""Compiles the bridge against the installed TensorFlow and writes the wheel isthmus-tensorflow, and one for each
platform of devices that is named: isthmus-tensorflow-xpu has devices of type XPU.

Usage: python build_wheel.py [--output FOLDER] [--platforms xpu cuda …] [--library-only]   (needs tensorflow and a C++ compiler)
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
LIBRARY = "libisthmus_tensorflow.so"  # the library asks for its own name, so that of a platform is a copy


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


def write_bridge_wheel(library: pathlib.Path, folder: pathlib.Path, platform: str = "") -> pathlib.Path:
    """The wheel of a platform, of the CPU if it is ""."""
    major, minor = tensorflow_version().split(".")[:2]
    # One build for each version of TensorFlow, and one wheel: the local part names it.
    own = f"{VERSION}+tf{major}.{minor}"
    device = platform.upper() or "ISTHMUS"
    suffix = f"_{platform}" if platform else ""
    dashed = suffix.replace("_", "-")
    return write_wheel(
        folder, f"isthmus-tensorflow{dashed}", own, f"Devices of type {device} for TensorFlow {major}.{minor}",
        "py3-none-linux_x86_64",
        {f"tensorflow-plugins/libisthmus_tensorflow{suffix}.so": library.read_bytes()}, [f"isthmus{dashed}"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("dist"))
    parser.add_argument("--platforms", nargs="*", default=[], help="of devices, beside the CPU: xpu, cuda, …")
    parser.add_argument("--library-only", action="store_true")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    library = options.output / LIBRARY
    compile_bridge(library)
    if options.library_only:
        print(library)
        return
    for platform in ["", *options.platforms]:
        print(write_bridge_wheel(library, options.output, platform))
    library.unlink()


if __name__ == "__main__":
    main()

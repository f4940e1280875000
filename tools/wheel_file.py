"""Writes wheels of ready files (the format: PEP 427), and those of ours that are nothing more.

    python tools/wheel_file.py conform|xpu|cuda|NAME BUILD FOLDER

NAME is a platform of a backend that ./dev new-backend began.
"""

import base64
import hashlib
import pathlib
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
VERSION = "0.1.0"

# Of the wheels of platforms: what they are for. Others are of a vendor's device.
DEVICES = {"xpu": "OpenCL devices", "cuda": "NVIDIA GPUs"}
# What torch_xla makes for PJRT_DEVICE=NAME; the platforms of others share one. torch_xla 2.9 ends the process for
# devices of type CUDA.
TORCH_XLA_PLUGINS = {"xpu": "xpu = isthmus.torch_xla_plugin:XpuPlugin",
                     "cuda": "isthmus_cuda = isthmus.torch_xla_plugin:CudaPlugin"}


def contents(kind: str):
    """Of a wheel: its distribution, its summary, what it holds (path in the wheel: path in the build tree), what else
    it needs, and its entry points (group: lines)."""
    if kind == "conform":
        return ("isthmus-conform", "Judges any PJRT plugin by the C API alone",
                {"{data}/scripts/isthmus-conform": "conformance/isthmus-conform"}, [], {})
    library = f"libisthmus_{kind}.so"
    plugin = TORCH_XLA_PLUGINS.get(kind, f"{kind} = isthmus.torch_xla_plugin:platform_{kind}")
    return (f"isthmus-{kind.replace('_', '-')}", f"Platform {kind} of isthmus: {DEVICES.get(kind, 'its devices')}",
            {f"isthmus/{library}": f"pjrt/{library}"}, [f"isthmus=={VERSION}"],
            {"torch_xla.plugins": [plugin]})


def write_wheel(folder: pathlib.Path, name: str, version: str, summary: str, tag: str, files: dict,
                requires=(), executables=(), entry_points=None) -> pathlib.Path:
    """A wheel of `files` (path -> bytes; "{data}" in a path is the folder of scripts and headers).
    Those in `executables` may be run. `entry_points`: group -> lines."""
    stem = f"{name.replace('-', '_')}-{version}"
    info = f"{stem}.dist-info"
    files = {path.format(data=f"{stem}.data"): data for path, data in files.items()}
    executables = {path.format(data=f"{stem}.data") for path in executables}
    needs = "".join(f"Requires-Dist: {one}\n" for one in requires)
    files[f"{info}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nSummary: {summary}\n"
        f"License: Apache-2.0\nRequires-Python: >=3.11\n{needs}").encode()
    files[f"{info}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: isthmus\nRoot-Is-Purelib: false\nTag: {tag}\n").encode()
    if entry_points:
        files[f"{info}/entry_points.txt"] = "".join(
            f"[{group}]\n" + "".join(f"{line}\n" for line in lines) for group, lines in entry_points.items()).encode()
    record = ""
    for path, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{path},sha256={digest},{len(data)}\n"
    files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    folder.mkdir(parents=True, exist_ok=True)
    result = folder / f"{stem}-{tag}.whl"
    with zipfile.ZipFile(result, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if path in executables else 0o100644) << 16
            wheel.writestr(entry, data)
    return result


def stripped(path: pathlib.Path) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / path.name
        subprocess.run(["strip", "--strip-unneeded", str(path), "-o", str(copy)], check=True)
        return copy.read_bytes()


def main(kind: str, build: str, folder: str) -> None:
    name, summary, places, requires, entry_points = contents(kind)
    sources = {place: pathlib.Path(build) / source for place, source in places.items()}
    for source in sources.values():
        if not source.is_file():
            raise SystemExit(f"{source} is not there: is there a backend {kind}, and is it built?")
    platform = subprocess.run(
        [sys.executable, ROOT / "dev.d/platform_tag.py", *sources.values()],
        check=True, capture_output=True, text=True).stdout.strip()
    path = write_wheel(
        pathlib.Path(folder), name, VERSION, summary, f"py3-none-{platform}",
        {place: stripped(source) for place, source in sources.items()}, requires,
        executables=[place for place in places if "/scripts/" in place], entry_points=entry_points)
    print(path)


if __name__ == "__main__":
    main(*sys.argv[1:])

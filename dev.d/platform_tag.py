"""Prints the platform tag of a wheel that holds the library given: the oldest glibc it runs on.

Fails if the library needs another that the manylinux policy does not promise.
"""

import re
import subprocess
import sys

# Of the libraries that PEP 600's policies allow, those that we could ever need.
PROMISED = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libz.so.1",
            "libstdc++.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}


def readelf(*arguments):
    return subprocess.run(
        ["readelf", "--wide", *arguments], check=True, capture_output=True, text=True).stdout


def platform_tag(library):
    needed = set(re.findall(r"\(NEEDED\).*\[(.+)\]", readelf("--dynamic", library)))
    if needed - PROMISED:
        raise SystemExit(f"{library} needs {', '.join(sorted(needed - PROMISED))}, which manylinux "
                         "does not promise: link it statically")
    versions = re.findall(r"GLIBC_(\d+)\.(\d+)", readelf("--version-info", library))
    major, minor = max((int(a), int(b)) for a, b in versions) if versions else (2, 17)
    # Without a version in use the oldest policy would be right, but pip knows none below 2.17.
    major, minor = max((major, minor), (2, 17))
    machine = "aarch64" if "AArch64" in readelf("--file-header", library) else "x86_64"
    return f"manylinux_{major}_{minor}_{machine}"


if __name__ == "__main__":
    print(platform_tag(sys.argv[1]))

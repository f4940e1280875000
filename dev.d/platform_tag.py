"""Prints the platform tag of a wheel that holds the libraries given: the oldest glibc they run on.

Fails if one needs another that is neither among them nor promised by the manylinux policy.
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


def platform_tag(libraries):
    # Programs have no name of their own.
    names = {name for library in libraries
             for name in re.findall(r"\(SONAME\).*\[(.+)\]", readelf("--dynamic", library))}
    newest = (2, 17)  # an older policy would do, but pip knows none
    for library in libraries:
        needed = set(re.findall(r"\(NEEDED\).*\[(.+)\]", readelf("--dynamic", library)))
        missing = needed - PROMISED - names
        if missing:
            raise SystemExit(f"{library} needs {', '.join(sorted(missing))}, which manylinux does "
                             "not promise: link it statically, or carry it along")
        versions = re.findall(r"GLIBC_(\d+)\.(\d+)", readelf("--version-info", library))
        newest = max([newest, *((int(a), int(b)) for a, b in versions)])
    machine = "aarch64" if "AArch64" in readelf("--file-header", libraries[0]) else "x86_64"
    return f"manylinux_{newest[0]}_{newest[1]}_{machine}"


if __name__ == "__main__":
    print(platform_tag(sys.argv[1:]))

"""What tests of platform xpu share: its library, the OpenCL drivers, a comparison with JAX's CPU client."""

import ctypes
import os
import pathlib
import sys

from comparing import comparing
from isthmus import xpu_backend

_BUILT = pathlib.Path(__file__).resolve().parents[2] / "build/release/pjrt/libisthmus_xpu.so"
LIBRARY = (_BUILT if _BUILT.is_file() and "ISTHMUS_XPU_LIBRARY_PATH" not in os.environ
           else xpu_backend.library_path())


def _loads(path):
    try:
        return ctypes.CDLL(path) is not None
    except OSError:
        return False


# By name: the variables that choose the driver, and whether it is there.
_INTEL = os.environ.get("ISTHMUS_TEST_INTEL_OPENCL", str(pathlib.Path(sys.prefix) / "lib/libintelocl.so"))
DRIVERS = {
    "pocl": ({"ISTHMUS_OPENCL_LIBRARY": "libOpenCL.so.1", "ISTHMUS_OPENCL_DEVICE": "portable"},
             _loads("libOpenCL.so.1")),
    "intel": ({"ISTHMUS_OPENCL_LIBRARY": _INTEL}, pathlib.Path(_INTEL).is_file()),
}

COMPARE = comparing("xpu")

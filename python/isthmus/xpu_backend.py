"""Registers platform `xpu` (the OpenCL backend) with JAX, and gives it what JAX keeps for names it knows.

Its client reports a name of its own, so JAX finds no lowerings that are for `cpu` only, does not donate, and
counts the name as unknown: host_lowerings.py, dlpack_copies.py and device_platform.py win back what
that loses. Private names are listed in
PRIVATE_NAMES, and python/tests/xpu_test.py says which of them a new version of JAX has moved.
"""

import ctypes
import logging
import os
import pathlib
import sys

from isthmus import device_platform, dlpack_copies

PLATFORM = "xpu"
# Below platform isthmus: an OpenCL driver for CPUs, which most machines could have, is slower.
PRIORITY = 200

PRIVATE_NAMES = device_platform.private_names(PLATFORM) + [
    ("jax._src.compilation_cache", "is_cache_used", "the compilation cache"),
] + dlpack_copies.PRIVATE_NAMES

_logger = logging.getLogger(__name__)


def library_path() -> pathlib.Path:
    """The plugin of this platform; ISTHMUS_XPU_LIBRARY_PATH names another one."""
    return device_platform.library_path(PLATFORM, "ISTHMUS_XPU_LIBRARY_PATH")


def _packaged_driver():
    """Intel's OpenCL driver for CPUs where the PyPI package intel-opencl-rt puts it, or None."""
    path = pathlib.Path(sys.prefix) / "lib" / "libintelocl.so"
    return str(path) if path.is_file() else None


def opencl_library() -> str:
    """The library of OpenCL: what the environment says, a packaged driver, else the system's loader."""
    return os.environ.get("ISTHMUS_OPENCL_LIBRARY") or _packaged_driver() or "libOpenCL.so.1"


def client_options() -> dict:
    """The options of a client; JAX calls this when it makes one."""
    options = {"opencl_library": opencl_library()}
    count = device_platform.asked_devices()
    if count:
        options["num_devices"] = count
    return options


def _is_wanted() -> bool:
    """Whether the user named the platform, or named none, there is a driver, and nothing that it clashes with.

    A plugin whose client cannot be made takes JAX down with it.
    """
    import jax
    from isthmus import jax_backend

    platforms = jax.config.jax_platforms
    if platforms:
        return PLATFORM in platforms.split(",")
    if not jax_backend.is_wanted(PLATFORM):
        return False
    if "tensorflow" in sys.modules:
        # TensorFlow shows its LLVM to all libraries; a driver with one of its own (PoCL) ends the process
        # when it is loaded after it.
        return False
    try:
        library = ctypes.CDLL(opencl_library())
        count = ctypes.c_uint32()
        library.clGetPlatformIDs(0, None, ctypes.byref(count))
        return count.value > 0
    except (OSError, AttributeError):
        return False


def register() -> None:
    """Registers the platform, if its library and a driver are there. Called by JAX once."""
    library = library_path()
    if not library.is_file():
        return
    if not _is_wanted():
        _logger.info("platform xpu is not wanted, has no OpenCL driver by %s, or TensorFlow is there", opencl_library())
        return
    device_platform.register(PLATFORM, library, PRIORITY, client_options)
    try:
        device_platform.use_compilation_cache(PLATFORM)
    except Exception:  # programs are then compiled by each process
        _logger.warning("platform xpu has no compilation cache", exc_info=True)
    try:
        dlpack_copies.install(PLATFORM)
    except Exception:  # arrays then leave by NumPy only
        _logger.warning("platform xpu has no DLPack", exc_info=True)

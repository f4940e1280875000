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


def _installed_drivers() -> list:
    """The drivers that the system's loader will load, as its environment variables and files name them."""
    drivers = os.environ.get("OCL_ICD_FILENAMES", "").split(":")
    named = pathlib.Path(os.environ.get("OCL_ICD_VENDORS") or "/etc/OpenCL/vendors")
    for file in sorted(named.glob("*.icd")) if named.is_dir() else [named]:
        try:
            drivers.append(file.read_text().strip() if file.suffix == ".icd" else str(file))
        except (OSError, UnicodeDecodeError):
            pass  # the loader's business
    return [driver for driver in drivers if driver]


def load_drivers(library: str) -> ctypes.CDLL:
    """Loads OpenCL's `library`, and if it is the system's loader its drivers too, bound to their own dependencies.

    TensorFlow shows the symbols of its LLVM to all libraries. A driver that brings another LLVM (PoCL) would call
    that one: where it is loaded after TensorFlow, or has left the search for functions until they are called.
    """
    mode = os.RTLD_NOW | os.RTLD_LOCAL
    if hasattr(ctypes.CDLL(None), "LLVMContextCreate"):
        mode |= os.RTLD_DEEPBIND  # only then: it hides allocators that are preloaded
    loaded = ctypes.CDLL(library, mode)
    if pathlib.Path(library).name.startswith("libOpenCL.so"):
        for driver in _installed_drivers():
            try:
                ctypes.CDLL(driver, mode)
            except OSError:
                _logger.debug("%s cannot be loaded", driver, exc_info=True)  # the loader does without it
    return loaded


def client_options() -> dict:
    """The options of a client; JAX calls this when it makes one."""
    options = {"opencl_library": opencl_library()}
    try:
        load_drivers(options["opencl_library"])
    except OSError:
        pass  # the plugin says it
    count = device_platform.asked_devices()
    if count:
        options["num_devices"] = count
    return options


def set_environment() -> None:
    """Names the driver to clients that are not JAX's, and get no options."""
    os.environ["ISTHMUS_OPENCL_LIBRARY"] = client_options()["opencl_library"]


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
        # load_drivers() keeps a driver from TensorFlow's LLVM, but it need not be tried on those who did not ask.
        return False
    try:
        library = load_drivers(opencl_library())
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
    device_platform.complete_as_unknown(PLATFORM)

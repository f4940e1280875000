"""Registers platform `cuda` (PTX by LLVM, over NVIDIA's driver) with JAX.

JAX's own CUDA plugins have the same name, and JAX has lowerings for it that call
their libraries: where one of them is installed this platform stays away, and where it does not, host_lowerings.py
puts those of cpu in their place.
"""

import ctypes
import importlib.util
import logging
import os
import pathlib
import shutil
import sys

from isthmus import device_platform

PLATFORM = "cuda"
# Of JAX's own plugin.
PRIORITY = 500

PRIVATE_NAMES = device_platform.private_names(PLATFORM) + [
    ("jax._src.hardware_utils", "has_visible_nvidia_gpu", "the reason for which JAX leaves the platform out"),
]

_logger = logging.getLogger(__name__)
_is_beside = False  # JAX's own plugin keeps its name.


def library_path() -> pathlib.Path:
    """The plugin of this platform; ISTHMUS_CUDA_PLUGIN_PATH names another one."""
    return device_platform.library_path(PLATFORM, "ISTHMUS_CUDA_PLUGIN_PATH")


def toolkit_folders():
    """Where CUDA's compiler may be: PyPI's packages (nvidia-cuda-nvcc-cu12; of CUDA 13 nvidia-nvvm and
    nvidia-cuda-nvcc, which share a folder), then an installation of CUDA."""
    for folder in sys.path:
        for name in ("cuda_nvcc", "cu13"):
            yield pathlib.Path(folder, "nvidia", name)
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if os.environ.get(variable):
            yield pathlib.Path(os.environ[variable])
    nvcc = shutil.which("nvcc") or shutil.which("ptxas")
    if nvcc:
        yield pathlib.Path(nvcc).resolve().parent.parent
    yield pathlib.Path("/usr/local/cuda")


def toolkit_file(name: str):
    """The first file of this name in a folder of CUDA ("nvvm/libdevice/libdevice.10.bc"), or None."""
    return next((folder / name for folder in toolkit_folders() if (folder / name).is_file()), None)


# Libraries that the platform may use: the options that name them, where PyPI's packages of CUDA 12 and 13 have them
# below nvidia/, and the variables that name them instead.
PACKAGED_LIBRARIES = {
    "cuda_blas": (("cublas/lib", "cu13/lib"), "libcublasLt.so.*", "ISTHMUS_CUDA_BLAS"),
    "cuda_dnn": (("cudnn/lib",), "libcudnn.so.*", "ISTHMUS_CUDA_DNN"),
    "cuda_nccl": (("nccl/lib",), "libnccl.so.*", "ISTHMUS_CUDA_NCCL"),
}
# What these load by name, which no linker finds in packages either; the first needs none of the others.
PRELOADED_LIBRARIES = (
    (("cuda_runtime/lib", "cu13/lib"), "libcudart.so.*"),
    (("cuda_nvrtc/lib", "cu13/lib"), "libnvrtc.so.*"),
    (("cublas/lib", "cu13/lib"), "libcublasLt.so.*"),
    (("cublas/lib", "cu13/lib"), "libcublas.so.*"),
)


def _packaged(folders, pattern: str):
    """The library in one of the folders of PyPI's packages, or None."""
    for path in sys.path:
        for folder in folders:
            found = sorted(pathlib.Path(path, "nvidia", folder).glob(pattern))
            if found:
                return found[-1]
    return None


def packaged_libraries() -> dict:
    """Options that name the libraries of PyPI's packages, which no linker finds, unless the environment does."""
    options = {}
    for option, (folders, pattern, variable) in PACKAGED_LIBRARIES.items():
        found = None if variable in os.environ else _packaged(folders, pattern)
        if found:
            options[option] = str(found)
    return options


def preload() -> list:
    """Loads what packaged libraries look for by name (cuDNN: cuBLAS, NVRTC), as JAX's own plugin does; returns it."""
    loaded = []
    for folders, pattern in PRELOADED_LIBRARIES:
        found = _packaged(folders, pattern)
        try:
            if found:
                ctypes.CDLL(str(found))
                loaded.append(found)
        except OSError:
            _logger.debug("%s cannot be loaded", found, exc_info=True)  # whoever needs it says so
    return loaded


def driver_library() -> str:
    """NVIDIA's driver, or what the environment names instead."""
    return os.environ.get("ISTHMUS_CUDA_LIBRARY") or "libcuda.so.1"


def client_options() -> dict:
    """The options of a client; JAX calls this when it makes one."""
    packaged = packaged_libraries()
    if packaged:
        preload()
    options = {"cuda_library": driver_library()} | packaged
    libdevice = toolkit_file("nvvm/libdevice/libdevice.10.bc")
    if libdevice and not os.environ.get("ISTHMUS_CUDA_LIBDEVICE"):
        options["libdevice"] = str(libdevice)
    count = device_platform.asked_devices()
    if count:
        options["num_devices"] = count
    return options


def set_environment() -> None:
    """Names the libraries to clients that are not JAX's, and get no options."""
    for name, value in client_options().items():
        if name != "num_devices":
            os.environ["ISTHMUS_CUDA_" + name.removeprefix("cuda_").upper()] = value


def register_beside() -> str:
    """Registers the platform under a name of its own, which it returns, beside JAX's own CUDA plugin: to compare
    both in one process. To be called before JAX makes its clients; they must share the GPU's memory
    (XLA_PYTHON_CLIENT_PREALLOCATE=false)."""
    global _is_beside
    _is_beside = True
    name = f"isthmus_{PLATFORM}"
    device_platform.register(name, library_path(), PRIORITY - 1,
                             lambda: client_options() | {"platform_name": name})
    return name


def has_jax_plugin() -> bool:
    """Whether a CUDA plugin of JAX's own is installed."""
    return any(importlib.util.find_spec(name) is not None
               for name in ("jax_cuda12_plugin", "jax_cuda13_plugin"))


def _why_unwanted():
    """The reason for which the platform is left to others, or None.

    A plugin whose client cannot be made takes JAX down with it, so it is asked for by name.
    """
    import jax

    if _is_beside:
        return "it is registered under another name, beside JAX's own CUDA plugin"
    if not library_path().is_file():
        return f"there is no {library_path()}"
    if PLATFORM not in (jax.config.jax_platforms or "").split(","):
        return "JAX_PLATFORMS does not name it"
    if has_jax_plugin() and not os.environ.get("ISTHMUS_CUDA_PLUGIN_PATH"):
        return "JAX's own CUDA plugin is installed, and ISTHMUS_CUDA_PLUGIN_PATH does not name ours"
    return None


def _jax_sees_gpu() -> bool:
    """Whether JAX will make a client of this name: where it sees no GPU it goes on to the next platform, without a word."""
    try:
        from jax._src import hardware_utils
        return hardware_utils.has_visible_nvidia_gpu()
    except (ImportError, AttributeError):  # JAX's client will say it
        return True


def _why_unavailable():
    """What this machine lacks for the platform, or None."""
    try:
        ctypes.CDLL(driver_library())
    except OSError as error:
        return f"there is no NVIDIA driver: {error}"
    if not _jax_sees_gpu():
        return "JAX sees no NVIDIA GPU on this machine: there is no /dev/nvidia0, /dev/nvidiactl or /dev/dxg"
    return None


def why_not():
    """The reason for which the platform is not registered, or None."""
    return _why_unwanted() or _why_unavailable()


def register() -> None:
    """Registers the platform, if the user asks for it and a driver is there. Called by JAX once."""
    reason = _why_unwanted()
    if reason:
        _logger.info("platform cuda of Isthmus is not registered: %s", reason)
        return
    reason = _why_unavailable()
    if reason:
        # JAX itself says nothing, and goes on to the next platform or fails an assertion.
        _logger.warning("platform cuda of Isthmus is not available: %s", reason)
        return
    device_platform.register(PLATFORM, library_path(), PRIORITY, client_options, replaces=True)

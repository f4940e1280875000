"""The devices of PyTorch/XLA: PJRT_DEVICE=ISTHMUS, XPU, ISTHMUS_CUDA, and those of further platforms.

torch_xla finds these classes by the entry point group `torch_xla.plugins` (the wheel of each platform has its own) and
makes one of each when it is imported, whichever device is chosen; a library is loaded only for the chosen one.
"""

import os

from torch_xla.experimental import plugins

import isthmus
from isthmus import cuda_backend, further_platforms, xpu_backend


def num_devices() -> int:
    """Devices of a client: ISTHMUS_NUM_DEVICES, else CPU_NUM_DEVICES as for torch_xla's own, else 1."""
    for name in ("ISTHMUS_NUM_DEVICES", "CPU_NUM_DEVICES"):
        value = os.environ.get(name)
        if value:
            if not value.isdecimal() or int(value) < 1:
                raise ValueError(f"{name}: expected a positive integer, got {value!r}")
            return int(value)
    return 1


class _Plugin(plugins.DevicePlugin):
    """All devices are in one process: `xmp.spawn` starts a thread for each."""

    def physical_chip_count(self) -> int:
        return 1

    def configure_single_process(self):
        os.environ["ISTHMUS_NUM_DEVICES"] = "1"


class IsthmusPlugin(_Plugin):
    def library_path(self) -> str:
        return str(isthmus.library_path())

    def client_create_options(self) -> dict:
        return {"num_devices": num_devices()}


class XpuPlugin(_Plugin):
    def library_path(self) -> str:
        return str(xpu_backend.library_path())

    def client_create_options(self) -> dict:
        return xpu_backend.client_options()


class CudaPlugin(_Plugin):
    """Of a name of its own: torch_xla 2.9 ends the process for devices of a client whose platform is `cuda`."""

    def library_path(self) -> str:
        return str(cuda_backend.library_path())

    def client_create_options(self) -> dict:
        return cuda_backend.client_options() | {"platform_name": "isthmus_cuda"}


def _of_further_platform(platform: str):
    """The class of a platform that ./dev new-backend began."""

    class FurtherPlugin(_Plugin):
        def library_path(self) -> str:
            library = further_platforms.library_of(platform)
            if library is None:
                raise FileNotFoundError(f"isthmus: there is no libisthmus_{platform}.so")
            return str(library)

        def client_create_options(self) -> dict:
            return further_platforms.client_options()

    return FurtherPlugin


def __getattr__(name: str):
    """`platform_NAME`, which is the entry point in the wheel of platform NAME."""
    if name.startswith("platform_"):
        return _of_further_platform(name.removeprefix("platform_"))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""The device of PyTorch/XLA: PJRT_DEVICE=ISTHMUS.

torch_xla finds this class by the entry point group `torch_xla.plugins` and makes one when it is
imported, whichever device is chosen; the library is loaded only for ours.
"""

import os

from torch_xla.experimental import plugins

import isthmus


def num_devices() -> int:
    """Devices of a client: ISTHMUS_NUM_DEVICES, else CPU_NUM_DEVICES as for torch_xla's own, else 1."""
    for name in ("ISTHMUS_NUM_DEVICES", "CPU_NUM_DEVICES"):
        value = os.environ.get(name)
        if value:
            if not value.isdecimal() or int(value) < 1:
                raise ValueError(f"{name}: expected a positive integer, got {value!r}")
            return int(value)
    return 1


class IsthmusPlugin(plugins.DevicePlugin):
    """All devices are in one process: `xmp.spawn` starts a thread for each."""

    def library_path(self) -> str:
        return str(isthmus.library_path())

    def client_create_options(self) -> dict:
        return {"num_devices": num_devices()}

    def physical_chip_count(self) -> int:
        return 1

    def configure_single_process(self):
        os.environ["ISTHMUS_NUM_DEVICES"] = "1"

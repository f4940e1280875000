"""DLPack for arrays of devices that it does not name (platform xpu): copies in the host's memory.

Consumers (NumPy, PyTorch) get a copy as an array of the CPU. `jax.dlpack.from_dlpack` leaves an array of the
platform on its device.
"""

import functools

# module, name, and what stops working without it.
PRIVATE_NAMES = [
    ("jax._src.array", "ArrayImpl", "DLPack of arrays of the platform"),
    ("jax._src.dlpack", "to_dlpack", "DLPack of arrays of the platform"),
    ("jax._src.dlpack", "from_dlpack", "DLPack of arrays of the platform"),
    ("jax._src.dlpack", "DLDeviceType", "DLPack of arrays of the platform"),
]


def _device_of(value, platform):
    """The device of an array that lies on one of `platform`, else None."""
    import jax

    if not isinstance(value, jax.Array) or isinstance(value, jax.core.Tracer):
        return None
    devices = value.devices()
    device = next(iter(devices))
    return device if len(devices) == 1 and device.platform == platform else None


def install(platform: str) -> None:
    """Lets arrays of `platform` be handed out."""
    import jax
    import jax.dlpack
    from jax._src import array, dlpack, xla_bridge

    host = dlpack.DLDeviceType.kDLCPU
    original_device = array.ArrayImpl.__dlpack_device__
    original_to = dlpack.to_dlpack

    @functools.wraps(original_device)
    def __dlpack_device__(self):
        return original_device(self) if _device_of(self, platform) is None else (host, 0)

    @functools.wraps(original_to)
    def to_dlpack(x, stream=None, src_device=None, dl_device=None, max_version=None, copy=None):
        if _device_of(x, platform) is None:
            return original_to(x, stream=stream, src_device=src_device, dl_device=dl_device,
                               max_version=max_version, copy=copy)
        if dl_device is not None and dl_device[0] != host:
            raise BufferError(f"arrays of platform {platform} are handed out in the host's memory (kDLCPU), "
                              f"not on {dl_device}")
        if copy is not None and not copy:
            raise BufferError(f"arrays of platform {platform} are handed out as copies, and copy=False")
        copied = jax.device_put(x, xla_bridge.get_backend("cpu").local_devices()[0])
        return original_to(copied, max_version=max_version)

    @functools.cache  # both modules have the same one
    def leaving(original):
        @functools.wraps(original)
        def from_dlpack(external_array, device=None, copy=None):
            own = _device_of(external_array, platform)
            devices = getattr(device, "device_set", {device})
            if own is None or devices not in ({None}, {own}):
                return original(external_array, device, copy)
            return jax.numpy.array(external_array, copy=True) if copy else external_array
        return from_dlpack

    array.ArrayImpl.__dlpack_device__ = __dlpack_device__
    dlpack.to_dlpack = to_dlpack
    for module in (dlpack, jax.dlpack):
        module.from_dlpack = leaving(module.from_dlpack)

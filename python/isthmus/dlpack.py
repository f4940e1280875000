"""Which client takes the CPU memory that DLPack brings: JAX's own or this platform's.

JAX finds a client by the kind of memory alone, and both clients work on the CPU's. An array is to be
unpacked where the caller says, else where it came from, else on the default device; in each case
without a copy, unless one is asked for or the memory is not aligned. The copies are made by JAX's own
client, because jaxlib knows how to make them there only.

An array that comes before JAX has made its first backend goes to JAX's own client: nobody has asked
for this platform yet.
"""

import contextvars
import functools

PLATFORM = "isthmus"

# The client that from_dlpack was told, or saw on its argument.
_wanted = contextvars.ContextVar("isthmus_dlpack_client", default=None)


def _our_client():
    from jax._src import xla_bridge
    return xla_bridge.backends().get(PLATFORM)


class _Platforms(dict):
    """JAX's map from DLPack's kinds of device to platforms."""

    def __getitem__(self, kind):
        from jax._src import config, xla_bridge

        platform = super().__getitem__(kind)
        ours = _our_client()
        if platform != "cpu" or ours is None:
            return platform
        client = _wanted.get()
        if client is None:
            device = config.default_device.value
            client = getattr(device, "client", None) or xla_bridge.get_backend()
        return PLATFORM if client is ours else platform


def _client_of(array, device):
    """The client that the caller asks for by `device`, a device or a sharding, else the array's."""
    import jax

    devices = getattr(device, "device_set", None) or ({device} if device is not None else None)
    if devices is None and isinstance(array, jax.Array):
        devices = array.devices()
    return getattr(next(iter(devices)), "client", None) if devices else None


def _choose_client(original):
    """from_dlpack that remembers what its arguments say about the client."""

    @functools.wraps(original)
    def from_dlpack(external_array, *args, **kwargs):
        device = args[0] if args else kwargs.get("device")
        token = _wanted.set(_client_of(external_array, device))
        try:
            return original(external_array, *args, **kwargs)
        finally:
            _wanted.reset(token)

    return from_dlpack


def _copy_on_cpu(original):
    """jaxlib's import of a capsule, which copies for its own CPU client only."""

    @functools.wraps(original)
    def dlpack_managed_tensor_to_buffer(capsule, device=None, stream=None, copy=None, *rest):
        ours = _our_client()
        if ours is None or getattr(device, "client", None) is not ours:
            return original(capsule, device, stream, copy, *rest)
        if not copy:
            try:
                return original(capsule, device, stream, False, *rest)
            except Exception as error:
                if copy is False or "is not aligned to" not in str(error):
                    raise
        from jax._src import xla_bridge

        cpu = xla_bridge.get_backend("cpu").local_devices()[0]
        array = original(capsule, cpu, stream, True, *rest)
        return original(array.__dlpack__(), device, stream, False, *rest)

    return dlpack_managed_tensor_to_buffer


def install() -> None:
    """Makes JAX's imports of DLPack arrays choose between the two clients."""
    import jax.dlpack
    from jax._src import dlpack
    from jaxlib import _jax

    if type(dlpack._DL_DEVICE_TO_PLATFORM) is not dict:
        return
    dlpack._DL_DEVICE_TO_PLATFORM = _Platforms(dlpack._DL_DEVICE_TO_PLATFORM)
    _jax.dlpack_managed_tensor_to_buffer = _copy_on_cpu(_jax.dlpack_managed_tensor_to_buffer)
    original = dlpack.from_dlpack
    for module in (dlpack, jax.dlpack):
        if module.from_dlpack is original:
            module.from_dlpack = _choose_client(original)

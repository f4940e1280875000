"""Registers the plugin with JAX, and gives platform `isthmus` what JAX keeps for names it knows.

The client is registered as `isthmus` and reports the platform name `cpu`, which it is: JAX then uses
its CPU lowerings, donation, callbacks and caches (docs/adr/0005-platform-name-cpu.md). The rest is
here and in the modules beside it. Everything private that is touched is listed in PRIVATE_NAMES, and
python/tests/registration_test.py says which of them a new version of JAX has moved.
"""

import ctypes
import logging
import os

import isthmus
from isthmus import device_platform
from isthmus.platform_alias import bring_cpu

PLATFORM = "isthmus"
# Above JAX's own CPU client (0), below GPU plugins (500): installing the wheel never takes the
# default away from an accelerator.
PRIORITY = 400

# module, name, and what stops working without it.
PRIVATE_NAMES = [
    ("jax._src.xla_bridge", "register_plugin", "registration"),
    ("jax._src.xla_bridge", "_backend_factories", "NumPy views that outlive their client"),
    ("jax._src.xla_bridge", "_nonexperimental_plugins", "silence of the 'experimental' warning"),
    ("jax._src.xla_bridge", "_alias_to_platforms", "callbacks under JAX_PLATFORMS=isthmus"),
    ("jax._src.xla_bridge", "num_cpu_devices", "jax_num_cpu_devices"),
    ("jaxlib.xla_client", "_custom_callback_handler", "custom calls and callbacks"),
    ("jaxlib.xla_client", "_custom_type_id_handler", "custom calls with states"),
    ("jaxlib.xla_client", "register_custom_call_handler", "custom calls and callbacks"),
    ("jaxlib.xla_client", "register_custom_type_handler", "custom calls with states"),
    ("jaxlib._jax", "custom_call_targets", "jaxlib's own handlers"),
    ("jaxlib._jax", "register_custom_call_target", "custom calls of JAX's own CPU client"),
    ("jaxlib._jax", "register_custom_type", "custom calls with states of JAX's own CPU client"),
    ("jaxlib.lapack", "_lapack", "linear algebra in executables from the cache"),
    ("jax._src.dlpack", "_DL_DEVICE_TO_PLATFORM", "DLPack without a copy"),
    ("jaxlib._jax", "dlpack_managed_tensor_to_buffer", "DLPack with a copy"),
    ("jax._src.dlpack", "from_dlpack", "DLPack that leaves arrays on the client they are on"),
    ("jax._src.config", "default_device", "DLPack without a copy"),
    ("jax._src.config", "jax_platforms", "staying out of jobs of several processes"),
    ("jax._src.distributed", "global_state", "staying out of jobs of several processes"),
]

_logger = logging.getLogger(__name__)


def num_devices() -> int:
    """How many devices a client has.

    ISTHMUS_NUM_DEVICES, else what JAX was told for its own CPU client: jax_num_cpu_devices, else
    --xla_force_host_platform_device_count in XLA_FLAGS, else 1.
    """
    from jax._src import xla_bridge

    asked = device_platform.asked_devices()
    if asked:
        return asked
    if xla_bridge.num_cpu_devices.value > 0:
        return xla_bridge.num_cpu_devices.value
    for flag in reversed(os.environ.get("XLA_FLAGS", "").split()):
        name, _, value = flag.partition("=")
        if name == "--xla_force_host_platform_device_count" and value.isdecimal() and int(value):
            return int(value)
    return 1


def client_options() -> dict:
    """The options of a client; JAX calls this when it makes one."""
    from jax._src import distributed

    options = {"num_devices": num_devices()}
    # Which of the machine's networks the other processes are in.
    if distributed.global_state.coordinator_address:
        options["coordinator_address"] = distributed.global_state.coordinator_address
    return options


def is_wanted(platform: str = PLATFORM) -> bool:
    """Whether to offer a platform to this process.

    Always, but in a job of several processes only if JAX_PLATFORMS names it. JAX makes a client of
    every registered platform, and one over several processes waits for all of them: a job that never
    asked would depend on the wheel being installed on each of its machines.
    """
    from jax._src import config, distributed

    if distributed.global_state.client is None or distributed.global_state.num_processes < 2:
        return True
    return platform in (config.jax_platforms.value or "").split(",")


def keep_clients() -> None:
    """Keeps the clients that JAX makes until the process ends.

    A NumPy view of an array's memory holds jaxlib's C++ reference to the buffer, which calls the client
    by a plain pointer when it goes. The array that the view holds does not always hold the client (one
    shard of a replicated array does not), so that a view that lives longer than JAX's backends, at
    module scope for example, would call a client that is freed. JAX's own CPU client has no such
    reference.
    """
    from jax._src import xla_bridge

    registration = getattr(xla_bridge, "_backend_factories", {}).get(PLATFORM)
    if registration is None:
        return
    make = registration.factory

    def make_and_keep():
        client = make()
        # Never released: not even by the interpreter's end, when views may be the last to go.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(client))
        return client

    registration.factory = make_and_keep


def _named_in_environment():
    """The library of the platform in PJRT_NAMES_AND_LIBRARY_PATHS, which JAX registers itself.

    None if the platform is not named there.
    """
    for entry in os.environ.get("PJRT_NAMES_AND_LIBRARY_PATHS", "").split(","):
        name, _, path = entry.partition(":")
        if name.strip() == PLATFORM:
            return path.strip()
    return None


def register() -> None:
    """Registers the platform. Called by JAX once, before its first backend is made.

    Does nothing but log if the library is not there: a failing plugin would take JAX down with it.
    """
    from jax._src import xla_bridge

    # JAX warns that platforms other than those in this set are experimental, and looks at registration.
    getattr(xla_bridge, "_nonexperimental_plugins", set()).add(PLATFORM)
    library = _named_in_environment()
    if library is None and not is_wanted():
        _logger.info("platform isthmus stays out of a job of several processes that does not name it "
                     "in JAX_PLATFORMS")
        return
    if library is None:
        library = isthmus.library_path()
        if not library.is_file():
            _logger.warning("platform isthmus is not available: no library at %s", library)
            return
        xla_bridge.register_plugin(
            PLATFORM, priority=PRIORITY, library_path=str(library), options=client_options)
    keep_clients()

    bring_cpu(PLATFORM)

    try:
        from isthmus import ffi
        ffi.install(library)
    except Exception:  # the rest of the platform works without
        _logger.warning("platform isthmus has no custom calls and callbacks", exc_info=True)

    try:
        from isthmus import dlpack
        dlpack.install()
    except Exception:  # arrays are then exchanged through JAX's own client, with a copy
        _logger.warning("platform isthmus has no DLPack without a copy", exc_info=True)

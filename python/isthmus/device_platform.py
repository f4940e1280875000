"""What platforms of devices (xpu, cuda) have in common in registering themselves with JAX."""

import functools
import logging
import os
import pathlib

import isthmus
from isthmus import dlpack_copies, host_lowerings
from isthmus.platform_alias import bring_cpu

_logger = logging.getLogger(__name__)


def private_names(platform: str) -> list:
    """Module, name, and what stops working without it."""
    return [
        ("jax._src.xla_bridge", "register_plugin", "registration"),
        ("jax._src.xla_bridge", "_nonexperimental_plugins", "silence of the 'experimental' warning"),
        ("jax._src.xla_bridge", "_alias_to_platforms", f"callbacks under JAX_PLATFORMS={platform}"),
    ] + host_lowerings.PRIVATE_NAMES


class _KnownClient:
    """A client as the compilation cache asks for it, under a platform's name that it has in its list."""

    platform = "cpu"

    def __init__(self, client):
        self.supports_executable_serialization = getattr(client, "supports_executable_serialization", True)


def use_compilation_cache(platform: str) -> None:
    """Lets JAX's compilation cache serve a platform whose executables can be serialized."""
    from jax._src import compilation_cache

    original = compilation_cache.is_cache_used

    @functools.wraps(original)
    def is_cache_used(backend):
        return original(_KnownClient(backend) if backend.platform == platform else backend)

    compilation_cache.is_cache_used = is_cache_used


def library_path(platform: str, variable: str) -> pathlib.Path:
    """The plugin of a platform; the environment's `variable` names another one."""
    override = os.environ.get(variable)
    if override:
        return pathlib.Path(override)
    return isthmus.library_path().with_name(f"libisthmus_{platform}.so")


def asked_devices() -> int | None:
    """ISTHMUS_NUM_DEVICES, if it is set."""
    own = os.environ.get("ISTHMUS_NUM_DEVICES")
    if not own:
        return None
    if not own.isdecimal() or int(own) < 1:
        raise ValueError(f"ISTHMUS_NUM_DEVICES: expected a positive integer, got {own!r}")
    return int(own)


def complete(platform: str, library: pathlib.Path, replaces: bool = False) -> None:
    """Gives a platform that is about to be registered callbacks, custom calls and the lowerings of cpu."""
    from jax._src import xla_bridge

    # What registers it asks whether it is experimental, and warns.
    getattr(xla_bridge, "_nonexperimental_plugins", set()).add(platform)
    bring_cpu(platform)
    try:
        from isthmus import ffi
        ffi.install(library, platform)
        host_lowerings.install(platform, replaces=replaces)
    except Exception:  # the rest of the platform works without
        _logger.warning("platform %s has no custom calls and callbacks", platform, exc_info=True)


def complete_as_unknown(platform: str) -> None:
    """Gives a platform whose name JAX does not know the compilation cache and DLPack."""
    try:
        use_compilation_cache(platform)
    except Exception:  # programs are then compiled by each process
        _logger.warning("platform %s has no compilation cache", platform, exc_info=True)
    try:
        dlpack_copies.install(platform)
    except Exception:  # arrays then leave by NumPy only
        _logger.warning("platform %s has no DLPack", platform, exc_info=True)


def register(platform: str, library: pathlib.Path, priority: int, options, replaces: bool = False) -> None:
    """Registers a platform. `options` gives those of a client when one is made; `replaces`: JAX has
    lowerings of its own for the platform's name."""
    from jax._src import xla_bridge

    complete(platform, library, replaces)
    xla_bridge.register_plugin(
        platform, priority=priority, library_path=str(library), options=options)

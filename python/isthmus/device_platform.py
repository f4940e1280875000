"""What platforms of devices (xpu, cuda) have in common in registering themselves with JAX."""

import logging
import os
import pathlib

import isthmus
from isthmus import host_lowerings


def private_names(platform: str) -> list:
    """Module, name, and what stops working without it."""
    return [
        ("jax._src.xla_bridge", "register_plugin", "registration"),
        ("jax._src.xla_bridge", "_nonexperimental_plugins", "silence of the 'experimental' warning"),
        ("jax._src.xla_bridge", "_alias_to_platforms", f"callbacks under JAX_PLATFORMS={platform}"),
    ] + host_lowerings.PRIVATE_NAMES


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


def register(platform: str, library: pathlib.Path, priority: int, options, replaces: bool = False) -> None:
    """Registers a platform. `options` gives those of a client when one is made; `replaces`: JAX has
    lowerings of its own for the platform's name."""
    from jax._src import xla_bridge

    getattr(xla_bridge, "_nonexperimental_plugins", set()).add(platform)
    xla_bridge.register_plugin(
        platform, priority=priority, library_path=str(library), options=options)
    # Callbacks run on JAX's own CPU client, which JAX_PLATFORMS of the platform alone would leave out.
    getattr(xla_bridge, "_alias_to_platforms", {})[platform] = [platform, "cpu"]

    try:
        from isthmus import ffi
        ffi.install(library, platform)
        host_lowerings.install(platform, replaces=replaces)
    except Exception:  # the rest of the platform works without
        logging.getLogger(__name__).warning(
            "platform %s has no custom calls and callbacks", platform, exc_info=True)

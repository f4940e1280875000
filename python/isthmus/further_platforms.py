"""Platforms of devices that this package does not know: those of plugins that ./dev new-backend began.

The plugin of platform NAME is `libisthmus_NAME.so`: beside this package's library, where its wheel puts it
(./dev wheel --of NAME), or where PJRT_NAMES_AND_LIBRARY_PATHS says. Both are clients of names of their own, so they
get what platform xpu gets (xpu_backend.py).
"""

import os
import pathlib
import re

import isthmus
from isthmus import device_platform

# Those that have modules of their own, and libraries that are no plugins.
_OTHERS = {"isthmus", "xpu", "cuda", "gloo", "model"}
# As platform xpu: a device that is no faster than the CPU must not become the default.
PRIORITY = 200


def named() -> dict:
    """Platform -> library, of those in PJRT_NAMES_AND_LIBRARY_PATHS that are Isthmus's; JAX registers them itself."""
    found = {}
    for entry in os.environ.get("PJRT_NAMES_AND_LIBRARY_PATHS", "").split(","):
        name, _, path = (part.strip() for part in entry.partition(":"))
        if name not in _OTHERS and pathlib.Path(path).name == f"libisthmus_{name}.so":
            found[name] = pathlib.Path(path)
    return found


def library_of(platform: str) -> pathlib.Path | None:
    """The plugin of a platform, or None."""
    if platform in _OTHERS or not re.fullmatch(r"[a-z][a-z0-9_]*", platform):
        return None
    beside = isthmus.library_path().with_name(f"libisthmus_{platform}.so")
    return named().get(platform) or (beside if beside.is_file() else None)


def client_options() -> dict:
    """The options of a client; JAX calls this when it makes one."""
    count = device_platform.asked_devices()
    return {"num_devices": count} if count else {}


def register() -> None:
    """Registers what JAX_PLATFORMS names and a wheel has brought, and gives all of them what JAX keeps for names it
    knows. Called by JAX once. Those that are not named stay away: a plugin without a device takes JAX down with it."""
    import jax

    in_environment = named()
    for platform, library in in_environment.items():
        device_platform.complete(platform, library)
        device_platform.complete_as_unknown(platform)
    for platform in (jax.config.jax_platforms or "").split(","):
        library = library_of(platform)
        if library and platform not in in_environment:
            device_platform.register(platform, library, PRIORITY, client_options)
            device_platform.complete_as_unknown(platform)

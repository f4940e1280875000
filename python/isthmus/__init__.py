"""Isthmus: a PJRT plugin, compiler and runtime.

JAX finds the plugin by itself once the wheel is installed, PyTorch/XLA by PJRT_DEVICE=ISTHMUS. Other
programs that speak the PJRT C API load `library_path()`. Without any framework, `compile` runs
StableHLO on NumPy arrays (`isthmus.client`).
"""

import importlib.metadata
import pathlib


def library_path() -> pathlib.Path:
    """The shared library that exports GetPjrtApi.

    The environment variable ISTHMUS_LIBRARY_PATH names another one, such as a build tree's.
    """
    # Not at the top: JAX imports this package when it starts.
    import os

    override = os.environ.get("ISTHMUS_LIBRARY_PATH")
    return pathlib.Path(override) if override else pathlib.Path(__file__).parent / "libisthmus.so"


def version() -> str:
    """The version of the installed wheel, or "unknown" when run from a source tree."""
    try:
        return importlib.metadata.version("isthmus")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


_CLIENT_NAMES = (
    "Array", "Client", "Error", "Executable", "compile", "default_client", "deserialize", "put")


def __getattr__(name: str):
    # JAX and torch_xla import this package when they start: the client, and NumPy, only when asked.
    if name not in _CLIENT_NAMES:
        raise AttributeError(f"module 'isthmus' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module("isthmus.client"), name)

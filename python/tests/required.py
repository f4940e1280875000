"""What tests need of a machine: CI must have it (ISTHMUS_REQUIRE_PLUGIN), so that they fail there; elsewhere they are skipped."""

import importlib
import os

import pytest

IS_REQUIRED = bool(os.environ.get("ISTHMUS_REQUIRE_PLUGIN"))


def lacks(what):
    """Ends the test, for want of something."""
    (pytest.fail if IS_REQUIRED else pytest.skip)(what)


def needs(is_there, what):
    """A decorator of tests that need something. Where it must be there they run, and fail without it."""
    return pytest.mark.skipif(not is_there and not IS_REQUIRED, reason=what)


def module(name):
    """A module of ours, which not each JAX can import, such as one that lacks what we use of it."""
    return importlib.import_module(name) if IS_REQUIRED else pytest.importorskip(name)

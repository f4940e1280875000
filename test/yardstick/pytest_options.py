"""A plugin of pytest in jax_tests.py's workers: which device JAX's tests believe in, and a sample of them.

ISTHMUS_YARDSTICK_DEVICE is JAX's own flag jax_test_dut ("device under test"). ISTHMUS_YARDSTICK_SAMPLE is
N: of each file every Nth test, rounded up. Which ones depends on their names and ISTHMUS_YARDSTICK_SEED alone, so that
they are the same on all platforms, whatever else was collected. ISTHMUS_YARDSTICK_FAKE_GPU: there is a GPU, whatever JAX sees.
"""

import os
import sys
import zlib


def sample(names, every, seed=0):
    """Every `every`th of the names, rounded up: those with the smallest checksums, which start with the seed."""
    count = -(-len(names) // every)
    return set(sorted(names, key=lambda name: (zlib.crc32(name.encode(), seed), name))[:count])


def pytest_configure(config):
    device = os.environ.get("ISTHMUS_YARDSTICK_DEVICE")
    if device:
        # Where each test file looks for JAX's flags. An import of JAX's test library here would come before
        # pytest captures what is printed, and that library remembers where that goes.
        sys.argv.append(f"--jax_test_dut={device}")
    if os.environ.get("ISTHMUS_YARDSTICK_FAKE_GPU"):
        # JAX looks for one in the file system before it makes a client of platform cuda.
        from jax._src import hardware_utils
        hardware_utils.has_visible_nvidia_gpu = lambda: True


def pytest_collection_modifyitems(config, items):
    every = int(os.environ.get("ISTHMUS_YARDSTICK_SAMPLE", "1"))
    if every <= 1:
        return
    name = lambda item: item.nodeid.split("/")[-1]  # noqa: E731
    files = {}
    for item in items:
        files.setdefault(name(item).split("::")[0], []).append(name(item))
    seed = int(os.environ.get("ISTHMUS_YARDSTICK_SEED", "0"))
    kept = set().union(*(sample(names, every, seed) for names in files.values()))
    config.hook.pytest_deselected(items=[item for item in items if name(item) not in kept])
    items[:] = [item for item in items if name(item) in kept]

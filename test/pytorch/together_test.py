"""Frameworks in one process, imported in any order, each with the plugin."""

import itertools
import os
import subprocess
import sys

import pytest

for module in ("jax", "torch_xla"):
    pytest.importorskip(module)

USES = {
    "jax": "import jax; assert float(jax.numpy.add(1, 1)) == 2; assert 'sthmus' in repr(jax.devices())",
    "torch_xla": "import torch_xla, torch as t; assert t.ones(2).to(torch_xla.device()).sum().item() == 2",
    "isthmus": "import isthmus, numpy; isthmus.put(numpy.ones(2)).block_until_ready()",
}


@pytest.mark.parametrize("order", itertools.permutations(USES), ids="-".join)
def test_any_order(order):
    code = "\n".join(USES[name] for name in order)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300,
                          env={**os.environ, "JAX_PLATFORMS": "isthmus", "PJRT_DEVICE": "ISTHMUS"})
    assert done.returncode == 0, done.stderr[-2000:]

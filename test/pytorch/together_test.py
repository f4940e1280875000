"""Frameworks in one process, imported in any order, each with the plugin.

Every order of two of them occurs, and everybody is first and last: a list and its reverse, rotated. Except one:
torch_xla after TensorFlow ends the process (both register LLVM's options), without Isthmus too.
"""

import os
import subprocess
import sys

import pytest

for module in ("jax", "torch_xla", "tensorflow"):
    pytest.importorskip(module)

# What each does when it is imported, and again when all are there.
IMPORTS = {
    "jax": "import jax",
    "torch": "import torch",
    "torch_xla": "import torch_xla",
    "tensorflow": "import tensorflow as tf",
    "protobuf": "from google.protobuf import struct_pb2",
    "isthmus": "import isthmus, numpy",
}
USES = {
    "jax": "assert float(jax.numpy.add(1, 1)) == 2 and 'sthmus' in repr(jax.devices())",
    "torch": "assert torch.ones(2).sum().item() == 2",
    "torch_xla": "import torch as t; assert t.ones(2).to(torch_xla.device()).sum().item() == 2",
    "tensorflow": """
with tf.device("/ISTHMUS:0"):
    doubled = tf.function(lambda x: x + x, jit_compile=True)(tf.ones(2))
assert "ISTHMUS" in doubled.device and doubled.numpy().sum() == 4""",
    "protobuf": """
message = struct_pb2.Struct()
message["a"] = 1
assert struct_pb2.Struct.FromString(message.SerializeToString())["a"] == 1""",
    "isthmus": "assert (numpy.asarray(isthmus.put(numpy.ones(2))) == 1).all()",
}


def orders():
    names = list(IMPORTS)
    for line in (names, names[::-1]):
        for begin in range(0, len(line), 2):
            order = line[begin:] + line[:begin]
            if order.index("tensorflow") < order.index("torch_xla"):
                order.remove("torch_xla")
                order.insert(order.index("tensorflow"), "torch_xla")
            yield order


@pytest.mark.parametrize("order", list(orders()), ids="-".join)
def test_any_order(order):
    code = "\n".join([IMPORTS[name] + "\n" + USES[name] for name in order] + [USES[name] for name in order])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300,
                          env={**os.environ, "JAX_PLATFORMS": "isthmus", "PJRT_DEVICE": "ISTHMUS"})
    assert done.returncode == 0, done.stderr[-2000:]

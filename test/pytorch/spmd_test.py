"""Several devices: shardings of one program, and a thread for each device.

SPMD cannot be switched off again in a process, so each test has one of its own.
"""

import os
import subprocess
import sys

import pytest

pytest.importorskip("torch_xla")

SHARDED = """
import numpy as np, torch, torch_xla, torch_xla.runtime as xr, torch_xla.distributed.spmd as xs
xr.use_spmd()
assert xr.global_runtime_device_count() == 4
torch.manual_seed(0)
a, b = torch.randn(8, 16), torch.randn(16, 12)
mesh = xs.Mesh(np.arange(4), (2, 2), ("x", "y"))
device = torch_xla.device()
left, right = a.to(device), b.to(device)
xs.mark_sharding(left, mesh, ("x", None))
xs.mark_sharding(right, mesh, (None, "y"))
product = left @ right
xs.mark_sharding(product, mesh, ("x", "y"))
result = torch.relu(product) + 1
torch_xla.sync()
np.testing.assert_allclose(result.cpu(), torch.relu(a @ b) + 1, atol=1e-5)
assert "devices=" in torch_xla._XLAC._get_xla_sharding_spec(product)
assert "devices=" in torch_xla._XLAC._get_xla_sharding_spec(left)
print("ok")
"""

TRAINED = """
import numpy as np, torch, torch_xla, torch_xla.runtime as xr, torch_xla.distributed.spmd as xs
xr.use_spmd()
mesh = xs.Mesh(np.arange(4), (4,), ("batch",))
device = torch_xla.device()
torch.manual_seed(0)
x, y = torch.randn(16, 8), torch.randn(16, 4)
curves = []
for where in ("cpu", device):
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.GELU(), torch.nn.Linear(32, 4)).to(where)
    inputs, targets = x.to(where), y.to(where)
    if where != "cpu":
        xs.mark_sharding(inputs, mesh, ("batch", None))
        xs.mark_sharding(targets, mesh, ("batch", None))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    curve = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        torch_xla.sync()
        curve.append(float(loss.detach()))
    curves.append(curve)
np.testing.assert_allclose(curves[1], curves[0], rtol=1e-4)
print("ok")
"""

SPAWNED = """
import torch, torch_xla, torch_xla.core.xla_model as xm, torch_xla.distributed.xla_multiprocessing as xmp
import torch_xla.runtime as xr

def work(index):
    x = torch.full((3,), float(xr.global_ordinal() + 1)).to(torch_xla.device())
    total = xm.all_reduce(xm.REDUCE_SUM, x)
    torch_xla.sync()
    assert total.cpu().tolist() == [10.0] * 3, total
    print("ok", flush=True)

if __name__ == "__main__":
    xmp.spawn(work)
"""


def run(tmp_path, code):
    script = tmp_path / "program.py"
    script.write_text(code)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=240,
                          env={**os.environ, "ISTHMUS_NUM_DEVICES": "4"})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_marked_shardings(tmp_path):
    assert "ok" in run(tmp_path, SHARDED)


def test_training_with_a_sharded_batch(tmp_path):
    assert "ok" in run(tmp_path, TRAINED)


def test_a_thread_for_each_device(tmp_path):
    assert run(tmp_path, SPAWNED).count("ok") == 4

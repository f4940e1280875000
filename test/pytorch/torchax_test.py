"""torchax: PyTorch's models by JAX, on platform isthmus."""

import os
import subprocess
import sys

import pytest

for module in ("jax", "torch", "torchax"):
    pytest.importorskip(module)

PROGRAM = """
import sys
sys.path.insert(0, {folder!r})
import jax, numpy as np, torch, torchax
import pytorch_models as models
assert jax.devices()[0].platform == "cpu" and "isthmus" in jax.devices()[0].client.platform_version.lower()
torch.manual_seed(0)
model, (x, y) = models.ALL[{name!r}](), models.data({name!r}, 4)
model.eval()
expected = model(x).detach()
torchax.enable_globally()
got = model.to("jax")(x.to("jax"))
np.testing.assert_allclose(np.asarray(got.jax()), expected, rtol=1e-3, atol=1e-4)
print("ok")
"""


@pytest.mark.parametrize("name", ["mlp", "cnn", "resnet18", "vit", "bert", "gpt"])
def test_model(name):
    code = PROGRAM.format(folder=os.path.dirname(os.path.abspath(__file__)), name=name)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600,
                          env={**os.environ, "JAX_PLATFORMS": "isthmus"})
    assert done.returncode == 0 and "ok" in done.stdout, done.stderr[-3000:]

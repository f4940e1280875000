"""torch.export to StableHLO, and back as a program that needs no PyTorch."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")
torch_xla = pytest.importorskip("torch_xla")

import isthmus  # noqa: E402

import pytorch_models as models  # noqa: E402


@pytest.mark.parametrize("name", ["mlp", "cnn", "gpt"])
def test_exported_model_runs_without_pytorch(name, tmp_path):
    from torch_xla import stablehlo

    torch.manual_seed(0)
    model, (x, _) = models.ALL[name]().eval(), models.data(name, batch=2)
    with torch.no_grad():
        expected = model(x)
    graph = stablehlo.exported_program_to_stablehlo(torch.export.export(model, (x,)))
    np.testing.assert_allclose(isthmus.compile(graph)(x.numpy()), expected, rtol=1e-4, atol=1e-5)
    graph.save(tmp_path / "saved")
    saved = isthmus.compile(tmp_path / "saved")
    np.testing.assert_allclose(saved(x.numpy()), expected, rtol=1e-4, atol=1e-5)


# torch_xla reads the variable when it is imported.
EXPORT_ANY_BATCH = """
import sys, numpy, torch, torch_xla, isthmus
import pytorch_models as models
from torch_xla import stablehlo
from torch_xla.experimental import unbounded_dynamism_export  # what takes the place of operations of fixed sizes

torch.manual_seed(0)
model, (x, _) = models.ALL["mlp"]().eval(), models.data("mlp", batch=3)
batch = torch.export.Dim("batch", min=2)
graph = stablehlo.exported_program_to_stablehlo(
    torch.export.export(model, (x,), dynamic_shapes=({0: batch},)))
assert "tensor<?x3x32x32xf32>" in graph.get_stablehlo_text()
for count in (2, 5):
    x = torch.randn(count, 3, 32, 32)
    got = isthmus.compile(graph, shapes=[x.shape])(x.numpy())
    numpy.testing.assert_allclose(got, model(x).detach(), rtol=1e-4, atol=1e-5)
"""


def test_exported_model_of_any_batch():
    done = subprocess.run(
        [sys.executable, "-c", EXPORT_ANY_BATCH], capture_output=True, text=True, cwd=pathlib.Path(__file__).parent,
        env={**os.environ, "EXPERIMENTAL_XLA_UNBOUNDED_DYNAMISM": "1"})
    assert done.returncode == 0, done.stderr


# In a process of its own: TensorFlow stays out of the other tests'.
WRITE_SAVED_MODELS = """
import sys

import torch, torch_xla
from torch_xla.tf_saved_model_integration import save_torch_module_as_tf_saved_model
import jax, numpy, tensorflow as tf
from jax.experimental import jax2tf

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.BatchNorm1d(16), torch.nn.Linear(16, 4)).eval()
x = torch.rand(3, 8)
save_torch_module_as_tf_saved_model(model, (x,), sys.argv[1] + "/torch")
numpy.save(sys.argv[1] + "/x.npy", x.numpy())
numpy.save(sys.argv[1] + "/torch.npy", model(x).detach().numpy())

def function(w, b, a):  # more than ten results: their names are not in their order
    y = jax.numpy.tanh(b @ w["kernel"] + w["bias"])
    return (*(y[:, i % 3] * i for i in range(11)), a + 1)

w = {"kernel": numpy.linspace(-1, 1, 24, dtype="f4").reshape(8, 3), "bias": numpy.ones(3, jax.numpy.bfloat16)}
for name, options in (("jax", {}), ("portable", {"native_serialization_platforms": ("cpu", "cuda")})):
    with tf.device("/CPU:0"):
        module = tf.Module()
        module.w = tf.nest.map_structure(tf.Variable, w)
        converted = jax2tf.convert(function, **options)
        module.f = tf.function(
            lambda b, a: converted(module.w, b, a), autograph=False, jit_compile=True,
            input_signature=[tf.TensorSpec((3, 8)), tf.TensorSpec((2,), tf.int32)])
        tf.saved_model.save(module, sys.argv[1] + "/" + name)
numpy.savez(sys.argv[1] + "/jax.npz", *function(w, x.numpy(), numpy.arange(2)))
"""


def test_saved_models_with_variables_run_without_tensorflow(tmp_path):
    pytest.importorskip("jax.experimental.jax2tf")
    subprocess.run([sys.executable, "-c", WRITE_SAVED_MODELS, tmp_path], check=True)
    x = np.load(tmp_path / "x.npy")
    np.testing.assert_allclose(isthmus.compile(tmp_path / "torch")(x), np.load(tmp_path / "torch.npy"),
                               rtol=1e-4, atol=1e-5)
    expected = list(np.load(tmp_path / "jax.npz").values())
    for name in ("jax", "portable"):
        program = isthmus.compile(tmp_path / name)
        assert program.names == ["a", "b"]
        order = sorted(range(len(expected)), key=lambda i: f"output_{i}")
        for i, got in zip(order, program(b=x, a=np.arange(2, dtype=np.int32))):
            np.testing.assert_allclose(got, expected[i], rtol=1e-4, atol=1e-5)


def test_tensors_without_a_copy():
    add = isthmus.compile("""func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = stablehlo.add %x, %x : tensor<4xf32>
      return %0 : tensor<4xf32>
    }""")
    result = torch.from_dlpack(add(torch.arange(4.0)))
    assert result.tolist() == [0, 2, 4, 6]

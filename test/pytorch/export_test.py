"""torch.export to StableHLO, and back as a program that needs no PyTorch."""

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


def test_tensors_without_a_copy():
    add = isthmus.compile("""func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = stablehlo.add %x, %x : tensor<4xf32>
      return %0 : tensor<4xf32>
    }""")
    result = torch.from_dlpack(add(torch.arange(4.0)))
    assert result.tolist() == [0, 2, 4, 6]

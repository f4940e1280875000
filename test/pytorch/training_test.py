"""Models learn on ISTHMUS as they do in eager PyTorch on the CPU."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
torch_xla = pytest.importorskip("torch_xla")

import pytorch_models as models  # noqa: E402


@pytest.mark.parametrize("name", models.ALL)
def test_learns_as_eager_pytorch_does(name):
    expected = models.losses(name, "cpu", 8)
    got = models.losses(name, torch_xla.device(), 8, torch_xla.sync)
    # Adam divides by the root of tiny squares: rounding grows from step to step.
    np.testing.assert_allclose(got, expected, rtol=5e-3)
    assert expected[-1] < expected[0]


def test_compiled_by_torch_compile():
    torch.manual_seed(0)
    model, x = models.mlp(), torch.randn(4, 3, 32, 32)
    expected = model(x).detach()
    device = torch_xla.device()
    compiled = torch.compile(model.to(device), backend="openxla")
    with torch.no_grad():
        got = compiled(x.to(device))
    np.testing.assert_allclose(got.cpu(), expected, rtol=1e-4, atol=1e-5)


def test_linear_algebra():
    torch.manual_seed(0)
    a = torch.randn(3, 6, 6)
    symmetric = a + a.mT
    device = torch_xla.device()
    q, r = torch.linalg.qr(a.to(device))
    np.testing.assert_allclose((q @ r).cpu(), a, atol=1e-5)
    values, vectors = torch.linalg.eigh(symmetric.to(device))
    np.testing.assert_allclose(values.cpu(), torch.linalg.eigvalsh(symmetric), atol=1e-5)
    rebuilt = vectors @ torch.diag_embed(values) @ vectors.mT
    np.testing.assert_allclose(rebuilt.cpu(), symmetric, atol=1e-5)


def test_sizes_that_only_the_program_knows():
    x = torch.arange(12.0).reshape(3, 4)
    mask = x % 3 == 0
    source = -torch.ones(3, 4)
    device = torch_xla.device()
    got = x.to(device).masked_scatter(mask.to(device), source.to(device))
    np.testing.assert_allclose(got.cpu(), x.masked_scatter(mask, source))

    leaf = x.to(device).requires_grad_()
    leaf.masked_select(mask.to(device)).sum().backward()
    np.testing.assert_allclose(leaf.grad.cpu(), mask.float())

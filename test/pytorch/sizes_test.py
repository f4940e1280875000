"""Operations whose results have as many elements as values say: forward, backward, and what follows them."""

import pytest

torch = pytest.importorskip("torch")
torch_xla = pytest.importorskip("torch_xla")

OPERATIONS = {
    "masked_select": lambda v: v.x.masked_select(v.mask),
    "nonzero": lambda v: v.mask.nonzero(),
    "indices": lambda v: v.x[v.mask.nonzero(as_tuple=True)],
    "where": lambda v: torch.where(v.mask)[0],
    "argwhere": lambda v: torch.argwhere(v.mask),
    "mask": lambda v: v.x[v.mask],
    "put": lambda v: v.x.clone().index_put((v.mask,), v.x.new_tensor(7.0)),
    "masked_scatter": lambda v: v.x.masked_scatter(v.mask, v.y),
    "unique": lambda v: torch.unique(v.numbers),
    "bincount": lambda v: torch.bincount(v.numbers),
    "repeat_interleave": lambda v: torch.repeat_interleave(v.x, v.numbers, dim=0),
    "mean": lambda v: v.x[v.mask].mean(),
    "sort": lambda v: v.x[v.mask].sort()[0],
    "cumsum": lambda v: v.x[v.mask].cumsum(0),
    "softmax": lambda v: v.x[v.mask].softmax(0),
    "concatenated": lambda v: torch.cat([v.x[v.mask], v.x[v.mask] + 1]),
    "product": lambda v: v.x[v.mask][:, None] @ v.y[:1, :4],
    "count": lambda v: torch.tensor(v.x[v.mask].shape[0]),
}
GRADIENTS = {
    "masked_select": lambda v: (v.x.masked_select(v.mask) ** 2).sum(),
    "mask": lambda v: (v.x[v.mask] * 2).sum(),
    "masked_scatter": lambda v: (v.x.masked_scatter(v.mask, v.y) * v.y).sum(),
    "of_the_source": lambda v: (v.y.masked_scatter(v.mask, v.x) * v.y).sum(),
    "softmax": lambda v: (v.x[v.mask].softmax(0) ** 2).sum(),
    "loss": lambda v: torch.nn.functional.cross_entropy(v.x[v.numbers != 0], v.numbers[v.numbers != 0]),
}


class Values:
    def __init__(self, device):
        generator = torch.Generator().manual_seed(0)
        x, y = torch.randn(2, 6, 5, generator=generator)
        self.x, self.y, self.mask = x.to(device), y.to(device), (x > 0.2).to(device)
        self.numbers = torch.tensor([3, 1, 1, 0, 4, 3]).to(device)


@pytest.mark.parametrize("name", OPERATIONS)
def test_results(name):
    got = OPERATIONS[name](Values(torch_xla.device()))
    torch.testing.assert_close(got.cpu(), OPERATIONS[name](Values("cpu")), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name):
    def gradient(device):
        values = Values(device)
        values.x.requires_grad_()
        GRADIENTS[name](values).backward()
        return values.x.grad.cpu()

    torch.testing.assert_close(gradient(torch_xla.device()), gradient("cpu"), rtol=1e-4, atol=1e-5)

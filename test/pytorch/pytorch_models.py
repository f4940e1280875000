"""Small models of the kinds that people train, with data for them."""

import torch
from torch import nn
from torch.nn import functional as F


class Residual(nn.Module):
    """A basic block of ResNet."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.second = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norms = nn.ModuleList([nn.BatchNorm2d(outputs), nn.BatchNorm2d(outputs)])
        self.shortcut = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = F.relu(self.norms[0](self.first(x)))
        return F.relu(self.norms[1](self.second(y)) + self.shortcut(x))


def resnet18():
    widths, layers, inputs = (16, 32, 64, 128), [], 16
    for i, width in enumerate(widths):
        layers += [Residual(inputs, width, 1 if i == 0 else 2), Residual(width, width, 1)]
        inputs = width
    return nn.Sequential(nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), *layers,
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, 10))


def cnn():
    return nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(32 * 8 * 8, 10))


def mlp():
    return nn.Sequential(nn.Flatten(), nn.Linear(3 * 32 * 32, 256), nn.GELU(), nn.Linear(256, 10))


def encoder_layer(width, heads):
    return nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0.0, activation="gelu",
                                      batch_first=True, norm_first=True)


class Vit(nn.Module):
    def __init__(self, width=64, patch=8):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.place = nn.Parameter(torch.randn(1, (32 // patch) ** 2, width) * 0.02)
        self.layers = nn.ModuleList([encoder_layer(width, 4) for _ in range(2)])
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2) + self.place
        for layer in self.layers:
            x = layer(x)
        return self.head(x.mean(1))


class Bert(nn.Module):
    """An encoder that guesses each token."""

    def __init__(self, words=100, width=64, length=32):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.layers = nn.ModuleList([encoder_layer(width, 4) for _ in range(2)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words)

    def forward(self, x):
        h = self.words(x) + self.places(torch.arange(x.shape[1], device=x.device))
        for layer in self.layers:
            h = layer(h)
        return self.head(self.norm(h)).transpose(1, 2)


class Block(nn.Module):
    """A block of GPT."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.qkv, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (t.view(batch, length, self.heads, -1).transpose(1, 2)
                   for t in self.qkv(self.norms[0](x)).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.project(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.norms[1](x))


class Gpt(nn.Module):
    def __init__(self, words=100, width=64, length=32):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*[Block(width, 4) for _ in range(2)])
        self.head = nn.Linear(width, words)

    def forward(self, x):
        h = self.words(x) + self.places(torch.arange(x.shape[1], device=x.device))
        return self.head(self.blocks(h)).transpose(1, 2)


class Lstm(nn.Module):
    def __init__(self, words=100, width=64):
        super().__init__()
        self.words, self.cells = nn.Embedding(words, width), nn.LSTM(width, width, batch_first=True)
        self.head = nn.Linear(width, words)

    def forward(self, x):
        return self.head(self.cells(self.words(x))[0]).transpose(1, 2)


IMAGES = {"mlp": mlp, "cnn": cnn, "resnet18": resnet18, "vit": Vit}
TEXTS = {"bert": Bert, "lstm": Lstm, "gpt": Gpt}
ALL = {**IMAGES, **TEXTS}


def data(name, batch=16):
    if name in IMAGES:
        return torch.randn(batch, 3, 32, 32), torch.randint(0, 10, (batch,))
    words = torch.randint(0, 100, (batch, 33))
    return (words[:, :-1], words[:, 1:]) if name != "bert" else (words[:, :-1], words[:, :-1])


def losses(name, device, steps, after_step=lambda: None):
    """The losses of some steps of Adam on one batch, from the same start on every device."""
    torch.manual_seed(0)
    model, (x, y) = ALL[name](), data(name)
    model, x, y = model.to(device), x.to(device), y.to(device)
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    result = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        after_step()
        result.append(loss.detach())
    return [float(loss) for loss in result]

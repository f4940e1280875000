"""Parameters and data of the models, which both frameworks begin with."""

import numpy as np

RESNET_WIDTHS = (64, 128, 256, 512)
RESNET_BATCH, RESNET_SIZE, RESNET_CLASSES = 8, 224, 1000
LAYERS, WIDTH, HEADS, VOCABULARY, BATCH, LENGTH = 4, 512, 8, 8192, 4, 256


def _random(seed, *shape, scale=1.0):
    return np.random.default_rng(seed).standard_normal(shape, np.float32) * np.float32(scale)


class _Named:
    """Parameters by name, each drawn from a seed of its own."""

    def __init__(self):
        self.values = {}

    def normal(self, name, *shape, fan):
        self.values[name] = _random(len(self.values), *shape, scale=(2 / fan) ** 0.5)

    def constant(self, name, value, *shape):
        self.values[name] = np.full(shape, value, np.float32)

    def norm(self, name, width):
        self.constant(f"{name}.weight", 1, width)
        self.constant(f"{name}.bias", 0, width)


def resnet_blocks():
    """(name, inputs, outputs, stride) of ResNet-18's basic blocks."""
    inputs = 64
    for i, width in enumerate(RESNET_WIDTHS):
        for j in range(2):
            yield f"block{i}{j}", inputs, width, 2 if i and not j else 1
            inputs = width


def resnet18():
    """Parameters (filters as height, width, inputs, outputs), running statistics, images (NHWC) and labels."""
    named, statistics = _Named(), {}

    def convolution(name, size, inputs, outputs):
        named.normal(f"{name}.filter", size, size, inputs, outputs, fan=size * size * inputs)
        named.norm(f"{name}.norm", outputs)
        statistics[f"{name}.norm.mean"] = np.zeros(outputs, np.float32)
        statistics[f"{name}.norm.variance"] = np.ones(outputs, np.float32)

    convolution("stem", 7, 3, 64)
    for name, inputs, outputs, stride in resnet_blocks():
        convolution(f"{name}.first", 3, inputs, outputs)
        convolution(f"{name}.second", 3, outputs, outputs)
        if stride != 1 or inputs != outputs:
            convolution(f"{name}.shortcut", 1, inputs, outputs)
    named.normal("head.weight", RESNET_WIDTHS[-1], RESNET_CLASSES, fan=RESNET_WIDTHS[-1])
    named.constant("head.bias", 0, RESNET_CLASSES)
    images = _random(1000, RESNET_BATCH, RESNET_SIZE, RESNET_SIZE, 3)
    labels = np.random.default_rng(1001).integers(0, RESNET_CLASSES, RESNET_BATCH)
    return named.values, statistics, images, labels


def transformer():
    """Parameters (weights as inputs, outputs) and tokens, of which the last ones are only predicted."""
    named = _Named()
    named.normal("tokens", VOCABULARY, WIDTH, fan=VOCABULARY)
    named.normal("places", LENGTH, WIDTH, fan=VOCABULARY)
    for i in range(LAYERS):
        named.norm(f"{i}.norm1", WIDTH)
        named.norm(f"{i}.norm2", WIDTH)
        for name, inputs, outputs in [("qkv", WIDTH, 3 * WIDTH), ("out", WIDTH, WIDTH),
                                      ("up", WIDTH, 4 * WIDTH), ("down", 4 * WIDTH, WIDTH)]:
            named.normal(f"{i}.{name}.weight", inputs, outputs, fan=2 * inputs)
            named.constant(f"{i}.{name}.bias", 0, outputs)
    named.norm("norm", WIDTH)
    tokens = np.random.default_rng(1002).integers(0, VOCABULARY, (BATCH, LENGTH + 1))
    return named.values, tokens


def operation(name):
    """The arguments of an operation, in f32."""
    return {
        "matmul 1024": lambda: (_random(0, 1024, 1024), _random(1, 1024, 1024)),
        "gelu 4M": lambda: (_random(0, 4 << 20),),
        "layer norm 4096x1024": lambda: (_random(0, 4096, 1024), _random(1, 1024), _random(2, 1024)),
        "softmax 2048x4096": lambda: (_random(0, 2048, 4096),),
        "attention 4x8x512x64": lambda: tuple(_random(i, 4, 8, 512, 64) for i in range(3)),
        "sort 1M": lambda: (_random(0, 1 << 20),),
        "conv 3x3 8x56x56x64": lambda: (_random(0, 8, 56, 56, 64), _random(1, 3, 3, 64, 64, scale=0.05)),
        "conv 3x3 gradient": lambda: (_random(0, 8, 56, 56, 64), _random(1, 3, 3, 64, 64, scale=0.05)),
    }[name]()


OPERATIONS = ["matmul 1024", "gelu 4M", "layer norm 4096x1024", "softmax 2048x4096", "attention 4x8x512x64",
              "sort 1M", "conv 3x3 8x56x56x64", "conv 3x3 gradient"]
MODELS = ["resnet18 step", "transformer step"]

"""The same of PyTorch, as its documentation writes it: channels last for convolutions, autocast for bf16."""

import contextlib

import arrays
import torch
from torch.nn import functional as F

RATE, MOMENTUM = 0.01, 0.9


def _images(x):
    """NHWC as PyTorch has it: NCHW, of which the channels are last in memory."""
    return torch.from_numpy(x).permute(0, 3, 1, 2).to(memory_format=torch.channels_last)


def _filter(x):
    return torch.from_numpy(x).permute(3, 2, 0, 1).to(memory_format=torch.channels_last)


def _resnet(params, running, images, labels):
    def convolution(x, name, stride, padding):
        x = F.conv2d(x, params[f"{name}.filter"], stride=stride, padding=padding)
        return F.batch_norm(x, running[f"{name}.norm.mean"], running[f"{name}.norm.variance"],
                            params[f"{name}.norm.weight"], params[f"{name}.norm.bias"], True, 0.1, 1e-5)

    x = F.max_pool2d(F.relu(convolution(images, "stem", 2, 3)), 3, 2, 1)
    for name, inputs, outputs, stride in arrays.resnet_blocks():
        y = F.relu(convolution(x, f"{name}.first", stride, 1))
        y = convolution(y, f"{name}.second", 1, 1)
        if stride != 1 or inputs != outputs:
            x = convolution(x, f"{name}.shortcut", stride, 0)
        x = F.relu(x + y)
    x = F.linear(x.mean((2, 3)), params["head.weight"], params["head.bias"])
    return F.cross_entropy(x, labels)


def _transformer(params, tokens):
    def norm(x, name):
        return F.layer_norm(x, (arrays.WIDTH,), params[f"{name}.weight"], params[f"{name}.bias"], 1e-5)

    def dense(x, name):
        return F.linear(x, params[f"{name}.weight"], params[f"{name}.bias"])

    x = F.embedding(tokens[:, :-1], params["tokens"]) + params["places"]
    batch, length, width = x.shape
    for i in range(arrays.LAYERS):
        qkv = dense(norm(x, f"{i}.norm1"), f"{i}.qkv").view(batch, length, 3, arrays.HEADS, -1)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + dense(y.transpose(1, 2).reshape(batch, length, width), f"{i}.out")
        x = x + dense(F.gelu(dense(norm(x, f"{i}.norm2"), f"{i}.up")), f"{i}.down")
    scores = F.linear(norm(x, "norm"), params["tokens"])
    return F.cross_entropy(scores.flatten(0, 1), tokens[:, 1:].flatten())


def _convolution(x, filter_):
    return F.conv2d(x, filter_, padding=1)


_OPERATIONS = {
    "matmul 1024": torch.matmul,
    "gelu 4M": F.gelu,
    "layer norm 4096x1024": lambda x, weight, bias: F.layer_norm(x, (1024,), weight, bias, 1e-5),
    "softmax 2048x4096": lambda x: F.softmax(x, -1),
    "attention 4x8x512x64": F.scaled_dot_product_attention,
    "sort 1M": lambda x: torch.sort(x).values,
    "conv 3x3 8x56x56x64": _convolution,
}


def _operation(name, type_, compiled):
    values = arrays.operation(name)
    if name.startswith("conv"):
        values = [_images(values[0]), _filter(values[1])]
    else:
        values = [torch.from_numpy(a) for a in values]
    values = [a.to(type_) for a in values]
    if name != "conv 3x3 gradient":
        function = compiled(_OPERATIONS[name])

        def run():
            with torch.no_grad():
                return function(*values)

        return run
    values = [a.requires_grad_() for a in values]
    loss = compiled(lambda x, f: (_convolution(x, f) ** 2).sum())
    return lambda: torch.autograd.grad(loss(*values), values)


def prepare(name, type_, is_compiled):
    compiled = torch.compile if is_compiled else lambda function: function
    compute = {"f32": torch.float32, "bf16": torch.bfloat16}[type_]
    if name in arrays.OPERATIONS:
        return _operation(name, compute, compiled)
    if name == "resnet18 step":
        params, running, images, labels = arrays.resnet18()
        running = {key: torch.from_numpy(value) for key, value in running.items()}
        batch = running, _images(images), torch.from_numpy(labels)
        loss_of, optimizer = _resnet, lambda p: torch.optim.SGD(p, RATE, MOMENTUM, fused=True)
    else:
        params, tokens = arrays.transformer()
        batch = (torch.from_numpy(tokens),)
        loss_of = _transformer
        optimizer = lambda p: torch.optim.AdamW(p, 1e-3, weight_decay=0.01, fused=True)  # noqa: E731

    def parameter(key, value):
        if value.ndim == 4:
            return _filter(value)
        # A layer's weights are outputs, inputs.
        return torch.from_numpy(value.T.copy() if key.endswith(".weight") and value.ndim == 2 else value)

    params = {key: parameter(key, value).requires_grad_() for key, value in params.items()}
    optimizer = optimizer(list(params.values()))
    loss_of = compiled(loss_of)
    mixed = (lambda: torch.autocast("cpu", torch.bfloat16)) if type_ == "bf16" else contextlib.nullcontext

    def run():
        optimizer.zero_grad()
        with mixed():
            loss = loss_of(params, *batch)
        loss.backward()
        optimizer.step()
        return loss

    return run


def leaves(result):
    """What a run returned, as arrays in f32; images and filters as JAX has them."""
    results = result if isinstance(result, (tuple, list)) else [result]
    values = [x.detach().float() for x in results]
    if len(values) == 2:
        return [values[0].permute(0, 2, 3, 1).numpy(), values[1].permute(2, 3, 1, 0).numpy()]
    return [(x.permute(0, 2, 3, 1) if x.ndim == 4 and x.shape[1] == 64 else x).numpy() for x in values]

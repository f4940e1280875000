"""What PyTorch's libraries reach on this GPU, as lines of `name: seconds, rate`: copies, cuBLASLt's products, cuDNN's attention.

    python bench/ceilings.py [--json FILE]

Kernels are judged beside these: JAX calls neither library in every case. Times are of the device, by its events.
"""

import argparse
import json
import pathlib

import torch
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel


def seconds(call, repeats=20):
    """The median of runs, after warming up."""
    for _ in range(3):
        call()
    marks = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(repeats)]
    for begin, end in marks:
        begin.record()
        call()
        end.record()
    torch.cuda.synchronize()
    return sorted(begin.elapsed_time(end) for begin, end in marks)[repeats // 2] / 1e3


def attention(backend, length, count, width, batch, gradient=False):
    q, k, v = (torch.randn(batch, count, length, width, device="cuda", dtype=torch.bfloat16, requires_grad=gradient)
               for _ in range(3))
    operations = 4 * batch * count * length * length * width / 2  # Half of the scores are masked.

    def run():
        with sdpa_kernel(backend):
            out = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        if gradient:
            torch.autograd.grad(out, (q, k, v), out)
    return seconds(run), operations * (3.5 if gradient else 1), "FLOP/s"


def product(type_, n, *, tf32=False):
    torch.backends.cuda.matmul.allow_tf32 = tf32
    a, b = (torch.randn(n, n, device="cuda").to(type_) for _ in range(2))
    return seconds(lambda: a @ b), 2 * n**3, "FLOP/s"


def copy(count):
    a, b = torch.randn(2, count, device="cuda")
    return seconds(lambda: b.copy_(a)), 8 * count, "B/s"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    print(torch.cuda.get_device_name(), "PyTorch", torch.__version__, "cuDNN", torch.backends.cudnn.version())
    cases = {"copy of 256 MB": lambda: copy(64 << 20)}
    for n, type_ in ((8192, torch.bfloat16), (4096, torch.bfloat16), (4096, torch.float16), (4096, torch.float32)):
        cases[f"matmul {str(type_).removeprefix('torch.')} {n}"] = lambda n=n, type_=type_: product(type_, n)
    cases["matmul float64 2048"] = lambda: product(torch.float64, 2048)
    cases["matmul tf32 4096"] = lambda: product(torch.float32, 4096, tf32=True)
    for name, backend in (("cuDNN", SDPBackend.CUDNN_ATTENTION), ("flash", SDPBackend.FLASH_ATTENTION)):
        cases[f"causal attention 4x2048x16x128 by {name}"] = lambda b=backend: attention(b, 2048, 16, 128, 4)
        cases[f"causal attention 8x1024x12x64 by {name}"] = lambda b=backend: attention(b, 1024, 12, 64, 8)
        cases[f"forward and gradient of attention 4x1024x16x64 by {name}"] = lambda b=backend: attention(
            b, 1024, 16, 64, 4, gradient=True)
    found = {}
    for name, case in cases.items():
        try:
            taken, work, unit = case()
        except RuntimeError as error:  # A library may lack one.
            print(f"{name}: {str(error).splitlines()[0]}")
            continue
        found[name] = {"seconds": taken, "rate": work / taken, "unit": unit}
        print(f"{name}: {taken * 1e6:.1f} us, {work / taken / 1e12:.2f} T{unit}", flush=True)
    if options.json:
        options.json.write_text(json.dumps({"device": torch.cuda.get_device_name(), "found": found}, indent=1))


if __name__ == "__main__":
    main()

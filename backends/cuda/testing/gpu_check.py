"""Tries platform cuda on a real GPU: programs against JAX's CPU client, with both own kernels and NVIDIA's libraries.

    python gpu_check.py [--only PATTERN] [--json FILE] [--seconds N]

Needs JAX, NumPy, an NVIDIA driver, and ISTHMUS_CUDA_PLUGIN_PATH; nothing of a build. Every check stands alone: one that
fails is named, and the next one runs. Exit status 1 if any failed.
"""

import argparse
import functools
import json
import os
import pathlib
import re
import sys
import time
import traceback

os.environ["JAX_PLATFORMS"] = ""
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "bench")]

import accelerator  # noqa: E402
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax import lax  # noqa: E402

CHECKS = {}
# Of results of that precision, relative to the largest number of the expected array.
TOLERANCE = {"float32": 2e-5, "bfloat16": 2e-2, "float16": 3e-3, "float64": 1e-12, "complex64": 2e-5}


def numbers(*shape, dtype=np.float32, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def check(name, *arguments):
    """The function is run with these on both platforms, and must give the same."""
    def add(function):
        CHECKS[name] = (function, arguments)
        return function
    return add


def whole(name):
    """The function is called with our device and raises if something is wrong."""
    def add(function):
        CHECKS[name] = (function, None)
        return function
    return add


# ---- Kernels ------------------------------------------------------------------------------------

x = numbers(300, 517)
check("add and broadcast", x, x[:1])(lambda a, b: a * 2 + b)
check("transcendental functions", x)(lambda a: [f(a) for f in (jnp.exp, jnp.tanh, jnp.sin, lax.logistic, jnp.log1p)])
check("special functions of libdevice", np.abs(x) + 1)(lambda a: [lax.lgamma(a), lax.digamma(a), lax.erf_inv(a / 20)])
check("sums of rows, of columns, of all", x)(lambda a: [a.sum(0), a.sum(1), a.sum(), a.max(0), a.argmax(1)])
check("a long sum", numbers(3_000_000))(lambda a: a.sum())
check("softmax and layer norm", x)(lambda a: [jax.nn.softmax(a), (a - a.mean(1, keepdims=True)) / a.std(1)[:, None]])
check("transposes", numbers(65, 130, 33))(lambda a: [a.transpose(p) for p in ((2, 1, 0), (0, 2, 1), (1, 0, 2))])
check("integers", np.arange(-500, 500, dtype=np.int32))(lambda a: [a // 7, a % 7, a << 2, lax.population_count(a)])
check("sort, top and unique order", x)(lambda a: [jnp.sort(a), jnp.argsort(a, 0), lax.top_k(a, 5)])
check("scans", x)(lambda a: [jnp.cumsum(a, 1), lax.cummax(a, 0)])
check("scans in parts", np.arange(3_000_001, dtype=np.int32), np.arange(1_000_002, dtype=np.int32).reshape(-1, 2, 3))(
    lambda a, b: [jnp.cumsum(a), lax.cummax(a % 1000, reverse=True), jnp.cumsum(b, 0), jnp.cumsum(b, 0).sum(0)])
check("neighbours of a thread", numbers(999, 1001), numbers(1, 1001, seed=1))(
    lambda a, b: [a + 1, a.astype(jnp.bfloat16) * 2, (a * 9).astype(np.int8), a + b])
check("rows of whole vectors", numbers(70, 4096))(lambda a: [a.sum(1), a.max(1), jax.nn.softmax(a), a / a.std(1)[:, None]])
check("transposes of squares", numbers(999, 1001))(lambda a: [a.T, a.astype(jnp.bfloat16).T, (a + 1j * a).T, (a > 0).T])
check("gather and scatter", x, np.array([5, 5, 299, 0]))(
    lambda a, i: [a[i], a.at[i].add(1.0), jax.ops.segment_sum(a, jnp.arange(300) % 7, 7)])
check("random bits", np.uint32([1, 2]))(lambda k: [jax.random.bits(k, (1001,)), jax.random.uniform(k, (1001,))])
check("small types", x)(lambda a: [a.astype(t).astype(np.float32) for t in (jnp.bfloat16, jnp.float16,
                                                                           jnp.float8_e4m3fn, np.int8)])
check("complex numbers", x + 1j * x[::-1])(lambda a: [a * a, jnp.exp(a / 10), jnp.abs(a)])

# ---- Products, convolutions, attention ----------------------------------------------------------

for type_name in ("float32", "bfloat16", "float16"):
    dtype = jnp.dtype(type_name)
    for m, n, k in ((128, 128, 128), (1000, 504, 264), (33, 65, 17), (1, 2048, 512)):
        check(f"product {type_name} {m}x{k}x{n}", numbers(m, k, dtype=dtype), numbers(k, n, dtype=dtype, seed=1))(
            lambda a, b: jnp.dot(a, b, preferred_element_type=np.float32, precision="highest"))
    check(f"products of all layouts {type_name}", numbers(4, 96, 64, dtype=dtype), numbers(4, 96, 80, dtype=dtype))(
        lambda a, b: [jnp.einsum("bkm,bkn->bmn", a, b, precision="highest"),
                      jnp.einsum("bmk,blk->bml", a, a, precision="highest")])
    check(f"products of batches in two dimensions {type_name}", numbers(2, 1024, 4, 64, dtype=dtype),
          numbers(2, 1024, 4, 64, dtype=dtype, seed=1), numbers(70, 32, 3, 16, dtype=dtype))(
        lambda a, b, c: [jnp.einsum("bqnd,bknd->bnqk", a, b, precision="highest"),
                         jnp.einsum("bqnd,bknd->bnqk", c, c, precision="highest")])
    check(f"bias and activation {type_name}", numbers(300, 264, dtype=dtype), (numbers(264, 504, seed=1) / 16).astype(dtype),
          numbers(504, dtype=dtype, seed=2))(
        lambda a, w, b: [a @ w + b, jax.nn.relu(a @ w), jax.nn.relu(a @ w + b), jax.nn.gelu(a @ w), jax.nn.gelu(a @ w + b),
                         jax.nn.gelu(a @ w + b, approximate=False)])
    check(f"convolution {type_name}", numbers(2, 28, 28, 16, dtype=dtype), numbers(3, 3, 16, 32, dtype=dtype))(
        lambda a, w: lax.conv_general_dilated(a, w, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")))
    check(f"a large convolution and its gradients {type_name}", numbers(8, 56, 56, 64, dtype=dtype),
          (numbers(3, 3, 64, 64, seed=1) / 24).astype(dtype), numbers(8, 56, 56, 64, dtype=dtype, seed=2))(
        lambda a, w, g: jax.vjp(lambda a, w: lax.conv_general_dilated(
            a, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")), a, w)[1](g))
    check(f"residual, bias and activation of a convolution {type_name}", numbers(2, 28, 28, 16, dtype=dtype),
          (numbers(3, 3, 16, 32, seed=1) / 12).astype(dtype), numbers(32, dtype=dtype, seed=2),
          numbers(2, 28, 28, 32, dtype=dtype, seed=3))(
        lambda a, w, b, z: [jax.nn.relu(lax.conv_general_dilated(
            a * one, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")) + b + rest)
            for one, rest in ((1, 0), (2, z))])
    check(f"a convolution of pixels and its gradients {type_name}", numbers(2, 14, 14, 32, dtype=dtype),
          numbers(1, 1, 32, 64, dtype=dtype))(
        lambda a, w: jax.value_and_grad(lambda a, w: (lax.conv_general_dilated(
            a, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")).astype(np.float32) ** 2).sum(),
            (0, 1))(a, w))
    check(f"gradients of a convolution {type_name}", numbers(2, 14, 14, 8, dtype=dtype),
          numbers(3, 3, 8, 16, dtype=dtype))(
        lambda a, w: jax.grad(lambda a, w: (lax.conv_general_dilated(
            a, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")).astype(np.float32) ** 2).sum(),
            (0, 1))(a, w))
for type_name in ("float32", "bfloat16"):
    check(f"attention {type_name}", *(numbers(2, 256, 4, 64, dtype=jnp.dtype(type_name), seed=s) for s in range(3)))(
        lambda q, k, v: jax.nn.dot_product_attention(q, k, v, is_causal=True))


def attends(name, *more, rows=512, keys=512, heads=8, key_heads=8, size=64, **how):
    """Forward, and the gradients of queries, keys and values; `more` are arrays for arguments of these names."""
    names = [one for one, _ in more]
    arrays = [numbers(2, n, h, size, dtype=jnp.bfloat16, seed=s)
              for s, (n, h) in enumerate(((rows, heads), (keys, key_heads), (keys, key_heads)))]
    def function(q, k, v, *rest):
        return jax.nn.dot_product_attention(q, k, v, **dict(zip(names, rest)), **how)
    check(f"attention {name}", *arrays, *(array for _, array in more))(function)
    check(f"gradients of attention {name}", *arrays, numbers(2, rows, heads, size, dtype=jnp.bfloat16, seed=3),
          *(array for _, array in more))(
        lambda q, k, v, g, *rest: jax.vjp(lambda q, k, v: function(q, k, v, *rest), q, k, v)[1](g))


for head_size in (64, 128):
    attends(f"of heads of {head_size}", size=head_size)
    attends(f"causal of heads of {head_size}", size=head_size, is_causal=True)
attends("of groups", key_heads=2, is_causal=True)
attends("over other lengths", rows=200, keys=333)
attends("with a mask", ("mask", np.random.default_rng(5).random((2, 1, 512, 512)) > 0.3))
attends("with a bias", ("bias", numbers(1, 8, 512, 512, dtype=jnp.bfloat16, seed=4)))
attends("with a bias by keys and a causal mask", ("bias", numbers(2, 1, 1, 512, seed=4)), is_causal=True)
attends("of sequences", ("query_seq_lengths", np.int32([500, 200])), ("key_value_seq_lengths", np.int32([100, 512])))
# Every seventh row has no key: all keys are left out alike.
for left_out in (-1e9, -1e30, float(np.finfo(np.float32).min) * 0.7, float(np.finfo(np.float32).min)):
    attends(f"with rows without keys of {left_out:.2e}",
            ("bias", np.full((1, 1, 512, 512), np.where(np.arange(512) % 7 == 0, left_out, 0)[:, None], np.float32)))
attends("of one query", rows=1, keys=4096)


# JAX's own has no products of f16 for CPUs.
@check("attention float16", *(numbers(2, 512, 8, 64, dtype=np.float16, seed=s) for s in range(3)))
def attention_of_halves(q, k, v):
    scores = jnp.einsum("btnh,bsnh->bnts", q, k, preferred_element_type=np.float32) / 8
    kept = jnp.arange(512)[:, None] >= jnp.arange(512)
    return jnp.einsum("bnts,bsnh->btnh", jax.nn.softmax(jnp.where(kept, scores, -1e30)).astype(q.dtype), v)


for type_name in ("float32", "bfloat16", "int32"):  # Of the last, the library has none.
    dtype = jnp.dtype(type_name)
    check(f"products with vectors {type_name}", (numbers(3, 4096) * 9).astype(dtype), (numbers(4096, 1000) * 9).astype(dtype))(
        lambda a, b: [lax.dot(a[0], b), lax.dot(b.T, a[0]), lax.dot(a, b), jnp.einsum("mk,nk->mn", b[:, :16].T, a)])
check("product float64", numbers(100, 70, dtype=np.float64), numbers(70, 90, dtype=np.float64))(jnp.dot)
check("product int8", (numbers(64, 128) * 30).astype(np.int8), (numbers(128, 64) * 30).astype(np.int8))(
    lambda a, b: lax.dot(a, b, preferred_element_type=np.int32))

# Networks that train: in f32, since rectifiers make of roundings to bf16 other gradients.
for name, (step, arguments) in {
        "language model": accelerator.language_model(2, 64, 192, 2, 500),
        "residual network": accelerator.residual_network(4, 16, 32)}.items():
    check(f"a training step of a {name}", *arguments)(functools.partial(step, compute=jnp.float32))

# ---- Control flow, the host's part --------------------------------------------------------------

check("loops", x)(lambda a: [lax.fori_loop(0, 10, lambda i, c: c * 0.5 + i, a),
                             lax.while_loop(lambda c: c.sum() < 1e6, lambda c: c * 2 + 1, a[:4]),
                             lax.scan(lambda c, r: (c + r, c.sum()), a[0], a)])
check("branches", x)(lambda a: [lax.cond(a[0, 0] > 0, jnp.tanh, jnp.cos, a),
                                lax.switch(2, [jnp.sin, jnp.cos, jnp.exp], a)])
check("linear algebra by the host", numbers(20, 20))(lambda a: jnp.linalg.cholesky(a @ a.T + 20 * jnp.eye(20)))


@whole("graphs replay with new numbers")
def graphs(device):
    f = jax.jit(lambda a, b: jnp.tanh(a @ b) + 1)
    for seed in range(8):
        a, b = numbers(256, 256, seed=seed), numbers(256, 256, seed=seed + 100)
        expect(f(jax.device_put(a, device), jax.device_put(b, device)), np.tanh(a @ b) + 1, 1e-3)


@whole("ReLU keeps NaNs")
def relu_of_nan(device):
    a, w, b = (numbers(*shape) for shape in ((128, 256), (256, 128), (128,)))
    a[3, 5] = np.nan
    expect(jax.jit(lambda a, w, b: jax.nn.relu(a @ w + b))(*(jax.device_put(one, device) for one in (a, w, b))),
           np.maximum(a @ w + b, 0), 1e-3)
    images, kernel = numbers(2, 16, 16, 32), numbers(1, 3, 32, 64)
    images[1, 3, 5, 7], images[0, 2, 2, 1] = np.nan, np.inf
    bias = numbers(64)
    sums = sum(np.einsum("bhwi,io->bhwo", images[:, :, i:i + 14], kernel[0, i]) for i in range(3))
    f = jax.jit(lambda x, w, b: jax.nn.relu(lax.conv_general_dilated(
        x, w, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")) + b))
    expect(f(*(jax.device_put(one, device) for one in (images, kernel, bias))), np.maximum(sums + bias, 0), 1e-3)


@whole("donated and large arrays")
def donation(device):
    f = jax.jit(lambda a: a + 1, donate_argnums=0)
    a = jax.device_put(np.zeros(1 << 26, np.float32), device)
    for _ in range(10):
        a = f(a)
    expect(a[:5], np.full(5, 10, np.float32), 0)


@whole("memory that runs out is an error")
def memory(device):
    try:
        one = jax.device_put(np.float32(1), device)
        jax.jit(lambda a: jnp.broadcast_to(a, (1 << 18, 1 << 18)) + 1)(one).block_until_ready()
    except Exception as error:  # of some type of JAX's
        assert "RESOURCE_EXHAUSTED" in str(error), error
    else:
        raise AssertionError("256 GiB were given")
    expect(jax.device_put(np.ones(3, np.float32), device) + 1, np.full(3, 2, np.float32), 0)


@whole("executables serialize")
def serialization(device):
    from jax.experimental import serialize_executable
    with jax.default_device(device):
        compiled = jax.jit(lambda a: a @ a).lower(np.ones((64, 64), np.float32)).compile()
        data, *trees = serialize_executable.serialize(compiled)
        again = serialize_executable.deserialize_and_load(
            data, *trees, backend=device.client, execution_devices=[device])
    expect(again(jax.device_put(np.ones((64, 64), np.float32), device)), np.full((64, 64), 64, np.float32), 0)


def expect(got, wanted, tolerance):
    got, wanted = np.asarray(got), np.asarray(wanted)
    assert got.shape == wanted.shape and got.dtype == wanted.dtype, f"{got.dtype}{got.shape}"
    if np.issubdtype(wanted.dtype, np.integer) or wanted.dtype == bool:
        assert (got == wanted).all(), f"{(got != wanted).sum()} of {wanted.size} differ"
        return
    kind = np.complex128 if np.iscomplexobj(wanted) else np.float64
    got, wanted = got.astype(kind), wanted.astype(kind)
    assert (np.isnan(got) == np.isnan(wanted)).all(), "NaNs elsewhere"
    scale = max(float(np.nanmax(np.abs(wanted), initial=0)), 1e-6)
    worst = float(np.nanmax(np.abs(got - wanted), initial=0)) / scale
    assert worst <= tolerance, f"off by {worst:.2e} of the largest, {tolerance:.0e} allowed"


def compare(function, arguments, device, reference):
    results = []
    for one in (device, reference):
        with jax.default_device(one):
            results.append(jax.tree.leaves(jax.jit(function)(*jax.device_put(arguments, one))))
    text = jax.jit(function).lower(*arguments).as_text()
    types = {str(a.dtype) for a in jax.tree.leaves(arguments)} | {str(r.dtype) for r in results[1]}
    # Wide results of narrow arithmetic are no more precise.
    types |= {name for name, short in (("bfloat16", "xbf16>"), ("float16", "xf16>")) if short in text}
    tolerance = max(TOLERANCE.get(name, 0) for name in types)
    for got, wanted in zip(*results, strict=True):
        expect(got, wanted, tolerance)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="a regular expression on names")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=500, help="what has not begun by then is left out")
    parser.add_argument("--platform", default="cuda", help="another one tries this script")
    options = parser.parse_args()
    name = options.platform
    if name == "cuda":
        from isthmus import cuda_backend
        name = cuda_backend.register_beside()
    jax.config.update("jax_platforms", f"{name},cpu")
    jax.config.update("jax_enable_x64", True)
    device, reference = jax.devices(name)[0], jax.devices("cpu")[0]
    assert device.platform == name, f"JAX took {device.platform} for {name}"  # as it does for names that it aliases
    print(f"{device.device_kind}; {device.client.platform_version}; JAX {jax.__version__}", flush=True)
    begin, report = time.monotonic(), {}
    for title, (function, arguments) in CHECKS.items():
        if not re.search(options.only, title):
            continue
        if time.monotonic() - begin > options.seconds:
            report[title] = "left out"
            continue
        started = time.monotonic()
        try:
            if arguments is None:
                function(device)
            else:
                compare(function, arguments, device, reference)
            report[title] = "ok"
        except Exception as error:  # of any type: the next check runs
            report[title] = f"{type(error).__name__}: {error}"[:2000] or traceback.format_exc()
        print(f"{time.monotonic() - started:6.1f} s  {title}: {report[title].splitlines()[0][:200]}", flush=True)
    bad = sum(said != "ok" for said in report.values())
    print(f"{len(report) - bad} of {len(report)} are right")
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps({"device": device.device_kind, "checks": report}, indent=1))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

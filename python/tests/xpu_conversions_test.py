"""Conversions between element types on platform xpu: as platform isthmus does them, which element_types_test.py has to be right."""

import pytest
import required

required.module("isthmus.xpu_backend")

# All values of 16 bits and fewer, and of wider types what lies at and around powers of two and the ends, and random bits.
CONVERSIONS = """
    import warnings; warnings.simplefilter("ignore")
    import jax, numpy as np, ml_dtypes
    jax.config.update("jax_enable_x64", True)
    narrow = [np.dtype(getattr(ml_dtypes, name)) for name in (
        "float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu")]
    floats = [np.dtype(t) for t in (np.float16, ml_dtypes.bfloat16, np.float32, np.float64)] + narrow
    integers = [np.dtype(f"{sign}int{bits}") for bits in (8, 16, 32, 64) for sign in ("", "u")]
    types = floats + integers + [np.dtype(t) for t in (np.bool_, ml_dtypes.int4, ml_dtypes.uint4)]
    random = np.random.default_rng(5)

    def values(source):
        bits = 8 * source.itemsize
        if bits <= 16:
            # The first of powers only is subnormal in f32, by way of which it goes: drivers may keep such constants.
            return np.arange(source == narrow[-1], 2 ** bits, dtype=f"uint{bits}").view(source)
        anything = random.integers(0, 2 ** bits, 30_000, f"uint{bits}").view(source)
        powers = [2 ** n + d for n in range(65) for d in (-2, -1, 0, 1, 2)]
        if source in integers:
            limits = np.iinfo(source)
            edges = [v for p in powers for v in (p, -p) if limits.min <= v <= limits.max]
        else:
            limits = np.finfo(source)
            edges = [v for p in powers for v in (p, -p, p + 0.5, -p - 0.5, 1 / p if p else -0.0)]
            edges += [v * s for v in (limits.max, limits.tiny, limits.smallest_subnormal, limits.tiny / 4, np.inf, np.nan) for s in (1, -1)]
            edges += [2.0 ** n * (1 + s * 2.0 ** -9) for n in range(-160, 70) for s in (-1, 1)]
        return np.concatenate([np.array(edges, source), anything])

    def converted(platform, x):
        device = jax.devices(platform)[0]
        results = jax.jit(lambda x: [jax.lax.convert_element_type(x, t) for t in types])(jax.device_put(x, device))
        # By their bits, but for those of NaN.
        return [np.where(np.isnan(r), np.array(np.nan, r.dtype), r) if r.dtype in floats else r for r in jax.device_get(results)]

    differ = []
    for x in [values(source) for source in floats + integers] + [np.array([True, False] * 9)]:
        for to, ours, theirs in zip(types, converted("xpu", x), converted("isthmus", x)):
            wrong = np.flatnonzero(ours.view(f"u{ours.itemsize}") != theirs.view(f"u{ours.itemsize}"))
            differ += [f"{x.dtype} {x[i]} to {to}: {ours[i]}, not {theirs[i]}" for i in wrong[:3]]
    assert not differ, "\\n".join(differ)
"""


@pytest.mark.parametrize("form", ["", "groups", "elements"])
def test_conversions_are_the_cpu_backends(xpu, form):
    xpu(CONVERSIONS, JAX_PLATFORMS="xpu,isthmus", ISTHMUS_OPENCL_KERNELS=form)


SUBNORMALS = """
    import jax, numpy as np
    jax.config.update("jax_enable_x64", True)
    for dtype in (np.float32, np.float64):
        tiny = np.finfo(dtype).tiny
        for count in (3, 5000):
            # Of an operand that is subnormal, and of results that are.
            x = np.full(count, tiny, dtype)
            got = jax.jit(lambda x, y: (y * 1024, y > 0, x * 0.25, x * 1.25 - x))(x, x / 4)
            for result in got:
                assert not np.asarray(result).any(), (dtype, result[0])
"""


def test_subnormals_are_zero(xpu):
    xpu(SUBNORMALS)

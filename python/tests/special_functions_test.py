"""JAX's special functions, beside JAX's CPU client."""

import jax
import numpy as np
import pytest
from jax import lax
from jax.scipy import special

POSITIVE = np.array([1e-3, 0.1, 0.5, 0.9999, 1, 1.5, 2, 2.5, 3, 7.3, 20, 110.25])
UNIT = np.array([0, 1e-4, 0.1, 0.25, 0.5, 0.6, 0.75, 0.9, 0.99, 1, 0.3, 0.7])
ANY = np.array([-110.5, -8.2, -3.7, -1.5, -1e-3, -0.0, 0.0, 1e-5, 0.4, 1.7, 6.6, np.inf, -np.inf,
                np.nan])
CASES = {
    "bessel_i0e": (lax.bessel_i0e, ANY), "bessel_i1e": (lax.bessel_i1e, ANY),
    "betainc": (lax.betainc, POSITIVE, POSITIVE[::-1], UNIT), "digamma": (lax.digamma, ANY),
    "erf": (lax.erf, ANY), "erfc": (lax.erfc, ANY), "erf_inv": (lax.erf_inv, 2 * UNIT - 1),
    "igamma": (lax.igamma, POSITIVE, POSITIVE[::-1]),
    "igammac": (lax.igammac, POSITIVE, POSITIVE[::-1]), "lgamma": (lax.lgamma, ANY),
    "ndtri": (special.ndtri, UNIT), "polygamma": (lax.polygamma, np.arange(12.), POSITIVE),
    "random_gamma_grad": (lax.random_gamma_grad, POSITIVE, POSITIVE[::-1]),
    "zeta": (lax.zeta, 1 + POSITIVE, POSITIVE[::-1]),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", CASES)
def test_special_function(both, name, dtype):
    function, *arguments = CASES[name]
    with jax.enable_x64(True):
        ours, theirs = both(function, *(argument.astype(dtype) for argument in arguments))
    tolerance = {np.float32: 5e-5, np.float64: 1e-11}[dtype]
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance / 10)


# As C and NumPy have them: 1 or -1, whatever the other part is.
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_tangents_at_infinity(both, dtype):
    ends, others = (x.reshape(-1) for x in np.meshgrid([np.inf, -np.inf], [0, -0.0, 2, -1e20, np.inf, -np.inf, np.nan]))
    with jax.enable_x64(True):
        hyperbolic = both(lambda x, y: lax.tanh(lax.complex(x, y)), *(x.astype(dtype(0).real.dtype) for x in (ends, others)))
        circular = both(lambda x, y: lax.tan(lax.complex(x, y)), *(x.astype(dtype(0).real.dtype) for x in (others, ends)))
    for tanh, tan in zip(hyperbolic, circular):
        np.testing.assert_array_equal(tanh, np.sign(ends).astype(dtype))
        np.testing.assert_array_equal(tan, (1j * np.sign(ends)).astype(dtype))


# Where e^x is infinite, and its product with a sine or a cosine is not.
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("function", [lax.exp, lax.expm1])
def test_complex_exponentials_near_overflow(ours, function, dtype):
    real = dtype(0).real.dtype
    largest = np.log(np.finfo(real).max)
    x, y = (part.reshape(-1) for part in np.meshgrid(
        np.array([0.95 * largest, largest - 0.01, largest + 0.04], real), np.array([0.5, 0.8, 1.2, 2.6], real)))
    with jax.enable_x64(True), jax.default_device(ours):
        result = np.asarray(jax.jit(lambda x, y: function(lax.complex(x, y)))(x, y))
    exact = np.exp(x + 1j * y.astype(np.clongdouble))
    for part in (np.real, np.imag):
        assert np.isfinite(part(result)).all()
        np.testing.assert_allclose(part(result), part(exact).astype(real), rtol={np.complex64: 2e-5, np.complex128: 1e-12}[dtype])


# An infinite dividend keeps its direction, turned by the divisor; a zero or infinite divisor gives infinities and zeros.
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_quotients_with_infinities(both, dtype):
    parts = np.array([0, 1, -2.5, np.inf, -np.inf, np.nan], dtype(0).real.dtype)
    operands = (x.reshape(-1) for x in np.meshgrid(parts, parts, parts, parts))
    with jax.enable_x64(True):
        ours, theirs = both(lambda a, b, c, d: lax.complex(a, b) / lax.complex(c, d), *operands)
    for part in (np.real, np.imag):
        np.testing.assert_array_equal(np.isinf(part(ours)), np.isinf(part(theirs)))
        np.testing.assert_allclose(part(ours), part(theirs), rtol=1e-6)


# By the real parts, then by the imaginary ones, as maxima and minima are; Python's pairs have that order.
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_numbers_are_clamped(run, dtype):
    numbers = np.random.default_rng(3).integers(-2, 3, (6, 5, 41)).astype(dtype(0).real.dtype)
    low, x, high = numbers[::2] + 1j * numbers[1::2]
    pairs = [[(z.real, z.imag) for z in part.ravel()] for part in (low, x, high)]
    with jax.enable_x64(True):
        each = run(lax.clamp, low, x, high)
        one = run(lambda x: lax.clamp(dtype(-1 + 1j), x, dtype(1 - 1j)), x)
    assert each.dtype == one.dtype == dtype
    assert each.ravel().tolist() == [complex(*min(max(z, a), b)) for a, z, b in zip(*pairs)]
    assert one.ravel().tolist() == [complex(*min(max(z, (-1, 1)), (1, -1))) for z in pairs[1]]


@pytest.mark.parametrize("name", ["approx_max_k", "approx_min_k"])
def test_approximate_top_k_is_exact(both, name):
    x = np.random.default_rng(0).permutation(300).reshape(3, 100).astype(np.float32)
    for dimension in (0, 1):
        k = 2 if dimension == 0 else 7
        (values, places), theirs = both(
            lambda x: getattr(jax.lax, name)(x, k, reduction_dimension=dimension), x)
        order = np.argsort(-x if name == "approx_max_k" else x, axis=dimension)
        np.testing.assert_array_equal(places, np.take(order, range(k), axis=dimension))
        np.testing.assert_array_equal(values, np.take_along_axis(x, places, axis=dimension))
        np.testing.assert_array_equal(theirs[0], values)

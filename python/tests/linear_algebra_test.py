"""Factorizations, which run on jaxlib's LAPACK handlers: by their definitions, not by another library."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
from jax.lax import linalg

DTYPES = [np.float32, np.float64, np.complex64, np.complex128]
# Batches, tall and wide matrices, one element, and none: LAPACK does not take those.
SHAPES = [(4, 4), (2, 3, 5), (6, 3), (1, 1), (3, 0, 0)]


@pytest.fixture(autouse=True)
def on_our_device(ours):
    with jax.default_device(ours), jax.enable_x64(True):
        yield


def matrix(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    if np.issubdtype(dtype, np.complexfloating):
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(dtype)


def square(dtype, seed=0):
    return matrix((2, 5, 5), dtype, seed)


def symmetric(dtype):
    a = square(dtype)
    return a + np.conj(a.mT)


def positive(dtype):
    a = square(dtype)
    return (a @ np.conj(a.mT) + 5 * np.eye(5)).astype(dtype)


def close(got, wanted):
    got, wanted = np.asarray(got), np.asarray(wanted)
    tolerance = 300 * np.finfo(got.dtype).eps
    np.testing.assert_allclose(got, wanted, atol=tolerance * max(1, np.abs(wanted).max(initial=0)), rtol=tolerance)


def adjoint(a):
    return np.conj(np.asarray(a).mT)


both_dtypes = pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.__name__)


@both_dtypes
def test_cholesky_and_solve(dtype):
    a, b = positive(dtype), matrix((2, 5, 3), dtype, 1)
    lower = jnp.linalg.cholesky(a)
    close(lower @ adjoint(lower), a)
    close(np.triu(lower, 1), np.zeros_like(a))
    for left in (True, False):
        c = b if left else b.mT
        x = linalg.triangular_solve(lower, c, left_side=left, lower=True, conjugate_a=True, transpose_a=True)
        close(adjoint(lower) @ np.asarray(x) if left else np.asarray(x) @ adjoint(lower), c)


def test_cholesky_of_what_is_not_positive_is_nan():
    assert np.isnan(np.asarray(jnp.linalg.cholesky(-np.eye(3)))).any()


@both_dtypes
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_lu(shape, dtype):
    a = matrix(shape, dtype)
    lu, pivots, order = (np.asarray(x) for x in linalg.lu(a))
    k = min(shape[-2:])
    assert pivots.shape == (*shape[:-2], k)
    lower, upper = np.tril(lu, -1)[..., :k] + np.eye(shape[-2], k, dtype=dtype), np.triu(lu)[..., :k, :]
    close(lower @ upper, np.take_along_axis(a, order[..., None], axis=-2))


@both_dtypes
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_qr(shape, dtype):
    a = matrix(shape, dtype)
    for mode in ("reduced", "complete"):
        q, r = jnp.linalg.qr(a, mode=mode)
        close(np.asarray(q) @ np.asarray(r), a)
        close(adjoint(q) @ np.asarray(q), np.broadcast_to(np.eye(q.shape[-1]), (*q.shape[:-2], *[q.shape[-1]] * 2)))


@both_dtypes
def test_pivoted_qr(dtype):
    a = matrix((5, 4), dtype)
    q, r, p = jax.scipy.linalg.qr(a, pivoting=True, mode="economic")
    close(np.asarray(q) @ np.asarray(r), a[:, np.asarray(p)])
    diagonal = np.abs(np.diag(np.asarray(r)))
    assert (diagonal[:-1] >= diagonal[1:] * (1 - 1e-3)).all()


@both_dtypes
def test_multiplication_by_reflectors(dtype):
    a, c = matrix((5, 5), dtype), matrix((5, 3), dtype, 1)
    (reflectors, taus), _ = scipy.linalg.qr(a, mode="raw")
    q = np.asarray(linalg.householder_product(reflectors, taus))
    close(linalg.ormqr(reflectors, taus, c), q @ c)
    close(linalg.ormqr(reflectors, taus, c, transpose=True), adjoint(q) @ c)
    close(linalg.ormqr(reflectors, taus, c.T, left=False), c.T @ q)


@both_dtypes
def test_eigh(dtype):
    a = symmetric(dtype)
    w, v = jnp.linalg.eigh(a)
    close(np.asarray(v) * np.asarray(w)[:, None], a @ np.asarray(v))
    close(adjoint(v) @ np.asarray(v), np.broadcast_to(np.eye(5), a.shape))
    assert (np.diff(np.asarray(w)) >= 0).all()


@both_dtypes
def test_eig(dtype):
    a = square(dtype)
    w, left, right = (np.asarray(x) for x in linalg.eig(a))
    close(a @ right, right * w[:, None])
    close(adjoint(left) @ a, w[..., None] * adjoint(left))


@both_dtypes
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("algorithm", [linalg.SvdAlgorithm.DEFAULT, linalg.SvdAlgorithm.QR], ids=["dc", "qr"])
def test_svd(shape, dtype, algorithm):
    a = matrix(shape, dtype)
    u, s, vh = (np.asarray(x) for x in linalg.svd(a, full_matrices=False, algorithm=algorithm))
    close(u * s[..., None, :] @ vh, a)
    assert (s >= 0).all() and (np.diff(s) <= 0).all()


@both_dtypes
def test_schur(dtype):
    a = matrix((5, 5), dtype)
    t, z = (np.asarray(x) for x in jax.scipy.linalg.schur(a))
    close(z @ t @ adjoint(z), a)
    close(np.tril(t, -1 if np.iscomplexobj(t) else -2), np.zeros_like(t))


@both_dtypes
def test_hessenberg(dtype):
    a = square(dtype)
    h, q = jax.scipy.linalg.hessenberg(a, calc_q=True)
    close(np.asarray(q) @ np.asarray(h) @ adjoint(q), a)
    close(np.tril(np.asarray(h), -2), np.zeros_like(a))


@both_dtypes
def test_tridiagonal(dtype):
    a = symmetric(dtype)
    _, d, e, _ = linalg.tridiagonal(a)
    for i in range(len(a)):
        got = scipy.linalg.eigvalsh_tridiagonal(np.asarray(d[i], np.float64), np.abs(np.asarray(e[i])))
        close(got.astype(d.dtype), np.linalg.eigvalsh(a[i]))


@both_dtypes
def test_tridiagonal_solve(dtype):
    a = np.triu(np.tril(positive(dtype)[0], 1), -1)
    b = matrix((5, 2), dtype)
    below, above = np.append(0, np.diag(a, -1)).astype(dtype), np.append(np.diag(a, 1), 0).astype(dtype)
    close(a @ np.asarray(linalg.tridiagonal_solve(below, np.diag(a), above, b)), b)


@both_dtypes
def test_matrix_functions(dtype):
    a = matrix((4, 4), dtype) / 2
    close(jax.scipy.linalg.expm(a), scipy.linalg.expm(a))
    if np.iscomplexobj(a):
        root = np.asarray(jax.scipy.linalg.sqrtm(a))
        close(root @ root, a)


@both_dtypes
def test_gradients(dtype):
    a = positive(dtype)[0]

    def functions(a):
        a = (a + jnp.conj(a.mT)) / 2
        q, r = jnp.linalg.qr(a)
        yield "cholesky", jnp.linalg.cholesky(a)
        yield "qr", q @ r @ q
        yield "eigh", jnp.linalg.eigh(a)[0]
        yield "svd", jnp.linalg.svd(a, compute_uv=False)
        yield "solve", jnp.linalg.solve(a, a[:2].T)
        yield "slogdet", jnp.linalg.slogdet(a)[1]

    direction = symmetric(dtype)[0]
    direction /= np.abs(direction).max()
    is_single = np.finfo(dtype).bits == 32
    step = 1e-2 if is_single else 1e-5
    for name, _ in functions(a):
        f = jax.jit(lambda x, name=name: jnp.sum(jnp.abs(dict(functions(x))[name]) ** 2))
        _, slope = jax.jvp(f, (a,), (direction.astype(dtype),))
        up, down = (float(f((a + s * step * direction).astype(dtype))) for s in (1, -1))
        np.testing.assert_allclose(float(slope), (up - down) / (2 * step), err_msg=name,
                                   rtol=5e-2 if is_single else 1e-5, atol=2e-2 if is_single else 1e-8)


def test_every_lapack_handler_of_jaxlib_is_called():
    """Lowers what the tests above run, and compares with what jaxlib registers."""
    from jaxlib import _jax

    shipped = {name for name in _jax.custom_call_targets("Host") if name.startswith("lapack_")}
    used = set()
    for dtype in DTYPES:
        a, b = positive(dtype)[0], matrix((5, 3), dtype)

        def everything(a, b):
            taus = a[0]
            return [
                linalg.cholesky(a), linalg.lu(a), linalg.qr(a), linalg.qr(a, pivoting=True), linalg.eigh(a), linalg.eig(a),
                linalg.householder_product(a, taus), linalg.ormqr(a, taus, b),
                linalg.svd(a), linalg.svd(a, algorithm=linalg.SvdAlgorithm.QR), linalg.schur(a),
                linalg.hessenberg(a), linalg.tridiagonal(a), linalg.triangular_solve(a, b, left_side=True),
                linalg.tridiagonal_solve(a[0], a[1], a[2], b)]

        lowered = jax.jit(everything).lower(a, b)
        used |= set(re.findall(r"@(lapack_\w+)", lowered.as_text()))
        lowered.compile()
    assert used == shipped


def test_openblas_has_one_thread_for_small_matrices(python):
    """Several gain nothing there, and wait busily for each other where other programs run."""
    result = python("""
        import ctypes, threading, time
        import jax, jax.numpy as jnp, numpy as np
        import scipy.linalg.cython_blas  # whose OpenBLAS is what jaxlib's LAPACK calls
        paths = {line.split()[-1] for line in open("/proc/self/maps") if "openblas" in line}
        numbers = [getattr(ctypes.CDLL(path), "scipy_openblas_get_num_threads", None) for path in paths]
        number = next(filter(None, numbers), lambda: 1)
        before = number()
        f = jax.jit(lambda a: jnp.linalg.svd(a, compute_uv=False))
        def numbers_while_computing(size):
            a = np.random.default_rng(0).normal(size=(size, size)).astype(np.float32)
            f(a).block_until_ready()
            seen, over = set(), threading.Event()
            def look():
                while not over.is_set():
                    seen.add(number())
            looker = threading.Thread(target=look)
            looker.start()
            deadline = time.monotonic() + (60 if size < 256 else 1)
            while 1 not in seen and time.monotonic() < deadline:
                f(a).block_until_ready()
            over.set()
            looker.join()
            return seen
        assert 1 in numbers_while_computing(200)
        assert numbers_while_computing(300) == {before}
        assert number() == before
        print("good")
    """, JAX_PLATFORMS="isthmus")
    assert result.stdout == "good\n", result.stdout + result.stderr

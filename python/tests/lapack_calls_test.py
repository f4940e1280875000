"""jaxlib's calls of LAPACK in artifacts of jax.export, run by a process that has no JAX."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.linalg

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402
from jax import export  # noqa: E402
from jax.lax import linalg  # noqa: E402

DTYPES = [np.float32, np.float64, np.complex64, np.complex128]
each_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.__name__)

CHILD = """
import sys
for name in ("jax", "jaxlib"):
    sys.modules[name] = None  # an import of it fails
import json, os, numpy, isthmus
for folder in json.loads(sys.argv[1]):
    arguments = numpy.load(folder + "/arguments.npz")
    source = folder + "/program.jax"
    results = isthmus.compile(source if os.path.exists(source) else folder + "/program.mlir")(*arguments.values())
    results = results if isinstance(results, (list, tuple)) else [results]
    numpy.savez(folder + "/results.npz", *[numpy.asarray(result) for result in results])
"""


def run(folder, *programs):
    """The results of each (function or StableHLO, arguments), exported here for cpu and run without JAX."""
    folders = []
    for i, (function, arguments) in enumerate(programs):
        place = folder / str(i)
        place.mkdir()
        if isinstance(function, str):
            (place / "program.mlir").write_text(function)
        else:
            with jax.enable_x64(True):
                exported = export.export(jax.jit(function), platforms=["cpu"])(*arguments)
            assert "@lapack_" in exported.mlir_module()
            (place / "program.jax").write_bytes(exported.serialize())
        np.savez(place / "arguments.npz", *arguments)
        folders.append(place)
    done = subprocess.run([sys.executable, "-c", CHILD, json.dumps([str(place) for place in folders])],
                          capture_output=True, text=True, env={**os.environ, "PYTHONFAULTHANDLER": "1"})
    assert done.returncode == 0, done.stderr
    return [list(np.load(place / "results.npz").values()) for place in folders]


def matrix(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    if np.issubdtype(dtype, np.complexfloating):
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(dtype)


def adjoint(a):
    return np.conj(a.mT)


def wide(a):
    return a.astype(np.complex128 if np.iscomplexobj(a) else np.float64)


def close(got, wanted, dtype):
    tolerance = 300 * np.finfo(dtype).eps
    scale = max(1, np.abs(wanted).max(initial=0))
    np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance * scale)


@each_dtype
def test_potrf(dtype, tmp_path):
    half = matrix((2, 3, 70, 70), dtype)
    a = (half @ adjoint(half) + 70 * np.eye(70)).astype(dtype)
    a[1, 2] = np.diag(np.where(np.arange(70) == 66, -1, 1))  # not positive

    def program(a):
        return (linalg.cholesky(a, symmetrize_input=False),
                jnp.linalg.cholesky(a, upper=True, symmetrize_input=False))

    [[lower, upper]] = run(tmp_path, (program, [a]))
    assert lower.dtype == upper.dtype == dtype
    assert np.isnan(np.diagonal(lower[1, 2])).all() and np.isnan(np.diagonal(upper[1, 2])).all()
    a[1, 2] = lower[1, 2] = upper[1, 2] = np.eye(70)
    wanted = np.linalg.cholesky(wide(a))
    close(lower, wanted, dtype)
    close(upper, adjoint(wanted), dtype)


@each_dtype
def test_trsm(dtype, tmp_path):
    a = matrix((3, 70, 70), dtype) / 9 + 3 * np.eye(70, dtype=dtype)
    programs, wanted = [], []
    for left in (True, False):
        b = matrix((3, 70, 5) if left else (3, 5, 70), dtype, 1)
        options = [(lower, unit, transpose, conjugate) for lower in (True, False) for unit in (True, False)
                   for transpose, conjugate in ((False, False), (True, False), (True, True))]
        programs.append((lambda a, b, left=left, options=options: [
            linalg.triangular_solve(a, b, left_side=left, lower=lower, unit_diagonal=unit,
                                    transpose_a=transpose, conjugate_a=conjugate)
            for lower, unit, transpose, conjugate in options], [a, b]))
        for lower, unit, transpose, conjugate in options:
            t = np.tril(wide(a)) if lower else np.triu(wide(a))
            if unit:
                t = t - t * np.eye(70) + np.eye(70)
            t = t.mT if transpose else t
            t = np.conj(t) if conjugate else t
            wanted.append(np.linalg.solve(t, wide(b)) if left else np.linalg.solve(t.mT, wide(b).mT).mT)
    results = [x for results in run(tmp_path, *programs) for x in results]
    assert len(results) == len(wanted) == 24
    for got, x in zip(results, wanted):
        assert got.dtype == dtype
        np.testing.assert_allclose(got, x, atol=np.abs(x).max() * 1e4 * np.finfo(dtype).eps)


@each_dtype
def test_getrf(dtype, tmp_path):
    programs = []
    for shape in ((2, 2, 6, 6), (7, 3), (2, 3, 7), (1, 1)):
        programs.append((linalg.lu, [matrix(shape, dtype)]))
    singular = matrix((5, 5), dtype)
    singular[:, 2] = 0
    programs.append((linalg.lu, [singular]))
    programs.append((jnp.linalg.solve, [matrix((2, 5, 5), dtype), matrix((2, 5, 3), dtype, 1)]))
    programs.append((jnp.linalg.det, [matrix((2, 5, 5), dtype)]))
    *factors, [solution], [determinant] = run(tmp_path, *programs)
    for (_, [a]), (lu, pivots, permutation) in zip(programs, factors):
        assert lu.dtype == dtype
        for at in np.ndindex(a.shape[:-2]):
            getrf = scipy.linalg.get_lapack_funcs("getrf", [wide(a)])
            wanted, wanted_pivots, _ = getrf(wide(a[at]))
            close(lu[at], wanted, dtype)
            np.testing.assert_array_equal(pivots[at], wanted_pivots)
            np.testing.assert_array_equal(np.sort(permutation[at]), np.arange(a.shape[-2]))
    _, [a, b] = programs[-2]
    wanted = np.linalg.solve(wide(a), wide(b))
    np.testing.assert_allclose(solution, wanted, atol=np.abs(wanted).max() * 1e4 * np.finfo(dtype).eps)
    close(determinant, np.linalg.det(wide(a)), dtype)


@each_dtype
def test_geqrf_and_orgqr(dtype, tmp_path):
    exchange = np.eye(4, dtype=dtype)[::-1].copy()  # LAPACK's signs where a column begins with 0
    arrays = [matrix(shape, dtype) for shape in ((2, 2, 6, 6), (7, 3), (2, 3, 7), (1, 1))] + [exchange]
    programs = [(lambda a, full=full: linalg.qr(a, full_matrices=full), [a]) for a in arrays for full in (False, True)]
    for (_, [a]), (q, r) in zip(programs, run(tmp_path, *programs)):
        assert q.dtype == r.dtype == dtype
        is_full = q.shape[-2] == q.shape[-1]
        for at in np.ndindex(a.shape[:-2]):
            wanted_q, wanted_r = np.linalg.qr(wide(a[at]), "complete" if is_full else "reduced")
            close(q[at], wanted_q, dtype)
            close(r[at], wanted_r, dtype)


@each_dtype
def test_syevd_and_heevd(dtype, tmp_path):
    arrays = [matrix(shape, dtype) for shape in ((2, 2, 8, 8), (33, 33), (1, 1))]
    programs = [(lambda a, lower=lower: linalg.eigh(a, lower=lower, symmetrize_input=False), [a])
                for a in arrays for lower in (True, False)]
    broken = np.stack([np.full((3, 3), np.nan, dtype), np.eye(3, dtype=dtype)])
    *results, [v, w] = run(tmp_path, *programs, (linalg.eigh, [broken]))
    assert np.isnan(v[0]).all() and np.isnan(w[0]).all()
    np.testing.assert_array_equal(w[1], [1, 1, 1])
    for i, ((_, [a]), (v, w)) in enumerate(zip(programs, results)):
        assert v.dtype == dtype
        one = np.tril(wide(a), -1) if i % 2 == 0 else adjoint(np.triu(wide(a), 1))
        full = one + adjoint(one) + np.real(np.eye(a.shape[-1]) * wide(a))
        close(w, np.linalg.eigvalsh(full), dtype)
        close(full @ v, v * w[..., None, :], dtype)
        close(adjoint(v) @ v, np.broadcast_to(np.eye(a.shape[-1]), a.shape), dtype)


@each_dtype
def test_gesdd(dtype, tmp_path):
    rank_two = (matrix((7, 2), dtype) @ matrix((2, 6), dtype, 1)).astype(dtype)
    graded = (matrix((6, 6), dtype) * 10.0 ** np.arange(0, -12, -2)).astype(dtype)
    arrays = [matrix((2, 2, 6, 6), dtype), matrix((7, 3), dtype), matrix((2, 3, 7), dtype), matrix((1, 1), dtype),
              matrix((40, 33), dtype), np.zeros((4, 3), dtype), np.ones((3, 5), dtype), rank_two, graded,
              np.eye(4, dtype=dtype)[::-1].copy(), graded * dtype(1e-30)]
    programs = [(lambda a, full=full: linalg.svd(a, full_matrices=full), [a]) for a in arrays for full in (False, True)]
    values = [(lambda a: linalg.svd(a, compute_uv=False), [a]) for a in arrays]
    broken = np.stack([np.eye(3, dtype=dtype)] * 3)
    broken[0, 1, 2], broken[1, 0, 0] = np.nan, np.inf
    *results, [u, s, vt] = run(tmp_path, *programs, *values, (linalg.svd, [broken]))
    for x in (u, s, vt):
        assert np.isnan(x[:2]).all()
    np.testing.assert_array_equal(s[2], [1, 1, 1])
    for (_, [a]), (u, s, vt) in zip(programs, results):
        assert u.dtype == vt.dtype == dtype
        scale = np.abs(a).max()
        scale = scale if scale > 0 else 1
        k = min(a.shape[-2:])
        close(s / scale, np.linalg.svd(wide(a) / scale, compute_uv=False), dtype)
        close((u[..., :k] * s[..., None, :]) @ vt[..., :k, :] / scale, a / scale, dtype)
        for basis in (u, adjoint(vt)):
            close(adjoint(basis) @ basis, np.broadcast_to(np.eye(basis.shape[-1]), (*a.shape[:-2], *[basis.shape[-1]] * 2)),
                  dtype)
    for (_, [a]), (_, s, _), [alone] in zip(values, results[::2], results[len(programs):]):
        np.testing.assert_array_equal(alone, s)


COLUMNS = "dense<[0, 1]> : tensor<2xindex>"


def call(target, attributes, layout, results, layouts):
    """StableHLO of one call with a 3x3 matrix, whose results are all of the program's."""
    types = ", ".join(results)
    return f"""func.func @main(%a: tensor<3x3xf64>) -> ({types}) {{
  %0:{len(results)} = stablehlo.custom_call @{target}(%a) {{mhlo.backend_config = {{{attributes}}},
      operand_layouts = [{layout}], result_layouts = [{", ".join(layouts)}]}}
      : (tensor<3x3xf64>) -> ({types})
  return {", ".join(f"%0#{i}" for i in range(len(results)))} : {types}
}}"""


def test_info_and_what_is_not_computed(tmp_path):
    a, info = "tensor<3x3xf64>", "tensor<i32>"
    vector, scalar = "dense<0> : tensor<1xindex>", "dense<> : tensor<0xindex>"
    matrices = [f"tensor<{shape}xf64>" for shape in ("3x3", "3", "3x3", "3x3")]
    gesdd = call("lapack_dgesdd_ffi", "mode = 65 : ui8", COLUMNS, [*matrices, info],
                 [COLUMNS, vector, COLUMNS, COLUMNS, scalar])
    empty = """func.func @main(%a: tensor<2x0xf64>) -> (tensor<2x2xf64>, tensor<i32>) {
  %0:5 = stablehlo.custom_call @lapack_dgesdd_ffi(%a) {mhlo.backend_config = {mode = 65 : ui8},
      operand_layouts = [L], result_layouts = [L, dense<0> : tensor<1xindex>, L, L, dense<> : tensor<0xindex>]}
      : (tensor<2x0xf64>) -> (tensor<2x0xf64>, tensor<0xf64>, tensor<2x2xf64>, tensor<0x0xf64>, tensor<i32>)
  return %0#2, %0#4 : tensor<2x2xf64>, tensor<i32>
}""".replace("L", COLUMNS)
    singular = np.array([[0., 2, 1], [0, 4, 3], [0, 2, 8]])
    indefinite = np.array([[4., 9, 9], [2, 5, 9], [2, 3, 1]])
    potrf = call("lapack_dpotrf_ffi", "uplo = 76 : ui8", COLUMNS, [a, info], [COLUMNS, scalar])
    getrf = call("lapack_dgetrf_ffi", "", COLUMNS, [a, "tensor<3xi32>", info], [COLUMNS, vector, scalar])
    syevd = call("lapack_dsyevd_ffi", "mode = 86 : ui8, uplo = 76 : ui8", COLUMNS,
                 [a, "tensor<3xf64>", info], [COLUMNS, vector, scalar])
    [[l, failed], [lu, pivots, zero], [_, _, lost], [_, _, found], [good, none], [*_, infinite], [basis, nothing]] = run(
        tmp_path, (potrf, [indefinite]), (getrf, [singular]), (syevd, [np.full((3, 3), np.nan)]),
        (syevd, [indefinite]), (potrf, [np.array([[4., 9, 9], [2, 5, 9], [2, 3, 11]])]),
        (gesdd, [np.full((3, 3), np.inf)]), (empty, [np.zeros((2, 0))]))
    assert infinite == -4 and nothing == 0
    np.testing.assert_array_equal(basis, np.eye(2))
    assert failed == 3 and none == 0
    # The other triangle stays as it was.
    np.testing.assert_array_equal(good, [[2, 9, 9], [1, 2, 9], [1, 1, 3]])
    np.testing.assert_array_equal(np.triu(l, 1), np.triu(indefinite, 1))
    wanted, wanted_pivots, wanted_zero = scipy.linalg.lapack.dgetrf(singular)
    assert zero == wanted_zero == 1
    np.testing.assert_allclose(lu, wanted)
    np.testing.assert_array_equal(pivots, wanted_pivots + 1)
    assert lost > 0 and found == 0


@pytest.mark.parametrize("changed, message", [
    ((COLUMNS, "dense<[1, 0]> : tensor<2xindex>"), "LAPACK's matrices lie in columns"),
    (("76 : ui8", "65 : ui8"), "attribute uplo is not a ui8, one of LU"),
    (("76 : ui8", "76 : i32"), "attribute uplo is not a ui8, one of LU"),
    (("tensor<i32>", "tensor<i64>"), "operands and results do not have the types of this routine"),
    (("dpotrf", "spotrf"), "operands and results do not have the types of this routine"),
    (("dpotrf", "dpotri"), "no handler is registered for @lapack_dpotri_ffi"),
], ids=lambda value: value if isinstance(value, str) else value[1][:12])
def test_wrong_calls_are_refused(changed, message, tmp_path):
    text = call("lapack_dpotrf_ffi", "uplo = 76 : ui8", COLUMNS, ["tensor<3x3xf64>", "tensor<i32>"],
                [COLUMNS, "dense<> : tensor<0xindex>"])
    # Each says which call, of which types, and where.
    named = rf"stablehlo.custom_call @lapack_\w+ \(.*\) -> \(.*\): {message}.* \[at \S+:\d+:\d+\]"
    with pytest.raises(AssertionError, match=named):
        run(tmp_path, (text.replace(*changed), [np.eye(3)]))


def test_what_is_not_mapped_is_refused_by_name(tmp_path):
    with jax.enable_x64(True):
        exported = export.export(jax.jit(jnp.linalg.eigvals), platforms=["cpu"])(np.eye(3))
    path = tmp_path / "program.jax"
    path.write_bytes(exported.serialize())
    code = ("import sys; sys.modules['jax'] = sys.modules['jaxlib'] = None; import isthmus\n"
            f"isthmus.compile({str(path)!r})")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert "no handler is registered for @lapack_dgeev_ffi" in done.stderr

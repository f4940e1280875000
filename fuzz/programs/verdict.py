"""Whether results agree, within what their type and the program's conditioning allow."""

import numpy as np

from program import COMPLEX, FLOATS, SMALL_FLOATS, TOLERANCE

# A result may be so many times farther from the evaluator than JAX's CPU client's.
SLACK = 8


def _parts(array, element):
    if element in COMPLEX:
        return [array.real.astype(np.complex128).real, array.imag.astype(np.float64)]
    return [array.astype(np.float64)]


def difference(actual, expected, value, other=None):
    """"" if `actual` agrees with `expected`, else what differs.

    `other` is a third result; how far it is from `expected` says how well the program is conditioned.
    """
    element = value.type.element
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        return f"got {actual.dtype}{actual.shape}, expected {expected.dtype}{expected.shape}"
    if actual.size == 0:
        return ""
    if element not in (*FLOATS, *SMALL_FLOATS, *COMPLEX):
        good = actual == expected
        if not value.exact and other is not None and not np.array_equal(other, expected):
            return ""
    else:
        good = np.ones(actual.shape, bool)
        others = _parts(other, element) if other is not None else [None, None]
        tolerance = max(TOLERANCE[element], value.error)
        for a, b, o in zip(_parts(actual, element), _parts(expected, element), others):
            good &= _close(a, b, o, tolerance)
    if np.all(good):
        return ""
    wrong = np.argwhere(~good)
    where = tuple(int(i) for i in wrong[0])
    return (f"{len(wrong)} of {actual.size} elements differ, the first at {list(where)}: got "
            f"{actual[where]}, expected {expected[where]}")


def _close(a, b, other, tolerance):
    with np.errstate(all="ignore"):
        finite = np.isfinite(b)
        scale = np.max(np.abs(b[finite]), initial=0)
        margin = tolerance * (np.abs(b) + 0.1 * scale) + 1e-300
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        if other is not None:
            error = np.abs(other - b)
            worst = np.max(error[np.isfinite(error)], initial=0)
            margin = margin + SLACK * worst
            # Where the others do not agree on what is finite, nothing is known.
            same |= np.isfinite(other) != finite
        return same | (np.isfinite(a) & finite & (np.abs(a - b) <= margin))

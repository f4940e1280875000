"""dot_general, convolution, FFT and linear algebra."""

import numpy as np

from movement import dims
from program import COMPLEX, FLOATS, INTEGERS, Type


def dot_general(g):
    x = g.pick((*FLOATS, *FLOATS, *INTEGERS, *COMPLEX), least_rank=1)
    e = x.type.element
    order = list(range(x.type.rank))
    g.rng.shuffle(order)
    batch = order[:g.rng.choice((0, 0, 0, 1))]
    rest = [d for d in order if d not in batch]
    contracting = rest[:g.rng.choice((1, 1, 1, 0, 2))]
    free = [g.dim() for _ in range(g.rng.randint(0, 2))]
    # The other side has the same dimensions, shuffled, and free ones of its own.
    places = [("b", d) for d in batch] + [("c", d) for d in contracting] + [("f", n) for n in free]
    g.rng.shuffle(places)
    shape = [x.type.shape[d] if kind in "bc" else d for kind, d in places]
    y = g.pick((e,), shape)
    theirs = {(kind, d): i for i, (kind, d) in enumerate(places)}
    left_free = [x.type.shape[d] for d in range(x.type.rank) if d not in batch + contracting]
    right_free = [n for kind, n in places if kind == "f"]
    result = x.type.with_shape([x.type.shape[d] for d in batch] + left_free + right_free)
    work = result.size * int(np.prod([x.type.shape[d] for d in contracting], dtype=np.int64))
    if result.size > 12000 or work > 400000 or y.type.size > 12000:
        return
    numbers = (
        f"#stablehlo.dot<lhs_batching_dimensions = {batch}, "
        f"rhs_batching_dimensions = {[theirs['b', d] for d in batch]}, "
        f"lhs_contracting_dimensions = {contracting}, "
        f"rhs_contracting_dimensions = {[theirs['c', d] for d in contracting]}>")
    if e in INTEGERS and g.chance(0.3):
        result = result.with_element("i32" if e in ("i8", "i16") else e)
    elif e in ("bf16", "f16") and g.chance(0.4):
        result = result.with_element("f32")
    precision = "[#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]"
    g.emit("dot_general", [x, y], result,
           f"dot_dimension_numbers = {numbers}, precision_config = {precision}",
           exact=e in INTEGERS and x.exact and y.exact)


def convolution(g):
    spatial = g.rng.choice((1, 2, 2, 3))
    e = g.element(FLOATS)
    groups = g.rng.choice((1, 1, 1, 2, 3))
    features = groups * g.rng.randint(1, 4)
    out = groups * g.rng.randint(1, 5)
    n = g.rng.choice((1, 2, 3, 0) if g.chance(0.1) else (1, 2, 3))
    batch_groups = 1
    if groups > 1 and g.chance(0.3):  # the gradient's form
        batch_groups, groups = groups, 1
        n = batch_groups * max(1, n)
        out = batch_groups * g.rng.randint(1, 3)
    size = [g.rng.randint(1, (20, 9, 5)[spatial - 1]) for _ in range(spatial)]
    window, low, high, stride, base, dilation, result = [], [], [], [], [], [], []
    for d in size:
        w, s = g.rng.choice((1, 2, 3, 3, 5)), g.rng.choice((1, 1, 2, 3))
        b, f = g.rng.choice((1, 1, 1, 2)), g.rng.choice((1, 1, 1, 2))
        p, q = (g.rng.choice((0, 1, 1, 2, -1)) for _ in range(2))
        total = (d - 1) * b + 1 + p + q
        reach = (w - 1) * f + 1
        if total < reach:
            w, f, reach = 1, 1, 1
            if total < 1:
                p = q = 0
                total = (d - 1) * b + 1
        window.append(w), stride.append(s), base.append(b), dilation.append(f)
        low.append(p), high.append(q), result.append((total - reach) // s + 1)

    def arranged(leading, letters):
        """A random order of the dimensions: its text and the places of letters and numbers."""
        names = [*letters, *range(spatial)]
        if g.chance(0.5):
            g.rng.shuffle(names)
        shape = [leading[name] for name in names]
        return "[" + ", ".join(str(name) for name in names) + "]", shape

    lhs_text, lhs_shape = arranged({"b": n, "f": features, **dict(enumerate(size))}, "bf")
    rhs_text, rhs_shape = arranged(
        {"o": out, "i": features // groups, **dict(enumerate(window))}, "oi")
    out_text, out_shape = arranged({"b": n // batch_groups, "f": out, **dict(enumerate(result))},
                                   "bf")
    # Whether padding times what is not finite is NaN differs.
    x, y = g.tamed(g.pick((e,), lhs_shape)), g.fresh(Type(e, tuple(rhs_shape)), low=-9, high=9)
    padding = ", ".join(f"[{a}, {b}]" for a, b in zip(low, high))
    reverse = [str(g.chance(0.15)).lower() for _ in range(spatial)]
    g.emit("convolution", [x, y], Type(e, tuple(out_shape)),
           f"dimension_numbers = #stablehlo.conv<{lhs_text}x{rhs_text}->{out_text}>, "
           f"window_strides = {dims(stride)}, padding = dense<[{padding}]> : tensor<{spatial}x2xi64>, "
           f"lhs_dilation = {dims(base)}, rhs_dilation = {dims(dilation)}, "
           f"window_reversal = array<i1: {', '.join(reverse)}>, "
           f"feature_group_count = {groups} : i64, batch_group_count = {batch_groups} : i64, "
           "precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]",
           exact=False)


def fft(g):
    real = g.rng.choice(("f32", "f64"))
    rank = g.rng.choice((1, 1, 2, 3))
    shape = [max(1, g.dim()) for _ in range(rank)]
    if g.chance(0.3):
        shape.insert(0, g.rng.choice((1, 2, 3)))
    if np.prod(shape) > 3000:
        return
    kind = g.rng.choice(("FFT", "IFFT", "RFFT", "IRFFT"))
    half = [*shape[:-1], shape[-1] // 2 + 1]
    complex_type = Type(f"complex<{real}>", tuple(shape))
    source, result = {
        "FFT": (complex_type, complex_type), "IFFT": (complex_type, complex_type),
        "RFFT": (Type(real, tuple(shape)), complex_type.with_shape(half)),
        "IRFFT": (complex_type.with_shape(half), Type(real, tuple(shape)))}[kind]
    if kind == "IRFFT":
        x = g.fresh(source)
        # Real signals: what is said of the imaginary parts of the ends is not used by all.
        real_part = g.emit("real", [x], Type(real, source.shape))
        zero = g.splat(Type(real, source.shape), 0)
        x = g.emit("complex", [real_part, zero], source)
    else:
        x = g.pick((source.element,), source.shape)
    g.emit("fft", [x], result, f"fft_type = #stablehlo<fft_type {kind}>, "
           f"fft_length = {dims(shape[-rank:])}", exact=False)


def _positive_definite(g, n, e, batch):
    """x xᵀ + n·1 of a tamed x."""
    x = g.tamed(g.pick((e,), (*batch, n, n)))
    axes = list(range(len(batch)))
    last = len(batch) + 1
    square = g.emit(
        "dot_general", [x, x], x.type,
        f"dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = {axes}, "
        f"rhs_batching_dimensions = {axes}, lhs_contracting_dimensions = [{last}], "
        f"rhs_contracting_dimensions = [{last}]>, precision_config = "
        "[#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]", exact=False)
    identity = g.splat(x.type, 0)
    identity.data = np.ascontiguousarray(
        np.broadcast_to(np.eye(n) * (n + 1), x.type.shape)).astype(identity.data.dtype)
    return g.emit("add", [square, identity], x.type, exact=False)


def cholesky(g):
    e = g.rng.choice(("f32", "f64"))
    n = g.rng.choice((1, 2, 3, 5, 8, 17))
    batch = g.rng.choice(((), (), (2,), (1, 3)))
    a = _positive_definite(g, n, e, batch)
    lower = g.chance(0.5)
    factor = g.emit("cholesky", [a], a.type, f"lower = {str(lower).lower()}", exact=False)
    # The other triangle holds anything.
    g.values.remove(factor)
    k = g.rng.choice((1, 2, 5))
    b = g.pick((e,), (*batch, n, k))
    b = g.tamed(b)
    transpose = g.rng.choice(("NO_TRANSPOSE", "TRANSPOSE"))
    g.emit(
        "triangular_solve", [factor, b], b.type,
        f"left_side = true, lower = {str(lower).lower()}, unit_diagonal = false, "
        f"transpose_a = #stablehlo<transpose {transpose}>", exact=False)


KINDS = {dot_general: 4, convolution: 2, fft: 0.7, cholesky: 0.7}

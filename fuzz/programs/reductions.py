"""Reductions, windows, select_and_scatter, map."""

import numpy as np

from movement import dims
from program import DTYPES, FLOATS, INTEGERS, Type, Value, limits


def _combiner(name, element):
    scalar = Type(element)
    return (f"^bb0(%x: {scalar}, %y: {scalar}):\n    %r = stablehlo.{name} %x, %y : {scalar}\n"
            f"    stablehlo.return %r : {scalar}")


def _neutral(g, name, element):
    """The neutral element; for addition sometimes another."""
    dtype = DTYPES[element]
    if name in ("add", "or"):
        number = 0
    elif name in ("multiply", "and"):
        number = -1 if element in INTEGERS and name == "and" else 1
        if name == "and" and element in INTEGERS:
            number = np.array(-1, np.int64).astype(dtype)
    elif element in INTEGERS:
        least, most = limits(dtype)
        number = least if name == "maximum" else most
    else:
        number = -np.inf if name == "maximum" else np.inf
    value = Value(Type(element), data=np.full((), number).astype(dtype))
    g.program.constants.append(value)
    return value


def _choose(g):
    x = g.pick((*FLOATS, *FLOATS, *INTEGERS, "i1", "complex<f32>"), least_rank=1)
    e = x.type.element
    if e == "i1":
        names = ("and", "or")
    elif e.startswith("complex"):
        names = ("add",)
    elif e in INTEGERS:
        names = ("add", "maximum", "minimum", "multiply", "and", "or")
    else:
        names = ("add", "add", "maximum", "minimum")
    name = g.rng.choice(names)
    inexact = name == "add" and e not in INTEGERS
    return x, name, x.exact and not inexact


def reduce(g):
    x, name, exact = _choose(g)
    chosen = sorted(g.rng.sample(range(x.type.rank), g.rng.randint(1, x.type.rank)))
    shape = [d for i, d in enumerate(x.type.shape) if i not in chosen]
    g.emit("reduce", [x, _neutral(g, name, x.type.element)], x.type.with_shape(shape),
           f"dimensions = {dims(chosen)}", exact=exact, regions=[_combiner(name, x.type.element)],
           bounded=x.bounded and name in ("maximum", "minimum") and x.type.size > 0)


def arg_reduce(g):
    """The greatest or least element and where it is, as JAX says argmax."""
    x = g.pick((*FLOATS, *INTEGERS), least_rank=1, exact=True)
    if x.type.element in FLOATS:
        # Which of several NaN is found depends on the order, which is not said.
        x = g.fresh(x.type, 0, 0)
        x.exact = True
    axis = g.rng.randrange(x.type.rank)
    where = g.emit("iota", [], Type("i32", x.type.shape), f"iota_dimension = {axis} : i64")
    name, order = g.rng.choice((("maximum", "GT"), ("minimum", "LT")))
    e, i = Type(x.type.element), Type("i32")
    pair = f"({e}, {e}) -> tensor<i1>"
    nan = ""
    better = "%gt"
    if x.type.element in FLOATS:
        nan = f"    %nan = stablehlo.compare NE, %x, %x : {pair}\n    %win = stablehlo.or %gt, %nan : tensor<i1>\n"
        better = "%win"
    region = (
        f"^bb0(%x: {e}, %xi: {i}, %y: {e}, %yi: {i}):\n"
        f"    %gt = stablehlo.compare {order}, %x, %y : {pair}\n{nan}"
        f"    %eq = stablehlo.compare EQ, %x, %y : {pair}\n"
        f"    %lt = stablehlo.compare LT, %xi, %yi : ({i}, {i}) -> tensor<i1>\n"
        f"    %tie = stablehlo.and %eq, %lt : tensor<i1>\n"
        f"    %first = stablehlo.or {better}, %tie : tensor<i1>\n"
        f"    %v = stablehlo.select {better}, %x, %y : tensor<i1>, {e}\n"
        f"    %w = stablehlo.select %first, %xi, %yi : tensor<i1>, {i}\n"
        f"    stablehlo.return %v, %w : {e}, {i}")
    zero = Value(i, data=np.zeros((), np.int32))
    g.program.constants.append(zero)
    shape = [d for k, d in enumerate(x.type.shape) if k != axis]
    if 0 in x.type.shape:
        return
    g.emit("reduce", [x, where, _neutral(g, name, x.type.element), zero],
           [x.type.with_shape(shape), Type("i32", tuple(shape))], f"dimensions = {dims([axis])}",
           exact=True, regions=[region])


def _window(g, shape, least=1):
    size, stride, low, high, base, dilation, result = [], [], [], [], [], [], []
    for d in shape:
        w = g.rng.choice((1, 1, 2, 3)) if d else 1
        s = g.rng.choice((1, 1, 2, 3))
        b = g.rng.choice((1, 1, 1, 1, 2))
        f = g.rng.choice((1, 1, 1, 2))
        grown = (d - 1) * b + 1 if d else 0
        reach = (w - 1) * f + 1
        p, q = g.rng.choice((0, 0, 1, 2)), g.rng.choice((0, 0, 1, 2))
        total = grown + p + q
        n = (total - reach) // s + 1 if total >= reach else 0
        if n < least:
            w = s = b = f = 1
            p = q = 0
            n = d
        size.append(w), stride.append(s), base.append(b), dilation.append(f)
        low.append(p), high.append(q), result.append(n)
    return size, stride, low, high, base, dilation, result


def _padding(low, high):
    rows = ", ".join(f"[{a}, {b}]" for a, b in zip(low, high))
    return f"dense<[{rows}]> : tensor<{len(low)}x2xi64>"


def reduce_window(g):
    x, name, exact = _choose(g)
    size, stride, low, high, base, dilation, shape = _window(g, x.type.shape)
    if x.type.with_shape(shape).size * int(np.prod(size)) > 50000:
        return
    g.emit("reduce_window", [x, _neutral(g, name, x.type.element)], x.type.with_shape(shape),
           f"window_dimensions = {dims(size)}, window_strides = {dims(stride)}, "
           f"base_dilations = {dims(base)}, window_dilations = {dims(dilation)}, "
           f"padding = {_padding(low, high)}", exact=exact,
           regions=[_combiner(name, x.type.element)])


def cumulative(g):
    """reduce_window as JAX makes cumsum of it."""
    x, name, exact = _choose(g)
    axis = g.rng.randrange(x.type.rank)
    n = x.type.shape[axis]
    if n == 0:
        return
    size = [n if d == axis else 1 for d in range(x.type.rank)]
    low = [n - 1 if d == axis else 0 for d in range(x.type.rank)]
    high = [0] * x.type.rank
    if g.chance(0.3):
        low, high = high, low
    g.emit("reduce_window", [x, _neutral(g, name, x.type.element)], x.type,
           f"window_dimensions = {dims(size)}, padding = {_padding(low, high)}", exact=exact,
           regions=[_combiner(name, x.type.element)])


def select_and_scatter(g):
    x = g.pick(("f32", "f64", "i32"), least_rank=1, exact=True, nonempty=True)
    size, stride, low, high, _, _, shape = _window(g, x.type.shape)
    shape = []
    for i, d in enumerate(x.type.shape):
        total = d + low[i] + high[i]
        if total < size[i]:
            return
        shape.append((total - size[i]) // stride[i] + 1)
    source = g.pick((x.type.element,), shape)
    scalar = Type(x.type.element)
    choose = (f"^bb0(%x: {scalar}, %y: {scalar}):\n"
              f"    %r = stablehlo.compare GE, %x, %y : ({scalar}, {scalar}) -> tensor<i1>\n"
              f"    stablehlo.return %r : tensor<i1>")
    exact = source.exact and x.type.element == "i32"
    g.emit("select_and_scatter", [x, source, _neutral(g, "add", x.type.element)], x.type,
           f"window_dimensions = {dims(size)}, window_strides = {dims(stride)}, "
           f"padding = {_padding(low, high)}", exact=exact,
           regions=[choose, _combiner("add", x.type.element)])


def dependent(g):
    """Reductions that read each other's results: log-sum-exp, softmax, variance."""
    # What has been rounded before might be cancelled here.
    x = g.tamed(g.pick(("f32", "f32", "f64", "bf16"), least_rank=1, nonempty=True, exact=True))
    chosen = sorted(g.rng.sample(range(x.type.rank), g.rng.choice((1, 1, min(2, x.type.rank)))))
    kept = [d for d in range(x.type.rank) if d not in chosen]
    small = x.type.with_shape([x.type.shape[d] for d in kept])
    before = len(g.values)

    def reduced(name, value):
        return g.emit("reduce", [value, _neutral(g, name, x.type.element)], small,
                      f"dimensions = {dims(chosen)}", exact=False, bounded=True,
                      regions=[_combiner(name, x.type.element)])

    def centered(value, middle):
        wide = g.emit("broadcast_in_dim", [middle], x.type, f"broadcast_dimensions = {dims(kept)}")
        return g.emit("subtract", [value, wide], x.type, bounded=True)

    if g.chance(0.3):
        count = g.splat(small, float(np.prod([x.type.shape[d] for d in chosen])))
        rest = centered(x, g.emit("divide", [reduced("add", x), count], small, exact=False))
        result = reduced("add", g.emit("multiply", [rest, rest], x.type))
    else:
        most = reduced("maximum", x)
        powers = g.emit("exponential", [centered(x, most)], x.type, exact=False)
        result = g.emit("log", [reduced("add", powers)], small, exact=False)
        result = g.emit("add", [most, result], small, exact=False)
        if g.chance(0.5):
            result = g.emit("exponential", [centered(x, result)], x.type, exact=False, bounded=True)
    # The others may be as good as zero.
    g.values[before:] = [result]


def map_(g):
    x = g.pick((*FLOATS, *INTEGERS), least_rank=1)
    y = g.pick((x.type.element,), x.type.shape)
    name = g.rng.choice(("maximum", "minimum"))
    g.emit("map", [x, y], x.type, f"dimensions = {dims(range(x.type.rank))}",
           regions=[_combiner(name, x.type.element)])


KINDS = {reduce: 5, dependent: 2, arg_reduce: 1, reduce_window: 2, cumulative: 1, select_and_scatter: 1, map_: 0.5}

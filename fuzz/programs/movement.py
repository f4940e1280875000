"""Operations that move elements."""

from program import FLOATS, INTEGERS, Type


def dims(values):
    return "array<i64" + (": " + ", ".join(str(int(v)) for v in values) if len(values) else "") + ">"


def reshape(g):
    x = g.pick()
    factors, rest = [], x.type.size
    if rest == 0:
        shape = list(x.type.shape) + [1] * g.rng.randint(0, 1)
        g.rng.shuffle(shape)
    else:
        for p in (2, 2, 3, 4, 5, 7, 8):
            if rest % p == 0 and g.chance(0.6):
                factors.append(p)
                rest //= p
        shape = [*factors[:3], rest]
        for p in factors[3:]:
            shape[-1] *= p
        if g.chance(0.3):
            shape.insert(g.rng.randint(0, len(shape)), 1)
        g.rng.shuffle(shape)
    g.emit("reshape", [x], x.type.with_shape(shape), bounded=x.bounded)


def transpose(g):
    x = g.pick(least_rank=1)
    order = list(range(x.type.rank))
    g.rng.shuffle(order)
    g.emit("transpose", [x], x.type.with_shape([x.type.shape[d] for d in order]),
           f"permutation = {dims(order)}", bounded=x.bounded)


def broadcast_in_dim(g):
    x = g.pick()
    rank = min(5, x.type.rank + g.rng.randint(0, 2))
    places = sorted(g.rng.sample(range(rank), x.type.rank))
    if g.chance(0.1):
        g.rng.shuffle(places)
    shape = [g.rng.choice((1, 2, 3, 5, 16)) for _ in range(rank)]
    for d, place in zip(x.type.shape, places):
        shape[place] = d if d != 1 or g.chance(0.6) else g.rng.choice((1, 2, 4, 9))
    result = x.type.with_shape(shape)
    if result.size > 12000:
        return
    g.emit("broadcast_in_dim", [x], result, f"broadcast_dimensions = {dims(places)}",
           bounded=x.bounded)


def slice_(g):
    x = g.pick(least_rank=1)
    start, limit, stride, shape = [], [], [], []
    for d in x.type.shape:
        a = g.rng.randint(0, d) if g.chance(0.5) else 0
        b = g.rng.randint(a, d) if g.chance(0.5) else d
        s = g.rng.choice((1, 1, 1, 2, 3))
        start.append(a), limit.append(b), stride.append(s), shape.append(-(-(b - a) // s))
    g.emit("slice", [x], x.type.with_shape(shape),
           f"start_indices = {dims(start)}, limit_indices = {dims(limit)}, strides = {dims(stride)}",
           bounded=x.bounded)


def pad(g):
    x = g.pick()
    value = g.pick((x.type.element,), ())
    low, high, inner, shape = [], [], [], []
    for d in x.type.shape:
        i = g.rng.choice((0, 0, 0, 1, 2))
        grown = d + max(0, d - 1) * i
        a, b = (g.rng.choice((0, 0, 1, 2, 5, -1, -2)) for _ in range(2))
        if grown + a + b < 0:
            a = b = 0
        low.append(a), high.append(b), inner.append(i), shape.append(grown + a + b)
    g.emit("pad", [x, value], x.type.with_shape(shape),
           f"edge_padding_low = {dims(low)}, edge_padding_high = {dims(high)}, "
           f"interior_padding = {dims(inner)}", bounded=x.bounded and value.bounded)


def concatenate(g):
    x = g.pick(least_rank=1)
    axis = g.rng.randrange(x.type.rank)
    parts = [x]
    for _ in range(g.rng.randint(0, 3)):
        shape = list(x.type.shape)
        if g.chance(0.5):
            shape[axis] = g.dim()
        parts.append(g.pick((x.type.element,), shape))
    shape = list(x.type.shape)
    shape[axis] = sum(p.type.shape[axis] for p in parts)
    g.rng.shuffle(parts)
    g.emit("concatenate", parts, x.type.with_shape(shape), f"dimension = {axis} : i64",
           bounded=all(p.bounded for p in parts))


def reverse(g):
    x = g.pick(least_rank=1)
    chosen = g.rng.sample(range(x.type.rank), g.rng.randint(1, x.type.rank))
    g.emit("reverse", [x], x.type, f"dimensions = {dims(chosen)}", bounded=x.bounded)


def iota(g):
    shape = g.rng.choice(g.shapes) or (7,)
    g.emit("iota", [], Type(g.element((*INTEGERS, *FLOATS)), tuple(shape)),
           f"iota_dimension = {g.rng.randrange(len(shape))} : i64")


def barrier(g):
    x = g.pick()
    g.emit("optimization_barrier", [x], x.type, bounded=x.bounded)


KINDS = {reshape: 3, transpose: 3, broadcast_in_dim: 4, slice_: 3, pad: 3, concatenate: 3,
         reverse: 1.5, iota: 1.5, barrier: 0.3}

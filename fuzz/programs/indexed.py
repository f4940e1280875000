"""Gather, scatter, dynamic slices, sorts and random bits."""

from movement import dims
from program import FLOATS, INTEGERS, SIGNED, Type


def _starts(g, operand):
    """Scalar start indices, some out of bounds."""
    e = g.rng.choice(("i32", "i64", "ui32", "i8"))
    starts = []
    for d in operand.type.shape:
        low = -3 if e in SIGNED else 0
        starts.append(g.fresh(Type(e), low, min(d + 2, 100)))
    return starts


def dynamic_slice(g):
    x = g.pick(least_rank=1)
    sizes = [g.rng.randint(min(1, d), d) for d in x.type.shape]
    g.emit("dynamic_slice", [x, *_starts(g, x)], x.type.with_shape(sizes),
           f"slice_sizes = {dims(sizes)}", exact=x.exact, bounded=x.bounded)


def dynamic_update_slice(g):
    x = g.pick(least_rank=1)
    sizes = [g.rng.randint(min(1, d), d) for d in x.type.shape]
    update = g.pick((x.type.element,), sizes)
    g.emit("dynamic_update_slice", [x, update, *_starts(g, x)], x.type,
           exact=x.exact and update.exact, bounded=x.bounded and update.bounded)


def _dimension_numbers(g, operand, indices_shape):
    """Of a gather and of its scatter: which dimensions are indexed, and which slices are taken."""
    rank = operand.type.rank
    indexed = g.rng.sample(range(rank), g.rng.randint(1, rank))
    sizes = [g.rng.randint(1, d) for d in operand.type.shape]
    collapsed = sorted(d for d in range(rank) if d in indexed and g.chance(0.6))
    for d in collapsed:
        sizes[d] = 1
    kept = [sizes[d] for d in range(rank) if d not in collapsed]
    out_rank = len(indices_shape) + len(kept)
    offsets = sorted(g.rng.sample(range(out_rank), len(kept)))
    shape, batch, window = [], list(indices_shape), list(kept)
    for d in range(out_rank):
        shape.append(window.pop(0) if d in offsets else batch.pop(0))
    # The coordinate along a dimension of the indices, or implicit.
    vector = g.rng.randint(0, len(indices_shape))
    full = list(indices_shape)
    if len(indexed) == 1 and g.chance(0.3):
        vector = len(indices_shape)
    else:
        full.insert(vector, len(indexed))
    e = g.rng.choice(("i32", "i32", "i64", "ui8", "i16"))
    indices = g.fresh(Type(e, tuple(full)), -2 if e in SIGNED else 0,
                      min(100, max(operand.type.shape) + 1))
    return indices, indexed, sizes, collapsed, offsets, shape, vector


def gather(g):
    x = g.pick(least_rank=1, nonempty=True)
    batch = g.shape(g.rng.randint(0, 2))
    indices, indexed, sizes, collapsed, offsets, shape, vector = _dimension_numbers(g, x, batch)
    result = x.type.with_shape(shape)
    if result.size > 12000:
        return
    numbers = (f"#stablehlo.gather<offset_dims = {offsets}, collapsed_slice_dims = {collapsed}, "
               f"start_index_map = {indexed}, index_vector_dim = {vector}>")
    ordered = "true" if indices.type.size <= 1 else "false"
    g.emit("gather", [x, indices], result,
           f"dimension_numbers = {numbers}, slice_sizes = {dims(sizes)}, "
           f"indices_are_sorted = {ordered}", exact=x.exact, bounded=x.bounded)


def _batched(g, x):
    """Indices of shape [batch, count, 1] into dimension 1 of x, of which dimension 0 is the batch."""
    count = g.rng.randint(1, 5)
    e = g.rng.choice(("i32", "i64", "ui8"))
    return g.fresh(Type(e, (x.type.shape[0], count, 1)), -2 if e in SIGNED else 0,
                   min(100, x.type.shape[1] + 1))


def batched_gather(g):
    x = g.pick(least_rank=2, nonempty=True)
    indices = _batched(g, x)
    rest = x.type.shape[2:]
    numbers = (f"#stablehlo.gather<offset_dims = {[2 + d for d in range(len(rest))]}, "
               "collapsed_slice_dims = [1], operand_batching_dims = [0], "
               "start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>")
    result = x.type.with_shape((*indices.type.shape[:2], *rest))
    if result.size <= 12000:
        g.emit("gather", [x, indices], result,
               f"dimension_numbers = {numbers}, slice_sizes = {dims((1, 1, *rest))}, "
               "indices_are_sorted = false", exact=x.exact, bounded=x.bounded)


def batched_scatter(g):
    x = g.pick(INTEGERS, least_rank=2, nonempty=True)
    indices = _batched(g, x)
    rest = x.type.shape[2:]
    update = g.pick((x.type.element,), (*indices.type.shape[:2], *rest))
    scalar = Type(x.type.element)
    name = g.rng.choice(("add", "maximum", "minimum", "xor"))
    region = (f"^bb0(%x: {scalar}, %y: {scalar}):\n    %r = stablehlo.{name} %x, %y : {scalar}\n"
              f"    stablehlo.return %r : {scalar}")
    numbers = (f"#stablehlo.scatter<update_window_dims = {[2 + d for d in range(len(rest))]}, "
               "inserted_window_dims = [1], input_batching_dims = [0], "
               "scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], "
               "index_vector_dim = 2>")
    g.emit("scatter", [x, indices, update], x.type, f"scatter_dimension_numbers = {numbers}",
           exact=x.exact and update.exact, regions=[region])


def scatter(g):
    x = g.pick((*INTEGERS, *FLOATS, "i1"), least_rank=1, nonempty=True)
    batch = g.shape(g.rng.randint(0, 2))
    indices, indexed, _, collapsed, offsets, shape, vector = _dimension_numbers(g, x, batch)
    update = g.pick((x.type.element,), shape)
    if update.type.size > 12000:
        return
    e = x.type.element
    # The last of several updates of an element is anybody's: only what commutes.
    name = g.rng.choice(("and", "or") if e == "i1" else ("add", "maximum", "minimum"))
    scalar = Type(e)
    region = (f"^bb0(%x: {scalar}, %y: {scalar}):\n    %r = stablehlo.{name} %x, %y : {scalar}\n"
              f"    stablehlo.return %r : {scalar}")
    numbers = (f"#stablehlo.scatter<update_window_dims = {offsets}, "
               f"inserted_window_dims = {collapsed}, "
               f"scatter_dims_to_operand_dims = {indexed}, index_vector_dim = {vector}>")
    exact = x.exact and update.exact and not (name == "add" and e in FLOATS)
    g.emit("scatter", [x, indices, update], x.type, f"scatter_dimension_numbers = {numbers}",
           exact=exact, regions=[region])


def sort(g):
    keys = g.pick((*INTEGERS, *FLOATS), least_rank=1, exact=True)
    others = [g.pick(shape=keys.type.shape) for _ in range(g.rng.choice((0, 0, 1, 2)))]
    operands = [keys, *others]
    arguments = []
    for i, v in enumerate(operands):
        arguments += [f"%x{i}: {Type(v.type.element)}", f"%y{i}: {Type(v.type.element)}"]
    scalar = Type(keys.type.element)
    direction = g.rng.choice(("LT", "GT"))
    kind = ", TOTALORDER" if keys.type.element in FLOATS else ""
    # Equal keys keep their order, so that what goes with them is known.
    region = (f"^bb0({', '.join(arguments)}):\n"
              f"    %r = stablehlo.compare {direction}, %x0, %y0{kind} : ({scalar}, {scalar}) -> tensor<i1>\n"
              f"    stablehlo.return %r : tensor<i1>")
    before = len(g.program.ops)
    g.emit("sort", operands, [v.type for v in operands],
           f"dimension = {g.rng.randrange(keys.type.rank)} : i64, is_stable = true",
           regions=[region])
    for source, result in zip(operands, g.program.ops[before].results):
        result.exact, result.bounded = source.exact, source.bounded


def top_k(g):
    x = g.pick((*INTEGERS, *FLOATS), least_rank=1, exact=True, nonempty=True)
    k = g.rng.randint(1, x.type.shape[-1])
    shape = (*x.type.shape[:-1], k)
    g.emit("chlo.top_k", [x], [x.type.with_shape(shape), Type("i32", shape)], f"k = {k} : i64")


def random_bits(g):
    e = g.rng.choice(("ui32", "ui64"))
    algorithm, words = g.rng.choice((("THREE_FRY", 2), ("PHILOX", 2), ("PHILOX", 3)))
    state = g.fresh(Type("ui64", (words,)), 0, 2**63)
    g.emit("rng_bit_generator", [state], [state.type, Type(e, g.rng.choice(g.shapes))],
           f"rng_algorithm = #stablehlo<rng_algorithm {algorithm}>")


KINDS = {dynamic_slice: 2, dynamic_update_slice: 2, gather: 3, scatter: 3, batched_gather: 1,
         batched_scatter: 1, sort: 2, top_k: 0.7, random_bits: 0.7}

"""Operations of random sharded programs, each a function of a `Maker` that returns a new array.

All arrays hold small integers, so that every way of computing gives the same bits: i32, which wraps,
or f32, which `wrap_to_small` brings back to small numbers.
"""

import jax
import jax.numpy as jnp
from jax import lax

OPERATIONS = []


def operation(function):
    OPERATIONS.append(function)
    return function


def wrap_to_small(x):
    """Small integers again, so that sums of f32 stay exact."""
    return x % 7 - 3 if x.dtype == jnp.float32 else x


# ---- Elementwise and shapes ----------------------------------------------------------------------

@operation
def binary(m):
    x = m.pick()
    y = m.like(x)
    return m.choice([jnp.add, jnp.subtract, jnp.multiply, jnp.maximum, jnp.minimum])(x, y)


@operation
def compared(m):
    x = m.pick()
    y = m.like(x)
    return jnp.where(x > y, x + 1, y)


@operation
def counted(m):
    x = m.pick(least=1)
    return x + lax.broadcasted_iota(x.dtype, x.shape, m.dim(x))


@operation
def broadcast(m):
    x = m.pick(most=3)
    d = m.rng.randrange(x.ndim + 1)
    shape = list(x.shape)
    shape.insert(d, m.size())
    return jnp.broadcast_to(jnp.expand_dims(x, d), shape)


@operation
def transposed(m):
    x = m.pick(least=2)
    return jnp.transpose(x, m.rng.sample(range(x.ndim), x.ndim))


@operation
def reshaped(m):
    x = m.pick(least=1)
    d = m.dim(x)
    if m.chance(0.5) and x.ndim > 1 and d + 1 < x.ndim:
        return x.reshape(*x.shape[:d], x.shape[d] * x.shape[d + 1], *x.shape[d + 2:])
    factors = [f for f in (2, 3, 4, 5, 8) if x.shape[d] % f == 0]
    if not factors or x.ndim > 3:
        return x.reshape(-1)
    f = m.choice(factors)
    return x.reshape(*x.shape[:d], *m.choice([(f, x.shape[d] // f), (x.shape[d] // f, f)]),
                     *x.shape[d + 1:])


@operation
def converted(m):
    x = m.pick()
    return wrap_to_small(x).astype(jnp.float32) if x.dtype == jnp.int32 and m.chance(0.5) else x.astype(jnp.int32)


# ---- Parts and borders ---------------------------------------------------------------------------

@operation
def sliced(m):
    x = m.pick(least=1)
    d = m.dim(x)
    start = m.rng.randrange(x.shape[d])
    limit = m.rng.randint(start + 1, x.shape[d])
    return lax.slice_in_dim(x, start, limit, m.choice([1, 1, 1, 2, 3]), d)


@operation
def padded(m):
    x = m.pick(least=1)
    config = [(0, 0, 0)] * x.ndim
    config[m.dim(x)] = (m.rng.randint(-1, 3), m.rng.randint(0, 4), m.choice([0, 0, 0, 1, 2]))
    if x.size == 0 or min(x.shape) < 2:
        return x
    return lax.pad(x, jnp.array(m.rng.randint(0, 2), x.dtype), config)


@operation
def concatenated(m):
    x = m.pick(least=1)
    parts = [x, m.like(x)]
    if m.chance(0.3):
        parts.append(x[:1] if m.chance(0.5) else jnp.flip(x, 0))
        return jnp.concatenate(parts, 0)
    return jnp.concatenate(parts, m.dim(x))


@operation
def rolled(m):
    x = m.pick(least=1)
    return jnp.roll(x, m.rng.randint(-5, 12), m.dim(x))


@operation
def flipped(m):
    x = m.pick(least=1)
    return jnp.flip(x, m.dim(x))


@operation
def neighbours(m):
    x = m.pick(least=1)
    d = m.dim(x)
    wide = [(0, 0)] * x.ndim
    wide[d] = (1, 1)
    p = jnp.pad(x, wide)
    n = x.shape[d]
    return (lax.slice_in_dim(p, 0, n, axis=d) - 2 * x + lax.slice_in_dim(p, 2, n + 2, axis=d))


@operation
def differences(m):
    x = m.pick(least=1)
    d = m.dim(x)
    if x.shape[d] < 2:
        return x
    return jnp.diff(x, axis=d)


@operation
def repeated(m):
    x = m.pick(least=1)
    if m.chance(0.5):
        return jnp.repeat(x, m.rng.randint(2, 3), axis=m.dim(x))
    times = [1] * x.ndim
    times[m.dim(x)] = m.rng.randint(2, 3)
    return jnp.tile(x, times)


@operation
def stacked(m):
    x = m.pick(least=1, most=3)
    return jnp.stack([x, m.like(x)], axis=m.rng.randrange(x.ndim + 1))


@operation
def bounded(m):
    x = m.pick()
    return jnp.clip(x, -m.rng.randint(0, 2), m.rng.randint(0, 2))


@operation
def triangular(m):
    """What masks of two dimensions leave, and sums of it."""
    x = m.pick(least=2)
    x = m.choice([jnp.tril, jnp.triu])(x, m.rng.randint(-2, 2))
    return x if m.chance(0.5) else jnp.sum(x, axis=m.dim(x))


@operation
def diagonal(m):
    x = m.pick(least=2)
    n = min(x.shape[-2:])
    x = lax.slice(x, [0] * x.ndim, [*x.shape[:-2], n, n])
    return jnp.einsum(m.choice(["...ii->...i", "...ii->..."]), x)


# ---- Reductions, scans, order --------------------------------------------------------------------

@operation
def reduced(m):
    x = m.pick(least=1)
    axes = tuple(m.rng.sample(range(x.ndim), m.rng.randint(1, x.ndim)))
    function = m.choice([jnp.sum, jnp.max, jnp.min, jnp.sum])
    return function(x, axis=axes, keepdims=m.chance(0.3)).astype(x.dtype)


@operation
def argued(m):
    x = m.pick(least=1)
    return m.choice([jnp.argmax, jnp.argmin])(x, axis=m.dim(x)).astype(jnp.int32)


@operation
def scanned(m):
    x = m.pick(least=1)
    return m.choice([lax.cumsum, lax.cummax, lax.cummin])(x, axis=m.dim(x), reverse=m.chance(0.3))


@operation
def associative(m):
    x = m.pick(least=1)
    return lax.associative_scan(m.choice([jnp.add, jnp.maximum]), x, axis=m.dim(x))


@operation
def ordered(m):
    x = m.pick(least=1)
    d = m.dim(x)
    return m.choice([lambda: jnp.sort(x, axis=d), lambda: jnp.argsort(x, axis=d).astype(jnp.int32),
                     lambda: lax.sort((x, m.like(x)), dimension=d, num_keys=1)[1]])()


@operation
def topmost(m):
    x = m.pick(least=1)
    k = m.rng.randint(1, min(x.shape[-1], 9))
    values, places = lax.top_k(x, k)
    return m.choice([values, places])


# ---- Indices -------------------------------------------------------------------------------------

@operation
def taken(m):
    x = m.pick(least=1)
    d = m.dim(x)
    places = m.indices(x.shape[d], (m.size(),))
    return jnp.take(x, places, axis=d, mode=m.choice(["clip", "fill", "wrap"]), fill_value=0)


@operation
def taken_along(m):
    x = m.pick(least=1)
    d = m.dim(x)
    return jnp.take_along_axis(x, m.indices(x.shape[d], x.shape), axis=d)


@operation
def added_at(m):
    x = m.pick(least=1)
    places = m.indices(x.shape[0], (m.size(),))
    updates = jnp.broadcast_to(jnp.arange(places.shape[0], dtype=x.dtype).reshape(
        -1, *(1,) * (x.ndim - 1)), (places.shape[0], *x.shape[1:]))
    return m.choice([x.at[places].add, x.at[places].max, x.at[places].min])(updates)


@operation
def scattered(m):
    """Rows of one array to places in another, each to one or several."""
    x = m.pick(least=1, most=3)
    y = m.fresh((m.size(), *x.shape[1:]), x.dtype) if m.chance(0.5) else jnp.flip(x, 0) + 1
    places = m.indices(x.shape[0], y.shape[:1])
    return m.choice([x.at[places].add, x.at[places].max, x.at[places].min,
                     lambda y: jnp.zeros_like(x).at[places].add(y)])(y)


@operation
def segments(m):
    x = m.pick(least=1)
    count = m.rng.randint(1, 9)
    places = m.indices(count, x.shape[:1])
    if m.chance(0.5):
        return jax.ops.segment_sum(x, places, count)
    return jnp.maximum(jax.ops.segment_max(x, places, count), -9).astype(x.dtype)


@operation
def gradient_of_taken(m):
    x = wrap_to_small(m.pick(least=1)).astype(jnp.float32)
    places = m.indices(x.shape[0], (m.size(),))
    return jax.grad(lambda x: jnp.sum(jnp.take(x, places, axis=0, mode="clip") ** 2) / 2)(x)


@operation
def window_of_each(m):
    """Of each row another window."""
    x = m.pick(least=2, most=3)
    size = m.rng.randint(1, x.shape[1])
    starts = m.indices(x.shape[1], x.shape[:1])
    if m.chance(0.5):
        return jax.vmap(lambda row, i: lax.dynamic_slice_in_dim(row, i, size, 0))(x, starts)
    return jax.vmap(lambda row, i: lax.dynamic_update_slice_in_dim(row, row[:size] * 2, i, 0))(x, starts)


@operation
def placed_in_order(m):
    x, y = m.pick(least=1), m.pick(least=1)
    return jnp.searchsorted(jnp.sort(x.reshape(-1)), y.astype(x.dtype)).astype(jnp.int32)


@operation
def window_at(m):
    x = m.pick(least=1)
    starts = [m.scalar(size) for size in x.shape]
    sizes = [m.choice([1, size, max(1, size // 2), max(1, size // 4)]) for size in x.shape]
    part = lax.dynamic_slice(x, starts, sizes)
    if m.chance(0.5):
        return part
    return lax.dynamic_update_slice(x, part * 2, [m.scalar(size) for size in x.shape])


# ---- Contractions and windows --------------------------------------------------------------------

@operation
def contracted(m):
    x = m.pick(least=1, most=3)
    d = m.dim(x)
    y = m.fresh((x.shape[d], m.size()), x.dtype)
    return jnp.tensordot(x, y, ((d,), (0,)))


@operation
def contracted_with_itself(m):
    x = m.pick(least=2, most=3)
    letters = "abc"[:x.ndim]
    other = letters[:-1] + "z"
    kept = m.choice([letters[-1] + "z", letters[0] + letters[-1] + "z"])
    return jnp.einsum(f"{letters},{other}->{kept}", x, x)


@operation
def convolved(m):
    x = m.pick(least=1, most=2)
    x = x.reshape((1,) * (2 - x.ndim) + x.shape)
    batch, width = x.shape
    features = m.choice([f for f in (1, 2, 4) if width % f == 0])
    x = x.reshape(batch, width // features, features).astype(jnp.float32)
    x = wrap_to_small(x)
    groups = m.choice([1, 1, features])
    taps = m.rng.randint(1, 5)
    kernel = m.fresh((taps, features // groups, 4), jnp.float32)
    dilation = m.choice([1, 1, 2])
    least = (taps - 1) * dilation
    low = m.rng.randint(0, least + 1)
    if x.shape[1] + low < least + 1:
        low = least + 1
    if m.chance(0.2):
        return lax.conv_general_dilated(x, kernel, (1,), [(low, m.rng.randint(0, 2))],
                                        lhs_dilation=(m.choice([1, 2]),), feature_group_count=groups,
                                        dimension_numbers=("NHC", "HIO", "NHC"))
    return lax.conv_general_dilated(
        x, kernel, (m.choice([1, 1, 2, 3]),), m.choice(["SAME", [(low, m.rng.randint(0, 3))]]),
        rhs_dilation=(dilation,), feature_group_count=groups,
        dimension_numbers=("NHC", "HIO", "NHC"))


@operation
def windowed(m):
    x = m.pick(least=1)
    d = m.dim(x)
    size = min(m.rng.randint(1, 5), x.shape[d])
    window, strides, padding = [1] * x.ndim, [1] * x.ndim, [(0, 0)] * x.ndim
    window[d], strides[d] = size, m.choice([1, 1, 2, size])
    padding[d] = m.choice([(0, 0), (size - 1, 0), (0, size - 1), (size // 2, (size - 1) // 2)])
    if m.chance(0.5):
        return lax.reduce_window(x, jnp.array(0, x.dtype), lax.add, window, strides, padding)
    return lax.reduce_window(x, jnp.array(-1000, x.dtype), lax.max, window, strides, padding)


@operation
def pooled_gradient(m):
    x = wrap_to_small(m.pick(least=1)).astype(jnp.float32)
    d = m.dim(x)
    size = min(m.rng.randint(1, 3), x.shape[d])
    window, strides = [1] * x.ndim, [1] * x.ndim
    window[d], strides[d] = size, m.choice([1, size])

    def pool(x):
        best = lax.reduce_window(x, -jnp.inf, lax.max, window, strides, "SAME")
        return jnp.sum(best * (lax.broadcasted_iota(jnp.float32, best.shape, d) % 5))

    return jax.grad(pool)(x)


@operation
def contracted_in_batches(m):
    x = m.pick(least=2, most=3)
    letters = "abc"[:x.ndim]
    other = "".join(m.rng.sample(letters, x.ndim))
    y = m.fresh([x.shape[letters.index(one)] for one in other], x.dtype)
    kept = "".join(m.rng.sample(letters, m.rng.randint(0, x.ndim)))
    return jnp.einsum(f"{letters},{other}->{kept}", x, y)


# ---- Control flow and constraints ----------------------------------------------------------------

@operation
def looped(m):
    x = m.pick(least=1)
    y = m.like(x)
    d = m.dim(x)

    def body(carry, row):
        carry = wrap_to_small(jnp.roll(carry, 1, d) + y)
        return carry, jnp.sum(carry, axis=d) + row

    carry, rows = lax.scan(body, x, jnp.arange(3, dtype=x.dtype))
    return m.choice([carry, rows])


@operation
def rows_in_turn(m):
    x = m.pick(least=2)

    def body(total, row):
        return wrap_to_small(total + row), total * 2 - row

    total, rows = lax.scan(body, jnp.zeros(x.shape[1:], x.dtype), x)
    return m.choice([total, rows])


@operation
def until(m):
    """A loop whose end depends on what it carries."""
    x = m.pick(least=1)
    y = m.like(x)

    def body(carry):
        i, x = carry
        return i + 1 + jnp.abs(jnp.max(x)).astype(jnp.int32) % 2, wrap_to_small(x + y)

    return lax.while_loop(lambda carry: carry[0] < 5, body, (0, x))[1]


@operation
def written_in_turn(m):
    """Windows of an array that a loop reads and writes."""
    x = m.pick(least=1)
    d = m.dim(x)
    size = m.rng.randint(1, max(1, x.shape[d] // 3))

    def body(i, x):
        part = lax.dynamic_slice_in_dim(x, i * 2, size, d)
        return wrap_to_small(lax.dynamic_update_slice_in_dim(x, part + 1, x.shape[d] - i * 3, d))

    return lax.fori_loop(0, 3, body, x)


@operation
def random(m):
    x = m.pick()
    key = jnp.array([0, m.rng.randrange(99)], jnp.uint32)
    return x + jax.random.randint(key, x.shape, -2, 3).astype(x.dtype)


@operation
def chosen(m):
    x = m.pick(least=1)
    y = m.like(x)
    return lax.cond(jnp.sum(m.like(x)) % 2 == 0, lambda: x + y, lambda: jnp.flip(x, 0) - y)


@operation
def constrained(m):
    x = m.pick()
    return m.constrain(x)


@operation
def by_hand(m):
    x = m.pick(least=2)
    return m.manual(x)

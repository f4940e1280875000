"""Programs over eight devices in which small arrays meet large ones: `sharded_programs.py` runs them."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, shard_map
from jax.sharding import PartitionSpec as P

from sharded_setup import ON_DEMAND, PROGRAMS, constrained, program, ring, training_step

EARLIER = set(PROGRAMS)


# ---- Models --------------------------------------------------------------------------------------

@program
def patches_and_class_token(setup):
    """A vision transformer with a token and positions that lie as weights do, trained by Adam."""
    setup.mesh(x=8)
    w = {"patch": setup.normal((4, 4, 3, 32), None, None, None, "x", scale=0.1),
         "place": setup.normal((17, 32), None, "x", scale=0.1), "token": setup.normal((32,), "x"),
         "qkv": setup.normal((32, 96), "x", scale=0.1), "out": setup.normal((32, 32), None, "x", scale=0.1),
         "head": setup.normal((32, 16), "x", scale=0.1)}
    images, labels = setup.normal((16, 16, 16, 3), "x"), setup.integers(16, (16,), "x")

    def loss(w, images, labels):
        x = lax.conv_general_dilated(images, w["patch"], (4, 4), "VALID",
                                     dimension_numbers=("NHWC", "HWIO", "NHWC")).reshape(16, 16, 32)
        x = jnp.concatenate([jnp.broadcast_to(w["token"], (16, 1, 32)), x], 1) + w["place"]
        q, k, v = (a.reshape(16, 17, 4, 8) for a in jnp.split(jax.nn.standardize(x) @ w["qkv"], 3, -1))
        x = x + jax.nn.dot_product_attention(q, k, v).reshape(16, 17, 32) @ w["out"]
        return -jnp.mean(jax.nn.log_softmax(x[:, 0] @ w["head"])[jnp.arange(16), labels])

    return *training_step(loss, w, images, labels, optimizer="adam"), 1


@program
def grouped_queries_decoding(setup):
    """Some tokens of a model with fewer heads of keys than of queries."""
    setup.mesh(x=2, y=4)
    batch, heads, groups, length, size, width = 4, 8, 4, 32, 8, 64
    w = {"q": setup.normal((width, heads, size), None, "y", scale=0.1),
         "kv": setup.normal((2, width, groups, size), None, None, "y", scale=0.1),
         "out": setup.normal((heads, size, width), "y", scale=0.1),
         "embed": setup.normal((64, width), None, "y")}
    cache = setup.normal((2, batch, length, groups, size), None, "x", None, "y")
    tokens = setup.integers(64, (batch,), "x")

    def f(w, cache, tokens):
        def step(carry, i):
            cache, tokens = carry
            x = w["embed"][tokens]
            q = jnp.einsum("bw,whd->bhd", x, w["q"]).reshape(batch, groups, heads // groups, size)
            now = jnp.einsum("bw,cwkd->cbkd", x, w["kv"])[:, :, None]
            cache = lax.dynamic_update_slice(cache, now, (0, 0, i, 0, 0))
            p = jnp.where(jnp.arange(length) <= i, jnp.einsum("bkgd,btkd->bkgt", q, cache[0]), -1e9)
            out = jnp.einsum("bkgt,btkd->bkgd", jax.nn.softmax(p), cache[1]).reshape(batch, heads, size)
            logits = (x + jnp.einsum("bhd,hdw->bw", out, w["out"])) @ w["embed"].T
            return (cache, jnp.argmax(logits, -1).astype("i4")), logits

        return lax.scan(step, (cache, tokens), jnp.arange(6))

    return jax.jit(f), (w, cache, tokens), 6


@program
def experts_of_sorted_tokens(setup):
    """Products with ragged groups."""
    setup.mesh(x=8)

    def f(x, w, expert):
        order = jnp.argsort(expert)
        y = lax.ragged_dot(x[order], w, jnp.bincount(expert, length=4).astype("i4"))
        return jnp.zeros_like(y).at[order].set(y)

    x, w = setup.normal((64, 16), "x"), setup.normal((4, 16, 32), None, None, "x", scale=0.2)
    return jax.jit(f), (x, w, setup.integers(4, (64,), "x")), 1


@program
def experts_dispatched_by_hand(setup):
    """The best expert takes so many tokens of each device; trained."""
    mesh = setup.mesh(x=8)
    width, experts, capacity = 16, 8, 4
    w = {"gate": setup.normal((width, experts), scale=0.3),
         "up": setup.normal((experts, width, 32), "x", scale=0.2),
         "down": setup.normal((experts, 32, width), "x", scale=0.2)}
    x = setup.normal((128, width), "x")

    def local(w, x):
        gates = jax.nn.softmax(x @ w["gate"])
        expert = jnp.argmax(gates, -1)
        chosen = jax.nn.one_hot(expert, experts, dtype=jnp.int32)
        place = jnp.sum((jnp.cumsum(chosen, 0) - 1) * chosen, -1)
        fits = place < capacity
        sent = jnp.zeros((experts, capacity, width))
        sent = sent.at[expert, jnp.where(fits, place, capacity)].add(x, mode="drop")
        h = lax.all_to_all(sent, "x", 0, 1, tiled=True)
        h = jax.nn.silu(jnp.einsum("ecw,ewf->ecf", h, w["up"]))
        h = lax.all_to_all(jnp.einsum("ecf,efw->ecw", h, w["down"]), "x", 1, 0, tiled=True)
        y = h[expert, jnp.minimum(place, capacity - 1)] * (fits * jnp.max(gates, -1))[:, None]
        return lax.psum(jnp.sum(y * y), "x")[None]

    specs = {"gate": P(), "up": P("x"), "down": P("x")}
    f = shard_map(local, mesh=mesh, in_specs=(specs, P("x")), out_specs=P("x"), check_vma=False)
    return *training_step(lambda w, x: jnp.mean(f(w, x)), w, x), 1


@program
def stages_in_a_loop(setup):
    """A pipeline whose loop takes one micro-batch in and gives one out; trained."""
    mesh = setup.mesh(x=4, y=2)
    w, x = setup.normal((4, 16, 16), "x", scale=0.3), setup.normal((8, 4, 16), None, "y")

    def stages(w, x):
        i = lax.axis_index("x")

        def tick(carry, t):
            h, out = carry
            h = jnp.tanh(jnp.where(i == 0, x[jnp.minimum(t, 7)], h) @ w[0])
            kept = lax.dynamic_update_index_in_dim(out, h, jnp.maximum(t - 3, 0), 0)
            return (lax.ppermute(h, "x", ring(4)), jnp.where((i == 3) & (t >= 3), kept, out)), None

        (_, out), _ = lax.scan(tick, (jnp.zeros_like(x[0]), jnp.zeros_like(x)), jnp.arange(11))
        return lax.psum(jnp.where(i == 3, out, 0), "x")

    f = shard_map(stages, mesh=mesh, in_specs=(P("x"), P(None, "y")), out_specs=P(None, "y"), check_vma=False)
    return *training_step(lambda w, x: jnp.mean(f(w, x) ** 2), w, x), 11


@program
def shifted_windows(setup):
    """Attention in windows of an image, and in windows half a window further."""
    setup.mesh(x=8)

    def attended(x, w):
        blocks = x.reshape(2, 8, 4, 4, 4, 16).transpose(0, 1, 3, 2, 4, 5).reshape(2, 8, 4, 16, 16)
        q, k, v = jnp.split(blocks @ w, 3, -1)
        o = jnp.einsum("bijqk,bijkd->bijqd", jax.nn.softmax(jnp.einsum("bijqd,bijkd->bijqk", q, k)), v)
        return o.reshape(2, 8, 4, 4, 4, 16).transpose(0, 1, 3, 2, 4, 5).reshape(2, 32, 16, 16)

    def f(x, w):
        x = x + attended(x, w)
        return x + jnp.roll(attended(jnp.roll(x, (-2, -2), (1, 2)), w), (2, 2), (1, 2))

    return jax.jit(f), (setup.normal((2, 32, 16, 16), None, "x"), setup.normal((16, 48), scale=0.2)), 1


@program
def networks_of_a_population(setup):
    """One network on each device; the worst becomes the best."""
    setup.mesh(x=8)
    w = {"up": setup.normal((16, 8, 16), "x"), "down": setup.normal((16, 16, 2), "x")}

    def step(w, x, y):
        loss = lambda w: jnp.mean((jnp.tanh(x @ w["up"]) @ w["down"] - y) ** 2)  # noqa: E731
        losses, gradients = jax.vmap(jax.value_and_grad(loss))(w)
        w = jax.tree.map(lambda a, b: a - 0.1 * b, w, gradients)
        best, worst = jnp.argmin(losses), jnp.argmax(losses)
        return jax.tree.map(lambda a: a.at[worst].set(a[best]), w), losses

    return jax.jit(step), (w, setup.normal((32, 8)), setup.normal((32, 2))), 1


# ---- Tables, masks, windows ----------------------------------------------------------------------

@program
def attention_over_edges(setup):
    """The softmax of each node's edges, with its gradient."""
    setup.mesh(x=8)
    w = {"w": setup.normal((8, 8), scale=0.3), "a": setup.normal((16,), scale=0.3)}
    x, source, target = setup.normal((64, 8), "x"), setup.integers(64, (256,), "x"), setup.integers(64, (256,), "x")

    def loss(w, x, source, target):
        h = x @ w["w"]
        e = jax.nn.leaky_relu(jnp.concatenate([h[source], h[target]], 1) @ w["a"])
        p = jnp.exp(e - lax.stop_gradient(jax.ops.segment_max(e, target, 64))[target])
        p = p / jax.ops.segment_sum(p, target, 64)[target]
        return jnp.mean(jax.ops.segment_sum(h[source] * p[:, None], target, 64) ** 2)

    return *training_step(loss, w, x, source, target), 1


@program
def softmax_of_segments(setup):
    setup.mesh(x=8)

    def f(x, place):
        e = jnp.exp(x - jax.ops.segment_max(x, place, 10)[place])
        return e / jax.ops.segment_sum(e, place, 10)[place]

    return jax.jit(f), (setup.normal((256, 2), "x"), setup.integers(10, (256,), "x")), 1


@program
def few_rows_of_a_table(setup):
    """Changed in three ways."""
    setup.mesh(x=8)

    def f(table, rows, values):
        return table.at[rows].max(values), table.at[rows, 0].add(1.0), table.at[rows].mul(2.0)

    return jax.jit(f), (setup.normal((64, 8), "x"), setup.integers(64, (32,), "x"), setup.normal((32, 8), "x")), 1


@program
def buffer_of_experience(setup):
    """Some rows written, others sampled."""
    setup.mesh(x=8)

    def f(buffer, new, key):
        buffer = lax.dynamic_update_slice(buffer, new, (40, 0))
        return buffer, constrained(setup, "x")(buffer[jax.random.randint(key, (32,), 0, 256)])

    return jax.jit(f), (setup.normal((256, 8), "x"), setup.normal((8, 8)), np.array([0, 5], "u4")), 1


@program
def rows_from_places(setup):
    """Windows of several rows, some over the border of two blocks, read and written in a loop."""
    setup.mesh(x=8)

    def f(x):
        def body(i, x):
            rows = lax.dynamic_slice(x, (i * 13, 0), (12, 8))
            return lax.dynamic_update_slice(x, rows * 2, (50 - i * 11, 0))

        return lax.fori_loop(0, 5, body, x)

    return jax.jit(f), (setup.normal((64, 8), "x"),), 5


@program
def traces_and_diagonals(setup):
    setup.mesh(x=4, y=2)

    def f(a, b):
        return jnp.einsum("bii->b", a), jnp.einsum("bii->bi", b), jnp.einsum("bij,bji->b", a, b)

    return jax.jit(f), (setup.normal((8, 16, 16), "x", "y"), setup.normal((8, 16, 16), "x", None, "y")), 1


@program
def edit_distances(setup):
    """Of pairs of words, by rows of their tables."""
    setup.mesh(x=8)

    def one(a, b):
        def row(before, letter):
            x = jnp.minimum(before[1:] + 1, before[:-1] + (b != letter))
            now = lax.cummin(jnp.concatenate([before[:1] + 1, x]) - jnp.arange(17)) + jnp.arange(17)
            return now, None

        return lax.scan(row, jnp.arange(17), a)[0][-1]

    return jax.jit(jax.vmap(one)), (setup.integers(4, (32, 16), "x"), setup.integers(4, (32, 16), "x")), 16


# ---- Sizes that do not divide, and complex numbers ------------------------------------------------

@program
def uneven_torus(setup):
    setup.mesh(x=4, y=2)
    split = constrained(setup, "x", "y")

    def step(_, x):
        sides = sum(jnp.roll(x, by, axis) for by in (1, -1) for axis in (0, 1))
        return split(x + 0.1 * (sides - 4 * x))

    return jax.jit(lambda x: lax.fori_loop(0, 3, step, split(x))), (setup.normal((50, 31)),), 3


@program
def uneven_plate(setup):
    """With a border that is always warm."""
    setup.mesh(x=4, y=2)
    split = constrained(setup, "x", "y")

    def f(x):
        x = split(x)
        for _ in range(2):
            p = jnp.pad(x, 1, constant_values=2.0)
            x = x + 0.1 * (p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * x)
        return x

    return jax.jit(f), (setup.normal((50, 31)),), 1


@program
def complex_signal(setup):
    setup.mesh(x=8)
    split = constrained(setup, "x")

    def f(x, y):
        z = lax.complex(x, y)
        longer = split(jnp.concatenate([jnp.pad(z, ((3, 5), (0, 0))), z[:8]]))
        few = split(z[:45] * 2)
        return longer, split(z[8:] * 1j), few.T @ few, few.sum(0), few.prod(0), split(jnp.roll(few, -3, 0))

    return jax.jit(f), (setup.normal((48, 6), "x"), setup.normal((48, 6), "x")), 1


# ---- Caches, products, borders -------------------------------------------------------------------

@program
def cache_with_a_position_each(setup):
    """Each sequence of a batch has its own place in a cache whose positions are split."""
    setup.mesh(x=2, y=4)
    cache, new = setup.normal((4, 64, 4, 8), "x", "y"), setup.normal((4, 1, 4, 8), "x")
    q, places = setup.normal((4, 4, 8), "x"), setup.integers(64, (4,), "x")

    def f(cache, new, q, places):
        cache = jax.vmap(lambda c, n, i: lax.dynamic_update_slice(c, n, (i, 0, 0)))(cache, new, places)
        last = jax.vmap(lambda c, i: lax.dynamic_slice(c, (i, 0, 0), (1, 4, 8)))(cache, places)
        p = jnp.einsum("bhd,bthd->bht", q, cache)
        p = jax.nn.softmax(jnp.where(jnp.arange(64) <= places[:, None, None], p, -1e9))
        return cache, last, jnp.einsum("bht,bthd->bhd", p, cache)

    return jax.jit(f), (cache, new, q, places), 1


@program
def products_of_segments(setup):
    setup.mesh(x=8)
    x, places = setup.normal((256, 4), "x"), setup.integers(16, (256,), "x")
    return jax.jit(lambda x, i: (jax.ops.segment_prod(x, i, 16), jnp.full(16, 1).at[i].multiply(1 + i % 2))), (
        x, places), 1


@program
def layers_in_a_loop_with_one_axis_by_hand(setup):
    """The other axis splits weights, which the gradient needs again."""
    mesh = setup.mesh(x=4, y=2)
    w = {"up": setup.normal((32, 64), None, "y", scale=0.2), "down": setup.normal((64, 32), "y", scale=0.2)}

    def local(w, x):
        layer = lambda h, _: (h + jax.nn.gelu(h @ w["up"]) @ w["down"], None)  # noqa: E731
        return lax.pmean(jnp.mean(lax.scan(layer, x, None, 3)[0] ** 2), "x")

    f = jax.shard_map(local, mesh=mesh, in_specs=(P(), P("x")), out_specs=P(), axis_names={"x"})
    return *training_step(f, w, setup.normal((16, 32), "x")), 3


@program
def windows_of_rows_of_each(setup):
    """Several rows for each sequence, some of them outside, and blocks of both dimensions."""
    setup.mesh(x=2, y=4)
    cache, new = setup.normal((4, 64, 4, 8), "x", "y"), setup.normal((4, 8, 4, 8), "x")
    places, table = setup.integers(64, (4,), "x"), setup.normal((64, 32), "y", "x")
    corners, patches = setup.integers(64, (5, 2)), setup.normal((5, 3, 4))

    def f(cache, new, places, table, corners, patches):
        cache = jax.vmap(lambda c, n, i: lax.dynamic_update_slice(c, n, (i, 0, 0)))(cache, new, places)
        again = jax.vmap(lambda c, i: lax.dynamic_slice(c, (i, 0, 0), (5, 4, 8)))(cache, places)
        to = lax.ScatterDimensionNumbers((1, 2), (), (0, 1))
        added = lax.scatter_add(table, corners - 2, patches, to, mode="drop")
        taken = lax.gather(table, corners, lax.GatherDimensionNumbers((0, 2), (), (0, 1)), (3, 4), mode="clip")
        return cache, jnp.einsum("bqhd,bkhd->bhqk", new, cache), again, added, taken

    return jax.jit(f), (cache, new, places, table, corners, patches), 1


@program
def rows_merged_out_of_three_axes(setup):
    """Reshapes for which one of three split dimensions gives way to others that are split too."""
    setup.mesh(x=2, y=2, z=2)
    f = jax.jit(lambda a: (a.transpose(2, 0, 1) * 2, a.reshape(64, 8), a.reshape(8, 64)), out_shardings=(
        setup.sharding("x", "y", "z"), setup.sharding(("z", "x"), "y"), setup.sharding("y", ("x", "z"))))
    return f, (setup.normal((8, 8, 8), "x", "y", "z"),), 1


@program
def shallow_water_by_hand(setup):
    """Borders of all four sides are exchanged, although two fields need those of two."""
    mesh = setup.mesh(x=4, y=2)

    def with_borders(u):
        u = jnp.concatenate([lax.ppermute(u[-1:], "x", ring(4)), u, lax.ppermute(u[:1], "x", ring(4, -1))], 0)
        last, first = lax.ppermute(u[:, -1:], "y", ring(2)), lax.ppermute(u[:, :1], "y", ring(2, -1))
        return jnp.concatenate([last, u, first], 1)

    def along_x(u):
        return (u[2:, 1:-1] - u[:-2, 1:-1]) / 2

    def along_y(u):
        return (u[1:-1, 2:] - u[1:-1, :-2]) / 2

    def local(h, u, v):
        def step(fields, _):
            h, u, v = fields
            wide_h, wide_u, wide_v = map(with_borders, fields)
            h = h - 0.01 * (along_x(wide_u) + along_y(wide_v))
            return (h, u - 0.01 * along_x(wide_h), v - 0.01 * along_y(wide_h)), lax.psum(jnp.sum(h), ("x", "y"))

        return lax.scan(step, (h, u, v), None, 4)

    f = shard_map(local, mesh=mesh, in_specs=(P("x", "y"),) * 3, out_specs=((P("x", "y"),) * 3, P()),
                  check_vma=False)
    return jax.jit(f), tuple(setup.normal((32, 32), "x", "y") for _ in range(3)), 4


ON_DEMAND |= set(PROGRAMS) - EARLIER - set("""
    patches_and_class_token experts_of_sorted_tokens softmax_of_segments few_rows_of_a_table
    buffer_of_experience rows_from_places traces_and_diagonals uneven_torus uneven_plate complex_signal
    cache_with_a_position_each products_of_segments layers_in_a_loop_with_one_axis_by_hand
    windows_of_rows_of_each rows_merged_out_of_three_axes shallow_water_by_hand
""".split())

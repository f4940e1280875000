"""More programs over eight devices: `sharded_programs.py` runs them with its own."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, shard_map
from jax.sharding import PartitionSpec as P

from sharded_setup import ON_DEMAND, constrained, program, training_step

NHWC = ("NHWC", "HWIO", "NHWC")


# ---- Training ------------------------------------------------------------------------------------

@program
def many_small_weights(setup):
    """Data parallel: a gradient for each of many small arrays."""
    setup.mesh(x=8)
    w = [{"w": setup.normal((24, 24), scale=0.2), "b": setup.normal((24,), scale=0.1),
          "scale": setup.normal((24,), scale=0.1)} for _ in range(6)]
    x = setup.normal((64, 24), "x")

    def loss(w, x):
        for one in w:
            x = x + jnp.tanh(x * (1 + one["scale"]) @ one["w"] + one["b"])
        return jnp.mean(x ** 2)

    return *training_step(loss, w, x), 1


@program
def sequence_parallel_block(setup):
    """Between products the tokens are split, inside them the features."""
    setup.mesh(x=2, y=4)
    w = {"up": setup.normal((32, 128), None, "y", scale=0.1),
         "down": setup.normal((128, 32), "y", scale=0.1), "scale": setup.normal((32,))}
    x = setup.normal((8, 32, 32), "x", "y")
    tokens = constrained(setup, "x", "y", None)

    def loss(w, x):
        for _ in range(2):
            h = tokens(x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * w["scale"])
            x = tokens(x + tokens(jax.nn.gelu(h @ w["up"]) @ w["down"]))
        return jnp.mean(x ** 2)

    return *training_step(loss, w, x), 1


@program
def gradients_accumulated(setup):
    """Data parallel, a loop over parts of the batch."""
    setup.mesh(x=8)
    w, x = setup.normal((32, 32), scale=0.2), setup.normal((4, 16, 32), None, "x")

    def f(w, x):
        def one(total, x):
            return total + jax.grad(lambda w: jnp.mean(jnp.tanh(x @ w) ** 2))(w), None
        return w - 0.1 * lax.scan(one, jnp.zeros_like(w), x)[0]

    return jax.jit(f, out_shardings=setup.sharding()), (w, x), 4


@program
def weights_of_loop_split(setup):
    """FSDP in a loop that uses the same weights each time."""
    setup.mesh(x=8)
    w, x = setup.normal((64, 64), "x", scale=0.1), setup.normal((32, 64), "x")

    def f(w, x):
        return lax.fori_loop(0, 6, lambda i, x: jnp.tanh(x @ w), x)

    return jax.jit(f), (w, x), 6


@program
def tied_embedding_split_by_words(setup):
    setup.mesh(x=2, y=4)
    table = setup.normal((256, 32), "y", scale=0.2)
    tokens = setup.integers(256, (16, 8), "x")

    def loss(table, tokens):
        h = jnp.tanh(table[tokens])
        logits = h @ table.T
        top = lax.stop_gradient(jnp.max(logits, -1, keepdims=True))
        total = jnp.log(jnp.sum(jnp.exp(logits - top), -1)) + top[..., 0]
        return jnp.mean(total - jnp.take_along_axis(logits, tokens[..., None], -1)[..., 0])

    return *training_step(loss, table, tokens), 1


@program
def embedding_split_by_features(setup):
    setup.mesh(x=8)
    table, tokens = setup.normal((128, 64), None, "x"), setup.integers(128, (16, 8))
    loss = lambda t, i: jnp.mean(jnp.sum(t[i], 1) ** 2)  # noqa: E731
    return *training_step(loss, table, tokens), 1


@program
def low_rank_adapters(setup):
    setup.mesh(x=2, y=4)
    w = setup.normal((64, 64), None, "y", scale=0.1)
    adapters = {"a": setup.normal((64, 4), scale=0.1), "b": setup.normal((4, 64), None, "y")}
    x = setup.normal((32, 64), "x")
    loss = lambda a, w, x: jnp.mean(jnp.tanh(x @ w + (x @ a["a"]) @ a["b"]) ** 2)  # noqa: E731
    return *training_step(loss, adapters, w, x), 1


@program
def transformer_cube(setup):
    """Batch, features and heads over three axes."""
    setup.mesh(x=2, y=2, z=2)
    w = {"qkv": setup.normal((32, 3, 4, 8), "y", None, "z", scale=0.2),
         "out": setup.normal((4, 8, 32), "z", None, "y", scale=0.2)}
    x = setup.normal((8, 16, 32), "x")

    def loss(w, x):
        q, k, v = jnp.moveaxis(jnp.einsum("btd,dchk->btchk", x, w["qkv"]), 2, 0)
        p = jax.nn.softmax(jnp.einsum("bqhk,bshk->bhqs", q, k))
        return jnp.mean((x + jnp.einsum("bhqs,bshk,hkd->bqd", p, v, w["out"])) ** 2)

    return *training_step(loss, w, x), 1


@program
def grouped_queries(setup):
    setup.mesh(x=8)
    q, k = setup.normal((2, 16, 16, 8), None, None, "x"), setup.normal((2, 16, 8, 8), None, None, "x")

    def f(q, k):
        k = jnp.repeat(k, 2, 2)
        p = jax.nn.softmax(jnp.einsum("bqhk,bshk->bhqs", q, k))
        return jnp.einsum("bhqs,bshk->bqhk", p, k)

    return jax.jit(f), (q, k), 1


@program
def rotated_positions(setup):
    """Over heads; the halves of a head's features are exchanged."""
    setup.mesh(x=8)
    x = setup.normal((2, 16, 8, 16), None, None, "x")

    def f(x):
        angle = jnp.arange(16)[:, None] / 100 ** (jnp.arange(8) / 8)
        cos, sin = jnp.cos(angle)[:, None], jnp.sin(angle)[:, None]
        a, b = jnp.split(x, 2, -1)
        return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], -1)

    return jax.jit(f), (x,), 1


@program
def rotated_positions_of_split_sequence(setup):
    setup.mesh(x=8)
    x = setup.normal((2, 64, 4, 16), None, "x")

    def f(x):
        angle = jnp.arange(64)[:, None] / 100 ** (jnp.arange(8) / 8)
        cos, sin = jnp.cos(angle)[:, None], jnp.sin(angle)[:, None]
        return jnp.stack([x[..., ::2] * cos - x[..., 1::2] * sin,
                          x[..., 1::2] * cos + x[..., ::2] * sin], -1).reshape(x.shape)

    return jax.jit(f), (x,), 1


@program
def sequence_to_heads(setup):
    """Attention that exchanges a split of the sequence for one of the heads."""
    setup.mesh(x=8)
    x = setup.normal((2, 64, 8, 8), None, "x")
    heads, tokens = constrained(setup, None, None, "x"), constrained(setup, None, "x")

    def f(x):
        q = heads(x)
        p = jax.nn.softmax(jnp.einsum("bqhk,bshk->bhqs", q, q))
        return tokens(jnp.einsum("bhqs,bshk->bqhk", p, q))

    return jax.jit(f), (x,), 1


@program
def ring_attention(setup):
    mesh = setup.mesh(x=8)
    q = setup.normal((2, 64, 4, 8), None, "x")

    def f(q, k, v):
        def step(_, carry):
            k, v, top, total, out = carry
            s = jnp.einsum("bqhd,bkhd->bhqk", q, k)
            new = jnp.maximum(top, s.max(-1))
            p, keep = jnp.exp(s - new[..., None]), jnp.exp(top - new)
            out = out * keep[..., None] + jnp.einsum("bhqk,bkhd->bhqd", p, v)
            k, v = (lax.ppermute(a, "x", [(i, (i + 1) % 8) for i in range(8)]) for a in (k, v))
            return k, v, new, total * keep + p.sum(-1), out
        b, n, h, d = q.shape
        start = jnp.full((b, h, n), -jnp.inf), jnp.zeros((b, h, n)), jnp.zeros((b, h, n, d))
        start = jax.tree.map(lambda a: lax.pcast(a, "x", to="varying"), start)
        _, _, _, total, out = lax.fori_loop(0, 8, step, (k, v, *start))
        return (out / total[..., None]).swapaxes(1, 2)

    spec = P(None, "x")
    f = shard_map(f, mesh=mesh, in_specs=(spec,) * 3, out_specs=spec)
    return jax.jit(f), (q, q, q), 8


@program
def windowed_attention(setup):
    """Each block of the split sequence looks at itself and the one before."""
    setup.mesh(x=8)
    q = setup.normal((2, 64, 2, 8), None, "x")

    def f(q):
        blocks = q.reshape(2, 16, 4, 2, 8)
        before = jnp.pad(blocks, ((0, 0), (1, 0), (0, 0), (0, 0), (0, 0)))[:, :-1]
        keys = jnp.concatenate([before, blocks], 2)
        p = jax.nn.softmax(jnp.einsum("bnqhd,bnkhd->bnhqk", blocks, keys))
        return jnp.einsum("bnhqk,bnkhd->bnqhd", p, keys).reshape(q.shape)

    return jax.jit(f, out_shardings=setup.sharding(None, "x")), (q,), 1


@program
def decoding_loop(setup):
    """Batch and heads are split; the loop carries the cache."""
    setup.mesh(x=4, y=2)
    k = setup.normal((8, 32, 4, 8), "x", None, "y")
    w = setup.normal((4, 8, 4, 8), "y", scale=0.2)
    q = setup.normal((8, 1, 4, 8), "x", None, "y")

    def f(k, w, q):
        def step(carry, i):
            k, q = carry
            k = lax.dynamic_update_slice(k, q, (0, i, 0, 0))
            s = jnp.einsum("bqhd,bshd->bhqs", q, k)
            p = jax.nn.softmax(jnp.where(jnp.arange(32) <= i, s, -1e9))
            h = jnp.einsum("bhqs,bshd->bqhd", p, k)
            return (k, jnp.tanh(jnp.einsum("bqhd,hdgk->bqgk", h, w))), None
        return lax.scan(step, (k, q), jnp.arange(4))[0]

    return jax.jit(f), (k, w, q), 4


@program
def decoding_loop_split_sequence(setup):
    setup.mesh(x=8)
    k, q = setup.normal((4, 64, 4, 8), None, "x"), setup.normal((4, 1, 4, 8))

    def f(k, q):
        def step(carry, i):
            k, q = carry
            k = lax.dynamic_update_slice(k, q, (0, i, 0, 0))
            s = jnp.einsum("bqhd,bshd->bhqs", q, k)
            p = jax.nn.softmax(jnp.where(jnp.arange(64) <= i, s, -1e9))
            return (k, jnp.tanh(jnp.einsum("bhqs,bshd->bqhd", p, k))), None
        return lax.scan(step, (k, q), jnp.arange(4) + 30)[0]

    return jax.jit(f, out_shardings=(setup.sharding(None, "x"), setup.sharding())), (k, q), 4


@program
def experts_by_all_to_all(setup):
    mesh = setup.mesh(x=8)
    x, w = setup.normal((64, 16), "x"), setup.normal((8, 16, 16), "x", scale=0.2)
    gate = setup.normal((16, 8))

    def f(x, w, gate):
        p = jax.nn.softmax(x @ gate)
        chosen = jax.nn.one_hot(jnp.argmax(p, -1), 8)
        sent = lax.all_to_all(jnp.einsum("te,td->etd", chosen, x), "x", 0, 0)
        done = jax.nn.relu(jnp.einsum("gtd,df->gtf", sent, w[0]))
        return jnp.einsum("etd,te->td", lax.all_to_all(done, "x", 0, 0), chosen * p)

    f = shard_map(f, mesh=mesh, in_specs=(P("x"), P("x"), P()), out_specs=P("x"))
    return jax.jit(jax.grad(lambda w, x, g: jnp.sum(f(x, w, g) ** 2))), (w, x, gate), 1


@program
def two_experts_each(setup):
    """Top two of eight experts, with a capacity, and the gradient."""
    setup.mesh(x=8)
    x, w = setup.normal((8, 16, 16), "x"), setup.normal((8, 16, 16), "x", scale=0.2)
    gate = setup.normal((16, 8))

    def loss(w, x, gate):
        p = jax.nn.softmax(x @ gate)
        value, index = lax.top_k(p, 2)
        chosen = jax.nn.one_hot(index, 8)
        place = jnp.cumsum(chosen.reshape(8, 32, 8), 1).reshape(chosen.shape) * chosen - 1
        send = jnp.sum(chosen[..., None] * jax.nn.one_hot(place.astype("i"), 8), 2)
        weight = jnp.einsum("gtk,gtke->gte", value, chosen)[..., None] * send
        h = constrained(setup, "x")(jnp.einsum("gtec,gtd->egcd", send, x))
        h = jax.nn.relu(jnp.einsum("egcd,edf->egcf", h, w))
        return jnp.mean(jnp.einsum("egcd,gtec->gtd", constrained(setup, None, "x")(h), weight) ** 2)

    return *training_step(loss, w, x, gate), 1


@program
def experts_by_sorting(setup):
    """Tokens sorted by expert; experts split, tokens on all devices."""
    setup.mesh(x=8)
    x, w = setup.normal((64, 16)), setup.normal((8, 16, 16), "x", scale=0.2)
    expert = setup.integers(8, (64,))

    def f(x, w, expert):
        order = jnp.argsort(expert)
        h = jnp.einsum("td,tdf->tf", x[order], w[expert[order]])
        return jnp.zeros_like(x).at[order].set(h)

    return jax.jit(f), (x, w, expert), 1


@program
def pipeline_by_hand(setup):
    """Stages pass what they have done to the next; trained."""
    mesh = setup.mesh(x=8)
    w, x = setup.normal((8, 16, 16), "x", scale=0.3), setup.normal((8, 4, 16))

    def stages(w, x):
        def step(state, i):
            here = lax.axis_index("x")
            state = jnp.where(here == 0, x[jnp.minimum(i, 7)], state)
            state = jnp.tanh(state @ w[0])
            return lax.ppermute(state, "x", [(i, (i + 1) % 8) for i in range(8)]), state
        start = lax.pcast(jnp.zeros((4, 16)), "x", to="varying")
        return lax.scan(step, start, jnp.arange(15))[1][None, 7:]

    f = shard_map(stages, mesh=mesh, in_specs=(P("x"), P()), out_specs=P("x"))
    return *training_step(lambda w, x: jnp.mean(f(w, x)[-1] ** 2), w, x), 15


@program
def sums_by_hand(setup):
    mesh = setup.mesh(x=2, y=4)
    x, w = setup.normal((32, 64), "x", "y"), setup.normal((64, 32), "y", scale=0.1)

    def f(x, w):
        h = lax.psum_scatter(x @ w, "y", scatter_dimension=1, tiled=True)
        h = jax.nn.relu(h) / lax.pmean(jnp.mean(h), ("x", "y"))
        return lax.all_gather(h, "y", axis=1, tiled=True)

    f = shard_map(f, mesh=mesh, in_specs=(P("x", "y"), P("y")), out_specs=P("x"), check_vma=False)
    return jax.jit(f), (x, w), 1


@program
def lstm_tensor(setup):
    setup.mesh(x=8)
    w = setup.normal((16, 4, 32), None, None, "x", scale=0.3)
    u = setup.normal((32, 4, 32), None, None, "x", scale=0.2)
    x = setup.normal((6, 8, 16))

    def f(w, u, x):
        def cell(carry, x):
            h, c = carry
            i, f, g, o = jnp.moveaxis(jnp.einsum("bd,dgh->bgh", x, w) +
                                      jnp.einsum("bd,dgh->bgh", h, u), 1, 0)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None
        return lax.scan(cell, (jnp.zeros((8, 32)), jnp.zeros((8, 32))), x)[0][0]

    return jax.jit(f), (w, u, x), 6


@program
def state_space_model(setup):
    """A linear recurrence over time; channels split; trained."""
    setup.mesh(x=8)
    a, x = setup.normal((32,), "x"), setup.normal((4, 32, 32), None, None, "x")

    def loss(a, x):
        decay = jnp.broadcast_to(jax.nn.sigmoid(a), x.shape)
        _, h = lax.associative_scan(lambda l, r: (l[0] * r[0], l[1] * r[0] + r[1]), (decay, x), axis=1)
        return jnp.mean(h ** 2)

    return *training_step(loss, a, x), 1


@program
def batch_of_one_hundred(setup):
    """An uneven batch, constrained inside."""
    setup.mesh(x=8)
    w = [setup.normal((32, 64), scale=0.1), setup.normal((64, 32), scale=0.1)]
    x = setup.normal((100, 32))

    def loss(w, x):
        x = constrained(setup, "x")(x)
        return jnp.mean((jax.nn.relu(x @ w[0]) @ w[1]) ** 2)

    return *training_step(loss, w, x), 1


@program
def uneven_words(setup):
    setup.mesh(x=8)
    w, x, labels = setup.normal((16, 100), scale=0.2), setup.normal((32, 16)), setup.integers(100, (32,))

    def loss(w, x, labels):
        logits = constrained(setup, None, "x")(x @ w)
        return -jnp.mean(jnp.sum(jax.nn.log_softmax(logits) * jax.nn.one_hot(labels, 100), -1))

    return *training_step(loss, w, x, labels), 1


@program
def uneven_columns(setup):
    setup.mesh(x=8)
    x = setup.normal((50, 60))

    def f(x):
        x = constrained(setup, "x")(x)
        y = jax.nn.softmax(x @ x.T)
        return constrained(setup, None, "x")(y @ x)

    return jax.jit(f), (x,), 1


# ---- Convolutions --------------------------------------------------------------------------------

def convolution(x, k, stride=1, padding="SAME", **options):
    return lax.conv_general_dilated(x, k, (stride, stride), padding, dimension_numbers=NHWC, **options)


@program
def residual_net_space(setup):
    """Strided convolutions with batch norm over a split height; trained."""
    setup.mesh(x=2, y=4)
    w = {"a": setup.normal((3, 3, 3, 8), scale=0.2), "b": setup.normal((3, 3, 8, 8), scale=0.2),
         "c": setup.normal((3, 3, 8, 16), scale=0.2), "d": setup.normal((1, 1, 8, 16), scale=0.2)}
    x = setup.normal((4, 32, 16, 3), "x", "y")

    def norm(x):
        return (x - x.mean((0, 1, 2))) * lax.rsqrt(x.var((0, 1, 2)) + 1e-5)

    def loss(w, x):
        x = jax.nn.relu(norm(convolution(x, w["a"])))
        x = x + jax.nn.relu(norm(convolution(x, w["b"])))
        x = convolution(x, w["c"], 2) + convolution(x, w["d"], 2)
        return jnp.mean(x.mean((1, 2)) ** 2)

    return *training_step(loss, w, x), 1


@program
def overlapping_pools_space(setup):
    """Windows of three by strides of two over a split height, and the gradients."""
    setup.mesh(x=8)
    x = setup.normal((4, 32, 16, 4), None, "x")

    def loss(x):
        h = lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
        h = lax.reduce_window(h, 0.0, lax.add, (1, 3, 3, 1), (1, 1, 1, 1), "SAME")
        return jnp.sum(h ** 2)

    return jax.jit(jax.grad(loss)), (x,), 1


@program
def overlapping_pools_batch(setup):
    setup.mesh(x=8)
    x = setup.normal((16, 16, 16, 4), "x")

    def loss(x):
        h = lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
        return jnp.sum(h ** 2)

    return jax.jit(jax.grad(loss)), (x,), 1


@program
def up_and_down_space(setup):
    """Half the size and back, with what it was beside it."""
    setup.mesh(x=8)
    a, b = setup.normal((3, 3, 4, 8), scale=0.2), setup.normal((3, 3, 12, 4), scale=0.2)
    x = setup.normal((2, 32, 16, 4), None, "x")

    def f(x, a, b):
        h = jax.nn.relu(convolution(x, a, 2))
        h = jnp.repeat(jnp.repeat(h, 2, 1), 2, 2)
        return convolution(jnp.concatenate([x, h], -1), b)

    return jax.jit(f, out_shardings=setup.sharding(None, "x")), (x, a, b), 1


@program
def transposed_convolution_space(setup):
    setup.mesh(x=8)
    x, k = setup.normal((2, 32, 8, 4), None, "x"), setup.normal((4, 4, 4, 8), scale=0.2)
    f = lambda x, k: lax.conv_transpose(x, k, (2, 2), "SAME")  # noqa: E731
    return jax.jit(f), (x, k), 1


@program
def volume_convolution(setup):
    setup.mesh(x=4, y=2)
    x, k = setup.normal((2, 16, 16, 8, 4), None, "x", "y"), setup.normal((3, 3, 3, 4, 4), scale=0.2)
    dims = ("NDHWC", "DHWIO", "NDHWC")
    f = lambda x, k: jnp.mean(jnp.tanh(lax.conv_general_dilated(  # noqa: E731
        x, k, (1, 1, 1), "SAME", dimension_numbers=dims)) ** 2)
    return jax.jit(jax.grad(f, (0, 1))), (x, k), 1


@program
def patches_of_images(setup):
    setup.mesh(x=8)
    x, w = setup.normal((16, 16, 16, 3), "x"), setup.normal((48, 32))
    f = lambda x, w: x.reshape(16, 4, 4, 4, 4, 3).swapaxes(2, 3).reshape(16, 16, 48) @ w  # noqa: E731
    return jax.jit(f), (x, w), 1


@program
def patches_of_split_images(setup):
    setup.mesh(x=8)
    x, w = setup.normal((2, 64, 16, 3), None, "x"), setup.normal((48, 32))

    def f(x, w):
        y = x.reshape(2, 16, 4, 4, 4, 3).swapaxes(2, 3).reshape(2, 64, 48) @ w
        return y

    return jax.jit(f), (x, w), 1


# ---- Sums and orders along the split -------------------------------------------------------------

def along_rows(function, shape=(256, 32), **options):
    def make(setup):
        setup.mesh(x=8)
        outs = {"out_shardings": setup.sharding("x")} if options.get("stays", True) else {}
        return jax.jit(function, **outs), (setup.normal(shape, "x"),), 1
    return make


for name, function in {
    "cumulative_product_along_split": lambda x: jnp.cumprod(1 + 0.1 * x, 0),
    "cumulative_maximum_along_split": lambda x: lax.cummax(x, 0),
    "cumulative_sum_from_the_end": lambda x: lax.cumsum(x, 0, reverse=True),
    "cumulative_log_sum": lambda x: lax.cumlogsumexp(x, 0),
    "cumulative_sum_gradient": jax.grad(lambda x: jnp.sum(jnp.cumsum(x, 0) ** 2) / 256),
    "sorted_rows": lambda x: jnp.sort(x, 0),
    "order_of_rows": lambda x: jnp.argsort(x[:, 0])[:, None] + 0 * x,
    "gradient_by_differences": lambda x: jnp.gradient(x, axis=0),
    "every_second_row_twice": lambda x: jnp.repeat(x[::2], 2, 0),
    "rolled_far": lambda x: jnp.roll(x, 77, 0),
    "tiled": lambda x: jnp.tile(x, (2, 1)),
    "reflected_ends": lambda x: jnp.pad(x, ((4, 4), (0, 0)), mode="reflect")[2:-6],
    "wrapped_ends": lambda x: jnp.pad(x, ((4, 4), (0, 0)), mode="wrap")[2:-6],
    "two_halves_exchanged": lambda x: jnp.concatenate([x[128:], x[:128]]),
    "one_row_before": lambda x: jnp.concatenate([jnp.zeros((1, 32)), x[:-1]]),
    "row_by_row_products": lambda x: x @ x.T @ x / 256,
    "fft_along_split": lambda x: jnp.abs(jnp.fft.fft(x, axis=0)),
    "filter_by_fft": lambda x: jnp.fft.irfft(jnp.fft.rfft(x, axis=0) * 0.5, 256, axis=0),
    "standardised": lambda x: (x - x.mean(0)) / x.std(0),
    "softmax_along_split": lambda x: jax.nn.softmax(x, 0),
    "outer_differences": lambda x: jnp.sum((x[:, None, :8] - x[None, :, :8]) ** 2, -1),
    "rows_merged": lambda x: x.reshape(-1),
    "rows_cut": lambda x: x.reshape(64, 4, 32).swapaxes(0, 1).reshape(256, 32),
    "rows_cut_finely": lambda x: x.reshape(4, 64, 32).swapaxes(0, 1).reshape(256, 32),
    "lower_triangle": lambda x: jnp.tril(x @ x.T),
    "running_mean": lambda x: jnp.convolve(x[:, 0], jnp.ones(5) / 5, "same")[:, None] * x,
}.items():
    make = along_rows(function)
    make.__name__ = name
    program(make)


for name, function in {
    "median_along_split": lambda x: jnp.median(x, 0),
    "quantiles_along_split": lambda x: jnp.quantile(x, jnp.array([0.1, 0.9]), axis=0),
    "largest_of_all": lambda x: (jnp.argmax(x), jnp.max(x), jnp.unravel_index(jnp.argmin(x), x.shape)),
    "many_largest": lambda x: lax.top_k(x.T, 16),
    "norms": lambda x: (jnp.linalg.norm(x), jnp.sum(jnp.abs(x)), jnp.all(x < 9), jnp.any(x > 9)),
    "several_sums": lambda x: [jnp.sum(jnp.sin(i * x), 0) for i in range(6)],
    "covariance": lambda x: (x - x.mean(0)).T @ (x - x.mean(0)) / 255,
    "histogram_of_all": lambda x: jnp.histogram(x, jnp.linspace(-3, 3, 17))[0],
    "counted": lambda x: jnp.bincount((jnp.abs(x[:, 0]) * 8).astype("i"), length=32),
    "places_in_order": lambda x: jnp.searchsorted(jnp.linspace(-3, 3, 64), x),
    "some_rows": lambda x: x[10:20],
    "some_rows_by_index": lambda x: x[jnp.array([3, 100, 250])],
    "the_last_rows": lambda x: x[-8:] * 2,
    "trace_and_diagonal": lambda x: jnp.diagonal(x[:32]) + jnp.trace(x[:32]),
}.items():
    make = along_rows(function, stays=False)
    make.__name__ = name
    program(make)


@program
def segments_of_largest(setup):
    setup.mesh(x=8)
    x, segments = setup.normal((256, 8), "x"), setup.integers(32, (256,), "x")
    return jax.jit(lambda x, s: jax.ops.segment_max(x, s, 32)), (x, segments), 1


@program
def messages_over_edges(setup):
    """A graph's edges are split, its nodes too; trained."""
    setup.mesh(x=8)
    nodes, w = setup.normal((64, 16), "x"), setup.normal((16, 16), scale=0.2)
    edges = setup.integers(64, (2, 256), None, "x")

    def loss(w, nodes, edges):
        messages = jnp.tanh(nodes[edges[0]] @ w)
        return jnp.mean(jax.ops.segment_sum(messages, edges[1], 64) ** 2)

    return *training_step(loss, w, nodes, edges), 1


@program
def rows_replaced(setup):
    setup.mesh(x=8)
    x, rows, values = setup.normal((256, 16), "x"), setup.integers(256, (8,)), setup.normal((8, 16))
    f = lambda x, r, v: (x.at[r].add(v), x.at[r].max(v), x.at[5].set(0))  # noqa: E731
    return jax.jit(f, out_shardings=(setup.sharding("x"),) * 3), (x, rows, values), 1


@program
def elements_of_blocks(setup):
    setup.mesh(x=4, y=2)
    x, i, j = setup.normal((64, 64), "x", "y"), setup.integers(64, (16,)), setup.integers(64, (16,))
    return jax.jit(lambda x, i, j: x[i, j]), (x, i, j), 1


@program
def slices_by_loop_index(setup):
    """A loop takes a part of a split array each time, and puts one into another."""
    setup.mesh(x=8)
    x = setup.normal((16, 32, 16), None, "x")

    def f(x):
        def step(i, out):
            one = lax.dynamic_index_in_dim(x, i, keepdims=False)
            return lax.dynamic_update_index_in_dim(out, jnp.tanh(one @ one.T @ one), i, 0)
        return lax.fori_loop(0, 16, step, jnp.zeros_like(x))

    return jax.jit(f, out_shardings=setup.sharding(None, "x")), (x,), 16


@program
def rows_shuffled(setup):
    setup.mesh(x=8)
    x, order = setup.normal((256, 16), "x"), setup.put(np.random.default_rng(0).permutation(256), "x")
    return jax.jit(lambda x, o: x[o], out_shardings=setup.sharding("x")), (x, order), 1


@program
def batch_of_gathers(setup):
    setup.mesh(x=8)
    x, i = setup.normal((16, 64, 8), "x"), setup.integers(64, (16, 4), "x")
    f = lambda x, i: jnp.take_along_axis(x, i[..., None], 1)  # noqa: E731
    return jax.jit(f), (x, i), 1


@program
def concatenation_of_different_sizes(setup):
    setup.mesh(x=8)
    a, b, c = (setup.normal((n, 16), "x") for n in (64, 32, 32))
    f = lambda a, b, c: jnp.concatenate([a, b, c]) * 2  # noqa: E731
    return jax.jit(f, out_shardings=setup.sharding("x")), (a, b, c), 1


@program
def concatenation_along_whole(setup):
    setup.mesh(x=8)
    a, b = setup.normal((64, 16), "x"), setup.normal((64, 8), "x")
    f = lambda a, b: jnp.stack([jnp.concatenate([a, b], 1)] * 2)  # noqa: E731
    return jax.jit(f), (a, b), 1


# ---- Loops and choices ---------------------------------------------------------------------------

@program
def conjugate_gradients(setup):
    setup.mesh(x=8)
    a = setup.rng.normal(size=(64, 64)).astype("f")
    a, b = setup.put(a @ a.T / 64 + np.eye(64, dtype="f"), "x"), setup.normal((64,), "x")

    def f(a, b):
        def step(_, c):
            x, r, p, rr = c
            q = a @ p
            t = rr / (p @ q)
            x, r = x + t * p, r - t * q
            new = r @ r
            return x, r, r + new / rr * p, new
        return lax.fori_loop(0, 10, step, (jnp.zeros_like(b), b, b, b @ b))[0]

    return jax.jit(f, out_shardings=setup.sharding("x")), (a, b), 10


@program
def power_iteration(setup):
    setup.mesh(x=4, y=2)
    a, v = setup.normal((64, 64), "x", "y"), setup.normal((64,))

    def f(a, v):
        def step(_, v):
            w = a @ v
            return w / jnp.linalg.norm(w)
        return lax.fori_loop(0, 8, step, v)

    return jax.jit(f), (a, v), 8


@program
def clusters(setup):
    """Points are split, centres are not."""
    setup.mesh(x=8)
    points = setup.normal((256, 8), "x")

    def f(points):
        def step(_, centres):
            nearest = jnp.argmin(jnp.sum((points[:, None] - centres) ** 2, -1), -1)
            chosen = jax.nn.one_hot(nearest, 4)
            return chosen.T @ points / jnp.maximum(chosen.sum(0)[:, None], 1)
        return lax.fori_loop(0, 5, step, points[:4])

    return jax.jit(f), (points,), 5


@program
def until_it_converges(setup):
    setup.mesh(x=8)
    x = setup.normal((128, 16), "x")

    def f(x):
        return lax.while_loop(lambda c: (jnp.max(jnp.abs(c[0])) > 0.1) & (c[1] < 9),
                              lambda c: (c[0] * 0.7, c[1] + 1), (x, 0))

    return jax.jit(f), (x,), 9


@program
def one_of_two(setup):
    setup.mesh(x=8)
    x, w = setup.normal((64, 32), "x"), setup.normal((32, 32), "x")
    f = lambda x, w: lax.cond(jnp.sum(x) > 0, lambda: x @ w, lambda: x @ w.T)  # noqa: E731
    return jax.jit(f), (x, w), 1


@program
def one_of_three(setup):
    setup.mesh(x=8)
    x = setup.normal((64, 64), "x")
    branches = [lambda x: jnp.sort(x, 1), lambda x: jnp.roll(x, 1, 0), lambda x: x * 2]
    return jax.jit(lambda i, x: lax.switch(i, branches, x)), (np.int32(1), x), 1


@program
def wave_equation(setup):
    setup.mesh(x=4, y=2)
    u = setup.normal((64, 64), "x", "y")

    def f(u):
        def step(c, _):
            u, before = c
            lap = sum(jnp.roll(u, s, d) for s in (1, -1) for d in (0, 1)) - 4 * u
            return (2 * u - before + 0.1 * lap, u), jnp.max(u)
        return lax.scan(step, (u, u), None, length=5)

    return jax.jit(f), (u,), 5


@program
def game_of_life(setup):
    setup.mesh(x=8)
    x = setup.integers(2, (64, 32), "x")

    def f(x):
        def step(_, x):
            n = sum(jnp.roll(x, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)) - x
            return ((n == 3) | ((n == 2) & (x == 1))).astype("i")
        return lax.fori_loop(0, 4, step, x)

    return jax.jit(f), (x,), 4


@program
def bodies_that_attract(setup):
    setup.mesh(x=8)
    x = setup.normal((64, 3), "x")

    def f(x):
        def step(_, c):
            x, v = c
            d = x[None] - x[:, None]
            v = v + 0.01 * jnp.sum(d / (jnp.sum(d * d, -1, keepdims=True) + 0.1) ** 1.5, 1)
            return x + 0.01 * v, v
        return lax.fori_loop(0, 3, step, (x, jnp.zeros_like(x)))[0]

    return jax.jit(f), (x,), 3


@program
def products_in_a_ring(setup):
    """A product whose right operand goes round."""
    mesh = setup.mesh(x=8)
    a, b = setup.normal((64, 64), "x"), setup.normal((64, 32), "x")

    def f(a, b):
        here, out = lax.axis_index("x"), jnp.zeros((8, 32))
        for i in range(8):
            part = lax.dynamic_slice_in_dim(a, (here + i) % 8 * 8, 8, 1)
            out, b = out + part @ b, lax.ppermute(b, "x", [((j + 1) % 8, j) for j in range(8)])
        return out

    f = shard_map(f, mesh=mesh, in_specs=(P("x"), P("x")), out_specs=P("x"))
    return jax.jit(f), (a, b), 1


@program
def by_hand_inside_a_loop(setup):
    mesh = setup.mesh(x=4, y=2)
    x, w = setup.normal((32, 32), "x", "y"), setup.normal((32, 32), "y", scale=0.2)

    def f(x, w):
        inner = shard_map(lambda x: x - lax.pmean(x, "x"), mesh=mesh, in_specs=P("x"),
                          out_specs=P("x"), axis_names={"x"})
        return lax.fori_loop(0, 3, lambda _, x: inner(jnp.tanh(x @ w)), x)

    return jax.jit(f, out_shardings=setup.sharding("x", "y")), (x, w), 3


# ---- Linear algebra, Fourier transforms ----------------------------------------------------------

@program
def decompositions_of_each(setup):
    setup.mesh(x=8)
    a = setup.normal((16, 8, 8), "x")

    def f(a):
        q, r = jnp.linalg.qr(a)
        return jnp.abs(r), jnp.linalg.eigvalsh(a @ a.swapaxes(1, 2)), jnp.linalg.det(a), jnp.linalg.inv(
            a @ a.swapaxes(1, 2) + jnp.eye(8))

    return jax.jit(f), (a,), 1


@program
def cholesky_of_split_matrix(setup):
    setup.mesh(x=8)
    a = setup.rng.normal(size=(64, 64)).astype("f")
    a = setup.put(a @ a.T / 8 + np.eye(64, dtype="f"), "x")
    return jax.jit(jnp.linalg.cholesky), (a,), 1


@program
def solutions_of_columns(setup):
    """One matrix everywhere, right sides split."""
    setup.mesh(x=8)
    a = setup.rng.normal(size=(32, 32)).astype("f") + 8 * np.eye(32, dtype="f")
    b = setup.normal((32, 64), None, "x")

    def f(a, b):
        return jnp.linalg.solve(a, b), jax.scipy.linalg.solve_triangular(a, b, lower=True)

    return jax.jit(f, out_shardings=(setup.sharding(None, "x"),) * 2), (setup.put(a), b), 1


@program
def least_squares(setup):
    setup.mesh(x=8)
    x, y = setup.normal((256, 16), "x"), setup.normal((256, 2), "x")
    f = lambda x, y: jnp.linalg.solve(x.T @ x + jnp.eye(16), x.T @ y)  # noqa: E731
    return jax.jit(f), (x, y), 1


@program
def kernel_matrix(setup):
    setup.mesh(x=4, y=2)
    x, y = setup.normal((64, 8), "x"), setup.normal((64, 8), "y")

    def f(x, y):
        d = jnp.sum(x * x, 1)[:, None] + jnp.sum(y * y, 1) - 2 * x @ y.T
        return jnp.exp(-d / 8)

    return jax.jit(f, out_shardings=setup.sharding("x", "y")), (x, y), 1


@program
def fft_of_images(setup):
    setup.mesh(x=8)
    f = lambda x: jnp.fft.irfft2(jnp.fft.rfft2(x) * 0.5)  # noqa: E731
    return jax.jit(f), (setup.normal((16, 16, 16), "x"),), 1


@program
def fft_of_split_image(setup):
    setup.mesh(x=8)
    return jax.jit(lambda x: jnp.abs(jnp.fft.fft2(x)), out_shardings=setup.sharding("x")), (
        setup.normal((64, 64), "x"),), 1


@program
def products_in_a_chain(setup):
    setup.mesh(x=4, y=2)
    a, b, c = (setup.normal((64, 64), *s, scale=0.1) for s in (("x", "y"), ("y", "x"), ("x", "y")))
    f = lambda a, b, c: a @ b @ c  # noqa: E731
    return jax.jit(f, out_shardings=setup.sharding("x", "y")), (a, b, c), 1


@program
def product_to_other_axis(setup):
    setup.mesh(x=4, y=2)
    a, b = setup.normal((64, 64), "x"), setup.normal((64, 64), "x")
    return jax.jit(lambda a, b: a.T @ b, out_shardings=setup.sharding("y", "x")), (a, b), 1


@program
def batched_products(setup):
    setup.mesh(x=4, y=2)
    a, b = setup.normal((8, 32, 32), "x", "y"), setup.normal((8, 32, 32), "x", None, "y")
    return jax.jit(lambda a, b: a @ b), (a, b), 1


@program
def transposed_twice(setup):
    setup.mesh(x=8)
    x = setup.normal((64, 64), "x")
    return jax.jit(lambda x: jnp.tanh(x.T) + x, out_shardings=setup.sharding("x")), (x,), 1


@program
def heads_fewer_than_devices(setup):
    """Columns that are split eightfold become four heads."""
    setup.mesh(x=8)
    x, w = setup.normal((4, 16, 32)), setup.normal((32, 64), None, "x", scale=0.1)

    def f(x, w):
        h = (x @ w).reshape(4, 16, 4, 16)
        return jnp.einsum("bqhd,bkhd->bhqk", h, h)

    return jax.jit(f), (x, w), 1


@program
def dropout_gradient(setup):
    setup.mesh(x=8)
    w, x = setup.normal((32, 32), scale=0.2), setup.normal((64, 32), "x")

    def loss(w, x, key):
        keep = jax.random.bernoulli(jax.random.wrap_key_data(key), 0.8, (64, 32))
        return jnp.mean(jnp.where(keep, jnp.tanh(x @ w), 0) ** 2)

    return *training_step(loss, w, x, np.array([0, 7], "u4")), 1


@program
def masked_mean_of_groups(setup):
    setup.mesh(x=2, y=4)
    x, mask = setup.normal((16, 32, 8), "x", "y"), setup.integers(2, (16, 32), "x", "y")

    def f(x, mask):
        m = mask[..., None].astype("f")
        mean = jnp.sum(x * m, 1, keepdims=True) / jnp.maximum(jnp.sum(m, 1, keepdims=True), 1)
        return (x - mean) * m

    return jax.jit(f), (x, mask), 1


@program
def several_axes_at_once(setup):
    setup.mesh(x=2, y=2, z=2)
    x = setup.normal((32, 32, 16), "x", ("y", "z"))
    f = lambda x: jnp.swapaxes(x, 0, 1).reshape(512, 32) / jnp.sum(x, (0, 1)).mean()  # noqa: E731
    g = lambda x: f(jnp.swapaxes(x, 1, 2))  # noqa: E731
    return jax.jit(g), (x,), 1


ON_DEMAND.update("""
    many_small_weights low_rank_adapters transformer_cube rotated_positions experts_by_all_to_all
    two_experts_each experts_by_sorting pipeline_by_hand sums_by_hand lstm_tensor state_space_model
    residual_net_space overlapping_pools_batch transposed_convolution_space volume_convolution
    patches_of_images patches_of_split_images cumulative_product_along_split
    cumulative_maximum_along_split cumulative_log_sum cumulative_sum_gradient order_of_rows
    rolled_far two_halves_exchanged row_by_row_products filter_by_fft standardised
    softmax_along_split rows_merged rows_cut_finely lower_triangle quantiles_along_split
    largest_of_all many_largest norms histogram_of_all counted places_in_order some_rows_by_index
    the_last_rows elements_of_blocks batch_of_gathers concatenation_along_whole power_iteration
    one_of_two wave_equation products_in_a_ring by_hand_inside_a_loop decompositions_of_each
    cholesky_of_split_matrix solutions_of_columns least_squares kernel_matrix fft_of_images
    products_in_a_chain product_to_other_axis batched_products masked_mean_of_groups
    several_axes_at_once dropout_gradient grouped_queries embedding_split_by_features
""".split())

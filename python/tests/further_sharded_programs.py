"""Programs over eight devices as users of libraries have them: `sharded_programs.py` runs them."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, shard_map
from jax.sharding import PartitionSpec as P

from sharded_setup import ON_DEMAND, PROGRAMS, constrained, program, ring, training_step


# ---- Language models -----------------------------------------------------------------------------

@program
def two_of_experts_with_capacity(setup):
    """Routing to the best two of eight experts, each of which takes so many tokens; trained."""
    setup.mesh(x=8)
    groups, tokens, width, experts, capacity = 8, 16, 16, 8, 6
    w = {"gate": setup.normal((width, experts), scale=0.3),
         "up": setup.normal((experts, width, 32), "x", scale=0.2),
         "down": setup.normal((experts, 32, width), "x", scale=0.2)}
    x = setup.normal((groups, tokens, width), "x")

    def loss(w, x):
        gates = jax.nn.softmax(jnp.einsum("gtd,de->gte", x, w["gate"]))
        dispatch = jnp.zeros((groups, tokens, experts, capacity))
        rest = gates
        used = jnp.zeros((groups, 1, experts))
        for _ in range(2):
            chosen = jax.nn.one_hot(jnp.argmax(rest, -1), experts)
            place = (jnp.cumsum(chosen, 1) - 1 + used) * chosen
            used = used + jnp.sum(chosen, 1, keepdims=True)
            rest = rest * (1 - chosen)
            places = jax.nn.one_hot(jnp.sum(place, -1).astype("i"), capacity)
            fits = (jnp.sum(place, -1) < capacity)[..., None, None]
            dispatch = dispatch + chosen[..., None] * places[:, :, None] * fits
        h = constrained(setup, "x")(jnp.einsum("gtd,gtec->egcd", x, lax.stop_gradient(dispatch)))
        h = jnp.einsum("egcf,efd->egcd", jax.nn.relu(jnp.einsum("egcd,edf->egcf", h, w["up"])), w["down"])
        h = constrained(setup, None, "x")(h)
        return jnp.mean(jnp.einsum("egcd,gtec,gte->gtd", h, dispatch, gates) ** 2)

    return *training_step(loss, w, x), 1


@program
def loss_split_by_words(setup):
    """The softmax over a split vocabulary by hand, with its gradient."""
    mesh = setup.mesh(x=2, y=4)
    w = {"head": setup.normal((16, 128), None, "y", scale=0.2)}
    x, labels = setup.normal((32, 16), "x"), setup.integers(128, (32,), "x")

    def local(w, x, labels):
        logits = x @ w
        largest = lax.pmax(lax.stop_gradient(jnp.max(logits, -1)), "y")
        total = lax.psum(jnp.sum(jnp.exp(logits - largest[:, None]), -1), "y")
        here = labels - lax.axis_index("y") * 32
        mine = (here >= 0) & (here < 32)
        target = jnp.take_along_axis(logits, jnp.where(mine, here, 0)[:, None], 1)[:, 0]
        target = lax.psum(jnp.where(mine, target, 0), "y")
        return lax.pmean(jnp.mean(jnp.log(total) + largest - target), "x")

    f = shard_map(local, mesh=mesh, in_specs=(P(None, "y"), P("x"), P("x")), out_specs=P())
    return *training_step(lambda w, x, labels: f(w["head"], x, labels), w, x, labels), 1


@program
def loss_split_by_words_left_to_the_compiler(setup):
    setup.mesh(x=2, y=4)
    w = {"embed": setup.normal((128, 16), "y", scale=0.2), "head": setup.normal((16, 128), None, "y", scale=0.2)}
    tokens = setup.integers(128, (8, 17), "x")

    def loss(w, tokens):
        x = w["embed"][tokens[:, :-1]]
        logits = constrained(setup, "x", None, "y")(x @ w["head"])
        target = jnp.take_along_axis(logits, tokens[:, 1:, None], -1)[..., 0]
        return jnp.mean(jax.nn.logsumexp(logits, -1) - target)

    return *training_step(loss, w, tokens), 1


@program
def ring_attention_causal(setup):
    """Blocks of keys go round; the softmax is kept as maximum and sum; trained."""
    mesh = setup.mesh(x=8)
    q, k, v = (setup.normal((2, 64, 2, 8), None, "x") for _ in range(3))

    def attend(q, k, v):
        here = lax.axis_index("x")
        rows = here * 8 + jnp.arange(8)

        def step(carry, i):
            k, v, total, norm, most = carry
            columns = (here - i) % 8 * 8 + jnp.arange(8)
            s = jnp.einsum("bqhd,bkhd->bhqk", q, k)
            s = jnp.where(rows[:, None] >= columns, s, -1e30)
            largest = jnp.maximum(most, jnp.max(s, -1))
            p, old = jnp.exp(s - largest[..., None]), jnp.exp(most - largest)
            total = total * old[..., None] + jnp.einsum("bhqk,bkhd->bhqd", p, v)
            k, v = (lax.ppermute(a, "x", ring(8)) for a in (k, v))
            return (k, v, total, norm * old + jnp.sum(p, -1), largest), None

        zeros = jnp.zeros((2, 2, 8, 8))
        start = lax.pcast((zeros, zeros[..., 0], zeros[..., 0] - 1e30), "x", to="varying")
        (_, _, total, norm, _), _ = lax.scan(step, (k, v, *start), jnp.arange(8))
        return total / norm[..., None]

    f = shard_map(attend, mesh=mesh, in_specs=P(None, "x"), out_specs=P(None, None, "x"))
    return jax.jit(jax.grad(lambda q, k, v: jnp.mean(f(q, k, v) ** 2), (0, 1, 2))), (q, k, v), 8


@program
def sequence_parallel_norm(setup):
    """Megatron's: norms over split tokens, products over split features, by hand; trained."""
    mesh = setup.mesh(x=2, y=4)
    w = {"up": setup.normal((16, 64), None, "y", scale=0.2), "down": setup.normal((64, 16), "y", scale=0.2),
         "scale": setup.normal((16,))}
    x = setup.normal((4, 32, 16), "x", "y")

    def block(w, x):
        h = x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * w["scale"]
        h = lax.all_gather(h, "y", axis=1, tiled=True)
        h = jax.nn.gelu(h @ w["up"]) @ w["down"]
        return x + lax.psum_scatter(h, "y", scatter_dimension=1, tiled=True)

    specs = {"up": P(None, "y"), "down": P("y"), "scale": P()}
    f = shard_map(block, mesh=mesh, in_specs=(specs, P("x", "y")), out_specs=P("x", "y"))
    return *training_step(lambda w, x: jnp.mean(f(w, f(w, x)) ** 2), w, x), 1


@program
def decode_step(setup):
    """One token of a model with a cache, heads and batch split; the caches are given away."""
    setup.mesh(x=2, y=4)
    layers, batch, heads, length, size = 2, 8, 4, 32, 8
    w = {"qkv": setup.normal((layers, 32, 3, heads, size), None, None, None, "y", scale=0.2),
         "out": setup.normal((layers, heads, size, 32), None, "y", scale=0.2),
         "embed": setup.normal((64, 32), "y"), "head": setup.normal((32, 64), None, "y")}
    cache = setup.normal((layers, 2, batch, heads, length, size), None, None, "x", "y")
    token = setup.integers(64, (batch,), "x")

    def step(w, cache, token, at):
        x = w["embed"][token]
        caches = []
        for i in range(layers):
            q, k, v = jnp.moveaxis(jnp.einsum("bd,dchk->bchk", x, w["qkv"][i]), 1, 0)
            now = lax.dynamic_update_slice(cache[i], jnp.stack([k, v])[:, :, :, None], (0, 0, 0, at, 0))
            s = jnp.einsum("bhk,bhtk->bht", q, now[0])
            s = jax.nn.softmax(jnp.where(jnp.arange(length) <= at, s, -1e9))
            x = x + jnp.einsum("bht,bhtk,hkd->bd", s, now[1], w["out"][i])
            caches.append(now)
        return jnp.argmax(x @ w["head"], -1), jnp.stack(caches)

    return jax.jit(step, out_shardings=(setup.sharding("x"), cache.sharding)), (w, cache, token, 5), 1


@program
def prefill_in_chunks(setup):
    """A cache is filled a chunk at a time."""
    setup.mesh(x=2, y=4)
    x, cache = setup.normal((4, 32, 4, 8), "x", None, "y"), setup.normal((4, 64, 4, 8), "x", None, "y")

    def f(x, cache):
        def one(cache, i):
            part = lax.dynamic_slice_in_dim(x, i * 8, 8, 1)
            cache = lax.dynamic_update_slice_in_dim(cache, part, i * 8 + 4, 1)
            s = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", part, cache))
            return cache, jnp.einsum("bhqk,bkhd->bqhd", s, cache)
        return lax.scan(one, cache, jnp.arange(4))

    return jax.jit(f), (x, cache), 4


@program
def adapters_over_split_weights(setup):
    """LoRA: frozen weights split, small factors on all devices; trained."""
    setup.mesh(x=2, y=4)
    frozen = [setup.normal((32, 64), "x", "y", scale=0.2), setup.normal((64, 32), "y", "x", scale=0.2)]
    w = [{"a": setup.normal((n, 4), scale=0.2), "b": setup.normal((4, m), scale=0.2)} for n, m in ((32, 64), (64, 32))]
    x = setup.normal((16, 32), "x")

    def loss(w, frozen, x):
        for one, base in zip(w, frozen):
            x = jnp.tanh(x @ base + (x @ one["a"]) @ one["b"])
        return jnp.mean(x ** 2)

    return *training_step(loss, w, frozen, x, optimizer="adam"), 1


@program
def beam_search(setup):
    """Beams of split sentences: the best of all continuations, and the states that they come from."""
    setup.mesh(x=8)
    batch, beams, words, steps = 16, 4, 32, 5
    table, state = setup.normal((words, words)), setup.normal((batch, beams, 16), "x")
    w = setup.normal((16, words))

    def f(table, w, state):
        def step(carry, _):
            scores, token, state = carry
            log_p = jax.nn.log_softmax(table[token] + state @ w)
            best, index = lax.top_k((scores[..., None] + log_p).reshape(batch, -1), beams)
            parent, token = index // words, index % words
            state = jnp.take_along_axis(state, parent[..., None], 1)
            return (best, token, jnp.tanh(state + 0.1)), token
        start = jnp.where(jnp.arange(beams) == 0, 0.0, -1e9) + jnp.zeros((batch, beams))
        return lax.scan(step, (start, jnp.zeros((batch, beams), "i"), state), None, steps)

    return jax.jit(f), (table, w, state), steps


@program
def speculative_tokens(setup):
    """How many of the drafted tokens each sentence keeps."""
    setup.mesh(x=8)
    p, q = (jax.nn.softmax(setup.normal((16, 6, 32), "x")) for _ in range(2))
    draft, key = setup.integers(32, (16, 6), "x"), np.array([0, 3], "u4")

    def f(p, q, draft, key):
        ratio = jnp.take_along_axis(p, draft[..., None], -1) / jnp.take_along_axis(q, draft[..., None], -1)
        kept = jax.random.uniform(key, draft.shape) < ratio[..., 0]
        count = jnp.sum(jnp.cumprod(kept.astype("i"), 1), 1)
        rest = jnp.maximum(p - q, 0)
        at = jnp.minimum(count, 5)
        return count, jnp.argmax(jnp.take_along_axis(rest, at[:, None, None], 1)[:, 0], -1)

    return jax.jit(f), (p, q, draft, key), 1


@program
def nucleus_sampling(setup):
    setup.mesh(x=8)
    logits, key = setup.normal((16, 64), "x", scale=3), np.array([0, 5], "u4")

    def f(logits, key):
        order = jnp.argsort(-logits, -1)
        p = jax.nn.softmax(jnp.take_along_axis(logits, order, -1))
        keep = jnp.cumsum(p, -1) - p < 0.9
        kept = jnp.where(keep, jnp.log(p), -jnp.inf)
        return jnp.take_along_axis(order, jax.random.categorical(key, kept)[:, None], -1)

    return jax.jit(f), (logits, key), 1


@program
def packed_sequences(setup):
    """Several documents in a row: masks and positions from segment numbers."""
    setup.mesh(x=8)
    x, ids = setup.normal((8, 32, 16), "x"), setup.put(np.sort(np.random.default_rng(1).integers(0, 4, (8, 32)), 1).astype("i"), "x")

    def f(x, ids):
        same = ids[:, :, None] == ids[:, None]
        start = jnp.concatenate([jnp.ones((8, 1), bool), ids[:, 1:] != ids[:, :-1]], 1)
        place = jnp.arange(32) - lax.cummax(jnp.where(start, jnp.arange(32), 0), axis=1)
        x = x + jnp.sin(place[..., None] / 8)
        s = jnp.where(same & jnp.tril(jnp.ones((32, 32), bool)), jnp.einsum("bqd,bkd->bqk", x, x), -1e9)
        return jnp.einsum("bqk,bkd->bqd", jax.nn.softmax(s), x)

    return jax.jit(f), (x, ids), 1


# ---- Optimisers ----------------------------------------------------------------------------------

def two_layers(setup, *specs):
    w = [setup.normal((32, 64), *specs[0], scale=0.2), setup.normal((64, 32), *specs[1], scale=0.2)]
    return w, lambda w, x: jnp.mean((jax.nn.relu(x @ w[0]) @ w[1] - x) ** 2)


@program
def adafactor(setup):
    """Row and column means of squares; weights split in two dimensions."""
    setup.mesh(x=2, y=4)
    w, loss = two_layers(setup, ("x", "y"), ("y", "x"))
    rows = [setup.put(np.ones(one.shape[0], "f"), one.sharding.spec[0]) for one in w]
    columns = [setup.put(np.ones(one.shape[1], "f"), one.sharding.spec[1]) for one in w]
    x = setup.normal((16, 32), "x")

    def step(w, rows, columns, x):
        gradients = jax.grad(loss)(w, x)
        rows = [0.9 * r + 0.1 * jnp.mean(g * g, 1) for r, g in zip(rows, gradients)]
        columns = [0.9 * c + 0.1 * jnp.mean(g * g, 0) for c, g in zip(columns, gradients)]
        new = []
        for p, g, r, c in zip(w, gradients, rows, columns):
            u = g * lax.rsqrt(r / jnp.mean(r) + 1e-3)[:, None] * lax.rsqrt(c + 1e-3)
            u = u / jnp.maximum(1, jnp.sqrt(jnp.mean(u * u)))
            new.append(p - 0.01 * jnp.maximum(1e-3, jnp.sqrt(jnp.mean(p * p))) * u)
        return new, rows, columns

    shardings = jax.tree.map(lambda a: a.sharding, (w, rows, columns))
    return jax.jit(step, out_shardings=shardings), (w, rows, columns, x), 1


@program
def lion(setup):
    """Signs of momentum, clipped by the norm of all gradients, weights averaged."""
    setup.mesh(x=8)
    w, loss = two_layers(setup, ("x",), (None, "x"))
    momentum, mean = jax.tree.map(jnp.zeros_like, w), jax.tree.map(lambda a: a + 0, w)
    x = setup.normal((16, 32), "x")

    def step(w, momentum, mean, x):
        value, g = jax.value_and_grad(loss)(w, x)
        norm = jnp.sqrt(sum(jnp.sum(a * a) for a in g))
        g = jax.tree.map(lambda a: a * jnp.minimum(1, 1 / norm), g)
        new = jax.tree.map(lambda p, m, g: p - 0.01 * (jnp.sign(0.9 * m + 0.1 * g) + 0.01 * p), w, momentum, g)
        momentum = jax.tree.map(lambda m, g: 0.99 * m + 0.01 * g, momentum, g)
        return value, new, momentum, jax.tree.map(lambda a, b: 0.99 * a + 0.01 * b, mean, new)

    shardings = jax.tree.map(lambda a: a.sharding, w)
    return jax.jit(step, out_shardings=(None,) + (shardings,) * 3), (w, momentum, mean, x), 1


@program
def shampoo(setup):
    """Preconditioners of both sides, their roots by Newton's iteration; a batch of blocks is split."""
    setup.mesh(x=8)
    w, g = setup.normal((8, 16, 16), "x"), setup.normal((8, 16, 16), "x", scale=0.3)

    def root(a):
        a = a / jnp.trace(a, axis1=1, axis2=2)[:, None, None] + 0.1 * jnp.eye(16)
        identity = jnp.broadcast_to(jnp.eye(16), a.shape)

        def step(_, carry):
            y, z = carry
            t = 0.5 * (3 * identity - z @ y)
            return y @ t, t @ z
        return lax.fori_loop(0, 6, step, (a, identity))[1]

    def f(w, g):
        left = root(jnp.einsum("bij,bkj->bik", g, g))
        right = root(jnp.einsum("bij,bik->bjk", g, g))
        return w - 0.1 * left @ g @ right

    return jax.jit(f), (w, g), 6


@program
def muon(setup):
    """Momentum made orthogonal by Newton and Schulz; the matrix is split."""
    setup.mesh(x=8)
    w, g = setup.normal((32, 64), None, "x"), setup.normal((32, 64), None, "x", scale=0.1)

    def f(w, g):
        x = g / jnp.linalg.norm(g)
        for _ in range(3):
            a = x @ x.T
            x = 3.4445 * x + (-4.775 * a + 2.0315 * a @ a) @ x
        return w - 0.1 * x

    return jax.jit(f), (w, g), 1


def zero(setup, weights_split, gradients_split):
    """ZeRO: the optimiser's state is split, and perhaps gradients and weights."""
    setup.mesh(x=8)
    spec = ("x",) if weights_split else ()
    w, loss = two_layers(setup, spec, spec)
    moments = [setup.put(np.zeros(one.shape, "f"), "x") for one in w]
    x = setup.normal((64, 32), "x")

    def step(w, moments, x):
        g = jax.grad(loss)(w, x)
        if gradients_split:
            g = [constrained(setup, "x")(a) for a in g]
        moments = [constrained(setup, "x")(0.9 * m + g) for m, g in zip(moments, g)]
        return [p - 0.01 * m for p, m in zip(w, moments)], moments

    shardings = jax.tree.map(lambda a: a.sharding, (w, moments))
    return jax.jit(step, out_shardings=shardings), (w, moments, x), 1


@program
def zero_1(setup):
    return zero(setup, False, False)


@program
def zero_2(setup):
    return zero(setup, False, True)


@program
def zero_3(setup):
    return zero(setup, True, True)


@program
def zero_by_hand(setup):
    """The state of a flat vector of all weights is split: reduce-scatter, step, gather."""
    mesh = setup.mesh(x=8)
    w, x = setup.normal((32 * 64,), scale=0.2), setup.normal((64, 32), "x")
    m = setup.put(np.zeros(32 * 64, "f"), "x")

    def step(w, m, x):
        g = jax.grad(lambda w: jnp.mean(jnp.tanh(x @ w.reshape(32, 64)) ** 2))(lax.pcast(w, "x", to="varying"))
        g = lax.psum_scatter(g, "x", tiled=True) / 8
        m = 0.9 * m + g
        part = lax.dynamic_slice_in_dim(w, lax.axis_index("x") * m.size, m.size)
        return lax.all_gather(part - 0.1 * m, "x", tiled=True), m

    f = shard_map(step, mesh=mesh, in_specs=(P(), P("x"), P("x")), out_specs=(P(), P("x")), check_vma=False)
    return jax.jit(f), (w, m, x), 1


@program
def accumulated_in_halves(setup):
    """bfloat16 products, float32 sums and weights, gradients of parts of the batch in a loop."""
    setup.mesh(x=8)
    w, x = setup.normal((32, 32), "x", scale=0.2), setup.normal((4, 16, 32), None, "x")

    def f(w, x):
        def loss(w, x):
            h = jnp.tanh(x.astype("bfloat16") @ w.astype("bfloat16"))
            return jnp.mean(h.astype("f") ** 2)

        def one(total, x):
            return total + jax.grad(loss)(w, x), None
        return w - 0.1 * lax.scan(one, jnp.zeros_like(w), x)[0]

    return jax.jit(f, out_shardings=w.sharding), (w, x), 4


# ---- Images and time series ----------------------------------------------------------------------

def convolve(x, w, stride=1):
    return lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


@program
def diffusion_step(setup):
    """A small U-Net with time embedding and group norm learns noise; batch split."""
    setup.mesh(x=8)
    w = {"in": setup.normal((3, 3, 2, 8), scale=0.2), "down": setup.normal((3, 3, 8, 16), scale=0.1),
         "middle": setup.normal((3, 3, 16, 16), scale=0.1), "up": setup.normal((3, 3, 24, 8), scale=0.1),
         "out": setup.normal((3, 3, 8, 2), scale=0.1), "time": setup.normal((8, 16), scale=0.3)}
    x, t = setup.normal((8, 16, 16, 2), "x"), setup.integers(100, (8,), "x")

    def norm(x):
        g = x.reshape(*x.shape[:3], 4, -1)
        g = (g - jnp.mean(g, (1, 2, 4), keepdims=True)) * lax.rsqrt(jnp.var(g, (1, 2, 4), keepdims=True) + 1e-5)
        return jax.nn.silu(g.reshape(x.shape))

    def loss(w, x, t, key):
        noise = jax.random.normal(key, x.shape)
        level = jnp.cos(t / 100.0)[:, None, None, None]
        angle = t[:, None] * jnp.exp(-jnp.arange(4.0))
        time = jnp.concatenate([jnp.sin(angle), jnp.cos(angle)], -1) @ w["time"]
        a = convolve(level * x + jnp.sqrt(1 - level ** 2) * noise, w["in"])
        b = convolve(norm(a), w["down"], 2) + time[:, None, None]
        b = b + convolve(norm(b), w["middle"])
        b = jax.image.resize(b, (8, 16, 16, 16), "nearest")
        a = convolve(norm(jnp.concatenate([a, b], -1)), w["up"])
        return jnp.mean((convolve(norm(a), w["out"]) - noise) ** 2)

    return *training_step(loss, w, x, t, np.array([0, 4], "u4"), optimizer="adam"), 1


@program
def vision_transformer(setup):
    """Patches, a class token, positions; batch and features split; trained."""
    setup.mesh(x=2, y=4)
    w = {"patch": setup.normal((48, 32), None, "y", scale=0.2), "class": setup.normal((32,), "y"),
         "place": setup.normal((17, 32), None, "y"), "qkv": setup.normal((32, 3, 4, 8), None, None, "y", scale=0.2),
         "out": setup.normal((4, 8, 32), "y", scale=0.2), "head": setup.normal((32, 10), scale=0.2)}
    x, labels = setup.normal((8, 16, 16, 3), "x"), setup.integers(10, (8,), "x")

    def loss(w, x, labels):
        p = x.reshape(8, 4, 4, 4, 4, 3).transpose(0, 1, 3, 2, 4, 5).reshape(8, 16, 48) @ w["patch"]
        p = jnp.concatenate([jnp.broadcast_to(w["class"], (8, 1, 32)), p], 1) + w["place"]
        q, k, v = jnp.moveaxis(jnp.einsum("btd,dchk->btchk", p, w["qkv"]), 2, 0)
        s = jax.nn.softmax(jnp.einsum("bqhk,bshk->bhqs", q, k))
        p = p + jnp.einsum("bhqs,bshk,hkd->bqd", s, v, w["out"])
        log_p = jax.nn.log_softmax(p[:, 0] @ w["head"])
        return -jnp.mean(jnp.take_along_axis(log_p, labels[:, None], 1))

    return *training_step(loss, w, x, labels), 1


@program
def batch_and_space_split(setup):
    """A residual block of strided convolutions; batch and rows split; trained."""
    setup.mesh(x=2, y=4)
    w = [setup.normal((3, 3, 4, 8), scale=0.2), setup.normal((3, 3, 8, 8), scale=0.2), setup.normal((1, 1, 4, 8), scale=0.3)]
    x = setup.normal((4, 32, 16, 4), "x", "y")

    def loss(w, x):
        h = convolve(jax.nn.relu(convolve(x, w[0], 2)), w[1]) + convolve(x, w[2], 2)
        return jnp.mean(jax.nn.relu(h) ** 2)

    return *training_step(loss, w, x), 1


@program
def recurrent_with_hidden_split(setup):
    setup.mesh(x=2, y=4)
    w = {"x": setup.normal((16, 32), None, "y", scale=0.3), "h": setup.normal((32, 32), None, "y", scale=0.2),
         "out": setup.normal((32, 4), "y", scale=0.2)}
    x = setup.normal((8, 8, 16), None, "x")

    def loss(w, x):
        def cell(h, x):
            h = jnp.tanh(x @ w["x"] + h @ w["h"])
            return h, h @ w["out"]
        return jnp.mean(lax.scan(cell, constrained(setup, "x", "y")(jnp.zeros((8, 32))), x)[1] ** 2)

    return *training_step(loss, w, x), 8


@program
def gated_unit_with_batch_split(setup):
    """A GRU with masks of lengths."""
    setup.mesh(x=8)
    w, u = setup.normal((8, 3, 16), scale=0.3), setup.normal((16, 3, 16), scale=0.2)
    x, length = setup.normal((16, 10, 8), "x"), setup.integers(10, (16,), "x")

    def loss(w, u, x, length):
        def cell(h, at):
            i, x = at
            a, b = jnp.einsum("bd,dgh->gbh", x, w), jnp.einsum("bd,dgh->gbh", h, u)
            z, r = jax.nn.sigmoid(a[0] + b[0]), jax.nn.sigmoid(a[1] + b[1])
            new = (1 - z) * jnp.tanh(a[2] + r * b[2]) + z * h
            return jnp.where((i < length)[:, None], new, h), None
        h = lax.scan(cell, jnp.zeros((16, 16)), (jnp.arange(10), jnp.swapaxes(x, 0, 1)))[0]
        return jnp.mean(h ** 2)

    return jax.jit(jax.value_and_grad(loss, (0, 1))), (w, u, x, length), 10


@program
def temporal_convolutions(setup):
    """Causal, dilated; time is split; trained."""
    setup.mesh(x=8)
    w = [setup.normal((3, 8, 8), scale=0.2) for _ in range(3)]
    x = setup.normal((2, 128, 8), None, "x")

    def loss(w, x):
        for i, k in enumerate(w):
            h = lax.conv_general_dilated(x, k, (1,), [(2 << i, 0)], rhs_dilation=(1 << i,),
                                         dimension_numbers=("NWC", "WIO", "NWC"))
            x = x + jax.nn.relu(h)
        return jnp.mean(x ** 2)

    return *training_step(loss, w, x), 1


@program
def spectrogram(setup):
    """Overlapping frames of split audio, windowed and transformed."""
    setup.mesh(x=8)
    x = setup.normal((16, 256), "x")

    def f(x):
        index = jnp.arange(0, 225, 16)[:, None] + jnp.arange(32)
        return jnp.abs(jnp.fft.rfft(x[:, index] * jnp.hanning(32))) ** 2

    return jax.jit(f), (x,), 1


@program
def parameters_in_a_pipeline(setup):
    """Interleaved microbatches over stages, data parallel besides; trained."""
    mesh = setup.mesh(x=2, y=4)
    w, x = setup.normal((4, 16, 16), "y", scale=0.3), setup.normal((6, 4, 16), None, "x")

    def stages(w, x):
        here = lax.axis_index("y")

        def step(state, i):
            state = jnp.where(here == 0, x[jnp.minimum(i, 5)], state)
            state = state + jnp.tanh(state @ w[0])
            return lax.ppermute(state, "y", ring(4)), state
        start = lax.pcast(jnp.zeros((2, 16)), ("x", "y"), to="varying")
        out = lax.scan(jax.checkpoint(step), start, jnp.arange(9))[1][3:]
        return lax.psum(jnp.where(here == 3, jnp.mean(out ** 2), 0), ("x", "y")) / 2

    f = shard_map(stages, mesh=mesh, in_specs=(P("y"), P(None, "x")), out_specs=P())
    return *training_step(f, w, x), 9


ON_DEMAND.update(name for name, one in PROGRAMS.items() if one.__module__ == __name__)
ON_DEMAND.difference_update({"loss_split_by_words", "adafactor"})

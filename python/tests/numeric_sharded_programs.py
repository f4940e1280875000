"""Programs over eight devices from science and of NumPy's functions: `sharded_programs.py` runs them."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, shard_map
from jax.sharding import PartitionSpec as P

from sharded_setup import ON_DEMAND, PROGRAMS, constrained, program, ring, training_step


# ---- Science -------------------------------------------------------------------------------------

@program
def fft_in_pencils(setup):
    """A transform in three dimensions, of which two are split; by hand."""
    mesh = setup.mesh(x=2, y=4)
    x = setup.put(setup.rng.normal(size=(16, 16, 16)).astype("c8"), None, "x", "y")

    def f(a):
        a = jnp.fft.fft(a, axis=0)
        a = lax.all_to_all(a, "x", 0, 1, tiled=True)
        a = jnp.fft.fft(a, axis=1)
        a = lax.all_to_all(a, "y", 1, 2, tiled=True)
        return jnp.fft.fft(a, axis=2)

    return jax.jit(shard_map(f, mesh=mesh, in_specs=P(None, "x", "y"), out_specs=P("x", "y"))), (x,), 1


@program
def fft_in_pencils_left_to_the_compiler(setup):
    setup.mesh(x=2, y=4)
    x = setup.put(setup.rng.normal(size=(16, 16, 16)).astype("c8"), "x", "y")

    def f(a):
        a = constrained(setup, "x", None, "y")(jnp.fft.fft(a, axis=2))
        a = constrained(setup, None, "x", "y")(jnp.fft.fft(a, axis=1))
        return jnp.fft.fft(a, axis=0)

    return jax.jit(f), (x,), 1


@program
def poisson_by_fft(setup):
    setup.mesh(x=8)
    x = setup.normal((32, 32), "x")

    def f(x):
        k = jnp.fft.fftfreq(32) * 2 * jnp.pi
        square = k[:, None] ** 2 + k ** 2
        return jnp.fft.ifft2(jnp.fft.fft2(x) / jnp.where(square == 0, 1, square)).real

    return jax.jit(f), (x,), 1


@program
def jacobi_periodic(setup):
    """A five-point stencil on a torus, split both ways, until it has run ten times."""
    setup.mesh(x=2, y=4)
    u, b = setup.normal((32, 32), "x", "y"), setup.normal((32, 32), "x", "y")

    def f(u, b):
        def step(_, u):
            return 0.25 * (jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1) - b)
        return lax.fori_loop(0, 10, step, u)

    return jax.jit(f), (u, b), 10


@program
def jacobi_wrapped_padding(setup):
    setup.mesh(x=8)
    u = setup.normal((64, 32), "x")

    def f(u):
        for _ in range(2):
            p = jnp.pad(u, 1, mode="wrap")
            u = 0.25 * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:])
        return u

    return jax.jit(f), (u,), 1


@program
def jacobi_by_hand(setup):
    mesh = setup.mesh(x=8)
    u = setup.normal((64, 32), "x")

    def f(u):
        def step(_, u):
            above, below = lax.ppermute(u[-1:], "x", ring(8)), lax.ppermute(u[:1], "x", ring(8, -1))
            p = jnp.concatenate([above, u, below])
            return 0.25 * (p[:-2] + p[2:] + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1))
        u = lax.fori_loop(0, 5, step, u)
        return u, lax.psum(jnp.sum(u * u), "x")

    return jax.jit(shard_map(f, mesh=mesh, in_specs=P("x"), out_specs=(P("x"), P()))), (u,), 5


@program
def reflected_edges(setup):
    setup.mesh(x=8)
    u, k = setup.normal((64, 32), "x"), setup.normal((5,))

    def f(u, k):
        p = jnp.pad(u, ((2, 2), (0, 0)), mode="reflect")
        return sum(k[i] * p[i:i + 64] for i in range(5))

    return jax.jit(f), (u, k), 1


@program
def edges_repeated(setup):
    setup.mesh(x=8)
    u = setup.normal((64, 32), "x")

    def f(u):
        p = jnp.pad(u, 1, mode="edge")
        return p[2:, 1:-1] - 2 * u + p[:-2, 1:-1], jnp.gradient(u, axis=0)

    return jax.jit(f), (u,), 1


@program
def conjugate_gradient_solver(setup):
    """jax.scipy's, of a stencil."""
    setup.mesh(x=8)
    b = setup.normal((64, 32), "x")

    def f(b):
        def apply(u):
            return 4.5 * u - jnp.roll(u, 1, 0) - jnp.roll(u, -1, 0) - jnp.roll(u, 1, 1) - jnp.roll(u, -1, 1)
        return jax.scipy.sparse.linalg.cg(apply, b, maxiter=6, tol=0.0)[0]

    return jax.jit(f), (b,), 6


@program
def k_means(setup):
    setup.mesh(x=8)
    x = setup.normal((128, 4), "x")

    def f(x):
        def step(centers, _):
            nearest = jnp.argmin(jnp.sum((x[:, None] - centers) ** 2, -1), 1)
            total = jax.ops.segment_sum(x, nearest, 5)
            count = jax.ops.segment_sum(jnp.ones(128), nearest, 5)
            return total / jnp.maximum(count, 1)[:, None], None
        return lax.scan(step, x[:5], None, 4)[0]

    return jax.jit(f), (x,), 4


@program
def gaussian_mixture(setup):
    setup.mesh(x=8)
    x, mean = setup.normal((128, 4), "x"), setup.normal((6, 4))

    def f(x, mean):
        def step(carry, _):
            mean, variance, weight = carry
            log_p = -0.5 * jnp.sum((x[:, None] - mean) ** 2 / variance + jnp.log(variance), -1) + jnp.log(weight)
            r = jax.nn.softmax(log_p, -1)
            n = jnp.sum(r, 0)
            mean = r.T @ x / n[:, None]
            variance = r.T @ (x * x) / n[:, None] - mean ** 2 + 1e-3
            return (mean, variance, n / 128), jnp.mean(jax.nn.logsumexp(log_p, -1))
        return lax.scan(step, (mean, jnp.ones((6, 4)), jnp.ones(6) / 6), None, 3)

    return jax.jit(f), (x, mean), 3


@program
def graph_network(setup):
    """Messages of split edges to split nodes, degrees, softmax over the neighbours; trained."""
    setup.mesh(x=8)
    nodes, edges = 64, 256
    x, w = setup.normal((nodes, 16), "x"), {"w": setup.normal((16, 16), scale=0.2), "a": setup.normal((32,), scale=0.3)}
    sender, receiver = setup.integers(nodes, (edges,), "x"), setup.integers(nodes, (edges,), "x")

    def loss(w, x, sender, receiver):
        h = x @ w["w"]
        score = jnp.concatenate([h[sender], h[receiver]], -1) @ w["a"]
        score = jnp.exp(jax.nn.leaky_relu(score))
        total = jax.ops.segment_sum(score, receiver, nodes)
        out = jax.ops.segment_sum(h[sender] * (score / (total[receiver] + 1e-6))[:, None], receiver, nodes)
        return jnp.mean(out ** 2)

    return *training_step(loss, w, x, sender, receiver), 1


@program
def particles_in_cells(setup):
    """Charges to a grid, and forces back from it, to the nearest cells."""
    setup.mesh(x=8)
    at, grid = setup.put(setup.rng.uniform(0, 32, (256,)).astype("f"), "x"), setup.normal((32,))

    def f(at, grid):
        cell = jnp.floor(at).astype("i") % 32
        part = at - jnp.floor(at)
        density = jnp.zeros(32).at[cell].add(1 - part).at[(cell + 1) % 32].add(part)
        field = jnp.fft.irfft(jnp.fft.rfft(density) * jnp.arange(17), 32) + grid
        return at + field[cell] * (1 - part) + field[(cell + 1) % 32] * part, density

    return jax.jit(f), (at, grid), 1


@program
def monte_carlo(setup):
    setup.mesh(x=8)
    start = setup.put(np.full(256, 100.0, "f"), "x")

    def f(start, key):
        def step(s, key):
            return s * jnp.exp(0.01 * jax.random.normal(key, s.shape) - 5e-5), None
        end = lax.scan(step, start, jax.random.split(key, 8))[0]
        return jnp.mean(jnp.maximum(end - 100, 0)), jnp.std(end)

    return jax.jit(f), (start, np.array([0, 1], "u4")), 8


@program
def hamiltonian_chains(setup):
    """Chains of split samples: gradients by vmap, accepted or not."""
    setup.mesh(x=8)
    q = setup.normal((32, 8), "x")

    def f(q, key):
        energy = lambda q: jnp.sum((q[1:] - q[:-1] ** 2) ** 2) + jnp.sum(q ** 2)  # noqa: E731
        gradient = jax.vmap(jax.grad(energy))
        first, second = jax.random.split(key)
        p = start = jax.random.normal(first, q.shape)
        new = q
        for _ in range(3):
            p = p - 0.005 * gradient(new)
            new = new + 0.01 * p
            p = p - 0.005 * gradient(new)
        change = jax.vmap(energy)(q) + 0.5 * jnp.sum(start ** 2, 1) - jax.vmap(energy)(new) - 0.5 * jnp.sum(p ** 2, 1)
        return jnp.where((jnp.log(jax.random.uniform(second, (32,))) < change)[:, None], new, q)

    return jax.jit(f), (q, np.array([0, 2], "u4")), 1


@program
def kalman_filters(setup):
    """Many filters at once: small matrices, batched solves and Cholesky, over time."""
    setup.mesh(x=8)
    a, y = setup.normal((4, 4), scale=0.3), setup.normal((6, 16, 2), None, "x")
    c = setup.normal((2, 4))

    def f(a, c, y):
        def one(carry, y):
            m, p = carry
            m, p = m @ a.T, a @ p @ a.T + 0.1 * jnp.eye(4)
            s = c @ p @ c.T + 0.5 * jnp.eye(2)
            gain = jnp.swapaxes(jnp.linalg.solve(s, c @ p), 1, 2)
            m = m + jnp.einsum("bij,bj->bi", gain, y - m @ c.T)
            p = p - gain @ c @ p
            return (m, 0.5 * (p + jnp.swapaxes(p, 1, 2))), m
        start = jnp.zeros((16, 4)), jnp.broadcast_to(jnp.eye(4), (16, 4, 4))
        return lax.scan(one, start, y)[1]

    return jax.jit(f), (a, c, y), 6


@program
def gaussian_process(setup):
    """Many small processes: Cholesky, triangular solves and log determinants, with gradients."""
    setup.mesh(x=8)
    x, y, scale = setup.normal((8, 12, 2), "x"), setup.normal((8, 12), "x"), setup.normal((2,))

    def loss(scale, x, y):
        z = x * jnp.exp(scale)
        k = jnp.exp(-0.5 * jnp.sum((z[:, :, None] - z[:, None]) ** 2, -1)) + 0.1 * jnp.eye(12)
        factor = jnp.linalg.cholesky(k)
        a = jax.scipy.linalg.solve_triangular(factor, y[..., None], lower=True)
        return jnp.mean(0.5 * jnp.sum(a * a, (1, 2)) + jnp.sum(jnp.log(jnp.diagonal(factor, axis1=1, axis2=2)), 1))

    return jax.jit(jax.value_and_grad(loss)), (scale, x, y), 1


# ---- NumPy ---------------------------------------------------------------------------------------

@program
def chosen_rows(setup):
    setup.mesh(x=8)
    x = setup.normal((64, 8), "x")
    return jax.jit(lambda x: x[jnp.nonzero(x[:, 0] > 0, size=16, fill_value=0)[0]]), (x,), 1


@program
def places_in_a_table(setup):
    setup.mesh(x=8)
    table, x = setup.put(np.sort(np.random.default_rng(2).normal(size=64)).astype("f")), setup.normal((128,), "x")
    y = setup.normal((64,))
    return jax.jit(lambda t, x, y: (jnp.searchsorted(t, x), jnp.interp(x, t, y), jnp.digitize(x, t))), (table, x, y), 1


@program
def histograms(setup):
    setup.mesh(x=8)
    x = setup.normal((256,), "x")

    def f(x):
        counts, edges = jnp.histogram(x, 16, (-3, 3))
        return counts, jnp.bincount(jnp.clip((x * 4).astype("i") + 8, 0, 15), length=16), edges

    return jax.jit(f), (x,), 1


@program
def distinct_values(setup):
    setup.mesh(x=8)
    x = setup.integers(20, (128,), "x")
    return jax.jit(lambda x: jnp.unique(x, size=20, fill_value=-1, return_counts=True)), (x,), 1


@program
def quantiles(setup):
    setup.mesh(x=8)
    x = setup.normal((128, 4), "x")
    return jax.jit(lambda x: (jnp.quantile(x, jnp.array([0.1, 0.9]), axis=0), jnp.median(x, 0))), (x,), 1


@program
def order_of_split_vector(setup):
    setup.mesh(x=8)
    return jax.jit(lambda x: (jnp.argsort(x), jnp.sort(x)[::-1])), (setup.normal((1024,), "x"),), 1


@program
def best_of_split_vector(setup):
    setup.mesh(x=8)
    return jax.jit(lambda x: (lax.top_k(x, 8), jnp.argmax(x), jnp.median(x))), (setup.normal((1024,), "x"),), 1


@program
def best_words_of_split_logits(setup):
    """The best of a split vocabulary for a batch that does not fill the devices, equals among them."""
    setup.mesh(x=8)
    logits = setup.integers(40, (3, 2048), None, "x")
    return jax.jit(lambda x: lax.top_k(x.astype("f"), 5)), (logits,), 1


@program
def running_totals(setup):
    """Cumulative sums, products and maxima of a split vector. (XLA gives wrong sums of exponentials
    beside them, and wrong minima beside sums of rows.)"""
    setup.mesh(x=8)

    def f(x):
        return jnp.cumsum(x), jnp.cumprod(1 + x / 64), lax.cummax(x)

    return jax.jit(f), (setup.normal((1024,), "x"),), 1


@program
def running_totals_of_rows(setup):
    setup.mesh(x=8)

    def f(x):
        return jnp.cumsum(x, 0), lax.cumsum(x, 0, reverse=True)

    return jax.jit(f), (setup.normal((128, 6), "x"),), 1


@program
def running_total_gradient(setup):
    setup.mesh(x=8)
    f = lambda x: jnp.sum(jnp.tanh(jnp.cumsum(x)) ** 2)  # noqa: E731
    return jax.jit(jax.grad(f)), (setup.normal((512,), "x"),), 1


@program
def products_of_many_forms(setup):
    setup.mesh(x=2, y=4)
    a, b = setup.normal((8, 16, 12), "x", "y"), setup.normal((12, 8, 16), None, "x", "y")
    c = setup.normal((16, 16), "y")

    def f(a, b, c):
        return (jnp.einsum("ijk,kij->ij", a, b), jnp.einsum("ijk,kil->jl", a, b), jnp.einsum("ii->i", c),
                jnp.einsum("ijk->", a), jnp.einsum("ijk,jl,kil->i", a, c, b), jnp.outer(a[:, 0, 0], c[:, 0]),
                jnp.tensordot(a, b, ((2, 0), (0, 1))), jnp.kron(a[:, 0, :2], c[:2, :2]))

    return jax.jit(f), (a, b, c), 1


@program
def mapped_over_split(setup):
    """vmap of code with control flow and indices."""
    setup.mesh(x=8)
    x, i = setup.normal((16, 12), "x"), setup.integers(12, (16,), "x")

    def one(x, i):
        y = lax.cond(x[i] > 0, lambda x: x * 2, lambda x: x - 1, x)
        y = y.at[i].set(0.0)
        return lax.dynamic_slice(y, (i,), (3,)), lax.while_loop(lambda a: a[1] < i, lambda a: (a[0] + y, a[1] + 1), (y, 0))[0]

    return jax.jit(jax.vmap(one)), (x, i), 12


@program
def jacobian_of_split(setup):
    setup.mesh(x=8)
    w, x = setup.normal((8, 8), scale=0.3), setup.normal((16, 8), "x")
    f = lambda x: jnp.tanh(x @ w) @ w.T  # noqa: E731

    def all_of(x):
        return jax.vmap(jax.jacfwd(f))(x), jax.vmap(jax.jacrev(f))(x), jax.vmap(jax.hessian(lambda x: jnp.sum(f(x) ** 2)))(x)

    return jax.jit(all_of), (x,), 1


@program
def random_numbers(setup):
    """Each device makes its part."""
    setup.mesh(x=2, y=4)

    def f(key):
        a, b, c, d = jax.random.split(key, 4)
        rows = constrained(setup, "x", "y")
        return (rows(jax.random.normal(a, (32, 64))), rows(jax.random.uniform(b, (32, 64))),
                rows(jax.random.randint(c, (32, 64), 0, 10)), rows(jax.random.bernoulli(d, 0.3, (32, 64))))

    return jax.jit(f), (np.array([0, 9], "u4"),), 1


@program
def shuffled_rows(setup):
    setup.mesh(x=8)
    x = setup.normal((64, 8), "x")
    return jax.jit(lambda x, key: jax.random.permutation(key, x)), (x, np.array([0, 9], "u4")), 1


@program
def whole_numbers(setup):
    """Products of int8 with scales, summed as int32; features split."""
    setup.mesh(x=2, y=4)
    x, w = setup.normal((16, 64), "x", "y"), setup.put(setup.rng.integers(-127, 127, (64, 32)).astype("i1"), "y")

    def f(x, w):
        scale = jnp.max(jnp.abs(x), -1, keepdims=True) / 127
        q = jnp.round(x / scale).astype("int8")
        return lax.dot_general(q, w, (((1,), (0,)), ((), ())), preferred_element_type="int32") * scale

    return jax.jit(f), (x, w), 1


@program
def uneven_training(setup):
    """Thirteen classes, hidden units that eight devices do not divide, a batch of twenty."""
    setup.mesh(x=8)
    w = [setup.normal((10, 30), scale=0.3), setup.normal((30, 13), scale=0.3)]
    x, y = setup.normal((20, 10)), setup.integers(13, (20,))

    def loss(w, x, y):
        h = constrained(setup, None, "x")(jax.nn.relu(constrained(setup, "x")(x) @ w[0]))
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(h @ w[1]), y[:, None], 1))

    return *training_step(loss, w, x, y), 1


@program
def uneven_windows(setup):
    setup.mesh(x=8)
    x = setup.normal((100, 6))

    def f(x):
        x = constrained(setup, "x")(x)
        return jnp.cumsum(x, 0), x[1:] - x[:-1], jnp.roll(x, 3, 0), jnp.sort(x, 0), x.reshape(50, 12).sum(1)

    return jax.jit(f), (x,), 1


@program
def columns_of_blocks(setup):
    """Reshapes that join and part dimensions around split ones."""
    setup.mesh(x=2, y=4)
    x = setup.normal((8, 16, 32), "x", "y")

    def f(x):
        a = x.reshape(128, 32)
        b = x.reshape(8, 4, 4, 32).sum(2)
        c = x.reshape(8, 16, 4, 8).transpose(0, 2, 1, 3).reshape(32, 128)
        return a * 2, b, c, x.reshape(-1)

    return jax.jit(f), (x,), 1


@program
def repeated_and_tiled(setup):
    setup.mesh(x=8)
    x = setup.normal((32, 8), "x")
    return jax.jit(lambda x: (jnp.repeat(x, 2, 0), jnp.tile(x, (1, 3)), jnp.stack([x, -x], 1).reshape(64, 8))), (x,), 1


@program
def interleaved_rows(setup):
    setup.mesh(x=8)
    x = setup.normal((64, 8), "x")
    return jax.jit(lambda x: (x[::2] + x[1::2], x.reshape(32, 2, 8)[:, 0], x.at[::2].multiply(2.0))), (x,), 1


@program
def triangles(setup):
    setup.mesh(x=8)
    x = setup.normal((64, 64), "x")

    def f(x):
        rows, columns = jnp.triu_indices(8)
        return jnp.tril(x) @ jnp.ones(64), jnp.diag(x), x[rows, columns], x + jnp.eye(64), jnp.trace(x @ x.T)

    return jax.jit(f), (x,), 1


@program
def distances_of_pairs(setup):
    """Nearest neighbours of split points among split points."""
    setup.mesh(x=8)
    x, y = setup.normal((64, 8), "x"), setup.normal((64, 8), "x")

    def f(x, y):
        d = jnp.sum(x * x, 1)[:, None] - 2 * x @ y.T + jnp.sum(y * y, 1)
        near, index = lax.top_k(-d, 3)
        return near, index, jnp.argmin(d, 0)

    return jax.jit(f), (x, y), 1


@program
def contrastive_loss(setup):
    """Two towers; each row against all others; trained."""
    setup.mesh(x=8)
    w = [setup.normal((16, 8), scale=0.3), setup.normal((16, 8), scale=0.3)]
    x, y = setup.normal((64, 16), "x"), setup.normal((64, 16), "x")

    def loss(w, x, y):
        a, b = x @ w[0], y @ w[1]
        a, b = (v * lax.rsqrt(jnp.sum(v * v, -1, keepdims=True) + 1e-6) for v in (a, b))
        s = a @ b.T * 5
        return -jnp.mean(jnp.diagonal(jax.nn.log_softmax(s, 1)) + jnp.diagonal(jax.nn.log_softmax(s, 0)))

    return *training_step(loss, w, x, y), 1


@program
def discounted_returns(setup):
    """Reinforcement learning: a recurrence backwards in time, environments split; trained."""
    setup.mesh(x=8)
    w = setup.normal((6, 3), scale=0.3)
    x, action, reward = setup.normal((10, 32, 6), None, "x"), setup.integers(3, (10, 32), None, "x"), setup.normal((10, 32), None, "x")

    def loss(w, x, action, reward):
        back = lax.scan(lambda g, r: (r + 0.9 * g,) * 2, jnp.zeros(32), reward, reverse=True)[1]
        back = (back - jnp.mean(back)) / (jnp.std(back) + 1e-3)
        log_p = jnp.take_along_axis(jax.nn.log_softmax(x @ w), action[..., None], -1)[..., 0]
        return -jnp.mean(jnp.minimum(jnp.exp(log_p - lax.stop_gradient(log_p)), 1.2) * back)

    return *training_step(loss, w, x, action, reward), 10


@program
def matrix_product_by_cannon(setup):
    mesh = setup.mesh(x=2, y=2, z=2)
    a, b = setup.normal((16, 16), "x", "y"), setup.normal((16, 16), "x", "y")

    def f(a, b):
        a = lax.ppermute(a, ("x", "y"), [(2 * i + (i + j) % 2, 2 * i + j) for i in range(2) for j in range(2)])
        b = lax.ppermute(b, ("x", "y"), [(2 * ((i + j) % 2) + j, 2 * i + j) for i in range(2) for j in range(2)])
        c = a @ b
        return c + lax.ppermute(a, "y", ring(2)) @ lax.ppermute(b, "x", ring(2))

    return jax.jit(shard_map(f, mesh=mesh, in_specs=P("x", "y"), out_specs=P("x", "y"))), (a, b), 1


ON_DEMAND.update(name for name, one in PROGRAMS.items() if one.__module__ == __name__)
ON_DEMAND.difference_update({"best_words_of_split_logits", "running_totals", "running_totals_of_rows", "graph_network"})

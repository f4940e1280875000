"""Programs on the libraries that JAX users build on agree with JAX's own CPU client."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest


@pytest.fixture
def agree(ours, theirs):
    """Runs a function of no arguments on both devices, and compares the trees that it returns."""

    def run(function, rtol=1e-4, atol=1e-5):
        results = []
        for device in (ours, theirs):
            with jax.default_device(device):
                results.append(jax.device_get(function()))
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=rtol, atol=atol), *results)
        return results[0]

    return run


def digits(n=64, d=10):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, d)).astype(np.float32), rng.integers(0, 3, n).astype(np.int32)


def test_nnx_with_batch_norm_and_dropout(agree):
    nnx = pytest.importorskip("flax.nnx")
    optax = pytest.importorskip("optax")
    x, y = digits()

    class Net(nnx.Module):
        def __init__(self, rngs):
            # A bias before the norm has no gradient but rounding, which Adam would blow up.
            self.a = nnx.Linear(10, 32, use_bias=False, rngs=rngs)
            self.norm = nnx.BatchNorm(32, rngs=rngs)
            self.drop = nnx.Dropout(0.2, rngs=rngs)
            self.b = nnx.Linear(32, 3, rngs=rngs)

        def __call__(self, x):
            return self.b(self.drop(nnx.relu(self.norm(self.a(x)))))

    def train():
        net = Net(nnx.Rngs(0))
        optimizer = nnx.Optimizer(net, optax.adamw(1e-2), wrt=nnx.Param)

        @nnx.jit
        def step(net, optimizer):
            def loss(net):
                return optax.softmax_cross_entropy_with_integer_labels(net(x), y).mean()
            value, gradients = nnx.value_and_grad(loss)(net)
            optimizer.update(net, gradients)
            return value

        losses = jnp.stack([step(net, optimizer) for _ in range(20)])
        return losses, net.norm.mean[...]

    losses, _ = agree(train, rtol=1e-3, atol=1e-4)
    assert losses[-1] < losses[0]


def test_linen_attention_and_recurrence(agree):
    nn = pytest.importorskip("flax.linen")
    optax = pytest.importorskip("optax")
    x = np.random.default_rng(1).normal(size=(4, 12, 16)).astype(np.float32)

    class Block(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = x + nn.MultiHeadDotProductAttention(num_heads=4)(nn.LayerNorm()(x))
            x = nn.RNN(nn.GRUCell(16))(x)
            return nn.Dense(1)(nn.GroupNorm(num_groups=4)(x))

    def train():
        model = Block()
        params = model.init(jax.random.key(0), x)
        optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.lion(1e-3))
        state = optimizer.init(params)

        @jax.jit
        def step(params, state):
            loss, gradients = jax.value_and_grad(
                lambda p: jnp.mean((model.apply(p, x)[..., 0] - x.sum(-1)) ** 2))(params)
            updates, state = optimizer.update(gradients, state, params)
            return optax.apply_updates(params, updates), state, loss

        losses = []
        for _ in range(10):
            params, state, loss = step(params, state)
            losses.append(loss)
        return jnp.stack(losses)

    losses = agree(train, rtol=1e-3, atol=1e-4)
    assert losses[-1] < losses[0]


def test_optax_solvers(agree):
    optax = pytest.importorskip("optax")

    def rosenbrock(x):
        return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    def minimise():
        solver = optax.lbfgs()
        x = jnp.array([-1.2, 1.0, 0.8])
        state = solver.init(x)
        value_and_grad = optax.value_and_grad_from_state(rosenbrock)

        @jax.jit
        def step(x, state):
            value, gradient = value_and_grad(x, state=state)
            updates, state = solver.update(
                gradient, state, x, value=value, grad=gradient, value_fn=rosenbrock)
            return optax.apply_updates(x, updates), state

        for _ in range(60):
            x, state = step(x, state)
        return x

    np.testing.assert_allclose(agree(minimise, rtol=1e-3, atol=1e-3), np.ones(3), atol=1e-2)


def test_equinox_training(agree):
    eqx = pytest.importorskip("equinox")
    optax = pytest.importorskip("optax")
    x, y = digits()

    def train():
        model = eqx.nn.MLP(10, 3, 32, 2, activation=jax.nn.silu, key=jax.random.key(0))
        optimizer = optax.adam(3e-3)
        state = optimizer.init(eqx.filter(model, eqx.is_inexact_array))

        @eqx.filter_jit(donate="all-except-first")
        def step(data, model, state):
            def loss(model):
                scores = jax.vmap(model)(data[0])
                return optax.softmax_cross_entropy_with_integer_labels(scores, data[1]).mean()
            value, gradients = eqx.filter_value_and_grad(loss)(model)
            updates, state = optimizer.update(gradients, state, model)
            return eqx.apply_updates(model, updates), state, value

        losses = []
        for _ in range(20):
            model, state, value = step((x, y), model, state)
            losses.append(value)
        return jnp.stack(losses)

    losses = agree(train, rtol=1e-3, atol=1e-4)
    assert losses[-1] < losses[0]


def test_equinox_runtime_errors(ours):
    eqx = pytest.importorskip("equinox")

    @eqx.filter_jit
    def checked(x):
        return eqx.error_if(x, x < 0, "negative")

    with jax.default_device(ours):
        assert checked(jnp.float32(2)) == 2
        with pytest.raises(Exception, match="negative"):
            jax.block_until_ready(checked(jnp.float32(-1)))
        assert checked(jnp.float32(3)) == 3


def test_diffrax_solves_and_differentiates(agree):
    diffrax = pytest.importorskip("diffrax")

    def solve(mu):
        def field(t, y, args):
            return jnp.stack([y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]])
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(field), diffrax.Tsit5(), t0=0, t1=5, dt0=0.1, y0=jnp.array([2.0, 0.0]),
            saveat=diffrax.SaveAt(ts=jnp.linspace(0, 5, 11)),
            stepsize_controller=diffrax.PIDController(rtol=1e-5, atol=1e-5))
        return solution.ys

    agree(lambda: jax.jit(solve)(1.5), rtol=1e-3, atol=1e-3)
    agree(lambda: jax.jit(jax.grad(lambda mu: solve(mu).sum()))(1.5), rtol=1e-2, atol=1e-2)


def test_diffrax_implicit_and_stochastic(agree):
    diffrax = pytest.importorskip("diffrax")

    def stiff():
        def field(t, y, args):
            return jnp.stack([-0.04 * y[0] + 1e2 * y[1] * y[2],
                              0.04 * y[0] - 1e2 * y[1] * y[2] - 3e3 * y[1] ** 2, 3e3 * y[1] ** 2])
        return diffrax.diffeqsolve(
            diffrax.ODETerm(field), diffrax.Kvaerno5(), t0=0, t1=10, dt0=1e-3,
            y0=jnp.array([1.0, 0.0, 0.0]),
            stepsize_controller=diffrax.PIDController(rtol=1e-4, atol=1e-6)).ys

    def stochastic():
        motion = diffrax.VirtualBrownianTree(0, 1, tol=1e-3, shape=(3,), key=jax.random.key(0))
        terms = diffrax.MultiTerm(
            diffrax.ODETerm(lambda t, y, a: -y),
            diffrax.ControlTerm(lambda t, y, a: 0.1 * jnp.diag(jnp.ones(3)), motion))
        return diffrax.diffeqsolve(
            terms, diffrax.Euler(), t0=0, t1=1, dt0=0.05, y0=jnp.ones(3)).ys

    agree(stiff, rtol=1e-2, atol=1e-4)
    agree(stochastic, rtol=1e-3, atol=1e-4)


def test_numpyro_posterior(agree):
    numpyro = pytest.importorskip("numpyro")
    from numpyro import distributions as dist
    from numpyro.infer import MCMC, NUTS

    rng = np.random.default_rng(2)
    x = rng.normal(size=(80, 2)).astype(np.float32)
    y = (x @ [1.5, -0.5] + 0.3 + 0.2 * rng.normal(size=80)).astype(np.float32)

    def model(x, y):
        w = numpyro.sample("w", dist.Normal(0, 1).expand([2]).to_event(1))
        b = numpyro.sample("b", dist.Normal(0, 1))
        s = numpyro.sample("s", dist.HalfNormal(1))
        numpyro.sample("y", dist.Normal(x @ w + b, s), obs=y)

    def sample():
        chain = MCMC(NUTS(model), num_warmup=150, num_samples=200, progress_bar=False)
        chain.run(jax.random.key(0), x, y)
        return {name: values.mean(0) for name, values in chain.get_samples().items()}

    # Rounding makes chains part; their averages agree with each other and with the truth.
    means = agree(sample, rtol=0, atol=0.05)
    np.testing.assert_allclose(means["w"], [1.5, -0.5], atol=0.1)


def test_numpyro_variational(agree):
    numpyro = pytest.importorskip("numpyro")
    from numpyro import distributions as dist
    from numpyro.infer import SVI, Trace_ELBO
    from numpyro.infer.autoguide import AutoNormal

    y = np.random.default_rng(3).gamma(3.0, 0.5, 100).astype(np.float32)

    def model(y):
        a = numpyro.sample("a", dist.LogNormal(0, 1))
        b = numpyro.sample("b", dist.LogNormal(0, 1))
        numpyro.sample("y", dist.Gamma(a, b), obs=y)

    def fit():
        svi = SVI(model, AutoNormal(model), numpyro.optim.Adam(0.02), Trace_ELBO())
        return svi.run(jax.random.key(0), 100, y, progress_bar=False).losses

    losses = agree(fit, rtol=1e-2, atol=1e-1)
    assert losses[-1] < losses[0]


def test_blackjax_hmc_and_smc(agree):
    blackjax = pytest.importorskip("blackjax")

    def density(x):
        return -0.5 * jnp.sum((x - jnp.array([1.0, -2.0])) ** 2 / jnp.array([0.5, 2.0]))

    def sample():
        kernel = blackjax.nuts(density, step_size=0.4, inverse_mass_matrix=jnp.array([0.5, 2.0]))
        state = kernel.init(jnp.zeros(2))

        def step(state, key):
            state, _ = kernel.step(key, state)
            return state, state.position

        _, positions = jax.jit(lambda s, k: jax.lax.scan(step, s, k))(
            state, jax.random.split(jax.random.key(1), 800))
        return positions[200:].mean(0)

    np.testing.assert_allclose(agree(sample, rtol=0, atol=0.3), [1, -2], atol=0.4)

"""Distrax: policy gradients over environments that run in the program, and a normalising flow."""

import distrax
import jax
import jax.numpy as jnp
import optax


def environment(state, action):
    x, v = state
    v = v + 0.1 * (action * 2 - 1.0) - 0.05 * jnp.sin(x)
    x = jnp.clip(x + v * 0.1, -2.0, 2.0)
    is_over = jnp.abs(x) >= 2.0
    reward = jnp.where(is_over, -1.0, 1.0 - x**2)
    return (jnp.where(is_over, 0.0, x), jnp.where(is_over, 0.0, v)), reward


def policy(weights, state):
    return jnp.tanh(jnp.stack(state) @ weights["hidden"]) @ weights["output"]


def episode(weights, key):
    def step(state, key):
        actions = distrax.Categorical(logits=policy(weights, state))
        action = actions.sample(seed=key)
        state, reward = environment(state, action)
        return state, (actions.log_prob(action), reward, actions.entropy())

    first, rest = jax.random.split(key)
    start = tuple(jax.random.uniform(first, (2,), minval=-0.5, maxval=0.5))
    return jax.lax.scan(step, start, jax.random.split(rest, 64))[1]


def loss(weights, key):
    episodes = jax.vmap(episode, (None, 0))(weights, jax.random.split(key, 32))
    log_probabilities, rewards, entropies = episodes
    _, returns = jax.lax.associative_scan(
        lambda a, b: (a[0] * b[0], b[1] + b[0] * a[1]), (jnp.full_like(rewards, 0.97), rewards),
        reverse=True, axis=1)
    advantages = jax.lax.stop_gradient((returns - returns.mean()) / (returns.std() + 1e-6))
    return -(log_probabilities * advantages).mean() - 0.01 * entropies.mean()


weights = {"hidden": jax.random.normal(jax.random.key(0), (2, 16)) * 0.5, "output": jnp.zeros((16, 2))}
optimizer = optax.adam(1e-2)
state = optimizer.init(weights)


@jax.jit
def step(weights, state, key):
    value, gradient = jax.value_and_grad(loss)(weights, key)
    updates, state = optimizer.update(gradient, state)
    return optax.apply_updates(weights, updates), state, value


RESULTS = []
for i in range(6):
    weights, state, value = step(weights, state, jax.random.key(i))
    RESULTS.append(value)

normal = distrax.MultivariateNormalDiag(jnp.zeros(4), jnp.ones(4))
bijectors = distrax.Block(distrax.Chain([distrax.Tanh(), distrax.ScalarAffine(0.5, 2.0)]), 1)
flow = distrax.Transformed(normal, bijectors)
samples = flow.sample(seed=jax.random.key(5), sample_shape=(10,))
RESULTS.append(flow.log_prob(samples * 0.99).mean())

"""Optax: a few steps of each of its optimisers on least squares."""

import jax
import jax.numpy as jnp
import optax

matrix = jax.random.normal(jax.random.key(0), (50, 20))
target = jax.random.normal(jax.random.key(1), (50, 3))


def loss(weights):
    return jnp.mean((matrix @ weights["w"] - target) ** 2)


RESULTS = []
OPTIMIZERS = [
    optax.adafactor(1e-2), optax.adamw(1e-2), optax.lamb(1e-2), optax.lion(1e-2), optax.radam(1e-2),
    optax.rmsprop(1e-2), optax.sm3(1e-2), optax.yogi(1e-2), optax.contrib.dog(), optax.contrib.muon(1e-2),
    optax.contrib.prodigy(), optax.contrib.schedule_free_adamw(1e-2),
    optax.MultiSteps(optax.novograd(1e-2), 2).gradient_transformation(),
]
for optimizer in OPTIMIZERS:
    weights = {"w": jnp.ones((20, 3))}
    state = optimizer.init(weights)

    @jax.jit
    def step(weights, state):
        updates, state = optimizer.update(jax.grad(loss)(weights), state, weights)
        return optax.apply_updates(weights, updates), state

    for _ in range(5):
        weights, state = step(weights, state)
    RESULTS.append(jnp.abs(weights["w"]).sum())

# With a line search in the program.
optimizer = optax.lbfgs()
weights = {"w": jnp.ones((20, 3))}
state = optimizer.init(weights)
value_and_gradient = optax.value_and_grad_from_state(loss)


@jax.jit
def search(weights, state):
    value, gradient = value_and_gradient(weights, state=state)
    updates, state = optimizer.update(gradient, state, weights, value=value, grad=gradient, value_fn=loss)
    return optax.apply_updates(weights, updates), state


for _ in range(8):
    weights, state = search(weights, state)
RESULTS.append(loss(weights))

"""Haiku: a ResNet-18 with batch norm trained with momentum, and the gradient of an LSTM."""

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax

random = np.random.default_rng(0)
images = jnp.asarray(random.normal(size=(4, 32, 32, 3)), jnp.float32)
labels = jnp.arange(4)
model = hk.transform_with_state(
    lambda x, is_training: hk.nets.ResNet18(10, resnet_v2=True)(x, is_training=is_training))
weights, statistics = model.init(jax.random.PRNGKey(0), images, True)
optimizer = optax.sgd(0.01, momentum=0.9, nesterov=True)
state = optimizer.init(weights)


@jax.jit
def step(weights, statistics, state):
    def loss(weights):
        logits, updated = model.apply(weights, statistics, None, images, True)
        return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean(), updated

    (value, statistics), gradient = jax.value_and_grad(loss, has_aux=True)(weights)
    updates, state = optimizer.update(gradient, state, weights)
    return optax.apply_updates(weights, updates), statistics, state, value


RESULTS = []
for _ in range(4):
    weights, statistics, state, value = step(weights, statistics, state)
    RESULTS.append(value)


def recurrent(x):
    core = hk.LSTM(32)
    return hk.dynamic_unroll(core, x, core.initial_state(4))[0]


sequence = jnp.asarray(random.normal(size=(20, 4, 8)), jnp.float32)
lstm = hk.without_apply_rng(hk.transform(recurrent))
lstm_weights = lstm.init(jax.random.PRNGKey(0), sequence)
gradient = jax.jit(jax.grad(lambda w: (lstm.apply(w, sequence) ** 2).sum()))(lstm_weights)
RESULTS += [jnp.abs(leaf).sum() for leaf in jax.tree.leaves(gradient)]

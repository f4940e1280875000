"""Jraph and Haiku: a graph network trained with Optax, and graph attention."""

import haiku as hk
import jax
import jax.numpy as jnp
import jraph
import numpy as np
import optax

random = np.random.default_rng(0)
NODES, EDGES = 40, 160
graph = jraph.GraphsTuple(
    nodes=jnp.asarray(random.normal(size=(NODES, 8)), jnp.float32),
    edges=jnp.asarray(random.normal(size=(EDGES, 4)), jnp.float32),
    senders=jnp.asarray(random.integers(0, NODES, EDGES)),
    receivers=jnp.asarray(random.integers(0, NODES, EDGES)),
    n_node=jnp.array([25, 15]), n_edge=jnp.array([100, 60]), globals=jnp.zeros((2, 3)))


def update(size):
    return jraph.concatenated_args(lambda x: hk.nets.MLP([32, size], activation=jnp.tanh)(x))


def network(graph):
    for _ in range(2):
        graph = jraph.GraphNetwork(update(16), update(16), update(4))(graph)
    return graph.globals


model = hk.without_apply_rng(hk.transform(network))
weights = model.init(jax.random.PRNGKey(0), graph)
optimizer = optax.adam(1e-3)
state = optimizer.init(weights)


@jax.jit
def step(weights, state):
    value, gradient = jax.value_and_grad(lambda w: ((model.apply(w, graph) - 1.0) ** 2).mean())(weights)
    updates, state = optimizer.update(gradient, state)
    return optax.apply_updates(weights, updates), state, value


RESULTS = []
for _ in range(8):
    weights, state, value = step(weights, state)
    RESULTS.append(value)

attention = jraph.GAT(lambda nodes: nodes @ jnp.full((8, 8), 0.1),
                      lambda sender, receiver, edge: jax.nn.leaky_relu(
                          jnp.sum(sender * receiver, -1, keepdims=True)))
RESULTS.append(jnp.abs(attention(graph).nodes).sum())

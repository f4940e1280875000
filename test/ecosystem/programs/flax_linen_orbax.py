"""Flax Linen: a language model with rematerialised blocks; its weights to disk and back by Orbax."""

import tempfile

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
import orbax.checkpoint


class Block(nn.Module):
    @nn.compact
    def __call__(self, x, mask):
        h = nn.LayerNorm()(x)
        x = x + nn.MultiHeadDotProductAttention(4)(h, h, mask=mask)
        h = nn.RMSNorm()(x)
        return x + nn.Dense(64)(nn.gelu(nn.Dense(256)(h)))


class LanguageModel(nn.Module):
    @nn.compact
    def __call__(self, tokens):
        positions = self.param("positions", nn.initializers.normal(0.02), (32, 64))
        x = nn.Embed(100, 64)(tokens) + positions
        mask = nn.make_causal_mask(tokens)
        for _ in range(2):
            x = nn.remat(Block)()(x, mask)
        return nn.Dense(100)(x)


tokens = jnp.asarray(np.random.default_rng(0).integers(0, 100, (8, 33)))
model = LanguageModel()
weights = model.init(jax.random.key(0), tokens[:, :-1])
optimizer = optax.chain(
    optax.clip_by_global_norm(1.0),
    optax.adamw(optax.warmup_cosine_decay_schedule(0, 1e-2, 3, 20)))
state = optimizer.init(weights)


@jax.jit
def step(weights, state, tokens):
    def loss(weights):
        logits = model.apply(weights, tokens[:, :-1])
        return optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:]).mean()

    value, gradient = jax.value_and_grad(loss)(weights)
    updates, state = optimizer.update(gradient, state, weights)
    return optax.apply_updates(weights, updates), state, value


RESULTS = []
for _ in range(8):
    weights, state, value = step(weights, state, tokens)
    RESULTS.append(value)

with tempfile.TemporaryDirectory() as folder:
    checkpointer = orbax.checkpoint.StandardCheckpointer()
    checkpointer.save(folder + "/weights", weights)
    checkpointer.wait_until_finished()
    like = jax.tree.map(orbax.checkpoint.utils.to_shape_dtype_struct, weights)
    restored = checkpointer.restore(folder + "/weights", like)
differences = jax.tree.map(lambda a, b: jnp.abs(a - b).sum(), weights, restored)
RESULTS.append(sum(jax.tree.leaves(differences)))

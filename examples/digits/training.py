"""Trains a small convolutional network on handwritten digits, on whatever device JAX is given."""

import dataclasses
import time

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
import sklearn.datasets
import sklearn.model_selection

BATCH = 64


class Network(nn.Module):
    """Two convolutions, a pooling and two dense layers: 8x8 images to 10 scores."""

    @nn.compact
    def __call__(self, images):
        x = nn.relu(nn.Conv(32, (3, 3))(images))
        x = nn.relu(nn.Conv(64, (3, 3))(x))
        x = nn.max_pool(x, (2, 2), strides=(2, 2))
        x = x.reshape(x.shape[0], -1)
        x = nn.relu(nn.Dense(128)(x))
        return nn.Dense(10)(x)


@dataclasses.dataclass
class Run:
    """What a training run gave: times in seconds, a loss for each step."""

    losses: list[float]
    accuracy: float
    compile_seconds: float
    step_seconds: float
    total_seconds: float


def load_data():
    """Returns (images, labels) of the training set and of the test set, as float32 and int32."""
    digits = sklearn.datasets.load_digits()
    images = (digits.images[..., None] / 16.0).astype(np.float32)
    labels = digits.target.astype(np.int32)
    train_images, test_images, train_labels, test_labels = sklearn.model_selection.train_test_split(
        images, labels, test_size=360, random_state=0, stratify=labels)
    return (train_images, train_labels), (test_images, test_labels)


def batches(images, labels, epochs):
    """Yields shuffled batches of BATCH, the same ones on every run; drops each epoch's remainder."""
    order = np.random.default_rng(0)
    for _ in range(epochs):
        shuffled = order.permutation(len(images))
        for begin in range(0, len(images) - BATCH + 1, BATCH):
            chosen = shuffled[begin:begin + BATCH]
            yield images[chosen], labels[chosen]


def train(device, epochs, progress):
    """Trains on `device` and returns a Run. Calls progress(step, steps, loss) after each step."""
    begin = time.perf_counter()
    (images, labels), (test_images, test_labels) = load_data()
    network = Network()
    optimizer = optax.adamw(optax.cosine_decay_schedule(2e-3, epochs * (len(images) // BATCH)))

    def loss_of(params, batch_images, batch_labels):
        scores = network.apply(params, batch_images)
        return optax.softmax_cross_entropy_with_integer_labels(scores, batch_labels).mean()

    def step(params, state, batch_images, batch_labels):
        loss, gradients = jax.value_and_grad(loss_of)(params, batch_images, batch_labels)
        updates, state = optimizer.update(gradients, state, params)
        return optax.apply_updates(params, updates), state, loss

    with jax.default_device(device):
        params = jax.jit(network.init)(jax.random.key(0), jnp.asarray(images[:BATCH]))
        state = jax.jit(optimizer.init)(params)
        lowered = jax.jit(step, donate_argnums=(0, 1)).lower(
            params, state, images[:BATCH], labels[:BATCH])
        compiling = time.perf_counter()
        compiled = lowered.compile()
        compile_seconds = time.perf_counter() - compiling

        losses, times = [], []
        steps = epochs * (len(images) // BATCH)
        for index, batch in enumerate(batches(images, labels, epochs)):
            stepping = time.perf_counter()
            params, state, loss = compiled(params, state, *jax.device_put(batch, device))
            losses.append(float(loss))
            times.append(time.perf_counter() - stepping)
            progress(index + 1, steps, losses[-1])

        scores = jax.jit(network.apply)(params, jnp.asarray(test_images))
        accuracy = float(np.mean(np.argmax(np.asarray(scores), axis=1) == test_labels))
    return Run(losses, accuracy, compile_seconds, float(np.median(times)),
               time.perf_counter() - begin)

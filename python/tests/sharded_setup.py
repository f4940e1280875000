"""What programs over eight devices are made with: a table of them, meshes, arrays, training steps."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

PROGRAMS = {}
ON_DEMAND = set()  # names of programs that short tests leave out


def program(function):
    PROGRAMS[function.__name__] = function
    return function


class Setup:
    """Meshes and arrays on some devices, the same numbers for each platform."""

    def __init__(self, devices):
        self.devices = np.array(devices)
        self.rng = np.random.default_rng(0)

    def mesh(self, **axes):
        self.current = Mesh(self.devices.reshape(*axes.values()), tuple(axes))
        return self.current

    def sharding(self, *spec):
        return NamedSharding(self.current, P(*spec))

    def put(self, array, *spec):
        return jax.device_put(array, self.sharding(*spec))

    def normal(self, shape, *spec, scale=1.0):
        return self.put((self.rng.normal(size=shape) * scale).astype("f"), *spec)

    def integers(self, high, shape, *spec):
        return self.put(self.rng.integers(0, high, size=shape).astype("i"), *spec)


def constrained(setup, *spec):
    return functools.partial(lax.with_sharding_constraint, shardings=setup.sharding(*spec))


def ring(size, step=1):
    """Pairs for ppermute."""
    return [(i, (i + step) % size) for i in range(size)]


def training_step(loss, weights, *data, optimizer="sgd"):
    """A jitted step whose results lie as the weights do."""
    shardings = jax.tree.map(lambda w: w.sharding, weights)
    if optimizer == "sgd":
        def step(weights, *data):
            return jax.tree.map(lambda w, g: w - 0.05 * g, weights, jax.grad(loss)(weights, *data))
        return jax.jit(step, out_shardings=shardings), (weights, *data)

    def adam(weights, first, second, *data):
        gradients = jax.grad(loss)(weights, *data)
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradients)
        second = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, second, gradients)
        # Far from zero, so that the division does not magnify the last bits.
        update = lambda w, m, v: w - 0.01 * m / (jnp.sqrt(v) + 1e-2)  # noqa: E731
        return jax.tree.map(update, weights, first, second), first, second

    zeros = lambda: jax.tree.map(  # noqa: E731
        lambda w: jax.device_put(np.zeros(w.shape, "f"), w.sharding), weights)
    return jax.jit(adam, out_shardings=(shardings,) * 3), (weights, zeros(), zeros(), *data)

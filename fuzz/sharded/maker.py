"""Makes random programs over devices, and the same programs for one."""

import random

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

import operations

SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 8, 8, 9, 12, 16, 16, 16, 24, 32)
MAX_ELEMENTS = 1 << 13
MESHES = ({"x": 8}, {"x": 4, "y": 2}, {"x": 2, "y": 4}, {"x": 2, "y": 2, "z": 2})


class Program:
    """Program `number` of `seed`, of its first `length` operations."""

    def __init__(self, seed, number, length=None):
        self.key = f"{seed}-{number}"
        rng = random.Random(self.key)
        self.axes = rng.choice(MESHES)
        full = rng.randint(1, 7)
        self.length = full if length is None else length
        self.isCut = self.length < full
        numbers = np.random.default_rng([seed, number])
        shapes = [tuple(rng.choice(SIZES[3:]) for _ in range(rng.randint(1, 3)))
                  for _ in range(rng.randint(1, 3))]
        self.inputs = [numbers.integers(-3, 4, shape).astype(rng.choice(["i4", "f4"]))
                       for shape in shapes]
        self.specs = [spec_of(rng, shape, self.axes) for shape in shapes]
        # Arguments may lie in blocks of equal sizes only.
        self.specs = [spec if divides(spec, shape, self.axes) else P()
                      for spec, shape in zip(self.specs, shapes)]

    def traced(self, devices):
        """The program for eight devices, or for one, with its inputs on them."""
        mesh = None
        if len(devices) > 1:
            mesh = Mesh(np.array(devices).reshape(*self.axes.values()), tuple(self.axes))

        def function(*inputs):
            maker = Maker(self.key, inputs, mesh, self.axes)
            for _ in range(self.length):
                maker.step()
            self.names = maker.names
            count = 1 if self.isCut else maker.rng.randint(1, 3)
            return maker.pool[-count:]

        if mesh:
            inputs = [jax.device_put(x, NamedSharding(mesh, spec))
                      for x, spec in zip(self.inputs, self.specs)]
        else:
            inputs = [jax.device_put(x, devices[0]) for x in self.inputs]
        return jax.jit(function).trace(*inputs), inputs

    def run(self, devices):
        """Its results."""
        traced, inputs = self.traced(devices)
        return [np.asarray(result) for result in traced.lower().compile()(*inputs)]


def spec_of(rng, shape, axes):
    """A random way to split `shape`: an axis, or two, for some dimensions."""
    names, spec = list(axes), []
    rng.shuffle(names)
    for _ in shape:
        if names and rng.random() < 0.6:
            count = 2 if len(names) > 1 and rng.random() < 0.2 else 1
            spec.append(tuple(names.pop() for _ in range(count)))
        else:
            spec.append(None)
    rng.shuffle(spec)
    return P(*spec)


def divides(spec, shape, axes):
    return all(size % np.prod([axes[a] for a in entry or ()], dtype=int) == 0
               for size, entry in zip(shape, spec))


class Maker:
    """What has been computed, while a program is traced; decides by shapes and its seed alone."""

    def __init__(self, key, inputs, mesh, axes):
        self.rng = random.Random(f"{key}-operations")
        self.pool, self.mesh, self.axes, self.names = list(inputs), mesh, axes, []

    def step(self):
        function = self.rng.choice(operations.OPERATIONS)
        state = self.rng.getstate()
        try:
            result = function(self)
        except (IndexError, KeyError):  # nothing fits
            self.rng.setstate(state)
            result = None
        self.names.append(function.__name__)
        if result is None or result.size == 0 or result.size > MAX_ELEMENTS or result.ndim > 4:
            result = self.pool[-1] + 1
        self.pool.append(operations.wrap_to_small(result))

    # ---- What operations ask for ----

    def choice(self, among):
        return self.rng.choice(among)

    def chance(self, probability):
        return self.rng.random() < probability

    def pick(self, least=0, most=4):
        """An array of so many dimensions; the newer ones more often."""
        fitting = [x for x in self.pool if least <= x.ndim <= most]
        if not fitting:
            raise IndexError
        return fitting[-1 - min(self.rng.randrange(len(fitting)), self.rng.randrange(len(fitting)))]

    def like(self, x):
        """An array of `x`'s shape and type."""
        same = [y for y in self.pool if y.shape == x.shape and y.dtype == x.dtype]
        return self.rng.choice(same) if self.chance(0.7) else self.fresh(x.shape, x.dtype)

    def fresh(self, shape, dtype):
        numbers = np.random.default_rng(self.rng.randrange(1 << 30))
        return jnp.asarray(numbers.integers(-3, 4, shape).astype(dtype))

    def size(self):
        return self.rng.choice(SIZES)

    def dim(self, x):
        return self.rng.randrange(x.ndim)

    def indices(self, limit, shape):
        """Places in a dimension, some outside; constants, or computed from an array."""
        places = self.fresh(shape, "i4") * 5
        if self.chance(0.5):
            places = places + jnp.sum(small_integers(self.pick()))
        return places % (limit + 2) if self.chance(0.3) else places % limit

    def scalar(self, limit):
        return self.indices(limit, ())

    # ---- Devices ----

    def constrain(self, x):
        spec = spec_of(self.rng, x.shape, self.axes)
        return lax.with_sharding_constraint(x, NamedSharding(self.mesh, spec)) if self.mesh else x

    def manual(self, x):
        """Code for each device, or what it means for the whole array."""
        axis = self.rng.choice(list(self.axes))
        size = self.axes[axis]
        d = self.dim(x)
        kind = self.rng.choice(["psum", "pmax", "gather", "permute", "all_to_all", "psum_scatter",
                                "index"])
        to = self.rng.randrange(x.ndim)
        by = self.rng.randint(1, 3)
        partly = self.chance(0.5)
        if x.shape[d] % size or (kind in ("psum_scatter", "all_to_all") and
                                 (to == d or x.shape[to] % size)):
            raise IndexError
        blocks = lambda x: x.reshape(*x.shape[:d], size, -1, *x.shape[d + 1:])  # noqa: E731
        before, after = [None] * x.ndim, [None] * x.ndim
        before[d] = axis
        after[to if kind in ("psum_scatter", "all_to_all") else d] = axis
        if kind in ("psum", "pmax", "gather"):
            after[d] = None
        if not self.mesh:
            if kind in ("gather", "all_to_all"):
                return x * 2
            if kind == "permute":
                return jnp.roll(blocks(x), by, d).reshape(x.shape) * 2
            if kind == "index":
                return (blocks(x * 2) + lax.broadcasted_iota(x.dtype, blocks(x).shape, d)).reshape(x.shape)
            return (jnp.max if kind == "pmax" else jnp.sum)(blocks(x * 2), d).astype(x.dtype)

        def local(x):
            x = x * 2
            if kind == "gather":
                return lax.all_gather(x, axis, axis=d, tiled=True)
            if kind == "permute":
                return lax.ppermute(x, axis, [(i, (i + by) % size) for i in range(size)])
            if kind == "all_to_all":
                return lax.all_to_all(x, axis, to, d, tiled=True)
            if kind == "psum_scatter":
                return lax.psum_scatter(x, axis, scatter_dimension=to, tiled=True)
            if kind == "index":
                return x + lax.axis_index(axis).astype(x.dtype)
            return {"psum": lax.psum, "pmax": lax.pmax}[kind](x, axis)

        names = {axis} if partly else set(self.axes)
        return jax.shard_map(local, mesh=self.mesh, in_specs=P(*before), out_specs=P(*after),
                             axis_names=names, check_vma=False)(x)


def small_integers(x):
    return operations.wrap_to_small(x).astype(jnp.int32)

"""lax.ragged_all_to_all on the devices of the first platform of JAX_PLATFORMS, beside loops of NumPy.

    ISTHMUS_NUM_DEVICES=4 python ragged_exchanges.py
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, shard_map
from jax.sharding import Mesh, PartitionSpec as P

DEVICES = 4


class Exchange:
    """Slices of random sizes from every device to all of its group, one after the other at both ends."""

    def __init__(self, seed, rows, results, inner=(), per_peer=1, type="f4", index_type="i4", groups=None):
        random = np.random.default_rng(seed)
        self.axis_groups = groups
        self.groups = groups or [list(range(DEVICES))]
        self.per_peer, self.index_type = per_peer, index_type
        slices = len(self.groups[0]) * per_peer
        self.send_sizes = random.integers(1, min(rows, results) // slices + 1, (DEVICES, slices))
        self.input_offsets = np.cumsum(self.send_sizes, 1) - self.send_sizes
        self.receive_sizes, self.output_offsets = np.zeros_like(self.send_sizes), np.zeros_like(self.send_sizes)
        for group in self.groups:
            ends = dict.fromkeys(group, 0)
            for source, i, target, j in self.pairs(group):
                size = self.receive_sizes[target, j] = self.send_sizes[source, i]
                self.output_offsets[source, i] = ends[target]
                ends[target] += size
        self.operand = (random.standard_normal((DEVICES, rows, *inner)) * 10).astype(jnp.dtype(type))
        self.output = np.full((DEVICES, results, *inner), -7).astype(jnp.dtype(type))

    def pairs(self, group):
        """(sender, its slice, receiver, its slice) for all that travel in a group."""
        for to, target in enumerate(group):
            for of, source in enumerate(group):
                for s in range(self.per_peer):
                    yield source, to * self.per_peer + s, target, of * self.per_peer + s

    def slices(self):
        for group in self.groups:
            for source, i, target, _ in self.pairs(group):
                size = self.send_sizes[source, i]
                at, to = self.input_offsets[source, i], self.output_offsets[source, i]
                yield (source, slice(at, at + size)), (target, slice(to, to + size))

    def function(self):
        numbers = [x.astype(self.index_type) for x in
                   (self.input_offsets, self.send_sizes, self.output_offsets, self.receive_sizes)]

        def local(*arguments):
            return lax.ragged_all_to_all(*(x[0] for x in arguments), axis_name="x",
                                         axis_index_groups=self.axis_groups)[None]

        mesh = Mesh(np.array(jax.devices()), ("x",))
        f = shard_map(local, mesh=mesh, in_specs=(P("x"),) * 6, out_specs=P("x"), check_vma=False)
        return lambda operand, output: f(operand, output, *numbers)

    def check(self):
        want = self.output.copy()
        for sent, received in self.slices():
            want[received] = self.operand[sent]
        np.testing.assert_array_equal(jax.jit(self.function())(self.operand, self.output), want)

    def check_gradient(self):
        f = self.function()
        gradient = jax.jit(jax.grad(lambda *x: (f(*x) ** 2).sum(), argnums=(0, 1)))(self.operand, self.output)
        operand, output = np.zeros_like(self.operand), 2 * self.output
        for sent, received in self.slices():
            operand[sent], output[received] = 2 * self.operand[sent], 0
        np.testing.assert_allclose(gradient[0], operand, rtol=1e-6)
        np.testing.assert_allclose(gradient[1], output, rtol=1e-6)


def check_any_order():
    """Slices that nobody receives, gaps at both ends, and a later slice over an earlier one."""
    exchange = Exchange(0, 8, 8)
    exchange.operand = np.arange(DEVICES * 8, dtype="f4").reshape(DEVICES, 8)
    exchange.send_sizes = np.tile(np.array([0, 3, 2, 0]), (DEVICES, 1))
    exchange.input_offsets = np.tile(np.array([5, 4, 0, 8]), (DEVICES, 1))
    exchange.receive_sizes = np.repeat(np.array([[0], [3], [2], [0]]), DEVICES, 1)
    # Of device d: two rows in common with the slice of the device before.
    exchange.output_offsets = np.tile(np.arange(DEVICES)[:, None], (1, DEVICES))
    exchange.check()


def main():
    assert jax.device_count() == DEVICES
    for exchange in (Exchange(1, 9, 12, inner=(3,)), Exchange(2, 9, 40, per_peer=2)):
        exchange.check()
        exchange.check_gradient()
    Exchange(3, 5, 7, inner=(2, 2), type="i1", index_type="i8").check()
    Exchange(4, 16, 16, inner=(2,), type="bfloat16", index_type="u4", groups=[[0, 2], [3, 1]]).check()
    Exchange(5, 6, 5, type="c8").check()
    Exchange(6, 0x4000, 0x3000, inner=(8,)).check()
    check_any_order()
    print("good")


if __name__ == "__main__":
    main()

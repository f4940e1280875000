"""Loops whose rounds end with moves among what they carry, for tests of devices whose host enqueues the steps: a round's results are
read where they were computed, and the last ones copied to where the program wants them, after odd numbers of rounds."""

# For programs that begin with comparing.py's; arrays that no kernel of one thread takes.
CARRIED = """
    x, y = array(70, 300), array(70, 300)
    def roll(c, i):
        return jnp.roll(c, 1, 1) * 0.5 + i
    def twice(v):
        return v, v
    for n in (1, 2, 5):
        def rounds(step, start, n=n):
            return lax.fori_loop(0, n, lambda i, c: step(c, i), start)
        compare(lambda x, y: (
            rounds(roll, x),
            rounds(lambda c, i: (c[1], roll(c[0], i)), (x, y)),
            rounds(lambda c, i: (roll(c[1], i), roll(c[0], i)), (x, y)),
            rounds(lambda c, i: (c[1], c[2], roll(c[0], i) + c[1]), (x, y, x + y)),
            rounds(lambda c, i: twice(roll(c[0], i) + c[1]), (x, x)),
            rounds(lambda c, i: (y, roll(c[0], i) + c[1]), (x, x)),
            rounds(lambda c, i: rounds(roll, roll(c, i), 3) + c, x),
            rounds(lambda c, i: rounds(lambda d, j: (d[1], roll(d[0], j)), (c, roll(c, i)), 2)[0] + c, x),
            rounds(lambda c, i: lax.cond(i % 2 == 0, lambda c: roll(c, 1), jnp.flip, c), x),
            rounds(lambda c, i: jnp.flip(c.at[i].set(c[i + 1] * 2)), x),
            rounds(lambda c, i: roll(c.reshape(300, 70), i).reshape(70, 300), x),
            lax.scan(lambda c, z: (jnp.tanh(jnp.roll(c, 1) + z), jnp.flip(c)), x[0], x[:n + 1]),
            lax.while_loop(lambda c: (jnp.abs(c[0]).sum() < 1e5) & (c[2] < n),
                           lambda c: (c[1], jnp.roll(c[0], 1, 0) * 1.7 + 1, c[2] + 1), (x, y, 0))), x, y, tolerance=1e-4)

    # Slices that are updated by what they were, and by what stands elsewhere; some reach over the end, and begin before it.
    def updated(c, i, change, height, width):
        place = (i * 9, i * 41)
        return lax.dynamic_update_slice(c, change(c, lax.dynamic_slice(c, place, (height, width))), place)
    changes = [lambda c, s: s * 0.5 + 1, lambda c, s: jnp.where(s > 0, s, s[::-1]), lambda c, s: jnp.tanh(s) + c[0, 0],
               lambda c, s: lax.dynamic_slice(c, (1, 2), s.shape) + s, lambda c, s: jnp.tanh(jnp.cumsum(s, 1) / 300)]
    compare(lambda x: [lax.fori_loop(0, 9, lambda i, c: updated(c, i, change, height, width), x)
                       for change in changes for height, width in ((1, 1), (1, 37), (3, 64), (70, 1), (70, 300))],
            x, tolerance=1e-4)
"""

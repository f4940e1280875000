"""How programs begin that call `compare`, which fails unless a platform and JAX's own CPU client agree."""

_PROGRAM = """
    import warnings; warnings.simplefilter("ignore")
    import jax, jax.numpy as jnp, numpy as np
    from jax import lax
    random = np.random.default_rng(7)
    def array(*shape):
        return random.standard_normal(shape).astype(np.float32)
    def compare(function, *arguments, tolerance=2e-5):
        results = []
        for platform in ("PLATFORM", "cpu"):
            device = jax.devices(platform)[0]
            with jax.default_device(device):
                results.append(jax.device_get(
                    jax.jit(function)(*jax.device_put(arguments, device))))
        leaves = [jax.tree.leaves(result) for result in results]
        assert len(leaves[0]) == len(leaves[1]) > 0
        for ours, theirs in zip(*leaves):
            ours, theirs = np.asarray(ours), np.asarray(theirs)
            assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
            if ours.dtype.kind == "V" or ours.dtype.itemsize < 4:
                ours, theirs = ours.astype(np.float64), theirs.astype(np.float64)
            np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)
"""


def comparing(platform):
    return _PROGRAM.replace("PLATFORM", platform)

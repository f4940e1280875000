"""Platforms that bring JAX's own CPU client along: callbacks run on it, and JAX_PLATFORMS would leave it out."""


class _WithCpu(list):
    """A platform and, unless the list that JAX was given has or brings it anyway, cpu.

    JAX makes a client for each entry, and a second one of the CPU cannot join a job of processes.
    """

    def __iter__(self):
        import jax

        yield self[0]
        asked = (jax.config.jax_platforms or "").split(",")
        bringing = [name for name in asked if isinstance(_aliases().get(name), _WithCpu)] or [self[0]]
        if "cpu" not in asked and bringing[-1] == self[0]:
            yield "cpu"


def _aliases() -> dict:
    from jax._src import xla_bridge

    return getattr(xla_bridge, "_alias_to_platforms", {})


def bring_cpu(platform: str) -> None:
    """In JAX_PLATFORMS, `platform` stands for itself and cpu, and stays the default."""
    _aliases()[platform] = _WithCpu([platform, "cpu"])

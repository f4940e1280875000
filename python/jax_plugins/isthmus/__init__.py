"""What JAX imports at start, by the entry point `jax_plugins`."""


def initialize() -> None:
    from isthmus import cuda_backend, further_platforms, jax_backend, xpu_backend

    jax_backend.register()
    xpu_backend.register()
    cuda_backend.register()
    further_platforms.register()

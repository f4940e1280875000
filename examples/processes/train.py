"""One process of a training run: a classifier, its batch split over "data", its layers over "model"."""

import argparse

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

FEATURES, HIDDEN, CLASSES, BATCH = 64, 256, 10, 64


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--coordinator", default="localhost:7890", help="host:port of the first process")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--index", type=int, default=0)
    parser.add_argument("--steps", type=int, default=20)
    return parser.parse_args()


def initial_parameters(key):
    a, b, c = jax.random.split(key, 3)
    return {"in": jax.random.normal(a, (FEATURES, HIDDEN)) * FEATURES**-0.5,
            "mid": jax.random.normal(b, (HIDDEN, HIDDEN)) * HIDDEN**-0.5,
            "out": jax.random.normal(c, (HIDDEN, CLASSES)) * HIDDEN**-0.5}


def loss(parameters, x, y):
    h = jax.nn.gelu(x @ parameters["in"])
    h = h + jax.nn.gelu(h @ parameters["mid"])
    logits = jax.nn.log_softmax(h @ parameters["out"])
    return -jnp.mean(jnp.take_along_axis(logits, y[:, None], axis=1))


def step(parameters, momentum, x, y):
    value, gradients = jax.value_and_grad(loss)(parameters, x, y)
    momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, gradients)
    return jax.tree.map(lambda p, m: p - 0.05 * m, parameters, momentum), momentum, value


def main():
    options = parse_arguments()
    if options.processes > 1:
        jax.distributed.initialize(options.coordinator, options.processes, options.index)
    model = 2 if jax.device_count() % 2 == 0 else 1
    mesh = Mesh(np.array(jax.devices()).reshape(-1, model), ("data", "model"))
    place = lambda *spec: NamedSharding(mesh, P(*spec))
    shardings = {"in": place(None, "model"), "mid": place("model", None), "out": place()}
    parameters = jax.jit(initial_parameters, out_shardings=shardings)(jax.random.key(0))
    momentum = jax.tree.map(lambda p: jnp.zeros_like(p), parameters)
    run = jax.jit(step, donate_argnums=(0, 1), out_shardings=(shardings, shardings, place()))

    # Every process knows all of the data here; each puts on its devices what belongs there.
    rng = np.random.default_rng(0)
    teacher = rng.normal(size=(FEATURES, CLASSES))
    for number in range(options.steps):
        x = rng.normal(size=(BATCH, FEATURES)).astype(np.float32)
        y = np.argmax(x @ teacher, axis=1).astype(np.int32)
        x = jax.make_array_from_callback(x.shape, place("data"), lambda i: x[i])
        y = jax.make_array_from_callback(y.shape, place("data"), lambda i: y[i])
        parameters, momentum, value = run(parameters, momentum, x, y)
        if options.index == 0:
            print(f"step {number:3}  loss {float(value):.5f}", flush=True)


if __name__ == "__main__":
    main()

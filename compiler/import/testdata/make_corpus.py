"""Writes the portable artifacts of this folder: programs of our own, lowered by JAX.

Usage: python make_corpus.py   (needs jax; the files that are committed were made with jax 0.10.2)

Each file is NAME.VERSION.mlirbc, for the StableHLO version that it was written for, or NAME.hlo.
The tests read them all: they must import, and mutations of them must give errors or valid modules.
"""

import os
import pathlib

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax._src.lib import _jax
from jax.experimental import io_callback
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

HERE = pathlib.Path(__file__).parent
f32 = jnp.float32


def spec(*shape, dtype=f32):
    return jax.ShapeDtypeStruct(shape, dtype)


def add(x, y):
    return x + 2 * y


def train_step(params, x, y):
    def loss(params):
        hidden = jnp.tanh(x @ params["w1"] + params["b1"])
        logits = hidden @ params["w2"]
        return -jnp.mean(jax.nn.log_softmax(logits)[jnp.arange(x.shape[0]), y])

    value, grads = jax.value_and_grad(loss)(params)
    return value, jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)


def convolution(x, w):
    def loss(x, w):
        y = lax.conv_general_dilated(
            x, w, (2, 1), "SAME", rhs_dilation=(1, 2), dimension_numbers=("NHWC", "HWIO", "NHWC"))
        return lax.reduce_window(y, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID").sum()

    return jax.grad(loss, argnums=(0, 1))(x, w)


def control_flow(x, n):
    x = lax.fori_loop(0, n, lambda i, x: x * 1.5 + i, x)
    x = lax.cond(x.sum() > 3, jnp.sin, jnp.cos, x)
    x = lax.switch(n, [jnp.exp, jnp.log, jnp.abs], x)
    return lax.scan(lambda carry, row: (carry + row, carry * row), x[0], x)


def sorting(x, keys):
    values, order = lax.top_k(x, 3)
    return (jnp.sort(x, axis=0), jnp.argsort(keys), values, order, jnp.cumsum(x, axis=1),
            jnp.argmax(x, axis=1), jnp.median(x))


def indexing(x, rows, updates):
    gathered = x[rows]
    return (gathered, x.at[rows].add(updates), x.at[rows].max(updates),
            lax.dynamic_slice(x, (rows[0], 1), (2, 3)),
            lax.dynamic_update_slice(x, updates[:1], (rows[1], 0)),
            jax.vmap(lambda row, i: row[i])(x, rows), jnp.pad(x, ((1, 2), (0, 1))), x[::-1, 1::2])


def element_types(x):
    wide = x.astype(jnp.complex64) * 1j
    return (x.astype(jnp.bfloat16), x.astype(jnp.float16), x.astype(jnp.float8_e4m3fn) + 1,
            x.astype(jnp.int4), x.astype(jnp.uint8), wide, jnp.real(wide), x > 0,
            jnp.array([True, False, True, True, False]), jnp.isfinite(x),
            lax.bitcast_convert_type(x, jnp.uint32) >> 3, lax.population_count(x.astype(jnp.int32)))


def functions(x):
    return (jnp.exp(x), jnp.log1p(x), jnp.expm1(x), lax.rsqrt(x), lax.erf(x), lax.erf_inv(x),
            jnp.arctan2(x, x), jnp.sinh(x), jnp.arcsinh(x), lax.lgamma(x), jnp.cbrt(x), jnp.tan(x),
            jax.nn.sigmoid(x), lax.clamp(0.0, x, 1.0), lax.round(x), jnp.power(x, 2.5),
            lax.reduce_precision(x, 5, 10))


def transforms(x, key):
    return (jnp.fft.rfft(x), jax.random.normal(key, (4,)), jax.random.bits(key, (3,)),
            lax.optimization_barrier((x, x)), jnp.einsum("ij,kj->ik", x, x),
            lax.dot_general(x, x, (((1,), (1,)), ((0,), (0,))), precision="highest"))


def callback(x):
    return jax.pure_callback(np.sin, spec(*x.shape), x)


def sharded(x, w):
    mesh = Mesh(np.array(jax.devices()[:8]).reshape(4, 2), ("a", "b"))
    x = lax.with_sharding_constraint(x, NamedSharding(mesh, P("a", None)))
    y = x @ w
    return lax.with_sharding_constraint(y, NamedSharding(mesh, P(None, "b")))


def shard_mapped(x):
    mesh = Mesh(np.array(jax.devices()[:8]).reshape(4, 2), ("a", "b"))

    def body(x):
        y = lax.all_gather(x, "a")
        z = lax.ppermute(x, "a", [(i, (i + 1) % 4) for i in range(4)])
        return lax.psum(x, ("a", "b")) + y.sum() + z + lax.axis_index("a")

    return jax.shard_map(body, mesh=mesh, in_specs=P("a", "b"), out_specs=P("a", "b"),
                         check_vma=False)(x)


def ordered_callback(x):
    mesh = Mesh(np.array(jax.devices()[:8]), ("a",))

    def body(x):
        io_callback(print, None, x, ordered=True)
        return x * 2

    # Shardy's operation has a token among its operands.
    return jax.shard_map(body, mesh=mesh, in_specs=P("a"), out_specs=P("a"))(x)


def composites(x):
    def norm(x, *, epsilon):
        return x / jnp.sqrt(jnp.sum(x * x) + epsilon)

    return (lax.composite(norm, name="corpus.norm")(x, epsilon=np.float32(1e-5)), jax.nn.gelu(x),
            lax.erf_inv(x))


key = jax.ShapeDtypeStruct((2,), jnp.uint32)
params = {"w1": spec(6, 5), "b1": spec(5), "w2": spec(5, 3)}
i32 = jnp.int32
PROGRAMS = {
    "add": (add, (spec(4), spec(4)), ["0.9.0", "0.12.0", "1.17.0"]),
    "train_step": (train_step, (params, spec(8, 6), spec(8, dtype=i32)), ["1.0.0", "1.17.0"]),
    "convolution": (convolution, (spec(2, 6, 6, 3), spec(3, 3, 3, 4)), ["0.14.0", "1.17.0"]),
    "control_flow": (control_flow, (spec(4, 4), spec(dtype=i32)), ["0.13.0", "1.17.0"]),
    "sorting": (sorting, (spec(5, 7), spec(9, dtype=i32)), ["1.17.0"]),
    "indexing": (indexing, (spec(6, 5), spec(6, dtype=i32), spec(6, 5)), ["1.17.0"]),
    "element_types": (element_types, (spec(5),), ["1.17.0"]),
    "functions": (functions, (spec(3, 2),), ["1.8.0", "1.17.0"]),
    "transforms": (transforms, (spec(4, 4), key), ["1.17.0"]),
    "callback": (callback, (spec(3),), ["1.17.0"]),
    "sharded": (sharded, (spec(8, 4), spec(4, 6)), ["1.17.0"]),
    "shard_mapped": (shard_mapped, (spec(8, 4),), ["1.17.0"]),
    "ordered_callback": (ordered_callback, (spec(16),), ["1.17.0"]),
    "composites": (composites, (spec(7),), ["1.17.0"]),
}
# Also as HloModuleProto.
HLO_PROGRAMS = ["add", "train_step", "convolution", "control_flow", "sorting", "indexing",
                "element_types", "transforms"]


def main():
    for name, (function, arguments, versions) in PROGRAMS.items():
        lowered = jax.jit(function).lower(*arguments)
        module = lowered.compiler_ir()
        # No path of the machine goes into the files.
        text = module.operation.get_asm(enable_debug_info=True).replace(f"{HERE}/", "")
        for version in versions:
            bytecode = _jax.mlir.serialize_portable_artifact(text, version, True)
            path = HERE / f"{name}.{version}.mlirbc"
            path.write_bytes(bytecode)
            print(path.name, len(bytecode))
        if name in HLO_PROGRAMS:
            computation = _jax.mlir.mlir_module_to_xla_computation(
                text, use_tuple_args=False, return_tuple=False)
            path = HERE / f"{name}.hlo"
            path.write_bytes(computation.as_serialized_hlo_module_proto())
            print(path.name, path.stat().st_size)


if __name__ == "__main__":
    main()

"""rng_bit_generator beside an implementation of its generators in NumPy, and JAX's CPU client.

Threefry-2x32 with 20 rounds and Philox-4x32 with 10 (Salmon et al., "Parallel random numbers: as easy
as 1, 2, 3", 2011), and how XLA lays out their words.
"""

import ml_dtypes
import numpy as np
import pytest

KEY = 0x0123456789ABCDEF
# The second one makes the counter's low word overflow within the array.
COUNTERS = [5, 2**64 - 3]
SHAPES = [(), (1,), (2,), (7,), (64,), (3, 5), (3, 4), (2, 3, 5), (1025,)]
DTYPES = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "bfloat16",
          "float32", "float64", "int2", "uint2", "int4", "uint4", "float8_e4m3fn", "float4_e2m1fn"]
MLIR_TYPES = {"float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64",
              "float8_e4m3fn": "f8E4M3FN", "float4_e2m1fn": "f4E2M1FN"}
# XLA:CPU does not generate these.
OURS_ALONE = {"int2", "uint2", "int4", "uint4", "float8_e4m3fn", "float4_e2m1fn", "float16", "bfloat16",
              "float32", "float64"}


def _u32(x):
    return np.uint64(x) & np.uint64(0xFFFFFFFF)


def _rotate(x, by):
    return _u32((x << np.uint64(by)) | (x >> np.uint64(32 - by)))


def threefry2x32(key, counters):
    """The two words of each 64-bit counter, as uint64 arrays below 2^32."""
    keys = [_u32(key), _u32(key >> 32)]
    keys.append(keys[0] ^ keys[1] ^ np.uint64(0x1BD11BDA))
    x0, x1 = _u32(_u32(counters) + keys[0]), _u32((counters >> np.uint64(32)) + keys[1])
    rotations = [13, 15, 26, 6, 17, 29, 16, 24]
    for r in range(20):
        x0 = _u32(x0 + x1)
        x1 = _rotate(x1, rotations[r % 8]) ^ x0
        if r % 4 == 3:
            injection = r // 4 + 1
            x0 = _u32(x0 + keys[injection % 3])
            x1 = _u32(x1 + keys[(injection + 1) % 3] + np.uint64(injection))
    return x0, x1


def philox4x32(key, low, high):
    """The four words of each 128-bit counter, given as two 64-bit arrays."""
    x = [_u32(low), low >> np.uint64(32), _u32(high), high >> np.uint64(32)]
    k0, k1 = _u32(key), _u32(key >> 32)
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * x[0], np.uint64(0xCD9E8D57) * x[2]
        x = [(p1 >> np.uint64(32)) ^ x[1] ^ k0, _u32(p1), (p0 >> np.uint64(32)) ^ x[3] ^ k1, _u32(p0)]
        k0, k1 = _u32(k0 + np.uint64(0x9E3779B9)), _u32(k1 + np.uint64(0xBB67AE85))
    return x


def expected_bits(algorithm, state, shape, width):
    """The new state and the words of the result, before they are cut to `width` bits."""
    size = int(np.prod(shape))
    key = np.uint64(state[0])

    def counters(count):
        return np.uint64(state[1]) + np.arange(count, dtype=np.uint64)

    with np.errstate(over="ignore"):
        if algorithm == "THREE_FRY":
            if width == 64:
                used = size
                x0, x1 = threefry2x32(key, counters(used))
                words = (x0 | x1 << np.uint64(32)).reshape(shape)
            else:
                # The first dimension of even size, else the largest, takes words in turn.
                dims = list(shape)
                even = [d for d, n in enumerate(dims) if n % 2 == 0]
                split = even[0] if even else (int(np.argmax(dims)) if dims else None)
                halves = list(dims)
                if dims:
                    halves[split] = (dims[split] + 1) // 2
                used = int(np.prod(halves))
                x0, x1 = (x.reshape(halves) for x in threefry2x32(key, counters(used)))
                if not dims:
                    words = x0
                else:
                    words = np.stack([x0, x1], axis=split + 1).reshape(
                        [*halves[:split], 2 * halves[split], *halves[split + 1:]])
                    words = np.take(words, np.arange(dims[split]), axis=split)
            return [state[0], (state[1] + used) % 2**64], words
        per_counter = 2 if width == 64 else 4
        used = -(-size // per_counter)
        low = counters(used)
        high = np.uint64(state[2] if len(state) == 3 else state[0]) + (low < np.uint64(state[1]))
        x = philox4x32(key, low, np.asarray(high, np.uint64))
        if width == 64:
            words = np.stack([x[0] | x[1] << np.uint64(32), x[2] | x[3] << np.uint64(32)], axis=1)
        else:
            words = np.stack(x, axis=1)
        new = list(state)
        new[1] = (state[1] + used) % 2**64
        if len(state) == 3 and new[1] < state[1]:
            new[2] = (state[2] + 1) % 2**64
        return new, words.reshape(-1)[:size].reshape(shape)


def cut(words, dtype):
    """The low bits of words as elements."""
    width = bits_of(dtype)
    bits = words & np.uint64(2**width - 1 if width < 64 else 2**64 - 1)
    if width >= 8:
        return bits.astype(f"u{width // 8}").view(dtype)
    if dtype.name.startswith("int"):
        return np.where(bits >> np.uint64(width - 1), bits.astype(np.int64) - 2**width,
                        bits.astype(np.int64)).astype(dtype)
    if dtype.name.startswith("uint"):
        return bits.astype(dtype)
    return bits.astype(np.uint8).view(dtype)


def bits_of(dtype):
    if dtype.kind in "iu" and dtype.isbuiltin:
        return dtype.itemsize * 8
    return (ml_dtypes.iinfo if "int" in dtype.name else ml_dtypes.finfo)(dtype).bits


def mlir_type(name):
    return MLIR_TYPES.get(name) or name.replace("uint", "ui").replace("int", "i")


def run(device, algorithm, state, shapes, name):
    """For each shape the new state and the result, by one program."""
    from jax._src import compiler
    from jax._src.interpreters import mlir
    from jaxlib import xla_client
    from jaxlib.mlir import ir

    state_type = f"tensor<{len(state)}xui64>"
    lines, values, types = [], [], []
    for i, shape in enumerate(shapes):
        result = f"tensor<{''.join(f'{n}x' for n in shape)}{mlir_type(name)}>"
        lines.append(f"%r{i}:2 = stablehlo.rng_bit_generator %state, algorithm = {algorithm} : "
                     f"({state_type}) -> ({state_type}, {result})")
        values += [f"%r{i}#0", f"%r{i}#1"]
        types += [state_type, result]
    text = (f"func.func public @main(%state: {state_type}) -> ({', '.join(types)}) {{\n"
            + "\n".join(lines) + f"\nreturn {', '.join(values)} : {', '.join(types)}\n}}")
    with mlir.make_ir_context() as context, ir.Location.unknown(context):
        module = ir.Module.parse(text)
        module.operation.attributes["sym_name"] = ir.StringAttr.get("random")
        executable = device.client.compile_and_load(
            module, executable_devices=xla_client.DeviceList((device,)),
            compile_options=compiler.get_compile_options(num_replicas=1, num_partitions=1))
    import jax
    argument = jax.device_put(np.array(state, np.uint64), device)
    results = executable.execute_sharded([argument]).disassemble_into_single_device_arrays()
    arrays = [np.asarray(shards[0]) for shards in results]
    return list(zip(arrays[::2], arrays[1::2]))


@pytest.fixture(autouse=True)
def wide_integers():
    import jax
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("algorithm, words", [("THREE_FRY", 2), ("PHILOX", 2), ("PHILOX", 3),
                                              ("DEFAULT", 2), ("DEFAULT", 3)])
def test_bits(ours, theirs, algorithm, words, name):
    dtype = np.dtype(getattr(ml_dtypes, name, None) or name)
    for counter in COUNTERS:
        state = [KEY, counter, 77][:words]
        got = run(ours, algorithm, state, SHAPES, name)
        for shape, (new_state, result) in zip(SHAPES, got):
            expected_state, expected = expected_bits(algorithm, state, shape, bits_of(dtype))
            np.testing.assert_array_equal(new_state, np.array(expected_state, np.uint64))
            assert result.dtype == dtype and result.shape == shape
            expected = cut(expected, dtype)
            if "int" in name:
                np.testing.assert_array_equal(result, expected, err_msg=f"{shape} {counter}")
            else:  # by bits, since NaN has many
                assert result.tobytes() == np.ascontiguousarray(expected).tobytes(), (shape, counter)
        if name in OURS_ALONE or algorithm == "DEFAULT" or counter == COUNTERS[0]:
            continue
        for mine, other in zip(got, run(theirs, algorithm, state, SHAPES, name)):
            # (It gives unsigned integers for signed ones.)
            assert mine[0].tobytes() == other[0].tobytes()
            assert mine[1].tobytes() == other[1].tobytes(), mine[1].shape

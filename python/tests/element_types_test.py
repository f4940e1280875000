"""Every operation on every element type, at the edges of the type, beside NumPy.

One program a test computes an operation for all element types at once, since compiling is what
takes time. Expected values are computed by NumPy in a wider type and rounded once.
"""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import lax

# Not the 6-bit ones, which JAX's client of the C API does not know.
SMALL_FLOATS = ["float4_e2m1fn", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn",
                "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"]
FLOATS = [*SMALL_FLOATS, "float16", "bfloat16", "float32", "float64"]
SCALES = ["float8_e8m0fnu"]  # powers of two: no sign, no zero
SIGNED = ["int2", "int4", "int8", "int16", "int32", "int64"]
UNSIGNED = ["uint2", "uint4", "uint8", "uint16", "uint32", "uint64"]
NARROW = ["int2", "int4", "uint2", "uint4"]
COMPLEX = ["complex64", "complex128"]
INTEGERS = SIGNED + UNSIGNED
REALS = FLOATS + INTEGERS
ALL = ["bool", *REALS, *COMPLEX]


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name, None) or name)


# Programs take subnormal numbers of these types for zero, as on JAX's CPU client
# (float_mode_test.py); those of narrower types are numbers, since they are normal in float32.
FLUSHED = ("bfloat16", "float32", "float64")


def flushed(values):
    """The values with zeros of their signs for the subnormals that programs take for zero."""
    if values.dtype.name not in FLUSHED:
        return values
    is_subnormal = np.abs(values) < ml_dtypes.finfo(values.dtype).tiny
    return np.where(is_subnormal, np.copysign(np.zeros_like(values), values), values)


def is_float(name):
    return name in FLOATS


def edges(name):
    """Values at and around the edges of a type, each once."""
    dtype = dtype_of(name)
    if name == "bool":
        return np.array([False, True])
    if name in INTEGERS:
        info = ml_dtypes.iinfo(dtype)
        low, high, bits = int(info.min), int(info.max), int(info.bits)
        values = {low, low + 1, -1, 0, 1, 2, 3, 7, bits - 1, bits, bits + 1, high // 3, high - 1, high}
        return np.array(sorted(v for v in values if low <= v <= high), dtype=object).astype(dtype)
    if name in COMPLEX:
        part = np.array([0.0, -0.0, 1.0, -2.5, 0.3, np.inf, -np.inf, np.nan])
        return (part[:, None] + 1j * part[None, :]).reshape(-1).astype(dtype)
    info = ml_dtypes.finfo(dtype)
    values = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, -3.5, 0.1, 10.0, 88.7, -104.0,
              float(info.max), float(info.min), float(info.tiny), float(info.smallest_subnormal),
              -float(info.smallest_subnormal), 3.14159265, np.inf, -np.inf, np.nan]
    with np.errstate(over="ignore"):
        return flushed(np.array(values, np.float64).astype(dtype))


def pairs(name):
    values = edges(name)
    left, right = np.meshgrid(values, values, indexing="ij")
    return left.reshape(-1), right.reshape(-1)


def wide(values):
    """The same values in a type that NumPy computes exactly enough in: integers are Python's."""
    name = values.dtype.name
    if name in SMALL_FLOATS or name in ("float16", "bfloat16", "float32"):
        return values.astype(np.float64)
    if name in INTEGERS:
        return np.array([int(v) for v in values], dtype=object)
    return values


def narrow(values, name):
    """Rounds to a type; integers wrap around."""
    dtype = dtype_of(name)
    if name in INTEGERS:
        info = ml_dtypes.iinfo(dtype)
        modulus = int(info.max) - int(info.min) + 1
        wrapped = [(int(v) - int(info.min)) % modulus + int(info.min) for v in values]
        return np.array(wrapped, dtype=object).astype(dtype)
    with np.errstate(all="ignore"):
        return np.asarray(values).astype(dtype)


def places(values):
    """The place of each value among all of its type in order; -0 and 0 share one."""
    bits = np.ascontiguousarray(values).view(f"u{values.dtype.itemsize}").astype(object)
    sign = 1 << (int(ml_dtypes.finfo(values.dtype).bits) - 1)
    return np.where(bits & sign, -(bits & (sign - 1)), bits)


def difference(actual, expected, ulps):
    """Says where they differ in type, NaN, sign of zero, or by more than `ulps`; "" if nowhere."""
    actual = np.asarray(actual)
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        return f"got {actual.dtype}{actual.shape}, expected {expected.dtype}{expected.shape}"
    if expected.dtype.kind == "c":
        return (difference(actual.real, expected.real, ulps)
                or difference(actual.imag, expected.imag, ulps))
    if is_float(expected.dtype.name):
        expected = flushed(expected)
        both_nan = np.isnan(actual) & np.isnan(expected)
        distance = np.abs(np.asarray(places(actual) - places(expected), np.float64))
        signs = (np.signbit(actual) == np.signbit(expected)) | (distance > 0)
        if expected.dtype.name == "float4_e2m1fn":
            signs |= True  # it has no NaN: a zero of either sign stands for one
        good = both_nan | ((distance <= ulps) & signs & ~np.isnan(actual) & ~np.isnan(expected))
    else:
        good = (actual == expected) | ((actual != actual) & (expected != expected))
    wrong = np.flatnonzero(~np.ravel(good))
    if wrong.size == 0:
        return ""
    return (f"{wrong.size} of {good.size} differ, at {wrong[:5]}: got "
            f"{np.ravel(actual)[wrong[:5]]}, expected {np.ravel(expected)[wrong[:5]]}")


def compare_all(results, expectations):
    """Asserts that each result is its (array, distance in ulps)."""
    assert results.keys() == expectations.keys()
    found = {label: difference(result, *expectations[label]) for label, result in results.items()}
    wrong = [f"{label}: {text}" for label, text in found.items() if text]
    assert not wrong, "\n".join(wrong)


def run_all(ours, function, arguments):
    """Runs {label: arguments} through one program; returns {label: result}.

    When that fails, runs each alone, to say which.
    """
    def program(arguments):
        return {label: function(label)(*values) for label, values in arguments.items()}

    with jax.enable_x64(True), jax.default_device(ours):
        try:
            return jax.device_get(jax.jit(program)(arguments))
        except jax.errors.JaxRuntimeError:
            for label, values in arguments.items():
                try:
                    jax.jit(program)({label: values})
                except jax.errors.JaxRuntimeError as error:
                    raise AssertionError(f"{label}: {error}") from None
            raise


def allowed(ulps, name):
    """Types that are computed in a wider one are rounded once more, not less exact."""
    return ulps if name in ("float32", "float64") else min(ulps, 1)


def exact_logistic(x):
    return 1 / (1 + np.exp(-x))


def away_from_zero(x):
    return np.copysign(np.floor(np.abs(x) + 0.5), x)


def sign_of(x):
    return np.where(np.isnan(x) | (x == 0), x, np.copysign(1.0, x))


# {name: (lax function, the same in NumPy, distance allowed for f32 and f64)}
FLOAT_UNARY = {
    "neg": (lax.neg, np.negative, 0), "abs": (lax.abs, np.abs, 0), "sign": (lax.sign, sign_of, 0),
    "ceil": (lax.ceil, np.ceil, 0), "floor": (lax.floor, np.floor, 0),
    "round_to_even": (lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN), np.rint, 0),
    "round_away": (lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO), away_from_zero, 0),
    "sqrt": (lax.sqrt, np.sqrt, 0), "rsqrt": (lax.rsqrt, lambda x: 1 / np.sqrt(x), 2),
    "cbrt": (lax.cbrt, np.cbrt, 2), "exp": (lax.exp, np.exp, 2),
    "expm1": (lax.expm1, np.expm1, 2), "log": (lax.log, np.log, 2), "log1p": (lax.log1p, np.log1p, 2),
    "sin": (lax.sin, np.sin, 2), "cos": (lax.cos, np.cos, 2), "tan": (lax.tan, np.tan, 4),
    "tanh": (lax.tanh, np.tanh, 4), "logistic": (lax.logistic, exact_logistic, 3),
    "square": (lax.square, np.square, 0),
    "is_finite": (lax.is_finite, np.isfinite, 0),
}


@pytest.mark.parametrize("name", FLOAT_UNARY)
def test_unary_of_floats(ours, name):
    function, exact, ulps = FLOAT_UNARY[name]
    # JAX writes the logistic function of 8-bit floats out, and rounds after each step.
    types = FLOATS[-4:] if name == "logistic" else FLOATS
    inputs = {t: (edges(t),) for t in types}
    expected = {}
    for t, (x,) in inputs.items():
        with np.errstate(all="ignore"):
            exact_values = exact(wide(x))
        result_type = "bool" if name == "is_finite" else t
        expected[t] = (narrow(exact_values, result_type), allowed(ulps, t))
    compare_all(run_all(ours, lambda _: function, inputs), expected)


def integer_sign(x):
    return (x > 0) - (x < 0)


INTEGER_UNARY = {
    "neg": (lax.neg, lambda x, bits: -x), "abs": (lax.abs, lambda x, bits: abs(x)),
    "sign": (lax.sign, lambda x, bits: integer_sign(x)),
    "not": (lax.bitwise_not, lambda x, bits: ~x),
    "popcnt": (lax.population_count, lambda x, bits: (x & ((1 << bits) - 1)).bit_count()),
    "clz": (lax.clz, lambda x, bits: bits - (x & ((1 << bits) - 1)).bit_length()),
}


@pytest.mark.parametrize("name", INTEGER_UNARY)
def test_unary_of_integers(ours, name):
    function, exact = INTEGER_UNARY[name]
    types = [t for t in SIGNED if t not in NARROW] if name == "abs" else INTEGERS
    inputs = {t: (edges(t),) for t in types}
    expected = {}
    for t, (x,) in inputs.items():
        bits = int(ml_dtypes.iinfo(dtype_of(t)).bits)
        expected[t] = (narrow([exact(int(v), bits) for v in x], t), 0)
    compare_all(run_all(ours, lambda _: function, inputs), expected)


def minimum(a, b):
    least = np.where(a == b, np.where(np.signbit(a), a, b), np.minimum(a, b))
    return np.where(np.isnan(a) | np.isnan(b), np.nan, least)


def maximum(a, b):
    greatest = np.where(a == b, np.where(np.signbit(a), b, a), np.maximum(a, b))
    return np.where(np.isnan(a) | np.isnan(b), np.nan, greatest)


FLOAT_BINARY = {
    "add": (lax.add, np.add, 0), "sub": (lax.sub, np.subtract, 0), "mul": (lax.mul, np.multiply, 0),
    "div": (lax.div, np.divide, 0), "rem": (lax.rem, np.fmod, 0), "max": (lax.max, maximum, 0),
    "min": (lax.min, minimum, 0), "pow": (lax.pow, np.power, 3), "atan2": (lax.atan2, np.arctan2, 3),
}


@pytest.mark.parametrize("name", FLOAT_BINARY)
def test_binary_of_floats(ours, name):
    function, exact, ulps = FLOAT_BINARY[name]
    inputs = {t: pairs(t) for t in FLOATS}
    expected = {}
    for t, values in inputs.items():
        with np.errstate(all="ignore"):
            expected[t] = (narrow(exact(*map(wide, values)), t), allowed(ulps, t))
    compare_all(run_all(ours, lambda _: function, inputs), expected)


def truncated(a, b):
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def divide(a, b, bits):
    return -1 if b == 0 else truncated(a, b)


def remainder(a, b, bits):
    return a if b == 0 else a - truncated(a, b) * b


def unsigned(x, bits):
    return x & ((1 << bits) - 1)


def shift_right_arithmetic(a, b, bits):
    count = unsigned(b, bits)
    as_signed = unsigned(a, bits)
    as_signed -= (as_signed >> (bits - 1)) << bits
    return as_signed >> min(count, bits)


INTEGER_BINARY = {
    "add": (lax.add, lambda a, b, bits: a + b), "sub": (lax.sub, lambda a, b, bits: a - b),
    "mul": (lax.mul, lambda a, b, bits: a * b), "div": (lax.div, divide), "rem": (lax.rem, remainder),
    "max": (lax.max, lambda a, b, bits: max(a, b)), "min": (lax.min, lambda a, b, bits: min(a, b)),
    "and": (lax.bitwise_and, lambda a, b, bits: a & b),
    "or": (lax.bitwise_or, lambda a, b, bits: a | b),
    "xor": (lax.bitwise_xor, lambda a, b, bits: a ^ b),
    "shift_left": (lax.shift_left,
                   lambda a, b, bits: a << unsigned(b, bits) if unsigned(b, bits) < bits else 0),
    "shift_right_logical": (
        lax.shift_right_logical,
        lambda a, b, bits: unsigned(a, bits) >> unsigned(b, bits) if unsigned(b, bits) < bits else 0),
    "shift_right_arithmetic": (lax.shift_right_arithmetic, shift_right_arithmetic),
    "mulhi": (lax.mulhi, lambda a, b, bits: (a * b) >> bits),
}


@pytest.mark.parametrize("name", INTEGER_BINARY)
def test_binary_of_integers(ours, name):
    function, exact = INTEGER_BINARY[name]
    inputs = {t: pairs(t) for t in INTEGERS}
    expected = {}
    for t, values in inputs.items():
        bits = int(ml_dtypes.iinfo(dtype_of(t)).bits)
        expected[t] = (narrow([exact(int(a), int(b), bits) for a, b in zip(*values)], t), 0)
    compare_all(run_all(ours, lambda _: function, inputs), expected)


COMPARISONS = {"eq": (lax.eq, np.equal), "ne": (lax.ne, np.not_equal), "lt": (lax.lt, np.less),
               "le": (lax.le, np.less_equal), "gt": (lax.gt, np.greater),
               "ge": (lax.ge, np.greater_equal)}


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons(ours, name):
    function, exact = COMPARISONS[name]
    types = ALL if name in ("eq", "ne") else ["bool", *REALS]
    inputs = {t: pairs(t) for t in types}
    expected = {t: (exact(*map(wide, values)).astype(bool), 0) for t, values in inputs.items()}
    compare_all(run_all(ours, lambda _: function, inputs), expected)


def converted(values, t):
    """Integers wrap; floats are cut off and saturate; JAX drops imaginary parts first."""
    source = values.dtype.name
    if source in COMPLEX and t not in COMPLEX:
        values = values.real
    if t == "bool":
        return values.astype(np.float64) != 0
    if t in INTEGERS:
        if values.dtype.kind == "b" or source in INTEGERS:
            return narrow([int(v) for v in values], t)
        info = ml_dtypes.iinfo(dtype_of(t))
        low, high = int(info.min), int(info.max)
        numbers = [0 if np.isnan(v) else low if v <= low else high if v >= high else int(v)
                   for v in wide(values)]
        return narrow(numbers, t)
    with np.errstate(all="ignore"):
        return values.astype(dtype_of(t))


@pytest.mark.parametrize("source", ALL)
def test_conversions(ours, source):
    values = edges(source)
    results = run_all(ours, lambda t: lambda x: lax.convert_element_type(x, dtype_of(t)),
                      {t: (values,) for t in ALL})
    compare_all(results, {t: (converted(values, t), 0) for t in ALL})


def distinct(name, count):
    """`count` values that every type has, in a scrambled order; few enough types repeat them."""
    pattern = np.array([1, 0, 1, 1, 0, 0, 1, 0] * count)[:count]
    if name in COMPLEX:
        return (pattern + 1j * pattern[::-1]).astype(dtype_of(name))
    if name not in NARROW and name != "bool":
        pattern = (np.arange(count) * 5) % 7  # 0..6: also in f4, but for 5
        pattern = np.where(pattern == 5, 3, pattern)
    return pattern.astype(dtype_of(name))


# Movement of data, {name: function for JAX and NumPy alike}: the same for every type.
MOVEMENT = {
    "broadcast": lambda np, x: np.broadcast_to(x.reshape(4, 1, 6), (4, 3, 6)),
    "concatenate": lambda np, x: np.concatenate([x[:, :2], x, x[:, 5:]], axis=1),
    "gather": lambda np, x: x[np.array([3, 0, 3]), np.array([5, 1, 0])],
    "pad": lambda np, x: np.pad(x, ((1, 2), (0, 3)), constant_values=x.dtype.type(1)),
    "reshape": lambda np, x: x.reshape(3, 8),
    "reverse": lambda np, x: x[::-1, ::-1],
    "select": lambda np, x: np.where(np.arange(6) % 2 == 0, x, x[:1]),
    "slice": lambda np, x: x[1:4:2, ::3],
    "transpose": lambda np, x: x.T,
}


@pytest.mark.parametrize("name", MOVEMENT)
def test_movement(ours, name):
    inputs = {t: (distinct(t, 24).reshape(4, 6),) for t in ALL + SCALES}
    results = run_all(ours, lambda _: lambda x: MOVEMENT[name](jax.numpy, x), inputs)
    compare_all(results, {t: (MOVEMENT[name](np, x), 0) for t, (x,) in inputs.items()})


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1, 1, 1)])
def test_shapes_of_one_and_of_none(ours, shape):
    inputs = {t: (np.ones(shape, dtype_of(t)),) for t in ALL}
    results = run_all(ours, lambda t: lambda x: (x | x) if t == "bool" else x * x, inputs)
    compare_all(results, {t: (x, 0) for t, (x,) in inputs.items()})


@pytest.mark.parametrize("source", ["float32", "bfloat16", "float64", "int32"])
def test_ties_between_powers_go_up(ours, source):
    values = np.array([1, 2, 3, 5, 6, 7, 12, 48] + [0.75, 1.5, 1.25, 1.4375] * (source != "int32"), dtype_of(source))
    powers = dtype_of("float8_e8m0fnu")
    expected = [1, 2, 4, 4, 8, 8, 16, 64] + [1, 2, 1, 1] * (source != "int32")
    np.testing.assert_array_equal(values.astype(np.float32).astype(powers).astype(np.float32), expected)
    compare_all(run_all(ours, lambda _: lambda x: lax.convert_element_type(x, powers), {source: (values,)}),
                {source: (np.array(expected, np.float32).astype(powers), 0)})


@pytest.mark.parametrize("source", ["float32", "bfloat16", "float64"])
def test_least_powers_are_not_taken_for_zero(ours, source):
    """What is subnormal in f32, even in f64, which has it as a normal number."""
    powers = dtype_of("float8_e8m0fnu")
    least = 2.0 ** -127
    values = np.array([1e-40, least, 1.25 * least, 1.75 * least, 2 * least, 2.5 * least, 0, -least], dtype_of(source))
    expected = np.array([0, 0, 0, 1, 1, 1, 255, 255], np.uint8).view(powers)
    compare_all(run_all(ours, lambda _: lambda x: lax.convert_element_type(x, powers), {source: (values,)}), {source: (expected, 0)})


def test_least_power_is_a_number_of_f64(ours):
    least = np.zeros(20, np.uint8).view(dtype_of("float8_e8m0fnu"))
    got = run_all(ours, lambda _: lambda x: x.astype(np.float64), {"float64": (least,)})["float64"]
    np.testing.assert_array_equal(got, np.full(20, 2.0 ** -127))


@pytest.mark.parametrize("name", SCALES + ["float8_e4m3fn", "float8_e5m2", "bfloat16", "float32"])
def test_constants_that_are_no_number(ours, name):
    """One of a type without infinities used to become infinite, unless the compiler computed with it."""
    nan = np.array(np.nan, dtype_of(name))
    got = jax.jit(lambda x: lax.min(jnp.full(x.shape, nan), x))(jax.device_put(np.ones(20, nan.dtype), ours))
    assert np.isnan(np.asarray(got).astype("f4")).all()


@pytest.mark.parametrize("source", ["int32", "uint32", "int64", "uint64"])
def test_integers_of_many_bits_round_once(ours, source):
    """To bfloat16, of eight bits: near halves between two of its numbers, which f32 and f64 would round to the halves."""
    def rounded(value):
        drop = max(abs(value).bit_length() - 8, 0)
        kept, rest, half = abs(value) >> drop, abs(value) & ((1 << drop) - 1), (1 << drop) >> 1
        kept += rest > half or (rest == half and drop > 0 and kept % 2 == 1)
        return float(kept << drop) * (-1 if value < 0 else 1)

    limits = np.iinfo(source)
    halves = [(2 * n + 1) << shift for n in (128, 129, 200, 255) for shift in range(56)]
    random = np.random.default_rng(1).integers(limits.min, limits.max, 3000, source, endpoint=True)
    near = {sign * (half + d) for half in halves for d in (-129, -128, -2, -1, 0, 1, 2, 127, 128, 129) for sign in (1, -1)}
    values = [int(v) for v in random] + sorted(v for v in near if limits.min <= v <= limits.max)
    # Whole vectors, and one by one.
    for count in (len(values) // 64 * 64, 3):
        some = np.array(values[-count:], source)
        got = run_all(ours, lambda _: lambda x: x.astype("bfloat16"), {source: (some,)})[source]
        np.testing.assert_array_equal(np.asarray(got, np.float64), [rounded(int(v)) for v in some])


def test_products_round_ties_between_powers_up(ours):
    # 1 + 1 + 1 and 4 + 1 + 1: a library function computes it, not generated code.
    powers = dtype_of("float8_e8m0fnu")
    left, right = np.array([[1, 1, 1], [4, 1, 1]], powers), np.ones((3, 1), powers)
    compare_all(run_all(ours, lambda _: lambda a, b: lax.dot(a, b, preferred_element_type=powers), {"dot": (left, right)}),
                {"dot": (np.array([[4], [8]], powers), 0)})


def codes_of(name):
    """Every value of a type of at most a byte."""
    bits = 4 if name == "float4_e2m1fn" else 8
    return np.arange(1 << bits, dtype=np.uint8).view(dtype_of(name))


def test_every_code_of_small_floats_is_its_number(ours):
    # Not the number that is subnormal in f32, which programs may take for zero.
    inputs = {t: (codes_of(t),) for t in SMALL_FLOATS + SCALES}
    inputs[SCALES[0]] = (codes_of(SCALES[0])[1:],)
    results = run_all(ours, lambda _: lambda x: x.astype(np.float32), inputs)
    compare_all(results, {t: (x.astype(np.float32), 0) for t, (x,) in inputs.items()})


def test_numbers_between_all_codes_of_small_floats(ours):
    def around(name):
        with np.errstate(all="ignore"):
            values = codes_of(name).astype(np.float32)
            ties = (values[:-1] + values[1:]) / 2
            every = np.concatenate([values, ties, np.nextafter(ties, np.float32(np.inf)), np.nextafter(ties, np.float32(-np.inf)),
                                    np.array([0.0, -0.0, -1.0, np.inf, -np.inf, np.nan, 3e38], np.float32)])
        return flushed(every[np.isfinite(every) | (name != "float4_e2m1fn")])

    inputs = {t: (around(t),) for t in SMALL_FLOATS + SCALES}
    results = run_all(ours, lambda t: lambda x: x.astype(dtype_of(t)), inputs)
    with np.errstate(all="ignore"):
        compare_all(results, {t: (x.astype(dtype_of(t)), 0) for t, (x,) in inputs.items()})


def test_updates_and_dynamic_slices(ours):
    inputs = {t: (distinct(t, 24).reshape(4, 6), distinct(t, 6).reshape(2, 3), np.int32(3))
              for t in ALL + SCALES}

    def function(x, update, start):
        x = lax.dynamic_update_slice(x, update, (start, start))  # clamped to (2, 3)
        return lax.dynamic_slice(x, (start - 4, start), (4, 3))

    expected = {}
    for t, (x, update, _) in inputs.items():
        x = x.copy()
        x[2:, 3:] = update
        expected[t] = (x[:, 3:], 0)
    compare_all(run_all(ours, lambda _: function, inputs), expected)


def test_scatter(ours):
    inputs = {t: (np.zeros(8, dtype_of(t)), np.array([6, 1, 9, 3]), distinct(t, 4))
              for t in ALL + SCALES}

    def function(x, indices, updates):
        return x.at[indices].set(updates, mode="drop", unique_indices=True)

    expected = {}
    for t, (x, indices, updates) in inputs.items():
        x = x.copy()
        x[[6, 1, 3]] = updates[[0, 1, 3]]
        expected[t] = (x, 0)
    compare_all(run_all(ours, lambda _: function, inputs), expected)


@pytest.mark.parametrize("name", ["sum", "max", "min", "argmax", "sort", "cumsum", "dot"])
def test_reductions(ours, name):
    types = {"sum": REALS + COMPLEX, "cumsum": REALS + COMPLEX, "dot": REALS + COMPLEX}.get(name, REALS)
    types = [t for t in types if t not in NARROW]
    inputs = {t: (distinct(t, 24).reshape(4, 6)[:, :3],) for t in types}
    functions = {
        "sum": lambda x: lax.reduce(x, np.zeros((), x.dtype), lax.add, (0,)),
        "max": lambda x: lax.reduce_max(x, (0,)), "min": lambda x: lax.reduce_min(x, (0,)),
        "argmax": lambda x: lax.argmax(x, 0, np.int32), "sort": lambda x: lax.sort(x, dimension=0),
        "cumsum": lambda x: lax.cumsum(x, axis=0),
        "dot": lambda x: lax.dot_general(x, x, (((0,), (0,)), ((), ())),
                                         preferred_element_type=x.dtype),
    }

    def exact(x):
        if name == "argmax":
            return x.astype(np.float64).argmax(axis=0).astype(np.int32)
        numbers = x if x.dtype.kind == "c" else x.astype(np.float64)
        value = {"sum": lambda: numbers.sum(0), "max": lambda: numbers.max(0),
                 "min": lambda: numbers.min(0), "sort": lambda: np.sort(numbers, 0),
                 "cumsum": lambda: np.cumsum(numbers, 0), "dot": lambda: numbers.T @ numbers}[name]()
        return value.astype(x.dtype)

    expected = {t: (exact(x), 1 if t in SMALL_FLOATS and name in ("sum", "cumsum", "dot") else 0)
                for t, (x,) in inputs.items()}
    compare_all(run_all(ours, lambda _: functions[name], inputs), expected)


def test_floats_sort_by_total_order_but_zeros(ours):
    order = [-np.inf, -2.5, -1.0, 0.0, 0.0, 1.0, 2.5, np.inf, np.nan]
    inputs = {t: (np.array(order)[[8, 3, 1, 7, 0, 5, 4, 2, 6]].astype(dtype_of(t)),)
              for t in FLOATS if np.isinf(np.array(np.inf).astype(dtype_of(t)))}
    assert len(inputs) >= 6
    compare_all(run_all(ours, lambda _: lax.sort, inputs),
                {t: (np.array(order).astype(dtype_of(t)), 0) for t in inputs})


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_bitcasts_between_types_of_a_width(ours, bits):
    types = [t for t in REALS + SCALES if dtype_of(t).itemsize * 8 == bits and t not in
             NARROW + ["float4_e2m1fn"]]
    pattern = np.random.default_rng(bits).integers(0, 256, 40 * bits // 8).astype(np.uint8)
    for source in types:
        values = pattern.view(dtype_of(source))
        results = run_all(ours, lambda t: lambda x: lax.bitcast_convert_type(x, dtype_of(t)),
                          {t: (values,) for t in types})
        for t, result in results.items():
            # Bit by bit: NaN keeps its payload.
            np.testing.assert_array_equal(np.asarray(result).view(np.uint8), pattern, f"{source} to {t}")

"""Elementwise operations."""

from program import COMPLEX, FLOATS, INTEGERS, SIGNED, SMALL_FLOATS, UNSIGNED

# Functions that no correct implementation computes to the last bit. They magnify the error of large
# operands, hence take tamed ones.
REAL_FUNCTIONS = (
    "exponential", "exponential_minus_one", "logistic", "tanh", "sine", "cosine", "tan", "cbrt",
    "chlo.erf", "chlo.erfc", "chlo.sinh", "chlo.cosh", "chlo.asinh", "chlo.atan", "chlo.tan",
    "chlo.bessel_i1e")
POSITIVE_FUNCTIONS = ("log", "log_plus_one", "sqrt", "rsqrt", "chlo.lgamma", "chlo.digamma")
BOUNDED_RESULT = {"logistic", "tanh", "sine", "cosine", "chlo.erf", "chlo.atan", "chlo.asinh",
                  "sqrt", "rsqrt", "log", "log_plus_one", "cbrt"}
COMPLEX_FUNCTIONS = ("exponential", "tanh", "sine", "cosine", "logistic",
                     "exponential_minus_one", "negate", "sqrt", "log")
EXACT_FLOAT = ("abs", "negate", "sign", "floor", "ceil", "round_nearest_afz", "round_nearest_even")
DISCONTINUOUS = {"sign", "floor", "ceil", "round_nearest_afz", "round_nearest_even"}


def real_function(g):
    x = g.pick(FLOATS)
    name = g.rng.choice(REAL_FUNCTIONS)
    g.emit(name, [g.tamed(x)], x.type, exact=False, bounded=name in BOUNDED_RESULT)


def positive_function(g):
    x = g.pick(FLOATS)
    name = g.rng.choice(POSITIVE_FUNCTIONS)
    if name == "chlo.digamma":  # its zero lies in [0.5, 1.5]
        x = g.emit("add", [g.positive(x), g.splat(x.type, 2)], x.type, exact=False)
    else:
        x = g.positive(x)
    g.emit(name, [x], x.type, exact=False, bounded=name in BOUNDED_RESULT)


def inverse_function(g):
    """Of an operand in (-1, 1): half a tanh."""
    x = g.pick(FLOATS)
    half = g.splat(x.type, 0.5)
    x = g.emit("multiply", [g.emit("tanh", [x], x.type, exact=False), half], x.type, exact=False,
               bounded=True)
    name = g.rng.choice(("chlo.asin", "chlo.acos", "chlo.atanh", "chlo.erf_inv"))
    g.emit(name, [x], x.type, exact=False, bounded=True)


def complex_function(g):
    x = g.tamed(g.pick(COMPLEX))
    name = g.rng.choice(COMPLEX_FUNCTIONS)
    if name in ("sqrt", "log"):  # away from the cut
        real = x.type.with_element(x.type.element[8:-1])
        parts = [g.positive(g.emit("real", [x], real)), g.emit("imag", [x], real)]
        x = g.emit("complex", parts, x.type, exact=False)
    g.emit(name, [x], x.type, exact=False)


def exact_unary(g):
    x = g.pick((*FLOATS, *SIGNED, "i1"))
    if x.type.element == "i1":
        return g.emit("not", [x], x.type)
    if x.type.element in SIGNED:
        return g.emit(g.rng.choice(("abs", "negate", "sign", "not")), [x], x.type)
    name = g.rng.choice(EXACT_FLOAT)
    if name in DISCONTINUOUS and not x.exact:
        name = "negate"
    g.emit(name, [x], x.type, bounded=x.bounded)


def integer_unary(g):
    x = g.pick(INTEGERS)
    g.emit(g.rng.choice(("count_leading_zeros", "popcnt", "not", "negate")), [x], x.type)


def is_finite(g):
    x = g.pick(FLOATS, exact=True)
    g.emit("is_finite", [x], x.type.with_element("i1"))


def arithmetic(g):
    x = g.pick((*FLOATS, *FLOATS, *INTEGERS, *COMPLEX))
    y = g.pick((x.type.element,), x.type.shape)
    e = x.type.element
    name = g.rng.choice(("add", "subtract", "multiply", "add", "multiply", "maximum", "minimum"))
    if e in COMPLEX and name in ("maximum", "minimum"):
        name = "add"
    exact = x.exact and y.exact
    # Multiplications may be contracted, and narrow types computed in wide ones.
    if e in FLOATS and name in ("add", "subtract", "multiply"):
        exact = exact and name != "multiply" and e in ("f32", "f64")
    g.emit(name, [x, y], x.type, exact=exact and e not in COMPLEX,
           bounded=x.bounded and y.bounded and name in ("maximum", "minimum"))


def division(g):
    x = g.pick((*FLOATS, *INTEGERS, "complex<f32>"))
    y = g.pick((x.type.element,), x.type.shape)
    if x.type.element in INTEGERS:
        return g.emit(g.rng.choice(("divide", "remainder")), [x, y], x.type)
    if x.type.element in COMPLEX:
        real = x.type.with_element(x.type.element[8:-1])
        y = g.emit("complex", [g.positive(g.emit("real", [y], real)), g.emit("imag", [g.tamed(y)], real)],
                   x.type, exact=False)
        return g.emit("divide", [g.tamed(x), y], x.type, exact=False)
    if x.exact and y.exact and g.chance(0.3):
        # A quotient near a whole number decides a remainder.
        return g.emit("remainder", [x, y], x.type)
    g.emit("divide", [x, g.positive(y)], x.type, exact=False)


def power(g):
    x = g.pick((*FLOATS, *INTEGERS))
    y = g.pick((x.type.element,), x.type.shape)
    if x.type.element in INTEGERS:
        # XLA is wrong about exponents near the width's limits.
        y = g.fresh(x.type, 0 if x.type.element in UNSIGNED else -3, 20)
        return g.emit("power", [x, y], x.type)
    name = g.rng.choice(("power", "atan2"))
    g.emit(name, [g.positive(x), g.tamed(y)], x.type, exact=False, bounded=True)


def logic(g):
    x = g.pick((*INTEGERS, "i1", "i1"))
    y = g.pick((x.type.element,), x.type.shape)
    g.emit(g.rng.choice(("and", "or", "xor")), [x, y], x.type)


def shift(g):
    x = g.pick(INTEGERS)
    y = g.pick((x.type.element,), x.type.shape)
    name = g.rng.choice(("shift_left", "shift_right_arithmetic", "shift_right_logical"))
    g.emit(name, [x, y], x.type)


def compare(g):
    x = g.pick(exact=True)
    y = g.pick((x.type.element,), x.type.shape, exact=True)
    among = ("EQ", "NE") if x.type.element in COMPLEX else ("EQ", "NE", "GE", "GT", "LE", "LT")
    attributes = f"comparison_direction = #stablehlo<comparison_direction {g.rng.choice(among)}>"
    if x.type.element in FLOATS and g.chance(0.2):
        attributes += ", compare_type = #stablehlo<comparison_type TOTALORDER>"
    g.emit("compare", [x, y], x.type.with_element("i1"), attributes)


def select(g):
    x = g.pick()
    y = g.pick((x.type.element,), x.type.shape)
    shape = () if g.chance(0.2) else x.type.shape
    p = g.pick(("i1",), shape)
    g.emit("select", [p, x, y], x.type, bounded=x.bounded and y.bounded)


def clamp(g):
    x = g.pick((*FLOATS, *INTEGERS))
    shapes = [() if g.chance(0.3) else x.type.shape for _ in range(2)]
    low, high = (g.pick((x.type.element,), shape) for shape in shapes)
    g.emit("clamp", [low, x, high], x.type)


def convert(g):
    x = g.pick()
    e = g.element()
    if x.type.element in COMPLEX and e not in COMPLEX:
        e = x.type.element
    # (The steps of small floats are so wide that they count as one.)
    discontinuous = x.type.element in (*FLOATS, *COMPLEX) and e in (*INTEGERS, *SMALL_FLOATS, "i1")
    if discontinuous and not x.exact:
        return
    g.emit("convert", [x], x.type.with_element(e), bounded=x.bounded)


def bitcast(g):
    x = g.pick(exact=True, among=("i8", "ui8", "i16", "ui16", "f16", "bf16", "i32", "ui32", "f32", "i64",
                                  "ui64", "f64"))
    bits = {"i8": 8, "ui8": 8, "i16": 16, "ui16": 16, "f16": 16, "bf16": 16, "i32": 32, "ui32": 32,
            "f32": 32, "i64": 64, "ui64": 64, "f64": 64}
    width = bits[x.type.element]
    # To integers, since the bits of NaN are not to be relied on.
    e = g.rng.choice([name for name in bits if name in INTEGERS])
    shape = x.type.shape
    if bits[e] < width:
        shape = (*shape, width // bits[e])
    elif bits[e] > width:
        ratio = bits[e] // width
        if not shape or shape[-1] != ratio:
            return
        shape = shape[:-1]
    g.emit("bitcast_convert", [x], x.type.with_shape(shape).with_element(e))


def complex_parts(g):
    if g.chance(0.5):
        x = g.pick(COMPLEX)
        name = g.rng.choice(("real", "imag"))
        return g.emit(name, [x], x.type.with_element(x.type.element[8:-1]))
    x = g.pick(("f32", "f64"))
    y = g.pick((x.type.element,), x.type.shape)
    g.emit("complex", [x, y], x.type.with_element(f"complex<{x.type.element}>"))


def reduce_precision(g):
    x = g.pick(FLOATS, exact=True)
    e, m = g.rng.choice(((5, 10), (8, 7), (4, 3), (8, 23), (3, 2)))
    g.emit("reduce_precision", [x], x.type, f"exponent_bits = {e} : i32, mantissa_bits = {m} : i32")


def chain(g):
    """Several operations on one shape: what fusion lives on."""
    for _ in range(g.rng.randint(2, 6)):
        g.rng.choice((real_function, arithmetic, exact_unary, select, arithmetic, compare))(g)


KINDS = {real_function: 4, positive_function: 2, inverse_function: 1, complex_function: 1.5,
         exact_unary: 3, integer_unary: 1.5, is_finite: 0.5, arithmetic: 8, division: 3, power: 2,
         logic: 2, shift: 2, compare: 3, select: 3, clamp: 2, convert: 4, bitcast: 1,
         complex_parts: 1.5, reduce_precision: 0.7, chain: 3}

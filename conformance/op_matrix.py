#!/usr/bin/env python3
"""Writes StableHLO functions that compute one operation in one type, on edge values.

Each is called OP__TYPE__ULPS and ends in an assertion that says nothing: tools/write_op_cases makes a
program of it and computes its results with the reference evaluator.
"""

import struct
import sys

# Ordinary and extreme values; no denormal numbers, which devices may take for zero.
INTEGERS = {
    "i8": [0, 1, -1, 2, 7, -8, 100, 127, -128], "i16": [0, 1, -1, 3, 300, -300, 32767, -32768],
    "i32": [0, 1, -1, 5, 70000, -70000, 2147483647, -2147483648],
    "i64": [0, 1, -1, 9, 1 << 40, -(1 << 40), (1 << 63) - 1, -(1 << 63)],
    "ui8": [0, 1, 2, 100, 128, 255], "ui16": [0, 1, 300, 32768, 65535],
    "ui32": [0, 1, 70000, 1 << 31, (1 << 32) - 1], "ui64": [0, 1, 1 << 40, (1 << 64) - 1],
}
FLOATS = {"f32": ("<f", 8), "f64": ("<d", 16), "f16": ("<e", 4), "bf16": (None, 4)}
FLOAT_VALUES = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 7.25, -100.0, 1000.0, 0.001, float("inf"),
                float("-inf"), float("nan")]
NAMES = {"i8": "s8", "i16": "s16", "i32": "s32", "i64": "s64", "ui8": "u8", "ui16": "u16",
         "ui32": "u32", "ui64": "u64"}

EXACT_UNARY_FLOAT = ["abs", "negate", "floor", "ceil", "sqrt", "sign", "round_nearest_even",
                     "round_nearest_afz"]
NEAR_UNARY_FLOAT = ["exponential", "exponential_minus_one", "log", "log_plus_one", "tanh", "logistic",
                    "sine", "cosine", "tan", "cbrt", "rsqrt"]
BINARY = ["add", "subtract", "multiply", "maximum", "minimum"]
INTEGER_BINARY = BINARY + ["and", "or", "xor", "shift_left", "shift_right_logical",
                           "shift_right_arithmetic"]
INTEGER_UNARY = ["negate", "not", "abs", "sign", "popcnt", "count_leading_zeros"]
COMPARISONS = ["EQ", "NE", "LT", "LE", "GT", "GE"]


def literal(value, kind):
    """The literal of a float in hexadecimal, so that every bit is what it should be."""
    if kind == "bf16":
        bits = struct.unpack("<I", struct.pack("<f", value))[0]
        bits = 0x7FC0 if value != value else (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
        return f"0x{bits:04X}"
    code, digits = FLOATS[kind]
    return "0x" + struct.pack(code, value)[::-1].hex().upper().rjust(digits, "0")


def dense(values, kind):
    """A constant of these values."""
    text = [literal(v, kind) for v in values] if kind in FLOATS else [str(v) for v in values]
    return f"stablehlo.constant dense<[{', '.join(text)}]> : tensor<{len(values)}x{kind}>"


def function(name, arguments, body, result_type):
    """A function of constants that asserts its result equal to itself."""
    lines = [f"func.func @{name}() {{"]
    lines += [f"  %{chr(ord('a') + i)} = {a}" for i, a in enumerate(arguments)]
    lines += [f"  {body}", f"  check.expect_eq %r, %r : {result_type}, {result_type}"
              .replace(f": {result_type}, {result_type}", f": {result_type}"), "  func.return", "}"]
    return "\n".join(lines)


def pairs(values):
    """All pairs of values, as two lists."""
    return [a for a in values for _ in values], [b for _ in values for b in values]


def type_of(kind, count):
    return f"tensor<{count}x{kind}>"


def float_functions(kind):
    near = 1 if kind in ("f16", "bf16") else 4
    count = len(FLOAT_VALUES)
    for op in EXACT_UNARY_FLOAT + NEAR_UNARY_FLOAT:
        ulps = 0 if op in EXACT_UNARY_FLOAT else near
        t = type_of(kind, count)
        yield function(f"{op}__{kind}__{ulps}", [dense(FLOAT_VALUES, kind)],
                       f"%r = stablehlo.{op} %a : {t}", t)
    left, right = pairs(FLOAT_VALUES)
    t = type_of(kind, len(left))
    for op in BINARY + ["divide"]:
        yield function(f"{op}__{kind}__0", [dense(left, kind), dense(right, kind)],
                       f"%r = stablehlo.{op} %a, %b : {t}", t)
    for op in ["power", "atan2", "remainder"]:
        ulps = 0 if op == "remainder" else near
        yield function(f"{op}__{kind}__{ulps}", [dense(left, kind), dense(right, kind)],
                       f"%r = stablehlo.{op} %a, %b : {t}", t)
    yield from comparisons(kind, left, right, "FLOAT")
    for other in ["i32", "i64", "f32", "f64", "bf16", "f16"]:
        if other == kind:
            continue
        finite = [0.0, 1.0, -1.0, 2.5, -2.5, 100.0]
        to = type_of(other, len(finite))
        yield function(f"convert__{kind}__0__to_{other}", [dense(finite, kind)],
                       f"%r = stablehlo.convert %a : ({type_of(kind, len(finite))}) -> {to}", to)
    yield from movements(kind, FLOAT_VALUES[:12])


def comparisons(kind, left, right, compare_type):
    t, p = type_of(kind, len(left)), type_of("i1", len(left))
    for direction in COMPARISONS:
        yield function(f"compare__{kind}__0__{direction}", [dense(left, kind), dense(right, kind)],
                       f"%r = stablehlo.compare {direction}, %a, %b, {compare_type} : ({t}, {t}) -> {p}",
                       p)


def movements(kind, values):
    """Operations that move elements, on twelve of them."""
    values = (values * 12)[:12]
    a = dense(values, kind)
    t12, t34, t43 = type_of(kind, 12), f"tensor<3x4x{kind}>", f"tensor<4x3x{kind}>"
    yield function(f"reshape__{kind}__0", [a], f"%r = stablehlo.reshape %a : ({t12}) -> {t34}", t34)
    yield function(f"transpose__{kind}__0", [a],
                   f"%m = stablehlo.reshape %a : ({t12}) -> {t34}\n"
                   f"  %r = stablehlo.transpose %m, dims = [1, 0] : ({t34}) -> {t43}", t43)
    yield function(f"reverse__{kind}__0", [a], f"%r = stablehlo.reverse %a, dims = [0] : {t12}", t12)
    yield function(f"slice__{kind}__0", [a],
                   f"%r = stablehlo.slice %a [1:11:3] : ({t12}) -> {type_of(kind, 4)}",
                   type_of(kind, 4))
    yield function(f"concatenate__{kind}__0", [a],
                   f"%r = stablehlo.concatenate %a, %a, dim = 0 : ({t12}, {t12}) -> {type_of(kind, 24)}",
                   type_of(kind, 24))
    yield function(f"broadcast_in_dim__{kind}__0", [a],
                   f"%r = stablehlo.broadcast_in_dim %a, dims = [1] : ({t12}) -> tensor<2x12x{kind}>",
                   f"tensor<2x12x{kind}>")


def integer_functions(kind):
    values = INTEGERS[kind]
    left, right = pairs(values)
    t = type_of(kind, len(left))
    for op in INTEGER_BINARY:
        yield function(f"{op}__{kind}__0", [dense(left, kind), dense(right, kind)],
                       f"%r = stablehlo.{op} %a, %b : {t}", t)
    # Division by zero and overflow are for each device to decide.
    nonzero = [v for v in values if v not in (0, -1)]
    left_of, right_of = [a for a in values for _ in nonzero], [b for _ in values for b in nonzero]
    t_of = type_of(kind, len(left_of))
    for op in ["divide", "remainder"]:
        yield function(f"{op}__{kind}__0", [dense(left_of, kind), dense(right_of, kind)],
                       f"%r = stablehlo.{op} %a, %b : {t_of}", t_of)
    t1 = type_of(kind, len(values))
    for op in INTEGER_UNARY:
        if kind.startswith("u") and op in ("negate", "abs", "sign"):
            continue
        yield function(f"{op}__{kind}__0", [dense(values, kind)], f"%r = stablehlo.{op} %a : {t1}", t1)
    yield from comparisons(kind, left, right, "UNSIGNED" if kind.startswith("u") else "SIGNED")
    yield from movements(kind, values)


def main():
    functions = []
    for kind in FLOATS:
        functions += list(float_functions(kind))
    for kind in INTEGERS:
        functions += list(integer_functions(kind))
    with open(sys.argv[1], "w") as file:
        file.write("\n\n// -----\n\n".join(functions) + "\n")


if __name__ == "__main__":
    main()

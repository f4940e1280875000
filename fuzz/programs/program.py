"""Programs as data: values with types, operations, and their text."""

import dataclasses

import ml_dtypes
import numpy as np

# StableHLO's name of each element type, with NumPy's.
DTYPES = {
    "i1": np.dtype(bool), "i8": np.dtype(np.int8), "i16": np.dtype(np.int16),
    "i32": np.dtype(np.int32), "i64": np.dtype(np.int64), "ui8": np.dtype(np.uint8),
    "ui16": np.dtype(np.uint16), "ui32": np.dtype(np.uint32), "ui64": np.dtype(np.uint64),
    "f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32), "f64": np.dtype(np.float64),
    "i2": np.dtype(ml_dtypes.int2), "ui2": np.dtype(ml_dtypes.uint2),
    "i4": np.dtype(ml_dtypes.int4), "ui4": np.dtype(ml_dtypes.uint4),
    "f4E2M1FN": np.dtype(ml_dtypes.float4_e2m1fn), "f8E3M4": np.dtype(ml_dtypes.float8_e3m4),
    "f8E4M3": np.dtype(ml_dtypes.float8_e4m3), "f8E4M3FN": np.dtype(ml_dtypes.float8_e4m3fn),
    "f8E4M3FNUZ": np.dtype(ml_dtypes.float8_e4m3fnuz),
    "f8E4M3B11FNUZ": np.dtype(ml_dtypes.float8_e4m3b11fnuz),
    "f8E5M2": np.dtype(ml_dtypes.float8_e5m2), "f8E5M2FNUZ": np.dtype(ml_dtypes.float8_e5m2fnuz),
    "complex<f32>": np.dtype(np.complex64), "complex<f64>": np.dtype(np.complex128)}
FLOATS = ("f16", "bf16", "f32", "f64")
COMPLEX = ("complex<f32>", "complex<f64>")
# These are moved, compared and converted only: each step of arithmetic would round a tenth of a value.
SMALL_FLOATS = tuple(name for name in DTYPES if name.startswith(("f4", "f8")))
# Relative to an element, and to the largest element of the array: results of sums and of vector
# functions in different orders.
TOLERANCE = {"f64": 1e-11, "f32": 1e-4, "f16": 2e-2, "bf16": 1e-1, "complex<f64>": 1e-11,
             "complex<f32>": 1e-4, **{name: 1.05 * float(ml_dtypes.finfo(DTYPES[name]).eps)
                                      for name in SMALL_FLOATS}}
SIGNED = ("i2", "i4", "i8", "i16", "i32", "i64")
UNSIGNED = ("ui2", "ui4", "ui8", "ui16", "ui32", "ui64")
INTEGERS = SIGNED + UNSIGNED


def limits(dtype):
    """The least and the greatest integer of a type."""
    info = ml_dtypes.iinfo(dtype)
    return int(info.min), int(info.max)


@dataclasses.dataclass(frozen=True)
class Type:
    element: str
    shape: tuple = ()

    def __str__(self):
        return f"tensor<{''.join(f'{d}x' for d in self.shape)}{self.element}>"

    @property
    def rank(self):
        return len(self.shape)

    @property
    def size(self):
        return int(np.prod(self.shape, dtype=np.int64))

    def with_shape(self, shape):
        return Type(self.element, tuple(int(d) for d in shape))

    def with_element(self, element):
        return Type(element, self.shape)


@dataclasses.dataclass(eq=False)
class Value:
    """A result of an operation, or an input.

    `exact`: every correct implementation computes the same bits, so that a discontinuous operation
    may use it. `bounded`: small enough for exponentials. `error`: the tolerance of the coarsest type
    that what it is made of was rounded to.
    """
    type: Type
    exact: bool = True
    bounded: bool = False
    error: float = 0.0
    data: np.ndarray = None     # of an input or a constant


@dataclasses.dataclass(eq=False)
class Op:
    name: str
    operands: list
    results: list
    attributes: str = ""
    # Text of the regions. It may name `captured` values as {0}, {1}, …
    regions: list = dataclasses.field(default_factory=list)
    captured: list = dataclasses.field(default_factory=list)

    @property
    def uses(self):
        return [*self.operands, *self.captured]


def literal(array, element):
    """The array as an attribute."""
    kind = str(Type(element, array.shape))
    flat = np.ravel(array)
    if flat.size == 0:
        return f"dense<> : {kind}"
    if element == "i1":
        return f"dense<{_nested(array, lambda x: 'true' if x else 'false')}> : {kind}"
    text = np.ascontiguousarray(array).tobytes().hex().upper()
    return f'dense<"0x{text}"> : {kind}'


def _nested(array, show):
    if array.ndim == 0:
        return show(array[()])
    return "[" + ", ".join(_nested(part, show) for part in array) + "]"


class Program:
    """Inputs, constants, operations in order, and which values are results."""

    def __init__(self):
        self.inputs, self.constants, self.ops, self.results = [], [], [], []

    def text(self, hold_inputs=False):
        """The program; with `hold_inputs` its inputs are constants in it."""
        names, lines = {}, []
        for i, value in enumerate(self.inputs):
            names[value] = f"%a{i}"
            if hold_inputs:
                lines.append(f"%a{i} = stablehlo.constant {literal(value.data, value.type.element)}")
        for i, value in enumerate(self.constants):
            names[value] = f"%c{i}"
            lines.append(f"%c{i} = stablehlo.constant {literal(value.data, value.type.element)}")
        for i, op in enumerate(self.ops):
            count = len(op.results)
            for j, value in enumerate(op.results):
                names[value] = f"%{i}" if count == 1 else f"%{i}#{j}"
            left = f"%{i}" if count == 1 else f"%{i}:{count}"
            regions = ", ".join(
                "{\n" + _fill(region, [names[v] for v in op.captured]) + "\n  }"
                for region in op.regions)
            attributes = f" {{{op.attributes}}}" if op.attributes else ""
            types = [", ".join(str(v.type) for v in values) for values in (op.operands, op.results)]
            lines.append(
                f"{left} = \"{op.name}\"({', '.join(names[v] for v in op.operands)})"
                f"{f' ({regions})' if regions else ''}{attributes} : ({types[0]}) -> ({types[1]})")
        arguments = "" if hold_inputs else ", ".join(f"{names[v]}: {v.type}" for v in self.inputs)
        types = ", ".join(str(v.type) for v in self.results)
        end = f"return {', '.join(names[v] for v in self.results)} : {types}"
        body = "\n".join(f"  {line}" for line in [*lines, end])
        return (f"module @fuzz {{\nfunc.func public @main({arguments}) -> ({types}) {{\n"
                f"{body}\n}}\n}}\n")

    def pruned(self):
        """Without what no result needs."""
        needed = set(self.results)
        kept = []
        for op in reversed(self.ops):
            if needed.isdisjoint(op.results):
                continue
            needed.update(op.uses)
            kept.append(op)
        other = Program()
        other.ops = kept[::-1]
        other.inputs = [v for v in self.inputs if v in needed]
        other.constants = [v for v in self.constants if v in needed]
        other.results = list(self.results)
        return other


def _fill(region, names):
    for i, name in enumerate(names):
        region = region.replace("{" + str(i) + "}", name)
    return region

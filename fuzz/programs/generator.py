"""Random well-typed programs."""

import random

import numpy as np

import kinds
from program import COMPLEX, DTYPES, FLOATS, INTEGERS, SMALL_FLOATS, TOLERANCE, Op, Program, Type, Value, limits

DIMS = (1, 1, 2, 2, 3, 3, 4, 5, 7, 8, 9, 16, 17, 31, 33)
MAX_ELEMENTS = 3000
ELEMENTS = ("f32", "f32", "f32", "f32", "f64", "f64", "i32", "i32", "i64", "i1", "bf16", "f16",
            "i8", "ui8", "i16", "ui16", "ui32", "ui64", "complex<f32>", "complex<f64>")
RARE_ELEMENTS = ("i2", "ui2", "i4", "ui4", *SMALL_FLOATS)


class Generator:
    """Makes one program. `rng` decides everything."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.program = Program()
        self.values = []
        # A few shapes per program, so that values meet.
        self.shapes = [self.shape() for _ in range(self.rng.randint(1, 3))]
        count = self.rng.randint(1, 5)
        self.elements = [self.rng.choice(RARE_ELEMENTS if self.chance(0.15) else ELEMENTS)
                         for _ in range(count)]

    # ---- Choices ----

    def dim(self):
        if self.rng.random() < 0.02:
            return 0
        if self.rng.random() < 0.03:
            return self.rng.choice((63, 64, 65, 128, 130, 257))
        return self.rng.choice(DIMS)

    def shape(self, rank=None):
        rank = self.rng.choice((0, 1, 1, 2, 2, 2, 3, 3, 4)) if rank is None else rank
        shape = []
        for _ in range(rank):
            d = self.dim()
            if np.prod([*shape, d], dtype=np.int64) > MAX_ELEMENTS:
                d = self.rng.choice((1, 2))
            shape.append(d)
        return tuple(shape)

    def element(self, among=None):
        if among is None:
            return self.rng.choice(self.elements)
        known = [e for e in self.elements if e in among]
        return self.rng.choice(known or list(among))

    def chance(self, probability):
        return self.rng.random() < probability

    # ---- Values ----

    def fresh(self, type, low=None, high=None):
        """A new input or constant; integers in [low, high]."""
        dtype, shape = DTYPES[type.element], type.shape
        exact = {"exact": True}
        if type.element == "i1":
            data = self.numbers.integers(0, 2, shape).astype(dtype)
        elif type.element in INTEGERS:
            least, most = limits(dtype)
            if low is None:
                low, high = (least, most) if self.chance(0.3) else (-9, 9)
            # Bits of 64 at most, signed or not.
            drawn = np.uint64 if most > np.iinfo(np.int64).max else np.int64
            data = self.numbers.integers(max(low, least), min(high, most), shape, dtype=drawn,
                                         endpoint=True).astype(dtype)
        elif type.element in COMPLEX:
            data = (self.reals(shape) + 1j * self.reals(shape)).astype(dtype)
            exact = {"bounded": True}
        else:
            data = self.reals(shape).astype(dtype)
            exact = {"bounded": True}
            if self.chance(0.08) and low is None:
                data = self.with_specials(data)
                exact = {}
        value = Value(type, data=np.asarray(data).astype(dtype).reshape(shape), **exact)
        place = self.program.constants if self.chance(0.2) else self.program.inputs
        place.append(value)
        self.values.append(value)
        return value

    def reals(self, shape):
        kind = self.rng.randrange(3)
        if kind == 0:
            return self.numbers.integers(-4, 5, shape).astype(np.float64)
        if kind == 1:
            return np.round(self.numbers.standard_normal(shape) * 8) / 8
        return np.clip(self.numbers.standard_normal(shape), -3, 3)

    def with_specials(self, data):
        flat = np.array(data).reshape(-1)
        for _ in range(min(flat.size, 3)):
            flat[self.rng.randrange(flat.size)] = self.rng.choice(
                (np.nan, np.inf, -np.inf, -0.0, 0.0, 1e4))
        return flat.reshape(np.shape(data))

    def pick(self, among=None, shape=None, rank=None, exact=False, least_rank=0, nonempty=False):
        """A value of one of these element types, of this shape or rank."""
        def fits(value):
            return ((among is None or value.type.element in among) and
                    (shape is None or value.type.shape == tuple(shape)) and
                    (rank is None or value.type.rank == rank) and
                    value.type.rank >= least_rank and (value.exact or not exact) and
                    not (nonempty and value.type.size == 0))
        found = [v for v in self.values if fits(v)]
        # The latest ones, so that chains form.
        if found and not self.chance(0.15):
            return found[-1 - min(int(self.rng.expovariate(0.5)), len(found) - 1)]
        if shape is None:
            shape = self.rng.choice(self.shapes) if rank is None else self.shape(rank)
            if len(shape) < least_rank or (nonempty and 0 in shape):
                shape = tuple(max(1, d) for d in self.shape(self.rng.randint(max(1, least_rank), 3)))
                if rank is not None:
                    shape = tuple(max(1, d) for d in self.shape(rank))
        value = self.fresh(Type(self.element(among), tuple(shape)))
        if exact and not value.exact:
            value.exact = True
        return value

    def emit(self, name, operands, types, attributes="", exact=None, bounded=False, **more):
        """Appends an operation; its results are as exact as its operands, or as said."""
        if isinstance(types, Type):
            types = [types]
        if exact is None:
            exact = all(v.exact for v in operands)
        error = max((v.error for v in [*operands, *more.get("captured", [])]), default=0.0)
        results = [Value(t, exact=exact, bounded=bounded,
                         error=error if exact else max(error, TOLERANCE.get(t.element, 0.0)))
                   for t in types]
        if "." not in name:
            name = "stablehlo." + name
        self.program.ops.append(Op(name, list(operands), results, attributes, **more))
        self.values.extend(results)
        return results[0] if len(results) == 1 else results

    def tamed(self, value):
        """The value, or a bounded one made of it where a function would magnify its error."""
        if value.bounded:
            return value
        if value.type.element in COMPLEX:
            return self.fresh(value.type)
        if value.type.element not in FLOATS:
            return value
        return self.emit("tanh", [value], value.type, exact=False, bounded=True)

    def positive(self, value):
        """A value in [0.5, 1.5] made of a float value."""
        half = self.splat(value.type, 0.5)
        return self.emit("add", [self.emit("logistic", [value], value.type, exact=False), half],
                         value.type, exact=False, bounded=True)

    def splat(self, type, number):
        value = Value(type, data=np.full(type.shape, number, DTYPES[type.element]))
        value.bounded = True
        self.program.constants.append(value)
        return value

    # ---- Programs ----

    def make(self, operations=None):
        steps = self.rng.randint(1, 14) if operations is None else operations
        functions = list(kinds.KINDS)
        weights = [kinds.KINDS[function] for function in functions]
        for _ in range(steps):
            kind = self.rng.choices(functions, weights)[0]
            before = len(self.program.ops)
            kind(self)
            for op in self.program.ops[before:]:
                for value in op.results:
                    if value.type.size > 4 * MAX_ELEMENTS and value in self.values:
                        self.values.remove(value)
        computed = [v for op in self.program.ops for v in op.results]
        used = {v for op in self.program.ops for v in op.uses}
        results = [v for v in computed if v not in used]
        results += [v for v in computed if v in used and self.chance(0.1)]
        # Returning an input is a program of its own kind.
        if self.program.inputs and self.chance(0.05):
            results.append(self.rng.choice(self.program.inputs))
        self.program.results = results or list(self.program.inputs[:1])
        return self.program.pruned()


def program_of(seed, number):
    """Program `number` of a seed."""
    return Generator(int.from_bytes(f"{seed}/{number}".encode(), "big")).make()

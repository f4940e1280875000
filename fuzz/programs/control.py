"""Control flow: its regions hold small bodies over what they capture."""

from program import DTYPES, FLOATS, INTEGERS, Type, Value
import numpy as np

_STEPS = {"float": ("add", "subtract", "maximum", "minimum", "multiply"),
          "integer": ("add", "subtract", "multiply", "maximum", "xor"),
          "i1": ("and", "or", "xor")}


def _kind(element):
    return "i1" if element == "i1" else "integer" if element in INTEGERS else "float"


def _body(g, type, names, indent="    "):
    """Lines that compute a value of `type` from the named ones of that type, and its name.

    Also whether the computation is exact.
    """
    lines, known, exact = [], list(names), True
    kind = _kind(type.element)
    prefix = f"v{g.rng.randrange(10**6)}_"
    for i in range(g.rng.randint(1, 4)):
        name = f"%{prefix}{i}"
        if kind == "float" and g.chance(0.3):
            lines.append(f"{indent}{name} = stablehlo.tanh {g.rng.choice(known)} : {type}")
            exact = False
        else:
            step = g.rng.choice(_STEPS[kind])
            exact = exact and (kind != "float" or step in ("maximum", "minimum"))
            lines.append(f"{indent}{name} = stablehlo.{step} {g.rng.choice(known)}, "
                         f"{g.rng.choice(known)} : {type}")
        known.append(name)
    if kind == "float":  # so that loops do not diverge
        lines.append(f"{indent}%{prefix}end = stablehlo.tanh {known[-1]} : {type}")
        known.append(f"%{prefix}end")
        exact = False
    return lines, known[-1], exact


def _values(g):
    x = g.pick((*FLOATS, *INTEGERS, "i1"))
    return x, [x] + [g.pick((x.type.element,), x.type.shape) for _ in range(g.rng.randint(0, 2))]


def if_(g):
    x, values = _values(g)
    predicate = g.pick(("i1",), ())
    regions, exact = [], predicate.exact and all(v.exact for v in values)
    for _ in range(2):
        lines, name, is_exact = _body(g, x.type, [f"{{{i}}}" for i in range(len(values))])
        regions.append("\n".join([*lines, f"    stablehlo.return {name} : {x.type}"]))
        exact = exact and is_exact
    g.emit("if", [predicate], x.type, exact=exact, regions=regions, captured=values)


def case(g):
    x, values = _values(g)
    index = g.fresh(Type("i32"), -2, 5)
    regions, exact = [], all(v.exact for v in values)
    for _ in range(g.rng.randint(1, 4)):
        lines, name, is_exact = _body(g, x.type, [f"{{{i}}}" for i in range(len(values))])
        regions.append("\n".join([*lines, f"    stablehlo.return {name} : {x.type}"]))
        exact = exact and is_exact
    g.emit("case", [index], x.type, exact=exact, regions=regions, captured=values)


def while_(g):
    """A counter, values that change, and values from outside of the loop."""
    x, outside = _values(g)
    carried = [x] + [g.pick((*FLOATS, *INTEGERS, "i1")) for _ in range(g.rng.randint(0, 2))]
    counter_type = Type(g.rng.choice(("i32", "i64", "ui32")))
    dtype = DTYPES[counter_type.element]
    zero = Value(counter_type, data=np.zeros((), dtype))
    limit = Value(counter_type, data=np.array(g.rng.choice((0, 1, 2, 3, 5)), dtype))
    g.program.constants += [zero]
    # The number of iterations is known, or not, when the program is compiled.
    (g.program.constants if g.chance(0.5) else g.program.inputs).append(limit)
    state = [zero, *carried]
    captured = [limit, *outside]
    arguments = ", ".join(f"%s{i}: {v.type}" for i, v in enumerate(state))
    condition = (f"^bb0({arguments}):\n    %go = stablehlo.compare LT, %s0, {{0}} : "
                 f"({counter_type}, {counter_type}) -> tensor<i1>\n"
                 f"    stablehlo.return %go : tensor<i1>")
    lines, exact = [], True
    lines.append(f"    %one = stablehlo.constant dense<1> : {counter_type}")
    lines.append(f"    %next = stablehlo.add %s0, %one : {counter_type}")
    given = ["%next"]
    names = [f"%s{i + 1}" for i in range(len(carried))]
    for i, value in enumerate(carried):
        if g.chance(0.15):
            # Handed on, or exchanged with another of its type.
            same = [n for n, v in zip(names, carried) if v.type == value.type]
            given.append(g.rng.choice(same))
            continue
        known = [n for n, v in zip(names, carried) if v.type == value.type]
        known += [f"{{{k + 1}}}" for k, v in enumerate(outside) if v.type == value.type]
        body, name, is_exact = _body(g, value.type, known)
        lines += body
        exact = exact and is_exact
        given.append(name)
    types = ", ".join(str(v.type) for v in state)
    lines.append(f"    stablehlo.return {', '.join(given)} : {types}")
    body = f"^bb0({arguments}):\n" + "\n".join(lines)
    exact = exact and all(v.exact for v in [*carried, *outside])
    g.emit("while", state, [v.type for v in state], exact=exact, regions=[condition, body],
           captured=captured)


KINDS = {if_: 1.2, case: 1, while_: 2}

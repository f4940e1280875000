"""Finds the programs in a checkout of StableHLO, as text that JAX's client can take.

Checks become custom calls to `check.*` with the actual and the expected value as operands, which the
worker turns into results of the program.
"""

import re

# check.expect_eq_const %x, dense<…> : tensor<…>   (and almost_eq, with a tolerance in two spellings)
_CONST_CHECK = re.compile(
    r"check\.expect_(?P<kind>eq|almost_eq)_const (?P<value>%[\w#:]+),\s*"
    r"(?P<constant>dense<.*?>|dense_resource<.*?>)\s*:\s*(?P<type>tensor<[^\n]*?>+)"
    r"(?:, tolerance = (?P<comma>[\d.eE+-]+))?"
    r"(?: *\{tolerance = (?P<brace>[\d.eE+-]+)[^}]*\})?(?= *(?:\n|$|//))", re.DOTALL)
_TWO_CHECK = re.compile(
    r"check\.expect_(?P<kind>eq|almost_eq|close) (?P<left>%[\w#:]+), (?P<right>%[\w#:]+)"
    r"(?P<options>(?:, \w+ = [\d.eE+-]+(?: : \w+)?)*) : (?P<type>[^,\n]+)(?:, [^\n]*)?")


def _rewrite_checks(text):
    count = 0

    def constant(match):
        nonlocal count
        count += 1
        kind, value, type_ = match["kind"], match["value"], match["type"]
        tolerance = match["comma"] or match["brace"] or "1e-4"
        return (f"%yardstick_{count} = stablehlo.constant {match['constant']} : {type_}\n"
                f"  stablehlo.custom_call @check.expect_{kind}({value}, %yardstick_{count}) "
                f"{{has_side_effect = true, tolerance = \"{tolerance}\"}} : ({type_}, {type_}) -> ()")

    def two(match):
        options = dict(re.findall(r"(\w+) = ([\d.eE+-]+)", match["options"]))
        attributes = "".join(f', {name} = "{value}"' for name, value in options.items())
        type_ = match["type"].strip()
        return (f"stablehlo.custom_call @check.expect_{match['kind']}({match['left']}, "
                f"{match['right']}) {{has_side_effect = true{attributes}}} "
                f": ({type_}, {type_}) -> ()")

    return _TWO_CHECK.sub(two, _CONST_CHECK.sub(constant, text))


def _functions(path):
    """The parts of a file of tests/interpret, each with a name."""
    parts = re.split(r"^// -----.*$", path.read_text(), flags=re.MULTILINE)
    for index, part in enumerate(parts):
        if not re.search(r"\bfunc\.func\b", part):
            continue
        found = re.search(r"func\.func(?: public| private)? @(\w+)\(\)", part)
        yield f"{index}-{found[1] if found else 'unnamed'}", part


def programs(checkout):
    """Yields {"name", "text", "suite"} for every program that a one-device client can be asked to run.

    Left out: programs of the interpreter's own ops (run_parallel, print, probe), which no PJRT client
    takes, and quantised ones, whose types JAX's client does not carry.
    """
    for path in sorted((checkout / "stablehlo/testdata").glob("*.mlir")):
        yield {"suite": "testdata", "name": f"testdata/{path.stem}", "text": path.read_text()}
    for path in sorted((checkout / "stablehlo/tests/interpret").rglob("*.mlir")):
        for name, text in _functions(path):
            if re.search(r"interpreter\.|!quant|expect_serialized_eq|\bsend\b|\brecv\b", text):
                continue
            yield {"suite": "interpret", "name": f"interpret/{path.stem}/{name}",
                   "text": _rewrite_checks(text)}

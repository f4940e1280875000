#!/usr/bin/env python3
"""Reads the op table and writes its documentation page, or checks that it is complete.

    op_table.py docs  --tblgen llvm-tblgen --include DIR   > ops.md
    op_table.py check --tblgen llvm-tblgen --include DIR

`check` fails if an elementwise operation needs more than four files, if a record does not
say how it is compiled, has malformed rules or no test of its
meaning in ops/test, if no test of compiler/dialect/test breaks a rule, or if no test there reads and
writes an operation.
"""

import argparse
import functools
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAMILIES = ("unary", "binary", "data_movement", "reduction", "contraction", "control_flow",
            "collective", "dynamic", "misc")
# Those that ops/facts.td explains.
LOWERINGS = {name for names in re.findall(r"^  //   ((?:\w+, )?\w+)  ",
                                          (ROOT / "ops/facts.td").read_text(), re.M)
             for name in names.split(", ")}

# What a new elementwise operation touches: its record, its meaning, its arithmetic in kernels, its
# test; and the arithmetic of complex numbers in kernels if it has any. No other file may have to name
# it.
ELEMENTWISE_FILES = 4
COMPLEX_ARITHMETIC = "compiler/codegen/math/math_complex.cc"
# Files that name operations to make others of them, to make them, or to recognise what is written
# with them: none has to know a new one.
REWRITES = ("compiler/passes/", "compiler/schedule/attention/", "backends/cuda/kernels/blas_epilogue.cc")
# Words of others that are operations' names too: CHLO's operations, LLVM's instructions, functions of
# C and OpenCL.
HOMONYMS = ("backends/opencl/codegen/opencl_c.cc", "compiler/codegen/math/math_trig.cc", "ops/chlo.td")
# Elementwise operations that more is made of than what they do to an element, and what.
NOT_PLAIN = {
    "add": "sums on kernels' and devices' own ways, indices",
    "and": "reductions, sort keys",
    "complex": "a type of its operands' types",
    "maximum": "reductions, indices",
    "minimum": "reductions, indices",
    "multiply": "reductions between devices",
    "negate": "indices",
    "or": "reductions, sort keys",
    "subtract": "indices",
    "xor": "updates by one instruction",
}
SOURCES = ("backends", "compiler", "include", "ops", "pjrt", "runtime")

# Rules that something else checks first, and what; its message must still name the operation.
NOT_REACHED = {
    "all_to_all_c4": "the attribute is of positive numbers",
    "concatenate_c3": "the trait of equal element types wants an operand",
    "dynamic_conv_c29": "operands are not quantized per axis",
    "dynamic_conv_c30": "results are not quantized per axis",
    "dynamic_conv_c33": "results are not quantized per axis",
    "map_c2": "the trait of equal shapes wants an operand",
    "sort_c1": "the trait of equal shapes wants an operand",
    "sort_c3": "the trait of equal shapes",
}


def records(tblgen, include):
    """The records of all operations: family, name of the C++ class, and the table's fields."""
    for family in FAMILIES:
        text = subprocess.run(
            [tblgen, "--dump-json", "-I", include, "-I", str(ROOT),
             str(ROOT / "ops" / f"{family}.td")], check=True, capture_output=True).stdout
        table = json.loads(text)
        for name in table["!instanceof"]["Shlo_Op"]:
            yield family, name.removeprefix("Shlo_"), table[name]


def chlo_names(tblgen, include):
    """The names of CHLO's operations but those that only our own rules use."""
    text = subprocess.run(
        [tblgen, "--dump-json", "-I", include, "-I", str(ROOT), str(ROOT / "ops/chlo.td")],
        check=True, capture_output=True).stdout
    table = json.loads(text)
    names = (table[name]["opName"] for name in table["!instanceof"]["Chlo_Op"])
    return sorted(name for name in names if not name.startswith("_"))


def arguments(record, key):
    """The named arguments or results of a record, as text."""
    return ", ".join(f"`{name}`" for _, name in record[key]["args"] if name)


def sharding_rule(record):
    """The name of the rule in compiler/partition, as text."""
    named = re.search(r"<(\w+)>", record["sharding"])
    return f"`{named[1]}`" if named else "none of its own"


def docs(table):
    """Writes one section for each operation."""
    print("# Operations\n\nGenerated from `ops/*.td` by `ops/gen/op_table.py`.")
    for family, cpp, record in sorted(table, key=lambda entry: entry[2]["opName"]):
        print(f"\n## {record['opName']}\n\n{record['summary'].capitalize()}.\n")
        print("| | |\n| --- | --- |")
        for title, value in (
                ("class", f"`shlo::{cpp}`, `ops/{family}.td`"),
                ("operands and attributes", arguments(record, "arguments") or "none"),
                ("results", arguments(record, "results") or "see the rules"),
                ("since", record["since"]), ("compiled as", record["lowering"]),
                ("sharding rule", sharding_rule(record))):
            print(f"| {title} | {value} |")
        for rule in record["rules"]:
            label, _, text = rule.partition(": ")
            print(f"{'' if rule != record['rules'][0] else chr(10)}"
                  f"- `{record['opName']}_{label}` {text}")


def check_test(path, op):
    """What the file of the operation's meaning lacks, by name."""
    if not path.exists():
        return [f"{op}: there is no {path.relative_to(ROOT)}"]
    text = path.read_text()
    runs = re.findall(r"RUN: (.*isthmus-run.*)", text)
    lacks = []
    if not re.search(rf"\b{re.escape(op)}\b", re.sub(r"//.*", "", text)):
        lacks.append("does not use it")
    if not any("--backend" not in run for run in runs) and "FileCheck" not in text:
        lacks.append("does not run it by the evaluator")
    if not any("--backend cpu" in run for run in runs):
        lacks.append("does not run it compiled")
    if "check.expect" not in text and not all(run.startswith("not ") for run in runs):
        lacks.append("expects nothing")
    return [f"{op}: {path.relative_to(ROOT)} {what}" for what in lacks]


def broken_rules(folder):
    """What the tests break: (rules that a message names, {rule: what it says instead}).

    A test breaks a rule in a function of the rule's name, after which the expected message is
    written. It must say more than the rule's label: what was got and what was expected.
    """
    named, unnamed = set(), {}
    for path in sorted(folder.glob("invalid_*.mlir")):
        for part in path.read_text().split("// -----"):
            function = re.search(r"func\.func @(\w+)", part)
            message = re.search(r"CHECK: error: (.*)", part)
            if not function or not message:
                continue
            rule = re.match(r"\w+_[ci]\d+(?=$|_)", function[1])
            named.update(label for label, text in
                         re.findall(r"\b([a-z_]+_[ci]\d+): (.{12,})", message[1])
                         if rule and label == rule[0] and "expected" in text)
            if rule:
                unnamed.setdefault(rule[0], message[1])
    return named, unnamed


@functools.cache
def sources():
    """The text of each source file that git knows, by path."""
    listed = subprocess.run(["git", "ls-files", *SOURCES], cwd=ROOT, check=True,
                            capture_output=True, text=True).stdout.split()
    return {path: (ROOT / path).read_text(errors="replace") for path in listed
            if path.endswith((".td", ".cc", ".h", ".mlir", ".txt"))}


def files_naming(cpp, record):
    """The files of the product, and the operation's test, that have to name it or its evaluator."""
    name, function = record["opName"], re.search(r"<(\w+)>", record["evaluator"])[1]
    words = re.compile(rf'stablehlo\.{name}\b|"{name}"|\b{cpp}\b|\b{name}_v1\b|\bShlo_{cpp}\b|'
                       rf"\bScalar {function}\(")
    tests = re.compile(r"(^|/)(test|testdata|testing|fake)/|_test\.cc$")
    return [path for path, text in sources().items()
            if (not tests.search(path) or path == f"ops/test/{name}.mlir")
            and not path.startswith(REWRITES) and path not in HOMONYMS
            # Finding a part is far faster than the pattern.
            and (name in text or cpp in text or function in text) and words.search(text)]


def check_elementwise(cpp, record):
    """What is wrong with the number of files that name an elementwise operation."""
    name, evaluator = record["opName"], record["evaluator"]
    if record["lowering"] != "elementwise" or not re.fullmatch(r"(unary|binary)<\w+>", evaluator):
        return []
    files = files_naming(cpp, record)
    limit = ELEMENTWISE_FILES + (COMPLEX_ARITHMETIC in files)
    if (len(files) > limit) == (name in NOT_PLAIN):
        return []
    what = "no reason to be in NOT_PLAIN" if name in NOT_PLAIN else f"more than {limit} files name it"
    return [f"{name}: {what}: {', '.join(files)}"]


def check(table, chlo, tests=ROOT / "compiler/dialect/test"):
    """Returns the number of what is missing."""
    named, unnamed = broken_rules(tests)
    written = "\n".join(path.read_text() for path in tests.glob("round_trip*.mlir"))
    missing, total = [], 0
    for _, cpp, record in table:
        name = record["opName"]
        if record["lowering"] not in LOWERINGS:
            missing.append(f"{name}: lowering is '{record['lowering']}'")
        # The text of these is their class's, which others' round trips show.
        if {"Shlo_UnaryOp", "Shlo_BinaryOp"} & set(record["!superclasses"]):
            pass
        elif not re.search(rf"CHECK.*stablehlo\.{re.escape(name)}(?![\w-])", written):
            missing.append(f"{name}: no round_trip*.mlir has it")
        missing += check_elementwise(cpp, record)
        labels = [rule.partition(":")[0] for rule in record["rules"]]
        if len(set(labels)) != len(labels):
            missing.append(f"{name}: a label is given twice")
        for label in {*labels, *record["resultRules"]}:
            rule = f"{name}_{label}"
            total += 1
            if label not in labels:
                missing.append(f"{name}: there is no rule {label} for its results")
            if not re.fullmatch(r"[ci]\d+", label):
                missing.append(f"{name}: '{label}' is no label of the specification")
            if rule in NOT_REACHED:
                if f"stablehlo.{name}' op" not in unnamed.get(rule, ""):
                    missing.append(f"{rule}: no test of what is said instead ({NOT_REACHED[rule]})")
            elif rule not in named:
                missing.append(f"{rule}: no test breaks it")
        missing += check_test(ROOT / f"ops/test/{name}.mlir", f"stablehlo.{name}")
    for name in chlo:
        missing += check_test(ROOT / f"ops/test/chlo/{name}.mlir", f"chlo.{name}")
    rules = {f"{r['opName']}_{rule.partition(':')[0]}" for _, _, r in table for rule in r["rules"]}
    missing += [f"{rule}: not in the table" for rule in {*NOT_REACHED, *named} - rules]
    for line in missing:
        print(line)
    print(f"{len(table)} operations, {total} rules")
    return len(missing)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=("docs", "check"))
    parser.add_argument("--tblgen", default="llvm-tblgen-22")
    parser.add_argument("--include", default=None, help="MLIR's headers; llvm-config-22 knows")
    options = parser.parse_args()
    include = options.include or subprocess.run(
        ["llvm-config-22", "--includedir"], check=True, capture_output=True, text=True).stdout.strip()
    table = list(records(options.tblgen, include))
    if options.command == "check":
        sys.exit(1 if check(table, chlo_names(options.tblgen, include)) else 0)
    docs(table)


if __name__ == "__main__":
    main()

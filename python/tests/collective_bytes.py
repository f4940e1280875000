"""How many bytes a device sends in the collectives of a compiled program, from its text.

A collective in a loop counts as often as the loop runs, which the caller knows.
"""

import math
import re

KINDS = "all.gather|all.reduce|reduce.scatter|all.to.all|collective.permute|collective.broadcast"


def element_bytes(name):
    """Of an element type as HLO or MLIR write it: f32, pred, ui8, complex<f32>, c64."""
    if name.startswith("complex"):
        return 2 * element_bytes(name[8:-1])
    bits = int(re.search(r"\d+", name)[0]) if name != "pred" else 8
    return max(1, bits // 8)


def sent(kind, result_bytes, group):
    """By each device of a group, with the best known algorithm of rings."""
    if group == 1 and kind != "collective-permute":
        return 0
    return {
        "all-gather": result_bytes * (group - 1) / group,
        "all-reduce": 2 * result_bytes * (group - 1) / group,
        "reduce-scatter": result_bytes * (group - 1),
        "all-to-all": result_bytes * (group - 1) / group,
        "collective-permute": result_bytes,
        "collective-broadcast": result_bytes,
    }[kind]


class Total:
    def __init__(self):
        self.counts, self.bytes = {}, 0

    def add(self, kind, result_bytes, group, times):
        kind = re.sub("[^a-z]", "-", kind)
        self.counts[kind] = self.counts.get(kind, 0) + times
        self.bytes += times * sent(kind, result_bytes, group)

    def dictionary(self):
        return {"counts": self.counts, "bytes": round(self.bytes)}


def of_hlo(text, trips):
    """Of optimised HLO, as XLA prints it."""
    computations, lines = {}, None
    for line in text.splitlines():
        if head := re.match(r"(?:ENTRY )?%?([\w.\-]+) .*->.*\{\s*$", line):
            lines = computations[head[1]] = []
        elif lines is not None:
            lines.append(line)
    inside = set(re.findall(r"(?:body|condition)=%?([\w.\-]+)", text))
    work = list(inside)
    while work:
        called = re.findall(r"(?:calls|to_apply|body|condition)=%?([\w.\-]+)",
                            "\n".join(computations.get(work.pop(), [])))
        work += [name for name in called if name not in inside]
        inside |= set(called)
    total = Total()
    for name, lines in computations.items():
        for line in lines:
            op = re.match(rf"\s*(?:ROOT )?%?[\w.\-]+ = (.*?) ({KINDS})(?:-start)?\(", line)
            if not op:
                continue
            size = sum(element_bytes(element) * math.prod(map(int, filter(None, dims.split(","))))
                       for element, dims in re.findall(r"(\w+)\[([\d,]*)\]", op[1]))
            listed = re.search(r"replica_groups=\{\{([\d,]*)\}", line)
            counted = re.search(r"replica_groups=\[\d+,(\d+)\]", line)
            group = len(listed[1].split(",")) if listed else int(counted[1]) if counted else 8
            total.add(op[2], size, group, trips if name in inside else 1)
    return total.dictionary()


def of_mlir(text, trips):
    """Of a module as MLIR prints it: nested regions are indented."""
    total, loops = Total(), []
    lines = text.splitlines()
    for i, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        while loops and indent <= loops[-1] and not re.match(r"\s*(cond|\}|$)", line):
            loops.pop()
        if "stablehlo.while" in line:
            loops.append(indent)
        op = re.search(rf'stablehlo\.({KINDS})"?\(', line)
        if not op:
            continue
        signature = line
        if line.endswith("({"):
            # Its type follows the end of its region.
            signature = next(end for end in lines[i:] if end.startswith(" " * indent + "})"))
        size = 0
        for type_ in re.findall(r"tensor<((?:\d+x)*)(complex<\w+>|\w+)>", signature.split("->")[-1]):
            size += element_bytes(type_[1]) * math.prod(map(int, filter(None, type_[0].split("x"))))
        groups = re.search(r"replica_groups = dense<.*?> : tensor<\d+x(\d+)xi64>", line)
        total.add(op[1], size, int(groups[1]) if groups else 8, trips if loops else 1)
    return total.dictionary()

"""Smaller programs that still fail."""

from program import Op, Program, Value


def _with_input(program, value, data):
    """The program with `value` handed in instead of computed."""
    other = Program()
    replacement = Value(value.type, exact=value.exact, data=data)
    swap = {value: replacement}
    other.inputs = [*program.inputs, replacement]
    other.constants = list(program.constants)
    other.results = [swap.get(v, v) for v in program.results]
    for op in program.ops:
        other.ops.append(Op(op.name, [swap.get(v, v) for v in op.operands], op.results,
                            op.attributes, op.regions, [swap.get(v, v) for v in op.captured]))
    return other.pruned()


def minimize(program, fails, values_of, attempts=60):
    """The smallest program found. `fails(program)` is asked, `values_of(program, values)` gives what
    values are in a run, or None."""
    def better(candidate):
        nonlocal attempts, program
        if attempts <= 0 or not candidate.results:
            return False
        attempts -= 1
        if not fails(candidate):
            return False
        program = candidate
        return True

    for result in list(program.results):
        if len(program.results) == 1:
            break
        only = Program()
        only.inputs, only.constants, only.ops = program.inputs, program.constants, program.ops
        only.results = [result]
        if better(only.pruned()):
            break
    # An earlier value may be wrong already.
    changed = True
    while changed and attempts > 0:
        changed = False
        for op in program.ops[:-1]:
            for value in op.results:
                only = Program()
                only.inputs, only.constants, only.ops = program.inputs, program.constants, program.ops
                only.results = [value]
                if better(only.pruned()):
                    changed = True
                    break
            if changed:
                break
    # What remains may do without the operations that feed it.
    for op in list(program.ops):
        if op not in program.ops or attempts <= 0:
            continue
        for value in op.results:
            # A smaller program has other operations.
            if value in program.results or op not in program.ops:
                continue
            data = values_of(program, [value])
            if data is not None:
                better(_with_input(program, value, data[0]))
    return program

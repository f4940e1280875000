"""A worker of stablehlo.py: compiles and runs one program a line on one platform, and checks it."""

import json
import sys

import numpy as np


def checks_of(module, ir):
    """Turns the check.* calls of the entry function into its results; returns what each compares."""
    functions = [op for op in module.body.operations if op.operation.name == "func.func"]
    entry = next((f for f in functions if f.attributes["sym_name"].value == "main"), None)
    if entry is None:
        entry = next(f for f in functions if len(f.type.inputs) == 0)
    checks, values, calls = [], [], []
    for op in entry.regions[0].blocks[0].operations:
        if op.operation.name != "stablehlo.custom_call":
            continue
        target = op.attributes["call_target_name"].value
        if not target.startswith("check."):
            continue
        check = {"kind": target.removeprefix("check.expect_")}
        for option in ("tolerance", "max_ulp_difference"):
            if option in op.attributes:
                check[option] = float(op.attributes[option].value)
        checks.append(check)
        values.extend(op.operands)
        calls.append(op)
    block = entry.regions[0].blocks[0]
    if len(block.arguments):
        raise ValueError("the entry function has parameters")
    terminator = block.operations[len(block.operations) - 1]
    with ir.InsertionPoint(terminator):
        from jaxlib.mlir.dialects import func
        func.ReturnOp(values)
    terminator.operation.erase()
    for call in calls:
        call.operation.erase()
    entry.attributes["function_type"] = ir.TypeAttr.get(
        ir.FunctionType.get([], [value.type for value in values]))
    if "res_attrs" in entry.attributes:
        del entry.attributes["res_attrs"]
    entry.attributes["sym_name"] = ir.StringAttr.get("main")
    entry.attributes["sym_visibility"] = ir.StringAttr.get("public")
    for other in functions:
        if other != entry:
            other.attributes["sym_visibility"] = ir.StringAttr.get("private")
    return checks


def ulp_difference(actual, expected):
    """The largest distance in representable values; infinite between finite and non-finite ones."""
    if np.iscomplexobj(actual):
        return max(ulp_difference(actual.real.copy(), expected.real.copy()),
                   ulp_difference(actual.imag.copy(), expected.imag.copy()))
    bits = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[actual.dtype.itemsize]
    sign = 1 << (actual.dtype.itemsize * 8 - 1)

    def place(values):
        raw = np.ascontiguousarray(values).reshape(-1).view(bits)
        return [-(int(x) & (sign - 1)) if int(x) & sign else int(x) for x in raw]

    finite = np.isfinite(actual.astype(np.float64)) & np.isfinite(expected.astype(np.float64))
    same = (actual == expected) | ((actual != actual) & (expected != expected))
    if not np.all(finite | same):
        return float("inf")
    pairs = zip(place(actual), place(expected), np.ravel(finite))
    return max((abs(a - b) for a, b, real in pairs if real), default=0)


def compare(check, actual, expected):
    """Returns "" if the check holds, "close" if only to the precision of the type, or a message."""
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        return f"got {actual.dtype}{actual.shape}, expected {expected.dtype}{expected.shape}"
    same = (actual == expected) | ((actual != actual) & (expected != expected))
    if np.all(same):
        return ""
    inexact = actual.dtype.kind in "fc" or actual.dtype.name.startswith(("bfloat", "float"))
    if inexact and check["kind"] == "close":
        if ulp_difference(actual, expected) <= check.get("max_ulp_difference", 3):
            return ""
    wide = np.complex128 if np.iscomplexobj(actual) else np.float64
    left, right = np.ravel(actual).astype(wide), np.ravel(expected).astype(wide)
    if inexact and check["kind"] == "almost_eq":
        # StableHLO's check looks at real and imaginary parts apart.
        tolerance = check.get("tolerance", 1e-3)
        if np.all(np.ravel(same) | ((np.abs((left - right).real) <= tolerance) &
                                    (np.abs((left - right).imag) <= tolerance))):
            return ""
    if inexact:
        precision = {"float64": 1e-12, "complex128": 1e-12, "float32": 1e-4, "complex64": 1e-4,
                     "float16": 1e-2, "bfloat16": 5e-2}.get(actual.dtype.name, 0.2)
        scale = np.max(np.abs(right[np.isfinite(right)]), initial=1e-30)
        with np.errstate(invalid="ignore"):
            if np.all(np.ravel(same) | (np.abs(left - right) <= precision * np.abs(right) +
                                        precision * 0.1 * scale)):
                return "close"
    wrong = np.flatnonzero(~np.ravel(same))
    index = wrong[0]
    return (f"{len(wrong)} of {same.size} elements differ, the first at {index}: "
            f"got {np.ravel(actual)[index]}, expected {np.ravel(expected)[index]}")


def main(platform):
    import jax
    jax.config.update("jax_enable_x64", True)
    from jax._src import compiler
    from jax._src.interpreters import mlir
    from jaxlib import xla_client
    from jaxlib.mlir import ir

    device = jax.devices(platform)[0]
    devices = xla_client.DeviceList((device,))

    def run(item):
        stage = "parse"
        try:
            with mlir.make_ir_context() as context, ir.Location.unknown(context):
                module = ir.Module.parse(item["text"])
                if "sym_name" not in module.operation.attributes:
                    module.operation.attributes["sym_name"] = ir.StringAttr.get("program")
                checks = checks_of(module, ir)
                if not checks:
                    return {"status": "skip", "message": "the program has no checks"}
                stage = "compile"
                options = compiler.get_compile_options(num_replicas=1, num_partitions=1)
                executable = device.client.compile_and_load(
                    module, executable_devices=devices, compile_options=options)
            stage = "run"
            results = executable.execute_sharded([]).disassemble_into_single_device_arrays()
            arrays = [np.asarray(shards[0]) for shards in results]
            stage = "compare"
            verdicts = [compare(check, arrays[2 * i], arrays[2 * i + 1])
                        for i, check in enumerate(checks)]
        except Exception as error:  # any failure of one program is that program's result
            return {"status": f"{stage} error", "message": f"{type(error).__name__}: {error}"[:2000]}
        bad = [verdict for verdict in verdicts if verdict not in ("", "close")]
        if bad:
            return {"status": "wrong", "message": bad[0]}
        return {"status": "close" if "close" in verdicts else "pass", "message": ""}

    for line in sys.stdin:
        print(json.dumps(run(json.loads(line))), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])

"""Programs that are well-formed text and ask too much: an error each, soon, in the same process."""

import re
import time

import numpy as np
import pypjrt
import pytest


@pytest.fixture(scope="module")
def client(library):
    with pypjrt.Client.create(str(library)) as client:
        yield client


def main(body, arguments="%x: tensor<f32>", result="tensor<f32>"):
    return f"func.func @main({arguments}) -> {result} {{\n{body}\n}}"


def nested_cases(depth):
    parts = [f'%v{i} = "stablehlo.case"(%i) ({{\n' for i in range(depth)]
    parts.append("stablehlo.return %x : tensor<f32>\n")
    for i in reversed(range(depth)):
        parts.append("}) : (tensor<i32>) -> tensor<f32>\n")
        if i > 0:
            parts.append(f"stablehlo.return %v{i} : tensor<f32>\n")
    parts.append("return %v0 : tensor<f32>")
    return main("".join(parts), "%x: tensor<f32>, %i: tensor<i32>")


def call_chain(depth, width):
    """@f{n} calls @f{n-1} `width` times; the last is a sine."""
    functions = [main(f"%0 = call @f{depth}(%x) : (tensor<f32>) -> tensor<f32>\n"
                      "return %0 : tensor<f32>"),
                 "func.func private @f0(%x: tensor<f32>) -> tensor<f32> {\n"
                 "%0 = stablehlo.sine %x : tensor<f32>\nreturn %0 : tensor<f32>\n}"]
    for n in range(1, depth + 1):
        calls = "".join(f"%a{k + 1} = call @f{n - 1}(%a{k}) : (tensor<f32>) -> tensor<f32>\n"
                        for k in range(width))
        functions.append(f"func.func private @f{n}(%a0: tensor<f32>) -> tensor<f32> {{\n{calls}"
                         f"return %a{width} : tensor<f32>\n}}")
    return "\n".join(functions)


HUGE = 2**63 - 1
PROGRAMS = {
    "a type nested deeply": (
        main("return %x : tensor<f32>",
             f"%x: tensor<f32>, %y: {'tuple<' * 100000}tensor<f32>{'>' * 100000}"), "nests deeper"),
    "regions nested deeply": (nested_cases(5000), "nests deeper"),
    "calls nested deeply": (call_chain(2000, 1), "is called deeper"),
    "calls that double each time": (call_chain(40, 2), "operations after inlining"),
    "a function that calls itself": (
        main("%0 = call @main(%x) : (tensor<f32>) -> tensor<f32>\nreturn %0 : tensor<f32>"),
        "calls itself"),
    "functions that call each other": (
        main("%0 = call @g(%x) : (tensor<f32>) -> tensor<f32>\nreturn %0 : tensor<f32>") +
        "func.func private @g(%x: tensor<f32>) -> tensor<f32> {\n"
        "%0 = call @main(%x) : (tensor<f32>) -> tensor<f32>\nreturn %0 : tensor<f32>\n}",
        "calls itself"),
    "a composite that is its own decomposition": (
        main('%0 = stablehlo.composite "a.b" %x {decomposition = @main} : (tensor<f32>) -> '
             "tensor<f32>\nreturn %0 : tensor<f32>"), "calls itself"),
    "a call of what is not there": (
        main("%0 = call @nobody(%x) : (tensor<f32>) -> tensor<f32>\nreturn %0 : tensor<f32>"),
        "nobody"),
    "no main": (main("return %x : tensor<f32>").replace("@main", "@other"), "@main"),
    "a main without a body": ("func.func private @main(tensor<f32>) -> tensor<f32>", "@main"),
    "values that need each other": (
        main("%0 = stablehlo.add %1, %x : tensor<f32>\n%1 = stablehlo.add %0, %x : tensor<f32>\n"
             "return %1 : tensor<f32>"), "dominate"),
    "an array beyond any memory": (
        main(f"%0 = stablehlo.iota dim = 0 : tensor<{HUGE}xf32>\nreturn %x : tensor<f32>"),
        "too large"),
    "a product of sizes that overflows": (
        main("return %x : tensor<4294967296x4294967296xf32>", "%x: tensor<4294967296x4294967296xf32>",
             "tensor<4294967296x4294967296xf32>"), "too large"),
    "an empty array with a size that overflows": (
        main(f"return %x : tensor<0x{HUGE}x{HUGE}xf32>", f"%x: tensor<0x{HUGE}x{HUGE}xf32>",
             f"tensor<0x{HUGE}x{HUGE}xf32>"), "too large"),
    "a hundred thousand dimensions": (
        main(f"return %x : tensor<{'1x' * 100000}f32>", f"%x: tensor<{'1x' * 100000}f32>",
             f"tensor<{'1x' * 100000}f32>"), "too large"),
    "padding that overflows": (
        main(f"%0 = stablehlo.pad %y, %x, low = [{HUGE}], high = [{HUGE}], interior = [{HUGE}] : "
             "(tensor<4xf32>, tensor<f32>) -> tensor<?xf32>\nreturn %x : tensor<f32>",
             "%x: tensor<f32>, %y: tensor<4xf32>"), "pad"),
    "a window that overflows": (
        main('%0 = "stablehlo.reduce_window"(%y, %x) ({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n'
             "%1 = stablehlo.add %a, %b : tensor<f32>\nstablehlo.return %1 : tensor<f32>\n}) "
             f"{{window_dimensions = array<i64: {HUGE}>, window_dilations = array<i64: {HUGE}>, "
             f"base_dilations = array<i64: {HUGE}>, padding = dense<{HUGE}> : tensor<1x2xi64>}} : "
             "(tensor<4xf32>, tensor<f32>) -> tensor<4xf32>\nreturn %x : tensor<f32>",
             "%x: tensor<f32>, %y: tensor<4xf32>"), "overflows"),
}


def ragged_dot(result="4x2", lhs="1", rhs="1", ragged="0", group="0"):
    return main("%r = \"chlo.ragged_dot\"(%l, %m, %g) {ragged_dot_dimension_numbers = #chlo.ragged_dot<"
                f"lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [{lhs}], "
                f"rhs_contracting_dimensions = [{rhs}], lhs_ragged_dimensions = [{ragged}], rhs_group_dimensions = [{group}]>}} : "
                f"(tensor<4x2xf32>, tensor<2x2x2xf32>, tensor<2xi64>) -> tensor<{result}xf32>\nreturn %r : tensor<{result}xf32>",
                "%l: tensor<4x2xf32>, %m: tensor<2x2x2xf32>, %g: tensor<2xi64>", f"tensor<{result}xf32>")


def index_select(dim, batch_dims, operand="3x4", index="2", result="3x2"):
    return main(f"%r = \"stablehlo.torch_index_select\"(%o, %i) {{dim = {dim} : i64, batch_dims = {batch_dims} : i64}} : "
                f"(tensor<{operand}xf32>, tensor<{index}xi32>) -> tensor<{result}xf32>\nreturn %r : tensor<{result}xf32>",
                f"%o: tensor<{operand}xf32>, %i: tensor<{index}xi32>", f"tensor<{result}xf32>")


PROGRAMS |= {
    "a ragged contraction over a dimension that is not there": (ragged_dot(rhs=str(2**31)), "dimension numbers"),
    "a ragged dimension that is not there": (ragged_dot(ragged="7"), "dimension numbers"),
    "a dimension of groups that is summed over": (ragged_dot(group="1"), "dimension numbers"),
    "a ragged contraction with too large a result": (ragged_dot(result="40x2"), "the result is"),
    "an indexed dimension that is not there": (index_select(5, 0), "batch_dims <= dim"),
    "batches of an index of another size": (index_select(1, 1), "expected the same size"),
    "more of an index than there is": (index_select(1, 0, result="3x9"), "gather"),
    "a size that a program computes otherwise than its result has": (
        main("%s = stablehlo.constant dense<[3, 3]> : tensor<2xi64>\n"
             "%d = stablehlo.dynamic_broadcast_in_dim %v, %s, dims = [1] : (tensor<3xf32>, tensor<2xi64>) -> tensor<?x?xf32>\n"
             "%r = stablehlo.convert %d : (tensor<?x?xf32>) -> tensor<9x3xf32>\nreturn %r : tensor<9x3xf32>",
             "%v: tensor<3xf32>", "tensor<9x3xf32>"), "the same shape"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_refused(client, name):
    program, message = PROGRAMS[name]
    begin = time.monotonic()
    with pytest.raises(pypjrt.errors.PjrtError, match=message):
        client.compile(program).close()
    assert time.monotonic() - begin < 60


def of_chlo(operation, result="tensor<4xf32>"):
    return main(f"%r = {operation}\nreturn %r : {result}", "%x: tensor<4xf32>, %y: tensor<3xf32>, %s: tensor<f32>", result)


def scan(argument="f32", result="4", dimension=0):
    return main(f"%r, %c = chlo.scan(%x) inits(%s) dimension={dimension} {{\n^bb0(%a: tensor<{argument}>, %b: tensor<f32>):\n"
                f"stablehlo.return %a, %b : tensor<{argument}>, tensor<f32>\n}} : (tensor<4xf32>, tensor<f32>) -> "
                f"(tensor<{result}xf32>, tensor<f32>)\nreturn %r : tensor<{result}xf32>",
                "%x: tensor<4xf32>, %s: tensor<f32>", f"tensor<{result}xf32>")


def einsum(config, result):
    return of_chlo(f'stablehlo.einsum %x, %y, config = "{config}" : (tensor<4xf32>, tensor<3xf32>) -> {result}', result)


# What these became was compiled, or said to be missing.
WRONG = {
    "operands that do not broadcast": (
        of_chlo("chlo.broadcast_add %x, %y : (tensor<4xf32>, tensor<3xf32>) -> tensor<4xf32>"), "broadcast to the result"),
    "a result larger than what broadcasts to it": (
        of_chlo("chlo.broadcast_add %s, %s : (tensor<f32>, tensor<f32>) -> tensor<4xf32>"), "broadcast to the result"),
    "a sum of another type": (
        of_chlo("chlo.broadcast_add %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf64>", "tensor<4xf64>"),
        "same element type"),
    "a test whose result is no boolean": (of_chlo("chlo.is_inf %x : tensor<4xf32> -> tensor<4xf32>"), "bool values"),
    "a choice by numbers": (
        of_chlo("chlo.broadcast_select %x, %x, %x : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>"),
        "bool values"),
    "parts of another type": (
        of_chlo("chlo.broadcast_complex %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xcomplex<f64>>",
                "tensor<4xcomplex<f64>>"), "element type"),
    "a function of integers": (
        main("%r = chlo.lgamma %x : tensor<4xi32> -> tensor<4xi32>\nreturn %r : tensor<4xi32>", "%x: tensor<4xi32>",
             "tensor<4xi32>"), "float values"),
    "a scan of another type": (scan(argument="f64"), "body of other types"),
    "a scan with too large a result": (scan(result="4x7"), "body of other types"),
    "a scan along what is not there": (scan(dimension=5), "body of other types"),
    "a summation with too large a result": (einsum("i,j->ij", "tensor<9x9xf32>"), "of sizes 4 and 9"),
    "a summation of another type": (einsum("i,j->ij", "tensor<4x3xf64>"), "different element types"),
    "letters that are nowhere": (einsum("i,j->ik", "tensor<4x9xf32>"), "no operand has"),
    "a call of what has no body": (
        of_chlo("call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>") + "\nfunc.func private @f(tensor<4xf32>) -> tensor<4xf32>",
        "no body"),
    "elements that were left out": (
        of_chlo("stablehlo.constant dense_resource<__elided__> : tensor<4xf32>"), "has 0 bytes, expected 16"),
    "a condition that does not hold": (
        main('%c = stablehlo.constant dense<false> : tensor<i1>\nstablehlo.custom_call @shape_assertion(%c) '
             '{error_message = "too few rows", has_side_effect = true} : (tensor<i1>) -> ()\nreturn %x : tensor<f32>'),
        "too few rows"),
} | {name: PROGRAMS[name] for name in (
    "a ragged contraction over a dimension that is not there", "a ragged contraction with too large a result",
    "an indexed dimension that is not there", "more of an index than there is",
    "a size that a program computes otherwise than its result has")}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_programs_are_invalid_arguments(client, name):
    program, message = WRONG[name]
    with pytest.raises(pypjrt.errors.InvalidArgument, match=message) as raised:
        client.compile(program).close()
    assert re.search(r"program:\d+:\d+", str(raised.value))


def test_small_constants_at_the_end_of_the_text(client):
    """Kernels had none of constants whose elements are a resource."""
    program = main("%c = stablehlo.constant dense_resource<two> : tensor<2xf32>\n%p = stablehlo.constant dense_resource<bits> : tensor<2xi1>\n"
                   "%s = stablehlo.add %x, %c : tensor<2xf32>\n%r = stablehlo.select %p, %s, %x : tensor<2xi1>, tensor<2xf32>\n"
                   "return %r : tensor<2xf32>", "%x: tensor<2xf32>", "tensor<2xf32>")
    program += '\n{-# dialect_resources: { builtin: { two: "0x040000000000803F00000040", bits: "0x010000000100" } } #-}'
    with client.compile(program) as executable, client.device(0) as device:
        ones = bytearray(np.ones(2, np.float32).tobytes())
        (result,) = executable(client.buffer_from_host(ones, client._plugin.abi.PJRT_Buffer_Type_F32, [2], device))
        np.testing.assert_array_equal(np.frombuffer(bytes(result.to_host()), np.float32), [2, 1])


def test_parameters_by_the_hundred_thousand(client):
    """The time to check where they all are used to grow with the square of their number."""
    count = 100_000
    program = main(f"%0 = stablehlo.add %x, %a{count - 1} : tensor<f32>\nreturn %0 : tensor<f32>",
                   "%x: tensor<f32>, " + ", ".join(f"%a{i}: tensor<f32>" for i in range(count)))
    begin = time.monotonic()
    client.compile(program).close()
    assert time.monotonic() - begin < 60


def test_loops_that_carry_values_by_the_thousand(client):
    """The passes and the register allocator took time by the square of what a function carries: minutes of these."""
    count = 6000
    names = [f"%a{i}" for i in range(count)]
    types = ", ".join(["tensor<64xf32>"] * count)
    program = (
        f"func.func @main(%n: tensor<i32>, {', '.join(f'{name}: tensor<64xf32>' for name in names)}) -> ({types}) {{\n"
        "%zero = stablehlo.constant dense<0> : tensor<i32>\n%one = stablehlo.constant dense<1> : tensor<i32>\n"
        f"%r:{count + 1} = stablehlo.while(%i = %zero, {', '.join(f'%w{i} = {name}' for i, name in enumerate(names))})"
        f" : tensor<i32>, {types}\ncond {{\n"
        "%p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        "stablehlo.return %p : tensor<i1>\n} do {\n%j = stablehlo.add %i, %one : tensor<i32>\n"
        + "".join(f"%v{i} = stablehlo.add %w{i}, %w{(i + 1) % count} : tensor<64xf32>\n" for i in range(count))
        + f"stablehlo.return %j, {', '.join(f'%v{i}' for i in range(count))} : tensor<i32>, {types}\n}}\n"
        f"return {', '.join(f'%r#{i + 1}' for i in range(count))} : {types}\n}}"
    )
    begin = time.monotonic()
    client.compile(program).close()
    assert time.monotonic() - begin < 60


def test_results_by_the_ten_thousand(client):
    """The memory plan and the register allocator took time by the square of the steps: four minutes of these."""
    count = 80_000
    types = ", ".join(["tensor<f32>"] * count)
    program = (
        f"func.func @main({', '.join(f'%a{i}: tensor<f32>' for i in range(count))}) -> ({types}) {{\n"
        + "".join(f"%v{i} = stablehlo.sine %a{i} : tensor<f32>\n" for i in range(count))
        + f"return {', '.join(f'%v{i}' for i in range(count))} : {types}\n}}"
    )
    begin = time.monotonic()
    client.compile(program).close()
    assert time.monotonic() - begin < 60


def test_functions_by_the_ten_thousand(client):
    """To find those that nothing calls took time by the square of their number."""
    function = "\nfunc.func private @f{}(%x: tensor<f32>) -> tensor<f32> {{ return %x : tensor<f32> }}"
    begin = time.monotonic()
    client.compile(main("return %x : tensor<f32>") + "".join(function.format(n) for n in range(50_000))).close()
    assert time.monotonic() - begin < 60


def test_a_dimension_counted_from_the_last(client):
    """A sort along -1 is right, and used to end the process."""
    program = main("%r = \"stablehlo.sort\"(%v) ({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
                   "%c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
                   "stablehlo.return %c : tensor<i1>\n}) {dimension = -1 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>\n"
                   "return %r : tensor<2x3xf32>", "%v: tensor<2x3xf32>", "tensor<2x3xf32>")
    values = np.array([[3, 1, 2], [0, -1, 5]], np.float32)
    with client.compile(program) as executable, client.device(0) as device:
        f32 = client._plugin.abi.PJRT_Buffer_Type_F32
        (result,) = executable(client.buffer_from_host(bytearray(values.tobytes()), f32, [2, 3], device))
        got = np.frombuffer(bytes(result.to_host()), np.float32)
    np.testing.assert_array_equal(got.reshape(2, 3), np.sort(values))


def test_a_constant_that_does_not_fit(client):
    """Arrays of one number are written when a program runs, so that is where this one is refused."""
    program = main("%0 = stablehlo.constant dense<0.0> : tensor<1099511627776xf32>\n"
                   "return %0 : tensor<1099511627776xf32>", "", "tensor<1099511627776xf32>")
    with client.compile(program) as executable:
        with pytest.raises(pypjrt.errors.PjrtError, match="memory|the limit of"):
            executable()[0].to_host()


@pytest.mark.parametrize("options", [
    dict(num_partitions=-1), dict(num_partitions=10**9), dict(num_replicas=1000),
    dict(num_partitions=2**31 - 1, num_replicas=2**31 - 1)])
def test_device_counts_that_cannot_be(client, options):
    with pytest.raises(pypjrt.errors.PjrtError):
        client.compile(main("return %x : tensor<f32>"),
                       options=pypjrt.CompileOptions(**options)).close()


def test_arguments_that_do_not_fit(client):
    program = main("%0 = stablehlo.add %x, %y : tensor<2xf32>\nreturn %0 : tensor<2xf32>",
                   "%x: tensor<2xf32>, %y: tensor<2xf32>", "tensor<2xf32>")
    f32, f64 = client._plugin.abi.PJRT_Buffer_Type_F32, client._plugin.abi.PJRT_Buffer_Type_F64
    with client.compile(program) as executable, client.device(0) as device:
        def buffer(values, dtype=np.float32, kind=f32):
            values = bytearray(np.asarray(values, dtype).tobytes())
            return client.buffer_from_host(values, kind, [len(values) // np.dtype(dtype).itemsize],
                                           device)

        right = buffer([1, 2])
        for arguments in ([], [right], [right] * 3, [right, buffer([1, 2, 3])],
                          [right, buffer([1, 2], np.float64, f64)]):
            with pytest.raises(pypjrt.errors.PjrtError):
                executable(*arguments)[0].to_host()
        (result,) = executable(right, right)
        got = np.frombuffer(bytes(result.to_host()), np.float32)
        np.testing.assert_array_equal(got, [2, 4])

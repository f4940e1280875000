"""Programs and calls that lie about sizes, names, devices and layouts: errors or right results, nothing worse.

Each group runs in a child process, which must survive all of it.
"""

import os
import pathlib
import sys

import pytest

HUGE = 2**63 - 1
SUM = ("({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n%s = stablehlo.add %a, %b : tensor<f32>\n"
       "stablehlo.return %s : tensor<f32>\n})")


def main(body, result="%0", attributes="", argument=""):
    return (f"module @m {attributes and 'attributes {' + attributes + '}'} {{\n"
            f"func.func public @main(%x: tensor<4xf32> {argument}) -> tensor<4xf32> {{\n{body}\n"
            f"return {result} : tensor<4xf32>\n}}\n}}")


def custom_calls():
    layouts = ["dense<5> : tensor<1xindex>", f"dense<0> : tensor<{HUGE}xindex>", "dense<-1> : tensor<1xindex>"]
    for target in ("lapack_sgetrf_ffi", "lapack_ssyevd_ffi", "Sharding", "xla_ffi_python_cpu_callback", "annotate_device_placement"):
        for layout in layouts:
            yield main(f'%0 = "stablehlo.custom_call"(%x) {{call_target_name = "{target}", operand_layouts = [{layout}], '
                       f"result_layouts = [{layout}]}} : (tensor<4xf32>) -> tensor<4xf32>")
        yield main(f'%0 = stablehlo.custom_call @{target}(%x) {{api_version = 4 : i32, '
                   f"backend_config = {{a = dense<0> : tensor<{HUGE}xi8>}}}} : (tensor<4xf32>) -> tensor<4xf32>")


def shardings():
    add = '%0 = stablehlo.add %x, %x {mhlo.sharding = "TEXT"} : tensor<4xf32>'
    for text in ("{", f"{{devices=[{HUGE}]<=[{HUGE}]}}", "{devices=[2]<=[2,1]T(0,0)}", "{devices=[2]0,0}", "{devices=[2]1,99}",
                 "{maximal device=99999999999999999999}", "{" * 50000, "{devices=[2]<=[2] last_tile_dims={garbage}}"):
        yield main(add.replace("TEXT", text), argument=f'{{mhlo.sharding = "{text}"}}', attributes="mhlo.num_partitions = 2 : i32")


def meshes():
    for axes in ('"x"=1099511627776', '"x"=2, "x"=2', '"x"=0', f'"x"={HUGE}, "y"={HUGE}', ", ".join(f'"a{i}"=2' for i in range(70))):
        for dims in ('[{"x"}]', '[{"x", "x"}]', f'[{{"x":({HUGE})2}}]', '[{"x":(2)0}]', '[{}], replicated={"x"}', "[{}, {}]"):
            yield main("%0 = stablehlo.add %x, %x : tensor<4xf32>", argument=f"{{sdy.sharding = #sdy.sharding<@mesh, {dims}>}}",
                       attributes="mhlo.num_partitions = 2 : i32").replace("func.func", f"sdy.mesh @mesh = <[{axes}]>\nfunc.func", 1)


def groups():
    for group in ("[[0,0]]", "[[0,5]]", "[[0,-1]]", f"[[0,{HUGE}]]", "[[1,0]]"):
        yield main(f'%0 = "stablehlo.all_reduce"(%x) {SUM} {{replica_groups = dense<{group}> : tensor<1x2xi64>}} : '
                   "(tensor<4xf32>) -> tensor<4xf32>", attributes="mhlo.num_replicas = 2 : i32")
        yield main(f'%0 = "stablehlo.collective_permute"(%x) {{source_target_pairs = dense<{group}> : tensor<1x2xi64>}} : '
                   "(tensor<4xf32>) -> tensor<4xf32>", attributes="mhlo.num_replicas = 2 : i32")


def windows():
    for value in (0, -1, HUGE, -2**63, 2**40, 2**62):
        for name in ("stride", "lhs_dilate", "rhs_dilate"):
            yield main("%l = stablehlo.reshape %x : (tensor<4xf32>) -> tensor<1x1x4xf32>\n"
                       "%k = stablehlo.constant dense<1.0> : tensor<1x1x1xf32>\n"
                       "%c = stablehlo.convolution(%l, %k) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], "
                       f"window = {{{name} = [{value}], pad = [[{value}, 0]]}} {{batch_group_count = 1 : i64, "
                       "feature_group_count = 1 : i64} : (tensor<1x1x4xf32>, tensor<1x1x1xf32>) -> tensor<1x1x4xf32>\n"
                       "%0 = stablehlo.reshape %c : (tensor<1x1x4xf32>) -> tensor<4xf32>")
        yield main(f"%z = stablehlo.constant dense<0.0> : tensor<f32>\n%0 = stablehlo.pad %x, %z, low = [{value}], "
                   f"high = [{-value}], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>")
        yield main('%z = stablehlo.constant dense<0.0> : tensor<f32>\n%0 = "stablehlo.reduce_window"(%x, %z) ' + SUM +
                   f" {{window_dimensions = array<i64: {value}>, padding = dense<[[{value}, 0]]> : tensor<1x2xi64>}} : "
                   "(tensor<4xf32>, tensor<f32>) -> tensor<4xf32>")


def indices():
    for size, dims in (("4", "[7]"), (str(HUGE), "[0]"), ("-1", "[0]"), ("4", f"[{HUGE}]"), ("5", "[0]")):
        yield main('%i = stablehlo.constant dense<0> : tensor<1xi32>\n%0 = "stablehlo.gather"(%x, %i) {dimension_numbers = '
                   f"#stablehlo.gather<offset_dims = [0], start_index_map = {dims}, index_vector_dim = 0>, "
                   f"slice_sizes = array<i64: {size}>}} : (tensor<4xf32>, tensor<1xi32>) -> tensor<4xf32>")


def comparators():
    for body in ("stablehlo.return %a : tensor<f32>", "stablehlo.return", "",
                 "%c = stablehlo.constant dense<true> : tensor<i1>\nstablehlo.return %c : tensor<i1>",
                 '%r = "stablehlo.custom_call"(%a) {call_target_name = "nobody", has_side_effect = true} : (tensor<f32>) -> '
                 "tensor<f32>\n%c = stablehlo.compare LT, %a, %r : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
                 "stablehlo.return %c : tensor<i1>"):
        yield main(f'%0 = "stablehlo.sort"(%x) ({{\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n{body}\n}}) '
                   "{dimension = 0 : i64, is_stable = true} : (tensor<4xf32>) -> tensor<4xf32>")


def names():
    sine = "%0 = stablehlo.sine %x : tensor<4xf32>"
    yield main(sine).replace("@m ", "@" + "n" * 8_000_000 + " ")
    yield main(sine + ' loc("' + "n" * 8_000_000 + '")')
    yield main(sine + " loc(" + 'callsite("a" at ' * 400 + '"b"' + ")" * 400 + ")")
    yield ('#l0 = loc("a")\n' + "".join(f"#l{i} = loc(callsite(#l{i - 1} at #l{i - 1}))\n" for i in range(1, 60)) +
           main(sine + " loc(#l59)"))


def resources():
    for blob in ("0x", "0x04", "0x0400000000000080", "0x03000000" + "0000803F" * 4, "0x00000080" + "0000803F" * 4, "0x04000000" + "0000803F" * 3):
        yield (main("%0 = stablehlo.constant dense_resource<b> : tensor<4xf32>") +
               '\n{-#\n  dialect_resources: {\n    builtin: {\n      b: "' + blob + '"\n    }\n  }\n#-}\n')


def attributes():
    for text in ("tf.aliasing_output = 9 : i32", "tf.aliasing_output = -1 : i32", "jax.buffer_donor = 3 : i32",
                 "mhlo.memory_kind = 5 : i32", 'mhlo.layout_mode = "{9,9}"'):
        yield main("%0 = stablehlo.sine %x : tensor<4xf32>", argument="{" + text + "}")
    for text in ("mhlo.num_replicas = -1 : i32", "mhlo.num_partitions = 9223372036854775807 : i64", "mhlo.input_output_alias = [1]",
                 "mhlo.xla_entry_computation_parameter_layouts = [dense<[7]> : tensor<1xindex>]"):
        yield main("%0 = stablehlo.sine %x : tensor<4xf32>", attributes=text)


def types():
    for t in ("tensor<4x!quant.calibrated<f32<0.0:1.0>>>", "tensor<4x!quant.any<i8:f32>>", "tensor<4x!quant.uniform<i8:f32:7, {1.0,2.0}>>",
              "tensor<4x!quant.uniform<i8:f32, 1.0:99999999999>>", "tensor<4x!quant.uniform<i8:f64, 1.0e-320>>", "tensor<4xcomplex<i32>>",
              "tensor<?xf32, #stablehlo.bounds<9223372036854775807>>", "tensor<?xf32, #stablehlo.bounds<-1>>", "tensor<*xf32>", "tuple<>",
              "tensor<4xi1024>", "tensor<4xf128>", "tensor<4xindex>", "memref<4xf32>", "vector<4xf32>", "tensor<4xvector<4xf32>>", "none",
              "tensor<4x!stablehlo.token>", "tensor<4xf32, #sparse_tensor.encoding<{map = (d0) -> (d0 : compressed)}>>"):
        yield f"func.func @main(%x: {t}) -> {t} {{\nreturn %x : {t}\n}}"
        yield f"func.func @main(%x: {t}) -> tensor<4xf32> {{\n%0 = stablehlo.convert %x : ({t}) -> tensor<4xf32>\nreturn %0 : tensor<4xf32>\n}}"
        yield main(f'%0 = "stablehlo.custom_call"(%x) {{call_target_name = "Sharding"}} : (tensor<4xf32>) -> {t}', "%x")


def orders():
    """Sorts by what is no order, long enough for every algorithm."""
    for size in (17, 5000):
        for compare in ("%c = stablehlo.constant dense<true> : tensor<i1>", "%c = stablehlo.compare NE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>",
                        "%s = stablehlo.sine %a : tensor<f32>\n%c = stablehlo.compare LT, %s, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>"):
            yield main(f'%i = stablehlo.iota dim = 0 : tensor<{size}xf32>\n%v = stablehlo.sine %i : tensor<{size}xf32>\n%r = "stablehlo.sort"(%v) '
                       f"({{\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n{compare}\nstablehlo.return %c : tensor<i1>\n}}) {{dimension = 0 : i64}} : "
                       f"(tensor<{size}xf32>) -> tensor<{size}xf32>\n%0 = stablehlo.slice %r [0:4] : (tensor<{size}xf32>) -> tensor<4xf32>")


def many():
    """Operands by the thousand, and none at all."""
    for count in (0, 1, 1000):
        types, operands = ", ".join(["tensor<4xf32>"] * count), ", ".join(["%x"] * count)
        arguments = ", ".join(f"%a{i}: tensor<4xf32>" for i in range(count))
        rotated = ", ".join(f"%a{(i + 1) % count}" for i in range(count))
        yield main(f'%r:{max(count, 1)} = "stablehlo.while"({operands}) ({{\n^bb0({arguments}):\n%c = stablehlo.constant dense<false> : tensor<i1>\n'
                   f"stablehlo.return %c : tensor<i1>\n}}, {{\n^bb0({arguments}):\nstablehlo.return {rotated} : {types}\n}}) : ({types}) -> ({types})", "%x")
        yield main(f'%r = "stablehlo.tuple"({operands}) : ({types}) -> tuple<{types}>\n%0 = "stablehlo.get_tuple_element"(%r) '
                   f"{{index = {count} : i32}} : (tuple<{types}>) -> tensor<4xf32>")
        yield main(f'%r = "stablehlo.concatenate"({operands}) {{dimension = 0 : i64}} : ({types}) -> tensor<{4 * count}xf32>', "%x")
        yield main(f'%i = stablehlo.constant dense<-7> : tensor<i32>\n%0 = "stablehlo.case"(%i) '
                   f'({", ".join(["{ stablehlo.return %x : tensor<4xf32> }"] * count)}) : (tensor<i32>) -> tensor<4xf32>')


def configurations():
    for target in ("", "x" * 1_000_000, "mhlo.topk", "TopK", "SPMDFullToShardShape", "lapack_sgesdd_ffi", "xla_ffi_python_cpu_callback"):
        for text in ("api_version = 99 : i32", "called_computations = [@nobody]", "called_computations = [@main]", "backend_config = {k = 5 : i64}",
                     "mhlo.attributes = {k = 99999999 : i64}", "mhlo.attributes = {k = -1 : i64, largest = true}",
                     "output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [7], operand_index = 99, operand_tuple_indices = [3]>]",
                     "api_version = 4 : i32, backend_config = {a = [[[1]]], b = @main, c = unit, d = dense<0> : tensor<4xi8>, e = 9 : i128}"):
            yield main(f'%0 = "stablehlo.custom_call"(%x) {{call_target_name = "{target}", {text}}} : (tensor<4xf32>) -> tensor<4xf32>')


GROUPS = [custom_calls, shardings, meshes, groups, windows, indices, comparators, names, resources, attributes, types, orders, many, configurations]


def survive(programs, library):
    import pypjrt

    client = pypjrt.Client.create(str(library))
    f32 = client._plugin.abi.PJRT_Buffer_Type_F32
    for program in programs:
        for options in ({}, {"num_partitions": 2}, {"num_replicas": 2}):
            try:
                executable = client.compile(program, options=pypjrt.CompileOptions(**options))
                if not options:
                    with client.device(0) as device:
                        executable(client.buffer_from_host(bytearray(16), f32, [4], device))[0].to_host()
            except pypjrt.errors.PjrtError as error:
                assert str(error)


def run_child(library, name):
    import subprocess

    return subprocess.run([sys.executable, __file__, str(library), name], capture_output=True, text=True, timeout=300,
                          env=os.environ | {"ISTHMUS_NUM_DEVICES": "2", "PYTHONPATH": str(pathlib.Path(__file__).parent)})


@pytest.mark.parametrize("programs", GROUPS, ids=lambda group: group.__name__)
def test_survives(library, programs):
    done = run_child(library, programs.__name__)
    assert done.returncode == 0, f"{done.returncode}: {done.stderr[-2000:]}"


def run_endless(library):
    os.environ |= {"ISTHMUS_LIBRARY_PATH": library, "JAX_PLATFORMS": "isthmus"}
    sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
    import jax

    jax.jit(lambda x: jax.lax.while_loop(lambda i: i != -1, lambda i: (i + 1) & 1, x))(0)
    os._exit(42)  # without waiting for it


def test_a_loop_that_never_ends_does_not_block_who_runs_it(library):
    done = run_child(library, run_endless.__name__)
    assert done.returncode == 42, f"{done.returncode}: {done.stderr[-2000:]}"


if __name__ == "__main__":
    if sys.argv[2] == run_endless.__name__:
        run_endless(sys.argv[1])
    survive(next(group for group in GROUPS if group.__name__ == sys.argv[2])(), sys.argv[1])

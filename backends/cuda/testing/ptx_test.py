"""A good sample of all operations is compiled to PTX and assembled, for each generation of GPUs."""

import importlib.util
import pathlib
import re
import subprocess
import sys

_spec = importlib.util.spec_from_file_location("assemble", pathlib.Path(__file__).with_name("assemble.py"))
assemble = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(assemble)

# What may run on the host, over copies. Everything else has kernels.
ON_HOST = {
    "all_gather", "all_reduce", "all_to_all", "cholesky", "collective_broadcast", "collective_permute",
    "partition_id", "reduce_scatter", "replica_id", "triangular_solve",
}

programs = assemble.op_cases.judged(
    "isthmus-ptx", assemble.ptxas_path, "NO PTXAS: pip install -r dev.d/requirements/cuda.txt", assemble.run, 150)


def test_every_program_assembles(programs):
    assert len(programs) > 250
    failed = [f"{one.op} {one.type} {one.name}, sm_{one.capability}: {one.error}" for one in programs if one.error]
    assert not failed, "\n".join(failed)


def test_what_has_a_kernel_has_one_on_the_device(programs):
    functions = {(one.op, function.split(" at ")[0].removeprefix("stablehlo."))
                 for one in programs for function in one.on_host}
    unexpected = {(op, function) for op, function in functions
                  if function not in ON_HOST and not function.startswith(("chlo.", "custom_call @"))}
    assert not unexpected
    # What has got a kernel is not allowed to lose it again.
    assert ON_HOST <= {function for _, function in functions}
    # Most of what is compiled is on the device.
    assert sum(one.kernels > 0 for one in programs) > 0.85 * len(programs)


def test_products_of_narrow_types_are_on_tensor_cores(programs):
    for one in programs:
        if one.name.startswith("tensor_cores"):
            text = one.file.read_text()
            assert "mma.sync.aligned.m16n8k" in text and "cp.async.cg.shared.global" in text
            assert "ldmatrix.sync.aligned" in text
            # Static shared memory of a kernel.
            assert 0 < one.shared <= 48 << 10


def test_rows_are_reduced_by_groups(programs):
    rows = [one for one in programs if one.name in ("rows_by_groups", "softmax")]
    assert len(rows) == 4
    assert all(one.shared > 0 for one in rows)
    assert all("ld.global.v4" in one.file.read_text() for one in rows)
    # Each warp in registers first.
    assert all("shfl.sync.bfly" in one.file.read_text() and one.shared <= 2 * 8 * 4 for one in rows)


def test_a_row_that_its_threads_hold_is_read_once(programs):
    texts = named(programs, "row_in_registers")
    assert len(texts) == 2
    for text in texts:
        assert text.count("ld.global") == 1 and "bar.sync" in text and "max.NaN.f32" in text


def test_sums_of_one_array_are_one_loop(programs):
    texts = named(programs, "sums_in_one_loop")
    assert len(texts) == 2
    for text in texts:
        # Four steps of the loop, each with one element of it.
        assert text.count("ld.global.b16") == 4 and text.count("fma.rn.f32") == 4


def test_neighbours_are_added_to_memory_together(programs):
    texts = {one.capability: one.file.read_text() for one in programs if (one.op, one.name) == ("scatter", "rows")}
    vector = "red.relaxed.gpu.global.add.v4.f32"
    assert vector in texts[90] and "atom.global.add.f32" not in texts[90]
    assert vector not in texts[80] and "atom.global.add.f32" in texts[80]


def test_work_on_sums_is_done_by_the_products_kernel(programs):
    found = {name: [one for one in programs if one.name == name]
             for name in ("bias_relu_of_tensor_cores", "bias_gelu_of_tensor_cores", "bias_gelu_of_tiles")}
    assert all(len(rows) == 2 and all(one.kernels == 1 for one in rows) for rows in found.values())
    for name, rows in found.items():
        assert all(("mma.sync" in one.file.read_text()) == name.endswith("tensor_cores") for one in rows)


def test_attention_stores_no_scores_where_threads_multiply(programs):
    rows = [one for one in programs if one.name == "attention"]
    assert len(rows) == 2 and all(one.kernels == 1 and one.shared > 16 << 10 for one in rows)
    # Lanes of a row compare maxima in registers.
    assert all("shfl.sync.bfly" in one.file.read_text() for one in rows)
    narrow = [one for one in programs if one.name == "attention_on_tensor_cores"]
    assert len(narrow) == 2 and all("mma.sync" in one.file.read_text() for one in narrow)


def test_convolutions_without_tensor_cores_multiply_tiles(programs):
    tiles = [one for one in programs if one.name == "implicit_product"]
    assert len(tiles) == 2 and all(one.shared > 8 << 10 for one in tiles)


def test_products_with_vectors_share_sums(programs):
    along = [one for one in programs if one.name == "matrix_vector"]
    assert len(along) == 2 and all(one.shared > 0 and one.kernels == 1 and "ld.global.v4" in one.file.read_text()
                                   for one in along)
    # Few columns: groups share their sums, which a second kernel adds up.
    across = [one for one in programs if one.name == "vector_matrix"]
    assert len(across) == 2 and all(one.shared > 0 and one.kernels == 2 for one in across)


def test_groups_transpose_squares(programs):
    squares = [one for one in programs if one.op == "transpose" and one.name == "matrix"]
    assert len(squares) == 2 and all(one.shared == 32 * 33 * 4 for one in squares)


def named(programs, name):
    return [one.file.read_text() for one in programs if one.name == name]


def test_narrow_updates_that_meet_are_added_by_one_instruction(programs):
    texts = named(programs, "updates_that_meet")
    assert len(texts) == 2 and all("atom.global.add.noftz.f16" in text and ".cas." not in text for text in texts)


def test_lines_are_scanned_by_groups_or_by_columns(programs):
    parts = [one for one in programs if one.name == "scan_in_parts"]
    assert len(parts) == 2 and all(one.kernels == 3 and one.shared > 0 for one in parts)
    columns = [one for one in programs if one.name == "scan_of_columns"]
    assert len(columns) == 2 and all(one.kernels == 1 and one.shared == 0 for one in columns)


def test_threads_read_and_write_sixteen_bytes(programs):
    texts = named(programs, "neighbours")
    assert len(texts) == 4
    for text in texts:
        assert re.search(r"ld\.global\S*\.v4\.[bfu]32", text) and re.search(r"st\.global\.v4\.[bfu]32", text)


# Blocks have 256 threads: a loop that all of them ran would race in its own memory.
def test_loop_is_one_kernel_of_one_thread(programs):
    texts = named(programs, "one_item")
    assert len(texts) == 2 and all("%tid.x" in text.split(".entry")[-1] for text in texts)


def test_sorts_and_transforms_are_on_the_device(programs):
    found = [one for one in programs if one.name in ("keys_and_values", "mixed_factors")]
    assert len(found) == 4 and not any(one.on_host for one in found)


def test_registers_hardly_spill(programs):
    spilling = [f"{one.op} {one.type} {one.name}, sm_{one.capability}: {one.spills}"
                for one in programs if one.spills > 64]
    assert not spilling


def test_the_check_for_a_gpu_runs():
    """Here JAX's CPU client is compared with itself; what the check says of a GPU only a GPU can tell."""
    script = pathlib.Path(__file__).with_name("gpu_check.py")
    result = subprocess.run(
        [sys.executable, script, "--platform", "cpu", "--only", "^(integers|product int8|executables serialize)"],
        capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "3 of 3 are right" in result.stdout

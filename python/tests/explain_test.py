"""Which peak the kernels of a program are measured against, by programs without and with several types."""

import re
import subprocess
import sys

import pytest

from isthmus import client, explain, profiler

# A mask of int8 beside float products; a product of int8; a convolution of bfloat16.
PROGRAM = """
func.func @main(%x: tensor<16x32xf32>, %w: tensor<32x64xf32>, %m: tensor<16x64xi8>, %q: tensor<64x8xi8>,
                %i: tensor<1x8x8x4xbf16>, %k: tensor<3x3x4x16xbf16>)
    -> (tensor<16x64xf32>, tensor<16x8xi32>, tensor<1x6x6x16xbf16>) {
  %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<16x32xf32>, tensor<32x64xf32>) -> tensor<16x64xf32>
  %f = stablehlo.convert %m : (tensor<16x64xi8>) -> tensor<16x64xf32>
  %t = stablehlo.multiply %p, %f : tensor<16x64xf32>
  %n = stablehlo.dot_general %m, %q, contracting_dims = [1] x [0]
      : (tensor<16x64xi8>, tensor<64x8xi8>) -> tensor<16x8xi32>
  %c = stablehlo.convolution(%i, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {}
      {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x8x8x4xbf16>, tensor<3x3x4x16xbf16>) -> tensor<1x6x6x16xbf16>
  return %t, %n, %c : tensor<16x64xf32>, tensor<16x8xi32>, tensor<1x6x6x16xbf16>
}"""


def step(name, flops):
    result = profiler.Step(name)
    result.count, result.seconds, result.flops = 1, 1e-6, flops
    return result


def test_kernels_are_measured_by_the_type_of_their_products():
    arithmetic = explain.Arithmetic(client.compile(PROGRAM).optimized_program())
    assert arithmetic.types() == {"f32", "i8", "bf16"}
    steps = [step("a:1 fusion(dot_general, convert, multiply)", 2 * 16 * 32 * 64 + 2 * 16 * 64),
             step("a:2 dot_general", 2 * 16 * 64 * 8), step("a:3 convolution", 2 * 6 * 6 * 16 * 3 * 3 * 4),
             step("a:4 multiply", 16 * 64)]
    peaks = {"f32": 1e12, "bf16": 2e12, "i8": 4e12}
    report = explain.Report("a", 1e-6, steps, 1, ("CPU", peaks, 1e9), arithmetic, [])
    assert [row["type"] for row in report.rows] == ["f32", "i8", "bf16", "f32"]
    for row in report.rows:
        assert row["peak"] == pytest.approx(row["flops"] * 1e6 / peaks[row["type"]])
    assert "1000 GFLOP/s (f32), 2000 GFLOP/s (bf16), 4000 GFLOP/s (i8), 1.0 GB/s" in report.head()


@pytest.mark.parametrize("left, right, result, expected", [
    ("f32", "f32", "f32", {"f32"}), ("f32", "i8", "f32", {"f32"}), ("i8", "i8", "i32", {"f32", "i8"}),
    ("bf16", "bf16", "f32", {"f32", "bf16"}), ("f64", "f64", "f64", {"f64"}),
    ("complex<f64>", "complex<f64>", "complex<f64>", {"f64"}), ("i32", "i32", "i32", {"f32"}),
    ("f8E4M3FN", "f8E4M3FN", "f32", {"f32"}), ("ui8", "i8", "i32", {"f32", "i8"}),
])
def test_type_of_a_product_is_the_wider_of_its_operands(left, right, result, expected):
    text = f"""
    %0 = "stablehlo.dot_general"(%a, %b) <{{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1],\
 rhs_contracting_dimensions = [0]>}}> : (tensor<?x3x{left}>, tensor<3x2x{right}>) -> tensor<?x2x{result}>
    "func.return"(%0) : (tensor<?x2x{result}>) -> ()
"""
    assert explain.Arithmetic(text).types() == expected


def test_programs_without_products_are_measured_by_floats():
    text = client.compile("""
func.func @main(%x: tensor<4xi8>) -> tensor<4xi8> {
  %y = stablehlo.add %x, %x : tensor<4xi8>
  return %y : tensor<4xi8>
}""").optimized_program()
    assert explain.Arithmetic(text).types() == {"f32"}


def test_a_reader_that_has_seen_enough_gets_no_traceback(tmp_path):
    """As `isthmus explain … | head` is: the page is written all the same."""
    (tmp_path / "m.mlir").write_text(PROGRAM)
    done = subprocess.run(
        f"{sys.executable} -m isthmus explain m.mlir --repeat 1 --html page.html | true; "
        f"{sys.executable} -m isthmus info --brief | true",
        shell=True, cwd=tmp_path, capture_output=True, text=True)
    assert done.stderr == ""
    page = (tmp_path / "page.html").read_text()
    assert "dot_general" in page
    # What the CPU's own functions were chosen to do, and why nothing else.
    assert re.search(r"convolution.* is computed in the form \w+ for \w+ \(depthwise: few groups", page)

"""Sharded programs compile, give what XLA:CPU gives, and move as little as its collectives do."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

import collective_bytes
import sharded_programs

# What still moves more than a tenth more than XLA's program: at most so many bytes. No new ones, and
# smaller only.
MORE_THAN_XLA = {
    "tiled": 10752,
}


@pytest.fixture(scope="session")
def rows():
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("JAX_PLATFORMS", "ISTHMUS_NUM_DEVICES", "XLA_FLAGS")}
    result = subprocess.run(
        [sys.executable, str(pathlib.Path(sharded_programs.__file__))], env=environment,
        capture_output=True, text=True, timeout=900)
    assert result.returncode == 0, result.stderr
    return {row["name"]: row for row in map(json.loads, result.stdout.splitlines())}


@pytest.mark.parametrize(
    "name", [name for name in sharded_programs.PROGRAMS if name not in sharded_programs.ON_DEMAND])
def test_program(rows, name):
    row = rows[name]
    assert "error" not in row, row["error"]
    assert row["distance"] < 1e-4
    limit = MORE_THAN_XLA.get(name, 1.1 * row["xla"]["bytes"])
    assert row["isthmus"]["bytes"] <= limit, row


def test_bytes_of_hlo():
    text = """
%add (a: f32[], b: f32[]) -> f32[] {
}
%body (p: (s32[], f32[4])) -> (s32[], f32[4]) {
  %g = f32[8,4]{1,0} all-gather(%x), channel_id=1, replica_groups=[2,4]<=[8], dimensions={0}
}
ENTRY %main (p: f32[4]) -> f32[4] {
  %w = (s32[], f32[4]) while(%t), condition=%cond, body=%body
  ROOT %r = (f32[4]{0}, s32[2]{0}) all-reduce(%a, %b), replica_groups={{0,1}}, to_apply=%add
}
"""
    # 3 gathers of 128 bytes among 4, of which a device sends three quarters; 24 bytes summed by two.
    assert collective_bytes.of_hlo(text, 3) == {
        "counts": {"all-gather": 3, "all-reduce": 1}, "bytes": 3 * 96 + 24}


def test_bytes_of_mlir():
    text = """
func.func @main() {
  %0 = stablehlo.while(%a = %b) : tensor<4xf32>
  cond {
    stablehlo.return %c : tensor<i1>
  } do {
    %1 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> : (tensor<4xf32>) -> tensor<16xf32>
    stablehlo.return %2 : tensor<4xf32>
  }
  %3 = "stablehlo.all_reduce"(%0) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    stablehlo.return %l : tensor<f32>
  }) : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
}
"""
    assert collective_bytes.of_mlir(text, 3) == {
        "counts": {"all-gather": 3, "all-reduce": 1}, "bytes": 3 * 48 + 32}

"""The benchmark's table and chart, of made-up times, and that its workloads can be run."""

import importlib
import importlib.util
import pathlib
import sys
import xml.etree.ElementTree

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
report = pytest.importorskip("report")


def made_up():
    fast = {"run": {"isthmus": [2e-3, 1e-3], "JAX CPU": [2e-3]}, "run_ratio": 2.0,
            "compile": {"isthmus": [0.1], "JAX CPU": [0.4]}, "compile_ratio": 4.0, "agree": True,
            "peak": {"share": 0.5, "bound": "compute"}}
    slow = fast | {"run_ratio": 0.5, "compile_ratio": 1.0, "agree": False}
    return {"jax": "0", "threads": 2, "peaks": {"f32": 1e11, "bf16": 2e11, "f64": 5e10, "f16": 2e11, "i8": 4e11,
                                                "bytes": 1e10},
            "workloads": {"fast <one>": fast, "slow": slow, "broken": {"error": "no code\nmore"}}}


def test_the_table_has_every_workload():
    text = report.markdown(made_up())
    assert "| fast <one> | 1.00 ms | 2.00 ms | 2.00 | 50% c | 100.00 ms | 400.00 ms | 4.00 |" in text
    assert "| slow **results differ** |" in text and "| broken | no code |" in text
    assert "run: geometric mean 1.00, 1 of 2 at 0.95 or above, the slowest 0.50" in text


def test_shares_of_a_peak_that_nobody_measured_have_no_column():
    made = made_up()
    for workload in made["workloads"].values():
        workload.pop("peak", None)
    text = report.markdown(made)
    assert "of peak |" not in text and "| slow **results differ** | 1.00 ms | 2.00 ms | 0.50 | 100.00 ms |" in text
    assert "| broken | no code | | | | | | |\n" in text


def test_the_precision_of_both_sides_is_said():
    made = made_up() | {"platforms": ["isthmus_cuda", "JAX CUDA"], "device": "H100", "precision": "tf32", "workloads": {}}
    assert "f32 are in TF32 on both sides" in report.markdown(made)
    assert "on both sides" not in report.markdown(made_up())


def test_another_platform_is_named():
    made = made_up()
    times = {"xpu": [1e-3], "isthmus": [2e-3]}
    made["workloads"]["fast <one>"] |= {"run": times, "compile": times}
    # Not large.
    made["workloads"]["slow"] |= {"run": {"xpu": [2e-4], "isthmus": [1e-4]}, "compile": times}
    text = report.markdown(made | {"platforms": ["xpu", "isthmus"]})
    assert text.startswith("# Platform xpu beside isthmus") and "| workload | run | isthmus |" in text
    assert "- of 1 that take 1.00 ms or more there, run: geometric mean 2.00" in text
    assert "of xpu beside isthmus" in report.chart(made | {"platforms": ["xpu", "isthmus"]})


def test_the_chart_is_xml_with_a_bar_for_each_ratio():
    root = xml.etree.ElementTree.fromstring(report.chart(made_up()))
    bars = [e for e in root if e.tag.endswith("rect") and e.get("height") == "9"]
    assert len(bars) == 2 and bars[0].get("fill") != bars[1].get("fill")
    assert float(bars[0].get("width")) == pytest.approx(float(bars[1].get("width")), abs=0.2)


def test_the_share_of_peak_is_that_of_the_products_type():
    peaks = {"f32": 100.0, "bf16": 200.0, "f64": 50.0, "i8": 400.0, "bytes": 10.0}
    x = np.ones(5, np.float32)

    def product(left, right):
        return (f'%2 = "stablehlo.dot_general"(%0, %1) <{{d = #stablehlo.dot<lhs_contracting_dimensions = [1], '
                f'rhs_contracting_dimensions = [0]>}}> : (tensor<4x4x{left}>, tensor<4x4x{right}>) -> tensor<4x4xf32>\n')

    assert report.share_of_peak(100, "", (x, x), 10.0, peaks) == {"share": pytest.approx(0.4), "bound": "memory"}
    # Arguments of another type do not count.
    for text, share in [("", 4.0), (product("bf16", "bf16"), 2.0), (product("i8", "i8"), 1.0), (product("bf16", "f32"), 4.0),
                        (product("i8", "i8") + product("bf16", "bf16"), 1.5)]:
        assert report.share_of_peak(4000, text, (x.astype(np.int8), x), 10.0, peaks) == {
            "share": pytest.approx(share), "bound": "compute"}


def test_there_are_programs_of_all_kinds(monkeypatch):
    found = {}
    for name in ("workloads", "more_workloads", "everyday", "programs", "further", "accelerator"):
        module = importlib.import_module(name)
        # Their arguments take seconds to make.
        monkeypatch.setattr(module, "values", lambda *shape, **options: np.broadcast_to(
            np.float32(1), shape))
        named = module.workloads()
        assert not found.keys() & named.keys()
        found |= named
    assert len(found) >= 60
    for name in ("everyday", "programs", "further", "accelerator"):
        assert importlib.import_module(name).X64 <= found.keys()


def test_the_table_beside_pytorch(monkeypatch):
    folder = pathlib.Path(report.__file__).with_name("pytorch")
    monkeypatch.syspath_prepend(folder)
    spec = importlib.util.spec_from_file_location("beside_pytorch", folder / "compare.py")
    beside_pytorch = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(beside_pytorch)
    assert beside_pytorch.largest_difference([np.array([1., 2.])], [np.array([1., 4.])]) == 0.5
    row = {"name": "a step", "type": "f32", "run": {"isthmus": 2e-3, "eager": 3e-3, "compiled": 1e-3},
           "first": {"isthmus": 1.0, "eager": 0.5, "compiled": 20.0}, "agree": False}
    table = beside_pytorch.markdown({"jax": "1", "torch": "2", "threads": 3, "workloads": [row]})
    assert table.splitlines()[-1] == (
        "| a step **results differ** | f32 | 2.00 | 3.00 | 1.50 | 1.00 | 0.50 | 1.0 s | 0.5 s | 20.0 s |")

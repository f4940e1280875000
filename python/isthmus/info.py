"""python -m isthmus info: the platforms of this installation, their devices and drivers, and what each can
do, found out by compiling and running a small program of each kind."""

import ctypes
import os
import pathlib
import time

import numpy as np

import isthmus
from isthmus import cuda_backend, further_platforms, xpu_backend
from isthmus.client import Client, Error

# By kind: a program of one argument, `T` its element type, and the types that are tried.
_REAL = ("f64", "f32", "f16", "bf16")
PROBES = {
    "elementwise": (("f64", "f32", "f16", "bf16", "i32", "complex<f32>"), (16,), """
      %0 = stablehlo.add %x, %x : tensor<16xT>
      return %0 : tensor<16xT>"""),
    "matrix product": (_REAL + ("i32",), (8, 8), """
      %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0]
          : (tensor<8x8xT>, tensor<8x8xT>) -> tensor<8x8xT>
      return %0 : tensor<8x8xT>"""),
    "convolution": (_REAL, (1, 8, 8, 1), """
      %0 = stablehlo.slice %x [0:1, 0:3, 0:3, 0:1] : (tensor<1x8x8x1xT>) -> tensor<1x3x3x1xT>
      %1 = stablehlo.reshape %0 : (tensor<1x3x3x1xT>) -> tensor<3x3x1x1xT>
      %2 = stablehlo.convolution(%x, %1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
          window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
          : (tensor<1x8x8x1xT>, tensor<3x3x1x1xT>) -> tensor<1x6x6x1xT>
      return %2 : tensor<1x6x6x1xT>"""),
    "reduction": (_REAL, (8, 8), """
      %0 = stablehlo.constant dense<0.0> : tensor<T>
      %1 = stablehlo.reduce(%x init: %0) applies stablehlo.add across dimensions = [1]
          : (tensor<8x8xT>, tensor<T>) -> tensor<8xT>
      return %1 : tensor<8xT>"""),
    "sort": (("f32", "i32"), (16,), """
      %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
      ^bb0(%a: tensor<T>, %b: tensor<T>):
        %1 = stablehlo.compare LT, %a, %b : (tensor<T>, tensor<T>) -> tensor<i1>
        stablehlo.return %1 : tensor<i1>
      }) : (tensor<16xT>) -> tensor<16xT>
      return %0 : tensor<16xT>"""),
    "loop": (("f32",), (16,), """
      %c = stablehlo.constant dense<0> : tensor<i32>
      %0:2 = stablehlo.while(%i = %c, %y = %x) : tensor<i32>, tensor<16xT>
        cond {
          %n = stablehlo.constant dense<3> : tensor<i32>
          %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %1 : tensor<i1>
        } do {
          %one = stablehlo.constant dense<1> : tensor<i32>
          %2 = stablehlo.add %i, %one : tensor<i32>
          %3 = stablehlo.add %y, %y : tensor<16xT>
          stablehlo.return %2, %3 : tensor<i32>, tensor<16xT>
        }
      return %0#1 : tensor<16xT>"""),
    "Fourier transform": (("complex<f32>",), (16,), """
      %0 = stablehlo.fft %x, type = FFT, length = [16] : (tensor<16xT>) -> tensor<16xT>
      return %0 : tensor<16xT>"""),
    "Cholesky factor": (("f64", "f32"), (1, 1), """
      %0 = stablehlo.cholesky %x, lower = true : tensor<1x1xT>
      return %0 : tensor<1x1xT>"""),
}
_NUMPY = {"f64": "f8", "f32": "f4", "f16": "f2", "i32": "i4", "complex<f32>": "c8"}


def _ones(element: str, shape: tuple) -> np.ndarray:
    if element != "bf16":
        return np.ones(shape, _NUMPY[element])
    import ml_dtypes

    return np.ones(shape, ml_dtypes.bfloat16)


def _text(element: str, shape: tuple, body: str) -> str:
    argument = "x".join([*map(str, shape), element])
    result = body.rsplit("tensor<", 1)[1].rstrip(">").replace("T", element)
    return (f"func.func @main(%x: tensor<{argument}>) -> tensor<{result}> {{"
            f"{body.replace('T>', element + '>').replace('xT', 'x' + element)}\n}}")


def probe(client: Client, element: str, shape: tuple, body: str) -> str:
    """The time of a run in microseconds as text, or why there is none."""
    try:
        array = _ones(element, shape)
    except ImportError:
        return "needs ml_dtypes"
    try:
        argument = client.put(array)
        program = client.compile(_text(element, shape, body).encode())
        np.asarray(program(argument))
        begin = time.perf_counter()
        np.asarray(program(argument))
        return f"{(time.perf_counter() - begin) * 1e6:.0f} us"
    except Error as error:
        return f"no ({error.code})"


def _attribute(value) -> str:
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _is_plugin(path: pathlib.Path) -> bool:
    try:
        return hasattr(ctypes.CDLL(str(path)), "GetPjrtApi")
    except OSError:
        return True  # why it does not load is worth to be shown


def libraries() -> list:
    """The plugins there are: this one's, and what lies beside it or is named by the environment."""
    first = isthmus.library_path()
    found = [first, *sorted(first.parent.glob("libisthmus_*.so"))]
    found += [pathlib.Path(value) for name, value in os.environ.items()
              if name.startswith("ISTHMUS_") and name.endswith(("_LIBRARY_PATH", "_PLUGIN_PATH"))]
    found += further_platforms.named().values()
    # What tests build has no users.
    own = [path for path in found if not path.stem.endswith(("_test", "_simulated", "_simulated_kernels", "_skeleton"))]
    there = dict.fromkeys(path.resolve() for path in own if path.is_file())
    return [path for path in there if _is_plugin(path)]


def _name_drivers(library) -> None:
    """Lets a plugin find the drivers and libraries of PyPI's packages, as it does under JAX."""
    for backend in (xpu_backend, cuda_backend):
        if pathlib.Path(library).stem == f"libisthmus_{backend.PLATFORM}":
            backend.set_environment()


def show(library, runs_probes: bool = True) -> bool:
    """Prints what a plugin has; False if it has no device."""
    print(library)
    _name_drivers(library)
    try:
        client = Client(library)
    except (Error, OSError) as error:
        print(f"  no devices: {error}")
        return False
    print(f"  platform  {client.platform}\n  version   {client.version}")
    for device in client.describe_devices():
        print(f"  device    {device.pop('name')}")
        for name, value in device.items():
            print(f"    {name:<24}{_attribute(value)}")
    if runs_probes:
        for kind, (elements, shape, body) in PROBES.items():
            answers = [f"{element} {probe(client, element, shape, body)}" for element in elements]
            print(f"  {kind:<20}{', '.join(answers)}")
    return True


def main(paths, runs_probes: bool = True) -> int:
    shown = [show(path, runs_probes) for path in paths or libraries()]
    return 0 if any(shown) else 1

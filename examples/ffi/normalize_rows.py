"""Compiles the handler beside this file, registers it with JAX, and calls it from a jitted function."""

import ctypes
import os
import pathlib
import subprocess
import tempfile

import jax
import numpy as np

source = pathlib.Path(__file__).with_suffix(".cc")
library = pathlib.Path(tempfile.mkdtemp()) / "normalize_rows.so"
subprocess.run([os.environ.get("CXX", "c++"), "-std=c++17", "-O2", "-fPIC", "-shared",
                f"-I{jax.ffi.include_dir()}", source, "-o", library], check=True)
handler = ctypes.CDLL(str(library)).NormalizeRows
jax.ffi.register_ffi_target("normalize_rows", jax.ffi.pycapsule(handler), platform="isthmus")


@jax.jit
def normalize_rows(x):
    call = jax.ffi.ffi_call("normalize_rows", jax.ShapeDtypeStruct(x.shape, x.dtype),
                            vmap_method="sequential")
    return call(x, epsilon=np.float32(1e-6))


x = np.array([[3, 4], [5, 12]], np.float32)
y = normalize_rows(x)
print("on isthmus" if y.devices() <= set(jax.devices("isthmus")) else "elsewhere")
print(np.asarray(y, np.float64).round(4).tolist())
print(jax.vmap(normalize_rows)(np.stack([x, x * 2])).shape)

"""Compiles a program of StableHLO and runs it on NumPy arrays."""

import pathlib

import isthmus
import numpy as np

add = isthmus.compile(pathlib.Path(__file__).with_name("add.mlir"))
total = add(np.arange(4, dtype=np.float32), np.full(4, 10, np.float32))  # returns at once
print(np.asarray(total))  # waits

"""Writes the HLO protos of this folder that PyTorch/XLA makes: torch_*.hlo, programs of our own.

Usage: PJRT_DEVICE=CPU CPU_NUM_DEVICES=4 python make_torch_corpus.py   (needs torch_xla; the files that
are committed were made with torch_xla 2.9.0)
"""

import pathlib

import numpy as np
import torch
import torch_xla
import torch_xla.core.xla_model as xm
import torch_xla.distributed.spmd as xs
import torch_xla.runtime as xr

HERE = pathlib.Path(__file__).parent


def write(name, *tensors):
    (HERE / f"torch_{name}.hlo").write_bytes(torch_xla._XLAC._get_xla_tensors_hlo_proto(list(tensors)))


def main():
    xr.use_spmd()
    device = torch_xla.device()
    x = torch.arange(24.0).reshape(4, 6).to(device)
    write("gelu", torch.nn.functional.gelu(x))
    values, vectors = torch.linalg.eigh(x @ x.T)
    write("eigh", values, vectors)
    mask = x > 3
    write("masked_scatter", x.masked_scatter(mask, -x))

    mesh = xs.Mesh(np.arange(4), (2, 2), ("rows", "columns"))
    left, right = torch.ones(8, 16).to(device), torch.ones(16, 4).to(device)
    xs.mark_sharding(left, mesh, ("rows", None))
    xs.mark_sharding(right, mesh, (None, "columns"))
    product = left @ right
    xs.mark_sharding(product, mesh, ("rows", "columns"))
    write("sharded", torch.relu(product))


if __name__ == "__main__":
    main()

"""Times generated kernels beside JAX's CPU client, on one thread each.

Usage: kernel_bench.py RUN_KERNEL_BINARY [name substring]
"""
import os
import subprocess
import sys
import time

os.environ['JAX_PLATFORMS'] = 'cpu'
os.environ['XLA_FLAGS'] = '--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1'
os.sched_setaffinity(0, {1})
import jax
import numpy as np
from jax import lax

sys.path.insert(0, os.path.dirname(__file__))
from kernel_check import Runner, fusion_text

rng = np.random.default_rng(0)


def f32(*shape):
    return rng.standard_normal(shape, dtype=np.float32)


def softmax(x):
    m = lax.broadcast_in_dim(lax.reduce(x, np.float32(-np.inf), lax.max, (1,)), x.shape, (0,))
    e = lax.exp(x - m)
    return e / lax.broadcast_in_dim(lax.reduce(e, np.float32(0), lax.add, (1,)), x.shape, (0,))


def layer_norm(x, g, b):
    n = np.float32(x.shape[1])
    mean = lax.reduce(x, np.float32(0), lax.add, (1,)) / n
    d = x - lax.broadcast_in_dim(mean, x.shape, (0,))
    var = lax.reduce(d * d, np.float32(0), lax.add, (1,)) / n
    y = d * lax.broadcast_in_dim(lax.rsqrt(var + np.float32(1e-5)), x.shape, (0,))
    return y * lax.broadcast_in_dim(g, x.shape, (1,)) + lax.broadcast_in_dim(b, x.shape, (1,))


CASES = {
    'exp_tanh_4m': (lambda x: lax.exp(lax.tanh(x) * np.float32(0.5)) + x, [f32(4 << 20)], 'loop'),
    'add_4m': (lambda x, y: x + y, [f32(4 << 20), f32(4 << 20)], 'loop'),
    'row_sum_4096': (lambda x: lax.reduce(x, np.float32(0), lax.add, (1,)), [f32(4096, 4096)], 'reduce'),
    'col_sum_4096': (lambda x: lax.reduce(x, np.float32(0), lax.add, (0,)), [f32(4096, 4096)], 'reduce'),
    'full_sum_4096': (lambda x: lax.reduce(x, np.float32(0), lax.add, (0, 1)), [f32(4096, 4096)], 'reduce'),
    'softmax': (softmax, [f32(2048, 4096)], 'row'),
    'layer_norm': (layer_norm, [f32(4096, 1024), f32(1024), f32(1024)], 'row'),
    'transpose': (lambda x: lax.transpose(x, (1, 0)), [f32(2048, 4096)], 'transpose'),
    'transpose_0213': (lambda x: lax.transpose(x, (0, 2, 1, 3)), [f32(8, 256, 16, 64)], 'transpose'),
    'bias_relu': (lambda x, b: lax.max(x + lax.broadcast_in_dim(b, x.shape, (3,)), np.float32(0)),
                  [f32(8, 56, 56, 64), f32(64)], 'loop'),
}


def main():
    runner = Runner(sys.argv[1])
    wanted = sys.argv[2] if len(sys.argv) > 2 else ''
    for name, (function, args, kind) in CASES.items():
        if wanted not in name:
            continue
        jitted = jax.jit(function)
        device = [jax.device_put(a) for a in args]
        start = time.perf_counter()
        jitted.lower(*args).compile()
        compile_ms = (time.perf_counter() - start) * 1e3
        best = 1e9
        for _ in range(30):
            start = time.perf_counter()
            jax.block_until_ready(jitted(*device))
            best = min(best, time.perf_counter() - start)
        path = os.path.join(runner.folder, 'bench.mlir')
        with open(path, 'w') as f:
            f.write(fusion_text(function, args, kind))
        ins = []
        for i, a in enumerate(args):
            ins.append(os.path.join(runner.folder, f'bench{i}'))
            a.tofile(ins[-1])
        out = subprocess.run(['taskset', '-c', '1', sys.argv[1], '--time', '30', path, *ins],
                             capture_output=True, text=True)
        bytes_moved = sum(a.nbytes for a in args) + jitted(*device).nbytes
        if out.returncode:
            print(name, out.stderr[:500])
            continue
        ours = float(out.stdout.split()[1])
        print(f'{name:16} jax {best*1e6:9.0f} us   ours {ours:9.0f} us  ratio {best*1e6/ours:5.2f}'
              f'  {bytes_moved/ours/1e3:6.1f} GB/s  jax compile {compile_ms:6.1f} ms | {out.stdout.strip()[20:]}')


main()

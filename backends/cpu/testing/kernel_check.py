"""Compares generated kernels with JAX's CPU results: each case is a JAX function that becomes one
fusion as it stands.

Usage: kernel_check.py RUN_KERNEL_BINARY [--part K/N] [name substring]
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

os.environ['JAX_PLATFORMS'] = 'cpu'
try:
    import jax
except ImportError:
    print('skipped: no JAX')
    sys.exit(77)
import jax.numpy as jnp
import ml_dtypes  # noqa: F401  (registers the small float types with NumPy)
import numpy as np
from jax import lax

jax.config.update('jax_enable_x64', True)


def fusion_text(function, args, kind='loop'):
    """The module text of `function` with its body wrapped in one isthmus.fusion."""
    # For the CPU, JAX wraps select_and_scatter in pads and slices, which fusions do not have.
    lowering = {'lowering_platforms': ('tpu',)} if kind == 'scatter' else {}
    module = (jax.jit(function, keep_unused=True).trace(*args).lower(**lowering).compiler_ir())
    text = module.operation.get_asm(print_generic_op_form=True)
    lines = text.splitlines()
    names = [i for i, l in enumerate(lines) if 'sym_name = "main"' in l]
    begin = names[0] + 1
    end = next(i for i in range(begin, len(lines)) if '"func.return"' in lines[i])
    if any('"func.call"' in l for l in lines[begin:end]):
        raise ValueError('the function calls others; use lax')
    header = lines[begin].strip()
    if header.startswith('^bb0'):
        begin += 1
        arguments = [tuple(a.split(': ', 1)) for a in
                     re.split(r', (?=%arg)', header[header.index('(') + 1:header.rindex(')')])]
    else:
        arguments = []
    match = re.match(r'\s*"func.return"\((.*)\) : \((.*)\) -> \(\)', lines[end])
    values, types = match.group(1), match.group(2)
    body = '\n'.join(lines[begin:end])
    operands = ', '.join(f'%in{i}' for i in range(len(arguments)))
    operand_types = ', '.join(t for _, t in arguments)
    count = len(values.split(','))
    results = '%r' if count == 1 else f'%r:{count}'
    returned = '%r' if count == 1 else ', '.join(f'%r#{i}' for i in range(count))
    return f'''func.func @main({", ".join(f"%in{i}: {t}" for i, (_, t) in enumerate(arguments))}) -> ({types}) {{
  {results} = "isthmus.fusion"({operands}) ({{
  ^bb0({", ".join(f"{n}: {t}" for n, t in arguments)}):
{body}
    isthmus.yield {values} : {types}
  }}) : ({operand_types}) -> ({types})
  return {returned} : {types}
}}
'''


def storage(array):
    """Bytes as the runtime keeps them."""
    array = np.asarray(array)
    return np.ascontiguousarray(array).tobytes()


class Runner:
    def __init__(self, binary):
        self.binary = binary
        self.folder = tempfile.mkdtemp()

    def run(self, text, args, outputs, extra=()):
        path = os.path.join(self.folder, 'fusion.mlir')
        with open(path, 'w') as f:
            f.write(text)
        ins = []
        for i, a in enumerate(args):
            ins.append(os.path.join(self.folder, f'in{i}'))
            with open(ins[-1], 'wb') as f:
                f.write(storage(a))
        outs = [os.path.join(self.folder, f'out{i}') for i in range(len(outputs))]
        done = subprocess.run([self.binary, *extra, path, *ins, '--', *outs],
                              capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f'exit {done.returncode}: {done.stderr[:2000]}\n{text[:3000]}')
        results = []
        for path, like in zip(outs, outputs):
            with open(path, 'rb') as f:
                results.append(np.frombuffer(f.read(), like.dtype).reshape(like.shape))
        return results


CASES = []


def case(function, *args, name=None, kind='loop', tol=None, expected=None):
    CASES.append((name or getattr(function, '__name__', 'case'), function, args, kind, tol, expected))


def default_tolerance(dtype):
    kind = np.dtype(dtype)
    if kind in (np.float64, np.complex128):
        return 1e-13
    if kind in (np.float32, np.complex64):
        return 2e-6
    if kind == np.float16:
        return 2e-3
    if kind == ml_dtypes.bfloat16:
        return 1.6e-2
    if kind.name.startswith('float'):
        return 0.3
    return 0


def compare(got, want, tolerance):
    if want.dtype.name.startswith(('float8', 'float4', 'bfloat16', 'float6')):
        got, want = got.astype(np.float32), want.astype(np.float32)
    if not (np.issubdtype(want.dtype, np.floating) or np.issubdtype(want.dtype, np.complexfloating)):
        return np.array_equal(got, want), f'{np.count_nonzero(got != want)} differ'
    with np.errstate(all='ignore'):
        scale = np.maximum(np.abs(want), np.finfo(want.dtype).tiny ** 0.5)
        close = (np.abs(got - want) <= tolerance * scale) | (got == want) | (
            np.isnan(got) & np.isnan(want))
    bad = np.argwhere(~close)
    if len(bad) == 0:
        return True, ''
    at = tuple(bad[0])
    return False, f'{len(bad)} of {want.size} differ, first at {at}: got {got[at]!r}, want {want[at]!r}'


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('binary')
    parser.add_argument('--part', default='0/1', help='every Nth case from the Kth on, as K/N')
    parser.add_argument('wanted', nargs='?', default='', help='a part of the name')
    arguments = parser.parse_args()
    runner = Runner(arguments.binary)
    part, parts = map(int, arguments.part.split('/'))
    import kernel_cases
    kernel_cases.add_all(case)
    failures = 0
    chosen = [c for c in CASES[part::parts] if arguments.wanted in c[0]]
    for name, function, args, kind, tolerance, expected in chosen:
        try:
            outputs = expected if expected is not None else jax.tree.leaves(jax.jit(function)(*args))
            outputs = [np.asarray(o) for o in outputs]
            text = fusion_text(function, args, kind)
            for extra in ((), ('--split', '3', '--avx2')):
                results = runner.run(text, args, outputs, extra)
                for i, (got, want) in enumerate(zip(results, outputs)):
                    ok, message = compare(got, want, tolerance if tolerance is not None
                                          else default_tolerance(want.dtype))
                    if not ok:
                        raise AssertionError(f'result {i}: {message}')
        except Exception as error:  # each case reports by itself
            failures += 1
            print(f'FAIL {name}: {str(error)[:1500]}')
    print(f'{len(chosen)} cases, {failures} failures')
    return 1 if failures or not chosen else 0


if __name__ == '__main__':
    sys.exit(main())

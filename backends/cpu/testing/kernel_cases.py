"""The cases of kernel_check.py."""
import jax
import jax._src.lax.windowed_reductions as wr
import jax.numpy as jnp
import numpy as np
from jax import lax

rng = np.random.default_rng(0)


def f32(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def i32(*shape):
    return rng.integers(-100, 100, shape).astype(np.int32)


def softmax(x):
    m = lax.broadcast_in_dim(lax.reduce(x, np.float32(-np.inf), lax.max, (1,)), x.shape, (0,))
    e = lax.exp(x - m)
    s = lax.broadcast_in_dim(lax.reduce(e, np.float32(0), lax.add, (1,)), x.shape, (0,))
    return e / s


def layer_norm(x, g, b):
    n = np.float32(x.shape[1])
    mean = lax.reduce(x, np.float32(0), lax.add, (1,)) / n
    d = x - lax.broadcast_in_dim(mean, x.shape, (0,))
    var = lax.reduce(d * d, np.float32(0), lax.add, (1,)) / n
    inv = lax.rsqrt(var + np.float32(1e-5))
    y = d * lax.broadcast_in_dim(inv, x.shape, (0,))
    return y * lax.broadcast_in_dim(g, x.shape, (1,)) + lax.broadcast_in_dim(b, x.shape, (1,))


# Reductions of which one reads another's result, in its place or elsewhere.
def log_sum_exp(x):
    m = lax.reduce(x, np.float32(-np.inf), lax.max, (1,))
    e = lax.exp(x - lax.broadcast_in_dim(m, x.shape, (0,)))
    return m + lax.log(lax.reduce(e, np.float32(0), lax.add, (1,)))


def sum_and_squares(x):
    s = lax.reduce(x, np.float32(0), lax.add, (1,))
    d = x - lax.broadcast_in_dim(s, x.shape, (0,))
    return s, lax.reduce(d * d, np.float32(0), lax.add, (1,))


def sum_and_others(x):
    s = lax.reduce(x, np.float32(0), lax.add, (1,))
    return s + lax.rev(s, (0,)) * 2


def elementwise_and_moves(case):
    case(lambda x, y: x + y, f32(1000), f32(1000), name='add')
    case(lambda x, y: lax.mul(lax.add(x, y), x), f32(37, 53), f32(37, 53), name='add_mul_2d')
    case(lambda x: lax.exp(lax.tanh(x)), f32(100003), name='exp_tanh')
    case(lambda x, b: x + lax.broadcast_in_dim(b, x.shape, (1,)), f32(40, 30), f32(30), name='bias')
    case(lambda x, b: x + lax.broadcast_in_dim(b, x.shape, (1,)), f32(400, 3), f32(3), name='bias3')
    case(lambda x, b: x + lax.broadcast_in_dim(b, x.shape, (0,)), f32(40, 30), f32(40), name='bias0')
    case(lambda x: x + 1, np.float32(3), name='scalar')
    case(lambda x: lax.transpose(x, (1, 0)) * 2, f32(40, 30), name='transpose')
    case(lambda x: lax.transpose(x, (2, 0, 1)) * 2, f32(13, 20, 30), name='transpose3')
    case(lambda x: lax.slice(x, (3, 4), (30, 28), (2, 3)), f32(40, 30), name='slice')
    case(lambda x: lax.pad(x, np.float32(7), ((1, 2, 0), (3, 4, 0))), f32(40, 30), name='pad')
    case(lambda x: lax.pad(x, np.float32(7), ((1, 2, 1), (3, 4, 2))), f32(10, 9), name='pad_interior')
    case(lambda x: lax.pad(x, np.float32(7), ((-1, 2, 1), (3, -4, 2))), f32(10, 9), name='pad_negative')
    case(lambda x, y: lax.concatenate([x, y], 1), f32(10, 9), f32(10, 30), name='concat1')
    case(lambda x, y: lax.concatenate([x, y, x], 0), f32(10, 30), f32(7, 30), name='concat0')
    case(lambda x: lax.rev(x, (1,)) + lax.rev(x, (0,)), f32(10, 30), name='reverse')
    case(lambda x: x + lax.broadcasted_iota(np.float32, (10, 30), 1), f32(10, 30), name='iota')
    case(lambda x: lax.reshape(x, (30, 10)) + 1, f32(10, 30), name='reshape')
    case(lambda x, b: lax.reshape(x + lax.broadcast_in_dim(b, x.shape, (1,)), (6, 5, 10)), f32(10, 30), f32(30), name='reshape_bias')
    case(lambda x, y: lax.select(x > y, x, y), f32(100), f32(100), name='select')
    case(lambda x, y: x > y, f32(101), f32(101), name='compare')
    case(lambda x: lax.convert_element_type(x, np.int32), f32(101) * 100, name='f2i')
    case(lambda x, i, j: lax.dynamic_slice(x, (i, j), (7, 9)), f32(20, 30), np.int32(5), np.int32(100), name='dynamic_slice')
    case(lambda x, u, i, j: lax.dynamic_update_slice(x, u, (i, j)), f32(20, 30), f32(3, 11), np.int32(5), np.int32(4), name='dus')


def rows(case):
    case(lambda x: lax.reduce(x, np.float32(0), lax.add, (1,)), f32(40, 301), name='row_sum', kind='reduce', tol=1e-4)
    case(lambda x: lax.reduce(x, np.float32(1), lax.add, (0,)), f32(40, 301), name='col_sum', kind='reduce', tol=1e-4)
    case(lambda x: lax.reduce(x, np.float32(0), lax.add, (0, 1)), f32(40, 301), name='full_sum', kind='reduce', tol=1e-4)
    case(lambda x: lax.reduce(x, np.float32(-np.inf), lax.max, (1,)), f32(40, 301), name='row_max', kind='reduce')

    case(softmax, f32(40, 301), name='softmax', kind='row')
    case(layer_norm, f32(40, 128), f32(128), f32(128), name='layer_norm', kind='row', tol=1e-4)


def short_rows(case):
    """Shorter than a vector."""
    for columns in (2, 3, 5, 10, 15, 16, 17):
        case(softmax, f32(1003, columns), name=f'softmax_{columns}', kind='row')
        case(lambda x, b: x * lax.broadcast_in_dim(b, x.shape, (0,)), f32(1003, columns), f32(1003), name=f'scale_rows_{columns}')
        case(lambda x: lax.rev(x, (1,)) + x, f32(1003, columns), name=f'reverse_{columns}')
        case(lambda x: lax.rev(x, (0,)) * 2, f32(1003, columns), name=f'reverse_rows_{columns}')
        case(lambda x: lax.reduce(x, np.float32(0), lax.add, (1,)), abs(f32(1003, columns)), name=f'short_sum_{columns}', kind='reduce', tol=1e-5)
        case(log_sum_exp, abs(f32(1003, columns)), name=f'log_sum_exp_{columns}', kind='row')
        case(sum_and_squares, abs(f32(1003, columns)), name=f'sum_and_squares_{columns}', kind='row', tol=1e-4)
        case(sum_and_others, abs(f32(3003, columns)), name=f'sum_and_others_{columns}', kind='row', tol=1e-4)
        case(lambda x: lax.slice(x, (1,), (x.shape[0] - 1,), (columns,)), f32(1003 * columns), name=f'strided_{columns}')
        case(lambda x: lax.slice(x, (0, 1), (1003, 2)) + lax.slice(x, (0, 0), (1003, 1)), f32(1003, columns), name=f'columns_{columns}')
        case(lambda *x: lax.transpose(lax.concatenate([lax.broadcast_in_dim(v, (1, 103), (1,)) for v in x], 0), (1, 0)) + 1,
             *[f32(103) for _ in range(columns)], name=f'stack_{columns}', kind='transpose')
    for name in ('float64', 'bfloat16', 'float16', 'int8', 'uint16', 'int64', 'bool', 'complex64', 'complex128'):
        x = (rng.standard_normal((103, 3)) * 9).astype(name)
        y = (rng.standard_normal((103,)) * 9).astype(name)
        if name.startswith('complex'):
            x, y = x * np.array(1 + 2j, name), y * np.array(2 - 1j, name)
        join = lax.bitwise_xor if name == 'bool' else lax.add
        case(lambda x, y, join=join: join(x, lax.broadcast_in_dim(y, x.shape, (0,))), x, y, name=f'scale_rows_{name}')
        case(lambda x, y, join=join: lax.concatenate([lax.broadcast_in_dim(y, (103, 1), (0,)), join(x, x)], 1), x, y, name=f'concat_short_{name}')
    case(lambda a: lax.broadcast_in_dim(a, (103, 3, 3), (0, 1)) * lax.broadcast_in_dim(a, (103, 3, 3), (0, 2)), f32(103, 3), name='outer3')
    case(lambda x: lax.pad(x, np.float32(7), ((1, 2, 0), (1, 0, 1))), f32(103, 3), name='pad_short')
    case(lambda x, b: x + lax.broadcast_in_dim(b, x.shape, (1, 2)), f32(7, 40, 3), f32(40, 3), name='bias_short')
    case(lambda p, i: lax.gather(p, i, lax.GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,)), (1, 3), mode='clip'),
         f32(50, 3), i32(103, 1), name='gather_short')


def integer_types(case):
    for name in ('int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64'):
        info = np.iinfo(name)
        x = rng.integers(info.min, info.max, 103, dtype=name, endpoint=True)
        y = rng.integers(-5 if info.min else 0, 6, 103).astype(name)
        x[:4] = [info.min, info.min, info.max, 0]
        y[:4] = [-1 if info.min else 1, 0, 0, 0]
        s = rng.integers(0, 70, 103).astype(name)
        for fn in (lax.add, lax.sub, lax.mul, lax.div, lax.rem, lax.max, lax.min, lax.bitwise_and,
                   lax.bitwise_or, lax.bitwise_xor):
            case(lambda a, b, fn=fn: fn(a, b), x, y, name=f'{fn.__name__}_{name}')
        for fn in (lax.shift_left, lax.shift_right_arithmetic, lax.shift_right_logical):
            case(lambda a, b, fn=fn: fn(a, b), x, s, name=f'{fn.__name__}_{name}')
        for fn in (lax.neg, lax.sign, lax.bitwise_not, lax.population_count, lax.clz) + (
                (lax.abs,) if info.min else ()):
            case(lambda a, fn=fn: fn(a), x, name=f'{fn.__name__}_{name}')
        case(lambda a: lax.integer_pow(a, 3), x, name=f'integer_pow_{name}')
        case(lambda a, b: lax.lt(a, b), x, y, name=f'lt_{name}')
        case(lambda a, t=name: lax.clamp(np.array(2, t), a, np.array(5, t)), x, name=f'clamp_{name}')


def float_types(case):
    floats = ('float32', 'float64', 'float16', 'bfloat16')
    # No subnormal numbers: JAX's CPU client takes them for zero (vector_math_test has them).
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, -0.5, 1e-30, -1e-30, 1e30,
               2.5, -2.5, 1.5, 0.49999997, 88.0, -88.0, 100.0, -104.0, 3e38, 1e5, -1e6]
    for name in floats:
        x = np.concatenate([np.array(special), rng.standard_normal(1001) * 3,
                            np.exp(rng.uniform(-30, 30, 1000)) * rng.choice([-1, 1], 1000)]).astype(name)
        y = np.concatenate([rng.standard_normal(1001) * 3, np.array(special),
                            rng.uniform(-30, 30, 1000)]).astype(name)
        unary = (lax.abs, lax.neg, lax.sign, lax.floor, lax.ceil, lax.sqrt, lax.rsqrt, lax.cbrt,
                 lax.exp, lax.expm1, lax.log, lax.log1p, lax.logistic, lax.tanh, lax.sin, lax.cos,
                 lax.tan, lax.is_finite)
        for fn in unary:
            case(lambda a, fn=fn: fn(a), x, name=f'{fn.__name__}_{name}',
                 tol=4e-6 if name == 'float32' else 1e-14 if name == 'float64' else None)
        case(lambda a: lax.round(a, lax.RoundingMethod.AWAY_FROM_ZERO), x, name=f'round_afz_{name}')
        case(lambda a: lax.round(a, lax.RoundingMethod.TO_NEAREST_EVEN), x, name=f'round_even_{name}')
        for fn in (lax.add, lax.sub, lax.mul, lax.div, lax.max, lax.min, lax.pow, lax.atan2, lax.rem,
                   lax.eq, lax.ne, lax.lt, lax.ge):
            case(lambda a, b, fn=fn: fn(a, b), x, y, name=f'{fn.__name__}_{name}')
        case(lambda a: lax.reduce_precision(a, 5, 7), x, name=f'reduce_precision_{name}')


def conversions(case):
    all_types = ('bool', 'int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64',
                 'float16', 'bfloat16', 'float32', 'float64', 'complex64', 'complex128',
                 'float8_e4m3fn', 'float8_e5m2', 'float8_e4m3b11fnuz', 'float8_e4m3fnuz',
                 'float8_e5m2fnuz', 'float8_e3m4', 'float8_e4m3')
    for a in all_types:
        x = (rng.standard_normal(200) * 20)
        if not a.startswith('float8'):
            x[:6] = [0, 300, -300, 0.4, -0.6, 100]
        if a.startswith(('uint', 'bool')):
            x = np.abs(x)
        x = x.astype(a) if a != 'complex64' and a != 'complex128' else (x + 1j * x[::-1]).astype(a)
        for b in all_types:
            if a.startswith('complex') and not b.startswith('complex'):
                continue
            case(lambda v, b=b: lax.convert_element_type(v, b), x, name=f'convert_{a}_{b}', tol=0)


def complex_types_and_bits(case):
    for name in ('complex64', 'complex128'):
        z = (rng.standard_normal(301) + 1j * rng.standard_normal(301)).astype(name)
        w = (rng.standard_normal(301) + 1j * rng.standard_normal(301)).astype(name)
        tol = 2e-5 if name == 'complex64' else 1e-12
        for fn in (lax.add, lax.sub, lax.mul, lax.div, lax.pow):
            case(lambda a, b, fn=fn: fn(a, b), z, w, name=f'{fn.__name__}_{name}', tol=tol)
        for fn in (lax.abs, lax.neg, lax.sign, lax.exp, lax.expm1, lax.log, lax.log1p, lax.sqrt,
                   lax.rsqrt, lax.tanh, lax.sin, lax.cos, lax.tan, lax.logistic, lax.real, lax.imag):
            case(lambda a, fn=fn: fn(a), z, name=f'{fn.__name__}_{name}', tol=tol)
        case(lambda a: lax.transpose(a, (1, 0)), z.reshape(7, 43), name=f'transpose_{name}')
    case(lambda a: lax.bitcast_convert_type(a, np.int32), f32(77), name='bitcast_same')
    case(lambda a: lax.bitcast_convert_type(a, np.uint8), f32(7, 11), name='bitcast_narrow')
    case(lambda a: lax.bitcast_convert_type(a, np.float32), rng.integers(0, 127, (7, 11, 4)).astype(np.uint8), name='bitcast_wide')


def dn(o, c, m):
    return lax.GatherDimensionNumbers(offset_dims=o, collapsed_slice_dims=c, start_index_map=m)


def sd(w, i, m):
    return lax.ScatterDimensionNumbers(update_window_dims=w, inserted_window_dims=i, scatter_dims_to_operand_dims=m)


def gathers_and_scatters(case):
    case(lambda x, i: lax.gather(x, i, dn((1,), (0,), (0,)), (1, 30), mode='clip'), f32(20, 30), i32(17, 1), name='gather_rows')
    case(lambda x, i: lax.gather(x, i, dn((0,), (1,), (1,)), (20, 1), mode='clip'), f32(20, 30), i32(17, 1), name='gather_cols')
    case(lambda x, i: lax.gather(x, i, dn((), (0, 1), (0, 1)), (1, 1), mode='clip'), f32(20, 30), i32(17, 2), name='gather_points')
    case(lambda x, i: lax.gather(x, i, dn((1, 2), (), (1, 0)), (3, 5), mode='clip'), f32(20, 30), i32(17, 2), name='gather_windows')
    idx = rng.integers(-3, 23, (17, 1)).astype(np.int32)
    case(lambda x, i, u: lax.scatter_add(x, i, u, sd((1,), (0,), (0,)), mode='drop'), f32(20, 30), idx, f32(17, 30), name='scatter_rows', kind='scatter', tol=1e-5)
    case(lambda x, i, u: lax.scatter_add(x, i, u, sd((0,), (1,), (1,)), mode='drop'), f32(20, 30), idx, f32(20, 17), name='scatter_cols', kind='scatter', tol=1e-5)
    case(lambda x, i, u: lax.scatter(x, i, u, sd((), (0,), (0,)), mode='drop'), f32(20), np.arange(17).astype(np.int32)[:, None] * 2, f32(17), name='scatter_points', kind='scatter')
    case(lambda x, i, u: lax.scatter_max(x, i, u, sd((1,), (), (0,)), mode='drop'), f32(20), idx, f32(17, 4), name='scatter_windows', kind='scatter')
    case(lambda x, u, i, j: lax.dynamic_update_slice(x, u * 2, (i, j)), f32(20, 30), f32(3, 11), np.int32(5), np.int32(40), name='update_slice', kind='update_slice')


def window(fn, init, size, strides, padding, bd=None, wd=None):
    return lambda x: lax.reduce_window(x, np.float32(init), fn, size, strides, padding, bd, wd)


def sas(size, strides, padding):
    return lambda x, ct: wr._select_and_scatter_add(ct, x, lax.ge_p, size, strides, padding)


def windows(case):
    case(window(lax.max, -np.inf, (1, 2, 2, 1), (1, 2, 2, 1), 'VALID'), f32(2, 8, 10, 9), name='max_pool')
    case(window(lax.add, 0, (1, 3, 3, 1), (1, 1, 1, 1), 'SAME'), f32(2, 8, 10, 9), name='sum_pool', tol=1e-5)
    case(window(lax.add, 0, (1, 1, 3, 3), (1, 1, 2, 2), 'SAME'), f32(2, 3, 18, 31), name='sum_pool_nchw', tol=1e-5)
    case(window(lax.add, 0, (2, 5), (1, 2), ((1, 2), (3, 1)), (2, 3), (3, 2)), f32(9, 31), name='window_dilated', tol=1e-5)
    case(window(lax.add, 0, (1, 31), (1, 1), ((0, 0), (30, 0))), f32(9, 31), name='cumsum', tol=1e-4)
    case(window(lax.max, -np.inf, (9, 1), (1, 1), ((0, 8), (0, 0))), f32(9, 31), name='cummax_reverse')

    case(sas((1, 2, 2, 1), (1, 2, 2, 1), ((0, 0),) * 4), f32(2, 8, 10, 9), f32(2, 4, 5, 9), name='max_pool_grad', kind='scatter')
    case(sas((1, 3, 3, 1), (1, 2, 2, 1), ((0, 0), (1, 0), (0, 1), (0, 0))), f32(2, 8, 10, 9), f32(2, 4, 5, 9), name='max_pool_grad_overlap', kind='scatter', tol=1e-5)
    case(sas((1, 1, 2, 2), (1, 1, 2, 2), ((0, 0),) * 4), f32(2, 3, 8, 10), f32(2, 3, 4, 5), name='max_pool_grad_nchw', kind='scatter')


def argmax(x, axis):
    def body(a, b):
        take = (b[0] > a[0]) | ((b[0] == a[0]) & (b[1] < a[1]))
        return lax.select(take, b[0], a[0]), lax.select(take, b[1], a[1])
    iota = lax.broadcasted_iota(np.int32, x.shape, axis)
    return lax.reduce((x, iota), (np.float32(-np.inf), np.int32(0)), body, (axis,))


def other_reductions(case):
    for name in ('int32', 'int8', 'float64', 'bfloat16', 'float16', 'uint16'):
        x = rng.integers(0, 5, (33, 70)).astype(name)
        case(lambda v: lax.reduce(v, np.zeros((), v.dtype), lax.add, (1,)), x, name=f'row_sum_{name}', kind='reduce', tol=0.05)
        case(lambda v: lax.reduce(v, np.zeros((), v.dtype), lax.max, (0,)), x, name=f'col_max_{name}', kind='reduce')
    case(lambda v: lax.reduce(v, np.array(True), lax.bitwise_and, (0, 1)), rng.random((33, 70)) > 0.001, name='all', kind='reduce')
    case(lambda v: lax.reduce(v, np.array(False), lax.bitwise_or, (1,)), rng.random((33, 70)) > 0.99, name='any', kind='reduce')
    z = (rng.standard_normal((33, 70)) + 1j * rng.standard_normal((33, 70))).astype(np.complex64)
    case(lambda v: lax.reduce(v, np.zeros((), np.complex64), lax.add, (1,)), z, name='row_sum_complex', kind='reduce', tol=1e-4)

    case(lambda x: argmax(x, 1), f32(33, 70), name='argmax_row', kind='reduce')
    case(lambda x: argmax(x, 0), f32(33, 70), name='argmax_col', kind='reduce')
    case(lambda x: argmax(x, 1), f32(33, 5), name='argmax_short', kind='reduce')
    case(lambda x: lax.reduce(x, np.float32(0), lax.add, (0, 2)), f32(13, 20, 30), name='middle_kept', kind='reduce', tol=1e-4)
    case(lambda x: lax.reduce(x, np.float32(0), lax.add, (1,)), f32(13, 20, 30), name='middle_reduced', kind='reduce', tol=1e-3)
    case(lambda x: lax.reduce(x * x, np.float32(0), lax.add, (1, 2)), f32(13, 20, 30), name='two_reduced', kind='reduce', tol=1e-4)
    case(lambda x: (lax.reduce(x, np.float32(0), lax.add, (1,)), lax.exp(x)), f32(13, 20), name='two_shapes', kind='reduce', tol=1e-4)


def add_all(case):
    for add in (elementwise_and_moves, rows, short_rows, integer_types, float_types,
                conversions, complex_types_and_bits, gathers_and_scatters, windows, other_reductions):
        add(case)

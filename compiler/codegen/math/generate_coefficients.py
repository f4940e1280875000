#!/usr/bin/env python3
"""Computes the polynomial coefficients of the vector math library (math_coefficients.h).

Each is the best approximation in the relative error of the final function (Remez' exchange, 60
decimal digits). Usage: generate_coefficients.py > math_coefficients.h
"""
import struct
from decimal import Decimal as D, getcontext

getcontext().prec = 70
ONE, TWO = D(1), D(2)


def pi():
    # Machin.
    def atan_inverse(n):
        total, term, k = D(0), ONE / n, 0
        while abs(term) > D(10) ** -68:
            total += term / (2 * k + 1) * (-1 if k % 2 else 1)
            term /= n * n
            k += 1
        return total
    return 4 * (4 * atan_inverse(D(5)) - atan_inverse(D(239)))


PI = pi()
LN2 = TWO.ln()


def series(x, first, ratio):
    """first(x) + the terms that ratio(k, term) makes of it, until they vanish."""
    total = term = first
    k = 0
    while abs(term) > D(10) ** -68 and k < 4000:
        k += 1
        term = ratio(k, term)
        total += term
    return total


def exp_tail(r):      # (e^r - 1 - r) / r^2
    return series(r, ONE / 2, lambda k, t: t * r / (k + 2))


def log_tail(f):      # (log(1 + f) - f + f^2/2) / f^3
    if abs(f) < D(10) ** -20:
        return ONE / 3
    return ((ONE + f).ln() - f + f * f / 2) / (f * f * f)


def log_ratio(z):     # (log((1+s)/(1-s)) - 2s) / s^3 with s^2 = z
    if z < D(10) ** -20:
        return TWO / 3
    s = z.sqrt()
    return (((ONE + s) / (ONE - s)).ln() - 2 * s) / (s * z)


def log_ratio_tail(z):    # (log_ratio(z) - 2 / 3) / z
    return TWO / 5 if z < D(10) ** -20 else (log_ratio(z) - TWO / 3) / z


def sin_tail(z):      # (sin(x) - x) / x^3
    return series(z, -ONE / 6, lambda k, t: -t * z / ((2 * k + 2) * (2 * k + 3)))


def cos_tail(z):      # (cos(x) - 1 + x^2/2) / x^4
    return series(z, ONE / 24, lambda k, t: -t * z / ((2 * k + 3) * (2 * k + 4)))


def atan_tail(z):     # (atan(x) - x) / x^3
    total, power, k = D(0), -ONE, 1
    while abs(power) > D(10) ** -68:
        total += power / (2 * k + 1)
        power *= -z
        k += 1
    return total


def tanh_ratio(z):    # tanh(x) / x with x^2 = z
    if z < D(10) ** -20:
        return ONE
    x = z.sqrt()
    e = (2 * x).exp()
    return (e - 1) / (e + 1) / x


def erf_value(x):
    total, term, k = D(0), x, 0
    while abs(term) > D(10) ** -68:
        total += term / (2 * k + 1)
        k += 1
        term *= -x * x / k
    return 2 * total / PI.sqrt()


def erf_ratio(z):     # erf(x) / x
    if z < D(10) ** -20:
        return 2 / PI.sqrt()
    x = z.sqrt()
    return erf_value(x) / x


def log_erfc(x):
    return (1 - erf_value(x)).ln()


def erfcx(x):         # exp(x^2) erfc(x)
    if x < 2:
        return (x * x).exp() * (1 - erf_value(x))
    tail = x
    for k in range(1500, 0, -1):
        tail = x + D(k) / 2 / tail
    return ONE / (PI.sqrt() * tail)


def exp2(f):
    return (f * LN2).exp()


def solve(matrix, right):
    n = len(right)
    for i in range(n):
        p = max(range(i, n), key=lambda r: abs(matrix[r][i]))
        matrix[i], matrix[p] = matrix[p], matrix[i]
        right[i], right[p] = right[p], right[i]
        for r in range(i + 1, n):
            factor = matrix[r][i] / matrix[i][i]
            for c in range(i, n):
                matrix[r][c] -= factor * matrix[i][c]
            right[r] -= factor * right[i]
    x = [D(0)] * n
    for i in reversed(range(n)):
        x[i] = (right[i] - sum(matrix[i][c] * x[c] for c in range(i + 1, n))) / matrix[i][i]
    return x


def cosine(x):
    return 1 - x * x / 2 + x ** 4 * cos_tail(x * x)


def value_of(coefficients, x):
    total = D(0)
    for c in reversed(coefficients):
        total = total * x + c
    return total


def extrema(errors, count):
    """Where one extremum is from each run of equal sign, at most so many."""
    picks, start = [], 0
    for i in range(1, len(errors) + 1):
        if i == len(errors) or (errors[i] > 0) != (errors[start] > 0):
            picks.append(max(range(start, i), key=lambda j: abs(errors[j])))
            start = i
    while len(picks) > count:
        if abs(errors[picks[0]]) < abs(errors[picks[-1]]):
            picks.pop(0)
        else:
            picks.pop()
    return picks


def remez(f, weight, lo, hi, degree):
    """The polynomial p minimising max |p - f| * weight on [lo, hi], and that maximum."""
    lo, hi = D(lo), D(hi)
    count = degree + 2
    nodes = [(lo + hi) / 2 - (hi - lo) / 2 * cosine(PI * k / (count - 1)) for k in range(count)]
    grid = [lo + (hi - lo) * k / 400 for k in range(401)]
    values = [(x, f(x), weight(x)) for x in grid]
    for _ in range(12):
        matrix, right = [], []
        for i, x in enumerate(nodes):
            w = weight(x)
            matrix.append([x ** k if k else ONE for k in range(degree + 1)] +
                          [(-1) ** i / w if w else D(0)])
            right.append(f(x))
        coefficients = solve(matrix, right)[:-1]

        def error(x, fx, w):
            return (value_of(coefficients, x) - fx) * w
        errors = [error(*v) for v in values]
        picks = extrema(errors, count)
        if len(picks) < count:
            break
        new = [grid[i] for i in picks]
        if new == nodes:
            break
        nodes = new
    return coefficients, max(abs(e) for e in errors)


def remez_ratio(f, lo, hi, degree):
    """The quotient p / q of polynomials of these degrees that minimises max |p / (q f) - 1| on [lo, hi], where the
    divisor's highest coefficient is 1, and that maximum."""
    lo, hi = D(lo), D(hi)
    above, below = degree
    count = above + below + 2
    def place(k, last):   # closer together near lo
        return lo + (hi - lo) * ((1 - cosine(PI * k / last)) / 2) ** 2
    grid = [place(D(k), 400) for k in range(401)]
    values = [f(x) for x in grid]
    nodes = [round(D(400) * k / (count - 1)) for k in range(count)]
    error, divisors = D(0), [ONE] * count
    best = None
    for _ in range(40):
        for _ in range(20):
            matrix, right = [], []
            for i, node in enumerate(nodes):
                x, fx = grid[node], values[node]
                matrix.append([x ** k if k else ONE for k in range(above + 1)] +
                              [-fx * x ** k for k in range(1, below + 1)] + [-(-1) ** i * fx * divisors[i]])
                right.append(fx)
            *solution, last = solve(matrix, right)
            p, q = solution[:above + 1], [ONE] + solution[above + 1:]
            divisors = [value_of(q, grid[node]) for node in nodes]
            done = abs(last - error) < abs(last) * D(10) ** -8
            error = last
            if done:
                break
        errors = [value_of(p, x) / value_of(q, x) / fx - 1 for x, fx in zip(grid, values)]
        picks = extrema(errors, count)
        worst = max(abs(e) for e in errors)
        if best is None or worst < best[1]:
            best = ([c / q[-1] for c in p], [c / q[-1] for c in q]), worst
        if len(picks) < count or picks == nodes:
            break
        nodes = picks
        divisors = [value_of(q, grid[node]) for node in nodes]
    return best


def as_f32(x):
    return struct.unpack('f', struct.pack('f', float(x)))[0]


def emit(name, f, weight, lo, hi, degree, narrow):
    coefficients, error = remez(f, weight, lo, hi, degree)
    print(f'// error {float(error):.2g}')
    emit_array(name, coefficients, narrow)


def emit_ratio(name, suffix, f, lo, hi, degree):
    (p, q), error = remez_ratio(f, lo, hi, degree)
    print(f'// error of the quotient {float(error):.2g}')
    emit_array(f'{name}{suffix}', p, True)
    emit_array(f'{name}Divisor{suffix}', q, True)


def emit_array(name, coefficients, narrow):
    print(f'inline constexpr double {name}[] = {{')
    for c in coefficients:
        print(f'    {(as_f32(c) if narrow else float(c)).hex()},')
    print('};')


def main():
    print('// Polynomial coefficients of the vector math library, lowest first. Made by')
    print('// generate_coefficients.py; do not edit.')
    print('#pragma once')
    print()
    print('namespace isthmus::codegen {')
    print()
    edge = LN2 / 2 * D('1.01')
    exp_weight = lambda r: r * r / r.exp()
    lo, hi = TWO.sqrt() / 2 - 1, TWO.sqrt() - 1
    log_weight = lambda f: abs(f) ** 3 / max(abs((1 + f).ln()), D(10) ** -30) if f else D(0)
    quarter = (PI / 4 * D('1.001')) ** 2
    eighth = (TWO.sqrt() - 1) ** 2 * D('1.001')
    s_max = ((TWO.sqrt() - 1) / (TWO.sqrt() + 1)) ** 2 * D('1.001')
    sin_weight = lambda z: z
    cos_weight = lambda z: z * z
    tiny = D(10) ** -12
    for suffix, narrow, n in (('F32', True, dict(exp=4, log=7, sin=2, cos=2, atan=4)),
                              ('F64', False, dict(exp=10, log=0, sin=6, cos=6, atan=12))):
        emit(f'kExp{suffix}', exp_tail, lambda r: exp_weight(r) if r else tiny, -edge, edge,
             n['exp'], narrow)
        if narrow:
            emit(f'kLog{suffix}', log_tail, lambda f: log_weight(f) or tiny, lo, hi, n['log'],
                 narrow)
        else:
            emit(f'kLogRatio{suffix}', log_ratio, lambda z: z or tiny, D(0), s_max, 6, narrow)
            emit(f'kLogRatioTail{suffix}', log_ratio_tail, lambda z: ONE / log_ratio_tail(z), D(0), s_max, 9, narrow)
        emit(f'kSin{suffix}', sin_tail, lambda z: z or tiny, D(0), quarter, n['sin'], narrow)
        emit(f'kCos{suffix}', cos_tail, lambda z: z * z or tiny, D(0), quarter, n['cos'], narrow)
        emit(f'kAtan{suffix}', atan_tail, lambda z: z or tiny, D(0), eighth, n['atan'], narrow)
    emit('kErfF32', erf_ratio, lambda z: ONE, D(0), D('0.8464'), 6, True)
    emit('kLogErfcF32', log_erfc, lambda x: 1 - erf_value(x), D('0.92'), D('4.0'), 8, True)
    # Where a factor beside it is no better.
    emit('kShortExpF32', exp_tail, lambda r: exp_weight(r) if r else tiny, -edge, edge, 3, True)
    emit_ratio('kErfcx', 'F32', erfcx, D(0), D('10.1'), (4, 5))
    # For results that are rounded to so many bits.
    for bits, degree in ((8, 3), (11, 4)):
        emit(f'kExp2Bits{bits}', exp2, lambda f: ONE / exp2(f), -ONE / 2, ONE / 2, degree, True)
    emit_ratio('kTanh', 'Bits11', tanh_ratio, D(0), D('4.6') ** 2, (2, 3))
    emit('kErfBits11', erf_ratio, lambda z: ONE / erf_ratio(z), D(0), D('0.25'), 2, True)
    emit('kLogErfcBits11', log_erfc, lambda x: (1 - erf_value(x)) / erf_value(x), D('0.5'), D('4.0'), 4,
         True)
    emit_ratio('kErfcx', 'Bits11', erfcx, D(0), D('10.1'), (2, 3))
    print()
    print('}  // namespace isthmus::codegen')


main()

"""What the benchmark found, as Markdown and as a chart (SVG)."""

import html
import math

import jax
import ml_dtypes
import numpy as np

LEVEL = 0.95  # A ratio down to this counts as level.
MEMORY_LEVEL = 1.1  # And so much memory beside the other platform's.
_USUAL = "isthmus", "JAX CPU"  # the platform, and the one beside it
_JAX = {"JAX CPU": "JAX's CPU client", "JAX CUDA": "JAX's CUDA plugin"}
LARGE = 1e-3  # Seconds: what takes so long on the other platform is large.
_TYPES = {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "f64": np.float64, "f16": np.float16,
          "i8": np.int8}


def show(seconds):
    for unit, factor in [("s ", 1), ("ms", 1e3), ("us", 1e6)]:
        if seconds * factor >= 1 or unit == "us":
            return f"{seconds * factor:8.2f} {unit}"


def geometric_mean(ratios):
    ratios = list(ratios)
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else float("nan")


def measured_peaks():
    """{"bytes": …, "f32": …}: what `isthmus explain` measures, a second."""
    from isthmus import client, explain

    device = client.default_client()
    peaks = {name: explain.peak_flops(device, name, dtype) for name, dtype in _TYPES.items()}
    return peaks | {"bytes": explain.peak_bytes(device)}


def share_of_peak(flops, text, arrays, seconds, peaks):
    """The part of `seconds` that so much arithmetic, or reading arguments and writing results, would take.

    Arithmetic counts at the peaks of the types in which the program of this text has its products. The
    latter exceeds 1 where the arrays stay in a cache.
    """
    from isthmus import explain

    moved = sum(math.prod(x.shape) * np.dtype(x.dtype).itemsize for x in jax.tree.leaves(arrays))
    compute = explain.Arithmetic(text).seconds(flops, peaks) / seconds
    memory = moved / peaks["bytes"] / seconds
    return {"share": max(compute, memory), "bound": "compute" if compute > memory else "memory"}


def summary(workloads):
    lines = []
    for kind in ("run", "compile"):
        ratios = [w[f"{kind}_ratio"] for w in workloads.values() if f"{kind}_ratio" in w]
        ratios = [r for r in ratios if not math.isnan(r)]
        if not ratios:
            continue
        level = sum(r >= LEVEL for r in ratios)
        lines.append(f"{kind}: geometric mean {geometric_mean(ratios):.2f}, {level} of {len(ratios)} at "
                     f"{LEVEL} or above, the slowest {min(ratios):.2f}")
    ratios = [w["memory_ratio"] for w in workloads.values() if not math.isnan(w.get("memory_ratio", float("nan")))]
    if ratios:
        level = sum(r <= MEMORY_LEVEL for r in ratios)
        lines.append(f"memory: geometric mean {geometric_mean(ratios):.2f}, {level} of {len(ratios)} at "
                     f"{MEMORY_LEVEL} or below, the largest {max(ratios):.2f}")
    return lines


def markdown(report):
    """The table of a report (see compare.py)."""
    workloads = report["workloads"]
    ours, theirs = report.get("platforms", _USUAL)
    where = report["device"] if theirs == "JAX CUDA" else f"{report['threads']} threads"
    title = f"Beside {_JAX[theirs]}" if theirs in _JAX else f"Platform {ours} beside {theirs}"
    lines = [f"# {title}", "",
             f"JAX {report['jax']}, {where}; best times of alternating repetitions; a "
             f"ratio above 1 means that {'Isthmus' if theirs in _JAX else ours} is faster. `memory` is what a run "
             "holds at once, arguments and results included, as a multiple of the other's.", ""]
    if precision := report.get("precision"):
        lines += [f"Products and convolutions of f32 are in {precision.upper()} on both sides.", ""]
    if peaks := report.get("peaks"):
        flops = ", ".join(f"{name} {peaks[name] / 1e9:.0f} GFLOP/s" for name in _TYPES)
        lines += [f"Peaks measured here: {flops}, {peaks['bytes'] / 1e9:.1f} GB/s. `of peak` is the "
                  "share of a run that its arithmetic (c), or reading its arguments and writing its "
                  "results from and to memory (m), would take at these.", ""]
    lines += [f"- {line}" for line in summary(workloads)]
    large = [w["run_ratio"] for w in workloads.values()
             if w.get("run", {}).get(theirs) and min(w["run"][theirs]) >= LARGE]
    if large:
        lines += [f"- of {len(large)} that take {show(LARGE).strip()} or more there, run: geometric mean "
                  f"{geometric_mean(large):.2f}"]
    # Of a platform whose peaks were not measured there is no share of them.
    has_shares = any("peak" in w for w in workloads.values())
    columns = ["run", theirs, "ratio", *(["of peak"] if has_shares else []), "compile", theirs, "ratio", "memory"]
    lines += ["", f"| workload | {' | '.join(columns)} |", f"| --- |{' ---: |' * len(columns)}"]
    for name, w in workloads.items():
        if "error" in w:
            lines.append(f"| {name} | {w['error'].splitlines()[0][:80]} |{' |' * (len(columns) - 1)}")
            continue
        cells = []
        for kind in ("run", "compile"):
            ours, theirs = (min(t) if t else float("nan") for t in w[kind].values())
            cells += [show(ours), show(theirs), f"{w[kind + '_ratio']:.2f}"]
        if has_shares:
            peak = w.get("peak")
            cells.insert(3, f"{peak['share']:.0%} {peak['bound'][0]}" if peak else "")
        cells.append(f"{w['memory_ratio']:.2f}" if "memory_ratio" in w else "")
        mark = "" if w["agree"] else " **results differ**"
        lines.append(f"| {name}{mark} | " + " | ".join(c.strip() for c in cells) + " |")
    return "\n".join(lines) + "\n"


def chart(report):
    """Bars of the ratios on a logarithmic scale, slowest first."""
    rows = sorted((w["run_ratio"], w.get("compile_ratio", float("nan")), name)
                  for name, w in report["workloads"].items()
                  if not math.isnan(w.get("run_ratio", float("nan"))))
    height, left, width, low, high = 14, 230, 460, 0.25, 32.0

    def x(ratio):
        clipped = min(max(ratio, low), high)
        return left + width * math.log(clipped / low) / math.log(high / low)

    parts = []
    for i, (run, compile_, name) in enumerate(rows):
        y = 50 + i * height
        colour = "#4a7fb5" if run >= LEVEL else "#c0504d"
        begin, end = sorted((x(1), x(run)))
        parts.append(
            f'<text x="{left - 8}" y="{y + 9}" text-anchor="end">{html.escape(name)}</text>'
            f'<rect x="{begin:.1f}" y="{y + 1}" width="{max(end - begin, 1):.1f}" height="9" fill="{colour}"/>'
            f'<text x="{max(end, x(1)) + 4:.1f}" y="{y + 9}">{run:.2f}</text>')
        if not math.isnan(compile_):
            parts.append(f'<circle cx="{x(compile_):.1f}" cy="{y + 5.5}" r="2.5" fill="#e08e0b"/>')
    bottom = 50 + len(rows) * height
    ours, theirs = report.get("platforms", _USUAL)
    beside = f"beside {_JAX[theirs]}" if theirs in _JAX else f"of {ours} beside {theirs}"
    beside = beside.replace("'", "&#8217;")
    for tick in (0.25, 0.5, 1, 2, 4, 8, 16, 32):
        parts.append(f'<line x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="44" y2="{bottom}" stroke="'
                     f'{"#444" if tick == 1 else "#ddd"}"/>'
                     f'<text x="{x(tick):.1f}" y="40" text-anchor="middle">{tick:g}</text>')
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 60}" height="{bottom + 10}" '
            'font-family="system-ui, sans-serif" font-size="10" fill="#222">'
            '<rect width="100%" height="100%" fill="white"/>'
            f'<text x="10" y="18" font-size="13">Speed {beside} (bars: run, '
            'dots: compile; 1 is equal)</text>' + "".join(parts) + "</svg>\n")

"""Where a program's time goes: its kernels with time, bytes, flops and their share of the machine's peaks.

    python -m isthmus explain MODEL [--input x.npy …] [--platform xpu|cuda] [--html page.html]

The peaks are measured by programs of our own on the same device: large products of matrices of the element types
that the program's own products have, and a sum of vectors that no cache holds. A kernel whose arrays are in a
cache can exceed the latter. They are kept in $XDG_CACHE_HOME/isthmus/peaks.json; --measure does it again.
"""

import contextlib
import html
import json
import math
import os
import pathlib
import re
import sys
import tempfile
import time

import numpy as np

import isthmus

_PRODUCT = """
func.func @main(%a: tensor<{n}x{n}x{type}>, %b: tensor<{n}x{n}x{type}>) -> tensor<{n}x{n}x{result}> {{
  %c = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<{n}x{n}x{type}>, tensor<{n}x{n}x{type}>) -> tensor<{n}x{n}x{result}>
  func.return %c : tensor<{n}x{n}x{result}>
}}"""
_SUM = """
func.func @main(%a: tensor<{n}xf32>, %b: tensor<{n}xf32>) -> tensor<{n}xf32> {{
  %c = stablehlo.add %a, %b : tensor<{n}xf32>
  func.return %c : tensor<{n}xf32>
}}"""


class Report:
    """What was measured of a program; times in seconds a run."""

    def __init__(self, name, wall, steps, runs, peaks, arithmetic, choices):
        self.name, self.wall, self.runs, self.choices = name, wall, runs, choices
        self.device, self.peak_flops, self.peak_bytes = peaks
        self._arithmetic = arithmetic
        self.rows = [self._row(step) for step in steps]
        self.kernels = sum(row["seconds"] for row in self.rows)

    def _row(self, step):
        seconds, count = step.seconds / self.runs, step.count / self.runs
        flops, moved = step.flops * count, step.bytes * count
        rate = 1 / seconds if seconds else 0
        element = self._arithmetic.type_of(step)
        compute, memory = flops * rate / self.peak_flops[element], moved * rate / self.peak_bytes
        return {"name": step.name, "source": step.source, "category": step.category,
                "scope": step.scope, "type": element, "count": count, "seconds": seconds, "flops": flops,
                "bytes": moved, "gflops": flops * rate / 1e9, "gbytes": moved * rate / 1e9,
                "peak": max(compute, memory), "bound": "compute" if compute > memory else "memory"}

    def head(self) -> str:
        flops = ", ".join(f"{peak / 1e9:.0f} GFLOP/s ({element})" for element, peak in self.peak_flops.items())
        return (f"{self.name} on {self.device}: {self.wall * 1e6:.1f} us a run, {self.kernels * 1e6:.1f} us "
                f"in {len(self.rows)} kernels and calls; peaks measured here: "
                f"{flops}, {self.peak_bytes / 1e9:.1f} GB/s")

    def text(self) -> str:
        lines = [self.head(), "", f"{'us/run':>10} {'share':>6} {'times':>6} {'GFLOP/s':>8} {'GB/s':>7} "
                 f"{'of peak':>8} {'type':>4}  kernel"]
        for row in self.rows:
            lines.append(
                f"{row['seconds'] * 1e6:10.1f} {self._share(row):6.1%} {row['count']:6g} "
                f"{row['gflops']:8.1f} {row['gbytes']:7.1f} {row['peak']:6.0%} {row['bound'][0]} {row['type']:>4}  "
                f"{row['name']}" + (f"  ({row['source']})" if row["source"] else ""))
        if self.choices:
            lines += ["", "What the compiler chose:", *("  " + line for line in self.choices)]
        return "\n".join(lines)

    def _share(self, row) -> float:
        return row["seconds"] / self.kernels if self.kernels else 0.0

    def page(self) -> str:
        """One page of HTML that refers to nothing else."""
        rows = []
        for row in self.rows:
            share = self._share(row)
            rows.append(
                f"<tr><td class=n>{row['seconds'] * 1e6:.1f}<td><div class=bar style='width:"
                f"{100 * share:.1f}%'></div><small>{share:.1%}</small><td class=n>{row['count']:g}"
                f"<td class=n>{row['gflops']:.1f}<td class=n>{row['gbytes']:.1f}"
                f"<td class=n>{row['peak']:.0%} {row['bound']} ({row['type']})<td><b>{html.escape(row['name'])}</b><br>"
                f"<small>{html.escape(row['source'])} {html.escape(row['scope'])}</small>")
        choices = "\n".join(html.escape(line) for line in self.choices)
        return f"""<!doctype html><meta charset=utf-8><title>{html.escape(self.name)}</title>
<style>
body {{ font: 14px system-ui, sans-serif; margin: 2em; color: #222 }}
table {{ border-collapse: collapse; width: 100% }}
th, td {{ border-bottom: 1px solid #ddd; padding: 4px 8px; text-align: left; vertical-align: top }}
td.n {{ text-align: right; font-variant-numeric: tabular-nums }}
td:nth-child(2) {{ width: 20% }}
.bar {{ background: #4a7fb5; height: 10px }}
small {{ color: #666 }}
</style>
<h1>{html.escape(self.name)}</h1><p>{html.escape(self.head())}
<table><tr><th>us/run<th>share<th>times<th>GFLOP/s<th>GB/s<th>of peak<th>kernel
{chr(10).join(rows)}</table>
<h2>What the compiler chose</h2><pre>{choices}</pre>
"""


@contextlib.contextmanager
def _captured_stderr(lines: list):
    """What native code writes to standard error becomes `lines`."""
    sys.stderr.flush()
    with tempfile.TemporaryFile() as file:
        saved = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(saved, 2)
            os.close(saved)
            file.seek(0)
            lines += file.read().decode(errors="replace").splitlines()


def _fastest(call, repeats: int) -> float:
    call()
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return min(times)


def peak_flops(client, type="f32", dtype=np.float32) -> float:
    """Operations in a second that a large product of matrices of this type reaches."""
    n, seconds = 512, 0.0
    # As large as the device needs to be busy, and not only to be told.
    while seconds < 5e-3 and n < 8192:
        n *= 2
        # On zeros or ones some devices are faster.
        a = client.put((np.random.default_rng(0).standard_normal((n, n), np.float32) * 8).astype(dtype))
        product = client.compile(
            _PRODUCT.format(n=n, type=type, result="i32" if type.startswith("i") else type))
        seconds = _fastest(lambda a=a, product=product: product(a, a).block_until_ready(), 10)
    return 2 * n**3 / seconds


def peak_bytes(client) -> float:
    """Bytes in a second that a sum of vectors that no cache holds reads and writes."""
    n = 1 << 25
    a = client.put(np.ones(n, np.float32))
    add = client.compile(_SUM.format(n=n))
    return 3 * 4 * n / _fastest(lambda: add(a, a).block_until_ready(), 5)


# Element types whose products have peaks of their own, the widest first, and NumPy's names for them.
_PEAK_TYPES = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "i8": "int8"}
_NARROW_INTEGERS = {"i8", "ui8", "i4", "ui4", "i2", "ui2"}
# In the generic form of StableHLO's text.
_PRODUCTS = re.compile(
    r'"stablehlo\.(dot_general|convolution)"\([^)]*\) (.*) : \(tensor<(.*)>, tensor<(.*)>\) -> tensor<(.*)>$', re.M)
_RESULTS = re.compile(r'"func\.return"\(.*\) : \((.*)\) -> \(\)$', re.M)


def _shape(tensor: str) -> "tuple[list, str]":
    """Dimensions (1 where they are unknown) and the type whose peak counts, of what is inside tensor<>."""
    dims, element = re.match(r"((?:[\d?]+x)*)(?:complex<|!quant\.uniform<)?(\w*)", tensor).groups()
    if element in _NARROW_INTEGERS:
        element = "i8"
    # Other types have no products of their own: they are computed in float32.
    return [1 if d == "?" else int(d) for d in dims.split("x")[:-1]], element if element in _PEAK_TYPES else "f32"


class Arithmetic:
    """The element types in which a program computes, of its text in the generic form."""

    def __init__(self, text: str):
        self._products = [self._product(match) for match in _PRODUCTS.finditer(text)]
        # What is no product is computed in float32, or in float64 if that is what the program is about.
        self._others = "f64" if any("f64" in match[1] for match in _RESULTS.finditer(text)) else "f32"

    @staticmethod
    def _product(match):
        """Floating-point operations and type: the wider of the operands', to which the other is converted."""
        kind, attributes = match[1], match[2]
        (left, left_type), (right, right_type), (result, _) = map(_shape, match.groups()[2:])
        if kind == "dot_general":
            contracting = re.search(r"lhs_contracting_dimensions = \[([\d, ]*)\]", attributes)
            reduced = math.prod(left[int(d)] for d in re.findall(r"\d+", contracting[1] if contracting else ""))
        else:
            kernel = re.search(r"\]x\[(.*?)\]->", attributes)[1].split(", ")
            features = right[kernel.index("o")]
            reduced = math.prod(right) // features if features else 0
        return 2 * math.prod(result) * reduced, min(left_type, right_type, key=list(_PEAK_TYPES).index)

    def type_of(self, step) -> str:
        """The type of a kernel: that of its product, which is known by its operations among several."""
        if not self._products or not re.search(r"\b(dot_general|convolution)\b", step.name):
            return self._others
        # Other operations of the kernel come on top of its product's.
        return min(self._products, key=lambda product: (product[0] > step.flops, abs(product[0] - step.flops)))[1]

    def types(self) -> set:
        """Those of all kernels."""
        return {self._others, *(element for _, element in self._products)}

    def seconds(self, flops: float, peaks: dict) -> float:
        """What so many operations of the whole program take at the peaks of its types. Products that stand in loops
        are counted once in the text, so only the shares of their types are taken from it."""
        products = [product for product in self._products if product[0] > 0] or [(1, self._others)]
        total = sum(operations for operations, _ in products)
        return sum(flops * operations / total / peaks[element] for operations, element in products)


def _peaks_file() -> pathlib.Path:
    folder = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(folder) / "isthmus" / "peaks.json"


def peaks(client, types, again: bool = False) -> tuple:
    """The device's name, and what it reaches in a second of products of each of these element types, and of bytes:
    what an earlier process found, or measured now."""
    device = client.describe_devices()[0]["name"]
    types = [element for element in _PEAK_TYPES if element in types]
    key = "; ".join([client.version, device, f"{len(os.sched_getaffinity(0))} CPUs",
                     os.environ.get("ISTHMUS_NUM_THREADS", "")])
    file = _peaks_file()
    try:
        known = json.loads(file.read_text())
        found = {unit: float(peak) for unit, peak in known.get(key, {}).items()}
    except (OSError, ValueError, AttributeError, TypeError):
        known, found = {}, {}
    if again:
        found = {}
    missing = {*types, "bytes"} - found.keys()
    for element in missing - {"bytes"}:
        from isthmus.element_types import named_dtype

        found[element] = peak_flops(client, element, named_dtype(_PEAK_TYPES[element]))
    if "bytes" in missing:
        found["bytes"] = peak_bytes(client)
    if missing:
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=file.parent, delete=False) as new:
                json.dump(known | {key: found}, new, indent=1)
            os.replace(new.name, file)
        except OSError:
            pass  # measured again by the next process
    return device, {element: found[element] for element in types}, found["bytes"]


def client_of(platform: str):
    """A client of one of this installation's platforms."""
    from isthmus import client as clients
    from isthmus import device_platform, further_platforms

    if platform == "isthmus":
        return clients.default_client()
    if platform == "xpu":
        from isthmus import xpu_backend

        xpu_backend.set_environment()
        return clients.Client(xpu_backend.library_path())
    if platform == "cuda":
        from isthmus import cuda_backend

        cuda_backend.set_environment()
        return clients.Client(cuda_backend.library_path(), device_platform.asked_devices())
    library = further_platforms.library_of(platform)
    if library is None:
        raise ValueError(f"there is no platform {platform}, but isthmus, xpu, cuda, and those whose libisthmus_NAME.so "
                         "is installed or named in PJRT_NAMES_AND_LIBRARY_PATHS")
    return clients.Client(library, device_platform.asked_devices())


def _made_up(array) -> np.ndarray:
    """An argument of the right type: normal numbers, or ones, which every index can be."""
    from isthmus.client import _dtype

    dtype = _dtype(array.type)
    if np.issubdtype(dtype, np.floating) or dtype.kind in "cV":
        return np.random.default_rng(0).standard_normal(array.shape).astype(dtype)
    return np.ones(array.shape, dtype)


def explain(model, arrays=None, runs: int = 20, platform: str = "isthmus", measure: bool = False) -> Report:
    """Compiles `model` for a platform, runs it on `arrays` (made up if there are none) and says where time goes.
    With `measure`, peaks that are known are measured all the same."""
    # Read when the library is loaded.
    os.environ.setdefault("ISTHMUS_LOG", "compile")
    from isthmus import client as clients
    from isthmus import object_file, profiler

    client, choices = client_of(platform), []
    with _captured_stderr(choices):
        program = client.compile(model, shapes=[np.shape(array) for array in arrays] if arrays else None)
    if not arrays:
        library = pathlib.Path(isthmus.library_path()).with_name("libisthmus_model.so")
        # Executables of the CPU can be asked for their arguments. What the compiler chooses there is not asked for.
        with _captured_stderr([]):
            on_cpu = program if platform == "isthmus" else clients.default_client().compile(model)
        described = object_file.Model(on_cpu, "program", library)
        arrays = [_made_up(array) for _, array in described.named_arguments()]
    # On the device once; a program that takes them over is given copies.
    inputs = [client.put(array) for array in arrays]

    def run():
        results = program(*inputs)
        for result in results if isinstance(results, tuple) else (results,):
            result.block_until_ready()

    with _captured_stderr([]):
        arithmetic = Arithmetic(program.optimized_program())
        reached = peaks(client, arithmetic.types(), measure)
    try:
        wall = _fastest(run, runs)
    except clients.Error:
        # Arguments that the program donates are gone after one run.
        def run():
            results = program(*arrays)
            for result in results if isinstance(results, tuple) else (results,):
                result.block_until_ready()
        wall = _fastest(run, runs)
    steps = profiler.record(client, lambda: [run() for _ in range(runs)])
    kernels = [line.removeprefix("isthmus compile: ") for line in choices]
    return Report(pathlib.Path(str(model)).stem, wall, steps, runs, reached, arithmetic, kernels)

"""PyTorch's own database of operations, forward and backward, on a PJRT device against eager.

    PJRT_DEVICE=ISTHMUS python op_database.py --output isthmus.json [--slice 0/4] [--seconds 600]
    PJRT_DEVICE=CPU     python op_database.py --output cpu.json
    python op_database.py --compare isthmus.json cpu.json

An operation is clean if its first samples of float32 give eager's results and gradients; of random numbers
(what differs from seed to seed) and of arrays without contents, their shapes. Groups run in processes of their
own: one that ends the process is counted as `crash`, and the rest go on. Some failures leave torch_xla's tensors
without data for all that comes after them in the process: what fails so gets a fresh one.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

SAMPLES = 3
GROUP = 25


def check(torch, torch_xla, op):
    """None if the operation is clean, else what differs."""
    device = torch_xla.device()
    dtype = torch.float32
    if dtype not in op.supported_dtypes("cpu"):
        dtype = sorted(op.supported_dtypes("cpu"), key=str)[0]
    gradient = op.supports_autograd and dtype.is_floating_point
    from torch.utils._pytree import tree_flatten, tree_map

    def on_device(value):
        if not isinstance(value, torch.Tensor):
            return value
        moved = value.detach().clone().to(device)
        return moved.requires_grad_(value.requires_grad)

    def results(value):
        return [t for t in tree_flatten(value)[0] if isinstance(t, torch.Tensor)]

    def shapes(tensors):
        return [tuple(t.shape) for t in tensors]

    def same(some, others):
        return shapes(some) == shapes(others) and all(
            torch.equal(a.detach().nan_to_num(), b.detach().nan_to_num()) for a, b in zip(some, others))

    def compare(got, expected, what):
        if len(got) != len(expected):
            raise AssertionError(f"{what}: {len(got)} tensors, expected {len(expected)}")
        for a, b in zip(got, expected):
            if b is None and a is None:
                continue
            torch.testing.assert_close(a.detach().cpu(), b.detach(), rtol=2e-3, atol=2e-3,
                                       equal_nan=True, check_dtype=False, check_stride=False)

    for index, sample in enumerate(op.sample_inputs("cpu", dtype, requires_grad=gradient)):
        if index == SAMPLES:
            break
        args, kwargs = (sample.input, *sample.args), sample.kwargs
        moved = tree_map(on_device, (args, kwargs))
        copies = tree_map(lambda v: v.detach().clone() if isinstance(v, torch.Tensor) else v, (args, kwargs))
        torch.manual_seed(1)
        drawn = results(op(*copies[0], **copies[1]))
        torch.manual_seed(0)
        expected = results(op(*args, **kwargs))
        torch.manual_seed(0)
        got = results(op(*moved[0], **moved[1]))
        torch_xla.sync()
        if op.name.removeprefix("new_").startswith("empty") or not same(drawn, expected):
            assert shapes(got) == shapes(expected), f"shapes {shapes(got)}, expected {shapes(expected)}"
            continue
        compare(got, expected, "results")
        leaves = [[t for t in tree_flatten(tree)[0]
                   if isinstance(t, torch.Tensor) and t.requires_grad]
                  for tree in ((args, kwargs), moved)]
        if not gradient or not leaves[0] or not all(
                t.requires_grad and t.dtype.is_floating_point for t in expected[:1]):
            continue
        gradients = [torch.autograd.grad(value[0].sum(), leaf, allow_unused=True)
                     for value, leaf in zip((expected, got), leaves)]
        torch_xla.sync()
        compare(gradients[1], gradients[0], "gradients")


def run_group(begin, end, path):
    """In a process of its own: appends a line of JSON for each operation."""
    import warnings

    import torch
    import torch_xla
    from torch.testing._internal.common_methods_invocations import op_db

    warnings.simplefilter("ignore")
    torch_xla.device()
    with open(path, "a") as out:
        for number in range(begin, end):
            op = op_db[number]
            name = op.name + (f".{op.variant_test_name}" if op.variant_test_name else "")
            out.write(json.dumps({"number": number, "name": name, "result": "crash"}) + "\n")
            out.flush()
            try:
                check(torch, torch_xla, op)
                result, why = "clean", ""
            except Exception as error:
                result, why = "failed", f"{type(error).__name__}: {error}"[:300]
                if number != begin and "Check failed" in why:
                    result = "again"
            out.write(json.dumps({"number": number, "name": name, "result": result,
                                  "why": why}) + "\n")
            out.flush()
            if result == "again":
                return


def read(path):
    """The last word on each operation."""
    entries = {}
    if pathlib.Path(path).exists():
        for line in pathlib.Path(path).read_text().splitlines():
            entry = json.loads(line)
            entries[entry["number"]] = entry
    return entries


def run(options):
    count = int(subprocess.run(
        [sys.executable, "-c", "from torch.testing._internal.common_methods_invocations import op_db;"
         "print(len(op_db))"], capture_output=True, text=True, check=True).stdout)
    part, parts = (int(n) for n in options.slice.split("/"))
    numbers = range(count * part // parts, count * (part + 1) // parts)
    stop_at = time.monotonic() + options.seconds
    begin = numbers.start
    while begin < numbers.stop and time.monotonic() < stop_at:
        end = min(begin + GROUP, numbers.stop)
        done = read(options.output)
        while begin < end and done.get(begin, {"result": "again"})["result"] != "again":
            begin += 1
        if begin == end:
            continue
        try:
            subprocess.run([sys.executable, __file__, "--group", str(begin), str(end), "--output",
                            options.output], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                           timeout=GROUP * 40)
        except subprocess.TimeoutExpired:
            pass  # the operation in hand counts as a crash
    summarize(options.output)


def summarize(path):
    entries = read(path).values()
    clean = sum(entry["result"] == "clean" for entry in entries)
    print(f"{path}: {clean} of {len(entries)} clean")


def compare(ours, theirs):
    summarize(ours)
    summarize(theirs)
    a, b = read(ours), read(theirs)
    both = sorted(a.keys() & b.keys())
    worse = [n for n in both if a[n]["result"] != "clean" and b[n]["result"] == "clean"]
    better = [n for n in both if a[n]["result"] == "clean" and b[n]["result"] != "clean"]
    print(f"of {len(both)} run on both: {len(better)} clean only in the first, "
          f"{len(worse)} only in the second")
    for number in worse:
        print(f"  {a[number]['name']}: {a[number]['result']} {a[number].get('why', '')}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", default=f"{os.environ.get('PJRT_DEVICE', 'none')}.json")
    parser.add_argument("--slice", default="0/1")
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--compare", nargs=2)
    parser.add_argument("--group", nargs=2, type=int)
    options = parser.parse_args()
    if options.compare:
        compare(*options.compare)
    elif options.group:
        run_group(*options.group, options.output)
    else:
        run(options)


if __name__ == "__main__":
    main()

"""Milliseconds of a training step: on ISTHMUS, on torch_xla's own CPU client, and eager.

Usage: python measure.py [--output FILE.json] [--models mlp,gpt]
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

STEPS = 12


def measure(name):
    """The fastest of some steps, in a process that has one device."""
    import pytorch_models as models
    import torch

    device = os.environ["PJRT_DEVICE"]
    if device == "EAGER":
        where, sync = torch.device("cpu"), lambda: None
    else:
        import torch_xla
        where = torch_xla.device()

        def sync():
            torch_xla.sync(wait=True)

    torch.manual_seed(0)
    model, (x, y) = models.ALL[name](), models.data(name)
    model, x, y = model.to(where), x.to(where), y.to(where)
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    times = []
    for _ in range(STEPS):
        begin = time.perf_counter()
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        sync()
        times.append(time.perf_counter() - begin)
    print(json.dumps({"first": times[0] * 1e3, "step": min(times[2:]) * 1e3}))


def main():
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    import pytorch_models as models

    parser = argparse.ArgumentParser()
    parser.add_argument("--output")
    parser.add_argument("--models", default=",".join(models.ALL))
    parser.add_argument("--one")
    options = parser.parse_args()
    if options.one:
        measure(options.one)
        return
    table = {}
    for name in options.models.split(","):
        row = {}
        for device in ("ISTHMUS", "CPU", "EAGER"):
            done = subprocess.run([sys.executable, __file__, "--one", name], capture_output=True,
                                  text=True, env={**os.environ, "PJRT_DEVICE": device})
            row[device] = json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else None
        table[name] = row
        shown = "  ".join(f"{device} {row[device]['step']:8.2f} ms" if row[device] else f"{device} failed"
                          for device in row)
        print(f"{name:10} {shown}", flush=True)
    if options.output:
        pathlib.Path(options.output).write_text(json.dumps(table, indent=1))


if __name__ == "__main__":
    main()

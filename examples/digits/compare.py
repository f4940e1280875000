"""Runs the training on platform isthmus and on JAX's own CPU client, and compares the two.

    python examples/digits/compare.py [--epochs N] [--out FILE.png]
"""

import argparse
import os
import pathlib
import sys
import time

import jax
import numpy as np

import training

WANTED_ACCURACY = 0.97
# Steps whose losses must agree closely: rounding differences grow exponentially with the steps, so
# later ones are compared as means over an epoch.
CLOSE_STEPS = 50


class Bar:
    """A progress bar on a terminal, a line for each tenth elsewhere."""

    def __init__(self, title):
        self._title = title
        self._terminal = sys.stdout.isatty()
        self._shown = -1.0

    def __call__(self, step, steps, loss):
        width = 30
        now = time.monotonic()
        if self._terminal and (now - self._shown > 0.05 or step == steps):
            self._shown = now
            filled = width * step // steps
            print(f"\r{self._title:<10} [{'█' * filled}{'·' * (width - filled)}] "
                  f"step {step}/{steps}  loss {loss:.4f}", end="\n" if step == steps else "",
                  flush=True)
        elif not self._terminal and step % max(1, steps // 10) == 0:
            print(f"{self._title:<10} step {step}/{steps}  loss {loss:.4f}", flush=True)


def curve_difference(losses, reference, per_epoch):
    """Returns the largest difference over the first steps, and of the later epochs' means."""
    a, b = np.array(losses), np.array(reference)
    early = np.max(np.abs(a - b)[:CLOSE_STEPS])
    epochs = len(a) // per_epoch * per_epoch
    means = [x[:epochs].reshape(-1, per_epoch).mean(axis=1) for x in (a, b)]
    return float(early), float(np.max(np.abs(means[0] - means[1])))


def draw(runs, path):
    """Draws the loss curves into a PNG."""
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (upper, lower) = pyplot.subplots(
        2, 1, figsize=(9, 6.5), height_ratios=(3, 1), sharex=True, layout="constrained")
    styles = [{"color": "#d1495b", "linewidth": 2.4}, {"color": "#00798c", "linestyle": "--"}]
    for (name, run), style in zip(runs.items(), styles):
        upper.plot(run.losses, label=f"{name}: test accuracy {run.accuracy:.1%}, "
                   f"{run.step_seconds * 1e3:.2f} ms a step, "
                   f"compiled in {run.compile_seconds:.2f} s", **style)
    first, second = (np.array(run.losses) for run in runs.values())
    lower.semilogy(np.abs(first - second) + 1e-9, color="#555555", linewidth=0.8)
    upper.set(yscale="log", ylabel="training loss",
              title="A Flax CNN on handwritten digits: isthmus and JAX's own CPU client")
    upper.legend()
    lower.set(xlabel="step", ylabel="|difference|")
    for axes in (upper, lower):
        axes.grid(alpha=0.3)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--platform", default="isthmus")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("out/digits.png"))
    options = parser.parse_args()

    jax.config.update("jax_platforms", ",".join(dict.fromkeys([options.platform, "cpu"])))
    devices = {options.platform: jax.devices(options.platform)[0], "JAX's CPU": jax.devices("cpu")[0]}
    # Both report the platform "cpu", which they are; the version tells them apart.
    for name, device in devices.items():
        print(f"{name}: {' '.join(device.client.platform_version.split())}")

    runs = {}
    for name, device in devices.items():
        # The first program of a process pays for starting the compiler.
        with jax.default_device(device):
            jax.block_until_ready(jax.jit(lambda x: x + 1)(1.0))
        runs[name] = training.train(device, options.epochs, Bar(name))

    ours, theirs = runs.values()
    draw(runs, options.out)
    early, later = curve_difference(ours.losses, theirs.losses, 1437 // training.BATCH)
    print()
    print(f"{'':24}{options.platform:>12}{'JAX CPU':>12}{'ratio':>8}")
    for title, a, b, unit in [
            ("test accuracy", ours.accuracy * 100, theirs.accuracy * 100, "%"),
            ("time a step", ours.step_seconds * 1e3, theirs.step_seconds * 1e3, "ms"),
            ("time to compile", ours.compile_seconds * 1e3, theirs.compile_seconds * 1e3, "ms"),
            ("time in all", ours.total_seconds, theirs.total_seconds, "s")]:
        print(f"{title:<20}{unit:>4}{a:12.2f}{b:12.2f}{a / b:8.2f}")
    print(f"largest difference of the losses: {early:.1e} in the first {CLOSE_STEPS} steps, "
          f"{later:.1e} between means over later epochs")
    print(f"curves: {os.path.relpath(options.out)}")

    failures = []
    if ours.accuracy < WANTED_ACCURACY:
        failures.append(f"test accuracy {ours.accuracy:.2%}, expected at least {WANTED_ACCURACY:.0%}")
    if early > 0.02 or later > 0.02:
        failures.append("the loss curve does not follow that of JAX's CPU client")
    for failure in failures:
        print(f"FAILED: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

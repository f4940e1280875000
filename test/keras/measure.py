"""Milliseconds of a jitted Keras training step on ISTHMUS and by TensorFlow's XLA:CPU.

Usage: python measure.py [--output FILE.json] [--models mlp,lstm]
"""

import argparse
import json
import os
import pathlib
import sys
import time

DEVICES = ("ISTHMUS", "CPU")
# Steps of each device, turn about: at least so many, and until so many seconds have passed.
STEPS, SECONDS = 10, 1.0


def timed(call):
    begin = time.perf_counter()
    call()
    return (time.perf_counter() - begin) * 1e3


def trained(name, start, device):
    """A function that does one step on a device."""
    import keras_models as models
    import tensorflow as tf

    with tf.device(device):
        model = models.compiled(name, start)
    x, y = models.data(name, 16)

    def step():
        with tf.device(device):
            model.train_on_batch(x, y)

    return step


def measure(name):
    """Milliseconds of the first and of the fastest step by device. They take turns, so that what else the machine
    does falls on all alike."""
    import keras_models as models

    start = models.weights(name)
    steps = {device: trained(name, start, f"/{device}:0") for device in DEVICES}
    first = {device: timed(step) for device, step in steps.items()}
    for step in steps.values():
        step()  # the second one finds its arguments elsewhere
    times = {device: [] for device in DEVICES}
    begin = time.perf_counter()
    while len(times[DEVICES[0]]) < STEPS or time.perf_counter() - begin < SECONDS:
        for device, step in steps.items():
            times[device].append(timed(step))
    return {device: {"first": first[device], "step": min(times[device])} for device in DEVICES}


def main():
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    import keras_models as models

    parser = argparse.ArgumentParser()
    parser.add_argument("--output")
    parser.add_argument("--models", default=",".join(models.ALL))
    options = parser.parse_args()
    table = {}
    for name in options.models.split(","):
        table[name] = measure(name)
        print(f"{name:10} " + "  ".join(
            f"{device} {row['step']:8.2f} ms" for device, row in table[name].items()), flush=True)
    if options.output:
        pathlib.Path(options.output).write_text(json.dumps(table, indent=1))


if __name__ == "__main__":
    main()

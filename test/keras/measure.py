"""Milliseconds of a jitted Keras training step on ISTHMUS and by TensorFlow's XLA:CPU.

Usage: python measure.py [--output FILE.json] [--models mlp,lstm]
"""

import argparse
import json
import os
import pathlib
import sys
import time

STEPS = 12


def measure(name, device):
    import keras_models as models
    import tensorflow as tf

    start = models.weights(name)
    with tf.device(device):
        model = models.compiled(name, start)
        x, y = models.data(name, 16)
        times = []
        for _ in range(STEPS):
            begin = time.perf_counter()
            model.train_on_batch(x, y)
            times.append(time.perf_counter() - begin)
    return {"first": times[0] * 1e3, "step": min(times[2:]) * 1e3}


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
        table[name] = {device: measure(name, f"/{device}:0") for device in ("ISTHMUS", "CPU")}
        print(f"{name:10} " + "  ".join(
            f"{device} {row['step']:8.2f} ms" for device, row in table[name].items()), flush=True)
    if options.output:
        pathlib.Path(options.output).write_text(json.dumps(table, indent=1))


if __name__ == "__main__":
    main()

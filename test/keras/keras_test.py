"""Keras models are fitted, evaluated and asked as on TensorFlow's own CPU."""

import functools

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from device_type import DEVICE  # noqa: E402
import keras_models as models  # noqa: E402

# As a whole, operation by operation from Python, and operation by operation in a graph.
WAYS = {"jitted": {}, "eager": {"jit_compile": False, "run_eagerly": True}, "graph": {"jit_compile": False}}


def train(name, device, way, scope=None):
    start = models.weights(name)
    with scope or tf.device(device):
        model = models.compiled(name, start, **WAYS[way])
    with tf.device(device):
        # One step for the one that amplifies rounding.
        count, epochs = (16, 1) if name == "resnet50" else (64, 2)
        x, y = models.data(name, count)
        history = model.fit(x, y, batch_size=16, epochs=epochs, shuffle=False, verbose=0).history
        return history["loss"], model.evaluate(x, y, verbose=0), model.predict(x[:16], verbose=0)


expected = functools.cache(lambda name, way: train(name, "/CPU:0", way))


def check(name, got, wanted):
    for a, b in zip(got, wanted):
        np.testing.assert_allclose(a, b, **(
            {"rtol": 2e-2, "atol": 2e-3} if name == "resnet50" else {"rtol": 1e-3, "atol": 1e-4}))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", models.ALL)
def test_model(name, way):
    if name == "resnet50" and way == "graph":
        pytest.skip("the operations of eager, which takes a minute")
    # Compiling it by TensorFlow's XLA:CPU would take most of the suite's time.
    theirs = "eager" if name == "resnet50" else way
    check(name, train(name, f"/{DEVICE}:0", way), expected(name, theirs))


def mirrored(**options):
    return tf.distribute.MirroredStrategy([f"{DEVICE}:0", f"{DEVICE}:1"], **options)


@pytest.mark.parametrize("name", ["mlp", "lstm"])
def test_two_devices(name):
    strategy = mirrored(cross_device_ops=tf.distribute.ReductionToOneDevice())
    check(name, train(name, f"/{DEVICE}:0", "graph", strategy.scope()), expected(name, "graph"))


def test_a_jitted_step_on_two_devices():
    strategy = mirrored(cross_device_ops=tf.distribute.ReductionToOneDevice())
    step = tf.function(lambda x: x * 2, jit_compile=True)
    batches = tf.data.Dataset.from_tensor_slices(tf.range(4.0)).batch(4)
    for x in strategy.experimental_distribute_dataset(batches):
        results = strategy.run(lambda x: step(x), args=(x,))
    shown = [(r.device.split("device:")[-1], r.numpy().tolist()) for r in strategy.experimental_local_results(results)]
    assert shown == [(f"{DEVICE}:0", [0, 2]), (f"{DEVICE}:1", [4, 6])]


def test_what_cannot_be_done_on_two_devices_is_refused():
    # TensorFlow compiles for one device, and jitted Keras steps update the variables of both.
    strategy = mirrored(cross_device_ops=tf.distribute.ReductionToOneDevice())
    with pytest.raises(tf.errors.InvalidArgumentError, match="resource.* located in device"):
        train("mlp", f"/{DEVICE}:0", "jitted", strategy.scope())
    with pytest.raises(tf.errors.UnimplementedError, match="ReductionToOneDevice"):
        train("mlp", f"/{DEVICE}:0", "graph", mirrored().scope())

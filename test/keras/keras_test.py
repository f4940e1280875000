"""Keras models are fitted, evaluated and asked as on TensorFlow's own CPU."""

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

import keras_models as models  # noqa: E402


def train(name, device):
    with tf.device(device):
        model = models.compiled(name)
        # One step for the one that amplifies rounding.
        count, epochs = (16, 1) if name == "resnet50" else (64, 2)
        x, y = models.data(name, count)
        history = model.fit(x, y, batch_size=16, epochs=epochs, shuffle=False, verbose=0).history
        return history["loss"], model.evaluate(x, y, verbose=0), model.predict(x[:16], verbose=0)


@pytest.mark.parametrize("name", models.ALL)
def test_model(name):
    expected = train(name, "/CPU:0")
    got = train(name, "/ISTHMUS:0")
    for a, b in zip(got, expected):
        np.testing.assert_allclose(a, b, rtol=2e-2, atol=2e-3)

"""Functions of TensorFlow that are compiled as a whole, on devices of ours."""

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from device_type import DEVICE  # noqa: E402


@tf.function(jit_compile=True)
def layer(x, y):
    return tf.nn.softmax(x @ y) + 1


def test_devices_are_listed():
    assert len(tf.config.list_physical_devices(DEVICE)) == 2
    assert [d.device_type for d in tf.config.list_logical_devices(DEVICE)] == [DEVICE] * 2


@pytest.mark.parametrize("device", [0, 1])
def test_function(device):
    x, y = np.random.rand(4, 5).astype("float32"), np.random.rand(5, 3).astype("float32")
    with tf.device(f"/{DEVICE}:{device}"):
        result = layer(x, y)
    assert result.device.endswith(f"{DEVICE}:{device}")
    logits = np.exp(x @ y)
    np.testing.assert_allclose(result, logits / logits.sum(1, keepdims=True) + 1, rtol=1e-5)


@pytest.mark.parametrize("dtype", [
    tf.bool, tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint32, tf.float16, tf.bfloat16,
    tf.float32, tf.float64, tf.complex64])
def test_element_types(dtype):
    @tf.function(jit_compile=True)
    def twice(x):
        return tf.concat([x, x], 0)

    x = tf.cast(tf.constant([0, 1, 1]), dtype)
    with tf.device(f"/{DEVICE}:0"):
        result = twice(x)
    assert result.dtype == dtype
    np.testing.assert_array_equal(result.numpy(), np.concatenate([x.numpy()] * 2))


def test_gradient_of_a_loop():
    @tf.function(jit_compile=True)
    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x
            for _ in tf.range(3):
                y = tf.sin(y) * x
        return tape.gradient(y, x)

    x = tf.constant([0.5, 1.0, 2.0])
    expected = gradient.python_function(x)
    with tf.device(f"/{DEVICE}:0"):
        got = gradient(x)
    np.testing.assert_allclose(got, expected, rtol=1e-5)


def test_variables_are_updated():
    with tf.device(f"/{DEVICE}:0"):
        total = tf.Variable(tf.zeros(3))

        @tf.function(jit_compile=True)
        def add(x):
            total.assign_add(x)
            return total * 2

        add(tf.ones(3))
        result = add(tf.ones(3))
    np.testing.assert_array_equal(result, [4, 4, 4])
    np.testing.assert_array_equal(total, [2, 2, 2])


def test_saved_model(tmp_path):
    class Model(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = tf.Variable(tf.ones((3, 2)))

        @tf.function(jit_compile=True, input_signature=[tf.TensorSpec((None, 3), tf.float32)])
        def __call__(self, x):
            return tf.nn.relu(x @ self.w)

    tf.saved_model.save(Model(), str(tmp_path))
    with tf.device(f"/{DEVICE}:0"):
        loaded = tf.saved_model.load(str(tmp_path))
        result = loaded(tf.ones((4, 3)))
    assert result.device.endswith(f"{DEVICE}:0")
    np.testing.assert_array_equal(result, np.full((4, 2), 3))

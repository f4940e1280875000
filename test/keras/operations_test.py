"""Single operations on devices of ours, eager and in functions that are not compiled as a whole."""

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from device_type import DEVICE  # noqa: E402


@pytest.fixture(autouse=True)
def on_isthmus():
    with tf.device(f"/{DEVICE}:0"):
        yield


def check(result, expected, device=f"{DEVICE}:0"):
    assert result.device.endswith(device), result.device
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64", "float16", "float32",
                                   "float64", "complex64"])
def test_arithmetic(dtype):
    x, y = np.array([1, 2, 3], dtype), np.array([3, 5, 7], dtype)
    check(tf.constant(x) * tf.constant(y) + tf.constant(x), x * y + x)
    check(tf.cast(tf.constant(x), tf.float32), x.real.astype("float32"))


def test_integers_as_arguments_and_results():
    check(tf.reshape(tf.range(6), [2, 3]), np.arange(6).reshape(2, 3))
    check(tf.gather(tf.constant([1.0, 2.0, 3.0]), tf.constant([2, 0])), [3, 1])
    check(tf.argmax(tf.constant([1.0, 3.0, 2.0]), output_type=tf.int32), 1)
    check(tf.shape(tf.ones((2, 3))), [2, 3])
    check(tf.reduce_sum(tf.ones((2, 3)), axis=tf.constant(1)), [3, 3])
    check(tf.ones((tf.constant(0), 3)) + 1, np.zeros((0, 3)))


def test_variables():
    for start in (np.zeros(3, "float32"), np.zeros(3, "int32"), np.zeros(3, "int64")):
        total = tf.Variable(start)
        total.assign_add(start + 2)
        total.assign_sub(start + 1)
        total[0].assign(7)
        total.scatter_nd_update([[2]], [9])
        check(total.read_value(), [7, 1, 9])


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "bool", "float32", "complex64"])
def test_variables_are_on_the_device_and_in_jitted_functions(dtype):
    start = np.array([1, 0, 2]).astype(dtype)
    kept = tf.Variable(start)
    check(kept, start)

    @tf.function(jit_compile=True)
    def reverse():
        kept.assign(kept[::-1])
        return kept.read_value()

    check(reverse(), start[::-1])
    check(kept, start[::-1])


def test_gradient():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.sin(x) * x)
    check(tape.gradient(y, x), np.sin([1, 2]) + np.array([1, 2]) * np.cos([1, 2]))


def test_between_devices():
    x = tf.ones(3) * 3
    with tf.device(f"/{DEVICE}:1"):
        check(x + 1, [4, 4, 4], f"{DEVICE}:1")
        check(tf.constant([1, 2]) * 3 + 1, [4, 7], f"{DEVICE}:1")
    with tf.device("/CPU:0"):
        check(x + 1, [4, 4, 4], "CPU:0")


def test_function_that_is_not_compiled():
    @tf.function
    def loop(x, n):
        total = tf.zeros_like(x)
        for i in tf.range(n):
            total += x * tf.cast(i, x.dtype)
        return total, n + 1

    total, following = loop(tf.ones(3), tf.constant(4))
    check(total, [6, 6, 6])
    assert following.numpy() == 5


def test_lists_in_a_function_that_is_not_compiled():
    @tf.function
    def running_products(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            rows = tf.TensorArray(tf.float32, size=3).unstack(x)
            results = tf.TensorArray(tf.float32, size=4)  # one is never written
            product = tf.ones(2)
            for i in tf.range(3):
                product *= rows.read(i)
                results = results.write(i, product)
            stacked = results.stack()
        return stacked, tape.gradient(stacked, x)

    x = np.array([[1, 2], [3, 4], [5, 6]], "float32")
    stacked, gradient = running_products(tf.constant(x))
    check(stacked, np.vstack([np.cumprod(x, axis=0), np.zeros((1, 2))]))
    a, b, c = x
    check(gradient, [1 + b + b * c, a + a * c, a * b])


def test_lists_that_have_no_kernel_are_refused():
    @tf.function
    def gathered(x):
        return tf.TensorArray(tf.float32, size=3).unstack(x).gather([0, 2])

    with pytest.raises(tf.errors.UnimplementedError, match="TensorListGather has no kernel"):
        gathered(tf.ones((3, 2)))


def test_sizes_that_depend_on_values():
    # TensorFlow does these on its CPU, and says so; without leave to do so it refuses.
    x = tf.constant([1.0, 0.0, 2.0])
    check(tf.where(x > 0), [[0], [2]], "CPU:0")
    check(tf.boolean_mask(x, x > 0), [1, 2])
    check(tf.unique(tf.constant([3, 3, 4]))[0], [3, 4])
    boxes = tf.constant([[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 1.0], [2.0, 2.0, 3.0, 3.0]])
    check(tf.image.non_max_suppression(boxes, tf.constant([0.5, 0.9, 0.7]), 3), [1, 2], "CPU:0")
    tf.config.set_soft_device_placement(False)
    try:
        with pytest.raises(tf.errors.InvalidArgumentError, match="Where"):
            tf.where(x > 0)
    finally:
        tf.config.set_soft_device_placement(True)


def test_results_of_sizes_that_depend_on_values_are_refused_in_jitted_functions():
    x = tf.constant([1.0, 0.0, 2.0])
    count = tf.function(lambda x: tf.reduce_sum(tf.boolean_mask(x, x > 0)), jit_compile=True)
    check(count(x), 3)
    with pytest.raises(tf.errors.UnimplementedError, match="size depends on values"):
        tf.function(tf.where, jit_compile=True)(x > 0)

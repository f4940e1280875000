"""SavedModels of TensorFlow's own operations become programs that run without TensorFlow."""

import subprocess
import sys

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

import keras_models as models  # noqa: E402

RUN = """
import sys
sys.modules["tensorflow"] = None
import isthmus, numpy
numpy.save(sys.argv[3], isthmus.compile(sys.argv[1])(numpy.load(sys.argv[2])))
"""


def convert(*arguments):
    return subprocess.run([sys.executable, "-m", "isthmus", "convert", *map(str, arguments)],
                          capture_output=True, text=True)


@pytest.mark.parametrize("name", ["cnn", "attention"])
def test_exported_model_runs_without_tensorflow(name, tmp_path):
    with tf.device("/CPU:0"):
        model = models.compiled(name, models.weights(name))
        x, _ = models.data(name, 3)
        expected = model(x).numpy()
        model.export(tmp_path / "saved", verbose=False)
    refused = convert(tmp_path / "saved", "-o", tmp_path / "program")
    assert refused.returncode == 1 and "give it sizes, such as --shape" in refused.stderr
    argument = refused.stderr.split("--shape ")[1].split("=")[0]
    sizes = ",".join(map(str, x.shape))
    done = convert(tmp_path / "saved", "-o", tmp_path / "program", "--shape", f"{argument}={sizes}")
    assert done.returncode == 0 and argument in done.stdout, done.stderr
    np.save(tmp_path / "x.npy", x)
    subprocess.run([sys.executable, "-c", RUN, tmp_path / "program", tmp_path / "x.npy", tmp_path / "y.npy"],
                   check=True)
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), expected, rtol=1e-4, atol=1e-5)


class Mixed(tf.Module):
    """Arguments whose names are not in their order, several results, a constant, and a narrow type."""

    def __init__(self):
        super().__init__()
        self.w = tf.Variable(tf.reshape(tf.range(6.0), (2, 3)))
        self.narrow = tf.Variable(tf.cast([1, 2, 3], tf.bfloat16))
        self.constant = tf.constant(np.arange(15, dtype="float32").reshape(5, 3))
        self.count = tf.Variable(0.0)

    @tf.function(input_signature=[tf.TensorSpec((None, 2)), tf.TensorSpec((5, 3))])
    def mix(self, b, a):
        return {"z": b @ self.w + tf.cast(self.narrow, tf.float32), "y": a - self.constant}

    @tf.function(input_signature=[tf.TensorSpec((4, 2))])
    def counting(self, b):
        self.count.assign_add(1.0)
        return b @ self.w


def test_signatures(tmp_path):
    import isthmus

    with tf.device("/CPU:0"):
        model = Mixed()
        tf.saved_model.save(model, str(tmp_path / "saved"),
                            signatures={"mix": model.mix, "counting": model.counting})
    from isthmus.convert import convert

    convert(tmp_path / "saved", tmp_path / "program", signature="mix", shapes={"b": (4, 2)})
    a, b = np.random.rand(5, 3).astype("float32"), np.random.rand(4, 2).astype("float32")
    y, z = isthmus.compile(tmp_path / "program")(b=b, a=a)
    np.testing.assert_allclose(y, a - model.constant.numpy(), rtol=1e-6)
    np.testing.assert_allclose(z, b @ model.w.numpy() + [1, 2, 3], rtol=1e-5)
    for options, said in (
            ({}, "no signature serving_default; it has: counting, mix"),
            ({"signature": "mix"}, r"b has the shape \(None, 2\): give it sizes"),
            ({"signature": "mix", "shapes": {"b": (4, 7)}}, r"\(None, 2\), not \(4, 7\)"),
            ({"signature": "mix", "shapes": {"b": (4, 2), "c": (1,)}}, "no argument c; there are: a, b"),
            ({"signature": "counting"}, "changes variables .AssignAddVariableOp.")):
        with pytest.raises(ValueError, match=said):
            convert(tmp_path / "saved", tmp_path / "other", **options)
    with pytest.raises(ValueError, match="isthmus-convert"):
        isthmus.compile(tmp_path / "saved", signature="mix")

"""Small models of Keras and data for them."""

import keras
import numpy as np
import tensorflow as tf
from keras import layers


def mlp():
    return keras.Sequential([layers.Input((32, 32, 3)), layers.Flatten(), layers.Dense(64, "gelu"),
                             layers.Dense(10)])


def cnn():
    return keras.Sequential([
        layers.Input((32, 32, 3)), layers.Conv2D(16, 3, padding="same", activation="relu"),
        layers.BatchNormalization(), layers.MaxPooling2D(),
        layers.Conv2D(32, 3, activation="relu"), layers.GlobalAveragePooling2D(), layers.Dense(10)])


def attention():
    inputs = layers.Input((32,), dtype="int32")
    x = layers.Embedding(100, 32)(inputs)
    x = layers.LayerNormalization()(x + layers.MultiHeadAttention(4, 8)(x, x))
    return keras.Model(inputs, layers.Dense(10)(layers.GlobalAveragePooling1D()(x)))


def lstm():
    return keras.Sequential([layers.Input((32,), dtype="int32"), layers.Embedding(100, 32),
                             layers.LSTM(32), layers.Dense(10)])


def resnet50():
    return keras.applications.ResNet50(weights=None, input_shape=(32, 32, 3), classes=10,
                                       classifier_activation=None)


ALL = {"mlp": mlp, "cnn": cnn, "attention": attention, "lstm": lstm, "resnet50": resnet50}


def data(name, count=64):
    random = np.random.RandomState(0)
    labels = random.randint(0, 10, count)
    if name in ("attention", "lstm"):
        return random.randint(0, 100, (count, 32)).astype("int32"), labels
    return random.randn(count, 32, 32, 3).astype("float32"), labels


def weights(name):
    """What all begin with: each device draws other numbers from one seed."""
    keras.utils.set_random_seed(0)
    with tf.device("/CPU:0"):
        return ALL[name]().get_weights()


def compiled(name, start, **how):
    model = ALL[name]()
    model.set_weights(start)
    # The normalisations of a fresh ResNet amplify rounding: TensorFlow's own CPU differs by 1 % from itself,
    # jitted or not, after one step.
    rate = 1e-4 if name == "resnet50" else 1e-2
    model.compile(keras.optimizers.SGD(rate), metrics=["accuracy"], **{"jit_compile": True, **how},
                  loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model

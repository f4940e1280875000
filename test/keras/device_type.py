"""TensorFlow's type of the devices that are tested: ISTHMUS, or what ISTHMUS_TENSORFLOW_DEVICE says (XPU, CUDA, …)."""

import os

DEVICE = os.environ.get("ISTHMUS_TENSORFLOW_DEVICE", "ISTHMUS")

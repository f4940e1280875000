"""The device of these tests. It is opened before any gradient is computed: PyTorch's autograd asks for
the number of devices only once."""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
os.environ.setdefault("PJRT_DEVICE", "ISTHMUS")

try:
    import torch_xla
except ImportError:
    pass  # the tests are skipped
else:
    torch_xla.device()

"""NumPy's types of elements by name, those of the package ml_dtypes too, where it is installed."""

import numpy as np

from isthmus.c_api import Error


def named_dtype(name: str) -> np.dtype:
    """NumPy's type, or that of the package ml_dtypes."""
    try:
        return np.dtype(name)
    except TypeError:
        try:
            import ml_dtypes
        except ImportError:
            raise Error(12, f"arrays of {name} need the package ml_dtypes") from None
        found = getattr(ml_dtypes, name, None)
        if not isinstance(found, type) or not issubclass(found, np.generic):
            raise Error(3, f"{name} is no type of elements") from None
        return np.dtype(found)

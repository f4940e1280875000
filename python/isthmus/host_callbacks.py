"""The handlers behind pure_callback, io_callback, debug.callback and debug.print.

jaxlib's own handlers of these targets need a state that only its CPU client can make. These do the
same: they find the Python function among those that the framework sent with the launch, call it with
copies of the arguments, and copy what it returns into the results.
"""

import ctypes
import traceback

import ml_dtypes
import numpy as np

from isthmus import ffi

TARGETS = ("xla_ffi_python_cpu_callback", "xla_ffi_partitioned_python_cpu_callback")

_INTERNAL = 13
_EXECUTE = 3
_TOKEN = 17

# The id under which jaxlib sends its functions with a launch, the same in each of its builds so far.
LOADED_CALLBACKS_TYPE = ctypes.c_int64(7357244197867843242)

_DTYPES = {
    number: np.dtype(kind) for number, kind in {
        1: np.bool_, 2: np.int8, 3: np.int16, 4: np.int32, 5: np.int64, 6: np.uint8, 7: np.uint16,
        8: np.uint32, 9: np.uint64, 10: np.float16, 11: np.float32, 12: np.float64,
        15: np.complex64, 16: ml_dtypes.bfloat16, 18: np.complex128, 19: ml_dtypes.float8_e5m2,
        20: ml_dtypes.float8_e4m3fn, 21: ml_dtypes.int4, 22: ml_dtypes.uint4,
        23: ml_dtypes.float8_e4m3b11fnuz, 24: ml_dtypes.float8_e5m2fnuz,
        25: ml_dtypes.float8_e4m3fnuz, 26: ml_dtypes.int2, 27: ml_dtypes.uint2,
        28: ml_dtypes.float8_e4m3, 29: ml_dtypes.float8_e3m4, 32: ml_dtypes.float4_e2m1fn,
        33: ml_dtypes.float8_e8m0fnu,
    }.items()
}


class LoadedCallbacks(ctypes.Structure):
    _fields_ = [("callbacks", ctypes.POINTER(ctypes.py_object)), ("size", ctypes.c_uint32)]


def _view(buffer):
    """The buffer's memory as an array, valid during the call."""
    dtype = _DTYPES.get(buffer.dtype)
    if dtype is None:
        raise NotImplementedError(f"Python callbacks have no arrays of XLA type {buffer.dtype}")
    shape = tuple(buffer.dims[:buffer.rank])
    size = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
    if size == 0:
        return np.empty(shape, dtype)
    return np.frombuffer((ctypes.c_char * size).from_address(buffer.data), dtype).reshape(shape)


def _argument(buffer):
    if buffer.dtype == _TOKEN:
        return None
    # A copy: the function may keep it.
    array = _view(buffer).copy()
    array.flags.writeable = False
    return array


def find_index(frame):
    """Where the attribute `index` of a callback is, and its value."""
    attributes = frame.attributes
    for i in range(attributes.size):
        name = attributes.names[i].contents
        if ctypes.string_at(name.pointer, name.size) == b"index":
            scalar = ffi.Scalar.from_address(attributes.values[i])
            return i, ctypes.c_uint64.from_address(scalar.value).value
    raise ValueError("the callback has no attribute `index`")


def _function(frame):
    _, index = find_index(frame)
    get = ffi.ContextGet(ctypes.sizeof(ffi.ContextGet), None, frame.context,
                         ctypes.addressof(LOADED_CALLBACKS_TYPE), None)
    error = ffi.call(frame.api.contents.context_get, get)
    if error:
        ffi.destroy_error(frame.api.contents, error)
        # Platforms of names that JAX does not know get no functions: they number their own.
        from isthmus import host_lowerings
        return host_lowerings.find_callback(index)
    loaded = LoadedCallbacks.from_address(get.data)
    if index >= loaded.size:
        raise IndexError(f"callback {index} of {loaded.size}")
    return loaded.callbacks[index]


def _run(frame):
    arguments, results = frame.arguments, frame.results
    returned = _function(frame)(
        *[_argument(arguments.buffers[i].contents) for i in range(arguments.size)])
    for i in range(results.size):
        buffer = results.buffers[i].contents
        if buffer.dtype == _TOKEN:
            continue
        array = np.asarray(returned[i])
        view = _view(buffer)
        if array.shape != view.shape or array.dtype != view.dtype:
            raise RuntimeError(
                f"result {i} of a callback: expected {view.dtype}{list(view.shape)}, "
                f"got {array.dtype}{list(array.shape)}")
        np.copyto(view, array)


def _execute(frame):
    frame = frame.contents
    if ffi.answer_metadata(frame):
        return None
    try:
        _run(frame)
    except BaseException as error:  # nothing may pass into C code
        text = "CpuCallback error calling callback: " + "".join(traceback.format_exception(error))
        return ffi.call(frame.api.contents.error_create, ffi.ErrorCreate(
            ctypes.sizeof(ffi.ErrorCreate), None, text.encode(), _INTERNAL))
    return None


def register(plugin) -> None:
    """Registers the handlers with the plugin."""
    for target in TARGETS:
        plugin.register_python(target, {"execute": _execute}, "Host")

"""The handler behind jax.experimental.buffer_callback: jaxlib's own, with two functions replaced.

It takes the error of XLA_FFI_Stream_Get, which any function gets that asks for a stream where there is
none, for one of jaxlib's own and reads its insides. So it gets one. It asks XLA_FFI_ExecutionContext_Get for the
functions that JAX sent with the launch; on platforms of names that JAX does not know it gets the one of its number.
"""

import ctypes
import functools
import threading

from isthmus import ffi, host_callbacks, host_lowerings

TARGET = "xla_buffer_python_cpu_callback"

_UNIMPLEMENTED = 12
_EXECUTE = "execute"

# `functions`: of the call on this thread, where JAX sends none.
_call = threading.local()


@functools.cache
def _their_api():
    """The table of jaxlib's own handlers; asked for once, since JAX takes a name only once."""
    import jax
    from jaxlib import _jax

    return ffi.find_api(lambda probe: _jax.register_custom_call_target(
        "isthmus_probe", jax.ffi.pycapsule(probe), "Host", 1, 0))


def register(plugin, targets) -> None:
    """Registers the handler, if jaxlib's targets have it."""
    functions = targets.get(TARGET)
    if not isinstance(functions, dict):
        return
    theirs = _their_api()
    handler = ffi.HANDLER(ffi.capsule_pointer(functions[_EXECUTE]))
    text = b"XLA FFI GPU context is not available"

    @ffi.ENTRY
    def refuse_stream(_):
        return ffi.call(theirs.error_create, ffi.ErrorCreate(
            ctypes.sizeof(ffi.ErrorCreate), None, text, _UNIMPLEMENTED))

    @ffi.ENTRY
    def get_functions(address):
        error = ffi.ENTRY(plugin.api.context_get)(address)
        arguments = ffi.ContextGet.from_address(address)
        functions = getattr(_call, "functions", None)
        wanted = ctypes.c_int64.from_address(arguments.type_id).value
        if not error or functions is None or wanted != host_callbacks.LOADED_CALLBACKS_TYPE.value:
            return error
        ffi.destroy_error(plugin.api, error)
        arguments.data = ctypes.addressof(functions)
        return None

    # A copy of the plugin's table, which is longer than what ffi.Api describes of it.
    size = plugin.api.struct_size
    table = (ctypes.c_char * size)()
    ctypes.memmove(table, ctypes.addressof(plugin.api), size)
    api = ffi.Api.from_buffer(table)
    api.stream_get = ctypes.cast(refuse_stream, ctypes.c_void_p).value
    api.context_get = ctypes.cast(get_functions, ctypes.c_void_p).value
    plugin.keep(table, refuse_stream, get_functions)

    def execute(frame):
        frame.contents.api = ctypes.pointer(api)
        if frame.contents.extension:  # asks for the version
            return handler(frame)
        position, number = host_callbacks.find_index(frame.contents)
        function = host_lowerings.own_callback(number)
        if function is None:
            return handler(frame)
        # It is number 0 of a list of one.
        attributes = frame.contents.attributes
        values = (ctypes.c_void_p * attributes.size)(*attributes.values[:attributes.size])
        zero = ctypes.c_uint64(0)
        scalar = ffi.Scalar(ffi.Scalar.from_address(values[position]).dtype, ctypes.addressof(zero))
        values[position] = ctypes.addressof(scalar)
        attributes.values = values
        _call.functions = host_callbacks.LoadedCallbacks((ctypes.py_object * 1)(function), 1)
        try:
            return handler(frame)
        finally:
            _call.functions = None

    plugin.register_python(TARGET, {**functions, _EXECUTE: execute}, "Host")

"""The handler behind jax.experimental.buffer_callback: jaxlib's own, with one function replaced.

It takes the error of XLA_FFI_Stream_Get, which any function gets that asks for a stream where there is
none, for one of jaxlib's own and reads its insides. So it gets one.
"""

import ctypes
import functools

from isthmus import ffi

TARGET = "xla_buffer_python_cpu_callback"

_UNIMPLEMENTED = 12
_EXECUTE = "execute"


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

    # A copy of the plugin's table, which is longer than what ffi.Api describes of it.
    size = plugin.api.struct_size
    table = (ctypes.c_char * size)()
    ctypes.memmove(table, ctypes.addressof(plugin.api), size)
    api = ffi.Api.from_buffer(table)
    api.stream_get = ctypes.cast(refuse_stream, ctypes.c_void_p).value
    plugin.keep(table, refuse_stream)

    def execute(frame):
        frame.contents.api = ctypes.pointer(api)
        return handler(frame)

    plugin.register_python(TARGET, {**functions, _EXECUTE: execute}, "Host")

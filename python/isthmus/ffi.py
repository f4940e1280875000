"""Handlers of XLA's foreign function interface for the plugin, which serves its C ABI.

JAX hands registrations to whoever asked for those of a platform. Here they go on to the plugin: those
for platform `isthmus`, and those for `cpu`, since jaxlib's own handlers and most users' are registered
for that one; JAX's own CPU client gets the latter as before.
"""

import ctypes
import logging

_logger = logging.getLogger(__name__)

_EXTENSION_FFI = 5
_EXTENSION_CUSTOM_CALL = 1000  # our own
_EXTENSION_METADATA = 1
# Of PJRT_Api: where the list of extensions and the first functions are.
_EXTENSION_START = 8
_ERROR_DESTROY, _ERROR_MESSAGE = 40, 48

STAGES = ("instantiate", "prepare", "initialize", "execute")


class ByteSpan(ctypes.Structure):
    _fields_ = [("pointer", ctypes.c_char_p), ("size", ctypes.c_size_t)]

    @classmethod
    def of(cls, text):
        raw = text if isinstance(text, bytes) else str(text).encode()
        return cls(raw, len(raw))


class _Node(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("type", ctypes.c_int),
                ("next", ctypes.c_void_p), ("first", ctypes.c_void_p),
                ("second", ctypes.c_void_p), ("third", ctypes.c_void_p)]


class _RegisterHandler(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("name", ctypes.c_char_p),
                ("name_size", ctypes.c_size_t), ("handler", ctypes.c_void_p),
                ("platform", ctypes.c_char_p), ("platform_size", ctypes.c_size_t),
                ("traits", ctypes.c_int)]


class _RegisterCustomCall(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("extension", ctypes.c_void_p),
                ("name", ctypes.c_char_p), ("name_size", ctypes.c_size_t),
                ("platform", ctypes.c_char_p), ("platform_size", ctypes.c_size_t),
                ("function", ctypes.c_void_p)]


class _ErrorMessage(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("extension", ctypes.c_void_p),
                ("error", ctypes.c_void_p), ("message", ctypes.c_char_p),
                ("size", ctypes.c_size_t)]


class _ErrorDestroy(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("extension", ctypes.c_void_p),
                ("error", ctypes.c_void_p)]


class ErrorCreate(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("extension", ctypes.c_void_p),
                ("message", ctypes.c_char_p), ("code", ctypes.c_int)]


class _ErrorDetails(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("extension", ctypes.c_void_p),
                ("error", ctypes.c_void_p), ("message", ctypes.c_char_p), ("code", ctypes.c_int)]


class _HandlerRegister(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("extension", ctypes.c_void_p),
                ("name", ByteSpan), ("platform", ByteSpan),
                *[(stage, ctypes.c_void_p) for stage in STAGES], ("record", ctypes.c_void_p),
                ("traits", ctypes.c_uint32)]


class _TypeRegister(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("extension", ctypes.c_void_p),
                ("name", ByteSpan), ("type_id", ctypes.c_void_p), ("type_info", ctypes.c_void_p)]


class ContextGet(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("extension", ctypes.c_void_p),
                ("context", ctypes.c_void_p), ("type_id", ctypes.c_void_p),
                ("data", ctypes.c_void_p)]


class Buffer(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("extension", ctypes.c_void_p),
                ("dtype", ctypes.c_int), ("data", ctypes.c_void_p), ("rank", ctypes.c_int64),
                ("dims", ctypes.POINTER(ctypes.c_int64))]


class Buffers(ctypes.Structure):
    """XLA_FFI_Args and XLA_FFI_Rets."""

    _fields_ = [("struct_size", ctypes.c_size_t), ("extension", ctypes.c_void_p),
                ("size", ctypes.c_int64), ("types", ctypes.c_void_p),
                ("buffers", ctypes.POINTER(ctypes.POINTER(Buffer)))]


class Attributes(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("extension", ctypes.c_void_p),
                ("size", ctypes.c_int64), ("types", ctypes.POINTER(ctypes.c_int)),
                ("names", ctypes.POINTER(ctypes.POINTER(ByteSpan))),
                ("values", ctypes.POINTER(ctypes.c_void_p))]


class Scalar(ctypes.Structure):
    _fields_ = [("dtype", ctypes.c_int), ("value", ctypes.c_void_p)]


class Api(ctypes.Structure):
    """The functions of XLA_FFI_Api that are called here; those between are padding."""

    _fields_ = [("struct_size", ctypes.c_size_t), ("extension", ctypes.c_void_p),
                ("version", ctypes.c_size_t * 3), ("internal", ctypes.c_void_p),
                ("error_create", ctypes.c_void_p), ("error_details", ctypes.c_void_p),
                ("error_destroy", ctypes.c_void_p), ("handler_register", ctypes.c_void_p),
                ("stream_get", ctypes.c_void_p), ("type_register", ctypes.c_void_p),
                ("context_get", ctypes.c_void_p)]


class Frame(ctypes.Structure):
    """XLA_FFI_CallFrame."""

    _fields_ = [("struct_size", ctypes.c_size_t), ("extension", ctypes.c_void_p),
                ("api", ctypes.POINTER(Api)), ("context", ctypes.c_void_p), ("stage", ctypes.c_int),
                ("arguments", Buffers), ("results", Buffers), ("attributes", Attributes),
                ("future", ctypes.c_void_p)]


class _Metadata(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("version_size", ctypes.c_size_t),
                ("extension", ctypes.c_void_p), ("major", ctypes.c_int), ("minor", ctypes.c_int),
                ("traits", ctypes.c_uint32), ("state_type", ctypes.c_int64)]


class _MetadataNode(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("type", ctypes.c_int),
                ("next", ctypes.c_void_p), ("metadata", ctypes.POINTER(_Metadata))]


HANDLER = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(Frame))
ENTRY = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)


def call(function, arguments):
    """Calls a C function of one argument structure; returns an error's address or None."""
    return ENTRY(function)(ctypes.addressof(arguments))


def destroy_error(api, error):
    call(api.error_destroy, _ErrorDestroy(ctypes.sizeof(_ErrorDestroy), None, error))


def answer_metadata(frame) -> bool:
    """True if the call only asked which version of the interface the handler speaks."""
    if not frame.extension:
        return False
    node = _MetadataNode.from_address(frame.extension)
    if node.type != _EXTENSION_METADATA:
        return False
    node.metadata.contents.major, node.metadata.contents.minor = 0, 3
    return True


_probes = []  # registered, and so never freed


def find_api(register) -> Api:
    """The table that handlers get: one that is asked for its version at registration sees it."""
    seen = []

    @HANDLER
    def probe(frame):
        seen.append(frame.contents.api.contents)
        answer_metadata(frame.contents)
        return None

    _probes.append(probe)
    register(probe)
    return seen[0]


def capsule_pointer(capsule):
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype = ctypes.c_char_p
    api.PyCapsule_GetName.argtypes = [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    return api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))


class Plugin:
    """The FFI of the plugin's library in this process."""

    def __init__(self, library_path):
        self._library = ctypes.CDLL(str(library_path))
        self._library.GetPjrtApi.restype = ctypes.c_void_p
        self._pjrt = self._library.GetPjrtApi()
        self._keep = []  # callbacks that C code holds
        self.api = self._find_api()

    def _extension(self, kind):
        address = ctypes.c_void_p.from_address(self._pjrt + _EXTENSION_START).value
        while address:
            node = _Node.from_address(address)
            if node.type == kind:
                return node
            address = node.next
        raise RuntimeError(f"the plugin has no PJRT extension {kind}")

    def _check(self, error):
        if not error:
            return
        arguments = _ErrorMessage(ctypes.sizeof(_ErrorMessage), None, error)
        call(ctypes.c_void_p.from_address(self._pjrt + _ERROR_MESSAGE).value, arguments)
        text = ctypes.string_at(arguments.message, arguments.size).decode()
        call(ctypes.c_void_p.from_address(self._pjrt + _ERROR_DESTROY).value,
             _ErrorDestroy(ctypes.sizeof(_ErrorDestroy), None, error))
        raise RuntimeError(text)

    def _check_ffi(self, error):
        if not error:
            return
        details = _ErrorDetails(ctypes.sizeof(_ErrorDetails), None, error)
        call(self.api.error_details, details)
        text = details.message.decode()
        destroy_error(self.api, error)
        raise RuntimeError(text)

    def _find_api(self):
        def register(probe):
            name = b"isthmus_probe"
            self._check(call(self._extension(_EXTENSION_FFI).third, _RegisterHandler(
                ctypes.sizeof(_RegisterHandler), name, len(name),
                ctypes.cast(probe, ctypes.c_void_p), b"isthmus", len(b"isthmus"), 0)))

        return find_api(register)

    def register(self, name, function, platform, api_version=1, traits=0):
        """Registers a capsule, or a dictionary from stages to capsules, as JAX gives them."""
        functions = function if isinstance(function, dict) else {"execute": function}
        unknown = set(functions) - set(STAGES)
        if unknown:
            raise ValueError(f"FFI handler {name}: unknown stages {sorted(unknown)}")
        pointers = {stage: capsule if isinstance(capsule, int) else capsule_pointer(capsule)
                    for stage, capsule in functions.items()}
        raw = name if isinstance(name, bytes) else name.encode()
        if api_version == 0:
            self._check(call(self._extension(_EXTENSION_CUSTOM_CALL).first, _RegisterCustomCall(
                ctypes.sizeof(_RegisterCustomCall), None, raw, len(raw), platform.encode(),
                len(platform.encode()), pointers["execute"])))
            return
        self._check_ffi(call(self.api.handler_register, _HandlerRegister(
            ctypes.sizeof(_HandlerRegister), None, ByteSpan.of(raw), ByteSpan.of(platform),
            *[pointers.get(stage) for stage in STAGES], None, int(traits))))

    def register_type(self, name, registration):
        """Registers a type by a dictionary of capsules `type_id` and, maybe, `type_info`."""
        info = registration.get("type_info")
        self._check_ffi(call(self.api.type_register, _TypeRegister(
            ctypes.sizeof(_TypeRegister), None, ByteSpan.of(name),
            capsule_pointer(registration["type_id"]), info and capsule_pointer(info))))

    def register_python(self, name, functions, platform):
        """Registers Python functions from a Frame to an error's address as a handler's stages.

        A stage may also be a capsule.
        """
        pointers = {}
        for stage, function in functions.items():
            if callable(function):
                handler = HANDLER(function)
                self.keep(handler)
                function = ctypes.cast(handler, ctypes.c_void_p).value
            pointers[stage] = function
        self.register(name, pointers, platform)

    def keep(self, *objects):
        """Keeps objects alive, to which C code has pointers."""
        self._keep.extend(objects)


def _initialize_lapack(frame):
    """The first stage of jaxlib's LAPACK handlers: finds SciPy's LAPACK, which they call."""
    if not answer_metadata(frame.contents):
        from jaxlib import lapack
        lapack._lapack.initialize()
    return None


def install(library, platform_name="isthmus") -> None:
    """Makes registrations with JAX, past and future, reach the plugin at this path.

    Called once for each plugin; `platform_name` is that of its platform.
    """
    from jaxlib import _jax
    from jax._src.lib import xla_client

    from isthmus import buffer_callbacks, host_callbacks

    plugin = Plugin(library)
    lapack_stage = HANDLER(_initialize_lapack)
    plugin.keep(lapack_stage)
    lapack_pointer = ctypes.cast(lapack_stage, ctypes.c_void_p).value

    def register_ours(name, function, platform, api_version=0, traits=0):
        plugin.register(name, function, platform, api_version, int(traits))

    def register_type_ours(name, registration):
        plugin.register_type(name, registration)

    def register_host(name, function, platform="Host", api_version=0, traits=0):
        text = name.decode() if isinstance(name, bytes) else name
        if text.startswith("lapack_") and api_version == 1 and not isinstance(function, dict):
            function = {"instantiate": lapack_pointer, "execute": function}
        try:
            plugin.register(name, function, platform, api_version, int(traits))
        except Exception:  # JAX's own client has it: only this platform goes without
            _logger.warning("platform %s cannot use FFI handler %s", platform_name, text, exc_info=True)

    handlers = xla_client._custom_callback_handler
    theirs = handlers.get("Host", _jax.register_custom_call_target)

    def register_both(name, function, platform, api_version=0, traits=0):
        theirs(name, function, platform, api_version, traits)
        register_host(name, function, platform, api_version, traits)

    type_handlers = xla_client._custom_type_id_handler
    their_types = type_handlers.get("Host", _jax.register_custom_type)

    def register_type_both(name, registration):
        # Theirs first: it may give the type its number.
        their_types(name, registration)
        try:
            plugin.register_type(name, registration)
        except Exception:
            _logger.warning("platform %s cannot use FFI type %s", platform_name, name, exc_info=True)

    # What jaxlib brings, and what was registered with JAX's own client before.
    host_callbacks.register(plugin)
    targets = _jax.custom_call_targets("Host")
    buffer_callbacks.register(plugin, targets)
    for name, function in targets.items():
        if name not in (*host_callbacks.TARGETS, buffer_callbacks.TARGET):
            register_host(name, function, "Host", 1 if isinstance(function, dict) else 0)
    # What waits for a client to be made.
    for table, handler in ((type_handlers, register_type_both), (handlers, register_both)):
        table.pop("Host", None)
    xla_client.register_custom_type_handler("cpu", register_type_both)
    xla_client.register_custom_type_handler(platform_name, register_type_ours)
    xla_client.register_custom_call_handler("cpu", register_both)
    xla_client.register_custom_call_handler(platform_name, register_ours)

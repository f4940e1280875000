"""The part of the PJRT C API that `isthmus.client` calls, by ctypes: no framework, nothing compiled.

Works with any PJRT plugin. python/tests/client_test.py compares the table with the headers.
"""

import ctypes
import struct
import threading

P, S, I, L = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int64

# Entries of the function table that are used: their place after the version, counted from
# Error_Destroy, and the fields of their arguments after `struct_size` and `extension_start`.
ENTRIES = {
    "Error_Destroy": (0, "error:P"),
    "Error_Message": (1, "error:P message:P message_size:S"),
    "Error_GetCode": (2, "error:P code:I"),
    "Plugin_Initialize": (3, ""),
    "Event_Destroy": (5, "event:P"),
    "Event_IsReady": (6, "event:P is_ready:B"),
    "Event_Await": (8, "event:P"),
    "Client_Create": (10, "create_options:P num_options:S kv_get_callback:P kv_get_user_arg:P "
                          "kv_put_callback:P kv_put_user_arg:P client:P kv_try_get_callback:P "
                          "kv_try_get_user_arg:P"),
    "Client_Destroy": (11, "client:P"),
    "Client_PlatformName": (12, "client:P platform_name:P platform_name_size:S"),
    "Client_PlatformVersion": (14, "client:P platform_version:P platform_version_size:S"),
    "Client_AddressableDevices": (16, "client:P addressable_devices:P num_addressable_devices:S"),
    "Client_Compile": (20, "client:P program:P compile_options:P compile_options_size:S "
                           "executable:P"),
    "Client_BufferFromHostBuffer": (22, "client:P data:P type:I dims:P num_dims:S byte_strides:P "
                                        "num_byte_strides:S host_buffer_semantics:I device:P "
                                        "memory:P device_layout:P done_with_host_buffer:P "
                                        "buffer:P"),
    "DeviceDescription_Attributes": (25, "device_description:P num_attributes:S attributes:P"),
    "DeviceDescription_DebugString": (27, "device_description:P debug_string:P debug_string_size:S"),
    "Device_GetDescription": (29, "device:P device_description:P"),
    "Executable_Destroy": (40, "executable:P"),
    "Executable_NumOutputs": (44, "executable:P num_outputs:S"),
    "Executable_OptimizedProgram": (48, "executable:P program:P"),
    "Executable_Serialize": (49, "executable:P serialized_bytes:P serialized_bytes_size:S "
                                 "serialized_executable:P serialized_executable_deleter:P"),
    "LoadedExecutable_Destroy": (50, "executable:P"),
    "LoadedExecutable_GetExecutable": (51, "loaded_executable:P executable:P"),
    "LoadedExecutable_Execute": (55, "executable:P options:P argument_lists:P num_devices:S "
                                     "num_args:S output_lists:P device_complete_events:P "
                                     "execute_device:P"),
    "Executable_DeserializeAndLoad": (56, "client:P serialized_executable:P "
                                          "serialized_executable_size:S loaded_executable:P "
                                          "overridden_serialized_compile_options:P "
                                          "overridden_serialized_compile_options_size:S "
                                          "load_options:P"),
    "Buffer_Destroy": (58, "buffer:P"),
    "Buffer_ElementType": (59, "buffer:P type:I"),
    "Buffer_Dimensions": (60, "buffer:P dims:P num_dims:S"),
    "Buffer_ToHostBuffer": (70, "src:P host_layout:P dst:P dst_size:S event:P"),
    "Buffer_IsOnCpu": (71, "buffer:P is_on_cpu:B"),
    "Buffer_ReadyEvent": (72, "buffer:P event:P"),
    "Buffer_IncreaseExternalReferenceCount": (74, "buffer:P"),
    "Buffer_DecreaseExternalReferenceCount": (75, "buffer:P"),
    "Buffer_OpaqueDeviceMemoryDataPointer": (76, "buffer:P device_memory_ptr:P"),
}

# PJRT_ExecuteOptions up to what the oldest plugins know.
OPTIONS = "send_callbacks:P recv_callbacks:P num_send_ops:S num_recv_ops:S launch_id:I"
PROGRAM = "code:P code_size:S format:P format_size:S"

CODES = {
    1: "cancelled", 2: "unknown", 3: "invalid argument", 4: "deadline exceeded", 5: "not found",
    6: "already exists", 7: "permission denied", 8: "resource exhausted", 9: "failed precondition",
    10: "aborted", 11: "out of range", 12: "unimplemented", 13: "internal", 14: "unavailable",
    15: "data loss", 16: "unauthenticated",
}

_TYPES = {"P": P, "S": S, "I": I, "L": L, "B": ctypes.c_bool}


class Error(RuntimeError):
    """What the plugin answered; `code` is the name of its status code."""

    def __init__(self, code: int, message: str):
        self.code = CODES.get(code, str(code))
        super().__init__(f"{self.code}: {message}")


def structure(name: str, fields: str):
    """The ctypes structure of "field:type …", behind the head that all structures have."""
    members = [("struct_size", S), ("extension_start", P)]
    members += [(field, _TYPES[kind]) for field, kind in
                (item.split(":") for item in fields.split())]
    result = type(name, (ctypes.Structure,), {"_fields_": members})
    last, kind = members[-1]
    # Plugins compare with the size without the padding at the end.
    result.size = getattr(result, last).offset + ctypes.sizeof(kind)
    return result


def make(kind, **fields):
    return kind(struct_size=kind.size, **fields)


class Api:
    """The function table of a library."""

    def __init__(self, library):
        get = ctypes.CDLL(str(library)).GetPjrtApi
        get.restype = P
        table = get()
        if not table:
            raise Error(13, f"{library}: GetPjrtApi gave no table")
        # struct_size, extension_start, and the version: struct_size, extension_start, two ints.
        first = table + 2 * 8 + 3 * 8
        size = ctypes.c_size_t.from_address(table).value
        # The first of a list of PJRT_Extension_Base, or None.
        self.extensions = ctypes.c_void_p.from_address(table + 8).value
        self.functions, self.arguments = {}, {}
        for name, (slot, fields) in ENTRIES.items():
            address = first + 8 * slot
            if address + 8 > table + size:
                continue
            pointer = ctypes.c_void_p.from_address(address).value
            self.arguments[name] = structure(f"PJRT_{name}_Args", fields)
            if pointer:
                result = None if name in ("Error_Destroy", "Error_Message") else P
                self.functions[name] = ctypes.CFUNCTYPE(result, P)(pointer)
        self.options = structure("PJRT_ExecuteOptions", OPTIONS)
        self.program = structure("PJRT_Program", PROGRAM)
        self.call("Plugin_Initialize")

    def call(self, name: str, **fields):
        """Calls an entry and returns its arguments, which hold its results. Raises Error."""
        function = self.functions.get(name)
        if function is None:
            raise Error(12, f"the plugin has no PJRT_{name}")
        args = make(self.arguments[name], **fields)
        error = function(ctypes.addressof(args))
        if error:
            raise self._error(error)
        return args

    def _error(self, error) -> Error:
        message = make(self.arguments["Error_Message"], error=error)
        self.functions["Error_Message"](ctypes.addressof(message))
        code = make(self.arguments["Error_GetCode"], error=error)
        self.functions["Error_GetCode"](ctypes.addressof(code))
        text = ctypes.string_at(message.message, message.message_size).decode(errors="replace")
        destroy = make(self.arguments["Error_Destroy"], error=error)
        self.functions["Error_Destroy"](ctypes.addressof(destroy))
        return Error(code.code, text)

    def wait(self, event) -> None:
        """Waits for an event, which is then gone. Raises its error."""
        try:
            self.call("Event_Await", event=event)
        finally:
            self.call("Event_Destroy", event=event)


class NamedValue(ctypes.Structure):
    """An option of a client, or an attribute; `int64_value` stands for the union."""

    _fields_ = [("struct_size", S), ("extension_start", P), ("name", P), ("name_size", S),
                ("type", I), ("int64_value", L), ("value_size", S)]


def named_values(address: int, count: int) -> dict:
    """What an array of PJRT_NamedValue holds."""
    found = {}
    step = ctypes.sizeof(NamedValue)
    for i in range(count):
        value = NamedValue.from_address(address + i * step)
        number, length = value.int64_value, value.value_size
        bits = (number & (1 << 64) - 1).to_bytes(8, "little")
        found[ctypes.string_at(value.name, value.name_size).decode()] = {
            0: lambda: ctypes.string_at(number, length).decode(errors="replace"),
            1: lambda: number,
            2: lambda: list((L * length).from_address(number)) if length else [],
            3: lambda: struct.unpack("<f", bits[:4])[0],
            4: lambda: bool(bits[0]),
        }[value.type]()
    return found


_apis: dict = {}
_lock = threading.Lock()


def load(library) -> Api:
    """The table of a library, which is loaded once."""
    with _lock:
        key = str(library)
        if key not in _apis:
            _apis[key] = Api(key)
        return _apis[key]

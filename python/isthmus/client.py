"""Programs without any framework: NumPy in, NumPy out, over the PJRT C API.

    import isthmus
    double = isthmus.compile("func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { … }")
    result = double(numpy.ones(4, "f4"))   # returns at once
    numpy.asarray(result)                  # waits

Everything may be called from any thread.
"""

import ctypes
import functools
import os
import sys
import threading

import numpy as np

import isthmus
from isthmus import artifacts, c_api
from isthmus.c_api import Error
from isthmus.element_types import named_dtype

__all__ = ["Array", "Client", "Error", "Executable", "compile", "default_client", "deserialize", "put"]

# Numbers of PJRT_Buffer_Type. Those without a NumPy type of their own are ml_dtypes's.
_TYPES = {
    1: "bool", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 6: "uint8", 7: "uint16", 8: "uint32",
    9: "uint64", 10: "float16", 11: "float32", 12: "float64", 13: "bfloat16", 14: "complex64",
    15: "complex128", 16: "float8_e5m2", 17: "float8_e4m3fn", 18: "float8_e4m3b11fnuz",
    19: "float8_e5m2fnuz", 20: "float8_e4m3fnuz", 21: "int4", 22: "uint4", 24: "int2", 25: "uint2",
    26: "float8_e4m3", 27: "float8_e3m4", 28: "float8_e8m0fnu", 29: "float4_e2m1fn",
}
_NUMBERS = {name: number for number, name in _TYPES.items()}
# PJRT_HostBufferSemantics: the caller may change its array as soon as the call returns.
_COPY_DURING_CALL, _ZERO_COPY = 0, 2


def _dtype(number: int) -> np.dtype:
    name = _TYPES.get(number)
    if name is None:
        raise Error(12, f"arrays of element type {number} have no NumPy type")
    return named_dtype(name)


def _integers(values):
    return (ctypes.c_int64 * len(values))(*values)


class _Handle:
    """Owns an object of the plugin: `entry` destroys it."""

    def __init__(self, api, entry: str, field: str, address: int):
        self._destroy = (api, entry, field)
        self.address = address

    def __del__(self, is_finalizing=sys.is_finalizing):
        if is_finalizing():
            return  # modules are being emptied; the process's end frees what is left
        api, entry, field = self._destroy
        api.call(entry, **{field: self.address})


class Array:
    """An array on a device, perhaps not computed yet.

    `numpy.asarray(array)` waits and shares the memory, read-only, where the device is the host;
    `torch.from_dlpack(array)` and the like too.
    """

    def __init__(self, owner: "Client", buffer: int):
        self._client, self._api = owner, owner._api
        # Shared with the NumPy arrays that look into its memory.
        self._handle = _Handle(owner._api, "Buffer_Destroy", "buffer", buffer)

    def _call(self, entry: str, **fields):
        return self._api.call(f"Buffer_{entry}", buffer=self._handle.address, **fields)

    @functools.cached_property
    def shape(self) -> tuple:
        args = self._call("Dimensions")
        if args.num_dims == 0:
            return ()
        return tuple((ctypes.c_int64 * args.num_dims).from_address(args.dims))

    @functools.cached_property
    def dtype(self) -> np.dtype:
        return _dtype(self._call("ElementType").type)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def is_ready(self) -> bool:
        """Whether it is computed, or has failed. Does not block."""
        event = self._call("ReadyEvent").event
        try:
            return self._api.call("Event_IsReady", event=event).is_ready
        finally:
            self._api.call("Event_Destroy", event=event)

    def block_until_ready(self) -> "Array":
        """Waits; raises the error of the program that was to compute it."""
        self._api.wait(self._call("ReadyEvent").event)
        return self

    @functools.cached_property
    def _host(self) -> np.ndarray:
        self.block_until_ready()
        dtype, size = self.dtype, int(np.prod(self.shape, dtype=np.int64))
        # Narrow types may be packed on the device.
        is_wide = not dtype.name.startswith(("int2", "int4", "uint2", "uint4", "float4"))
        if is_wide and size and self._call("IsOnCpu").is_on_cpu:
            pointer = self._call("OpaqueDeviceMemoryDataPointer").device_memory_ptr
            memory = (ctypes.c_char * (size * dtype.itemsize)).from_address(pointer)
            memory.handle = self._handle
            return np.frombuffer(memory, dtype).reshape(self.shape)
        result = np.empty(self.shape, dtype)
        if size:
            self._api.wait(self._api.call(
                "Buffer_ToHostBuffer", src=self._handle.address, dst=result.ctypes.data,
                dst_size=result.nbytes).event)
        return result

    def __array__(self, dtype=None, copy=None):
        array = self._host.view()
        array.flags.writeable = False
        if dtype is not None and np.dtype(dtype) != array.dtype:
            if copy is False:
                raise ValueError(f"cannot make {array.dtype} {np.dtype(dtype)} without a copy")
            return array.astype(dtype)
        return array.copy() if copy else array

    def __dlpack__(self, **options):
        return self._host.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._host.__dlpack_device__()

    def __len__(self):
        if not self.shape:
            raise TypeError("len() of an array without dimensions")
        return self.shape[0]

    def __float__(self):
        return float(np.asarray(self))

    def __int__(self):
        return int(np.asarray(self))

    def __repr__(self):
        return f"isthmus.Array({np.asarray(self)!r})" if self.is_ready() else (
            f"isthmus.Array(shape={self.shape}, dtype={self.dtype}, not ready)")


class Client:
    """The devices of a plugin: ours, or the library of another one."""

    def __init__(self, library=None, num_devices: int | None = None, **options: int):
        self._api = c_api.load(library or isthmus.library_path())
        if num_devices is None and library is None and os.environ.get("ISTHMUS_NUM_DEVICES"):
            num_devices = int(os.environ["ISTHMUS_NUM_DEVICES"])
        if num_devices is not None:
            options["num_devices"] = num_devices
        names = [name.encode() for name in options]
        values = (c_api.NamedValue * len(options))(*(
            c_api.NamedValue(c_api.NamedValue.value_size.offset + 8, None,
                             ctypes.cast(name, ctypes.c_void_p), len(name), 1, int(value), 1)
            for name, value in zip(names, options.values())))
        address = self._api.call(
            "Client_Create", create_options=ctypes.addressof(values) if options else None,
            num_options=len(options)).client
        self._handle = _Handle(self._api, "Client_Destroy", "client", address)
        args = self._call("AddressableDevices")
        self._devices = list((ctypes.c_void_p * args.num_addressable_devices).from_address(
            args.addressable_devices)) if args.num_addressable_devices else []

    def _call(self, entry: str, **fields):
        return self._api.call(f"Client_{entry}", client=self._handle.address, **fields)

    @property
    def num_devices(self) -> int:
        return len(self._devices)

    @property
    def platform(self) -> str:
        args = self._call("PlatformName")
        return ctypes.string_at(args.platform_name, args.platform_name_size).decode()

    @property
    def version(self) -> str:
        args = self._call("PlatformVersion")
        return ctypes.string_at(args.platform_version, args.platform_version_size).decode()

    def describe_devices(self) -> list:
        """A dictionary for each device: its `name`, and what the plugin says of it."""
        found = []
        for device in self._devices:
            what = self._api.call("Device_GetDescription", device=device).device_description
            name = self._api.call("DeviceDescription_DebugString", device_description=what)
            attributes = self._api.call("DeviceDescription_Attributes", device_description=what)
            found.append({
                "name": ctypes.string_at(name.debug_string, name.debug_string_size).decode(),
                **c_api.named_values(attributes.attributes, attributes.num_attributes)})
        return found

    def put(self, array, device: int = 0, copy: bool = True) -> Array:
        """An array on a device. With copy=False the memory is shared if it can be: it must then not
        be changed as long as the Array lives."""
        if isinstance(array, Array) and array._client is self:
            return array
        host = array if isinstance(array, np.ndarray) else _from_foreign(array)
        number = _NUMBERS.get(host.dtype.name)
        if number is None:
            raise Error(3, f"arrays of {host.dtype} cannot be on a device")
        if not host.dtype.isnative:
            host = host.astype(host.dtype.newbyteorder("="))
        dims, strides = _integers(host.shape), _integers(host.strides)
        args = self._call(
            "BufferFromHostBuffer", data=host.ctypes.data, type=number,
            dims=ctypes.addressof(dims), num_dims=host.ndim,
            byte_strides=ctypes.addressof(strides), num_byte_strides=host.ndim,
            host_buffer_semantics=_COPY_DURING_CALL if copy else _ZERO_COPY,
            device=self._devices[device])
        result = Array(self, args.buffer)
        if copy:
            self._api.call("Event_Destroy", event=args.done_with_host_buffer)
        else:
            # The plugin may read until this event.
            if result._call("IsOnCpu").is_on_cpu:
                # It happens when the buffer goes, which has the array.
                self._api.call("Event_Destroy", event=args.done_with_host_buffer)
                result._handle.host = host
            else:
                self._api.wait(args.done_with_host_buffer)
        return result

    def compile(self, program, *, device: int = 0, signature: str | None = None,
                shapes=None, options: bytes | None = None) -> "Executable":
        """An executable of StableHLO (text or bytecode), of a file or folder that has some, or of
        what jax.export, torch_xla.stablehlo or jax2tf exported. A SavedModel's signature is "serving_default",
        or its only one, unless another is named. `shapes` are those of all arguments, for programs that leave
        sizes open. `options`: a CompileOptionsProto instead of the one that device and shapes make."""
        source = artifacts.read(program, signature)
        code, form = ctypes.create_string_buffer(source.code, len(source.code)), b"mlir"
        asked = c_api.make(self._api.program, code=ctypes.addressof(code),
                           code_size=len(source.code), format=ctypes.cast(form, ctypes.c_void_p),
                           format_size=len(form))
        if options is None:
            options = _compile_options(device, _parameter_shapes(source, shapes))
        args = self._call("Compile", program=ctypes.addressof(asked),
                          compile_options=ctypes.cast(options, ctypes.c_void_p),
                          compile_options_size=len(options))
        return Executable(self, args.executable, source, device)

    def deserialize(self, data: bytes, parameters=None, *, device: int = 0) -> "Executable":
        """What Executable.serialize() gave, without compiling it again."""
        args = self._api.call(
            "Executable_DeserializeAndLoad", client=self._handle.address,
            serialized_executable=ctypes.cast(data, ctypes.c_void_p),
            serialized_executable_size=len(data))
        return Executable(self, args.loaded_executable, artifacts.Program(b"", parameters), device)


def _from_foreign(array) -> np.ndarray:
    """The NumPy array of a number, a list, or an array of another library, without a copy if it
    can be."""
    if hasattr(array, "__dlpack__") and not hasattr(array, "__array__"):
        return np.from_dlpack(array)
    return np.asarray(array)


def _varint(number: int) -> bytes:
    result = bytearray()
    while number > 0x7f:
        result.append(number & 0x7f | 0x80)
        number >>= 7
    result.append(number)
    return bytes(result)


def _parameter_shapes(source: artifacts.Program, shapes) -> list:
    """The shapes of a program's parameters, of those of the caller's arguments."""
    if shapes is None:
        return []
    return [given if isinstance(given, tuple) else np.shape(given)
            for given in source.arguments([tuple(shape) for shape in shapes])]


def _field(number: int, content: bytes) -> bytes:
    """A field of a message that is a message, a string, or packed numbers."""
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _compile_options(device: int, shapes) -> bytes:
    """A CompileOptionsProto of one replica and partition on a device, for arguments of these shapes."""
    # argument_layouts: dimensions.
    layouts = b"".join(_field(1, _field(3, b"".join(map(_varint, shape)))) for shape in shapes)
    # executable_build_options: device_ordinal, num_replicas, num_partitions.
    return layouts + _field(3, b"\x08" + _varint(device) + b"\x20\x01\x28\x01")


class Executable:
    """A compiled program; call it with NumPy arrays, Arrays, or arrays of other libraries."""

    def __init__(self, owner: Client, address: int, source: artifacts.Program, device: int):
        self._client, self._api, self._device = owner, owner._api, device
        self._handle = _Handle(self._api, "LoadedExecutable_Destroy", "executable", address)
        self._source = source
        if source.parameters is not None:
            # What is always the same goes to the device once.
            self._source = source.with_parameters([
                p if isinstance(p, int) else owner.put(p, device) for p in source.parameters])
        executable = self._api.call("LoadedExecutable_GetExecutable",
                                    loaded_executable=address).executable
        self._executable = _Handle(self._api, "Executable_Destroy", "executable", executable)
        self.num_outputs = self._api.call("Executable_NumOutputs", executable=executable).num_outputs

    @property
    def parameters(self):
        """What each parameter of the program is: the number of the caller's argument, or an array
        that is always the same. None: the caller's arguments, in their order."""
        return self._source.parameters

    @property
    def names(self) -> list:
        """Of the arguments, where the program's file has them."""
        return self._source.names

    @property
    def results(self):
        """The numbers of the program's results that the caller gets, in their order. None: all."""
        return self._source.results

    def __call__(self, *arrays, **named):
        """Starts the program. Returns an Array, or a tuple of them unless there is one
        result; an error while it runs is raised by whoever waits for a result."""
        arrays = self._source.in_order(arrays, named)
        inputs = [self._client.put(a, self._device) for a in self._source.arguments(arrays)]
        buffers = (ctypes.c_void_p * len(inputs))(*(a._handle.address for a in inputs))
        results = (ctypes.c_void_p * self.num_outputs)()
        buffer_lists = (ctypes.c_void_p * 1)(ctypes.addressof(buffers))
        result_lists = (ctypes.c_void_p * 1)(ctypes.addressof(results))
        options = c_api.make(self._api.options)
        self._api.call("LoadedExecutable_Execute", executable=self._handle.address,
                       options=ctypes.addressof(options),
                       argument_lists=ctypes.addressof(buffer_lists), num_devices=1,
                       num_args=len(inputs), output_lists=ctypes.addressof(result_lists))
        arrays = tuple(Array(self._client, address) for address in results)
        if self._source.results is not None:
            arrays = tuple(arrays[i] for i in self._source.results)
        return arrays[0] if len(arrays) == 1 else arrays

    def optimized_program(self) -> str:
        """The program as it was compiled, in the generic form of StableHLO's text."""
        program = c_api.make(self._api.program)
        asked = {"executable": self._executable.address, "program": ctypes.addressof(program)}
        self._api.call("Executable_OptimizedProgram", **asked)  # its size
        code = ctypes.create_string_buffer(program.code_size)
        program.code = ctypes.addressof(code)
        self._api.call("Executable_OptimizedProgram", **asked)
        return code.raw[:program.code_size].decode()

    def serialize(self) -> bytes:
        """The machine code, for Client.deserialize on a machine like this one."""
        args = self._api.call("Executable_Serialize", executable=self._executable.address)
        try:
            return ctypes.string_at(args.serialized_bytes, args.serialized_bytes_size)
        finally:
            ctypes.CFUNCTYPE(None, ctypes.c_void_p)(args.serialized_executable_deleter)(
                args.serialized_executable)


_default: Client | None = None
_lock = threading.Lock()


def default_client() -> Client:
    """The client of this process: this plugin, with ISTHMUS_NUM_DEVICES devices."""
    global _default
    with _lock:
        if _default is None:
            _default = Client()
        return _default


def put(array, device: int = 0, copy: bool = True) -> Array:
    """`Client.put` of the process's client."""
    return default_client().put(array, device, copy)


def compile(program, *, device: int = 0, signature: str | None = None, shapes=None) -> Executable:  # as re.compile
    """`Client.compile` of the process's client."""
    return default_client().compile(program, device=device, signature=signature, shapes=shapes)


def deserialize(data: bytes, parameters=None, *, device: int = 0) -> Executable:
    """`Client.deserialize` of the process's client."""
    return default_client().deserialize(data, parameters, device=device)

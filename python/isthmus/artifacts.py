"""Programs as frameworks save them: StableHLO, jax.export, torch.export by torch_xla, SavedModel.

No framework is needed to read them.
"""

import json
import pathlib
import struct

import numpy as np

from isthmus import saved_model
from isthmus.element_types import named_dtype

BYTECODE = b"ML\xefR"


class Program:
    """StableHLO (bytecode or text) and what its parameters are made of.

    `parameters` has an entry for each parameter of the program: the number of the caller's argument
    that it is, or an array that is always the same. None: they are the caller's arguments. `count`
    is the number of these, and `names` are theirs, if they are known. `results` are the numbers of the
    program's results that the caller gets; None: all.
    """

    def __init__(self, code: bytes, parameters=None, name: str = "program", count: int | None = None,
                 names=(), results=None):
        self.code, self.parameters, self.name, self.count = code, parameters, name, count
        self.names, self.results = list(names), results

    def with_parameters(self, parameters) -> "Program":
        return Program(self.code, parameters, self.name, self.count, self.names, self.results)

    def in_order(self, given, named: dict) -> list:
        """The caller's arguments by position, of those that may be given by name."""
        missing = self.names[len(given):]
        if named and sorted(named) != sorted(missing):
            raise TypeError(f"{self.name}: got {len(given)} arguments and {sorted(named)}, expected the names "
                            f"{self.names}")
        return [*given, *(named[name] for name in missing)] if named else list(given)

    def arguments(self, given):
        """The arrays of all parameters, of the caller's arguments."""
        if self.parameters is None:
            return list(given)
        if self.count is not None and len(given) != self.count:
            names = f": {', '.join(self.names)}" if self.names else ""
            raise TypeError(f"{self.name}: got {len(given)} arguments, expected {self.count}{names}")
        wanted = {p for p in self.parameters if isinstance(p, int)}
        if wanted and len(given) <= max(wanted):
            raise TypeError(f"{self.name}: got {len(given)} arguments, expected "
                            f"{max(wanted) + 1} or more")
        return [given[p] if isinstance(p, int) else p for p in self.parameters]


def read(source, signature: str | None = None) -> Program:
    """A program from what a user has in hand: bytes, text, a path, or an exported object. A SavedModel may have
    several signatures."""
    if isinstance(source, Program):
        return source
    if hasattr(source, "mlir_module_serialized"):  # jax.export.Exported
        return _exported(source.mlir_module_serialized, source.module_kept_var_idx,
                         source.platforms, source.fun_name, len(source.in_avals))
    if hasattr(source, "get_stablehlo_bytecode"):  # torch_xla's StableHLOGraphModule
        return _torch_graph(source)
    if hasattr(source, "as_text") and hasattr(source, "compiler_ir"):  # jax.stages.Lowered
        return Program(source.as_text().encode())
    if isinstance(source, pathlib.Path) or (
            isinstance(source, str) and "\n" not in source and "(" not in source):
        return _file(pathlib.Path(source), signature)
    if isinstance(source, str):
        return Program(source.encode())
    if isinstance(source, (bytes, bytearray, memoryview)):
        return _bytes(bytes(source), "program")
    raise TypeError(f"expected StableHLO, a path or an exported program, got {type(source)!r}")


def _file(path: pathlib.Path, signature: str | None) -> Program:
    if path.is_dir():
        if (path / "saved_model.pb").is_file():
            return _saved_model(path, signature)
        if (path / "functions").is_dir():
            return _torch_folder(path)
        raise ValueError(f"{path}: neither a SavedModel nor what torch_xla saves")
    return _bytes(path.read_bytes(), path.stem)


def _bytes(data: bytes, name: str) -> Program:
    if data.startswith(BYTECODE):
        return Program(data, name=name)
    exported = _flatbuffer_exported(data)
    if exported is not None:
        return exported
    return Program(data, name=name)  # text; the compiler says what is wrong with it


# ---- jax.export

def _exported(code, kept, platforms, name, count) -> Program:
    """What JAX leaves out of a program, and adds to it, when it exports."""
    parameters = [int(i) for i in kept]
    if len(platforms) > 1:
        # Programs for several platforms take the number of theirs first.
        if "cpu" not in platforms:
            raise ValueError(f"{name} was exported for {list(platforms)}, not for cpu")
        parameters.insert(0, np.int32(list(platforms).index("cpu")))
    elif "cpu" not in platforms and "isthmus" not in platforms:
        raise ValueError(f"{name} was exported for {list(platforms)}, not for cpu")
    return Program(bytes(code), parameters, name, count)


class _Table:
    """A table of a FlatBuffer, whose fields are found by number."""

    def __init__(self, data: bytes, position: int):
        self.data, self.position = data, position
        self.vtable = position - self._read("<i", position)

    def _read(self, form: str, position: int):
        if position < 0:
            raise struct.error("before the buffer")
        return struct.unpack_from(form, self.data, position)[0]

    def _vector(self, field: int):
        """The position of a vector's first element, and their number."""
        entry = 4 + 2 * field
        offset = 0
        if entry < self._read("<H", self.vtable):
            offset = self._read("<H", self.vtable + entry)
        if offset == 0:
            return 0, 0
        at = self.position + offset
        at += self._read("<I", at)
        return at + 4, self._read("<I", at)

    def size(self, field: int) -> int:
        return self._vector(field)[1]

    def bytes(self, field: int) -> bytes:
        start, count = self._vector(field)
        return self.data[start:start + count]

    def numbers(self, field: int, form: str):
        start, count = self._vector(field)
        return struct.unpack_from(f"<{count}{form}", self.data, start)

    def strings(self, field: int):
        start, count = self._vector(field)
        result = []
        for i in range(count):
            at = start + 4 * i
            at += self._read("<I", at)
            size = self._read("<I", at)
            result.append(self.data[at + 4:at + 4 + size].decode())
        return result


def _flatbuffer_exported(data: bytes):
    """What jax.export's serialize() wrote; None if it is something else."""
    name, arguments, platforms, module, kept = 1, 3, 9, 13, 15
    try:
        table = _Table(data, struct.unpack_from("<I", data)[0])
        code = table.bytes(module)
        if not code.startswith(BYTECODE):
            return None
        return _exported(code, table.numbers(kept, "H"), table.strings(platforms),
                         table.bytes(name).decode(), table.size(arguments))
    except (struct.error, UnicodeDecodeError):
        return None


# ---- torch.export, by torch_xla.stablehlo

def _torch_graph(graph) -> Program:
    """A StableHLOGraphModule: weights and constants come with it."""
    bundle = graph._bundle
    function = bundle.stablehlo_funcs[0]
    return Program(function.bytecode, [
        _torch_parameter(location.type_.value, location.position,
                         lambda location=location: _host(bundle.state_dict[location.name]),
                         lambda location=location:
                             _host(bundle.additional_constants[location.position]))
        for location in function.meta.input_locations], function.meta.name)


def _torch_folder(path: pathlib.Path) -> Program:
    """The folder that StableHLOGraphModule.save() writes, or `save_folder`."""
    metas = sorted((path / "functions").glob("*.meta"))
    if len(metas) != 1:
        raise ValueError(f"{path}: expected one function, got {len(metas)}")
    meta = json.loads(metas[0].read_text())
    code = metas[0].with_suffix(".bytecode").read_bytes()
    return Program(code, [
        _torch_parameter(location["type_"], location["position"],
                         lambda location=location: _saved_array(
                             path / "data" / location["name"]),
                         lambda location=location: _saved_array(
                             path / "constants" / str(location["position"]), location.get("dtype")))
        for location in meta["input_locations"]], meta["name"],
        len(meta["input_names"]) if "input_names" in meta else None, meta.get("input_names", ()))


def save_folder(program: Program, path: pathlib.Path) -> None:
    """Writes what `_torch_folder` reads; the arguments' names are an addition to what torch_xla writes."""
    for folder in ("functions", "constants"):
        (path / folder).mkdir(parents=True, exist_ok=True)
    locations = []
    for number, parameter in enumerate(program.parameters):
        if isinstance(parameter, int):
            locations.append({"type_": "input_arg", "position": parameter, "name": ""})
            continue
        # NumPy's format has no names for ml_dtypes's types.
        narrow = parameter.dtype.isbuiltin != 1
        bits = parameter.view(f"u{parameter.dtype.itemsize}") if narrow else parameter
        np.save(path / "constants" / f"{number}.npy", bits)
        locations.append({"type_": "constant", "position": number, "name": "",
                          **({"dtype": parameter.dtype.name} if narrow else {})})
    (path / "functions" / "forward.bytecode").write_bytes(program.code)
    (path / "functions" / "forward.meta").write_text(json.dumps(
        {"name": program.name, "input_locations": locations, "input_names": program.names}))


def _torch_parameter(kind: str, position: int, weight, constant):
    if kind == "input_arg":
        return position
    if kind == "parameter":
        return weight()
    if kind == "constant":
        return constant()
    raise ValueError(f"a parameter of unknown kind {kind!r}")


def _saved_array(path: pathlib.Path, dtype: str | None = None):
    array = np.load(path if path.exists() else path.with_suffix(".npy"), allow_pickle=False)
    return array if dtype is None else array.view(named_dtype(dtype))


def _host(tensor):
    return np.asarray(tensor.detach().cpu()) if hasattr(tensor, "detach") else np.asarray(tensor)


# ---- TensorFlow's SavedModel with a program of jax2tf or of another framework in it

def _saved_model(path: pathlib.Path, signature: str | None) -> Program:
    try:
        code, parameters, names, results = saved_model.read(path, signature)
    except saved_model.NoProgram as error:
        raise ValueError(f"{error}; models of TensorFlow's own operations are converted first: "
                         "isthmus-convert, in an environment with TensorFlow") from None
    return Program(code, parameters, path.name, len(names), names, results)

"""Programs compiled ahead of time as object files of C, with a header (include/isthmus/model.h)."""

import ctypes
import math
import pathlib
import re
import struct

import numpy as np

import isthmus
from isthmus.c_api import Error

# Types of C by PJRT_Buffer_Type. What C has no type for is given as its bytes.
_C_TYPES = {
    1: "bool", 2: "int8_t", 3: "int16_t", 4: "int32_t", 5: "int64_t", 6: "uint8_t", 7: "uint16_t",
    8: "uint32_t", 9: "uint64_t", 10: "uint16_t", 11: "float", 12: "double", 13: "uint16_t",
    14: "float", 15: "double",
}
_NOTES = {10: "bits of float16", 13: "bits of bfloat16", 14: "pairs: real, imaginary",
          15: "pairs: real, imaginary"}


class _Array(ctypes.Structure):
    """isthmus_model_array."""

    _fields_ = [("type", ctypes.c_int32), ("bytes", ctypes.c_size_t), ("rank", ctypes.c_size_t),
                ("dims", ctypes.POINTER(ctypes.c_int64))]

    @property
    def shape(self) -> tuple:
        return tuple(self.dims[:self.rank])

    @property
    def num_elements(self) -> int:
        """Of its type of C."""
        return math.prod(self.shape) * (2 if self.type in (14, 15) else 1)

    def declaration(self, name: str, is_constant: bool) -> str:
        ctype = _C_TYPES.get(self.type, "uint8_t")
        # Arrays of C have at least one element.
        return f"{'const ' if is_constant else ''}{ctype} {name}[{max(self.num_elements, 1)}]"

    def comment(self, name: str, meaning: str = "") -> str:
        shape = ", ".join(str(d) for d in self.dims[:self.rank])
        note = f"; {_NOTES[self.type]}" if self.type in _NOTES else ""
        if re.fullmatch(r"[\w.:-]+", meaning):
            name = f"{name}, {meaning}"
        return f" *   {name}: [{shape}] of {_C_TYPES.get(self.type, 'bytes')}{note}"


class Model:
    """An executable of this machine's CPU, and the name of its function in C."""

    def __init__(self, executable, name: str, library: pathlib.Path):
        self.name, self._image = name, executable.serialize()
        model = ctypes.c_void_p()
        api = ctypes.CDLL(str(library))
        api.isthmus_model_load.restype = ctypes.c_char_p
        problem = api.isthmus_model_load(self._image, ctypes.c_size_t(len(self._image)),
                                         ctypes.byref(model))
        if problem:
            raise Error(13, problem.decode())
        for function in (api.isthmus_model_argument, api.isthmus_model_result):
            function.restype = _Array
        for function in (api.isthmus_model_num_arguments, api.isthmus_model_num_results):
            function.restype = ctypes.c_size_t
        # As long as the process: the dimensions are the model's.
        self.arguments = [api.isthmus_model_argument(model, ctypes.c_size_t(i))
                           for i in range(api.isthmus_model_num_arguments(model))]
        results = [api.isthmus_model_result(model, ctypes.c_size_t(i))
                   for i in range(api.isthmus_model_num_results(model))]
        # Numbers of the program's results that the caller gets, in their order, and what they are.
        self._chosen = list(range(len(results))) if executable.results is None else executable.results
        self._results = [results[i] for i in self._chosen]
        self._num_results = len(results)
        # What each parameter is: the number of the caller's argument, or an array.
        self._parameters = executable.parameters
        if self._parameters is None:
            self._parameters = list(range(len(self.arguments)))
        self._names = dict(enumerate(executable.names))
        self._weights = {f"{name}_weight{i}": np.asarray(p).tobytes()
                         for i, p in enumerate(self._parameters) if not isinstance(p, int)}

    def named_arguments(self):
        """The caller's arguments in their order: name and array. Those that the program does not use are not there."""
        arrays = {p: a for p, a in zip(self._parameters, self.arguments) if isinstance(p, int)}
        return [(f"argument{i}", arrays[i]) for i in sorted(arrays)]

    def signature(self) -> str:
        arrays = [array.declaration(name, True) for name, array in self.named_arguments()]
        arrays += [r.declaration(f"result{i}", False) for i, r in enumerate(self._results)]
        return f"const char* {self.name}_run({', '.join(arrays) or 'void'})"

    def _body(self) -> list:
        """The lines of the function."""
        name = self.name
        arguments = ", ".join(f"argument{p}" if isinstance(p, int) else f"{name}_weight{i}"
                              for i, p in enumerate(self._parameters)) or "0"
        # What the caller does not get is not stored, and what it gets twice is copied.
        stored = {number: i for i, number in reversed(list(enumerate(self._chosen)))}
        results = ", ".join(f"result{stored[number]}" if number in stored else "0"
                            for number in range(self._num_results)) or "0"
        copies = [f"  memcpy(result{i}, result{stored[number]}, sizeof(*result{i}) * {self._results[i].num_elements});"
                  for i, number in enumerate(self._chosen) if stored[number] != i]
        call = [f"isthmus_model_run_image(&{name}_model, {name}_image, {name}_image_size, arguments,",
                "                                 results);"]
        lines = [f"  const void* const arguments[] = {{{arguments}}};",
                 f"  void* const results[] = {{{results}}};"]
        if not copies:
            return [*lines, f"  return {call[0]}", call[1]]
        return [*lines, f"  const char* const problem = {call[0]}", call[1], "  if (problem) return problem;",
                *copies, "  return 0;"]

    def header(self) -> str:
        name = self.name
        comments = [array.comment(argument, self._names.get(int(argument.removeprefix("argument")), ""))
                    for argument, array in self.named_arguments()]
        comments += [r.comment(f"result{i}") for i, r in enumerate(self._results)]
        guard = f"{name.upper()}_MODEL_H_"
        return "\n".join([
            f"/* Made by isthmus-compile, isthmus {isthmus.version()}. Link with the object file of the",
            " * same name and libisthmus_model. */",
            f"#ifndef {guard}", f"#define {guard}", "",
            "#include <stdbool.h>", "#include <stdint.h>", "#include <string.h>", "",
            "#include \"isthmus/model.h\"", "",
            "#ifdef __cplusplus", "extern \"C\" {", "#endif", "",
            f"extern const unsigned char {name}_image[];",
            f"extern const uint64_t {name}_image_size;",
            *(f"extern const unsigned char {weight}[];" for weight in self._weights),
            f"extern isthmus_model* {name}_model; /* loaded by the first run */", "",
            "/* Runs the program. Null, or what went wrong (isthmus_model_run).", *comments, " */",
            f"static inline {self.signature()} {{", *self._body(),
            "}", "", "#ifdef __cplusplus", "}", "#endif", "", f"#endif /* {guard} */", ""])

    def object_file(self) -> bytes:
        """A relocatable ELF file for x86-64 that defines what the header declares."""
        return _data_object({
            f"{self.name}_image": (".rodata", self._image),
            f"{self.name}_image_size": (".rodata", struct.pack("<Q", len(self._image))),
            f"{self.name}_model": (".data", bytes(8)),
            **{weight: (".rodata", data) for weight, data in self._weights.items()}})


def _data_object(symbols: dict) -> bytes:
    """An ELF object of data: name -> (section, bytes). Layout: System V ABI, chapters 4 and 5."""
    alignment = 64
    sections = {".rodata": b"", ".data": b""}
    names = b"\0"
    entries = [struct.pack("<IBBHQQ", 0, 0, 0, 0, 0, 0)]
    for name, (section, data) in symbols.items():
        placed = sections[section]
        placed += bytes(-len(placed) % alignment)
        # STB_GLOBAL, STT_OBJECT, default visibility.
        entries.append(struct.pack("<IBBHQQ", len(names), 1 << 4 | 1, 0,
                                   1 + list(sections).index(section), len(placed), len(data)))
        names += name.encode() + b"\0"
        sections[section] = placed + data
    titles = ["", ".rodata", ".data", ".symtab", ".strtab", ".shstrtab", ".note.GNU-stack"]
    title_bytes = b"".join(title.encode() + b"\0" for title in titles)
    # Types: PROGBITS 1, SYMTAB 2, STRTAB 3; flags: WRITE 1, ALLOC 2.
    contents = [(0, 0, b"", 0, 0, 0), (1, 2, sections[".rodata"], 0, 0, alignment),
                (1, 3, sections[".data"], 0, 0, alignment), (2, 0, b"".join(entries), 4, 1, 8),
                (3, 0, names, 0, 0, 1), (3, 0, title_bytes, 0, 0, 1), (1, 0, b"", 0, 0, 1)]
    body, headers, position = b"", b"", 64
    for title, (kind, flags, data, link, info, align) in zip(titles, contents):
        pad = -position % max(align, 1)
        body += bytes(pad) + data
        position += pad
        headers += struct.pack("<IIQQQQIIQQ", title_bytes.index(title.encode() + b"\0") if title else 0,
                               kind, flags, 0, position, len(data), link, info, align,
                               24 if kind == 2 else 0)
        position += len(data)
    pad = -position % 8
    # ELFCLASS64, little endian, version 1; ET_REL, EM_X86_64.
    header = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 1, 62, 1, 0, 0,
                         position + pad, 0, 64, 0, 0, 64, len(titles), titles.index(".shstrtab"))
    return header + body + bytes(pad) + headers

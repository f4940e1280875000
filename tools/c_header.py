"""Writes the PJRT C API as one header of C11, from our C++ declarations (include/isthmus/pjrt_c_api).

Usage: python c_header.py FOLDER OUTPUT
"""

import pathlib
import re
import sys

# In the order in which they include each other.
FILES = ["base", "types", "client", "buffer", "device", "transfer", "executable", "topology", "table"]

HEAD = """// The PJRT C API, in C. Written by tools/c_header.py from isthmus/pjrt_c_api.
#ifndef ISTHMUS_PJRT_C_H_
#define ISTHMUS_PJRT_C_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The size of arguments without the padding at their end, for `struct_size`.
#define ISTHMUS_STRUCT_SIZE(type, last) (offsetof(type, last) + sizeof(((type*)0)->last))

"""


def converted(text: str) -> str:
    """One header's declarations in C."""
    text = re.sub(r"//[^\n]*", "", text)
    text = re.sub(r"#pragma once|#include[^\n]*", "", text)
    slots = re.search(r"#define ISTHMUS_PJRT_SLOTS\(X\)((?:.*\\\n)+.*)", text)
    names = re.findall(r"X\((\w+)\)", slots.group(1)) if slots else []
    if slots:
        text = text.replace(slots.group(0), "")
        text = text.replace("ISTHMUS_PJRT_SLOTS(ISTHMUS_PJRT_FIELD)", "\n".join(
            f"  PJRT_Error* (*PJRT_{name})(PJRT_{name}_Args* args);" for name in names))
    text = re.sub(r"#define ISTHMUS_PJRT_(SIZE|FIELD)\b(?:.*\\\n)*.*|#undef \w+", "", text)
    text = re.sub(r"template <[^>]*>\s*(inline constexpr|using)[^;]*;", "", text)
    text = re.sub(r"ISTHMUS_PJRT_SIZE\([^;]*;", "", text)
    text = re.sub(r"inline constexpr int (\w+) = (\d+);", r"enum { \1 = \2 };", text)
    text = re.sub(r"using (\w+)\s*=\s*([^;=]*?)\(\*\)\s*\(", r"typedef \2(*\1)(", text)
    text = re.sub(r"enum (\w+) : int \{", r"typedef int \1;\nenum {", text)
    return text


def main():
    folder, output = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    body = "".join(converted((folder / f"{name}.h").read_text()) for name in FILES)
    names = sorted(set(re.findall(r"\bstruct (\w+)", body)))
    body = re.sub(r"\n\s*struct \w+;", "", body)
    body = re.sub(r"#define ISTHMUS_PJRT_HEAD(?:.*\\\n)+.*", "", body)
    body = body.replace("ISTHMUS_PJRT_HEAD",
                        "size_t struct_size;\n  PJRT_Extension_Base* extension_start;")
    forward = "".join(f"typedef struct {name} {name};\n" for name in names)
    text = HEAD + forward + body + "\n#endif  // ISTHMUS_PJRT_C_H_\n"
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(re.sub(r"\n{3,}", "\n\n", text))


if __name__ == "__main__":
    main()

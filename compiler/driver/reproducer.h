// Files that show a failure of the compiler again, without the framework that it came to light in.
//
// A reproducer is a program as it was imported, in text with its locations, below a head of
// comments: how to replay it, the error, the environment variables that were set and change what is
// compiled, and the CompileOptionsProto.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "isthmus/backend.h"
#include "isthmus/status.h"

namespace isthmus {

// Of the head.
struct ReproducerHead {
  std::vector<std::pair<std::string, std::string>> flags;  // of the table: name, value
  std::string serializedOptions;                           // a CompileOptionsProto
};

// The head of `text`; nothing is in it if `text` is no reproducer. kInvalidArgument for one whose
// options are garbled.
StatusOr<ReproducerHead> readReproducerHead(std::string_view text);

// The reproducer of `request`, which failed with `error` on `platform` (CodeGenerator::platform()).
// Large constants of programs beyond 32 MiB of text are replaced by zeros, and the head says so.
// Error: the program cannot be imported.
StatusOr<std::string> reproducerText(const CompileRequest& request, std::string_view platform,
                                     const Status& error);

// `error` with its place in the sources, the name of a new file in the folder for temporary files
// and the command that replays it. The file has the reproducer, or the request's bytes if they
// cannot be imported. A process writes at most eight; beyond, or where none can be written, the
// message says so. From any thread.
Status withReproducer(const CompileRequest& request, std::string_view platform,
                      const Status& error);

// How `file` is compiled again: "python -m isthmus replay FILE --platform xpu".
std::string replayCommand(std::string_view file, std::string_view platform);

}  // namespace isthmus

// Programs that are evaluated, not compiled: what a device's first day needs, and its tests compare
// with.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "isthmus/backend.h"
#include "isthmus/status.h"

namespace isthmus {

// Immutable. Runs may come from many threads, and are done one at a time.
class ReferenceProgram {
 public:
  // Imports the program and takes it to one device's part. kUnimplemented for programs of several
  // devices.
  static StatusOr<std::unique_ptr<ReferenceProgram>> compile(const CompileRequest& request);
  virtual ~ReferenceProgram() = default;
  // Whether there is an operation of this name ("stablehlo.sort"): the evaluator knows all.
  static bool knows(std::string_view op);

  virtual const ProgramInfo& info() const = 0;  // constant
  // Evaluates the program on the calling thread. The arrays are in host memory, as RunRequest says.
  virtual Status run(std::span<const void* const> parameters,
                     std::span<void* const> results) const = 0;
};

}  // namespace isthmus

// Programs as text, by a grammar: compiled for the CPU, as PJRT_Client_Compile does.
#include <cstdio>
#include <cstdlib>

#include "fuzz/inputs/guarded_bytes.h"
#include "fuzz/inputs/program_text.h"
#include "isthmus/backend.h"
#include "runtime/executable/compile.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace isthmus;
  const std::string code = fuzz::programText(data, size);
  CompileRequest request{.code = fuzz::guardEnd(code), .format = "mlir", .options = {}};
  auto executable = compileProgram(linkedBackend(), request);
  if (!executable.ok() && executable.status().message().empty()) {
    std::fprintf(stderr, "compile: an error without a message\n");
    std::abort();
  }
  if (executable.ok() && !(*executable)->serialize().ok()) std::abort();
  return 0;
}

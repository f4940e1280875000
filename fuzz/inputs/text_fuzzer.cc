// Programs as text, by a grammar: imported.
#include "fuzz/inputs/import_check.h"
#include "fuzz/inputs/program_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  isthmus::fuzz::checkImport(isthmus::fuzz::programText(data, size), "mlir");
  return 0;
}

// Portable artifacts and plain MLIR bytecode, mutated section by section: imported.
#include "fuzz/inputs/bytecode_mutator.h"
#include "fuzz/inputs/import_check.h"

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t maxSize,
                                          unsigned seed) {
  return isthmus::fuzz::mutateBytecode(data, size, maxSize, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  isthmus::fuzz::checkImport({reinterpret_cast<const char*>(data), size}, "mlir");
  return 0;
}

// HloModuleProtos, mutated as trees of fields: imported.
#include "fuzz/inputs/import_check.h"
#include "fuzz/inputs/wire_mutator.h"

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t maxSize,
                                          unsigned seed) {
  return isthmus::fuzz::mutateMessage(data, size, maxSize, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  isthmus::fuzz::checkImport({reinterpret_cast<const char*>(data), size}, "hlo");
  return 0;
}

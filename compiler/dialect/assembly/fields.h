// Text of attributes that are written field by field: `<offset_dims = [0], index_vector_dim = 1>`.
#pragma once

#include <cstdint>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/OpImplementation.h"

namespace isthmus {

// A list of dimensions, or a number. What is empty or 0 is not written.
struct Field {
  llvm::StringLiteral name;
  llvm::SmallVector<int64_t> dims = {};
  bool isScalar = false;
  int64_t scalar = 0;
};

inline Field listField(llvm::StringLiteral name, llvm::ArrayRef<int64_t> dims = {}) {
  return Field{name, llvm::SmallVector<int64_t>(dims)};
}
inline Field scalarField(llvm::StringLiteral name, int64_t value = 0) {
  return Field{name, {}, true, value};
}

// Parses `<name = value, ..>`, in any order, into the fields of these names.
mlir::ParseResult parseFields(mlir::AsmParser& parser, llvm::MutableArrayRef<Field> fields);
void printFields(mlir::AsmPrinter& printer, llvm::ArrayRef<Field> fields);

}  // namespace isthmus

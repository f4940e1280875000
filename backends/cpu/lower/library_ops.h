// Operations that library functions carry out: which function, and its descriptor.
#pragma once

#include <cstdint>

#include "backends/cpu/emit/optimize_program.h"
#include "backends/cpu/emit/program_emitter.h"
#include "base/program/custom_call.h"
#include "compiler/target/target_model.h"
#include "isthmus/status.h"
#include "mlir/IR/Operation.h"

namespace isthmus::cpu {

// What builders of library calls may use and change.
struct LibraryContext {
  const TargetModel& target;
  llvm::Module& module;    // for generated callbacks, such as comparators
  int64_t nextNumber = 0;  // unique numbers in a program: channels, symbols
  std::vector<ffi::CallSpec> calls = {};
  bool callsUserCode = false;   // set by custom calls
  bool mayBlock = false;        // set by operations that wait for others
  std::string exchanges = {};   // what these exchange, one after the other
  bool needsOptimizer = false;  // set by functions with kOptimizeAttribute
};

// The code of an operation outside of fusions. kUnimplemented, naming op, types and source
// position, if there is no library function for it.
StatusOr<OperationCode> makeLibraryCode(mlir::Operation* op, LibraryContext& context);

// Whether the library function of `op` may write `result` over `operand`.
bool libraryCanShare(mlir::Operation* op, unsigned operand, unsigned result);

// Builders by family, in files of their own.
StatusOr<OperationCode> makeDotCode(mlir::Operation* op, LibraryContext& context);
StatusOr<OperationCode> makeConvolutionCode(mlir::Operation* op, LibraryContext& context);
StatusOr<OperationCode> makeCollectiveCode(mlir::Operation* op, LibraryContext& context);
StatusOr<OperationCode> makeSortCode(mlir::Operation* op, LibraryContext& context);
StatusOr<OperationCode> makeCompositeCode(mlir::Operation* op, LibraryContext& context);
StatusOr<OperationCode> makeCustomCallCode(mlir::Operation* op, LibraryContext& context);
StatusOr<OperationCode> makeRngCode(mlir::Operation* op, LibraryContext& context);
StatusOr<OperationCode> makeSpecialFunctionCode(mlir::Operation* op, LibraryContext& context);
StatusOr<OperationCode> makeFftCode(mlir::Operation* op, LibraryContext& context);
// The custom calls of XLA's client library that are decompositions of matrices.
bool isDecomposition(std::string_view target);
StatusOr<OperationCode> makeDecompositionCode(mlir::Operation* op);
StatusOr<OperationCode> makeCholeskyCode(mlir::Operation* op, LibraryContext& context);
StatusOr<OperationCode> makeTriangularSolveCode(mlir::Operation* op, LibraryContext& context);

// The bytes of a plain-data descriptor.
template <typename Descriptor>
std::string descriptorBytes(const Descriptor& descriptor) {
  return std::string(reinterpret_cast<const char*>(&descriptor), sizeof(descriptor));
}

}  // namespace isthmus::cpu

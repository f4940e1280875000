// Operations that library functions carry out: which function, and its descriptor.
#pragma once

#include <cstdint>

#include <span>
#include <string>

#include "backends/cpu/emit/optimize_program.h"
#include "backends/cpu/emit/program_emitter.h"
#include "backends/cpu/kernels/gemm/dot.h"
#include "base/program/custom_call.h"
#include "compiler/dialect/dialect.h"
#include "compiler/schedule/schedule.h"
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
  bool isOfDevice = false;      // what operations outside of fusions say of kernels is a device's
};

// The code of an operation outside of fusions. kUnimplemented, naming op, types and source
// position, if there is no library function for it.
StatusOr<OperationCode> lowerToLibraryCall(mlir::Operation* op, LibraryContext& context);

// Makes of `code`, the kernel of a fusion with a dot_general, the call of the library function with
// that kernel as its epilogue.
Status callWithEpilogue(ir::FusionOp fusion, OperationCode& code, LibraryContext& context);

// In which form the library function computes a product, a dot_general or a convolution, that
// stands alone or with an epilogue as `stage` says: one without a name if there is no function for
// it. `reason` is why in no other.
FunctionForm functionFormOf(mlir::Operation* product, const DotStage& stage,
                            const TargetModel& target, std::string* reason);

// The same for a fusion that is an attention, with the kernel of its rows.
Status callWithRows(ir::FusionOp fusion, OperationCode& code, LibraryContext& context);

// Whether the library function of `op` may write `result` over `operand`.
bool libraryCanShare(mlir::Operation* op, unsigned operand, unsigned result);

// Builders by family, in files of their own.
StatusOr<OperationCode> lowerDotGeneral(mlir::Operation* op, LibraryContext& context);
StatusOr<OperationCode> lowerConvolution(mlir::Operation* op, LibraryContext& context);
StatusOr<OperationCode> lowerCollective(mlir::Operation* op, LibraryContext& context);
StatusOr<OperationCode> lowerAwait(mlir::Operation* op, LibraryContext& context);
StatusOr<OperationCode> lowerConcatenate(mlir::Operation* op, LibraryContext& context);
StatusOr<OperationCode> lowerSort(mlir::Operation* op, LibraryContext& context);
StatusOr<OperationCode> lowerComposite(mlir::Operation* op, LibraryContext& context);
StatusOr<OperationCode> lowerCustomCall(mlir::Operation* op, LibraryContext& context);
StatusOr<OperationCode> lowerRng(mlir::Operation* op, LibraryContext& context);
StatusOr<OperationCode> lowerSpecialFunction(mlir::Operation* op, LibraryContext& context);
StatusOr<OperationCode> lowerFft(mlir::Operation* op, LibraryContext& context);
// The custom calls of XLA's client library that are decompositions of matrices.
bool isDecomposition(std::string_view target);
StatusOr<OperationCode> lowerDecomposition(mlir::Operation* op, LibraryContext& context);
// jaxlib's calls of LAPACK that library functions carry out.
bool isLapackCall(std::string_view target);
StatusOr<OperationCode> lowerLapackCall(mlir::Operation* op, LibraryContext& context);
// A call of LAPACK's trsm that OpenBLAS, which jaxlib's handler calls, may take a thousand times as
// long for: it starts threads for 32 rows and columns, and callers at the same time wait for them.
bool isSmallTriangularSolve(mlir::Operation* op);
StatusOr<OperationCode> lowerCholesky(mlir::Operation* op, LibraryContext& context);
StatusOr<OperationCode> lowerTriangularSolve(mlir::Operation* op, LibraryContext& context);

inline std::span<const int64_t> toSpan(llvm::ArrayRef<int64_t> list) {
  return {list.data(), list.size()};
}

// Of the parts of a complex type; the type itself otherwise.
inline ElementType realTypeOf(ElementType type) {
  if (type == ElementType::kC64) return ElementType::kF32;
  return type == ElementType::kC128 ? ElementType::kF64 : type;
}

// The position in a fusion's table of buffers of one of the fusion's arguments.
int32_t bufferOf(mlir::Value argument);

// What isthmus_rt_dot computes for `dot`, over operands and a result that are buffers 0, 1 and 2.
StatusOr<DotDescriptor> describeDot(shlo::DotGeneralOp dot);

// Makes of `code`, the kernel of a fusion, the call of a library function that calls that kernel.
void callBack(const char* function, std::string descriptor, double estimatedNs, OperationCode& code,
              LibraryContext& context);

// The bytes of a plain-data descriptor.
template <typename Descriptor>
std::string descriptorBytes(const Descriptor& descriptor) {
  return std::string(reinterpret_cast<const char*>(&descriptor), sizeof(descriptor));
}

}  // namespace isthmus::cpu

// The table of operations with library functions.
#include "backends/cpu/lower/library_ops.h"

#include "backends/cpu/kernels/special_functions.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/plan/op_error.h"
#include "compiler/program/custom_calls.h"
#include "llvm/ADT/StringSwitch.h"

namespace isthmus::cpu {
namespace {

using Builder = StatusOr<OperationCode> (*)(mlir::Operation*, LibraryContext&);

// Transfers while a program runs. They come out as errors that say why.
StatusOr<OperationCode> refuseTransfer(mlir::Operation* op, LibraryContext&) {
  llvm::StringRef name = op->getName().stripDialect();
  if (name == "infeed" || name == "outfeed") {
    return unimplemented(
        "the PJRT C API has no call that feeds a running program; pass arrays as arguments and "
        "results, or use a host callback");
  }
  return unimplemented(
      "send and recv need transfer callbacks of the caller, which are not served; use a host "
      "callback, or a collective operation between devices");
}

Builder builderOf(llvm::StringRef name) {
  if (name.starts_with("chlo.") && specialFunctionOf(name.drop_front(5))) {
    return lowerSpecialFunction;
  }
  return llvm::StringSwitch<Builder>(name)
      .Case("isthmus.await", lowerAwait)
      .Case("stablehlo.dot_general", lowerDotGeneral)
      .Case("stablehlo.convolution", lowerConvolution)
      .Cases({"stablehlo.all_gather", "stablehlo.all_reduce", "stablehlo.all_to_all",
              "stablehlo.collective_broadcast", "stablehlo.collective_permute",
              "stablehlo.partition_id", "stablehlo.reduce_scatter", "stablehlo.replica_id"},
             lowerCollective)
      .Case("stablehlo.concatenate", lowerConcatenate)
      .Case("stablehlo.composite", lowerComposite)
      .Case("stablehlo.custom_call", lowerCustomCall)
      .Cases({"stablehlo.infeed", "stablehlo.outfeed", "stablehlo.recv", "stablehlo.send"},
             refuseTransfer)
      .Case("stablehlo.sort", lowerSort)
      .Case("stablehlo.rng_bit_generator", lowerRng)
      .Case("stablehlo.fft", lowerFft)
      .Case("stablehlo.cholesky", lowerCholesky)
      .Case("stablehlo.triangular_solve", lowerTriangularSolve)
      .Default(nullptr);
}

}  // namespace

StatusOr<OperationCode> lowerToLibraryCall(mlir::Operation* op, LibraryContext& context) {
  Builder builder = builderOf(op->getName().getStringRef());
  if (!builder) return unsupportedOp(op, "the CPU backend has no code for this operation yet");
  StatusOr<OperationCode> code = builder(op, context);
  // Builders say what is missing or wrong; the operation and its position are added here.
  if (!code.ok() && code.status().message().find(" -> ") == std::string_view::npos) {
    return atOp(op, code.status());
  }
  return code;
}

bool libraryCanShare(mlir::Operation* op, unsigned operand, unsigned result) {
  if (op->getName().getStringRef() == "stablehlo.custom_call")
    return customCallCanShare(op, operand, result);
  return mayUpdateInPlace(op, operand, result);
}

}  // namespace isthmus::cpu

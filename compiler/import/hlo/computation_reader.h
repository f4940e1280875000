// Turns HLO computations into blocks of StableHLO operations.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/import/bytecode/cursor.h"
#include "compiler/import/hlo/messages.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace isthmus::importer {

// An instruction's value: the leaves of its shape in order, so that tuples need no operations.
struct HloValue {
  const hlo::Shape* shape = nullptr;
  llvm::SmallVector<mlir::Value> leaves;
};

// Builds the functions of one module.
class ComputationReader {
 public:
  ComputationReader(const hlo::Module& module, mlir::ModuleOp target, ErrorSink& sink);

  // Adds the function of a computation: its parameters' leaves are the arguments, its root's leaves
  // the results. Computations that it calls are added before.
  bool addFunction(const hlo::Computation& computation, llvm::StringRef name, bool isPublic);

  const hlo::Computation* find(int64_t id) const;

 private:
  friend class InstructionReader;

  using Values = std::map<int64_t, HloValue>;

  // Fills `block`, which must have an argument for each leaf of the parameters, with the
  // computation's operations, and returns the root's leaves.
  bool readBody(const hlo::Computation& computation, mlir::Block& block,
                llvm::SmallVectorImpl<mlir::Value>& results);
  // As a region of an operation that applies the computation, ended by stablehlo.return.
  bool readRegion(int64_t computationId, mlir::Region& region, mlir::Location location);
  // The function that a computation became, for calls.
  mlir::func::FuncOp functionOf(int64_t computationId);

  bool malformed(const hlo::Instruction& instruction, const std::string& what);

  const hlo::Module& module_;
  mlir::ModuleOp target_;
  mlir::OpBuilder builder_;
  ErrorSink& sink_;
  std::map<int64_t, const hlo::Computation*> computations_;
  std::map<int64_t, mlir::func::FuncOp> functions_;
  int depth_ = 0;
  // Regions copy computations; a small program could ask for more copies than memory holds.
  int64_t numOperationsLeft_;
};

}  // namespace isthmus::importer

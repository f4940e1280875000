// The memory plan of a program: where every array lives, and what control flow must copy.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "compiler/plan/liveness.h"
#include "compiler/plan/location.h"
#include "isthmus/status.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace isthmus {

// How parameter `i` of the program may be used besides being read.
struct ParameterUse {
  // Its memory is this result's memory; -1 if it is not.
  int aliasedResult = -1;
  // The caller gives the memory up.
  bool isDonated = false;
};

struct PlanOptions {
  // One per parameter of the function.
  std::vector<ParameterUse> parameters;
  // Whether `op` computes the right result when `result` has the memory of `operand`. Asked only
  // for ordinary operations with operand and result of equal size in bytes.
  std::function<bool(mlir::Operation* op, unsigned operand, unsigned result)> canShare;
  // Whether sharing saves `op` a copy of the whole operand (an update in place).
  std::function<bool(mlir::Operation* op, unsigned operand, unsigned result)> prefersInPlace;
  // Bytes of memory that `op` needs while it runs, besides operands and results. Null means none.
  std::function<int64_t(mlir::Operation* op)> scratchBytes;
  // Whether other arrays may have the memory of result `index` before it is written. Null means of
  // all results.
  std::function<bool(unsigned index)> lendsResult;
};

class MemoryPlan {
 public:
  // kNone for tokens and empty arrays.
  Location locate(mlir::Value value) const;
  // Where the caller expects result `index` of the program.
  Location resultLocation(unsigned index) const { return results_[index]; }
  // The scratch memory of an operation; kNone if it needs none.
  Location scratchOf(mlir::Operation* op) const { return scratch_.lookup(op); }

  // The moves that carry out a control transfer, in order: before a while's first test (its init
  // values), at the terminator of a while's body, of a branch and of the program.
  std::vector<Move> movesInto(mlir::Operation* whileOp) const;
  std::vector<Move> movesAt(mlir::Operation* terminator) const;

  int64_t arenaBytes() const { return arenaBytes_; }
  // Sizes of the stack slots, by index.
  const std::vector<int64_t>& stackSlots() const { return stackSlots_; }
  // The constants that have a location in kConstant, by index.
  const std::vector<mlir::Operation*>& constants() const { return constants_; }
  const Liveness& liveness() const { return liveness_; }

  // One line per array: location, size, lifetimes, type.
  std::string toString() const;

 private:
  // `uses`: how many of the terminator's operands are in each place.
  bool isOnlyOfRound(mlir::Operation* terminator, unsigned carried,
                     const std::map<Location::Place, int>& uses) const;

  friend StatusOr<MemoryPlan> planMemory(mlir::func::FuncOp, const PlanOptions&);
  explicit MemoryPlan(Liveness liveness) : liveness_(std::move(liveness)) {}

  Liveness liveness_;
  std::vector<Location> locations_;  // by array
  std::vector<Location> results_;
  llvm::DenseMap<mlir::Operation*, Location> scratch_;
  std::vector<mlir::Operation*> constants_;
  std::vector<int64_t> stackSlots_;
  int64_t arenaBytes_ = 0;
};

// `main` is the fused program: one block; operations as compiler/dialect/facts/op_facts.h
// classifies them.
StatusOr<MemoryPlan> planMemory(mlir::func::FuncOp main, const PlanOptions& options);

// Checks that no two arrays that are alive together overlap, but where an operation may work in
// place. kInternal if some do. Uses the plan's locations and the liveness only.
Status verifyPlan(const MemoryPlan& plan, const PlanOptions& options);

}  // namespace isthmus

// Which arrays of a program are alive when.
//
// Operations are numbered in program order, regions inside their operation. Operation t reads and
// writes during times [2t, 2t+1], so that an operand which dies at t and a result of t overlap.
// Control flow gets two numbers, one where it begins and one where it ends.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/dialect/facts/op_facts.h"
#include "isthmus/status.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace isthmus {

// The regions of a loop (OpRole::kWhile), by number.
inline constexpr unsigned kConditionRegion = 0, kBodyRegion = 1;

// Both ends belong to it.
struct Lifetime {
  int64_t begin = 0;
  int64_t end = 0;
};

// One array: the SSA values that are the same memory with the same contents by construction
// (views, loop-carried values that the loop passes through) are one array.
struct LiveArray {
  enum class Origin {
    kParameter,
    kConstant,
    kComputed,  // result of `definition`
    kCarried,   // a while's carried value number `index`: both block arguments and the result
    kSelected,  // result `index` of a case or if
  };
  Origin origin = Origin::kComputed;
  mlir::Operation* definition = nullptr;  // null for parameters
  int index = 0;                          // of the parameter, the result or the carried value
  mlir::Value value;                      // one of its SSA values
  int64_t bytes = 0;
  int loopDepth = 0;         // of the definition; carried values are inside
  bool touchesLoop = false;  // is read or written inside a loop
  // When its contents matter: disjoint, in order.
  llvm::SmallVector<Lifetime, 2> lifetimes;
  // When its memory may be written or read, including copies made by control flow.
  Lifetime extent;
};

// The times of a control-flow operation.
struct RegionTimes {
  int64_t begin = 0;
  int64_t end = 0;
  llvm::SmallVector<int64_t, 2> terminators;  // one per region
};

class Liveness {
 public:
  static StatusOr<Liveness> compute(mlir::func::FuncOp main);

  const std::vector<LiveArray>& arrays() const { return arrays_; }
  // The array of a value, or -1 for tokens and empty arrays.
  int arrayOf(mlir::Value value) const;
  // The time of an ordinary operation or terminator.
  int64_t timeOf(mlir::Operation* op) const { return times_.lookup(op); }
  // Whether the while passes carried value `index` on unchanged.
  bool isPassedThrough(mlir::Operation* whileOp, unsigned index) const;
  // Every operation of the program, in order, control flow before its regions.
  const std::vector<mlir::Operation*>& operations() const { return operations_; }

 private:
  Status number(mlir::Block& block, int loopDepth);
  Status addArray(LiveArray array);
  mlir::Value baseOf(mlir::Value value) const;
  void recordUse(mlir::Value value, mlir::Operation* user, int64_t time);
  void recordUses();
  void finishLifetimes();

  std::vector<LiveArray> arrays_;
  std::vector<mlir::Operation*> operations_;
  llvm::DenseMap<mlir::Value, int> ids_;           // of base values
  llvm::DenseMap<mlir::Value, int64_t> lastUses_;  // of base values
  llvm::DenseMap<mlir::Operation*, int64_t> times_;
  llvm::DenseMap<mlir::Operation*, RegionTimes> regions_;
  llvm::DenseMap<mlir::Operation*, int> loopDepths_;
  int64_t clock_ = 1;
  int64_t endTime_ = 0;
};

}  // namespace isthmus

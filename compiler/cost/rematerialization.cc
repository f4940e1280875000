#include "compiler/cost/rematerialization.h"

#include <algorithm>
#include <optional>

#include "compiler/cost/op_cost.h"
#include "compiler/cost/work.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/dialect/types/array_shape.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

namespace isthmus {
namespace {

// Constants up to this many elements live in the kernels that use them.
constexpr int64_t kSmallConstantElements = 16;
constexpr int kMaxDepth = 4;

bool isSmallConstant(mlir::Operation* op) {
  auto constant = llvm::dyn_cast<shlo::ConstantOp>(op);
  if (!constant) return false;
  return constant.getValue().isSplat() ||
         constant.getValue().getNumElements() <= kSmallConstantElements;
}

// Whether the value takes no more of memory than a number: splats, iota, and what is made of them.
bool readsNoArray(mlir::Value value) {
  mlir::Operation* op = value.getDefiningOp();
  while (op && llvm::isa<shlo::ReshapeOp>(op)) op = op->getOperand(0).getDefiningOp();
  if (!op || llvm::isa<shlo::SliceOp>(op)) return false;
  return !llvm::isa<shlo::BroadcastInDimOp>(op) || elementCount(op->getOperand(0).getType()) == 1;
}

// Whether the slice is a column of a matrix that is repeated for each row of a larger one, as in
// x[:, 0] * x[:, 0, None]: each time every element would come from a cache line of its own.
bool isRepeatedColumn(shlo::SliceOp slice) {
  constexpr int64_t kCacheLineBytes = 64;
  const auto from = tensorTypeOf(slice.getOperand()), type = tensorTypeOf(slice.getResult());
  const int64_t last = type.getRank() - 1;
  if (last < 1 || type.getDimSize(last) != 1 || type.getNumElements() <= 1 ||
      from.getDimSize(last) * elementBytes(type) < kCacheLineBytes) {
    return false;
  }
  llvm::SmallVector<mlir::Operation*> users(slice->getUsers());
  for (size_t i = 0; i < users.size() && i < kMaxDepth; ++i) {
    if (llvm::isa<shlo::ReshapeOp>(users[i])) llvm::append_range(users, users[i]->getUsers());
    auto broadcast = llvm::dyn_cast<shlo::BroadcastInDimOp>(users[i]);
    if (!broadcast || broadcast.getBroadcastDimensions().empty()) continue;
    // Along rows of the result, and not one element for each of them.
    if (broadcast.getBroadcastDimensions().back() == broadcast.getType().getRank() - 1 &&
        broadcast.getOperand().getType().getShape().back() > 1 &&
        elementCount(broadcast.getType()) > elementCount(type)) {
      return true;
    }
  }
  return false;
}

bool isCheapWithin(mlir::Operation* op, int depth) {
  if (isSmallConstant(op)) return true;
  if (llvm::isa<shlo::IotaOp, shlo::BroadcastInDimOp>(op)) return true;
  if (auto slice = llvm::dyn_cast<shlo::SliceOp>(op)) {
    // Strided reads are slow enough to be done once.
    return llvm::all_of(slice.getStrides(), [](int64_t stride) { return stride == 1; }) &&
           !isRepeatedColumn(slice);
  }
  if (auto reshape = llvm::dyn_cast<shlo::ReshapeOp>(op)) {
    return elementCount(reshape.getType()) > 0 &&
           squeezedShape(reshape.getOperand().getType()) == squeezedShape(reshape.getType());
  }
  if (depth == 0 || fusionClass(op) != FusionClass::kElementwise || elementCost(op) > 1) {
    return false;
  }
  return llvm::all_of(op->getOperands(), [&](mlir::Value operand) {
    return readsNoArray(operand) && isCheapWithin(operand.getDefiningOp(), depth - 1);
  });
}

// Booleans are read faster than two numbers each.
bool isWorthRecomputing(mlir::Type type, const TargetModel& target) {
  return elementBytes(type) >= 4 &&
         elementCount(type) * elementBytes(type) >= target.minRecomputedBytes;
}

// How many elements of arrays cheap elementwise work on broadcasts of them reads, each once; -1 if
// it is no such work.
int64_t elementsRead(mlir::Operation* op, int depth, const TargetModel& target) {
  if (!op) return -1;
  if (auto broadcast = llvm::dyn_cast<shlo::BroadcastInDimOp>(op)) {
    return elementCount(broadcast.getOperand().getType());
  }
  if (depth == 0 || fusionClass(op) != FusionClass::kElementwise || elementCost(op) > 1 ||
      op->getNumResults() != 1 || !isWorthRecomputing(op->getResult(0).getType(), target)) {
    return -1;
  }
  int64_t total = 0;
  for (mlir::Value operand : op->getOperands()) {
    mlir::Operation* producer = operand.getDefiningOp();
    const bool isComputedAgain =
        producer && readsNoArray(operand) && isCheapWithin(producer, kMaxDepth);
    const int64_t read = isComputedAgain ? 0 : elementsRead(producer, depth - 1, target);
    if (read < 0) return -1;
    total += read;
  }
  return total;
}

// Whether numbers are compared that must be the same in all kernels, to the last bit: where
// products are contracted, one that is computed again may not be.
bool needsEqualNumbers(mlir::Operation* user) {
  auto compare = llvm::dyn_cast<shlo::CompareOp>(user);
  return compare && (compare.getComparisonDirection() == shlo::ComparisonDirection::EQ ||
                     compare.getComparisonDirection() == shlo::ComparisonDirection::NE);
}

// Whether the operation may be computed again in all kernels that use it: nothing needs its result
// in memory, or joins so many arrays that each should be one.
bool isOfKernelsOnly(mlir::Operation* op) {
  constexpr unsigned kFewOperands = 8;
  return llvm::all_of(op->getUses(), [&](mlir::OpOperand& use) {
    mlir::Operation* user = use.getOwner();
    return user->getBlock() == op->getBlock() && isKernel(user) &&
           user->getNumOperands() <= kFewOperands && !needsEqualNumbers(user) &&
           !needsMemory(user, use.getOperandNumber());
  });
}

// Elementwise work one after the other, and the arrays that it reads.
struct CheapWork {
  double cost = 0;
  llvm::SmallSetVector<mlir::Value, 4> arrays;
};
using CheapWorks = llvm::DenseMap<mlir::Operation*, CheapWork>;

// The work that gives the result, back to arrays; none if it is none. `before`: that of earlier
// operations.
std::optional<CheapWork> workBackToArrays(mlir::Operation* op, const CheapWorks& before) {
  if (fusionClass(op) != FusionClass::kElementwise || op->getNumResults() != 1 ||
      !isOfKernelsOnly(op)) {
    return std::nullopt;
  }
  CheapWork work;
  work.cost = std::max(1.0, elementCost(op));
  for (mlir::Value operand : op->getOperands()) {
    mlir::Operation* producer = operand.getDefiningOp();
    if (auto broadcast = llvm::dyn_cast_or_null<shlo::BroadcastInDimOp>(producer)) {
      work.arrays.insert(broadcast.getOperand());
    } else if (auto found = before.find(producer); found != before.end()) {
      work.cost += found->second.cost;
      work.arrays.insert(found->second.arrays.begin(), found->second.arrays.end());
    } else if (!producer || !isRematerializable(producer)) {
      work.arrays.insert(operand);
    }
  }
  return work;
}

bool readsNoMoreThan(mlir::Type result, const CheapWork& work) {
  // Small arrays beside a large one are nothing.
  constexpr double kLittle = 1.01;
  double read = 0;
  for (mlir::Value array : work.arrays) read += bytesOf(array.getType());
  return read <= kLittle * bytesOf(result);
}

// Whether memory takes as long to bring the result as the arrays, and longer than the work.
bool isCheapOnGpu(mlir::Type result, const CheapWork& work, const TargetModel& target) {
  const double additionsMeanwhile =
      static_cast<double>(elementBytes(result)) * target.elementOpsPerNs / target.memoryBytesPerNs;
  return bytesOf(result) >= static_cast<double>(target.minRecomputedBytes) &&
         work.cost <= additionsMeanwhile && readsNoMoreThan(result, work);
}

// Whether the work is next to nothing, on one array that others read too: it is in memory anyway,
// and the result beside it would be written in vain.
bool isCheapOnCpu(mlir::Type result, const CheapWork& work) {
  constexpr double kMaxCost = 2;
  mlir::Value array;
  for (mlir::Value read : work.arrays) {
    if (elementCount(read.getType()) == 1) continue;
    if (array) return false;
    array = read;
  }
  return array && !llvm::all_equal(array.getUsers()) && work.cost <= kMaxCost &&
         readsNoMoreThan(result, work);
}

}  // namespace

bool isRematerializable(mlir::Operation* op) { return isCheapWithin(op, kMaxDepth); }

bool isRematerializableExpansion(mlir::Operation* op, const TargetModel& target) {
  constexpr int64_t kMinExpansion = 16;
  // Operations one after the other: each adds to what every kernel computes.
  constexpr int kMaxExpansionDepth = 2;
  if (fusionClass(op) != FusionClass::kElementwise) return false;
  const int64_t read = elementsRead(op, kMaxExpansionDepth, target);
  return read > 0 && read <= elementCount(op->getResult(0).getType()) / kMinExpansion;
}

RecomputedOps::RecomputedOps(mlir::Block& block, const TargetModel& target) {
  const bool isGpu = target.device == DeviceKind::kGpu;
  CheapWorks works;
  for (mlir::Operation& op : block) {
    std::optional<CheapWork> work = workBackToArrays(&op, works);
    if (!work) continue;
    mlir::Type result = op.getResult(0).getType();
    if (isGpu ? isCheapOnGpu(result, *work, target) : isCheapOnCpu(result, *work)) {
      works[&op] = *std::move(work);
    }
  }
  for (mlir::Operation& op : llvm::reverse(block)) {
    if (op.use_empty() || !works.contains(&op)) continue;
    // What one operation uses is computed with it, unless it would join what computes its array.
    const bool isForOne = isGpu && llvm::all_equal(op.getUsers());
    if (!isForOne || ops_.contains(*op.getUsers().begin())) ops_.insert(&op);
  }
}

}  // namespace isthmus

// A reshape between elementwise operations and what could share their kernel. If the operations
// begin with arrays in memory, they take the new shape, and the reshape sees what is in memory
// anyway; after what was moved or multiplied, they take its shape.
#include "compiler/cost/work.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/passes/simplify/match.h"
#include "compiler/passes/simplify/patterns.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "mlir/IR/IRMapping.h"

namespace isthmus {
namespace {

using mlir::LogicalResult;
using mlir::PatternRewriter;
using mlir::RankedTensorType;
using mlir::Value;

// Longer ones are worth a kernel of their own, and the search of them is bounded.
constexpr size_t kMaxOperations = 64;

// Vector instructions an element, as the op table counts them, that a reduction of rows may take
// on: a kernel runs along whole arrays in full vectors, but ends each row of a few elements with
// less.
constexpr int kMaxWorkBeforeRows = 8;

// Whether the operation computes one array of fixed shape element by element.
bool isElementwise(mlir::Operation* op) {
  return op->getNumRegions() == 0 && op->getNumResults() == 1 &&
         fusionClass(op) == FusionClass::kElementwise && hasFixedShape(op->getResult(0));
}

// Whether the operand is one for all elements of a result of this type, as the predicate of a
// select and the bounds of a clamp may be.
bool isScalarBeside(Value operand, RankedTensorType type) {
  return tensorTypeOf(operand).getRank() == 0 && type.getRank() > 0;
}

// What a reshape of it costs nothing for: it is in memory, or the same everywhere.
bool isReshapedAtNoCost(Value value) {
  mlir::Operation* op = value.getDefiningOp();
  return !op || mlir::isa<shlo::ReshapeOp>(op) || constantSplat(value);
}

// The elementwise operations that lead to a reshape and to nothing else.
class Chain {
 public:
  explicit Chain(shlo::ReshapeOp reshape) : reshape_(reshape) {}

  // Whether all of them can take the shape of the result at no cost.
  bool find() {
    if (!add(reshape_.getOperand().getDefiningOp())) return false;
    for (size_t i = 0; i < operations_.size(); ++i) {
      for (Value operand : operations_[i]->getOperands()) {
        if (!hasFixedShape(operand)) return false;
        if (isScalar(operand) || isReshapedAtNoCost(operand)) continue;
        if (!add(operand.getDefiningOp())) return false;
      }
    }
    return llvm::all_of(operations_, [&](mlir::Operation* op) {
      return llvm::all_of(op->getUsers(), [&](mlir::Operation* user) {
        return user == reshape_ || operations_.contains(user);
      });
    });
  }

  bool isCheap() const {
    int work = 0;
    for (mlir::Operation* op : operations_) {
      if (const OpFacts* facts = findOpFacts(op)) work += facts->cost;
    }
    return work <= kMaxWorkBeforeRows;
  }

  void rewrite(PatternRewriter& rewriter) {
    auto reshaped = [&](Value value) {
      return reshape_.getType().clone(tensorTypeOf(value).getElementType());
    };
    llvm::SmallVector<mlir::Operation*> inOrder(operations_.begin(), operations_.end());
    llvm::sort(inOrder, [](auto* a, auto* b) { return a->isBeforeInBlock(b); });
    mlir::IRMapping mapping;
    for (mlir::Operation* op : inOrder) {
      for (Value operand : op->getOperands()) {
        if (isScalar(operand) || mapping.contains(operand)) continue;
        mapping.map(operand,
                    shlo::ReshapeOp::create(rewriter, reshape_.getLoc(), reshaped(operand), operand)
                        .getResult());
      }
      mlir::Operation* clone = rewriter.clone(*op, mapping);
      clone->getResult(0).setType(reshaped(op->getResult(0)));
    }
    rewriter.replaceOp(reshape_, mapping.lookup(reshape_.getOperand()));
  }

 private:
  bool add(mlir::Operation* op) {
    if (!op || op->getBlock() != reshape_->getBlock() || !isElementwise(op) ||
        operations_.size() >= kMaxOperations) {
      return false;
    }
    operations_.insert(op);
    return true;
  }

  bool isScalar(Value operand) { return isScalarBeside(operand, reshape_.getOperand().getType()); }

  shlo::ReshapeOp reshape_;
  llvm::SmallSetVector<mlir::Operation*, 8> operations_;
};

bool reducesRows(shlo::ReduceOp reduce) {
  auto type = llvm::dyn_cast<RankedTensorType>(reduce.getInputs()[0].getType());
  if (!type) return true;
  int64_t last = type.getRank() - 1;
  while (last > 0 && type.getDimSize(last) == 1) --last;
  return llvm::is_contained(reduce.getDimensions(), last);
}

// Whether a reduction of rows may take in what computes `value`, or it takes too long to find out.
bool mayFeedRows(Value value) {
  llvm::SmallSetVector<mlir::Operation*, 8> users(value.user_begin(), value.user_end());
  for (size_t i = 0; i < users.size(); ++i) {
    if (users.size() > kMaxOperations) return true;
    if (auto reduce = mlir::dyn_cast<shlo::ReduceOp>(users[i]); reduce && reducesRows(reduce)) {
      return true;
    }
    if (fusionClass(users[i]) != FusionClass::kElementwise) continue;
    for (mlir::Operation* user : users[i]->getUsers()) users.insert(user);
  }
  return false;
}

LogicalResult reshapeFirst(shlo::ReshapeOp op, PatternRewriter& rewriter) {
  if (!hasFixedShape(op.getOperand()) || !hasFixedShape(op.getResult())) return mlir::failure();
  // Dimensions of size 1 do not keep two operations out of one kernel.
  if (squeezedShape(op.getType()) == squeezedShape(op.getOperand().getType())) {
    return mlir::failure();
  }
  bool canShareKernel = llvm::any_of(op->getUsers(), [](mlir::Operation* user) {
    FusionClass c = fusionClass(user);
    return c == FusionClass::kElementwise || c == FusionClass::kReduce;
  });
  Chain chain(op);
  if (!canShareKernel || !chain.find()) return mlir::failure();
  if (!chain.isCheap() && mayFeedRows(op.getResult())) return mlir::failure();
  chain.rewrite(rewriter);
  return mlir::success();
}

// Whether what computes `value` begins with something else than arrays in memory: that a reshape
// cannot go before.
bool isReshapedAfterwards(Value value) {
  llvm::SmallSetVector<mlir::Operation*, 8> operations;
  auto add = [&](Value operand) {
    if (isReshapedAtNoCost(operand)) return false;
    mlir::Operation* op = operand.getDefiningOp();
    if (fusionClass(op) != FusionClass::kElementwise) return true;
    operations.insert(op);
    return false;
  };
  if (add(value)) return true;
  for (size_t i = 0; i < operations.size() && operations.size() < kMaxOperations; ++i) {
    if (llvm::any_of(operations[i]->getOperands(), add)) return true;
  }
  return false;
}

// An elementwise operation on what was moved or multiplied and then reshaped is done before the
// reshape, with what it follows: else that would be stored.
struct ReshapeLast : mlir::RewritePattern {
  explicit ReshapeLast(mlir::MLIRContext* context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context) {}

  LogicalResult matchAndRewrite(mlir::Operation* op, PatternRewriter& rewriter) const override {
    if (!isElementwise(op)) return mlir::failure();
    const RankedTensorType type = tensorTypeOf(op->getResult(0));
    RankedTensorType from;
    for (Value operand : op->getOperands()) {
      auto reshape = operand.getDefiningOp<shlo::ReshapeOp>();
      if (!reshape || !hasFixedShape(operand) || !hasFixedShape(reshape.getOperand()) ||
          squeezedShape(reshape.getType()) == squeezedShape(reshape.getOperand().getType()) ||
          !llvm::all_of(reshape->getUsers(), takesElements) ||
          !isReshapedAfterwards(reshape.getOperand())) {
        continue;
      }
      from = reshape.getOperand().getType();
      break;
    }
    if (!from || !isWorthIt(op, from)) return mlir::failure();
    // All operands must have that shape, or be in memory.
    auto isScalar = [&](Value operand) { return isScalarBeside(operand, type); };
    for (Value operand : op->getOperands()) {
      if (!hasFixedShape(operand)) return mlir::failure();
      auto reshape = operand.getDefiningOp<shlo::ReshapeOp>();
      const bool fits = reshape ? reshape.getOperand().getType().getShape() == from.getShape()
                                : isScalar(operand) || isReshapedAtNoCost(operand);
      if (!fits) return mlir::failure();
    }
    auto reshaped = [&](Value operand) -> Value {
      if (isScalar(operand)) return operand;
      if (auto reshape = operand.getDefiningOp<shlo::ReshapeOp>()) return reshape.getOperand();
      return shlo::ReshapeOp::create(rewriter, op->getLoc(),
                                     from.clone(tensorTypeOf(operand).getElementType()), operand);
    };
    llvm::SmallVector<Value> operands = llvm::map_to_vector(op->getOperands(), reshaped);
    mlir::Operation* before = rewriter.clone(*op);
    before->setOperands(operands);
    before->getResult(0).setType(from.clone(type.getElementType()));
    rewriter.replaceOpWithNewOp<shlo::ReshapeOp>(op, type, before->getResult(0));
    return mlir::success();
  }

 private:
  static bool takesElements(mlir::Operation* user) {
    return fusionClass(user) == FusionClass::kElementwise;
  }

  // Rows of less than a vector would make it slow, and it may not make wider what others read.
  static bool isWorthIt(mlir::Operation* op, RankedTensorType from) {
    constexpr int64_t kLongRow = 16;
    const auto shape = squeezedShape(from);
    if (shape.empty() || shape.back() < kLongRow) return false;
    const bool isResult = llvm::all_of(op->getUsers(), [](mlir::Operation* user) {
      return user->hasTrait<mlir::OpTrait::IsTerminator>();
    });
    return isResult || bytesOf(op->getResult(0).getType()) <= bytesOf(from);
  }
};

}  // namespace

void addReshapesFirstPatterns(mlir::RewritePatternSet& patterns) {
  patterns.add(reshapeFirst);
  patterns.add<ReshapeLast>(patterns.getContext());
}

}  // namespace isthmus

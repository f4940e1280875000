#include "compiler/schedule/attention/online_softmax.h"

#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/combiner.h"
#include "compiler/schedule/dot_scheduler.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/Matchers.h"

namespace isthmus {
namespace {

template <typename Op>
bool reducesBy(shlo::ReduceOp reduce) {
  return mlir::isa_and_nonnull<Op>(soleOperation(reduce.getBody()));
}

mlir::Value behindBroadcast(mlir::Value value) {
  auto broadcast = value.getDefiningOp<shlo::BroadcastInDimOp>();
  return broadcast ? broadcast.getOperand() : value;
}

bool isLowest(mlir::Value value) {
  return mlir::matchPattern(behindBroadcast(value), mlir::m_NegInfFloat());
}

mlir::Value behindReshapes(mlir::Value value) {
  while (auto view = value.getDefiningOp<shlo::ReshapeOp>()) value = view.getOperand();
  return value;
}

// Behind what changes a row's number in no way.
mlir::Value rowNumber(mlir::Value value) {
  while (mlir::Operation* op = value.getDefiningOp()) {
    if (mlir::isa<shlo::BroadcastInDimOp, shlo::ReshapeOp>(op)) {
      value = op->getOperand(0);
    } else if (mlir::isa<shlo::MaxOp>(op) && isLowest(op->getOperand(0))) {
      value = op->getOperand(1);
    } else if (mlir::isa<shlo::MaxOp>(op) && isLowest(op->getOperand(1))) {
      value = op->getOperand(0);
    } else {
      break;
    }
  }
  return value;
}

// How often a value has an exponential and the sum as factors.
struct Powers {
  int exponentials = 0, sums = 0;

  bool operator==(const Powers&) const = default;
  bool isIndependent() const { return exponentials == 0 && sums == 0; }
};

class SoftmaxFinder {
 public:
  explicit SoftmaxFinder(ir::FusionOp rows) : block_(rows.getBody().front()) {}

  std::optional<OnlineSoftmax> run() {
    shlo::ReduceOp maximum, sum;
    for (mlir::Operation& op : block_) {
      if (mlir::isa<shlo::ReduceWindowOp>(op)) return std::nullopt;
      auto reduce = mlir::dyn_cast<shlo::ReduceOp>(op);
      if (!reduce) continue;
      shlo::ReduceOp& which = reducesBy<shlo::MaxOp>(reduce) ? maximum : sum;
      if (which || reduce->getNumResults() != 1) return std::nullopt;
      which = reduce;
    }
    if (!maximum || !sum || !reducesBy<shlo::AddOp>(sum) ||
        !isZero(behindBroadcast(sum.getInitValues()[0]))) {
      return std::nullopt;
    }
    found_.logits = maximum.getInputs()[0];
    found_.maximum = maximum->getResult(0);
    found_.exponentials = sum.getInputs()[0];
    found_.sum = sum->getResult(0);
    mlir::Value exponential = found_.exponentials;
    while (auto convert = exponential.getDefiningOp<shlo::ConvertOp>()) {
      exponential = convert.getOperand();
    }
    auto exp = exponential.getDefiningOp<shlo::ExpOp>();
    if (!exp || !isShiftedExponential(exp, found_.logits, found_.maximum)) return std::nullopt;
    exponential_ = exponential;
    std::optional<Powers> weights = powersOf(block_.getTerminator()->getOperand(0));
    return weights == Powers{1, -1} ? std::optional(found_) : std::nullopt;
  }

 private:
  // Nothing for values that are no such products.
  std::optional<Powers> powersOf(mlir::Value value) {
    if (value == exponential_) return Powers{1, 0};
    if (value == found_.sum) return Powers{0, 1};
    if (value == found_.maximum) return std::nullopt;
    mlir::Operation* op = value.getDefiningOp();
    if (!op) return Powers();
    if (auto known = powers_.find(op); known != powers_.end()) return known->second;
    llvm::SmallVector<Powers, 3> of;
    for (mlir::Value operand : op->getOperands()) {
      std::optional<Powers> powers = powersOf(operand);
      if (!powers) return powers_[op] = std::nullopt;
      of.push_back(*powers);
    }
    return powers_[op] = combine(op, of);
  }

  static std::optional<Powers> combine(mlir::Operation* op, llvm::ArrayRef<Powers> of) {
    if (llvm::all_of(of, [](const Powers& powers) { return powers.isIndependent(); }))
      return Powers();
    using Result = std::optional<Powers>;
    return llvm::TypeSwitch<mlir::Operation*, Result>(op)
        .Case<shlo::MulOp>([&](auto) -> Result {
          return Powers{of[0].exponentials + of[1].exponentials, of[0].sums + of[1].sums};
        })
        .Case<shlo::DivOp>([&](auto) -> Result {
          return Powers{of[0].exponentials - of[1].exponentials, of[0].sums - of[1].sums};
        })
        .Case<shlo::NegOp, shlo::ConvertOp, shlo::BroadcastInDimOp, shlo::ReshapeOp>(
            [&](auto) -> Result { return of[0]; })
        .Case<shlo::SelectOp>([&](auto) -> Result {
          if (!of[0].isIndependent()) return std::nullopt;
          if (isZero(behindBroadcast(op->getOperand(1)))) return of[2];
          if (isZero(behindBroadcast(op->getOperand(2))) || of[1] == of[2]) return of[1];
          return std::nullopt;
        })
        .Default([](mlir::Operation*) -> Result { return std::nullopt; });
  }

  mlir::Block& block_;
  OnlineSoftmax found_;
  mlir::Value exponential_;
  llvm::DenseMap<mlir::Operation*, std::optional<Powers>> powers_;
};

}  // namespace

bool isShiftedExponential(shlo::ExpOp exp, mlir::Value logits, mlir::Value maximum) {
  auto shifted = exp.getOperand().getDefiningOp<shlo::SubtractOp>();
  // What reads the rows keeps the order of their elements (RowAnalysis).
  return shifted && behindReshapes(shifted.getLhs()) == behindReshapes(logits) &&
         rowNumber(shifted.getRhs()) == maximum;
}

std::optional<OnlineSoftmax> onlineSoftmaxOf(ir::FusionOp rows) {
  if (rows->getNumResults() != 1) return std::nullopt;
  return SoftmaxFinder(rows).run();
}

}  // namespace isthmus

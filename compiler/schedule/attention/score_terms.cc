#include "compiler/schedule/attention/score_terms.h"

#include <cmath>

#include "compiler/dialect/dialect.h"
#include "compiler/dialect/types/array_shape.h"
#include "mlir/IR/Matchers.h"

namespace isthmus {
namespace {

// As a number of this type.
double rounded(double number, mlir::Type type) {
  auto narrow = mlir::dyn_cast<mlir::FloatType>(type);
  if (!narrow) return number;
  llvm::APFloat value(number);
  bool losesInfo = false;
  value.convert(narrow.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return value.convertToDouble();
}

}  // namespace

std::optional<double> splatOf(mlir::Value value) {
  mlir::Operation* op = value.getDefiningOp();
  if (!op) return std::nullopt;
  if (mlir::isa<shlo::BroadcastInDimOp, shlo::ReshapeOp, shlo::ConvertOp>(op)) {
    std::optional<double> number = splatOf(op->getOperand(0));
    if (number) number = rounded(*number, tensorTypeOf(value).getElementType());
    return number;
  }
  mlir::DenseElementsAttr elements;
  if (!mlir::matchPattern(value, mlir::m_Constant(&elements)) || !elements.isSplat()) {
    return std::nullopt;
  }
  if (mlir::isa<mlir::FloatType>(elements.getElementType())) {
    llvm::APFloat number = elements.getSplatValue<llvm::APFloat>();
    bool losesInfo = false;
    number.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    return number.convertToDouble();
  }
  if (!elements.getElementType().isSignlessInteger()) return std::nullopt;
  const llvm::APInt number = elements.getSplatValue<llvm::APInt>();
  return number.getBitWidth() == 1 ? static_cast<double>(number.getZExtValue())
                                   : static_cast<double>(number.getSExtValue());
}

namespace {

using mlir::Value;

// Which dimension of the scores, without those of size 1, each dimension of a value lies along.
using Roles = llvm::SmallVector<int, 6>;
constexpr int kNone = -1;

// What a key that is left out has for a score: with it, no weight is more than zero beside any that
// is not left out; and the same for all, where all keys of a row are.
constexpr double kLeftOut = -1e30;

// Roles of the operand of what moves elements to other places; false if it is known how for no
// dimension.
bool follow(mlir::Operation* op, const Roles& roles, Roles& inner) {
  Value operand = op->getOperand(0);
  inner.assign(static_cast<size_t>(rankOf(operand)), kNone);
  if (auto broadcast = mlir::dyn_cast<shlo::BroadcastInDimOp>(op)) {
    for (auto [d, to] : llvm::enumerate(broadcast.getBroadcastDimensions())) {
      if (shapeOf(operand)[d] != 1) inner[d] = roles[static_cast<size_t>(to)];
    }
    return true;
  }
  if (!mlir::isa<shlo::ReshapeOp>(op) ||
      squeezedShape(operand.getType()) != squeezedShape(op->getResult(0).getType())) {
    return false;
  }
  size_t from = 0;
  for (auto [d, size] : llvm::enumerate(shapeOf(operand))) {
    if (size == 1) continue;
    while (shapeOf(op->getResult(0))[from] == 1) ++from;
    inner[d] = roles[from++];
  }
  return true;
}

// A number of a place: so much for each row and each key, and a constant.
struct Linear {
  int64_t row = 0, key = 0, constant = 0;
};

class Reader {
 public:
  Reader(Value scores, int batches, int rows) : scores_(scores), batches_(batches), rows_(rows) {}

  std::optional<ScoreTerms> run(Value logits, const char** why) {
    if (read(logits, rolesOf(logits)) && !(factor_ > 0)) {
      refuse("the largest product has not the largest score");
    }
    *why = why_;
    if (why_) return std::nullopt;
    terms_.scale = factor_;
    return terms_;
  }

  bool isMask(Value value) { return isCausal(value, rolesOf(value)); }

 private:
  int row() const { return batches_; }
  int key() const { return batches_ + rows_; }

  // Of a value that has the scores' elements in their order.
  static Roles rolesOf(Value value) {
    Roles roles;
    int next = 0;
    for (int64_t size : shapeOf(value)) roles.push_back(size == 1 ? kNone : next++);
    return roles;
  }

  bool refuse(const char* why) {
    why_ = why;
    return false;
  }

  // From the logits back to the scores. Factors that come later apply to all that is before.
  bool read(Value value, const Roles& roles) {
    if (value == scores_) return true;
    mlir::Operation* op = value.getDefiningOp();
    if (!op) return refuse("the scores are made of something else");
    if (mlir::isa<shlo::ConvertOp>(op)) return read(op->getOperand(0), roles);
    if (mlir::isa<shlo::ReshapeOp>(op)) {
      Roles inner;
      return follow(op, roles, inner) ? read(op->getOperand(0), inner)
                                      : refuse("scores are at other places");
    }
    if (auto product = mlir::dyn_cast<shlo::MulOp>(op)) {
      std::optional<double> left = splatOf(product.getLhs()), right = splatOf(product.getRhs());
      if (!left && !right) return refuse("scores have factors of their own");
      factor_ *= left ? *left : *right;
      return read(left ? product.getRhs() : product.getLhs(), roles);
    }
    if (auto quotient = mlir::dyn_cast<shlo::DivOp>(op)) {
      std::optional<double> right = splatOf(quotient.getRhs());
      if (!right || *right == 0) return refuse("scores have divisors of their own");
      factor_ /= *right;
      return read(quotient.getLhs(), roles);
    }
    if (factor_ != 1) return refuse("what is added to scores, or their mask, has a factor");
    if (auto sum = mlir::dyn_cast<shlo::AddOp>(op)) return readSum(sum, roles);
    if (auto select = mlir::dyn_cast<shlo::SelectOp>(op)) return readSelect(select, roles);
    return refuse("another operation is on the scores");
  }

  bool readSum(shlo::AddOp sum, const Roles& roles) {
    for (bool isLeft : {true, false}) {
      std::optional<ScoreBias> bias = biasOf(isLeft ? sum.getLhs() : sum.getRhs(), roles);
      if (!bias) continue;
      if (terms_.bias) return refuse("two arrays are added to the scores");
      terms_.bias = bias;
      return read(isLeft ? sum.getRhs() : sum.getLhs(), roles);
    }
    return refuse("what is added to the scores is no array in memory");
  }

  bool readSelect(shlo::SelectOp select, const Roles& roles) {
    std::optional<double> instead = splatOf(select.getOnFalse());
    if (!instead || !(*instead <= kLeftOut)) {
      return refuse("scores are replaced by numbers that are no mask");
    }
    if (!isCausal(select.getPred(), roles)) return refuse("the mask is not the causal one");
    terms_.isCausal = true;
    return read(select.getOnTrue(), roles);
  }

  std::optional<ScoreBias> biasOf(Value value, Roles roles) {
    while (mlir::Operation* op = value.getDefiningOp()) {
      if (auto convert = mlir::dyn_cast<shlo::ConvertOp>(op)) {
        // Of which no digit is lost.
        if (elementBytes(tensorTypeOf(convert.getOperand()).getElementType()) >
            elementBytes(tensorTypeOf(convert.getResult()).getElementType())) {
          return std::nullopt;
        }
      } else {
        Roles inner;
        if (!follow(op, roles, inner)) return std::nullopt;
        roles = std::move(inner);
      }
      value = op->getOperand(0);
    }
    auto argument = mlir::cast<mlir::BlockArgument>(value);
    if (argument == scores_ || !mlir::isa<mlir::FloatType>(tensorTypeOf(value).getElementType())) {
      return std::nullopt;
    }
    ScoreBias bias{argument.getArgNumber(), {}};
    bias.strides.assign(static_cast<size_t>(key() + 1), 0);
    llvm::SmallVector<int64_t, 6> strides = stridesOf(shapeOf(value));
    for (auto [role, stride] : llvm::zip(roles, strides)) {
      if (role != kNone) bias.strides[static_cast<size_t>(role)] = stride;
    }
    return bias;
  }

  // Whether it is true of the keys up to the row's own number.
  bool isCausal(Value value, Roles roles) {
    mlir::Operation* op = value.getDefiningOp();
    if (!op) return false;
    if (auto select = mlir::dyn_cast<shlo::SelectOp>(op)) {
      return splatOf(select.getOnTrue()) == 1.0 && splatOf(select.getOnFalse()) == 0.0 &&
             isCausal(select.getPred(), roles);
    }
    if (auto both = mlir::dyn_cast<shlo::AndOp>(op)) {
      if (splatOf(both.getLhs()) == 1.0) return isCausal(both.getRhs(), roles);
      return splatOf(both.getRhs()) == 1.0 && isCausal(both.getLhs(), roles);
    }
    auto compare = mlir::dyn_cast<shlo::CompareOp>(op);
    if (!compare) {
      Roles inner;
      return follow(op, roles, inner) && isCausal(op->getOperand(0), inner);
    }
    std::optional<Linear> left = linearOf(compare.getLhs(), roles);
    std::optional<Linear> right = linearOf(compare.getRhs(), roles);
    if (!left || !right) return false;
    // As left - right >= 0.
    Linear difference{left->row - right->row, left->key - right->key,
                      left->constant - right->constant};
    using Direction = shlo::ComparisonDirection;
    switch (compare.getComparisonDirection()) {
      case Direction::GE:
        break;
      case Direction::GT:
        --difference.constant;
        break;
      case Direction::LE:
        difference = {-difference.row, -difference.key, -difference.constant};
        break;
      case Direction::LT:
        difference = {-difference.row, -difference.key, -difference.constant - 1};
        break;
      default:
        return false;
    }
    return difference.row == 1 && difference.key == -1 && difference.constant == 0;
  }

  std::optional<Linear> linearOf(Value value, Roles roles) {
    if (std::optional<double> number = splatOf(value)) {
      if (std::abs(*number) > 1e9 || *number != std::floor(*number)) return std::nullopt;
      return Linear{0, 0, static_cast<int64_t>(*number)};
    }
    mlir::Operation* op = value.getDefiningOp();
    if (!op || !tensorTypeOf(value).getElementType().isSignlessInteger()) return std::nullopt;
    if (auto iota = mlir::dyn_cast<shlo::IotaOp>(op)) {
      const int role = roles[iota.getIotaDimension()];
      if (role != row() && role != key()) return std::nullopt;
      return role == key() ? Linear{0, 1, 0} : Linear{1, 0, 0};
    }
    if (mlir::isa<shlo::AddOp, shlo::SubtractOp>(op)) {
      std::optional<Linear> left = linearOf(op->getOperand(0), roles);
      std::optional<Linear> right = linearOf(op->getOperand(1), roles);
      if (!left || !right) return std::nullopt;
      const int64_t sign = mlir::isa<shlo::AddOp>(op) ? 1 : -1;
      return Linear{left->row + sign * right->row, left->key + sign * right->key,
                    left->constant + sign * right->constant};
    }
    Roles inner;
    if (!follow(op, roles, inner)) return std::nullopt;
    return linearOf(op->getOperand(0), inner);
  }

  Value scores_;
  int batches_, rows_;
  ScoreTerms terms_;
  double factor_ = 1;
  const char* why_ = nullptr;
};

}  // namespace

std::optional<ScoreTerms> scoreTermsOf(Value logits, Value scores, int batches, int rows,
                                       const char** why) {
  return Reader(scores, batches, rows).run(logits, why);
}

bool isCausalMask(Value mask, int batches, int rows) {
  return Reader(nullptr, batches, rows).isMask(mask);
}

}  // namespace isthmus

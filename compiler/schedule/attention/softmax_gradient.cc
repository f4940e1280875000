// Programs write the gradient of a softmax in several ways, which are the same polynomial.
#include "compiler/schedule/attention/softmax_gradient.h"

#include <array>
#include <cmath>
#include <map>

#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/combiner.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/schedule/attention/online_softmax.h"
#include "llvm/ADT/DenseMap.h"

namespace isthmus {
namespace {

using mlir::Value;

// Powers of an element's exponential, the sum of its row, an element of the other product, and the
// sum over its row of the exponential times that.
enum Symbol { kExponential, kSum, kOther, kWeightedSum };
using Monomial = std::array<int, 4>;
using Polynomial = std::map<Monomial, double>;

constexpr size_t kMaxTerms = 16;

Polynomial plus(const Polynomial& a, const Polynomial& b, double factor) {
  Polynomial sum = a;
  for (auto [monomial, coefficient] : b) {
    if ((sum[monomial] += factor * coefficient) == 0) sum.erase(monomial);
  }
  return sum;
}

std::optional<Polynomial> times(const Polynomial& a, const Polynomial& b, int power) {
  // What is divided by is one term.
  if (power < 0 && b.size() != 1) return std::nullopt;
  Polynomial product;
  for (auto [left, x] : a) {
    for (auto [right, y] : b) {
      Monomial both = left;
      for (size_t i = 0; i < both.size(); ++i) both[i] += power * right[i];
      product[both] += power < 0 ? x / y : x * y;
    }
  }
  if (product.size() > kMaxTerms) return std::nullopt;
  return product;
}

// What the fusion on rows gives, as polynomials of its two products.
class Algebra {
 public:
  Algebra(ir::FusionOp rows, Value scores, Value other, int batches, int numRows)
      : block_(rows.getBody().front()),
        scores_(scores),
        other_(other),
        batches_(batches),
        rows_(numRows) {}

  // Finds the softmax's terms; false, and why, if there is none.
  bool findSoftmax(const char** why) {
    shlo::ReduceOp maximum;
    for (auto reduce : block_.getOps<shlo::ReduceOp>()) {
      if (!mlir::isa_and_nonnull<shlo::MaxOp>(soleOperation(reduce.getBody()))) continue;
      if (maximum) return *why = "rows have several maxima", false;
      maximum = reduce;
    }
    *why = "rows have no maximum";
    if (!maximum || maximum->getNumResults() != 1) return false;
    logits_ = maximum.getInputs()[0];
    maximum_ = maximum->getResult(0);
    terms_ = scoreTermsOf(logits_, scores_, batches_, rows_, why);
    return terms_.has_value();
  }

  const ScoreTerms& terms() const { return *terms_; }

  // Nothing for what is no such polynomial.
  std::optional<Polynomial> of(Value value) {
    if (value == other_) return Polynomial{{symbol(kOther), 1}};
    mlir::Operation* op = value.getDefiningOp();
    if (!op) return std::nullopt;
    auto [it, isNew] = known_.try_emplace(op);
    if (isNew) {
      std::optional<Polynomial> found = compute(op);
      return known_[op] = std::move(found);
    }
    return it->second;
  }

  static Monomial symbol(Symbol one) {
    Monomial monomial{};
    monomial[one] = 1;
    return monomial;
  }

 private:
  std::optional<Polynomial> compute(mlir::Operation* op) {
    if (std::optional<double> number = splatOf(op->getResult(0))) {
      return *number == 0 ? Polynomial() : Polynomial{{Monomial{}, *number}};
    }
    if (auto exp = mlir::dyn_cast<shlo::ExpOp>(op)) {
      if (!isShiftedExponential(exp, logits_, maximum_)) return std::nullopt;
      return Polynomial{{symbol(kExponential), 1}};
    }
    if (auto reduce = mlir::dyn_cast<shlo::ReduceOp>(op)) return sumOf(reduce);
    if (auto select = mlir::dyn_cast<shlo::SelectOp>(op)) return selected(select);
    llvm::SmallVector<Polynomial, 2> operands;
    for (Value operand : op->getOperands()) {
      std::optional<Polynomial> one = of(operand);
      if (!one) return std::nullopt;
      operands.push_back(*std::move(one));
    }
    if (mlir::isa<shlo::ConvertOp, shlo::ReshapeOp, shlo::BroadcastInDimOp>(op)) return operands[0];
    if (mlir::isa<shlo::AddOp>(op)) return plus(operands[0], operands[1], 1);
    if (mlir::isa<shlo::SubtractOp>(op)) return plus(operands[0], operands[1], -1);
    if (mlir::isa<shlo::NegOp>(op)) return plus({}, operands[0], -1);
    if (mlir::isa<shlo::MulOp>(op)) return times(operands[0], operands[1], 1);
    if (mlir::isa<shlo::DivOp>(op)) return times(operands[0], operands[1], -1);
    return std::nullopt;
  }

  std::optional<Polynomial> sumOf(shlo::ReduceOp reduce) {
    const bool isSum = reduce->getNumResults() == 1 &&
                       mlir::isa_and_nonnull<shlo::AddOp>(soleOperation(reduce.getBody())) &&
                       splatOf(reduce.getInitValues()[0]) == 0.0;
    std::optional<Polynomial> input = isSum ? of(reduce.getInputs()[0]) : std::nullopt;
    if (!input) return std::nullopt;
    Polynomial sum;
    for (auto [monomial, coefficient] : *input) {
      // Numbers of the row are factors of the sum.
      Monomial made = monomial;
      made[kExponential] = made[kOther] = 0;
      if (monomial[kExponential] != 1 || monomial[kOther] < 0 || monomial[kOther] > 1) {
        return std::nullopt;
      }
      ++made[monomial[kOther] == 0 ? kSum : kWeightedSum];
      sum[made] += coefficient;
    }
    return sum;
  }

  // Where the mask leaves a key out, its exponential is zero, and so is what has it as a factor.
  std::optional<Polynomial> selected(shlo::SelectOp select) {
    std::optional<Polynomial> kept = of(select.getOnTrue());
    if (!kept || splatOf(select.getOnFalse()) != 0.0 || !terms_->isCausal ||
        !isCausalMask(select.getPred(), batches_, rows_)) {
      return std::nullopt;
    }
    for (auto [monomial, coefficient] : *kept) {
      if (monomial[kExponential] < 1) return std::nullopt;
    }
    return kept;
  }

  mlir::Block& block_;
  Value scores_, other_;
  int batches_, rows_;
  Value logits_, maximum_;
  std::optional<ScoreTerms> terms_;
  llvm::DenseMap<mlir::Operation*, std::optional<Polynomial>> known_;
};

bool isNear(double a, double b) { return std::abs(a - b) <= 1e-6 * std::abs(b); }

class GradientFinder {
 public:
  GradientFinder(Attention& attention, const char** why)
      : attention_(attention), why_(why), block_(attention.rows.getBody().front()) {}

  std::optional<SoftmaxGradient> run() {
    if (!findSizes() || !findWeights() || !findArrays()) return std::nullopt;
    return std::move(found_);
  }

 private:
  bool refuse(const char* why) {
    *why_ = why;
    return false;
  }

  bool findSizes() {
    if (attention_.scores.size() != 2 || attention_.products.size() != 3) {
      return refuse("it is no gradient of queries, keys and values");
    }
    shlo::DotGeneralOp scores = attention_.scores[0];
    found_.sizes = squeezedShape(scores.getType());
    shlo::DotDimensionNumbersAttr numbers = scores.getDotDimensionNumbers();
    for (int64_t d : numbers.getLhsBatchingDimensions()) {
      found_.numBatches += tensorTypeOf(scores.getLhs()).getDimSize(d) != 1;
    }
    if (found_.sizes.size() < found_.numBatches + 1 ||
        found_.sizes.size() > found_.numBatches + 2) {
      return refuse("the rows have several dimensions");
    }
    return true;
  }

  // Which product is of queries and keys, and which weights are the softmax's.
  bool findWeights() {
    const int batches = static_cast<int>(found_.numBatches);
    const int numRows = static_cast<int>(found_.sizes.size()) - batches - 1;
    auto argument = [&](unsigned i) { return block_.getArgument(attention_.scoresOperand(i)); };
    std::optional<Algebra> algebra;
    for (unsigned i : {0U, 1U}) {
      algebra.emplace(attention_.rows, argument(i), argument(1 - i), batches, numRows);
      scores_ = i;
      if (algebra->findSoftmax(why_)) break;
      algebra.reset();
    }
    if (!algebra) return false;
    found_.terms = algebra->terms();
    const Polynomial weights = {{{1, -1, 0, 0}, 1}};
    for (auto [i, value] : llvm::enumerate(block_.getTerminator()->getOperands())) {
      std::optional<Polynomial> one = algebra->of(value);
      if (!one) return refuse("the weights are no polynomials of the products");
      if (*one == weights) {
        weights_ = static_cast<int>(i);
      } else if (isGradient(*one)) {
        gradient_ = static_cast<int>(i);
      } else {
        return refuse("the weights are not those of the gradient of a softmax");
      }
    }
    return weights_ >= 0 && gradient_ >= 0
               ? true
               : refuse("the weights are not those of the gradient of a softmax");
  }

  bool isGradient(const Polynomial& polynomial) const {
    auto coefficientOf = [&](const Monomial& monomial) {
      auto it = polynomial.find(monomial);
      return it == polynomial.end() ? 0 : it->second;
    };
    return polynomial.size() == 2 && isNear(coefficientOf({1, -1, 1, 0}), found_.terms.scale) &&
           isNear(coefficientOf({1, -2, 0, 1}), -found_.terms.scale);
  }

  bool findArrays() {
    shlo::DotGeneralOp scores = attention_.scores[scores_], other = attention_.scores[1 - scores_];
    const ScoresStrides ofScores = scoresStridesOf(scores), ofOther = scoresStridesOf(other);
    if (!isOneByOne(ofScores.sums, found_.sums) || !isOneByOne(ofOther.sums, found_.features)) {
      return refuse("elements of a query, a key, a value or a result are not side by side");
    }
    found_.query = {stripViews(scores.getLhs()), ofScores.query};
    found_.key = {stripViews(scores.getRhs()), ofScores.key};
    found_.result = {stripViews(other.getLhs()), ofOther.query};
    found_.value = {stripViews(other.getRhs()), ofOther.key};
    std::array<bool, 3> isFound = {};
    for (auto [i, product] : llvm::enumerate(attention_.products)) {
      const bool isOfWeights = static_cast<int>(product.weights) == weights_;
      if (isOfWeights && !product.sumsRows) return refuse("a product is the forward pass'");
      const size_t which = isOfWeights ? 2 : product.sumsRows ? 1 : 0;
      if (std::exchange(isFound[which], true)) return refuse("a gradient is there twice");
      const GradientArray& by = which == 0 ? found_.key : which == 1 ? found_.query : found_.result;
      unsigned* number = std::array{&found_.ofQuery, &found_.ofKey, &found_.ofValue}[which];
      GradientArray* made =
          std::array{&found_.queryGradient, &found_.keyGradient, &found_.valueGradient}[which];
      *number = static_cast<unsigned>(i);
      if (!addProduct(product, by, which == 2 ? found_.features : found_.sums, made)) return false;
    }
    return true;
  }

  // Whether elements lie side by side in both arrays.
  static bool isOneByOne(const AttentionDims& dims, int64_t& size) {
    if (dims.size() != 1 || dims[0].query != 1 || dims[0].key != 1) return false;
    size = dims[0].size;
    return true;
  }

  // Whether the program multiplies weights of 16 bits, or lets them be rounded to that.
  bool roundsWeights(RowProduct& product, bool isLeft) {
    mlir::Type type = tensorTypeOf(attention_.weights(product)).getElementType();
    if (auto algorithm = product.dot.getAlgorithm()) {
      type = isLeft ? algorithm->getLhsPrecisionType() : algorithm->getRhsPrecisionType();
    }
    return type.isF16() || type.isBF16();
  }

  bool addProduct(RowProduct& product, const GradientArray& by, int64_t size, GradientArray* made) {
    const bool isLeft = attention_.weightsAreLeft(product);
    Value operand = isLeft ? product.dot.getRhs() : product.dot.getLhs();
    if (!roundsWeights(product, isLeft)) return refuse("weights are multiplied as they are");
    const ProductStrides strides = productStridesOf(attention_, product);
    const bool isSame = stripViews(operand) == by.memory && strides.operand == by.strides;
    if (!isSame) return refuse("a gradient is multiplied by another array");
    if (strides.features.size() != 1 || strides.features[0].value != 1 ||
        strides.features[0].result != 1 || strides.features[0].size != size) {
      return refuse("elements of a gradient are not side by side");
    }
    made->strides = strides.result;
    return true;
  }

  Attention& attention_;
  const char** why_;
  mlir::Block& block_;
  SoftmaxGradient found_;
  unsigned scores_ = 0;
  int weights_ = -1, gradient_ = -1;
};

}  // namespace

std::optional<SoftmaxGradient> softmaxGradientOf(Attention attention, const char** why) {
  return GradientFinder(attention, why).run();
}

}  // namespace isthmus

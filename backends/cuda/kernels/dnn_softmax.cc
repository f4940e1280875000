#include "backends/cuda/kernels/dnn_softmax.h"

#include "compiler/dialect/array_shape.h"
#include "compiler/schedule/attention/softmax_attention.h"

namespace isthmus::cuda {
namespace {

using mlir::Value;

// Scores below which a call costs more than it saves.
constexpr int64_t kMinScores = 1 << 16;

// A batch dimension, in all arrays.
struct BatchDim {
  AttentionDim of;
  int64_t bias = 0;

  // Whether keys and values are the same along it.
  bool repeatsKeys() const { return of.key == 0 && of.value == 0; }
};

// Two dimensions as one, if they lie so in every array, but for keys and values where the inner one
// shares those.
std::optional<BatchDim> merged(const BatchDim& outer, const BatchDim& inner, bool sharesKeys) {
  auto fits = [&](int64_t far, int64_t near) { return far == near * inner.of.size; };
  if (!fits(outer.of.query, inner.of.query) || !fits(outer.of.result, inner.of.result) ||
      !fits(outer.bias, inner.bias)) {
    return std::nullopt;
  }
  if (!sharesKeys && (!fits(outer.of.key, inner.of.key) || !fits(outer.of.value, inner.of.value))) {
    return std::nullopt;
  }
  BatchDim both = inner;
  both.of.size *= outer.of.size;
  // Of those that share keys, the next ones are the outer dimension's.
  if (sharesKeys) {
    both.of.key = outer.of.key;
    both.of.value = outer.of.value;
  }
  return both;
}

class Reader {
 public:
  Reader(ir::FusionOp fusion, Attention& attention, const SoftmaxAttention& softmax)
      : fusion_(fusion), attention_(attention), softmax_(softmax), shape_(softmax.shape) {}

  std::optional<DnnAttentionFusion> read(const char** why) {
    const bool isRead = readTypes() && readRows() && readBatch();
    if (!isRead) *why = why_;
    if (!isRead) return std::nullopt;
    found_.attention.scale = softmax_.scale;
    found_.attention.isCausal = softmax_.isCausal;
    for (Value operand : attention_.operandsOfProducts())
      found_.operands.push_back(argumentOf(operand));
    if (softmax_.bias) {
      found_.operands.push_back(argumentOf(attention_.rows->getOperand(softmax_.bias->operand)));
    }
    if (!isValid(found_.attention)) {
      *why = "its numbers are not what cuDNN has names for";
      return std::nullopt;
    }
    return std::move(found_);
  }

 private:
  bool refuse(const char* why) {
    why_ = why;
    return false;
  }

  static unsigned argumentOf(Value value) {
    if (auto broadcast = value.getDefiningOp<shlo::BroadcastInDimOp>())
      value = broadcast.getOperand();
    return mlir::cast<mlir::BlockArgument>(value).getArgNumber();
  }

  static std::optional<DnnType> typeOf(Value value) {
    mlir::Type type = tensorTypeOf(value).getElementType();
    if (type.isF32()) return DnnType::kF32;
    if (type.isF16()) return DnnType::kF16;
    if (type.isBF16()) return DnnType::kBf16;
    return std::nullopt;
  }

  bool readTypes() {
    llvm::SmallVector<Value> values = attention_.operandsOfProducts();
    values.push_back(fusion_->getResult(0));
    DnnAttention& a = found_.attention;
    a.type = typeOf(values[0]).value_or(DnnType::kF32);
    if (a.type == DnnType::kF32 ||
        llvm::any_of(values, [&](Value value) { return typeOf(value) != a.type; })) {
      return refuse("queries, keys, values and result are not all bf16 or f16");
    }
    if (!softmax_.bias) return true;
    std::optional<DnnType> bias = typeOf(attention_.rows->getOperand(softmax_.bias->operand));
    if (!bias || (*bias != DnnType::kF32 && *bias != a.type)) {
      return refuse("the bias is of another type");
    }
    a.hasBias = true;
    a.biasType = *bias;
    return true;
  }

  // All but batch dimensions.
  bool readRows() {
    DnnAttention& a = found_.attention;
    const AttentionDim rows = shape_.rows.empty() ? AttentionDim() : shape_.rows[0];
    if (shape_.batches() * rows.size * shape_.keys.size < kMinScores) {
      return refuse("it is too little work for a call");
    }
    if (shape_.sums.size() != 1 || shape_.sums[0].query != 1 || shape_.sums[0].key != 1 ||
        shape_.features.size() != 1 || shape_.features[0].value != 1 ||
        shape_.features[0].result != 1) {
      return refuse("elements of a query, a key, a value or a result are not side by side");
    }
    a.rows = rows.size;
    a.keys = shape_.keys.size;
    a.sums = shape_.sums[0].size;
    a.features = shape_.features[0].size;
    a.query.row = rows.query;
    a.key.row = shape_.keys.key;
    a.value.row = shape_.keys.value;
    a.result.row = rows.result;
    if (!softmax_.bias) return true;
    a.bias.row = softmax_.bias->strides[shape_.batch.size()];
    return softmax_.bias->strides.back() == 1 ||
           refuse("elements of the bias are not side by side");
  }

  bool readBatch() {
    llvm::SmallVector<BatchDim, 4> dims;
    std::optional<BatchDim> shared;
    for (auto [i, dim] : llvm::enumerate(shape_.batch)) {
      BatchDim one{dim, softmax_.bias ? softmax_.bias->strides[i] : 0};
      if (one.repeatsKeys() && shared) return refuse("several dimensions share keys");
      if (one.repeatsKeys()) {
        shared = one;
      } else {
        dims.push_back(one);
      }
    }
    mergeDims(dims);
    DnnAttention& a = found_.attention;
    if (shared) {
      a.group = shared->of.size;
      // The dimension whose heads are in groups.
      std::optional<BatchDim> heads;
      for (size_t i = 0; i < dims.size() && !heads; ++i) {
        heads = merged(dims[i], *shared, true);
        if (heads) dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(i));
      }
      if (!heads && !dims.empty()) return refuse("heads that share keys do not lie together");
      dims.push_back(heads ? *heads : *shared);
    }
    if (dims.size() > 2) return refuse("it has more batch dimensions than two");
    if (!dims.empty()) setBatch(dims.back(), &DnnStrides::head, a.heads);
    if (dims.size() > 1) setBatch(dims.front(), &DnnStrides::batch, a.batch);
    return true;
  }

  // Those that lie as one become one, until two are left.
  static void mergeDims(llvm::SmallVectorImpl<BatchDim>& dims) {
    for (size_t i = 0; i + 1 < dims.size() && dims.size() > 2;) {
      std::optional<BatchDim> both = merged(dims[i], dims[i + 1], false);
      if (!both) {
        ++i;
        continue;
      }
      dims[i] = *both;
      dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    }
  }

  void setBatch(const BatchDim& dim, int64_t DnnStrides::* stride, int64_t& size) {
    DnnAttention& a = found_.attention;
    size = dim.of.size;
    a.query.*stride = dim.of.query;
    a.key.*stride = dim.of.key;
    a.value.*stride = dim.of.value;
    a.result.*stride = dim.of.result;
    a.bias.*stride = dim.bias;
  }

  ir::FusionOp fusion_;
  Attention& attention_;
  const SoftmaxAttention& softmax_;
  const AttentionShape& shape_;
  DnnAttentionFusion found_;
  const char* why_ = nullptr;
};

}  // namespace

std::optional<DnnAttentionFusion> dnnAttentionOf(ir::FusionOp fusion, const char** why) {
  *why = "it is no attention";
  std::optional<Attention> attention = attentionOf(fusion);
  if (!attention || attention->scores.size() != 1 || attention->products.size() != 1 ||
      attention->products[0].sumsRows) {
    return std::nullopt;
  }
  std::optional<SoftmaxAttention> softmax = softmaxAttentionOf(*attention, why);
  if (!softmax) return std::nullopt;
  return Reader(fusion, *attention, *softmax).read(why);
}

}  // namespace isthmus::cuda

#include "backends/cuda/kernels/dnn_softmax.h"

#include <array>

#include "compiler/dialect/types/array_shape.h"
#include "compiler/schedule/attention/softmax_attention.h"
#include "compiler/schedule/attention/softmax_gradient.h"

namespace isthmus::cuda {
namespace {

using mlir::Value;

// Scores below which a call costs more than it saves.
constexpr int64_t kMinScores = 1 << 16;

// Arrays of an attention and its gradient, and where DnnAttention has their strides.
enum Array { kQuery, kKey, kValue, kResult, kBias, kOfQuery, kOfKey, kOfValue, kNumArrays };
constexpr std::array<DnnStrides DnnAttention::*, kNumArrays> kStrides = {
    &DnnAttention::query,       &DnnAttention::key,          &DnnAttention::value,
    &DnnAttention::result,      &DnnAttention::bias,         &DnnAttention::queryGradient,
    &DnnAttention::keyGradient, &DnnAttention::valueGradient};

// A batch dimension, in all arrays.
struct BatchDim {
  int64_t size = 1;
  std::array<int64_t, kNumArrays> strides = {};

  // Whether keys and values are the same along it.
  bool repeatsKeys() const { return strides[kKey] == 0 && strides[kValue] == 0; }
};

// Two dimensions as one, if they lie so in every array, but for keys and values where the inner one
// shares those.
std::optional<BatchDim> merged(const BatchDim& outer, const BatchDim& inner, bool sharesKeys) {
  BatchDim both = inner;
  both.size *= outer.size;
  for (size_t i = 0; i < kNumArrays; ++i) {
    const bool isShared = sharesKeys && (i == kKey || i == kValue);
    // Of those that share keys, the next ones are the outer dimension's.
    if (isShared) both.strides[i] = outer.strides[i];
    if (!isShared && outer.strides[i] != inner.strides[i] * inner.size) return std::nullopt;
  }
  return both;
}

// Those that lie as one become one, until two are left.
void mergeDims(llvm::SmallVectorImpl<BatchDim>& dims) {
  for (size_t i = 0; i + 1 < dims.size() && dims.size() > 2;) {
    std::optional<BatchDim> both = merged(dims[i], dims[i + 1], false);
    if (both) {
      dims[i] = *both;
      dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    } else {
      ++i;
    }
  }
}

std::optional<DnnType> typeOf(Value value) {
  mlir::Type type = tensorTypeOf(value).getElementType();
  if (type.isF32()) return DnnType::kF32;
  if (type.isF16()) return DnnType::kF16;
  if (type.isBF16()) return DnnType::kBf16;
  return std::nullopt;
}

class Reader {
 public:
  Reader(ir::FusionOp fusion, Attention& attention) : fusion_(fusion), attention_(attention) {}

  std::optional<DnnAttentionFusion> forward(const SoftmaxAttention& softmax, const char** why) {
    const bool isRead = readTypes(softmax.terms) && readForward(softmax);
    return finish(isRead, softmax.terms, why);
  }

  std::optional<DnnAttentionFusion> gradient(const SoftmaxGradient& softmax, const char** why) {
    found_.attention.isGradient = true;
    const bool isRead = readTypes(softmax.terms) && readGradient(softmax);
    return finish(isRead, softmax.terms, why);
  }

 private:
  bool refuse(const char* why) {
    why_ = why;
    return false;
  }

  std::optional<DnnAttentionFusion> finish(bool isRead, const ScoreTerms& terms, const char** why) {
    DnnAttention& a = found_.attention;
    if (isRead && a.batch * a.heads * a.rows * a.keys < kMinScores) {
      isRead = refuse("it is too little work for a call");
    }
    if (!isRead) {
      *why = why_;
      return std::nullopt;
    }
    a.scale = terms.scale;
    a.isCausal = terms.isCausal;
    if (!isValid(a)) {
      *why = "its numbers are not what cuDNN has names for";
      return std::nullopt;
    }
    return std::move(found_);
  }

  static unsigned argumentOf(Value value) {
    return mlir::cast<mlir::BlockArgument>(stripViews(value)).getArgNumber();
  }

  bool readTypes(const ScoreTerms& terms) {
    llvm::SmallVector<Value> values = attention_.operandsOfProducts();
    llvm::append_range(values, fusion_->getResults());
    DnnAttention& a = found_.attention;
    a.type = typeOf(values[0]).value_or(DnnType::kF32);
    if (a.type == DnnType::kF32 ||
        llvm::any_of(values, [&](Value value) { return typeOf(value) != a.type; })) {
      return refuse("queries, keys, values and result are not all bf16 or f16");
    }
    if (!terms.bias) return true;
    std::optional<DnnType> bias = typeOf(attention_.rows->getOperand(terms.bias->operand));
    // An array of numbers near the largest leaves out every key of a row alike. cuDNN 9.19 makes
    // something else of such a row than the mean of all values; what f16 holds is far enough from
    // it.
    if (!bias || *bias != DnnType::kF16) {
      return refuse("a bias may leave out all keys of a row, unless it is of f16");
    }
    if (terms.bias->strides.back() != 1) return refuse("elements of the bias are not side by side");
    a.hasBias = true;
    a.biasType = *bias;
    return true;
  }

  void addBias(const ScoreTerms& terms) {
    if (!terms.bias) return;
    found_.operands.push_back(argumentOf(attention_.rows->getOperand(terms.bias->operand)));
  }

  static bool isOneByOne(const AttentionDims& dims, int64_t AttentionDim::* one,
                         int64_t AttentionDim::* other) {
    return dims.size() == 1 && dims[0].*one == 1 && dims[0].*other == 1;
  }

  bool readForward(const SoftmaxAttention& softmax) {
    const AttentionShape& shape = softmax.shape;
    if (!isOneByOne(shape.sums, &AttentionDim::query, &AttentionDim::key) ||
        !isOneByOne(shape.features, &AttentionDim::value, &AttentionDim::result)) {
      return refuse("elements of a query, a key, a value or a result are not side by side");
    }
    DnnAttention& a = found_.attention;
    const AttentionDim rows = shape.rows.empty() ? AttentionDim() : shape.rows[0];
    a.rows = rows.size;
    a.keys = shape.keys.size;
    a.sums = shape.sums[0].size;
    a.features = shape.features[0].size;
    a.query.row = rows.query;
    a.key.row = shape.keys.key;
    a.value.row = shape.keys.value;
    a.result.row = rows.result;
    const auto* bias = softmax.terms.bias ? &softmax.terms.bias->strides : nullptr;
    if (bias && !shape.rows.empty()) a.bias.row = (*bias)[shape.batch.size()];
    for (Value operand : attention_.operandsOfProducts()) {
      found_.operands.push_back(argumentOf(operand));
    }
    addBias(softmax.terms);
    llvm::SmallVector<BatchDim, 4> dims;
    for (auto [i, dim] : llvm::enumerate(shape.batch)) {
      dims.push_back(
          {dim.size, {dim.query, dim.key, dim.value, dim.result, bias ? (*bias)[i] : 0, 0, 0, 0}});
    }
    return readBatch(dims);
  }

  bool readGradient(const SoftmaxGradient& softmax) {
    const std::array<llvm::ArrayRef<int64_t>, kNumArrays> strides = {
        softmax.query.strides,
        softmax.key.strides,
        softmax.value.strides,
        softmax.result.strides,
        softmax.terms.bias ? llvm::ArrayRef<int64_t>(softmax.terms.bias->strides)
                           : llvm::ArrayRef<int64_t>(),
        softmax.queryGradient.strides,
        softmax.keyGradient.strides,
        softmax.valueGradient.strides};
    DnnAttention& a = found_.attention;
    const size_t keys = softmax.sizes.size() - 1, rows = softmax.numBatches;
    a.rows = rows < keys ? softmax.sizes[rows] : 1;
    a.keys = softmax.sizes[keys];
    a.sums = softmax.sums;
    a.features = softmax.features;
    for (size_t i = 0; i < kNumArrays; ++i) {
      const bool isOfKeys = i == kKey || i == kValue || i == kOfKey || i == kOfValue;
      const bool hasRow = !strides[i].empty() && (isOfKeys || rows < keys);
      if (hasRow) (a.*kStrides[i]).row = strides[i][isOfKeys ? keys : rows];
    }
    a.places = {static_cast<int8_t>(softmax.ofQuery), static_cast<int8_t>(softmax.ofKey),
                static_cast<int8_t>(softmax.ofValue)};
    for (const GradientArray* array : {&softmax.query, &softmax.key, &softmax.value}) {
      found_.operands.push_back(argumentOf(array->memory));
    }
    addBias(softmax.terms);
    found_.operands.push_back(argumentOf(softmax.result.memory));
    llvm::SmallVector<BatchDim, 4> dims;
    for (size_t d = 0; d < softmax.numBatches; ++d) {
      BatchDim dim{softmax.sizes[d], {}};
      for (size_t i = 0; i < kNumArrays; ++i) {
        if (!strides[i].empty()) dim.strides[i] = strides[i][d];
      }
      if (dim.repeatsKeys()) return refuse("gradients of keys that heads share are apart");
      dims.push_back(dim);
    }
    return readBatch(dims);
  }

  bool readBatch(llvm::ArrayRef<BatchDim> all) {
    llvm::SmallVector<BatchDim, 4> dims;
    std::optional<BatchDim> shared;
    for (const BatchDim& dim : all) {
      if (dim.repeatsKeys() && shared) return refuse("several dimensions share keys");
      if (dim.repeatsKeys()) {
        shared = dim;
      } else {
        dims.push_back(dim);
      }
    }
    mergeDims(dims);
    DnnAttention& a = found_.attention;
    if (shared) {
      a.group = shared->size;
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

  void setBatch(const BatchDim& dim, int64_t DnnStrides::* stride, int64_t& size) {
    size = dim.size;
    for (size_t i = 0; i < kNumArrays; ++i) {
      (found_.attention.*kStrides[i]).*stride = dim.strides[i];
    }
  }

  ir::FusionOp fusion_;
  Attention& attention_;
  DnnAttentionFusion found_;
  const char* why_ = nullptr;
};

}  // namespace

std::optional<DnnAttentionFusion> dnnAttentionOf(ir::FusionOp fusion, const char** why) {
  *why = "it is no attention";
  std::optional<Attention> attention = attentionOf(fusion);
  if (!attention) return std::nullopt;
  if (attention->scores.size() == 2) {
    std::optional<SoftmaxGradient> gradient = softmaxGradientOf(*attention, why);
    if (!gradient) return std::nullopt;
    return Reader(fusion, *attention).gradient(*gradient, why);
  }
  if (attention->products.size() != 1 || attention->products[0].sumsRows) return std::nullopt;
  std::optional<SoftmaxAttention> softmax = softmaxAttentionOf(*attention, why);
  if (!softmax) return std::nullopt;
  return Reader(fusion, *attention).forward(*softmax, why);
}

}  // namespace isthmus::cuda

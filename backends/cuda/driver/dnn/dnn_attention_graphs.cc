// The operations are those, in this order, that NVIDIA's cudnn-frontend makes of attention
// (node/scaled_dot_product_flash_attention.h): cuDNN has kernels for graphs of this form alone.
#include "backends/cuda/driver/dnn/dnn_attention_graphs.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "backends/cuda/driver/dnn/dnn_graph_builder.h"

namespace isthmus::cuda {
namespace {

using namespace dnn;

class AttentionGraph {
 public:
  using Opaque = DnnGraphBuilder::Opaque;

  AttentionGraph(DnnGraphBuilder& builder, const DnnAttention& attention)
      : b_(builder),
        a_(attention),
        type_(static_cast<int>(attention.type)),
        square_(dense(attention.keys)),
        column_(dense(1)) {}

  // Buffers: queries, keys, values, the bias if there is one, the result; and with `stores`, where
  // the result is dense, the logarithm of each row's sum.
  std::vector<Opaque> forward(bool stores) {
    b_.describe("an array");
    Opaque query = b_.buffer(queries(a_.query), type_), key = b_.buffer(transposed(keys()), type_);
    Opaque value = b_.buffer(values(), type_);
    makeBias();
    Opaque result = b_.buffer(stores ? results() : rows(a_.features, a_.result), type_);
    Opaque logarithms = stores ? b_.buffer(column_, kDataFloat) : b_.virtualArray(column_);
    makeNumbers();
    Opaque scores = scoresOf(query, key);
    if (a_.isCausal) scores = mask(scores);
    Opaque weights = softmax(scores, logarithms);
    b_.describe("the product of weights and values");
    multiply(weights, value, result);
    return std::move(operations_);
  }

  // Buffers: queries, keys, values, the bias if there is one, the gradient of the result; then what
  // forward() stores, a sum for each row, and the gradients of queries, keys and values.
  std::vector<Opaque> gradient() {
    b_.describe("an array");
    Opaque query = b_.buffer(queries(a_.query), type_), key = b_.buffer(transposed(keys()), type_);
    Opaque value = b_.buffer(transposed(values()), type_);
    makeBias();
    Opaque ofResult = b_.buffer(rows(a_.features, a_.result), type_);
    Opaque result = b_.buffer(results(), type_), logarithms = b_.buffer(column_, kDataFloat);
    Opaque sums = b_.buffer(column_, kDataFloat);
    Opaque ofQuery = b_.buffer(queries(a_.queryGradient), type_);
    Opaque ofKey = b_.buffer(ofKeys(a_.sums, a_.keyGradient), type_);
    Opaque ofValue = b_.buffer(ofKeys(a_.features, a_.valueGradient), type_);
    makeNumbers();
    Opaque one = b_.number(1, kRank);

    b_.describe("the sums of the result times its gradient");
    Opaque products = apply(kPointwiseMultiply, ofResult, results(), result);
    store(kPointwiseMultiply, reduce(kReduceAdd, products), sums, one);
    Opaque scores = apply(kPointwiseSubtract, scoresOf(query, key), square_, logarithms);
    if (a_.isCausal) scores = mask(scores);
    b_.describe("the gradient of values");
    Opaque weights = apply(kPointwiseExp, scores, square_);
    multiply(transpose(weights), ofResult, ofValue);
    b_.describe("the gradient of scores");
    Opaque ofWeights = b_.virtualArray(square_);
    multiply(ofResult, value, ofWeights);
    Opaque ofScores = apply(kPointwiseSubtract, ofWeights, square_, sums);
    ofScores = apply(kPointwiseMultiply, ofScores, square_, weights);
    ofScores = apply(kPointwiseMultiply, ofScores, square_, scale_);
    b_.describe("the gradient of keys");
    multiply(transpose(ofScores), query, ofKey);
    b_.describe("the gradient of queries");
    Opaque straight = b_.virtualArray(keys(), type_);
    reshape(key, straight);
    multiply(ofScores, straight, ofQuery);
    return std::move(operations_);
  }

 private:
  // Of an element for each row of each head, or for each of its keys.
  DnnArray dense(int64_t columns) const {
    return {{a_.batch, a_.heads, a_.rows, columns},
            {a_.heads * a_.rows * columns, a_.rows * columns, columns, 1}};
  }
  // Dimensions of size 1 have any stride, but none is 0.
  static DnnArray of(int64_t batch, int64_t heads, int64_t rows, int64_t columns,
                     const DnnStrides& strides) {
    auto stride = [](int64_t size, int64_t number, int64_t instead) {
      return size == 1 && number == 0 ? instead : number;
    };
    const int64_t row = stride(rows, strides.row, columns);
    const int64_t head = stride(heads, strides.head, row * rows);
    return {{batch, heads, rows, columns},
            {stride(batch, strides.batch, head * heads), head, row, 1}};
  }

  DnnArray rows(int64_t columns, const DnnStrides& strides) const {
    return of(a_.batch, a_.heads, a_.rows, columns, strides);
  }
  DnnArray ofKeys(int64_t columns, const DnnStrides& strides) const {
    return of(a_.batch, a_.heads / a_.group, a_.keys, columns, strides);
  }
  DnnArray queries(const DnnStrides& strides) const { return rows(a_.sums, strides); }
  DnnArray keys() const { return ofKeys(a_.sums, a_.key); }
  DnnArray values() const { return ofKeys(a_.features, a_.value); }
  // As a gradient has the result in scratch memory.
  DnnArray results() const { return dense(a_.features); }
  static DnnArray transposed(DnnArray array) {
    std::swap(array.dims[2], array.dims[3]);
    std::swap(array.strides[2], array.strides[3]);
    return array;
  }

  void makeBias() {
    if (!a_.hasBias) return;
    // Along a dimension whose elements repeat, it has one.
    auto size = [](int64_t of, int64_t stride) { return stride == 0 ? 1 : of; };
    bias_ = b_.buffer(of(size(a_.batch, a_.bias.batch), size(a_.heads, a_.bias.head),
                         size(a_.rows, a_.bias.row), a_.keys, a_.bias),
                      static_cast<int>(a_.biasType));
  }
  void makeNumbers() {
    scale_ = b_.number(static_cast<float>(a_.scale), kRank);
    if (a_.isCausal) lowest_ = b_.number(-std::numeric_limits<float>::infinity(), kRank);
  }

  Opaque scoresOf(Opaque query, Opaque key) {
    b_.describe("the product of queries and keys");
    Opaque scores = b_.virtualArray(square_);
    multiply(query, key, scores);
    b_.describe("the scale");
    scores = apply(kPointwiseMultiply, scores, square_, scale_);
    if (!a_.hasBias) return scores;
    b_.describe("the bias");
    return apply(kPointwiseAdd, scores, square_, bias_);
  }

  void multiply(Opaque a, Opaque b, Opaque c) {
    Opaque settings = b_.create(kMatmul);
    b_.set(settings, kMatmulComputeType, kTypeDataType, kDataFloat);
    b_.finalize(settings);
    Opaque made = b_.create(kMatmulOperation);
    b_.set(made, kMatmulA, kTypeDescriptor, a);
    b_.set(made, kMatmulB, kTypeDescriptor, b);
    b_.set(made, kMatmulC, kTypeDescriptor, c);
    b_.set(made, kMatmulSettings, kTypeDescriptor, settings);
    operations_.push_back(b_.finalize(made));
  }

  void store(int mode, Opaque x, Opaque y, Opaque other) {
    operations_.push_back(b_.pointwise({mode}, x, y, other));
  }
  Opaque apply(int mode, Opaque x, const DnnArray& shape, Opaque other = nullptr,
               int type = kDataFloat) {
    Opaque y = b_.virtualArray(shape, type);
    store(mode, x, y, other);
    return y;
  }

  void reshape(Opaque x, Opaque y) {
    Opaque made = b_.create(kReshapeOperation);
    b_.set(made, kReshapeX, kTypeDescriptor, x);
    b_.set(made, kReshapeY, kTypeDescriptor, y);
    operations_.push_back(b_.finalize(made));
  }
  // Of an array on the way, with an element for each row and key, in 16 bits.
  Opaque transpose(Opaque x) {
    Opaque y = b_.virtualArray(transposed(square_), type_);
    reshape(x, y);
    return y;
  }

  Opaque index(Opaque scores, int64_t axis) {
    Opaque y = b_.virtualArray(square_, kDataInt32);
    operations_.push_back(b_.pointwise({kPointwiseIndex, kDataFloat, axis}, scores, y));
    return y;
  }

  Opaque mask(Opaque scores) {
    b_.describe("the causal mask");
    Opaque row = index(scores, kRank - 2), key = index(scores, kRank - 1);
    Opaque isKept = b_.virtualArray(square_, kDataBoolean);
    operations_.push_back(b_.pointwise({kPointwiseGreaterOrEqual, kDataBoolean}, row, isKept, key));
    Opaque y = b_.virtualArray(square_);
    operations_.push_back(b_.pointwise({kPointwiseSelect}, scores, y, lowest_, isKept));
    return y;
  }

  Opaque reduce(int how, Opaque x) {
    Opaque settings = b_.create(kReduction);
    b_.set(settings, kReductionComputeType, kTypeDataType, kDataFloat);
    b_.set(settings, kReductionOperator, kTypeReductionOperator, how);
    b_.finalize(settings);
    Opaque y = b_.virtualArray(column_);
    Opaque made = b_.create(kReductionOperation);
    b_.set(made, kReductionSettings, kTypeDescriptor, settings);
    b_.set(made, kReductionX, kTypeDescriptor, x);
    b_.set(made, kReductionY, kTypeDescriptor, y);
    operations_.push_back(b_.finalize(made));
    return y;
  }

  Opaque softmax(Opaque scores, Opaque logarithms) {
    b_.describe("the softmax");
    Opaque maximum = reduce(kReduceMax, scores);
    Opaque exponential =
        apply(kPointwiseExp, apply(kPointwiseSubtract, scores, square_, maximum), square_);
    Opaque sum = reduce(kReduceAdd, exponential);
    // The form has it, whether it is stored or not.
    store(kPointwiseAdd, maximum, logarithms, apply(kPointwiseLog, sum, column_));
    return apply(kPointwiseDivide, exponential, square_, sum, type_);
  }

  static constexpr int64_t kRank = 4;

  DnnGraphBuilder& b_;
  const DnnAttention& a_;
  const int type_;
  const DnnArray square_, column_;
  Opaque bias_ = nullptr, scale_ = nullptr, lowest_ = nullptr;
  std::vector<Opaque> operations_;
};

// Versions before have known faults, or want another form (cudnn-frontend's sdpa_support_surface.h
// and the node of the gradient).
constexpr size_t kMinVersion = 91002, kMinGradientVersion = 91501;
constexpr int64_t kFaultyKeys = 128;

int64_t aligned(int64_t bytes) { return (bytes + 255) / 256 * 256; }

}  // namespace

StatusOr<std::unique_ptr<DnnAttentionGraphs>> DnnAttentionGraphs::make(
    const DnnGraphFunctions& functions, void* handle, const DnnAttention& attention,
    int64_t workspaceBytes) {
  const size_t version = functions.GetVersion();
  const bool isFaulty =
      attention.isGradient && version < kMinGradientVersion && attention.keys % kFaultyKeys != 0;
  if (version < kMinVersion || isFaulty) {
    return unimplemented("this version of cuDNN (", version, ") does not compute it right");
  }
  std::unique_ptr<DnnAttentionGraphs> graphs(new DnnAttentionGraphs());
  graphs->hasBias_ = attention.hasBias;
  graphs->places_ = attention.places;
  if (attention.isGradient) {
    const int64_t rows = attention.batch * attention.heads * attention.rows;
    const int64_t bytesOfRows = aligned(rows * static_cast<int64_t>(sizeof(float)));
    graphs->logarithmsOffset_ = aligned(rows * attention.features * bytesOf(attention.type));
    graphs->sumsOffset_ = graphs->logarithmsOffset_ + bytesOfRows;
    graphs->workspaceOffset_ = graphs->sumsOffset_ + bytesOfRows;
  }
  DnnGraphBuilder::Limits limits;
  limits.workspaceBytes = workspaceBytes - graphs->workspaceOffset_;
  auto ask = [&](bool isGradient) {
    DnnGraphBuilder builder(functions, handle);
    AttentionGraph graph(builder, attention);
    const std::vector<void*> operations =
        isGradient ? graph.gradient() : graph.forward(attention.isGradient);
    return builder.finish(
        operations, limits,
        (attention.isGradient && !isGradient ? "the forward pass of " : "") + attention.toString());
  };
  ISTHMUS_ASSIGN_OR_RETURN(graphs->forward_, ask(false));
  graphs->workspaceBytes_ = graphs->forward_->workspaceBytes();
  if (!attention.isGradient) return graphs;
  ISTHMUS_ASSIGN_OR_RETURN(graphs->gradient_, ask(true));
  graphs->workspaceBytes_ = std::max(graphs->workspaceBytes_, graphs->gradient_->workspaceBytes());
  return graphs;
}

int DnnAttentionGraphs::run(void* handle, std::span<void* const> buffers, void* workspace) const {
  if (!gradient_) return forward_->run(handle, buffers, workspace);
  auto scratch = [&](int64_t offset) -> void* { return static_cast<char*>(workspace) + offset; };
  void *result = scratch(0), *logarithms = scratch(logarithmsOffset_);
  const size_t operands = hasBias_ ? 4 : 3;
  std::vector<void*> all(buffers.begin(), buffers.begin() + static_cast<std::ptrdiff_t>(operands));
  all.insert(all.end(), {result, logarithms});
  int code = forward_->run(handle, all, scratch(workspaceOffset_));
  if (code != 0) return code;
  all.assign(buffers.begin(), buffers.begin() + static_cast<std::ptrdiff_t>(operands + 1));
  all.insert(all.end(), {result, logarithms, scratch(sumsOffset_)});
  for (int8_t place : {places_.query, places_.key, places_.value}) {
    all.push_back(buffers[operands + 1 + static_cast<size_t>(place)]);
  }
  return gradient_->run(handle, all, scratch(workspaceOffset_));
}

}  // namespace isthmus::cuda

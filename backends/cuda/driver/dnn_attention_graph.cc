// The operations are those, in this order, that NVIDIA's cudnn-frontend makes of attention
// (node/scaled_dot_product_flash_attention.h): cuDNN has kernels for graphs of this form alone.
#include <limits>

#include "backends/cuda/driver/dnn_graph_builder.h"

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

  std::vector<Opaque> operations() {
    makeArrays();
    b_.describe("the product of queries and keys");
    Opaque scores = b_.virtualArray(square_);
    multiply(query_, key_, scores);
    b_.describe("the scale");
    scores = apply(kPointwiseMultiply, scores, square_, scale_);
    if (a_.hasBias) {
      b_.describe("the bias");
      scores = apply(kPointwiseAdd, scores, square_, bias_);
    }
    if (a_.isCausal) scores = mask(scores);
    Opaque weights = softmax(scores);
    b_.describe("the product of weights and values");
    multiply(weights, value_, result_);
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

  void makeArrays() {
    b_.describe("an array");
    const int64_t keyHeads = a_.heads / a_.group;
    query_ = b_.buffer(of(a_.batch, a_.heads, a_.rows, a_.sums, a_.query), type_);
    DnnArray key = of(a_.batch, keyHeads, a_.keys, a_.sums, a_.key);
    std::swap(key.dims[2], key.dims[3]);
    std::swap(key.strides[2], key.strides[3]);
    key_ = b_.buffer(key, type_);
    value_ = b_.buffer(of(a_.batch, keyHeads, a_.keys, a_.features, a_.value), type_);
    if (a_.hasBias) {
      // Along a dimension whose elements repeat, it has one.
      auto size = [](int64_t of, int64_t stride) { return stride == 0 ? 1 : of; };
      bias_ = b_.buffer(of(size(a_.batch, a_.bias.batch), size(a_.heads, a_.bias.head),
                           size(a_.rows, a_.bias.row), a_.keys, a_.bias),
                        static_cast<int>(a_.biasType));
    }
    result_ = b_.buffer(of(a_.batch, a_.heads, a_.rows, a_.features, a_.result), type_);
    scale_ = b_.number(static_cast<float>(a_.scale), kRank);
    if (a_.isCausal) lowest_ = b_.number(-std::numeric_limits<float>::infinity(), kRank);
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

  Opaque apply(int mode, Opaque x, const DnnArray& shape, Opaque other = nullptr,
               int type = kDataFloat) {
    Opaque y = b_.virtualArray(shape, type);
    operations_.push_back(b_.pointwise({mode}, x, y, other));
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

  Opaque softmax(Opaque scores) {
    b_.describe("the softmax");
    Opaque maximum = reduce(kReduceMax, scores);
    Opaque exponential =
        apply(kPointwiseExp, apply(kPointwiseSubtract, scores, square_, maximum), square_);
    Opaque sum = reduce(kReduceAdd, exponential);
    // What a gradient would read: the form has it, though nothing stores it here.
    apply(kPointwiseAdd, maximum, column_, apply(kPointwiseLog, sum, column_));
    return apply(kPointwiseDivide, exponential, square_, sum, type_);
  }

  static constexpr int64_t kRank = 4;

  DnnGraphBuilder& b_;
  const DnnAttention& a_;
  const int type_;
  const DnnArray square_, column_;
  Opaque query_ = nullptr, key_ = nullptr, value_ = nullptr, bias_ = nullptr, result_ = nullptr;
  Opaque scale_ = nullptr, lowest_ = nullptr;
  std::vector<Opaque> operations_;
};

}  // namespace

StatusOr<std::unique_ptr<DnnGraph>> DnnGraph::make(const DnnGraphFunctions& functions, void* handle,
                                                   const DnnAttention& attention,
                                                   int64_t workspaceBytes) {
  DnnGraphBuilder builder(functions, handle);
  const std::vector<void*> operations = AttentionGraph(builder, attention).operations();
  DnnGraphBuilder::Limits limits;
  limits.workspaceBytes = workspaceBytes;
  return builder.finish(operations, limits, attention.toString());
}

}  // namespace isthmus::cuda

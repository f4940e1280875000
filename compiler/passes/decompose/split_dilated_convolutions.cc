// The split-dilated-convolutions pass: a convolution of an array with zeros between its elements
// (a transposed one, or the gradient of one with strides) becomes one for each phase of its
// results, of what meets no such zero: kernels would multiply them.
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/passes/legalize/array_builder.h"
#include "compiler/passes/passes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace isthmus {

#define GEN_PASS_DEF_SPLITDILATEDCONVOLUTIONSPASS
#include "compiler/passes/passes.h.inc"

namespace {

using Dims = llvm::SmallVector<int64_t>;

// Each is a kernel that has to be compiled, and several arrays for the one that interleaves them.
constexpr int64_t kMaxPhases = 16;

Dims attributeOr(std::optional<llvm::ArrayRef<int64_t>> values, size_t count, int64_t otherwise) {
  return values ? Dims(*values) : Dims(count, otherwise);
}

class PhaseSplitter {
 public:
  explicit PhaseSplitter(shlo::ConvolutionOp conv)
      : conv_(conv),
        numbers_(conv.getDimensionNumbers()),
        rank_(numbers_.getInputSpatialDimensions().size()),
        strides_(attributeOr(conv.getWindowStrides(), rank_, 1)),
        dilation_(attributeOr(conv.getLhsDilation(), rank_, 1)),
        windowDilation_(attributeOr(conv.getRhsDilation(), rank_, 1)),
        padding_(2 * rank_, 0) {
    if (conv.getPadding()) padding_ = Dims(conv.getPadding()->getValues<int64_t>());
  }

  bool isWorthIt(const ProductModel& model) {
    int64_t phases = 1;
    for (size_t i = 0; i < rank_; ++i) {
      if (!splits(i)) continue;
      phases = std::min(kMaxPhases + 1, phases * std::min(dilation_[i], kMaxPhases + 1));
    }
    if (phases == 1 || phases > kMaxPhases) return false;
    if (elementCount(conv_.getLhs()) == 0 || elementCount(conv_.getRhs()) == 0) return false;
    // What is left of each phase has to be worth as many work-items as there are kernels more.
    const int64_t features =
        shapeOf(conv_.getRhs())[static_cast<size_t>(numbers_.getKernelOutputFeatureDimension())];
    const auto terms = static_cast<double>(elementCount(conv_.getRhs()) / features);
    return static_cast<double>(elementCount(conv_.getResult())) * terms >=
           static_cast<double>(phases * phases * model.itemProducts);
  }

  void split() {
    mlir::OpBuilder builder(conv_);
    ArrayBuilder b(conv_, builder);
    const Dims whole(shapeOf(conv_.getResult()));
    // Phases have as many results; the last ones may be too many.
    results_ = whole;
    for (size_t i = 0; i < rank_; ++i) {
      if (!splits(i)) continue;
      const size_t out = outputDim(i);
      results_[out] = static_cast<int64_t>(llvm::divideCeil(whole[out], dilation_[i]));
    }
    const auto rank = static_cast<size_t>(rankOf(conv_.getRhs()));
    Phase all{padding_, Dims(rank, 0), Dims(shapeOf(conv_.getRhs())), Dims(rank, 1)};
    mlir::Value joined = resultsOf(b, all, 0);
    Dims together = results_;
    for (size_t i = 0; i < rank_; ++i) {
      if (splits(i)) together[outputDim(i)] *= dilation_[i];
    }
    joined = b.slice(b.reshape(joined, together), Dims(whole.size(), 0), whole);
    conv_.getResult().replaceAllUsesWith(joined);
    conv_.erase();
  }

 private:
  // Of the phases that are chosen so far: their padding, and what they take of the window.
  struct Phase {
    Dims padding, starts, limits, strides;
  };

  size_t outputDim(size_t i) const {
    return static_cast<size_t>(numbers_.getOutputSpatialDimensions()[i]);
  }

  bool splits(size_t i) const {
    return dilation_[i] > 1 && strides_[i] == 1 && windowDilation_[i] == 1;
  }

  // Of results whose phases lie in dimensions of their own, each behind that of its results, from
  // spatial dimension `first` on; those before have one.
  Dims shapeByPhases(size_t first) const {
    Dims shape;
    for (size_t d = 0; d < results_.size(); ++d) {
      shape.push_back(results_[d]);
      for (size_t i = 0; i < rank_; ++i) {
        if (splits(i) && outputDim(i) == d) shape.push_back(i < first ? 1 : dilation_[i]);
      }
    }
    return shape;
  }

  // The dimension of a split dimension's phases there.
  uint64_t phaseDim(size_t i) const {
    uint64_t dim = outputDim(i) + 1;
    for (size_t k = 0; k < rank_; ++k) dim += splits(k) && outputDim(k) < outputDim(i);
    return dim;
  }

  mlir::Value resultsOf(ArrayBuilder& b, const Phase& phase, size_t i) {
    while (i < rank_ && !splits(i)) ++i;
    if (i == rank_) return b.reshape(convolution(b, phase), shapeByPhases(rank_));
    llvm::SmallVector<mlir::Value> phases;
    for (int64_t first = 0; first < dilation_[i]; ++first) {
      phases.push_back(phaseFrom(b, phase, i, first));
    }
    return shlo::ConcatenateOp::create(b.builder(), b.location(), phases, phaseDim(i)).getResult();
  }

  // Results number `first`, `first` + the dilation and so on of spatial dimension `i`.
  mlir::Value phaseFrom(ArrayBuilder& b, Phase phase, size_t i, int64_t first) {
    const auto kernel = static_cast<size_t>(numbers_.getKernelSpatialDimensions()[i]);
    const auto input = static_cast<size_t>(numbers_.getInputSpatialDimensions()[i]);
    const int64_t step = dilation_[i], low = padding_[2 * i], window = phase.limits[kernel];
    // The window's first place at which the first result meets an element.
    const int64_t place = llvm::mod(low - first, step);
    const int64_t places = place < window ? (window - place - 1) / step + 1 : 0;
    if (places == 0) return b.zeros(tensorTypeOf(conv_.getResult()).clone(shapeByPhases(i + 1)));
    const bool isReversed = conv_.getWindowReversal() && (*conv_.getWindowReversal())[i];
    const int64_t last = place + (places - 1) * step;
    phase.starts[kernel] = isReversed ? window - 1 - last : place;
    phase.limits[kernel] = phase.starts[kernel] + last - place + 1;
    phase.strides[kernel] = places > 1 ? step : 1;
    phase.padding[2 * i] = (low - first - place) / step;
    phase.padding[2 * i + 1] =
        results_[outputDim(i)] + places - 1 - phase.padding[2 * i] - shapeOf(conv_.getLhs())[input];
    return resultsOf(b, phase, i + 1);
  }

  mlir::Value convolution(ArrayBuilder& b, const Phase& phase) {
    mlir::OpBuilder& builder = b.builder();
    Dims shape;
    for (auto [start, limit, stride] : llvm::zip(phase.starts, phase.limits, phase.strides)) {
      shape.push_back((limit - start - 1) / stride + 1);
    }
    mlir::Value window = conv_.getRhs();
    if (llvm::ArrayRef(shape) != shapeOf(window)) {
      window = shlo::SliceOp::create(builder, b.location(), tensorTypeOf(window).clone(shape),
                                     window, phase.starts, phase.limits, phase.strides);
    }
    Dims dilation = dilation_;
    for (size_t i = 0; i < rank_; ++i) {
      if (splits(i)) dilation[i] = 1;
    }
    auto pairs =
        mlir::RankedTensorType::get({static_cast<int64_t>(rank_), 2}, builder.getI64Type());
    return shlo::ConvolutionOp::create(
        builder, b.location(), tensorTypeOf(conv_.getResult()).clone(results_), conv_.getLhs(),
        window, conv_.getWindowStridesAttr(),
        mlir::DenseIntElementsAttr::get(pairs, llvm::ArrayRef<int64_t>(phase.padding)),
        builder.getDenseI64ArrayAttr(dilation), conv_.getRhsDilationAttr(),
        conv_.getWindowReversalAttr(), numbers_, conv_.getFeatureGroupCountAttr(),
        conv_.getBatchGroupCountAttr(), conv_.getPrecisionConfigAttr());
  }

  shlo::ConvolutionOp conv_;
  shlo::ConvDimensionNumbersAttr numbers_;
  size_t rank_;
  Dims strides_, dilation_, windowDilation_, padding_;
  Dims results_;  // the shape of a phase's
};

struct SplitDilatedConvolutionsPass
    : impl::SplitDilatedConvolutionsPassBase<SplitDilatedConvolutionsPass> {
  using SplitDilatedConvolutionsPassBase::SplitDilatedConvolutionsPassBase;
  explicit SplitDilatedConvolutionsPass(const TargetModel& target) : model_(target.products) {}

  void runOnOperation() override {
    llvm::SmallVector<shlo::ConvolutionOp> convolutions;
    getOperation().walk([&](shlo::ConvolutionOp conv) {
      if (hasStaticArrays(conv) && PhaseSplitter(conv).isWorthIt(model_)) {
        convolutions.push_back(conv);
      }
    });
    for (shlo::ConvolutionOp conv : convolutions) PhaseSplitter(conv).split();
  }

  ProductModel model_;
};

}  // namespace

std::unique_ptr<mlir::Pass> createSplitDilatedConvolutionsPass(const TargetModel& target) {
  return std::make_unique<SplitDilatedConvolutionsPass>(target);
}

}  // namespace isthmus

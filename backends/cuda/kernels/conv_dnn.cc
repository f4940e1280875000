// A convolution of StableHLO is what cuDNN calls forward, or a gradient by the image (it dilates
// its image and reverses its windows), or one by the kernel (it sums over the images, and its
// window is as large as the result was).
#include "backends/cuda/kernels/conv_dnn.h"

#include <algorithm>

#include "backends/cuda/kernels/precision.h"
#include "compiler/dialect/diagnostics/source_location.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/dialect/types/permutation.h"
#include "isthmus/log.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace isthmus::cuda {
namespace {

using Dims = llvm::SmallVector<int64_t>;
using DimsRef = llvm::ArrayRef<int64_t>;

constexpr int64_t kMaxSize = int64_t{1} << 31;
// Products below which a call costs more than it saves.
constexpr double kMinProducts = 1 << 16;

// One spatial dimension as StableHLO has it.
struct Window {
  int64_t image = 1, size = 1, result = 1;
  int64_t low = 0, high = 0;
  int64_t stride = 1, imageDilation = 1, dilation = 1;
  bool isReversed = false;
};

// How a convolution becomes one of cuDNN's.
struct Fit {
  DnnConvolution convolution;
  Dims lhsOrder, rhsOrder, resultOrder;  // of dimensions, from the outermost
  mlir::Value rhs;                       // without a reversal that became the windows'
  llvm::SmallVector<bool> reversal;
  // By axis: elements to add to the lhs; how many of the result's first elements to leave out.
  llvm::SmallVector<std::pair<int64_t, int64_t>> pads;
  Dims skipped;
  Dims resultSizes;  // by axis, before they are left out

  bool isInPlace(shlo::ConvolutionOp op) const {
    return rhs == op.getRhs() && isIdentity(lhsOrder) && isIdentity(rhsOrder) &&
           isIdentity(resultOrder) && !changesSizes(op);
  }
  bool changesSizes(shlo::ConvolutionOp op) const {
    auto type = llvm::cast<mlir::RankedTensorType>(op.getResult().getType());
    DimsRef spatial = op.getDimensionNumbers().getOutputSpatialDimensions();
    for (size_t i = 0; i < pads.size(); ++i) {
      if (pads[i] != std::pair<int64_t, int64_t>() ||
          resultSizes[i] != type.getDimSize(spatial[i])) {
        return true;
      }
    }
    return false;
  }
};

int64_t entry(std::optional<DimsRef> values, size_t i) { return values ? (*values)[i] : 1; }

llvm::SmallVector<Window> windowsOf(shlo::ConvolutionOp op) {
  shlo::ConvDimensionNumbersAttr n = op.getDimensionNumbers();
  Dims padding;
  if (op.getPadding()) padding = Dims(op.getPadding()->getValues<int64_t>());
  llvm::SmallVector<Window> windows;
  for (size_t i = 0; i < n.getInputSpatialDimensions().size(); ++i) {
    Window window;
    window.image = tensorTypeOf(op.getLhs()).getDimSize(n.getInputSpatialDimensions()[i]);
    window.size = tensorTypeOf(op.getRhs()).getDimSize(n.getKernelSpatialDimensions()[i]);
    window.result = tensorTypeOf(op.getResult()).getDimSize(n.getOutputSpatialDimensions()[i]);
    if (!padding.empty()) {
      window.low = padding[2 * i];
      window.high = padding[2 * i + 1];
    }
    window.stride = entry(op.getWindowStrides(), i);
    window.imageDilation = entry(op.getLhsDilation(), i);
    window.dilation = entry(op.getRhsDilation(), i);
    window.isReversed = op.getWindowReversal() && (*op.getWindowReversal())[i];
    windows.push_back(window);
  }
  return windows;
}

// Reversing the kernel's windows before is reversing them within.
mlir::Value withoutReversal(shlo::ConvolutionOp op, llvm::SmallVector<Window>& windows) {
  DimsRef spatial = op.getDimensionNumbers().getKernelSpatialDimensions();
  mlir::Value rhs = op.getRhs();
  while (auto reverse = rhs.getDefiningOp<shlo::ReverseOp>()) {
    DimsRef dims = reverse.getDimensions();
    if (llvm::any_of(dims, [&](int64_t dim) { return !llvm::is_contained(spatial, dim); })) break;
    for (size_t i = 0; i < windows.size(); ++i) {
      if (llvm::is_contained(dims, spatial[i])) windows[i].isReversed = !windows[i].isReversed;
    }
    rhs = reverse.getOperand();
  }
  return rhs;
}

// What to add to an image on both sides besides equal padding, so that windows end where it ends.
void padEqually(DnnAxis& axis, int64_t low, std::pair<int64_t, int64_t>& pad) {
  axis.padding = low;
  if (axis.isConsistent()) return;
  int64_t extent = (axis.result - 1) * axis.stride + (axis.window - 1) * axis.dilation + 1;
  int64_t high = extent - axis.image - low;
  axis.padding = std::max<int64_t>(0, std::min(low, high));
  pad = {low - axis.padding, high - axis.padding};
  axis.image = extent - 2 * axis.padding;
}

std::optional<DnnType> dnnTypeOf(mlir::Type type) {
  if (type.isF32()) return DnnType::kF32;
  if (type.isF16()) return DnnType::kF16;
  if (type.isBF16()) return DnnType::kBf16;
  return std::nullopt;
}

Status checkTypes(shlo::ConvolutionOp op) {
  for (mlir::Value value : {op.getLhs(), op.getRhs(), op.getResult()}) {
    auto type = llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
    if (!type || !type.hasStaticShape()) return unimplemented("a shape is not static");
    if (type.getElementType() != tensorTypeOf(op.getLhs()).getElementType() ||
        !dnnTypeOf(type.getElementType())) {
      return unimplemented("operands and result are not all f32, bf16 or f16");
    }
    for (int64_t size : type.getShape()) {
      if (size < 1 || size >= kMaxSize) return unimplemented("a dimension is empty or very large");
    }
  }
  return {};
}

Status checkWindows(const llvm::SmallVector<Window>& windows) {
  if (windows.empty() || windows.size() > kMaxDnnAxes) {
    return unimplemented("it has ", windows.size(), " spatial dimensions, not one to three");
  }
  for (const Window& window : windows) {
    for (int64_t number :
         {window.low, window.high, window.stride, window.imageDilation, window.dilation}) {
      if (number <= -kMaxSize || number >= kMaxSize) return unimplemented("a window is very large");
    }
  }
  return {};
}

// Whether windows are larger than what they are moved over: so they are if they were the result of
// the convolution whose gradient this is, and hardly ever else.
bool looksLikeKernelGradient(const llvm::SmallVector<Window>& windows) {
  double sizes = 1, results = 1;
  for (const Window& window : windows) {
    sizes *= static_cast<double>(window.size);
    results *= static_cast<double>(window.result);
  }
  return sizes > results;
}

// Where the features of images and results are.
enum class Layout { kAsTheyLie, kLast, kFirst };

bool isFeaturesFirst(int64_t outer, int64_t inner, DimsRef spatial) {
  return outer == 0 && inner == 1 && llvm::is_sorted(spatial);
}

Dims orderOf(int64_t outer, int64_t inner, DimsRef spatial, bool isChannelsLast) {
  Dims order{outer};
  if (!isChannelsLast) order.push_back(inner);
  order.append(spatial.begin(), spatial.end());
  if (isChannelsLast) order.push_back(inner);
  return order;
}

class Fitting {
 public:
  // Arrays whose order is neither of both have features last.
  Fitting(shlo::ConvolutionOp op, bool allowsTf32, Layout layout = Layout::kAsTheyLie)
      : op_(op), n_(op.getDimensionNumbers()), allowsTf32_(allowsTf32), layout_(layout) {}

  StatusOr<Fit> fit() {
    ISTHMUS_RETURN_IF_ERROR(checkTypes(op_));
    windows_ = windowsOf(op_);
    ISTHMUS_RETURN_IF_ERROR(checkWindows(windows_));
    fit_.rhs = withoutReversal(op_, windows_);
    ISTHMUS_RETURN_IF_ERROR(readDirections());
    fit_.pads.resize(windows_.size());
    fit_.skipped.resize(windows_.size());
    for (const Window& window : windows_) {
      fit_.reversal.push_back(window.isReversed);
      fit_.resultSizes.push_back(window.result);
    }
    c_.type = *dnnTypeOf(tensorTypeOf(op_.getLhs()).getElementType());
    c_.isTf32 = allowsTf32_ && c_.type == DnnType::kF32 && hasDefaultPrecision(op_);
    ISTHMUS_RETURN_IF_ERROR(choose());
    order();
    if (!isValid(c_)) return unimplemented("its numbers are not what cuDNN has names for");
    return std::move(fit_);
  }

 private:
  // cuDNN reverses windows in all dimensions, or in none.
  Status readDirections() {
    for (const Window& window : windows_) {
      if (window.size > 1) (window.isReversed ? isReversed_ : isAsIs_) = true;
      dilatesImage_ |= window.imageDilation > 1;
      hasStride_ |= window.stride > 1;
    }
    if (isReversed_ && isAsIs_) {
      return unimplemented("windows are reversed in some dimensions only");
    }
    return {};
  }

  Status choose() {
    const int64_t featureGroups = static_cast<int64_t>(op_.getFeatureGroupCount());
    const int64_t batchGroups = static_cast<int64_t>(op_.getBatchGroupCount());
    if (dilatesImage_) {
      if (featureGroups != 1 || batchGroups != 1) {
        return unimplemented("the image is dilated, and there are groups");
      }
      if (hasStride_) return unimplemented("the image is dilated, and windows have strides");
      return asDataGradient();
    }
    if (batchGroups > 1) {
      if (isReversed_) return unimplemented("windows are reversed, and there are batch groups");
      c_.groups = batchGroups;
      asKernelGradient();
      return {};
    }
    if (featureGroups == 1 && !hasStride_ && isReversed_) return asDataGradient();
    if (featureGroups == 1 && !isReversed_ && looksLikeKernelGradient(windows_)) {
      asKernelGradient();
      return {};
    }
    c_.groups = featureGroups;
    asForward();
    return {};
  }

  void asForward() {
    c_.kind = DnnKind::kForward;
    c_.isFlipped = isReversed_;
    c_.batch = tensorTypeOf(op_.getLhs()).getDimSize(n_.getInputBatchDimension());
    c_.inputs = tensorTypeOf(op_.getLhs()).getDimSize(n_.getInputFeatureDimension());
    c_.outputs = tensorTypeOf(op_.getResult()).getDimSize(n_.getOutputFeatureDimension());
    for (auto [window, pad] : llvm::zip_equal(windows_, fit_.pads)) {
      DnnAxis axis{window.image, window.size, window.result, 0, window.stride, window.dilation};
      padEqually(axis, window.low, pad);
      c_.axes.push_back(axis);
    }
  }

  // The window is the result's gradient, and its dilation the stride.
  void asKernelGradient() {
    c_.kind = DnnKind::kBackwardFilter;
    c_.batch = tensorTypeOf(op_.getLhs()).getDimSize(n_.getInputFeatureDimension());
    c_.inputs = tensorTypeOf(op_.getLhs()).getDimSize(n_.getInputBatchDimension());
    c_.outputs = tensorTypeOf(op_.getResult()).getDimSize(n_.getOutputFeatureDimension());
    for (auto [window, pad] : llvm::zip_equal(windows_, fit_.pads)) {
      DnnAxis axis{window.image, window.result, window.size, 0, window.dilation, window.stride};
      padEqually(axis, window.low, pad);
      c_.axes.push_back(axis);
    }
  }

  // The dilation of the image, which is the result's gradient, is the stride.
  Status asDataGradient() {
    c_.kind = DnnKind::kBackwardData;
    c_.isFlipped = isAsIs_;
    c_.batch = tensorTypeOf(op_.getLhs()).getDimSize(n_.getInputBatchDimension());
    c_.inputs = tensorTypeOf(op_.getResult()).getDimSize(n_.getOutputFeatureDimension());
    c_.outputs = tensorTypeOf(op_.getLhs()).getDimSize(n_.getInputFeatureDimension());
    for (size_t i = 0; i < windows_.size(); ++i) {
      const Window& window = windows_[i];
      const int64_t reach = (window.size - 1) * window.dilation;
      int64_t before = reach - window.low, after = reach - window.high;
      int64_t rows = window.image;
      if (window.imageDilation == 1) {
        // What is padded by more than a window reaches is as well padded before.
        fit_.pads[i] = {std::max<int64_t>(0, -before), std::max<int64_t>(0, -after)};
        rows += fit_.pads[i].first + fit_.pads[i].second;
        before = std::max<int64_t>(0, before);
        after = std::max<int64_t>(0, after);
      }
      DnnAxis axis{window.result, window.size, rows, before, window.imageDilation, window.dilation};
      if (!axis.isConsistent()) {
        axis.padding = std::min(before, after);
        if (axis.padding < 0) return unimplemented("the gradient is larger than what it is of");
        axis.image = (rows - 1) * axis.stride + reach + 1 - 2 * axis.padding;
        fit_.skipped[i] = before - axis.padding;
      }
      fit_.resultSizes[i] = axis.image;
      c_.axes.push_back(axis);
    }
    return {};
  }

  void order() {
    struct Array {
      int64_t outer, inner;
      DimsRef spatial;
    };
    const bool ofKernel = c_.kind == DnnKind::kBackwardFilter;
    const bool byKernel = c_.kind == DnnKind::kBackwardData;
    Array lhs{n_.getInputBatchDimension(), n_.getInputFeatureDimension(),
              n_.getInputSpatialDimensions()};
    Array rhs{n_.getKernelOutputFeatureDimension(), n_.getKernelInputFeatureDimension(),
              n_.getKernelSpatialDimensions()};
    Array result{n_.getOutputBatchDimension(), n_.getOutputFeatureDimension(),
                 n_.getOutputSpatialDimensions()};
    if (ofKernel) std::swap(lhs.outer, lhs.inner);
    if (ofKernel || byKernel) std::swap(rhs.outer, rhs.inner);
    if (ofKernel) std::swap(result.outer, result.inner);
    // The two that are images decide.
    const Array& other = ofKernel ? rhs : result;
    c_.isChannelsLast = !isFeaturesFirst(lhs.outer, lhs.inner, lhs.spatial) ||
                        !isFeaturesFirst(other.outer, other.inner, other.spatial);
    if (layout_ != Layout::kAsTheyLie) c_.isChannelsLast = layout_ == Layout::kLast;
    auto orderOfArray = [&](const Array& array) {
      return orderOf(array.outer, array.inner, array.spatial, c_.isChannelsLast);
    };
    fit_.lhsOrder = orderOfArray(lhs);
    fit_.rhsOrder = orderOfArray(rhs);
    fit_.resultOrder = orderOfArray(result);
  }

  shlo::ConvolutionOp op_;
  shlo::ConvDimensionNumbersAttr n_;
  bool allowsTf32_;
  Layout layout_;
  llvm::SmallVector<Window> windows_;
  bool dilatesImage_ = false, hasStride_ = false;
  bool isReversed_ = false, isAsIs_ = false;  // in dimensions in which that makes a difference
  Fit fit_;
  DnnConvolution& c_ = fit_.convolution;
};

mlir::Value transposed(mlir::OpBuilder& b, mlir::Location location, mlir::Value value,
                       DimsRef order) {
  if (isIdentity(order)) return value;
  if (auto inner = value.getDefiningOp<shlo::TransposeOp>()) {
    Dims both;
    for (int64_t dim : order) both.push_back(inner.getPermutation()[dim]);
    return transposed(b, location, inner.getOperand(), both);
  }
  return shlo::TransposeOp::create(b, location, permuted(value.getType(), order), value,
                                   b.getDenseI64ArrayAttr(order));
}

mlir::Value padded(mlir::OpBuilder& b, mlir::Location location, mlir::Value value, const Fit& fit,
                   DimsRef spatial) {
  if (llvm::all_of(fit.pads, [](const auto& pad) { return pad.first == 0 && pad.second == 0; })) {
    return value;
  }
  mlir::RankedTensorType type = tensorTypeOf(value);
  Dims shape(type.getShape());
  Dims low(shape.size(), 0), high(shape.size(), 0), interior(shape.size(), 0);
  for (size_t i = 0; i < spatial.size(); ++i) {
    low[spatial[i]] = fit.pads[i].first;
    high[spatial[i]] = fit.pads[i].second;
    shape[spatial[i]] += low[spatial[i]] + high[spatial[i]];
  }
  auto scalar = mlir::RankedTensorType::get({}, type.getElementType());
  mlir::Value zero = shlo::ConstantOp::create(
      b, location, scalar, llvm::cast<mlir::ElementsAttr>(b.getZeroAttr(scalar)));
  return shlo::PadOp::create(b, location, type.clone(shape), value, zero,
                             b.getDenseI64ArrayAttr(low), b.getDenseI64ArrayAttr(high),
                             b.getDenseI64ArrayAttr(interior));
}

Dims pick(DimsRef list, DimsRef places) {
  Dims picked;
  for (int64_t place : places) picked.push_back(list[place]);
  return picked;
}

void rewrite(shlo::ConvolutionOp op, const Fit& fit) {
  mlir::OpBuilder b(op);
  mlir::Location location = op.getLoc();
  shlo::ConvDimensionNumbersAttr n = op.getDimensionNumbers();
  const Dims l = inverseOf(fit.lhsOrder), r = inverseOf(fit.rhsOrder),
             o = inverseOf(fit.resultOrder);
  mlir::Value lhs = padded(b, location, op.getLhs(), fit, n.getInputSpatialDimensions());
  lhs = transposed(b, location, lhs, fit.lhsOrder);
  mlir::Value rhs = transposed(b, location, fit.rhs, fit.rhsOrder);

  mlir::RankedTensorType type = tensorTypeOf(op.getResult());
  Dims shape(type.getShape()), padding;
  for (size_t i = 0; i < fit.convolution.axes.size(); ++i) {
    const DnnAxis& axis = fit.convolution.axes[i];
    shape[n.getOutputSpatialDimensions()[i]] = fit.resultSizes[i];
    if (fit.changesSizes(op)) {
      bool isData = fit.convolution.kind == DnnKind::kBackwardData;
      int64_t low = isData ? (axis.window - 1) * axis.dilation - axis.padding : axis.padding;
      // What is between the last window and the end of the image.
      int64_t rest = axis.image + 2 * axis.padding - (axis.window - 1) * axis.dilation - 1 -
                     (axis.result - 1) * axis.stride;
      padding.append({low, isData ? low + rest : axis.padding});
    }
  }
  auto convolution = llvm::cast<shlo::ConvolutionOp>(b.clone(*op));
  convolution.getLhsMutable().assign(lhs);
  convolution.getRhsMutable().assign(rhs);
  convolution.getResult().setType(permuted(type.clone(shape), fit.resultOrder));
  if (!padding.empty()) {
    auto pairs =
        mlir::RankedTensorType::get({static_cast<int64_t>(padding.size() / 2), 2}, b.getI64Type());
    convolution.setPaddingAttr(mlir::DenseIntElementsAttr::get(pairs, padding));
  }
  convolution.setWindowReversalAttr(mlir::DenseBoolArrayAttr::get(b.getContext(), fit.reversal));
  convolution.setDimensionNumbersAttr(shlo::ConvDimensionNumbersAttr::get(
      b.getContext(), l[n.getInputBatchDimension()], l[n.getInputFeatureDimension()],
      pick(l, n.getInputSpatialDimensions()), r[n.getKernelInputFeatureDimension()],
      r[n.getKernelOutputFeatureDimension()], pick(r, n.getKernelSpatialDimensions()),
      o[n.getOutputBatchDimension()], o[n.getOutputFeatureDimension()],
      pick(o, n.getOutputSpatialDimensions())));
  mlir::Value result = transposed(b, location, convolution.getResult(), o);
  if (tensorTypeOf(result) != type) {
    Dims starts(shape.size(), 0), ends(type.getShape()), strides(shape.size(), 1);
    for (size_t i = 0; i < fit.skipped.size(); ++i) {
      int64_t dim = n.getOutputSpatialDimensions()[i];
      starts[dim] = fit.skipped[i];
      ends[dim] += fit.skipped[i];
    }
    result = shlo::SliceOp::create(b, location, type, result, b.getDenseI64ArrayAttr(starts),
                                   b.getDenseI64ArrayAttr(ends), b.getDenseI64ArrayAttr(strides));
  }
  op.getResult().replaceAllUsesWith(result);
  op.erase();
}

}  // namespace

std::optional<DnnConvolution> dnnConvolutionOf(shlo::ConvolutionOp op, bool allowsTf32) {
  StatusOr<Fit> fit = Fitting(op, allowsTf32).fit();
  if (!fit.ok() || !fit->isInPlace(op)) return std::nullopt;
  return fit->convolution;
}

void arrangeConvolutions(mlir::ModuleOp module, bool allowsTf32, const AcceptsConvolution& accepts,
                         const std::function<bool(shlo::ConvolutionOp)>& isLeftOut) {
  llvm::SmallVector<shlo::ConvolutionOp> ops;
  module.walk([&](shlo::ConvolutionOp op) { ops.push_back(op); });
  for (shlo::ConvolutionOp op : ops) {
    if (isLeftOut(op)) continue;
    StatusOr<Fit> fit = Fitting(op, allowsTf32).fit();
    Status why = fit.status();
    const bool isWorthACall = fit.ok() && fit->convolution.products() >= kMinProducts;
    if (fit.ok() && !isWorthACall) {
      why = unimplemented("it is too little work for a call");
    }
    if (why.ok()) why = accepts(fit->convolution);
    if (fit.ok() && why.code() == StatusCode::kUnimplemented && isWorthACall) {
      // Two copies of images are less than what kernels without tensor cores take.
      StatusOr<Fit> other =
          Fitting(op, allowsTf32, fit->convolution.isChannelsLast ? Layout::kFirst : Layout::kLast)
              .fit();
      if (other.ok() && accepts(other->convolution).ok()) {
        fit = std::move(other);
        why = Status();
      }
    }
    if (why.ok()) {
      if (!fit->isInPlace(op)) rewrite(op, *fit);
    } else if (logsCompilation()) {
      logCompilation(describe(op) + " is not cuDNN's: " + std::string(why.message()));
    }
  }
}

}  // namespace isthmus::cuda

// Implements the checks that several rules share.
#include "compiler/dialect/rules/rules.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/TypeUtilities.h"

namespace isthmus::shlo {

using mlir::failed;
using mlir::failure;
using mlir::LogicalResult;
using mlir::success;

std::string text(Dims dims) {
  std::string result;
  llvm::raw_string_ostream out(result);
  out << '[';
  llvm::interleaveComma(dims, out, [&](int64_t dim) {
    if (isDynamic(dim)) {
      out << '?';
    } else {
      out << dim;
    }
  });
  out << ']';
  return result;
}

LogicalResult Rules::inRange(llvm::StringRef rule, llvm::StringRef name, int64_t value, int64_t low,
                             int64_t high) const {
  if (value >= low && value < high) return success();
  return violates(rule, name, " is ", value, ", expected it in [", low, ", ", high, ")");
}

LogicalResult Rules::allInRange(llvm::StringRef rule, llvm::StringRef name, Dims values,
                                int64_t low, int64_t high) const {
  for (int64_t value : values) {
    if (value < low || value >= high) {
      return violates(rule, name, " are ", text(values), ", expected all in [", low, ", ", high,
                      ")");
    }
  }
  return success();
}

LogicalResult Rules::unique(llvm::StringRef rule, llvm::StringRef name, Dims values) const {
  llvm::SmallVector<int64_t> ordered(values);
  llvm::sort(ordered);
  if (std::adjacent_find(ordered.begin(), ordered.end()) == ordered.end()) return success();
  return violates(rule, name, " are ", text(values), ", expected no number twice");
}

LogicalResult Rules::sorted(llvm::StringRef rule, llvm::StringRef name, Dims values) const {
  if (llvm::is_sorted(values)) return success();
  return violates(rule, name, " are ", text(values), ", expected them in order");
}

LogicalResult Rules::size(llvm::StringRef rule, llvm::StringRef name, size_t got,
                          size_t expected) const {
  if (got == expected) return success();
  return violates(rule, name, " has ", got, " elements, expected ", expected);
}

LogicalResult Rules::positive(llvm::StringRef rule, llvm::StringRef name, Dims values) const {
  if (llvm::all_of(values, [](int64_t value) { return value > 0; })) return success();
  return violates(rule, name, " are ", text(values), ", expected positive numbers");
}

LogicalResult Rules::sameShapes(llvm::StringRef rule, mlir::TypeRange types) const {
  for (mlir::Type type : types) {
    auto first = llvm::dyn_cast<mlir::RankedTensorType>(types.front());
    auto other = llvm::dyn_cast<mlir::RankedTensorType>(type);
    if (!first || !other || !agree(first.getShape(), other.getShape())) {
      return violates(rule, "types are ", types.front(), " and ", type,
                      ", expected the same shape");
    }
  }
  return success();
}

bool agree(Dims a, Dims b) {
  return a.size() == b.size() && llvm::all_of(llvm::zip(a, b), [](auto pair) {
           return agree(std::get<0>(pair), std::get<1>(pair));
         });
}

Dims boundsOf(mlir::RankedTensorType type) {
  auto extensions = llvm::dyn_cast_or_null<TypeExtensionsAttr>(type.getEncoding());
  return extensions ? extensions.getBounds() : Dims();
}

mlir::RankedTensorType boundedType(Dims sizes, mlir::Type elementType, Dims bounds) {
  mlir::Attribute encoding;
  if (!llvm::all_of(bounds, mlir::ShapedType::isDynamic)) {
    encoding = TypeExtensionsAttr::get(elementType.getContext(), bounds);
  }
  return mlir::RankedTensorType::get(sizes, elementType, encoding);
}

bool isPromotable(mlir::Type from, mlir::Type to) {
  if (auto a = llvm::dyn_cast<mlir::IntegerType>(from)) {
    auto b = llvm::dyn_cast<mlir::IntegerType>(to);
    if (!b || a.getSignedness() != b.getSignedness()) return false;
    // A bool is no number.
    if (a.getWidth() == 1 || b.getWidth() == 1) return a == b;
    return a.getWidth() <= b.getWidth();
  }
  if (auto a = llvm::dyn_cast<mlir::FloatType>(from)) {
    auto b = llvm::dyn_cast<mlir::FloatType>(to);
    return b && a.getWidth() <= b.getWidth();
  }
  if (auto a = llvm::dyn_cast<mlir::ComplexType>(from)) {
    auto b = llvm::dyn_cast<mlir::ComplexType>(to);
    return b && isPromotable(a.getElementType(), b.getElementType());
  }
  auto a = llvm::dyn_cast<mlir::quant::QuantizedType>(from);
  auto b = llvm::dyn_cast<mlir::quant::QuantizedType>(to);
  return a && b && a.getExpressedType() == b.getExpressedType() &&
         a.getStorageTypeIntegralWidth() <= b.getStorageTypeIntegralWidth();
}

bool sameBaseline(mlir::Type a, mlir::Type b) {
  return areCompatible(mlir::RankedTensorType::get({}, mlir::getElementTypeOrSelf(a)),
                       mlir::RankedTensorType::get({}, mlir::getElementTypeOrSelf(b)));
}

mlir::Type expressedType(mlir::Type elementType) {
  auto quantized = llvm::dyn_cast<mlir::quant::QuantizedType>(elementType);
  return quantized ? quantized.getExpressedType() : elementType;
}

bool isQuantized(mlir::Type elementType) {
  return llvm::isa<mlir::quant::QuantizedType>(elementType);
}

bool isPerAxisQuantized(mlir::Type elementType) {
  return llvm::isa<mlir::quant::UniformQuantizedPerAxisType>(elementType);
}

LogicalResult verifySameScales(const Rules& rules, llvm::StringRef rule,
                               mlir::RankedTensorType from, mlir::RankedTensorType to,
                               bool perAxisMayDiffer) {
  mlir::Type a = from.getElementType(), b = to.getElementType();
  if (!isQuantized(a) && !isQuantized(b)) return success();
  bool same = sameBaseline(a, b);
  if (auto q = llvm::dyn_cast<mlir::quant::UniformQuantizedType>(a); q && same) {
    auto r = llvm::cast<mlir::quant::UniformQuantizedType>(b);
    same = q.getScale() == r.getScale() && q.getZeroPoint() == r.getZeroPoint();
  }
  if (auto q = llvm::dyn_cast<mlir::quant::UniformQuantizedPerAxisType>(a);
      q && same && !perAxisMayDiffer) {
    auto r = llvm::cast<mlir::quant::UniformQuantizedPerAxisType>(b);
    same = q.getScales() == r.getScales() && q.getZeroPoints() == r.getZeroPoints();
  }
  if (same) return success();
  return rules.violates(rule, "element types are ", a, " and ", b,
                        ", expected the same storage, scales and zero points");
}

std::optional<int64_t> product(Dims sizes) {
  if (llvm::any_of(sizes, isDynamic)) return mlir::ShapedType::kDynamic;
  // Nothing is as many as nothing, however large the other sizes are.
  if (llvm::is_contained(sizes, 0)) return 0;
  int64_t result = 1;
  for (int64_t size : sizes) {
    if (llvm::MulOverflow(result, size, result)) return std::nullopt;
  }
  return result;
}

ReturnOp returnOf(mlir::Region& region) {
  if (!region.hasOneBlock() || region.front().empty()) return {};
  return llvm::dyn_cast<ReturnOp>(region.front().back());
}

// ---- Reducers -----------------------------------------------------------------------------------

LogicalResult verifyReducer(const Rules& rules, llvm::StringRef rule, mlir::Region& region,
                            mlir::TypeRange inputs, mlir::TypeRange inits) {
  ReturnOp end = returnOf(region);
  if (!end) return rules.violates(rule, "the region has another end, expected stablehlo.return");
  size_t count = inputs.size();
  mlir::Block& block = region.front();
  if (block.getNumArguments() != 2 * count) {
    return rules.violates(rule, "the region takes ", block.getNumArguments(), " values, expected ",
                          2 * count);
  }
  if (end.getNumOperands() != count) {
    return rules.violates(rule, "the region gives ", end.getNumOperands(), " values, expected ",
                          count);
  }
  auto isScalar = [](mlir::Type type) {
    auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
    return tensor && tensor.getRank() == 0;
  };
  for (mlir::Type type : block.getArgumentTypes()) {
    if (!isScalar(type)) {
      return rules.violates(rule, "the region takes ", type, ", expected 0-dimensional tensors");
    }
  }
  for (size_t i = 0; i < count; ++i) {
    mlir::Type element = block.getArgument(i).getType();
    mlir::Type accumulator = block.getArgument(count + i).getType();
    mlir::Type result = end.getOperand(i).getType();
    if (!areCompatible(accumulator, result) || !areCompatible(element, accumulator)) {
      return rules.violates(rule, "the region takes ", element, " and ", accumulator, " and gives ",
                            result, ", expected the same type");
    }
    for (mlir::Type from : {inputs[i], inits[i]}) {
      if (!isPromotable(from, mlir::getElementTypeOrSelf(accumulator))) {
        return rules.violates(rule, "the region computes with ", accumulator, " and gets ", from,
                              ", expected a type that promotes to it");
      }
    }
  }
  return success();
}

llvm::SmallVector<mlir::Type> reducerElementTypes(mlir::Region& region) {
  llvm::SmallVector<mlir::Type> types;
  for (mlir::Type type : region.front().back().getOperandTypes()) {
    types.push_back(mlir::getElementTypeOrSelf(type));
  }
  return types;
}

// ---- Windows ------------------------------------------------------------------------------------

mlir::FailureOr<llvm::SmallVector<Window>> makeWindows(
    const Rules& rules, const WindowRules& labels, Dims sizes, Dims strides,
    std::optional<mlir::DenseIntElementsAttr> padding, Dims baseDilations, Dims windowDilations) {
  size_t rank = sizes.size();
  auto check = [&](llvm::StringRef label, llvm::StringRef positiveLabel, llvm::StringRef name,
                   Dims values) {
    if (values.empty()) return success();
    if (failed(rules.size(label, name, values.size(), rank))) return LogicalResult(failure());
    return rules.positive(positiveLabel, name, values);
  };
  if (failed(check(labels.strides, labels.positiveStrides, "window strides", strides)) ||
      failed(check(labels.baseDilations, labels.positiveBaseDilations, "base dilations",
                   baseDilations)) ||
      failed(check(labels.windowDilations, labels.positiveWindowDilations, "window dilations",
                   windowDilations))) {
    return failure();
  }
  for (int64_t size : sizes) {
    if (!isDynamic(size) && size <= 0) {
      return rules.violates(labels.positiveSize, "window dimensions are ", text(sizes),
                            ", expected positive numbers");
    }
  }
  llvm::SmallVector<int64_t> pads;
  if (padding) {
    mlir::ShapedType type = padding->getType();
    if (type.getRank() != 2 || type.getDimSize(0) != static_cast<int64_t>(rank) ||
        type.getDimSize(1) != 2) {
      return rules.violates(labels.padding, "padding has type ", type, ", expected tensor<", rank,
                            "x2xi64>");
    }
    llvm::append_range(pads, padding->getValues<int64_t>());
  }
  llvm::SmallVector<Window> windows(rank);
  for (size_t i = 0; i < rank; ++i) {
    windows[i].size = sizes[i];
    if (!strides.empty()) windows[i].stride = strides[i];
    if (!baseDilations.empty()) windows[i].baseDilation = baseDilations[i];
    if (!windowDilations.empty()) windows[i].windowDilation = windowDilations[i];
    if (padding) {
      windows[i].low = pads[2 * i];
      windows[i].high = pads[2 * i + 1];
    }
  }
  return windows;
}

mlir::FailureOr<int64_t> numWindows(const Rules& rules, llvm::StringRef rule, int64_t input,
                                    const Window& window) {
  if (isDynamic(input) || isDynamic(window.size)) return mlir::ShapedType::kDynamic;
  // (size - 1) * dilation + 1, or 0.
  auto dilate = [](int64_t size, int64_t dilation, int64_t& result) {
    if (size == 0) {
      result = 0;
      return true;
    }
    return !llvm::MulOverflow(size - 1, dilation, result) &&
           !llvm::AddOverflow<int64_t>(result, 1, result);
  };
  int64_t base, window_;
  if (!dilate(input, window.baseDilation, base) ||
      !dilate(window.size, window.windowDilation, window_) ||
      llvm::AddOverflow(base, window.low, base) || llvm::AddOverflow(base, window.high, base)) {
    return rules.violates(rule, "the extent of a window or of what it moves over overflows, ",
                          "expected it to fit 63 bits");
  }
  if (base <= 0 || window_ > base) return 0;
  return (base - window_) / window.stride + 1;
}

// ---- Communication ------------------------------------------------------------------------------

LogicalResult verifySourceTargetPairs(const Rules& rules,
                                      std::optional<mlir::DenseIntElementsAttr> pairs) {
  if (!pairs) return success();
  mlir::ShapedType type = pairs->getType();
  if (type.getRank() != 2 || type.getDimSize(1) != 2) {
    return rules.violates("c1", "source_target_pairs have type ", type,
                          ", expected tensor<Nx2xi64>");
  }
  llvm::SmallVector<int64_t> ids[2];
  for (auto [i, id] : llvm::enumerate(pairs->getValues<int64_t>())) {
    if (id < 0) {
      return rules.violates("c4", "source_target_pairs have the id ", id,
                            ", expected no negative one");
    }
    ids[i % 2].push_back(id);
  }
  if (failed(rules.unique("c2", "sources", ids[0]))) return failure();
  return rules.unique("c3", "targets", ids[1]);
}

}  // namespace isthmus::shlo

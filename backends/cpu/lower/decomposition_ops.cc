// Decompositions of matrices, which XLA's client library writes as custom calls, as library calls.
#include <algorithm>

#include "backends/cpu/kernels/linalg/decompositions.h"
#include "backends/cpu/lower/library_ops.h"
#include "compiler/cost/library_time.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/types/type_conversion.h"
#include "llvm/ADT/StringSwitch.h"

namespace isthmus::cpu {
namespace {

std::optional<Decomposition> decompositionOf(llvm::StringRef target) {
  return llvm::StringSwitch<std::optional<Decomposition>>(target)
      .Case("Qr", Decomposition::kQr)
      .Case("ProductOfElementaryHouseholderReflectors", Decomposition::kHouseholderProduct)
      .Case("LuDecomposition", Decomposition::kLu)
      .Case("Eigh", Decomposition::kEigh)
      .Default(std::nullopt);
}

// `batch` of a matrix's dimensions, then `inner` ones.
ArrayType arrayOf(ElementType type, const ArrayType& matrix, std::vector<int64_t> inner) {
  ArrayType array{type, {matrix.dims.begin(), matrix.dims.end() - 2}};
  array.dims.insert(array.dims.end(), inner.begin(), inner.end());
  return array;
}

// "lower,sorted,steps,tolerance": which triangle is read; ours are always sorted, and exact.
StatusOr<bool> readsLower(shlo::CustomCallOp call) {
  auto config = llvm::dyn_cast_or_null<mlir::StringAttr>(call.getBackendConfigAttr());
  llvm::StringRef text = config ? config.getValue().split(',').first : llvm::StringRef("1");
  if (text != "0" && text != "1") {
    return invalidArgument("backend_config begins with '", text.str(), "', expected 0 or 1");
  }
  return text == "1";
}

// The arrays that a decomposition takes and gives.
std::vector<ArrayType> expectedTypes(const DecompositionDescriptor& d, const ArrayType& a) {
  const ArrayType tau = arrayOf(a.elementType, a, {d.k});
  switch (d.kind) {
    case Decomposition::kQr:
      return {a, a, tau};
    case Decomposition::kHouseholderProduct:
      return {a, tau, a};
    case Decomposition::kLu:
      return {a, a, arrayOf(ElementType::kS32, a, {d.k}), arrayOf(ElementType::kS32, a, {d.m})};
    case Decomposition::kEigh:
      return {a, a, arrayOf(realTypeOf(a.elementType), a, {d.n})};
    case Decomposition::kSvd:  // no such call
      return {};
  }
  return {};
}

}  // namespace

bool isDecomposition(std::string_view target) { return decompositionOf(target).has_value(); }

StatusOr<OperationCode> lowerDecomposition(mlir::Operation* op, LibraryContext& context) {
  auto call = llvm::cast<shlo::CustomCallOp>(op);
  DecompositionDescriptor d{};
  d.kind = *decompositionOf(call.getCallTargetName());
  std::vector<ArrayType> types;
  for (mlir::TypeRange range :
       {mlir::TypeRange(op->getOperandTypes()), mlir::TypeRange(op->getResultTypes())}) {
    for (mlir::Type type : range) {
      ISTHMUS_ASSIGN_OR_RETURN(ArrayType array, toArrayType(type));
      types.push_back(std::move(array));
    }
  }
  auto wrong = [&] {
    return invalidArgument("operands and results do not have the types of this decomposition");
  };
  if (op->getNumOperands() == 0 || types[0].dims.size() < 2) return wrong();
  const ArrayType& a = types[0];
  d.type = a.elementType;
  if (realTypeOf(d.type) != ElementType::kF32 && realTypeOf(d.type) != ElementType::kF64) {
    return unimplemented("another element type than f32, f64, complex<f32> or complex<f64>");
  }
  d.m = a.dims[a.dims.size() - 2];
  d.n = a.dims.back();
  d.k = std::min(d.m, d.n);
  d.batch = 1;
  for (size_t i = 0; i + 2 < a.dims.size(); ++i) d.batch *= a.dims[i];
  if (d.kind == Decomposition::kHouseholderProduct) {
    if (types.size() < 2 || types[1].dims.empty()) return wrong();
    d.k = types[1].dims.back();
    if (d.k > d.n || d.n > d.m) return wrong();
  }
  if (d.kind == Decomposition::kEigh) {
    if (d.m != d.n) return wrong();
    ISTHMUS_ASSIGN_OR_RETURN(d.lower, readsLower(call));
  }
  const size_t numOperands = d.kind == Decomposition::kHouseholderProduct ? 2 : 1;
  if (op->getNumOperands() != numOperands || types != expectedTypes(d, a)) return wrong();

  OperationCode code;
  code.libraryFunction = "isthmus_rt_decompose";
  code.descriptor = descriptorBytes(d);
  const double factor = d.kind == Decomposition::kEigh ? 9 : 2;
  code.estimatedNs =
      decompositionNs(context.target, factor * static_cast<double>(a.numElements()) *
                                          static_cast<double>(std::max<int64_t>(d.k, 1)));
  return code;
}

}  // namespace isthmus::cpu

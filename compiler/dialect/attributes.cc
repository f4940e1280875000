// Text and invariants of StableHLO's attributes and types.
#include "compiler/dialect/assembly/fields.h"
#include "compiler/dialect/dialect.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

#include "ops/enums.cc.inc"

#define GET_TYPEDEF_CLASSES
#include "ops/types.cc.inc"
#define GET_ATTRDEF_CLASSES
#include "ops/attributes.cc.inc"

namespace isthmus::shlo {

using mlir::AsmParser;
using mlir::AsmPrinter;
using mlir::failed;
using mlir::failure;
using mlir::ParseResult;
using mlir::succeeded;
using mlir::success;

void ShloDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ops/attributes.cc.inc"
      >();
}

void ShloDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "ops/types.cc.inc"
      >();
}

mlir::Attribute ShloDialect::parseAttribute(mlir::DialectAsmParser& parser, mlir::Type type) const {
  llvm::StringRef mnemonic;
  mlir::Attribute attribute;
  mlir::OptionalParseResult parsed = generatedAttributeParser(parser, &mnemonic, type, attribute);
  if (parsed.has_value()) return attribute;
  if (mnemonic == "bounds") {
    llvm::SmallVector<int64_t> bounds;
    auto parseBound = [&]() -> ParseResult {
      bounds.push_back(mlir::ShapedType::kDynamic);
      if (succeeded(parser.parseOptionalQuestion())) return success();
      return parser.parseInteger(bounds.back());
    };
    if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, parseBound)) return {};
    return TypeExtensionsAttr::get(parser.getContext(), bounds);
  }
  parser.emitError(parser.getNameLoc()) << "unknown attribute #stablehlo." << mnemonic;
  return {};
}

void ShloDialect::printAttribute(mlir::Attribute attribute,
                                 mlir::DialectAsmPrinter& printer) const {
  if (auto extensions = llvm::dyn_cast<TypeExtensionsAttr>(attribute)) {
    printer << "bounds<";
    llvm::interleaveComma(extensions.getBounds(), printer, [&](int64_t bound) {
      if (mlir::ShapedType::isDynamic(bound)) {
        printer << '?';
      } else {
        printer << bound;
      }
    });
    printer << '>';
    return;
  }
  (void)generatedAttributePrinter(attribute, printer);
}

// ---- Bounds -------------------------------------------------------------------------------------

mlir::Attribute TypeExtensionsAttr::parse(AsmParser& parser, mlir::Type) {
  if (parser.parseLess() || parser.parseKeyword("bounds") || parser.parseEqual()) return {};
  mlir::FailureOr<llvm::SmallVector<int64_t>> bounds = parseDimSizes(parser);
  if (failed(bounds) || parser.parseGreater()) return {};
  return TypeExtensionsAttr::get(parser.getContext(), *bounds);
}

void TypeExtensionsAttr::print(AsmPrinter& printer) const {
  printer << "<bounds = ";
  printDimSizes(printer, getBounds());
  printer << '>';
}

mlir::LogicalResult TypeExtensionsAttr::verifyEncoding(
    mlir::ArrayRef<int64_t> shape, mlir::Type elementType,
    mlir::function_ref<mlir::InFlightDiagnostic()> emitError) const {
  if (getBounds().size() != shape.size()) {
    return emitError() << "a tensor of rank " << shape.size() << " has " << getBounds().size()
                       << " bounds, expected one for each dimension";
  }
  for (auto [dim, pair] : llvm::enumerate(llvm::zip(shape, getBounds()))) {
    auto [size, bound] = pair;
    if (!mlir::ShapedType::isDynamic(size) && !mlir::ShapedType::isDynamic(bound)) {
      return emitError() << "dimension " << dim << " of static size " << size << " has a bound of "
                         << bound << ", expected none (?)";
    }
  }
  return success();
}

// ---- Dimension numbers
// ---------------------------------------------------------------------------

mlir::Attribute DotDimensionNumbersAttr::parse(AsmParser& parser, mlir::Type) {
  Field f[] = {listField("lhs_batching_dimensions"), listField("rhs_batching_dimensions"),
               listField("lhs_contracting_dimensions"), listField("rhs_contracting_dimensions")};
  if (parseFields(parser, f)) return {};
  return get(parser.getContext(), f[0].dims, f[1].dims, f[2].dims, f[3].dims);
}

void DotDimensionNumbersAttr::print(AsmPrinter& printer) const {
  printFields(printer, {listField("lhs_batching_dimensions", getLhsBatchingDimensions()),
                        listField("rhs_batching_dimensions", getRhsBatchingDimensions()),
                        listField("lhs_contracting_dimensions", getLhsContractingDimensions()),
                        listField("rhs_contracting_dimensions", getRhsContractingDimensions())});
}

mlir::Attribute GatherDimensionNumbersAttr::parse(AsmParser& parser, mlir::Type) {
  Field f[] = {listField("offset_dims"),           listField("collapsed_slice_dims"),
               listField("operand_batching_dims"), listField("start_indices_batching_dims"),
               listField("start_index_map"),       scalarField("index_vector_dim")};
  if (parseFields(parser, f)) return {};
  return get(parser.getContext(), f[0].dims, f[1].dims, f[2].dims, f[3].dims, f[4].dims,
             f[5].scalar);
}

void GatherDimensionNumbersAttr::print(AsmPrinter& printer) const {
  printFields(printer, {listField("offset_dims", getOffsetDims()),
                        listField("collapsed_slice_dims", getCollapsedSliceDims()),
                        listField("operand_batching_dims", getOperandBatchingDims()),
                        listField("start_indices_batching_dims", getStartIndicesBatchingDims()),
                        listField("start_index_map", getStartIndexMap()),
                        scalarField("index_vector_dim", getIndexVectorDim())});
}

mlir::Attribute ScatterDimensionNumbersAttr::parse(AsmParser& parser, mlir::Type) {
  Field f[] = {
      listField("update_window_dims"),           listField("inserted_window_dims"),
      listField("input_batching_dims"),          listField("scatter_indices_batching_dims"),
      listField("scatter_dims_to_operand_dims"), scalarField("index_vector_dim")};
  if (parseFields(parser, f)) return {};
  return get(parser.getContext(), f[0].dims, f[1].dims, f[2].dims, f[3].dims, f[4].dims,
             f[5].scalar);
}

void ScatterDimensionNumbersAttr::print(AsmPrinter& printer) const {
  printFields(printer, {listField("update_window_dims", getUpdateWindowDims()),
                        listField("inserted_window_dims", getInsertedWindowDims()),
                        listField("input_batching_dims", getInputBatchingDims()),
                        listField("scatter_indices_batching_dims", getScatterIndicesBatchingDims()),
                        listField("scatter_dims_to_operand_dims", getScatterDimsToOperandDims()),
                        scalarField("index_vector_dim", getIndexVectorDim())});
}

// ---- Accuracy -----------------------------------------------------------------------------------

ResultAccuracyAttr ResultAccuracyAttr::get(mlir::MLIRContext* context, ResultAccuracyMode mode) {
  return get(context, llvm::APFloat(0.0), llvm::APFloat(0.0), 0,
             ResultAccuracyModeAttr::get(context, mode));
}

ResultAccuracyAttr ResultAccuracyAttr::get(mlir::MLIRContext* context, llvm::APFloat atol,
                                           llvm::APFloat rtol, int64_t ulps) {
  return get(context, atol, rtol, ulps,
             ResultAccuracyModeAttr::get(context, ResultAccuracyMode::TOLERANCE));
}

mlir::Attribute ResultAccuracyAttr::parse(AsmParser& parser, mlir::Type) {
  double atol = 0, rtol = 0;
  int64_t ulps = 0;
  ResultAccuracyModeAttr mode;
  if (parser.parseLess()) return {};
  auto parseTolerance = [&](llvm::StringRef name, double& value) {
    if (failed(parser.parseOptionalKeyword(name))) return ParseResult(success());
    return ParseResult(
        failure(parser.parseEqual() || parser.parseFloat(value) || parser.parseComma()));
  };
  if (parseTolerance("atol", atol) || parseTolerance("rtol", rtol)) return {};
  if (succeeded(parser.parseOptionalKeyword("ulps")) &&
      (parser.parseEqual() || parser.parseInteger(ulps) || parser.parseComma())) {
    return {};
  }
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword("mode") || parser.parseEqual() || parser.parseAttribute(mode) ||
      parser.parseGreater()) {
    return {};
  }
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(), llvm::APFloat(atol),
                    llvm::APFloat(rtol), ulps, mode);
}

void ResultAccuracyAttr::print(AsmPrinter& printer) const {
  auto printTolerance = [&](llvm::StringRef name, const llvm::APFloat& value) {
    if (value.isZero()) return;
    printer << name << " = ";
    printer.printFloat(value);
    printer << ", ";
  };
  printer << '<';
  printTolerance("atol", getAtol());
  printTolerance("rtol", getRtol());
  if (getUlps() != 0) printer << "ulps = " << getUlps() << ", ";
  printer << "mode = ";
  printer.printAttribute(getMode());
  printer << '>';
}

mlir::LogicalResult ResultAccuracyAttr::verify(
    mlir::function_ref<mlir::InFlightDiagnostic()> emitError, llvm::APFloat atol,
    llvm::APFloat rtol, int64_t ulps, ResultAccuracyModeAttr mode) {
  if (atol.isNegative() || rtol.isNegative() || ulps < 0) {
    return emitError() << "a result accuracy has a negative tolerance";
  }
  bool hasTolerance = !atol.isZero() || !rtol.isZero() || ulps != 0;
  if (hasTolerance && mode.getValue() != ResultAccuracyMode::TOLERANCE) {
    return emitError() << "a result accuracy of mode "
                       << stringifyResultAccuracyMode(mode.getValue())
                       << " has a tolerance, expected mode TOLERANCE";
  }
  return success();
}

// ---- Algorithms and replica groups --------------------------------------------------------------

mlir::LogicalResult DotAlgorithmAttr::verify(
    mlir::function_ref<mlir::InFlightDiagnostic()> emitError, mlir::Type lhsPrecisionType,
    mlir::Type rhsPrecisionType, mlir::Type accumulationType, int64_t lhsComponentCount,
    int64_t rhsComponentCount, int64_t numPrimitiveOperations, bool) {
  for (mlir::Type type : {lhsPrecisionType, rhsPrecisionType, accumulationType}) {
    if (!llvm::isa<mlir::FloatType>(type)) {
      return emitError() << "dot_general_i8: a dot algorithm computes in " << type
                         << ", expected a float type";
    }
  }
  auto positive = [&](llvm::StringRef rule, llvm::StringRef name,
                      int64_t count) -> mlir::LogicalResult {
    if (count > 0) return success();
    return emitError() << rule << ": " << name << " of a dot algorithm is " << count
                       << ", expected a positive number";
  };
  return failure(
      failed(positive("dot_general_c22", "lhs_component_count", lhsComponentCount)) ||
      failed(positive("dot_general_c23", "rhs_component_count", rhsComponentCount)) ||
      failed(positive("dot_general_c24", "num_primitive_operations", numPrimitiveOperations)));
}

mlir::LogicalResult ReplicaGroupMeshAxesAttr::verify(
    mlir::function_ref<mlir::InFlightDiagnostic()> emitError, mlir::Attribute mesh,
    mlir::ArrayAttr axes) {
  if (!mesh || !llvm::isa<MeshAttr, mlir::FlatSymbolRefAttr>(mesh)) {
    return emitError() << "replica groups name the mesh " << mesh
                       << ", expected a #stablehlo.mesh or a symbol";
  }
  for (mlir::Attribute axis : axes) {
    if (!llvm::isa<AxisRefAttr>(axis)) {
      return emitError() << "replica groups name the axis " << axis
                         << ", expected a #stablehlo.axis_ref";
    }
  }
  return success();
}

}  // namespace isthmus::shlo

// Text and rules of the chlo dialect.
#include "compiler/dialect/chlo.h"

#include "compiler/dialect/assembly/fields.h"
#include "compiler/dialect/inliner.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/TypeUtilities.h"

#include "ops/chlo_dialect.cc.inc"
#include "ops/chlo_enums.cc.inc"

#define GET_ATTRDEF_CLASSES
#include "ops/chlo_attributes.cc.inc"

// As which the types of operands are written (ops/types.td).
using isthmus::shlo::kBool, isthmus::shlo::kComplex, isthmus::shlo::kFloat,
    isthmus::shlo::kFloat32Or64, isthmus::shlo::kInteger, isthmus::shlo::kPlainElement,
    isthmus::shlo::kQuantized;

#define GET_OP_CLASSES
#include "ops/chlo.cc.inc"

namespace isthmus::chlo {

void ChloDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "ops/chlo.cc.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ops/chlo_attributes.cc.inc"
      >();
  addInterfaces<UnrestrictedInliner>();
}

mlir::Attribute RaggedDotDimensionNumbersAttr::parse(mlir::AsmParser& parser, mlir::Type) {
  Field f[] = {listField("lhs_batching_dimensions"),    listField("rhs_batching_dimensions"),
               listField("lhs_contracting_dimensions"), listField("rhs_contracting_dimensions"),
               listField("lhs_ragged_dimensions"),      listField("rhs_group_dimensions")};
  if (parseFields(parser, f)) return {};
  return get(parser.getContext(), f[0].dims, f[1].dims, f[2].dims, f[3].dims, f[4].dims, f[5].dims);
}

void RaggedDotDimensionNumbersAttr::print(mlir::AsmPrinter& printer) const {
  printFields(printer, {listField("lhs_batching_dimensions", getLhsBatchingDimensions()),
                        listField("rhs_batching_dimensions", getRhsBatchingDimensions()),
                        listField("lhs_contracting_dimensions", getLhsContractingDimensions()),
                        listField("rhs_contracting_dimensions", getRhsContractingDimensions()),
                        listField("lhs_ragged_dimensions", getLhsRaggedDimensions()),
                        listField("rhs_group_dimensions", getRhsGroupDimensions())});
}

bool broadcasts(mlir::Operation* op) {
  auto result = llvm::cast<mlir::RankedTensorType>(op->getResult(0).getType());
  auto dimensions = op->getAttrOfType<mlir::DenseI64ArrayAttr>("broadcast_dimensions");
  llvm::SmallVector<int64_t> grown(result.getRank(), 1);
  for (mlir::Type operand : op->getOperandTypes()) {
    auto type = llvm::cast<mlir::RankedTensorType>(operand);
    const int64_t missing = result.getRank() - type.getRank();
    if (missing < 0) return false;
    const bool isPlaced = dimensions && missing > 0;
    if (isPlaced && dimensions.size() != type.getRank()) return false;
    int64_t last = -1;
    for (int64_t d = 0; d < type.getRank(); ++d) {
      const int64_t to = isPlaced ? dimensions[d] : missing + d;
      if (to <= last || to >= result.getRank()) return false;
      last = to;
      const int64_t size = type.getDimSize(d);
      if (size == 1) continue;
      if (mlir::failed(mlir::verifyCompatibleShape({size}, {result.getDimSize(to)}))) return false;
      grown[to] = size;
    }
  }
  return mlir::succeeded(mlir::verifyCompatibleShape(grown, result.getShape()));
}

bool hasPartsOf(mlir::Operation* op) {
  auto complex =
      llvm::dyn_cast<mlir::ComplexType>(mlir::getElementTypeOrSelf(op->getResult(0).getType()));
  return complex &&
         complex.getElementType() == mlir::getElementTypeOrSelf(op->getOperand(0).getType());
}

mlir::LogicalResult TopKOp::verify() {
  auto operand = llvm::dyn_cast<mlir::RankedTensorType>(getOperand().getType());
  if (!operand) return mlir::success();
  if (operand.getRank() < 1) return emitOpError("expects an operand of rank 1 or more");
  int64_t last = operand.getShape().back(), k = getK();
  if (k < 0 || (!mlir::ShapedType::isDynamic(last) && k > last)) {
    return emitOpError("expects k in [0, ") << last << "], got " << k;
  }
  llvm::SmallVector<int64_t> shape(operand.getShape());
  shape.back() = k;
  for (mlir::Type type : getResultTypes()) {
    if (mlir::failed(
            mlir::verifyCompatibleShape(shape, llvm::cast<mlir::ShapedType>(type).getShape()))) {
      return emitOpError("has a result ") << type << " for k = " << k << " of " << operand;
    }
  }
  return mlir::success();
}

mlir::ParseResult ScanOp::parse(mlir::OpAsmParser& parser, mlir::OperationState& result) {
  using Delimiter = mlir::OpAsmParser::Delimiter;
  llvm::SmallVector<mlir::OpAsmParser::UnresolvedOperand> inputs, inits;
  int64_t dimension;
  mlir::FunctionType type;
  if (parser.parseOperandList(inputs, Delimiter::Paren) || parser.parseKeyword("inits") ||
      parser.parseOperandList(inits, Delimiter::Paren) || parser.parseKeyword("dimension") ||
      parser.parseEqual() || parser.parseInteger(dimension) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.parseRegion(*result.addRegion())) {
    return mlir::failure();
  }
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parser.parseColonType(type)) return mlir::failure();
  int32_t numInputs = inputs.size(), numCarries = inits.size();
  int32_t numOutputs = static_cast<int32_t>(type.getNumResults()) - numCarries;
  if (type.getNumInputs() != inputs.size() + inits.size() || numOutputs < 0) {
    return parser.emitError(loc) << "the type does not fit " << numInputs << " inputs and "
                                 << numCarries << " initial values";
  }
  llvm::append_range(inputs, inits);
  if (parser.resolveOperands(inputs, type.getInputs(), loc, result.operands)) {
    return mlir::failure();
  }
  result.addTypes(type.getResults());
  mlir::Builder& builder = parser.getBuilder();
  result.addAttribute("dimension", builder.getI64IntegerAttr(dimension));
  result.addAttribute(getOperandSegmentSizeAttr(),
                      builder.getDenseI32ArrayAttr({numInputs, numCarries}));
  result.addAttribute(getResultSegmentSizeAttr(),
                      builder.getDenseI32ArrayAttr({numOutputs, numCarries}));
  return mlir::success();
}

void ScanOp::print(mlir::OpAsmPrinter& printer) {
  printer << '(' << getInputs() << ") inits (" << getInits() << ") dimension=" << getDimension()
          << ' ';
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(), {"dimension", getOperandSegmentSizeAttr(), getResultSegmentSizeAttr()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/true);
  printer << " : ";
  printer.printFunctionalType(*this);
}

void ScanOp::getAsmBlockArgumentNames(mlir::Region& region, mlir::OpAsmSetValueNameFn setName) {
  for (auto [i, argument] : llvm::enumerate(region.getArguments())) {
    setName(argument, i < getInputs().size() ? "input" : "carry");
  }
}

}  // namespace isthmus::chlo

// Text of the operations whose form is not declared in the op table: constant, reduce, while.
#include "compiler/dialect/dialect.h"
#include "llvm/ADT/STLExtras.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"

namespace isthmus::shlo {

using mlir::failed;
using mlir::failure;
using mlir::OpAsmParser;
using mlir::OpAsmPrinter;
using mlir::ParseResult;
using mlir::succeeded;
using mlir::success;
using Unresolved = OpAsmParser::UnresolvedOperand;

// ---- constant -----------------------------------------------------------------------------------

ParseResult ConstantOp::parse(OpAsmParser& parser, mlir::OperationState& result) {
  // `() <{value = ..}> : () -> type`, printed where the value has not exactly the result's type.
  if (succeeded(parser.parseOptionalLParen())) {
    mlir::Type type;
    if (parser.parseRParen()) return failure();
    if (succeeded(parser.parseOptionalLess()) &&
        (parser.parseAttribute(result.propertiesAttr) || parser.parseGreater())) {
      return failure();
    }
    if (parser.parseOptionalAttrDict(result.attributes) || parser.parseColon() ||
        parser.parseLParen() || parser.parseRParen() || parser.parseArrow() ||
        parser.parseType(type)) {
      return failure();
    }
    result.addTypes(type);
    return success();
  }
  mlir::ElementsAttr value;
  if (parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseCustomAttributeWithFallback(value, mlir::Type{}, "value", result.attributes)) {
    return failure();
  }
  result.addTypes(value.getType());
  return success();
}

void ConstantOp::print(OpAsmPrinter& printer) {
  if (getValue().getType() != getType()) {
    printer.printGenericOp(getOperation(), /*printOpName=*/false);
    return;
  }
  printer.printOptionalAttrDict((*this)->getAttrs(), {"value"});
  printer << ' ';
  printer.printStrippedAttrOrType(getValue());
}

// ---- reduce -------------------------------------------------------------------------------------

namespace {

// An operation that the short form `applies` may name.
bool isSimpleReducer(mlir::OperationName name) {
  return name.getDialectNamespace() == "stablehlo" &&
         name.hasTrait<mlir::OpTrait::NOperands<2>::Impl>() &&
         name.hasTrait<mlir::OpTrait::OneResult>() &&
         name.hasTrait<mlir::OpTrait::IsCommutative>() &&
         name.hasTrait<mlir::OpTrait::ZeroRegions>();
}

// The one operation of the body, if the body is no more than the short form says.
mlir::Operation* simpleReducer(ReduceOp reduce) {
  mlir::Block& block = reduce.getBody().front();
  if (block.empty() || !llvm::hasSingleElement(block.without_terminator())) return nullptr;
  mlir::Operation& inner = block.front();
  if (reduce.getInputs().empty() || !isSimpleReducer(inner.getName()) ||
      inner.getNumOperands() != 2 || !inner.getAttrs().empty()) {
    return nullptr;
  }
  auto scalar = mlir::RankedTensorType::get(
      {}, mlir::getElementTypeOrSelf(reduce.getInputs().front().getType()));
  auto isScalar = [&](mlir::Type type) { return type == scalar; };
  bool fits = llvm::all_of(inner.getOperandTypes(), isScalar) &&
              llvm::all_of(inner.getResultTypes(), isScalar) &&
              llvm::equal(block.getArguments(), inner.getOperands()) &&
              llvm::isa<ReturnOp>(block.getTerminator()) &&
              llvm::equal(inner.getResults(), block.getTerminator()->getOperands());
  return fits ? &inner : nullptr;
}

// `across dimensions = [0, 1] {..} : (..) -> ..`
ParseResult parseDimensionsAndType(OpAsmParser& parser, mlir::OperationState& result,
                                   mlir::FunctionType& type) {
  llvm::SmallVector<int64_t> dimensions;
  auto parseDimension = [&] { return parser.parseInteger(dimensions.emplace_back()); };
  if (parser.parseKeyword("across") || parser.parseKeyword("dimensions") || parser.parseEqual() ||
      parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, parseDimension) ||
      parser.parseOptionalAttrDict(result.attributes) || parser.parseColon()) {
    return failure();
  }
  llvm::SMLoc loc = parser.getCurrentLocation();
  mlir::Type parsed;
  if (parser.parseType(parsed)) return failure();
  type = llvm::dyn_cast<mlir::FunctionType>(parsed);
  if (!type) return parser.emitError(loc) << "expected a function type, got " << parsed;
  result.addTypes(type.getResults());
  result.addAttribute("dimensions", parser.getBuilder().getDenseI64ArrayAttr(dimensions));
  return success();
}

// `applies stablehlo.add across ..`, after the first word.
ParseResult parseSimpleReduce(OpAsmParser& parser, mlir::OperationState& result,
                              llvm::ArrayRef<Unresolved> operands, llvm::SMLoc loc) {
  mlir::FailureOr<mlir::OperationName> reducer = parser.parseCustomOperationName();
  if (failed(reducer)) return failure();
  if (!isSimpleReducer(*reducer)) {
    return parser.emitError(loc) << "expected a commutative operation of two operands, got "
                                 << reducer->getStringRef();
  }
  mlir::FunctionType type;
  std::optional<mlir::Location> location;
  if (parseDimensionsAndType(parser, result, type) ||
      parser.parseOptionalLocationSpecifier(location)) {
    return failure();
  }
  if (type.getInputs().empty()) return parser.emitError(loc) << "reduce has no operands";
  if (parser.resolveOperands(operands, type.getInputs(), loc, result.operands)) return failure();
  result.location = location.value_or(parser.getEncodedSourceLoc(loc));
  auto scalar = mlir::RankedTensorType::get({}, mlir::getElementTypeOrSelf(type.getInput(0)));
  mlir::Block& block = result.addRegion()->emplaceBlock();
  block.addArguments({scalar, scalar}, {result.location, result.location});
  // The region hangs in no operation yet, from which a builder could learn the context.
  mlir::OpBuilder builder(parser.getContext());
  builder.setInsertionPointToEnd(&block);
  mlir::Operation* inner =
      builder.create(result.location, reducer->getIdentifier(), block.getArguments(), scalar);
  ReturnOp::create(builder, result.location, inner->getResults());
  return success();
}

}  // namespace

ParseResult ReduceOp::parse(OpAsmParser& parser, mlir::OperationState& result) {
  llvm::SMLoc loc = parser.getCurrentLocation();
  // `(%input init: %value), ..`
  llvm::SmallVector<Unresolved> operands, inits;
  auto parsePair = [&]() -> ParseResult {
    if (failed(parser.parseOptionalLParen())) return success();
    return ParseResult(failure(parser.parseOperand(operands.emplace_back()) ||
                               parser.parseKeyword("init") || parser.parseColon() ||
                               parser.parseOperand(inits.emplace_back()) || parser.parseRParen()));
  };
  if (parser.parseCommaSeparatedList(parsePair)) return failure();
  operands.append(inits);
  if (succeeded(parser.parseOptionalKeyword("applies"))) {
    return parseSimpleReduce(parser, result, operands, loc);
  }

  mlir::FunctionType type;
  if (parseDimensionsAndType(parser, result, type) || parser.parseKeyword("reducer")) {
    return failure();
  }
  // `(%a: tensor<f32>, %b: tensor<f32>) ..`: an element and what was combined before it.
  llvm::SmallVector<OpAsmParser::Argument> arguments, accumulators;
  auto parseArgument = [&](llvm::SmallVectorImpl<OpAsmParser::Argument>& list) {
    OpAsmParser::Argument& argument = list.emplace_back();
    return ParseResult(failure(parser.parseOperand(argument.ssaName, /*allowResultNumber=*/false) ||
                               parser.parseColonType(argument.type) ||
                               parser.parseOptionalLocationSpecifier(argument.sourceLoc)));
  };
  while (succeeded(parser.parseOptionalLParen())) {
    if (parseArgument(arguments) || parser.parseComma() || parseArgument(accumulators) ||
        parser.parseRParen()) {
      return failure();
    }
  }
  arguments.append(accumulators);
  return ParseResult(
      failure(parser.resolveOperands(operands, type.getInputs(), loc, result.operands) ||
              parser.parseRegion(*result.addRegion(), arguments)));
}

void ReduceOp::print(OpAsmPrinter& printer) {
  llvm::interleaveComma(llvm::zip(getInputs(), getInitValues()), printer, [&](auto pair) {
    printer << '(' << std::get<0>(pair) << " init: " << std::get<1>(pair) << ')';
  });
  mlir::Operation* inner = simpleReducer(*this);
  if (inner) printer << " applies " << inner->getName();
  printer << " across dimensions = [";
  llvm::interleaveComma(getDimensions(), printer);
  printer << ']';
  printer.printOptionalAttrDict((*this)->getAttrs(), {"dimensions"});
  printer << " : ";
  printer.printFunctionalType(*this);
  if (inner) return;
  printer.printNewline();
  printer << " reducer";
  mlir::Block& block = getBody().front();
  unsigned count = getInputs().size();
  for (unsigned i = 0; i < count; ++i) {
    printer << '(';
    printer.printRegionArgument(block.getArgument(i));
    printer << ", ";
    printer.printRegionArgument(block.getArgument(count + i));
    printer << ") ";
  }
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

// ---- while --------------------------------------------------------------------------------------

ParseResult WhileOp::parse(OpAsmParser& parser, mlir::OperationState& result) {
  llvm::SMLoc loc = parser.getCurrentLocation();
  llvm::SmallVector<Unresolved> operands;
  llvm::SmallVector<OpAsmParser::Argument> arguments;
  auto parsePair = [&] {
    return ParseResult(failure(parser.parseOperand(arguments.emplace_back().ssaName) ||
                               parser.parseEqual() ||
                               parser.parseOperand(operands.emplace_back())));
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parsePair)) return failure();
  if (!operands.empty() && parser.parseColonTypeList(result.types)) return failure();
  if (parser.resolveOperands(operands, result.types, loc, result.operands)) return failure();
  for (auto [argument, type] : llvm::zip(arguments, result.types)) argument.type = type;
  return ParseResult(
      failure(parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
              parser.parseKeyword("cond") || parser.parseRegion(*result.addRegion(), arguments) ||
              parser.parseKeyword("do") || parser.parseRegion(*result.addRegion(), arguments)));
}

void WhileOp::print(OpAsmPrinter& printer) {
  printer << '(';
  llvm::interleaveComma(llvm::zip(getBody().getArguments(), getOperands()), printer,
                        [&](auto pair) {
                          printer.printOperand(std::get<0>(pair));
                          printer << " = ";
                          printer.printOperand(std::get<1>(pair));
                        });
  printer << ')';
  if (getNumOperands() != 0) {
    printer << " : ";
    llvm::interleaveComma(getOperandTypes(), printer);
  }
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs());
  printer.printNewline();
  printer << "cond ";
  printer.printRegion(getCond(), /*printEntryBlockArgs=*/false);
  printer << " do ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

void WhileOp::getAsmBlockArgumentNames(mlir::Region& region, mlir::OpAsmSetValueNameFn setName) {
  for (mlir::BlockArgument argument : region.getArguments()) setName(argument, "iterArg");
}

}  // namespace isthmus::shlo

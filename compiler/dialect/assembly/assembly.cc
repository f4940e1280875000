// Pieces of StableHLO's text that the op table's formats name.
#include "compiler/dialect/assembly/assembly.h"

#include <array>

#include "compiler/dialect/dialect.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "mlir/IR/TypeUtilities.h"

namespace isthmus::shlo {
namespace {

using mlir::AsmParser;
using mlir::failed;
using mlir::failure;
using mlir::OpAsmParser;
using mlir::OpAsmPrinter;
using mlir::ParseResult;
using mlir::succeeded;
using mlir::success;

// Spreads a function type over operands and the one result.
ParseResult assignFunctionType(OpAsmParser& parser, llvm::SMLoc loc,
                               llvm::ArrayRef<mlir::Type*> operands, mlir::Type& result,
                               mlir::FunctionType type) {
  if (type.getNumInputs() != operands.size()) {
    return parser.emitError(loc) << "the type has " << type.getNumInputs() << " operands, expected "
                                 << operands.size();
  }
  if (type.getNumResults() != 1) {
    return parser.emitError(loc) << "the type has " << type.getNumResults()
                                 << " results, expected 1";
  }
  for (auto [operand, input] : llvm::zip(operands, type.getInputs())) *operand = input;
  result = type.getResult(0);
  return success();
}

ParseResult parseIntegers(AsmParser& parser, llvm::SmallVectorImpl<int64_t>& values) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                        [&] { return parser.parseInteger(values.emplace_back()); });
}

void printIntegers(mlir::AsmPrinter& printer, llvm::ArrayRef<int64_t> values) {
  printer << '[';
  llvm::interleaveComma(values, printer);
  printer << ']';
}

}  // namespace

ParseResult parseSameTypes(OpAsmParser& parser, llvm::ArrayRef<mlir::Type*> operands,
                           mlir::Type& result) {
  llvm::SMLoc loc = parser.getCurrentLocation();
  mlir::Type type;
  if (parser.parseType(type)) return failure();
  if (auto function = llvm::dyn_cast<mlir::FunctionType>(type)) {
    return assignFunctionType(parser, loc, operands, result, function);
  }
  for (mlir::Type* operand : operands) *operand = type;
  result = type;
  return success();
}

void printSameTypes(OpAsmPrinter& printer, mlir::Operation* op, mlir::TypeRange operands,
                    mlir::Type result) {
  if (llvm::all_of(operands, [&](mlir::Type type) { return type == result; })) {
    printer.printType(result);
  } else {
    printer.printFunctionalType(op);
  }
}

ParseResult parseVariadicSameOperandsAndResultType(OpAsmParser& parser, Operands& operands,
                                                   llvm::SmallVectorImpl<mlir::Type>& types,
                                                   mlir::Type& result) {
  types.resize(operands.size());
  llvm::SmallVector<mlir::Type*> pointers;
  for (mlir::Type& type : types) pointers.push_back(&type);
  return parseSameTypes(parser, pointers, result);
}

void printVariadicSameOperandsAndResultType(OpAsmPrinter& printer, mlir::Operation* op,
                                            mlir::OperandRange, mlir::TypeRange types,
                                            mlir::Type result) {
  printSameTypes(printer, op, types, result);
}

ParseResult parseVariadicOperandWithAttribute(OpAsmParser& parser, Operands& operands) {
  while (true) {
    OpAsmParser::UnresolvedOperand operand;
    mlir::OptionalParseResult parsed = parser.parseOptionalOperand(operand);
    if (!parsed.has_value()) return success();
    if (failed(*parsed) || parser.parseComma()) return failure();
    operands.push_back(operand);
  }
}

void printVariadicOperandWithAttribute(OpAsmPrinter& printer, mlir::Operation*,
                                       mlir::OperandRange operands) {
  llvm::interleaveComma(operands, printer);
  printer << ",";
}

ParseResult parseComplexOpType(OpAsmParser& parser, mlir::Type& lhs, mlir::Type& rhs,
                               mlir::Type& result) {
  llvm::SMLoc loc = parser.getCurrentLocation();
  mlir::Type type;
  if (parser.parseType(type)) return failure();
  if (auto function = llvm::dyn_cast<mlir::FunctionType>(type)) {
    return assignFunctionType(parser, loc, {&lhs, &rhs}, result, function);
  }
  auto shaped = llvm::dyn_cast<mlir::ShapedType>(type);
  auto complex =
      shaped ? llvm::dyn_cast<mlir::ComplexType>(shaped.getElementType()) : mlir::ComplexType();
  if (!complex) return parser.emitError(loc, "expected a tensor of complex values");
  lhs = rhs = shaped.clone(complex.getElementType());
  result = type;
  return success();
}

void printComplexOpType(OpAsmPrinter& printer, mlir::Operation* op, mlir::Type lhs, mlir::Type rhs,
                        mlir::Type result) {
  auto shaped = llvm::dyn_cast<mlir::ShapedType>(result);
  auto complex =
      shaped ? llvm::dyn_cast<mlir::ComplexType>(shaped.getElementType()) : mlir::ComplexType();
  mlir::Type part = complex ? mlir::Type(shaped.clone(complex.getElementType())) : mlir::Type();
  if (lhs == part && rhs == part) {
    printer.printType(result);
  } else {
    printer.printFunctionalType(op);
  }
}

ParseResult parseSelectOpType(OpAsmParser& parser, mlir::Type& pred, mlir::Type& onTrue,
                              mlir::Type& onFalse, mlir::Type& result) {
  llvm::SMLoc loc = parser.getCurrentLocation();
  llvm::SmallVector<mlir::Type> types;
  if (parser.parseTypeList(types)) return failure();
  if (types.size() == 2) {
    pred = types[0];
    onTrue = onFalse = result = types[1];
    return success();
  }
  auto function =
      types.size() == 1 ? llvm::dyn_cast<mlir::FunctionType>(types[0]) : mlir::FunctionType();
  if (!function) return parser.emitError(loc, "expected a function type or two types");
  return assignFunctionType(parser, loc, {&pred, &onTrue, &onFalse}, result, function);
}

void printSelectOpType(OpAsmPrinter& printer, mlir::Operation* op, mlir::Type pred,
                       mlir::Type onTrue, mlir::Type onFalse, mlir::Type result) {
  if (onTrue != result || onFalse != result) {
    printer.printFunctionalType(op);
  } else {
    printer << pred << ", " << result;
  }
}

ParseResult parseTupleOpType(OpAsmParser& parser, llvm::SmallVectorImpl<mlir::Type>& operands,
                             mlir::Type& result) {
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parser.parseType(result)) return failure();
  auto tuple = llvm::dyn_cast<mlir::TupleType>(result);
  if (!tuple) return parser.emitError(loc, "expected a tuple type");
  llvm::append_range(operands, tuple.getTypes());
  return success();
}

void printTupleOpType(OpAsmPrinter& printer, mlir::Operation*, mlir::TypeRange, mlir::Type result) {
  printer.printType(result);
}

ParseResult parsePairwiseOpType(OpAsmParser& parser, llvm::SmallVectorImpl<mlir::Type>& operands,
                                llvm::SmallVectorImpl<mlir::Type>& results) {
  if (parser.parseTypeList(operands)) return failure();
  results.assign(operands.begin(), operands.end());
  return success();
}

void printPairwiseOpType(OpAsmPrinter& printer, mlir::Operation*, mlir::TypeRange operands,
                         mlir::TypeRange) {
  llvm::interleaveComma(operands, printer);
}

ParseResult parseExponentMantissa(OpAsmParser& parser, mlir::IntegerAttr& exponent,
                                  mlir::IntegerAttr& mantissa) {
  llvm::SMLoc loc = parser.getCurrentLocation();
  llvm::StringRef word;
  if (parser.parseKeyword(&word)) return failure();
  llvm::StringRef rest = word;
  int32_t bits[2];
  if (!rest.consume_front("e") || rest.consumeInteger(10, bits[0]) || !rest.consume_front("m") ||
      rest.consumeInteger(10, bits[1]) || !rest.empty()) {
    return parser.emitError(loc) << "expected a format such as e5m10, got " << word;
  }
  exponent = parser.getBuilder().getI32IntegerAttr(bits[0]);
  mantissa = parser.getBuilder().getI32IntegerAttr(bits[1]);
  return success();
}

void printExponentMantissa(OpAsmPrinter& printer, mlir::Operation*, mlir::IntegerAttr exponent,
                           mlir::IntegerAttr mantissa) {
  printer << 'e' << exponent.getInt() << 'm' << mantissa.getInt();
}

ParseResult parseSliceRanges(OpAsmParser& parser, mlir::DenseI64ArrayAttr& starts,
                             mlir::DenseI64ArrayAttr& limits, mlir::DenseI64ArrayAttr& strides) {
  llvm::SmallVector<int64_t> start, limit, stride;
  auto parseRange = [&]() -> ParseResult {
    if (parser.parseInteger(start.emplace_back()) || parser.parseColon() ||
        parser.parseInteger(limit.emplace_back())) {
      return failure();
    }
    stride.push_back(1);
    return failed(parser.parseOptionalColon()) ? ParseResult(success())
                                               : parser.parseInteger(stride.back());
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseRange)) return failure();
  starts = parser.getBuilder().getDenseI64ArrayAttr(start);
  limits = parser.getBuilder().getDenseI64ArrayAttr(limit);
  strides = parser.getBuilder().getDenseI64ArrayAttr(stride);
  return success();
}

void printSliceRanges(OpAsmPrinter& printer, mlir::Operation*, llvm::ArrayRef<int64_t> starts,
                      llvm::ArrayRef<int64_t> limits, llvm::ArrayRef<int64_t> strides) {
  printer << '[';
  llvm::interleaveComma(llvm::zip(starts, limits, strides), printer, [&](auto range) {
    auto [start, limit, stride] = range;
    printer << start << ':' << limit;
    if (stride != 1) printer << ':' << stride;
  });
  printer << ']';
}

ParseResult parseCustomCallTarget(OpAsmParser& parser, mlir::StringAttr& target) {
  return parser.parseSymbolName(target);
}

void printCustomCallTarget(OpAsmPrinter& printer, mlir::Operation*, mlir::StringAttr target) {
  printer.printSymbolName(target.getValue());
}

ParseResult parseDotDimensionNumbers(OpAsmParser& parser, DotDimensionNumbersAttr& numbers) {
  llvm::SmallVector<int64_t> batching[2], contracting[2];
  auto parsePair = [&](llvm::SmallVector<int64_t>* pair) -> ParseResult {
    return ParseResult(failure(parser.parseEqual() || parseIntegers(parser, pair[0]) ||
                               parser.parseKeyword("x") || parseIntegers(parser, pair[1])));
  };
  if (succeeded(parser.parseOptionalKeyword("batching_dims")) &&
      (parsePair(batching) || parser.parseComma())) {
    return failure();
  }
  if (parser.parseKeyword("contracting_dims") || parsePair(contracting)) return failure();
  numbers = DotDimensionNumbersAttr::get(parser.getContext(), batching[0], batching[1],
                                         contracting[0], contracting[1]);
  return success();
}

void printDotDimensionNumbers(OpAsmPrinter& printer, mlir::Operation*,
                              DotDimensionNumbersAttr numbers) {
  auto printPair = [&](llvm::StringRef name, llvm::ArrayRef<int64_t> lhs,
                       llvm::ArrayRef<int64_t> rhs) {
    printer << name << " = ";
    printIntegers(printer, lhs);
    printer << " x ";
    printIntegers(printer, rhs);
  };
  if (!numbers.getLhsBatchingDimensions().empty() || !numbers.getRhsBatchingDimensions().empty()) {
    printPair("batching_dims", numbers.getLhsBatchingDimensions(),
              numbers.getRhsBatchingDimensions());
    printer << ", ";
  }
  printPair("contracting_dims", numbers.getLhsContractingDimensions(),
            numbers.getRhsContractingDimensions());
}

namespace {

ParseResult parsePrecisions(OpAsmParser& parser, mlir::ArrayAttr& precision) {
  llvm::SmallVector<mlir::Attribute> values;
  auto parseOne = [&]() -> ParseResult {
    llvm::SMLoc loc = parser.getCurrentLocation();
    llvm::StringRef word;
    if (parser.parseKeyword(&word)) return failure();
    std::optional<Precision> value = symbolizePrecision(word);
    if (!value) {
      return parser.emitError(loc) << "expected DEFAULT, HIGH or HIGHEST, got " << word;
    }
    values.push_back(PrecisionAttr::get(parser.getContext(), *value));
    return success();
  };
  if (parser.parseKeyword("precision") || parser.parseEqual() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne)) {
    return failure();
  }
  precision = parser.getBuilder().getArrayAttr(values);
  return success();
}

ParseResult parseAlgorithm(OpAsmParser& parser, DotAlgorithmAttr& algorithm) {
  if (parser.parseEqual()) return failure();
  algorithm = llvm::dyn_cast_or_null<DotAlgorithmAttr>(DotAlgorithmAttr::parse(parser, {}));
  return ParseResult(failure(!algorithm));
}

}  // namespace

ParseResult parsePrecisionConfig(OpAsmParser& parser, mlir::ArrayAttr& precision) {
  if (failed(parser.parseOptionalComma())) return success();
  return parsePrecisions(parser, precision);
}

void printPrecisionConfig(OpAsmPrinter& printer, mlir::Operation*, mlir::ArrayAttr precision) {
  if (!precision) return;
  printer << ", precision = [";
  llvm::interleaveComma(precision, printer, [&](mlir::Attribute value) {
    printer << stringifyPrecision(llvm::cast<PrecisionAttr>(value).getValue());
  });
  printer << ']';
}

ParseResult parsePrecisionConfigAndAlgorithm(OpAsmParser& parser, mlir::ArrayAttr& precision,
                                             DotAlgorithmAttr& algorithm) {
  if (failed(parser.parseOptionalComma())) return success();
  if (succeeded(parser.parseOptionalKeyword("algorithm"))) return parseAlgorithm(parser, algorithm);
  if (parsePrecisions(parser, precision)) return failure();
  if (failed(parser.parseOptionalComma())) return success();
  if (parser.parseKeyword("algorithm")) return failure();
  return parseAlgorithm(parser, algorithm);
}

void printPrecisionConfigAndAlgorithm(OpAsmPrinter& printer, mlir::Operation* op,
                                      mlir::ArrayAttr precision, DotAlgorithmAttr algorithm) {
  printPrecisionConfig(printer, op, precision);
  if (!algorithm) return;
  printer << ", algorithm = ";
  printer.printStrippedAttrOrType(algorithm);
}

mlir::FailureOr<llvm::SmallVector<int64_t>> parseDimSizes(AsmParser& parser) {
  llvm::SmallVector<int64_t> sizes;
  auto parseSize = [&]() -> ParseResult {
    sizes.push_back(mlir::ShapedType::kDynamic);
    if (succeeded(parser.parseOptionalQuestion())) return success();
    return parser.parseInteger(sizes.back());
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseSize)) return failure();
  return sizes;
}

void printDimSizes(mlir::AsmPrinter& printer, llvm::ArrayRef<int64_t> sizes) {
  printer << '[';
  llvm::interleaveComma(sizes, printer, [&](int64_t size) {
    if (mlir::ShapedType::isDynamic(size)) {
      printer << '?';
    } else {
      printer << size;
    }
  });
  printer << ']';
}

}  // namespace isthmus::shlo

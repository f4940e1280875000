// Parsers and printers of pieces of StableHLO's text that the op table's formats name.
//
// Each `custom<X>` of ops/*.td is a pair parseX, printX here.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpImplementation.h"

namespace isthmus::shlo {

class ConvDimensionNumbersAttr;
class DotAlgorithmAttr;
class DotDimensionNumbersAttr;

// `tensor<..>` if all types are equal, else a function type.
mlir::ParseResult parseSameTypes(mlir::OpAsmParser& parser, llvm::ArrayRef<mlir::Type*> operands,
                                 mlir::Type& result);
void printSameTypes(mlir::OpAsmPrinter& printer, mlir::Operation* op, mlir::TypeRange operands,
                    mlir::Type result);

template <typename... Types>
mlir::ParseResult parseSameOperandsAndResultType(mlir::OpAsmParser& parser, Types&... types) {
  llvm::SmallVector<mlir::Type*> all{&types...};
  mlir::Type& result = *all.pop_back_val();
  return parseSameTypes(parser, all, result);
}
template <typename... Types>
void printSameOperandsAndResultType(mlir::OpAsmPrinter& printer, mlir::Operation* op,
                                    Types... types) {
  llvm::SmallVector<mlir::Type> all{types...};
  mlir::Type result = all.pop_back_val();
  printSameTypes(printer, op, all, result);
}

using Operands = llvm::SmallVectorImpl<mlir::OpAsmParser::UnresolvedOperand>;

mlir::ParseResult parseVariadicSameOperandsAndResultType(mlir::OpAsmParser& parser,
                                                         Operands& operands,
                                                         llvm::SmallVectorImpl<mlir::Type>& types,
                                                         mlir::Type& result);
void printVariadicSameOperandsAndResultType(mlir::OpAsmPrinter& printer, mlir::Operation* op,
                                            mlir::OperandRange operands, mlir::TypeRange types,
                                            mlir::Type result);

// `%a, %b,`: operands with a comma after each, before what is no operand.
mlir::ParseResult parseVariadicOperandWithAttribute(mlir::OpAsmParser& parser, Operands& operands);
void printVariadicOperandWithAttribute(mlir::OpAsmPrinter& printer, mlir::Operation* op,
                                       mlir::OperandRange operands);

// The complex type alone if the operands have its parts' type.
mlir::ParseResult parseComplexOpType(mlir::OpAsmParser& parser, mlir::Type& lhs, mlir::Type& rhs,
                                     mlir::Type& result);
void printComplexOpType(mlir::OpAsmPrinter& printer, mlir::Operation* op, mlir::Type lhs,
                        mlir::Type rhs, mlir::Type result);

// `tensor<i1>, tensor<..>`: the type of the choice and that of all else.
mlir::ParseResult parseSelectOpType(mlir::OpAsmParser& parser, mlir::Type& pred, mlir::Type& onTrue,
                                    mlir::Type& onFalse, mlir::Type& result);
void printSelectOpType(mlir::OpAsmPrinter& printer, mlir::Operation* op, mlir::Type pred,
                       mlir::Type onTrue, mlir::Type onFalse, mlir::Type result);

mlir::ParseResult parseTupleOpType(mlir::OpAsmParser& parser,
                                   llvm::SmallVectorImpl<mlir::Type>& operands, mlir::Type& result);
void printTupleOpType(mlir::OpAsmPrinter& printer, mlir::Operation* op, mlir::TypeRange operands,
                      mlir::Type result);

mlir::ParseResult parsePairwiseOpType(mlir::OpAsmParser& parser,
                                      llvm::SmallVectorImpl<mlir::Type>& operands,
                                      llvm::SmallVectorImpl<mlir::Type>& results);
void printPairwiseOpType(mlir::OpAsmPrinter& printer, mlir::Operation* op, mlir::TypeRange operands,
                         mlir::TypeRange results);

// `e5m10`
mlir::ParseResult parseExponentMantissa(mlir::OpAsmParser& parser, mlir::IntegerAttr& exponent,
                                        mlir::IntegerAttr& mantissa);
void printExponentMantissa(mlir::OpAsmPrinter& printer, mlir::Operation* op,
                           mlir::IntegerAttr exponent, mlir::IntegerAttr mantissa);

// `[start:limit:stride, ..]`
mlir::ParseResult parseSliceRanges(mlir::OpAsmParser& parser, mlir::DenseI64ArrayAttr& starts,
                                   mlir::DenseI64ArrayAttr& limits,
                                   mlir::DenseI64ArrayAttr& strides);
void printSliceRanges(mlir::OpAsmPrinter& printer, mlir::Operation* op,
                      llvm::ArrayRef<int64_t> starts, llvm::ArrayRef<int64_t> limits,
                      llvm::ArrayRef<int64_t> strides);

// `@target`
mlir::ParseResult parseCustomCallTarget(mlir::OpAsmParser& parser, mlir::StringAttr& target);
void printCustomCallTarget(mlir::OpAsmPrinter& printer, mlir::Operation* op,
                           mlir::StringAttr target);

// `batching_dims = [0] x [0], contracting_dims = [2] x [1]`
mlir::ParseResult parseDotDimensionNumbers(mlir::OpAsmParser& parser,
                                           DotDimensionNumbersAttr& numbers);
void printDotDimensionNumbers(mlir::OpAsmPrinter& printer, mlir::Operation* op,
                              DotDimensionNumbersAttr numbers);

// `, precision = [DEFAULT, HIGH]`, or nothing
mlir::ParseResult parsePrecisionConfig(mlir::OpAsmParser& parser, mlir::ArrayAttr& precision);
void printPrecisionConfig(mlir::OpAsmPrinter& printer, mlir::Operation* op,
                          mlir::ArrayAttr precision);
// The same, and `, algorithm = <..>`, or nothing
mlir::ParseResult parsePrecisionConfigAndAlgorithm(mlir::OpAsmParser& parser,
                                                   mlir::ArrayAttr& precision,
                                                   DotAlgorithmAttr& algorithm);
void printPrecisionConfigAndAlgorithm(mlir::OpAsmPrinter& printer, mlir::Operation* op,
                                      mlir::ArrayAttr precision, DotAlgorithmAttr algorithm);

// `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`
// Numbers that no convolution may have are written `raw<..>`, field by field.
mlir::ParseResult parseConvolutionDimensions(mlir::AsmParser& parser,
                                             ConvDimensionNumbersAttr& numbers);
mlir::ParseResult parseConvolutionDimensions(mlir::OpAsmParser& parser,
                                             ConvDimensionNumbersAttr& numbers);
void printConvolutionDimensions(mlir::AsmPrinter& printer, ConvDimensionNumbersAttr numbers);
void printConvolutionDimensions(mlir::OpAsmPrinter& printer, mlir::Operation* op,
                                ConvDimensionNumbersAttr numbers);

// `stride = [1, 1], pad = [[0, 0], [1, 1]], lhs_dilate = .., rhs_dilate = .., reverse = ..`
mlir::ParseResult parseWindowAttributes(mlir::OpAsmParser& parser, mlir::DenseI64ArrayAttr& strides,
                                        mlir::DenseIntElementsAttr& padding,
                                        mlir::DenseI64ArrayAttr& lhsDilation,
                                        mlir::DenseI64ArrayAttr& rhsDilation,
                                        mlir::DenseBoolArrayAttr& reversal);
void printWindowAttributes(mlir::OpAsmPrinter& printer, mlir::Operation* op,
                           mlir::DenseI64ArrayAttr strides, mlir::DenseIntElementsAttr padding,
                           mlir::DenseI64ArrayAttr lhsDilation, mlir::DenseI64ArrayAttr rhsDilation,
                           mlir::DenseBoolArrayAttr reversal);

// `[1, ?, 3]`
mlir::FailureOr<llvm::SmallVector<int64_t>> parseDimSizes(mlir::AsmParser& parser);
void printDimSizes(mlir::AsmPrinter& printer, llvm::ArrayRef<int64_t> sizes);

}  // namespace isthmus::shlo

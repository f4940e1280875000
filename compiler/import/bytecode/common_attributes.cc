// Attributes that StableHLO and VHLO write alike.
#include "compiler/dialect/dialect.h"
#include "compiler/import/bytecode/attribute_decoder.h"

namespace isthmus::importer {

mlir::Attribute decodeComparisonDirection(DecodeStream& in) {
  return decodeEnum<shlo::ComparisonDirectionAttr>(
      in, [](uint32_t value) { return shlo::symbolizeComparisonDirection(value); });
}

mlir::Attribute decodeComparisonType(DecodeStream& in) {
  return decodeEnum<shlo::ComparisonTypeAttr>(
      in, [](uint32_t value) { return shlo::symbolizeComparisonType(value); });
}

mlir::Attribute decodeFftType(DecodeStream& in) {
  return decodeEnum<shlo::FftTypeAttr>(
      in, [](uint32_t value) { return shlo::symbolizeFftType(value); });
}

mlir::Attribute decodePrecision(DecodeStream& in) {
  return decodeEnum<shlo::PrecisionAttr>(
      in, [](uint32_t value) { return shlo::symbolizePrecision(value); });
}

mlir::Attribute decodeRngAlgorithm(DecodeStream& in) {
  return decodeEnum<shlo::RngAlgorithmAttr>(
      in, [](uint32_t value) { return shlo::symbolizeRngAlgorithm(value); });
}

mlir::Attribute decodeRngDistribution(DecodeStream& in) {
  return decodeEnum<shlo::RngDistributionAttr>(
      in, [](uint32_t value) { return shlo::symbolizeRngDistribution(value); });
}

mlir::Attribute decodeTranspose(DecodeStream& in) {
  return decodeEnum<shlo::TransposeAttr>(
      in, [](uint32_t value) { return shlo::symbolizeTranspose(value); });
}

mlir::Attribute decodeResultAccuracyMode(DecodeStream& in) {
  return decodeEnum<shlo::ResultAccuracyModeAttr>(
      in, [](uint32_t value) { return shlo::symbolizeResultAccuracyMode(value); });
}

mlir::Attribute decodeOutputOperandAlias(DecodeStream& in) {
  llvm::SmallVector<int64_t> outputIndices, operandIndices;
  int64_t operand;
  if (!in.signedVarInts(outputIndices) || !in.cursor().signedVarInt(operand) ||
      !in.signedVarInts(operandIndices)) {
    return {};
  }
  return shlo::OutputOperandAliasAttr::get(in.getContext(), outputIndices, operand, operandIndices);
}

mlir::Attribute decodeResultAccuracy(DecodeStream& in) {
  llvm::APFloat atol(0.0), rtol(0.0);
  int64_t ulps;
  shlo::ResultAccuracyModeAttr mode;
  if (!in.apFloat(llvm::APFloat::IEEEdouble(), atol) ||
      !in.apFloat(llvm::APFloat::IEEEdouble(), rtol) || !in.cursor().signedVarInt(ulps) ||
      !in.attribute(mode)) {
    return {};
  }
  return shlo::ResultAccuracyAttr::getChecked(reportAt(in), in.getContext(), atol, rtol, ulps,
                                              mode);
}

mlir::Attribute decodeTypeExtensions(DecodeStream& in) {
  llvm::SmallVector<int64_t> bounds;
  if (!in.signedVarInts(bounds)) return {};
  return shlo::TypeExtensionsAttr::get(in.getContext(), bounds);
}

}  // namespace isthmus::importer

// StableHLO's encoding of its attributes and types as they are in memory, which has no versions:
// programs that a framework hands over within a process come so.
#include "compiler/dialect/dialect.h"
#include "compiler/import/bytecode/attribute_decoder.h"

namespace isthmus::importer {
namespace {

enum AttributeCode : uint64_t {
  kChannelHandle = 1,
  kComparisonDirection = 2,
  kComparisonType = 3,
  kConvDimensionNumbers = 4,
  kDotDimensionNumbers = 5,
  kFftType = 6,
  kGatherDimensionNumbers = 7,
  kPrecision = 8,
  kRngAlgorithm = 9,
  kRngDistribution = 10,
  kScatterDimensionNumbers = 11,
  kTranspose = 12,
  kTypeExtensions = 13,
  kOutputOperandAlias = 14,
  kDotAlgorithm = 15,
  kResultAccuracyMode = 16,
  kResultAccuracy = 17,
};

using Dims = llvm::SmallVector<int64_t>;

// Reads each argument: a signed number, or a list of them.
bool read(DecodeStream& in, int64_t& number) { return in.cursor().signedVarInt(number); }
bool read(DecodeStream& in, Dims& numbers) { return in.signedVarInts(numbers); }
template <typename... Fields>
bool readAll(DecodeStream& in, Fields&... fields) {
  return (read(in, fields) && ...);
}

mlir::Attribute decodeConvolution(DecodeStream& in) {
  int64_t inputBatch, inputFeature, kernelInput, kernelOutput, outputBatch, outputFeature;
  Dims inputSpatial, kernelSpatial, outputSpatial;
  if (!readAll(in, inputBatch, inputFeature, inputSpatial, kernelInput, kernelOutput, kernelSpatial,
               outputBatch, outputFeature, outputSpatial)) {
    return {};
  }
  return shlo::ConvDimensionNumbersAttr::get(in.getContext(), inputBatch, inputFeature,
                                             inputSpatial, kernelInput, kernelOutput, kernelSpatial,
                                             outputBatch, outputFeature, outputSpatial);
}

mlir::Attribute decodeDot(DecodeStream& in) {
  Dims leftBatching, rightBatching, leftContracting, rightContracting;
  if (!readAll(in, leftBatching, rightBatching, leftContracting, rightContracting)) return {};
  return shlo::DotDimensionNumbersAttr::get(in.getContext(), leftBatching, rightBatching,
                                            leftContracting, rightContracting);
}

mlir::Attribute decodeGather(DecodeStream& in) {
  Dims offset, collapsed, operandBatching, indicesBatching, startIndexMap;
  int64_t indexVectorDim;
  if (!readAll(in, offset, collapsed, operandBatching, indicesBatching, startIndexMap,
               indexVectorDim)) {
    return {};
  }
  return shlo::GatherDimensionNumbersAttr::get(in.getContext(), offset, collapsed, operandBatching,
                                               indicesBatching, startIndexMap, indexVectorDim);
}

mlir::Attribute decodeScatter(DecodeStream& in) {
  Dims window, inserted, inputBatching, indicesBatching, operandDims;
  int64_t indexVectorDim;
  if (!readAll(in, window, inserted, inputBatching, indicesBatching, operandDims, indexVectorDim)) {
    return {};
  }
  return shlo::ScatterDimensionNumbersAttr::get(in.getContext(), window, inserted, inputBatching,
                                                indicesBatching, operandDims, indexVectorDim);
}

mlir::Attribute decodeDotAlgorithm(DecodeStream& in) {
  mlir::Type left, right, accumulation;
  int64_t leftCount, rightCount, operations, isImprecise;
  if (!in.type(left) || !in.type(right) || !in.type(accumulation) ||
      !readAll(in, leftCount, rightCount, operations, isImprecise)) {
    return {};
  }
  return shlo::DotAlgorithmAttr::getChecked(reportAt(in), in.getContext(), left, right,
                                            accumulation, leftCount, rightCount, operations,
                                            isImprecise != 0);
}

}  // namespace

mlir::Attribute decodeStablehloAttribute(DecodeStream& in) {
  uint64_t code;
  if (!in.cursor().varInt(code)) return {};
  switch (code) {
    case kChannelHandle: {
      int64_t handle, type;
      if (!readAll(in, handle, type)) return {};
      return shlo::ChannelHandleAttr::get(in.getContext(), handle, type);
    }
    case kComparisonDirection:
      return decodeComparisonDirection(in);
    case kComparisonType:
      return decodeComparisonType(in);
    case kConvDimensionNumbers:
      return decodeConvolution(in);
    case kDotDimensionNumbers:
      return decodeDot(in);
    case kFftType:
      return decodeFftType(in);
    case kGatherDimensionNumbers:
      return decodeGather(in);
    case kPrecision:
      return decodePrecision(in);
    case kRngAlgorithm:
      return decodeRngAlgorithm(in);
    case kRngDistribution:
      return decodeRngDistribution(in);
    case kScatterDimensionNumbers:
      return decodeScatter(in);
    case kTranspose:
      return decodeTranspose(in);
    case kTypeExtensions:
      return decodeTypeExtensions(in);
    case kOutputOperandAlias:
      return decodeOutputOperandAlias(in);
    case kDotAlgorithm:
      return decodeDotAlgorithm(in);
    case kResultAccuracyMode:
      return decodeResultAccuracyMode(in);
    case kResultAccuracy:
      return decodeResultAccuracy(in);
    default:
      in.decoder().sink().fail(StatusCode::kUnimplemented,
                               "program bytecode has an attribute of StableHLO that is not known");
      return {};
  }
}

mlir::Type decodeStablehloType(DecodeStream& in) {
  constexpr uint64_t kToken = 0;
  uint64_t code;
  if (!in.cursor().varInt(code)) return {};
  return code == kToken ? shlo::TokenType::get(in.getContext()) : mlir::Type();
}

}  // namespace isthmus::importer

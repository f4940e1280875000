// Values of cuDNN's enumerations, as its header cudnn_graph.h has them (test/cuda_headers_test.py
// compares them).
#pragma once

namespace isthmus::cuda::dnn {

// Descriptors.
inline constexpr int kPointwise = 0, kConvolution = 1, kEngine = 2, kEngineConfig = 3,
                     kHeuristics = 4;
inline constexpr int kExecutionPlan = 5, kForward = 10, kPointwiseOperation = 13,
                     kOperationGraph = 15;
inline constexpr int kBackwardFilter = 11, kBackwardData = 12;
inline constexpr int kVariantPack = 16, kTensor = 17, kMatmul = 18, kMatmulOperation = 19;
inline constexpr int kReduction = 21, kReductionOperation = 22, kReshapeOperation = 31;
// Types of attributes.
inline constexpr int kTypeHandle = 0, kTypeDataType = 1, kTypeBoolean = 2, kTypeInt64 = 3,
                     kTypeFloat = 4;
inline constexpr int kTypeDouble = 5, kTypePointer = 6, kTypeConvolutionMode = 7, kTypeHeurMode = 8;
inline constexpr int kTypeNanPropagation = 10, kTypeNumericalNote = 11, kTypePointwiseMode = 14;
inline constexpr int kTypeDescriptor = 15, kTypeReductionOperator = 18, kTypeBehaviorNote = 19;
// Attributes.
inline constexpr int kPointwiseMode = 0, kPointwiseMathPrecision = 1, kPointwiseNanPropagation = 2;
inline constexpr int kPointwiseReluUpperClip = 4, kPointwiseAxis = 9;
inline constexpr int kConvolutionComputeType = 100, kConvolutionMode = 101,
                     kConvolutionDilations = 102;
inline constexpr int kConvolutionStrides = 103, kConvolutionPostPaddings = 104;
inline constexpr int kConvolutionPrePaddings = 105, kConvolutionSpatialDims = 106;
inline constexpr int kHeuristicsMode = 200, kHeuristicsGraph = 201, kHeuristicsResults = 202;
inline constexpr int kEngineConfigEngine = 300;
inline constexpr int kPlanHandle = 400, kPlanEngineConfig = 401, kPlanWorkspaceSize = 402;
inline constexpr int kForwardAlpha = 700, kForwardBeta = 701, kForwardConvolution = 702;
inline constexpr int kForwardW = 703, kForwardX = 704, kForwardY = 705;
inline constexpr int kBackwardDataAlpha = 706, kBackwardDataBeta = 707;
inline constexpr int kBackwardDataConvolution = 708, kBackwardDataW = 709;
inline constexpr int kBackwardDataX = 710, kBackwardDataY = 711;
inline constexpr int kBackwardFilterAlpha = 712, kBackwardFilterBeta = 713;
inline constexpr int kBackwardFilterConvolution = 714, kBackwardFilterW = 715;
inline constexpr int kBackwardFilterX = 716, kBackwardFilterY = 717;
inline constexpr int kOperationPointwise = 750, kOperationX = 751, kOperationB = 752;
inline constexpr int kOperationY = 753, kOperationT = 758;
inline constexpr int kGraphHandle = 800, kGraphOperations = 801;
inline constexpr int kTensorAlignment = 900, kTensorDataType = 901, kTensorDimensions = 902;
inline constexpr int kTensorStrides = 903, kTensorId = 906, kTensorIsVirtual = 907;
inline constexpr int kTensorIsByValue = 908;
inline constexpr int kPackIds = 1000, kPackPointers = 1001, kPackWorkspace = 1003;
inline constexpr int kEngineNumericalNote = 1303, kEngineBehaviorNote = 1305;
inline constexpr int kMatmulComputeType = 1500;
inline constexpr int kMatmulA = 1520, kMatmulB = 1521, kMatmulC = 1522, kMatmulSettings = 1523;
inline constexpr int kReductionOperator = 1600, kReductionComputeType = 1601;
inline constexpr int kReductionX = 1610, kReductionY = 1611, kReductionSettings = 1612;
inline constexpr int kReshapeX = 2200, kReshapeY = 2201;
// What they may be.
inline constexpr int kDataFloat = 0, kDataInt32 = 4, kDataBoolean = 11;
inline constexpr int kModeConvolution = 0, kModeCrossCorrelation = 1;
inline constexpr int kPointwiseAdd = 0, kPointwiseMultiply = 1, kPointwiseDivide = 6;
inline constexpr int kPointwiseSubtract = 9, kPointwiseExp = 13, kPointwiseLog = 15;
inline constexpr int kPointwiseRelu = 100, kPointwiseGreaterOrEqual = 303;
inline constexpr int kPointwiseIndex = 501, kPointwiseSelect = 601;
inline constexpr int kReduceAdd = 0, kReduceMax = 3;
inline constexpr int kPropagateNan = 1, kHeurModeA = 3;
inline constexpr int kNoteTensorCore = 0, kNoteStrictNan = 9;
inline constexpr int kNoteRuntimeCompilation = 0, kNoteSupportsGraphs = 3, kNoteBlasDependency = 4;

}  // namespace isthmus::cuda::dnn

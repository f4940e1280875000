"""What platform cuda declares of CUDA by hand, against NVIDIA's own headers where those are installed."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

DRIVER = pathlib.Path(__file__).resolve().parents[1] / "backends/cuda/driver"
COMPILER = shutil.which("clang++-22") or shutil.which("clang++") or shutil.which("g++")


def _include_folder(header):
    """A folder that has the header: of the toolkit in the environment, else of the system."""
    folders = [os.environ.get(name) for name in ("CUDA_HOME", "CUDA_PATH")] + ["/usr/local/cuda"]
    for folder in filter(None, folders):
        if (pathlib.Path(folder) / "include" / header).is_file():
            return pathlib.Path(folder) / "include"
    return None


# Whether a call by one type is one by the other: enumerations are passed as numbers, and of what we
# only hand on (void*, or a struct without a definition) no more is known than that it is a pointer.
PRELUDE = """
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#define TEXT_OF(x) TEXT(x)
#define TEXT(x) #x
template <typename T, typename = void> struct IsComplete : std::false_type {};
template <typename T> struct IsComplete<T, decltype(void(sizeof(T)))> : std::true_type {};
template <typename A, typename B> constexpr bool sameAbi() {
  using T = std::remove_cv_t<A>;
  using U = std::remove_cv_t<B>;
  if constexpr (std::is_pointer_v<T> && std::is_pointer_v<U>) {
    using X = std::remove_pointer_t<T>;
    using Y = std::remove_pointer_t<U>;
    if constexpr (std::is_void_v<X> || std::is_void_v<Y> || !IsComplete<X>::value || !IsComplete<Y>::value) {
      return true;
    } else if constexpr (std::is_class_v<X> != std::is_class_v<Y>) {
      return alignof(X) == alignof(Y);  // the first of the numbers that a struct is made of
    } else {
      return sameAbi<X, Y>();
    }
  } else if constexpr (std::is_pointer_v<T> || std::is_pointer_v<U>) {
    return false;
  } else if constexpr (std::is_class_v<T> && std::is_class_v<U>) {
    return sizeof(T) == sizeof(U) && alignof(T) == alignof(U);
  } else {
    return sizeof(T) == sizeof(U) && std::is_floating_point_v<T> == std::is_floating_point_v<U>;
  }
}
template <typename A, typename B> struct SameFunction : std::false_type {};
template <typename R, typename... A, typename S, typename... B>
struct SameFunction<R (*)(A...), S (*)(B...)> {
  static constexpr bool compare() {
    if constexpr (sizeof...(A) != sizeof...(B)) return false;
    else return (sameAbi<A, B>() && ... && sameAbi<R, S>());
  }
  static constexpr bool value = compare();
};
"""


def _functions(file, macro):
    """(symbol, parameters) of each entry of a list of functions."""
    text = (DRIVER / file).read_text().replace("\\\n", " ")
    (line,) = re.findall(rf"#define {macro}\(X\)(.*)", text)
    found = re.findall(r'X\(\w+, "(\w+)",\s*(\((?:[^()]|\([^()]*\))*\))\)', line)
    assert len(found) == line.count("X(") > 5
    return found


def _compile(tmp_path, header, lines):
    include = _include_folder(header)
    if include is None or COMPILER is None:
        pytest.skip(f"no {header}: CUDA_HOME names a toolkit with headers")
    source = tmp_path / "check.cc"
    source.write_text(f"#include <{header}>\n" + PRELUDE + "\n".join(lines) + "\n")
    return subprocess.run([COMPILER, "-std=c++20", "-fsyntax-only", "-ferror-limit=0", "-Wno-everything",
                           f"-I{include}", source], capture_output=True, text=True, timeout=300)


def _checks_of_functions(file, macro, result):
    return [f'static_assert(SameFunction<decltype(&::{symbol}), {result} (*){parameters}>::value, "{symbol}");'
            for symbol, parameters in _functions(file, macro)]


def _checks_of_struct(text, name, theirs):
    """Our struct under another name, field by field of the same names."""
    (body,) = re.findall(rf"struct {name} \{{\n(.*?)\n\}};", text, re.DOTALL)
    fields = re.findall(r"(\w+)[,;]", body)
    assert len(fields) > 2
    return [f"struct Our{name} {{ {body} }};", f"static_assert(sizeof(Our{name}) == sizeof({theirs}));"] + [
        f'static_assert(offsetof(Our{name}, {field}) == offsetof({theirs}, {field}), "{field}");' for field in fields]


def _checks_of_enum(text, name, theirs):
    """The values of our enumeration, which must have those names that `theirs` translates."""
    (listed,) = re.findall(rf"enum class {name}[^{{]*\{{([^}}]*)\}}", text)
    values = dict(re.findall(r"(\w+) = (\d+)", listed))
    assert set(values) == set(theirs)
    return [f'static_assert({theirs[one]} == {value}, "{one}");' for one, value in values.items()]


# Functions whose newer version, of that name, not every driver for CUDA 12 has.
NEWER_THAN_WANTED = {"cuEventElapsedTime": "cuEventElapsedTime_v2"}


def _checks_of_versions(file, macro):
    """What we look up is what a program that is compiled with the header calls: "cuX" there may be "cuX_v2"."""
    lines = []
    for symbol, _ in _functions(file, macro):
        name = re.sub(r"_v\d+$", "", symbol)
        allowed = {symbol, NEWER_THAN_WANTED.get(symbol, symbol)}
        same = " || ".join(f'std::string_view(TEXT_OF({name})) == "{one}"' for one in allowed)
        lines.append(f'static_assert({same}, "version of {symbol}");')
    return lines


def _driver_checks():
    text = (DRIVER / "api.h").read_text()
    lines = ["using CUdeviceAttribute = CUdevice_attribute;", "using CUmemPoolAttribute = CUmemPool_attribute;",
             "using CUjitOption = CUjit_option;"]
    for name, kind in re.findall(r"using (\w+) = ((?!struct)[\w ]+);", text):
        lines.append(f'static_assert(sameAbi<::{name}, {kind}>(), "{name}");')
    values = re.findall(r"\b(CU\w*_[A-Z]\w*) = (\d+)", text)
    assert len(values) > 20
    lines += [f'static_assert(static_cast<long>({name}) == {value}, "{name}");' for name, value in values]
    lines += _checks_of_struct(text, "CUDA_MEMCPY2D", "CUDA_MEMCPY2D")
    lines += _checks_of_struct(text, "CUDA_MEMCPY3D", "CUDA_MEMCPY3D")
    lines += _checks_of_struct(text, "CUDA_KERNEL_NODE_PARAMS", "CUDA_KERNEL_NODE_PARAMS")
    (body,) = re.findall(r"struct CUmemAccessDesc (\{.*?\});", text, re.DOTALL)
    lines.append(f"struct OurAccess {body}; static_assert(sizeof(OurAccess) == sizeof(CUmemAccessDesc));")
    for ours, theirs in (("locationType", "location.type"), ("locationId", "location.id"), ("flags", "flags")):
        lines.append(f"static_assert(offsetof(OurAccess, {ours}) == offsetof(CUmemAccessDesc, {theirs}));")
    lines += _checks_of_versions("library.h", "ISTHMUS_CUDA_FUNCTIONS")
    return lines + _checks_of_functions("library.h", "ISTHMUS_CUDA_FUNCTIONS", "CUresult")


# Our names of values, which are private to blas.cc, and NVIDIA's.
BLAS_VALUES = {
    "kSuccess": "CUBLAS_STATUS_SUCCESS", "kNotInitialized": "CUBLAS_STATUS_NOT_INITIALIZED",
    "kAllocFailed": "CUBLAS_STATUS_ALLOC_FAILED", "kInvalidValue": "CUBLAS_STATUS_INVALID_VALUE",
    "kArchMismatch": "CUBLAS_STATUS_ARCH_MISMATCH", "kNotSupported": "CUBLAS_STATUS_NOT_SUPPORTED", "kComputeF32": "CUBLAS_COMPUTE_32F", "kComputeF64": "CUBLAS_COMPUTE_64F",
    "kComputeI32": "CUBLAS_COMPUTE_32I", "kComputeTf32": "CUBLAS_COMPUTE_32F_FAST_TF32",
    "kDescTransA": "CUBLASLT_MATMUL_DESC_TRANSA", "kDescTransB": "CUBLASLT_MATMUL_DESC_TRANSB",
    "kDescEpilogue": "CUBLASLT_MATMUL_DESC_EPILOGUE", "kDescBiasPointer": "CUBLASLT_MATMUL_DESC_BIAS_POINTER",
    "kLayoutBatchCount": "CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT",
    "kLayoutBatchOffset": "CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET",
    "kPreferenceWorkspaceBytes": "CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES",
    "kPreferenceReductionSchemes": "CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK",
    "kReductionComputeType": "CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE",
    "kOpN": "CUBLAS_OP_N", "kOpT": "CUBLAS_OP_T",
}
BLAS_ALIGNMENTS = [f"CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_{matrix}_BYTES" for matrix in "ABCD"]
BLAS_TYPES = {"kF16": "CUDA_R_16F", "kBf16": "CUDA_R_16BF", "kF32": "CUDA_R_32F", "kF64": "CUDA_R_64F",
              "kC64": "CUDA_C_32F", "kC128": "CUDA_C_64F", "kI8": "CUDA_R_8I", "kI32": "CUDA_R_32I"}


BLAS_EPILOGUES = {"kNone": "CUBLASLT_EPILOGUE_DEFAULT", "kRelu": "CUBLASLT_EPILOGUE_RELU", "kBias": "CUBLASLT_EPILOGUE_BIAS",
                  "kReluBias": "CUBLASLT_EPILOGUE_RELU_BIAS", "kGelu": "CUBLASLT_EPILOGUE_GELU",
                  "kGeluBias": "CUBLASLT_EPILOGUE_GELU_BIAS"}


def _blas_checks():
    text = (DRIVER / "blas.cc").read_text()
    lines = ["using Handle = void*; using Opaque = void*; using CUstream = cudaStream_t;"]
    for name, theirs in BLAS_VALUES.items():
        (value,) = re.findall(rf"\b{name} = (\d+)", text)
        lines.append(f'static_assert({theirs} == {value}, "{name}");')
    (listed,) = re.findall(r"kPreferenceAlignments\[\] = \{([\d, ]+)\}", text)
    for theirs, value in zip(BLAS_ALIGNMENTS, listed.split(","), strict=True):
        lines.append(f'static_assert({theirs} == {value}, "{theirs}");')
    lines += _checks_of_enum((DRIVER.parent / "libraries/matrix_product.h").read_text(), "BlasType", BLAS_TYPES)
    lines += _checks_of_enum((DRIVER.parent / "libraries/matrix_product.h").read_text(), "BlasEpilogue", BLAS_EPILOGUES)
    (fields,) = re.findall(r"(struct Heuristic \{.*?\n\};)", text, re.DOTALL)
    lines.append(fields)
    theirs = "cublasLtMatmulHeuristicResult_t"
    lines.append(f"static_assert(sizeof(Heuristic) == sizeof({theirs}));")
    for ours, name in (("algorithm", "algo"), ("workspaceBytes", "workspaceSize"), ("state", "state"),
                       ("waves", "wavesCount"), ("reserved", "reserved")):
        lines.append(f'static_assert(offsetof(Heuristic, {ours}) == offsetof({theirs}, {name}), "{ours}");')
    return lines + _checks_of_functions("blas.cc", "ISTHMUS_BLAS_FUNCTIONS", "int")


NCCL_TYPES = {"kS8": "ncclInt8", "kU8": "ncclUint8", "kS32": "ncclInt32", "kU32": "ncclUint32", "kS64": "ncclInt64",
              "kU64": "ncclUint64", "kF16": "ncclFloat16", "kF32": "ncclFloat32", "kF64": "ncclFloat64",
              "kBf16": "ncclBfloat16"}
NCCL_REDUCTIONS = {"kSum": "ncclSum", "kProduct": "ncclProd", "kMax": "ncclMax", "kMin": "ncclMin"}


def _nccl_checks():
    text = (DRIVER / "nccl.cc").read_text()
    header = (DRIVER / "nccl.h").read_text()
    lines = ["using Communicator = void*; using CUstream = cudaStream_t;",
             'static_assert(SameFunction<decltype(&::ncclGetErrorString), const char* (*)(int)>::value, "text");']
    for name, theirs in {"kSuccess": "ncclSuccess", "kInProgress": "ncclInProgress"}.items():
        (value,) = re.findall(rf"\b{name} = (\d+)", text)
        lines.append(f'static_assert({theirs} == {value}, "{name}");')
    lines += _checks_of_enum(header, "NcclType", NCCL_TYPES)
    lines += _checks_of_enum(header, "NcclReduction", NCCL_REDUCTIONS)
    return lines + _checks_of_functions("nccl.cc", "ISTHMUS_NCCL_FUNCTIONS", "int")


DNN_VALUES = {
    "kSuccess": "CUDNN_STATUS_SUCCESS", "kInternalError": "CUDNN_STATUS_INTERNAL_ERROR", "kDataFloat": "CUDNN_DATA_FLOAT", "kFormatNchw": "CUDNN_TENSOR_NCHW",
    "kFormatNhwc": "CUDNN_TENSOR_NHWC", "kModeConvolution": "CUDNN_CONVOLUTION",
    "kModeCrossCorrelation": "CUDNN_CROSS_CORRELATION", "kMathDefault": "CUDNN_DEFAULT_MATH",
    "kMathTensorOp": "CUDNN_TENSOR_OP_MATH", "kMathFma": "CUDNN_FMA_MATH", "kDeterministic": "CUDNN_DETERMINISTIC",
    "kForwardImplicitGemm": "CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM",
    "kForwardPrecomputedGemm": "CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM",
    "kForwardGemm": "CUDNN_CONVOLUTION_FWD_ALGO_GEMM",
    "kBackwardDataAlgorithm1": "CUDNN_CONVOLUTION_BWD_DATA_ALGO_1",
    "kBackwardFilterAlgorithm1": "CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1",
}
DNN_TYPES = {"kF32": "CUDNN_DATA_FLOAT", "kF16": "CUDNN_DATA_HALF", "kBf16": "CUDNN_DATA_BFLOAT16"}


def _dnn_checks():
    text = (DRIVER / "dnn/dnn.cc").read_text()
    # Nothing of the toolkit's is needed for streams.
    lines = ["using Opaque = void*; using CUstream = cudaStream_t;",
             'static_assert(SameFunction<decltype(&::cudnnGetErrorString), const char* (*)(int)>::value, "text");']
    for name, theirs in DNN_VALUES.items():
        (value,) = re.findall(rf"\b{name} = (\d+)", text)
        lines.append(f'static_assert({theirs} == {value}, "{name}");')
    (count,) = re.findall(r"\bkMaxAlgorithms = (\d+)", text)
    lines += [f"static_assert(CUDNN_CONVOLUTION_{kind}_ALGO_COUNT <= {count});" for kind in ("FWD", "BWD_DATA", "BWD_FILTER")]
    lines += _checks_of_enum((DRIVER.parent / "libraries/dnn_convolution.h").read_text(), "DnnType", DNN_TYPES)
    (fields,) = re.findall(r"(struct Choice \{.*?\n\};)", text, re.DOTALL)
    lines.append(fields)
    for kind in ("Fwd", "BwdData", "BwdFilter"):
        theirs = f"cudnnConvolution{kind}AlgoPerf_t"
        lines.append(f"static_assert(sizeof(Choice) == sizeof({theirs}));")
        for ours, name in (("algorithm", "algo"), ("status", "status"), ("milliseconds", "time"), ("memory", "memory"),
                           ("determinism", "determinism"), ("mathType", "mathType"), ("reserved", "reserved")):
            lines.append(f'static_assert(offsetof(Choice, {ours}) == offsetof({theirs}, {name}), "{ours}");')
    return lines + _dnn_graph_checks() + _checks_of_functions("dnn/dnn.cc", "ISTHMUS_DNN_FUNCTIONS", "int")


# In driver/dnn/dnn_values.h, as they are called there.
DNN_GRAPH_VALUES = {
    "kPointwise": "CUDNN_BACKEND_POINTWISE_DESCRIPTOR", "kConvolution": "CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR",
    "kEngine": "CUDNN_BACKEND_ENGINE_DESCRIPTOR", "kEngineConfig": "CUDNN_BACKEND_ENGINECFG_DESCRIPTOR",
    "kHeuristics": "CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR", "kExecutionPlan": "CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR",
    "kForward": "CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR",
    "kBackwardFilter": "CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR",
    "kBackwardData": "CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR",
    "kPointwiseOperation": "CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR",
    "kOperationGraph": "CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR", "kVariantPack": "CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR",
    "kTensor": "CUDNN_BACKEND_TENSOR_DESCRIPTOR",
    "kMatmul": "CUDNN_BACKEND_MATMUL_DESCRIPTOR", "kMatmulOperation": "CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR",
    "kReduction": "CUDNN_BACKEND_REDUCTION_DESCRIPTOR",
    "kReductionOperation": "CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR",
    "kTypeReductionOperator": "CUDNN_TYPE_REDUCTION_OPERATOR_TYPE", "kPointwiseAxis": "CUDNN_ATTR_POINTWISE_AXIS",
    "kOperationT": "CUDNN_ATTR_OPERATION_POINTWISE_TDESC", "kTensorIsByValue": "CUDNN_ATTR_TENSOR_IS_BY_VALUE",
    "kMatmulComputeType": "CUDNN_ATTR_MATMUL_COMP_TYPE", "kMatmulA": "CUDNN_ATTR_OPERATION_MATMUL_ADESC",
    "kMatmulB": "CUDNN_ATTR_OPERATION_MATMUL_BDESC", "kMatmulC": "CUDNN_ATTR_OPERATION_MATMUL_CDESC",
    "kMatmulSettings": "CUDNN_ATTR_OPERATION_MATMUL_DESC", "kReductionOperator": "CUDNN_ATTR_REDUCTION_OPERATOR",
    "kReductionComputeType": "CUDNN_ATTR_REDUCTION_COMP_TYPE", "kReductionX": "CUDNN_ATTR_OPERATION_REDUCTION_XDESC",
    "kReductionY": "CUDNN_ATTR_OPERATION_REDUCTION_YDESC", "kReductionSettings": "CUDNN_ATTR_OPERATION_REDUCTION_DESC",
    "kDataInt32": "CUDNN_DATA_INT32", "kDataBoolean": "CUDNN_DATA_BOOLEAN", "kPointwiseMultiply": "CUDNN_POINTWISE_MUL",
    "kPointwiseDivide": "CUDNN_POINTWISE_DIV", "kPointwiseSubtract": "CUDNN_POINTWISE_SUB",
    "kPointwiseExp": "CUDNN_POINTWISE_EXP", "kPointwiseLog": "CUDNN_POINTWISE_LOG",
    "kPointwiseGreaterOrEqual": "CUDNN_POINTWISE_CMP_GE", "kPointwiseIndex": "CUDNN_POINTWISE_GEN_INDEX",
    "kPointwiseSelect": "CUDNN_POINTWISE_BINARY_SELECT", "kReduceAdd": "CUDNN_REDUCE_TENSOR_ADD",
    "kReduceMax": "CUDNN_REDUCE_TENSOR_MAX", "kReshapeOperation": "CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR",
    "kReshapeX": "CUDNN_ATTR_OPERATION_RESHAPE_XDESC", "kReshapeY": "CUDNN_ATTR_OPERATION_RESHAPE_YDESC",
    "kTypeHandle": "CUDNN_TYPE_HANDLE", "kTypeDataType": "CUDNN_TYPE_DATA_TYPE", "kTypeBoolean": "CUDNN_TYPE_BOOLEAN",
    "kTypeInt64": "CUDNN_TYPE_INT64", "kTypeFloat": "CUDNN_TYPE_FLOAT", "kTypeDouble": "CUDNN_TYPE_DOUBLE",
    "kTypePointer": "CUDNN_TYPE_VOID_PTR", "kTypeConvolutionMode": "CUDNN_TYPE_CONVOLUTION_MODE",
    "kTypeHeurMode": "CUDNN_TYPE_HEUR_MODE", "kTypeNanPropagation": "CUDNN_TYPE_NAN_PROPOGATION",
    "kTypeNumericalNote": "CUDNN_TYPE_NUMERICAL_NOTE", "kTypePointwiseMode": "CUDNN_TYPE_POINTWISE_MODE",
    "kTypeDescriptor": "CUDNN_TYPE_BACKEND_DESCRIPTOR", "kTypeBehaviorNote": "CUDNN_TYPE_BEHAVIOR_NOTE",
    "kPointwiseMode": "CUDNN_ATTR_POINTWISE_MODE", "kPointwiseMathPrecision": "CUDNN_ATTR_POINTWISE_MATH_PREC",
    "kPointwiseNanPropagation": "CUDNN_ATTR_POINTWISE_NAN_PROPAGATION",
    "kPointwiseReluUpperClip": "CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP",
    "kConvolutionComputeType": "CUDNN_ATTR_CONVOLUTION_COMP_TYPE", "kConvolutionMode": "CUDNN_ATTR_CONVOLUTION_CONV_MODE",
    "kConvolutionDilations": "CUDNN_ATTR_CONVOLUTION_DILATIONS", "kConvolutionStrides": "CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES",
    "kConvolutionPostPaddings": "CUDNN_ATTR_CONVOLUTION_POST_PADDINGS",
    "kConvolutionPrePaddings": "CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS",
    "kConvolutionSpatialDims": "CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS", "kHeuristicsMode": "CUDNN_ATTR_ENGINEHEUR_MODE",
    "kHeuristicsGraph": "CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH", "kHeuristicsResults": "CUDNN_ATTR_ENGINEHEUR_RESULTS",
    "kEngineConfigEngine": "CUDNN_ATTR_ENGINECFG_ENGINE", "kPlanHandle": "CUDNN_ATTR_EXECUTION_PLAN_HANDLE",
    "kPlanEngineConfig": "CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG",
    "kPlanWorkspaceSize": "CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE",
    "kForwardAlpha": "CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA",
    "kForwardBeta": "CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA",
    "kForwardConvolution": "CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC",
    "kForwardW": "CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W", "kForwardX": "CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X",
    "kForwardY": "CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y",
    "kBackwardDataAlpha": "CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA",
    "kBackwardDataBeta": "CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA",
    "kBackwardDataConvolution": "CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC",
    "kBackwardDataW": "CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W",
    "kBackwardDataX": "CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX",
    "kBackwardDataY": "CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY",
    "kBackwardFilterAlpha": "CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA",
    "kBackwardFilterBeta": "CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA",
    "kBackwardFilterConvolution": "CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC",
    "kBackwardFilterW": "CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW",
    "kBackwardFilterX": "CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X",
    "kBackwardFilterY": "CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY",
    "kOperationPointwise": "CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR", "kOperationX": "CUDNN_ATTR_OPERATION_POINTWISE_XDESC",
    "kOperationB": "CUDNN_ATTR_OPERATION_POINTWISE_BDESC", "kOperationY": "CUDNN_ATTR_OPERATION_POINTWISE_YDESC",
    "kGraphHandle": "CUDNN_ATTR_OPERATIONGRAPH_HANDLE", "kGraphOperations": "CUDNN_ATTR_OPERATIONGRAPH_OPS",
    "kTensorAlignment": "CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT", "kTensorDataType": "CUDNN_ATTR_TENSOR_DATA_TYPE",
    "kTensorDimensions": "CUDNN_ATTR_TENSOR_DIMENSIONS", "kTensorStrides": "CUDNN_ATTR_TENSOR_STRIDES",
    "kTensorId": "CUDNN_ATTR_TENSOR_UNIQUE_ID", "kTensorIsVirtual": "CUDNN_ATTR_TENSOR_IS_VIRTUAL",
    "kPackIds": "CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS", "kPackPointers": "CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS",
    "kPackWorkspace": "CUDNN_ATTR_VARIANT_PACK_WORKSPACE", "kEngineNumericalNote": "CUDNN_ATTR_ENGINE_NUMERICAL_NOTE",
    "kEngineBehaviorNote": "CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE",
    "kDataFloat": "CUDNN_DATA_FLOAT", "kModeConvolution": "CUDNN_CONVOLUTION", "kModeCrossCorrelation": "CUDNN_CROSS_CORRELATION",
    "kPointwiseAdd": "CUDNN_POINTWISE_ADD", "kPointwiseRelu": "CUDNN_POINTWISE_RELU_FWD", "kPropagateNan": "CUDNN_PROPAGATE_NAN",
    "kHeurModeA": "CUDNN_HEUR_MODE_A", "kNoteTensorCore": "CUDNN_NUMERICAL_NOTE_TENSOR_CORE",
    "kNoteStrictNan": "CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP",
    "kNoteRuntimeCompilation": "CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION",
    "kNoteSupportsGraphs": "CUDNN_BEHAVIOR_NOTE_SUPPORTS_CUDA_GRAPH_NATIVE_API",
    "kNoteBlasDependency": "CUDNN_BEHAVIOR_NOTE_CUBLASLT_DEPENDENCY",
}


def _dnn_graph_checks():
    values = dict(re.findall(r"\b(k\w+) = (\d+)[,;]", (DRIVER / "dnn/dnn_values.h").read_text()))
    assert set(values) == set(DNN_GRAPH_VALUES)
    lines = [f'static_assert({theirs} == {values[name]}, "{name}");' for name, theirs in DNN_GRAPH_VALUES.items()]
    # What attributes are read from and written to.
    lines += [f"static_assert(sizeof({name}) == sizeof(int));" for name in (
        "cudnnDataType_t", "cudnnConvolutionMode_t", "cudnnPointwiseMode_t", "cudnnNanPropagation_t", "cudnnBackendHeurMode_t",
        "cudnnBackendNumericalNote_t", "cudnnBackendBehaviorNote_t", "cudnnReduceTensorOp_t")]
    lines.append('static_assert(std::is_same_v<decltype(&::cudnnGetLastErrorString), void (*)(char*, size_t)>, "text");')
    lines.append('static_assert(std::is_same_v<decltype(&::cudnnGetVersion), size_t (*)()>, "version");')
    return lines + _checks_of_functions("dnn/dnn_graph.cc", "ISTHMUS_DNN_GRAPH_FUNCTIONS", "int")


CHECKS = {"cuda.h": _driver_checks, "cublasLt.h": _blas_checks, "cudnn.h": _dnn_checks, "nccl.h": _nccl_checks}


@pytest.mark.parametrize("header", CHECKS)
def test_agrees_with_nvidia(header, tmp_path):
    result = _compile(tmp_path, header, CHECKS[header]())
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("line", [
    'static_assert(SameFunction<decltype(&::cuInit), CUresult (*)(long)>::value, "wrong");',
    'static_assert(SameFunction<decltype(&::cuInit), CUresult (*)()>::value, "wrong");',
    'static_assert(SameFunction<decltype(&::cuDeviceGetCount), CUresult (*)(long*)>::value, "wrong");',
    'static_assert(std::string_view(TEXT_OF(cuDeviceTotalMem)) == "cuDeviceTotalMem", "wrong");',
])
def test_a_wrong_declaration_is_seen(line, tmp_path):
    assert "wrong" in _compile(tmp_path, "cuda.h", [line]).stderr

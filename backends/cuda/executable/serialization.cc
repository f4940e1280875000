// The code field by field, behind the rest of the program.
#include "backends/cuda/executable/serialization.h"

#include "backends/cuda/driver/blas.h"
#include "backends/cuda/driver/dnn/dnn.h"
#include "backends/shared/serialization/image_checks.h"
#include "backends/shared/staging/program_bytes.h"

namespace isthmus::cuda {
namespace {

constexpr ProgramKind kKind{"ISTHCUD\x05", "cuda"};

// Far above what any device has, and low enough that the product of two of them is a number.
constexpr int64_t kMaxSize = int64_t{1} << 31;
// Buffers of a product without a bias: lhs, rhs, result, scratch memory.
constexpr size_t kProductBuffers = 4;
constexpr unsigned kMaxBlockThreads = 1024;

void writeOperand(ByteWriter& out, const MatrixOperand& operand) {
  out.write(static_cast<int8_t>(operand.alongContracting));
  out.write(operand.stride);
  out.write(operand.batchStride);
  out.write(operand.outerStride);
}

MatrixOperand readOperand(ByteReader& in) {
  MatrixOperand operand;
  operand.alongContracting = in.read<int8_t>() != 0;
  operand.stride = in.read<int64_t>();
  operand.batchStride = in.read<int64_t>();
  operand.outerStride = in.read<int64_t>();
  return operand;
}

void writeProduct(ByteWriter& out, const BlasProduct& product) {
  for (int64_t size :
       {product.outer, product.batch, product.rows, product.columns, product.contracting}) {
    out.write(size);
  }
  writeOperand(out, product.lhs);
  writeOperand(out, product.rhs);
  out.write(product.operands);
  out.write(product.result);
  out.write(static_cast<int8_t>(product.isTf32));
  out.write(product.epilogue);
}

BlasProduct readProduct(ByteReader& in) {
  BlasProduct product;
  for (int64_t* size :
       {&product.outer, &product.batch, &product.rows, &product.columns, &product.contracting}) {
    *size = in.read<int64_t>();
  }
  product.lhs = readOperand(in);
  product.rhs = readOperand(in);
  product.operands = in.read<BlasType>();
  product.result = in.read<BlasType>();
  product.isTf32 = in.read<int8_t>() != 0;
  product.epilogue = in.read<BlasEpilogue>();
  return product;
}

void writeConvolution(ByteWriter& out, const DnnConvolution& convolution) {
  out.write(convolution.kind);
  out.write(convolution.type);
  for (bool flag : {convolution.isTf32, convolution.isFlipped, convolution.isChannelsLast}) {
    out.write(static_cast<int8_t>(flag));
  }
  for (int64_t number :
       {convolution.groups, convolution.batch, convolution.inputs, convolution.outputs}) {
    out.write(number);
  }
  out.writeList(convolution.axes, [&](const DnnAxis& axis) {
    for (int64_t number :
         {axis.image, axis.window, axis.result, axis.padding, axis.stride, axis.dilation}) {
      out.write(number);
    }
  });
  const DnnEpilogue& epilogue = convolution.epilogue;
  for (bool flag : {epilogue.hasResidual, epilogue.hasBias, epilogue.hasRelu}) {
    out.write(static_cast<int8_t>(flag));
  }
}

DnnConvolution readConvolution(ByteReader& in) {
  DnnConvolution convolution;
  convolution.kind = in.read<DnnKind>();
  convolution.type = in.read<DnnType>();
  for (bool* flag : {&convolution.isTf32, &convolution.isFlipped, &convolution.isChannelsLast}) {
    *flag = in.read<int8_t>() != 0;
  }
  for (int64_t* number :
       {&convolution.groups, &convolution.batch, &convolution.inputs, &convolution.outputs}) {
    *number = in.read<int64_t>();
  }
  convolution.axes = in.readList([&] {
    DnnAxis axis;
    for (int64_t* number :
         {&axis.image, &axis.window, &axis.result, &axis.padding, &axis.stride, &axis.dilation}) {
      *number = in.read<int64_t>();
    }
    return axis;
  });
  DnnEpilogue& epilogue = convolution.epilogue;
  for (bool* flag : {&epilogue.hasResidual, &epilogue.hasBias, &epilogue.hasRelu}) {
    *flag = in.read<int8_t>() != 0;
  }
  return convolution;
}

// All numbers of an attention but the scale, in the order in which they are written.
template <typename Attention, typename Each>
void forEachNumber(Attention& attention, const Each& each) {
  for (auto* size : {&attention.batch, &attention.heads, &attention.group, &attention.rows,
                     &attention.keys, &attention.sums, &attention.features}) {
    each(*size);
  }
  for (auto* strides :
       {&attention.query, &attention.key, &attention.value, &attention.bias, &attention.result,
        &attention.queryGradient, &attention.keyGradient, &attention.valueGradient}) {
    for (auto* stride : {&strides->batch, &strides->head, &strides->row}) each(*stride);
  }
}

void writeAttention(ByteWriter& out, const DnnAttention& attention) {
  out.write(attention.type);
  out.write(attention.biasType);
  for (bool flag : {attention.isCausal, attention.hasBias, attention.isGradient}) {
    out.write(static_cast<int8_t>(flag));
  }
  const DnnGradientPlaces& places = attention.places;
  for (int8_t place : {places.query, places.key, places.value}) out.write(place);
  out.write(attention.scale);
  forEachNumber(attention, [&](int64_t number) { out.write(number); });
}

DnnAttention readAttention(ByteReader& in) {
  DnnAttention attention;
  attention.type = in.read<DnnType>();
  attention.biasType = in.read<DnnType>();
  for (bool* flag : {&attention.isCausal, &attention.hasBias, &attention.isGradient}) {
    *flag = in.read<int8_t>() != 0;
  }
  DnnGradientPlaces& places = attention.places;
  for (int8_t* place : {&places.query, &places.key, &places.value}) *place = in.read<int8_t>();
  attention.scale = in.read<double>();
  forEachNumber(attention, [&](int64_t& number) { number = in.read<int64_t>(); });
  return attention;
}

void writeCall(ByteWriter& out, const LibraryWork& work) {
  out.write(static_cast<int8_t>(work.what.index()));
  if (const auto* product = std::get_if<BlasProduct>(&work.what)) {
    writeProduct(out, *product);
  } else if (const auto* convolution = std::get_if<DnnConvolution>(&work.what)) {
    writeConvolution(out, *convolution);
  } else {
    writeAttention(out, std::get<DnnAttention>(work.what));
  }
  out.write(work.scratchBytes);
  out.write(work.description);
}

LibraryWork readCall(ByteReader& in) {
  LibraryWork work;
  switch (in.read<int8_t>()) {
    case 0:
      work.what = readProduct(in);
      break;
    case 1:
      work.what = readConvolution(in);
      break;
    case 2:
      work.what = readAttention(in);
      break;
    default:
      work.what = DnnConvolution();  // which is not valid
  }
  work.scratchBytes = in.read<int64_t>();
  work.description = in.readString();
  return work;
}

bool isEpilogue(BlasEpilogue epilogue) {
  switch (epilogue) {
    case BlasEpilogue::kNone:
    case BlasEpilogue::kRelu:
    case BlasEpilogue::kBias:
    case BlasEpilogue::kReluBias:
    case BlasEpilogue::kGelu:
    case BlasEpilogue::kGeluBias:
      return true;
  }
  return false;
}

bool isSize(int64_t size) { return size >= 1 && size <= kMaxSize; }

// Whether an operand with so many lines lies within `bytes`.
bool isWithin(const MatrixOperand& operand, const BlasProduct& product, int64_t lines,
              int64_t bytes) {
  if (operand.stride < 0 || operand.stride > kMaxSize || operand.batchStride < 0 ||
      operand.outerStride < 0) {
    return false;
  }
  int64_t others = operand.alongContracting ? lines : product.contracting;
  int64_t contiguous = operand.alongContracting ? product.contracting : lines;
  int64_t elements = bytes / bytesOf(product.operands);
  // All below 2^62: strides of batches are compared by division.
  int64_t ofOne = (others - 1) * operand.stride + contiguous;
  if (ofOne > elements) return false;
  int64_t rest = elements - ofOne;
  if (product.batch > 1) {
    if (operand.batchStride > rest / (product.batch - 1)) return false;
    rest -= operand.batchStride * (product.batch - 1);
  }
  return product.outer == 1 || operand.outerStride <= rest / (product.outer - 1);
}

// The library reads and writes by these numbers, so they must fit the buffers.
Status checkProduct(const BlasProduct& product, const LibraryCall& call) {
  if (!isSize(product.outer) || !isSize(product.batch) || !isSize(product.rows) ||
      !isSize(product.columns) || !isSize(product.contracting) || bytesOf(product.operands) == 0 ||
      bytesOf(product.result) == 0 || (product.isTf32 && product.operands != BlasType::kF32) ||
      !isEpilogue(product.epilogue)) {
    return contradiction("a product of matrices");
  }
  if (product.hasBias() && product.columns > call.buffers[2].bytes / bytesOf(product.result)) {
    return contradiction("size of a product's bias");
  }
  int64_t results = call.buffers[call.buffers.size() - 2].bytes / bytesOf(product.result);
  if (product.rows * product.columns > results / product.batch / product.outer ||
      !isWithin(product.lhs, product, product.rows, call.buffers[0].bytes) ||
      !isWithin(product.rhs, product, product.columns, call.buffers[1].bytes)) {
    return contradiction("size of a product's buffers");
  }
  return {};
}

Status checkConvolution(const DnnConvolution& convolution, const LibraryCall& call) {
  if (!isValid(convolution)) return contradiction("a convolution");
  const std::vector<int64_t> elements = convolution.bufferElements();
  if (call.buffers.size() != elements.size() + 1) return contradiction("buffers of a call");
  for (size_t i = 0; i < elements.size(); ++i) {
    if (elements[i] > call.buffers[i].bytes / bytesOf(convolution.type)) {
      return contradiction("size of a convolution's buffers");
    }
  }
  return {};
}

Status checkAttention(const DnnAttention& attention, const LibraryCall& call) {
  if (!isValid(attention)) return contradiction("an attention");
  const std::vector<int64_t> bytes = attention.bufferBytes();
  if (call.buffers.size() != bytes.size() + 1) return contradiction("buffers of a call");
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] > call.buffers[i].bytes) return contradiction("size of an attention's buffers");
  }
  return {};
}

Status checkCall(const LibraryWork& work, const LibraryCall& call) {
  const auto* product = std::get_if<BlasProduct>(&work.what);
  if (product && call.buffers.size() != kProductBuffers + (product->hasBias() ? 1 : 0)) {
    return contradiction("buffers of a call");
  }
  if (call.buffers.empty()) return contradiction("buffers of a call");
  if (work.scratchBytes < (product ? kBlasScratchBytes : kDnnWorkspaceAlignment) ||
      call.buffers.back().bytes < work.scratchBytes) {
    return contradiction("scratch memory of a call");
  }
  if (product) return checkProduct(*product, call);
  const auto* convolution = std::get_if<DnnConvolution>(&work.what);
  return convolution ? checkConvolution(*convolution, call)
                     : checkAttention(std::get<DnnAttention>(work.what), call);
}

Status checkCalls(const ProgramImage& image) {
  Status status;
  forEachStep(image.steps, [&](const Step& step) {
    auto* call = std::get_if<LibraryCall>(&step.what);
    if (call) status = checkCall(image.calls[static_cast<size_t>(call->call)], *call);
    return status.ok();
  });
  return status;
}

Status check(const ProgramImage& image) {
  ISTHMUS_RETURN_IF_ERROR(checkProgram(image, image.host, static_cast<int>(image.calls.size()),
                                       &linkedHostFunctions()));
  if (!image.kernels.empty() && image.ptx.empty()) return contradiction("kernels without PTX");
  for (const codegen::KernelInfo& kernel : image.kernels) {
    if (kernel.groupThreads > kMaxBlockThreads) return contradiction("threads of a block");
  }
  return checkCalls(image);
}

}  // namespace

std::string serializeImage(const ProgramImage& image, std::string_view device,
                           std::string_view key) {
  return sealProgram(kKind, device, image, key, [&](ByteWriter& out) {
    out.write(image.capability);
    out.write(image.ptx);
    out.writeList(image.calls, [&](const LibraryWork& work) { writeCall(out, work); });
  });
}

StatusOr<ProgramImage> deserializeImage(std::string_view bytes, std::string_view device,
                                        std::string_view key) {
  ProgramImage image;
  ISTHMUS_RETURN_IF_ERROR(unsealProgram(kKind, device, bytes, key, image, [&](ByteReader& in) {
    image.capability = in.read<int>();
    image.ptx = in.readString();
    image.calls = in.readList([&] { return readCall(in); });
  }));
  ISTHMUS_RETURN_IF_ERROR(check(image));
  for (const codegen::KernelInfo& kernel : image.kernels) {
    ISTHMUS_ASSIGN_OR_RETURN(LaunchShape shape, launchShape(kernel));
    image.shapes.push_back(shape);
  }
  return image;
}

}  // namespace isthmus::cuda

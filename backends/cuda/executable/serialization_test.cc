// Serialized executables of platform cuda: what comes back, and what is refused.
#include "backends/cuda/executable/serialization.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "backends/cuda/driver/blas.h"
#include "backends/cuda/driver/dnn/dnn.h"
#include "backends/shared/serialization/sealed_bytes_testing.h"

namespace isthmus::cuda {
namespace {

using testing::HasSubstr;
using Space = Location::Space;

constexpr const char* kDevice = "compute capability 9.0, cuBLASLt";

// A kernel and a product of 3 by 5 by 7 in two batches: lhs along the sums, rhs along its columns.
ProgramImage makeImage() {
  ProgramImage image;
  image.info.name = "f";
  for (int64_t elements : {2 * 3 * 5, 2 * 5 * 7}) {
    ParameterSpec parameter;
    parameter.type = {ElementType::kF32, {elements}};
    image.info.parameters.push_back(parameter);
  }
  image.info.outputs = {image.info.parameters[0]};
  image.info.outputs[0].type = {ElementType::kF32, {2 * 3 * 7}};
  image.kernels = {
      {.name = "kernel0", .items = {1000, 1, 1}, .description = "add"},
      {.name = "kernel1", .items = {7, 1, 1}, .groupThreads = 128, .description = "sum"}};
  image.arenaBytes = image.scratchBytes = kBlasScratchBytes;
  image.steps = {
      {KernelLaunch{0, 1, {{Space::kParameter, 0, 0, 120}, {Space::kResult, 0, 0, 168}}}},
      {LibraryCall{0,
                   {{Space::kParameter, 0, 0, 120},
                    {Space::kParameter, 1, 0, 280},
                    {Space::kResult, 0, 0, 168},
                    {Space::kArena, 0, 0, kBlasScratchBytes}}}}};
  image.capability = 90;
  image.ptx = ".version 8.0\n";
  BlasProduct product;
  product.batch = 2;
  product.rows = 3;
  product.contracting = 5;
  product.columns = 7;
  product.lhs = {true, 5, 15};
  product.rhs = {false, 7, 35};
  product.isTf32 = true;
  image.calls.push_back({product, kBlasScratchBytes, "stablehlo.dot_general"});
  image.host.functions = {{"isthmus_rt_cholesky", "data", {}, 0, "cholesky"}};
  return image;
}

// A gradient by the kernel, [6,2,3] from images of [4,2,9] and [4,6,4].
ProgramImage makeConvolutionImage() {
  ProgramImage image = makeImage();
  DnnConvolution convolution;
  convolution.kind = DnnKind::kBackwardFilter;
  convolution.type = DnnType::kBf16;
  convolution.isChannelsLast = true;
  convolution.batch = 4;
  convolution.inputs = 2;
  convolution.outputs = 6;
  convolution.axes = {{9, 3, 4, 0, 2, 1}};
  image.calls = {{convolution, 1000, "stablehlo.convolution"}};
  image.info.parameters[0].type = {ElementType::kBF16, {4 * 2 * 9}};
  image.info.parameters[1].type = {ElementType::kBF16, {4 * 6 * 4}};
  image.info.outputs[0].type = {ElementType::kBF16, {6 * 2 * 3}};
  image.steps = {{LibraryCall{0,
                              {{Space::kParameter, 0, 0, 144},
                               {Space::kParameter, 1, 0, 192},
                               {Space::kResult, 0, 0, 72},
                               {Space::kArena, 0, 0, 1000}}}}};
  return image;
}

BlasProduct& productOf(ProgramImage& image) { return std::get<BlasProduct>(image.calls[0].what); }

Status codeOf(const ProgramImage& image) {
  return deserializeImage(serializeImage(image, kDevice), kDevice).status();
}

TEST(CudaSerialization, everything_comes_back) {
  const ProgramImage image = makeImage();
  StatusOr<ProgramImage> back = deserializeImage(serializeImage(image, kDevice), kDevice);
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(back->info.name, "f");
  EXPECT_EQ(back->ptx, image.ptx);
  EXPECT_EQ(back->capability, 90);
  EXPECT_EQ(back->steps.size(), 2u);
  EXPECT_EQ(back->host.functions.size(), 1u);
  // Made anew from the kernels: 1000 items are 4 blocks of 256, 7 groups are 7 blocks.
  ASSERT_EQ(back->shapes.size(), 2u);
  EXPECT_EQ(back->shapes[0].blocks, 4);
  EXPECT_EQ(back->shapes[1].blocks, 7);
  EXPECT_EQ(back->shapes[1].threads, 128u);
  ASSERT_EQ(back->calls.size(), 1u);
  EXPECT_EQ(back->calls[0].description, "stablehlo.dot_general");
  const auto& product = std::get<BlasProduct>(back->calls[0].what);
  EXPECT_EQ(product.batch, 2);
  EXPECT_EQ(product.rows, 3);
  EXPECT_EQ(product.columns, 7);
  EXPECT_EQ(product.contracting, 5);
  EXPECT_TRUE(product.isTf32);
  EXPECT_TRUE(product.lhs.alongContracting);
  EXPECT_FALSE(product.rhs.alongContracting);
  EXPECT_EQ(product.rhs.stride, 7);
  EXPECT_EQ(product.rhs.batchStride, 35);
}

// The product with a bias, which is a parameter of its own, of one batch.
ProgramImage makeBiasImage() {
  ProgramImage image = makeImage();
  productOf(image).epilogue = BlasEpilogue::kReluBias;
  ParameterSpec bias;
  bias.type = {ElementType::kF32, {7}};
  image.info.parameters.push_back(bias);
  std::vector<Location>& buffers = std::get<LibraryCall>(image.steps[1].what).buffers;
  buffers.insert(buffers.begin() + 2, {Space::kParameter, 2, 0, 28});
  return image;
}

TEST(CudaSerialization, epilogues_come_back_and_are_checked) {
  StatusOr<ProgramImage> back = deserializeImage(serializeImage(makeBiasImage(), kDevice), kDevice);
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(std::get<BlasProduct>(back->calls[0].what).epilogue, BlasEpilogue::kReluBias);
  auto messageOf = [](const std::function<void(ProgramImage&)>& change) {
    ProgramImage image = makeBiasImage();
    change(image);
    return std::string(codeOf(image).message());
  };
  EXPECT_THAT(messageOf([](ProgramImage& image) { productOf(image).epilogue = BlasEpilogue(5); }),
              HasSubstr("a product of matrices"));
  EXPECT_THAT(
      messageOf([](ProgramImage& image) { productOf(image).epilogue = BlasEpilogue::kRelu; }),
      HasSubstr("buffers of a call"));
  EXPECT_THAT(messageOf([](ProgramImage& image) {
                image.info.parameters[2].type = {ElementType::kF32, {6}};
                std::get<LibraryCall>(image.steps[1].what).buffers[2].bytes = 24;
              }),
              HasSubstr("size of a product's bias"));
}

TEST(CudaSerialization, convolutions_come_back) {
  const ProgramImage image = makeConvolutionImage();
  StatusOr<ProgramImage> back = deserializeImage(serializeImage(image, kDevice), kDevice);
  ASSERT_TRUE(back.ok()) << back.status().message();
  ASSERT_EQ(back->calls.size(), 1u);
  EXPECT_EQ(back->calls[0].scratchBytes, 1000);
  const auto& was = std::get<DnnConvolution>(image.calls[0].what);
  const auto& is = std::get<DnnConvolution>(back->calls[0].what);
  EXPECT_EQ(is.toString(), "a backward-filter convolution of bf16[4,2,9] by [6,2,3] to [4,6,4]");
  EXPECT_EQ(is.kind, was.kind);
  EXPECT_EQ(is.isChannelsLast, true);
  EXPECT_EQ(is.isFlipped, false);
  ASSERT_EQ(is.axes.size(), 1u);
  EXPECT_EQ(is.axes[0].stride, 2);
  EXPECT_EQ(is.axes[0].dilation, 1);
  EXPECT_EQ(is.axes[0].padding, 0);
}

TEST(CudaSerialization, contradictions_of_convolutions_are_refused) {
  ASSERT_TRUE(codeOf(makeConvolutionImage()).ok());
  auto call = [](ProgramImage& image) -> LibraryCall& {
    return std::get<LibraryCall>(image.steps[0].what);
  };
  auto the = [](ProgramImage& image) -> DnnConvolution& {
    return std::get<DnnConvolution>(image.calls[0].what);
  };
  const std::vector<std::function<void(ProgramImage&)>> changes = {
      [&](ProgramImage& image) { the(image).kind = static_cast<DnnKind>(3); },
      [&](ProgramImage& image) { the(image).type = static_cast<DnnType>(1); },
      [&](ProgramImage& image) { the(image).type = DnnType::kF32; },  // twice the bytes
      [&](ProgramImage& image) { the(image).isTf32 = true; },
      [&](ProgramImage& image) { the(image).groups = 0; },
      [&](ProgramImage& image) { the(image).groups = 4; },
      [&](ProgramImage& image) { the(image).batch = 5; },
      [&](ProgramImage& image) { the(image).inputs = int64_t{1} << 62; },
      [&](ProgramImage& image) { the(image).axes.clear(); },
      [&](ProgramImage& image) { the(image).axes.resize(4); },
      [&](ProgramImage& image) { the(image).axes[0].result = 5; },
      [&](ProgramImage& image) { the(image).axes[0].stride = 0; },
      [&](ProgramImage& image) { the(image).axes[0].padding = -1; },
      [&](ProgramImage& image) { the(image).axes[0].padding = int64_t{1} << 62; },
      [&](ProgramImage& image) { the(image).axes[0].dilation = int64_t{1} << 62; },
      [&](ProgramImage& image) { the(image).epilogue.hasRelu = true; },  // of a gradient
      [&](ProgramImage& image) {
        the(image).kind = DnnKind::kForward;
        the(image).epilogue.hasBias = true;  // which there is no buffer of
      },
      [&](ProgramImage& image) { image.calls[0].scratchBytes = 0; },
      [&](ProgramImage& image) { image.calls[0].scratchBytes = 1001; },
      [&](ProgramImage& image) { call(image).buffers.pop_back(); },
      [&](ProgramImage& image) { call(image).buffers[0].bytes -= 2; },
      [&](ProgramImage& image) { call(image).buffers[1].bytes -= 2; },
      [&](ProgramImage& image) { call(image).buffers[2].bytes -= 2; },
      [&](ProgramImage& image) { call(image).buffers[3].bytes -= 1; },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    ProgramImage image = makeConvolutionImage();
    changes[i](image);
    EXPECT_EQ(codeOf(image).code(), StatusCode::kInvalidArgument) << "change " << i;
  }
}

// Of 2 by 4 heads of 8 rows in groups of 2, over 6 keys.
ProgramImage makeAttentionImage() {
  ProgramImage image = makeImage();
  DnnAttention attention;
  attention.batch = 2;
  attention.heads = 4;
  attention.group = 2;
  attention.rows = 8;
  attention.keys = 6;
  attention.sums = 16;
  attention.features = 24;
  attention.query = {512, 16, 64};
  attention.key = {192, 16, 32};
  attention.value = {288, 24, 48};
  attention.result = {768, 24, 96};
  attention.scale = 0.25;
  attention.isCausal = attention.hasBias = true;
  attention.bias = {48, 0, 6};
  image.calls = {{attention, 1000, "attention"}};
  const std::vector<int64_t> elements = {2 * 8 * 4 * 16, 2 * 6 * 2 * 16, 2 * 6 * 2 * 24};
  image.info.parameters.clear();
  LibraryCall call{0, {}};
  auto add = [&](ElementType type, int64_t number, int64_t bytes) {
    call.buffers.push_back({Space::kParameter, static_cast<int>(call.buffers.size()), 0, bytes});
    ParameterSpec parameter;
    parameter.type = {type, {number}};
    image.info.parameters.push_back(parameter);
  };
  for (int64_t number : elements) add(ElementType::kBF16, number, 2 * number);
  add(ElementType::kF32, 2 * 8 * 6, 4 * 2 * 8 * 6);
  image.info.outputs[0].type = {ElementType::kBF16, {2 * 8 * 4 * 24}};
  call.buffers.push_back({Space::kResult, 0, 0, 2 * 2 * 8 * 4 * 24});
  call.buffers.push_back({Space::kArena, 0, 0, 1000});
  image.steps = {{std::move(call)}};
  return image;
}

TEST(CudaSerialization, attention_comes_back) {
  const ProgramImage image = makeAttentionImage();
  StatusOr<ProgramImage> back = deserializeImage(serializeImage(image, kDevice), kDevice);
  ASSERT_TRUE(back.ok()) << back.status().message();
  ASSERT_EQ(back->calls.size(), 1u);
  const auto& is = std::get<DnnAttention>(back->calls[0].what);
  EXPECT_TRUE(is == std::get<DnnAttention>(image.calls[0].what));
  EXPECT_EQ(is.toString(), "a causal attention of bf16[2,4,8,16] over [2,2,6,24] with a bias");
}

// The gradient of the same: its result, which was the attention's, is an operand.
ProgramImage makeGradientImage() {
  ProgramImage image = makeAttentionImage();
  auto& attention = std::get<DnnAttention>(image.calls[0].what);
  attention.isGradient = true;
  attention.queryGradient = attention.query;
  attention.keyGradient = attention.key;
  attention.valueGradient = attention.value;
  attention.places = {2, 0, 1};
  auto& buffers = std::get<LibraryCall>(image.steps[0].what).buffers;
  image.info.parameters.push_back({});
  image.info.parameters.back().type = image.info.outputs[0].type;
  image.info.outputs.clear();
  const Location scratch = buffers.back();
  buffers.resize(buffers.size() - 2);
  buffers.push_back({Space::kParameter, 4, 0, 2 * 2 * 8 * 4 * 24});
  for (int64_t number : {2 * 6 * 2 * 16, 2 * 6 * 2 * 24, 2 * 8 * 4 * 16}) {
    buffers.push_back({Space::kResult, static_cast<int>(image.info.outputs.size()), 0, 2 * number});
    image.info.outputs.push_back({});
    image.info.outputs.back().type = {ElementType::kBF16, {number}};
  }
  buffers.push_back(scratch);
  return image;
}

TEST(CudaSerialization, gradients_of_attention_come_back_and_are_checked) {
  ProgramImage image = makeGradientImage();
  StatusOr<ProgramImage> back = deserializeImage(serializeImage(image, kDevice), kDevice);
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_TRUE(std::get<DnnAttention>(back->calls[0].what) ==
              std::get<DnnAttention>(image.calls[0].what));
  std::get<DnnAttention>(image.calls[0].what).places = {0, 1, 2};
  EXPECT_EQ(codeOf(image).code(), StatusCode::kInvalidArgument);
  std::get<DnnAttention>(image.calls[0].what).places = {2, 0, 0};
  EXPECT_EQ(codeOf(image).code(), StatusCode::kInvalidArgument);
}

TEST(CudaSerialization, contradictions_of_attention_are_refused) {
  auto call = [](ProgramImage& image) -> LibraryCall& {
    return std::get<LibraryCall>(image.steps[0].what);
  };
  auto the = [](ProgramImage& image) -> DnnAttention& {
    return std::get<DnnAttention>(image.calls[0].what);
  };
  const std::vector<std::function<void(ProgramImage&)>> changes = {
      [&](ProgramImage& image) { the(image).type = DnnType::kF32; },
      [&](ProgramImage& image) { the(image).biasType = static_cast<DnnType>(1); },
      [&](ProgramImage& image) { the(image).group = 3; },
      [&](ProgramImage& image) { the(image).group = 1; },
      [&](ProgramImage& image) { the(image).batch = 3; },
      [&](ProgramImage& image) { the(image).rows = int64_t{1} << 62; },
      [&](ProgramImage& image) { the(image).keys = 7; },
      [&](ProgramImage& image) { the(image).query.row = -1; },
      [&](ProgramImage& image) { the(image).key.batch = int64_t{1} << 62; },
      [&](ProgramImage& image) { the(image).value.row += 1; },
      [&](ProgramImage& image) { the(image).bias.head = 1; },
      [&](ProgramImage& image) { the(image).result.row = 0; },
      [&](ProgramImage& image) { the(image).scale = std::numeric_limits<double>::quiet_NaN(); },
      [&](ProgramImage& image) { the(image).hasBias = false; },
      [&](ProgramImage& image) { image.calls[0].scratchBytes = 0; },
      [&](ProgramImage& image) { image.calls[0].scratchBytes = 1001; },
      [&](ProgramImage& image) { call(image).buffers.pop_back(); },
      [&](ProgramImage& image) { call(image).buffers[0].bytes -= 2; },
      [&](ProgramImage& image) { call(image).buffers[3].bytes -= 4; },
      [&](ProgramImage& image) { call(image).buffers[4].bytes -= 2; },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    ProgramImage image = makeAttentionImage();
    changes[i](image);
    EXPECT_EQ(codeOf(image).code(), StatusCode::kInvalidArgument) << "change " << i;
  }
}

TEST(CudaSerialization, another_device_is_refused_with_both_names) {
  Status status = deserializeImage(serializeImage(makeImage(), kDevice), "another").status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr(kDevice));
  EXPECT_THAT(std::string(status.message()), HasSubstr("another"));
}

TEST(CudaSerialization, contradictions_are_refused) {
  ASSERT_TRUE(codeOf(makeImage()).ok()) << codeOf(makeImage()).message();
  auto call = [](ProgramImage& image) -> LibraryCall& {
    return std::get<LibraryCall>(image.steps[1].what);
  };
  const std::vector<std::function<void(ProgramImage&)>> changes = {
      [](ProgramImage& image) { image.ptx.clear(); },
      [](ProgramImage& image) { image.kernels[1].groupThreads = 1025; },
      [](ProgramImage& image) {
        std::get<KernelLaunch>(image.steps[0].what).buffers[1].bytes = 169;
      },
      [&](ProgramImage& image) { call(image).call = 1; },
      [&](ProgramImage& image) { call(image).buffers.pop_back(); },
      [&](ProgramImage& image) { call(image).buffers[0].bytes -= 4; },
      [&](ProgramImage& image) { call(image).buffers[1].bytes -= 4; },
      [&](ProgramImage& image) { call(image).buffers[2].bytes -= 4; },
      [&](ProgramImage& image) { call(image).buffers[3].bytes -= 1; },
      [](ProgramImage& image) { productOf(image).batch = 3; },
      [](ProgramImage& image) { productOf(image).rows = 0; },
      [](ProgramImage& image) { productOf(image).columns = int64_t{1} << 62; },
      [](ProgramImage& image) { productOf(image).contracting = 6; },
      [](ProgramImage& image) { productOf(image).lhs.stride = -1; },
      [](ProgramImage& image) { productOf(image).rhs.stride = 8; },
      [](ProgramImage& image) { productOf(image).rhs.batchStride = int64_t{1} << 62; },
      [](ProgramImage& image) { productOf(image).operands = BlasType::kF64; },
      [](ProgramImage& image) { productOf(image).result = BlasType::kC64; },
      [](ProgramImage& image) { productOf(image).operands = static_cast<BlasType>(3); },
      [](ProgramImage& image) {
        productOf(image).operands = BlasType::kBf16;
        productOf(image).isTf32 = true;
      },
      [](ProgramImage& image) { image.calls.clear(); },
      // Within control flow as well.
      [&](ProgramImage& image) {
        call(image).buffers.pop_back();
        Branch branch;
        branch.index = {Space::kArena, 0, 0, 4};
        branch.branches = {{}, {image.steps[1]}};
        image.steps[1] = {branch};
      },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    ProgramImage image = makeImage();
    changes[i](image);
    EXPECT_EQ(codeOf(image).code(), StatusCode::kInvalidArgument) << "change " << i;
  }
}

TEST(CudaSerialization, a_key_keeps_out_what_was_not_made_with_it) {
  expectKeyKeepsOutOthers(
      [](const std::string& key) { return serializeImage(makeImage(), kDevice, key); },
      [](std::string_view bytes, const std::string& key) {
        return deserializeImage(bytes, kDevice, key);
      });
}

TEST(CudaSerialization, every_truncation_and_every_flipped_byte_is_an_error) {
  expectDamageIsAnError(serializeImage(makeImage(), kDevice),
                        [](std::string_view bytes) { return deserializeImage(bytes, kDevice); });
}

}  // namespace
}  // namespace isthmus::cuda

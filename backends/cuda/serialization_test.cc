// Serialized executables of platform cuda: what comes back, and what is refused.
#include "backends/cuda/serialization.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "backends/cpu/load/sealed_bytes_testing.h"
#include "backends/cuda/driver/blas.h"

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
  product.sums = 5;
  product.columns = 7;
  product.lhs = {true, 5, 15};
  product.rhs = {false, 7, 35};
  product.isTf32 = true;
  image.products = {product};
  image.host.functions = {{"isthmus_rt_cholesky", "data", {}, 0, "cholesky"}};
  return image;
}

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
  ASSERT_EQ(back->products.size(), 1u);
  EXPECT_EQ(back->products[0].batch, 2);
  EXPECT_EQ(back->products[0].rows, 3);
  EXPECT_EQ(back->products[0].columns, 7);
  EXPECT_EQ(back->products[0].sums, 5);
  EXPECT_TRUE(back->products[0].isTf32);
  EXPECT_TRUE(back->products[0].lhs.alongSums);
  EXPECT_FALSE(back->products[0].rhs.alongSums);
  EXPECT_EQ(back->products[0].rhs.stride, 7);
  EXPECT_EQ(back->products[0].rhs.batchStride, 35);
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
      [](ProgramImage& image) { image.products[0].batch = 3; },
      [](ProgramImage& image) { image.products[0].rows = 0; },
      [](ProgramImage& image) { image.products[0].columns = int64_t{1} << 62; },
      [](ProgramImage& image) { image.products[0].sums = 6; },
      [](ProgramImage& image) { image.products[0].lhs.stride = -1; },
      [](ProgramImage& image) { image.products[0].rhs.stride = 8; },
      [](ProgramImage& image) { image.products[0].rhs.batchStride = int64_t{1} << 62; },
      [](ProgramImage& image) { image.products[0].operands = BlasType::kF64; },
      [](ProgramImage& image) { image.products[0].result = BlasType::kC64; },
      [](ProgramImage& image) { image.products[0].operands = static_cast<BlasType>(3); },
      [](ProgramImage& image) {
        image.products[0].operands = BlasType::kBf16;
        image.products[0].isTf32 = true;
      },
      [](ProgramImage& image) { image.products.clear(); },
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
  cpu::expectKeyKeepsOutOthers(
      [](const std::string& key) { return serializeImage(makeImage(), kDevice, key); },
      [](std::string_view bytes, const std::string& key) {
        return deserializeImage(bytes, kDevice, key);
      });
}

TEST(CudaSerialization, every_truncation_and_every_flipped_byte_is_an_error) {
  cpu::expectDamageIsAnError(serializeImage(makeImage(), kDevice), [](std::string_view bytes) {
    return deserializeImage(bytes, kDevice);
  });
}

}  // namespace
}  // namespace isthmus::cuda

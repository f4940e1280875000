// Serialized executables of platform xpu: what comes back, and what is refused.
#include "backends/opencl/serialization.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/shared/serialization/sealed_bytes_testing.h"

namespace isthmus::opencl {
namespace {

using testing::HasSubstr;

constexpr const char* kDevice = "Intel(R) OpenCL; CPU; driver 1";

ProgramImage makeImage() {
  ProgramImage image;
  image.info.name = "f";
  ParameterSpec parameter;
  parameter.type = {ElementType::kF32, {4}};
  image.info.parameters = {parameter};
  image.info.outputs = {parameter};
  image.kernels = {{.name = "kernel0", .description = "add"}};
  image.steps = {{KernelLaunch{
      0, 1, {{Location::Space::kParameter, 0, 0, 16}, {Location::Space::kResult, 0, 0, 16}}}}};
  image.spirv = std::string("\x03\x02\x23\x07\0", 5);
  image.binaries = {"binary one", std::string("\0two", 4)};
  image.host.functions = {{"isthmus_rt_cholesky", "data", {}, 0, "cholesky"}};
  return image;
}

TEST(OpenclSerialization, everything_comes_back) {
  const ProgramImage image = makeImage();
  StatusOr<ProgramImage> back = deserializeImage(serializeImage(image, kDevice), kDevice);
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(back->info.name, "f");
  EXPECT_EQ(back->spirv, image.spirv);
  EXPECT_EQ(back->source, "");
  EXPECT_EQ(back->binaries, image.binaries);
  EXPECT_EQ(back->steps.size(), 1u);
  EXPECT_EQ(back->host.functions.size(), 1u);
}

TEST(OpenclSerialization, another_device_is_refused_with_both_names) {
  StatusOr<ProgramImage> back =
      deserializeImage(serializeImage(makeImage(), kDevice), "another device");
  EXPECT_EQ(back.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(back.status().message()), HasSubstr(kDevice));
  EXPECT_THAT(std::string(back.status().message()), HasSubstr("another device"));
}

TEST(OpenclSerialization, contradictions_are_refused) {
  ProgramImage without = makeImage();
  without.spirv.clear();
  ProgramImage outside = makeImage();
  std::get<KernelLaunch>(outside.steps[0].what).buffers[1].bytes = 17;
  ProgramImage library = makeImage();
  library.steps.push_back({LibraryCall{}});
  for (const ProgramImage& image : {without, outside, library}) {
    EXPECT_EQ(deserializeImage(serializeImage(image, kDevice), kDevice).status().code(),
              StatusCode::kInvalidArgument);
  }
}

TEST(OpenclSerialization, a_key_keeps_out_what_was_not_made_with_it) {
  expectKeyKeepsOutOthers(
      [](const std::string& key) { return serializeImage(makeImage(), kDevice, key); },
      [](std::string_view bytes, const std::string& key) {
        return deserializeImage(bytes, kDevice, key);
      });
}

TEST(OpenclSerialization, every_truncation_and_every_flipped_byte_is_an_error) {
  expectDamageIsAnError(serializeImage(makeImage(), kDevice),
                        [](std::string_view bytes) { return deserializeImage(bytes, kDevice); });
}

}  // namespace
}  // namespace isthmus::opencl

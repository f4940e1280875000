// Serialized executables: round trips, refusals, damaged bytes.
#include "backends/cpu/load/serialization.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/cpu/load/host_target.h"
#include "backends/shared/serialization/cache_key.h"
#include "base/digest.h"

namespace isthmus::cpu {
namespace {

using testing::HasSubstr;

ProgramImage makeImage() {
  ProgramImage image;
  image.info.name = "jit_f";
  ParameterSpec parameter;
  parameter.type = {ElementType::kF32, {2, 3}};
  parameter.memoryKind = "pinned_host";
  parameter.sharding = std::string("\x08\x01\x00", 3);
  parameter.donation = DonationKind::kMustAlias;
  parameter.aliasedOutput = 1;
  image.info.parameters = {parameter, parameter};
  image.info.parameters[0].aliasedOutput = 0;
  image.info.outputs = {parameter, parameter};
  image.info.options.numReplicas = 2;
  image.info.options.numPartitions = 4;
  image.info.options.allowSpmdShardingPropagationToOutput = {true, false, true};
  image.info.options.deviceAssignment = DeviceAssignment{2, 4, {3, 4, 5, 6, 7, 8, 9, 10}};
  image.info.options.overrides = {{"text", std::string("x")},
                                  {"number", int64_t{-5}},
                                  {"list", std::vector<int64_t>{1, 2}},
                                  {"real", 0.5f},
                                  {"flag", true}};
  image.info.options.serialized = "proto";
  image.info.fingerprint = "abc";
  image.info.exchanges = "def";
  image.info.costs = {{"flops", 12.5}};
  image.info.memory.tempBytes = 99;
  image.info.code = "module {}";
  image.info.format = "mlir";
  image.info.outputs[1].type.setMinorToMajor({0, 1});
  image.objects = {"object one", std::string("\0\1", 2)};
  image.constants = "constants";
  image.arenaBytes = 4096;
  image.estimatedNs = 1.5;
  image.mayBlock = true;
  image.steps.texts = {"", "train.py:3 add", "add"};
  image.steps.steps = {{.name = 1, .op = 2, .flops = 6}, {.bytes = 2.5}};
  image.features = "";
  return image;
}

TEST(SerializationTest, everything_comes_back) {
  ProgramImage image = makeImage();
  StatusOr<ProgramImage> back = deserializeImage(serializeImage(image));
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(back->info.name, "jit_f");
  ASSERT_EQ(back->info.parameters.size(), 2u);
  EXPECT_EQ(back->info.parameters[1].type, image.info.parameters[1].type);
  EXPECT_EQ(back->info.parameters[1].memoryKind, "pinned_host");
  EXPECT_EQ(back->info.parameters[1].sharding, image.info.parameters[1].sharding);
  EXPECT_EQ(back->info.parameters[1].donation, DonationKind::kMustAlias);
  EXPECT_EQ(back->info.parameters[1].aliasedOutput, 1);
  EXPECT_EQ(back->info.outputs.size(), 2u);
  EXPECT_EQ(back->info.options.numPartitions, 4);
  EXPECT_EQ(back->info.options.allowSpmdShardingPropagationToOutput,
            image.info.options.allowSpmdShardingPropagationToOutput);
  EXPECT_EQ(back->info.options.deviceAssignment->deviceIds,
            (std::vector<int>{3, 4, 5, 6, 7, 8, 9, 10}));
  EXPECT_EQ(back->info.options.overrides, image.info.options.overrides);
  EXPECT_EQ(back->info.costs, image.info.costs);
  EXPECT_EQ(back->info.memory.tempBytes, 99);
  EXPECT_EQ(back->info.code, "module {}");
  EXPECT_EQ(back->info.format, "mlir");
  EXPECT_EQ(back->info.outputs[1].type, image.info.outputs[1].type);
  EXPECT_EQ(back->objects, image.objects);
  EXPECT_EQ(back->constants, "constants");
  EXPECT_EQ(back->arenaBytes, 4096);
  EXPECT_TRUE(back->mayBlock);
  EXPECT_EQ(back->steps.texts, image.steps.texts);
  ASSERT_EQ(back->steps.steps.size(), 2u);
  EXPECT_EQ(back->steps.steps[0].name, 1);
  EXPECT_EQ(back->steps.steps[0].op, 2);
  EXPECT_EQ(back->steps.steps[0].flops, 6);
  EXPECT_EQ(back->steps.steps[1].bytes, 2.5);
}

TEST(SerializationTest, a_step_with_a_text_that_is_not_there_is_refused) {
  for (int32_t text : {-1, 3}) {
    ProgramImage image = makeImage();
    image.steps.steps[0].scope = text;
    EXPECT_EQ(deserializeImage(serializeImage(image)).status().code(),
              StatusCode::kInvalidArgument);
  }
}

// What a stranger writes, with a digest that is right.
TEST(SerializationTest, contradictions_are_refused) {
  using Change = void (*)(ProgramImage&);
  const Change changes[] = {
      [](ProgramImage& image) { image.info.parameters[0].type.dims = {-1}; },
      [](ProgramImage& image) { image.info.parameters[0].type.dims = {INT64_MAX, INT64_MAX}; },
      [](ProgramImage& image) { image.info.outputs[1].type.elementType = ElementType(77); },
      [](ProgramImage& image) { image.info.outputs[1].type.elementType = ElementType(-1); },
      [](ProgramImage& image) { image.info.parameters[0].donation = DonationKind(9); },
      [](ProgramImage& image) { image.info.parameters[0].aliasedOutput = 2; },
      [](ProgramImage& image) { image.info.parameters[0].aliasedOutput = -7; },
      [](ProgramImage& image) { image.info.parameters[0].aliasedOutput = 1; },
      [](ProgramImage& image) { image.info.options.numReplicas = 1 << 30; },
      [](ProgramImage& image) { image.info.options.numReplicas = -1; },
      [](ProgramImage& image) { image.info.options.deviceAssignment->numReplicas = 3; },
      [](ProgramImage& image) { image.info.deviceAssignment = {1 << 16, 1 << 16, {}}; },
      [](ProgramImage& image) { image.info.deviceAssignment = {2, 2, {1, 2, 3}}; },
      [](ProgramImage& image) { image.arenaBytes = -1; },
      [](ProgramImage& image) { image.calls[0].aliases = {{0, 1}}; },
      [](ProgramImage& image) { image.calls[0].aliases = {{-1, 0}}; },
      [](ProgramImage& image) { image.calls[0].results[0].dims = {5}; },
      [](ProgramImage& image) { image.calls[0].attributes[0].type = ElementType(50); },
      [](ProgramImage& image) { image.calls[0].attributes[0].bytes = "1"; },
      [](ProgramImage& image) { image.calls[0].attributes[0].kind = ffi::Attribute::Kind(9); },
      [](ProgramImage& image) {
        for (int depth = 0; depth < 10'000; ++depth) {
          ffi::Attribute outer;
          outer.kind = ffi::Attribute::Kind::kDictionary;
          outer.entries = std::move(image.calls[0].attributes);
          image.calls[0].attributes = {};
          image.calls[0].attributes.push_back(std::move(outer));
        }
      },
  };
  auto withCall = [] {
    ProgramImage image = makeImage();
    ffi::CallSpec call;
    call.operands = call.results = {{ElementType::kF32, {4}}};
    call.aliases = {{0, 0}};
    ffi::Attribute scale;
    scale.type = ElementType::kF32;
    scale.bytes = "1234";
    call.attributes = {scale};
    image.calls = {call};
    return image;
  };
  EXPECT_TRUE(deserializeImage(serializeImage(withCall())).ok());
  for (size_t i = 0; i < std::size(changes); ++i) {
    ProgramImage image = withCall();
    changes[i](image);
    EXPECT_EQ(deserializeImage(serializeImage(image)).status().code(), StatusCode::kInvalidArgument)
        << "change " << i;
  }
}

TEST(SerializationTest, a_key_keeps_out_what_was_not_made_with_it) {
  const std::string key(32, 'k'), other(32, 'o');
  const ProgramImage image = makeImage();
  EXPECT_TRUE(deserializeImage(serializeImage(image, key), key).ok());
  EXPECT_TRUE(deserializeImage(serializeImage(image, key)).ok());
  for (const std::string& bytes : {serializeImage(image), serializeImage(image, other)}) {
    EXPECT_EQ(deserializeImage(bytes, key).status().code(), StatusCode::kFailedPrecondition);
  }
}

// RFC 4231, test cases 2 and 6.
TEST(CacheKey, codes_are_those_of_the_standard) {
  auto hex = [](std::string_view bytes) {
    std::string text;
    for (unsigned char byte : bytes) {
      text += "0123456789abcdef"[byte >> 4];
      text += "0123456789abcdef"[byte & 15];
    }
    return text;
  };
  EXPECT_EQ(hex(authenticationCode("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hex(authenticationCode(std::string(131, '\xaa'),
                                   "Test Using Larger Than Block-Size Key - Hash Key First")),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(SerializationTest, another_cpu_is_refused_with_what_it_lacks) {
  ProgramImage image = makeImage();
  image.features = "+no-such-feature,-sse4a";
  StatusOr<ProgramImage> back = deserializeImage(serializeImage(image));
  ASSERT_FALSE(back.ok());
  EXPECT_EQ(back.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(back.status().message()), HasSubstr("no-such-feature"));
}

TEST(SerializationTest, foreign_bytes_are_refused) {
  EXPECT_EQ(deserializeImage("").status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(deserializeImage("some other plugin's executable").status().code(),
            StatusCode::kInvalidArgument);
}

TEST(SerializationTest, every_truncation_and_every_flipped_byte_is_an_error) {
  std::string bytes = serializeImage(makeImage());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(deserializeImage(std::string_view(bytes).substr(0, size)).ok()) << size;
  }
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x20);
    EXPECT_FALSE(deserializeImage(damaged).ok()) << i;
  }
  EXPECT_FALSE(deserializeImage(bytes + "x").ok());
}

TEST(SerializationTest, missing_features_are_those_with_a_plus) {
  EXPECT_EQ(missingFeatures("+avx2,+fma,-sse4a", "+fma,-avx2"), "avx2");
  EXPECT_EQ(missingFeatures("+avx2", "+avx2"), "");
  EXPECT_EQ(missingFeatures("", ""), "");
}

TEST(DigestTest, depends_on_contents_and_on_their_division) {
  EXPECT_EQ(Digest().add("ab").hex(), Digest().add("ab").hex());
  EXPECT_NE(Digest().add("ab").hex(), Digest().add("ba").hex());
  EXPECT_NE(Digest().add("ab").add("c").hex(), Digest().add("a").add("bc").hex());
  EXPECT_NE(Digest().add(std::string(16, '\0')).hex(), Digest().add(std::string(17, '\0')).hex());
  EXPECT_EQ(Digest().hex().size(), 32u);
}

}  // namespace
}  // namespace isthmus::cpu

// isthmus_rt_rng against checksums of what XLA's CPU backend (jax 0.10.2) gives for the same state.
#include "backends/cpu/kernels/rng/rng.h"

#include <gtest/gtest.h>

#include "backends/cpu/kernels/isa.h"
#include "backends/cpu/kernels/kernel_testing.h"

namespace isthmus::cpu {
namespace {

using testing::TestRun;

uint32_t crc32(const std::vector<char>& data) {
  uint32_t crc = ~0u;
  for (char c : data) {
    crc ^= static_cast<unsigned char>(c);
    for (int i = 0; i < 8; ++i) crc = (crc >> 1) ^ (crc & 1 ? 0xEDB88320u : 0);
  }
  return ~crc;
}

struct Golden {
  int algorithm;
  int64_t stateWords;
  int bits;
  std::vector<int64_t> dims;
  uint32_t checksum;
  std::array<uint64_t, 2> newState;
};

const Golden kGolden[] = {
    // The second word of the state is near its top, so that counters carry.
    {0, 2, 32, {}, 0xc33fc5d5u, {0x123456789abcdefu, 0xfffffffffffffff1u}},
    {0, 2, 32, {1}, 0xc33fc5d5u, {0x123456789abcdefu, 0xfffffffffffffff1u}},
    {0, 2, 32, {4}, 0xc4599e4cu, {0x123456789abcdefu, 0xfffffffffffffff1u}},
    {0, 2, 32, {5}, 0x0e36bab1u, {0x123456789abcdefu, 0xfffffffffffffff2u}},
    {0, 2, 32, {3, 5}, 0xa3ffe91du, {0x123456789abcdefu, 0xfffffffffffffff4u}},
    {0, 2, 32, {3, 4}, 0xf1a4349fu, {0x123456789abcdefu, 0xfffffffffffffff3u}},
    {0, 2, 32, {2, 3, 5}, 0x3d74364cu, {0x123456789abcdefu, 0xfffffffffffffff8u}},
    {0, 2, 32, {7, 9, 3}, 0x6afd68a0u, {0x123456789abcdefu, 0x20u}},
    {0, 2, 32, {0, 3}, 0x00000000u, {0x123456789abcdefu, 0xfffffffffffffff0u}},
    {0, 2, 32, {1000}, 0x30cf3402u, {0x123456789abcdefu, 0xeau}},
    {0, 2, 32, {33, 65}, 0x53abc9bfu, {0x123456789abcdefu, 0x209u}},
    {1, 2, 8, {3, 5}, 0x5e51d679u, {0x123456789abcdefu, 0xfffffffffffffff9u}},
    {1, 2, 8, {3, 4}, 0xcacbffd1u, {0x123456789abcdefu, 0xfffffffffffffff6u}},
    {1, 2, 8, {0, 3}, 0x00000000u, {0x123456789abcdefu, 0xfffffffffffffff0u}},
    {1, 2, 8, {33, 65}, 0x9b451ea4u, {0x123456789abcdefu, 0x431u}},
    {1, 2, 16, {3, 5}, 0x89760387u, {0x123456789abcdefu, 0xfffffffffffffff9u}},
    {1, 2, 16, {3, 4}, 0x28b12ce8u, {0x123456789abcdefu, 0xfffffffffffffff6u}},
    {1, 2, 16, {0, 3}, 0x00000000u, {0x123456789abcdefu, 0xfffffffffffffff0u}},
    {1, 2, 16, {33, 65}, 0x43bf6ce5u, {0x123456789abcdefu, 0x431u}},
    {1, 2, 32, {}, 0x286da10bu, {0x123456789abcdefu, 0xfffffffffffffff1u}},
    {1, 2, 32, {1}, 0x286da10bu, {0x123456789abcdefu, 0xfffffffffffffff1u}},
    {1, 2, 32, {4}, 0x41f50123u, {0x123456789abcdefu, 0xfffffffffffffff2u}},
    {1, 2, 32, {5}, 0x6e3a3ba5u, {0x123456789abcdefu, 0xfffffffffffffff3u}},
    {1, 2, 32, {3, 5}, 0x132797bfu, {0x123456789abcdefu, 0xfffffffffffffff9u}},
    {1, 2, 32, {3, 4}, 0xcb08ea4du, {0x123456789abcdefu, 0xfffffffffffffff6u}},
    {1, 2, 32, {2, 3, 5}, 0x151d403au, {0x123456789abcdefu, 0xffffffffffffffffu}},
    {1, 2, 32, {7, 9, 3}, 0xd6c22714u, {0x123456789abcdefu, 0x59u}},
    {1, 2, 32, {0, 3}, 0x00000000u, {0x123456789abcdefu, 0xfffffffffffffff0u}},
    {1, 2, 32, {1000}, 0xc2e75733u, {0x123456789abcdefu, 0x1e4u}},
    {1, 2, 32, {33, 65}, 0x49ea40e4u, {0x123456789abcdefu, 0x431u}},
    {1, 2, 64, {}, 0x8ec3cb7au, {0x123456789abcdefu, 0xfffffffffffffff1u}},
    {1, 2, 64, {1}, 0x8ec3cb7au, {0x123456789abcdefu, 0xfffffffffffffff1u}},
    {1, 2, 64, {4}, 0x23b8a9f3u, {0x123456789abcdefu, 0xfffffffffffffff4u}},
    {1, 2, 64, {5}, 0x24a3b079u, {0x123456789abcdefu, 0xfffffffffffffff5u}},
    {1, 2, 64, {3, 5}, 0x9f5c38e5u, {0x123456789abcdefu, 0xffffffffffffffffu}},
    {1, 2, 64, {3, 4}, 0xc606823eu, {0x123456789abcdefu, 0xfffffffffffffffcu}},
    {1, 2, 64, {2, 3, 5}, 0x69a628d7u, {0x123456789abcdefu, 0xeu}},
    {1, 2, 64, {7, 9, 3}, 0x998f0662u, {0x123456789abcdefu, 0xadu}},
    {1, 2, 64, {0, 3}, 0x00000000u, {0x123456789abcdefu, 0xfffffffffffffff0u}},
    {1, 2, 64, {1000}, 0x18b789c9u, {0x123456789abcdefu, 0x3d8u}},
    {1, 2, 64, {33, 65}, 0x57137e6fu, {0x123456789abcdefu, 0x851u}},
    {2, 2, 8, {3, 5}, 0x50bf0cc7u, {0x123456789abcdefu, 0xfffffffffffffff4u}},
    {2, 2, 8, {3, 4}, 0xf6fddc56u, {0x123456789abcdefu, 0xfffffffffffffff3u}},
    {2, 2, 8, {0, 3}, 0x00000000u, {0x123456789abcdefu, 0xfffffffffffffff0u}},
    {2, 2, 8, {33, 65}, 0x8e785df3u, {0x123456789abcdefu, 0x209u}},
    {2, 2, 16, {3, 5}, 0xdee88589u, {0x123456789abcdefu, 0xfffffffffffffff4u}},
    {2, 2, 16, {3, 4}, 0x41d99feau, {0x123456789abcdefu, 0xfffffffffffffff3u}},
    {2, 2, 16, {0, 3}, 0x00000000u, {0x123456789abcdefu, 0xfffffffffffffff0u}},
    {2, 2, 16, {33, 65}, 0xe0d94433u, {0x123456789abcdefu, 0x209u}},
    {2, 2, 32, {}, 0xc33fc5d5u, {0x123456789abcdefu, 0xfffffffffffffff1u}},
    {2, 2, 32, {1}, 0xc33fc5d5u, {0x123456789abcdefu, 0xfffffffffffffff1u}},
    {2, 2, 32, {4}, 0xc4599e4cu, {0x123456789abcdefu, 0xfffffffffffffff1u}},
    {2, 2, 32, {5}, 0x0e36bab1u, {0x123456789abcdefu, 0xfffffffffffffff2u}},
    {2, 2, 32, {3, 5}, 0xa3ffe91du, {0x123456789abcdefu, 0xfffffffffffffff4u}},
    {2, 2, 32, {3, 4}, 0xf1a4349fu, {0x123456789abcdefu, 0xfffffffffffffff3u}},
    {2, 2, 32, {2, 3, 5}, 0x3d74364cu, {0x123456789abcdefu, 0xfffffffffffffff8u}},
    {2, 2, 32, {7, 9, 3}, 0x6afd68a0u, {0x123456789abcdefu, 0x20u}},
    {2, 2, 32, {0, 3}, 0x00000000u, {0x123456789abcdefu, 0xfffffffffffffff0u}},
    {2, 2, 32, {1000}, 0x30cf3402u, {0x123456789abcdefu, 0xeau}},
    {2, 2, 32, {33, 65}, 0x53abc9bfu, {0x123456789abcdefu, 0x209u}},
    {2, 2, 64, {}, 0xfd53e25du, {0x123456789abcdefu, 0xfffffffffffffff1u}},
    {2, 2, 64, {1}, 0xfd53e25du, {0x123456789abcdefu, 0xfffffffffffffff1u}},
    {2, 2, 64, {4}, 0xd425f3d1u, {0x123456789abcdefu, 0xfffffffffffffff2u}},
    {2, 2, 64, {5}, 0x5be33e54u, {0x123456789abcdefu, 0xfffffffffffffff3u}},
    {2, 2, 64, {3, 5}, 0x3d74364cu, {0x123456789abcdefu, 0xfffffffffffffff8u}},
    {2, 2, 64, {3, 4}, 0xa55a1872u, {0x123456789abcdefu, 0xfffffffffffffff6u}},
    {2, 2, 64, {2, 3, 5}, 0xc5426981u, {0x123456789abcdefu, 0xffffffffffffffffu}},
    {2, 2, 64, {7, 9, 3}, 0x15ed4235u, {0x123456789abcdefu, 0x4fu}},
    {2, 2, 64, {0, 3}, 0x00000000u, {0x123456789abcdefu, 0xfffffffffffffff0u}},
    {2, 2, 64, {1000}, 0xdc160f19u, {0x123456789abcdefu, 0x1e4u}},
    {2, 2, 64, {33, 65}, 0x4e856d53u, {0x123456789abcdefu, 0x421u}},
};

TEST(RngTest, BitsAreThoseOfXla) {
  for (Isa isa : {Isa::kV2, Isa::kV4}) {
    capIsa(isa);
    for (const Golden& g : kGolden) {
      ElementType type = g.bits == 8    ? ElementType::kU8
                         : g.bits == 16 ? ElementType::kU16
                         : g.bits == 32 ? ElementType::kU32
                                        : ElementType::kU64;
      auto d =
          makeRngDescriptor(static_cast<RngAlgorithm>(g.algorithm), g.stateWords, type, g.dims);
      ASSERT_TRUE(d.ok()) << d.status().message();
      uint64_t state[3] = {0x0123456789abcdef, 0xfffffffffffffff0, 7}, newState[3];
      std::vector<char> result(static_cast<size_t>(d->elements * d->elementBytes));
      TestRun run(3);
      void* buffers[] = {state, newState, result.data()};
      ASSERT_EQ(isthmus_rt_rng(&run.run, &*d, buffers), 0);
      EXPECT_EQ(crc32(result), g.checksum)
          << "algorithm " << g.algorithm << " bits " << g.bits << " elements " << d->elements;
      EXPECT_EQ(newState[0], g.newState[0]);
      EXPECT_EQ(newState[1], g.newState[1]);
    }
  }
  capIsa(kBestIsa);
}

// Known answers of Random123 for counter zero and key zero.
TEST(RngTest, PhiloxKnownAnswer) {
  std::vector<int64_t> dims{4};
  auto d = makeRngDescriptor(RngAlgorithm::kPhilox, 3, ElementType::kU32, dims);
  ASSERT_TRUE(d.ok());
  uint64_t state[3] = {0, 0, 0};
  uint32_t result[4];
  TestRun run(1);
  void* buffers[] = {state, state, result};
  ASSERT_EQ(isthmus_rt_rng(&run.run, &*d, buffers), 0);
  const uint32_t expected[] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
  EXPECT_TRUE(std::equal(result, result + 4, expected));
  EXPECT_EQ(state[1], 1u);
}

TEST(RngTest, ThreeWordStateCarries) {
  std::vector<int64_t> dims{8};
  auto d = makeRngDescriptor(RngAlgorithm::kPhilox, 3, ElementType::kU32, dims);
  ASSERT_TRUE(d.ok());
  uint64_t state[3] = {5, ~uint64_t{0}, 9};
  uint32_t result[8], second[8];
  TestRun run(1);
  void* buffers[] = {state, state, result};
  ASSERT_EQ(isthmus_rt_rng(&run.run, &*d, buffers), 0);
  EXPECT_EQ(state[1], 1u);
  EXPECT_EQ(state[2], 10u);
  // The second counter is (0, 10).
  uint64_t next[3] = {5, 0, 10};
  void* nextBuffers[] = {next, next, second};
  ASSERT_EQ(isthmus_rt_rng(&run.run, &*d, nextBuffers), 0);
  EXPECT_TRUE(std::equal(result + 4, result + 8, second));
}

TEST(RngTest, RefusesTypesWithoutBits) {
  std::vector<int64_t> dims{4};
  EXPECT_EQ(makeRngDescriptor(RngAlgorithm::kPhilox, 2, ElementType::kC64, dims).status().code(),
            StatusCode::kUnimplemented);
  EXPECT_EQ(makeRngDescriptor(RngAlgorithm::kThreeFry, 3, ElementType::kU32, dims).status().code(),
            StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace isthmus::cpu

// What tests share that run on every instruction set.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "backends/cpu/kernels/isa.h"

namespace isthmus::cpu::testing {

// A fixture whose tests run at one level, and are skipped where the machine lacks it.
class IsaTest : public ::testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    capIsa(kBestIsa);
    if (hostIsa() < GetParam()) GTEST_SKIP() << "this machine lacks the instruction set";
    capIsa(GetParam());
  }
  void TearDown() override { capIsa(kBestIsa); }
};

inline auto everyIsa() {
  return ::testing::Values(Isa::kV2, Isa::kV3, Isa::kV4, Isa::kVnni, Isa::kBf16, Isa::kAmx);
}

inline std::string nameOfIsa(const ::testing::TestParamInfo<Isa>& info) {
  static constexpr const char* kNames[] = {"v2", "v3", "v4", "vnni", "bf16", "amx"};
  return kNames[static_cast<int>(info.param)];
}

}  // namespace isthmus::cpu::testing

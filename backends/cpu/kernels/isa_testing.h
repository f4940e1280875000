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
    capIsa(Isa::kV4);
    if (hostIsa() < GetParam()) GTEST_SKIP() << "this machine lacks the instruction set";
    capIsa(GetParam());
  }
  void TearDown() override { capIsa(Isa::kV4); }
};

inline auto everyIsa() { return ::testing::Values(Isa::kV2, Isa::kV3, Isa::kV4); }

inline std::string nameOfIsa(const ::testing::TestParamInfo<Isa>& info) {
  return "v" + std::to_string(2 + static_cast<int>(info.param));
}

}  // namespace isthmus::cpu::testing

// What holds for sealed executables of every backend, for their tests.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "isthmus/status.h"

namespace isthmus {

// `seal(key)` makes the bytes of one executable, `open(bytes, key)` reads them.
template <typename Seal, typename Open>
void expectKeyKeepsOutOthers(Seal&& seal, Open&& open) {
  const std::string key(32, 'k'), other(32, 'o');
  EXPECT_TRUE(open(seal(key), key).ok());
  for (const std::string& bytes : {seal(std::string()), seal(other)}) {
    EXPECT_EQ(open(bytes, key).status().code(), StatusCode::kFailedPrecondition);
  }
}

// `open(bytes)` reads `bytes`, and nothing that was cut off or changed.
template <typename Open>
void expectDamageIsAnError(const std::string& bytes, Open&& open) {
  for (size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_FALSE(open(std::string_view(bytes).substr(0, i)).ok()) << i;
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x20);
    EXPECT_FALSE(open(damaged).ok()) << i;
  }
  EXPECT_FALSE(open(bytes + "x").ok());
}

}  // namespace isthmus

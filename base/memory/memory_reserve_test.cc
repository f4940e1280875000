#include "isthmus/memory_reserve.h"

#include <cxxabi.h>
#include <gtest/gtest.h>

#include <thread>

namespace isthmus {
namespace {

TEST(MemoryReserve, IsOfTheThreadThatMadeItWhileItExists) {
  EXPECT_EQ(MemoryReserve::current(), nullptr);
  {
    MemoryReserve outer;
    ASSERT_TRUE(outer.isHeld());
    EXPECT_EQ(MemoryReserve::current(), &outer);
    {
      MemoryReserve inner;
      EXPECT_EQ(MemoryReserve::current(), &inner);
    }
    EXPECT_EQ(MemoryReserve::current(), &outer);
    std::thread([] { EXPECT_EQ(MemoryReserve::current(), nullptr); }).join();
  }
  EXPECT_EQ(MemoryReserve::current(), nullptr);
}

TEST(MemoryReserve, TellsThatItWasNeeded) {
  MemoryReserve reserve;
  EXPECT_FALSE(isOutOfMemory());
  EXPECT_TRUE(reserve.release(100));
  EXPECT_TRUE(isOutOfMemory());
  EXPECT_TRUE(reserve.isHeld());                         // it was
  EXPECT_TRUE(reserve.release(100));                     // others may have freed something
  EXPECT_FALSE(reserve.release(MemoryReserve::kBytes));  // it would not suffice
  MemoryReserve next;
  EXPECT_FALSE(isOutOfMemory());
}

// What code without clean-up leaves behind that an exception passes through.
TEST(MemoryReserve, GivesUpStaticVariablesThatWereLeftHalfInitialised) {
  abi::__guard guard = 0, other = 0;
  {
    MemoryReserve reserve;
    ASSERT_NE(abi::__cxa_guard_acquire(&guard), 0);
    MemoryReserve::Share::beginStatic(&guard);
    ASSERT_NE(abi::__cxa_guard_acquire(&other), 0);
    MemoryReserve::Share::beginStatic(&other);
    MemoryReserve::Share::endStatic(&other);
    abi::__cxa_guard_release(&other);
  }
  EXPECT_NE(abi::__cxa_guard_acquire(&guard), 0) << "it is for the next one to initialise";
  abi::__cxa_guard_release(&guard);
  EXPECT_EQ(abi::__cxa_guard_acquire(&other), 0) << "it is initialised";
}

TEST(MemoryReserve, IsSharedWithHelpers) {
  MemoryReserve reserve;
  std::thread([&] {
    {
      MemoryReserve::Share share(&reserve);
      EXPECT_EQ(MemoryReserve::current(), &reserve);
      MemoryReserve::current()->release(1);
    }
    EXPECT_EQ(MemoryReserve::current(), nullptr);
    MemoryReserve::Share nothing(nullptr);
    EXPECT_EQ(MemoryReserve::current(), nullptr);
  }).join();
  EXPECT_TRUE(isOutOfMemory());
}

}  // namespace
}  // namespace isthmus

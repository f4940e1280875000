// For tests: what the fake driver has besides CUDA's functions (fake_cuda.h, fake_nccl.h).
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

namespace isthmus {

// The function of that name in the library ISTHMUS_FAKE_CUDA, which stays loaded.
template <typename Function>
Function* fakeFunction(const char* name) {
  static void* handle = dlopen(ISTHMUS_FAKE_CUDA, RTLD_NOW);
  EXPECT_TRUE(handle) << dlerror();
  return reinterpret_cast<Function*>(dlsym(handle, name));
}

}  // namespace isthmus

// FAKE(fake_cuda_log)() calls it.
#define FAKE(name) ::isthmus::fakeFunction<decltype(name)>(#name)

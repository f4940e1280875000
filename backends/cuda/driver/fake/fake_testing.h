// For tests: what the fake driver has besides CUDA's functions (fake_cuda.h, fake_nccl.h).
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "backends/cuda/driver/fake/fake_cuda.h"

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

namespace isthmus {

// While it lives, kernels of that name are this function.
class FakeKernelScope {
 public:
  FakeKernelScope(const char* name, FakeKernel kernel) : name_(name) {
    FAKE(fake_cuda_kernel)(name, kernel);
  }
  ~FakeKernelScope() { FAKE(fake_cuda_kernel)(name_, nullptr); }
  FakeKernelScope(const FakeKernelScope&) = delete;
  FakeKernelScope& operator=(const FakeKernelScope&) = delete;

 private:
  const char* name_;
};

}  // namespace isthmus

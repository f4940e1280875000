// What the backend says without a driver.
#include "backends/opencl/backend.h"

#include <gtest/gtest.h>

#include "compiler/driver/device_codegen.h"

namespace isthmus::opencl {
namespace {

TEST(OpenclBackend, SaysWhereOperationsAreComputed) {
  OpenclBackend backend;
  EXPECT_EQ(backend.supports("stablehlo.add"), Support::kOnDevice);
  EXPECT_EQ(backend.supports("stablehlo.dot_general"), Support::kOnDevice);
  EXPECT_EQ(backend.supports("stablehlo.cholesky"), Support::kByHost);
  EXPECT_EQ(backend.supports("stablehlo.infeed"), Support::kNo);
  EXPECT_EQ(backend.supports("stablehlo.no_such"), Support::kNo);
}

TEST(OpenclBackend, SaysThatSortsDependOnTheDevice) {
  OpenclBackend backend;
  for (const char* op : {"stablehlo.sort", "stablehlo.fft"}) {
    EXPECT_EQ(backend.supports(op), Support::kUnknown);
    EXPECT_EQ(supportByKernels(op, DeviceKind::kGpu), Support::kOnDevice);
    EXPECT_EQ(supportByKernels(op, DeviceKind::kCpu), Support::kByHost);
    EXPECT_EQ(hostOperations(DeviceKind::kGpu).find(op), std::string::npos);
    EXPECT_NE(hostOperations(DeviceKind::kCpu).find(op), std::string::npos);
  }
  EXPECT_NE(hostOperations().find("stablehlo.cholesky"), std::string::npos);
  EXPECT_EQ(hostOperations().find("stablehlo.add "), std::string::npos);
}

}  // namespace
}  // namespace isthmus::opencl

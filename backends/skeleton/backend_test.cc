// From nothing to the first matrix product, through the runtime.
#include "backends/skeleton/backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/skeleton/driver.h"
#include "runtime/client.h"
#include "runtime/executable/loaded_executable.h"

namespace isthmus::skeleton {
namespace {

constexpr const char* kProduct = R"(
  func.func @main(%x: tensor<2x3xf32>, %y: tensor<3x2xf32>) -> tensor<2x2xf32> {
    %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0]
        : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
    return %0 : tensor<2x2xf32>
  })";

class Skeleton : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = Client::create(linkedBackend());
    ASSERT_TRUE(made.ok()) << made.status().message();
    client = *std::move(made);
    memory = client->addressableDevices()[0]->defaultMemory();
  }
  BufferRef buffer(const std::vector<float>& values, std::vector<int64_t> dims) {
    HostArray array{values.data(), {ElementType::kF32, std::move(dims)}};
    return client->bufferFromHost(*memory, array).value().buffer;
  }
  std::vector<float> read(Buffer& buffer) {
    std::vector<float> values(buffer.sizeBytes() / sizeof(float));
    Event done = buffer.copyToHost(values.data(), buffer.sizeBytes()).value();
    EXPECT_TRUE(done.await().ok());
    return values;
  }

  Ref<Client> client;
  Memory* memory = nullptr;
};

TEST_F(Skeleton, ArraysGoThereAndBack) {
  std::vector<float> values = {1, 2, 3};
  BufferRef x = buffer(values, {3});
  EXPECT_EQ(read(*x), values);
  EXPECT_EQ(read(*x->copyToMemory(x->memory()).value()), values);
}

TEST_F(Skeleton, FirstProduct) {
  auto product = client->compile({kProduct, "mlir", {}});
  ASSERT_TRUE(product.ok()) << product.status().message();
  BufferRef x = buffer({1, 2, 3, 4, 5, 6}, {2, 3});
  BufferRef y = buffer({1, 0, 0, 1, 1, 1}, {3, 2});
  Buffer* arguments[] = {x.get(), y.get()};
  BufferRef result;
  DeviceLaunch launch{arguments, {&result, 1}, nullptr};
  ASSERT_TRUE((*product)->execute({&launch, 1}, {}).ok());
  EXPECT_THAT(read(*result), ::testing::ElementsAre(4, 5, 10, 11));
}

TEST_F(Skeleton, SaysWhatItSupports) {
  // By the host on the first day, by the device later.
  EXPECT_NE(linkedBackend().supports("stablehlo.dot_general"), Support::kNo);
  EXPECT_EQ(linkedBackend().supports("stablehlo.no_such"), Support::kNo);
}

TEST_F(Skeleton, ErrorsSayWhat) {
  EXPECT_FALSE(client->compile({"nonsense", "mlir", {}}).ok());
  CompileRequest several{kProduct, "mlir", {}};
  several.options.numReplicas = static_cast<int>(client->devices().size()) + 1;
  EXPECT_FALSE(client->compile(several).ok());
  const int64_t tooMany = memoryBytes(0) / int64_t{sizeof(float)} + 1;
  EXPECT_EQ(client->uninitialized(*memory, {ElementType::kF32, {tooMany}}).status().code(),
            StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace isthmus::skeleton

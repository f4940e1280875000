// Programs of several devices that meet by NCCL, over the fake driver and the fake NCCL.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "backends/cuda/driver/fake/fake_cuda.h"
#include "backends/cuda/driver/fake/fake_testing.h"
#include "isthmus/backend.h"
#include "runtime/client.h"
#include "runtime/device/device.h"
#include "runtime/executable/loaded_executable.h"

namespace isthmus {
namespace {

using Floats = std::vector<float>;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr int kDevices = 4;

std::string driverLog() { return FAKE(fake_cuda_log)(); }

Client& client() {
  static Ref<Client>& one = *new Ref<Client>([] {
    FAKE(fake_cuda_reset)(kDevices, 90, uint64_t{1} << 26);
    return std::move(
        *Client::create(linkedBackend(), {{"cuda_library", std::string(ISTHMUS_FAKE_CUDA)},
                                          {"cuda_blas", std::string()},
                                          {"cuda_dnn", std::string()},
                                          {"cuda_nccl", std::string(ISTHMUS_FAKE_CUDA)}}));
  }());
  return *one;
}

// The one result of each replica; replica r's argument has the numbers 10 * r, 10 * r + 1, ...
StatusOr<std::vector<Floats>> run(const std::string& body, const std::string& in,
                                  const std::string& out) {
  CompileRequest request;
  std::string text =
      "func.func @main(%a: " + in + ") -> " + out + " {\n" + body + "\nreturn %r : " + out + "\n}";
  request.code = text;
  request.format = "mlir";
  request.options.numReplicas = kDevices;
  ISTHMUS_ASSIGN_OR_RETURN(Ref<LoadedExecutable> executable, client().compile(request));
  const ArrayType& type = executable->info().parameters[0].type;
  std::vector<BufferRef> buffers;
  std::vector<Buffer*> pointers;
  for (int r = 0; r < kDevices; ++r) {
    Floats numbers(type.numElements());
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(10 * r + int(i));
    Device& device = *client().addressableDevices()[static_cast<size_t>(r)];
    HostArray array{numbers.data(), type};
    ISTHMUS_ASSIGN_OR_RETURN(Client::FromHost made,
                             client().bufferFromHost(*device.defaultMemory(), array));
    ISTHMUS_RETURN_IF_ERROR(made.hostMemoryDone.await());
    buffers.push_back(std::move(made.buffer));
    pointers.push_back(&*buffers.back());
  }
  std::vector<std::vector<BufferRef>> results(kDevices);
  std::vector<Event> complete(kDevices);
  std::vector<DeviceLaunch> launches;
  for (size_t r = 0; r < kDevices; ++r) {
    results[r].resize(1);
    launches.push_back({{&pointers[r], 1}, results[r], &complete[r]});
  }
  ISTHMUS_RETURN_IF_ERROR(executable->execute(launches, {}));
  std::vector<Floats> values(kDevices);
  for (size_t r = 0; r < kDevices; ++r) {
    ISTHMUS_RETURN_IF_ERROR(complete[r].await());
    values[r].resize(executable->info().outputs[0].type.numElements());
    ISTHMUS_ASSIGN_OR_RETURN(Event copied,
                             results[r][0]->copyToHost(values[r].data(), values[r].size() * 4));
    ISTHMUS_RETURN_IF_ERROR(copied.await());
  }
  return values;
}

std::string reduction(const std::string& op, const std::string& body, const std::string& in,
                      const std::string& out) {
  return "%r = \"stablehlo." + op +
         "\"(%a) ({\n^bb0(%x: tensor<f32>, %y: tensor<f32>):\n%s = " + "stablehlo." + body +
         " %x, %y : tensor<f32>\nstablehlo.return %s : tensor<f32>\n}) {" +
         (op == "reduce_scatter" ? "scatter_dimension = 1 : i64, " : "") +
         "replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>} : (" + in + ") -> " + out;
}

#define ASSERT_VALUES(values) ASSERT_TRUE((values).ok()) << (values).status().message()

TEST(CudaCollectives, devices_name_the_library) {
  const AttributeMap& attributes = client().addressableDevices().front()->description().attributes;
  EXPECT_EQ(std::get<std::string>(attributes.at("libraries")), "NCCL");
}

TEST(CudaCollectives, sums_over_groups) {
  auto values = run(reduction("all_reduce", "add", "tensor<2xf32>", "tensor<2xf32>"),
                    "tensor<2xf32>", "tensor<2xf32>");
  ASSERT_VALUES(values);
  EXPECT_THAT(*values, ElementsAre(ElementsAre(10, 12), ElementsAre(10, 12), ElementsAre(50, 52),
                                   ElementsAre(50, 52)));
  EXPECT_THAT(driverLog(), HasSubstr("nccl all reduce"));
}

// NCCL's greatest of floats loses NaNs.
TEST(CudaCollectives, what_nccl_does_otherwise_is_the_hosts) {
  size_t before = driverLog().size();
  auto values = run(reduction("all_reduce", "maximum", "tensor<2xf32>", "tensor<2xf32>"),
                    "tensor<2xf32>", "tensor<2xf32>");
  ASSERT_VALUES(values);
  EXPECT_THAT(*values, ElementsAre(ElementsAre(10, 11), ElementsAre(10, 11), ElementsAre(30, 31),
                                   ElementsAre(30, 31)));
  EXPECT_THAT(driverLog().substr(before), Not(HasSubstr("nccl")));
}

TEST(CudaCollectives, scatters_along_an_inner_dimension) {
  // Rows [0 1] [2 3] and [10 11] [12 13]: the first gets column 0 of the sums.
  auto values = run(reduction("reduce_scatter", "add", "tensor<2x2xf32>", "tensor<2x1xf32>"),
                    "tensor<2x2xf32>", "tensor<2x1xf32>");
  ASSERT_VALUES(values);
  EXPECT_THAT(*values, ElementsAre(ElementsAre(10, 14), ElementsAre(12, 16), ElementsAre(50, 54),
                                   ElementsAre(52, 56)));
}

TEST(CudaCollectives, gathers_along_an_inner_dimension) {
  auto values = run(R"(%r = "stablehlo.all_gather"(%a) {all_gather_dim = 1 : i64,
    replica_groups = dense<[[1, 0], [2, 3]]> : tensor<2x2xi64>}
    : (tensor<3x1xf32>) -> tensor<3x2xf32>)",
                    "tensor<3x1xf32>", "tensor<3x2xf32>");
  ASSERT_VALUES(values);
  EXPECT_THAT((*values)[0], ElementsAre(10, 0, 11, 1, 12, 2));
  EXPECT_THAT((*values)[3], ElementsAre(20, 30, 21, 31, 22, 32));
}

TEST(CudaCollectives, exchanges_parts) {
  // The dimension that is split is not the first, nor that along which parts are joined.
  auto values = run(R"(%r = "stablehlo.all_to_all"(%a) {split_dimension = 1 : i64,
    concat_dimension = 2 : i64, split_count = 4 : i64,
    replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}
    : (tensor<2x4x1xf32>) -> tensor<2x1x4xf32>)",
                    "tensor<2x4x1xf32>", "tensor<2x1x4xf32>");
  ASSERT_VALUES(values);
  EXPECT_THAT((*values)[0], ElementsAre(0, 10, 20, 30, 4, 14, 24, 34));
  EXPECT_THAT((*values)[3], ElementsAre(3, 13, 23, 33, 7, 17, 27, 37));
}

TEST(CudaCollectives, permutes_and_clears_what_nobody_sends_to) {
  auto values = run(R"(%r = "stablehlo.collective_permute"(%a) {
    source_target_pairs = dense<[[0, 1], [1, 3], [2, 2]]> : tensor<3x2xi64>}
    : (tensor<2xf32>) -> tensor<2xf32>)",
                    "tensor<2xf32>", "tensor<2xf32>");
  ASSERT_VALUES(values);
  EXPECT_THAT(*values, ElementsAre(ElementsAre(0, 0), ElementsAre(0, 1), ElementsAre(20, 21),
                                   ElementsAre(10, 11)));
  EXPECT_THAT(driverLog(), HasSubstr("nccl send"));
}

TEST(CudaCollectives, broadcasts_in_groups) {
  auto values = run(R"(%r = "stablehlo.collective_broadcast"(%a) {
    replica_groups = dense<[[2, 0], [1, 3]]> : tensor<2x2xi64>}
    : (tensor<2xf32>) -> tensor<2xf32>)",
                    "tensor<2xf32>", "tensor<2xf32>");
  ASSERT_VALUES(values);
  EXPECT_THAT(*values, ElementsAre(ElementsAre(20, 21), ElementsAre(10, 11), ElementsAre(20, 21),
                                   ElementsAre(10, 11)));
}

// The last test: it breaks a device.
TEST(CudaCollectives, z_a_lost_device_leaves_the_others) {
  constexpr int kFault = 719;
  const std::string body = "%r = stablehlo.add %a, %a : tensor<2xf32>";
  ASSERT_VALUES(run(body, "tensor<2xf32>", "tensor<2xf32>"));
  // The first device asks next.
  Device& first = *client().addressableDevices()[0];
  const float numbers[] = {1, 2};
  HostArray array{numbers, {ElementType::kF32, {2}}};
  FAKE(fake_cuda_fail)("cuMemcpyAsync", kFault, 1);
  EXPECT_EQ(client().bufferFromHost(*first.defaultMemory(), array).status().code(),
            StatusCode::kUnavailable);
  EXPECT_EQ(run(body, "tensor<2xf32>", "tensor<2xf32>").status().code(), StatusCode::kUnavailable);
  for (int i : {1, 2}) {
    const std::string text = "func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {\n" + body +
                             "\nreturn %r : tensor<2xf32>\n}";
    CompileRequest request{text, "mlir", {}};
    request.options.deviceAssignment = {1, 1, {i}};
    auto executable = client().compile(request);
    ASSERT_TRUE(executable.ok()) << executable.status().message();
    Device& device = *client().addressableDevices()[static_cast<size_t>(i)];
    auto made = client().bufferFromHost(*device.defaultMemory(), array);
    ASSERT_TRUE(made.ok()) << made.status().message();
    Buffer* arguments[] = {made->buffer.get()};
    BufferRef result;
    DeviceLaunch launch{arguments, {&result, 1}, nullptr};
    ASSERT_TRUE((*executable)->execute({&launch, 1}, {}).ok());
    float values[2];
    Status copied = result->copyToHost(values, 8)->await();
    ASSERT_TRUE(copied.ok()) << copied.message();
    EXPECT_THAT(values, ElementsAre(2, 4));
  }
}

}  // namespace
}  // namespace isthmus

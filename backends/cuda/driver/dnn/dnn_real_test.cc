// Graphs of attention and of convolutions against NVIDIA's own cuDNN (9.11 or newer), where it is
// installed: by an H100's properties instead of a device, which it chooses and compiles engines
// for. It wants some libcuda.so.1; the toolkit's stub will do.
#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <string>

#include "backends/cuda/driver/dnn/dnn_attention_graphs.h"
#include "backends/cuda/driver/dnn/dnn_values.h"
#include "gmock/gmock.h"

namespace isthmus::cuda {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

// As cuDNN writes a device's properties.
constexpr char kH100[] =
    R"({"maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],)"
    R"("regsPerBlock":65536,"multiProcessorCount":132,"warpSize":32,"smClockRateKHz":1980000,)"
    R"("memClockRateKHz":2619000,"l2CacheSize":52428800,"maxSharedMemoryPerBlock":49152,)"
    R"("maxSharedMemoryPerBlockOptin":232448,"reservedSharedMemoryPerBlock":1024,)"
    R"("maxRegistersPerSM":65536,"pciDeviceId":0,"maxCtasPerSM":32,"maxThreadsPerBlock":1024,)"
    R"("maxThreadsPerSM":2048,"isTccDriver":0,"supportCoopLaunch":1,"deviceVer":900,)"
    R"("driverVer":13000,"cudaDeviceId":0,"totalGlobalMem":85029158912,)"
    R"("deviceName":"NVIDIA H100 80GB HBM3"})";
constexpr int kDeviceProperties = 38, kPropertiesText = 2702, kTypeChar = 24;
constexpr int kHeuristicsProperties = 204, kPlanProperties = 407;

DnnGraphFunctions real;
void* properties = nullptr;

// Where a handle is set, the properties are.
int setAttribute(void* descriptor, int name, int type, int64_t count, const void* values) {
  if (name == dnn::kGraphHandle) return 0;
  if (name == dnn::kPlanHandle) {
    return real.SetAttribute(descriptor, kPlanProperties, dnn::kTypeDescriptor, 1, &properties);
  }
  if (name == dnn::kHeuristicsMode) {
    int code =
        real.SetAttribute(descriptor, kHeuristicsProperties, dnn::kTypeDescriptor, 1, &properties);
    if (code != 0) return code;
  }
  return real.SetAttribute(descriptor, name, type, count, values);
}

// What was compiled cannot be loaded without a device: the plan is as good as finished.
int finalize(void* descriptor) {
  const int code = real.Finalize(descriptor);
  std::array<char, 8192> text = {};
  if (code != 0) real.GetLastErrorString(text.data(), text.size());
  const bool isLoading = std::string(text.data()).find("cuLibraryLoadData") != std::string::npos;
  return isLoading ? 0 : code;
}

int getAttribute(void* descriptor, int name, int type, int64_t most, int64_t* count, void* values) {
  const int code = real.GetAttribute(descriptor, name, type, most, count, values);
  if (name != dnn::kPlanWorkspaceSize || code == 0) return code;
  *count = 1;
  *static_cast<int64_t*>(values) = 0;
  return 0;
}

class RealDnn : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* path = std::getenv("ISTHMUS_TEST_REAL_CUDNN");
    if (!path) GTEST_SKIP() << "ISTHMUS_TEST_REAL_CUDNN names no libcudnn.so.9";
    auto library = SharedLibrary::open("cuDNN", {path});
    ASSERT_TRUE(library.ok()) << library.status().message();
    auto functions = findDnnGraphs(*library);
    ASSERT_TRUE(functions);
    real = *functions;
    functions_ = real;
    functions_.SetAttribute = setAttribute;
    functions_.Finalize = finalize;
    functions_.GetAttribute = getAttribute;
    ASSERT_EQ(real.CreateDescriptor(kDeviceProperties, &properties), 0);
    ASSERT_EQ(real.SetAttribute(properties, kPropertiesText, kTypeChar, sizeof(kH100) - 1, kH100),
              0);
    ASSERT_EQ(real.Finalize(properties), 0);
  }

  // Empty: it is computed.
  std::string refusal(const DnnAttention& attention) {
    return refusal(DnnAttentionGraphs::make(functions_, nullptr, attention, int64_t{1} << 30));
  }
  std::string refusal(const DnnConvolution& convolution) {
    return refusal(DnnGraph::make(functions_, nullptr, convolution, int64_t{1} << 30));
  }
  template <typename Made>
  static std::string refusal(const StatusOr<Made>& made) {
    return made.ok() ? "" : std::string(made.status().message());
  }

  DnnGraphFunctions functions_;
};

DnnAttention attention(DnnType type, int64_t rows, int64_t keys, int64_t size, int64_t group = 1) {
  DnnAttention a;
  a.type = type;
  a.batch = 2;
  a.heads = 8;
  a.group = group;
  a.rows = rows;
  a.keys = keys;
  a.sums = a.features = size;
  const int64_t keyHeads = a.heads / group;
  a.query = a.result = {rows * a.heads * size, size, a.heads * size};
  a.key = a.value = {keys * keyHeads * size, size, keyHeads * size};
  a.scale = 0.125;
  return a;
}

TEST_F(RealDnn, computes_attention) {
  for (DnnType type : {DnnType::kBf16, DnnType::kF16}) {
    for (int64_t size : {64, 128}) {
      DnnAttention a = attention(type, 1024, 1024, size);
      EXPECT_EQ(refusal(a), "") << a.toString();
      a.isCausal = true;
      EXPECT_EQ(refusal(a), "") << a.toString();
    }
  }
}

TEST_F(RealDnn, computes_attention_of_groups_over_other_lengths) {
  DnnAttention a = attention(DnnType::kBf16, 200, 333, 64, 4);
  EXPECT_EQ(refusal(a), "");
  a = attention(DnnType::kBf16, 1, 4096, 128);
  EXPECT_EQ(refusal(a), "");
}

TEST_F(RealDnn, adds_a_bias) {
  DnnAttention a = attention(DnnType::kBf16, 256, 256, 64);
  a.hasBias = true;
  for (DnnType type : {DnnType::kBf16, DnnType::kF32}) {
    a.biasType = type;
    a.bias = {0, 256 * 256, 256};
    EXPECT_EQ(refusal(a), "");
    a.bias = {256, 0, 0};
    EXPECT_EQ(refusal(a), "");
    a.bias = {8 * 256 * 256, 256 * 256, 256};
    a.isCausal = true;
    EXPECT_EQ(refusal(a), "");
    a.isCausal = false;
  }
}

TEST_F(RealDnn, convolves) {
  for (DnnKind kind : {DnnKind::kForward, DnnKind::kBackwardData, DnnKind::kBackwardFilter}) {
    for (DnnType type : {DnnType::kBf16, DnnType::kF16, DnnType::kF32}) {
      for (bool isChannelsLast : {false, true}) {
        DnnConvolution c;
        c.kind = kind;
        c.type = type;
        c.isChannelsLast = isChannelsLast;
        c.batch = 8;
        c.inputs = c.outputs = 64;
        c.axes = {{28, 3, 28, 1, 1, 1}, {28, 3, 28, 1, 1, 1}};
        EXPECT_EQ(refusal(c), "") << c.toString();
        for (DnnAxis& axis : c.axes) axis = {28, 3, 14, 1, 2, 1};
        EXPECT_EQ(refusal(c), "") << c.toString();
        if (kind != DnnKind::kForward) continue;
        c.epilogue.hasBias = true;
        EXPECT_EQ(refusal(c), "") << c.toString();
        c.epilogue.hasResidual = true;
        EXPECT_EQ(refusal(c), "") << c.toString();
        // Its engines of 9.19 with a ReLU may all lose NaNs.
        c.epilogue.hasRelu = true;
        EXPECT_THAT(refusal(c), AnyOf("", HasSubstr("keeps NaNs"))) << c.toString();
      }
    }
  }
}

TEST_F(RealDnn, computes_gradients) {
  for (DnnType type : {DnnType::kBf16, DnnType::kF16}) {
    DnnAttention a = attention(type, 1024, 1024, type == DnnType::kBf16 ? 64 : 128);
    a.isCausal = type == DnnType::kBf16;
    a.isGradient = true;
    a.queryGradient = a.query;
    a.keyGradient = a.valueGradient = a.key;
    EXPECT_EQ(refusal(a), "") << a.toString();
  }
  DnnAttention a = attention(DnnType::kBf16, 200, 333, 64);
  a.isGradient = a.hasBias = true;
  a.biasType = DnnType::kBf16;
  a.bias = {0, 200 * 333, 333};
  // Heads before rows.
  a.queryGradient = {8 * 200 * 64, 200 * 64, 64};
  a.keyGradient = a.valueGradient = {8 * 333 * 64, 333 * 64, 64};
  EXPECT_EQ(refusal(a), "") << a.toString();
}

TEST_F(RealDnn, says_what_it_does_not_compute) {
  EXPECT_THAT(refusal(attention(DnnType::kBf16, 256, 256, 33)),
              AnyOf(HasSubstr("no engine"), HasSubstr("describes no graph")));
}

}  // namespace
}  // namespace isthmus::cuda

// isthmus_rt_conv against loops over an explicitly dilated and padded input.
#include "backends/cpu/kernels/conv/conv.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <memory>
#include <numeric>

#include "backends/cpu/kernels/conv/conv_problem.h"
#include "backends/cpu/kernels/isa_testing.h"
#include "backends/cpu/kernels/kernel_testing.h"

namespace isthmus::cpu {
namespace {

using testing::randomElements;
using testing::TestRun;

struct Case {
  ElementType lhsType = ElementType::kF32, rhsType = ElementType::kF32,
              resultType = ElementType::kF32;
  int64_t batch = 1, inputFeatures = 1, outputFeatures = 1, featureGroups = 1, batchGroups = 1;
  struct Spatial {
    int64_t input, kernel, stride = 1, low = 0, high = 0, lhsDilation = 1, rhsDilation = 1;
    bool reversed = false;
    int64_t output() const {
      int64_t in = input == 0 ? 0 : (input - 1) * lhsDilation + 1;
      int64_t window = (kernel - 1) * rhsDilation + 1;
      return in + low + high < window ? 0 : (in + low + high - window) / stride + 1;
    }
  };
  std::vector<Spatial> spatial;
  // Where each role (batch or kernel input, feature or kernel output, spatial…) sits.
  std::vector<int64_t> inputPlaces, kernelPlaces, outputPlaces;
};

std::vector<int64_t> identityPlaces(size_t rank) {
  std::vector<int64_t> places(rank);
  std::iota(places.begin(), places.end(), 0);
  return places;
}

// NHWC, HWIO, NHWC.
void channelsLast(Case& c) {
  size_t rank = c.spatial.size() + 2;
  c.inputPlaces.assign(rank, 0), c.kernelPlaces.assign(rank, 0);
  c.inputPlaces[1] = int64_t(rank) - 1;
  c.kernelPlaces[0] = int64_t(rank) - 2, c.kernelPlaces[1] = int64_t(rank) - 1;
  for (size_t i = 0; i < c.spatial.size(); ++i) {
    c.inputPlaces[i + 2] = int64_t(i) + 1;
    c.kernelPlaces[i + 2] = int64_t(i);
  }
  c.outputPlaces = c.inputPlaces;
}

std::vector<int64_t> placed(const std::vector<int64_t>& places, std::vector<int64_t> byRole) {
  std::vector<int64_t> dims(byRole.size());
  for (size_t i = 0; i < byRole.size(); ++i) dims[places[i]] = byRole[i];
  return dims;
}

std::vector<int64_t> rolesOf(const Case& c, int operand) {
  std::vector<int64_t> roles;
  if (operand == 0) roles = {c.batch, c.inputFeatures};
  if (operand == 1) roles = {c.inputFeatures / c.featureGroups, c.outputFeatures};
  if (operand == 2) roles = {c.batch / c.batchGroups, c.outputFeatures};
  for (const auto& s : c.spatial) {
    roles.push_back(operand == 0 ? s.input : operand == 1 ? s.kernel : s.output());
  }
  return roles;
}

int64_t product(const std::vector<int64_t>& dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

int64_t offsetOf(const std::vector<int64_t>& places, const std::vector<int64_t>& dims,
                 const std::vector<int64_t>& indexByRole) {
  std::vector<int64_t> index = placed(places, indexByRole);
  int64_t offset = 0;
  for (size_t i = 0; i < dims.size(); ++i) offset = offset * dims[i] + index[i];
  return offset;
}

std::vector<int64_t> stridesByRole(const std::vector<int64_t>& places,
                                   const std::vector<int64_t>& dims) {
  std::vector<int64_t> strides;
  for (int64_t place : places) strides.push_back(product({dims.begin() + place + 1, dims.end()}));
  return strides;
}

bool advance(std::vector<int64_t>& index, const std::vector<int64_t>& sizes) {
  for (size_t i = index.size(); i-- > 0;) {
    if (++index[i] < sizes[i]) return true;
    index[i] = 0;
  }
  return false;
}

StatusOr<ConvDescriptor> describe(const Case& c) {
  std::vector<int64_t> lhsDims = placed(c.inputPlaces, rolesOf(c, 0));
  std::vector<int64_t> rhsDims = placed(c.kernelPlaces, rolesOf(c, 1));
  std::vector<int64_t> resultDims = placed(c.outputPlaces, rolesOf(c, 2));
  std::vector<int64_t> strides, padding, lhsDilation, rhsDilation;
  auto reversal = std::make_unique<bool[]>(c.spatial.size() + 1);
  for (size_t i = 0; i < c.spatial.size(); ++i) {
    const auto& s = c.spatial[i];
    strides.push_back(s.stride);
    padding.push_back(s.low), padding.push_back(s.high);
    lhsDilation.push_back(s.lhsDilation), rhsDilation.push_back(s.rhsDilation);
    reversal[i] = s.reversed;
  }
  auto spatial = [](const std::vector<int64_t>& places) {
    return std::span<const int64_t>(places).subspan(2);
  };
  ConvNumbers n{c.inputPlaces[0],
                c.inputPlaces[1],
                spatial(c.inputPlaces),
                c.kernelPlaces[0],
                c.kernelPlaces[1],
                spatial(c.kernelPlaces),
                c.outputPlaces[0],
                c.outputPlaces[1],
                spatial(c.outputPlaces),
                strides,
                padding,
                lhsDilation,
                rhsDilation,
                {reversal.get(), c.spatial.size()},
                c.featureGroups,
                c.batchGroups};
  return makeConvDescriptor({c.lhsType, lhsDims, {}}, {c.rhsType, rhsDims, {}}, c.resultType,
                            resultDims, n);
}

using Wide = testing::SumOfProducts::Wide;

Wide loadWide(const std::vector<char>& data, ElementType type, int64_t index) {
  auto value = loadElement<Complex128>(data.data(), type, index);
  return {value.re, value.im};
}

struct EpilogueRecord {
  int64_t cols;
  std::vector<std::atomic<int>> visits;
};

void countVisits(void* const* buffers, int64_t rowBegin, int64_t rowEnd, int64_t colBegin,
                 int64_t colEnd) {
  auto* record = static_cast<EpilogueRecord*>(buffers[0]);
  for (int64_t r = rowBegin; r < rowEnd; ++r) {
    for (int64_t c = colBegin; c < colEnd; ++c) ++record->visits[r * record->cols + c];
  }
}

void checkCase(const Case& c, std::mt19937& rng, int threads = 2) {
  auto descriptor = describe(c);
  ASSERT_TRUE(descriptor.ok()) << descriptor.status().message();
  std::vector<int64_t> lhsDims = placed(c.inputPlaces, rolesOf(c, 0));
  std::vector<int64_t> rhsDims = placed(c.kernelPlaces, rolesOf(c, 1));
  std::vector<int64_t> resultDims = placed(c.outputPlaces, rolesOf(c, 2));
  auto lhs = randomElements(c.lhsType, product(lhsDims), rng);
  auto rhs = randomElements(c.rhsType, product(rhsDims), rng);
  std::vector<char> result(product(resultDims) * storageBytes(c.resultType), 0x55);
  TestRun run(threads);
  EpilogueRecord record{resultDims.back(), std::vector<std::atomic<int>>(product(resultDims))};
  descriptor->flags |= kConvHasEpilogue;
  testing::AlignedCopy left(lhs), right(rhs);
  void* buffers[] = {left.data(), right.data(), result.data(),
                     reinterpret_cast<void*>(&countVisits), &record};
  ASSERT_EQ(isthmus_rt_conv(&run.run, &*descriptor, buffers), 0) << run.status.message();
  EXPECT_EQ(run.services.liveScratchBytes(), 0);
  for (auto& visits : record.visits) ASSERT_EQ(visits, 1);
  // The same where the form was decided before, here or where other kernels are.
  for (bool isFromElsewhere : {false, true}) {
    ConvDescriptor decided = *descriptor;
    chooseConvForm(decided);
    if (isFromElsewhere) {
      decided.form = ConvForm::kDepthwise;
      decided.formKernels = hostKernels() + 1;
    }
    std::vector<char> again(result.size(), 0x55);
    buffers[2] = again.data();
    ASSERT_EQ(isthmus_rt_conv(&run.run, &decided, buffers), 0) << run.status.message();
    EXPECT_EQ(again, result) << describeForm(decided);
  }

  std::vector<int64_t> sizes = rolesOf(c, 2), window;
  for (const auto& s : c.spatial) window.push_back(s.kernel);
  if (product(sizes) == 0) return;
  const std::vector<int64_t> lhsSteps = stridesByRole(c.inputPlaces, lhsDims);
  const std::vector<int64_t> rhsSteps = stridesByRole(c.kernelPlaces, rhsDims);
  testing::SumOfProducts reference(lhs, c.lhsType, rhs, c.rhsType);
  std::vector<int64_t> out(sizes.size(), 0);
  int failures = 0;
  do {
    reference.reset();
    int64_t o = out[1];
    int64_t groupFeatures = c.inputFeatures / c.featureGroups;
    int64_t firstFeature = o / (c.outputFeatures / c.featureGroups) * groupFeatures;
    int64_t n = o / (c.outputFeatures / c.batchGroups) * (c.batch / c.batchGroups) + out[0];
    std::vector<int64_t> w(window.size(), 0);
    if (product(window) > 0) do {
        int64_t l = n * lhsSteps[0] + firstFeature * lhsSteps[1], r = o * rhsSteps[1];
        bool inside = true;
        for (size_t i = 0; i < w.size(); ++i) {
          const auto& s = c.spatial[i];
          int64_t at = out[i + 2] * s.stride + w[i] * s.rhsDilation - s.low;
          inside = inside && at >= 0 && at % s.lhsDilation == 0 && at / s.lhsDilation < s.input;
          l += at / s.lhsDilation * lhsSteps[i + 2];
          r += (s.reversed ? s.kernel - 1 - w[i] : w[i]) * rhsSteps[i + 2];
        }
        if (inside) reference.add(l, r, groupFeatures, lhsSteps[1], rhsSteps[0]);
      } while (advance(w, window));
    const Wide sum = reference.sum();
    int64_t at = offsetOf(c.outputPlaces, resultDims, out);
    ElementClass kind = elementClass(c.resultType);
    if (kind == ElementClass::kFloat || kind == ElementClass::kComplex) {
      Wide got = loadWide(result, c.resultType, at);
      bool isDouble = c.resultType == ElementType::kF64 || c.resultType == ElementType::kC128;
      long double bound = reference.scale() * (isDouble ? 1e-15 : 4e-7);
      if (storageBytes(c.resultType) == 2) bound += 8e-3 * std::abs(sum);
      if (!(std::abs(got - sum) <= bound)) {
        ADD_FAILURE() << "at " << at << ": got " << double(got.real()) << ", expected "
                      << double(sum.real());
        if (++failures > 3) return;
      }
    } else {
      std::vector<char> expected(storageBytes(c.resultType));
      storeElement<uint64_t>(expected.data(), c.resultType, 0, reference.integerSum());
      if (std::memcmp(expected.data(), result.data() + at * int64_t(expected.size()),
                      expected.size()) != 0) {
        ADD_FAILURE() << "at " << at << ": wrong integer";
        if (++failures > 3) return;
      }
    }
  } while (advance(out, sizes));
}

class ConvTest : public testing::IsaTest {};

// Of operands and results: each has kernels of its own.
constexpr std::pair<ElementType, ElementType> kFloatTypes[] = {
    {ElementType::kF32, ElementType::kF32},
    {ElementType::kBF16, ElementType::kBF16},
    {ElementType::kBF16, ElementType::kF32}};

INSTANTIATE_TEST_SUITE_P(Isa, ConvTest, testing::everyIsa(), testing::nameOfIsa);

TEST_P(ConvTest, ChannelsLastImages) {
  std::mt19937 rng(1);
  for (auto [type, result] : kFloatTypes) {
    for (int64_t inputFeatures : {1, 3, 8, 17}) {
      for (int64_t outputFeatures : {1, 16, 40}) {
        for (int64_t stride : {1, 2}) {
          Case c;
          c.lhsType = c.rhsType = type, c.resultType = result;
          c.batch = 2, c.inputFeatures = inputFeatures, c.outputFeatures = outputFeatures;
          c.spatial = {{9, 3, stride, 1, 1}, {11, 3, stride, 1, 1}};
          channelsLast(c);
          checkCase(c, rng);
        }
      }
    }
  }
}

TEST_P(ConvTest, ChannelsFirstImages) {
  std::mt19937 rng(2);
  for (int64_t features : {1, 3, 16}) {
    Case c;
    c.batch = 3, c.inputFeatures = features, c.outputFeatures = 2 * features + 1;
    c.spatial = {{12, 3, 1, 1, 1}, {13, 5, 2, 2, 1}};
    c.inputPlaces = c.outputPlaces = identityPlaces(4);
    c.kernelPlaces = {1, 0, 2, 3};
    checkCase(c, rng);
  }
}

TEST_P(ConvTest, PointwiseAndFullWindow) {
  std::mt19937 rng(3);
  Case c;
  c.batch = 2, c.inputFeatures = 24, c.outputFeatures = 30;
  c.spatial = {{7, 1}, {9, 1}};
  channelsLast(c);
  checkCase(c, rng);
  c.spatial = {{7, 7}, {9, 9}};
  checkCase(c, rng);
}

TEST_P(ConvTest, DepthwiseAndGrouped) {
  std::mt19937 rng(4);
  for (auto [groups, perGroupIn, perGroupOut] : std::vector<std::array<int64_t, 3>>{
           {8, 1, 1}, {37, 1, 1}, {16, 1, 2}, {4, 8, 8}, {3, 5, 7}, {2, 16, 32}, {5, 3, 1}}) {
    for (int64_t stride : {1, 2}) {
      Case c;
      if (perGroupIn == 8 || groups == 37)
        c.lhsType = c.rhsType = c.resultType = ElementType::kBF16;
      c.batch = 2, c.featureGroups = groups;
      c.inputFeatures = groups * perGroupIn, c.outputFeatures = groups * perGroupOut;
      c.spatial = {{10, 3, stride, 1, 1}, {12, 3, stride, 0, 2}};
      channelsLast(c);
      checkCase(c, rng);
      c.inputPlaces = c.outputPlaces = identityPlaces(4);
      c.kernelPlaces = {1, 0, 2, 3};
      checkCase(c, rng);
    }
  }
}

TEST_P(ConvTest, GroupsOfFewFeatures) {
  std::mt19937 rng(12);
  for (auto [type, result] : kFloatTypes) {
    for (auto [groups, features] :
         std::vector<std::array<int64_t, 2>>{{8, 2}, {32, 2}, {8, 4}, {4, 8}, {6, 8}, {3, 4}}) {
      for (auto [window, stride, dilation] :
           std::vector<std::array<int64_t, 3>>{{3, 1, 1}, {3, 2, 1}, {1, 1, 1}, {2, 1, 2}}) {
        Case c;
        c.lhsType = c.rhsType = type, c.resultType = result;
        c.batch = 2, c.featureGroups = groups;
        c.inputFeatures = c.outputFeatures = groups * features;
        c.spatial = {{10, window, stride, 1, 1}, {23, window, stride, 0, 2}};
        c.spatial[1].lhsDilation = dilation;
        c.spatial[0].reversed = dilation > 1;
        channelsLast(c);
        checkCase(c, rng);
      }
    }
  }
}

// Gradients with respect to the kernel.
TEST_P(ConvTest, BatchGroupsOfFewFeatures) {
  std::mt19937 rng(13);
  for (auto [type, result] : kFloatTypes) {
    for (auto [groups, features] :
         std::vector<std::array<int64_t, 2>>{{8, 2}, {16, 4}, {4, 8}, {6, 8}, {3, 4}}) {
      for (int64_t dilation : {1, 2}) {
        Case c;
        c.lhsType = c.rhsType = type, c.resultType = result;
        // The batch and features of the image change places.
        c.batch = groups * features, c.batchGroups = groups, c.inputFeatures = 3;
        c.outputFeatures = groups * features;
        c.spatial = {{7, 7, 1, 1, 1}, {11, 5, 1, 1, 1, 1, dilation}};
        c.inputPlaces = {3, 0, 1, 2}, c.kernelPlaces = {0, 3, 1, 2}, c.outputPlaces = {2, 3, 0, 1};
        checkCase(c, rng);
      }
    }
  }
}

TEST_P(ConvTest, BatchGroups) {
  std::mt19937 rng(5);
  for (int64_t groups : {2, 4, 8}) {
    Case c;
    c.batch = 8, c.batchGroups = groups, c.inputFeatures = 3, c.outputFeatures = 2 * groups;
    c.spatial = {{6, 2}, {7, 3, 1, 1, 1}};
    channelsLast(c);
    checkCase(c, rng);
  }
}

// Images, input features and output features: even and odd numbers of images, whole and partial
// vectors, rows that are too short for tiles.
constexpr std::array<int64_t, 3> kGradients[] = {{4, 9, 13}, {5, 9, 48}, {5, 3, 16}, {1, 3, 16},
                                                 {5, 1, 20}, {6, 4, 4},  {1, 1, 16}};

// The gradients of 3x3 convolutions, as JAX writes them.
TEST_P(ConvTest, Gradients) {
  std::mt19937 rng(6);
  for (int64_t stride : {1, 2}) {
    int64_t size = 14, outSize = (size + 2 - 3) / stride + 1;
    Case input;  // with respect to the input: lhs dilated by the stride, window reversed
    input.batch = 2, input.inputFeatures = 12, input.outputFeatures = 10;
    int64_t high = size + 2 - 1 - ((outSize - 1) * stride + 1) + 0;
    for (int i = 0; i < 2; ++i) {
      input.spatial.push_back({outSize, 3, 1, 1, high, stride, 1, true});
    }
    channelsLast(input);
    input.kernelPlaces = {3, 2, 0, 1};
    checkCase(input, rng);

    for (auto [type, result] : kFloatTypes) {
      for (auto [images, inputs, features] : kGradients) {
        Case kernel;  // with respect to the kernel: batch and feature change roles
        kernel.lhsType = kernel.rhsType = type, kernel.resultType = result;
        kernel.batch = inputs, kernel.inputFeatures = images, kernel.outputFeatures = features;
        const int64_t gradientSize = (9 + 2 - 3) / stride + 1;
        for (int i = 0; i < 2; ++i) {
          kernel.spatial.push_back({9, gradientSize, 1, 1, 0, 1, stride});
        }
        kernel.inputPlaces = {3, 0, 1, 2};
        kernel.kernelPlaces = {0, 3, 1, 2};
        kernel.outputPlaces = {2, 3, 0, 1};
        checkCase(kernel, rng);
      }
    }
  }
}

// Windows of one, whose rows some machines multiply where they lie: images that lie behind each
// other, strides that leave rows between, groups.
TEST_P(ConvTest, WindowsOfOne) {
  std::mt19937 rng(15);
  for (ElementType type : {ElementType::kBF16, ElementType::kS8}) {
    for (auto [stride, groups, low] :
         std::vector<std::array<int64_t, 3>>{{1, 1, 0}, {2, 1, 0}, {1, 2, 0}, {1, 1, 1}}) {
      Case c;
      c.lhsType = c.rhsType = type;
      c.resultType = type == ElementType::kS8 ? ElementType::kS32 : ElementType::kF32;
      c.batch = 2, c.inputFeatures = 128 * groups, c.outputFeatures = 40 * groups;
      c.featureGroups = groups;
      c.spatial = {{9, 1, stride, low, low}, {11, 1, stride, low, low}};
      channelsLast(c);
      checkCase(c, rng);
    }
  }
}

// Features that blocks of bytes are too long for, but not those of pairs.
TEST_P(ConvTest, BytesOfFewFeatures) {
  std::mt19937 rng(17);
  for (int64_t features : {6, 7, 64, 96}) {
    Case c;
    c.lhsType = c.rhsType = ElementType::kS8, c.resultType = ElementType::kS32;
    c.batch = 2, c.inputFeatures = features, c.outputFeatures = 20;
    c.spatial = {{9, 3, 1, 1, 1}, {11, 3, 1, 1, 1}};
    channelsLast(c);
    checkCase(c, rng);
    auto descriptor = describe(c);
    ASSERT_TRUE(descriptor.ok());
    void* buffers[3] = {};
    for (const ConvProblem& problem : plainProblems(*descriptor, buffers)) {
      const GemmDomain domain = patchDomain(problem, GemmDomain::kU32);
      EXPECT_EQ(domain == GemmDomain::kU32, features % 2 != 0) << features;
      EXPECT_EQ(features % gemmKernels(domain).stepsPerBlock(), 0) << features;
    }
  }
}

// So many positions that a few images are summed over at a time.
TEST_P(ConvTest, GradientsOfLargeImages) {
  std::mt19937 rng(14);
  for (auto [type, size, inputs, features] :
       std::vector<std::tuple<ElementType, int64_t, int64_t, int64_t>>{
           {ElementType::kBF16, 220, 2, 32}, {ElementType::kF32, 222, 1, 5}}) {
    Case c;
    c.lhsType = c.rhsType = type, c.resultType = ElementType::kF32;
    c.batch = inputs, c.inputFeatures = 3, c.outputFeatures = features;
    c.spatial = {{size, 220}, {size, 220}};
    c.inputPlaces = {3, 0, 1, 2};
    c.kernelPlaces = {0, 3, 1, 2};
    c.outputPlaces = {2, 3, 0, 1};
    checkCase(c, rng);
  }
}

// Of one sign, whose sum in one chain would lose three digits.
TEST_P(ConvTest, GradientsRoundLittle) {
  std::mt19937 rng(17);
  for (auto [inputs, features] : std::vector<std::array<int64_t, 2>>{{1, 5}, {3, 16}, {16, 16}}) {
    Case c;
    c.batch = inputs, c.inputFeatures = 3, c.outputFeatures = features;
    c.spatial = {{222, 220}, {222, 220}};
    c.inputPlaces = {3, 0, 1, 2};
    c.kernelPlaces = {0, 3, 1, 2};
    c.outputPlaces = {2, 3, 0, 1};
    auto descriptor = describe(c);
    ASSERT_TRUE(descriptor.ok());
    std::vector<float> lhs(3 * 222 * 222 * inputs, 0.1f), rhs(3 * 220 * 220 * features);
    std::vector<double> expected(features);
    for (size_t i = 0; i < rhs.size(); ++i) {
      rhs[i] = std::uniform_real_distribution<float>(0, 1)(rng);
      expected[i % features] += double{rhs[i]} * double{lhs[0]};
    }
    std::vector<float> result(3 * 3 * inputs * features);
    TestRun run(2);
    void* buffers[] = {lhs.data(), rhs.data(), result.data()};
    ASSERT_EQ(isthmus_rt_conv(&run.run, &*descriptor, buffers), 0) << run.status.message();
    for (size_t i = 0; i < result.size(); ++i) {
      ASSERT_NEAR(result[i] / expected[i % features], 1, 1e-6);
    }
  }
}

// Taps or positions so far apart that the image is nearly all padding: nothing of that length is
// made.
TEST_P(ConvTest, GradientsOfFarTaps) {
  std::mt19937 rng(16);
  constexpr int64_t kFar = int64_t{1} << 33;
  for (auto [areTaps, type] : {std::pair{true, ElementType::kBF16},
                               {false, ElementType::kBF16},
                               {true, ElementType::kF32},
                               {false, ElementType::kF32}}) {
    Case c;
    c.lhsType = c.rhsType = type, c.resultType = ElementType::kF32;
    c.batch = type == ElementType::kF32 ? 1 : 16, c.inputFeatures = 5, c.outputFeatures = 8;
    c.spatial = {{9, 9}, {9, 9}};
    if (areTaps) {
      c.spatial[1].rhsDilation = kFar, c.spatial[1].high = 8 * kFar - 8;
    } else {
      c.spatial[1].stride = kFar, c.spatial[1].high = kFar;
    }
    c.inputPlaces = {3, 0, 1, 2};
    c.kernelPlaces = {0, 3, 1, 2};
    c.outputPlaces = {2, 3, 0, 1};
    checkCase(c, rng);
  }
}

// One feature in and out of each group, and few groups: vectors run along positions. Rows shorter
// than a vector, rows with a rest, and long ones that are cut although they are padded.
TEST_P(ConvTest, RowsOfFewFeatures) {
  std::mt19937 rng(11);
  using S = Case::Spatial;
  const std::vector<std::vector<S>> windows = {
      {{3, 2, 1, 1, 1}},
      {{301, 7, 1, 3, 3}},
      {{7'000, 31, 1, 30, 30}},
      {{900, 5, 1, -3, 2, 1, 4, true}},
      {{9, 3, 2, 1, 1}, {150, 5, 1, 2, 2}},
      {{11, 9, 1, 4, 4}, {70, 1}},
      {{5, 3, 1, 1, 1, 1, 2}, {8, 2, 1, 1}, {65, 4, 1, 2, 1}},
      {{9, 3, 1, 1, 1}, {150, 5, 2, 2, 2}},
      {{9, 3, 1, 1, 1}, {40, 3, 1, 2, 2, 2}},
  };
  for (ElementType type : {ElementType::kF32, ElementType::kF64, ElementType::kBF16}) {
    for (int64_t features : {1, 3, 5, 12, 56, 80}) {
      for (const std::vector<S>& window : windows) {
        if (features > 3 && window[0].input > 5'000) continue;
        Case c;
        c.lhsType = c.rhsType = c.resultType = type;
        c.batch = 2, c.inputFeatures = c.outputFeatures = c.featureGroups = features;
        c.spatial = window;
        channelsLast(c);
        SCOPED_TRACE(std::to_string(features) + " features, first axis " +
                     std::to_string(window[0].input));
        checkCase(c, rng);
        if (HasFailure()) return;
      }
    }
  }
}

// The gradient of a window of one with strides: most results meet no tap, the others lie apart.
// Too few to fill a vector: vectors run along positions of transposed lines. Lines that are padded,
// cut, skipped, reversed, and taps that are apart.
TEST_P(ConvTest, FewOutputFeatures) {
  std::mt19937 rng(18);
  using S = Case::Spatial;
  const std::vector<std::vector<S>> windows = {
      {{9, 3, 1, 1, 1}, {64, 3, 1, 1, 1}},
      {{30, 5, 2, 2, 1}, {70, 7, 1, 3, 3}},
      {{6, 2, 1, -1, 3, 1, 2}, {61, 3, 1, 4, -2, 1, 3, true}},
      {{5, 7, 1, 6, 6, 1, 1, true}, {30, 1, 1, 1, 1}},
      {{90, 5, 1, 0, 9}},
  };
  for (const auto& spatial : windows) {
    for (int64_t features : {1, 3, 4}) {
      for (auto [type, result] : kFloatTypes) {
        Case c;
        c.lhsType = c.rhsType = type, c.resultType = result;
        c.batch = 2, c.inputFeatures = 11, c.outputFeatures = features, c.spatial = spatial;
        channelsLast(c);
        checkCase(c, rng, features);
      }
    }
  }
  Case c;
  c.inputFeatures = 9, c.outputFeatures = 2, c.spatial = windows[0];
  channelsLast(c);
  ConvDescriptor descriptor = *describe(c);
  chooseConvForm(descriptor);
  EXPECT_EQ(formNameOf(descriptor), "planes");
  c.outputFeatures = 17;
  channelsLast(c);
  descriptor = *describe(c);
  EXPECT_EQ(setConvForm("planes", descriptor), "planes: many features");
}

// Which read the kernel where it lies: of several blocks of rows, of runs that are cut, with taps
// that are apart or reversed.
TEST_P(ConvTest, FewPositions) {
  std::mt19937 rng(19);
  using S = Case::Spatial;
  const std::vector<std::vector<S>> windows = {
      {{7, 3, 2, 1, 1}, {7, 3, 2, 1, 1}},
      {{6, 3}, {8, 3}},
      {{5, 2, 1, -1, 1, 1, 2, true}, {9, 3, 1, 2, 0, 1, 2, true}},
      {{40, 5, 4, 3, 2}},
      {{1, 1}, {2, 2, 1, 1, 0}, {7, 4}},
  };
  for (const auto& spatial : windows) {
    for (auto [type, result] : kFloatTypes) {
      for (int64_t features : {32, 48, 112}) {
        Case c;
        c.lhsType = c.rhsType = type, c.resultType = result;
        c.inputFeatures = 67, c.outputFeatures = features, c.spatial = spatial;
        channelsLast(c);
        checkCase(c, rng);
      }
    }
  }
}

TEST_P(ConvTest, GradientOfSkippedPositions) {
  std::mt19937 rng(8);
  for (ElementType type : {ElementType::kF32, ElementType::kF64, ElementType::kBF16}) {
    for (int64_t groups : {1, 2}) {
      Case c;
      c.lhsType = c.rhsType = c.resultType = type;
      c.batch = 3, c.inputFeatures = 6 * groups, c.outputFeatures = 10 * groups;
      c.featureGroups = groups;
      for (int64_t size : {7, 5}) c.spatial.push_back({size, 1, 1, 0, 1, 2, 1, true});
      channelsLast(c);
      checkCase(c, rng);
    }
  }
}

TEST_P(ConvTest, EveryElementType) {
  std::mt19937 rng(7);
  using E = ElementType;
  for (auto [l, r, t] : std::vector<std::array<E, 3>>{{E::kF64, E::kF64, E::kF64},
                                                      {E::kBF16, E::kBF16, E::kBF16},
                                                      {E::kBF16, E::kBF16, E::kF32},
                                                      {E::kF16, E::kF16, E::kF16},
                                                      {E::kS8, E::kS8, E::kS32},
                                                      {E::kU8, E::kU8, E::kU8},
                                                      {E::kS32, E::kS32, E::kS32},
                                                      {E::kS64, E::kS64, E::kS64},
                                                      {E::kS16, E::kS16, E::kS16},
                                                      {E::kC64, E::kC64, E::kC64},
                                                      {E::kC128, E::kC128, E::kC128},
                                                      {E::kF8E4M3FN, E::kF8E4M3FN, E::kF32},
                                                      {E::kPred, E::kPred, E::kPred}}) {
    for (int64_t groups : {1, 4}) {
      Case c;
      c.lhsType = l, c.rhsType = r, c.resultType = t;
      c.batch = 2, c.inputFeatures = 8, c.outputFeatures = 12, c.featureGroups = groups;
      c.spatial = {{6, 3, 1, 1, 1}, {7, 3, 1, 1, 1}};
      channelsLast(c);
      checkCase(c, rng);
    }
  }
}

TEST_P(ConvTest, RandomParameters) {
  std::mt19937 rng(8);
  for (int round = 0; round < 300; ++round) {
    Case c;
    auto pick = [&](int64_t low, int64_t high) { return low + int64_t(rng() % (high - low + 1)); };
    if (round % 3 == 1) c.featureGroups = pick(1, 4);
    if (round % 3 == 2) c.batchGroups = pick(1, 3);
    c.batch = c.batchGroups * pick(1, 3);
    c.inputFeatures = c.featureGroups * pick(1, 9);
    c.outputFeatures = c.featureGroups * c.batchGroups * pick(1, 9);
    size_t rank = size_t(pick(0, 3));
    for (size_t i = 0; i < rank; ++i) {
      Case::Spatial s{pick(1, 9),  pick(1, 4), pick(1, 3), pick(-1, 3),
                      pick(-1, 3), pick(1, 3), pick(1, 2), pick(0, 1) == 1};
      if (s.output() < 1) s.high += s.kernel * s.rhsDilation + 2;
      if (s.output() < 1) s = {5, 2};
      c.spatial.push_back(s);
    }
    c.inputPlaces = c.kernelPlaces = c.outputPlaces = identityPlaces(rank + 2);
    std::shuffle(c.inputPlaces.begin(), c.inputPlaces.end(), rng);
    std::shuffle(c.kernelPlaces.begin(), c.kernelPlaces.end(), rng);
    std::shuffle(c.outputPlaces.begin(), c.outputPlaces.end(), rng);
    SCOPED_TRACE("round " + std::to_string(round));
    checkCase(c, rng, 1 + round % 3);
    if (HasFailure()) return;
  }
}

TEST_P(ConvTest, EmptyWindowAndEmptyInput) {
  std::mt19937 rng(9);
  Case c;
  c.inputFeatures = 2, c.outputFeatures = 3;
  c.spatial = {{0, 2, 1, 2, 2}};
  channelsLast(c);
  checkCase(c, rng);
  c.spatial = {{4, 6}};
  checkCase(c, rng);
  c.spatial = {{4, 2}}, c.inputFeatures = 0;
  checkCase(c, rng);
}

TEST(ConvDescriptorTest, RefusesWhatDoesNotFit) {
  Case c;
  c.batch = 3, c.batchGroups = 2, c.outputFeatures = 2;
  c.spatial = {{4, 2}};
  channelsLast(c);
  EXPECT_EQ(describe(c).status().code(), StatusCode::kInvalidArgument);
  c.batchGroups = 1;
  EXPECT_TRUE(describe(c).ok());
  c.inputPlaces[0] = 1;
  EXPECT_EQ(describe(c).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace isthmus::cpu

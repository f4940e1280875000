// The kernels for AMX on emulated tile registers: packing and multiplying against loops.
#define ISTHMUS_EMULATE_AMX
#define ISTHMUS_ISA emulated_amx
#include "backends/cpu/kernels/gemm/gemm_amx_isa.cc"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

namespace isthmus::cpu {
namespace {

// An operand whose element (lane, step) is at lane * laneStride + step * stepStride; those at the
// index `missing` are of a lane of zeros.
struct Operand {
  std::vector<char> data;
  ElementType type;
  int lanes;
  int64_t laneStride, stepStride;
  int missing = -1;

  double at(int lane, int64_t step) const {
    if (lane == missing) return 0;
    return loadElement<double>(data.data(), type, lane * laneStride + step * stepStride);
  }
};

Operand randomOperand(ElementType type, int lanes, int64_t steps, bool stepsContiguous,
                      std::mt19937& rng) {
  Operand operand{{}, type, lanes, stepsContiguous ? steps : 1, stepsContiguous ? 1 : lanes, -1};
  operand.data.resize(static_cast<size_t>(lanes * steps) * storageBytes(type));
  for (int64_t i = 0; i < lanes * steps; ++i) {
    storeElement<double>(operand.data.data(), type, i, static_cast<int>(rng() % 17) - 8);
  }
  return operand;
}

// The panel, followed by memory that must stay as it is.
std::vector<uint32_t> packPanel(const GemmKernels& kernels, const Operand& operand, int64_t steps,
                                bool isLeft) {
  std::vector<int64_t> lanes(operand.lanes), offsets(steps);
  for (int i = 0; i < operand.lanes; ++i) {
    lanes[i] = i == operand.missing ? kZeroLane : i * operand.laneStride;
  }
  for (int64_t k = 0; k < steps; ++k) offsets[k] = k * operand.stepStride;
  const bool contiguous = operand.laneStride == 1 && operand.lanes > 1 && operand.missing < 0;
  const PanelSource source{operand.data.data(),
                           operand.type,
                           operand.lanes,
                           lanes.data(),
                           offsets.data(),
                           steps,
                           contiguous,
                           operand.stepStride == 1 ? steps : 1,
                           0,
                           isLeft};
  const int64_t blocks = (steps + kernels.stepsPerBlock() - 1) / kernels.stepsPerBlock();
  std::vector<uint32_t> panel(blocks * kernels.elementsPerBlock * kernels.nr + 16, 0x7FC1AFFE);
  kernels.pack(panel.data(), isLeft ? kernels.mr : kernels.nr, source);
  return panel;
}

class AmxTest : public ::testing::TestWithParam<GemmDomain> {};
INSTANTIATE_TEST_SUITE_P(Domains, AmxTest,
                         ::testing::Values(GemmDomain::kBytes, GemmDomain::kBf16));

TEST_P(AmxTest, TilesOfEverySizeAndLayout) {
  const GemmKernels& kernels = *emulated_amx::gemmKernelsFor(GetParam());
  const bool isBytes = GetParam() == GemmDomain::kBytes;
  const ElementType type = isBytes ? ElementType::kS8 : ElementType::kBF16;
  std::mt19937 rng(1);
  for (int rows : {1, 15, 16, 17, 32}) {
    for (int cols : {1, 16, 20, 32}) {
      for (int64_t steps : {1, 7, 32, 64, 65, 200}) {
        for (int layout = 0; layout < 8; ++layout) {
          SCOPED_TRACE(::testing::Message()
                       << rows << "x" << cols << "x" << steps << " " << layout);
          Operand a = randomOperand(type, rows, steps, layout & 1, rng);
          Operand b = randomOperand(type, cols, steps, layout & 2, rng);
          if (rows > 3) a.missing = 2;
          const bool accumulate = layout & 4;
          const auto left = packPanel(kernels, a, steps, true);
          const auto right = packPanel(kernels, b, steps, false);
          const int64_t ldc = cols + 3;
          std::vector<float> floats(rows * ldc, 5);
          std::vector<int32_t> integers(rows * ldc, 5);
          void* result = isBytes ? static_cast<void*>(integers.data()) : floats.data();
          kernels.begin();
          kernels.tile(steps, left.data(), right.data(), result, ldc, rows, cols, accumulate);
          kernels.end();
          for (int r = 0; r < rows; ++r) {
            for (int c = 0; c < ldc; ++c) {
              double expected = accumulate || c >= cols ? 5 : 0;
              for (int64_t k = 0; k < steps && c < cols; ++k) expected += a.at(r, k) * b.at(c, k);
              // Sums of small integers are exact in either type.
              const int64_t at = r * ldc + c;
              ASSERT_EQ(isBytes ? integers[at] : floats[at], expected) << r << "," << c;
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace isthmus::cpu

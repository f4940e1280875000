// Kernels for products of narrow elements, packing and multiplying against loops: those of this
// machine, whether products prefer them or not, and those for AMX on emulated tile registers.
#define ISTHMUS_EMULATE_AMX
#define ISTHMUS_ISA emulated_amx
#include "backends/cpu/kernels/gemm/gemm_amx_isa.cc"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "backends/cpu/kernels/gemm/gemm.h"
#include "backends/cpu/kernels/isa.h"

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
                                bool isLeft, bool isRun = false) {
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
                           isLeft,
                           isRun};
  const int64_t blocks = (steps + kernels.stepsPerBlock() - 1) / kernels.stepsPerBlock();
  std::vector<uint32_t> panel(blocks * kernels.elementsPerBlock * kernels.nr + 16, 0x7FC1AFFE);
  kernels.pack(panel.data(), isLeft ? kernels.mr : kernels.nr, source);
  return panel;
}

struct Family {
  const char* name;
  Isa isa;
  const GemmKernels* (*kernelsFor)(GemmDomain);
  GemmDomain domain;
  ElementType type;

  bool isFloat() const { return domain == GemmDomain::kBf16; }
};
template <const GemmKernels* (*table)()>
const GemmKernels* tableFor(GemmDomain domain) {
  return &table()[static_cast<int>(domain)];
}
void PrintTo(const Family& family, std::ostream* stream) { *stream << family.name; }

class NarrowTest : public ::testing::TestWithParam<Family> {
 protected:
  void SetUp() override {
    if (hostIsa() < GetParam().isa) GTEST_SKIP() << "not on this machine";
  }
};
INSTANTIATE_TEST_SUITE_P(
    Families, NarrowTest,
    ::testing::Values(Family{"emulated_amx_bytes", Isa::kV2, emulated_amx::gemmKernelsFor,
                             GemmDomain::kBytes, ElementType::kS8},
                      Family{"emulated_amx_bf16", Isa::kV2, emulated_amx::gemmKernelsFor,
                             GemmDomain::kBf16, ElementType::kBF16},
                      Family{"amx_bytes", Isa::kAmx, v4_amx::gemmKernelsFor, GemmDomain::kBytes,
                             ElementType::kS8},
                      Family{"amx_bf16", Isa::kAmx, v4_amx::gemmKernelsFor, GemmDomain::kBf16,
                             ElementType::kBF16},
                      Family{"avx512_bf16", Isa::kBf16, v4_bf16::gemmKernelsFor, GemmDomain::kBf16,
                             ElementType::kBF16},
                      Family{"vnni_bytes", Isa::kVnni, v4_vnni::gemmKernelsFor, GemmDomain::kBytes,
                             ElementType::kS8},
                      Family{"v2_pairs_s16", Isa::kV2, tableFor<v2::gemmKernelTable>,
                             GemmDomain::kPairs, ElementType::kS16},
                      Family{"v2_pairs_s8", Isa::kV2, tableFor<v2::gemmKernelTable>,
                             GemmDomain::kPairs, ElementType::kS8},
                      Family{"v3_pairs_u8", Isa::kV3, tableFor<v3::gemmKernelTable>,
                             GemmDomain::kPairs, ElementType::kU8},
                      Family{"v4_pairs_s8", Isa::kV4, tableFor<v4::gemmKernelTable>,
                             GemmDomain::kPairs, ElementType::kS8},
                      Family{"vnni_pairs_u8", Isa::kVnni, v4_vnni::gemmKernelsFor,
                             GemmDomain::kPairs, ElementType::kU8}),
    [](const auto& info) { return std::string(info.param.name); });

TEST_P(NarrowTest, TilesOfEverySizeAndLayout) {
  const GemmKernels& kernels = *GetParam().kernelsFor(GetParam().domain);
  const bool isFloat = GetParam().isFloat();
  const ElementType type = GetParam().type;
  std::mt19937 rng(1);
  for (int rows : {1, 5, 13, 15, 16, 17, 32}) {
    if (rows > kernels.mr) continue;
    for (int cols : {1, 7, 8, 16, 20, 32}) {
      if (cols > kernels.nr) continue;
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
          void* result = isFloat ? static_cast<void*>(floats.data()) : integers.data();
          {
            const TilesInUse tiles(kernels);
            kernels.tile(steps, left.data(), right.data(), result, ldc, rows, cols, accumulate);
          }
          for (int r = 0; r < rows; ++r) {
            for (int c = 0; c < ldc; ++c) {
              double expected = accumulate || c >= cols ? 5 : 0;
              for (int64_t k = 0; k < steps && c < cols; ++k) expected += a.at(r, k) * b.at(c, k);
              // Sums of small integers are exact in either type.
              const int64_t at = r * ldc + c;
              ASSERT_EQ(isFloat ? floats[at] : integers[at], expected) << r << "," << c;
            }
          }
        }
      }
    }
  }
}

// Rows of windows as a convolution's: runs begin one after the other in a row, which goes on behind
// the last with what no product may read.
TEST_P(NarrowTest, RunsInPlace) {
  const GemmKernels& kernels = *GetParam().kernelsFor(GetParam().domain);
  const bool isFloat = GetParam().isFloat();
  const ElementType type = GetParam().type;
  const auto bytes = static_cast<int64_t>(storageBytes(type));
  std::mt19937 rng(1);
  if (!kernels.runTile) GTEST_SKIP() << "from panels only";
  for (int rows : {1, 13, 16, 29, 32}) {
    if (rows > kernels.mr) continue;
    for (int cols : {5, 16, 32}) {
      for (std::vector<int64_t> lengths : std::vector<std::vector<int64_t>>{{},
                                                                            {1},
                                                                            {7},
                                                                            {64},
                                                                            {200},
                                                                            {16, 16, 16},
                                                                            {48, 48},
                                                                            {21, 21, 21},
                                                                            {32, 96},
                                                                            {5, 64}}) {
        const bool accumulate = rng() & 1;
        SCOPED_TRACE(::testing::Message() << rows << "x" << cols << ", " << lengths.size()
                                          << " runs of " << (lengths.empty() ? 0 : lengths[0]));
        std::vector<GemmRun> runs;
        int64_t steps = 0, elements = 0;
        for (int64_t length : lengths) {
          runs.push_back({steps, elements * kernels.nr, length});
          steps += length + 3;
          elements += (length + kernels.stepsPerElement - 1) / kernels.stepsPerElement;
        }
        const int64_t rowStride = steps + 5;
        std::vector<char> a(rows * rowStride * bytes, '\x7F');  // NaN of bf16
        std::vector<uint32_t> panel(elements * kernels.nr + 16, 0x7FC1AFFE);
        std::vector<double> expected(rows * cols, accumulate ? 5 : 0);
        for (const GemmRun& run : runs) {
          Operand left = randomOperand(type, rows, run.length, true, rng);
          Operand right = randomOperand(type, cols, run.length, false, rng);
          for (int r = 0; r < rows; ++r) {
            std::memcpy(a.data() + (r * rowStride + run.a) * bytes,
                        left.data.data() + r * run.length * bytes, run.length * bytes);
          }
          const auto part = packPanel(kernels, right, run.length, false, true);
          const int64_t used =
              (run.length + kernels.stepsPerElement - 1) / kernels.stepsPerElement * kernels.nr;
          std::copy_n(part.begin(), used, panel.begin() + run.b);
          for (size_t i = used; i < part.size(); ++i) ASSERT_EQ(part[i], 0x7FC1AFFE);
          for (int64_t i = 0; i < rows * cols; ++i) {
            for (int64_t k = 0; k < run.length; ++k) {
              expected[i] += left.at(i / cols, k) * right.at(i % cols, k);
            }
          }
        }
        const int64_t ldc = cols + 3;
        std::vector<float> floats(rows * ldc, 5);
        std::vector<int32_t> integers(rows * ldc, 5);
        void* result = isFloat ? static_cast<void*>(floats.data()) : integers.data();
        {
          const TilesInUse tiles(kernels);
          kernels.runTile(runs.data(), runs.size(), a.data(), rowStride, kernels.stepsPerElement,
                          panel.data(), kernels.nr, result, ldc, rows, cols, accumulate);
        }
        for (int r = 0; r < rows; ++r) {
          for (int c = 0; c < ldc; ++c) {
            const double value = c < cols ? expected[r * cols + c] : 5;
            ASSERT_EQ(isFloat ? floats[r * ldc + c] : integers[r * ldc + c], value)
                << r << "," << c;
          }
        }
      }
    }
  }
}

// Few rows with a right operand where it lies; what lies behind either's last element is no number.
TEST_P(NarrowTest, FewRowsInPlace) {
  const GemmKernels& kernels = *GetParam().kernelsFor(GetParam().domain);
  const bool isEmulated = GetParam().isa == Isa::kV2;  // but these functions are not
  if (isEmulated || !kernels.dotProducts || !kernels.rowsTimesMatrix) GTEST_SKIP() << "panels only";
  const ElementType type = GetParam().type;
  const auto bytes = static_cast<int64_t>(storageBytes(type));
  std::mt19937 rng(1);
  // Elements (lane, step), whose lanes or steps are `apart` elements apart.
  auto operand = [&](int lanes, int64_t steps, int64_t apart, bool stepsContiguous) {
    Operand result = randomOperand(type, lanes, steps, stepsContiguous, rng);
    Operand spread{{}, type, lanes, stepsContiguous ? apart : 1, stepsContiguous ? 1 : apart, -1};
    const int64_t last = (lanes - 1) * spread.laneStride + (steps - 1) * spread.stepStride;
    spread.data.assign(static_cast<size_t>((last + 1) * bytes), '\x7F');
    for (int lane = 0; lane < lanes; ++lane) {
      for (int64_t step = 0; step < steps; ++step) {
        storeElement<double>(spread.data.data(), type,
                             lane * spread.laneStride + step * spread.stepStride,
                             result.at(lane, step));
      }
    }
    return spread;
  };
  for (int rows = 1; rows <= 4; ++rows) {
    for (int cols : {1, 3, 16, 31, 32, 33, 64, 72, 100, 128, 200}) {
      for (int64_t steps : {1, 2, 7, 31, 32, 40, 64, 129}) {
        for (bool stepsContiguous : {false, true}) {
          SCOPED_TRACE(::testing::Message() << rows << "x" << cols << "x" << steps
                                            << (stepsContiguous ? " rows" : " columns"));
          const Operand a = operand(rows, steps, steps + 3, true);
          const Operand b =
              operand(cols, steps, (stepsContiguous ? steps : cols) + 5, stepsContiguous);
          const int64_t ldc = cols + 3;
          std::vector<float> result(rows * ldc, 5);
          if (stepsContiguous) {
            kernels.dotProducts(steps, a.data.data(), a.laneStride, rows, b.data.data(),
                                b.laneStride, cols, result.data(), ldc, 1);
          } else {
            kernels.rowsTimesMatrix(steps, a.data.data(), a.laneStride, 1, rows, b.data.data(),
                                    b.stepStride, result.data(), ldc, cols);
          }
          for (int r = 0; r < rows; ++r) {
            for (int c = 0; c < ldc; ++c) {
              double expected = c < cols ? 0 : 5;
              for (int64_t k = 0; k < steps && c < cols; ++k) expected += a.at(r, k) * b.at(c, k);
              ASSERT_EQ(result[r * ldc + c], expected) << r << "," << c;
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace isthmus::cpu

// isthmus_rt_sort and isthmus_rt_top_k against std::stable_sort with orders written out by hand.
#include "backends/cpu/kernels/sort/sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>

#include "backends/cpu/kernels/kernel_testing.h"

namespace isthmus::cpu {
namespace {

using E = ElementType;
using testing::randomElements;
using testing::TestRun;

// JAX's order: zeros equal, NaNs equal and last.
bool numericLess(double a, double b) {
  if (std::isnan(a)) return false;
  if (std::isnan(b)) return true;
  return a < b;
}

std::vector<uint32_t> stableOrder(int64_t n, const std::function<bool(int64_t, int64_t)>& less) {
  std::vector<uint32_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    if (less(a, b)) return true;
    if (less(b, a)) return false;
    return a < b;
  });
  return order;
}

// Random data with many equal elements, and for floats zeros of both signs, infinities and NaNs.
std::vector<char> keyData(E type, int64_t n, std::mt19937& rng) {
  auto data = randomElements(type, n, rng);
  for (int64_t i = 0; i < n; ++i) {
    if (rng() % 2) continue;
    if (elementClass(type) == ElementClass::kFloat) {
      const double values[] = {0.0, -0.0, 1.0, -1.0, 0.5, INFINITY, -INFINITY, NAN};
      storeElement<double>(data.data(), type, i, values[rng() % std::size(values)]);
    } else {
      storeElement<uint64_t>(data.data(), type, i, rng() % 5);
    }
  }
  return data;
}

bool keyLess(const std::vector<char>& data, E type, int64_t a, int64_t b) {
  switch (elementClass(type)) {
    case ElementClass::kFloat:
      return numericLess(loadElement<double>(data.data(), type, a),
                         loadElement<double>(data.data(), type, b));
    case ElementClass::kSigned:
      return static_cast<int64_t>(loadElement<uint64_t>(data.data(), type, a)) <
             static_cast<int64_t>(loadElement<uint64_t>(data.data(), type, b));
    default:
      return loadElement<uint64_t>(data.data(), type, a) <
             loadElement<uint64_t>(data.data(), type, b);
  }
}

void checkKeys(std::vector<SortKey> keys, std::vector<E> types, int64_t outer, int64_t length,
               int64_t inner, std::mt19937& rng, int threads, bool inPlace) {
  SortDescriptor d{};
  d.outer = outer, d.length = length, d.inner = inner;
  d.numKeys = int32_t(keys.size());
  std::vector<int32_t> elementBytes;
  std::copy(keys.begin(), keys.end(), d.keys);
  int64_t total = outer * length * inner;
  std::vector<std::vector<char>> operands, results;
  for (size_t i = 0; i < types.size(); ++i) {
    elementBytes.push_back(int32_t(storageBytes(types[i])));
    operands.push_back(i < keys.size() ? keyData(types[i], total, rng)
                                       : randomElements(types[i], total, rng));
    results.push_back(inPlace ? operands[i] : std::vector<char>(operands[i].size(), char(0x55)));
  }
  std::vector<void*> buffers;
  for (auto& operand : inPlace ? results : operands) buffers.push_back(operand.data());
  for (auto& result : results) buffers.push_back(result.data());
  TestRun run(threads);
  ASSERT_EQ(isthmus_rt_sort(&run.run, sortBytes(d, elementBytes).data(), buffers.data()), 0)
      << run.status.message();
  EXPECT_EQ(run.services.liveScratchBytes(), 0);
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      auto at = [&](int64_t j) { return (o * length + j) * inner + i; };
      auto order = stableOrder(length, [&](int64_t a, int64_t b) {
        for (size_t k = 0; k < keys.size(); ++k) {
          int64_t x = at(a), y = at(b);
          if (keys[k].descending) std::swap(x, y);
          if (keyLess(operands[k], types[k], x, y)) return true;
          if (keyLess(operands[k], types[k], y, x)) return false;
        }
        return false;
      });
      for (size_t t = 0; t < types.size(); ++t) {
        size_t bytes = storageBytes(types[t]);
        for (int64_t j = 0; j < length; ++j) {
          ASSERT_EQ(std::memcmp(results[t].data() + at(j) * int64_t(bytes),
                                operands[t].data() + at(order[j]) * int64_t(bytes), bytes),
                    0)
              << "operand " << t << " row " << o << "," << i << " element " << j << " of " << length
              << ", key type " << int(types[0]);
        }
      }
    }
  }
}

TEST(SortTest, EveryKeyTypeAndLength) {
  std::mt19937 rng(1);
  for (int t = 1; t <= 33; ++t) {
    auto type = static_cast<E>(t);
    auto kind = elementClass(type);
    if (kind == ElementClass::kNone || kind == ElementClass::kComplex) continue;
    if (type == E::kF8E8M0FNU) continue;
    for (int64_t length : {1, 2, 7, 100, 333, 9000}) {
      for (int descending : {0, 1}) {
        checkKeys({{type, SortOrder::kNumeric, descending}}, {type}, 1, length, 1, rng, 1, false);
        checkKeys({{type, SortOrder::kNumeric, descending}}, {type, E::kS32}, 1, length, 1, rng, 1,
                  descending);
      }
    }
  }
}

// NumPy's int4 leaves them zero, kernels copy the sign.
TEST(SortTest, BitsThatANarrowIntegerDoesNotUseDoNotCount) {
  std::vector<uint8_t> operand{0x0A, 0x02, 0xFD, 0x07, 0xF8, 0x0F}, result(6);
  SortDescriptor d{};
  d.outer = d.inner = 1, d.length = 6, d.numKeys = 1;
  void* buffers[] = {operand.data(), result.data()};
  TestRun run(1);
  d.keys[0] = {E::kS4, SortOrder::kNumeric, 0};
  ASSERT_EQ(isthmus_rt_sort(&run.run, sortBytes(d, {1}).data(), buffers), 0);
  EXPECT_EQ(result, (std::vector<uint8_t>{0xF8, 0x0A, 0xFD, 0x0F, 0x02, 0x07}));
  d.keys[0] = {E::kU4, SortOrder::kNumeric, 1};
  ASSERT_EQ(isthmus_rt_sort(&run.run, sortBytes(d, {1}).data(), buffers), 0);
  EXPECT_EQ(result, (std::vector<uint8_t>{0x0F, 0xFD, 0x0A, 0xF8, 0x07, 0x02}));
}

TEST(SortTest, RowsAndColumns) {
  std::mt19937 rng(2);
  for (E type : {E::kF32, E::kS64, E::kU8}) {
    for (int threads : {1, 3}) {
      checkKeys({{type, SortOrder::kNumeric, 0}}, {type}, 5, 40, 3, rng, threads, false);
      checkKeys({{type, SortOrder::kNumeric, 0}}, {type, E::kC128, E::kPred}, 2, 700, 2, rng,
                threads, true);
      checkKeys({{type, SortOrder::kNumeric, 0}}, {type}, 30, 100, 1, rng, threads, true);
    }
  }
}

TEST(SortTest, SeveralKeys) {
  std::mt19937 rng(3);
  for (int64_t length : {5, 300, 5000}) {
    checkKeys({{E::kU8, SortOrder::kNumeric, 0}, {E::kF32, SortOrder::kNumeric, 1}},
              {E::kU8, E::kF32, E::kS32}, 2, length, 1, rng, 2, false);
    checkKeys({{E::kF64, SortOrder::kNumeric, 0},
               {E::kPred, SortOrder::kNumeric, 0},
               {E::kS16, SortOrder::kNumeric, 0}},
              {E::kF64, E::kPred, E::kS16}, 1, length, 2, rng, 2, true);
  }
}

TEST(SortTest, AnyNumberOfOperands) {
  std::mt19937 rng(9);
  std::vector<E> types(100, E::kS32);
  types[0] = E::kS16, types[99] = E::kC128;
  checkKeys({{E::kS16, SortOrder::kNumeric, 0}}, types, 1, 50, 2, rng, 1, false);
}

TEST(SortTest, LongRowsAreShared) {
  std::mt19937 rng(4);
  checkKeys({{E::kF32, SortOrder::kNumeric, 0}}, {E::kF32}, 1, 150000, 1, rng, 3, false);
  checkKeys({{E::kF64, SortOrder::kNumeric, 0}}, {E::kF64, E::kU16}, 1, 100000, 1, rng, 3, false);
}

TEST(SortTest, TotalOrderTellsZerosAndNansApart) {
  const uint32_t order[] = {0xFFC00001, 0xFFC00000, 0xFF800000, 0xBF800000, 0x80000000,
                            0x00000000, 0x3F800000, 0x7F800000, 0x7FC00000, 0x7FC00001};
  std::vector<uint32_t> data(std::begin(order), std::end(order)), result(data.size());
  std::mt19937 rng(5);
  std::shuffle(data.begin(), data.end(), rng);
  SortDescriptor d{1, int64_t(data.size()), 1, 0, 1, {{E::kF32, SortOrder::kTotal, 0}}};
  TestRun run(1);
  void* buffers[] = {data.data(), result.data()};
  ASSERT_EQ(isthmus_rt_sort(&run.run, sortBytes(d, {4}).data(), buffers), 0);
  EXPECT_TRUE(std::equal(result.begin(), result.end(), order));
}

int32_t lessByAbsoluteThenSecond(const void* const* operands, int64_t left, int64_t right) {
  const auto* keys = static_cast<const float*>(operands[0]);
  const auto* values = static_cast<const int64_t*>(operands[1]);
  float a = std::fabs(keys[left]), b = std::fabs(keys[right]);
  return a != b ? a < b : values[left] % 3 < values[right] % 3;
}

TEST(SortTest, ComparatorIsFollowedStably) {
  std::mt19937 rng(6);
  for (int threads : {1, 3}) {
    for (auto [outer, length, inner] : std::vector<std::array<int64_t, 3>>{
             {1, 1, 1}, {3, 9, 2}, {1, 1000, 1}, {1, 20011, 1}, {2, 0, 3}}) {
      int64_t total = outer * length * inner;
      std::vector<float> keys(total), keyResult(total);
      std::vector<int64_t> values(total), valueResult(total);
      for (auto& key : keys) key = float(int(rng() % 21)) - 10;
      std::iota(values.begin(), values.end(), 0);
      const std::string d = sortBytes({outer, length, inner, 0, 0, {}}, {4, 8});
      TestRun run(threads);
      void* buffers[] = {keys.data(), values.data(), keyResult.data(), valueResult.data(),
                         reinterpret_cast<void*>(&lessByAbsoluteThenSecond)};
      ASSERT_EQ(isthmus_rt_sort(&run.run, d.data(), buffers), 0);
      for (int64_t o = 0; o < outer; ++o) {
        for (int64_t i = 0; i < inner; ++i) {
          auto at = [&](int64_t j) { return (o * length + j) * inner + i; };
          auto order = stableOrder(length, [&](int64_t a, int64_t b) {
            float x = std::fabs(keys[at(a)]), y = std::fabs(keys[at(b)]);
            return x != y ? x < y : values[at(a)] % 3 < values[at(b)] % 3;
          });
          for (int64_t j = 0; j < length; ++j) {
            ASSERT_EQ(valueResult[at(j)], values[at(order[j])]);
            ASSERT_EQ(keyResult[at(j)], keys[at(order[j])]);
          }
        }
      }
    }
  }
}

int32_t lessOrEqual(const void* const* operands, int64_t left, int64_t right) {
  const auto* data = static_cast<const float*>(operands[0]);
  return data[left] <= data[right];
}

TEST(SortTest, ComparatorThatIsNoStrictOrderStillPermutes) {
  std::mt19937 rng(7);
  std::vector<float> data(777), result(777);
  for (auto& x : data) x = rng() % 5 ? float(rng() % 3) : NAN;
  const std::string d = sortBytes({1, 777, 1, 0, 0, {}}, {4});
  TestRun run(1);
  void* buffers[] = {data.data(), result.data(), reinterpret_cast<void*>(&lessOrEqual)};
  ASSERT_EQ(isthmus_rt_sort(&run.run, d.data(), buffers), 0);
  auto bits = [](std::vector<float> v) {
    std::vector<uint32_t> b(v.size());
    std::memcpy(b.data(), v.data(), 4 * v.size());
    std::sort(b.begin(), b.end());
    return b;
  };
  EXPECT_EQ(bits(data), bits(result));
}

TEST(TopKTest, LargestByTotalOrderThenIndex) {
  std::mt19937 rng(8);
  for (E type : {E::kF32, E::kF64, E::kS32, E::kU8, E::kBF16, E::kS64}) {
    for (auto [rows, length, k] : std::vector<std::array<int64_t, 3>>{{1, 1, 1},
                                                                      {3, 10, 4},
                                                                      {2, 1000, 5},
                                                                      {2, 1000, 900},
                                                                      {4, 9000, 64},
                                                                      {1, 50, 50},
                                                                      {3, 7, 0}}) {
      auto data = keyData(type, rows * length, rng);
      for (int64_t i = 0; i < rows * length; ++i) {
        // Zeros of one sign only, for the order of the test to be total.
        if (elementClass(type) == ElementClass::kFloat &&
            loadElement<double>(data.data(), type, i) == 0) {
          storeElement<double>(data.data(), type, i, 0.0);
        }
      }
      int64_t bytes = int64_t(storageBytes(type));
      std::vector<char> values(rows * k * bytes + 1);
      std::vector<int32_t> indices(rows * k + 1);
      TopKDescriptor d{rows, length, k, type, 0};
      TestRun run(2);
      void* buffers[] = {data.data(), values.data(), indices.data()};
      ASSERT_EQ(isthmus_rt_top_k(&run.run, &d, buffers), 0);
      for (int64_t r = 0; r < rows; ++r) {
        auto order = stableOrder(length, [&](int64_t a, int64_t b) {
          return keyLess(data, type, r * length + b, r * length + a);
        });
        for (int64_t i = 0; i < k; ++i) {
          ASSERT_EQ(indices[r * k + i], int32_t(order[i]))
              << int(type) << " " << length << " " << k;
          ASSERT_EQ(std::memcmp(values.data() + (r * k + i) * bytes,
                                data.data() + (r * length + order[i]) * bytes, bytes),
                    0);
        }
      }
    }
  }
}

}  // namespace
}  // namespace isthmus::cpu

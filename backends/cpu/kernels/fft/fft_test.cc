// isthmus_rt_fft against the defining sums in long double.
#include "backends/cpu/kernels/fft/fft.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>

#include "backends/cpu/kernels/isa.h"
#include "backends/cpu/kernels/kernel_testing.h"

namespace isthmus::cpu {
namespace {

using testing::TestRun;
using Wide = std::complex<long double>;

// The sum along one dimension of [outer, n, inner].
void transformDimension(std::vector<Wide>& data, int64_t n, int64_t inner, int sign) {
  std::vector<Wide> roots(n), line(n);
  for (int64_t k = 0; k < n; ++k) {
    long double angle = sign * 2 * std::numbers::pi_v<long double> * k / n;
    roots[k] = {std::cos(angle), std::sin(angle)};
  }
  for (int64_t o = 0; o < int64_t(data.size()) / (n * inner); ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      for (int64_t k = 0; k < n; ++k) {
        line[k] = 0;
        for (int64_t j = 0; j < n; ++j) {
          line[k] += data[(o * n + j) * inner + i] * roots[j * k % n];
        }
      }
      for (int64_t k = 0; k < n; ++k) data[(o * n + k) * inner + i] = line[k];
    }
  }
}

template <typename T>
void check(FftType type, int64_t batch, std::vector<int64_t> lengths, std::mt19937& rng,
           int threads = 2) {
  int64_t points = 1;
  for (int64_t n : lengths) points *= n;
  const int64_t n = lengths.back(), half = n / 2 + 1, rows = batch * points / n;
  const bool inverse = type == FftType::kIfft || type == FftType::kIrfft;
  std::uniform_real_distribution<double> uniform(-1, 1);

  // The full complex operand, of which real transforms see part.
  std::vector<Wide> full(batch * points);
  std::vector<T> operand;
  if (type == FftType::kRfft) {
    for (auto& x : full) {
      operand.push_back(T(uniform(rng)));
      x = operand.back();
    }
  } else if (type == FftType::kIrfft) {
    // A spectrum of real data, with imaginary parts added where they must be ignored (only valid
    // along one dimension).
    std::vector<Wide> real(batch * points);
    for (auto& x : real) x = uniform(rng);
    int64_t inner = 1;
    for (size_t i = lengths.size(); i-- > 0;) {
      transformDimension(real, lengths[i], inner, -1);
      inner *= lengths[i];
    }
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t k = 0; k < half; ++k) {
        Wide x = real[r * n + k];
        operand.push_back(T(x.real()));
        bool ignored = lengths.size() == 1 && (k == 0 || 2 * k == n);
        operand.push_back(T(x.imag()) + (ignored ? T(0.7) : T(0)));
      }
    }
    full = real;
  } else {
    for (auto& x : full) {
      T re = T(uniform(rng)), im = T(uniform(rng));
      operand.push_back(re), operand.push_back(im);
      x = {re, im};
    }
  }
  int64_t inner = 1;
  for (size_t i = lengths.size(); i-- > 0;) {
    transformDimension(full, lengths[i], inner, inverse ? 1 : -1);
    inner *= lengths[i];
  }
  if (inverse) {
    for (auto& x : full) x /= (long double)(points);
  }
  std::vector<int64_t> dims{batch};
  dims.insert(dims.end(), lengths.begin(), lengths.end());
  if (type == FftType::kIrfft) dims.back() = half;
  constexpr bool isDouble = sizeof(T) == 8;
  ElementType elementType = type == FftType::kRfft
                                ? (isDouble ? ElementType::kF64 : ElementType::kF32)
                                : (isDouble ? ElementType::kC128 : ElementType::kC64);
  auto d = makeFftDescriptor(type, elementType, dims, lengths);
  ASSERT_TRUE(d.ok()) << d.status().message();
  std::vector<T> result(type == FftType::kIrfft  ? batch * points
                        : type == FftType::kRfft ? rows * half * 2
                                                 : batch * points * 2);
  TestRun run(threads);
  void* buffers[] = {operand.data(), result.data()};
  ASSERT_EQ(isthmus_rt_fft(&run.run, &*d, buffers), 0);
  EXPECT_EQ(run.services.liveScratchBytes(), 0);
  long double norm = 0, error = 0;
  for (int64_t r = 0; r < rows; ++r) {
    int64_t columns = type == FftType::kRfft ? half : n;
    for (int64_t k = 0; k < columns; ++k) {
      Wide expected = full[r * n + k];
      Wide got = type == FftType::kIrfft
                     ? Wide(result[r * n + k])
                     : Wide(result[2 * (r * columns + k)], result[2 * (r * columns + k) + 1]);
      if (type == FftType::kIrfft) expected = expected.real();
      norm += std::norm(expected);
      error += std::norm(got - expected);
    }
  }
  long double bound = (isDouble ? 1e-15L : 4e-7L) * (2 + std::log2((long double)(points)));
  EXPECT_LE(std::sqrt(error), bound * std::sqrt(norm))
      << "type " << int(type) << " batch " << batch << " last length " << n << " rank "
      << lengths.size() << (isDouble ? " f64" : " f32");
}

TEST(FftTest, EveryShortLengthAndSomeLonger) {
  std::mt19937 rng(1);
  std::vector<int64_t> lengths;
  for (int64_t n = 1; n <= 130; n += n < 66 ? 1 : 7) lengths.push_back(n);
  for (int64_t n : {128, 256, 360, 499, 1000}) lengths.push_back(n);
  for (Isa isa : {Isa::kV2, Isa::kV4}) {
    capIsa(isa);
    for (int64_t n : lengths) {
      for (FftType type : {FftType::kFft, FftType::kIfft, FftType::kRfft, FftType::kIrfft}) {
        check<float>(type, 1, {n}, rng);
        check<float>(type, n < 40 ? 37 : 17, {n}, rng);
        check<double>(type, n < 40 ? 21 : 3, {n}, rng);
      }
    }
  }
  capIsa(kBestIsa);
}

TEST(FftTest, SeveralDimensions) {
  std::mt19937 rng(2);
  for (FftType type : {FftType::kFft, FftType::kIfft, FftType::kRfft, FftType::kIrfft}) {
    for (int64_t batch : {1, 3}) {
      check<float>(type, batch, {6, 10}, rng, 3);
      check<double>(type, batch, {37, 9}, rng, 1);
      check<double>(type, batch, {4, 5, 6}, rng, 3);
      check<float>(type, batch, {7, 1, 13}, rng, 3);
      check<float>(type, batch, {1, 8}, rng, 3);
      // Groups of lines that end within the inner dimension, and that cross it.
      check<float>(type, batch, {9, 27}, rng, 2);
      check<double>(type, batch, {9, 16}, rng, 2);
    }
  }
}

// Lengths that are grids, convolutions or pairs of values; a sum over all frequencies would take
// too long.
template <typename T>
void checkWaves(int64_t batch, int64_t n) {
  const int64_t half = n / 2 + 1;
  std::vector<int64_t> frequency(batch);
  std::vector<T> waves(2 * batch * n), cosines(batch * n);
  for (int64_t b = 0; b < batch; ++b) {
    frequency[b] = (b * 7919 + 5) % half;
    for (int64_t k = 0; k < n; ++k) {
      long double angle =
          2 * std::numbers::pi_v<long double> * (frequency[b] * k % n) / (long double)(n);
      waves[2 * (b * n + k)] = cosines[b * n + k] = T(std::cos(angle));
      waves[2 * (b * n + k) + 1] = T(std::sin(angle));
    }
  }
  TestRun run(2);
  std::vector<T> spectrum(2 * batch * n), back(2 * batch * n);
  FftDescriptor d{FftType::kFft, sizeof(T) == 8, 1, 0, batch, {n, 0, 0}};
  void* forward[] = {waves.data(), spectrum.data()};
  ASSERT_EQ(isthmus_rt_fft(&run.run, &d, forward), 0);
  const T bound = (sizeof(T) == 8 ? T(1e-14) : T(5e-6)) * T(n);
  for (int64_t i = 0; i < 2 * batch * n; ++i) {
    const int64_t b = i / 2 / n, k = i / 2 % n;
    ASSERT_NEAR(spectrum[i], i % 2 == 0 && k == frequency[b] ? T(n) : T(0), bound)
        << "n " << n << " line " << b << " value " << k;
  }
  d.type = FftType::kIfft;
  void* inverse[] = {spectrum.data(), back.data()};
  ASSERT_EQ(isthmus_rt_fft(&run.run, &d, inverse), 0);
  for (int64_t i = 0; i < 2 * batch * n; ++i) ASSERT_NEAR(back[i], waves[i], bound / T(n));

  std::vector<T> halves(2 * batch * half), real(batch * n);
  d.type = FftType::kRfft;
  void* realForward[] = {cosines.data(), halves.data()};
  ASSERT_EQ(isthmus_rt_fft(&run.run, &d, realForward), 0);
  for (int64_t i = 0; i < 2 * batch * half; ++i) {
    const int64_t b = i / 2 / half, k = i / 2 % half;
    const bool alone = k == 0 || 2 * k == n;  // not shared with the mirrored frequency
    const T peak = alone ? T(n) : T(n) / 2;
    ASSERT_NEAR(halves[i], i % 2 == 0 && k == frequency[b] ? peak : T(0), bound)
        << "real, n " << n << " line " << b << " value " << k;
  }
  d.type = FftType::kIrfft;
  void* realInverse[] = {halves.data(), real.data()};
  ASSERT_EQ(isthmus_rt_fft(&run.run, &d, realInverse), 0);
  for (int64_t i = 0; i < batch * n; ++i) ASSERT_NEAR(real[i], cosines[i], bound / T(n));
}

TEST(FftTest, LongLines) {
  for (int64_t n : {226, 1010, 1022, 4099, 10007, 10010, 12000, 20014, 16384, 65536}) {
    for (int64_t batch : {1, 3, 11}) {
      checkWaves<float>(batch, n);
      checkWaves<double>(batch, n);
    }
  }
}

TEST(FftTest, InfinitiesReachOnlyWhatDependsOnThem) {
  // The sum of the first output has no products that could turn infinity into NaN.
  std::vector<float> data(2 * 64, 1.0f), result(2 * 64);
  data[0] = std::numeric_limits<float>::infinity();
  FftDescriptor d{FftType::kFft, 0, 1, 0, 1, {64, 0, 0}};
  TestRun run(1);
  void* buffers[] = {data.data(), result.data()};
  ASSERT_EQ(isthmus_rt_fft(&run.run, &d, buffers), 0);
  EXPECT_EQ(result[0], std::numeric_limits<float>::infinity());
  EXPECT_EQ(result[1], 64.0f);
}

// Lines of one matrix of whole groups of lanes and without, convolutions, real lines of even and
// odd length; two lines in place.
TEST(FftTest, LongLinesByFourSteps) {
  for (int64_t n : {2048, 2187, 2222, 3 * 1021, 5000, 16384, 16400, 19683, 2 * 10007}) {
    checkWaves<float>(1, n);
    checkWaves<double>(1, n);
  }
  checkWaves<float>(2, 16384);
  checkWaves<double>(3, 17000);
}

TEST(FftTest, LongLinesInPlace) {
  std::mt19937 rng(4);
  std::uniform_real_distribution<double> uniform(-1, 1);
  constexpr int64_t n = 1 << 14, lines = 2;
  std::vector<double> data(2 * n * lines);
  for (double& x : data) x = uniform(rng);
  const std::vector<double> before = data;
  FftDescriptor forward{FftType::kFft, 1, 1, 0, lines, {n, 0, 0}};
  FftDescriptor inverse{FftType::kIfft, 1, 1, 0, lines, {n, 0, 0}};
  TestRun run(2);
  void* buffers[] = {data.data(), data.data()};
  ASSERT_EQ(isthmus_rt_fft(&run.run, &forward, buffers), 0);
  // The first value is the sum; the sum of squares grows by n.
  for (int64_t line = 0; line < lines; ++line) {
    double sum = 0, squares = 0, spectrum = 0;
    for (int64_t k = 2 * n * line; k < 2 * n * (line + 1); ++k) {
      if (k % 2 == 0) sum += before[k];
      squares += before[k] * before[k];
      spectrum += data[k] * data[k];
    }
    EXPECT_NEAR(data[2 * n * line], sum, 1e-10);
    EXPECT_NEAR(spectrum / n, squares, 1e-8);
  }
  ASSERT_EQ(isthmus_rt_fft(&run.run, &inverse, buffers), 0);
  for (size_t k = 0; k < data.size(); ++k) ASSERT_NEAR(data[k], before[k], 1e-13) << k;
  EXPECT_EQ(run.services.liveScratchBytes(), 0);
}

TEST(FftTest, InPlace) {
  std::vector<double> data{1, 0, 2, 0, 3, 0, 4, 0};
  FftDescriptor d{FftType::kFft, 1, 1, 0, 1, {4, 0, 0}};
  TestRun run(1);
  void* buffers[] = {data.data(), data.data()};
  ASSERT_EQ(isthmus_rt_fft(&run.run, &d, buffers), 0);
  EXPECT_EQ(data, (std::vector<double>{10, 0, -2, 2, -2, 0, -2, -2}));
}

TEST(FftTest, DescriptorRefusesWhatDoesNotFit) {
  std::vector<int64_t> dims{4, 5}, lengths{8}, four{4, 4, 4, 4};
  EXPECT_FALSE(makeFftDescriptor(FftType::kFft, ElementType::kC64, dims, lengths).ok());
  EXPECT_TRUE(makeFftDescriptor(FftType::kIrfft, ElementType::kC64, dims, lengths).ok());
  EXPECT_FALSE(makeFftDescriptor(FftType::kRfft, ElementType::kC64, dims, lengths).ok());
  EXPECT_FALSE(makeFftDescriptor(FftType::kFft, ElementType::kC64, four, four).ok());
  // Nothing is made of one complex value, or of none.
  std::vector<int64_t> one{3, 1}, none{3, 0}, two{3, 2}, zero{0};
  EXPECT_TRUE(makeFftDescriptor(FftType::kIrfft, ElementType::kC64, one, zero).ok());
  EXPECT_TRUE(makeFftDescriptor(FftType::kIrfft, ElementType::kC64, none, zero).ok());
  EXPECT_FALSE(makeFftDescriptor(FftType::kIrfft, ElementType::kC64, two, zero).ok());
}

}  // namespace
}  // namespace isthmus::cpu

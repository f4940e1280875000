// Accuracy of the vector math library in units of the last place, against the C library in long
// double, over special values and over random bit patterns.
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "backends/cpu/testing/kernel_harness.h"

namespace isthmus::codegen {
namespace {

struct Function {
  const char* op;  // of StableHLO unless it names its dialect
  long double (*reference)(long double);
  double ulpF32;
  double ulpF64;
  // Random arguments: 0 = any bits, else uniform in [-range, range].
  double range;
  // Whether subnormal results may be zero, which they are taken for (docs/promises.md).
  bool flushes = false;
};

long double logisticReference(long double x) { return 1 / (1 + std::exp(-x)); }
long double rsqrtReference(long double x) { return 1 / std::sqrt(x); }

template <typename T>
double ulpsBetween(T got, long double want) {
  T rounded = static_cast<T>(want);
  if (std::isnan(want)) return std::isnan(got) ? 0 : 1e30;
  if (std::isinf(rounded) || std::isinf(got)) return got == rounded ? 0 : 1e30;
  if (rounded == 0 && got == 0) return std::signbit(got) == std::signbit(rounded) ? 0 : 1e30;
  T magnitude = std::max(std::abs(rounded), std::numeric_limits<T>::min());
  long double ulp = static_cast<long double>(
      std::nextafter(magnitude, std::numeric_limits<T>::infinity()) - magnitude);
  return static_cast<double>(std::abs(static_cast<long double>(got) - want) / ulp);
}

template <typename T>
std::vector<T> arguments(double range, size_t count) {
  const T inf = std::numeric_limits<T>::infinity();
  std::vector<T> values = {T(0),
                           T(-0.0),
                           inf,
                           -inf,
                           std::numeric_limits<T>::quiet_NaN(),
                           T(1),
                           T(-1),
                           T(0.5),
                           T(-0.5),
                           std::numeric_limits<T>::denorm_min(),
                           -std::numeric_limits<T>::denorm_min(),
                           std::numeric_limits<T>::min(),
                           std::numeric_limits<T>::max(),
                           std::numeric_limits<T>::lowest(),
                           std::numeric_limits<T>::epsilon(),
                           T(1e-40),
                           T(88.72),
                           T(-87.4),
                           T(-103.9),
                           T(88.7228317),
                           T(88.7228394),
                           T(-87.3365402),
                           T(-87.3365479),
                           T(709.7),
                           T(709.782712893384),
                           T(709.782712893385),
                           T(-708.396418532264),
                           T(-708.396418532265),
                           T(-745.1),
                           T(0.6931472),
                           T(3.1415927),
                           T(1e5),
                           T(2.5),
                           T(-1.5),
                           T(0.4999999701976776)};
  std::mt19937_64 random(7);
  while (values.size() < count) {
    T value;
    if (range == 0 || random() % 4 == 0) {
      uint64_t bits = random();
      std::memcpy(&value, &bits, sizeof(T));
    } else {
      value = static_cast<T>(std::uniform_real_distribution<double>(-range, range)(random));
    }
    values.push_back(value);
  }
  return values;
}

template <typename T>
void measure(const Function& function) {
  constexpr size_t kCount = 200003;
  const char* type = sizeof(T) == 4 ? "f32" : "f64";
  std::string name = function.op;
  if (name.find('.') == std::string::npos) name = "stablehlo." + name;
  std::string array = "tensor<" + std::to_string(kCount) + "x" + type + ">";
  std::string text = "func.func @f(%x: " + array + ") -> " + array +
                     " {\n %r = \"isthmus.fusion\"(%x) ({\n"
                     " ^bb0(%a: " +
                     array + "):\n  %0 = \"" + name + "\"(%a) : (" + array + ") -> " + array +
                     "\n  isthmus.yield %0 : " + array + "\n }) : (" + array + ") -> " + array +
                     "\n return %r : " + array + "\n}\n";
  auto kernel = TestKernel::compile(text);
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  std::vector<T> x = arguments<T>(function.range, kCount);
  std::vector<T> y(kCount);
  (*kernel)->run({x.data(), y.data()});
  double worst = 0;
  T at = 0;
  T got = 0;
  for (size_t i = 0; i < kCount; ++i) {
    const long double want = function.reference(static_cast<long double>(x[i]));
    if (function.flushes && y[i] == 0 && want < std::numeric_limits<T>::min()) continue;
    double ulps = ulpsBetween(y[i], want);
    if (ulps > worst) worst = ulps, at = x[i], got = y[i];
  }
  std::printf("%-24s %s  %8.3f ulp at %.9g\n", function.op, type, worst, static_cast<double>(at));
  EXPECT_LE(worst, sizeof(T) == 4 ? function.ulpF32 : function.ulpF64)
      << function.op << " " << type << " of " << at << " gave " << got;
}

class VectorMath : public testing::TestWithParam<Function> {};

TEST_P(VectorMath, is_accurate_in_f32) { measure<float>(GetParam()); }
TEST_P(VectorMath, is_accurate_in_f64) { measure<double>(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    Functions, VectorMath,
    testing::Values(
        Function{"exponential", std::exp, 1.5, 1.5, 110, true},
        Function{"exponential_minus_one", std::expm1, 2, 2, 20},
        Function{"log", std::log, 1.5, 1.5, 100}, Function{"log_plus_one", std::log1p, 2, 2, 3},
        Function{"logistic", logisticReference, 2.5, 2.5, 100, true},
        Function{"tanh", std::tanh, 2.5, 2.5, 10}, Function{"sine", std::sin, 1.5, 1.5, 1000},
        Function{"cosine", std::cos, 1.5, 1.5, 1000}, Function{"tan", std::tan, 3, 3, 1000},
        Function{"cbrt", std::cbrt, 1.5, 1.5, 100}, Function{"sqrt", std::sqrt, 0.51, 0.51, 100},
        Function{"rsqrt", rsqrtReference, 1.5, 1.5, 100}, Function{"chlo.erf", std::erf, 2, 1.5, 5},
        Function{"chlo.erfc", std::erfc, 7, 3, 12}),
    [](const auto& info) {
      std::string name = info.param.op;
      return name.substr(name.find('.') + 1);
    });

// A 16-bit format of IEEE 754's form.
struct Format {
  const char* name;
  int significandBits;  // with the one that is not stored
  int exponentBits;

  int bias() const { return (1 << (exponentBits - 1)) - 1; }

  double value(uint16_t bits) const {
    const int stored = significandBits - 1;
    const int exponent = bits >> stored & ((1 << exponentBits) - 1);
    const int fraction = bits & ((1 << stored) - 1);
    double magnitude = exponent == 0
                           ? std::ldexp(fraction, 1 - bias() - stored)
                           : std::ldexp(fraction + (1 << stored), exponent - bias() - stored);
    if (exponent == (1 << exponentBits) - 1) {
      magnitude = fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                                : std::numeric_limits<double>::infinity();
    }
    return bits >> 15 != 0 ? -magnitude : magnitude;
  }

  // How far `got` is from `want` in units of want's last place.
  double ulps(double got, long double want) const {
    if (std::isnan(want)) return std::isnan(got) ? 0 : 1e30;
    if (std::isnan(got) || (got != 0 && want != 0 && std::signbit(got) != std::signbit(want))) {
      return 1e30;
    }
    // Subnormal numbers of f32 may be taken for zero.
    if (got == 0 && std::abs(want) <= std::numeric_limits<float>::min()) return 0;
    // Infinity stands for what comes after the largest number, and what is beyond.
    const long double end = std::ldexp(1.0L, bias() + 1);
    const long double reached = std::min<long double>(std::abs(got), end);
    want = std::min(std::abs(want), end);
    int exponent = 0;
    std::frexp(want, &exponent);
    const long double ulp = std::ldexp(1.0L, std::max(exponent, 2 - bias()) - significandBits);
    return static_cast<double>(std::abs(reached - want) / ulp);
  }
};

// Of all arguments: nearly the nearest result.
void measureFewBits(const Function& function, const Format& format) {
  constexpr size_t kCount = 1 << 16;
  std::string name = function.op;
  if (name.find('.') == std::string::npos) name = "stablehlo." + name;
  const std::string array = "tensor<65536x" + std::string(format.name) + ">";
  auto kernel = TestKernel::compile("func.func @f(%x: " + array + ") -> " + array +
                                    " {\n %r = \"isthmus.fusion\"(%x) ({\n" + " ^bb0(%a: " + array +
                                    "):\n  %0 = \"" + name + "\"(%a) : (" + array + ") -> " +
                                    array + "\n  isthmus.yield %0 : " + array + "\n }) : (" +
                                    array + ") -> " + array + "\n return %r : " + array + "\n}\n");
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  std::vector<uint16_t> x(kCount), y(kCount);
  for (size_t i = 0; i < kCount; ++i) x[i] = static_cast<uint16_t>(i);
  (*kernel)->run({x.data(), y.data()});
  double worst = 0;
  size_t at = 0;
  for (size_t i = 0; i < kCount; ++i) {
    const double ulps = format.ulps(
        format.value(y[i]), function.reference(static_cast<long double>(format.value(x[i]))));
    if (ulps > worst) worst = ulps, at = i;
  }
  std::printf("%-24s %-4s %8.3f ulp at %.9g\n", function.op, format.name, worst,
              format.value(x[at]));
  EXPECT_LE(worst, 0.56) << function.op << " " << format.name << " of " << format.value(x[at])
                         << " gave " << format.value(y[at]);
}

TEST_P(VectorMath, is_accurate_in_bf16) { measureFewBits(GetParam(), {"bf16", 8, 8}); }
TEST_P(VectorMath, is_accurate_in_f16) { measureFewBits(GetParam(), {"f16", 11, 5}); }

uint16_t toBf16(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// A product of bf16s is rounded before it is multiplied again, but where it is one anyway.
TEST(Products, of_bf16_by_constants) {
  const Format format{"bf16", 8, 8};
  for (float factor : {0.5F, -0.25F, 4.0F, 0.30078125F}) {
    const std::string array = "tensor<65536xbf16>";
    auto kernel = TestKernel::compile(
        "func.func @f(%x: " + array + ") -> " + array + " {\n %r = \"isthmus.fusion\"(%x) ({\n" +
        " ^bb0(%a: " + array + "):\n  %c = stablehlo.constant dense<" + std::to_string(factor) +
        "> : " + array + "\n  %d = stablehlo.constant dense<3.0> : " + array +
        "\n  %0 = stablehlo.multiply %a, %c : " + array +
        "\n  %1 = stablehlo.multiply %0, %d : " + array + "\n  isthmus.yield %1 : " + array +
        "\n }) : (" + array + ") -> " + array + "\n return %r : " + array + "\n}\n");
    ASSERT_TRUE(kernel.ok()) << kernel.status().message();
    std::vector<uint16_t> x(1 << 16), y(1 << 16);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<uint16_t>(i);
    (*kernel)->run({x.data(), y.data()});
    for (size_t i = 0; i < x.size(); ++i) {
      const auto value = static_cast<float>(format.value(x[i]));
      const auto once = static_cast<float>(format.value(toBf16(value * factor)));
      // Subnormal numbers may be taken for zero, and NaN is any.
      if (std::isnan(value) || std::abs(value * factor) < std::numeric_limits<float>::min()) {
        continue;
      }
      ASSERT_EQ(y[i], toBf16(once * 3)) << value << " * " << factor << " * 3";
    }
  }
}

// Quotients by constants, which are computed without a division.
template <typename T>
void checkQuotients(const std::string& type, T tiny) {
  constexpr size_t kCount = 100'000;
  const std::string array = "tensor<" + std::to_string(kCount) + "x" + type + ">";
  for (double divisor : {255.0, 0.2, 3.0, -7.0, 1e-15, -3e18, 0.125, 1e300 * (sizeof(T) == 8)}) {
    if (divisor == 0) continue;
    std::string text(32, '\0');
    text.resize(static_cast<size_t>(std::snprintf(text.data(), 32, "%.20e", divisor)));
    auto kernel = TestKernel::compile(
        "func.func @f(%x: " + array + ") -> " + array + " {\n %r = \"isthmus.fusion\"(%x) ({\n" +
        " ^bb0(%a: " + array + "):\n  %c = stablehlo.constant dense<" + text + "> : " + array +
        "\n  %0 = stablehlo.divide %a, %c : " + array + "\n  isthmus.yield %0 : " + array +
        "\n }) : (" + array + ") -> " + array + "\n return %r : " + array + "\n}\n");
    ASSERT_TRUE(kernel.ok()) << kernel.status().message();
    std::vector<T> x = arguments<T>(1000, kCount), y(kCount);
    (*kernel)->run({x.data(), y.data()});
    for (size_t i = 0; i < kCount; ++i) {
      const long double want = static_cast<long double>(x[i]) / static_cast<T>(divisor);
      const double bound = std::abs(x[i]) < tiny || std::abs(want) < tiny ? 1.5 : 0.501;
      EXPECT_LE(ulpsBetween(y[i], want), bound) << x[i] << " / " << divisor << " gave " << y[i];
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(Quotients, by_constants_in_f32) { checkQuotients<float>("f32", 0x1p-80f); }
TEST(Quotients, by_constants_in_f64) { checkQuotients<double>("f64", 0x1p-970); }

// Rows divided by one number each, whose reciprocal is computed before the row where it is a normal
// number.
template <typename T>
void checkRowQuotients(const std::string& type, T tiny) {
  const std::vector<T> divisors = arguments<T>(1000, 300);
  const std::vector<T> row = arguments<T>(1000, 1000);
  const std::string column = "tensor<" + std::to_string(divisors.size()) + "x" + type + ">";
  const std::string array = "tensor<" + std::to_string(divisors.size()) + "x" +
                            std::to_string(row.size()) + "x" + type + ">";
  auto kernel = TestKernel::compile(
      "func.func @f(%x: " + array + ", %y: " + column + ") -> " + array +
      " {\n %r = \"isthmus.fusion\"(%x, %y) ({\n ^bb0(%a: " + array + ", %b: " + column +
      "):\n  %0 = stablehlo.broadcast_in_dim %b, dims = [0] : (" + column + ") -> " + array +
      "\n  %1 = stablehlo.divide %a, %0 : " + array + "\n  isthmus.yield %1 : " + array +
      "\n }) : (" + array + ", " + column + ") -> " + array + "\n return %r : " + array + "\n}\n");
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  std::vector<T> x;
  for (size_t i = 0; i < divisors.size(); ++i) x.insert(x.end(), row.begin(), row.end());
  std::vector<T> divisor = divisors, y(x.size());
  (*kernel)->run({x.data(), divisor.data(), y.data()});
  for (size_t i = 0; i < x.size(); ++i) {
    const T b = divisors[i / row.size()];
    const long double want = static_cast<long double>(x[i]) / b;
    const double bound = std::abs(x[i]) < tiny || std::abs(want) < tiny ? 1.5 : 0.501;
    EXPECT_LE(ulpsBetween(y[i], want), bound) << x[i] << " / " << b << " gave " << y[i];
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(Quotients, of_rows_in_f32) { checkRowQuotients<float>("f32", 0x1p-80f); }
TEST(Quotients, of_rows_in_f64) { checkRowQuotients<double>("f64", 0x1p-970); }

// Powers of f64, near 1 and near the ends of the range, and those of all pairs of special values.
TEST(VectorMath, powers_in_f64) {
  std::vector<double> x, y;
  for (double a : arguments<double>(1, 35)) {
    for (double b : arguments<double>(1, 35)) x.push_back(a), y.push_back(b);
  }
  std::mt19937_64 random(11);
  auto uniform = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  for (int i = 0; i < 50'000; ++i) {
    x.push_back(std::exp(uniform(-700, 700))), y.push_back(uniform(-1, 1));
    x.push_back(1 + uniform(-1e-8, 1e-8)), y.push_back(uniform(-1e9, 1e9));
    x.push_back(uniform(-3, 3)), y.push_back(std::round(uniform(-30, 30)));
  }
  const std::string array = "tensor<" + std::to_string(x.size()) + "xf64>";
  auto kernel = TestKernel::compile(
      "func.func @f(%x: " + array + ", %y: " + array + ") -> " + array +
      " {\n %r = \"isthmus.fusion\"(%x, %y) ({\n ^bb0(%a: " + array + ", %b: " + array +
      "):\n  %0 = stablehlo.power %a, %b : " + array + "\n  isthmus.yield %0 : " + array +
      "\n }) : (" + array + ", " + array + ") -> " + array + "\n return %r : " + array + "\n}\n");
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  std::vector<double> got(x.size());
  (*kernel)->run({x.data(), y.data(), got.data()});
  constexpr double kLeast = std::numeric_limits<double>::min();
  for (size_t i = 0; i < x.size(); ++i) {
    const long double want = std::pow(static_cast<long double>(x[i]), y[i]);
    // Subnormal results may be zero, and powers of subnormal numbers infinite or zero.
    if (std::abs(want) <= kLeast && std::abs(got[i]) <= kLeast) continue;
    if (x[i] != 0 && std::abs(x[i]) < kLeast) continue;
    ASSERT_LE(ulpsBetween(got[i], want), 0.7) << x[i] << " to the power of " << y[i];
  }
}

// IEEE 754-2019's maximum and minimum, for each pair of special values: NaN if either is, +0 above
// -0.
template <typename T>
void checkExtrema(const std::string& type) {
  const std::vector<T> specials = arguments<T>(1, 30);
  std::vector<T> x, y;
  for (T a : specials) {
    for (T b : specials) x.push_back(a), y.push_back(b);
  }
  const std::string array = "tensor<" + std::to_string(x.size()) + "x" + type + ">";
  for (bool isMaximum : {true, false}) {
    const std::string op = isMaximum ? "stablehlo.maximum" : "stablehlo.minimum";
    auto kernel = TestKernel::compile(
        "func.func @f(%x: " + array + ", %y: " + array + ") -> " + array +
        " {\n %r = \"isthmus.fusion\"(%x, %y) ({\n ^bb0(%a: " + array + ", %b: " + array +
        "):\n  %0 = " + op + " %a, %b : " + array + "\n  isthmus.yield %0 : " + array +
        "\n }) : (" + array + ", " + array + ") -> " + array + "\n return %r : " + array + "\n}\n");
    ASSERT_TRUE(kernel.ok()) << kernel.status().message();
    std::vector<T> got(x.size());
    (*kernel)->run({x.data(), y.data(), got.data()});
    for (size_t i = 0; i < x.size(); ++i) {
      if (std::isnan(x[i]) || std::isnan(y[i])) {
        EXPECT_TRUE(std::isnan(got[i])) << op << " of " << x[i] << " and " << y[i];
        continue;
      }
      const bool isAbove = x[i] > y[i] || (x[i] == y[i] && !std::signbit(x[i]));
      const T want = isAbove == isMaximum ? x[i] : y[i];
      EXPECT_EQ(std::memcmp(&got[i], &want, sizeof(T)), 0)
          << op << " of " << x[i] << " and " << y[i] << " gave " << got[i];
    }
  }
}

TEST(VectorMath, extrema_of_special_values) {
  checkExtrema<float>("f32");
  checkExtrema<double>("f64");
}

}  // namespace
}  // namespace isthmus::codegen

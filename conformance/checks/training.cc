// A multi-layer perceptron learns, step for step as loops on the host do.
#include <cmath>
#include <vector>

#include "conformance/check.h"

namespace isthmus::conformance {
namespace {

constexpr int kBatch = 8, kIn = 4, kHidden = 16;
constexpr float kRate = 0.1f;

// One step of gradient descent on the mean squared error of w2 * tanh(w1 * x).
constexpr std::string_view kStep = R"(module @step {
  func.func public @main(%w1: tensor<4x16xf32>, %w2: tensor<16x1xf32>, %x: tensor<8x4xf32>, %y: tensor<8x1xf32>)
      -> (tensor<4x16xf32>, tensor<16x1xf32>, tensor<f32>) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %h0 = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
    %h = stablehlo.tanh %h0 : tensor<8x16xf32>
    %p = stablehlo.dot_general %h, %w2, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x1xf32>) -> tensor<8x1xf32>
    %e = stablehlo.subtract %p, %y : tensor<8x1xf32>
    %ee = stablehlo.multiply %e, %e : tensor<8x1xf32>
    %sum = stablehlo.reduce(%ee init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x1xf32>, tensor<f32>) -> tensor<f32>
    %eighth = stablehlo.constant dense<0.125> : tensor<f32>
    %loss = stablehlo.multiply %sum, %eighth : tensor<f32>
    %quarter = stablehlo.constant dense<0.25> : tensor<8x1xf32>
    %dp = stablehlo.multiply %e, %quarter : tensor<8x1xf32>
    %dw2 = stablehlo.dot_general %h, %dp, contracting_dims = [0] x [0] : (tensor<8x16xf32>, tensor<8x1xf32>) -> tensor<16x1xf32>
    %dh = stablehlo.dot_general %dp, %w2, contracting_dims = [1] x [1] : (tensor<8x1xf32>, tensor<16x1xf32>) -> tensor<8x16xf32>
    %hh = stablehlo.multiply %h, %h : tensor<8x16xf32>
    %one = stablehlo.constant dense<1.0> : tensor<8x16xf32>
    %slope = stablehlo.subtract %one, %hh : tensor<8x16xf32>
    %dh0 = stablehlo.multiply %dh, %slope : tensor<8x16xf32>
    %dw1 = stablehlo.dot_general %x, %dh0, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
    %r1 = stablehlo.constant dense<0.1> : tensor<4x16xf32>
    %r2 = stablehlo.constant dense<0.1> : tensor<16x1xf32>
    %s1 = stablehlo.multiply %dw1, %r1 : tensor<4x16xf32>
    %s2 = stablehlo.multiply %dw2, %r2 : tensor<16x1xf32>
    %n1 = stablehlo.subtract %w1, %s1 : tensor<4x16xf32>
    %n2 = stablehlo.subtract %w2, %s2 : tensor<16x1xf32>
    return %n1, %n2, %loss : tensor<4x16xf32>, tensor<16x1xf32>, tensor<f32>
  }
}
)";

struct Model {
  std::vector<double> w1, w2, x, y;

  // The same step in double precision; returns the loss before it.
  double step() {
    std::vector<double> h(kBatch * kHidden), error(kBatch);
    double loss = 0;
    for (int b = 0; b < kBatch; ++b) {
      double p = 0;
      for (int j = 0; j < kHidden; ++j) {
        double sum = 0;
        for (int i = 0; i < kIn; ++i) sum += x[b * kIn + i] * w1[i * kHidden + j];
        h[b * kHidden + j] = std::tanh(sum);
        p += h[b * kHidden + j] * w2[j];
      }
      error[b] = p - y[b];
      loss += error[b] * error[b] / kBatch;
    }
    std::vector<double> d1(w1.size()), d2(w2.size());
    for (int b = 0; b < kBatch; ++b) {
      for (int j = 0; j < kHidden; ++j) {
        const double dp = 2 * error[b] / kBatch, hj = h[b * kHidden + j];
        d2[j] += hj * dp;
        for (int i = 0; i < kIn; ++i)
          d1[i * kHidden + j] += x[b * kIn + i] * dp * w2[j] * (1 - hj * hj);
      }
    }
    for (size_t i = 0; i < w1.size(); ++i) w1[i] -= kRate * d1[i];
    for (size_t i = 0; i < w2.size(); ++i) w2[i] -= kRate * d2[i];
    return loss;
  }
};

std::vector<double> numbers(int count, double scale) {
  std::vector<double> values(count);
  for (int i = 0; i < count; ++i) values[i] = static_cast<float>(scale * std::sin(1.7 * i + 0.3));
  return values;
}

HostArray toArray(const std::vector<double>& values, std::vector<int64_t> dims) {
  return HostArray::of<float>(std::move(dims), {values.begin(), values.end()});
}

}  // namespace

ISTHMUS_CHECK(training, perceptron, kTrains,
              "a multi-layer perceptron's loss falls as that of the same loops on the host") {
  Model model{numbers(kIn * kHidden, 0.5), numbers(kHidden, 0.5), numbers(kBatch * kIn, 1),
              numbers(kBatch, 0.8)};
  LoadedExecutable step = s.compile(kStep);
  Buffer w1 = s.fromHost(toArray(model.w1, {kIn, kHidden}));
  Buffer w2 = s.fromHost(toArray(model.w2, {kHidden, 1}));
  Buffer x = s.fromHost(toArray(model.x, {kBatch, kIn}));
  Buffer y = s.fromHost(toArray(model.y, {kBatch, 1}));
  double first = 0, loss = 0;
  for (int i = 0; i < 100; ++i) {
    auto results = s.run(step, {&w1, &w2, &x, &y});
    w1 = std::move(results.at(0));
    w2 = std::move(results.at(1));
    loss = s.toHost(results.at(2)).as<float>().at(0);
    const double expected = model.step();
    if (i == 0) first = loss;
    s.expect(std::abs(loss - expected) <= 1e-3 * expected + 1e-5,
             "a loss of " + std::to_string(expected) + " in step " + std::to_string(i),
             std::to_string(loss));
  }
  s.expect(loss < 0.5 * first, "a loss that falls by half",
           std::to_string(first) + " to " + std::to_string(loss));
}

}  // namespace isthmus::conformance

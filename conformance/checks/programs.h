// Small programs and arrays that several checks use.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "conformance/values.h"

namespace isthmus::conformance {

inline HostArray floats(const std::vector<float>& values) {
  return HostArray::of<float>({static_cast<int64_t>(values.size())}, values);
}

// f32[4] -> f32[4]
inline constexpr std::string_view kAddOne = R"(module @add_one {
  func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %one = stablehlo.constant dense<1.0> : tensor<4xf32>
    %r = stablehlo.add %x, %one : tensor<4xf32>
    return %r : tensor<4xf32>
  }
}
)";

// f32[4], f32[4] -> their sum and product
inline constexpr std::string_view kSumAndProduct = R"(module @sum_and_product {
  func.func public @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %s = stablehlo.add %x, %y : tensor<4xf32>
    %p = stablehlo.multiply %x, %y : tensor<4xf32>
    return %s, %p : tensor<4xf32>, tensor<4xf32>
  }
}
)";

// f32[4] -> f32[4], written into the argument's memory
inline constexpr std::string_view kAddOneInPlace = R"(module @add_one_in_place {
  func.func public @main(%x: tensor<4xf32> {tf.aliasing_output = 0 : i32}) -> tensor<4xf32> {
    %one = stablehlo.constant dense<1.0> : tensor<4xf32>
    %r = stablehlo.add %x, %one : tensor<4xf32>
    return %r : tensor<4xf32>
  }
}
)";

// The sum over all replicas.
inline constexpr std::string_view kAllReduce =
    R"(module @sum_over_replicas attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %r = "stablehlo.all_reduce"(%x) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4xf32>) -> tensor<4xf32>
    return %r : tensor<4xf32>
  }
}
)";

}  // namespace isthmus::conformance

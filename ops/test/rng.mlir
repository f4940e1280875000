// Numbers within bounds, of which no more is known.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @uniform() {
  %a = stablehlo.constant dense<2.0> : tensor<f32>
  %b = stablehlo.constant dense<3.0> : tensor<f32>
  %s = stablehlo.constant dense<[100]> : tensor<1xi64>
  %low = stablehlo.constant dense<2.0> : tensor<100xf32>
  %high = stablehlo.constant dense<3.0> : tensor<100xf32>
  %yes = stablehlo.constant dense<true> : tensor<i1>
  %r = stablehlo.rng %a, %b, %s, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<100xf32>
  %ge = stablehlo.compare GE, %r, %low : (tensor<100xf32>, tensor<100xf32>) -> tensor<100xi1>
  %lt = stablehlo.compare LT, %r, %high : (tensor<100xf32>, tensor<100xf32>) -> tensor<100xi1>
  %in = stablehlo.and %ge, %lt : tensor<100xi1>
  %all = stablehlo.reduce(%in init: %yes) applies stablehlo.and across dimensions = [0] : (tensor<100xi1>, tensor<i1>) -> tensor<i1>
  check.expect_eq_const %all, dense<true> : tensor<i1>
  func.return
}

// -----

func.func @normal() {
  %a = stablehlo.constant dense<0.0> : tensor<f64>
  %b = stablehlo.constant dense<1.0> : tensor<f64>
  %s = stablehlo.constant dense<[4000]> : tensor<1xi64>
  %limit = stablehlo.constant dense<400.0> : tensor<f64>
  %r = stablehlo.rng %a, %b, %s, distribution = NORMAL : (tensor<f64>, tensor<f64>, tensor<1xi64>) -> tensor<4000xf64>
  %sum = stablehlo.reduce(%r init: %a) applies stablehlo.add across dimensions = [0] : (tensor<4000xf64>, tensor<f64>) -> tensor<f64>
  %abs = stablehlo.abs %sum : tensor<f64>
  %small = stablehlo.compare LT, %abs, %limit : (tensor<f64>, tensor<f64>) -> tensor<i1>
  check.expect_eq_const %small, dense<true> : tensor<i1>
  func.return
}

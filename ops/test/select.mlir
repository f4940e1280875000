// One or the other, by a predicate for each element or for all.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @of_each() {
  %p = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>
  %x = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %y = stablehlo.constant dense<[4.0, 5.0, 0x7FC00000]> : tensor<3xf32>
  %r = stablehlo.select %p, %x, %y : tensor<3xi1>, tensor<3xf32>
  check.expect_eq_const %r, dense<[1.0, 5.0, 3.0]> : tensor<3xf32>
  func.return
}

// -----

func.func @of_all() {
  %p = stablehlo.constant dense<false> : tensor<i1>
  %x = stablehlo.constant dense<[(1.0, 0.0), (2.0, 0.0)]> : tensor<2xcomplex<f32>>
  %y = stablehlo.constant dense<[(0.0, 4.0), (5.0, 0.0)]> : tensor<2xcomplex<f32>>
  %r = stablehlo.select %p, %x, %y : tensor<i1>, tensor<2xcomplex<f32>>
  check.expect_eq_const %r, dense<[(0.0, 4.0), (5.0, 0.0)]> : tensor<2xcomplex<f32>>
  func.return
}

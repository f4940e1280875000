// Bits, or truth, of both.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @i1() {
  %x = stablehlo.constant dense<[true, true, false]> : tensor<3xi1>
  %y = stablehlo.constant dense<[true, false, false]> : tensor<3xi1>
  %r = stablehlo.and %x, %y : tensor<3xi1>
  check.expect_eq_const %r, dense<[true, false, false]> : tensor<3xi1>
  func.return
}

// -----

func.func @i8() {
  %x = stablehlo.constant dense<[12, -1]> : tensor<2xi8>
  %y = stablehlo.constant dense<[10, 5]> : tensor<2xi8>
  %r = stablehlo.and %x, %y : tensor<2xi8>
  check.expect_eq_const %r, dense<[8, 5]> : tensor<2xi8>
  func.return
}

// -----

func.func @ui32() {
  %x = stablehlo.constant dense<[4294901760]> : tensor<1xui32>
  %y = stablehlo.constant dense<[267390960]> : tensor<1xui32>
  %r = stablehlo.and %x, %y : tensor<1xui32>
  check.expect_eq_const %r, dense<[267386880]> : tensor<1xui32>
  func.return
}

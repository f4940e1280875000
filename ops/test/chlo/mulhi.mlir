// The high half of a product.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @i32() {
  %x = stablehlo.constant dense<[1073741824, -2147483648, 7]> : tensor<3xi32>
  %y = stablehlo.constant dense<[8, 2, 5]> : tensor<3xi32>
  %r = chlo.mulhi %x, %y : tensor<3xi32>, tensor<3xi32> -> tensor<3xi32>
  check.expect_eq_const %r, dense<[2, -1, 0]> : tensor<3xi32>
  func.return
}

// -----

func.func @ui32() {
  %x = stablehlo.constant dense<[2147483648, 4294967295]> : tensor<2xui32>
  %y = stablehlo.constant dense<[4, 4294967295]> : tensor<2xui32>
  %r = chlo.mulhi %x, %y : tensor<2xui32>, tensor<2xui32> -> tensor<2xui32>
  check.expect_eq_const %r, dense<[2, 4294967294]> : tensor<2xui32>
  func.return
}

// -----

func.func @i8() {
  %x = stablehlo.constant dense<[100]> : tensor<1xi8>
  %y = stablehlo.constant dense<[100]> : tensor<1xi8>
  %r = chlo.mulhi %x, %y : tensor<1xi8>, tensor<1xi8> -> tensor<1xi8>
  check.expect_eq_const %r, dense<[39]> : tensor<1xi8>
  func.return
}

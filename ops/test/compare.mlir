// Relations of numbers, signed, unsigned, in total order, and of complex numbers.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @EQ() {
  %x = stablehlo.constant dense<[-1, 2, 3]> : tensor<3xi8>
  %y = stablehlo.constant dense<[1, 2, 1]> : tensor<3xi8>
  %r = stablehlo.compare EQ, %x, %y, SIGNED : (tensor<3xi8>, tensor<3xi8>) -> tensor<3xi1>
  check.expect_eq_const %r, dense<[false, true, false]> : tensor<3xi1>
  func.return
}

// -----

func.func @NE() {
  %x = stablehlo.constant dense<[-1, 2, 3]> : tensor<3xi8>
  %y = stablehlo.constant dense<[1, 2, 1]> : tensor<3xi8>
  %r = stablehlo.compare NE, %x, %y, SIGNED : (tensor<3xi8>, tensor<3xi8>) -> tensor<3xi1>
  check.expect_eq_const %r, dense<[true, false, true]> : tensor<3xi1>
  func.return
}

// -----

func.func @GE() {
  %x = stablehlo.constant dense<[-1, 2, 3]> : tensor<3xi8>
  %y = stablehlo.constant dense<[1, 2, 1]> : tensor<3xi8>
  %r = stablehlo.compare GE, %x, %y, SIGNED : (tensor<3xi8>, tensor<3xi8>) -> tensor<3xi1>
  check.expect_eq_const %r, dense<[false, true, true]> : tensor<3xi1>
  func.return
}

// -----

func.func @GT() {
  %x = stablehlo.constant dense<[-1, 2, 3]> : tensor<3xi8>
  %y = stablehlo.constant dense<[1, 2, 1]> : tensor<3xi8>
  %r = stablehlo.compare GT, %x, %y, SIGNED : (tensor<3xi8>, tensor<3xi8>) -> tensor<3xi1>
  check.expect_eq_const %r, dense<[false, false, true]> : tensor<3xi1>
  func.return
}

// -----

func.func @LE() {
  %x = stablehlo.constant dense<[-1, 2, 3]> : tensor<3xi8>
  %y = stablehlo.constant dense<[1, 2, 1]> : tensor<3xi8>
  %r = stablehlo.compare LE, %x, %y, SIGNED : (tensor<3xi8>, tensor<3xi8>) -> tensor<3xi1>
  check.expect_eq_const %r, dense<[true, true, false]> : tensor<3xi1>
  func.return
}

// -----

func.func @LT() {
  %x = stablehlo.constant dense<[-1, 2, 3]> : tensor<3xi8>
  %y = stablehlo.constant dense<[1, 2, 1]> : tensor<3xi8>
  %r = stablehlo.compare LT, %x, %y, SIGNED : (tensor<3xi8>, tensor<3xi8>) -> tensor<3xi1>
  check.expect_eq_const %r, dense<[true, false, false]> : tensor<3xi1>
  func.return
}

// -----

func.func @unsigned() {
  %x = stablehlo.constant dense<[255, 1]> : tensor<2xui8>
  %y = stablehlo.constant dense<[1, 255]> : tensor<2xui8>
  %r = stablehlo.compare LT, %x, %y, UNSIGNED : (tensor<2xui8>, tensor<2xui8>) -> tensor<2xi1>
  check.expect_eq_const %r, dense<[false, true]> : tensor<2xi1>
  func.return
}

// -----

func.func @nan_is_unordered() {
  %x = stablehlo.constant dense<[0x7FC00000, -0.0]> : tensor<2xf32>
  %a = stablehlo.compare EQ, %x, %x, FLOAT : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  %b = stablehlo.compare NE, %x, %x, FLOAT : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  %c = stablehlo.compare GE, %x, %x, FLOAT : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  check.expect_eq_const %a, dense<[false, true]> : tensor<2xi1>
  check.expect_eq_const %b, dense<[true, false]> : tensor<2xi1>
  check.expect_eq_const %c, dense<[false, true]> : tensor<2xi1>
  func.return
}

// -----

func.func @total_order() {
  %x = stablehlo.constant dense<[-0.0, 0.0, 0x7F800000, 0x7FC00000]> : tensor<4xf32>
  %y = stablehlo.constant dense<[0.0, -0.0, 0x7FC00000, 0x7F800000]> : tensor<4xf32>
  %r = stablehlo.compare LT, %x, %y, TOTALORDER : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  check.expect_eq_const %r, dense<[true, false, true, false]> : tensor<4xi1>
  func.return
}

// -----

func.func @complex() {
  %x = stablehlo.constant dense<[(1.0, 2.0), (1.0, 2.0)]> : tensor<2xcomplex<f32>>
  %y = stablehlo.constant dense<[(1.0, 2.0), (1.0, -2.0)]> : tensor<2xcomplex<f32>>
  %r = stablehlo.compare EQ, %x, %y : (tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>) -> tensor<2xi1>
  check.expect_eq_const %r, dense<[true, false]> : tensor<2xi1>
  func.return
}

// -----

func.func @truth() {
  %x = stablehlo.constant dense<[false, true]> : tensor<2xi1>
  %y = stablehlo.constant dense<[true, true]> : tensor<2xi1>
  %r = stablehlo.compare LT, %x, %y : (tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>
  check.expect_eq_const %r, dense<[true, false]> : tensor<2xi1>
  func.return
}

// Bits of a state: Threefry's and Philox's own test vectors.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @threefry() {
  %x = stablehlo.constant dense<[0, 0]> : tensor<2xui64>
  %s, %r = stablehlo.rng_bit_generator %x, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<2xui32>)
  check.expect_eq_const %r, dense<[1797259609, 2579123966]> : tensor<2xui32>
  check.expect_eq_const %s, dense<[0, 1]> : tensor<2xui64>
  func.return
}

// -----

func.func @philox() {
  %x = stablehlo.constant dense<[0, 0, 0]> : tensor<3xui64>
  %s, %r = stablehlo.rng_bit_generator %x, algorithm = PHILOX : (tensor<3xui64>) -> (tensor<3xui64>, tensor<4xui32>)
  check.expect_eq_const %r, dense<[1713891541, 3781805453, 3159862348, 2600524760]> : tensor<4xui32>
  func.return
}

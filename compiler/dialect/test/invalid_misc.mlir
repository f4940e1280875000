// Each rule about constants, random numbers, tuples and custom calls is broken once; the message has
// its label, what it got and what it expected.
// RUN: not isthmus-opt %s -split-input-file 2>&1 | FileCheck %s

func.func @iota_c1() {
  // CHECK: error: {{.*}}iota_c1: iota_dimension is 1, expected it in [0, 1)
  %0 = stablehlo.iota dim = 1 : tensor<4xi32>
  return
}

// -----

func.func @rng_c2(%a: tensor<i32>) {
  // CHECK: error: {{.*}}rng_c2: a NORMAL distribution of 'i32', expected floats
  %s = stablehlo.constant dense<4> : tensor<1xi64>
  %0 = stablehlo.rng %a, %a, %s, distribution = NORMAL : (tensor<i32>, tensor<i32>, tensor<1xi64>) -> tensor<4xi32>
  return
}

// -----

func.func @rng_c3(%a: tensor<f32>) {
  // CHECK: error: {{.*}}rng_c3: the result is 'tensor<5xf32>', expected 'tensor<4xf32>'
  %s = stablehlo.constant dense<4> : tensor<1xi64>
  %0 = stablehlo.rng %a, %a, %s, distribution = NORMAL : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<5xf32>
  return
}

// -----

func.func @rng_c3_negative(%a: tensor<f32>) {
  // CHECK: error: {{.*}}rng_c3: shape is [-4], expected no negative size
  %s = stablehlo.constant dense<-4> : tensor<1xi64>
  %0 = stablehlo.rng %a, %a, %s, distribution = NORMAL : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @rng_bit_generator_c1(%s: tensor<2xui64>) {
  // CHECK: error: {{.*}}rng_bit_generator_c1: the state goes from 'tensor<2xui64>' to 'tensor<3xui64>', expected the same type
  %0, %1 = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<3xui64>, tensor<4xui32>)
  return
}

// -----

func.func @tuple_c1(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}tuple_c1: the result is 'tuple<tensor<5xf32>>', expected 'tuple<tensor<4xf32>>'
  %0 = "stablehlo.tuple"(%a) : (tensor<4xf32>) -> tuple<tensor<5xf32>>
  return
}

// -----

func.func @get_tuple_element_c1(%t: tuple<tensor<4xf32>>) {
  // CHECK: error: {{.*}}get_tuple_element_c1: index is 1, expected it in [0, 1)
  %0 = stablehlo.get_tuple_element %t[1] : (tuple<tensor<4xf32>>) -> tensor<4xf32>
  return
}

// -----

func.func @get_tuple_element_c2(%t: tuple<tensor<4xf32>>) {
  // CHECK: error: {{.*}}get_tuple_element_c2: the result is 'tensor<5xf32>', expected 'tensor<4xf32>'
  %0 = stablehlo.get_tuple_element %t[0] : (tuple<tensor<4xf32>>) -> tensor<5xf32>
  return
}

// -----

func.func @custom_call_i4(%a: tensor<4x4xf32>) {
  // CHECK: error: {{.*}}custom_call_i4: backend_config is {n = 1 : i64}, expected a string for this api_version
  %0 = stablehlo.custom_call @f(%a) {backend_config = {n = 1 : i64}} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @custom_call_i4_typed(%a: tensor<4x4xf32>) {
  // CHECK: error: {{.*}}custom_call_i4: backend_config is "n", expected a dictionary for this api_version
  %0 = stablehlo.custom_call @f(%a) {api_version = 4 : i32, backend_config = "n"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @custom_call_i7(%a: tensor<4x4xf32>) {
  // CHECK: error: {{.*}}custom_call_i7: operand_layouts have [0, 0] for 'tensor<4x4xf32>', expected each dimension once
  %0 = stablehlo.custom_call @f(%a) {operand_layouts = [dense<[0, 0]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @custom_call_i7_both(%a: tensor<4x4xf32>) {
  // CHECK: error: {{.*}}custom_call_i7: layouts are given for operands or results, expected both
  %0 = stablehlo.custom_call @f(%a) {operand_layouts = [dense<[1, 0]> : tensor<2xindex>]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @custom_call_i7_count(%a: tensor<4x4xf32>) {
  // CHECK: error: {{.*}}custom_call_i7: operand_layouts has 2 elements, expected 1
  %0 = stablehlo.custom_call @f(%a) {operand_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @custom_call_i7_token(%a: tensor<4x4xf32>) {
  // CHECK: error: {{.*}}custom_call_i7: result_layouts have [0] for '!stablehlo.token', expected none
  %0 = stablehlo.custom_call @f(%a) {operand_layouts = [dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<0> : tensor<1xindex>]} : (tensor<4x4xf32>) -> !stablehlo.token
  return
}

// -----

func.func @custom_call_i7_tuple(%a: tuple<tensor<4x4xf32>>) {
  // CHECK: error: {{.*}}custom_call_i7: operand_layouts are given for 'tuple<tensor<4x4xf32>>', expected none for a tuple
  %0 = stablehlo.custom_call @f(%a) {operand_layouts = [dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]} : (tuple<tensor<4x4xf32>>) -> tensor<4x4xf32>
  return
}

// -----

func.func @custom_call_i9(%a: tensor<4x4xf32>) {
  // CHECK: error: {{.*}}custom_call_i9: alias #stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []> is of 'tensor<4xf32>' and 'tensor<4x4xf32>', expected the same type
  %0 = stablehlo.custom_call @f(%a) {output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]} : (tensor<4x4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @custom_call_i9_index(%a: tensor<4x4xf32>) {
  // CHECK: error: {{.*}}custom_call_i9: operand_index of an alias is 1, expected it in [0, 1)
  %0 = stablehlo.custom_call @f(%a) {output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @fusion(%a: tensor<4xf32>) {
  // CHECK: error: 'isthmus.fusion' op block argument types 'tensor<5xf32>' differ from operand types 'tensor<4xf32>'
  %0 = "isthmus.fusion"(%a) ({
  ^bb0(%x: tensor<5xf32>):
    isthmus.yield %x : tensor<5xf32>
  }) : (tensor<4xf32>) -> tensor<5xf32>
  return
}

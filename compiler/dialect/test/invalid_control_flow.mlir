// Each rule about control flow and composites is broken once; the message has its label, what it got
// and what it expected.
// RUN: not isthmus-opt %s -split-input-file 2>&1 | FileCheck %s

func.func @if_c1(%p: tensor<i1>, %a: tensor<4xf32>, %b: tensor<5xf32>) {
  // CHECK: error: {{.*}}if_c1: a branch takes 1 values, expected none
  %0 = "stablehlo.if"(%p) ({
  ^bb0(%x: tensor<4xf32>):
    stablehlo.return %a : tensor<4xf32>
  }, {
    stablehlo.return %a : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return
}

// -----

func.func @if_c2(%p: tensor<i1>, %a: tensor<4xf32>, %b: tensor<5xf32>) {
  // CHECK: error: {{.*}}if_c2: branches give ('tensor<4xf32>') and ('tensor<5xf32>'), expected the same types
  %0 = "stablehlo.if"(%p) ({
    stablehlo.return %a : tensor<4xf32>
  }, {
    stablehlo.return %b : tensor<5xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return
}

// -----

func.func @if_c3(%p: tensor<i1>, %a: tensor<4xf32>, %b: tensor<5xf32>) {
  // CHECK: error: {{.*}}if_c3: the result is 'tensor<5xf32>', expected 'tensor<4xf32>'
  %0 = "stablehlo.if"(%p) ({
    stablehlo.return %a : tensor<4xf32>
  }, {
    stablehlo.return %a : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<5xf32>
  return
}

// -----

func.func @if_i1(%p: tensor<1xi1>, %a: tensor<4xf32>, %b: tensor<5xf32>) {
  // CHECK: error: {{.*}}if_i1: the choice is 'tensor<1xi1>', expected a scalar
  %0 = "stablehlo.if"(%p) ({
    stablehlo.return %a : tensor<4xf32>
  }, {
    stablehlo.return %a : tensor<4xf32>
  }) : (tensor<1xi1>) -> tensor<4xf32>
  return
}

// -----

func.func @case_c1(%i: tensor<i32>, %a: tensor<4xf32>, %b: tensor<5xf32>) {
  // CHECK: error: {{.*}}case_c1: there are no branches, expected one or more
  %0 = "stablehlo.case"(%i) : (tensor<i32>) -> tensor<4xf32>
  return
}

// -----

func.func @case_c2(%i: tensor<i32>, %a: tensor<4xf32>, %b: tensor<5xf32>) {
  // CHECK: error: {{.*}}case_c2: a branch takes 1 values, expected none
  %0 = "stablehlo.case"(%i) ({
  ^bb0(%x: tensor<4xf32>):
    stablehlo.return %a : tensor<4xf32>
  }, {
  ^bb0(%x: tensor<4xf32>):
    stablehlo.return %a : tensor<4xf32>
  }) : (tensor<i32>) -> tensor<4xf32>
  return
}

// -----

func.func @case_c3(%i: tensor<i32>, %a: tensor<4xf32>, %b: tensor<5xf32>) {
  // CHECK: error: {{.*}}case_c3: branches give ('tensor<4xf32>') and ('tensor<5xf32>'), expected the same types
  %0 = "stablehlo.case"(%i) ({
    stablehlo.return %a : tensor<4xf32>
  }, {
    stablehlo.return %b : tensor<5xf32>
  }) : (tensor<i32>) -> tensor<4xf32>
  return
}

// -----

func.func @case_c4(%i: tensor<i32>, %a: tensor<4xf32>, %b: tensor<5xf32>) {
  // CHECK: error: {{.*}}case_c4: the result is 'tensor<5xf32>', expected 'tensor<4xf32>'
  %0 = "stablehlo.case"(%i) ({
    stablehlo.return %a : tensor<4xf32>
  }, {
    stablehlo.return %a : tensor<4xf32>
  }) : (tensor<i32>) -> tensor<5xf32>
  return
}

// -----

func.func @case_i1(%i: tensor<2xi32>, %a: tensor<4xf32>, %b: tensor<5xf32>) {
  // CHECK: error: {{.*}}case_i1: the choice is 'tensor<2xi32>', expected a scalar
  %0 = "stablehlo.case"(%i) ({
    stablehlo.return %a : tensor<4xf32>
  }, {
    stablehlo.return %a : tensor<4xf32>
  }) : (tensor<2xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @while_c1(%a: tensor<4xf32>, %b: tensor<5xf32>, %c: tensor<i1>) {
  // CHECK: error: {{.*}}while_c1: cond gives ('tensor<4xf32>'), expected tensor<i1>
  %0 = "stablehlo.while"(%a) ({
  ^bb0(%x: tensor<4xf32>):
    stablehlo.return %x : tensor<4xf32>
  }, {
  ^bb0(%y: tensor<4xf32>):
    stablehlo.return %y : tensor<4xf32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @while_c1_arguments(%a: tensor<4xf32>, %b: tensor<5xf32>, %c: tensor<i1>) {
  // CHECK: error: {{.*}}while_c1: cond takes ('tensor<5xf32>'), expected ('tensor<4xf32>')
  %0 = "stablehlo.while"(%a) ({
  ^bb0(%x: tensor<5xf32>):
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%y: tensor<4xf32>):
    stablehlo.return %y : tensor<4xf32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @while_c2(%a: tensor<4xf32>, %b: tensor<5xf32>, %c: tensor<i1>) {
  // CHECK: error: {{.*}}while_c2: body gives ('tensor<5xf32>'), expected ('tensor<4xf32>')
  %0 = "stablehlo.while"(%a) ({
  ^bb0(%x: tensor<4xf32>):
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%y: tensor<4xf32>):
    stablehlo.return %b : tensor<5xf32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @while_c2_arguments(%a: tensor<4xf32>, %b: tensor<5xf32>, %c: tensor<i1>) {
  // CHECK: error: {{.*}}while_c2: body takes ('tensor<5xf32>'), expected ('tensor<4xf32>')
  %0 = "stablehlo.while"(%a) ({
  ^bb0(%x: tensor<4xf32>):
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%y: tensor<5xf32>):
    stablehlo.return %a : tensor<4xf32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @while_c3(%a: tensor<4xf32>, %b: tensor<5xf32>, %c: tensor<i1>) {
  // CHECK: error: {{.*}}while_c3: the result is 'tensor<5xf32>', expected 'tensor<4xf32>'
  %0 = "stablehlo.while"(%a) ({
  ^bb0(%x: tensor<4xf32>):
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%y: tensor<4xf32>):
    stablehlo.return %y : tensor<4xf32>
  }) : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @optimization_barrier(%a: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.5}>>) {
  // CHECK: error: 'stablehlo.optimization_barrier' op operand #0 must be variadic of ranked tensor of any element type, or token, but got 'tensor<2x!quant.uniform<i8:f32:0, {5.000000e-01,5.000000e-01}>>'
  %0 = stablehlo.optimization_barrier %a : tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.5}>>
  return
}

// -----

func.func @composite_c1(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}composite_c1: the name is 'op', expected a namespace, a dot and a name
  %0 = stablehlo.composite "op" %a {decomposition = @my_op} : (tensor<4xf32>) -> tensor<4xf32>
  return
}
func.func private @my_op(tensor<4xf32>) -> tensor<4xf32>

// -----

func.func @composite_c1_digit(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}composite_c1: the name is '0.op', expected a namespace, a dot and a name
  %0 = stablehlo.composite "0.op" %a {decomposition = @my_op} : (tensor<4xf32>) -> tensor<4xf32>
  return
}
func.func private @my_op(tensor<4xf32>) -> tensor<4xf32>

// -----

func.func @composite_c1_character(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}composite_c1: the name is 'my.op.%', expected a namespace, a dot and a name
  %0 = stablehlo.composite "my.op.%" %a {decomposition = @my_op} : (tensor<4xf32>) -> tensor<4xf32>
  return
}
func.func private @my_op(tensor<4xf32>) -> tensor<4xf32>

// -----

func.func @composite_c2(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}composite_c2: the decomposition is @missing, expected a function of the module
  %0 = stablehlo.composite "my.op" %a {decomposition = @missing} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @composite_c3(%a: tensor<5xf32>) {
  // CHECK: error: {{.*}}composite_c3: the inputs are ('tensor<5xf32>'), expected ('tensor<4xf32>') as @my_op takes
  %0 = stablehlo.composite "my.op" %a {decomposition = @my_op} : (tensor<5xf32>) -> tensor<4xf32>
  return
}
func.func private @my_op(tensor<4xf32>) -> tensor<4xf32>

// -----

func.func @composite_c4(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}composite_c4: the results are ('tensor<5xf32>'), expected ('tensor<4xf32>') as @my_op gives
  %0 = stablehlo.composite "my.op" %a {decomposition = @my_op} : (tensor<4xf32>) -> tensor<5xf32>
  return
}
func.func private @my_op(tensor<4xf32>) -> tensor<4xf32>

// -----

func.func @async_start_c1(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}async_start_c1: the body has 2 operations and a return, expected one
  %0 = "stablehlo.async_start"(%a) ({
  ^bb0(%x: tensor<4xf32>):
    %s = stablehlo.slice %x [0:2] : (tensor<4xf32>) -> tensor<2xf32>
    %n = stablehlo.negate %s : tensor<2xf32>
    stablehlo.return %n : tensor<2xf32>
  }) : (tensor<4xf32>) -> !stablehlo.future<tensor<2xf32>>
  return
}

// -----

func.func @async_start_c2(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}async_start_c2: the body has stablehlo.negate, expected a collective or a slice
  %0 = "stablehlo.async_start"(%a) ({
  ^bb0(%x: tensor<4xf32>):
    %s = stablehlo.negate %x : tensor<4xf32>
    stablehlo.return %s : tensor<4xf32>
  }) : (tensor<4xf32>) -> !stablehlo.future<tensor<4xf32>>
  return
}

// -----

func.func @async_start_c3(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}async_start_c3: the body takes ('tensor<5xf32>'), expected ('tensor<4xf32>')
  %0 = "stablehlo.async_start"(%a) ({
  ^bb0(%x: tensor<5xf32>):
    %s = stablehlo.slice %x [0:2] : (tensor<5xf32>) -> tensor<2xf32>
    stablehlo.return %s : tensor<2xf32>
  }) : (tensor<4xf32>) -> !stablehlo.future<tensor<2xf32>>
  return
}

// -----

func.func @async_start_c4(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}async_start_c4: the result is '!stablehlo.future<tensor<3xf32>>', expected '!stablehlo.future<tensor<2xf32>>'
  %0 = "stablehlo.async_start"(%a) ({
  ^bb0(%x: tensor<4xf32>):
    %s = stablehlo.slice %x [0:2] : (tensor<4xf32>) -> tensor<2xf32>
    stablehlo.return %s : tensor<2xf32>
  }) : (tensor<4xf32>) -> !stablehlo.future<tensor<3xf32>>
  return
}

// -----

func.func @async_done_c1(%f: !stablehlo.future<tensor<4xf32>>) {
  // CHECK: error: {{.*}}async_done_c1: the result is 'tensor<5xf32>', expected 'tensor<4xf32>'
  %0 = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<4xf32>>) -> tensor<5xf32>
  return
}

// -----

func.func @async_done_c1_count(%f: !stablehlo.future<tensor<4xf32>, tensor<4xf32>>) {
  // CHECK: error: {{.*}}async_done_c1: the future has 2 values, expected one
  %0 = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<4xf32>, tensor<4xf32>>) -> tensor<4xf32>
  return
}

// RUN: isthmus-opt %s -split-reductions | FileCheck %s
// RUN: isthmus-opt %s -split-reductions="max-parts=1024 enough-columns=65536" | FileCheck %s --check-prefix=DEVICE

// CHECK-LABEL: @all
// CHECK: %[[ROWS:.*]] = stablehlo.reduce(%arg0 init: %{{.*}}) applies stablehlo.add across dimensions = [1] : (tensor<4096x1024xf32>, tensor<f32>) -> tensor<4096xf32>
// CHECK: stablehlo.reduce(%[[ROWS]] init: %{{.*}}) applies stablehlo.add across dimensions = [0] : (tensor<4096xf32>, tensor<f32>) -> tensor<f32>
func.func @all(%x: tensor<4096x1024xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4096x1024xf32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// The operations before a reduction change shape with it, so that they stay one kernel. The largest
// divisor of 1,000,188 up to 64 is 63.
// CHECK-LABEL: @norm
// CHECK: %[[X:.*]] = stablehlo.reshape %arg0 : (tensor<1000188xf32>) -> tensor<63x15876xf32>
// CHECK: %[[C:.*]] = stablehlo.constant dense<2.000000e+00> : tensor<63x15876xf32>
// CHECK: %[[A:.*]] = stablehlo.multiply %[[X]], %[[C]] : tensor<63x15876xf32>
// CHECK: %[[B:.*]] = stablehlo.multiply %[[A]], %[[X]] : tensor<63x15876xf32>
// CHECK: stablehlo.reduce(%[[B]] init: %{{.*}}) applies stablehlo.add across dimensions = [1]
// CHECK: across dimensions = [0] : (tensor<63xf32>, tensor<f32>) -> tensor<f32>
func.func @norm(%x: tensor<1000188xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %two = stablehlo.constant dense<2.0> : tensor<1000188xf32>
  %0 = stablehlo.multiply %x, %two : tensor<1000188xf32>
  %1 = stablehlo.multiply %0, %x : tensor<1000188xf32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<1000188xf32>, tensor<f32>) -> tensor<f32>
  return %2 : tensor<f32>
}

// Columns; a broadcast along the others moves with them.
// CHECK-LABEL: @columns
// CHECK: %[[X:.*]] = stablehlo.reshape %arg0 : (tensor<8192x256xf32>) -> tensor<64x128x256xf32>
// CHECK: %[[M:.*]] = stablehlo.broadcast_in_dim %arg1, dims = [2] : (tensor<256xf32>) -> tensor<64x128x256xf32>
// CHECK: stablehlo.subtract %[[X]], %[[M]]
// CHECK: across dimensions = [1] : (tensor<64x128x256xf32>, tensor<f32>) -> tensor<64x256xf32>
// CHECK: across dimensions = [0] : (tensor<64x256xf32>, tensor<f32>) -> tensor<256xf32>
func.func @columns(%x: tensor<8192x256xf32>, %m: tensor<256xf32>) -> tensor<256xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.broadcast_in_dim %m, dims = [1] : (tensor<256xf32>) -> tensor<8192x256xf32>
  %1 = stablehlo.subtract %x, %0 : tensor<8192x256xf32>
  %2 = stablehlo.reduce(%1 init: %low) applies stablehlo.maximum across dimensions = [0] : (tensor<8192x256xf32>, tensor<f32>) -> tensor<256xf32>
  return %2 : tensor<256xf32>
}

// What is squared is subtracted once, and in the shape of the sum.
// CHECK-LABEL: @squares
// CHECK: %[[X:.*]] = stablehlo.reshape %arg0 : (tensor<8192x256xf32>) -> tensor<64x128x256xf32>
// CHECK: %[[S:.*]] = stablehlo.subtract %[[X]], %{{.*}} : tensor<64x128x256xf32>
// CHECK-NEXT: stablehlo.multiply %[[S]], %[[S]] : tensor<64x128x256xf32>
// CHECK-NOT: stablehlo.subtract
func.func @squares(%x: tensor<8192x256xf32>, %m: tensor<256xf32>) -> tensor<256xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.broadcast_in_dim %m, dims = [1] : (tensor<256xf32>) -> tensor<8192x256xf32>
  %1 = stablehlo.subtract %x, %0 : tensor<8192x256xf32>
  %2 = stablehlo.multiply %1, %1 : tensor<8192x256xf32>
  %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8192x256xf32>, tensor<f32>) -> tensor<256xf32>
  return %3 : tensor<256xf32>
}

// Two steps would add the initial value 65 times.
// CHECK-LABEL: @initial_value
// CHECK-NOT: reshape
// CHECK: across dimensions = [0] : (tensor<1048576xf32>, tensor<f32>) -> tensor<f32>
func.func @initial_value(%x: tensor<1048576xf32>, %start: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.reduce(%x init: %start) applies stablehlo.add across dimensions = [0] : (tensor<1048576xf32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// A sum in bf16 would be rounded between the steps.
// CHECK-LABEL: @narrow
// CHECK-NOT: reshape
// CHECK: across dimensions = [0] : (tensor<1048576xbf16>, tensor<bf16>) -> tensor<bf16>
func.func @narrow(%x: tensor<1048576xbf16>) -> tensor<bf16> {
  %zero = stablehlo.constant dense<0.0> : tensor<bf16>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<1048576xbf16>, tensor<bf16>) -> tensor<bf16>
  return %0 : tensor<bf16>
}

// Rows enough already; rows short enough for a kernel that reads them again.
// CHECK-LABEL: @rows
// CHECK: across dimensions = [1] : (tensor<4096x4096xf32>
// CHECK: across dimensions = [1] : (tensor<16x32768xf32>
func.func @rows(%x: tensor<4096x4096xf32>, %y: tensor<16x32768xf32>) -> (tensor<4096xf32>, tensor<16xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4096x4096xf32>, tensor<f32>) -> tensor<4096xf32>
  %1 = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<16x32768xf32>, tensor<f32>) -> tensor<16xf32>
  return %0, %1 : tensor<4096xf32>, tensor<16xf32>
}

// A broadcast along the dimension that is split reads its small operand in another shape, and what is cheap to compute
// from broadcasts is computed again for the sum: no large array changes shape in memory.
// CHECK-LABEL: @pairwise
// CHECK: %[[P:.*]] = stablehlo.reshape %arg0 : (tensor<512x2xf32>) -> tensor<64x8x2xf32>
// CHECK-NOT: stablehlo.reshape
// CHECK: %[[COLUMNS:.*]] = stablehlo.broadcast_in_dim %[[P]], dims = [1, 2, 3] : (tensor<64x8x2xf32>) -> tensor<512x64x8x2xf32>
// CHECK: %[[ROWS:.*]] = stablehlo.broadcast_in_dim %arg0, dims = [0, 3] : (tensor<512x2xf32>) -> tensor<512x64x8x2xf32>
// CHECK: %[[D:.*]] = stablehlo.subtract %[[COLUMNS]], %[[ROWS]]
// CHECK: stablehlo.reduce(%[[D]] init: %{{.*}}) applies stablehlo.add across dimensions = [2]
// CHECK-NOT: stablehlo.reshape
// CHECK: return
func.func @pairwise(%p: tensor<512x2xf32>) -> (tensor<512x2xf32>, tensor<512x512x2xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %columns = stablehlo.broadcast_in_dim %p, dims = [1, 2] : (tensor<512x2xf32>) -> tensor<512x512x2xf32>
  %rows = stablehlo.broadcast_in_dim %p, dims = [0, 2] : (tensor<512x2xf32>) -> tensor<512x512x2xf32>
  %d = stablehlo.subtract %columns, %rows : tensor<512x512x2xf32>
  %s = stablehlo.reduce(%d init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<512x512x2xf32>, tensor<f32>) -> tensor<512x2xf32>
  %e = stablehlo.multiply %d, %d : tensor<512x512x2xf32>
  return %s, %e : tensor<512x2xf32>, tensor<512x512x2xf32>
}

// Numbers are computed in the new shape, exactly: as integers first. A reshape would have them stored.
// CHECK-LABEL: @numbers
// CHECK-NOT: stablehlo.reshape
// CHECK-DAG: %[[PART:.*]] = stablehlo.iota dim = 0 : tensor<64x1048576xi32>
// CHECK-DAG: %[[INSIDE:.*]] = stablehlo.iota dim = 1 : tensor<64x1048576xi32>
// CHECK-DAG: %[[SIZE:.*]] = stablehlo.constant dense<1048576> : tensor<64x1048576xi32>
// CHECK: %[[BEGIN:.*]] = stablehlo.multiply %[[PART]], %[[SIZE]]
// CHECK: %[[NUMBER:.*]] = stablehlo.add %[[BEGIN]], %[[INSIDE]]
// CHECK: stablehlo.convert %[[NUMBER]] : (tensor<64x1048576xi32>) -> tensor<64x1048576xf32>
func.func @numbers() -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.iota dim = 0 : tensor<67108864xf32>
  %1 = stablehlo.sine %0 : tensor<67108864xf32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<67108864xf32>, tensor<f32>) -> tensor<f32>
  return %2 : tensor<f32>
}

// Of another dimension they stay as they are.
// CHECK-LABEL: @other_numbers
// CHECK: stablehlo.iota dim = 2 : tensor<64x128x256xf32>
func.func @other_numbers(%x: tensor<8192x256xf32>) -> tensor<256xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.iota dim = 1 : tensor<8192x256xf32>
  %1 = stablehlo.multiply %x, %0 : tensor<8192x256xf32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8192x256xf32>, tensor<f32>) -> tensor<256xf32>
  return %2 : tensor<256xf32>
}

// Rows beside columns: rows of 256 are parts as they lie, of which parts along them would not be.
// CHECK-LABEL: @rows_and_columns
// CHECK: %[[ROWS:.*]] = stablehlo.reduce(%arg0 init: %{{.*}}) applies stablehlo.add across dimensions = [2] : (tensor<64x128x256xf32>, tensor<f32>) -> tensor<64x128xf32>
// CHECK: stablehlo.reduce(%[[ROWS]] init: %{{.*}}) applies stablehlo.add across dimensions = [0] : (tensor<64x128xf32>, tensor<f32>) -> tensor<128xf32>
func.func @rows_and_columns(%x: tensor<64x128x256xf32>) -> tensor<128xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0, 2] : (tensor<64x128x256xf32>, tensor<f32>) -> tensor<128xf32>
  return %0 : tensor<128xf32>
}

// Statistics of channels: on a device with many threads images and parts of their rows, else images.
// CHECK-LABEL: @statistics
// CHECK: across dimensions = [1, 2] : (tensor<32x56x56x64xf32>, tensor<f32>) -> tensor<32x64xf32>
// CHECK: across dimensions = [0] : (tensor<32x64xf32>, tensor<f32>) -> tensor<64xf32>
// DEVICE-LABEL: @statistics
// DEVICE: %[[X:.*]] = stablehlo.reshape %arg0 : (tensor<32x56x56x64xf32>) -> tensor<32x28x2x56x64xf32>
// DEVICE: %[[P:.*]] = stablehlo.reduce(%[[X]] init: %{{.*}}) applies stablehlo.add across dimensions = [2, 3]
// DEVICE: stablehlo.reduce(%[[P]] init: %{{.*}}) applies stablehlo.add across dimensions = [0, 1] : (tensor<32x28x64xf32>, tensor<f32>) -> tensor<64xf32>
func.func @statistics(%x: tensor<32x56x56x64xf32>) -> tensor<64xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<32x56x56x64xf32>, tensor<f32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// Many columns need few parts.
// DEVICE-LABEL: @many_columns
// DEVICE: across dimensions = [1] : (tensor<32x512x4096xf32>, tensor<f32>) -> tensor<32x4096xf32>
func.func @many_columns(%x: tensor<16384x4096xf32>) -> tensor<4096xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<16384x4096xf32>, tensor<f32>) -> tensor<4096xf32>
  return %0 : tensor<4096xf32>
}

// The largest and where it is, of each part and then of those: the numbers of a part begin where it does.
// CHECK-LABEL: @argmax
// CHECK: %[[X:.*]] = stablehlo.reshape %arg0 : (tensor<1048576xf32>) -> tensor<64x16384xf32>
// CHECK: %[[NUMBER:.*]] = stablehlo.add
// CHECK: %[[P:.*]]:2 = stablehlo.reduce(%[[X]] init: %{{.*}}), (%[[NUMBER]] init: %{{.*}}) across dimensions = [1]
// CHECK: stablehlo.reduce(%[[P]]#0 init: %{{.*}}), (%[[P]]#1 init: %{{.*}}) across dimensions = [0]
func.func @argmax(%x: tensor<1048576xf32>) -> tensor<i32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %numbers = stablehlo.iota dim = 0 : tensor<1048576xi32>
  %0:2 = stablehlo.reduce(%x init: %low), (%numbers init: %zero) across dimensions = [0] : (tensor<1048576xf32>, tensor<1048576xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
   reducer(%a: tensor<f32>, %b: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>) {
    %more = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %same = stablehlo.compare EQ, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %before = stablehlo.compare LT, %i, %j : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %tie = stablehlo.and %same, %before : tensor<i1>
    %first = stablehlo.or %more, %tie : tensor<i1>
    %value = stablehlo.select %more, %a, %b : tensor<i1>, tensor<f32>
    %index = stablehlo.select %first, %i, %j : tensor<i1>, tensor<i32>
    stablehlo.return %value, %index : tensor<f32>, tensor<i32>
  }
  return %0#1 : tensor<i32>
}

// Sums of pairs would count their initial values once for each part.
// CHECK-LABEL: @pairs
// CHECK-NOT: reshape
// CHECK: across dimensions = [0] : (tensor<1048576xf32>, tensor<1048576xf32>, tensor<f32>, tensor<f32>)
func.func @pairs(%x: tensor<1048576xf32>, %y: tensor<1048576xf32>, %start: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %0:2 = stablehlo.reduce(%x init: %start), (%y init: %start) across dimensions = [0] : (tensor<1048576xf32>, tensor<1048576xf32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
   reducer(%a: tensor<f32>, %b: tensor<f32>) (%c: tensor<f32>, %d: tensor<f32>) {
    %s = stablehlo.add %a, %b : tensor<f32>
    %t = stablehlo.add %c, %d : tensor<f32>
    stablehlo.return %s, %t : tensor<f32>, tensor<f32>
  }
  return %0#0, %0#1 : tensor<f32>, tensor<f32>
}

// Parts of rows lie together in memory, whatever the size of the dimensions that a row has.
// CHECK-LABEL: @outermost_of_a_row
// CHECK: %[[PARTS:.*]] = stablehlo.reshape %arg0 : (tensor<1x512x768xf32>) -> tensor<1x[[N:[0-9]+]]x[[M:[0-9]+]]x768xf32>
// CHECK: stablehlo.reduce(%[[PARTS]] init: %{{.*}}) applies stablehlo.add across dimensions = [0, 2, 3]
func.func @outermost_of_a_row(%x: tensor<1x512x768xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<1x512x768xf32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// A slice that has all of the dimension is none of an array's whose shape changes, and is not stored.
// CHECK-LABEL: @slices
// CHECK: %[[VIEW:.*]] = stablehlo.reshape %arg0 : (tensor<512x768xf32>) -> tensor<[[N:[0-9]+]]x[[M:[0-9]+]]x768xf32>
// CHECK: %[[A:.*]] = stablehlo.slice %[[VIEW]] [0:[[N]], 0:[[M]], 1:768]
// CHECK: %[[B:.*]] = stablehlo.slice %[[VIEW]] [0:[[N]], 0:[[M]], 0:767]
// CHECK: stablehlo.subtract %[[A]], %[[B]]
func.func @slices(%x: tensor<512x768xf32>) -> tensor<767xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %a = stablehlo.slice %x [0:512, 1:768] : (tensor<512x768xf32>) -> tensor<512x767xf32>
  %b = stablehlo.slice %x [0:512, 0:767] : (tensor<512x768xf32>) -> tensor<512x767xf32>
  %d = stablehlo.subtract %a, %b : tensor<512x767xf32>
  %0 = stablehlo.reduce(%d init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<512x767xf32>, tensor<f32>) -> tensor<767xf32>
  return %0 : tensor<767xf32>
}

// What the schedule pass writes into sorts, selections and Fourier transforms where kernels compute them.
// RUN: isthmus-opt %s -schedule=gpu | FileCheck %s
// RUN: isthmus-opt %s -schedule | FileCheck %s --check-prefix=CPU
// RUN: env ISTHMUS_LOG=compile isthmus-opt %s -schedule=gpu 2>&1 | FileCheck %s --check-prefix=LOG

// CPU-NOT: isthmus.schedule

// CHECK-LABEL: @sorts
// CHECK: "stablehlo.sort"
// CHECK: isthmus.schedule = ["sort results=0 chunk=1024 grain=8 run=8 threads=128 ns={{[^"]*}}"]
// LOG-DAG: data {{[0-9]}} (tensor<100000xf32>) -> (tensor<100000xf32>): sort at {{.*}}; sort results=0 chunk=1024 {{.*}} (small tiles, since of 2048 there were 64 of 4096)
func.func @sorts(%x: tensor<100000xf32>) -> tensor<100000xf32> {
  %y = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<100000xf32>) -> tensor<100000xf32>
  return %y : tensor<100000xf32>
}

// Two kernels: of parts of rows, and of what they leave.
// CHECK-LABEL: @selects
// CHECK: isthmus.schedule = ["top_k results=0,1 chunk=3128 grain=4 threads=256 ns={{[^"]*}}", "top_k results=0,1 chunk=1280 grain=4 threads=256 ns={{[^"]*}}"]
// LOG-DAG: data {{[0-9]}} (tensor<8x100000xf32>) -> (tensor<8x40xf32>, tensor<8x40xi32>): chlo.top_k at {{.*}}; top_k {{.*}}; top_k {{.*}} (parts of rows, since
func.func @selects(%x: tensor<8x100000xf32>) -> (tensor<8x40xf32>, tensor<8x40xi32>) {
  %y:2 = stablehlo.composite "chlo.top_k" %x {composite_attributes = {k = 40 : i64}, decomposition = @decomposed} : (tensor<8x100000xf32>) -> (tensor<8x40xf32>, tensor<8x40xi32>)
  return %y#0, %y#1 : tensor<8x40xf32>, tensor<8x40xi32>
}
func.func private @decomposed(%x: tensor<8x100000xf32>) -> (tensor<8x40xf32>, tensor<8x40xi32>) {
  %v = stablehlo.slice %x [0:8, 0:40] : (tensor<8x100000xf32>) -> tensor<8x40xf32>
  %i = stablehlo.iota dim = 1 : tensor<8x40xi32>
  return %v, %i : tensor<8x40xf32>, tensor<8x40xi32>
}

// CHECK-LABEL: @transforms
// CHECK: isthmus.schedule = ["fft results=0 along=1 factors=16,16,4 threads=64 ns={{[^"]*}}"]
// CHECK: isthmus.schedule = ["fft results=0 along=0 factors=16 ns={{[^"]*}}", "fft results=0 along=0 factors=16 ns={{[^"]*}}", "fft results=0 along=0 factors=16 ns={{[^"]*}}"]
// CHECK-NOT: isthmus.schedule
// LOG-DAG: fft results=0 along=1 factors=16,16,4 {{.*}} (lines fit groups' memory)
// LOG-DAG: fft results=0 along=0 factors=16 {{.*}} (groups along 0: a line does not fit a group's memory)
// LOG-DAG: data {{[0-9]}} (tensor<257xcomplex<f32>>) -> (tensor<257xcomplex<f32>>): fft at {{.*}}; refused: no kernel transforms a dimension of 257
func.func @transforms(%x: tensor<512x1024xcomplex<f32>>, %y: tensor<4096xcomplex<f32>>, %z: tensor<257xcomplex<f32>>)
    -> (tensor<512x1024xcomplex<f32>>, tensor<4096xcomplex<f32>>, tensor<257xcomplex<f32>>) {
  %a = stablehlo.fft %x, type = FFT, length = [1024] : (tensor<512x1024xcomplex<f32>>) -> tensor<512x1024xcomplex<f32>>
  %b = stablehlo.fft %y, type = IFFT, length = [4096] : (tensor<4096xcomplex<f32>>) -> tensor<4096xcomplex<f32>>
  %c = stablehlo.fft %z, type = FFT, length = [257] : (tensor<257xcomplex<f32>>) -> tensor<257xcomplex<f32>>
  return %a, %b, %c : tensor<512x1024xcomplex<f32>>, tensor<4096xcomplex<f32>>, tensor<257xcomplex<f32>>
}

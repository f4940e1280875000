// The compiler's passes: one entry here, one .cc file of the same name, one test of the same name.

#ifndef ISTHMUS_COMPILER_PASSES
#define ISTHMUS_COMPILER_PASSES

include "mlir/Pass/PassBase.td"

def InlineCallsPass : Pass<"inline-calls", "mlir::ModuleOp"> {
  let summary = "Inlines every call and every composite without a native meaning into @main.";
  let description = [{
    Before:
    ```mlir
    func.func @main(%x: tensor<f32>) -> tensor<f32> { %0 = func.call @relu(%x) ... }
    func.func private @relu(%x: tensor<f32>) -> tensor<f32> { %0 = stablehlo.maximum ... }
    ```
    After: @main holds the maximum itself, and @relu is gone. Recursion is an error.
  }];
  let options = [
    Option<"largestTopK", "largest-top-k", "int64_t", /*default=*/"INT64_MAX",
           "The largest k of a composite chlo.top_k that has a kernel of its own: else it is what it stands for, a sort">,
    Option<"widestTopK", "widest-top-k", "int64_t", /*default=*/"64",
           "The widest elements, in bits, of such a composite">
  ];
}

def FlattenTuplesPass : Pass<"flatten-tuples", "mlir::ModuleOp"> {
  let summary = "Makes arguments and results of @main that are tuples their elements.";
  let description = [{
    Before:
    ```mlir
    func.func @main(%t: tuple<tensor<f32>, tensor<i32>>) -> tuple<tensor<f32>>
    ```
    After:
    ```mlir
    func.func @main(%x: tensor<f32>, %y: tensor<i32>) -> tensor<f32>
    ```
    Tuples inside the program are left to legalize-ops.
  }];
}

def RefineShapesPass : Pass<"refine-shapes", "mlir::ModuleOp"> {
  let summary = "Makes types of the shapes that a program computes from constants.";
  let description = [{
    Before:
    ```mlir
    %shape = stablehlo.constant dense<[2, 3]> : tensor<2xi64>
    %0 = stablehlo.dynamic_iota %shape, dim = 0 : (tensor<2xi64>) -> tensor<?x?xi32>
    %1 = stablehlo.negate %0 : tensor<?x?xi32>
    ```
    After:
    ```mlir
    %0 = stablehlo.iota dim = 0 : tensor<2x3xi32>
    %1 = stablehlo.negate %0 : tensor<2x3xi32>
    ```
    Arguments of open sizes take the shape that the caller noted (`isthmus.shape`). Calls for what has computed
    attributes become operations, and assertions about sizes are checked.
    Operations whose shapes stay unknown are left as they are.
  }];
}

def PadBoundedPass : Pass<"pad-bounded", "mlir::ModuleOp"> {
  let summary = "Makes arrays of bounded size arrays of their bounds, with their sizes beside them.";
  let description = [{
    Before:
    ```mlir
    %0 = stablehlo.set_dimension_size %x, %n, dim = 0 : (tensor<6xf32>, tensor<i32>) -> tensor<?xf32, #stablehlo.bounds<6>>
    %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0] : …
    ```
    After:
    ```mlir
    %place = stablehlo.iota dim = 0 : tensor<6xi32>
    %inside = stablehlo.compare LT, %place, %n6 : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %0 = stablehlo.select %inside, %x, %zero6 : tensor<6xi1>, tensor<6xf32>
    %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0] : …
    ```
    Results of the program are zero beyond their sizes.
  }];
}

def LegalizeQuantizedPass : Pass<"legalize-quantized", "mlir::ModuleOp"> {
  let summary = "Makes quantized arrays the integers that they store.";
  let description = [{
    Before:
    ```mlir
    %0 = stablehlo.uniform_dequantize %q : (tensor<2x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<2xf32>
    ```
    After, for %q of type tensor<2xi8>:
    ```mlir
    %1 = stablehlo.convert %q : (tensor<2xi8>) -> tensor<2xi32>
    %2 = stablehlo.subtract %1, %c3 : tensor<2xi32>
    %3 = stablehlo.convert %2 : (tensor<2xi32>) -> tensor<2xf32>
    %0 = stablehlo.multiply %3, %c0_5 : tensor<2xf32>
    ```
    Other operations compute with the numbers so obtained, or move what is stored.
  }];
}

def LegalizeOpsPass : Pass<"legalize-ops", "mlir::ModuleOp"> {
  let summary = "Rewrites operations that are shorthand for others into the core operations.";
  let description = [{
    Before:
    ```mlir
    %0 = stablehlo.dot %x, %y : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
    ```
    After:
    ```mlir
    %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : …
    ```
    The same holds for broadcast, einsum, map, torch_index_select, batch_norm_* and tuples.
  }];
}

def SelectByMasksPass : Pass<"select-by-masks", "mlir::ModuleOp"> {
  let summary = "Makes products with converted booleans selections, so that what is masked may be NaN.";
  let description = [{
    Before:
    ```mlir
    %0 = stablehlo.convert %mask : (tensor<4xi1>) -> tensor<4xf32>
    %1 = stablehlo.multiply %x, %0 : tensor<4xf32>
    ```
    After:
    ```mlir
    %1 = stablehlo.select %mask, %x, %zeros : tensor<4xi1>, tensor<4xf32>
    ```
  }];
}

def WidenSumsPass : Pass<"widen-sums", "mlir::ModuleOp"> {
  let summary = "Keeps sums and products of narrow floats in f32 until they are complete.";
  let description = [{
    Before:
    ```mlir
    %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4096x64xbf16>, tensor<bf16>) -> tensor<64xbf16>
    ```
    After:
    ```mlir
    %0 = stablehlo.convert %x : (tensor<4096x64xbf16>) -> tensor<4096x64xf32>
    %1 = stablehlo.reduce(%0 init: %zero_f32) applies stablehlo.add across dimensions = [0] : (tensor<4096x64xf32>, tensor<f32>) -> tensor<64xf32>
    %2 = stablehlo.convert %1 : (tensor<64xf32>) -> tensor<64xbf16>
    ```
  }];
}

def PartitionPass : Pass<"partition", "mlir::ModuleOp"> {
  let summary = "Turns the program over a mesh of devices into the program of one device.";
  let description = [{
    Before:
    ```mlir
    sdy.mesh @mesh = <["x"=2]>
    func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"} ]>}) …
    ```
    After:
    ```mlir
    func.func @main(%x: tensor<4xf32> {isthmus.sharding = "…"}) …
    ```
    Collectives of a loop's body that do not depend on the round go out of it, then small ones of a
    block that are alike become one.
  }];
  // Meshes of replica groups are read as Shardy's; a program may have no operation but what we add.
  let dependentDialects = ["::isthmus::sdy::SdyDialect", "::isthmus::shlo::ShloDialect"];
  let options = [Option<"numPartitions", "num-partitions", "int64_t", "1",
                        "devices that share one replica of the program">];
}

def ExpandCollectivesPass : Pass<"expand-collectives", "mlir::ModuleOp"> {
  let summary = "Combines with any computation by exchanging operands.";
  let description = [{
    Before:
    ```mlir
    %0 = "stablehlo.all_reduce"(%x) ({ … stablehlo.xor … }) {replica_groups = dense<[[0, 1]]> …
    ```
    After:
    ```mlir
    %1 = "stablehlo.all_gather"(%x) {all_gather_dim = 0, replica_groups = dense<[[0, 1]]> …
    %2 = stablehlo.slice %1 [0:1, …
    %3 = stablehlo.slice %1 [1:2, …
    %0 = stablehlo.xor %2, %3
    ```
    Additions, products and the like stay, which backends compute by themselves.
  }];
  let options = [Option<"numReplicas", "num-replicas", "int64_t", "1", "copies of the program">,
                 Option<"numPartitions", "num-partitions", "int64_t", "1",
                        "devices that share one replica of the program">];
}

def EntryLayoutsPass : Pass<"entry-layouts", "mlir::ModuleOp"> {
  let summary = "Transposes arguments and results that the caller wants in another layout.";
  let description = [{
    Before:
    ```mlir
    func.func @main(%x: tensor<2x3xf32> {mhlo.layout_mode = "{0,1}"}) …
    ```
    After, with every array row-major again:
    ```mlir
    func.func @main(%x: tensor<3x2xf32> {isthmus.layout = array<i64: 0, 1>}) …
      %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<3x2xf32>) -> tensor<2x3xf32>
    ```
  }];
}

def SimplifyPass : Pass<"simplify", "mlir::ModuleOp"> {
  let summary = "Folds constants and applies algebra until nothing changes.";
  let description = [{
    Before:
    ```mlir
    %0 = stablehlo.transpose %y, dims = [1, 0] : (tensor<4x3xf32>) -> tensor<3x4xf32>
    %1 = stablehlo.dot_general %x, %0, contracting_dims = [1] x [0] : …
    ```
    After:
    ```mlir
    %1 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [1] : …
    ```
    The rules and their laws are in compiler/passes/simplify/patterns.h.
  }];
}

def ChannelsLastPass : Pass<"channels-last", "mlir::ModuleOp"> {
  let summary = "Moves the features of convolutions, and of what lies between them, to the end.";
  let description = [{
    Before:
    ```mlir
    %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], …
    %1 = stablehlo.maximum %0, %zero : tensor<8x16x32x32xf32>
    ```
    After:
    ```mlir
    %2 = stablehlo.transpose %x, dims = [0, 2, 3, 1] : …
    %3 = stablehlo.transpose %k, dims = [2, 3, 1, 0] : …
    %4 = stablehlo.convolution(%2, %3) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], …
    %5 = stablehlo.maximum %4, %zero : tensor<8x32x32x16xf32>
    %1 = stablehlo.transpose %5, dims = [0, 3, 1, 2] : …
    ```
  }];
}

def ExpandShortReductionsPass : Pass<"expand-short-reductions", "mlir::ModuleOp"> {
  let summary = "Sums of few neighbours that another reduction reads become additions in its kernel.";
  let description = [{
    Before:
    ```mlir
    %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<1000x2xf32>, …
    %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<1000xf32>, …
    ```
    After:
    ```mlir
    %2 = stablehlo.slice %x [0:1000, 0:1] : …
    %3 = stablehlo.slice %x [0:1000, 1:2] : …
    %0 = stablehlo.add %2, %3 : … (reshaped)
    %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<1000xf32>, …
    ```
    Where the other reduction keeps such neighbours, as in `sum(d * f(sum(d * d, -1))[..., None], axis)`, it becomes one of
    several arrays, without that dimension (CPUs).
  }];
}

def SumVectorProductsPass : Pass<"sum-vector-products", "mlir::ModuleOp"> {
  let summary = "Multiplies vectors in kernels that sum where the matrix is computed for it, or has no form in the library (CPUs).";
  let description = [{
    Before:
    ```mlir
    %0 = stablehlo.exponential %x : tensor<500x400xf32>
    %1 = stablehlo.dot_general %0, %y, contracting_dims = [1] x [0] : (tensor<500x400xf32>, tensor<400xf32>) -> …
    ```
    After:
    ```mlir
    %0 = stablehlo.exponential %x : tensor<500x400xf32>
    %2 = stablehlo.broadcast_in_dim %y, dims = [1] : (tensor<400xf32>) -> tensor<500x400xf32>
    %3 = stablehlo.multiply %0, %2 : tensor<500x400xf32>
    %1 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [1] : …
    ```
  }];
}

def SplitReductionsPass : Pass<"split-reductions", "mlir::ModuleOp"> {
  let summary = "Reduces long arrays to few results in two steps, so that all threads take part.";
  let description = [{
    Before:
    ```mlir
    %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4096x1024xf32>, …
    ```
    After:
    ```mlir
    %1 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4096x1024xf32>, …
    %0 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4096xf32>, …
    ```
  }];
  let options = [
    Option<"maxParts", "max-parts", "int64_t", "0", "of a reduction; 0: the target's">,
    Option<"enoughColumns", "enough-columns", "int64_t", "0", "results that keep all threads busy; 0: the target's">
  ];
}

def SplitConcatenatesPass : Pass<"split-concatenates", "mlir::ModuleOp"> {
  let summary = "Splits concatenations of more arrays than one kernel had better read.";
  let description = [{
    Before, with at most two:
    ```mlir
    %0 = stablehlo.concatenate %a, %b, %c, dim = 0 : …
    ```
    After, each of about as many arrays:
    ```mlir
    %1 = stablehlo.concatenate %a, dim = 0 : …
    %2 = stablehlo.concatenate %b, %c, dim = 0 : …
    %0 = stablehlo.concatenate %1, %2, dim = 0 : …
    ```
  }];
  let options = [Option<"most", "most", "uint64_t", "0",
                        "operands of a concatenation; below two: any number">];
}

def SplitDilatedConvolutionsPass : Pass<"split-dilated-convolutions", "mlir::ModuleOp"> {
  let summary = "Splits convolutions of arrays with zeros between their elements into one for each phase of the results.";
  let description = [{
    Before, as in transposed convolutions and gradients of those with strides:
    ```mlir
    %0 = stablehlo.convolution(%x, %w) …, window = {pad = [[1, 2]], lhs_dilate = [2]} : (…, tensor<3x256x256xf32>) -> tensor<1x128x256xf32>
    ```
    After:
    ```mlir
    %1 = stablehlo.slice %w [1:2, 0:256, 0:256] : …
    %2 = stablehlo.convolution(%x, %1) …, window = {} : … -> tensor<1x64x256xf32>
    %3 = stablehlo.slice %w [0:3:2, 0:256, 0:256] : …
    %4 = stablehlo.convolution(%x, %3) …, window = {pad = [[0, 1]]} : … -> tensor<1x64x256xf32>
    %0 = stablehlo.concatenate %2, %4, dim = 2 : … (reshaped)
    ```
  }];
}

def SplitTransposesPass : Pass<"split-transposes", "mlir::ModuleOp"> {
  let summary = "Transposes between arrays of which one has short rows become one of matrices and one of whole rows (CPUs).";
  let description = [{
    Before:
    ```mlir
    %0 = stablehlo.transpose %w, dims = [2, 3, 1, 0] : (tensor<512x256x3x3xf32>) -> tensor<3x3x256x512xf32>
    ```
    After:
    ```mlir
    %1 = stablehlo.transpose %w, dims = [1, 2, 3, 0] : (tensor<512x256x3x3xf32>) -> tensor<256x3x3x512xf32>
    %0 = stablehlo.transpose %1, dims = [1, 2, 0, 3] : (tensor<256x3x3x512xf32>) -> tensor<3x3x256x512xf32>
    ```
  }];
}

def SplitScattersPass : Pass<"split-scatters", "mlir::ModuleOp"> {
  let summary = "Gives many updates of few elements several copies of those, so that all threads take part.";
  let description = [{
    Before:
    ```mlir
    %0 = "stablehlo.scatter"(%x, %indices, %updates) … add … : (tensor<300xf32>, tensor<100000x1xi32>, …
    ```
    After:
    ```mlir
    %1 = "stablehlo.scatter"(%zeros, %indices16, %updates16) … add … : (tensor<16x300xf32>, tensor<16x6250x1xi32>, …
    %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<16x300xf32>, …
    %0 = stablehlo.add %x, %2 : tensor<300xf32>
    ```
  }];
}

def FusePass : Pass<"fuse", "mlir::ModuleOp"> {
  let summary = "Groups operations into isthmus.fusion regions that become one kernel each.";
  let description = [{
    Before:
    ```mlir
    %0 = stablehlo.multiply %x, %y : tensor<8xf32>
    %1 = stablehlo.add %0, %z : tensor<8xf32>
    ```
    After:
    ```mlir
    %0 = "isthmus.fusion"(%x, %y, %z) ({
    ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>, %c: tensor<8xf32>):
      %1 = stablehlo.multiply %a, %b : tensor<8xf32>
      %2 = stablehlo.add %1, %c : tensor<8xf32>
      isthmus.yield %2 : tensor<8xf32>
    }) : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    ```
  }];
  let dependentDialects = ["::isthmus::ir::IsthmusDialect"];
}

def LogMemoryBoundariesPass : Pass<"log-memory-boundaries", "mlir::ModuleOp"> {
  let summary = "Tells the log why values go through memory between kernels and other operations.";
  let description = [{
    For fused programs, which it does not change: a line (ISTHMUS_LOG=compile) for each two operations of which one feeds the
    other and one at least is neither kernel, view nor constant. Of
    ```mlir
    %0 = "isthmus.fusion"(%x) …
    %1 = "stablehlo.sort"(%0) …
    ```
    it says that `%0` is not fused into `%1`, since a library operation reads its operands from memory.
  }];
  let options = [Option<"hasEpilogues", "has-epilogues", "bool", "true",
                        "products have been tried with the kernels that read them, and refusals told">];
}

def OrderForMemoryPass : Pass<"order-for-memory", "mlir::ModuleOp"> {
  let summary = "Runs operations where fewer bytes are alive meanwhile.";
  let description = [{
    Before:
    ```mlir
    %1 = stablehlo.dot_general %x, %w : …
    %2 = "isthmus.fusion"() ({ … zeros … }) : …
    %3 = "isthmus.fusion"(%1) ({ … a sum of %1 … }) : …
    "use"(%2, %3)
    ```
    After: `%3` comes before `%2`, which may then have the memory of `%1`.
  }];
}

def OverlapCollectivesPass : Pass<"overlap-collectives", "mlir::ModuleOp"> {
  let summary = "Has collectives set out where their operands are there, and wait where results are needed.";
  let description = [{
    For fused programs. Before:
    ```mlir
    %0 = "isthmus.fusion"(%x) …
    %1 = "stablehlo.all_gather"(%w) …
    %2 = "isthmus.fusion"(%0, %1) …
    ```
    After:
    ```mlir
    %1 = "stablehlo.all_gather"(%w) … {isthmus.started_as = 0}
    %0 = "isthmus.fusion"(%x) …
    isthmus.await 0 : %w, %1
    %2 = "isthmus.fusion"(%0, %1) …
    ```
  }];
  let dependentDialects = ["::isthmus::ir::IsthmusDialect"];
}

#endif  // ISTHMUS_COMPILER_PASSES

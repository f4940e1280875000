// The passes that decide how kernels run: one entry here, one .cc file of the same name, one test of the same name.

#ifndef ISTHMUS_COMPILER_SCHEDULE_PASSES
#define ISTHMUS_COMPILER_SCHEDULE_PASSES

include "mlir/Pass/PassBase.td"

def FuseAttentionPass : Pass<"fuse-attention", "mlir::ModuleOp"> {
  let summary = "Makes one kernel of products, the work on their rows and the products of that.";
  let description = [{
    For fused programs. Before:
    ```mlir
    %scores = stablehlo.dot_general %q, %k, …
    %weights = "isthmus.fusion"(%scores) ({ … a softmax of each row … }) : …
    %0 = stablehlo.dot_general %weights, %v, …
    ```
    After, so that the scores are never stored:
    ```mlir
    %0 = "isthmus.fusion"(%q, %k, %v) ({ … all three … }) : …
    ```
    Gradients of attention are such kernels too.
  }];
  let dependentDialects = ["::isthmus::ir::IsthmusDialect"];
}

def MultiplyConvolutionsPass : Pass<"multiply-convolutions", "mlir::ModuleOp"> {
  let summary = "Convolutions that are products of matrices become those (CPUs).";
  let description = [{
    Before:
    ```mlir
    %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} : (tensor<8x56x56x64xf32>, tensor<1x1x64x256xf32>) -> …
    ```
    After:
    ```mlir
    %1 = stablehlo.reshape %w : (tensor<1x1x64x256xf32>) -> tensor<64x256xf32>
    %0 = stablehlo.dot_general %x, %1, contracting_dims = [3] x [0] : …
    ```
    The same of gradients by the kernel, whose windows are the whole images.
  }];
}

def FuseEpiloguesPass : Pass<"fuse-epilogues", "mlir::ModuleOp"> {
  let summary = "Puts elementwise work on a product's elements into the product's kernel.";
  let description = [{
    For fused programs. Before:
    ```mlir
    %0 = stablehlo.dot_general %x, %w, …
    %1 = "isthmus.fusion"(%0, %bias) ({ … adds the bias to each row … }) : …
    ```
    After:
    ```mlir
    %1 = "isthmus.fusion"(%x, %w, %bias) ({ … the product, and what follows it … }) : …
    ```
  }];
  let dependentDialects = ["::isthmus::ir::IsthmusDialect"];
}

def SchedulePass : Pass<"schedule", "mlir::ModuleOp"> {
  let summary = "Decides how each kernel runs over its elements.";
  let description = [{
    Before:
    ```mlir
    %0 = "isthmus.fusion"(%x, %y) ({ … }) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    ```
    After:
    ```mlir
    %0 = "isthmus.fusion"(%x, %y) <{schedule = ["loop results=0 dims=0-1:512 lanes=4 cuts=0,512 chunk=512 ns=…"]}> …
    ```
    Products get a schedule of their own where the target's kernels multiply, and sorts, selections and Fourier
    transforms where it has kernels of them.
  }];
  let options = [Option<"forGpu", "gpu", "bool", "false", "for a GPU of no vendor in particular">];
  let dependentDialects = ["::isthmus::ir::IsthmusDialect"];
}

#endif  // ISTHMUS_COMPILER_SCHEDULE_PASSES

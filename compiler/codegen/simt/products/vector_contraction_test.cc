// Products and convolutions for work-items with vectors, run on the CPU: a call for each work-item.
#include "compiler/codegen/simt/products/vector_contraction.h"

#include <gtest/gtest.h>

#include <random>

#include "backends/cpu/emit/jit.h"
#include "backends/cpu/load/object_loader.h"
#include "compiler/codegen/simt/kernel_module.h"
#include "compiler/dialect/dialect.h"
#include "compiler/target/portable_cpu.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

namespace isthmus::codegen {
namespace {

int64_t currentItem[3];
int64_t itemAlong(int64_t dimension) { return currentItem[dimension]; }

void* resolve(const std::string& name) {
  if (name == "item_along") return reinterpret_cast<void*>(&itemAlong);
  return cpu::resolveRuntimeSymbol(name);
}

WorkItemForm formOf(unsigned vectorBits) {
  WorkItemForm form;
  form.target = portableCpuTarget("spirv64-unknown-unknown", vectorBits);
  form.globalSpace = 0;
  form.convention = llvm::CallingConv::C;
  form.indices = [](llvm::IRBuilder<>& b, const Items&) {
    llvm::Module& module = *b.GetInsertBlock()->getModule();
    llvm::FunctionCallee item =
        module.getOrInsertFunction("item_along", b.getInt64Ty(), b.getInt64Ty());
    std::array<llvm::Value*, 3> indices{};
    for (unsigned d = 0; d < 3; ++d) indices[d] = b.CreateCall(item, {b.getInt64(d)});
    return indices;
  };
  return form;
}

// The kernels of the one product or convolution in a function.
class OpOnVectors {
 public:
  OpOnVectors(const std::string& text, unsigned vectorBits)
      : context_(mlir::MLIRContext::Threading::DISABLED) {
    loadAllDialects(context_);
    module_ = mlir::parseSourceString<mlir::ModuleOp>(text, &context_);
    WorkItemForm form = formOf(vectorBits);
    cpu::JitModule module = std::move(*cpu::makeModule("test", cpu::hostTarget()));
    module_->walk([&](mlir::Operation* op) {
      if (!llvm::isa<shlo::DotGeneralOp, shlo::ConvolutionOp>(op)) return;
      StatusOr<OpKernels> made = emitProduct(op, *module.module, form, "kernel");
      EXPECT_TRUE(made.ok()) << made.status().message();
      if (made.ok()) kernels_ = std::move(*made);
    });
    cpu::CodegenOptions options;
    options.verify = true;
    StatusOr<std::string> object = cpu::compileToObject(*module.module, cpu::hostTarget(), options);
    EXPECT_TRUE(object.ok()) << object.status().message();
    code_ = std::move(*cpu::LoadedCode::load({&*object, 1}, resolve));
  }

  bool isVector() const { return kernels_.stages.back().isVector; }

  void run(void* lhs, void* rhs, void* result) const {
    std::vector<char> scratch(static_cast<size_t>(kernels_.scratchBytes) + 64, 0x7f);
    auto address = (reinterpret_cast<uintptr_t>(scratch.data()) + 63) / 64 * 64;
    for (const OpKernel& stage : kernels_.stages) {
      auto* function =
          reinterpret_cast<void (*)(void*, void*, void*, void*)>(code_->lookup(stage.name));
      // Backwards: no work-item may count on another.
      for (int64_t z = stage.items[2]; z-- > 0;) {
        for (int64_t y = stage.items[1]; y-- > 0;) {
          for (int64_t x = stage.items[0]; x-- > 0;) {
            currentItem[0] = x, currentItem[1] = y, currentItem[2] = z;
            function(lhs, rhs, result, reinterpret_cast<void*>(address));
          }
        }
      }
    }
  }

 private:
  mlir::MLIRContext context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  OpKernels kernels_;
  std::unique_ptr<cpu::LoadedCode> code_;
};

// Small whole numbers, whose sums are exact in any order.
std::vector<float> wholeNumbers(int64_t count) {
  std::mt19937 random(7);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = static_cast<float>(static_cast<int>(random() % 7) - 3);
  return values;
}

std::string tensor(std::initializer_list<int64_t> shape, const char* type = "f32") {
  std::string text = "tensor<";
  for (int64_t size : shape) text += std::to_string(size) + "x";
  return text + type + ">";
}

struct Sizes {
  int64_t batch, rows, columns, sums;
};

// lhs is (batch, rows, sums) or (batch, sums, rows), rhs (batch, sums, columns) or (batch, columns,
// sums).
void checkProduct(Sizes n, bool lhsTransposed, bool rhsTransposed, unsigned vectorBits) {
  SCOPED_TRACE(::testing::Message()
               << n.batch << " of " << n.rows << " x " << n.columns << " x " << n.sums
               << (lhsTransposed ? ", lhs transposed" : "")
               << (rhsTransposed ? ", rhs transposed" : "") << ", " << vectorBits << " bits");
  std::string lhsType =
      lhsTransposed ? tensor({n.batch, n.sums, n.rows}) : tensor({n.batch, n.rows, n.sums});
  std::string rhsType =
      rhsTransposed ? tensor({n.batch, n.columns, n.sums}) : tensor({n.batch, n.sums, n.columns});
  std::string resultType = tensor({n.batch, n.rows, n.columns});
  std::string text = "func.func @main(%a: " + lhsType + ", %b: " + rhsType + ") -> " + resultType +
                     " {\n%r = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], "
                     "contracting_dims = [" +
                     (lhsTransposed ? "1" : "2") + "] x [" + (rhsTransposed ? "2" : "1") + "] : (" +
                     lhsType + ", " + rhsType + ") -> " + resultType +
                     "\nreturn %r : " + resultType + "\n}\n";
  OpOnVectors op(text, vectorBits);
  std::vector<float> a = wholeNumbers(n.batch * n.rows * n.sums);
  std::vector<float> b = wholeNumbers(n.batch * n.columns * n.sums);
  std::vector<float> result(static_cast<size_t>(n.batch * n.rows * n.columns), -99);
  op.run(a.data(), b.data(), result.data());
  for (int64_t z = 0; z < n.batch; ++z) {
    for (int64_t i = 0; i < n.rows; ++i) {
      for (int64_t j = 0; j < n.columns; ++j) {
        float sum = 0;
        for (int64_t k = 0; k < n.sums; ++k) {
          int64_t x = lhsTransposed ? k * n.rows + i : i * n.sums + k;
          int64_t y = rhsTransposed ? j * n.sums + k : k * n.columns + j;
          sum += a[z * n.rows * n.sums + x] * b[z * n.columns * n.sums + y];
        }
        ASSERT_EQ(result[(z * n.rows + i) * n.columns + j], sum) << z << " " << i << " " << j;
      }
    }
  }
}

TEST(VectorContraction, products_of_all_shapes) {
  const Sizes sizes[] = {{1, 12, 32, 16},  {1, 100, 64, 48}, {2, 13, 37, 21}, {1, 1, 64, 40},
                         {1, 40, 1, 64},   {3, 5, 8, 3},     {1, 97, 50, 70}, {1, 15, 17, 1},
                         {1, 2, 150, 130}, {2, 100, 4, 32},  {1, 3, 3, 96},   {1, 40, 1, 100},
                         {2, 5, 3, 31},    {1, 1, 9, 17}};
  for (const Sizes& n : sizes) {
    for (int transposed = 0; transposed < 4; ++transposed) {
      checkProduct(n, transposed & 1, transposed & 2, transposed == 1 ? 256 : 512);
    }
  }
}

// Terms that the last vector has again count once, whatever they are.
TEST(VectorContraction, vectors_along_terms_end_with_them) {
  OpOnVectors op(R"(
      func.func @main(%a: tensor<20x37xf32>, %b: tensor<37xf32>) -> tensor<20xf32> {
        %r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
            : (tensor<20x37xf32>, tensor<37xf32>) -> tensor<20xf32>
        return %r : tensor<20xf32>
      })",
                 512);
  EXPECT_TRUE(op.isVector());
  std::vector<float> a(20 * 37), b(37), result(20);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 7);
  for (size_t k = 0; k < b.size(); ++k) b[k] = static_cast<float>(k % 5);
  // In the first row among the terms that come twice, in the second among the others.
  a[30] = b[1] = a[37 + 1] = std::numeric_limits<float>::infinity();
  for (size_t i = 0; i < 20; ++i) a[i * 37 + 1] = std::max(a[i * 37 + 1], 1.0F);
  b[30] = 2;
  op.run(a.data(), b.data(), result.data());
  for (float sum : result) EXPECT_EQ(sum, std::numeric_limits<float>::infinity());
  b[1] = 3;
  a[37 + 1] = 1;
  op.run(a.data(), b.data(), result.data());
  EXPECT_EQ(result[0], std::numeric_limits<float>::infinity());
  for (size_t i = 1; i < 20; ++i) {
    float sum = 0;
    for (size_t k = 0; k < 37; ++k) sum += a[i * 37 + k] * b[k];
    EXPECT_EQ(result[i], sum) << i;
  }
}

TEST(VectorContraction, narrow_and_whole_numbers_are_summed_in_wider_ones) {
  const std::string lhs = tensor({40, 24}, "i8"), rhs = tensor({24, 100}, "i8");
  const std::string to = tensor({40, 100}, "i32");
  OpOnVectors op("func.func @main(%a: " + lhs + ", %b: " + rhs + ") -> " + to +
                     " {\n%r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (" +
                     lhs + ", " + rhs + ") -> " + to + "\nreturn %r : " + to + "\n}\n",
                 512);
  EXPECT_TRUE(op.isVector());
  std::vector<int8_t> a(40 * 24), b(24 * 100);
  std::mt19937 random(3);
  for (int8_t& x : a) x = static_cast<int8_t>(random());
  for (int8_t& x : b) x = static_cast<int8_t>(random());
  std::vector<int32_t> result(40 * 100);
  op.run(a.data(), b.data(), result.data());
  for (int i = 0; i < 40; ++i) {
    for (int j = 0; j < 100; ++j) {
      int sum = 0;
      for (int k = 0; k < 24; ++k) sum += a[i * 24 + k] * b[k * 100 + j];
      ASSERT_EQ(result[i * 100 + j], sum);
    }
  }
}

struct Window {
  int64_t size, channels, features, kernel, stride, low, high, lhsDilation, rhsDilation, groups;
};

// (2, size, size, channels) by (kernel, kernel, channels / groups, features).
void checkConvolution(Window w) {
  SCOPED_TRACE(::testing::Message()
               << "size " << w.size << ", kernel " << w.kernel << ", stride " << w.stride
               << ", padding " << w.low << " " << w.high << ", dilations " << w.lhsDilation << " "
               << w.rhsDilation << ", groups " << w.groups);
  int64_t inner = w.channels / w.groups;
  int64_t reach = (w.size - 1) * w.lhsDilation + 1 + w.low + w.high;
  int64_t out = (reach - (w.kernel - 1) * w.rhsDilation - 1) / w.stride + 1;
  std::string lhs = tensor({2, w.size, w.size, w.channels});
  std::string rhs = tensor({w.kernel, w.kernel, inner, w.features});
  std::string to = tensor({2, out, out, w.features});
  auto pair = [](int64_t x) { return "[" + std::to_string(x) + ", " + std::to_string(x) + "]"; };
  std::string pad = "[" + std::to_string(w.low) + ", " + std::to_string(w.high) + "]";
  OpOnVectors op(
      "func.func @main(%a: " + lhs + ", %b: " + rhs + ") -> " + to +
          " {\n%r = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, "
          "1, f], window = {stride = " +
          pair(w.stride) + ", pad = [" + pad + ", " + pad +
          "], lhs_dilate = " + pair(w.lhsDilation) + ", rhs_dilate = " + pair(w.rhsDilation) +
          "} {batch_group_count = 1 : i64, feature_group_count = " + std::to_string(w.groups) +
          " : i64} : (" + lhs + ", " + rhs + ") -> " + to + "\nreturn %r : " + to + "\n}\n",
      512);
  EXPECT_TRUE(op.isVector());
  std::vector<float> a = wholeNumbers(2 * w.size * w.size * w.channels);
  std::vector<float> b = wholeNumbers(w.kernel * w.kernel * inner * w.features);
  std::vector<float> result(static_cast<size_t>(2 * out * out * w.features), -99);
  op.run(a.data(), b.data(), result.data());
  // Whether a place of the padded input is one of the input, and which.
  auto place = [&](int64_t o, int64_t k, int64_t* at) {
    int64_t p = o * w.stride + k * w.rhsDilation - w.low;
    *at = p / w.lhsDilation;
    return p >= 0 && p % w.lhsDilation == 0 && *at < w.size;
  };
  for (int64_t n = 0; n < 2; ++n) {
    for (int64_t y = 0; y < out; ++y) {
      for (int64_t x = 0; x < out; ++x) {
        for (int64_t f = 0; f < w.features; ++f) {
          float sum = 0;
          int64_t group = f / (w.features / w.groups), row = 0, column = 0;
          for (int64_t i = 0; i < w.kernel * w.kernel; ++i) {
            if (!place(y, i / w.kernel, &row) || !place(x, i % w.kernel, &column)) continue;
            for (int64_t c = 0; c < inner; ++c) {
              sum += a[((n * w.size + row) * w.size + column) * w.channels + group * inner + c] *
                     b[(i * inner + c) * w.features + f];
            }
          }
          ASSERT_EQ(result[((n * out + y) * out + x) * w.features + f], sum)
              << n << " " << y << " " << x << " " << f;
        }
      }
    }
  }
}

TEST(VectorContraction, convolutions_of_all_windows) {
  checkConvolution({9, 16, 32, 3, 1, 1, 1, 1, 1, 1});
  checkConvolution({8, 3, 20, 3, 2, 0, 1, 1, 1, 1});
  checkConvolution({7, 8, 16, 1, 1, 0, 0, 1, 1, 1});
  checkConvolution({6, 5, 16, 3, 1, 1, 1, 2, 1, 1});
  checkConvolution({11, 4, 8, 2, 3, 1, 0, 1, 2, 1});
  checkConvolution({5, 8, 32, 3, 1, 1, 1, 1, 1, 4});
  checkConvolution({6, 4, 8, 3, 1, -1, 1, 1, 1, 1});
  checkConvolution({9, 40, 40, 3, 1, 1, 1, 1, 1, 40});
  checkConvolution({8, 8, 8, 2, 2, 0, 0, 1, 1, 8});
}

}  // namespace
}  // namespace isthmus::codegen

// Kernels for a GPU, run on the CPU: threads of this process are the threads of a group.
#include "compiler/codegen/target/group_threads.h"

#include <gtest/gtest.h>

#include <array>
#include <barrier>
#include <cmath>
#include <random>
#include <thread>

#include "backends/cpu/emit/jit.h"
#include "backends/cpu/load/object_loader.h"
#include "compiler/codegen/kernel_emitter.h"
#include "compiler/dialect/dialect.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

namespace isthmus::codegen {
namespace {

constexpr unsigned kThreads = 8;

thread_local int64_t currentThread = 0;
int64_t threadOfGroup() { return currentThread; }

std::barrier<>& groupBarrierOfTest() {
  static std::barrier<>& barrier = *new std::barrier<>(kThreads);
  return barrier;
}
void waitForGroup() { groupBarrierOfTest().arrive_and_wait(); }

int32_t shuffleInGroup(int32_t value, int32_t distance) {
  static std::array<int32_t, kThreads> values;
  values[static_cast<size_t>(currentThread)] = value;
  waitForGroup();
  int32_t other = values[static_cast<size_t>(currentThread ^ distance)];
  waitForGroup();
  return other;
}

void* resolve(const std::string& name) {
  if (name == kSubgroupShuffleSymbol) return reinterpret_cast<void*>(&shuffleInGroup);
  if (name == kThreadInGroupSymbol) return reinterpret_cast<void*>(&threadOfGroup);
  if (name == kGroupBarrierSymbol) return reinterpret_cast<void*>(&waitForGroup);
  return cpu::resolveRuntimeSymbol(name);
}

// A kernel, compiled for groups of kThreads threads.
class GroupKernel {
 public:
  // With `subgroup` threads that read each other's registers, if that is not 1.
  explicit GroupKernel(const std::string& text, unsigned subgroup = 1)
      : context_(mlir::MLIRContext::Threading::DISABLED) {
    loadAllDialects(context_);
    module_ = mlir::parseSourceString<mlir::ModuleOp>(text, &context_);
    ir::FusionOp fusion;
    module_->walk([&](ir::FusionOp op) { fusion = op; });
    TargetModel gpu = gpuTarget("spirv64-unknown-unknown");
    gpu.shufflesInSubgroup = subgroup > 1;
    gpu.subgroupSize = gpu.shufflesInSubgroup ? subgroup : kThreads;
    gpu.groupSize = kThreads;
    gpu.threadBits = 128;
    gpu.bufferBytes = 16;
    gpu.enoughColumns = 4;
    cpu::JitModule module = std::move(*cpu::makeModule("test", cpu::hostTarget()));
    StatusOr<Kernel> kernel = emitKernel(fusion, gpu, *module.module, "kernel");
    EXPECT_TRUE(kernel.ok()) << kernel.status().message();
    stages_ = kernel->stages;
    // The memory of the one group that runs at a time.
    llvm::SmallVector<llvm::GlobalVariable*> arrays;
    for (llvm::GlobalVariable& variable : module.module->globals()) {
      if (variable.getAddressSpace() == kGroupMemorySpace) arrays.push_back(&variable);
    }
    for (llvm::GlobalVariable* array : arrays) {
      memory_.push_back(std::make_unique<std::array<double, 256>>());
      auto* address = llvm::ConstantInt::get(llvm::Type::getInt64Ty(module.module->getContext()),
                                             reinterpret_cast<uint64_t>(memory_.back()->data()));
      array->replaceAllUsesWith(llvm::ConstantExpr::getIntToPtr(address, array->getType()));
      array->eraseFromParent();
    }
    cpu::CodegenOptions options;
    options.verify = true;
    StatusOr<std::string> object = cpu::compileToObject(*module.module, cpu::hostTarget(), options);
    EXPECT_TRUE(object.ok()) << object.status().message();
    code_ = std::move(*cpu::LoadedCode::load({&*object, 1}, resolve));
  }

  const KernelStage& stage() const { return stages_[0]; }
  const std::vector<KernelStage>& stages() const { return stages_; }
  size_t groupArrays() const { return memory_.size(); }

  void run(std::vector<void*> buffers) const {
    for (const KernelStage& stage : stages_) run(stage, buffers);
  }

 private:
  // One group after the other, as many threads each as the stage says.
  void run(const KernelStage& stage, const std::vector<void*>& buffers) const {
    auto* function =
        reinterpret_cast<void (*)(void* const*, int64_t, int64_t)>(code_->lookup(stage.symbol));
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < stage.groupThreads; ++t) {
      threads.emplace_back([&, t] {
        currentThread = t;
        for (int64_t tile = 0; tile < stage.tiles; ++tile) {
          function(buffers.data(), tile, tile + 1);
          if (stage.groupThreads > 1) waitForGroup();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  mlir::MLIRContext context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  std::vector<KernelStage> stages_;
  std::vector<std::unique_ptr<std::array<double, 256>>> memory_;
  std::unique_ptr<cpu::LoadedCode> code_;
};

std::vector<float> randomFloats(size_t count) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> distribution(-2, 2);
  std::vector<float> values(count);
  for (float& value : values) value = distribution(random);
  return values;
}

std::string fusion(const std::string& input, const std::string& output, const std::string& body) {
  return "func.func @main(%in: " + input + ") -> " + output +
         " {\n%r = \"isthmus.fusion\"(%in) ({\n^bb0(%x: " + input + "):\n" + body +
         "\nisthmus.yield %y : " + output + "\n}) : (" + input + ") -> " + output +
         "\nreturn %r : " + output + "\n}\n";
}

TEST(GroupThreads, a_thread_computes_an_element) {
  GroupKernel kernel(fusion("tensor<5x7xf32>", "tensor<7x5xf32>",
                            "%e = stablehlo.exponential %x : tensor<5x7xf32>\n"
                            "%y = stablehlo.transpose %e, dims = [1, 0] : (tensor<5x7xf32>) -> "
                            "tensor<7x5xf32>"));
  EXPECT_EQ(kernel.stage().tiles, 35);
  EXPECT_EQ(kernel.stage().groupThreads, 1u);
  std::vector<float> x = randomFloats(35), y(35);
  kernel.run({x.data(), y.data()});
  for (int i = 0; i < 7; ++i) {
    for (int j = 0; j < 5; ++j) EXPECT_NEAR(y[i * 5 + j], std::exp(double(x[j * 7 + i])), 1e-5);
  }
}

// Rows that are whole numbers of neighbours, and others.
TEST(GroupThreads, a_group_reduces_a_row) {
  for (size_t columns : {61, 64, 100, 1024}) {
    std::string type = "tensor<9x" + std::to_string(columns) + "xf32>";
    GroupKernel kernel(fusion(type, "tensor<9xf32>",
                              "%z = stablehlo.constant dense<5.0> : tensor<f32>\n"
                              "%y = stablehlo.reduce(%x init: %z) applies stablehlo.add across "
                              "dimensions = [1] : (" +
                                  type + ", tensor<f32>) -> tensor<9xf32>"));
    EXPECT_EQ(kernel.stage().tiles, 9);
    EXPECT_EQ(kernel.stage().groupThreads, kThreads);
    EXPECT_EQ(kernel.groupArrays(), 1u);
    std::vector<float> x = randomFloats(9 * columns), y(9);
    kernel.run({x.data(), y.data()});
    for (size_t i = 0; i < 9; ++i) {
      double sum = 5;
      for (size_t j = 0; j < columns; ++j) sum += x[i * columns + j];
      EXPECT_NEAR(y[i], sum, 1e-4) << columns;
    }
  }
}

// Of 64 bits, of 32, and of fewer; by one sub-group, and by several.
TEST(GroupThreads, a_group_reduces_a_row_in_registers) {
  auto sum = [](const std::string& columns, const char* element, const char* initial) {
    std::string type = std::string("x") + element + ">", scalar = "tensor<" + type.substr(1);
    return fusion("tensor<9x" + columns + type, "tensor<9" + type,
                  "%z = stablehlo.constant dense<" + std::string(initial) + "> : " + scalar +
                      "\n%y = stablehlo.reduce(%x init: %z) applies stablehlo.add"
                      " across dimensions = [1] : (tensor<9x" +
                      columns + type + ", " + scalar + ") -> tensor<9" + type);
  };
  auto check = [&]<typename T>(T initial, const char* element, const char* text) {
    for (auto [subgroup, columns] : {std::pair(4u, 61), {8u, 61}, {4u, 96}, {8u, 192}}) {
      GroupKernel kernel(sum(std::to_string(columns), element, text), subgroup);
      EXPECT_EQ(kernel.stage().groupThreads, kThreads);
      EXPECT_EQ(kernel.groupArrays(), subgroup == kThreads ? 0u : 1u);
      std::vector<T> x(9 * static_cast<size_t>(columns)), y(9);
      for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(i * 7 % 13);
      kernel.run({x.data(), y.data()});
      for (size_t i = 0; i < 9; ++i) {
        T expected = initial;
        for (size_t j = 0; j < x.size() / 9; ++j) {
          expected = static_cast<T>(expected + x[i * (x.size() / 9) + j]);
        }
        EXPECT_EQ(y[i], expected) << element << " " << subgroup << " " << columns;
      }
    }
  };
  check(float{5}, "f32", "5.0");
  check(double{5}, "f64", "5.0");
  check(int64_t{5}, "i64", "5");
  check(int32_t{5}, "i32", "5");
  check(int8_t{5}, "i8", "5");
}

TEST(GroupThreads, a_group_computes_a_row_from_its_reductions) {
  for (int columns : {45, 48, 100}) {
    std::string type = "tensor<6x" + std::to_string(columns) + "xf32>";
    GroupKernel kernel(fusion(
        type, type,
        "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "%l = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
        "%m = stablehlo.reduce(%x init: %l) applies stablehlo.maximum across dimensions = [1] : (" +
            type +
            ", tensor<f32>) -> tensor<6xf32>\n%mb = stablehlo.broadcast_in_dim %m, dims = [0] "
            ": (tensor<6xf32>) -> " +
            type + "\n%d = stablehlo.subtract %x, %mb : " + type +
            "\n%e = stablehlo.exponential %d : " + type +
            "\n%s = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [1] : "
            "(" +
            type +
            ", tensor<f32>) -> tensor<6xf32>\n%sb = stablehlo.broadcast_in_dim %s, dims = [0] "
            ": (tensor<6xf32>) -> " +
            type + "\n%y = stablehlo.divide %e, %sb : " + type));
    EXPECT_EQ(kernel.stage().tiles, 6);
    EXPECT_EQ(kernel.stage().groupThreads, kThreads);
    EXPECT_EQ(kernel.groupArrays(), 2u);
    std::vector<float> x = randomFloats(6 * columns), y(6 * columns);
    kernel.run({x.data(), y.data()});
    for (int i = 0; i < 6; ++i) {
      double sum = 0;
      for (int j = 0; j < columns; ++j) sum += std::exp(double(x[i * columns + j]));
      for (int j = 0; j < columns; ++j) {
        EXPECT_NEAR(y[i * columns + j], std::exp(double(x[i * columns + j])) / sum, 1e-6);
      }
    }
  }
}

// Whole squares of 8, and parts of them.
TEST(GroupThreads, a_group_transposes_squares) {
  auto check = [](int64_t outer, int64_t rows, int64_t columns) {
    auto type = [&](int64_t a, int64_t b) {
      return "tensor<" + std::to_string(outer) + "x" + std::to_string(a) + "x" + std::to_string(b) +
             "xf32>";
    };
    std::string from = type(columns, rows), to = type(rows, columns);
    GroupKernel kernel(fusion(
        from, to, "%y = stablehlo.transpose %x, dims = [0, 2, 1] : (" + from + ") -> " + to));
    EXPECT_EQ(kernel.stage().groupThreads, kThreads);
    EXPECT_EQ(kernel.stage().tiles, outer * ((rows + 7) / 8) * ((columns + 7) / 8));
    std::vector<float> x = randomFloats(outer * rows * columns), y(x.size());
    kernel.run({x.data(), y.data()});
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < columns; ++j) {
          ASSERT_EQ(y[(o * rows + i) * columns + j], x[(o * columns + j) * rows + i])
              << rows << " " << columns << " " << i << " " << j;
        }
      }
    }
  };
  check(1, 8, 8);
  check(1, 64, 40);
  check(1, 13, 21);
  check(3, 9, 16);
  check(2, 24, 17);
}

TEST(GroupThreads, a_thread_computes_neighbours) {
  for (int64_t size : {16, 17, 1023, 4096}) {
    std::string type = "tensor<" + std::to_string(size) + "xf32>";
    GroupKernel kernel(fusion(type, type, "%y = stablehlo.exponential %x : " + type));
    EXPECT_EQ(kernel.stage().tiles, (size + 3) / 4);
    std::vector<float> x = randomFloats(size), y(x.size() + 4, -7);
    kernel.run({x.data(), y.data()});
    for (int64_t i = 0; i < size; ++i) EXPECT_NEAR(y[i], std::exp(double(x[i])), 1e-5) << i;
    for (int64_t i = size; i < size + 4; ++i) EXPECT_EQ(y[i], -7) << size;
  }
}

// A running reduction of negated numbers along the middle dimension.
struct ScanCase {
  int64_t outer, size, inner;
  bool fromEnd;
  const char* op = "add";
};

void PrintTo(const ScanCase& c, std::ostream* out) {
  *out << c.op << " of " << c.outer << "x" << c.size << "x" << c.inner
       << (c.fromEnd ? " from the end" : "");
}

std::string scanText(const ScanCase& c, const char* element, const char* initial) {
  std::string type = "tensor<" + std::to_string(c.outer) + "x" + std::to_string(c.size) + "x" +
                     std::to_string(c.inner) + "x" + element + ">";
  std::string scalar = std::string("tensor<") + element + ">";
  std::string pad = std::to_string(c.size - 1);
  std::string padding = c.fromEnd ? "[0, " + pad + "]" : "[" + pad + ", 0]";
  return fusion(type, type,
                "%z = stablehlo.constant dense<" + std::string(initial) + "> : " + scalar +
                    "\n%n = stablehlo.negate %x : " + type +
                    "\n%y = \"stablehlo.reduce_window\"(%n, %z) ({\n^bb0(%a: " + scalar +
                    ", %b: " + scalar + "):\n%s = stablehlo." + c.op + " %a, %b : " + scalar +
                    "\nstablehlo.return %s : " + scalar +
                    "\n}) {window_dimensions = array<i64: 1, " + std::to_string(c.size) +
                    ", 1>, padding = dense<[[0, 0], " + padding +
                    ", [0, 0]]> : tensor<3x2xi64>} : (" + type + ", " + scalar + ") -> " + type);
}

// Whole numbers, whose sums are the same in any order.
template <typename T>
void expectScan(const ScanCase& c, const GroupKernel& kernel, T initial) {
  std::vector<T> x(static_cast<size_t>(c.outer * c.size * c.inner)), y(x.size(), T(-7));
  std::mt19937 random(7);
  for (T& value : x) value = T(static_cast<int>(random() % 21) - 10);
  kernel.run({x.data(), y.data()});
  for (int64_t line = 0; line < c.outer * c.inner; ++line) {
    T sum = initial;
    for (int64_t i = 0; i < c.size; ++i) {
      int64_t at = c.fromEnd ? c.size - 1 - i : i;
      int64_t element = (line / c.inner * c.size + at) * c.inner + line % c.inner;
      T value = -x[static_cast<size_t>(element)];
      sum = c.op == std::string("add") ? sum + value : std::max(sum, value);
      ASSERT_EQ(y[static_cast<size_t>(element)], sum) << testing::PrintToString(c) << ", " << i;
    }
  }
}

TEST(GroupThreads, running_reductions_of_any_size) {
  for (int64_t size : {2, 7, 8, 31, 32, 33, 64, 65, 1000, 3001}) {
    for (bool fromEnd : {false, true}) {
      for (auto [outer, inner] : {std::pair(1, 1), {3, 1}, {1, 5}, {2, 20}}) {
        ScanCase c{outer, size, inner, fromEnd, size % 2 ? "add" : "maximum"};
        bool isSum = c.op == std::string("add");
        expectScan<float>(c, GroupKernel(scanText(c, "f32", isSum ? "3.0" : "-20.0")),
                          isSum ? 3 : -20);
        expectScan<int32_t>(c, GroupKernel(scanText(c, "i32", "-4")), -4);
      }
    }
  }
}

TEST(GroupThreads, long_lines_are_scanned_in_three_parts) {
  ScanCase c{1, 3001, 1, false};
  GroupKernel kernel(scanText(c, "f32", "0.0"));
  ASSERT_EQ(kernel.stages().size(), 3u);
  EXPECT_EQ(kernel.stages()[0].groupThreads, kThreads);
  EXPECT_GT(kernel.stages()[0].tiles, 90);
  EXPECT_EQ(kernel.stages()[1].tiles, 1);
  EXPECT_EQ(kernel.stages()[1].groupThreads, kThreads);
  EXPECT_EQ(kernel.stages()[2].tiles, kernel.stages()[0].tiles);
  // Threads side by side run along columns that lie side by side.
  GroupKernel columns(scanText({2, 100, 5000, false}, "f32", "0.0"));
  ASSERT_EQ(columns.stages().size(), 1u);
  EXPECT_EQ(columns.stages()[0].groupThreads, 1u);
  EXPECT_EQ(columns.stages()[0].tiles, 10000);
}

}  // namespace
}  // namespace isthmus::codegen

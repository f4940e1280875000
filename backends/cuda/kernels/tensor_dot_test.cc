// Tensor-core kernels, run on the CPU: threads of this process are a group's, and what a warp does
// together is done here from the tables of the PTX manual.
#include "backends/cuda/kernels/tensor_dot.h"

#include <gtest/gtest.h>

#include <barrier>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <thread>

#include "backends/cpu/emit/jit.h"
#include "backends/cpu/load/object_loader.h"
#include "backends/cuda/target/nvidia.h"
#include "compiler/dialect/dialect.h"
#include "compiler/schedule/products/product_scheduler.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

namespace isthmus::cuda {
namespace {

// ---- A group of threads -------------------------------------------------------------------------

struct Warp {
  std::barrier<> barrier{32};
  const char* addresses[32] = {};
  uint32_t a[32][4] = {}, b[32][2] = {};
};

struct Group {
  explicit Group(unsigned threads) : barrier(threads) {
    for (unsigned i = 0; i < threads / 32; ++i) warps.push_back(std::make_unique<Warp>());
  }
  std::barrier<> barrier;
  std::vector<std::unique_ptr<Warp>> warps;
};

thread_local Group* group = nullptr;
thread_local unsigned groupNumber = 0, threadNumber = 0;

struct Copy {
  char* to;
  const char* from;
  uint32_t bytes;
};
thread_local std::vector<Copy> openBatch;
thread_local std::deque<std::vector<Copy>> batches;

Warp& warp() { return *group->warps[threadNumber / 32]; }
unsigned lane() { return threadNumber % 32; }

extern "C" {
uint32_t test_group() { return groupNumber; }
uint32_t test_thread() { return threadNumber; }
void test_barrier() { group->barrier.arrive_and_wait(); }

// Copies are made as late as they may be: when their thread waits for them.
void test_copy(char* to, const char* from, uint32_t bytes) {
  EXPECT_EQ(reinterpret_cast<uintptr_t>(to) % 16, 0u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(from) % 16, 0u);
  openBatch.push_back({to, from, bytes});
}

void test_end_batch() {
  batches.push_back(std::move(openBatch));
  openBatch.clear();
}

void test_wait(uint32_t left) {
  while (batches.size() > left) {
    for (const Copy& copy : batches.front()) {
      std::memcpy(copy.to, copy.from, copy.bytes);
      std::memset(copy.to + copy.bytes, 0, 16 - copy.bytes);
    }
    batches.pop_front();
  }
}

// Thread i gets, of each matrix, elements 2 * (i % 4) and the next of row i / 4; transposed, of
// column i / 4.
void test_load(const char* address, uint32_t transposed, uint32_t* result) {
  Warp& w = warp();
  w.addresses[lane()] = address;
  w.barrier.arrive_and_wait();
  for (unsigned m = 0; m < 4; ++m) {
    uint16_t pair[2];
    for (unsigned e = 0; e < 2; ++e) {
      unsigned row = lane() / 4, column = lane() % 4 * 2 + e;
      if (transposed) std::swap(row, column);
      std::memcpy(&pair[e], w.addresses[m * 8 + row] + column * 2, 2);
    }
    std::memcpy(&result[m], pair, 4);
  }
  w.barrier.arrive_and_wait();
}
}

float fromBits(uint16_t bits, TensorType type) {
  if (type == TensorType::kBf16) {
    uint32_t wide = uint32_t{bits} << 16;
    float value;
    std::memcpy(&value, &wide, 4);
    return value;
  }
  _Float16 half;
  std::memcpy(&half, &bits, 2);
  return static_cast<float>(half);
}

// Element number i of a thread's fragment, of `perRegister` elements each.
double element(const uint32_t* registers, unsigned i, TensorType type) {
  if (type == TensorType::kS8) {
    int8_t value;
    std::memcpy(&value, reinterpret_cast<const char*>(registers) + i, 1);
    return value;
  }
  uint16_t bits;
  std::memcpy(&bits, reinterpret_cast<const char*>(registers) + 2 * i, 2);
  return fromBits(bits, type);
}

// sums[i] += the products of row (lane / 4, or 8 below) and column (lane % 4) * 2 (+ 1).
template <typename Sum>
void multiply(uint32_t type32, const uint32_t* a, const uint32_t* b, Sum* sums) {
  auto type = static_cast<TensorType>(type32);
  Warp& w = warp();
  std::memcpy(w.a[lane()], a, sizeof(w.a[0]));
  std::memcpy(w.b[lane()], b, sizeof(w.b[0]));
  w.barrier.arrive_and_wait();
  unsigned per = type == TensorType::kS8 ? 4 : 2;  // neighbouring sums of a thread
  unsigned k = 8 * per;
  for (unsigned i = 0; i < 4; ++i) {
    unsigned row = lane() / 4 + (i >= 2 ? 8 : 0), column = lane() % 4 * 2 + i % 2;
    double sum = static_cast<double>(sums[i]);
    for (unsigned s = 0; s < k; ++s) {
      // Which thread and element of it has (row, s), and (s, column).
      unsigned half = s / (4 * per), inHalf = s % (4 * per);
      unsigned ofA = half * 2 * per + (row >= 8 ? per : 0) + inHalf % per;
      unsigned ofB = half * per + inHalf % per;
      sum += element(w.a[row % 8 * 4 + inHalf / per], ofA, type) *
             element(w.b[column * 4 + inHalf / per], ofB, type);
    }
    sums[i] = static_cast<Sum>(sum);
  }
  w.barrier.arrive_and_wait();
}

extern "C" {
void test_multiply_f32(uint32_t type, const uint32_t* a, const uint32_t* b, float* sums) {
  multiply(type, a, b, sums);
}
void test_multiply_i32(uint32_t type, const uint32_t* a, const uint32_t* b, int32_t* sums) {
  multiply(type, a, b, sums);
}
}

void* resolve(const std::string& name) {
#define ISTHMUS_TEST_FUNCTION(function) \
  if (name == #function) return reinterpret_cast<void*>(&function);
  ISTHMUS_TEST_FUNCTION(test_group)
  ISTHMUS_TEST_FUNCTION(test_thread)
  ISTHMUS_TEST_FUNCTION(test_barrier)
  ISTHMUS_TEST_FUNCTION(test_copy)
  ISTHMUS_TEST_FUNCTION(test_end_batch)
  ISTHMUS_TEST_FUNCTION(test_wait)
  ISTHMUS_TEST_FUNCTION(test_load)
  ISTHMUS_TEST_FUNCTION(test_multiply_f32)
  ISTHMUS_TEST_FUNCTION(test_multiply_i32)
#undef ISTHMUS_TEST_FUNCTION
  return cpu::resolveRuntimeSymbol(name);
}

// ---- Calls of the above -------------------------------------------------------------------------

using Builder = TensorOps::Builder;

llvm::Value* call(Builder& b, const char* name, llvm::Type* result,
                  llvm::ArrayRef<llvm::Value*> arguments) {
  llvm::SmallVector<llvm::Type*> types;
  for (llvm::Value* argument : arguments) types.push_back(argument->getType());
  llvm::FunctionCallee callee = b.GetInsertBlock()->getModule()->getOrInsertFunction(
      name, llvm::FunctionType::get(result, types, false));
  return b.CreateCall(callee, arguments);
}

// No kernel has a cast between address spaces, and no function of this process has any.
llvm::Value* flat(Builder& b, llvm::Value* address) {
  return b.CreateIntToPtr(b.CreatePtrToInt(address, b.getInt64Ty()), b.getPtrTy());
}

llvm::Value* spill(Builder& b, llvm::ArrayRef<llvm::Value*> values) {
  auto* array = llvm::ArrayType::get(values[0]->getType(), values.size());
  llvm::BasicBlock& entry = b.GetInsertBlock()->getParent()->getEntryBlock();
  llvm::Value* memory = Builder(&entry, entry.begin()).CreateAlloca(array);
  for (size_t i = 0; i < values.size(); ++i) {
    b.CreateStore(values[i], b.CreateConstInBoundsGEP2_64(array, memory, 0, i));
  }
  return memory;
}

std::array<llvm::Value*, 4> reload(Builder& b, llvm::Value* memory, llvm::Type* type) {
  std::array<llvm::Value*, 4> values;
  for (unsigned i = 0; i < 4; ++i) {
    values[i] = b.CreateLoad(type, b.CreateConstInBoundsGEP1_64(type, memory, i));
  }
  return values;
}

TensorOps testOps() {
  TensorOps ops;
  ops.loadMatrices = [](Builder& b, llvm::Value* address, bool transposed) {
    llvm::Value* zero = b.getInt32(0);
    llvm::Value* memory = spill(b, {zero, zero, zero, zero});
    call(b, "test_load", b.getVoidTy(), {flat(b, address), b.getInt32(transposed), memory});
    return reload(b, memory, b.getInt32Ty());
  };
  ops.multiply = [](Builder& b, TensorType type, const std::array<llvm::Value*, 4>& a,
                    const std::array<llvm::Value*, 2>& x, const std::array<llvm::Value*, 4>& c) {
    llvm::Value* sums = spill(b, c);
    const char* name = type == TensorType::kS8 ? "test_multiply_i32" : "test_multiply_f32";
    call(b, name, b.getVoidTy(),
         {b.getInt32(static_cast<uint32_t>(type)), spill(b, a), spill(b, x), sums});
    return reload(b, sums, c[0]->getType());
  };
  ops.copyAsync = [](Builder& b, llvm::Value* to, llvm::Value* from, llvm::Value* bytes) {
    call(b, "test_copy", b.getVoidTy(), {flat(b, to), flat(b, from), bytes});
  };
  ops.endBatch = [](Builder& b) { call(b, "test_end_batch", b.getVoidTy(), {}); };
  ops.waitForBatches = [](Builder& b, unsigned left) {
    call(b, "test_wait", b.getVoidTy(), {b.getInt32(left)});
  };
  ops.groupIndex = [](Builder& b) { return call(b, "test_group", b.getInt32Ty(), {}); };
  ops.threadInGroup = [](Builder& b) { return call(b, "test_thread", b.getInt32Ty(), {}); };
  ops.barrier = [](Builder& b) { call(b, "test_barrier", b.getVoidTy(), {}); };
  return ops;
}

// ---- A kernel, compiled and run -----------------------------------------------------------------

class DotKernel {
 public:
  DotKernel(const std::string& lhs, const std::string& rhs, const std::string& result,
            const std::string& numbers, int64_t units)
      : context_(mlir::MLIRContext::Threading::DISABLED) {
    std::string text = "func.func @main(%a: " + lhs + ", %b: " + rhs + ") -> " + result +
                       " {\n%r = stablehlo.dot_general %a, %b, " + numbers + " : (" + lhs + ", " +
                       rhs + ") -> " + result + "\nreturn %r : " + result + "\n}\n";
    compile(text, units);
  }
  // Of a program with one product, which may have an epilogue.
  DotKernel(const std::string& text, int64_t units)
      : context_(mlir::MLIRContext::Threading::DISABLED) {
    compile(text, units);
  }

  void compile(const std::string& text, int64_t units) {
    loadAllDialects(context_);
    module_ = mlir::parseSourceString<mlir::ModuleOp>(text, &context_);
    EXPECT_TRUE(module_) << text;
    codegen::WorkItemForm form;
    form.target = nvidiaTarget(80);
    form.target.products.enoughGroups = units;
    form.target.convertsF16 = form.target.roundsToBf16 = false;
    form.globalSpace = 0;
    form.convention = llvm::CallingConv::C;
    shlo::DotGeneralOp op;
    module_->walk([&](shlo::DotGeneralOp found) { op = found; });
    isOnTensorCores_ = chooseProduct(op, form.target).product.form == ProductForm::kTensors;
    if (!isOnTensorCores_) return;
    cpu::JitModule jit = std::move(*cpu::makeModule("test", cpu::hostTarget()));
    auto emitOther = [&](mlir::Operation* product, const codegen::ProductTask& task) {
      return emitTensorDot(product, task, *jit.module, form, testOps(), "dot");
    };
    ir::FusionOp fusion;
    module_->walk([&](ir::FusionOp found) { fusion = found; });
    StatusOr<codegen::OpKernels> kernels =
        fusion ? codegen::emitProductWithEpilogue(fusion, *jit.module, form, "dot", emitOther)
               : codegen::emitProduct(op, *jit.module, form, "dot", emitOther);
    ASSERT_TRUE(kernels.ok()) << kernels.status().message();
    kernel_ = kernels->stages[0];
    llvm::SmallVector<llvm::GlobalVariable*> arrays;
    for (llvm::GlobalVariable& variable : jit.module->globals()) {
      if (variable.getAddressSpace() == 3) arrays.push_back(&variable);
    }
    for (llvm::GlobalVariable* array : arrays) {
      auto size = llvm::cast<llvm::ArrayType>(array->getValueType())->getNumElements();
      sharedBytes_ += size;
      memory_.push_back(std::make_unique<std::vector<Aligned>>(size / sizeof(Aligned)));
      auto* address = llvm::ConstantInt::get(llvm::Type::getInt64Ty(jit.module->getContext()),
                                             reinterpret_cast<uint64_t>(memory_.back()->data()));
      array->replaceAllUsesWith(llvm::ConstantExpr::getIntToPtr(address, array->getType()));
      array->eraseFromParent();
    }
    cpu::CodegenOptions options;
    options.verify = true;
    StatusOr<std::string> object = cpu::compileToObject(*jit.module, cpu::hostTarget(), options);
    EXPECT_TRUE(object.ok()) << object.status().message();
    code_ = std::move(*cpu::LoadedCode::load({&*object, 1}, resolve));
  }

  bool isOnTensorCores() const { return isOnTensorCores_; }
  unsigned threads() const { return kernel_.groupThreads; }
  uint64_t sharedBytes() const { return sharedBytes_; }

  void run(const void* lhs, const void* rhs, void* result) { run(lhs, rhs, result, nullptr); }
  void run(const void* a, const void* b, const void* c, void* d) {
    auto* function = reinterpret_cast<void (*)(const void*, const void*, const void*, void*)>(
        code_->lookup("dot"));
    for (int64_t number = 0; number < kernel_.items[0]; ++number) {
      Group own(kernel_.groupThreads);
      std::vector<std::thread> threads;
      for (unsigned t = 0; t < kernel_.groupThreads; ++t) {
        threads.emplace_back([&, t] {
          group = &own;
          groupNumber = static_cast<unsigned>(number);
          threadNumber = t;
          function(a, b, c, d);
        });
      }
      for (std::thread& thread : threads) thread.join();
    }
  }

 private:
  struct alignas(128) Aligned {
    char bytes[128];
  };
  mlir::MLIRContext context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  bool isOnTensorCores_ = false;
  codegen::OpKernel kernel_;
  uint64_t sharedBytes_ = 0;
  std::vector<std::unique_ptr<std::vector<Aligned>>> memory_;
  std::unique_ptr<cpu::LoadedCode> code_;
};

// Small whole numbers: all sums are exact in any order.
template <typename T>
struct Array {
  explicit Array(int64_t count) : storage(static_cast<size_t>(count) * sizeof(T) / 16 + 1) {}
  T* data() { return reinterpret_cast<T*>(storage.data()); }
  struct alignas(16) Chunk {
    char bytes[16];
  };
  std::vector<Chunk> storage;
};

template <typename T>
T encode(int value, TensorType type) {
  if constexpr (sizeof(T) == 1) {
    return static_cast<T>(value);
  } else {
    auto number = static_cast<float>(value);
    T bits;
    if (type == TensorType::kBf16) {
      uint32_t wide;
      std::memcpy(&wide, &number, 4);
      return static_cast<T>(wide >> 16);
    }
    auto half = static_cast<_Float16>(number);
    std::memcpy(&bits, &half, 2);
    return bits;
  }
}

struct Shape {
  int64_t batch, rows, columns, sums;
  bool lhsAlongSums, rhsAlongSums;
};

template <typename T, typename Result>
void check(TensorType type, const std::string& in, const std::string& out, const Shape& shape,
           int64_t units, unsigned threads) {
  auto dims = [&](int64_t x, int64_t y, const std::string& name) {
    return "tensor<" + std::to_string(shape.batch) + "x" + std::to_string(x) + "x" +
           std::to_string(y) + "x" + name + ">";
  };
  auto [b, m, n, k, lhsAlong, rhsAlong] = shape;
  std::string numbers = "batching_dims = [0] x [0], contracting_dims = [" +
                        std::to_string(lhsAlong ? 2 : 1) + "] x [" +
                        std::to_string(rhsAlong ? 2 : 1) + "]";
  DotKernel kernel(lhsAlong ? dims(m, k, in) : dims(k, m, in),
                   rhsAlong ? dims(n, k, in) : dims(k, n, in), dims(m, n, out), numbers, units);
  ASSERT_TRUE(kernel.isOnTensorCores());
  EXPECT_EQ(kernel.threads(), threads);
  EXPECT_LE(kernel.sharedBytes(), 48u << 10);
  std::mt19937 random(3);
  std::uniform_int_distribution<int> value(-4, 4);
  std::vector<int> left(b * m * k), right(b * n * k);
  Array<T> lhs(b * m * k), rhs(b * n * k);
  for (size_t i = 0; i < left.size(); ++i) lhs.data()[i] = encode<T>(left[i] = value(random), type);
  for (size_t i = 0; i < right.size(); ++i) {
    rhs.data()[i] = encode<T>(right[i] = value(random), type);
  }
  Array<Result> result(b * m * n + 1);
  std::memset(result.storage.data(), 0x55, result.storage.size() * 16);
  Result untouched = result.data()[b * m * n];
  kernel.run(lhs.data(), rhs.data(), result.data());
  EXPECT_EQ(std::memcmp(&untouched, &result.data()[b * m * n], sizeof(Result)), 0);
  int wrong = 0;
  for (int64_t z = 0; z < b; ++z) {
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        int expected = 0;
        for (int64_t s = 0; s < k; ++s) {
          expected += left[z * m * k + (lhsAlong ? i * k + s : s * m + i)] *
                      right[z * n * k + (rhsAlong ? j * k + s : s * n + j)];
        }
        Result got = result.data()[(z * m + i) * n + j];
        Result wanted;
        if constexpr (sizeof(Result) == 2) {
          wanted = encode<Result>(expected, type);
        } else {
          wanted = static_cast<Result>(expected);
        }
        if (got != wanted && ++wrong < 5) {
          ADD_FAILURE() << "at " << z << ", " << i << ", " << j << ": got " << got << ", expected "
                        << wanted;
        }
      }
    }
  }
  EXPECT_EQ(wrong, 0);
}

TEST(TensorDot, rows_by_columns_both_along_the_sums) {
  check<uint16_t, float>(TensorType::kBf16, "bf16", "f32", {1, 64, 64, 32, true, true}, 99, 128);
}

TEST(TensorDot, odd_sizes_in_batches_with_rhs_along_the_columns) {
  check<uint16_t, float>(TensorType::kF16, "f16", "f32", {2, 67, 72, 136, true, false}, 99, 128);
}

TEST(TensorDot, lhs_along_the_rows_to_a_narrow_result) {
  check<uint16_t, uint16_t>(TensorType::kBf16, "bf16", "bf16", {1, 80, 33, 48, false, true}, 99,
                            128);
}

TEST(TensorDot, bytes) {
  check<int8_t, int32_t>(TensorType::kS8, "i8", "i32", {1, 65, 70, 144, true, true}, 99, 128);
}

TEST(TensorDot, large_tiles) {
  check<uint16_t, uint16_t>(TensorType::kF16, "f16", "f16", {1, 136, 120, 40, false, false}, 1,
                            128);
}

// As attention has them: rows and columns of [batch, length, heads, width] arrays, by batch and
// head.
TEST(TensorDot, batches_of_two_dimensions_that_lie_apart) {
  constexpr int64_t kBatch = 2, kRows = 40, kKeys = 24, kHeads = 3, kWidth = 16;
  DotKernel kernel("tensor<2x40x3x16xbf16>", "tensor<2x24x3x16xbf16>", "tensor<2x3x40x24xf32>",
                   "batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3]", 99);
  ASSERT_TRUE(kernel.isOnTensorCores());
  std::mt19937 random(7);
  std::uniform_int_distribution<int> value(-4, 4);
  std::vector<int> left(kBatch * kRows * kHeads * kWidth), right(kBatch * kKeys * kHeads * kWidth);
  Array<uint16_t> lhs(static_cast<int64_t>(left.size())), rhs(static_cast<int64_t>(right.size()));
  for (size_t i = 0; i < left.size(); ++i) {
    lhs.data()[i] = encode<uint16_t>(left[i] = value(random), TensorType::kBf16);
  }
  for (size_t i = 0; i < right.size(); ++i) {
    rhs.data()[i] = encode<uint16_t>(right[i] = value(random), TensorType::kBf16);
  }
  Array<float> result(kBatch * kHeads * kRows * kKeys);
  kernel.run(lhs.data(), rhs.data(), result.data());
  for (int64_t b = 0; b < kBatch; ++b) {
    for (int64_t h = 0; h < kHeads; ++h) {
      for (int64_t i = 0; i < kRows; ++i) {
        for (int64_t j = 0; j < kKeys; ++j) {
          int sum = 0;
          for (int64_t s = 0; s < kWidth; ++s) {
            sum += left[((b * kRows + i) * kHeads + h) * kWidth + s] *
                   right[((b * kKeys + j) * kHeads + h) * kWidth + s];
          }
          ASSERT_EQ(result.data()[((b * kHeads + h) * kRows + i) * kKeys + j],
                    static_cast<float>(sum))
              << b << " " << h << " " << i << " " << j;
        }
      }
    }
  }
}

// max(product + bias, 0), after so many steps that change nothing.
void checkEpilogue(int steps, const char* repeated) {
  constexpr int64_t m = 67, n = 72, k = 40;
  std::string work;
  std::string last = "%2";
  for (int i = 0; i < steps; ++i) {
    std::string next = "%s" + std::to_string(i);
    work += next + " = stablehlo." + repeated + " " + last + " : tensor<67x72xf32>\n";
    last = next;
  }
  DotKernel kernel(R"(
      func.func @main(%a: tensor<67x40xbf16>, %b: tensor<40x72xbf16>, %c: tensor<72xf32>)
          -> tensor<67x72xf32> {
        %r = "isthmus.fusion"(%c, %a, %b) ({
        ^bb0(%v: tensor<72xf32>, %x: tensor<67x40xbf16>, %w: tensor<40x72xbf16>):
          %z = stablehlo.constant dense<0.0> : tensor<67x72xf32>
          %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
              : (tensor<67x40xbf16>, tensor<40x72xbf16>) -> tensor<67x72xf32>
          %1 = stablehlo.broadcast_in_dim %v, dims = [1] : (tensor<72xf32>) -> tensor<67x72xf32>
          %2 = stablehlo.add %0, %1 : tensor<67x72xf32>
          )" + work + "%m = stablehlo.maximum " +
                       last + R"(, %z : tensor<67x72xf32>
          isthmus.yield %m : tensor<67x72xf32>
        }) : (tensor<72xf32>, tensor<67x40xbf16>, tensor<40x72xbf16>) -> tensor<67x72xf32>
        return %r : tensor<67x72xf32>
      })",
                   99);
  ASSERT_TRUE(kernel.isOnTensorCores());
  std::mt19937 random(5);
  std::uniform_int_distribution<int> value(-4, 4);
  std::vector<int> left(m * k), right(k * n);
  Array<uint16_t> lhs(m * k), rhs(k * n);
  Array<float> bias(n), result(m * n + 1);
  for (size_t i = 0; i < left.size(); ++i) {
    lhs.data()[i] = encode<uint16_t>(left[i] = value(random), TensorType::kBf16);
  }
  for (size_t i = 0; i < right.size(); ++i) {
    rhs.data()[i] = encode<uint16_t>(right[i] = value(random), TensorType::kBf16);
  }
  for (int64_t j = 0; j < n; ++j) bias.data()[j] = static_cast<float>(value(random));
  result.data()[m * n] = -7;
  kernel.run(bias.data(), lhs.data(), rhs.data(), result.data());
  EXPECT_EQ(result.data()[m * n], -7);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      int sum = static_cast<int>(bias.data()[j]);
      for (int64_t s = 0; s < k; ++s) sum += left[i * k + s] * right[s * n + j];
      ASSERT_EQ(result.data()[i * n + j], static_cast<float>(std::max(sum, 0))) << i << " " << j;
    }
  }
}

TEST(TensorDot, epilogue_of_each_sum) { checkEpilogue(0, ""); }

TEST(TensorDot, long_epilogue_in_a_loop) { checkEpilogue(40, "floor"); }

TEST(TensorDot, what_does_not_fit_is_left_to_others) {
  auto fits = [](const char* lhs, const char* rhs, const char* result) {
    return DotKernel(lhs, rhs, result, "contracting_dims = [1] x [0]", 1).isOnTensorCores();
  };
  EXPECT_TRUE(fits("tensor<64x64xbf16>", "tensor<64x64xbf16>", "tensor<64x64xbf16>"));
  // f32 stays f32.
  EXPECT_FALSE(fits("tensor<64x64xf32>", "tensor<64x64xf32>", "tensor<64x64xf32>"));
  EXPECT_FALSE(fits("tensor<64x63xbf16>", "tensor<63x64xbf16>", "tensor<64x64xbf16>"));
  EXPECT_FALSE(fits("tensor<4x64xbf16>", "tensor<64x64xbf16>", "tensor<4x64xbf16>"));
  // Bytes are read along the sums alone.
  EXPECT_FALSE(fits("tensor<64x64xi8>", "tensor<64x64xi8>", "tensor<64x64xi32>"));
}

}  // namespace
}  // namespace isthmus::cuda

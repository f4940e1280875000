// Convolutions by cuDNN, over a fake that computes from the descriptors that it is given: whole
// programs against the reference evaluator, and the way through a client.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "backends/cuda/driver/dnn/dnn.h"
#include "backends/cuda/driver/driver.h"
#include "backends/cuda/driver/fake/fake_cuda.h"
#include "backends/cuda/driver/fake/fake_dnn.h"
#include "backends/cuda/driver/fake/fake_testing.h"
#include "backends/cuda/kernels/conv_dnn.h"
#include "backends/cuda/launch/graph_cache.h"
#include "backends/cuda/testing/run_program.h"
#include "compiler/import/import.h"
#include "compiler/pipeline/pipeline.h"
#include "compiler/reference/call.h"
#include "isthmus/backend.h"
#include "isthmus/flags.h"
#include "mlir/IR/Verifier.h"
#include "runtime/client.h"
#include "runtime/device/device.h"
#include "runtime/executable/loaded_executable.h"

namespace isthmus::cuda {
namespace {

using reference::Tensor;
using reference::Value;
using ::testing::AllOf;
using ::testing::Each;
using testing::Floats;
using ::testing::HasSubstr;
using ::testing::Not;
using Dims = std::vector<int64_t>;

constexpr int64_t kScratchBytes = 1 << 20;

struct Case {
  std::string name;
  std::string type;
  Dims lhs, rhs;
  std::string numbers;                                                 // "b01f 01io b01f"
  Dims stride = {}, padding = {}, lhsDilation = {}, rhsDilation = {};  // empty: of the usual value
  bool isReversed = false;
  bool reversesKernelBefore = false;  // by an operation of its own
  int featureGroups = 1, batchGroups = 1;
};

std::string list(const Dims& numbers) {
  std::string text;
  for (int64_t number : numbers) text += (text.empty() ? "" : ", ") + std::to_string(number);
  return "[" + text + "]";
}

std::string tensor(const Dims& dims, const std::string& type) {
  std::string text = "tensor<";
  for (int64_t dim : dims) text += std::to_string(dim) + "x";
  return text + type + ">";
}

// "b01f" is [b, 0, 1, f].
std::string listed(const std::string& letters) {
  std::string text;
  for (char letter : letters) text += (text.empty() ? "" : ", ") + std::string(1, letter);
  return "[" + text + "]";
}

std::string textOf(const Case& c) {
  const size_t rank = c.lhs.size(), axes = rank - 2;
  const std::string lhs = c.numbers.substr(0, rank), rhs = c.numbers.substr(rank + 1, rank),
                    out = c.numbers.substr(2 * rank + 2, rank);
  auto at = [](const Dims& values, size_t i, int64_t usual) {
    return values.empty() ? usual : values[i];
  };
  Dims result(rank);
  result[out.find('b')] = c.lhs[lhs.find('b')] / c.batchGroups;
  result[out.find('f')] = c.rhs[rhs.find('o')];
  std::string pads;
  for (size_t i = 0; i < axes; ++i) {
    const char digit = static_cast<char>('0' + i);
    int64_t low = at(c.padding, 2 * i, 0), high = at(c.padding, 2 * i + 1, 0);
    int64_t image = (c.lhs[lhs.find(digit)] - 1) * at(c.lhsDilation, i, 1) + 1 + low + high;
    int64_t window = (c.rhs[rhs.find(digit)] - 1) * at(c.rhsDilation, i, 1) + 1;
    result[out.find(digit)] = (image - window) / at(c.stride, i, 1) + 1;
    pads += (i ? ", " : "") + list({low, high});
  }
  const Dims ones(axes, 1);
  std::string reversal;
  for (size_t i = 0; i < axes; ++i) {
    reversal += std::string(i ? ", " : "") + (c.isReversed ? "true" : "false");
  }
  std::string reversedDims;
  for (size_t i = 0; i < axes; ++i) {
    reversedDims += (i ? ", " : "") + std::to_string(rhs.find(static_cast<char>('0' + i)));
  }
  const std::string x = tensor(c.lhs, c.type), w = tensor(c.rhs, c.type),
                    y = tensor(result, c.type);
  std::string text = "func.func @main(%a: " + x + ", %b: " + w + ") -> " + y + " {\n";
  if (c.reversesKernelBefore) {
    text += "%k = stablehlo.reverse %b, dims = [" + reversedDims + "] : " + w + "\n";
  }
  return text + "%r = stablehlo.convolution(%a, " + (c.reversesKernelBefore ? "%k" : "%b") +
         ") dim_numbers = " + listed(lhs) + "x" + listed(rhs) + "->" + listed(out) +
         ", window = {stride = " + list(c.stride.empty() ? ones : c.stride) + ", pad = [" + pads +
         "], lhs_dilate = " + list(c.lhsDilation.empty() ? ones : c.lhsDilation) +
         ", rhs_dilate = " + list(c.rhsDilation.empty() ? ones : c.rhsDilation) + ", reverse = [" +
         reversal + "]} {batch_group_count = " + std::to_string(c.batchGroups) +
         " : i64, feature_group_count = " + std::to_string(c.featureGroups) + " : i64} : (" + x +
         ", " + w + ") -> " + y + " loc(\"model.py\":7:3)\nreturn %r : " + y + "\n}";
}

class CudaConvolution : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    FAKE(fake_cuda_reset)(1, 90, uint64_t{1} << 28);
    setFlagForTest("ISTHMUS_LOG", "compile");  // read once
  }

  void SetUp() override {
    auto driver = Driver::create(ISTHMUS_FAKE_CUDA, {}, 1);
    ASSERT_TRUE(driver.ok()) << driver.status().message();
    driver_ = std::move(*driver);
    auto dnn = Dnn::load(ISTHMUS_FAKE_CUDA, *driver_);
    ASSERT_TRUE(dnn.ok()) << dnn.status().message();
    dnn_ = std::move(*dnn);
    older_ = std::move(*Dnn::load(ISTHMUS_FAKE_CUDA, *driver_));
  }

  mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string& text) {
    auto module = importProgram(text, "mlir", *context_);
    EXPECT_TRUE(module.ok()) << module.status().message() << "\n" << text;
    return module.ok() ? std::move(*module) : mlir::OwningOpRef<mlir::ModuleOp>();
  }

  void arrange(mlir::ModuleOp module, bool allowsTf32 = false) {
    arrangeConvolutions(
        module, allowsTf32,
        [&](const DnnConvolution& convolution) {
          return dnn_->plan(0, convolution, kScratchBytes).status();
        },
        [](shlo::ConvolutionOp) { return false; });
    EXPECT_TRUE(mlir::succeeded(mlir::verify(module)));
  }

  // Small whole numbers, so that sums are exact in all types.
  static Tensor argument(mlir::Type type, int64_t seed) {
    auto array = llvm::cast<mlir::RankedTensorType>(type);
    ElementType element = array.getElementType().isF32()    ? ElementType::kF32
                          : array.getElementType().isF16()  ? ElementType::kF16
                          : array.getElementType().isBF16() ? ElementType::kBF16
                                                            : ElementType::kF64;
    Tensor made = *Tensor::make({element, Dims(array.getShape())});
    for (int64_t i = 0; i < made.size(); ++i) {
      uint64_t bits = static_cast<uint64_t>(i * 4 + seed) * 0x9e3779b97f4a7c15;
      made.set(i, {.re = static_cast<double>((bits >> 40) % 3) - 1});
    }
    return made;
  }

  StatusOr<Tensor> run(mlir::ModuleOp module, reference::InterpreterOptions options = {}) {
    auto main = module.lookupSymbol<mlir::func::FuncOp>("main");
    std::vector<Value> arguments;
    for (mlir::Type type : main.getArgumentTypes()) {
      arguments.emplace_back(argument(type, 1 + static_cast<int64_t>(arguments.size())));
    }
    ISTHMUS_ASSIGN_OR_RETURN(
        std::vector<Value> results,
        reference::Interpreter(module, std::move(options)).run(main, std::move(arguments)));
    return results[0].tensor;
  }

  // By the library, over the device's memory: as a graph, and by the functions that are older.
  Status convolve(reference::Call& call, const DnnConvolution& convolution) {
    FAKE(fake_dnn_refuse_graphs)(1);
    StatusOr<Tensor> older = convolve(call, convolution, *older_);
    FAKE(fake_dnn_refuse_graphs)(0);
    ISTHMUS_RETURN_IF_ERROR(older.status());
    ISTHMUS_ASSIGN_OR_RETURN(Tensor result, convolve(call, convolution, *dnn_));
    EXPECT_EQ(std::memcmp(older->data(), result.data(), result.sizeBytes()), 0);
    call.results.emplace_back(std::move(result));
    return {};
  }

  StatusOr<Tensor> convolve(reference::Call& call, const DnnConvolution& convolution, Dnn& dnn) {
    ISTHMUS_ASSIGN_OR_RETURN(std::shared_ptr<const DnnPlan> plan,
                             dnn.plan(0, convolution, kScratchBytes));
    ISTHMUS_ASSIGN_OR_RETURN(
        Tensor result,
        call.make(
            call.resultElementType(),
            reference::toDims(llvm::cast<mlir::RankedTensorType>(call.resultTypes[0]).getShape())));
    void* places[4];
    const size_t sizes[4] = {call.tensor(0).sizeBytes(), call.tensor(1).sizeBytes(),
                             result.sizeBytes(), static_cast<size_t>(Dnn::scratchBytes(*plan))};
    for (int i = 0; i < 4; ++i) {
      ISTHMUS_ASSIGN_OR_RETURN(places[i], driver_->allocate(0, Queue::kCompute, sizes[i]));
    }
    for (int i = 0; i < 2; ++i) {
      ISTHMUS_RETURN_IF_ERROR(driver_->copy(0, Queue::kCompute, places[i],
                                            call.tensor(static_cast<size_t>(i)).data(), sizes[i]));
    }
    ISTHMUS_RETURN_IF_ERROR(
        dnn.run(0, Queue::kCompute, *plan, std::span(places).first(3), places[3]));
    ISTHMUS_RETURN_IF_ERROR(driver_->copy(0, Queue::kCompute, result.data(), places[2], sizes[2]));
    ISTHMUS_RETURN_IF_ERROR(driver_->synchronize(0, Queue::kCompute));
    for (void* place : places) driver_->free(0, Queue::kCompute, place);
    return result;
  }

  // The program with its convolutions by cuDNN against the program as it reads. Returns what the
  // driver was told to do.
  std::string check(const Case& c) {
    SCOPED_TRACE(c.name);
    mlir::OwningOpRef<mlir::ModuleOp> module = parse(textOf(c));
    if (!module) return "";
    StatusOr<Tensor> expected = run(*module);
    EXPECT_TRUE(expected.ok()) << expected.status().message();
    arrange(*module);
    size_t before = std::string(FAKE(fake_cuda_log)()).size();
    reference::InterpreterOptions options;
    options.extension = [&](reference::Call& call) -> StatusOr<bool> {
      auto op = llvm::dyn_cast<shlo::ConvolutionOp>(call.op);
      if (!op) return false;
      std::optional<DnnConvolution> convolution = dnnConvolutionOf(op, false);
      if (!convolution) return internalError("not arranged");
      ISTHMUS_RETURN_IF_ERROR(convolve(call, *convolution));
      return true;
    };
    StatusOr<Tensor> got = run(*module, std::move(options));
    EXPECT_TRUE(got.ok()) << got.status().message();
    if (!got.ok() || !expected.ok()) return "";
    EXPECT_EQ(got->dims(), expected->dims());
    EXPECT_EQ(std::memcmp(got->data(), expected->data(), expected->sizeBytes()), 0);
    // Not all the same, or nothing would be seen.
    std::set<double> values;
    for (int64_t i = 0; i < expected->size(); ++i) values.insert(expected->get(i).re);
    EXPECT_GT(values.size(), 3u);
    return std::string(FAKE(fake_cuda_log)()).substr(before);
  }

  std::unique_ptr<Driver> driver_;
  std::unique_ptr<Dnn> dnn_, older_;
  std::unique_ptr<mlir::MLIRContext> context_ = makeContext();
};

TEST_F(CudaConvolution, forward) {
  const char* kNhwc = "convolution forward NHWC";
  const char* kNchw = "convolution forward NCHW";
  EXPECT_THAT(check({"as JAX has it", "f32", {2, 7, 6, 8}, {3, 3, 8, 24}, "b01f 01io b01f"}),
              HasSubstr(kNhwc));
  EXPECT_THAT(check({"as PyTorch has it", "f32", {2, 8, 7, 6}, {16, 8, 3, 3}, "bf01 oi01 bf01"}),
              HasSubstr(kNchw));
  EXPECT_THAT(check({"strides and equal padding",
                     "bf16",
                     {2, 9, 8, 8},
                     {3, 3, 8, 24},
                     "b01f 01io b01f",
                     {2, 1},
                     {1, 1, 1, 1}}),
              HasSubstr(kNhwc));
  EXPECT_THAT(check({"padding on one side, SAME of TensorFlow",
                     "f16",
                     {4, 8, 8, 8},
                     {3, 3, 8, 24},
                     "b01f 01io b01f",
                     {2, 2},
                     {0, 1, 0, 1}}),
              HasSubstr(kNhwc));
  EXPECT_THAT(check({"padding unequal both ways",
                     "f32",
                     {2, 8, 9, 8},
                     {16, 8, 4, 2},
                     "bf01 oi01 bf01",
                     {1, 2},
                     {3, 1, 0, 2}}),
              HasSubstr(kNchw));
  EXPECT_THAT(check({"negative padding",
                     "f32",
                     {2, 10, 9, 8},
                     {3, 3, 8, 16},
                     "b01f 01io b01f",
                     {},
                     {-1, 2, 1, -2}}),
              HasSubstr(kNhwc));
  EXPECT_THAT(check({"dilation",
                     "f32",
                     {2, 9, 9, 8},
                     {3, 2, 8, 16},
                     "b01f 01io b01f",
                     {},
                     {2, 2, 1, 1},
                     {},
                     {2, 3}}),
              HasSubstr(kNhwc));
  EXPECT_THAT(check({"groups",
                     "f32",
                     {2, 8, 8, 16},
                     {3, 3, 4, 32},
                     "b01f 01io b01f",
                     {1, 1},
                     {1, 1, 1, 1},
                     {},
                     {},
                     false,
                     false,
                     4}),
              HasSubstr(kNhwc));
  EXPECT_THAT(check({"by channel",
                     "f32",
                     {4, 24, 14, 14},
                     {24, 1, 3, 3},
                     "bf01 oi01 bf01",
                     {1, 1},
                     {1, 1, 1, 1},
                     {},
                     {},
                     false,
                     false,
                     24}),
              HasSubstr(kNchw));
  EXPECT_THAT(check({"one dimension", "f32", {4, 40, 16}, {5, 16, 16}, "b0f 0io b0f", {2}, {2, 2}}),
              HasSubstr(kNhwc));
  EXPECT_THAT(check({"three dimensions",
                     "f32",
                     {2, 4, 5, 6, 4},
                     {2, 3, 3, 4, 24},
                     "b012f 012io b012f",
                     {1, 1, 2},
                     {0, 1, 1, 1, 1, 0}}),
              HasSubstr(kNhwc));
  EXPECT_THAT(
      check({"orders that nobody has", "f32", {8, 7, 2, 6}, {8, 3, 32, 3}, "f0b1 i0o1 1b0f"}),
      HasSubstr(kNhwc));
}

TEST_F(CudaConvolution, features_move_to_where_the_library_takes_them) {
  EXPECT_THAT(check({"not last", "f32", {2, 7, 6, 26}, {3, 3, 26, 16}, "b01f 01io b01f"}),
              HasSubstr("convolution forward NCHW"));
  Case gradient{"not last, gradient by the image of stride 2",
                "bf16",
                {2, 5, 5, 24},
                {3, 3, 26, 24},
                "b01f 01oi b01f",
                {},
                {2, 1, 2, 1},
                {2, 2}};
  gradient.isReversed = true;
  EXPECT_THAT(check(gradient), HasSubstr("convolution backward data NCHW"));
  EXPECT_THAT(check({"not first, gradient by the kernel",
                     "f16",
                     {3, 39, 8, 7},
                     {3, 16, 8, 7},
                     "fb01 io01 fb01",
                     {},
                     {1, 0, 1, 1}}),
              HasSubstr("convolution backward filter NHWC"));
}

TEST_F(CudaConvolution, gradients_by_the_image) {
  const char* kNhwc = "convolution backward data NHWC";
  const char* kNchw = "convolution backward data NCHW";
  Case c{"of stride 1", "f32", {2, 7, 6, 16}, {3, 3, 8, 16}, "b01f 01oi b01f", {}, {1, 1, 1, 1}};
  c.isReversed = true;
  EXPECT_THAT(check(c), HasSubstr(kNhwc));
  c.name = "of stride 1, with a kernel that is reversed before";
  c.isReversed = false;
  c.reversesKernelBefore = true;
  EXPECT_THAT(check(c), HasSubstr(kNhwc));
  Case strided{"of stride 2, equal padding",
               "bf16",
               {2, 5, 5, 24},
               {3, 3, 8, 24},
               "b01f 01oi b01f",
               {},
               {1, 2, 1, 1},
               {2, 2}};
  strided.isReversed = true;
  EXPECT_THAT(check(strided), HasSubstr(kNhwc));
  strided.name = "of stride 2, padding on one side";
  strided.padding = {2, 1, 2, 1};
  EXPECT_THAT(check(strided), HasSubstr(kNhwc));
  strided.name = "of stride 2, as if the kernel were reversed";
  strided.isReversed = false;
  EXPECT_THAT(check(strided), HasSubstr(kNhwc));
  Case single{"of a window of one and stride 2",
              "f32",
              {4, 6, 6, 24},
              {1, 1, 24, 24},
              "b01f 01oi b01f",
              {},
              {0, 1, 0, 1},
              {2, 2}};
  EXPECT_THAT(check(single), HasSubstr(kNhwc));
  Case first{"features first, dilated",
             "f16",
             {2, 16, 7, 7},
             {16, 8, 3, 3},
             "bf01 io01 bf01",
             {},
             {4, 4, 2, 3},
             {1, 2},
             {2, 1}};
  first.isReversed = true;
  EXPECT_THAT(check(first), HasSubstr(kNchw));
  Case wide{"more padding than windows reach, and less than none",
            "f32",
            {2, 7, 6, 16},
            {3, 3, 8, 16},
            "b01f 01oi b01f",
            {},
            {4, 1, -1, 1}};
  wide.isReversed = true;
  EXPECT_THAT(check(wide), HasSubstr(kNhwc));
  Case groups{"groups", "f32", {2, 8, 8, 16}, {3, 3, 4, 32}, "b01f 01io b01f", {}, {1, 1, 1, 1}};
  groups.isReversed = true;
  groups.featureGroups = 4;
  EXPECT_THAT(check(groups), HasSubstr("convolution forward NHWC"));
}

TEST_F(CudaConvolution, gradients_by_the_kernel) {
  const char* kNhwc = "convolution backward filter NHWC";
  const char* kNchw = "convolution backward filter NCHW";
  EXPECT_THAT(
      check(
          {"of stride 1", "f32", {3, 8, 7, 8}, {3, 8, 7, 16}, "f01b i01o 01bf", {}, {1, 1, 1, 1}}),
      HasSubstr(kNhwc));
  EXPECT_THAT(check({"of stride 2, padding on one side",
                     "bf16",
                     {4, 8, 8, 8},
                     {4, 4, 4, 48},
                     "f01b i01o 01bf",
                     {},
                     {0, 1, 0, 1},
                     {},
                     {2, 2}}),
              HasSubstr(kNhwc));
  EXPECT_THAT(check({"of stride 2, the last row not read",
                     "f32",
                     {4, 8, 8, 8},
                     {4, 4, 4, 48},
                     "f01b i01o 01bf",
                     {},
                     {1, 0, 1, 0},
                     {},
                     {2, 2}}),
              HasSubstr(kNhwc));
  EXPECT_THAT(check({"of dilation",
                     "f32",
                     {3, 9, 9, 8},
                     {3, 7, 5, 16},
                     "f01b i01o 01bf",
                     {2, 2},
                     {1, 1, 0, 0}}),
              HasSubstr(kNhwc));
  EXPECT_THAT(check({"features first",
                     "f16",
                     {3, 8, 8, 7},
                     {3, 16, 8, 7},
                     "fb01 io01 fb01",
                     {},
                     {1, 1, 1, 1}}),
              HasSubstr(kNchw));
  Case groups{"groups", "f32", {2, 8, 8, 16}, {2, 8, 8, 32}, "f01b i01o 01bf", {}, {1, 1, 1, 1}};
  groups.batchGroups = 4;
  EXPECT_THAT(check(groups), HasSubstr(kNhwc));
}

TEST_F(CudaConvolution, what_is_not_cudnns_stays_and_the_log_says_why) {
  const Case large{"", "f32", {2, 8, 8, 16}, {3, 3, 16, 32}, "b01f 01io b01f"};
  std::vector<std::pair<Case, std::string>> cases;
  auto add = [&](const std::string& why) -> Case& { return cases.emplace_back(large, why).first; };
  add("operands and result are not all f32, bf16 or f16").type = "f64";
  add("it is too little work for a call").rhs = {3, 3, 16, 1};
  Case& refused = add("CUDNN_STATUS_NOT_SUPPORTED");
  refused.lhs[3] = refused.rhs[2] = 13;
  Case& four = add("it has 4 spatial dimensions");
  four = {"", "f32", {2, 3, 3, 3, 3, 8}, {2, 2, 2, 2, 8, 16}, "b0123f 0123io b0123f"};
  Case& dilated = add("the image is dilated, and there are groups");
  dilated.lhsDilation = {2, 2};
  dilated.rhs[2] = 4;
  dilated.featureGroups = 4;
  Case& strided = add("the image is dilated, and windows have strides");
  strided.lhsDilation = {3, 3};
  strided.stride = {2, 2};
  Case& reversed = add("windows are reversed, and there are batch groups");
  reversed.lhs[0] = 8;
  reversed.batchGroups = 4;
  reversed.isReversed = true;
  for (const auto& [c, why] : cases) {
    mlir::OwningOpRef<mlir::ModuleOp> module = parse(textOf(c));
    ASSERT_TRUE(module);
    auto text = [&] {
      std::string printed;
      llvm::raw_string_ostream(printed) << *module;
      return printed;
    };
    std::string before = text();
    ::testing::internal::CaptureStderr();
    arrange(*module);
    std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(text(), before);
    EXPECT_THAT(said, HasSubstr(why));
    EXPECT_THAT(said, HasSubstr("at model.py:7:3 is not cuDNN's"));
  }
}

TEST_F(CudaConvolution, graphs_are_recorded) {
  DnnConvolution c;
  c.batch = 1;
  c.inputs = c.outputs = 1;
  c.axes = {{3, 1, 3, 0, 1, 1}, {3, 1, 3, 0, 1, 1}};
  auto plan = dnn_->plan(0, c, kScratchBytes);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_TRUE(Dnn::mayBeRecorded(**plan));
  FAKE(fake_dnn_refuse_graphs)(1);
  auto older = older_->plan(0, c, kScratchBytes);
  FAKE(fake_dnn_refuse_graphs)(0);
  ASSERT_TRUE(older.ok()) << older.status().message();
  EXPECT_FALSE(Dnn::mayBeRecorded(**older));

  void* places[4];
  for (void*& place : places) {
    place = *driver_->allocate(0, Queue::kCompute,
                               static_cast<size_t>(Dnn::scratchBytes(**plan)) + 256);
  }
  float *image = static_cast<float*>(places[0]), *result = static_cast<float*>(places[2]);
  *static_cast<float*>(places[1]) = 10;
  GraphCache cache(*driver_, 0);
  for (int run = 1; run < 4; ++run) {
    for (int i = 0; i < 9; ++i) image[i] = static_cast<float>(run + i);
    auto enqueue = [&](Queue queue) {
      return dnn_->run(0, queue, **plan, std::span(places).first(3), places[3]);
    };
    ASSERT_TRUE(cache.run({image}, enqueue).ok());
    ASSERT_TRUE(driver_->synchronize(0, Queue::kCompute).ok());
    for (int i = 0; i < 9; ++i) EXPECT_EQ(result[i], static_cast<float>(10 * (run + i)));
  }
  EXPECT_EQ(cache.replays(), 2);
  for (void* place : places) driver_->free(0, Queue::kCompute, place);
}

TEST_F(CudaConvolution, a_bound_on_scratch_memory_is_kept) {
  DnnConvolution c;
  c.batch = 2;
  c.inputs = c.outputs = 8;
  c.axes = {{8, 3, 6, 0, 1, 1}, {8, 3, 6, 0, 1, 1}};
  ASSERT_TRUE(isValid(c));
  auto plan = dnn_->plan(0, c, 4096 + kDnnWorkspaceAlignment);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(Dnn::scratchBytes(**plan), 4096 + kDnnWorkspaceAlignment);
  Status status = dnn_->plan(0, c, 4095 + kDnnWorkspaceAlignment).status();
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_EQ(status.message(), "cuDNN wants a workspace of 4096 bytes, and may have 4095");
  EXPECT_EQ(Dnn::load("libnowhere.so.9", *driver_).status().code(), StatusCode::kNotFound);
}

// ---- With epilogues ----

// A window of one over images of `image` places, whose sums are all NaN, +inf, -inf, or a number.
DnnConvolution pointwise(DnnType type, DnnEpilogue epilogue) {
  DnnConvolution c;
  c.type = type;
  c.batch = 2;
  c.inputs = 1;
  c.outputs = 2;
  c.axes = {{1, 1, 1, 0, 1, 1}, {4, 1, 4, 0, 1, 1}};
  c.isChannelsLast = false;
  c.epilogue = epilogue;
  return c;
}

class CudaConvolutionEpilogue : public CudaConvolution {
 protected:
  // Of f32. All buffers but the result, in their order; returns the result.
  StatusOr<Floats> convolve(const DnnConvolution& c, const std::vector<Floats>& inputs) {
    ISTHMUS_ASSIGN_OR_RETURN(std::shared_ptr<const DnnPlan> plan, dnn_->plan(0, c, kScratchBytes));
    std::vector<void*> places;
    const std::vector<int64_t> elements = c.bufferElements();
    for (size_t i = 0; i < elements.size(); ++i) {
      const auto bytes = static_cast<size_t>(elements[i]) * sizeof(float);
      ISTHMUS_ASSIGN_OR_RETURN(void* place, driver_->allocate(0, Queue::kCompute, bytes));
      places.push_back(place);
      if (i == inputs.size()) break;
      EXPECT_EQ(inputs[i].size(), static_cast<size_t>(elements[i]));
      ISTHMUS_RETURN_IF_ERROR(driver_->copy(0, Queue::kCompute, place, inputs[i].data(), bytes));
    }
    ISTHMUS_ASSIGN_OR_RETURN(
        void* scratch,
        driver_->allocate(0, Queue::kCompute, static_cast<size_t>(Dnn::scratchBytes(*plan))));
    ISTHMUS_RETURN_IF_ERROR(dnn_->run(0, Queue::kCompute, *plan, places, scratch));
    Floats result(static_cast<size_t>(c.resultElements()));
    ISTHMUS_RETURN_IF_ERROR(
        driver_->copy(0, Queue::kCompute, result.data(), places.back(), result.size() * 4));
    ISTHMUS_RETURN_IF_ERROR(driver_->synchronize(0, Queue::kCompute));
    places.push_back(scratch);
    for (void* place : places) driver_->free(0, Queue::kCompute, place);
    return result;
  }
};

TEST_F(CudaConvolutionEpilogue, adds_and_clips_as_the_program_does) {
  const Floats image = {1, 2, -3, 4, 5, -6, 7, 8}, kernel = {1, -2};
  const Floats residual = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  const Floats bias = {100, -1};
  StatusOr<Floats> all =
      convolve(pointwise(DnnType::kF32, {true, true, true}), {image, kernel, residual, bias});
  ASSERT_TRUE(all.ok()) << all.status().message();
  EXPECT_THAT(*all, ::testing::ElementsAre(101, 103, 99, 107, 1, 0, 11, 0, 113, 103, 117, 119, 1,
                                           24, 0, 0));
  StatusOr<Floats> some =
      convolve(pointwise(DnnType::kF32, {false, true, false}), {image, kernel, bias});
  ASSERT_TRUE(some.ok()) << some.status().message();
  EXPECT_THAT(*some, ::testing::ElementsAre(101, 102, 97, 104, -3, -5, 5, -9, 105, 94, 107, 108,
                                            -11, 11, -15, -17));
}

TEST_F(CudaConvolutionEpilogue, relu_keeps_nans_and_infinities) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  StatusOr<Floats> got = convolve(pointwise(DnnType::kF32, {false, false, true}),
                                  {{inf, -inf, nan, 1, 0, -1, 2, 3}, {1, 1}});
  ASSERT_TRUE(got.ok()) << got.status().message();
  EXPECT_EQ((*got)[0], inf);
  EXPECT_EQ((*got)[1], 0);
  EXPECT_TRUE(std::isnan((*got)[2]));
  EXPECT_EQ((*got)[3], 1);
  EXPECT_EQ((*got)[9], 0);
}

// The fake's first engines are those that may not be used.
TEST_F(CudaConvolutionEpilogue, engines_are_chosen_by_their_notes) {
  auto engineOf = [&](DnnType type, DnnEpilogue epilogue, bool isTf32 = false) {
    DnnConvolution c = pointwise(type, epilogue);
    c.isTf32 = isTf32;
    const size_t before = std::string(FAKE(fake_cuda_log)()).size();
    std::vector<Floats> inputs;
    for (int64_t count : c.bufferElements()) inputs.emplace_back(static_cast<size_t>(count), 0.0f);
    inputs.pop_back();
    EXPECT_TRUE(convolve(c, inputs).ok());
    std::string log = std::string(FAKE(fake_cuda_log)()).substr(before);
    log = log.substr(log.find("convolution graph NCHW"));
    return log.substr(0, log.find(" on "));
  };
  const DnnEpilogue bias{false, true, false}, relu{false, true, true}, all{true, true, true};
  const std::string name = "convolution graph NCHW with ";
  EXPECT_EQ(engineOf(DnnType::kBf16, bias), name + "+ by engine 6");
  EXPECT_EQ(engineOf(DnnType::kF16, all), name + "+ + relu by engine 7");
  EXPECT_EQ(engineOf(DnnType::kF32, bias), name + "+ by engine 8");
  EXPECT_EQ(engineOf(DnnType::kF32, relu), name + "+ relu by engine 9");
  EXPECT_EQ(engineOf(DnnType::kF32, bias, true), name + "+ by engine 6");
  EXPECT_EQ(engineOf(DnnType::kF32, relu, true), name + "+ relu by engine 7");
}

TEST_F(CudaConvolutionEpilogue, what_cudnn_lacks_is_unimplemented) {
  DnnConvolution c = pointwise(DnnType::kF32, {false, true, true});
  Status status = dnn_->plan(0, c, 100).status();
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("cuDNN has no engine for a convolution of f32[2,1,1,4] by [2,1,1,1] "
                              "to [2,2,1,4] with bias and ReLU that sums products in a fixed order "
                              "and keeps NaNs; of 10: one with numerical note 0, "),
                    HasSubstr("one without a plan: cudnnBackendFinalize failed with status 3000, "),
                    HasSubstr("one wants 4096 bytes")));
  c.outputs = 29;
  status = dnn_->plan(0, c, kScratchBytes).status();
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_EQ(status.message(),
            "cuDNN describes no graph of a convolution of f32[2,1,1,4] by [29,1,1,1] to "
            "[2,29,1,4] with bias and ReLU: cudnnBackendFinalize failed with status 3000, the "
            "graph");
  c = pointwise(DnnType::kF32, {false, true, false});
  c.kind = DnnKind::kBackwardData;
  EXPECT_FALSE(isValid(c));
}

// ---- Through a client ----

// One for all tests: the backend has one driver in a process.
Client& client() {
  static Ref<Client>& one = *new Ref<Client>(
      std::move(*Client::create(linkedBackend(), {{"cuda_library", std::string(ISTHMUS_FAKE_CUDA)},
                                                  {"cuda_blas", std::string()},
                                                  {"cuda_dnn", std::string(ISTHMUS_FAKE_CUDA)}})));
  return *one;
}

StatusOr<Ref<LoadedExecutable>> compile(const std::string& text) {
  return testing::compile(client(), text);
}

// Over ones.
StatusOr<Floats> runAll(LoadedExecutable& executable, int times) {
  std::vector<Floats> arguments;
  for (const ParameterSpec& parameter : executable.info().parameters) {
    arguments.emplace_back(static_cast<size_t>(parameter.type.numElements()), 1.0f);
  }
  return testing::run(executable, arguments, times);
}

// As cuDNN wants it, so that there is no other kernel: those compute nothing here.
const Case kAsItLies{"", "f32", {2, 8, 7, 6}, {48, 8, 3, 3}, "bf01 oi01 bf01"};

TEST_F(CudaConvolution, programs_call_the_library_and_are_serialized_with_that) {
  StatusOr<Ref<LoadedExecutable>> executable = compile(textOf(kAsItLies));
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  size_t before = std::string(FAKE(fake_cuda_log)()).size();
  StatusOr<Floats> result = runAll(**executable, 4);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_THAT(*result, Each(72.0f));
  std::string log = std::string(FAKE(fake_cuda_log)()).substr(before);
  EXPECT_THAT(log, HasSubstr("convolution forward NCHW by engine 8 on stream"));
  EXPECT_THAT(log, Not(HasSubstr("launch")));

  StatusOr<std::string> bytes = (*executable)->executable()->serialize();
  ASSERT_TRUE(bytes.ok()) << bytes.status().message();
  StatusOr<Ref<LoadedExecutable>> again = client().deserialize(*bytes);
  ASSERT_TRUE(again.ok()) << again.status().message();
  result = runAll(**again, 1);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_THAT(*result, Each(72.0f));
}

// kAsItLies, a bias of ones and a residual of ones, then max(x, 0) if it `clips`.
std::string withEpilogue(bool clips, const std::string& result = "2x48x5x4", Case c = kAsItLies) {
  std::string text = textOf(c);
  const std::string type = "tensor<" + result + "xf32>";
  const size_t features = static_cast<size_t>(c.rhs[0]);
  text.insert(text.find(") -> "),
              ", %residual: " + type + ", %bias: tensor<" + std::to_string(features) + "xf32>");
  text.replace(text.find("return %r"), 9,
               "%wide = stablehlo.broadcast_in_dim %bias, dims = [1] : (tensor<" +
                   std::to_string(features) + "xf32>) -> " + type +
                   "\n%u = stablehlo.add %r, %wide : " + type +
                   "\n%v = stablehlo.add %u, %residual : " + type +
                   "\n%zero = stablehlo.constant dense<0.0> : " + type + "\n%q = stablehlo." +
                   (clips ? "maximum" : "subtract") + " %v, %zero : " + type + "\nreturn %q");
  return text;
}

TEST_F(CudaConvolution, programs_leave_epilogues_to_the_library) {
  ::testing::internal::CaptureStderr();
  StatusOr<Ref<LoadedExecutable>> executable = compile(withEpilogue(true));
  const std::string said = ::testing::internal::GetCapturedStderr();
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  EXPECT_THAT(said, HasSubstr("stablehlo.convolution with residual and bias and ReLU at "
                              "model.py:7:3 is cuDNN's"));
  StatusOr<std::string> bytes = (*executable)->executable()->serialize();
  ASSERT_TRUE(bytes.ok()) << bytes.status().message();
  StatusOr<Ref<LoadedExecutable>> again = client().deserialize(*bytes);
  ASSERT_TRUE(again.ok()) << again.status().message();
  for (LoadedExecutable* one : {&**executable, &**again}) {
    size_t before = std::string(FAKE(fake_cuda_log)()).size();
    StatusOr<Floats> result = runAll(*one, 2);
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_THAT(*result, Each(74.0f));
    std::string log = std::string(FAKE(fake_cuda_log)()).substr(before);
    EXPECT_THAT(log, HasSubstr("convolution graph NCHW with + + relu by engine 9 on stream"));
    EXPECT_THAT(log, Not(HasSubstr("launch")));
  }
}

TEST_F(CudaConvolution, a_kernel_has_the_epilogue_that_the_library_lacks) {
  Case refused = kAsItLies;
  refused.rhs[0] = 29;
  StatusOr<Ref<LoadedExecutable>> executable =
      compile(withEpilogue(true, "2x29x5x4", std::move(refused)));
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  size_t before = std::string(FAKE(fake_cuda_log)()).size();
  StatusOr<Floats> result = runAll(**executable, 1);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_THAT(*result, Each(74.0f));
  std::string log = std::string(FAKE(fake_cuda_log)()).substr(before);
  EXPECT_THAT(log, HasSubstr("convolution forward NCHW on stream"));
  EXPECT_THAT(log, HasSubstr("launch"));
}

TEST_F(CudaConvolution, cudnn_is_asked_once_by_the_compiler_and_who_loads) {
  Case c = kAsItLies;
  c.lhs[0] = 3;
  const int before = FAKE(fake_dnn_questions)();
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(compile(textOf(c)).ok());
  EXPECT_EQ(FAKE(fake_dnn_questions)() - before, 1);
}

TEST_F(CudaConvolution, an_error_names_operation_and_position) {
  Case failing = kAsItLies;
  failing.lhs[0] = 11;
  StatusOr<Ref<LoadedExecutable>> executable = compile(textOf(failing));
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  Status status = runAll(**executable, 1).status();
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("stablehlo.convolution at model.py:7:3: cudnnBackendExecute failed: "
                        "CUDNN_STATUS_EXECUTION_FAILED (5000)"));
  executable = compile(withEpilogue(true, "11x48x5x4", failing));
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  status = runAll(**executable, 1).status();
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("with residual and bias and ReLU at model.py:7:3: cudnnBackendExecute "
                        "failed: CUDNN_STATUS_EXECUTION_FAILED (5000)"));
}

TEST_F(CudaConvolution, plans_of_large_convolutions_are_timed) {
  DnnConvolution c;
  c.type = DnnType::kBf16;
  c.batch = 4;
  c.inputs = 128;
  c.outputs = 2;
  c.axes = {{64, 1, 32, 0, 2, 1}, {64, 1, 32, 0, 2, 1}};
  const size_t before = std::string(FAKE(fake_cuda_log)()).size();
  ASSERT_TRUE(dnn_->plan(0, c, kScratchBytes).ok());
  const std::string log = std::string(FAKE(fake_cuda_log)()).substr(before);
  for (const char* engine : {"6", "8", "9"}) {
    EXPECT_THAT(log, HasSubstr(std::string("forward NCHW by engine ") + engine));
  }
  // The first is compiled, others are not for that alone.
  EXPECT_THAT(log, Not(HasSubstr("by engine 7")));
  c.axes[0].image = c.axes[0].result = 1;
  ASSERT_TRUE(dnn_->plan(0, c, kScratchBytes).ok());
  EXPECT_THAT(std::string(FAKE(fake_cuda_log)()).substr(before + log.size()),
              Not(HasSubstr("by engine")));
}

TEST_F(CudaConvolution, tf32_is_for_who_asks_for_it) {
  auto logOf = [&](const std::string& text) {
    size_t before = std::string(FAKE(fake_cuda_log)()).size();
    StatusOr<Ref<LoadedExecutable>> executable = compile(text);
    EXPECT_TRUE(executable.ok()) << executable.status().message();
    EXPECT_TRUE(executable.ok() && runAll(**executable, 1).ok());
    return std::string(FAKE(fake_cuda_log)()).substr(before);
  };
  std::string highest = textOf(kAsItLies);
  highest.replace(highest.find("{batch_group"), 1,
                  "{precision_config = [#stablehlo<precision HIGHEST>, "
                  "#stablehlo<precision HIGHEST>], ");
  EXPECT_THAT(logOf(textOf(kAsItLies)), Not(HasSubstr("tf32")));
  setFlagForTest("ISTHMUS_CUDA_TF32", "1");
  EXPECT_THAT(logOf(textOf(kAsItLies)), HasSubstr("convolution forward of tf32"));
  EXPECT_THAT(logOf(highest), Not(HasSubstr("tf32")));
  setFlagForTest("ISTHMUS_CUDA_TF32", "0");
}

TEST_F(CudaConvolution, own_kernels_convolve_what_may_not_have_its_scratch_memory) {
  setFlagForTest("ISTHMUS_CUDA_DNN_BYTES", "1000");
  StatusOr<Ref<LoadedExecutable>> executable = compile(textOf(kAsItLies));
  setFlagForTest("ISTHMUS_CUDA_DNN_BYTES", "536870912");
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  size_t before = std::string(FAKE(fake_cuda_log)()).size();
  ASSERT_TRUE(runAll(**executable, 1).ok());
  std::string log = std::string(FAKE(fake_cuda_log)()).substr(before);
  EXPECT_THAT(log, HasSubstr("launch kernel0"));
  EXPECT_THAT(log, Not(HasSubstr("convolution")));
}

}  // namespace
}  // namespace isthmus::cuda

// A compiler that is wrong about one operation, and what the comparison says of it.
#include "compiler/driver/reference_comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/cpu/testing/program_runner.h"

namespace isthmus {
namespace {

using cpu::testing::Bytes;
using cpu::testing::toBytes;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

using Compiled = StatusOr<std::shared_ptr<const Executable>>;

constexpr char kProgram[] = R"(
  func.func @main(%x: tensor<4xf32>, %p: tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>) {
    %0 = stablehlo.add %x, %x : tensor<4xf32>
    %1 = stablehlo.cosine %0 : tensor<4xf32>
    %2 = "stablehlo.if"(%p) ({
      %4 = stablehlo.negate %1 : tensor<4xf32>
      stablehlo.return %4 : tensor<4xf32>
    }, {
      stablehlo.return %0 : tensor<4xf32>
    }) : (tensor<i1>) -> tensor<4xf32>
    %3 = stablehlo.tanh %2 : tensor<4xf32>
    return %0, %3 : tensor<4xf32>, tensor<4xf32>
  })";

Compiled compileRight(const CompileRequest& request) { return linkedBackend().compile(request); }

// Takes cosines for sines.
Compiled compileWrong(const CompileRequest& request) {
  std::string code(request.code);
  for (size_t at; (at = code.find("stablehlo.cosine")) != std::string::npos;) {
    code.replace(at, std::string_view("stablehlo.cosine").size(), "stablehlo.sine");
  }
  CompileRequest other = request;
  other.code = code;
  return compileRight(other);
}

StatusOr<std::vector<Bytes>> run(Compiled (*compile)(const CompileRequest&), const char* text,
                                 bool predicate) {
  CompileRequest request{text, "mlir", {}};
  ISTHMUS_ASSIGN_OR_RETURN(std::shared_ptr<const Executable> compiled, compile(request));
  std::shared_ptr<const Executable> compared =
      compareWithReference(std::move(compiled), request, compile);
  return cpu::testing::runExecutable(
      *compared, {toBytes<float>({0.5f, 1, -2, 3}), toBytes<char>({static_cast<char>(predicate)})});
}

TEST(ReferenceComparison, NamesTheOperationThatIsWrong) {
  StatusOr<std::vector<Bytes>> results = run(compileWrong, kProgram, true);
  ASSERT_FALSE(results.ok());
  EXPECT_EQ(results.status().code(), StatusCode::kInternal);
  EXPECT_THAT(std::string(results.status().message()),
              AllOf(HasSubstr("result 1 is not the reference evaluator's"),
                    HasSubstr("the first operation that differs is stablehlo.cosine"),
                    HasSubstr(":4:"), Not(HasSubstr("stage"))));
}

TEST(ReferenceComparison, SaysWhetherUserCodeIsCalled) {
  class CallsUserCode final : public Executable {
   public:
    const ProgramInfo& info() const override { return info_; }
    Status run(const RunRequest&) const override { return {}; }
    bool callsUserCode() const override { return true; }

   private:
    ProgramInfo info_;
  };
  CompileRequest request{kProgram, "mlir", {}};
  Compiled compiled = compileRight(request);
  ASSERT_TRUE(compiled.ok());
  EXPECT_FALSE(compareWithReference(*compiled, request, compileRight)->callsUserCode());
  EXPECT_TRUE(compareWithReference(std::make_shared<CallsUserCode>(), request, compileRight)
                  ->callsUserCode());
}

TEST(ReferenceComparison, LetsRightResultsPass) {
  EXPECT_TRUE(run(compileRight, kProgram, true).ok());
  // The branch that is not taken is not wrong.
  EXPECT_TRUE(run(compileWrong, kProgram, false).ok());
}

TEST(ReferenceComparison, MultipliesByMasksAsTheCompilerDoes) {
  constexpr char kMasked[] = R"(
    func.func @main(%x: tensor<4xf32>, %p: tensor<i1>) -> tensor<4xf32> {
      %zeros = stablehlo.constant dense<0.0> : tensor<4xf32>
      %0 = stablehlo.divide %zeros, %zeros : tensor<4xf32>
      %mask = stablehlo.broadcast_in_dim %p, dims = [] : (tensor<i1>) -> tensor<4xi1>
      %1 = stablehlo.convert %mask : (tensor<4xi1>) -> tensor<4xf32>
      %2 = stablehlo.multiply %0, %1 : tensor<4xf32>
      return %2 : tensor<4xf32>
    })";
  StatusOr<std::vector<Bytes>> results = run(compileRight, kMasked, false);
  ASSERT_TRUE(results.ok()) << results.status().message();
  EXPECT_EQ((*results)[0], toBytes<float>({0, 0, 0, 0}));
}

TEST(ReferenceComparison, LeavesWhatCannotBeCompared) {
  constexpr char kRandom[] = R"(
    func.func @main(%x: tensor<4xf32>, %p: tensor<i1>) -> tensor<4xf32> {
      %a = stablehlo.constant dense<0.0> : tensor<f32>
      %b = stablehlo.constant dense<1.0> : tensor<f32>
      %s = stablehlo.constant dense<4> : tensor<1xi64>
      %r = stablehlo.rng %a, %b, %s, distribution = UNIFORM
          : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<4xf32>
      return %r : tensor<4xf32>
    })";
  StatusOr<std::vector<Bytes>> results = run(compileRight, kRandom, true);
  EXPECT_TRUE(results.ok()) << results.status().message();
}

}  // namespace
}  // namespace isthmus

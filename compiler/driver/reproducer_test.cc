// Reproducers of a compiler that fails where it must not.
#include "compiler/driver/reproducer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>

#include "compiler/driver/driver.h"
#include "isthmus/flags.h"

namespace isthmus {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr char kProgram[] = R"(
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.add %x, %x : tensor<4xf32> loc("model.py":7:1)
    return %0 : tensor<4xf32>
  })";

// Fails before it has selected anything.
class BrokenGenerator final : public CodeGenerator {
 public:
  explicit BrokenGenerator(Status error) : error_(std::move(error)) {}
  std::string identity() const override { return "broken"; }
  std::string_view platform() const override { return "xpu"; }
  StatusOr<std::unique_ptr<ProgramCodegen>> begin(CodegenSettings) const override { return error_; }

 private:
  Status error_;
};

std::string read(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string compile(const CompileRequest& request, const Status& error) {
  auto compiled = compileProgram(BrokenGenerator(error), request);
  EXPECT_EQ(compiled.status().code(), error.code());
  return std::string(compiled.status().message());
}

// The file that the message names, which is removed.
std::string contentOf(const std::string& message) {
  std::smatch match;
  std::regex command("python -m isthmus replay (\\S+) --platform xpu");
  if (!std::regex_search(message, match, command)) return {};
  std::string text = read(match[1]);
  std::filesystem::remove(match[1].str());
  return text;
}

TEST(Reproducer, InternalErrorsNameAFileThatHasEverything) {
  CompileRequest request{kProgram, "mlir", {}};
  request.options.serialized = std::string("\x1a\x06\x08\x00\x20\x01\x28\x01", 8);
  setFlagForTest("ISTHMUS_OPTIMIZATION", "1");
  std::string message = compile(request, internalError("the scheduler is lost\nin a forest"));
  setFlagForTest("ISTHMUS_OPTIMIZATION", "2");
  constexpr const char* kPlace = "in a forest \\(compiler/driver/reproducer_test\\.cc:[0-9]+\\)";
  EXPECT_THAT(message, ContainsRegex("the scheduler is lost\n" + std::string(kPlace) +
                                     "; to see it again: "));
  std::string text = contentOf(message);
  EXPECT_THAT(text,
              AllOf(ContainsRegex("// the scheduler is lost\n// " + std::string(kPlace) + "\n"),
                    HasSubstr("stablehlo.add"), HasSubstr("model.py")));
  StatusOr<ReproducerHead> head = readReproducerHead(text);
  ASSERT_TRUE(head.ok());
  EXPECT_EQ(head->serializedOptions, request.options.serialized);
  EXPECT_THAT(head->flags, UnorderedElementsAre(Pair("ISTHMUS_NUM_DEVICES", "1"),
                                                Pair("ISTHMUS_OPTIMIZATION", "1")));
  // It is a program that fails in the same way.
  std::string again = compile({text, "mlir", {}}, internalError("the scheduler is lost"));
  EXPECT_THAT(contentOf(again), HasSubstr("stablehlo.add"));
}

TEST(Reproducer, OnlyInternalErrorsHaveOne) {
  std::string message = compile({kProgram, "mlir", {}}, unimplemented("no such thing"));
  EXPECT_EQ(message, "no such thing");
}

TEST(Reproducer, LargeConstantsAreZeros) {
  std::string hex(8 * (5 << 20), '1');
  hex[0] = '2';  // no splat
  std::string program = "func.func @main() -> tensor<" + std::to_string(5 << 20) +
                        "xf32> {\n %0 = stablehlo.constant dense<\"0x" + hex + "\"> : tensor<" +
                        std::to_string(5 << 20) + "xf32>\n return %0 : tensor<" +
                        std::to_string(5 << 20) + "xf32>\n}";
  StatusOr<std::string> text = reproducerText({program, "mlir", {}}, "isthmus", internalError("x"));
  ASSERT_TRUE(text.ok()) << text.status().message();
  EXPECT_LT(text->size(), 10'000U);
  EXPECT_THAT(*text, HasSubstr("are zeros here"));
}

TEST(Reproducer, AProcessWritesFew) {
  int files = 0;
  std::string last;
  for (int i = 0; i < 12; ++i) {
    last = compile({kProgram, "mlir", {}}, internalError("lost"));
    files += contentOf(last).empty() ? 0 : 1;
  }
  EXPECT_LE(files, 8);
  EXPECT_THAT(last, AllOf(HasSubstr("reproducers of earlier failures"), Not(HasSubstr("replay"))));
}

TEST(Reproducer, OtherTextHasNoHead) {
  StatusOr<ReproducerHead> head = readReproducerHead("// ISTHMUS_OPTIMIZATION=0\nmodule {}");
  ASSERT_TRUE(head.ok());
  EXPECT_TRUE(head->flags.empty());
  EXPECT_EQ(
      readReproducerHead("// Isthmus reproducer\n// CompileOptionsProto: %%%\n").status().code(),
      StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace isthmus

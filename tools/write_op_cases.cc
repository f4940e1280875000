// write-op-cases: writes the operation cases of the conformance kit.
//
//   write-op-cases OUTPUT FILE.mlir ...
//
// Each function of the files, which are tests of one operation each (named like the file) or of
// what their names say (OP__TYPE__ULPS[__CASE], of op_matrix.py), becomes a program whose constants
// are arguments. Its results are the reference evaluator's. The format is that of
// conformance/op_cases.cc. Functions that are not about arrays on one device are left out.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "compiler/dialect/dialect.h"
#include "compiler/dialect/test_dialects/check.h"
#include "compiler/dialect/test_dialects/interpreter.h"
#include "compiler/import/import.h"
#include "compiler/reference/interpreter.h"
#include "compiler/reference/test_ops.h"
#include "conformance/values.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/Transforms/RegionUtils.h"
#include "tools/prepare_program.h"

namespace isthmus {
namespace {

// Tolerances of other plugins' elementary functions, where a test is not exact.
constexpr int64_t kMinUlps = 4;
// The same where sums are made, in any order: of the largest element.
constexpr int64_t kSumUlps = 64;

// Operations whose results are sums of many terms, which may cancel.
bool isSum(llvm::StringRef op) {
  return op.starts_with("batch_norm") || op == "fft" || op == "dot_general" || op == "dot" ||
         op == "einsum" || op == "convolution" || op == "cholesky" || op == "triangular_solve";
}

struct CaseName {
  std::string op, name;
  int64_t ulps = 0;
};

// `function` is "exponential__f32__4", or any name in a file that is named like its operation.
CaseName nameOf(const std::string& fileOp, llvm::StringRef function) {
  llvm::SmallVector<llvm::StringRef> parts;
  function.split(parts, "__");
  CaseName name{fileOp, function.str(), 0};
  if (parts.size() < 3) return name;
  name.op = parts[0].str();
  name.name = parts.size() > 3 ? parts[3].str() : "edge";
  (void)parts[2].getAsInteger(10, name.ulps);
  return name;
}

int64_t ulpsOf(const std::vector<Check>& checks) {
  int64_t ulps = 0;
  for (const Check& check : checks) {
    if (check.op->getName().getStringRef() == "check.expect_eq" ||
        check.op->getName().getStringRef() == "check.expect_eq_const") {
      continue;
    }
    ulps = std::max(ulps, kMinUlps);
    if (auto most = check.op->getAttrOfType<mlir::IntegerAttr>("max_ulp_difference")) {
      ulps = std::max(ulps, most.getInt());
    }
  }
  return ulps;
}

// Results that are arguments say nothing, and one that is there twice says nothing new.
bool dropTrivialResults(mlir::func::FuncOp main) {
  mlir::Operation* end = main.getBody().front().getTerminator();
  llvm::SmallVector<mlir::Value> kept;
  for (mlir::Value value : end->getOperands()) {
    if (!llvm::isa<mlir::BlockArgument>(value) && !llvm::is_contained(kept, value)) {
      kept.push_back(value);
    }
  }
  end->setOperands(kept);
  main.setType(mlir::FunctionType::get(main.getContext(), main.getArgumentTypes(),
                                       mlir::ValueRange(kept).getTypes()));
  main.setAllResultAttrs(llvm::SmallVector<mlir::DictionaryAttr>(
      kept.size(), mlir::DictionaryAttr::get(main.getContext())));
  return !kept.empty();
}

// Whether `op` has a function for elements (a reducer, say) that reads values from outside of it.
bool isFunctionThatCaptures(mlir::Operation& op) {
  if (op.getNumRegions() == 0 || llvm::isa<mlir::func::FuncOp>(op)) return false;
  if (llvm::isa<shlo::WhileOp, shlo::IfOp, shlo::CaseOp>(op)) return false;
  llvm::SetVector<mlir::Value> captured;
  mlir::getUsedValuesDefinedAbove(op.getRegions(), captured);
  return !captured.empty();
}

// Both enumerations have the C API's numbers.
std::string nameOfType(ElementType type) {
  return conformance::nameOf(static_cast<PJRT_Buffer_Type>(type));
}

void writeArray(std::ostream& out, const char* keyword, const reference::Tensor& tensor) {
  out << keyword << " " << nameOfType(tensor.elementType()) << " ";
  if (tensor.dims().empty()) out << "-";
  for (size_t i = 0; i < tensor.dims().size(); ++i) out << (i ? "x" : "") << tensor.dims()[i];
  out << " " << llvm::toHex(llvm::StringRef(tensor.data(), tensor.sizeBytes()), /*LowerCase=*/true)
      << "\n";
}

Status writeCase(std::ostream& out, const std::string& fileOp, mlir::ModuleOp module,
                 mlir::func::FuncOp function) {
  CaseName name = nameOf(fileOp, function.getName());
  ISTHMUS_ASSIGN_OR_RETURN(Prepared prepared, prepareProgram(module, function, {}));
  auto main = prepared.module->lookupSymbol<mlir::func::FuncOp>("main");
  if (!dropTrivialResults(main)) return unimplemented("nothing is computed");
  std::vector<reference::Value> arguments(prepared.arguments.begin(), prepared.arguments.end());
  ISTHMUS_ASSIGN_OR_RETURN(
      std::vector<reference::Value> results,
      reference::Interpreter(*prepared.module).run(main, std::move(arguments)));
  for (const reference::Value& result : results) {
    if (result.kind != reference::Value::Kind::kTensor)
      return unimplemented("a result is no array");
  }
  std::string text;
  llvm::raw_string_ostream(text) << *prepared.module;
  const bool captures = main.walk([](mlir::Operation* op) {
                              return isFunctionThatCaptures(*op) ? mlir::WalkResult::interrupt()
                                                                 : mlir::WalkResult::advance();
                            })
                            .wasInterrupted();
  const ElementType type = prepared.arguments.empty() ? results.front().tensor.elementType()
                                                      : prepared.arguments.front().elementType();
  const int64_t ulps = std::max(name.ulps, ulpsOf(prepared.checks));
  const std::string tolerance =
      ulps > 0 && isSum(name.op) ? "max" + std::to_string(kSumUlps) : std::to_string(ulps);
  out << "case " << name.op << " " << nameOfType(type) << " " << tolerance << " " << name.name
      << "\nprogram " << text.size() << "\n"
      << text << "\n";
  if (captures) out << "captures\n";
  for (const reference::Tensor& argument : prepared.arguments)
    writeArray(out, "argument", argument);
  for (const reference::Value& result : results) writeArray(out, "result", result.tensor);
  out << "end\n";
  return {};
}

// The parts of a file between lines of "// -----".
std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  llvm::SmallVector<llvm::StringRef> pieces;
  llvm::StringRef(text).split(pieces, "// -----");
  for (llvm::StringRef piece : pieces) parts.push_back(piece.str());
  return parts;
}

int writeFile(std::ostream& out, const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const std::string op = std::filesystem::path(path).stem();
  int written = 0;
  for (const std::string& part : split(text)) {
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    context.loadDialect<check::CheckDialect, interpreter::InterpreterDialect>();
    StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> module = importProgram(part, "mlir", context);
    if (!module.ok()) continue;
    for (auto function : (*module)->getOps<mlir::func::FuncOp>()) {
      if (function.getNumArguments() > 0 || function.isPrivate()) continue;
      const Status status = writeCase(out, op, **module, function);
      if (status.ok()) {
        ++written;
      } else if (!status.message().empty()) {
        std::cerr << path << ": @" << function.getName().str() << " left out: " << status.message()
                  << "\n";
      }
    }
  }
  return written;
}

}  // namespace
}  // namespace isthmus

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: write-op-cases OUTPUT FILE.mlir ...\n";
    return 2;
  }
  std::ofstream out(argv[1], std::ios::binary);
  int written = 0;
  for (int i = 2; i < argc; ++i) written += isthmus::writeFile(out, argv[i]);
  if (!out.flush() || written == 0) {
    std::cerr << "write-op-cases: nothing written\n";
    return 1;
  }
  return 0;
}

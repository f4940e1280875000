// Compiles and runs program text.
#include "backends/cpu/testing/program_runner.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "backends/cpu/code_generator.h"
#include "backends/cpu/emit/jit.h"
#include "backends/cpu/load/serialization.h"
#include "backends/cpu/testing/one_op_fusions.h"
#include "compiler/dialect/dialect.h"
#include "compiler/driver/driver.h"
#include "mlir/Parser/Parser.h"
#include "runtime/memory/guarded_blocks.h"

namespace isthmus::cpu::testing {
namespace {

constexpr char kGarbage = static_cast<char>(0xA5);

// Who reaches past the block faults.
char* allocate(size_t bytes) {
  char* data = static_cast<char*>(guardedAllocate(bytes));
  std::memset(data, kGarbage, bytes);
  return data;
}

// Splits loops in two, so that tiles are exercised; on the calling thread.
class TestServices final : public RunServices {
 public:
  int numThreads() const override { return 2; }
  void parallelFor(int64_t tiles, int64_t grain, TileFunction function, void* context) override {
    int64_t middle = tiles / 2;
    if (tiles > middle) function(context, middle, tiles);
    if (middle > 0) function(context, 0, middle);
  }
  void* allocateScratch(size_t bytes) override { return allocate(bytes); }
  void freeScratch(void* data, size_t bytes) override { guardedDeallocate(data, bytes); }
  Collectives& collectives() override { std::abort(); }
};

}  // namespace

StatusOr<ProgramImage> compileText(const std::string& text) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  loadAllDialects(context);
  std::string errors;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic& diagnostic) {
    errors += diagnostic.str() + "\n";
    return mlir::success();
  });
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::parseSourceString<mlir::ModuleOp>(text, mlir::ParserConfig(&context));
  if (!module) return invalidArgument("the program does not parse: ", errors);
  fuseOneByOne(*module);
  ProgramInfo info;
  info.name = "main";
  info.fingerprint = "test";
  ISTHMUS_ASSIGN_OR_RETURN(std::shared_ptr<const Executable> executable,
                           generateProgram(CpuCodeGenerator(hostTarget(), 1), *module,
                                           std::move(info), {.verify = true}));
  return static_cast<const CpuExecutable&>(*executable).image();
}

StatusOr<std::vector<Bytes>> runExecutable(const Executable& executable,
                                           const std::vector<Bytes>& arguments) {
  const ProgramInfo& info = executable.info();
  if (arguments.size() != info.parameters.size()) {
    return invalidArgument("got ", arguments.size(), " arguments, expected ",
                           info.parameters.size());
  }
  std::vector<std::pair<char*, size_t>> owned;
  std::vector<const void*> parameters;
  std::vector<void*> results(info.outputs.size());
  for (size_t p = 0; p < arguments.size(); ++p) {
    if (arguments[p].size() != info.parameters[p].type.sizeBytes()) {
      return invalidArgument("argument ", p, " has ", arguments[p].size(), " bytes");
    }
    char* data = allocate(arguments[p].size());
    std::copy(arguments[p].begin(), arguments[p].end(), data);
    owned.emplace_back(data, arguments[p].size());
    parameters.push_back(data);
    if (info.parameters[p].aliasedOutput >= 0) results[info.parameters[p].aliasedOutput] = data;
  }
  for (size_t r = 0; r < results.size(); ++r) {
    if (results[r]) continue;
    const size_t bytes = info.outputs[r].type.sizeBytes();
    owned.emplace_back(allocate(bytes), bytes);
    results[r] = owned.back().first;
  }
  TestServices services;
  RunRequest request;
  request.parameters = parameters;
  request.results = results;
  request.services = &services;
  Status status = executable.run(request);
  std::vector<Bytes> outputs;
  for (size_t r = 0; r < results.size(); ++r) {
    const char* data = static_cast<const char*>(results[r]);
    outputs.emplace_back(data, data + info.outputs[r].type.sizeBytes());
  }
  for (size_t p = 0; p < arguments.size() && status.ok(); ++p) {
    bool isKept = info.parameters[p].donation == DonationKind::kNone;
    if (isKept &&
        !std::ranges::equal(arguments[p], std::span(owned[p].first, arguments[p].size()))) {
      status = internalError("parameter ", p, " was overwritten");
    }
  }
  for (auto [data, bytes] : owned) guardedDeallocate(data, bytes);
  if (!status.ok()) return status;
  return outputs;
}

StatusOr<std::vector<Bytes>> runText(const std::string& text, const std::vector<Bytes>& arguments) {
  ISTHMUS_ASSIGN_OR_RETURN(ProgramImage image, compileText(text));
  // Through bytes and back, so that every test covers serialization.
  ISTHMUS_ASSIGN_OR_RETURN(image, deserializeImage(serializeImage(image)));
  ISTHMUS_ASSIGN_OR_RETURN(auto executable, CpuExecutable::load(std::move(image)));
  return runExecutable(*executable, arguments);
}

}  // namespace isthmus::cpu::testing

// Runs, evaluates, compares, and looks for the operation that is wrong.
#include "compiler/driver/reference_comparison.h"

#include <cmath>
#include <cstring>
#include <mutex>

#include "compiler/dialect/diagnostics/source_location.h"
#include "compiler/dialect/dialect.h"
#include "compiler/import/import.h"
#include "compiler/pipeline/pipeline.h"
#include "compiler/reference/interpreter.h"
#include "compiler/reference/scalar/number_format.h"
#include "compiler/reference/test_ops.h"
#include "isthmus/log.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"

namespace isthmus {
namespace {

using reference::Tensor;

// More take minutes.
constexpr int64_t kMaxSteps = int64_t{1} << 30;
// Of parts of a program, while looking for the operation that is wrong.
constexpr int kMaxCompilations = 1000;

// What roundings in another order may change: two thirds of a type's digits hold, relative to the
// element, or to a tenth of the array's largest one.
reference::Tolerance roundingTolerance(const Tensor& expected) {
  ElementType type = reference::partType(expected.elementType());
  if (!reference::isFloat(type)) return {};
  int digits = type == ElementType::kF64   ? 52
               : type == ElementType::kF32 ? 23
                                           : reference::floatFormat(type).mantissaBits;
  double largest = 0;
  for (int64_t i = 0; i < expected.size(); ++i) {
    reference::Scalar element = expected.get(i);
    for (double part : {std::fabs(element.re), std::fabs(element.im)}) {
      if (std::isfinite(part)) largest = std::max(largest, part);
    }
  }
  double relative = std::exp2(-2.0 * digits / 3);
  return {0.1 * relative * largest, relative, 0};
}

Status compare(const Tensor& actual, const Tensor& expected) {
  return reference::compareTensors(actual, expected, roundingTolerance(expected));
}

mlir::func::FuncOp mainOf(mlir::ModuleOp module) {
  return module.lookupSymbol<mlir::func::FuncOp>("main");
}

using Values = llvm::DenseMap<mlir::Value, Tensor>;

// The results of @main. `inner`, if given, gets those of the operations directly in it.
StatusOr<std::vector<Tensor>> evaluate(mlir::ModuleOp module, const std::vector<Tensor>& arguments,
                                       Values* inner = nullptr) {
  reference::InterpreterOptions options;
  options.limits.steps = kMaxSteps;
  mlir::func::FuncOp main = mainOf(module);
  if (inner) {
    options.observer = [&](mlir::Operation* op, llvm::ArrayRef<reference::Value> results) {
      if (op->getParentOp() != main) return;
      for (auto [result, value] : llvm::zip(op->getResults(), results)) {
        if (value.kind == reference::Value::Kind::kTensor) (*inner)[result] = value.tensor;
      }
    };
  }
  std::vector<reference::Value> values(arguments.begin(), arguments.end());
  reference::Interpreter interpreter(module, options);
  ISTHMUS_ASSIGN_OR_RETURN(std::vector<reference::Value> given,
                           interpreter.run(main, std::move(values)));
  std::vector<Tensor> tensors;
  for (reference::Value& value : given) {
    if (value.kind == reference::Value::Kind::kTensor) tensors.push_back(std::move(value.tensor));
  }
  return tensors;
}

// The text of a program that computes `value` of @main, which is flat, and nothing else.
std::string textOf(mlir::ModuleOp module, mlir::Value value) {
  mlir::IRMapping mapping;
  mlir::OwningOpRef<mlir::ModuleOp> copy = llvm::cast<mlir::ModuleOp>(module->clone(mapping));
  mlir::func::FuncOp main = mainOf(*copy);
  mlir::Block& block = main.getBody().front();
  mlir::Operation* end = block.getTerminator();
  end->setOperands(mapping.lookup(value));
  main.setType(
      mlir::FunctionType::get(main.getContext(), block.getArgumentTypes(), end->getOperandTypes()));
  main.setAllResultAttrs(
      llvm::SmallVector<mlir::DictionaryAttr>{mlir::DictionaryAttr::get(main.getContext())});
  main.setAllArgAttrs(llvm::SmallVector<mlir::DictionaryAttr>(
      main.getNumArguments(), mlir::DictionaryAttr::get(main.getContext())));
  for (mlir::Operation& op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (&op != end && op.use_empty()) op.erase();
  }
  std::string text;
  llvm::raw_string_ostream out(text);
  copy->print(out, mlir::OpPrintingFlags().enableDebugInfo());
  return text;
}

// Results of a run, aligned as programs want them.
class Results {
 public:
  explicit Results(const ProgramInfo& info) {
    for (const BufferSpec& output : info.outputs) {
      size_t bytes = output.type.sizeBytes();
      memory_.emplace_back(bytes + kBufferAlignment);
      auto address = reinterpret_cast<uintptr_t>(memory_.back().data());
      size_t skip = (kBufferAlignment - address % kBufferAlignment) % kBufferAlignment;
      pointers_.push_back(memory_.back().data() + skip);
    }
  }
  std::span<void* const> pointers() const { return pointers_; }

 private:
  std::vector<std::vector<char>> memory_;
  std::vector<void*> pointers_;
};

StatusOr<std::vector<Tensor>> copied(std::span<void* const> addresses,
                                     const std::vector<BufferSpec>& specs) {
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < specs.size(); ++i) {
    ISTHMUS_ASSIGN_OR_RETURN(Tensor tensor, Tensor::make(specs[i].type));
    if (tensor.sizeBytes() > 0) std::memcpy(tensor.data(), addresses[i], tensor.sizeBytes());
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

class ComparingExecutable final : public Executable {
 public:
  ComparingExecutable(std::shared_ptr<const Executable> compiled, const CompileRequest& request,
                      CompileFunction compile)
      : compiled_(std::move(compiled)),
        code_(request.code),
        format_(request.format),
        options_(request.options),
        compile_(std::move(compile)) {}

  const ProgramInfo& info() const override { return compiled_->info(); }
  bool isCheap() const override { return false; }
  bool callsUserCode() const override { return compiled_->callsUserCode(); }
  StatusOr<std::string> serialize() const override { return compiled_->serialize(); }

  Status run(const RunRequest& request) const override {
    // Before the run, which may write to them.
    std::vector<BufferSpec> specs(info().parameters.begin(), info().parameters.end());
    std::vector<void*> addresses;
    for (const void* parameter : request.parameters) {
      addresses.push_back(const_cast<void*>(parameter));
    }
    ISTHMUS_ASSIGN_OR_RETURN(std::vector<Tensor> arguments, copied(addresses, specs));
    ISTHMUS_RETURN_IF_ERROR(compiled_->run(request));
    ISTHMUS_ASSIGN_OR_RETURN(std::vector<Tensor> actual, copied(request.results, info().outputs));

    std::lock_guard<std::mutex> lock(mutex_);
    Status reason = prepare();
    if (reason.ok()) {
      StatusOr<std::vector<Tensor>> expected = evaluate(*module_, arguments);
      if (expected.ok()) return check(request, arguments, actual, *expected);
      reason = expected.status();
    }
    if (!hasLogged_) {
      log(LogLevel::kWarning, "program ", info().name,
          " is not compared with the reference evaluator: ", reason.message());
    }
    hasLogged_ = true;
    return {};
  }

 private:
  Status prepare() const {
    if (module_) return {};
    if (options_.numReplicas * options_.numPartitions > 1) {
      return unimplemented("it runs on several devices");
    }
    context_ = makeContext();
    ISTHMUS_ASSIGN_OR_RETURN(mlir::OwningOpRef<mlir::ModuleOp> module,
                             importProgram(code_, format_, *context_));
    mlir::func::FuncOp main = mainOf(*module);
    if (!main || main.getNumArguments() != info().parameters.size()) {
      return unimplemented("its parameters are not those that it came with");
    }
    auto hasLayout = [](const BufferSpec& spec) { return !spec.type.minorToMajor.empty(); };
    if (llvm::any_of(info().parameters, hasLayout) || llvm::any_of(info().outputs, hasLayout)) {
      return unimplemented("its arrays are not row-major");
    }
    bool isRandom = false;
    module->walk([&](shlo::RngOp) { isRandom = true; });
    if (isRandom) return unimplemented("it makes random numbers");
    // Decided, where StableHLO says otherwise (docs/adr/0068-products-with-masks-select.md).
    ISTHMUS_RETURN_IF_ERROR(runPassesThatChangeResults(*module));
    module_ = std::move(module);
    return {};
  }

  Status check(const RunRequest& request, const std::vector<Tensor>& arguments,
               const std::vector<Tensor>& actual, const std::vector<Tensor>& expected) const {
    if (actual.size() != expected.size()) {
      return internalError("program ", info().name, " has ", actual.size(),
                           " results, by the reference evaluator ", expected.size());
    }
    for (size_t i = 0; i < actual.size(); ++i) {
      Status status = compare(actual[i], expected[i]);
      if (status.ok()) continue;
      return internalError("program ", info().name, ": result ", i,
                           " is not the reference evaluator's: ", status.message(), "; ",
                           explain(request, arguments, expected, i));
    }
    return {};
  }

  // The program after the stages up to `last`.
  StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> after(std::string_view last) const {
    mlir::OwningOpRef<mlir::ModuleOp> copy = module_->clone();
    PipelineOptions pipeline;
    pipeline.compile = options_;
    pipeline.stopAfter = last;
    ISTHMUS_RETURN_IF_ERROR(runPipeline(copy, pipeline));
    return copy;
  }

  // Where the difference of result `i` comes from, in words.
  std::string explain(const RunRequest& request, const std::vector<Tensor>& arguments,
                      const std::vector<Tensor>& expected, size_t i) const {
    std::string text;
    for (std::string_view stage : {"legalize", "partition", "simplify"}) {
      StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> module = after(stage);
      if (!module.ok()) continue;
      StatusOr<std::vector<Tensor>> results = evaluate(**module, arguments);
      if (!results.ok() || i >= results->size()) continue;
      if (compare((*results)[i], expected[i]).ok()) continue;
      text = "the stage " + std::string(stage) + " changes it; ";
      break;
    }
    StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> flat = after("legalize");
    if (!flat.ok())
      return text + "no operation was looked for: " + std::string(flat.status().message());
    Values values;
    if (StatusOr<std::vector<Tensor>> results = evaluate(**flat, arguments, &values);
        !results.ok()) {
      return text + "no operation was looked for: " + std::string(results.status().message());
    }
    mlir::Operation* end = mainOf(**flat).getBody().front().getTerminator();
    return text +
           search(request, **flat, arguments, values, end->getOperand(static_cast<unsigned>(i)));
  }

  // Goes from a value that differs to those that it is computed from, as long as one differs.
  std::string search(const RunRequest& request, mlir::ModuleOp flat,
                     const std::vector<Tensor>& arguments, const Values& values,
                     mlir::Value value) const {
    int left = kMaxCompilations;
    llvm::DenseSet<mlir::Value> good;
    auto difference = [&](mlir::Value candidate) -> Status {
      auto expected = values.find(candidate);
      if (expected == values.end() || good.contains(candidate) || left-- <= 0) return {};
      StatusOr<Tensor> computed = compute(request, textOf(flat, candidate), arguments);
      Status status = computed.ok() ? compare(*computed, expected->second) : computed.status();
      if (status.ok()) good.insert(candidate);
      return status;
    };
    Status worst = difference(value);
    if (worst.ok()) return "computed by itself it does not differ";
    for (;;) {
      mlir::Operation* op = value.getDefiningOp();
      llvm::SetVector<mlir::Value> sources(op->operand_begin(), op->operand_end());
      mlir::getUsedValuesDefinedAbove(op->getRegions(), sources);
      bool isFound = false;
      for (mlir::Value source : sources) {
        Status status = difference(source);
        if (status.ok()) continue;
        worst = status;
        value = source;
        isFound = true;
        break;
      }
      if (isFound) continue;
      return "the first operation that differs is " + describe(op) + ": " +
             std::string(worst.message());
    }
  }

  StatusOr<Tensor> compute(const RunRequest& request, const std::string& text,
                           const std::vector<Tensor>& arguments) const {
    CompileRequest part{text, "mlir", options_};
    ISTHMUS_ASSIGN_OR_RETURN(std::shared_ptr<const Executable> executable, compile_(part));
    if (executable->info().outputs.size() != 1 ||
        executable->info().parameters.size() != arguments.size()) {
      return internalError("a part of the program has other parameters or results");
    }
    // They share their elements with others: kept as they are, since nothing is donated.
    std::vector<const void*> parameters;
    for (const Tensor& argument : arguments) parameters.push_back(argument.data());
    Results results(executable->info());
    RunRequest run = request;
    run.parameters = parameters;
    run.results = results.pointers();
    ISTHMUS_RETURN_IF_ERROR(executable->run(run));
    ISTHMUS_ASSIGN_OR_RETURN(std::vector<Tensor> tensors,
                             copied(results.pointers(), executable->info().outputs));
    return std::move(tensors.front());
  }

  std::shared_ptr<const Executable> compiled_;
  std::string code_;
  std::string format_;
  CompileOptions options_;
  CompileFunction compile_;

  // What runs share; the program is read by the first of them.
  mutable std::mutex mutex_;
  mutable std::unique_ptr<mlir::MLIRContext> context_;
  mutable mlir::OwningOpRef<mlir::ModuleOp> module_;
  mutable bool hasLogged_ = false;
};

}  // namespace

std::shared_ptr<const Executable> compareWithReference(std::shared_ptr<const Executable> compiled,
                                                       const CompileRequest& request,
                                                       CompileFunction compile) {
  return std::make_shared<ComparingExecutable>(std::move(compiled), request, std::move(compile));
}

}  // namespace isthmus

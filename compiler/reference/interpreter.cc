// The walk over blocks, functions and regions.
#include "compiler/reference/interpreter.h"

#include "compiler/dialect/diagnostics/source_location.h"
#include "compiler/dialect/types/type_conversion.h"
#include "compiler/reference/call.h"
#include "compiler/reference/evaluators/evaluators.h"
#include "compiler/reference/evaluators/quantization.h"
#include "llvm/ADT/ScopeExit.h"

namespace isthmus::reference {
namespace {

int64_t elementsOf(llvm::ArrayRef<Value> values) {
  int64_t count = 0;
  for (const Value& value : values) {
    count += value.kind == Value::Kind::kTensor ? value.tensor.size() : elementsOf(value.elements);
  }
  return count;
}

}  // namespace

ElementType Call::resultElementType(size_t i) const { return toElementType(resultTypes[i]); }

StatusOr<Tensor> Call::scalar(const Scalar& value, ElementType type) const {
  ISTHMUS_ASSIGN_OR_RETURN(Tensor tensor, make(type, {}));
  tensor.set(0, value);
  return tensor;
}

StatusOr<Tensor> Call::element(const Tensor& source, int64_t position) const {
  ISTHMUS_ASSIGN_OR_RETURN(Tensor tensor, make(source.elementType(), {}));
  tensor.copyElement(0, source, position);
  return tensor;
}

StatusOr<Tensor> Call::elementFor(mlir::Region& region, unsigned i, const Tensor& source,
                                  int64_t position) const {
  ElementType type = toElementType(region.getArgument(i).getType());
  if (type == source.elementType()) return element(source, position);
  return scalar(scalars::convert(source.elementType(), source.get(position), type), type);
}

StatusOr<std::vector<Tensor>> Call::runScalars(mlir::Region& region,
                                               std::vector<Tensor> arguments) {
  std::vector<Value> values(std::make_move_iterator(arguments.begin()),
                            std::make_move_iterator(arguments.end()));
  ISTHMUS_ASSIGN_OR_RETURN(std::vector<Value> given, run(region, std::move(values)));
  std::vector<Tensor> tensors;
  for (Value& value : given) tensors.push_back(std::move(value.tensor));
  return tensors;
}

Status addResult(Call& call, StatusOr<Tensor> result) {
  if (!result.ok()) return result.status();
  call.results.push_back(std::move(result).value());
  return {};
}

StatusOr<Dims> integersOf(const Tensor& tensor) {
  if (!isInteger(tensor.elementType())) {
    return invalidArgument("expected integers, got ", tensor.type().toString());
  }
  Dims values;
  for (int64_t i = 0; i < tensor.size(); ++i) values.push_back(tensor.integer(i));
  return values;
}

int64_t valueOr(std::optional<llvm::ArrayRef<int64_t>> values, size_t d, int64_t otherwise) {
  return values && d < values->size() ? (*values)[d] : otherwise;
}

Interpreter::Interpreter(mlir::ModuleOp module, InterpreterOptions options)
    : module_(module), options_(std::move(options)), memory_(std::make_shared<MemoryAccount>()) {
  memory_->maxBytes = options_.limits.maxBytes;
}

Status Interpreter::charge(int64_t steps) {
  if (steps > options_.limits.steps - steps_) {
    return resourceExhausted("evaluation takes more than ", options_.limits.steps, " steps");
  }
  steps_ += steps;
  return {};
}

StatusOr<std::vector<Value>> Interpreter::run(mlir::func::FuncOp function,
                                              std::vector<Value> arguments) {
  if (function.isExternal()) {
    return invalidArgument("function ", function.getName().str(), " has no body");
  }
  if (arguments.size() != function.getNumArguments()) {
    return invalidArgument("function ", function.getName().str(), " takes ",
                           function.getNumArguments(), " arguments, got ", arguments.size());
  }
  if (depth_ == 0) isErrorDescribed_ = false;
  Frame frame;
  return runRegion(function.getBody(), std::move(arguments), frame);
}

StatusOr<std::vector<Value>> Interpreter::runFunction(std::string_view name,
                                                      std::vector<Value> arguments) {
  auto function = module_.lookupSymbol<mlir::func::FuncOp>(llvm::StringRef(name));
  if (!function) return invalidArgument("there is no function ", name);
  return run(function, std::move(arguments));
}

StatusOr<std::vector<Value>> Interpreter::runRegion(mlir::Region& region,
                                                    std::vector<Value> arguments, Frame& frame) {
  if (!region.hasOneBlock()) return unimplemented("a region with several blocks, or none");
  mlir::Block& block = region.front();
  if (arguments.size() != block.getNumArguments()) {
    return invalidArgument("a region takes ", block.getNumArguments(), " values, got ",
                           arguments.size());
  }
  if (depth_ >= options_.limits.depth) {
    return resourceExhausted("calls and regions are nested deeper than ", options_.limits.depth);
  }
  ++depth_;
  llvm::scope_exit leave([&] { --depth_; });
  for (auto [argument, value] : llvm::zip(block.getArguments(), arguments)) {
    frame[argument] = std::move(value);
  }
  for (mlir::Operation& op : block) {
    std::vector<Value> operands;
    operands.reserve(op.getNumOperands());
    for (mlir::Value operand : op.getOperands()) {
      auto it = frame.find(operand);
      if (it == frame.end()) {
        return internalError("an operand without a value: ", describe(&op));
      }
      operands.push_back(it->second);
    }
    if (op.hasTrait<mlir::OpTrait::IsTerminator>()) {
      for (mlir::Operation& done : block) {
        for (mlir::Value result : done.getResults()) frame.erase(result);
      }
      return operands;
    }
    ISTHMUS_ASSIGN_OR_RETURN(std::vector<Value> results, evaluateIn(&op, operands, frame));
    if (options_.observer) options_.observer(&op, results);
    for (auto [result, value] : llvm::zip(op.getResults(), results)) {
      if (!result.use_empty()) frame[result] = std::move(value);
    }
  }
  return internalError("a block without an end");
}

StatusOr<std::vector<Value>> Interpreter::evaluate(mlir::Operation* op,
                                                   llvm::ArrayRef<Value> operands) {
  if (depth_ == 0) isErrorDescribed_ = false;
  Frame frame;
  return evaluateIn(op, operands, frame);
}

StatusOr<std::vector<Value>> Interpreter::evaluateIn(mlir::Operation* op,
                                                     llvm::ArrayRef<Value> operands, Frame& frame) {
  ISTHMUS_RETURN_IF_ERROR(charge(1));
  Call call{op, operands, llvm::SmallVector<mlir::Type, 2>(op->getResultTypes()), *this, frame};
  Status status;
  bool isDone = false;
  if (options_.extension) {
    StatusOr<bool> handled = options_.extension(call);
    status = handled.status();
    isDone = !handled.ok() || *handled;
  }
  if (!isDone) {
    const EvaluatorEntry* entry = findEvaluator(op->getName().getStringRef());
    if (!entry) {
      status = unimplemented("has no evaluator");
    } else if (entry->computesWithReals && usesQuantizedTypes(op)) {
      status = evaluateByReals(call, entry->evaluate);
    } else {
      status = entry->evaluate(call);
    }
  }
  if (!status.ok()) {
    // What comes out of a region or a callee has been described there.
    if (isErrorDescribed_) return status;
    isErrorDescribed_ = true;
    return status.withContext(describe(op));
  }
  if (call.results.size() != op->getNumResults()) {
    return internalError(describe(op), ": evaluated to ", call.results.size(), " values");
  }
  ISTHMUS_RETURN_IF_ERROR(charge(elementsOf(call.results)));
  return std::move(call.results);
}

}  // namespace isthmus::reference

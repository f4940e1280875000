// Runs programs as the specification reads: every operation by its evaluator, in program order.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/reference/tensor.h"
#include "isthmus/status.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace isthmus::reference {

struct Call;
class ProcessGrid;

// What an SSA value stands for.
struct Value {
  enum class Kind { kTensor, kToken, kTuple };  // a future is the tuple of what it will give

  Value() = default;
  Value(Tensor value) : kind(Kind::kTensor), tensor(std::move(value)) {}
  static Value token() { return Value(); }
  static Value tuple(std::vector<Value> parts) {
    Value value;
    value.kind = Kind::kTuple;
    value.elements = std::move(parts);
    return value;
  }

  Kind kind = Kind::kToken;
  Tensor tensor;  // quantized ones hold their storage type
  std::vector<Value> elements;
};

// Bounds on what a program may cost; exceeding one is kResourceExhausted.
struct Limits {
  int64_t steps = int64_t{1} << 40;     // operations and elements computed
  int64_t maxBytes = int64_t{4} << 30;  // of arrays alive at a time
  int depth = 200;                      // of calls and regions inside each other
};

// Which device of several runs the program.
struct Process {
  uint32_t replica = 0;
  uint32_t partition = 0;
  ProcessGrid* grid = nullptr;  // null: there is one device
};

struct InterpreterOptions {
  Limits limits;
  Process process;
  // Asked before the op table; true if it has evaluated the operation (assertions, for example).
  std::function<StatusOr<bool>(Call& call)> extension;
  // Told each operation and its results, in the order of evaluation.
  std::function<void(mlir::Operation* op, llvm::ArrayRef<Value> results)> observer;
};

// Evaluates functions and operations of one module, which must outlive it and be verified.
//
// Errors: kUnimplemented for what has no meaning here (infeed on one device, unknown custom
// calls), kResourceExhausted at a limit, kInvalidArgument for values that an operation does not
// allow; each names the operation and the user's source position. Not thread-safe.
class Interpreter {
 public:
  explicit Interpreter(mlir::ModuleOp module, InterpreterOptions options = {});

  StatusOr<std::vector<Value>> run(mlir::func::FuncOp function, std::vector<Value> arguments);

  // One operation by itself. Its regions may not read values from outside of them.
  StatusOr<std::vector<Value>> evaluate(mlir::Operation* op, llvm::ArrayRef<Value> operands);

  // Operations and elements computed so far.
  int64_t steps() const { return steps_; }

  const InterpreterOptions& options() const { return options_; }
  mlir::ModuleOp module() const { return module_; }

  // ---- For evaluators ----

  using Frame = llvm::DenseMap<mlir::Value, Value>;

  StatusOr<std::vector<Value>> runRegion(mlir::Region& region, std::vector<Value> arguments,
                                         Frame& frame);
  StatusOr<std::vector<Value>> runFunction(std::string_view name, std::vector<Value> arguments);
  Status charge(int64_t steps);
  const std::shared_ptr<MemoryAccount>& memory() const { return memory_; }
  // Another number for each use of a generator without a state.
  uint64_t nextRandomStream() { return ++randomStreams_; }

 private:
  StatusOr<std::vector<Value>> evaluateIn(mlir::Operation* op, llvm::ArrayRef<Value> operands,
                                          Frame& frame);

  mlir::ModuleOp module_;
  InterpreterOptions options_;
  std::shared_ptr<MemoryAccount> memory_;
  int64_t steps_ = 0;
  uint64_t randomStreams_ = 0;
  int depth_ = 0;
  bool isErrorDescribed_ = false;
};

// The elements of a dense attribute or resource; `account` may be null.
StatusOr<Tensor> tensorOf(mlir::Attribute elements,
                          std::shared_ptr<MemoryAccount> account = nullptr);
// The attribute of this type (of the tensor's shape and storage) with the tensor's elements.
mlir::DenseElementsAttr attributeOf(const Tensor& tensor, mlir::Type elementType);

}  // namespace isthmus::reference

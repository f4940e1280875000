#include "compiler/passes/shapes/dynamic_calls.h"

#include "compiler/dialect/diagnostics/diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"

namespace isthmus {
namespace {

using Numbers = KnownIntegers::Numbers;
using mlir::RankedTensorType;

constexpr llvm::StringLiteral kAssertion = "shape_assertion";
constexpr llvm::StringLiteral kReduceWindow = "stablehlo.dynamic_reduce_window";

// The block of the function that combines two elements of each of `count` inputs.
mlir::Block* combinerOf(shlo::CustomCallOp call, size_t count) {
  mlir::ArrayAttr called = call.getCalledComputations();
  if (!called || called.size() != 1) return nullptr;
  auto name = llvm::dyn_cast<mlir::FlatSymbolRefAttr>(called[0]);
  if (!name) return nullptr;
  auto function = mlir::SymbolTable::lookupNearestSymbolFrom<mlir::func::FuncOp>(call, name);
  if (!function || !function.getBody().hasOneBlock()) return nullptr;
  mlir::Block& block = function.getBody().front();
  bool isCombiner =
      block.getNumArguments() == 2 * count && block.getTerminator()->getNumOperands() == count;
  return isCombiner ? &block : nullptr;
}

void copyBlock(mlir::Block& from, mlir::Region& to, mlir::OpBuilder& builder) {
  mlir::Location place = to.getLoc();
  mlir::OpBuilder::InsertionGuard guard(builder);
  mlir::Block* block =
      builder.createBlock(&to, {}, from.getArgumentTypes(),
                          llvm::SmallVector<mlir::Location>(from.getNumArguments(), place));
  mlir::IRMapping mapping;
  mapping.map(from.getArguments(), block->getArguments());
  for (mlir::Operation& op : from.without_terminator()) builder.clone(op, mapping);
  llvm::SmallVector<mlir::Value> results;
  for (mlir::Value result : from.getTerminator()->getOperands()) {
    results.push_back(mapping.lookupOrDefault(result));
  }
  shlo::ReturnOp::create(builder, place, results);
}

// Operands: the inputs, an initial value for each, the sizes of windows, their strides, dilations
// of inputs and of windows, and the padding.
mlir::Operation* knownReduceWindow(shlo::CustomCallOp call, KnownIntegers& known,
                                   mlir::OpBuilder& builder) {
  constexpr size_t kAttributes = 5;
  const size_t count = call.getNumResults();
  if (count == 0 || call->getNumOperands() != 2 * count + kAttributes) return nullptr;
  mlir::ValueRange inputs = call.getOperands().take_front(count);
  mlir::ValueRange initial = call.getOperands().slice(count, count);
  auto input = llvm::dyn_cast<RankedTensorType>(inputs.front().getType());
  mlir::Block* combiner = combinerOf(call, count);
  if (!input || !input.hasStaticShape() || !combiner) return nullptr;
  const size_t rank = input.getRank();
  llvm::SmallVector<Numbers, kAttributes> attributes;
  for (mlir::Value operand : call.getOperands().take_back(kAttributes)) {
    std::optional<Numbers> numbers = known.of(operand);
    bool isPadding = attributes.size() == kAttributes - 1;
    if (!numbers || numbers->size() != (isPadding ? 2 * rank : rank)) return nullptr;
    attributes.push_back(*std::move(numbers));
  }
  auto matrix = RankedTensorType::get({static_cast<int64_t>(rank), 2}, builder.getI64Type());
  auto windows = shlo::ReduceWindowOp::create(
      builder, call.getLoc(), call.getResultTypes(), inputs, initial,
      builder.getDenseI64ArrayAttr(attributes[0]), builder.getDenseI64ArrayAttr(attributes[1]),
      builder.getDenseI64ArrayAttr(attributes[2]), builder.getDenseI64ArrayAttr(attributes[3]),
      mlir::DenseIntElementsAttr::get(matrix, llvm::ArrayRef<int64_t>(attributes[4])));
  copyBlock(*combiner, windows.getBody(), builder);
  return windows;
}

// The message of an assertion: {0} is its first operand after the condition.
std::string messageOf(shlo::CustomCallOp call, KnownIntegers& known) {
  auto text = call->getAttrOfType<mlir::StringAttr>("error_message");
  std::string message = text ? text.str() : "the program's assertion about its shapes is false";
  for (unsigned i = 1; i < call->getNumOperands(); ++i) {
    std::optional<Numbers> number = known.of(call->getOperand(i));
    if (!number || number->size() != 1) continue;
    const std::string place = "{" + std::to_string(i - 1) + "}",
                      value = std::to_string((*number)[0]);
    for (size_t at = 0; (at = message.find(place, at)) != std::string::npos; at += value.size()) {
      message.replace(at, place.size(), value);
    }
  }
  return message;
}

}  // namespace

bool isDynamicCall(mlir::Operation* op) {
  auto call = llvm::dyn_cast<shlo::CustomCallOp>(op);
  return call &&
         (call.getCallTargetName() == kAssertion || call.getCallTargetName() == kReduceWindow);
}

bool isElementwiseCall(mlir::Operation& op) {
  auto call = llvm::dyn_cast<shlo::CustomCallOp>(op);
  if (!call || call->getNumOperands() == 0 || call->getNumResults() != 1 ||
      !llvm::isa<RankedTensorType>(call->getOperand(0).getType()) ||
      !llvm::isa<RankedTensorType>(call->getResult(0).getType())) {
    return false;
  }
  llvm::StringRef name = call.getCallTargetName();
  if (!name.consume_front("mhlo.") && !name.consume_front("chlo.")) return false;
  auto stands = mlir::RegisteredOperationName::lookup(("chlo." + name).str(), op.getContext());
  return stands && stands->hasTrait<mlir::OpTrait::SameOperandsAndResultShape>();
}

mlir::Operation* knownForm(shlo::CustomCallOp call, KnownIntegers& known,
                           mlir::OpBuilder& builder) {
  if (call.getCallTargetName() != kReduceWindow) return nullptr;
  return knownReduceWindow(call, known, builder);
}

mlir::FailureOr<bool> holds(shlo::CustomCallOp call, KnownIntegers& known) {
  if (call.getCallTargetName() != kAssertion || call->getNumOperands() == 0 ||
      call->getNumResults() != 0) {
    return false;
  }
  std::optional<Numbers> condition = known.of(call->getOperand(0));
  if (!condition || condition->size() != 1) return false;
  if ((*condition)[0] == 0) {
    emitInvalid(call.getLoc(), messageOf(call, known));
    return mlir::failure();
  }
  return true;
}

}  // namespace isthmus

// The entry-layouts pass: arguments and results of @main in the layouts that the caller asks for.
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/types/permutation.h"
#include "compiler/passes/passes.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace isthmus {

#define GEN_PASS_DEF_ENTRYLAYOUTSPASS
#include "compiler/passes/passes.h.inc"

namespace {

using Order = llvm::SmallVector<int64_t>;

// Reads "{0,1}", the dimensions of an array of this rank from the contiguous one on.
mlir::FailureOr<Order> parseLayout(llvm::StringRef text, int64_t rank) {
  if (!text.consume_front("{") || !text.consume_back("}")) return mlir::failure();
  Order order;
  llvm::SmallVector<llvm::StringRef> parts;
  if (!text.empty()) text.split(parts, ',');
  llvm::SmallVector<bool> seen(static_cast<size_t>(rank));
  for (llvm::StringRef part : parts) {
    int64_t dim = 0;
    if (part.getAsInteger(10, dim) || dim < 0 || dim >= rank || seen[dim]) return mlir::failure();
    seen[dim] = true;
    order.push_back(dim);
  }
  if (static_cast<int64_t>(order.size()) != rank) return mlir::failure();
  return order;
}

bool isRowMajor(const Order& order) {
  for (auto [i, dim] : llvm::enumerate(llvm::reverse(order))) {
    if (dim != static_cast<int64_t>(i)) return false;
  }
  return true;
}

struct EntryLayoutsPass : impl::EntryLayoutsPassBase<EntryLayoutsPass> {
  void runOnOperation() override {
    auto main = getOperation().lookupSymbol<mlir::func::FuncOp>("main");
    if (!main || main.isExternal() || !main.getBody().hasOneBlock()) return;
    llvm::SmallVector<mlir::Type> arguments(main.getArgumentTypes());
    llvm::SmallVector<mlir::Type> results(main.getResultTypes());
    mlir::Block& block = main.getBody().front();
    mlir::OpBuilder builder = mlir::OpBuilder::atBlockBegin(&block);

    for (unsigned i = 0; i < main.getNumArguments(); ++i) {
      mlir::FailureOr<Order> order =
          orderOf(main, main.getArgAttrOfType<mlir::StringAttr>(i, kMode), arguments[i]);
      if (mlir::failed(order)) return signalPassFailure();
      main.removeArgAttr(i, kMode);
      if (order->empty()) continue;
      // The k-th dimension of memory is the array's order[rank - 1 - k].
      Order fromMemory(order->rbegin(), order->rend());
      mlir::BlockArgument argument = block.getArgument(i);
      mlir::Type type = arguments[i];
      arguments[i] = permuted(arguments[i], fromMemory);
      argument.setType(arguments[i]);
      main.setArgAttr(i, kLayoutAttribute, builder.getDenseI64ArrayAttr(*order));
      auto transpose =
          shlo::TransposeOp::create(builder, argument.getLoc(), type, argument,
                                    builder.getDenseI64ArrayAttr(inverseOf(fromMemory)));
      argument.replaceAllUsesExcept(transpose, transpose);
    }

    mlir::Operation* terminator = block.getTerminator();
    builder.setInsertionPoint(terminator);
    for (unsigned i = 0; i < main.getNumResults(); ++i) {
      auto mode = main.getResultAttrOfType<mlir::StringAttr>(i, kMode);
      mlir::FailureOr<Order> order = orderOf(main, mode, results[i]);
      if (mlir::failed(order)) return signalPassFailure();
      if (mode && mode.getValue() == "auto") *order = freeOrder(terminator->getOperand(i));
      main.removeResultAttr(i, builder.getStringAttr(kMode));
      if (order->empty()) continue;
      Order toMemory(order->rbegin(), order->rend());
      results[i] = permuted(results[i], toMemory);
      main.setResultAttr(i, kLayoutAttribute, builder.getDenseI64ArrayAttr(*order));
      terminator->setOperand(i, shlo::TransposeOp::create(builder, terminator->getLoc(), results[i],
                                                          terminator->getOperand(i),
                                                          builder.getDenseI64ArrayAttr(toMemory)));
    }
    main.setType(mlir::FunctionType::get(&getContext(), arguments, results));
  }

  static constexpr char kMode[] = "mhlo.layout_mode";

  // The order that a mode asks for; empty for row-major, which "default" and "auto" mean too.
  mlir::FailureOr<Order> orderOf(mlir::func::FuncOp main, mlir::StringAttr mode, mlir::Type type) {
    if (!mode || mode.getValue() == "default" || mode.getValue() == "auto") return Order();
    auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
    mlir::FailureOr<Order> order = mlir::failure();
    if (tensor) order = parseLayout(mode.getValue(), tensor.getRank());
    if (mlir::failed(order)) {
      return main.emitError("layout ") << mode << " of " << type
                                       << " is not supported: expected \"default\", \"auto\" or a "
                                          "permutation of the dimensions such as \"{0,1}\"";
    }
    if (isRowMajor(*order)) order->clear();
    return order;
  }

  // The order in which the result of a transpose is what was transposed.
  static Order freeOrder(mlir::Value value) {
    auto transpose = value.getDefiningOp<shlo::TransposeOp>();
    if (!transpose) return {};
    Order order(transpose.getPermutation().size());
    for (auto [i, from] : llvm::enumerate(transpose.getPermutation())) {
      order[order.size() - 1 - from] = static_cast<int64_t>(i);
    }
    if (isRowMajor(order)) order.clear();
    return order;
  }
};

}  // namespace
}  // namespace isthmus

// The flatten-tuples pass: @main takes and gives arrays only.
#include "compiler/dialect/dialect.h"
#include "compiler/passes/passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace isthmus {

#define GEN_PASS_DEF_FLATTENTUPLESPASS
#include "compiler/passes/passes.h.inc"

namespace {

using mlir::Value;

// The value of a type, in tuples if it is one, from new arguments of the block.
Value makeArgument(mlir::OpBuilder& builder, mlir::Block& block, mlir::Type type,
                   mlir::Location location) {
  auto tuple = llvm::dyn_cast<mlir::TupleType>(type);
  if (!tuple) return block.addArgument(type, location);
  llvm::SmallVector<Value> elements;
  for (mlir::Type element : tuple.getTypes()) {
    elements.push_back(makeArgument(builder, block, element, location));
  }
  return shlo::TupleOp::create(builder, location, tuple, elements);
}

void appendElements(mlir::OpBuilder& builder, Value value, llvm::SmallVector<Value>& elements) {
  auto tuple = llvm::dyn_cast<mlir::TupleType>(value.getType());
  if (!tuple) return elements.push_back(value);
  for (auto [i, type] : llvm::enumerate(tuple.getTypes())) {
    // Most often the tuple was made just before.
    auto made = value.getDefiningOp<shlo::TupleOp>();
    Value element = made ? made.getVal()[i]
                         : shlo::GetTupleElementOp::create(builder, value.getLoc(), type, value,
                                                           static_cast<int32_t>(i));
    appendElements(builder, element, elements);
  }
}

// Attributes stay with arrays; a tuple's are none of its elements'.
mlir::DictionaryAttr attributesOf(mlir::Type type, mlir::DictionaryAttr attributes) {
  bool isKept = attributes && !llvm::isa<mlir::TupleType>(type);
  return isKept ? attributes : mlir::DictionaryAttr::get(type.getContext());
}

// An argument whose memory a result takes names the result by its number. In a tuple it may take
// that of any element: the argument is donated.
void renumberAliases(llvm::SmallVector<mlir::DictionaryAttr>& arguments,
                     llvm::ArrayRef<int64_t> firsts, mlir::Builder& builder) {
  for (mlir::DictionaryAttr& attributes : arguments) {
    auto alias = attributes.getAs<mlir::IntegerAttr>("tf.aliasing_output");
    if (!alias || alias.getInt() < 0 || alias.getInt() >= static_cast<int64_t>(firsts.size())) {
      continue;
    }
    mlir::NamedAttrList changed(attributes);
    const int64_t first = firsts[alias.getInt()];
    if (first >= 0) {
      changed.set("tf.aliasing_output", builder.getI32IntegerAttr(static_cast<int32_t>(first)));
    } else {
      changed.erase("tf.aliasing_output");
      changed.set("jax.buffer_donor", builder.getBoolAttr(true));
    }
    attributes = changed.getDictionary(builder.getContext());
  }
}

struct FlattenTuplesPass : impl::FlattenTuplesPassBase<FlattenTuplesPass> {
  void runOnOperation() override {
    auto main = getOperation().lookupSymbol<mlir::func::FuncOp>("main");
    if (!main || main.isExternal() || !main.getBody().hasOneBlock()) return;
    auto isTuple = [](mlir::Type type) { return llvm::isa<mlir::TupleType>(type); };
    if (llvm::none_of(main.getArgumentTypes(), isTuple) &&
        llvm::none_of(main.getResultTypes(), isTuple)) {
      return;
    }
    mlir::Block& block = main.getBody().front();
    mlir::OpBuilder builder = mlir::OpBuilder::atBlockBegin(&block);
    llvm::SmallVector<mlir::DictionaryAttr> argumentAttributes, resultAttributes;
    const unsigned old = block.getNumArguments();
    for (unsigned i = 0; i < old; ++i) {
      Value argument = block.getArgument(i);
      argument.replaceAllUsesWith(
          makeArgument(builder, block, argument.getType(), argument.getLoc()));
      argumentAttributes.resize(block.getNumArguments() - old,
                                attributesOf(argument.getType(), main.getArgAttrDict(i)));
    }
    block.eraseArguments(0, old);
    mlir::Operation* end = block.getTerminator();
    builder.setInsertionPoint(end);
    llvm::SmallVector<Value> results;
    // Of each result: its place among the new ones; -1 for a tuple.
    llvm::SmallVector<int64_t> firsts;
    for (auto [i, result] : llvm::enumerate(end->getOperands())) {
      firsts.push_back(isTuple(result.getType()) ? -1 : static_cast<int64_t>(results.size()));
      appendElements(builder, result, results);
      resultAttributes.resize(
          results.size(),
          attributesOf(result.getType(), main.getResultAttrDict(static_cast<unsigned>(i))));
    }
    end->setOperands(results);
    renumberAliases(argumentAttributes, firsts, builder);
    main.setType(
        builder.getFunctionType(block.getArgumentTypes(), mlir::ValueRange(results).getTypes()));
    main.setAllArgAttrs(argumentAttributes);
    main.setAllResultAttrs(resultAttributes);
  }
};

}  // namespace
}  // namespace isthmus

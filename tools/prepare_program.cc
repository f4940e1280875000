#include "tools/prepare_program.h"

#include "compiler/reference/interpreter.h"
#include "compiler/reference/test_ops.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/SymbolTable.h"

namespace isthmus {
namespace {

// Users that need to know the value when the program is compiled.
bool needsConstant(mlir::Operation* user) {
  llvm::StringRef name = user->getName().stripDialect();
  return name.starts_with("dynamic_broadcast") || name == "dynamic_conv" ||
         name == "dynamic_gather" || name == "dynamic_iota" || name == "dynamic_pad" ||
         name == "dynamic_reshape" || name == "real_dynamic_slice" || name == "rng" ||
         name == "set_dimension_size" || name == "custom_call" || name == "composite";
}

}  // namespace

StatusOr<Prepared> prepareProgram(mlir::ModuleOp module, mlir::func::FuncOp function,
                                  std::vector<reference::Tensor> arguments) {
  Prepared prepared;
  prepared.arguments = std::move(arguments);
  for (mlir::Operation& op : function.getBody().front()) {
    if (reference::isCheck(&op)) prepared.checks.push_back({&op, op.getNumOperands()});
  }
  prepared.module = module.clone();
  if (auto main = prepared.module->lookupSymbol<mlir::func::FuncOp>("main")) {
    if (function.getName() != "main") main.erase();
  }
  auto main = prepared.module->lookupSymbol<mlir::func::FuncOp>(function.getName());
  if (!main) return internalError("the function is not in its module");
  main.setName("main");
  main.setPublic();
  mlir::Block& block = main.getBody().front();
  for (auto constant : llvm::make_early_inc_range(block.getOps<shlo::ConstantOp>())) {
    if (llvm::any_of(constant->getUsers(), needsConstant)) continue;
    ISTHMUS_ASSIGN_OR_RETURN(reference::Tensor value, reference::tensorOf(constant.getValue()));
    prepared.arguments.push_back(std::move(value));
    mlir::BlockArgument argument = block.addArgument(constant.getType(), constant.getLoc());
    constant.getResult().replaceAllUsesWith(argument);
    constant.erase();
  }
  for (auto other : llvm::make_early_inc_range(prepared.module->getOps<mlir::func::FuncOp>())) {
    bool isUsed = other == main || !mlir::SymbolTable::symbolKnownUseEmpty(other, *prepared.module);
    if (!isUsed) other.erase();
  }
  mlir::Operation* end = block.getTerminator();
  prepared.results = end->getNumOperands();
  llvm::SmallVector<mlir::Value> results(end->getOperands());
  for (mlir::Operation& op : llvm::make_early_inc_range(block)) {
    if (!reference::isCheck(&op)) continue;
    results.append(op.operand_begin(), op.operand_end());
    if (!op.use_empty()) {
      return unimplemented("the program uses the result of an assertion");
    }
    op.erase();
  }
  end->setOperands(results);
  main.setType(
      mlir::FunctionType::get(main.getContext(), block.getArgumentTypes(), end->getOperandTypes()));
  main.setAllArgAttrs(llvm::SmallVector<mlir::DictionaryAttr>(
      main.getNumArguments(), mlir::DictionaryAttr::get(main.getContext())));
  main.setAllResultAttrs(llvm::SmallVector<mlir::DictionaryAttr>(
      main.getNumResults(), mlir::DictionaryAttr::get(main.getContext())));
  return prepared;
}

}  // namespace isthmus

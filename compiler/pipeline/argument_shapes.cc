#include "compiler/pipeline/argument_shapes.h"

#include "compiler/dialect/rules/rules.h"
#include "compiler/dialect/types/type_conversion.h"
#include "compiler/passes/passes.h"
#include "llvm/ADT/STLExtras.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Support/DebugStringHelper.h"

namespace isthmus {
namespace {

using mlir::RankedTensorType;

bool isOpen(RankedTensorType type) {
  return type && !type.hasStaticShape() && shlo::boundsOf(type).empty();
}

bool fits(llvm::ArrayRef<int64_t> given, RankedTensorType type) {
  return given.size() == static_cast<size_t>(type.getRank()) &&
         llvm::all_of(llvm::zip(given, type.getShape()), [](auto sizes) {
           auto [size, declared] = sizes;
           return size >= 0 && (mlir::ShapedType::isDynamic(declared) || size == declared);
         });
}

}  // namespace

Status noteArgumentShapes(mlir::ModuleOp module, const CompileOptions& options) {
  auto main = module.lookupSymbol<mlir::func::FuncOp>("main");
  if (!main || main.isExternal()) return {};
  for (unsigned i = 0; i < main.getNumArguments(); ++i) {
    auto type = llvm::dyn_cast<RankedTensorType>(main.getArgumentTypes()[i]);
    if (!isOpen(type)) continue;
    if (options.argumentShapes.size() != main.getNumArguments()) {
      return unimplemented("parameter ", i, ": expected a static shape, got ",
                           mlir::debugString(type), "; the compile options give ",
                           options.argumentShapes.size(), " shapes of ", main.getNumArguments(),
                           " arguments");
    }
    llvm::ArrayRef<int64_t> given(options.argumentShapes[i]);
    if (!fits(given, type)) {
      return invalidArgument("parameter ", i, " of ", mlir::debugString(type),
                             " is given the shape ", shlo::text(given));
    }
    RankedTensorType closed = RankedTensorType::get(given, type.getElementType());
    if (StatusOr<ArrayType> array = toArrayType(closed); !array.ok()) {
      return array.status().withContext("parameter " + std::to_string(i));
    }
    main.setArgAttr(i, kShapeAttribute, mlir::DenseI64ArrayAttr::get(module.getContext(), given));
  }
  return {};
}

}  // namespace isthmus

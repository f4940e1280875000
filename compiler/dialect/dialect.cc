// Makes the StableHLO dialect of its families, and registers all dialects.
#include "compiler/dialect/dialect.h"

#include "compiler/dialect/chlo.h"
#include "compiler/dialect/families/families.h"
#include "compiler/dialect/inliner.h"
#include "compiler/dialect/isthmus.h"
#include "compiler/dialect/sdy.h"
#include "mlir/Dialect/Func/Extensions/InlinerExtension.h"
#include "mlir/IR/DialectImplementation.h"

#include "ops/dialect.cc.inc"

namespace isthmus {
namespace shlo {

void ShloDialect::initialize() {
  registerTypes();
  registerAttributes();
  addUnaryOps(*this);
  addBinaryOps(*this);
  addDataMovementOps(*this);
  addReductionOps(*this);
  addContractionOps(*this);
  addControlFlowOps(*this);
  addCollectiveOps(*this);
  addDynamicOps(*this);
  addMiscOps(*this);
  addInterfaces<UnrestrictedInliner>();
}

}  // namespace shlo

void registerAllDialects(mlir::DialectRegistry& registry) {
  registry.insert<mlir::func::FuncDialect, mlir::quant::QuantDialect, shlo::ShloDialect,
                  chlo::ChloDialect, sdy::SdyDialect, ir::IsthmusDialect>();
  mlir::func::registerInlinerExtension(registry);
}

void loadAllDialects(mlir::MLIRContext& context) {
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
}

}  // namespace isthmus

#include "compiler/pipeline/portable.h"

#include "compiler/partition/partition.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"

namespace isthmus {
namespace {

constexpr llvm::StringLiteral kOurPrefix = "isthmus.";

// chlo.erf becomes @mhlo.erf, which converters know as erf; what they do not know stays a call.
void replaceByCall(mlir::Operation* op) {
  mlir::OpBuilder builder(op);
  mlir::OperationState state(op->getLoc(), shlo::CustomCallOp::getOperationName());
  state.addOperands(op->getOperands());
  state.addTypes(op->getResultTypes());
  llvm::StringRef name = op->getName().stripDialect();
  if (name == "top_k") name = "topk";
  state.addAttribute("call_target_name", builder.getStringAttr("mhlo." + name));
  llvm::SmallVector<mlir::NamedAttribute> attributes(op->getAttrs());
  if (name == "topk") {
    attributes.push_back(builder.getNamedAttr("largest", builder.getBoolAttr(true)));
  }
  state.addAttribute("mhlo.attributes", builder.getDictionaryAttr(attributes));
  state.addAttribute("mhlo.version", builder.getI64IntegerAttr(1));
  op->replaceAllUsesWith(builder.create(state)->getResults());
  op->erase();
}

mlir::ArrayAttr withoutOurs(mlir::ArrayAttr all) {
  mlir::Builder builder(all.getContext());
  llvm::SmallVector<mlir::Attribute> kept;
  for (mlir::Attribute attributes : all) {
    llvm::SmallVector<mlir::NamedAttribute> foreign;
    for (mlir::NamedAttribute attribute : llvm::cast<mlir::DictionaryAttr>(attributes)) {
      if (!attribute.getName().strref().starts_with(kOurPrefix)) foreign.push_back(attribute);
    }
    kept.push_back(builder.getDictionaryAttr(foreign));
  }
  return builder.getArrayAttr(kept);
}

// The serialized OpSharding messages of parameters or results; none unless all have one.
llvm::SmallVector<mlir::Attribute> shardingsOf(mlir::ArrayAttr all) {
  llvm::SmallVector<mlir::Attribute> shardings;
  for (mlir::Attribute attributes : all) {
    auto sharding = llvm::cast<mlir::DictionaryAttr>(attributes).get(kShardingAttribute);
    if (!sharding) return {};
    shardings.push_back(sharding);
  }
  return shardings;
}

// An OpSharding of type TUPLE, serialized, of such messages.
mlir::StringAttr tupleSharding(llvm::ArrayRef<mlir::Attribute> parts) {
  std::string bytes = "\x08\x02";  // field 1, the type
  for (mlir::Attribute part : parts) {
    llvm::StringRef message = llvm::cast<mlir::StringAttr>(part).getValue();
    bytes += '\x2a';  // field 5, bytes
    for (size_t size = message.size();; size >>= 7) {
      const bool isLast = size < 0x80;
      bytes += static_cast<char>((size & 0x7f) | (isLast ? 0 : 0x80));
      if (isLast) break;
    }
    bytes += message;
  }
  return mlir::StringAttr::get(parts.front().getContext(), bytes);
}

}  // namespace

void makePortable(mlir::ModuleOp module) {
  mlir::Builder builder(module.getContext());
  llvm::SmallVector<mlir::Operation*> chlo;
  module->walk([&](mlir::Operation* op) {
    if (op->getName().getDialectNamespace() == "chlo" && op->getNumRegions() == 0) {
      chlo.push_back(op);
    }
  });
  for (mlir::Operation* op : chlo) replaceByCall(op);
  for (auto function : module.getOps<mlir::func::FuncOp>()) {
    const bool isMain = function.getName() == "main";
    if (auto all = function.getArgAttrsAttr()) {
      auto shardings = isMain ? shardingsOf(all) : llvm::SmallVector<mlir::Attribute>();
      if (!shardings.empty()) {
        module->setAttr("mhlo.spmd_parameters_shardings", builder.getArrayAttr(shardings));
      }
      function.setArgAttrsAttr(withoutOurs(all));
    }
    if (auto all = function.getResAttrsAttr()) {
      auto shardings = isMain ? shardingsOf(all) : llvm::SmallVector<mlir::Attribute>();
      if (shardings.size() == 1) {
        module->setAttr("mhlo.spmd_output_sharding", shardings.front());
      } else if (!shardings.empty()) {
        module->setAttr("mhlo.spmd_output_sharding", tupleSharding(shardings));
      }
      function.setResAttrsAttr(withoutOurs(all));
    }
  }
}

}  // namespace isthmus

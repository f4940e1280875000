// The op table's facts, and what types add to them.
#include "compiler/dialect/facts/op_facts.h"

#include "compiler/dialect/facts/indexing_rules.h"
#include "llvm/ADT/StringMap.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"

namespace isthmus {
namespace {

#define GET_StablehloFacts_IMPL
#define GET_ChloFacts_IMPL
#include "ops/op_facts.inc"

using Table = llvm::StringMap<const OpFacts*>;

Table makeTable() {
  Table table;
  for (const OpFacts& facts : StablehloFacts) {
    table[std::string("stablehlo.") + facts.name] = &facts;
  }
  for (const OpFacts& facts : ChloFacts) table[std::string("chlo.") + facts.name] = &facts;
  return table;
}

// Arrays of whole bytes keep their bytes under bitcast_convert; sub-byte types are stored one
// element to a byte, so theirs change.
bool isBytePreserving(mlir::Operation* op) {
  auto isWholeBytes = [](mlir::Type type) {
    auto shaped = llvm::dyn_cast<mlir::RankedTensorType>(type);
    if (!shaped) return false;
    mlir::Type element = shaped.getElementType();
    return llvm::isa<mlir::ComplexType>(element) ||
           (element.isIntOrFloat() && element.getIntOrFloatBitWidth() % 8 == 0);
  };
  return isWholeBytes(op->getOperand(0).getType()) && isWholeBytes(op->getResult(0).getType());
}

}  // namespace

const OpFacts* findOpFacts(llvm::StringRef name) {
  static const Table& table = *new Table(makeTable());
  auto it = table.find(name);
  return it == table.end() ? nullptr : it->second;
}

const OpFacts* findOpFacts(mlir::Operation* op) {
  return findOpFacts(op->getName().getStringRef());
}

llvm::ArrayRef<OpFacts> allOpFacts() { return StablehloFacts; }

FusionClass fusionClass(mlir::Operation* op) {
  const OpFacts* facts = findOpFacts(op);
  if (!facts || facts->fusionClass == FusionClass::kOpaque) return FusionClass::kOpaque;
  for (mlir::Value result : op->getResults()) {
    auto type = llvm::dyn_cast<mlir::RankedTensorType>(result.getType());
    if (!type || !type.hasStaticShape()) return FusionClass::kOpaque;
  }
  if (facts->code == OpCode::Shlo_BitcastConvertOp) {
    auto from = llvm::cast<mlir::ShapedType>(op->getOperand(0).getType());
    auto to = llvm::cast<mlir::ShapedType>(op->getResult(0).getType());
    if (from.getShape() == to.getShape()) return FusionClass::kElementwise;
    return isBytePreserving(op) ? FusionClass::kView : FusionClass::kIndexed;
  }
  return facts->fusionClass;
}

OpRole roleOf(mlir::Operation* op) {
  if (op->hasTrait<mlir::OpTrait::IsTerminator>()) return OpRole::kTerminator;
  const OpFacts* facts = findOpFacts(op);
  if (!facts) {
    // A terminator of a dialect that is not loaded.
    bool ends = op->getName().getStringRef() == "isthmus.yield";
    return ends ? OpRole::kTerminator : OpRole::kCompute;
  }
  if (facts->code == OpCode::Shlo_BitcastConvertOp && isBytePreserving(op)) return OpRole::kView;
  if (facts->code == OpCode::Shlo_CustomCallOp && op->getNumResults() == 0) {
    // A call that only keeps its operands from being removed.
    auto target = op->getAttrOfType<mlir::StringAttr>("call_target_name");
    if (target && target.getValue() == "dce_sink") return OpRole::kNothing;
  }
  return facts->role;
}

bool isControlFlow(mlir::Operation* op) {
  const OpRole role = roleOf(op);
  return role == OpRole::kWhile || role == OpRole::kBranch;
}

bool isContraction(mlir::Operation* op) {
  const OpFacts* facts = findOpFacts(op);
  return facts && facts->isContraction;
}

bool isKernel(mlir::Operation* op) {
  FusionClass fusion = fusionClass(op);
  return fusion != FusionClass::kOpaque && fusion != FusionClass::kView &&
         fusion != FusionClass::kConstant;
}

bool needsMemory(mlir::Operation* op, unsigned operand) {
  FusionClass fusion = fusionClass(op);
  const OpFacts* facts = findOpFacts(op);
  // Updates of a scatter are read once, and may be computed then.
  if (facts && facts->code == OpCode::Shlo_ScatterOp) return operand <= op->getNumResults();
  return fusion == FusionClass::kScatter || (fusion == FusionClass::kUpdateSlice && operand == 0);
}

bool mayUpdateInPlace(mlir::Operation* op, unsigned operand, unsigned result) {
  const OpFacts* facts = findOpFacts(op);
  switch (facts ? facts->inPlace : InPlace::kNone) {
    case InPlace::kNone:
      return false;
    case InPlace::kPairwise:
      return operand == result;
    case InPlace::kFirst:
      return operand == 0 && result == 0;
    case InPlace::kSecond:
      return operand == 1 && result == 0;
  }
  return false;
}

}  // namespace isthmus

// Rules and types of constants, tuples, random bits and custom calls.
#include "compiler/dialect/rules/rules.h"
#include "llvm/ADT/STLExtras.h"

namespace isthmus::shlo {

using mlir::failed;
using mlir::failure;
using mlir::LogicalResult;
using mlir::success;

LogicalResult IotaOp::verify() {
  return Rules(*this).inRange("c1", "iota_dimension", getIotaDimension(), 0, getType().getRank());
}

LogicalResult RngBitGeneratorOp::verify() {
  Rules rules(*this);
  mlir::RankedTensorType before = getInitialState().getType(), after = getOutputState().getType();
  if (areCompatible(before, after)) return success();
  return rules.violates("c1", "the state goes from ", before, " to ", after,
                        ", expected the same type");
}

ISTHMUS_INFER(TupleOp, "tuple") {
  types.push_back(mlir::TupleType::get(context, op.getVal().getTypes()));
  return success();
}

ISTHMUS_INFER(GetTupleElementOp, "get_tuple_element") {
  auto tuple = llvm::cast<mlir::TupleType>(op.getOperand().getType());
  int64_t index = op.getIndex();
  if (failed(rules.inRange("c1", "index", index, 0, tuple.size()))) return failure();
  types.push_back(tuple.getType(index));
  return success();
}

namespace {

// A layout lists the dimensions of a tensor, from the one that varies fastest; others have none.
LogicalResult verifyLayouts(const Rules& rules, llvm::StringRef name, mlir::TypeRange types,
                            mlir::ArrayAttr layouts) {
  if (failed(rules.size("i7", name, layouts.size(), types.size()))) return failure();
  for (auto [type, layout] : llvm::zip(types, layouts)) {
    llvm::SmallVector<int64_t> order;
    for (const llvm::APInt& dim : llvm::cast<mlir::DenseIntElementsAttr>(layout)) {
      order.push_back(dim.getSExtValue());
    }
    if (llvm::isa<mlir::TupleType>(type)) {
      return rules.violates("i7", name, " are given for ", type, ", expected none for a tuple");
    }
    auto tensor = llvm::dyn_cast<mlir::ShapedType>(type);
    if (!tensor || !tensor.hasRank()) {
      if (order.empty()) continue;
      return rules.violates("i7", name, " have ", text(order), " for ", type, ", expected none");
    }
    llvm::SmallVector<int64_t> sorted(order);
    llvm::sort(sorted);
    if (!llvm::equal(sorted, llvm::seq<int64_t>(0, tensor.getRank()))) {
      return rules.violates("i7", name, " have ", text(order), " for ", type,
                            ", expected each dimension once");
    }
  }
  return success();
}

// The type inside nested tuples, or null.
mlir::Type elementAt(mlir::Type type, Dims path) {
  for (int64_t index : path) {
    auto tuple = llvm::dyn_cast<mlir::TupleType>(type);
    if (!tuple || index < 0 || index >= static_cast<int64_t>(tuple.size())) return {};
    type = tuple.getType(index);
  }
  return type;
}

}  // namespace

LogicalResult CustomCallOp::verify() {
  Rules rules(*this);
  bool isTyped = getApiVersion() == CustomCallApiVersion::API_VERSION_TYPED_FFI;
  if (mlir::Attribute config = getBackendConfigAttr()) {
    if (isTyped != llvm::isa<mlir::DictionaryAttr>(config) &&
        !(isTyped && llvm::cast<mlir::StringAttr>(config).empty())) {
      return rules.violates("i4", "backend_config is ", config, ", expected a ",
                            isTyped ? "dictionary" : "string", " for this api_version");
    }
  }
  if (getOperandLayouts().has_value() != getResultLayouts().has_value()) {
    return rules.violates("i7", "layouts are given for operands or results, expected both");
  }
  if (getOperandLayouts()) {
    mlir::TypeRange results(getResultTypes());
    // One tuple stands for several results.
    if (results.size() == 1) {
      if (auto tuple = llvm::dyn_cast<mlir::TupleType>(results.front())) results = tuple.getTypes();
    }
    if (failed(verifyLayouts(rules, "operand_layouts", getOperandTypes(), *getOperandLayouts())) ||
        failed(verifyLayouts(rules, "result_layouts", results, *getResultLayouts()))) {
      return failure();
    }
  }
  for (mlir::Attribute entry : getOutputOperandAliases()) {
    auto alias = llvm::cast<OutputOperandAliasAttr>(entry);
    if (failed(rules.inRange("i9", "operand_index of an alias", alias.getOperandIndex(), 0,
                             getNumOperands()))) {
      return failure();
    }
    // Without a tuple, the first index chooses among several results.
    Dims path = alias.getOutputTupleIndices();
    mlir::Type whole = getNumResults() == 1 ? getResultTypes().front() : mlir::Type();
    if (getNumResults() != 1 && !path.empty() && path.front() >= 0 &&
        path.front() < static_cast<int64_t>(getNumResults())) {
      whole = getResultTypes()[path.front()];
      path = path.drop_front();
    }
    mlir::Type output = whole ? elementAt(whole, path) : mlir::Type();
    mlir::Type operand =
        elementAt(getOperand(alias.getOperandIndex()).getType(), alias.getOperandTupleIndices());
    if (!output || !operand || output != operand) {
      return rules.violates("i9", "alias ", entry, " is of ", output, " and ", operand,
                            ", expected the same type");
    }
  }
  return success();
}

}  // namespace isthmus::shlo

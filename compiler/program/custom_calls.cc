// Custom calls as plain data.
#include "compiler/program/custom_calls.h"

#include <algorithm>

#include "compiler/dialect/diagnostics/source_location.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/types/type_conversion.h"
#include "compiler/program/ffi_attributes.h"
#include "mlir/AsmParser/AsmParser.h"

namespace isthmus {
namespace {

// The operand or result as its handler sees it: with its dimensions in the program's order, however
// they lie in memory.
StatusOr<ArrayType> handlerType(mlir::Type type, mlir::Attribute layout) {
  ISTHMUS_ASSIGN_OR_RETURN(ArrayType stored, toArrayType(type));
  auto minorToMajor = llvm::dyn_cast_or_null<mlir::DenseIntElementsAttr>(layout);
  if (!minorToMajor || stored.elementType == ElementType::kToken) return stored;
  if (minorToMajor.getNumElements() != static_cast<int64_t>(stored.dims.size())) {
    return invalidArgument("a layout of another rank than its array");
  }
  ArrayType seen = stored;
  size_t place = stored.dims.size();
  for (const llvm::APInt& dimension : minorToMajor.getValues<llvm::APInt>()) {
    seen.dims[dimension.getZExtValue()] = stored.dims[--place];
  }
  return seen;
}

StatusOr<std::vector<ArrayType>> handlerTypes(mlir::TypeRange types,
                                              std::optional<mlir::ArrayAttr> layouts) {
  std::vector<ArrayType> result;
  for (auto [i, type] : llvm::enumerate(types)) {
    mlir::Attribute layout;
    if (layouts && i < layouts->size()) layout = (*layouts)[i];
    ISTHMUS_ASSIGN_OR_RETURN(ArrayType seen, handlerType(type, layout));
    result.push_back(std::move(seen));
  }
  return result;
}

// What JAX writes for plugins whose StableHLO may not know typed calls.
constexpr const char* kOlderConfig = "mhlo.backend_config";

// The dictionary of a typed call, which some producers write as text.
StatusOr<std::vector<ffi::Attribute>> typedConfiguration(shlo::CustomCallOp op) {
  mlir::Attribute config = op.getBackendConfigAttr();
  if (auto older = op->getAttr(kOlderConfig)) config = older;
  if (auto text = llvm::dyn_cast_or_null<mlir::StringAttr>(config)) {
    if (text.getValue().empty()) return std::vector<ffi::Attribute>();
    config = mlir::parseAttribute(text.getValue(), op.getContext());
  }
  if (!config) return std::vector<ffi::Attribute>();
  auto dictionary = llvm::dyn_cast<mlir::DictionaryAttr>(config);
  if (!dictionary) return invalidArgument("the backend_config of a typed call is no dictionary");
  return ffiAttributes(dictionary);
}

StatusOr<std::vector<std::pair<int32_t, int32_t>>> aliasesOf(shlo::CustomCallOp op,
                                                             const ffi::CallSpec& call) {
  std::vector<std::pair<int32_t, int32_t>> aliases;
  for (mlir::Attribute attribute : op.getOutputOperandAliases()) {
    auto alias = llvm::cast<shlo::OutputOperandAliasAttr>(attribute);
    if (!alias.getOperandTupleIndices().empty() || alias.getOutputTupleIndices().size() > 1) {
      return unimplemented("output_operand_aliases inside of tuples");
    }
    int64_t output =
        alias.getOutputTupleIndices().empty() ? 0 : alias.getOutputTupleIndices().front();
    int64_t operand = alias.getOperandIndex();
    if (output < 0 || output >= static_cast<int64_t>(call.results.size()) || operand < 0 ||
        operand >= static_cast<int64_t>(call.operands.size()) ||
        call.results[output] != call.operands[operand]) {
      return invalidArgument("output_operand_aliases: output ", output, " and operand ", operand,
                             " are not arrays of one type");
    }
    aliases.emplace_back(operand, output);
  }
  return aliases;
}

}  // namespace

bool customCallCanShare(mlir::Operation* op, unsigned operand, unsigned result) {
  auto call = llvm::cast<shlo::CustomCallOp>(op);
  return llvm::any_of(call.getOutputOperandAliases(), [&](mlir::Attribute attribute) {
    auto alias = llvm::cast<shlo::OutputOperandAliasAttr>(attribute);
    llvm::ArrayRef<int64_t> output = alias.getOutputTupleIndices();
    return alias.getOperandIndex() == operand && output.size() <= 1 &&
           (output.empty() ? 0 : output.front()) == result;
  });
}

StatusOr<ffi::CallSpec> describeCustomCall(mlir::Operation* op) {
  auto custom = llvm::cast<shlo::CustomCallOp>(op);
  ffi::CallSpec call;
  call.target = custom.getCallTargetName().str();
  call.version = op->hasAttr(kOlderConfig) ? ffi::CallVersion::kTyped
                                           : static_cast<ffi::CallVersion>(custom.getApiVersion());
  if (!custom.getCalledComputations().empty()) {
    return unimplemented("a custom call with computations");
  }
  // Operands and results lie as their layouts say; legalization has put transposes around the call.
  ISTHMUS_ASSIGN_OR_RETURN(call.operands,
                           handlerTypes(op->getOperandTypes(), custom.getOperandLayouts()));
  ISTHMUS_ASSIGN_OR_RETURN(call.results,
                           handlerTypes(op->getResultTypes(), custom.getResultLayouts()));
  if (call.version == ffi::CallVersion::kTyped) {
    ISTHMUS_ASSIGN_OR_RETURN(call.attributes, typedConfiguration(custom));
  } else if (auto text = llvm::dyn_cast_or_null<mlir::StringAttr>(custom.getBackendConfigAttr())) {
    call.opaque = text.getValue().str();
  }
  ISTHMUS_ASSIGN_OR_RETURN(call.aliases, aliasesOf(custom, call));
  call.description = "@" + call.target;
  std::string position = sourcePosition(op->getLoc());
  if (!position.empty()) call.description += " at " + position;
  return call;
}

}  // namespace isthmus

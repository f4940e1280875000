// Turns one HLO instruction into StableHLO operations.
#include "compiler/import/hlo/instruction_reader.h"

#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/import/hlo/shapes.h"
#include "compiler/import/hlo/sharding.h"
#include "compiler/partition/sharding/gspmd_sharding.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

namespace isthmus::importer {
namespace {

mlir::Value shardingConstraint(mlir::OpBuilder& builder, mlir::Location location, mlir::Value value,
                               llvm::StringRef sharding) {
  mlir::OperationState state(location, shlo::CustomCallOp::getOperationName());
  state.addOperands(value);
  state.addTypes(value.getType());
  state.addAttribute("call_target_name", builder.getStringAttr(kGspmdConstraint));
  state.addAttribute(kGspmdSharding, builder.getStringAttr(sharding));
  return builder.create(state)->getResult(0);
}

}  // namespace

bool InstructionReader::unsupported(const std::string& what) {
  return parent_.sink_.fail(StatusCode::kUnimplemented,
                            "hlo instruction '" + hlo_.name + "' (" + hlo_.opcode + "): " + what);
}

const HloValue* InstructionReader::operand(int index) {
  if (index >= std::ssize(hlo_.operand_ids)) {
    fail("has too few operands");
    return nullptr;
  }
  auto found = values_.find(hlo_.operand_ids[index]);
  if (found == values_.end()) {
    fail("uses an instruction that does not come before it");
    return nullptr;
  }
  return &found->second;
}

bool InstructionReader::leaves(llvm::SmallVectorImpl<mlir::Value>& result, int begin, int end) {
  if (end < 0) end = hlo_.operand_ids.size();
  for (int i = begin; i < end; ++i) {
    const HloValue* value = operand(i);
    if (value == nullptr) return false;
    result.append(value->leaves);
  }
  return true;
}

bool InstructionReader::firstDimension(int64_t& dimension) {
  if (hlo_.dimensions.empty()) return fail("has no dimension");
  dimension = hlo_.dimensions[0];
  return true;
}

bool InstructionReader::emit(llvm::StringRef name, mlir::ValueRange operands,
                             llvm::ArrayRef<int64_t> computations) {
  auto registered = mlir::RegisteredOperationName::lookup(name, builder_.getContext());
  if (!registered) return unsupported("is not supported");
  mlir::OperationState state(location_, *registered);
  state.addOperands(operands);
  state.attributes = attributes_;
  if (!hlo_.frontend_attributes.map.empty()) {
    mlir::NamedAttrList frontend;
    for (const hlo::FrontendAttributes::Entry& entry : hlo_.frontend_attributes.map) {
      if (!entry.key.empty()) frontend.set(entry.key, builder_.getStringAttr(entry.value));
    }
    state.attributes.set("mhlo.frontend_attributes", frontend.getDictionary(builder_.getContext()));
  }
  if (!appendLeafTypes(hlo_.shape, builder_.getContext(), parent_.sink_, state.types)) {
    return false;
  }
  for (int64_t id : computations) {
    if (!parent_.readRegion(id, *state.addRegion(), location_)) return false;
  }
  mlir::Operation* op = builder_.create(state);
  results_.assign(op->result_begin(), op->result_end());
  return true;
}

bool InstructionReader::read(llvm::SmallVectorImpl<mlir::Value>& results) {
  Handler handler = handlerOf(hlo_.opcode);
  if (handler == nullptr) return unsupported("is not supported");
  if (!(this->*handler)()) return false;
  llvm::SmallVector<mlir::Type> types;
  if (!appendLeafTypes(hlo_.shape, builder_.getContext(), parent_.sink_, types)) return false;
  if (mlir::ValueRange(results_).getTypes() != mlir::TypeRange(types)) {
    return fail("has a shape that differs from its value's");
  }
  if (!constrainResults()) return false;
  results.assign(results_.begin(), results_.end());
  return true;
}

bool InstructionReader::constrainResults() {
  // A tuple's sharding is its elements', which have it from where they were made; a custom call
  // reads its own.
  if (isTuple(hlo_.shape) || hlo_.opcode == "custom-call") return true;
  std::vector<std::string> texts;
  if (!leafShardings(hlo_.sharding, results_.size(), texts, parent_.sink_)) return false;
  for (auto [value, text] : llvm::zip(results_, texts)) {
    // What asks for no more than what is there anyway is not said.
    if (text.empty() || text == "{replicated}" || text.starts_with("{maximal")) continue;
    value = shardingConstraint(builder_, location_, value, text);
  }
  return true;
}

InstructionReader::Handler InstructionReader::handlerOf(llvm::StringRef opcode) {
  using R = InstructionReader;
  static const llvm::StringMap<Handler> kHandlers = {
      {"tuple", &R::readTuple},
      {"get-tuple-element", &R::readGetTupleElement},
      {"copy", &R::readFirstOperand},
      {"add-dependency", &R::readFirstOperand},
      {"domain", &R::readFirstOperand},
      {"constant", &R::readConstant},
      {"compare", &R::readCompare},
      {"broadcast", &R::readShaped},
      {"transpose", &R::readShaped},
      {"reverse", &R::readShaped},
      {"concatenate", &R::readShaped},
      {"iota", &R::readShaped},
      {"slice", &R::readShaped},
      {"dynamic-slice", &R::readDynamicSlice},
      {"dynamic-update-slice", &R::readDynamicUpdateSlice},
      {"pad", &R::readPad},
      {"gather", &R::readGather},
      {"scatter", &R::readScatter},
      {"reduce", &R::readReduction},
      {"map", &R::readReduction},
      {"reduce-window", &R::readWindowed},
      {"select-and-scatter", &R::readWindowed},
      {"sort", &R::readSort},
      {"topk", &R::readTopK},
      {"while", &R::readControlFlow},
      {"conditional", &R::readControlFlow},
      {"call", &R::readCall},
      {"fusion", &R::readCall},
      {"dot", &R::readDot},
      {"convolution", &R::readConvolution},
      {"cholesky", &R::readLinearAlgebra},
      {"triangular-solve", &R::readLinearAlgebra},
      {"batch-norm-training", &R::readBatchNorm},
      {"batch-norm-inference", &R::readBatchNorm},
      {"batch-norm-grad", &R::readBatchNorm},
      {"rng", &R::readRandom},
      {"rng-bit-generator", &R::readRandom},
      {"fft", &R::readFft},
      {"reduce-precision", &R::readPrecision},
      {"get-dimension-size", &R::readDimensionSize},
      {"set-dimension-size", &R::readDimensionSize},
      {"all-reduce", &R::readCollective},
      {"all-gather", &R::readCollective},
      {"all-to-all", &R::readCollective},
      {"reduce-scatter", &R::readCollective},
      {"collective-permute", &R::readCollective},
      {"collective-broadcast", &R::readCollective},
      {"custom-call", &R::readCustomCall},
  };
  // Opcodes whose operation has the same name, but for dashes, and no attributes: these, and what
  // the op table calls elementwise.
  static constexpr llvm::StringLiteral kSimple[] = {
      "after-all", "bitcast-convert", "opt-barrier", "partition-id", "replica-id", "reshape"};
  // Opcodes that are operations of CHLO, likewise.
  static constexpr llvm::StringLiteral kChlo[] = {"acos",  "acosh", "asin", "asinh", "atan",
                                                  "atanh", "cosh",  "erf",  "sinh"};
  if (auto found = kHandlers.find(opcode); found != kHandlers.end()) return found->second;
  if (llvm::is_contained(kChlo, opcode)) return &R::readChlo;
  if (llvm::is_contained(kSimple, opcode)) return &R::readSimple;
  std::string name = "stablehlo." + opcode.str();
  std::replace(name.begin(), name.end(), '-', '_');
  const OpFacts* facts = findOpFacts(name);
  return facts && facts->fusionClass == FusionClass::kElementwise ? &R::readSimple : nullptr;
}

bool InstructionReader::readSimple() {
  std::string name = hlo_.opcode == "opt-barrier" ? "optimization_barrier" : hlo_.opcode;
  std::replace(name.begin(), name.end(), '-', '_');
  llvm::SmallVector<mlir::Value> operands;
  return leaves(operands) && emit("stablehlo." + name, operands);
}

bool InstructionReader::readChlo() {
  llvm::SmallVector<mlir::Value> operands;
  return leaves(operands) && emit("chlo." + hlo_.opcode, operands);
}

bool InstructionReader::readTuple() { return leaves(results_); }

bool InstructionReader::readFirstOperand() { return leaves(results_, 0, 1); }

bool InstructionReader::readGetTupleElement() {
  const HloValue* tuple = operand(0);
  if (tuple == nullptr) return false;
  const int64_t index = hlo_.tuple_index;
  if (!isTuple(*tuple->shape) || index < 0 || index >= std::ssize(tuple->shape->tuple_shapes)) {
    return fail("takes an element that the operand does not have");
  }
  llvm::SmallVector<mlir::Type> before, element;
  for (int64_t i = 0; i < index; ++i) {
    if (!appendLeafTypes(tuple->shape->tuple_shapes[i], builder_.getContext(), parent_.sink_,
                         before)) {
      return false;
    }
  }
  if (!appendLeafTypes(tuple->shape->tuple_shapes[index], builder_.getContext(), parent_.sink_,
                       element)) {
    return false;
  }
  results_.append(tuple->leaves.begin() + before.size(),
                  tuple->leaves.begin() + before.size() + element.size());
  return true;
}

bool InstructionReader::readConstant() {
  mlir::Attribute value = toElements(hlo_.literal, builder_.getContext(), parent_.sink_);
  if (!value) return false;
  set("value", value);
  return emit("stablehlo.constant", {});
}

bool InstructionReader::readCompare() {
  mlir::MLIRContext* context = builder_.getContext();
  const auto direction = shlo::symbolizeComparisonDirection(hlo_.comparison_direction);
  if (!direction) return fail("has an unknown direction");
  set("comparison_direction", shlo::ComparisonDirectionAttr::get(context, *direction));
  if (!hlo_.comparison_type.empty()) {
    const auto type = shlo::symbolizeComparisonType(hlo_.comparison_type);
    if (!type) return fail("has an unknown type");
    set("compare_type", shlo::ComparisonTypeAttr::get(context, *type));
  }
  llvm::SmallVector<mlir::Value> operands;
  return leaves(operands) && emit("stablehlo.compare", operands);
}

bool InstructionReader::readCall() {
  if (hlo_.called_computation_ids.size() != 1) return fail("does not call one computation");
  mlir::func::FuncOp function = parent_.functionOf(hlo_.called_computation_ids[0]);
  if (!function) return false;
  set("callee", mlir::FlatSymbolRefAttr::get(function.getSymNameAttr()));
  llvm::SmallVector<mlir::Value> operands;
  return leaves(operands) && emit("func.call", operands);
}

bool InstructionReader::readControlFlow() {
  llvm::SmallVector<mlir::Value> operands;
  llvm::SmallVector<int64_t> computations(hlo_.called_computation_ids.begin(),
                                          hlo_.called_computation_ids.end());
  if (hlo_.opcode == "while") {
    // HLO names the body first.
    if (computations.size() != 2) return fail("does not have a body and a condition");
    std::swap(computations[0], computations[1]);
    return leaves(operands) && emit("stablehlo.while", operands, computations);
  }
  // Each branch takes one operand; StableHLO's see the values around them instead.
  if (hlo_.operand_ids.size() != 1 + computations.size()) {
    return fail("does not have one operand for each branch");
  }
  llvm::SmallVector<mlir::Value> selector;
  if (!leaves(selector, 0, 1)) return false;
  if (selector.size() != 1) return fail("selects by a tuple");
  auto type = mlir::dyn_cast<mlir::RankedTensorType>(selector[0].getType());
  const bool isPredicate = type && type.getElementType().isInteger(1);
  if (isPredicate && computations.size() != 2) return fail("does not have two branches");
  if (!emit(isPredicate ? "stablehlo.if" : "stablehlo.case", selector, computations)) return false;
  mlir::Operation* op = &builder_.getInsertionBlock()->back();
  for (unsigned i = 0; i < computations.size(); ++i) {
    mlir::Block& block = op->getRegion(i).front();
    llvm::SmallVector<mlir::Value> captured;
    if (!leaves(captured, 1 + i, 2 + i)) return false;
    if (mlir::ValueRange(captured).getTypes() != mlir::TypeRange(block.getArgumentTypes())) {
      return fail("has a branch that takes something else than its operand");
    }
    for (unsigned k = 0; k < captured.size(); ++k) {
      block.getArgument(k).replaceAllUsesWith(captured[k]);
    }
    block.eraseArguments(0, block.getNumArguments());
  }
  return true;
}

bool InstructionReader::readCustomCall() {
  set("call_target_name", builder_.getStringAttr(hlo_.custom_call_target));
  if (hlo_.custom_call_has_side_effect) set("has_side_effect", true);
  const auto version = shlo::symbolizeCustomCallApiVersion(hlo_.custom_call_api_version);
  if (!version) return fail("has an unknown API version");
  if (*version != shlo::CustomCallApiVersion::API_VERSION_UNSPECIFIED) {
    set("api_version", shlo::CustomCallApiVersionAttr::get(builder_.getContext(), *version));
  }
  if (!hlo_.backend_config.empty()) {
    set("backend_config", builder_.getStringAttr(hlo_.backend_config));
  }
  llvm::SmallVector<mlir::Attribute> callees;
  for (int64_t id : hlo_.called_computation_ids) {
    mlir::func::FuncOp function = parent_.functionOf(id);
    if (!function) return false;
    callees.push_back(mlir::FlatSymbolRefAttr::get(function.getSymNameAttr()));
  }
  if (!callees.empty()) set("called_computations", builder_.getArrayAttr(callees));
  if (!isTuple(hlo_.shape)) {
    std::string sharding;
    if (!shardingText(hlo_.sharding, sharding, parent_.sink_)) return false;
    if (!sharding.empty()) set(kGspmdSharding, builder_.getStringAttr(sharding));
  }
  llvm::SmallVector<mlir::Attribute> aliases;
  for (const hlo::OutputOperandAliasing& alias : hlo_.output_operand_aliasing) {
    aliases.push_back(shlo::OutputOperandAliasAttr::get(
        builder_.getContext(),
        llvm::SmallVector<int64_t>(alias.output_shape_index.begin(),
                                   alias.output_shape_index.end()),
        alias.operand_index,
        llvm::SmallVector<int64_t>(alias.operand_shape_index.begin(),
                                   alias.operand_shape_index.end())));
  }
  if (!aliases.empty()) set("output_operand_aliases", builder_.getArrayAttr(aliases));
  llvm::SmallVector<mlir::Value> operands;
  return leaves(operands) && emit("stablehlo.custom_call", operands);
}

}  // namespace isthmus::importer

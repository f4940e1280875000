// Turns HLO computations into blocks of StableHLO operations.
#include "compiler/import/hlo/computation_reader.h"

#include "compiler/import/hlo/instruction_reader.h"
#include "compiler/import/hlo/shapes.h"

namespace isthmus::importer {
namespace {

constexpr int kMaxDepth = 128;

mlir::Location locationOf(const hlo::Instruction& instruction, mlir::MLIRContext* context) {
  const hlo::Metadata& metadata = instruction.metadata;
  mlir::Location location = mlir::UnknownLoc::get(context);
  if (!metadata.source_file.empty()) {
    location = mlir::FileLineColLoc::get(context, metadata.source_file,
                                         std::max(0, metadata.source_line), 0);
  }
  const std::string& name = metadata.op_name.empty() ? instruction.name : metadata.op_name;
  return mlir::NameLoc::get(mlir::StringAttr::get(context, name), location);
}

}  // namespace

ComputationReader::ComputationReader(const hlo::Module& module, mlir::ModuleOp target,
                                     ErrorSink& sink)
    : module_(module), target_(target), builder_(target.getContext()), sink_(sink) {
  int64_t numInstructions = 0;
  for (const hlo::Computation& computation : module.computations) {
    computations_[computation.id] = &computation;
    numInstructions += computation.instructions.size();
  }
  numOperationsLeft_ = 100'000 + 64 * numInstructions;
}

const hlo::Computation* ComputationReader::find(int64_t id) const {
  auto found = computations_.find(id);
  return found == computations_.end() ? nullptr : found->second;
}

bool ComputationReader::malformed(const hlo::Instruction& instruction, const std::string& what) {
  return sink_.fail(StatusCode::kInvalidArgument, "hlo instruction '" + instruction.name + "' (" +
                                                      instruction.opcode + "): " + what);
}

bool ComputationReader::readBody(const hlo::Computation& computation, mlir::Block& block,
                                 llvm::SmallVectorImpl<mlir::Value>& results) {
  if (++depth_ > kMaxDepth) {
    return sink_.fail(StatusCode::kInvalidArgument, "hlo computations nest too deeply");
  }
  mlir::OpBuilder::InsertionGuard guard(builder_);
  builder_.setInsertionPointToEnd(&block);

  // Parameters come in any order; their numbers say which arguments are theirs.
  std::map<int64_t, const hlo::Instruction*> parameters;
  for (const hlo::Instruction& instruction : computation.instructions) {
    if (instruction.opcode != "parameter") continue;
    if (!parameters.emplace(instruction.parameter_number, &instruction).second) {
      return malformed(instruction, "there are two of this number");
    }
  }
  Values values;
  unsigned next = 0;
  for (const auto& [number, instruction] : parameters) {
    llvm::SmallVector<mlir::Type> types;
    if (!appendLeafTypes(instruction->shape, builder_.getContext(), sink_, types)) return false;
    HloValue& value = values[instruction->id];
    value.shape = &instruction->shape;
    for (mlir::Type type : types) {
      if (next == block.getNumArguments() || block.getArgument(next).getType() != type) {
        return malformed(*instruction, "the computation is applied to something else");
      }
      value.leaves.push_back(block.getArgument(next++));
    }
  }
  if (next != block.getNumArguments()) {
    return sink_.fail(StatusCode::kInvalidArgument, "hlo computation '" + computation.name +
                                                        "' is applied to more than its parameters");
  }
  for (const hlo::Instruction& instruction : computation.instructions) {
    if (instruction.opcode == "parameter") continue;
    if (--numOperationsLeft_ < 0) {
      return sink_.fail(StatusCode::kResourceExhausted, "hlo program is too large");
    }
    HloValue value;
    value.shape = &instruction.shape;
    InstructionReader reader(*this, instruction, values,
                             locationOf(instruction, builder_.getContext()));
    if (!reader.read(value.leaves)) return false;
    values[instruction.id] = std::move(value);
  }
  auto root = values.find(computation.root_id);
  if (root == values.end()) {
    return sink_.fail(StatusCode::kInvalidArgument,
                      "hlo computation '" + computation.name + "' has no root");
  }
  results.assign(root->second.leaves.begin(), root->second.leaves.end());
  --depth_;
  return true;
}

bool ComputationReader::readRegion(int64_t computationId, mlir::Region& region,
                                   mlir::Location location) {
  const hlo::Computation* computation = find(computationId);
  if (computation == nullptr) {
    return sink_.fail(StatusCode::kInvalidArgument,
                      "hlo program refers to a computation that does not exist");
  }
  std::map<int64_t, const hlo::Instruction*> parameters;
  for (const hlo::Instruction& instruction : computation->instructions) {
    if (instruction.opcode == "parameter") {
      parameters[instruction.parameter_number] = &instruction;
    }
  }
  llvm::SmallVector<mlir::Type> types;
  for (const auto& [number, instruction] : parameters) {
    if (!appendLeafTypes(instruction->shape, builder_.getContext(), sink_, types)) return false;
  }
  mlir::Block& block = region.emplaceBlock();
  block.addArguments(types, llvm::SmallVector<mlir::Location>(types.size(), location));
  llvm::SmallVector<mlir::Value> results;
  if (!readBody(*computation, block, results)) return false;
  mlir::OpBuilder::InsertionGuard guard(builder_);
  builder_.setInsertionPointToEnd(&block);
  mlir::OperationState state(location, "stablehlo.return");
  state.addOperands(results);
  builder_.create(state);
  return true;
}

bool ComputationReader::addFunction(const hlo::Computation& computation, llvm::StringRef name,
                                    bool isPublic) {
  mlir::MLIRContext* context = builder_.getContext();
  // Made and filled apart from the module, which gets it when it is complete: callees come first.
  mlir::OwningOpRef<mlir::func::FuncOp> function = mlir::func::FuncOp::create(
      mlir::UnknownLoc::get(context), name, mlir::FunctionType::get(context, {}, {}));
  mlir::Block& block = *function->addEntryBlock();
  std::map<int64_t, const hlo::Instruction*> parameters;
  for (const hlo::Instruction& instruction : computation.instructions) {
    if (instruction.opcode == "parameter") {
      parameters[instruction.parameter_number] = &instruction;
    }
  }
  for (const auto& [number, instruction] : parameters) {
    llvm::SmallVector<mlir::Type> types;
    if (!appendLeafTypes(instruction->shape, context, sink_, types)) return false;
    for (mlir::Type type : types) block.addArgument(type, locationOf(*instruction, context));
  }
  llvm::SmallVector<mlir::Value> results;
  if (!readBody(computation, block, results)) return false;
  mlir::OpBuilder::InsertionGuard guard(builder_);
  builder_.setInsertionPointToEnd(&block);
  mlir::func::ReturnOp::create(builder_, mlir::UnknownLoc::get(context), results);
  function->setFunctionType(mlir::FunctionType::get(context, block.getArgumentTypes(),
                                                    mlir::ValueRange(results).getTypes()));
  function->setVisibility(isPublic ? mlir::SymbolTable::Visibility::Public
                                   : mlir::SymbolTable::Visibility::Private);
  functions_[computation.id] = *function;
  target_.push_back(function.release());
  return true;
}

mlir::func::FuncOp ComputationReader::functionOf(int64_t computationId) {
  if (auto found = functions_.find(computationId); found != functions_.end()) {
    return found->second;
  }
  const hlo::Computation* computation = find(computationId);
  if (computation == nullptr) {
    sink_.fail(StatusCode::kInvalidArgument,
               "hlo program refers to a computation that does not exist");
    return {};
  }
  // Names repeat in what frameworks send, and one may be "main".
  const std::string name = internal::concatenate(computation->name, ".", computationId);
  if (!addFunction(*computation, name, /*isPublic=*/false)) return {};
  return functions_[computationId];
}

}  // namespace isthmus::importer

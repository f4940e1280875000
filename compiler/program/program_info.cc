// Reads parameters, outputs and donation from the attributes of a program's main function.
#include "compiler/program/program_info.h"

#include <deque>
#include <map>
#include <tuple>

#include "compiler/dialect/diagnostics/source_location.h"
#include "compiler/dialect/types/type_conversion.h"
#include "compiler/passes/passes.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace isthmus {
namespace {

Status fillSpec(mlir::Type type, mlir::DictionaryAttr attributes, BufferSpec& spec) {
  ISTHMUS_ASSIGN_OR_RETURN(spec.type, toArrayType(type));
  if (!attributes) return {};
  if (auto layout = attributes.getAs<mlir::DenseI64ArrayAttr>(kLayoutAttribute)) {
    // The program has the array as it lies in memory.
    llvm::ArrayRef<int64_t> order = layout.asArrayRef();
    std::vector<int64_t> memory = spec.type.dims;
    if (!spec.type.setMinorToMajor(order.vec())) {
      return invalidArgument(kLayoutAttribute, " is not a permutation of the dimensions of ",
                             spec.type.toString());
    }
    for (size_t i = 0; i < order.size(); ++i) {
      spec.type.dims[order[i]] = memory[order.size() - 1 - i];
    }
  }
  if (auto kind = attributes.getAs<mlir::StringAttr>("mhlo.memory_kind")) {
    spec.memoryKind = kind.str();
  }
  if (auto sharding = attributes.getAs<mlir::StringAttr>("isthmus.sharding")) {
    spec.sharding = sharding.str();
  }
  return {};
}

// Where values are computed: the last position that their operation, or one inside it, knows. Of an
// operation with thousands of results it is looked for once.
class Sources {
 public:
  std::string of(mlir::Value value) {
    mlir::Operation* op = value.getDefiningOp();
    if (!op) return "";
    auto [entry, isNew] = known_.try_emplace(op);
    if (isNew) entry->second = positionOf(op);
    return entry->second;
  }

 private:
  static std::string positionOf(mlir::Operation* op) {
    std::string position = sourcePosition(op->getLoc());
    op->walk([&](mlir::Operation* inner) {
      if (std::string found = sourcePosition(inner->getLoc()); !found.empty()) position = found;
    });
    return position;
  }

  llvm::DenseMap<mlir::Operation*, std::string> known_;
};

// Donors without an output of their own take the first free one of their type, else of their size;
// those that find none are not donated.
void matchDonors(ProgramInfo& info) {
  std::vector<bool> taken(info.outputs.size());
  for (const ParameterSpec& parameter : info.parameters) {
    if (parameter.aliasedOutput >= 0) taken[parameter.aliasedOutput] = true;
  }
  for (bool isOfOneType : {true, false}) {
    auto kindOf = [&](const BufferSpec& spec) {
      return std::make_tuple(spec.memoryKind, spec.type.sizeBytes(),
                             isOfOneType ? spec.type.toString() : std::string());
    };
    std::map<decltype(kindOf(BufferSpec())), std::deque<size_t>> free;
    for (auto [r, output] : llvm::enumerate(info.outputs)) {
      if (!taken[r] && output.type.sizeBytes() > 0) free[kindOf(output)].push_back(r);
    }
    for (ParameterSpec& parameter : info.parameters) {
      if (parameter.donation != DonationKind::kMayDonate) continue;
      auto found = free.find(kindOf(parameter));
      if (found == free.end() || found->second.empty()) continue;
      const size_t r = found->second.front();
      found->second.pop_front();
      parameter.donation = DonationKind::kMustAlias;
      parameter.aliasedOutput = static_cast<int>(r);
      taken[r] = true;
    }
  }
  for (ParameterSpec& parameter : info.parameters) {
    if (parameter.aliasedOutput < 0) parameter.donation = DonationKind::kNone;
  }
}

}  // namespace

Status describeProgram(mlir::func::FuncOp main, ProgramInfo& info) {
  std::vector<bool> aliased(main.getNumResults());
  for (unsigned p = 0; p < main.getNumArguments(); ++p) {
    ParameterSpec parameter;
    mlir::DictionaryAttr attributes = main.getArgAttrDict(p);
    Status filled = fillSpec(main.getArgumentTypes()[p], attributes, parameter);
    if (!filled.ok()) return filled.withContext("parameter " + std::to_string(p));
    if (attributes) {
      auto alias = attributes.getAs<mlir::IntegerAttr>("tf.aliasing_output");
      auto donor = attributes.getAs<mlir::BoolAttr>("jax.buffer_donor");
      if (alias) {
        int64_t result = alias.getInt();
        if (result < 0 || result >= main.getNumResults() || aliased[result]) {
          return invalidArgument("parameter ", p, ": tf.aliasing_output = ", result,
                                 " names no output that is free, of ", main.getNumResults());
        }
        aliased[result] = true;
        parameter.donation = DonationKind::kMustAlias;
        parameter.aliasedOutput = static_cast<int>(result);
      } else if (donor && donor.getValue()) {
        parameter.donation = DonationKind::kMayDonate;
      }
    }
    info.parameters.push_back(std::move(parameter));
  }
  mlir::Operation* end = main.getBody().front().getTerminator();
  Sources sources;
  for (unsigned r = 0; r < main.getNumResults(); ++r) {
    BufferSpec output;
    Status filled = fillSpec(main.getResultTypes()[r], main.getResultAttrDict(r), output);
    if (!filled.ok()) return filled.withContext("output " + std::to_string(r));
    if (end->getNumOperands() == main.getNumResults())
      output.source = sources.of(end->getOperand(r));
    info.outputs.push_back(std::move(output));
  }
  matchDonors(info);
  for (ParameterSpec& parameter : info.parameters) {
    // Memory of another size or kind cannot be the output's; the caller still gives it up.
    if (parameter.aliasedOutput < 0) continue;
    const BufferSpec& output = info.outputs[parameter.aliasedOutput];
    if (output.type.sizeBytes() != parameter.type.sizeBytes() ||
        output.memoryKind != parameter.memoryKind || parameter.type.sizeBytes() == 0) {
      parameter.donation = DonationKind::kMayDonate;
      parameter.aliasedOutput = -1;
    }
  }

  MemoryAnalysis& memory = info.memory;
  for (const ParameterSpec& parameter : info.parameters) {
    int64_t bytes = static_cast<int64_t>(parameter.type.sizeBytes());
    memory.argumentBytes += bytes;
    if (parameter.aliasedOutput >= 0) memory.aliasBytes += bytes;
  }
  for (const BufferSpec& output : info.outputs) {
    memory.outputBytes += static_cast<int64_t>(output.type.sizeBytes());
  }
  return {};
}

std::vector<ParameterUse> parameterUses(const ProgramInfo& info) {
  std::vector<ParameterUse> uses;
  for (const ParameterSpec& parameter : info.parameters) {
    uses.push_back({parameter.aliasedOutput, parameter.donation != DonationKind::kNone});
  }
  return uses;
}

}  // namespace isthmus

// HLO protos, as PyTorch/XLA and TensorFlow send them, into StableHLO.
#include "compiler/import/hlo/hlo_import.h"

#include <map>

#include "compiler/import/diagnostics.h"
#include "compiler/import/hlo/computation_reader.h"
#include "compiler/import/hlo/messages.h"
#include "compiler/import/hlo/shapes.h"
#include "compiler/import/hlo/sharding.h"
#include "compiler/partition/sharding/gspmd_sharding.h"
#include "llvm/ADT/STLExtras.h"

namespace isthmus::importer {
namespace {

bool parse(llvm::StringRef code, bool withConfig, hlo::Module& module) {
  if (!withConfig) return hlo::parse(code, module);
  hlo::ModuleWithConfig wrapper;
  if (!hlo::parse(code, wrapper)) return false;
  module = std::move(wrapper.hlo_module);
  return true;
}

// Counts the leaves before the one that an index into nested tuples names. Negative if there is no
// such leaf.
template <typename Index>
int64_t leafNumber(const hlo::Shape& shape, const Index& index, ErrorSink& sink,
                   mlir::MLIRContext* context) {
  llvm::SmallVector<mlir::Type> before;
  const hlo::Shape* at = &shape;
  for (int64_t i : index) {
    if (!isTuple(*at) || i < 0 || i >= std::ssize(at->tuple_shapes)) return -1;
    for (int64_t k = 0; k < i; ++k) {
      if (!appendLeafTypes(at->tuple_shapes[k], context, sink, before)) return -1;
    }
    at = &at->tuple_shapes[i];
  }
  return isTuple(*at) ? -1 : before.size();
}

// Which arguments may be reused: what JAX says as attributes of them.
class Aliases {
 public:
  Aliases(const hlo::Computation& entry, mlir::func::FuncOp function, ErrorSink& sink)
      : function_(function), sink_(sink) {
    for (const hlo::Instruction& instruction : entry.instructions) {
      if (instruction.opcode == "parameter") {
        parameters_[instruction.parameter_number] = &instruction.shape;
      }
      if (instruction.id == entry.root_id) root_ = &instruction.shape;
    }
  }

  bool set(const hlo::Module& module) {
    mlir::MLIRContext* context = function_.getContext();
    for (const hlo::InputOutputAlias::Entry& entry : module.input_output_alias.entries) {
      const int64_t argument = argumentOf(entry);
      const int64_t output =
          root_ ? leafNumber(*root_, entry.output_shape_index, sink_, context) : -1;
      if (argument < 0 || output < 0) return wrong();
      function_.setArgAttr(argument, "tf.aliasing_output",
                           mlir::IntegerAttr::get(mlir::IntegerType::get(context, 32), output));
    }
    for (const hlo::BufferDonor::Entry& entry : module.buffer_donor.entries) {
      const int64_t argument = argumentOf(entry);
      if (argument < 0) return wrong();
      function_.setArgAttr(argument, "jax.buffer_donor", mlir::BoolAttr::get(context, true));
    }
    return true;
  }

 private:
  bool wrong() {
    return sink_.fail(StatusCode::kInvalidArgument,
                      "hlo program aliases a parameter or output that does not exist");
  }

  template <typename Entry>
  int64_t argumentOf(const Entry& entry) {
    int64_t before = 0;
    for (const auto& [number, shape] : parameters_) {
      if (number == entry.parameter_number) {
        const int64_t leaf =
            leafNumber(*shape, entry.parameter_shape_index, sink_, function_.getContext());
        return leaf < 0 || before + leaf >= function_.getNumArguments() ? -1 : before + leaf;
      }
      llvm::SmallVector<mlir::Type> types;
      if (!appendLeafTypes(*shape, function_.getContext(), sink_, types)) return -1;
      before += types.size();
    }
    return -1;
  }

  mlir::func::FuncOp function_;
  ErrorSink& sink_;
  std::map<int64_t, const hlo::Shape*> parameters_;
  const hlo::Shape* root_ = nullptr;
};

// Writes the shardings of parameters and of the root to the function, as JAX does.
bool setShardings(const hlo::Computation& entry, mlir::func::FuncOp function, ErrorSink& sink) {
  mlir::MLIRContext* context = function.getContext();
  auto textsOf = [&](const hlo::Instruction& instruction, std::vector<std::string>& texts) {
    llvm::SmallVector<mlir::Type> leaves;
    return appendLeafTypes(instruction.shape, context, sink, leaves) &&
           leafShardings(instruction.sharding, leaves.size(), texts, sink);
  };
  std::map<int64_t, const hlo::Instruction*> parameters;
  std::vector<std::string> texts;
  for (const hlo::Instruction& instruction : entry.instructions) {
    if (instruction.opcode == "parameter") {
      parameters[instruction.parameter_number] = &instruction;
    }
    if (instruction.id != entry.root_id) continue;
    if (!textsOf(instruction, texts)) return false;
    for (auto [i, text] : llvm::enumerate(texts)) {
      if (text.empty() || i >= function.getNumResults()) continue;
      function.setResultAttr(i, kGspmdSharding, mlir::StringAttr::get(context, text));
    }
  }
  unsigned argument = 0;
  for (const auto& [number, instruction] : parameters) {
    if (!textsOf(*instruction, texts)) return false;
    for (const std::string& text : texts) {
      if (!text.empty()) {
        function.setArgAttr(argument, kGspmdSharding, mlir::StringAttr::get(context, text));
      }
      ++argument;
    }
  }
  return true;
}

// Who sends these protos expects to be told the sizes of such results, which nobody does yet.
bool resultsHaveKnownSizes(mlir::func::FuncOp function, ErrorSink& sink) {
  mlir::Operation* end = function.getBody().front().getTerminator();
  for (auto [i, value] : llvm::enumerate(end->getOperands())) {
    auto type = llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
    if (!type || type.hasStaticShape()) continue;
    std::string text;
    llvm::raw_string_ostream(text) << type;
    return sink.fail(StatusCode::kUnimplemented,
                     internal::concatenate("hlo program has result ", i, " of type ", text,
                                           ", whose size depends on values; only arrays inside of "
                                           "a program may have such sizes: ",
                                           describeLocation(value.getLoc())));
  }
  return true;
}

}  // namespace

mlir::OwningOpRef<mlir::ModuleOp> readHlo(llvm::StringRef code, bool withConfig,
                                          mlir::MLIRContext& context, ErrorSink& sink) {
  hlo::Module program;
  if (!parse(code, withConfig, program)) {
    sink.fail(StatusCode::kInvalidArgument, "program is not an HloModuleProto");
    return {};
  }
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::ModuleOp::create(mlir::UnknownLoc::get(&context), llvm::StringRef(program.name));
  ComputationReader reader(program, *module, sink);
  const hlo::Computation* entry = reader.find(program.entry_computation_id);
  if (entry == nullptr) {
    sink.fail(StatusCode::kInvalidArgument, "hlo program has no entry computation");
    return {};
  }
  if (!reader.addFunction(*entry, "main", /*isPublic=*/true)) return {};
  auto main = module->lookupSymbol<mlir::func::FuncOp>("main");
  if (!resultsHaveKnownSizes(main, sink) || !Aliases(*entry, main, sink).set(program) ||
      !setShardings(*entry, main, sink)) {
    return {};
  }
  return module;
}

}  // namespace isthmus::importer

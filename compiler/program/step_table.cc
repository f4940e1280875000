#include "compiler/program/step_table.h"

#include "compiler/dialect/diagnostics/source_location.h"
#include "compiler/dialect/isthmus.h"
#include "compiler/program/program_info.h"
#include "llvm/ADT/SetVector.h"

namespace isthmus {
namespace {

// So many operations of a fusion are named.
constexpr size_t kNamedOps = 4;

// "/home/me/train.py:12:5" without the column.
std::string fileAndLine(mlir::Location location) {
  std::string position = sourcePosition(location);
  size_t colon = position.rfind(':');
  return colon == std::string::npos ? position : position.substr(0, colon);
}

// The operation's name, and what it calls.
std::string labelOf(mlir::Operation* op) {
  std::string label = op->getName().stripDialect().str();
  for (llvm::StringRef name : {"call_target_name", "name"}) {
    if (auto target = op->getAttrOfType<mlir::StringAttr>(name)) label += " @" + target.str();
  }
  return label;
}

struct Description {
  std::string op;
  std::string category;
  std::string label;
  mlir::Location location;  // of the operation that the step is named after
  llvm::SmallSetVector<mlir::Location, 4> locations;
};

// What the kernel's loops are like.
std::string categoryOf(ir::FusionOp fusion) {
  if (fusion.updatesInPlace()) return "update fusion";
  auto has = [&](llvm::StringRef name) {
    return llvm::any_of(fusion.getBody().front(),
                        [&](mlir::Operation& op) { return op.getName().getStringRef() == name; });
  };
  // XLA's word for a product and its epilogue.
  if (has("stablehlo.dot_general")) return "output fusion";
  return has("stablehlo.reduce") ? "reduce fusion" : "loop fusion";
}

Description describeStep(mlir::Operation* op) {
  auto fusion = llvm::dyn_cast<ir::FusionOp>(op);
  if (!fusion) {
    Description one{op->getName().stripDialect().str(), "", labelOf(op), op->getLoc(), {}};
    one.category = one.op;
    one.locations.insert(op->getLoc());
    return one;
  }
  Description all{"fusion", categoryOf(fusion), "", op->getLoc(), {}};
  llvm::SmallSetVector<mlir::StringRef, 8> names;
  for (mlir::Operation& inner : fusion.getBody().front().without_terminator()) {
    llvm::StringRef name = inner.getName().stripDialect();
    // Constants and movements are what the others read through.
    bool isDetail = name == "constant" || name == "broadcast_in_dim" || name == "reshape";
    all.locations.insert(inner.getLoc());
    if (!isDetail) names.insert(name);
    // The last one that says where it is from: what the fusion computes.
    if (!isDetail && !sourcePosition(inner.getLoc()).empty()) all.location = inner.getLoc();
  }
  if (names.empty()) {
    for (mlir::Operation& inner : fusion.getBody().front().without_terminator()) {
      names.insert(inner.getName().stripDialect());
      if (!sourcePosition(inner.getLoc()).empty()) all.location = inner.getLoc();
    }
  }
  if (names.size() == 1) {
    all.op = names.front().str();
    all.label = all.op;
  } else {
    all.label = "fusion(";
    for (size_t i = 0; i < std::min(names.size(), kNamedOps); ++i) {
      if (i > 0) all.label += ", ";
      all.label += names[i];
    }
    all.label += names.size() > kNamedOps ? ", …)" : ")";
  }
  return all;
}

}  // namespace

int32_t StepTable::text(llvm::StringRef value) {
  auto [entry, isNew] = numbers_.try_emplace(value, static_cast<int32_t>(steps_.texts.size()));
  if (isNew) steps_.texts.push_back(value.str());
  return entry->second;
}

int64_t StepTable::add(llvm::ArrayRef<mlir::Operation*> ops) {
  Description description = describeStep(ops.front());
  for (mlir::Operation* op : ops.drop_front()) {
    const Description more = describeStep(op);
    description.locations.insert(more.locations.begin(), more.locations.end());
  }
  if (ops.size() > 1) {
    description.label += " and " + std::to_string(ops.size() - 1) + " more";
  }
  std::string source = fileAndLine(description.location);
  std::string name = description.label;
  if (!source.empty()) {
    size_t slash = source.rfind('/');
    name = source.substr(slash == std::string::npos ? 0 : slash + 1) + " " + name;
  }
  std::string stack;
  llvm::SmallSetVector<llvm::StringRef, 4> lines;
  std::vector<std::string> texts;
  for (mlir::Location location : description.locations) texts.push_back(fileAndLine(location));
  for (const std::string& line : texts) {
    if (!line.empty() && lines.insert(line)) stack += (stack.empty() ? "" : "\n") + line;
  }
  ProgramStep step;
  step.name = text(name);
  step.op = text(description.op);
  step.category = text(description.category);
  step.source = text(source);
  step.stack = text(stack);
  step.scope = text(scopeName(description.location));
  for (mlir::Operation* op : ops) {
    OperationCosts costs = costsOf(op);
    step.flops += costs.flops;
    step.bytes += costs.bytes;
  }
  steps_.steps.push_back(step);
  return static_cast<int64_t>(steps_.steps.size()) - 1;
}

ProgramSteps StepTable::take() { return std::move(steps_); }

}  // namespace isthmus

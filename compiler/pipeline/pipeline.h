// A compilation as a table of stages, from bytes to loaded code, and its middle, which rewrites the
// program: from an imported module to scheduled kernels.
//
// The table is what the tools list, the dumps number, profiles and times name and ARCHITECTURE.md
// is checked against. The driver (compiler/driver) carries out what comes before and after the
// middle, the latter by the backend's code generator.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "compiler/fusion/fusion_options.h"
#include "compiler/pipeline/dump.h"
#include "compiler/schedule/products/product_scheduler.h"
#include "isthmus/backend.h"
#include "isthmus/status.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"

namespace isthmus {

struct PipelineOptions {
  CompileOptions compile;
  FusionOptions fusion;
  // Off: the program is not simplified.
  bool simplify = true;
  // Convolutions, and what lies between them, had better have their features side by side.
  bool channelsLast = false;
  // Of which convolutions that holds; null: all.
  std::function<bool(mlir::Operation*)> wantsChannelsLast = {};
  // The backend's collectives can set out before they are waited for.
  bool overlapsCollectives = false;
  // Attention becomes one kernel that stores no scores.
  bool attention = true;
  // Elementwise work on the result of a dot_general becomes part of its kernel.
  bool epilogues = true;
  // What the target rewrites in simplified programs before they are fused, such as the arrays of
  // operations that a library computes; empty: nothing.
  std::function<void(mlir::ModuleOp)> rewrite = {};
  // Which products a library of the device computes; empty: none.
  std::function<bool(mlir::Operation*)> isOfLibrary = {};
  // In which form the backend's own function computes a product, where kernels of a device do not;
  // empty: it is decided when calls are emitted.
  FunctionFormOf functionFormOf = {};
  // Whether the device may have a kernel of an operation or a fusion; empty: of all. What lacks one
  // is no part of another's kernel.
  std::function<bool(mlir::Operation*)> hasKernel = {};
  // Not owned; may be null.
  Dump* dump = nullptr;
  // The first and the last stage to run, by name; empty: of all.
  std::string_view startAt = {};
  std::string_view stopAfter = {};
};

struct Stage {
  std::string_view name;     // verb-noun or verb: the word in flags, dumps and tests
  std::string_view summary;  // one sentence
  std::string_view input;
  std::string_view output;
  // Null for what the driver does before and after the pipeline.
  void (*addPasses)(mlir::OpPassManager& passes, const PipelineOptions& options) = nullptr;
};

// All of a compilation, in the order in which they run. Each is a trace::Scope of the category
// "stage" while it does.
std::span<const Stage> allStages();
// Of these, the middle.
std::span<const Stage> pipelineStages();
// Null if none is called so.
const Stage* findStage(std::string_view name);

// All stages as a table to read.
std::string describeStages();

// Takes the number of replicas and partitions from the module's attributes (mhlo.num_replicas,
// mhlo.num_partitions), where there are such, for whoever has a program but no compile options.
void readDeviceCounts(mlir::ModuleOp module, CompileOptions& options);

// A context with all dialects loaded and MLIR's own threading off: the compiler runs many programs
// side by side rather than one on many threads.
std::unique_ptr<mlir::MLIRContext> makeContext();

// Runs the stages on `module`, all or those that the options say. With a dump, writes the program
// after each stage and replaces it by an override if there is one (hence the reference).
// kUnimplemented for programs with something that the compiler lacks, naming op, types and source
// location; kInternal if a pass breaks.
Status runPipeline(mlir::OwningOpRef<mlir::ModuleOp>& module, const PipelineOptions& options);

// Alone those passes after which the evaluator gives other numbers: select-by-masks and widen-sums.
Status runPassesThatChangeResults(mlir::ModuleOp module);

}  // namespace isthmus

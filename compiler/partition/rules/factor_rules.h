// Which dimensions of an operation's operands and results go together, for each kind of operation.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "compiler/dialect/dialect.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/partition/sharding/mesh_sharding.h"
#include "llvm/ADT/DenseSet.h"
#include "mlir/IR/Operation.h"

namespace isthmus {

// Each dimension of operands and results belongs to a factor of the iteration space, or is whole:
// every device needs all of it. Dimensions of one factor are cut alike, and a block of the results
// depends on the same block of the operands alone.
inline constexpr int kWhole = -1;
using Factors = std::vector<int>;

// A dimension of an operand of which a block of the factor needs rows around its own. Counted with
// the holes of `baseDilation`, and from `low` padding rows before the first, position i of `size`
// positions looks at rows from i * stride on, `span` of them.
struct Halo {
  unsigned operand = 0;
  int64_t dim = 0;
  int factor = 0;
  int64_t size = 0;
  int64_t stride = 1;
  int64_t low = 0;
  int64_t span = 1;
  int64_t baseDilation = 1;
  // If not 0, `size` rows are what windows of so many rows, each `stride` behind the last, scatter
  // to; no row lies between two. A block needs the windows that touch it (where the operand has one
  // row for each), or all rows of those.
  int64_t scatterWindow = 0;
  bool isOfWindows = false;
};

struct FactorRule {
  std::vector<Factors> operands;
  std::vector<Factors> results;
  // Factors of operands alone: what blocks give is a part of the results, to be summed, or
  // else to be combined by the operation's reducer.
  llvm::SmallDenseSet<int> summed;
  bool isSum = true;
  // Operands that go into the sum as they are: each device needs a partial sum.
  std::vector<unsigned> partialSums;
  // Factors of dimensions of operand 0 that the operation addresses by its indices: they are to
  // count from where a block begins, and what lies elsewhere is left out.
  llvm::SmallDenseSet<int> indexed;
  // Factors that fall into so many units, which stay together.
  std::map<int, int64_t> units;
  // Dimensions whose blocks do not suffice.
  std::vector<Halo> halos;
  // The dimension along which each row is combined with all before it, or behind it; a factor. The
  // caller combines blocks.
  std::optional<int> running;
  // The dimension along which operands are concatenated, if it may be split; a factor.
  std::optional<int> concatenated;
};

// A few rows of a split dimension cost less to sum, or to have everywhere, than all of them to
// gather.
inline bool isFew(int64_t rows, int64_t of) { return 4 * rows <= of; }

// Nothing if no rule is known.
std::optional<FactorRule> factorRule(mlir::Operation* op);

// A reduction or a contraction: of a factor that its results do not have, each device may make the
// sum of its own block.
bool sumsUpFactors(mlir::Operation* op);

// Whether blocks of `factor` may have padding behind the last row, which means nothing and stays
// out of what is summed if the caller masks it.
bool allowsPadding(mlir::Operation* op, const FactorRule& rule, int factor);

// ---- For the files that define rules. -----------------------------------------------------------

// Whether partial sums of a value may be made on their own: those of a truth value are none.
bool isSummable(mlir::Value value);

// Every operand and result whole; rules fill in what can be split.
FactorRule wholeRule(mlir::Operation* op);

// Dimension d of all operands from `first` to `last` and of all results is a factor, if `keeps(d)`.
FactorRule alignedRule(mlir::Operation* op, size_t first, size_t last,
                       llvm::function_ref<bool(int)> keeps);

// What the indexing maps say, which is all for operations that only move or combine elements:
// dimension d of the results is factor d, with each dimension of an operand whose index it decides.
// Reduced dimensions are whole.
FactorRule mappedRule(mlir::Operation* op);

// The rules that records of the op table name in their field `sharding`.
FactorRule spreadRule(mlir::Operation* op);      // broadcast_in_dim, iota
FactorRule movedRule(mlir::Operation* op);       // pad, slice: a block may need other rows
FactorRule collectiveRule(mlir::Operation* op);  // in code for each device
FactorRule concatenateRule(shlo::ConcatenateOp op);
std::optional<FactorRule> customCallRule(shlo::CustomCallOp op);
FactorRule dotRule(shlo::DotGeneralOp op);
FactorRule reduceRule(shlo::ReduceOp op);
FactorRule reshapeRule(shlo::ReshapeOp op);

// window_rules.cc: by hand, for how the rows around a block are asked for has the operation's own
// strides and dilations, which maps may have simplified.
FactorRule convolutionRule(shlo::ConvolutionOp op);
FactorRule reduceWindowRule(shlo::ReduceWindowOp op);
FactorRule selectAndScatterRule(shlo::SelectAndScatterOp op);

// index_rules.cc: by hand, for maps do not say where a block begins that indices address.
FactorRule dynamicSliceRule(shlo::DynamicSliceOp op);
FactorRule dynamicUpdateSliceRule(shlo::DynamicUpdateSliceOp op);
FactorRule gatherRule(shlo::GatherOp op);
FactorRule scatterRule(shlo::ScatterOp op);

}  // namespace isthmus

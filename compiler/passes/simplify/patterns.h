// The rewrite rules of the simplify pass, by family.
//
// Laws: a rule keeps every bit of the results (signed zeros and NaN included) unless StableHLO
// leaves them open; it never duplicates work; it removes an operation, makes one cheaper or moves a
// reshape towards what is in memory, so that applying rules greedily ends.
#pragma once

#include "compiler/target/target_model.h"
#include "mlir/IR/PatternMatch.h"

namespace isthmus {

// Operations that make only arrays without elements.
void addEmptyPatterns(mlir::RewritePatternSet& patterns);
// Operations on constants, as far as ISTHMUS_FOLD_BYTES allows.
void addFoldingPatterns(mlir::RewritePatternSet& patterns);
// Identities of elementwise operations: x * 1, select with a known predicate, ….
void addArithmeticPatterns(mlir::RewritePatternSet& patterns);
// Slices of slices, and of one of the arrays that are joined.
void addSlicePatterns(mlir::RewritePatternSet& patterns);
// Chains of reshape, broadcast, transpose, slice, pad, concatenate.
void addShapePatterns(mlir::RewritePatternSet& patterns);
// Elementwise operations before a reshape take its shape if all they read is in memory; those after
// a reshape of what was moved or multiplied take the shape before it.
void addReshapesFirstPatterns(mlir::RewritePatternSet& patterns);
// What slices alone read is computed and moved for what they keep.
void addSlicesFirstPatterns(mlir::RewritePatternSet& patterns);
// Slices and scattered updates of zeros that are added to what loops carry; of several updates of
// one place the order of additions changes.
void addAccumulatedSlicePatterns(mlir::RewritePatternSet& patterns);
// dynamic_slice, dynamic_update_slice, gather and scatter that are something simpler.
void addIndexingPatterns(mlir::RewritePatternSet& patterns);
// scatters of one update into each row of a constant array.
void addOneUpdateScatterPatterns(mlir::RewritePatternSet& patterns);
// dot_general and convolution of transposed or reshaped operands.
void addContractionPatterns(mlir::RewritePatternSet& patterns);
// dot_general of which the large operand or result has batches behind other dimensions.
void addProductBatchPatterns(mlir::RewritePatternSet& patterns);
// Reductions of what was reversed, reshaped, broadcast or joined; the sum of what comes several
// times is rounded once.
void addReducedMovePatterns(mlir::RewritePatternSet& patterns);
// Transposes between two products, and of what is reduced.
void addTransposedRowPatterns(mlir::RewritePatternSet& patterns);
// dot_general that adds few numbers.
void addSmallContractionPatterns(mlir::RewritePatternSet& patterns, const TargetModel& target);
// Sums of arrays with zeros between their elements.
void addInterleavingPatterns(mlir::RewritePatternSet& patterns);
// Integers that are computed in more bits than their users keep.
void addNarrowingPatterns(mlir::RewritePatternSet& patterns);
// while, case and if: what never changes, what nobody reads, what is decided already.
void addControlFlowPatterns(mlir::RewritePatternSet& patterns);
// Those that look at all of a loop for each match.
void addWholeLoopPatterns(mlir::RewritePatternSet& patterns);

}  // namespace isthmus

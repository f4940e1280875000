// The rewrite rules of the legalize-ops pass, by family: each replaces a shorthand operation by
// core operations of the same meaning, as the StableHLO specification defines it.
#pragma once

#include "mlir/IR/PatternMatch.h"

namespace isthmus {

// broadcast, dot, map, torch_index_select, tuples.
void addShorthandPatterns(mlir::RewritePatternSet& patterns);
// async_start, async_done.
void addAsynchronousPatterns(mlir::RewritePatternSet& patterns);
// custom_call: targets that the compiler understands, and layouts.
void addCustomCallPatterns(mlir::RewritePatternSet& patterns);
// Reducers of argmax and argmin, for any order of the elements.
void addArgExtremumPatterns(mlir::RewritePatternSet& patterns);
// custom_call @ApproxTopK.
void addApproxTopKPatterns(mlir::RewritePatternSet& patterns);
// custom_call @ragged_all_to_all.
void addRaggedAllToAllPatterns(mlir::RewritePatternSet& patterns);
// batch_norm_inference, batch_norm_training, batch_norm_grad.
void addBatchNormPatterns(mlir::RewritePatternSet& patterns);
// chlo.scan and the composite of that name.
void addScanPatterns(mlir::RewritePatternSet& patterns);
// Operations of chlo that are elementwise: functions, tests, high halves of products.
void addChloElementwisePatterns(mlir::RewritePatternSet& patterns);
// Functions of chlo that polynomials and series approximate: erf_inv, lgamma and their kin.
void addSpecialFunctionPatterns(mlir::RewritePatternSet& patterns);
// erfc where a client has written an approximation of it.
void addExpandedFunctionPatterns(mlir::RewritePatternSet& patterns);
// chlo: broadcasting forms, constants, top_k, ragged_dot.
void addChloStructurePatterns(mlir::RewritePatternSet& patterns);
// einsum, unary_einsum, cross-replica-sum, collective_reduce, rng.
void addLegacyPatterns(mlir::RewritePatternSet& patterns);
void addWideningPatterns(mlir::RewritePatternSet& patterns);

}  // namespace isthmus

// Loops over all of an index space, or the tiles of one of its dimensions.
#pragma once

#include <functional>

#include "compiler/codegen/kernel_builder.h"

namespace isthmus::codegen {

// The part of one dimension that the kernel's tiles cover.
struct TiledDim {
  int64_t dim = -1;  // of the loop nest; -1: none
  llvm::Value* lo = nullptr;
  llvm::Value* hi = nullptr;
};

// The part of a dimension of `size` elements that the tiles at hand have, if `stage` cuts `space`
// into tiles.
TiledDim tiledDimOf(KernelBuilder& kernel, const WholeStage& stage, TileSpace space, int64_t size);

// Loops over all of `sizes`, or the tiles of one of them, the last in steps of `lanes`, of which
// the rest has fewer.
void loopNest(KernelBuilder& kernel, llvm::ArrayRef<int64_t> sizes, unsigned lanes,
              const std::function<void(llvm::ArrayRef<IndexExpr>)>& body,
              const TiledDim& tiled = {});

// What is left of a row, from `from` to `end` after so many vectors of `lanes`, by vectors of half
// as many lanes, and so on, where single elements would take longer than all vectors before.
// Returns where they end.
int64_t forNarrowVectors(Evaluator& evaluator, int64_t from, int64_t end, int64_t vectors,
                         int64_t lanes, llvm::function_ref<void(const IndexExpr&)> body);

// Each of the updates of the tiles at hand, which `stage` has cut into runs of them; where it has
// lanes, so many neighbours of a row at a time.
void forUpdates(KernelBuilder& kernel, const UpdateStage& stage, mlir::RankedTensorType updates,
                const std::function<void(const MultiIndex&)>& body);

}  // namespace isthmus::codegen

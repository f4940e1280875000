// How operations work on blocks of arrays: which dimensions of operands and results go together.
#pragma once

#include <optional>

#include "compiler/partition/sharding/mesh_sharding.h"
#include "compiler/partition/split/moved_rows.h"
#include "mlir/IR/Operation.h"

namespace isthmus {

// The rows of an operand's split dimension from which a block is computed.
struct HaloRows {
  unsigned operand = 0;
  int64_t dim = 0;
  RowRequest request;
  // Rows of padding (holes of a base dilation count) that remain before and behind what is asked
  // for.
  int64_t low = 0;
  int64_t high = 0;
  // Each device takes what it has of the rows, and zeros for the others: the result is a partial
  // sum.
  bool isPlaced = false;
};

// Padding of an operand that would go into a result: it is to be made neutral, behind `rows` rows
// of dimension `dim`.
struct MaskedRows {
  unsigned operand = 0;
  int64_t dim = 0;
  int64_t rows = 0;
};

// How an operation is to be split: it computes blocks of its results, or partial sums of them, from
// blocks of its operands.
struct SplitRule {
  std::vector<MeshSharding> operands;
  std::vector<MeshSharding> results;
  // Along these axes the devices' results are still to be combined, by the reducer of the
  // operation.
  std::vector<AxisPart> combined;
  // Rows that operands need besides their blocks, and what the operation is to be told of them.
  std::vector<HaloRows> halos;
  // What sums and the like must not see.
  std::vector<MaskedRows> masks;
  // The split dimension along which operands are concatenated.
  std::optional<int64_t> concatenatedDim;
  // Blocks of results are to be combined with those before them: by running_windows.h.
  bool runsOverBlocks = false;
  // Operands are split along one axis in different dimensions, and one of them decided.
  bool hasConflict = false;
  // Split dimensions of operand 0 that indices address: they are to be made local
  // (indexed_blocks.h).
  std::vector<int64_t> indexedDims;
};

// How `op` can be split. `operandShardings[i]` is how operand i is split now, and decides first;
// `wanted[i]` is how somebody would like result i to be, and decides what the operands leave open.
// Operands that are to be split otherwise are for the caller to gather or to cut. If `mayMove`,
// what cannot stay split goes to another dimension: a way out, and no preference. Nothing if no
// split of an operand can stay nor one of a result be computed, or if no rule is known.
std::optional<SplitRule> splitRule(mlir::Operation* op,
                                   llvm::ArrayRef<MeshSharding> operandShardings,
                                   llvm::ArrayRef<MeshSharding> wanted, bool mayMove = false);

// The operands of a concatenation along `d`, split as `operands` says, and what blocks of its
// result are made of.
std::vector<RowSource> concatenatedSources(mlir::Operation* op, int64_t d,
                                           llvm::ArrayRef<MeshSharding> operands);
RowRequest concatenationRequest(mlir::Operation* op, int64_t d, int64_t shards);

// Fits `op`, a copy of an operation on blocks whose operands are blocks already, to blocks of
// results that are split as `rule` says: its result types, and attributes that hold sizes.
void fitToBlocks(mlir::Operation* op, const SplitRule& rule);

}  // namespace isthmus

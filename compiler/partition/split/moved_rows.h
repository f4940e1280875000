// Rows of split dimensions that devices need beyond their blocks: halos of windows, parts of
// slices, places of what is concatenated.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/partition/sharding/mesh_sharding.h"
#include "compiler/partition/spmd_builder.h"
#include "llvm/ADT/ArrayRef.h"

namespace isthmus {

// What each device is to have along one dimension: the device of block b rows [starts[b],
// starts[b] + count) of some arrays, which are split into as many blocks over the same axes.
struct RowRequest {
  std::vector<int64_t> starts;
  int64_t count = 0;
};

// An array of `rows` rows along the dimension, whose row 0 is row `offset` of the request. Sources
// do not overlap. One that every device has whole is not sent.
struct RowSource {
  int64_t rows = 0;
  int64_t offset = 0;
  bool isWhole = false;
};

// Rows [start, start + count) of block `from` of source `source` become rows from `place` on of
// what the device of block `to` asks for.
struct RowMove {
  size_t source = 0;
  int64_t from = 0, to = 0, start = 0, place = 0, count = 0;
};

// Moves of one round are of one source, and each device sends and receives at most one. In a round
// either no row leaves its device, or all do. A source that does not divide evenly has padding
// behind its last row.
using RowRounds = std::vector<std::vector<RowMove>>;
RowRounds planRows(llvm::ArrayRef<RowSource> sources, const RowRequest& request);

// How many rows a device sends and receives at most.
int64_t rowsSent(const RowRounds& rounds);

// The rows that this device asks for. `blocks[i]` is its block of source i: split along dimension
// `d` as `sharding` says. Rows that no source has are `fill`, a scalar, or zeros if that is null.
mlir::Value moveRows(llvm::ArrayRef<RowSource> sources, const RowRequest& request,
                     mlir::ValueRange blocks, mlir::Value fill, int64_t d,
                     const MeshSharding& sharding, mlir::OpBuilder& builder, SpmdBuilder& spmd,
                     mlir::Location location);

// As moveRows, of one array, but without what other devices have: zeros are in its place.
mlir::Value placeRows(const RowSource& source, const RowRequest& request, mlir::Value block,
                      int64_t d, const MeshSharding& sharding, mlir::OpBuilder& builder,
                      SpmdBuilder& spmd, mlir::Location location);

}  // namespace isthmus

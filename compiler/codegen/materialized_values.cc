// Values of a fusion that are in registers or in memory already.
#include "compiler/codegen/materialized_values.h"

namespace isthmus::codegen {
namespace {

template <typename Map>
auto entryOf(const Map& map, const typename Map::key_type& key) -> const
    typename Map::mapped_type* {
  auto it = map.find(key);
  return it == map.end() ? nullptr : &it->second;
}

}  // namespace

const Val* MaterializedValues::registerOf(mlir::Value value) const {
  return entryOf(registers_, value);
}

void MaterializedValues::addAccumulators(mlir::Operation* reduce,
                                         llvm::ArrayRef<llvm::Value*> bases,
                                         llvm::ArrayRef<llvm::Value*> blockBases) {
  Accumulators& all = accumulators_[reduce];
  all.bases.assign(bases.begin(), bases.end());
  all.blockBases.assign(blockBases.begin(), blockBases.end());
}

void MaterializedValues::setOrigin(mlir::Operation* reduce, const IndexExpr& origin) {
  accumulators_[reduce].origin = origin;
}

const MaterializedValues::Accumulators* MaterializedValues::accumulatorsOf(
    mlir::Operation* reduce) const {
  return entryOf(accumulators_, reduce);
}

const MaterializedValues::Row* MaterializedValues::rowOf(mlir::Value value) const {
  return entryOf(rows_, value);
}

const MaterializedValues::StoredRow* MaterializedValues::storedRowOf(mlir::Value value) const {
  return entryOf(storedRows_, value);
}

void MaterializedValues::setRowsWritten(mlir::Operation* writer, Level* level) {
  for (auto& [value, row] : rows_) {
    if (row.writer == writer) row.level = level;
  }
}

void MaterializedValues::setRowsStale() {
  for (auto& [value, row] : rows_) row.level = nullptr;
}

}  // namespace isthmus::codegen

#include "compiler/partition/rules/reshape_rule.h"

#include "compiler/dialect/facts/indexing.h"
#include "llvm/ADT/STLExtras.h"

namespace isthmus {
namespace {

using Dims = llvm::ArrayRef<int64_t>;
using Parts = std::vector<AxisPart>;

// The axes over which dimensions [first, end) together are split, if what a device has of them
// follows each other: only then may a dimension be split whose major one is cut into single rows.
std::optional<Parts> flattened(const MeshSharding& sharding, Dims shape, size_t first, size_t end) {
  Parts all;
  bool isCutToRows = true;
  for (size_t d = first; d < end; ++d) {
    const int64_t shards = sharding.shards(static_cast<int64_t>(d));
    if (shards > 1 && (!isCutToRows || shape[d] % shards != 0)) return std::nullopt;
    for (const AxisPart& part : sharding.dims[d]) all.push_back(part);
    isCutToRows &= shards == shape[d];
  }
  return all;
}

// Splits dimensions [first, end) of `sharding` over `parts`, major to minor. False if they do not
// divide.
bool distribute(Parts parts, MeshSharding& sharding, Dims shape, size_t first, size_t end) {
  size_t next = 0;
  for (size_t d = first; d < end; ++d) {
    for (int64_t rows = shape[d]; rows > 1 && next < parts.size();) {
      AxisPart& part = parts[next];
      if (rows % part.size == 0) {
        appendAxisPart(sharding.dims[d], part);
        rows /= part.size;
        ++next;
      } else if (part.size % rows == 0) {
        part.size /= rows;
        appendAxisPart(sharding.dims[d], {part.stride * part.size, rows});
        rows = 1;
      } else {
        return false;
      }
    }
  }
  return next == parts.size();
}

}  // namespace

std::optional<MeshSharding> reshapedSharding(const MeshSharding& sharding, Dims from, Dims to) {
  if (llvm::is_contained(from, 0)) return std::nullopt;
  MeshSharding result = sharding;
  result.dims.assign(to.size(), {});
  ReshapeGroups groups = reshapeGroups(from, to);
  for (auto [fromGroup, toGroup] : llvm::zip(groups.from, groups.to)) {
    std::optional<Parts> parts = flattened(sharding, from, fromGroup.first, fromGroup.second);
    if (!parts || !distribute(std::move(*parts), result, to, toGroup.first, toGroup.second)) {
      return std::nullopt;
    }
  }
  return result;
}

}  // namespace isthmus

#include "compiler/partition/sharding/mesh_sharding.h"

#include <map>
#include <numeric>

#include "llvm/ADT/STLExtras.h"
#include "mlir/IR/SymbolTable.h"

namespace isthmus {
namespace {

int64_t coordinate(const AxisPart& part, int64_t position) {
  return position / part.stride % part.size;
}

void appendVarint(std::string& out, uint64_t value) {
  while (value >= 0x80) {
    out += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  out += static_cast<char>(value);
}

void appendPacked(std::string& out, int field, const std::vector<int64_t>& values) {
  std::string bytes;
  for (int64_t value : values) appendVarint(bytes, static_cast<uint64_t>(value));
  appendVarint(out, static_cast<uint64_t>(field) << 3 | 2);
  appendVarint(out, bytes.size());
  out += bytes;
}

void appendNumber(std::string& out, int field, uint64_t value) {
  appendVarint(out, static_cast<uint64_t>(field) << 3);
  appendVarint(out, value);
}

constexpr uint64_t kOpShardingReplicated = 0;
constexpr uint64_t kOpShardingOther = 3;  // "tiled"
constexpr uint64_t kOpShardingManual = 4;
constexpr uint64_t kOpShardingUnreduced = 6;

int64_t index(const std::vector<AxisPart>& parts, int64_t position) {
  int64_t index = 0;
  for (const AxisPart& part : parts) index = index * part.size + coordinate(part, position);
  return index;
}

}  // namespace

int64_t blocksOf(llvm::ArrayRef<AxisPart> parts) {
  int64_t blocks = 1;
  for (const AxisPart& part : parts) blocks *= part.size;
  return blocks;
}

int64_t blockRows(int64_t size, int64_t shards) { return (size + shards - 1) / shards; }

void appendAxisPart(std::vector<AxisPart>& parts, AxisPart part) {
  if (part.size == 1) return;
  if (!parts.empty() && parts.back().stride == part.stride * part.size) {
    parts.back() = {part.stride, parts.back().size * part.size};
  } else {
    parts.push_back(part);
  }
}

bool areIndependent(const AxisPart& a, const AxisPart& b) {
  return a.stride % (b.stride * b.size) == 0 || b.stride % (a.stride * a.size) == 0;
}

int64_t MeshSharding::shards(int64_t d) const { return blocksOf(dims[d]); }

bool MeshSharding::isReplicated() const {
  return unreduced.empty() &&
         llvm::all_of(dims, [](const auto& parts) { return blocksOf(parts) == 1; });
}

bool MeshSharding::hasSameBlocks(const MeshSharding& other) const {
  if (*this == other) return true;
  if (numPartitions != other.numPartitions || dims.size() != other.dims.size()) return false;
  auto sums = groups(unreduced), otherSums = other.groups(other.unreduced);
  llvm::sort(sums);
  llvm::sort(otherSums);
  if (sums != otherSums) return false;
  for (int64_t d = 0; d < static_cast<int64_t>(dims.size()); ++d) {
    if (shards(d) != other.shards(d)) return false;
    for (int64_t p = 0; p < numPartitions; ++p) {
      if (shardIndex(d, p) != other.shardIndex(d, p)) return false;
    }
  }
  return true;
}

MeshSharding MeshSharding::reduced() const {
  MeshSharding reduced = *this;
  reduced.unreduced.clear();
  return reduced;
}

int64_t MeshSharding::shardIndex(int64_t d, int64_t p) const {
  return index(dims[d], positionOf[p]);
}

bool MeshSharding::isUnused(const AxisPart& part) const {
  auto isOther = [&](const AxisPart& other) { return areIndependent(part, other); };
  return llvm::all_of(unreduced, isOther) &&
         llvm::all_of(dims, [&](const auto& parts) { return llvm::all_of(parts, isOther); });
}

bool MeshSharding::canAlsoSplit(int64_t d, const std::vector<AxisPart>& parts) const {
  return dims[d].empty() &&
         llvm::all_of(parts, [&](const AxisPart& part) { return isUnused(part); });
}

std::vector<std::vector<int64_t>> MeshSharding::groups(const std::vector<AxisPart>& parts) const {
  // A partition's position with the axis parts taken out names its group.
  std::map<int64_t, std::vector<int64_t>> byRest;
  for (int64_t p = 0; p < numPartitions; ++p) {
    int64_t rest = positionOf[p];
    for (const AxisPart& part : parts) rest -= coordinate(part, positionOf[p]) * part.stride;
    byRest[rest].push_back(p);
  }
  std::vector<std::vector<int64_t>> groups;
  for (auto& [rest, group] : byRest) {
    llvm::sort(group, [&](int64_t a, int64_t b) {
      return index(parts, positionOf[a]) < index(parts, positionOf[b]);
    });
    groups.push_back(std::move(group));
  }
  return groups;
}

StatusOr<std::vector<int64_t>> MeshSharding::localShape(llvm::ArrayRef<int64_t> shape) const {
  std::vector<int64_t> local(shape.begin(), shape.end());
  for (size_t d = 0; d < dims.size(); ++d) {
    int64_t blocks = shards(static_cast<int64_t>(d));
    if (local[d] % blocks != 0) {
      return unimplemented("partition: dimension ", d, " of size ", local[d],
                           " does not divide into ", blocks, " equal blocks");
    }
    local[d] /= blocks;
  }
  return local;
}

std::vector<int64_t> MeshSharding::blockShape(llvm::ArrayRef<int64_t> shape) const {
  std::vector<int64_t> block(shape.begin(), shape.end());
  for (size_t d = 0; d < dims.size(); ++d) {
    block[d] = blockRows(block[d], shards(static_cast<int64_t>(d)));
  }
  return block;
}

bool isMostlyRows(int64_t size, int64_t shards) {
  return blockRows(size, shards) * shards < 2 * size;
}

bool isWorthPadding(const MeshSharding& sharding, llvm::ArrayRef<int64_t> shape) {
  for (size_t d = 0; d < sharding.dims.size(); ++d) {
    const int64_t shards = sharding.shards(static_cast<int64_t>(d));
    if (shape[d] % shards != 0 && !isMostlyRows(shape[d], shards)) return false;
  }
  return true;
}

MeshSharding MeshSharding::evenPart(llvm::ArrayRef<int64_t> shape) const {
  MeshSharding even = *this;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (shape[d] % shards(static_cast<int64_t>(d)) != 0) even.dims[d].clear();
  }
  return even;
}

std::string MeshSharding::toOpSharding() const {
  std::string out;
  if (isReplicated() || blocksOf(unreduced) == numPartitions) {
    // Written out, since no bytes at all would mean that nothing is known.
    appendNumber(out, 1, unreduced.empty() ? kOpShardingReplicated : kOpShardingUnreduced);
    return out;
  }
  std::vector<int64_t> tileDims;
  int64_t tiles = 1;
  for (size_t d = 0; d < dims.size(); ++d) {
    tileDims.push_back(shards(static_cast<int64_t>(d)));
    tiles *= tileDims.back();
  }
  std::vector<int64_t> kinds;
  auto addSubgroup = [&](int64_t size, uint64_t kind) {
    if (size == 1) return;
    tileDims.push_back(size);
    kinds.push_back(static_cast<int64_t>(kind));
  };
  int64_t partialSums = blocksOf(unreduced);
  addSubgroup(partialSums, kOpShardingUnreduced);
  addSubgroup(numPartitions / (tiles * partialSums), kOpShardingReplicated);
  // Devices in order of their tile and partial sum; those that hold the same follow each other.
  std::vector<int64_t> devices(numPartitions);
  std::iota(devices.begin(), devices.end(), 0);
  auto tileOf = [&](int64_t p) {
    int64_t tile = 0;
    for (size_t d = 0; d < dims.size(); ++d) {
      tile = tile * tileDims[d] + shardIndex(static_cast<int64_t>(d), p);
    }
    return tile * partialSums + index(unreduced, positionOf[p]);
  };
  llvm::stable_sort(devices, [&](int64_t a, int64_t b) { return tileOf(a) < tileOf(b); });
  appendNumber(out, 1, kOpShardingOther);
  appendPacked(out, 3, tileDims);
  appendPacked(out, 4, devices);
  if (!unreduced.empty()) {
    appendPacked(out, 8, kinds);
  } else if (!kinds.empty()) {
    appendNumber(out, 6, 1);
  }
  return out;
}

std::string manualOpSharding() {
  std::string out;
  appendNumber(out, 1, kOpShardingManual);
  return out;
}

bool isOpen(sdy::TensorShardingAttr attribute) {
  return llvm::any_of(attribute.getDimShardings(),
                      [](sdy::DimensionShardingAttr dim) { return !dim.getIsClosed(); });
}

std::vector<std::string> manualAxesOf(sdy::ManualComputationOp op) {
  std::vector<std::string> axes;
  for (mlir::StringAttr axis : op.getManualAxes()) axes.push_back(axis.getValue().str());
  return axes;
}

// `axes` of the mesh, as parts of it, in `unreduced` of a sharding of no dimension.
static StatusOr<MeshSharding> partsOf(llvm::ArrayRef<sdy::AxisRefAttr> axes, mlir::Attribute mesh,
                                      int64_t numPartitions, mlir::ModuleOp module) {
  auto attribute = sdy::TensorShardingAttr::get(module.getContext(), mesh, {}, {}, axes);
  return resolveSharding(attribute, 0, numPartitions, module);
}

Status refineOpen(sdy::TensorShardingAttr attribute, const MeshSharding& more,
                  int64_t numPartitions, mlir::ModuleOp module, MeshSharding& sharding) {
  if (more.isReplicated() || !isOpen(attribute)) return {};
  ISTHMUS_ASSIGN_OR_RETURN(
      MeshSharding replicated,
      partsOf(attribute.getReplicatedAxes(), attribute.getMeshOrRef(), numPartitions, module));
  if (!replicated.unreduced.empty() && replicated.positionOf != more.positionOf) return {};
  if (sharding.isReplicated()) sharding.positionOf = more.positionOf;
  if (sharding.positionOf != more.positionOf) return {};
  for (auto [d, dim] : llvm::enumerate(attribute.getDimShardings())) {
    std::vector<AxisPart>& parts = sharding.dims[d];
    const std::vector<AxisPart>& finer = more.dims[d];
    bool isPrefix =
        parts.size() < finer.size() && std::equal(parts.begin(), parts.end(), finer.begin());
    if (dim.getIsClosed() || !isPrefix) continue;
    auto rest = llvm::ArrayRef<AxisPart>(finer).drop_front(parts.size());
    if (llvm::all_of(rest, [&](const AxisPart& part) {
          return sharding.isUnused(part) && replicated.isUnused(part);
        })) {
      parts = finer;
    }
  }
  return {};
}

StatusOr<std::optional<MeshSharding>> manualParts(sdy::ManualComputationOp op,
                                                  int64_t numPartitions, mlir::ModuleOp module) {
  auto shardings = op.getInShardings().getShardings();
  if (shardings.empty()) shardings = op.getOutShardings().getShardings();
  if (shardings.empty()) return std::optional<MeshSharding>();
  llvm::SmallVector<sdy::AxisRefAttr> axes;
  for (mlir::StringAttr axis : op.getManualAxes()) {
    axes.push_back(sdy::AxisRefAttr::get(op->getContext(), axis.getValue()));
  }
  ISTHMUS_ASSIGN_OR_RETURN(MeshSharding parts,
                           partsOf(axes, shardings[0].getMeshOrRef(), numPartitions, module));
  return std::optional(std::move(parts));
}

std::optional<MeshSharding> composed(const MeshSharding& outer, const MeshSharding& inner) {
  if (inner.isReplicated()) return outer;
  if (inner.positionOf != outer.positionOf && !outer.isReplicated()) return std::nullopt;
  MeshSharding sharding = outer;
  sharding.positionOf = inner.positionOf;
  for (auto [parts, more] : llvm::zip(sharding.dims, inner.dims)) {
    for (const AxisPart& part : more) {
      if (!outer.isUnused(part)) return std::nullopt;
      appendAxisPart(parts, part);
    }
  }
  return sharding;
}

MeshSharding withoutOuter(const MeshSharding& whole, const MeshSharding& outer,
                          const std::vector<AxisPart>& manual) {
  MeshSharding inner =
      replicatedSharding(static_cast<int64_t>(whole.dims.size()), whole.numPartitions);
  if (!outer.isReplicated() && whole.positionOf != outer.positionOf) return inner;
  inner.positionOf = whole.positionOf;
  auto isAutomatic = [&](const AxisPart& part) {
    return llvm::all_of(manual, [&](const AxisPart& axis) { return areIndependent(part, axis); });
  };
  for (size_t d = 0; d < whole.dims.size(); ++d) {
    std::vector<AxisPart> rest = whole.dims[d];
    bool isPrefix = true;
    for (const AxisPart& part : outer.dims[d]) {
      // Takes `part` from the front, where neighbouring axes may be one part.
      isPrefix = isPrefix && !rest.empty() && rest[0].stride <= part.stride &&
                 part.stride % rest[0].stride == 0 &&
                 rest[0].stride * rest[0].size == part.stride * part.size;
      if (!isPrefix) break;
      rest[0].size = part.stride / rest[0].stride;
      if (rest[0].size == 1) rest.erase(rest.begin());
    }
    if (isPrefix && llvm::all_of(rest, isAutomatic)) inner.dims[d] = std::move(rest);
  }
  return inner;
}

MeshSharding overWholeAxes(MeshSharding sharding, mlir::ModuleOp module) {
  // By where an axis ends, its size.
  std::map<int64_t, int64_t> axes;
  for (auto op : module.getOps<sdy::MeshOp>()) {
    if (op.getMesh().getTotalSize() != sharding.numPartitions) continue;
    if (!axes.empty()) return sharding;
    int64_t devices = 1;
    for (sdy::MeshAxisAttr axis : llvm::reverse(op.getMesh().getAxes())) {
      if (axis.getSize() == 1) continue;
      devices *= axis.getSize();
      axes[devices] = axis.getSize();
    }
  }
  if (axes.empty()) return sharding;
  auto isWhole = [&](const AxisPart& part) {
    int64_t end = part.stride * part.size;
    while (end > part.stride && axes.count(end) != 0) end /= axes[end];
    return end == part.stride;
  };
  for (std::vector<AxisPart>& parts : sharding.dims) {
    auto broken = llvm::find_if_not(parts, isWhole);
    parts.erase(broken, parts.end());
  }
  return sharding;
}

MeshSharding replicatedSharding(int64_t rank, int64_t numPartitions) {
  MeshSharding sharding;
  sharding.numPartitions = numPartitions;
  sharding.positionOf.resize(numPartitions);
  std::iota(sharding.positionOf.begin(), sharding.positionOf.end(), 0);
  sharding.dims.resize(rank);
  return sharding;
}

StatusOr<MeshSharding> resolveSharding(sdy::TensorShardingAttr attribute, int64_t rank,
                                       int64_t numPartitions, mlir::ModuleOp module,
                                       const std::vector<std::string>* onlyAxes) {
  MeshSharding sharding = replicatedSharding(rank, numPartitions);
  sdy::MeshAttr mesh = llvm::dyn_cast<sdy::MeshAttr>(attribute.getMeshOrRef());
  if (!mesh) {
    auto name = llvm::dyn_cast<mlir::FlatSymbolRefAttr>(attribute.getMeshOrRef());
    auto op = name ? mlir::SymbolTable(module).lookup<sdy::MeshOp>(name.getValue()) : nullptr;
    if (!op) return invalidArgument("partition: a sharding names a mesh that the module lacks");
    mesh = op.getMesh();
  }
  struct Axis {
    int64_t stride, size;
  };
  std::map<std::string, Axis> axes;
  int64_t devices = 1;
  for (sdy::MeshAxisAttr axis : llvm::reverse(mesh.getAxes())) {
    if (axis.getSize() <= 0 || devices > numPartitions) {
      return invalidArgument("partition: mesh axis '", axis.getName().str(), "' of size ",
                             axis.getSize(), " does not fit ", numPartitions, " partitions");
    }
    axes[axis.getName().str()] = {devices, axis.getSize()};
    devices *= axis.getSize();
  }
  // A mesh without axes (maximal or empty) or of one device splits nothing.
  if (devices == 1) return sharding;
  if (devices != numPartitions) {
    return invalidArgument("partition: a mesh of ", devices, " devices in a program of ",
                           numPartitions, " partitions");
  }
  if (!mesh.getDeviceIds().empty()) {
    if (static_cast<int64_t>(mesh.getDeviceIds().size()) != devices) {
      return invalidArgument("partition: a mesh lists ", mesh.getDeviceIds().size(),
                             " device ids for ", devices, " positions");
    }
    for (auto [position, id] : llvm::enumerate(mesh.getDeviceIds())) {
      if (id < 0 || id >= numPartitions) {
        return invalidArgument("partition: mesh device id ", id, " out of range");
      }
      sharding.positionOf[id] = static_cast<int64_t>(position);
    }
  }
  if (static_cast<int64_t>(attribute.getDimShardings().size()) != rank) {
    return invalidArgument("partition: a sharding of rank ", attribute.getDimShardings().size(),
                           " on an array of rank ", rank);
  }
  auto append = [&](sdy::AxisRefAttr axis, std::vector<AxisPart>& parts) -> Status {
    std::string name = axis.getName().str();
    auto found = axes.find(name);
    if (found == axes.end()) {
      return invalidArgument("partition: a sharding names axis '", name, "', which its mesh lacks");
    }
    if (onlyAxes && !llvm::is_contained(*onlyAxes, name)) return {};
    AxisPart part{found->second.stride, found->second.size};
    if (sdy::SubAxisInfoAttr sub = axis.getSubAxisInfo()) {
      // "a":(m)k is the part of size k behind the m major ones.
      int64_t before = 0;
      if (sub.getPreSize() < 1 || sub.getSize() < 1 ||
          __builtin_mul_overflow(sub.getPreSize(), sub.getSize(), &before) ||
          part.size % before != 0) {
        return invalidArgument("partition: sub-axis of '", name, "' does not divide it");
      }
      part.stride *= part.size / before;
      part.size = sub.getSize();
    }
    if (!sharding.isUnused(part)) {
      return invalidArgument("partition: a sharding names overlapping axes: '", name, "'");
    }
    appendAxisPart(parts, part);
    return {};
  };
  for (auto [d, dim] : llvm::enumerate(attribute.getDimShardings())) {
    for (sdy::AxisRefAttr axis : dim.getAxes()) {
      ISTHMUS_RETURN_IF_ERROR(append(axis, sharding.dims[d]));
    }
  }
  for (sdy::AxisRefAttr axis : attribute.getUnreducedAxes()) {
    ISTHMUS_RETURN_IF_ERROR(append(axis, sharding.unreduced));
  }
  if (!sharding.unreduced.empty() && attribute.getReductionOp() != sdy::ReductionOp::SUM) {
    return unimplemented("partition: an array that is not yet reduced by anything but a sum");
  }
  return sharding;
}

}  // namespace isthmus

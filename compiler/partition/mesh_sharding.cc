#include "compiler/partition/mesh_sharding.h"

#include <map>
#include <numeric>

#include "llvm/ADT/STLExtras.h"
#include "mlir/IR/SymbolTable.h"

namespace isthmus {
namespace {

int64_t coordinate(const AxisPart& part, int64_t position) {
  return position / part.axisStride % part.axisSize / part.stride % part.size;
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

}  // namespace

int64_t MeshSharding::shards(int64_t d) const {
  int64_t product = 1;
  for (const AxisPart& part : dims[d]) product *= part.size;
  return product;
}

bool MeshSharding::isReplicated() const {
  for (size_t d = 0; d < dims.size(); ++d) {
    if (shards(static_cast<int64_t>(d)) > 1) return false;
  }
  return true;
}

int64_t MeshSharding::shardIndex(int64_t d, int64_t p) const {
  int64_t index = 0;
  for (const AxisPart& part : dims[d]) {
    index = index * part.size + coordinate(part, positionOf[p]);
  }
  return index;
}

std::vector<std::vector<int64_t>> MeshSharding::gatherGroups(int64_t d) const {
  // A partition's position with the axis parts of `d` taken out names its group.
  std::map<int64_t, std::vector<int64_t>> byRest;
  for (int64_t p = 0; p < numPartitions; ++p) {
    int64_t rest = positionOf[p];
    for (const AxisPart& part : dims[d]) {
      rest -= coordinate(part, positionOf[p]) * part.stride * part.axisStride;
    }
    byRest[rest].push_back(p);
  }
  std::vector<std::vector<int64_t>> groups;
  for (auto& [rest, group] : byRest) {
    llvm::sort(group, [&](int64_t a, int64_t b) { return shardIndex(d, a) < shardIndex(d, b); });
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

std::string MeshSharding::toOpSharding() const {
  if (isReplicated()) {
    // Written out, since no bytes at all would mean that nothing is known.
    std::string out;
    appendNumber(out, 1, kOpShardingReplicated);
    return out;
  }
  std::vector<int64_t> tileDims;
  int64_t tiles = 1;
  for (size_t d = 0; d < dims.size(); ++d) {
    tileDims.push_back(shards(static_cast<int64_t>(d)));
    tiles *= tileDims.back();
  }
  // Devices in order of their tile; those that hold the same tile follow each other.
  std::vector<int64_t> devices(numPartitions);
  std::iota(devices.begin(), devices.end(), 0);
  auto tileOf = [&](int64_t p) {
    int64_t tile = 0;
    for (size_t d = 0; d < dims.size(); ++d) {
      tile = tile * tileDims[d] + shardIndex(static_cast<int64_t>(d), p);
    }
    return tile;
  };
  std::stable_sort(devices.begin(), devices.end(),
                   [&](int64_t a, int64_t b) { return tileOf(a) < tileOf(b); });
  std::string out;
  appendNumber(out, 1, kOpShardingOther);
  bool replicatesTiles = tiles < numPartitions;
  if (replicatesTiles) tileDims.push_back(numPartitions / tiles);
  appendPacked(out, 3, tileDims);
  appendPacked(out, 4, devices);
  if (replicatesTiles) appendNumber(out, 6, 1);
  return out;
}

std::string manualOpSharding() {
  std::string out;
  appendNumber(out, 1, kOpShardingManual);
  return out;
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
  for (auto [d, dim] : llvm::enumerate(attribute.getDimShardings())) {
    for (sdy::AxisRefAttr axis : dim.getAxes()) {
      std::string name = axis.getName().str();
      auto found = axes.find(name);
      if (found == axes.end()) {
        return invalidArgument("partition: a sharding names axis '", name,
                               "', which its mesh lacks");
      }
      if (onlyAxes && !llvm::is_contained(*onlyAxes, name)) continue;
      AxisPart part{found->second.stride, found->second.size, 1, found->second.size};
      if (sdy::SubAxisInfoAttr sub = axis.getSubAxisInfo()) {
        // "a":(m)k is the part of size k behind the m major ones.
        int64_t parts = 0;
        if (sub.getPreSize() < 1 || sub.getSize() < 1 ||
            __builtin_mul_overflow(sub.getPreSize(), sub.getSize(), &parts) ||
            part.axisSize % parts != 0) {
          return invalidArgument("partition: sub-axis of '", name, "' does not divide it");
        }
        part.stride = part.axisSize / parts;
        part.size = sub.getSize();
      }
      sharding.dims[d].push_back(part);
    }
  }
  return sharding;
}

}  // namespace isthmus

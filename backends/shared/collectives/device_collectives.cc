#include "backends/shared/collectives/device_collectives.h"

#include <utility>

namespace isthmus {
namespace {

using Kind = DeviceCollective::Kind;

// Broadcasts are permutations in which several get the same.
struct Function {
  std::string_view name;
  Kind kind;
  bool isBroadcast = false;
};
constexpr Function kFunctions[] = {
    {"isthmus_rt_all_reduce", Kind::kAllReduce},
    {"isthmus_rt_all_gather", Kind::kAllGather},
    {"isthmus_rt_reduce_scatter", Kind::kReduceScatter},
    {"isthmus_rt_all_to_all", Kind::kAllToAll},
    {"isthmus_rt_collective_permute", Kind::kPermute},
    {"isthmus_rt_collective_broadcast", Kind::kPermute, true},
};

const Function* find(std::string_view name) {
  for (const Function& function : kFunctions) {
    if (function.name == name) return &function;
  }
  return nullptr;
}

}  // namespace

bool isCollectiveFunction(std::string_view function) { return find(function) != nullptr; }

StatusOr<CollectivePart> collectivePartOf(std::string_view name, const Collective& collective,
                                          const RunRequest& request) {
  const Function* function = find(name);
  if (!function) return internalError(name, " is no collective");
  CollectivePart part;
  part.kind = function->kind;
  if (part.kind != Kind::kPermute) {
    ISTHMUS_ASSIGN_OR_RETURN(part.devices, findOwnGroup(request, collective));
    return part;
  }
  part.devices = everybodyOf(request, collective);
  ISTHMUS_ASSIGN_OR_RETURN(part.sources, function->isBroadcast
                                             ? sourcesOfBroadcast(request, collective)
                                             : sourcesByPairs(request, collective));
  return part;
}

}  // namespace isthmus

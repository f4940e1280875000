#include "backends/simulated/collectives.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace isthmus::simulated {
namespace {

using Kind = DeviceCollective::Kind;

constexpr size_t kMaxAborted = 64;

bool isReduction(Kind kind) { return kind == Kind::kAllReduce || kind == Kind::kReduceScatter; }

template <typename T>
T reduced(ReductionKind kind, T a, T b) {
  switch (kind) {
    case ReductionKind::kSum:
      return a + b;
    case ReductionKind::kMax:
      return a != a || a > b ? a : b;  // NaN stays
    default:
      return a != a || a < b ? a : b;
  }
}

// Sums of s32 wrap.
template <typename T>
void reduce(ReductionKind kind, char* into, const char* from, size_t elements) {
  for (size_t i = 0; i < elements; ++i) {
    T a, b;
    std::memcpy(&a, into + i * sizeof(T), sizeof(T));
    std::memcpy(&b, from + i * sizeof(T), sizeof(T));
    if constexpr (std::is_same_v<T, int32_t>) {
      a = kind == ReductionKind::kSum
              ? static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b))
              : reduced(kind, a, b);
    } else {
      a = reduced(kind, a, b);
    }
    std::memcpy(into + i * sizeof(T), &a, sizeof(T));
  }
}

// What lies in the output of `rank` afterwards, of all inputs.
std::vector<char> outputOf(const DeviceCollective& collective,
                           const std::vector<std::vector<char>>& inputs, size_t rank) {
  const size_t ranks = inputs.size();
  const auto elements = static_cast<size_t>(collective.elements);
  const size_t bytes = elements * elementSizeBytes(collective.type);
  std::vector<char> output;
  auto append = [&](const std::vector<char>& from, size_t block) {
    auto begin = from.begin() + static_cast<ptrdiff_t>(block * bytes);
    output.insert(output.end(), begin, begin + static_cast<ptrdiff_t>(bytes));
  };
  switch (collective.kind) {
    case Kind::kAllReduce:
    case Kind::kReduceScatter: {
      const size_t block = collective.kind == Kind::kAllReduce ? 0 : rank;
      append(inputs[0], block);
      for (size_t r = 1; r < ranks; ++r) {
        const char* from = inputs[r].data() + block * bytes;
        collective.type == ElementType::kF32
            ? reduce<float>(collective.reduction, output.data(), from, elements)
            : reduce<int32_t>(collective.reduction, output.data(), from, elements);
      }
      break;
    }
    case Kind::kAllGather:
      for (const std::vector<char>& input : inputs) append(input, 0);
      break;
    case Kind::kAllToAll:
      for (const std::vector<char>& input : inputs) append(input, rank);
      break;
    case Kind::kPermute:
      if (int64_t source = collective.sources[rank]; source >= 0) {
        append(inputs[static_cast<size_t>(source)], 0);
      } else {
        output.resize(bytes);
      }
      break;
  }
  return output;
}

}  // namespace

bool SimulatedCollectives::supports(std::span<const int64_t>,
                                    const DeviceCollective& collective) const {
  if (!isReduction(collective.kind)) return true;
  if (collective.type != ElementType::kF32 && collective.type != ElementType::kS32) return false;
  return collective.reduction == ReductionKind::kSum ||
         collective.reduction == ReductionKind::kMax || collective.reduction == ReductionKind::kMin;
}

StatusOr<DeviceEventRef> SimulatedCollectives::enqueue(const CollectiveCall& call,
                                                       RunServices& services,
                                                       const DeviceCollective& collective,
                                                       DevicePlace input, DevicePlace output,
                                                       DeviceEvents after) {
  const int64_t launchId = call.launchId;
  // It may tell at once, so not under the mutex.
  services.collectives().onAbort(launchId, call.deviceId,
                                 [this, launchId](const Status& error) { abort(launchId, error); });
  const size_t ranks = call.group.size();
  const size_t bytes = static_cast<size_t>(collective.elements) * elementSizeBytes(collective.type);
  const bool readsBlocks =
      collective.kind == Kind::kReduceScatter || collective.kind == Kind::kAllToAll;
  const bool writesBlocks =
      collective.kind == Kind::kAllGather || collective.kind == Kind::kAllToAll;
  const size_t inputBytes = readsBlocks ? bytes * ranks : bytes;
  const size_t outputBytes = writesBlocks ? bytes * ranks : bytes;
  Device& device = backend_.device(call.deviceId);
  auto twin = [&](DevicePlace place, size_t size) {
    return device.memory().twin(static_cast<char*>(place.block) + place.offset, size);
  };
  ISTHMUS_ASSIGN_OR_RETURN(char* from, twin(input, inputBytes));
  ISTHMUS_ASSIGN_OR_RETURN(char* to, twin(output, outputBytes));
  auto rank =
      static_cast<size_t>(std::ranges::find(call.group, call.deviceId) - call.group.begin());

  std::lock_guard lock(mutex_);
  if (auto found = aborted_.find(launchId); found != aborted_.end()) return found->second;
  auto open = open_.try_emplace({launchId, call.channel, {call.group.begin(), call.group.end()}});
  std::list<Rendezvous>& waiting = open.first->second;
  auto rendezvous = std::ranges::find_if(
      waiting, [&](const Rendezvous& one) { return one.ends[rank] == nullptr; });
  if (rendezvous == waiting.end()) {
    ++begun_;
    Rendezvous fresh;
    fresh.inputs.resize(ranks);
    fresh.outputs.resize(ranks);
    fresh.ends.resize(ranks);
    rendezvous = waiting.insert(waiting.end(), std::move(fresh));
  }
  DeviceEventRef end = device.promise();
  rendezvous->inputs[rank] = from;
  rendezvous->outputs[rank] = to;
  rendezvous->ends[rank] = end;
  rendezvous->after.insert(rendezvous->after.end(), after.begin(), after.end());
  if (++rendezvous->arrived < ranks) return end;

  Rendezvous all = std::move(*rendezvous);
  waiting.erase(rendezvous);
  if (waiting.empty()) open_.erase(open.first);
  auto work = [described = collective,
               sources = std::vector(collective.sources.begin(), collective.sources.end()),
               inputs = all.inputs, outputs = all.outputs, inputBytes]() mutable {
    described.sources = sources;
    std::vector<std::vector<char>> before;
    for (const char* own : inputs) before.emplace_back(own, own + inputBytes);
    for (size_t r = 0; r < outputs.size(); ++r) {
      const std::vector<char> bytes = outputOf(described, before, r);
      if (!bytes.empty()) std::memcpy(outputs[r], bytes.data(), bytes.size());
    }
    return Status();
  };
  Status launched =
      device.launch(call.description, false, std::move(work), all.after, all.ends).status();
  if (!launched.ok()) {
    for (const DeviceEventRef& promised : all.ends) device.fail(promised, launched);
  }
  return end;
}

void SimulatedCollectives::abort(int64_t launchId, const Status& error) {
  std::lock_guard lock(mutex_);
  aborted_.emplace(launchId, error);
  if (aborted_.size() > kMaxAborted) aborted_.erase(aborted_.begin());
  for (auto it = open_.begin(); it != open_.end();) {
    if (std::get<0>(it->first) != launchId) {
      ++it;
      continue;
    }
    const auto device = static_cast<int>(std::get<2>(it->first)[0]);
    for (const Rendezvous& rendezvous : it->second) {
      for (const DeviceEventRef& promised : rendezvous.ends) {
        if (promised) backend_.device(device).fail(promised, error);
      }
    }
    it = open_.erase(it);
  }
}

}  // namespace isthmus::simulated

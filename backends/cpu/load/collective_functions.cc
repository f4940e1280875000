// Carries collectives out through the services.
#include "backends/cpu/load/collective_functions.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "backends/cpu/load/collectives_in_flight.h"
#include "backends/shared/collectives/collective_groups.h"
#include "isthmus/out_of_memory.h"

namespace isthmus::cpu {
namespace {

using Group = StatusOr<std::vector<int64_t>>;

// A device in one call of a library function: what is done at once, or when its results are needed.
class Participant {
 public:
  Participant(IsthmusRun* run, const Collective& collective, void* const* buffers)
      : run_(run), collective_(collective), buffers_(buffers) {
    if (collective.head.startedAs < 0 || run->inFlight == nullptr) return;
    flight_ = std::make_unique<CollectiveInFlight>(*run->services);
  }

  const Collective& collective() const { return collective_; }
  const CollectiveDescriptor& head() const { return collective_.head; }
  Collectives& peers() const { return run_->services->collectives(); }
  const RunRequest& request() const { return *run_->request; }
  int32_t count() const { return collective_.head.numOperands; }
  int64_t width() const { return static_cast<int64_t>(elementSizeBytes(collective_.head.type)); }
  const char* operand(int32_t i) const { return static_cast<const char*>(buffers_[i]); }
  char* result(int32_t i) const { return static_cast<char*>(buffers_[count() + i]); }
  int64_t ranks() const { return static_cast<int64_t>(group().size()); }

  Status setGroup(Group group) {
    ISTHMUS_RETURN_IF_ERROR(group.status());
    (flight_ ? flight_->group : group_) = std::move(*group);
    return {};
  }

  CollectiveCall call() const {
    CollectiveCall call;
    call.launchId = run_->request->launchId;
    call.channel = collective_.head.channel;
    call.deviceId = run_->request->deviceId;
    call.group = group();
    call.description = collective_.description;
    if (flight_) call.later = &flight_->steps;
    return call;
  }

  // The planned scratch memory, which every operand may use anew; memory of their own for those
  // that are under way together.
  StatusOr<char*> scratch(int64_t bytes) {
    if (!flight_) return static_cast<char*>(buffers_[2 * count()]);
    return allocate(*flight_, bytes);
  }
  // Memory that is not planned.
  StatusOr<char*> memory(int64_t bytes) {
    if (!flight_ && !own_) own_ = std::make_unique<CollectiveInFlight>(*run_->services);
    return allocate(flight_ ? *flight_ : *own_, bytes);
  }

  // What is done when the collective so far has been.
  template <typename Action>
  Status then(Action action) {
    if (!flight_ || flight_->steps.empty()) {
      action();
      return {};
    }
    flight_->steps.emplace_back([action] {
      action();
      return Status();
    });
    return {};
  }

  // Of what was done; without an error, the rest may have to wait.
  int32_t end(Status status) {
    if (!status.ok()) {
      abandon(status);
      return fail(run_, std::move(status));
    }
    if (flight_ && !flight_->steps.empty()) {
      std::unique_ptr<CollectiveInFlight>& place = run_->inFlight->all[collective_.head.startedAs];
      place = std::move(flight_);
    }
    return 0;
  }

  ~Participant() { abandon(outOfHostMemory()); }
  Participant(const Participant&) = delete;
  Participant& operator=(const Participant&) = delete;

 private:
  // With some of the operands under way, others count on the rest of them.
  void abandon(const Status& status) {
    if (!flight_ || flight_->steps.empty()) return;
    peers().abort(request().launchId, status);
    (void)flight_->finish();
  }

  std::span<const int64_t> group() const { return flight_ ? flight_->group : group_; }

  StatusOr<char*> allocate(CollectiveInFlight& from, int64_t bytes) const {
    char* data = from.allocate(static_cast<size_t>(std::max<int64_t>(1, bytes)));
    if (data == nullptr) {
      return resourceExhausted(collective_.description, ": no memory for ", bytes, " bytes");
    }
    return data;
  }

  IsthmusRun* run_;
  const Collective& collective_;
  void* const* buffers_;
  std::vector<int64_t> group_;
  std::unique_ptr<CollectiveInFlight> flight_;  // if it only sets out
  std::unique_ptr<CollectiveInFlight> own_;     // holds memory until this call ends
};

// Reorders `data`, an array of [a, b] blocks, to [b, a].
void swapBlocks(const char* from, char* to, int64_t a, int64_t b, int64_t blockBytes) {
  for (int64_t i = 0; i < a; ++i) {
    for (int64_t j = 0; j < b; ++j) {
      std::memcpy(to + (j * a + i) * blockBytes, from + (i * b + j) * blockBytes, blockBytes);
    }
  }
}

// Operands that are reduced together cost two copies, and save a rendezvous each.
constexpr int64_t kMaxPackedBytes = int64_t{64} << 10;

// The end of the operands from `first` on that are reduced together.
int32_t endOfPack(const Collective& collective, int32_t first, int64_t width) {
  int64_t bytes = 0;
  int32_t end = first;
  while (end < collective.head.numOperands) {
    bytes += collective.operands[end].elements * width;
    if (bytes > kMaxPackedBytes) break;
    ++end;
  }
  return std::max(end, first + 1);
}

// Reduces operands [first, end) one behind the other in memory of their own.
Status allReducePacked(Participant& participant, int32_t first, int32_t end) {
  std::vector<std::pair<char*, int64_t>> parts;  // results, with their sizes in bytes
  int64_t elements = 0;
  for (int32_t i = first; i < end; ++i) {
    const int64_t count = participant.collective().operands[i].elements;
    parts.emplace_back(participant.result(i), count * participant.width());
    elements += count;
  }
  ISTHMUS_ASSIGN_OR_RETURN(char* pack, participant.memory(elements * participant.width()));
  char* place = pack;
  for (int32_t i = first; i < end; ++i) {
    const int64_t bytes = parts[i - first].second;
    if (bytes > 0) std::memcpy(place, participant.operand(i), bytes);
    place += bytes;
  }
  const CollectiveDescriptor& head = participant.head();
  ISTHMUS_RETURN_IF_ERROR(participant.peers().allReduce(participant.call(), head.reduction,
                                                        head.type, elements, pack, pack));
  return participant.then([parts = std::move(parts), pack] {
    const char* place = pack;
    for (auto [result, bytes] : parts) {
      if (bytes > 0) std::memcpy(result, place, bytes);
      place += bytes;
    }
  });
}

Status allReduce(Participant& participant) {
  const Collective& collective = participant.collective();
  ISTHMUS_RETURN_IF_ERROR(participant.setGroup(findOwnGroup(participant.request(), collective)));
  for (int32_t i = 0, end = 0; i < participant.count(); i = end) {
    end = endOfPack(collective, i, participant.width());
    if (end > i + 1) {
      ISTHMUS_RETURN_IF_ERROR(allReducePacked(participant, i, end));
      continue;
    }
    ISTHMUS_RETURN_IF_ERROR(participant.peers().allReduce(
        participant.call(), collective.head.reduction, collective.head.type,
        collective.operands[i].elements, participant.operand(i), participant.result(i)));
  }
  return {};
}

Status allGather(Participant& participant) {
  const Collective& collective = participant.collective();
  ISTHMUS_RETURN_IF_ERROR(participant.setGroup(findOwnGroup(participant.request(), collective)));
  const int64_t ranks = participant.ranks();
  for (int32_t i = 0; i < participant.count(); ++i) {
    const CollectiveOperand& operand = collective.operands[i];
    ISTHMUS_RETURN_IF_ERROR(checkResult(collective, operand, operand.elements * ranks, ranks));
    const int64_t bytes = operand.elements * participant.width();
    const int64_t outer = operand.joinOuter;
    char* result = participant.result(i);
    char* received = result;
    if (outer > 1) {
      ISTHMUS_ASSIGN_OR_RETURN(received, participant.scratch(bytes * ranks));
    }
    ISTHMUS_RETURN_IF_ERROR(
        participant.peers().allGather(participant.call(), bytes, participant.operand(i), received));
    if (outer <= 1 || bytes == 0) continue;
    ISTHMUS_RETURN_IF_ERROR(
        participant.then([=] { swapBlocks(received, result, ranks, outer, bytes / outer); }));
  }
  return {};
}

Status reduceScatter(Participant& participant) {
  const Collective& collective = participant.collective();
  ISTHMUS_RETURN_IF_ERROR(participant.setGroup(findOwnGroup(participant.request(), collective)));
  const int64_t ranks = participant.ranks();
  for (int32_t i = 0; i < participant.count(); ++i) {
    const CollectiveOperand& operand = collective.operands[i];
    ISTHMUS_RETURN_IF_ERROR(checkSplit(collective, operand, ranks));
    ISTHMUS_RETURN_IF_ERROR(checkResult(collective, operand, operand.elements / ranks, ranks));
    const char* input = participant.operand(i);
    if (operand.splitOuter > 1 && operand.elements > 0) {
      ISTHMUS_ASSIGN_OR_RETURN(char* blocks,
                               participant.scratch(operand.elements * participant.width()));
      swapBlocks(input, blocks, operand.splitOuter, ranks,
                 operand.elements / std::max<int64_t>(1, operand.splitOuter * ranks) *
                     participant.width());
      input = blocks;
    }
    ISTHMUS_RETURN_IF_ERROR(participant.peers().reduceScatter(
        participant.call(), collective.head.reduction, collective.head.type,
        operand.elements / ranks, input, participant.result(i)));
  }
  return {};
}

Status allToAll(Participant& participant) {
  const Collective& collective = participant.collective();
  ISTHMUS_RETURN_IF_ERROR(participant.setGroup(findOwnGroup(participant.request(), collective)));
  const int64_t ranks = participant.ranks();
  for (int32_t i = 0; i < participant.count(); ++i) {
    const CollectiveOperand& operand = collective.operands[i];
    ISTHMUS_RETURN_IF_ERROR(checkSplit(collective, operand, ranks));
    ISTHMUS_RETURN_IF_ERROR(checkResult(collective, operand, operand.elements, ranks));
    const int64_t bytes = operand.elements * participant.width();
    const int64_t outer = operand.joinOuter;
    const char* input = participant.operand(i);
    char* scratch = nullptr;
    if ((operand.splitOuter > 1 || outer > 1) && bytes > 0) {
      ISTHMUS_ASSIGN_OR_RETURN(scratch, participant.scratch(2 * bytes));
    }
    if (operand.splitOuter > 1 && bytes > 0) {
      swapBlocks(input, scratch, operand.splitOuter, ranks,
                 bytes / std::max<int64_t>(1, operand.splitOuter * ranks));
      input = scratch;
    }
    char* result = participant.result(i);
    char* output = outer > 1 && bytes > 0 ? scratch + bytes : result;
    ISTHMUS_RETURN_IF_ERROR(
        participant.peers().allToAll(participant.call(), bytes / ranks, input, output));
    if (output == result) continue;
    ISTHMUS_RETURN_IF_ERROR(
        participant.then([=] { swapBlocks(output, result, ranks, outer, bytes / ranks / outer); }));
  }
  return {};
}

Status permute(Participant& participant, const StatusOr<std::vector<int64_t>>& sources) {
  ISTHMUS_RETURN_IF_ERROR(sources.status());
  ISTHMUS_RETURN_IF_ERROR(
      participant.setGroup(everybodyOf(participant.request(), participant.collective())));
  for (int32_t i = 0; i < participant.count(); ++i) {
    const int64_t bytes = participant.collective().operands[i].elements * participant.width();
    ISTHMUS_RETURN_IF_ERROR(participant.peers().permute(
        participant.call(), *sources, bytes, participant.operand(i), participant.result(i)));
  }
  return {};
}

}  // namespace

extern "C" {

int32_t isthmus_rt_all_reduce(IsthmusRun* run, const void* descriptor, void* const* buffers) {
  Collective collective(descriptor);
  Participant participant(run, collective, buffers);
  return participant.end(allReduce(participant));
}

int32_t isthmus_rt_all_gather(IsthmusRun* run, const void* descriptor, void* const* buffers) {
  Collective collective(descriptor);
  Participant participant(run, collective, buffers);
  return participant.end(allGather(participant));
}

int32_t isthmus_rt_reduce_scatter(IsthmusRun* run, const void* descriptor, void* const* buffers) {
  Collective collective(descriptor);
  Participant participant(run, collective, buffers);
  return participant.end(reduceScatter(participant));
}

int32_t isthmus_rt_all_to_all(IsthmusRun* run, const void* descriptor, void* const* buffers) {
  Collective collective(descriptor);
  Participant participant(run, collective, buffers);
  return participant.end(allToAll(participant));
}

int32_t isthmus_rt_collective_permute(IsthmusRun* run, const void* descriptor,
                                      void* const* buffers) {
  Collective collective(descriptor);
  Participant participant(run, collective, buffers);
  return participant.end(permute(participant, sourcesByPairs(*run->request, collective)));
}

int32_t isthmus_rt_collective_broadcast(IsthmusRun* run, const void* descriptor,
                                        void* const* buffers) {
  Collective collective(descriptor);
  Participant participant(run, collective, buffers);
  return participant.end(permute(participant, sourcesOfBroadcast(*run->request, collective)));
}

int32_t isthmus_rt_await(IsthmusRun* run, const void* descriptor, void* const* buffers) {
  if (run->inFlight == nullptr) return 0;
  auto found = run->inFlight->all.find(static_cast<const AwaitDescriptor*>(descriptor)->number);
  if (found == run->inFlight->all.end()) return 0;  // it was done when it set out
  Status status = found->second->finish();
  run->inFlight->all.erase(found);
  return status.ok() ? 0 : fail(run, std::move(status));
}

int32_t isthmus_rt_process_id(IsthmusRun* run, const void* descriptor, void* const* buffers) {
  bool isPartition = static_cast<const ProcessIdDescriptor*>(descriptor)->isPartition != 0;
  uint32_t id =
      static_cast<uint32_t>(isPartition ? run->request->partition : run->request->replica);
  std::memcpy(buffers[0], &id, sizeof(id));
  return 0;
}

}  // extern "C"

}  // namespace isthmus::cpu

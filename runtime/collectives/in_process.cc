// The rendezvous and the five collectives on top of it.
#include "runtime/collectives/in_process.h"

#include <algorithm>
#include <chrono>
#include <compare>
#include <cstring>
#include <new>
#include <string>

#include "isthmus/flags.h"
#include "isthmus/log.h"
#include "isthmus/out_of_memory.h"
#include "runtime/bootstrap/topology_exchange.h"
#include "runtime/collectives/reduce.h"
#include "runtime/memory/host_layout.h"
#include "runtime/stable_hash.h"
#include "runtime/threads/spin.h"
#include "runtime/threads/thread_pool.h"

namespace isthmus {

struct InProcessCollectives::Key {
  int64_t channel;
  std::vector<int64_t> group;
  auto operator<=>(const Key&) const = default;
};

// What devices are at that do not come.
class InProcessCollectives::Announcements {
 public:
  void set(int64_t launchId, int64_t deviceId, const char* what) {
    std::lock_guard lock(mutex_);
    if (what != nullptr) {
      all_[{launchId, deviceId}] = what;
    } else {
      all_.erase({launchId, deviceId});
    }
  }

  // " (which is in …)", or nothing.
  std::string describe(int64_t launchId, int64_t deviceId) {
    std::lock_guard lock(mutex_);
    auto found = all_.find({launchId, deviceId});
    if (found == all_.end()) return "";
    return internal::concatenate(" (which is in ", found->second, ")");
  }

 private:
  ForkMutex mutex_;  // taken with others held
  std::map<std::pair<int64_t, int64_t>, const char*> all_;
};

// A rendezvous of a group. It is complete when all of this process have arrived, and may fail only
// before that.
class InProcessCollectives::Rendezvous {
 public:
  // `numAtWork`: how many devices of this process the launch has, at least.
  Rendezvous(size_t size, size_t numLocal, size_t numAtWork, int process,
             Announcements& announcements)
      : parts(size),
        announcements_(announcements),
        numLocal_(numLocal),
        numAtWork_(std::max(numLocal, numAtWork)),
        process_(process),
        taken_(size) {}

  std::vector<Part> parts;          // by rank; those of other processes stay empty
  std::unique_ptr<char[]> partial;  // if one was asked for
  Status wireStatus;                // of what was done between two calls of `sync`

  size_t numLocal() const { return numLocal_; }

  bool hasArrived(size_t rank) {
    std::lock_guard lock(mutex_);
    return parts[rank].operation != nullptr;
  }

  // True if this was the last to arrive. If it does the work of all, it calls `complete` after
  // that.
  StatusOr<bool> arrive(size_t rank, const Part& part, size_t partialBytes, bool isByLast) {
    std::lock_guard lock(mutex_);
    if (phase_ == kFailed) return error_;
    if (arrived_ > 0 &&
        (std::strcmp(first_.operation, part.operation) != 0 || first_.bytes != part.bytes)) {
      Status error = internalError("participants disagree: ", first_.operation, " of ",
                                   first_.bytes, " bytes and ", part.operation, " of ", part.bytes,
                                   " bytes met in one collective");
      failLocked(error);
      return error;
    }
    if (arrived_ == 0) first_ = part;
    parts[rank] = part;
    if (++arrived_ < numLocal_) return false;
    if (partialBytes > 0) {
      partial.reset(new (std::nothrow) char[partialBytes]);
      if (partial == nullptr) {
        Status error =
            resourceExhausted(part.operation, ": no memory for ", partialBytes, " bytes");
        failLocked(error);
        return error;
      }
    }
    phase_.store(isByLast ? kWorking : kComplete, std::memory_order_release);
    if (!isByLast) changed_.notify_all();
    return true;
  }

  void complete() {
    std::lock_guard lock(mutex_);
    phase_.store(kComplete, std::memory_order_release);
    changed_.notify_all();
  }

  void fail(const Status& error) {
    std::lock_guard lock(mutex_);
    failLocked(error);
  }

  // What a participant could not do of the work of all; before its `sync` or `endShare`, or in
  // place of `complete`.
  void failWork(const Status& error) {
    std::lock_guard lock(mutex_);
    workStatus_ = error_ = error;
    if (phase_.load(std::memory_order_relaxed) != kWorking) return;
    phase_.store(kFailed, std::memory_order_release);
    changed_.notify_all();
  }

  // After `sync` or `waitForShares`: the error of anybody's work.
  Status workStatus() {
    std::lock_guard lock(mutex_);
    return workStatus_;
  }

  Status waitForAll(const CollectiveCall& call) {
    auto isDecided = [&] { return phase_.load(std::memory_order_acquire) >= kComplete; };
    if (!spinUntil(isDecided, spinRounds())) {
      std::unique_lock lock(mutex_);
      waitLocked(lock, call);
    }
    if (phase_.load(std::memory_order_acquire) == kComplete) return {};
    std::lock_guard lock(mutex_);
    return error_;
  }

  // Called by each when it has done something, as often by all; returns when everybody has.
  void sync() {
    size_t arrival = synced_.fetch_add(1, std::memory_order_acq_rel);
    size_t target = (arrival / numLocal_ + 1) * numLocal_;
    reach(target, arrival + 1);
    waitUntil(target);
  }

  // Whether the share of the work that belongs to `rank` is the caller's, who then ends it.
  bool takeShare(size_t rank) { return !taken_[rank].exchange(true, std::memory_order_acq_rel); }
  void endShare() { reach(numLocal_, synced_.fetch_add(1, std::memory_order_acq_rel) + 1); }
  // For shares that others have taken.
  void waitForShares() { waitUntil(numLocal_); }

 private:
  // While the last to arrive works for all, nobody gives up.
  enum Phase : uint32_t { kWaiting, kWorking, kComplete, kFailed };

  void reach(size_t target, size_t count) {
    if (count != target) return;
    std::lock_guard lock(mutex_);
    changed_.notify_all();
  }

  void waitUntil(size_t target) {
    auto isDone = [&] { return synced_.load(std::memory_order_acquire) >= target; };
    if (spinUntil(isDone, spinRounds())) return;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, isDone);
  }

  // Who waits for others that have no CPU keeps them from getting one.
  int spinRounds() const { return numAtWork_ <= static_cast<size_t>(computeThreads()) ? 2000 : 0; }

  void failLocked(const Status& error) {
    if (phase_ != kWaiting) return;
    error_ = error;
    phase_.store(kFailed, std::memory_order_release);
    changed_.notify_all();
  }

  // Waits with a watchdog: says what is missing after a while, and gives up after a longer one.
  void waitLocked(std::unique_lock<std::mutex>& lock, const CollectiveCall& call) {
    using Clock = std::chrono::steady_clock;
    auto isDecided = [&] { return phase_.load(std::memory_order_relaxed) >= kComplete; };
    auto start = Clock::now();
    int64_t warnSeconds = flagInt("ISTHMUS_COLLECTIVE_WARN_SECONDS");
    int64_t failSeconds = flagInt("ISTHMUS_COLLECTIVE_TIMEOUT_SECONDS");
    bool mayWarn = warnSeconds > 0 && (failSeconds <= 0 || warnSeconds < failSeconds);
    if (mayWarn &&
        !changed_.wait_until(lock, start + std::chrono::seconds(warnSeconds), isDecided)) {
      log(LogLevel::kWarning, describeWait(call, warnSeconds));
    }
    if (failSeconds <= 0) {
      changed_.wait(lock, isDecided);
    } else if (!changed_.wait_until(lock, start + std::chrono::seconds(failSeconds), isDecided)) {
      failLocked(Status(StatusCode::kDeadlineExceeded, describeWait(call, failSeconds)));
      changed_.wait(lock, isDecided);
    }
  }

  std::string describeWait(const CollectiveCall& call, int64_t seconds) const {
    std::string missing, group;
    for (size_t rank = 0; rank < parts.size(); ++rank) {
      std::string device = std::to_string(call.group[rank]);
      group += (group.empty() ? "" : ", ") + device;
      bool isElsewhere = numLocal_ < parts.size() && processOfDevice(call.group[rank]) != process_;
      if (parts[rank].operation != nullptr || isElsewhere) continue;
      missing += (missing.empty() ? "" : ", ") + device;
      missing += announcements_.describe(call.launchId, call.group[rank]);
    }
    return internal::concatenate(first_.operation, " (", call.description, ") has waited ", seconds,
                                 " s for device ", missing, " of group [", group, "], launch ",
                                 call.launchId, ", channel ", call.channel);
  }

  Announcements& announcements_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<uint32_t> phase_{kWaiting};
  std::atomic<size_t> synced_{0};  // or shares that are done
  const size_t numLocal_;
  const size_t numAtWork_;
  const int process_;
  std::vector<std::atomic<bool>> taken_;  // by rank
  size_t arrived_ = 0;
  Part first_{};
  Status error_;
  Status workStatus_;
};

struct InProcessCollectives::Launch {
  // Of one key in the order in which they began: who has set out to the first, and to the next one
  // before all are there, meets the others there too.
  std::multimap<Key, std::shared_ptr<Rendezvous>> open;
  // How many there have been, of groups that span processes.
  std::map<Key, uint64_t> wireRendezvous;
  std::map<int, std::function<void(const Status&)>> onAbort;  // by device
  Status error;
  size_t participants = 0;  // if known
  int left = 0;             // participants that are done with the launch
};

// A participant's view of a rendezvous that is complete.
struct InProcessCollectives::Participant {
  std::shared_ptr<Rendezvous> rendezvous;
  std::span<const Part> parts;
  size_t numRanks = 0;
  size_t rank = 0;
  size_t numLocal = 0;
  size_t localIndex = 0;  // among those of this process
  size_t first = 0;       // the rank of the first of these
  bool isLast = false;    // to arrive
  uint64_t tag = 0;       // equal in all processes

  bool spansProcesses() const { return numLocal < numRanks; }
  void* output() const { return parts[rank].output; }
};

InProcessCollectives::InProcessCollectives(Job* job)
    : job_(job), announcements_(std::make_unique<Announcements>()) {}
InProcessCollectives::~InProcessCollectives() = default;

StatusOr<InProcessCollectives::Participant> InProcessCollectives::arrive(const CollectiveCall& call,
                                                                         const Part& mine,
                                                                         size_t partialBytes,
                                                                         bool isByLast) {
  Participant participant;
  participant.rank = participant.numRanks = call.group.size();
  for (size_t rank = call.group.size(); rank-- > 0;) {
    if (job_ != nullptr && processOfDevice(call.group[rank]) != job_->processIndex()) continue;
    if (call.group[rank] == call.deviceId) {
      participant.rank = rank;
      participant.localIndex = 0;
    } else {
      ++participant.localIndex;
    }
    ++participant.numLocal;
    participant.first = rank;
  }
  if (participant.rank == call.group.size()) {
    return internalError(mine.operation, " (", call.description, "): device ", call.deviceId,
                         " is not in its group");
  }
  if (call.group.size() == 1) {
    participant.parts = {&mine, 1};
    return participant;
  }
  std::lock_guard lock(mutex_);
  Key key{call.channel, {call.group.begin(), call.group.end()}};
  Launch& launch = launches_[call.launchId];
  if (!launch.error.ok()) return launch.error;
  auto [slot, end] = launch.open.equal_range(key);
  while (slot != end && slot->second->hasArrived(participant.rank)) ++slot;
  if (slot == end) {
    auto rendezvous =
        std::make_shared<Rendezvous>(call.group.size(), participant.numLocal, launch.participants,
                                     job_ == nullptr ? 0 : job_->processIndex(), *announcements_);
    slot = launch.open.emplace(std::move(key), std::move(rendezvous));
  }
  participant.rendezvous = slot->second;
  if (participant.spansProcesses()) {
    uint64_t tag = combineHashes(static_cast<uint64_t>(call.launchId), call.channel);
    for (int64_t device : call.group) tag = combineHashes(tag, static_cast<uint64_t>(device));
    tag = combineHashes(stableHash(mine.operation, tag), mine.bytes);
    participant.tag = combineHashes(tag, launch.wireRendezvous[slot->first]);
  }
  StatusOr<bool> isLast = participant.rendezvous->arrive(participant.rank, mine, partialBytes,
                                                         isByLast && !participant.spansProcesses());
  // The next collective of this channel and group is another rendezvous.
  if (isLast.ok() && *isLast && participant.spansProcesses()) ++launch.wireRendezvous[slot->first];
  if (!isLast.ok() || *isLast) launch.open.erase(slot);
  if (!isLast.ok()) return isLast.status();
  participant.isLast = *isLast;
  return participant;
}

// How many blocks each participant writes.
size_t InProcessCollectives::blocksPerRank(const Part& part, size_t ranks) {
  bool isAboutOne = std::strcmp(part.operation, "all-reduce") == 0 ||
                    std::strcmp(part.operation, "collective-permute") == 0;
  return isAboutOne ? 1 : ranks;
}

namespace {

// Others wait for what is done here, so nothing may leave it but an error.
template <typename Work>
Status withoutExceptions(Work&& work) {
  try {
    work();
    return {};
  } catch (...) {
    return outOfHostMemory();
  }
}

}  // namespace

bool InProcessCollectives::spansProcesses(const CollectiveCall& call) const {
  return job_ != nullptr && std::any_of(call.group.begin(), call.group.end(), [&](int64_t device) {
           return processOfDevice(device) != job_->processIndex();
         });
}

// `now`, or when the results are needed. Who puts off something that the others count on has to
// reserve the place before.
template <typename Rest>
Status InProcessCollectives::nowOrLater(const CollectiveCall& call, Rest rest) {
  if (call.later == nullptr) return rest();
  try {
    call.later->push_back(std::move(rest));
  } catch (const std::bad_alloc&) {
    return rest();  // not moved from
  }
  return {};
}

template <typename Work, typename Speak, typename Prepare>
Status InProcessCollectives::meet(const CollectiveCall& call, const Part& mine, Work work,
                                  Speak speak, size_t partialBytes, Prepare prepare) {
  if (call.later != nullptr) call.later->reserve(call.later->size() + 1);
  // Nothing goes over the wire before all are here to see to it, so there is nothing to set out to.
  if (spansProcesses(call)) {
    return nowOrLater(call, [=, this]() -> Status {
      return meetOverWire(call, mine, work, speak, partialBytes, prepare);
    });
  }
  // The work of all together. Where it takes less than waking somebody to do a share of it, it is
  // done by the last to arrive.
  constexpr size_t kSmallWorkBytes = 512 << 10;
  size_t numBlocks = call.group.size() * blocksPerRank(mine, call.group.size());
  const bool isByLast = mine.bytes <= kSmallWorkBytes / std::max<size_t>(1, numBlocks);
  ISTHMUS_ASSIGN_OR_RETURN(Participant participant, arrive(call, mine, 0, isByLast));
  if (participant.rendezvous == nullptr) {
    work(participant);
    return {};
  }
  if (isByLast && participant.isLast) {
    Rendezvous& rendezvous = *participant.rendezvous;
    participant.parts = rendezvous.parts;
    Status status = withoutExceptions([&] {
      for (size_t rank = 0; rank < participant.parts.size(); ++rank) {
        participant.rank = participant.localIndex = rank;
        work(participant);
      }
    });
    if (status.ok()) {
      rendezvous.complete();
    } else {
      rendezvous.failWork(status);
    }
    return status;
  }
  return nowOrLater(call, [=, this, work = std::move(work)]() mutable -> Status {
    ISTHMUS_RETURN_IF_ERROR(waitForAll(participant, call));
    if (isByLast) return {};
    Rendezvous& rendezvous = *participant.rendezvous;
    participant.parts = rendezvous.parts;
    // Its own share, then those of who has set out and is not back yet: it may be long in coming.
    const size_t own = participant.rank, size = participant.parts.size();
    for (size_t i = 0; i < size; ++i) {
      const size_t rank = (own + i) % size;
      if (!rendezvous.takeShare(rank)) continue;
      participant.rank = participant.localIndex = rank;
      Status worked = withoutExceptions([&] { work(participant); });
      if (!worked.ok()) rendezvous.failWork(worked);
      rendezvous.endShare();
    }
    rendezvous.waitForShares();
    return rendezvous.workStatus();
  });
}

Status InProcessCollectives::waitForAll(const Participant& participant,
                                        const CollectiveCall& call) {
  Status status = participant.rendezvous->waitForAll(call);
  // Whoever is still on the way finds the launch broken instead of a rendezvous that cannot be.
  if (!status.ok()) abortLaunch(call.launchId, status);
  return status;
}

// Whoever is here stays until the end.
template <typename Work, typename Speak, typename Prepare>
Status InProcessCollectives::meetOverWire(const CollectiveCall& call, const Part& mine, Work work,
                                          Speak speak, size_t partialBytes, Prepare prepare) {
  ISTHMUS_ASSIGN_OR_RETURN(Participant participant, arrive(call, mine, partialBytes, false));
  ISTHMUS_RETURN_IF_ERROR(waitForAll(participant, call));
  Rendezvous& rendezvous = *participant.rendezvous;
  participant.parts = rendezvous.parts;
  if (partialBytes > 0) {
    prepare(participant);
    rendezvous.sync();
  }
  if (participant.rank == participant.first) {
    WireCollective wire(*job_, call, participant.parts, participant.tag);
    rendezvous.wireStatus = speak(wire, participant);
  }
  rendezvous.sync();
  if (!rendezvous.wireStatus.ok()) return rendezvous.wireStatus;
  Status worked = withoutExceptions([&] { work(participant); });
  if (!worked.ok()) rendezvous.failWork(worked);
  rendezvous.sync();
  return rendezvous.workStatus();
}

template <typename Work, typename Speak>
Status InProcessCollectives::meet(const CollectiveCall& call, const Part& mine, Work work,
                                  Speak speak) {
  return meet(call, mine, std::move(work), std::move(speak), 0, [](const Participant&) {});
}

namespace {

// An input that others read while this participant's output is written: a copy if they overlap.
class StableInput {
 public:
  StableInput(const void* input, size_t inputBytes, const void* output, size_t outputBytes)
      : data_(input) {
    auto in = reinterpret_cast<uintptr_t>(input), out = reinterpret_cast<uintptr_t>(output);
    if (in < out + outputBytes && out < in + inputBytes) {
      const auto* begin = static_cast<const char*>(input);
      copy_ = std::make_shared<const std::vector<char>>(begin, begin + inputBytes);
      data_ = copy_->data();
    }
  }
  const void* data() const { return data_; }

 private:
  const void* data_;
  std::shared_ptr<const std::vector<char>> copy_;
};

Status checkElements(const CollectiveCall& call, ElementType type, int64_t elements) {
  int64_t bytes;
  if (elements < 0 ||
      __builtin_mul_overflow(elements, static_cast<int64_t>(elementSizeBytes(type)), &bytes) ||
      __builtin_mul_overflow(bytes, static_cast<int64_t>(call.group.size()), &bytes)) {
    return invalidArgument("collective (", call.description, ") of ", elements, " elements of ",
                           elementTypeName(type));
  }
  return {};
}

template <typename T>
T* advance(T* pointer, size_t bytes) {
  if constexpr (std::is_const_v<T>) {
    return static_cast<const char*>(pointer) + bytes;
  } else {
    return static_cast<char*>(pointer) + bytes;
  }
}

}  // namespace

// Whether the devices of this process reduce their inputs before one of them speaks with the
// others.
bool InProcessCollectives::needsPartial(const CollectiveCall& call, size_t bytes) const {
  if (job_ == nullptr || WireCollective::isSmallReduction(bytes, call.group.size())) return false;
  auto isLocal = [&](int64_t device) { return processOfDevice(device) == job_->processIndex(); };
  auto numLocal = std::count_if(call.group.begin(), call.group.end(), isLocal);
  return numLocal > 1 && numLocal < static_cast<int64_t>(call.group.size());
}

// Reduces this participant's share of the elements of all that are here. Nobody else reads that
// share of any input, so outputs may be inputs.
template <typename Outputs>
void InProcessCollectives::reduceShare(const Participant& participant, ReductionKind kind,
                                       ElementType type, int64_t elements, Outputs&& outputs) {
  size_t elementBytes = elementSizeBytes(type);
  auto size = static_cast<int64_t>(participant.numLocal);
  auto index = static_cast<int64_t>(participant.localIndex);
  int64_t share = elements / size, extra = elements % size;
  int64_t begin = share * index + std::min(index, extra);
  int64_t end = begin + share + (index < extra ? 1 : 0);
  constexpr int64_t kBlockBytes = 16 << 10;
  alignas(64) char block[kBlockBytes];
  auto blockElements = static_cast<int64_t>(kBlockBytes / elementBytes);
  std::vector<const void*> inputs;
  for (; begin < end; begin += blockElements) {
    int64_t count = std::min(blockElements, end - begin);
    size_t offset = static_cast<size_t>(begin) * elementBytes;
    inputs.clear();
    for (const Part& part : participant.parts) {
      if (part.operation != nullptr) inputs.push_back(advance(part.input, offset));
    }
    reduceElements(kind, type, inputs, block, count);
    outputs(block, offset, static_cast<size_t>(count) * elementBytes);
  }
}

Status InProcessCollectives::allReduce(const CollectiveCall& call, ReductionKind kind,
                                       ElementType type, int64_t elements, const void* input,
                                       void* output) {
  ISTHMUS_RETURN_IF_ERROR(checkReduction(kind, type).withContext(call.description));
  ISTHMUS_RETURN_IF_ERROR(checkElements(call, type, elements));
  size_t bytes = static_cast<size_t>(elements) * elementSizeBytes(type);
  Part mine{"all-reduce", bytes, input, output};
  auto work = [=](const Participant& participant) {
    if (!participant.spansProcesses()) {
      reduceShare(participant, kind, type, elements,
                  [&](const char* block, size_t at, size_t size) {
                    for (const Part& part : participant.parts)
                      std::memcpy(advance(part.output, at), block, size);
                  });
    } else if (participant.rank != participant.first) {
      copyBytes(participant.output(), participant.parts[participant.first].output, bytes);
    }
  };
  bool isPrepared = needsPartial(call, bytes);
  auto prepare = [=](const Participant& participant) {
    reduceShare(participant, kind, type, elements, [&](const char* block, size_t at, size_t size) {
      std::memcpy(participant.rendezvous->partial.get() + at, block, size);
    });
  };
  auto speak = [=](WireCollective& wire, const Participant& participant) {
    return wire.allReduce(kind, type, elements,
                          isPrepared ? participant.rendezvous->partial.get() : input);
  };
  return meet(call, mine, work, speak, isPrepared ? bytes : 0, prepare);
}

Status InProcessCollectives::reduceScatter(const CollectiveCall& call, ReductionKind kind,
                                           ElementType type, int64_t elements, const void* input,
                                           void* output) {
  ISTHMUS_RETURN_IF_ERROR(checkReduction(kind, type).withContext(call.description));
  ISTHMUS_RETURN_IF_ERROR(checkElements(call, type, elements));
  size_t bytes = static_cast<size_t>(elements) * elementSizeBytes(type);
  size_t all = bytes * call.group.size();
  StableInput stable(input, all, output, bytes);
  Part mine{"reduce-scatter", bytes, stable.data(), output};
  auto work = [=](const Participant& participant) {
    (void)stable;  // kept until then
    if (participant.spansProcesses()) return;
    std::vector<const void*> inputs;
    for (const Part& part : participant.parts)
      inputs.push_back(advance(part.input, participant.rank * bytes));
    reduceElements(kind, type, inputs, participant.output(), elements);
  };
  bool isPrepared = needsPartial(call, all);
  auto prepare = [=](const Participant& participant) {
    auto total = elements * static_cast<int64_t>(call.group.size());
    reduceShare(participant, kind, type, total, [&](const char* block, size_t at, size_t size) {
      std::memcpy(participant.rendezvous->partial.get() + at, block, size);
    });
  };
  auto speak = [=](WireCollective& wire, const Participant& participant) {
    return wire.reduceScatter(kind, type, elements,
                              isPrepared ? participant.rendezvous->partial.get() : stable.data());
  };
  return meet(call, mine, work, speak, isPrepared ? all : 0, prepare);
}

Status InProcessCollectives::allGather(const CollectiveCall& call, size_t bytes, const void* input,
                                       void* output) {
  StableInput stable(input, bytes, output, bytes * call.group.size());
  Part mine{"all-gather", bytes, stable.data(), output};
  auto work = [=](const Participant& participant) {
    (void)stable;  // kept until then
    const void* received = participant.parts[participant.first].output;
    for (size_t i = 0; i < participant.parts.size(); ++i) {
      if (participant.parts[i].operation != nullptr) {
        copyBytes(advance(participant.output(), i * bytes), participant.parts[i].input, bytes);
      } else if (participant.rank != participant.first) {
        copyBytes(advance(participant.output(), i * bytes), advance(received, i * bytes), bytes);
      }
    }
  };
  auto speak = [=](WireCollective& wire, const Participant&) { return wire.allGather(bytes); };
  return meet(call, mine, work, speak);
}

Status InProcessCollectives::allToAll(const CollectiveCall& call, size_t bytes, const void* input,
                                      void* output) {
  size_t all = bytes * call.group.size();
  StableInput stable(input, all, output, all);
  Part mine{"all-to-all", bytes, stable.data(), output};
  auto work = [=](const Participant& participant) {
    (void)stable;  // kept until then
    for (size_t i = 0; i < participant.parts.size(); ++i) {
      if (participant.parts[i].operation == nullptr) continue;
      copyBytes(advance(participant.output(), i * bytes),
                advance(participant.parts[i].input, participant.rank * bytes), bytes);
    }
  };
  auto speak = [=](WireCollective& wire, const Participant&) { return wire.allToAll(bytes); };
  return meet(call, mine, work, speak);
}

Status InProcessCollectives::permute(const CollectiveCall& call, std::span<const int64_t> sources,
                                     size_t bytes, const void* input, void* output) {
  auto size = static_cast<int64_t>(call.group.size());
  auto isWrong = [&](int64_t source) { return source < -1 || source >= size; };
  if (sources.size() != call.group.size() || std::any_of(sources.begin(), sources.end(), isWrong)) {
    return internalError("collective permute (", call.description,
                         "): its sources are not ranks of the group");
  }
  StableInput stable(input, bytes, output, bytes);
  Part mine{"collective-permute", bytes, stable.data(), output};
  std::vector<int64_t> list(sources.begin(), sources.end());
  auto work = [=](const Participant& participant) {
    (void)stable;  // kept until then
    int64_t source = list[participant.rank];
    if (source == -1) {
      std::memset(participant.output(), 0, bytes);
    } else if (participant.parts[source].operation != nullptr) {
      copyBytes(participant.output(), participant.parts[source].input, bytes);
    }
  };
  auto speak = [=](WireCollective& wire, const Participant&) { return wire.permute(list, bytes); };
  return meet(call, mine, work, speak);
}

void InProcessCollectives::announce(int64_t launchId, int deviceId, const char* what) {
  announcements_->set(launchId, deviceId, what);
}

size_t InProcessCollectives::numLaunches() {
  std::lock_guard lock(mutex_);
  return launches_.size();
}

void InProcessCollectives::prepareLaunch(int64_t launchId, int participants) {
  std::lock_guard lock(mutex_);
  launches_[launchId].participants = static_cast<size_t>(participants);
}

void InProcessCollectives::onAbort(int64_t launchId, int deviceId,
                                   std::function<void(const Status&)> tell) {
  Status error;
  {
    std::lock_guard lock(mutex_);
    Launch& launch = launches_[launchId];
    error = launch.error;
    if (error.ok()) launch.onAbort.emplace(deviceId, std::move(tell));
  }
  if (!error.ok()) tell(error);
}

void InProcessCollectives::abortLaunch(int64_t launchId, const Status& error) {
  std::map<int, std::function<void(const Status&)>> listeners;
  Status first;
  {
    std::lock_guard lock(mutex_);
    Launch& launch = launches_[launchId];
    if (launch.error.ok()) launch.error = error;
    first = launch.error;
    for (auto& [key, rendezvous] : launch.open) rendezvous->fail(launch.error);
    launch.open.clear();
    listeners.swap(launch.onAbort);
  }
  for (auto& [device, tell] : listeners) tell(first);
}

void InProcessCollectives::leaveLaunch(int64_t launchId, int participants, int deviceId) {
  std::lock_guard lock(mutex_);
  Launch& launch = launches_[launchId];
  launch.onAbort.erase(deviceId);
  if (++launch.left >= participants) launches_.erase(launchId);
}

}  // namespace isthmus

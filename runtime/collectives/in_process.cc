// The rendezvous and the five collectives on top of it.
#include "runtime/collectives/in_process.h"

#include <algorithm>
#include <chrono>
#include <compare>
#include <cstring>
#include <optional>
#include <string>

#include "isthmus/flags.h"
#include "isthmus/log.h"
#include "runtime/collectives/reduce.h"
#include "runtime/host_layout.h"
#include "runtime/spin.h"

namespace isthmus {

// What a participant brings.
struct InProcessCollectives::Part {
  const char* operation;
  size_t bytes;  // of one block, equal for all
  const void* input;
  void* output;
};

struct InProcessCollectives::Key {
  int64_t channel;
  std::vector<int64_t> group;
  auto operator<=>(const Key&) const = default;
};

// One meeting of a group. It is complete when all have arrived, and may fail only before that.
class InProcessCollectives::Rendezvous {
 public:
  explicit Rendezvous(size_t size) : parts(size), isPresent_(size) {}

  std::vector<Part> parts;

  // True if this was the last to arrive.
  StatusOr<bool> arrive(size_t rank, const Part& part) {
    std::lock_guard lock(mutex_);
    if (phase_ == kFailed) return error_;
    if (isPresent_[rank]) {
      return internalError(part.operation, ": a device arrived twice at the same collective");
    }
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
    isPresent_[rank] = true;
    if (++arrived_ < parts.size()) return false;
    phase_.store(kComplete, std::memory_order_release);
    changed_.notify_all();
    return true;
  }

  void fail(const Status& error) {
    std::lock_guard lock(mutex_);
    failLocked(error);
  }

  Status waitForAll(const CollectiveCall& call) {
    auto isDecided = [&] { return phase_.load(std::memory_order_acquire) != kWaiting; };
    if (!spinUntil(isDecided, 2000)) {
      std::unique_lock lock(mutex_);
      waitLocked(lock, call);
    }
    if (phase_.load(std::memory_order_acquire) == kComplete) return {};
    std::lock_guard lock(mutex_);
    return error_;
  }

  // Called once by each when its work is done; returns when everybody's is.
  void finish() {
    if (finished_.fetch_add(1, std::memory_order_acq_rel) + 1 == parts.size()) {
      std::lock_guard lock(mutex_);
      changed_.notify_all();
      return;
    }
    auto isDone = [&] { return finished_.load(std::memory_order_acquire) == parts.size(); };
    if (spinUntil(isDone, 2000)) return;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, isDone);
  }

 private:
  enum Phase : uint32_t { kWaiting, kComplete, kFailed };

  void failLocked(const Status& error) {
    if (phase_ != kWaiting) return;
    error_ = error;
    phase_.store(kFailed, std::memory_order_release);
    changed_.notify_all();
  }

  // Waits with a watchdog: says what is missing after a while, and gives up after a longer one.
  void waitLocked(std::unique_lock<std::mutex>& lock, const CollectiveCall& call) {
    using Clock = std::chrono::steady_clock;
    auto isDecided = [&] { return phase_.load(std::memory_order_relaxed) != kWaiting; };
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
    }
  }

  std::string describeWait(const CollectiveCall& call, int64_t seconds) const {
    std::string missing, group;
    for (size_t rank = 0; rank < parts.size(); ++rank) {
      std::string device = std::to_string(call.group[rank]);
      group += (group.empty() ? "" : ", ") + device;
      if (!isPresent_[rank]) missing += (missing.empty() ? "" : ", ") + device;
    }
    return internal::concatenate(first_.operation, " (", call.description, ") has waited ", seconds,
                                 " s for device ", missing, " of group [", group, "], launch ",
                                 call.launchId, ", channel ", call.channel);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<uint32_t> phase_{kWaiting};
  std::atomic<size_t> finished_{0};
  std::vector<bool> isPresent_;
  size_t arrived_ = 0;
  Part first_{};
  Status error_;
};

struct InProcessCollectives::Launch {
  std::map<Key, std::shared_ptr<Rendezvous>> open;
  Status error;
  int left = 0;  // participants that are done with the launch
};

InProcessCollectives::InProcessCollectives() = default;
InProcessCollectives::~InProcessCollectives() = default;

template <typename Work>
Status InProcessCollectives::meet(const CollectiveCall& call, const Part& mine, Work&& work) {
  auto found = std::find(call.group.begin(), call.group.end(), call.deviceId);
  if (found == call.group.end()) {
    return internalError(mine.operation, " (", call.description, "): device ", call.deviceId,
                         " is not in its group");
  }
  auto rank = static_cast<size_t>(found - call.group.begin());
  if (call.group.size() == 1) {
    work(std::span<const Part>(&mine, 1), rank);
    return {};
  }
  std::shared_ptr<Rendezvous> rendezvous;
  {
    Key key{call.channel, {call.group.begin(), call.group.end()}};
    std::lock_guard lock(mutex_);
    Launch& launch = launches_[call.launchId];
    if (!launch.error.ok()) return launch.error;
    auto [slot, isNew] = launch.open.try_emplace(std::move(key));
    if (isNew) slot->second = std::make_shared<Rendezvous>(call.group.size());
    rendezvous = slot->second;
    StatusOr<bool> isLast = rendezvous->arrive(rank, mine);
    // The next collective of this channel and group is another meeting.
    if (!isLast.ok() || *isLast) launch.open.erase(slot);
    if (!isLast.ok()) return isLast.status();
  }
  Status status = rendezvous->waitForAll(call);
  if (!status.ok()) {
    // Whoever is still on the way finds the launch broken instead of a meeting that cannot be.
    abortLaunch(call.launchId, status);
    return status;
  }
  work(std::span<const Part>(rendezvous->parts), rank);
  rendezvous->finish();
  return {};
}

namespace {

// An input that others read while this participant's output is written: a copy if they overlap.
class StableInput {
 public:
  StableInput(const void* input, size_t inputBytes, const void* output, size_t outputBytes)
      : data_(input) {
    auto in = reinterpret_cast<uintptr_t>(input), out = reinterpret_cast<uintptr_t>(output);
    if (in < out + outputBytes && out < in + inputBytes) {
      copy_.emplace(static_cast<const char*>(input), static_cast<const char*>(input) + inputBytes);
      data_ = copy_->data();
    }
  }
  const void* data() const { return data_; }

 private:
  const void* data_;
  std::optional<std::vector<char>> copy_;
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

Status InProcessCollectives::allReduce(const CollectiveCall& call, ReductionKind kind,
                                       ElementType type, int64_t elements, const void* input,
                                       void* output) {
  ISTHMUS_RETURN_IF_ERROR(checkReduction(kind, type).withContext(call.description));
  ISTHMUS_RETURN_IF_ERROR(checkElements(call, type, elements));
  size_t elementBytes = elementSizeBytes(type);
  Part mine{"all-reduce", static_cast<size_t>(elements) * elementBytes, input, output};
  return meet(call, mine, [&](std::span<const Part> parts, size_t rank) {
    // Each participant reduces its share of the elements and writes it to all outputs. Nobody else
    // reads that share of any input, so outputs may be inputs.
    auto size = static_cast<int64_t>(parts.size());
    auto index = static_cast<int64_t>(rank);
    int64_t share = elements / size, extra = elements % size;
    int64_t begin = share * index + std::min(index, extra);
    int64_t end = begin + share + (index < extra ? 1 : 0);
    constexpr int64_t kBlockBytes = 16 << 10;
    alignas(64) char block[kBlockBytes];
    auto blockElements = static_cast<int64_t>(kBlockBytes / elementBytes);
    std::vector<const void*> inputs(parts.size());
    for (; begin < end; begin += blockElements) {
      int64_t count = std::min(blockElements, end - begin);
      size_t offset = static_cast<size_t>(begin) * elementBytes;
      for (size_t i = 0; i < parts.size(); ++i) inputs[i] = advance(parts[i].input, offset);
      reduceElements(kind, type, inputs, block, count);
      for (const Part& part : parts) {
        std::memcpy(advance(part.output, offset), block, static_cast<size_t>(count) * elementBytes);
      }
    }
  });
}

Status InProcessCollectives::reduceScatter(const CollectiveCall& call, ReductionKind kind,
                                           ElementType type, int64_t elements, const void* input,
                                           void* output) {
  ISTHMUS_RETURN_IF_ERROR(checkReduction(kind, type).withContext(call.description));
  ISTHMUS_RETURN_IF_ERROR(checkElements(call, type, elements));
  size_t bytes = static_cast<size_t>(elements) * elementSizeBytes(type);
  StableInput stable(input, bytes * call.group.size(), output, bytes);
  Part mine{"reduce-scatter", bytes, stable.data(), output};
  return meet(call, mine, [&](std::span<const Part> parts, size_t rank) {
    std::vector<const void*> inputs;
    for (const Part& part : parts) inputs.push_back(advance(part.input, rank * bytes));
    reduceElements(kind, type, inputs, output, elements);
  });
}

Status InProcessCollectives::allGather(const CollectiveCall& call, size_t bytes, const void* input,
                                       void* output) {
  StableInput stable(input, bytes, output, bytes * call.group.size());
  Part mine{"all-gather", bytes, stable.data(), output};
  return meet(call, mine, [&](std::span<const Part> parts, size_t) {
    for (size_t i = 0; i < parts.size(); ++i) {
      copyBytes(advance(output, i * bytes), parts[i].input, bytes);
    }
  });
}

Status InProcessCollectives::allToAll(const CollectiveCall& call, size_t bytes, const void* input,
                                      void* output) {
  size_t all = bytes * call.group.size();
  StableInput stable(input, all, output, all);
  Part mine{"all-to-all", bytes, stable.data(), output};
  return meet(call, mine, [&](std::span<const Part> parts, size_t rank) {
    for (size_t i = 0; i < parts.size(); ++i) {
      copyBytes(advance(output, i * bytes), advance(parts[i].input, rank * bytes), bytes);
    }
  });
}

Status InProcessCollectives::permute(const CollectiveCall& call, int64_t source, size_t bytes,
                                     const void* input, void* output) {
  auto found = std::find(call.group.begin(), call.group.end(), source);
  if (source != -1 && found == call.group.end()) {
    return internalError("collective permute (", call.description, "): source ", source,
                         " is not in the group");
  }
  auto sourceRank = static_cast<size_t>(found - call.group.begin());
  StableInput stable(input, bytes, output, bytes);
  Part mine{"collective-permute", bytes, stable.data(), output};
  return meet(call, mine, [&](std::span<const Part> parts, size_t) {
    if (source == -1) {
      std::memset(output, 0, bytes);
    } else {
      copyBytes(output, parts[sourceRank].input, bytes);
    }
  });
}

void InProcessCollectives::abortLaunch(int64_t launchId, const Status& error) {
  std::lock_guard lock(mutex_);
  Launch& launch = launches_[launchId];
  if (launch.error.ok()) launch.error = error;
  for (auto& [key, rendezvous] : launch.open) rendezvous->fail(launch.error);
  launch.open.clear();
}

void InProcessCollectives::leaveLaunch(int64_t launchId, int participants) {
  std::lock_guard lock(mutex_);
  Launch& launch = launches_[launchId];
  if (++launch.left >= participants) launches_.erase(launchId);
}

}  // namespace isthmus

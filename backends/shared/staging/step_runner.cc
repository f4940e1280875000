#include "backends/shared/staging/step_runner.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <variant>

#include "base/device_timeout.h"
#include "isthmus/flags.h"
#include "isthmus/trace.h"
#include "runtime/scratch.h"

namespace isthmus {
namespace {

int64_t padded(int64_t bytes) {
  constexpr auto kAlignment = static_cast<int64_t>(kBufferAlignment);
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

Status StepRunner::runSteps(const std::vector<Step>& steps) {
  for (const Step& step : steps) {
    ISTHMUS_RETURN_IF_ERROR(
        std::visit([this](const auto& what) { return runStep(what); }, step.what));
  }
  return {};
}

Status StepRunner::runStep(const HostCall& step) {
  ISTHMUS_ASSIGN_OR_RETURN(bool isEnqueued, callOnDevice(step));
  if (isEnqueued) return {};
  ISTHMUS_RETURN_IF_ERROR(settle());
  if (!host_) return internalError("the host has no functions for this program");
  ISTHMUS_ASSIGN_OR_RETURN(std::optional<std::vector<void*>> lent, lend(step));
  if (lent) {
    const int64_t beginNs = trace::isOn() ? trace::now() : -1;
    Status status = host_->call(step.function, request_, *std::move(lent));
    if (beginNs >= 0) onHostCall(step, beginNs, trace::now());
    return status;
  }
  int64_t total = 0;
  for (const auto* places : {&step.inputs, &step.outputs}) {
    for (const Location& place : *places) total += padded(place.bytes);
  }
  const std::shared_ptr<char> staging = stagingMemory(std::max<int64_t>(total, 1));
  if (!staging) return resourceExhausted("no host memory to stage ", total, " bytes");
  std::vector<void*> buffers;
  char* next = staging.get();
  for (const auto* places : {&step.inputs, &step.outputs}) {
    for (const Location& place : *places) {
      buffers.push_back(next);
      next += padded(place.bytes);
    }
  }
  Status status;
  for (size_t i = 0; i < step.inputs.size() && status.ok(); ++i) {
    status = fetch(buffers[i], step.inputs[i]);
  }
  ISTHMUS_RETURN_IF_ERROR(finishAfter(status, staging));
  const int64_t beginNs = trace::isOn() ? trace::now() : -1;
  ISTHMUS_RETURN_IF_ERROR(host_->call(step.function, request_, buffers));
  for (size_t i = 0; i < step.outputs.size() && status.ok(); ++i) {
    status = put(step.outputs[i], buffers[step.inputs.size() + i]);
  }
  status = finishAfter(status, staging);
  if (beginNs >= 0) onHostCall(step, beginNs, trace::now());
  return status;
}

// What is late may use it when the services of the run are gone.
std::shared_ptr<char> StepRunner::stagingMemory(int64_t bytes) {
  if (!isTimed()) {
    auto scratch = std::make_shared<Scratch<char>>(*request_.services, bytes);
    return {scratch, scratch->data()};
  }
  auto* data = std::aligned_alloc(kBufferAlignment, static_cast<size_t>(padded(bytes)));
  return {static_cast<char*>(data), std::free};
}

// Even after an error: what was enqueued uses the memory, which goes.
Status StepRunner::finishAfter(const Status& status, const std::shared_ptr<const void>& memory) {
  Status settled = settle();
  if (isLate_) {
    memoryInUse_ = memory;
    return status.ok() ? settled : status;
  }
  Status finished = finish();
  return status.ok() ? finished : status;
}

Status StepRunner::runStep(const Move& step) {
  return step.isSwap ? swap(step.to, step.from) : copy(step.to, step.from);
}

Status StepRunner::runStep(const Loop& step) {
  ISTHMUS_ASSIGN_OR_RETURN(bool isDone, runOnHost(step));
  if (isDone) return {};
  bool isSwapped = false;
  ISTHMUS_RETURN_IF_ERROR(runRounds(step, &isSwapped));
  if (!isSwapped) return {};
  // What comes after the loop knows nothing of it.
  swapAddresses(step.addressSwaps);
  for (const Move& move : step.addressSwaps) ISTHMUS_RETURN_IF_ERROR(runStep(move));
  return {};
}

// Step by step where somebody wants to know of each, or whether they take too long.
StatusOr<bool> StepRunner::runOnHost(const Loop& step) {
  if (step.onHost.function < 0 || !host_ || trace::isOn()) return false;
  if (isTimed()) return false;
  ISTHMUS_RETURN_IF_ERROR(settle());
  ISTHMUS_ASSIGN_OR_RETURN(std::optional<std::vector<void*>> lent, lend(step.onHost));
  if (!lent) return false;
  ISTHMUS_RETURN_IF_ERROR(host_->call(step.onHost.function, request_, *std::move(lent)));
  return true;
}

Status StepRunner::runRound(const Loop& step, bool* isSwapped) {
  ISTHMUS_RETURN_IF_ERROR(runSteps(step.body));
  if (step.addressSwaps.empty()) return {};
  swapAddresses(step.addressSwaps);
  *isSwapped = !*isSwapped;
  return {};
}

Status StepRunner::runRounds(const Loop& step, bool* isSwapped) {
  for (int64_t round = 0; round < step.rounds; ++round) {
    ISTHMUS_RETURN_IF_ERROR(runRound(step, isSwapped));
    ISTHMUS_RETURN_IF_ERROR(keepPace());
  }
  if (step.rounds >= 0) return {};
  const std::chrono::seconds limit = deviceTimeout();
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (true) {
    if (limit.count() > 0 && std::chrono::steady_clock::now() >= deadline) {
      return timeoutError(limit, "a loop");
    }
    ISTHMUS_RETURN_IF_ERROR(runSteps(step.condition));
    uint8_t predicate = 0;
    ISTHMUS_RETURN_IF_ERROR(read(step.predicate, &predicate));
    if (!predicate) return {};
    ISTHMUS_RETURN_IF_ERROR(runRound(step, isSwapped));
  }
}

Status StepRunner::runStep(const Branch& step) {
  int32_t index = 0;
  if (step.isIf) {
    uint8_t predicate = 0;
    ISTHMUS_RETURN_IF_ERROR(read(step.index, &predicate));
    index = predicate;
  } else {
    ISTHMUS_RETURN_IF_ERROR(read(step.index, &index));
  }
  return runSteps(step.branches[chosenBranch(step, index)]);
}

bool StepRunner::isTimed() { return hasDeviceTimeout(); }

Status StepRunner::awaitInTime(const IsOver& isOver, std::chrono::seconds limit) {
  if (waitUntil(std::chrono::steady_clock::now() + limit, isOver)) return {};
  isLate_ = true;
  return timeoutError(limit, "a step", request_.deviceId);
}

Status StepRunner::settle() {
  if (!isTimed()) return {};
  const std::chrono::seconds limit = deviceTimeout();
  ISTHMUS_ASSIGN_OR_RETURN(const UnderWay work, underWay());
  // Programs before take their own time, one after the other: so many, or any number.
  constexpr int64_t kMany = 1024;
  const int64_t inFlight = flagInt("ISTHMUS_MAX_IN_FLIGHT");
  const int64_t programs = inFlight > 0 ? std::min(inFlight, kMany) : kMany;
  for (const IsOver& isOver : work.before) {
    ISTHMUS_RETURN_IF_ERROR(awaitInTime(isOver, limit * programs));
  }
  for (const IsOver& isOver : work.own) ISTHMUS_RETURN_IF_ERROR(awaitInTime(isOver, limit));
  return {};
}

Status StepRunner::read(const Location& from, void* to) {
  const auto bytes = static_cast<size_t>(from.bytes);
  if (bytes > kValueBytes) return internalError("a value of ", bytes, " bytes decides what runs");
  ISTHMUS_RETURN_IF_ERROR(settle());
  std::shared_ptr<void> memory = valueMemory();
  if (!memory && isTimed()) memory = std::make_shared<int64_t>();
  ISTHMUS_RETURN_IF_ERROR(finishAfter(fetch(memory ? memory.get() : to, from), memory));
  if (memory) std::memcpy(to, memory.get(), bytes);
  return {};
}

void StepRunner::swapAddresses(const std::vector<Move>& places) {
  if (!swapped_.empty() && swapped_.back() == &places) {
    swapped_.pop_back();
  } else {
    swapped_.push_back(&places);
  }
}

Location StepRunner::swapped(const Location& place) const {
  Location now = place;
  for (auto places = swapped_.rbegin(); places != swapped_.rend(); ++places) {
    for (const Move& move : **places) {
      const bool isTo = move.to.isSamePlace(now);
      if ((!isTo && !move.from.isSamePlace(now)) || now.bytes > move.to.bytes) continue;
      now = isTo ? move.from : move.to;
      now.bytes = place.bytes;
      break;
    }
  }
  return now;
}

}  // namespace isthmus

#include "backends/shared/staging/step_runner.h"

#include <algorithm>
#include <variant>

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

Status StepRunner::runStep(const KernelLaunch& step) {
  std::vector<void*> buffers;
  for (const Location& place : step.buffers) buffers.push_back(addressOf(place));
  return launch(step, buffers);
}

Status StepRunner::runStep(const HostCall& step) {
  ISTHMUS_ASSIGN_OR_RETURN(bool isEnqueued, callOnDevice(step));
  if (isEnqueued) return {};
  std::vector<void*> places;
  for (const auto* all : {&step.inputs, &step.outputs}) {
    for (const Location& place : *all) places.push_back(addressOf(place));
  }
  ISTHMUS_ASSIGN_OR_RETURN(bool areLent, lend(places));
  if (areLent) {
    const int64_t beginNs = trace::isOn() ? trace::now() : -1;
    Status status = host_.call(step.function, request_, places);
    if (beginNs >= 0) onHostCall(step, beginNs, trace::now());
    return status;
  }
  int64_t total = 0;
  for (const auto* places : {&step.inputs, &step.outputs}) {
    for (const Location& place : *places) total += padded(place.bytes);
  }
  Scratch<char> staging(*request_.services, std::max<int64_t>(total, 1));
  if (!staging) return resourceExhausted("no host memory to stage ", total, " bytes");
  std::vector<void*> buffers;
  char* next = staging.data();
  for (const auto* places : {&step.inputs, &step.outputs}) {
    for (const Location& place : *places) {
      buffers.push_back(next);
      next += padded(place.bytes);
    }
  }
  Status status;
  for (size_t i = 0; i < step.inputs.size() && status.ok(); ++i) {
    status = stage(buffers[i], addressOf(step.inputs[i]), step.inputs[i].bytes);
  }
  ISTHMUS_RETURN_IF_ERROR(finishAfter(status));
  const int64_t beginNs = trace::isOn() ? trace::now() : -1;
  ISTHMUS_RETURN_IF_ERROR(host_.call(step.function, request_, buffers));
  for (size_t i = 0; i < step.outputs.size() && status.ok(); ++i) {
    status =
        stage(addressOf(step.outputs[i]), buffers[step.inputs.size() + i], step.outputs[i].bytes);
  }
  status = finishAfter(status);
  if (beginNs >= 0) onHostCall(step, beginNs, trace::now());
  return status;
}

// Even after an error: what was enqueued uses staging memory, which goes.
Status StepRunner::finishAfter(const Status& status) {
  Status finished = finish();
  return status.ok() ? finished : status;
}

Status StepRunner::runStep(const Move& step) {
  void* to = addressOf(step.to);
  void* from = addressOf(step.from);
  return step.isSwap ? swap(to, from, step.to.bytes) : copy(to, from, step.to.bytes);
}

Status StepRunner::runStep(const Loop& step) {
  for (int64_t round = 0; round < step.rounds; ++round) {
    ISTHMUS_RETURN_IF_ERROR(runSteps(step.body));
    ISTHMUS_RETURN_IF_ERROR(keepPace());
  }
  if (step.rounds >= 0) return {};
  while (true) {
    ISTHMUS_RETURN_IF_ERROR(runSteps(step.condition));
    uint8_t predicate = 0;
    ISTHMUS_RETURN_IF_ERROR(read(step.predicate, &predicate));
    if (!predicate) return {};
    ISTHMUS_RETURN_IF_ERROR(runSteps(step.body));
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

Status StepRunner::read(const Location& from, void* to) {
  ISTHMUS_RETURN_IF_ERROR(finishAfter(stage(to, addressOf(from), from.bytes)));
  return {};
}

}  // namespace isthmus

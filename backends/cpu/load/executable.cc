// Loading and running of compiled programs.
#include "backends/cpu/load/executable.h"

#include "backends/cpu/load/collectives_in_flight.h"
#include "backends/cpu/load/program_symbols.h"
#include "backends/cpu/load/serialization.h"
#include "backends/cpu/load/split_kernel.h"
#include "backends/shared/serialization/cache_key.h"
#include "runtime/scratch.h"

namespace isthmus::cpu {
namespace {

// Programs with a smaller arena need no memory from the services.
constexpr int64_t kStackArenaBytes = 4096;
// Handing a program to another thread and being told of its end costs about this much.
constexpr double kCheapNs = 15'000;

}  // namespace

StatusOr<std::shared_ptr<const Executable>> CpuExecutable::load(ProgramImage image) {
  std::shared_ptr<CpuExecutable> executable(new CpuExecutable(std::move(image)));
  ProgramImage& program = executable->image_;
  ISTHMUS_ASSIGN_OR_RETURN(executable->code_,
                           LoadedCode::load(program.objects, resolveProgramSymbol));
  executable->main_ = reinterpret_cast<IsthmusMain>(executable->code_->lookup(kMainSymbol));
  if (!executable->main_) return invalidArgument("an executable without a main function");
  executable->constants_ = AlignedBytes(program.constants);
  if (!program.constants.empty() && !executable->constants_.data()) {
    return resourceExhausted("no memory for ", program.constants.size(), " bytes of constants");
  }
  for (const ffi::CallSpec& call : program.calls) {
    ISTHMUS_ASSIGN_OR_RETURN(std::unique_ptr<ffi::CallSite> site, ffi::CallSite::create(call));
    executable->callSites_.push_back(std::move(site));
  }
  program.info.memory.generatedCodeBytes =
      static_cast<int64_t>(executable->code_->sizeBytes() + program.constants.size());
  return std::shared_ptr<const Executable>(std::move(executable));
}

Status CpuExecutable::run(const RunRequest& request) const {
  if (request.parameters.size() != image_.info.parameters.size() ||
      request.results.size() != image_.info.outputs.size()) {
    return internalError("program ", image_.info.name, " was given ", request.parameters.size(),
                         " parameters and ", request.results.size(), " results, expected ",
                         image_.info.parameters.size(), " and ", image_.info.outputs.size());
  }
  if (trace::isOn()) return runTraced(request);
  Status status;
  IsthmusRun run{splitKernel, nullptr, &request, request.services, &status, &callSites_, nullptr};
  return runMain(run);
}

Status CpuExecutable::runTraced(const RunRequest& request) const {
  std::call_once(eventsOnce_, [this] { events_ = makeProgramEvents(image_.steps, image_.info); });
  Status status;
  TracedRun traced(events_, request, &status, &callSites_);
  traced.run()->parallelFor = splitKernel;
  Status result = runMain(*traced.run());
  traced.finish();
  return result;
}

Status CpuExecutable::runMain(IsthmusRun& run) const {
  const RunRequest& request = *run.request;
  const Status& status = *run.status;
  alignas(kBufferAlignment) char stack[kStackArenaBytes];
  Scratch<char> arena(*request.services, image_.arenaBytes, stack, kStackArenaBytes);
  if (!arena) {
    return resourceExhausted("program ", image_.info.name, ": no memory for an arena of ",
                             image_.arenaBytes, " bytes");
  }
  CollectivesInFlight inFlight(request);
  run.inFlight = &inFlight;
  // Programs write to parameters only where donation lets them.
  auto* parameters = const_cast<void* const*>(request.parameters.data());
  int32_t failed = 0;
  if (constants_.size() == 0) {
    failed = main_(&run, parameters, request.results.data(), arena.data());
  } else {
    std::vector<void*> extended(parameters, parameters + request.parameters.size());
    extended.push_back(constants_.data());
    failed = main_(&run, extended.data(), request.results.data(), arena.data());
  }
  Status result = status;
  if (failed != 0 && status.ok()) {
    result = internalError("program ", image_.info.name, " failed without a reason");
  }
  // While the arena is there.
  inFlight.abandon(result);
  return result;
}

bool CpuExecutable::isCheap() const { return !image_.mayBlock && image_.estimatedNs < kCheapNs; }

StatusOr<std::string> CpuExecutable::serialize() const {
  ISTHMUS_ASSIGN_OR_RETURN(std::string key, cacheKey());
  return serializeImage(image_, key);
}

}  // namespace isthmus::cpu

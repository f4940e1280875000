// Joining, exchanges that explain their errors, and the comparison of programs.
#include "runtime/bootstrap/job.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "isthmus/flags.h"
#include "isthmus/log.h"
#include "runtime/bootstrap/peer_check.h"
#include "runtime/bootstrap/topology_exchange.h"
#include "runtime/stable_hash.h"

namespace isthmus {
namespace {

using std::chrono::milliseconds;

// Of the message that compares programs; long names are cut.
constexpr size_t kIntroductionBytes = 256;

// How long a process that seems to be gone has to say that it is not, and why it closed.
constexpr milliseconds kWordPatience{1000};
constexpr milliseconds kWordInterval{20};

milliseconds collectiveTimeout() {
  int64_t seconds = flagInt("ISTHMUS_COLLECTIVE_TIMEOUT_SECONDS");
  constexpr int64_t kForEverSeconds = int64_t{10} * 365 * 24 * 3600;
  return std::chrono::seconds(seconds <= 0 ? kForEverSeconds : std::min(seconds, kForEverSeconds));
}

}  // namespace

Job::Job(const JobOptions& options, std::string prefix)
    : processIndex_(options.processIndex),
      numProcesses_(options.numProcesses),
      store_(options.store),
      prefix_(std::move(prefix)) {}

Job::~Job() = default;

std::string Job::nextPrefix() {
  static std::atomic<int> jobs{0};
  return "isthmus/" + std::to_string(jobs.fetch_add(1)) + "/";
}

StatusOr<std::unique_ptr<Job>> Job::join(const JobOptions& options, Topology& topology,
                                         std::string prefix) {
  if (options.store == nullptr) return internalError("a job of several processes has no store");
  std::unique_ptr<Job> job(new Job(options, std::move(prefix)));
  milliseconds timeout = collectiveTimeout();
  ISTHMUS_RETURN_IF_ERROR(exchangeTopologies(
      *options.store, {options.processIndex, options.numProcesses, job->prefix_, timeout},
      topology));
  const TransportOptions transport{options.processIndex, options.numProcesses, job->prefix_,
                                   options.coordinatorAddress, timeout};
  ISTHMUS_ASSIGN_OR_RETURN(job->transport_, openTransport(*options.store, transport));
  ISTHMUS_RETURN_IF_ERROR(checkPeers(*job->transport_, *options.store, transport));
  return job;
}

Status Job::failed() const {
  std::lock_guard lock(failureMutex_);
  return failure_;
}

Status Job::exchange(std::string_view what, std::span<const OutgoingMessage> outgoing,
                     std::span<const IncomingMessage> incoming) {
  Status before = failed();
  if (!before.ok()) return before.withContext(what);
  int lost = -1;
  Status status = transport_->exchange(outgoing, incoming, collectiveTimeout(), lost);
  if (status.ok()) return status;
  return explain(status.withContext(what), lost);
}

std::string Job::wordKey(int process) const { return prefix_ + "saw/" + std::to_string(process); }

// What a process whose connection broke saw before; kNotFound if it says nothing.
StatusOr<std::string> Job::awaitWordOf(int process) const {
  const auto deadline = std::chrono::steady_clock::now() + kWordPatience;
  for (;;) {
    StatusOr<std::string> word = store_->tryGet(wordKey(process));
    if (word.ok()) return internal::concatenate("process ", process, " said: ", *word);
    if (word.status().code() != StatusCode::kNotFound ||
        std::chrono::steady_clock::now() >= deadline) {
      return word.status();
    }
    std::this_thread::sleep_for(kWordInterval);
  }
}

// Why a connection broke: another process may have said so, and then closed it. The transport of
// one that sees a third go closes its connections before it can say why, so it is given a moment.
Status Job::explain(const Status& error, int lost) {
  Status before = failed();
  if (!before.ok()) return before;
  (void)store_->put(wordKey(processIndex_), error.message());
  StatusOr<std::string> reason = store_->tryGet(prefix_ + "failure");
  if (!reason.ok() && reason.status().code() == StatusCode::kNotFound && lost >= 0) {
    reason = awaitWordOf(lost);
  }
  if (reason.ok()) {
    return fail(error.withMessage(std::string(error.message()) + "; " + *reason));
  }
  if (reason.status().code() != StatusCode::kNotFound) {
    return fail(error.withMessage(internal::concatenate(
        error.message(), "; nor does the coordinator answer (", reason.status().message(), ")")));
  }
  return fail(error);
}

Status Job::fail(const Status& error) {
  {
    std::lock_guard lock(failureMutex_);
    if (!failure_.ok()) return failure_;
    failure_ = error;
  }
  // Before the connections close, so that whoever notices finds the reason. If somebody was faster,
  // that is the reason.
  Status told = store_->put(prefix_ + "failure", internal::concatenate("process ", processIndex_,
                                                                       " said: ", error.message()));
  if (!told.ok()) log(LogLevel::kInfo, "the other processes are not told: ", told.message());
  transport_->close();
  return error;
}

void Job::processIsGone(int process, const Status& why) {
  if (process == processIndex_ || process < 0 || process >= numProcesses_) return;
  log(LogLevel::kWarning, "process ", process, " of this job is gone: ", why.message());
  (void)fail(why.withContext(internal::concatenate("process ", process, " is gone")));
}

int64_t Job::nextOrder(const std::vector<int>& processes) {
  std::lock_guard lock(ordersMutex_);
  return orders_[processes]++;
}

Status Job::introduce(const Introduction& introduction) {
  const std::vector<int>& processes = introduction.processes;
  auto own = std::find(processes.begin(), processes.end(), processIndex_);
  if (own == processes.end() || processes.size() < 2) return {};
  // Each tells the one before it and hears from the one after it, by number.
  size_t index = static_cast<size_t>(own - processes.begin());
  int before = processes[(index + processes.size() - 1) % processes.size()];
  int after = processes[(index + 1) % processes.size()];
  uint64_t tag =
      combineHashes(stableHash("introduction"), static_cast<uint64_t>(introduction.order));
  for (int process : processes) tag = combineHashes(tag, static_cast<uint64_t>(process));
  char mine[kIntroductionBytes] = {}, theirs[kIntroductionBytes] = {};
  std::string text = introduction.digest + " " + introduction.name;
  text.copy(mine, sizeof(mine) - 1);
  OutgoingMessage outgoing{before, tag, mine, sizeof(mine)};
  IncomingMessage incoming{after, tag, theirs, sizeof(theirs)};
  ISTHMUS_RETURN_IF_ERROR(
      exchange("first launch of program " + introduction.name, {&outgoing, 1}, {&incoming, 1}));
  theirs[sizeof(theirs) - 1] = 0;
  std::string_view other(theirs);
  size_t space = std::min(other.find(' '), other.size());
  if (other.substr(0, space) == introduction.digest) return {};
  return fail(failedPrecondition(
      "process ", processIndex_, " launches program ", introduction.name, " where process ", after,
      " launches program ", other.substr(std::min(space + 1, other.size())),
      ", which exchanges other data: processes must launch the same programs in the same order"));
}

}  // namespace isthmus

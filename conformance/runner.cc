#include "conformance/runner.h"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>

namespace isthmus::conformance {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// ---- What goes through the pipe: the texts of a result, each after its length
// ------------------------------------------------------------------------------------

void writeAll(int fd, const void* data, size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = write(fd, at, size);
    if (written <= 0) _exit(1);  // nobody listens any more
    at += written;
    size -= static_cast<size_t>(written);
  }
}

void writeText(int fd, const std::string& text) {
  const auto size = static_cast<uint32_t>(text.size());
  writeAll(fd, &size, sizeof(size));
  writeAll(fd, text.data(), size);
}

void writeResult(int fd, const Result& result) {
  const auto verdict = static_cast<uint8_t>(result.verdict);
  writeAll(fd, &verdict, 1);
  for (const std::string* text : {&result.expected, &result.got, &result.trace, &result.program}) {
    writeText(fd, *text);
  }
}

// Reads until a deadline.
class PipeReader {
 public:
  PipeReader(int fd, double deadline) : fd_(fd), deadline_(deadline) {}

  enum class State { kOk, kEnded, kLate };

  State read(void* data, size_t size) {
    char* at = static_cast<char*>(data);
    while (size > 0) {
      const double left = deadline_ - now();
      if (left <= 0) return State::kLate;
      pollfd entry{fd_, POLLIN, 0};
      const int ready = poll(&entry, 1, static_cast<int>(left * 1000) + 1);
      if (ready < 0 && errno == EINTR) continue;
      if (ready == 0) return State::kLate;
      const ssize_t got = ::read(fd_, at, size);
      if (got <= 0) return State::kEnded;
      at += got;
      size -= static_cast<size_t>(got);
    }
    return State::kOk;
  }
  State read(Result& result) {
    uint8_t verdict;
    if (State state = read(&verdict, 1); state != State::kOk) return state;
    result.verdict = static_cast<Verdict>(verdict);
    for (std::string* text : {&result.expected, &result.got, &result.trace, &result.program}) {
      uint32_t size;
      if (State state = read(&size, sizeof(size)); state != State::kOk) return state;
      text->resize(size);
      if (State state = read(text->data(), size); state != State::kOk) return state;
    }
    return State::kOk;
  }

 private:
  int fd_;
  double deadline_;
};

// ---- The process that calls the plugin
// ------------------------------------------------------------------------------------

Result runOne(const Plugin& plugin, const Check& check, Progress* progress) {
  Result result;
  Session session(plugin, progress);
  auto fail = [&](std::string expected, std::string got) {
    result.verdict = Verdict::kFail;
    result.expected = std::move(expected);
    result.got = std::move(got);
    result.trace = session.trace();
    result.program = session.program();
  };
  try {
    check.run(session, check);
  } catch (const Failure& failure) {
    fail(failure.expected, failure.got);
  } catch (const Skip& skip) {
    result.verdict = Verdict::kSkip;
    result.got = skip.what();
  } catch (const std::exception& other) {
    fail("no exception to leave the plugin", other.what());
  }
  return result;
}

// What each process does first. A plugin of which these fail is not asked anything else: it is for
// other machines.
const Check& loading() {
  static const Check& check = *new Check{
      "plugin.loads", Grade::kLoads,
      "the library loads, exports GetPjrtApi, and PJRT_Plugin_Initialize succeeds", nullptr};
  return check;
}
const Check& makingAClient() {
  static const Check& check =
      *new Check{"plugin.makes_a_client", Grade::kLoads, "PJRT_Client_Create gives a client",
                 [](Session& session, const Check&) { session.client(); }};
  return check;
}

Result load(const RunSettings& settings, std::optional<Plugin>& plugin, Progress* progress) {
  Result result;
  try {
    plugin = Plugin::load(settings.plugin, settings.clientOptions);
    Session session(*plugin, progress);
    auto initialize = make<PJRT_Plugin_Initialize_Args>();
    session.must(&PJRT_Api::PJRT_Plugin_Initialize, initialize);
    return result;
  } catch (const Failure& failure) {
    result.got = failure.got;
  } catch (const std::exception& error) {
    result.got = error.what();
  }
  result.verdict = Verdict::kFail;
  result.expected = "a plugin that loads";
  return result;
}

bool needsClient(const Check& check) { return !check.name.starts_with("table."); }

// From which check on a process goes, and what is known by then.
struct Start {
  size_t check = 0;
  bool triesClient = true;
  bool hasClient = true;
};

[[noreturn]] void work(const std::vector<Check>& checks, Start start, const RunSettings& settings,
                       int fd, Progress* progress) {
  // A child's errors are its own: what it prints goes to stderr, and it never runs our exit
  // handlers.
  std::optional<Plugin> plugin;
  const Result loaded = load(settings, plugin, progress);
  writeResult(fd, loaded);
  if (loaded.isFailure()) _exit(0);
  if (start.triesClient) {
    const Result made = runOne(*plugin, makingAClient(), progress);
    writeResult(fd, made);
    start.hasClient = !made.isFailure();
  }
  for (size_t i = start.check; i < checks.size(); ++i) {
    if (!start.hasClient && needsClient(checks[i])) continue;
    writeResult(fd, runOne(*plugin, checks[i], progress));
  }
  _exit(0);
}

struct Worker {
  pid_t pid;
  int fd;
};

Worker startWorker(const std::vector<Check>& checks, Start start, const RunSettings& settings,
                   Progress* progress) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("pipe failed");
  const pid_t pid = fork();
  if (pid < 0) throw std::runtime_error("fork failed");
  if (pid == 0) {
    close(ends[0]);
    work(checks, start, settings, ends[1], progress);
  }
  close(ends[1]);
  return {pid, ends[0]};
}

// How the process ended, in words.
std::string stop(const Worker& worker) {
  close(worker.fd);
  int status = 0;
  while (waitpid(worker.pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) return std::string("signal ") + strsignal(WTERMSIG(status));
  return "exit with status " + std::to_string(WEXITSTATUS(status));
}

// Memory that a child writes and that stays when it crashes.
class SharedProgress {
 public:
  SharedProgress()
      : progress_(mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (progress_ == MAP_FAILED) throw std::runtime_error("mmap failed");
  }
  ~SharedProgress() { munmap(progress_, sizeof(Progress)); }
  Progress* get() { return static_cast<Progress*>(progress_); }

 private:
  void* progress_;
};

// The processes, one after the other, and the results of the one that runs.
class Runner {
 public:
  Runner(const std::vector<Check>& checks, const RunSettings& settings)
      : checks_(checks), settings_(settings) {}
  ~Runner() {
    if (worker_) stop(*worker_);
  }

  // Starts a process: how its loading went.
  Result begin(Start start) {
    worker_ = startWorker(checks_, start, settings_, progress_.get());
    Result result = next(loading());
    if (result.isFailure()) end();
    return result;
  }
  bool isRunning() const { return worker_.has_value(); }

  Result next(const Check& check) {
    const double begin = now();
    Result result;
    const auto state = PipeReader(worker_->fd, begin + settings_.timeoutSeconds).read(result);
    result.check = &check;
    result.seconds = now() - begin;
    if (state == PipeReader::State::kOk) return result;
    const bool late = state == PipeReader::State::kLate;
    if (late) kill(worker_->pid, SIGKILL);
    const std::string how = end();
    result.verdict = late ? Verdict::kHang : Verdict::kCrash;
    result.expected = "the process to survive";
    result.got =
        late ? "no end within " + std::to_string(static_cast<int>(settings_.timeoutSeconds)) + " s"
             : how;
    const Progress& progress = *progress_.get();
    if (*progress.call != 0) result.got += std::string(", in or after ") + progress.call;
    result.trace = progress.call;
    result.program = progress.program;
    return result;
  }

 private:
  std::string end() {
    const std::string how = stop(*worker_);
    worker_.reset();
    return how;
  }

  const std::vector<Check>& checks_;
  const RunSettings& settings_;
  SharedProgress progress_;
  std::optional<Worker> worker_;
};

}  // namespace

std::vector<Result> runChecks(const std::vector<Check>& checks, const RunSettings& settings,
                              const std::function<void(const Result&)>& visit) {
  constexpr int kMaxHangs = 8;  // in a row
  std::vector<Result> results;
  auto add = [&](Result result) {
    visit(result);
    results.push_back(std::move(result));
    return !results.back().isFailure();
  };
  auto skip = [&](const Check& check, std::string why) {
    Result result;
    result.check = &check;
    result.verdict = Verdict::kSkip;
    result.got = std::move(why);
    add(std::move(result));
  };

  Runner runner(checks, settings);
  const bool loads = add(runner.begin({}));
  const bool hasClient = loads && add(runner.next(makingAClient()));
  int hangs = 0;
  for (size_t i = 0; i < checks.size(); ++i) {
    if (!loads) {
      skip(checks[i], "the plugin does not load");
    } else if (!hasClient && needsClient(checks[i])) {
      skip(checks[i], "no client can be made");
    } else if (hangs == kMaxHangs) {
      skip(checks[i], "the plugin hung " + std::to_string(kMaxHangs) + " times in a row");
    } else {
      Result result;
      if (!runner.isRunning()) result = runner.begin({i, false, hasClient});
      if (!result.isFailure()) result = runner.next(checks[i]);
      result.check = &checks[i];
      hangs = result.verdict == Verdict::kHang ? hangs + 1 : 0;
      add(std::move(result));
    }
  }
  return results;
}

int gradeOf(const std::vector<Result>& results) {
  int grade = -1;
  for (const Result& result : results) {
    grade = std::max(grade, static_cast<int>(result.check->grade));
  }
  for (const Result& result : results) {
    if (result.isFailure()) grade = std::min(grade, static_cast<int>(result.check->grade) - 1);
  }
  return grade;
}

}  // namespace isthmus::conformance

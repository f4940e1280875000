#include "conformance/runner.h"

#include <poll.h>
#include <signal.h>
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

Result runOne(const Plugin& plugin, const Check& check) {
  Result result;
  Session session(plugin);
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
    fail("the check to run", other.what());
  }
  return result;
}

[[noreturn]] void work(const std::vector<Check>& checks, size_t first, const std::string& path,
                       int fd) {
  // A child's errors are its own: what it prints goes to stderr, and it never runs our exit
  // handlers.
  std::optional<Plugin> plugin;
  std::string loadError;
  try {
    plugin = Plugin::load(path);
    auto initialize = make<PJRT_Plugin_Initialize_Args>();
    plugin->call(&PJRT_Api::PJRT_Plugin_Initialize, initialize);
  } catch (const std::exception& error) {
    loadError = error.what();
  }
  for (size_t i = first; i < checks.size(); ++i) {
    Result result;
    if (plugin) {
      result = runOne(*plugin, checks[i]);
    } else {
      result.verdict = Verdict::kFail;
      result.expected = "a plugin that loads";
      result.got = loadError;
    }
    writeResult(fd, result);
  }
  _exit(0);
}

struct Worker {
  pid_t pid;
  int fd;
};

Worker start(const std::vector<Check>& checks, size_t first, const std::string& plugin) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("pipe failed");
  const pid_t pid = fork();
  if (pid < 0) throw std::runtime_error("fork failed");
  if (pid == 0) {
    close(ends[0]);
    work(checks, first, plugin, ends[1]);
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

}  // namespace

std::vector<Result> runChecks(const std::vector<Check>& checks, const RunSettings& settings,
                              const std::function<void(const Result&)>& visit) {
  std::vector<Result> results;
  std::optional<Worker> worker;
  for (size_t i = 0; i < checks.size(); ++i) {
    if (!worker) worker = start(checks, i, settings.plugin);
    const double begin = now();
    Result result;
    const auto state = PipeReader(worker->fd, begin + settings.timeoutSeconds).read(result);
    result.check = &checks[i];
    result.seconds = now() - begin;
    if (state != PipeReader::State::kOk) {
      const bool late = state == PipeReader::State::kLate;
      if (late) kill(worker->pid, SIGKILL);
      const std::string end = stop(*worker);
      worker.reset();
      result.verdict = late ? Verdict::kHang : Verdict::kCrash;
      result.expected = "the process to survive";
      result.got =
          late ? "no end within " + std::to_string(static_cast<int>(settings.timeoutSeconds)) + " s"
               : end;
    }
    visit(result);
    results.push_back(std::move(result));
  }
  if (worker) stop(*worker);
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

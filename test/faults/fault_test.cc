// isthmus_fault_test PLUGIN.so [--kind memory|large|exhausted|mapping|thread|file] [--sample N]
// [--only N]
// [--once|--sticky] [--trace]
//
// For each kind of call, one place after another that makes it: a child process in which the call
// from there fails. Prints what became of the children, and each one that ended badly; exits with 1
// if there is one. --sample takes N of the places of each kind, spread evenly.
#include <dlfcn.h>
#include <execinfo.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "test/faults/fault_points.h"
#include "test/faults/scenario.h"

namespace isthmus::faults {
namespace {

constexpr unsigned kSecondsPerChild = 20;

struct Options {
  const char* plugin = nullptr;
  const char* kind = nullptr;
  size_t sample = 0;
  long long only = -1;
  bool isOnce = true, isSticky = true, isStickyMemory = false, traces = false;
};

struct KindName {
  const char* name;
  Kind kind;
};
constexpr KindName kKinds[] = {{"memory", Kind::kMemory},       {"large", Kind::kLarge},
                               {"exhausted", Kind::kExhausted}, {"mapping", Kind::kMapping},
                               {"thread", Kind::kThread},       {"file", Kind::kFile}};

// Exit codes of children.
enum Code { kRightCode = 10, kErrorCode = 11, kWrongCode = 12, kNoRecoveryCode = 13 };

// Says where a child ended: addresses within the plugin, for llvm-symbolizer.
void traceEnd(int signal) {
  void* frames[64];
  backtrace_symbols_fd(frames, backtrace(frames, 64), STDERR_FILENO);
  std::signal(signal, SIG_DFL);
  raise(signal);
}

[[noreturn]] void child(const PJRT_Api& api, Kind kind, long long number, bool isSticky) {
  alarm(kSecondsPerChild);
  arm(kind, number, isSticky, nullptr);
  const Result result = runScenario(api);
  disarm();
  if (result == Result::kWrong) {
    std::fprintf(stderr, "    %s\n", scenarioError());
    _exit(kWrongCode);
  }
  if (runScenario(api) != Result::kRight) {
    std::fprintf(stderr, "    afterwards: %s\n", scenarioError());
    _exit(kNoRecoveryCode);
  }
  _exit(result == Result::kRight ? kRightCode : kErrorCode);
}

// How the child ended, in words; empty if well. Counts it.
std::string inject(const PJRT_Api& api, Kind kind, long long number, bool isSticky, int counts[2]) {
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid == 0) child(api, kind, number, isSticky);
  int status = 0;
  waitpid(pid, &status, 0);
  if (WIFSIGNALED(status)) {
    return WTERMSIG(status) == SIGALRM ? "did not end" : strsignal(WTERMSIG(status));
  }
  switch (WEXITSTATUS(status)) {
    case kRightCode:
    case kErrorCode:
      ++counts[WEXITSTATUS(status) - kRightCode];
      return {};
    case kWrongCode:
      return "gave something wrong";
    case kNoRecoveryCode:
      return "did not recover";
    default:
      return "exited";
  }
}

// The calls of one kind in a run without failures, in memory that the child fills.
Record& survey(const PJRT_Api& api, Kind kind) {
  auto* record = static_cast<Record*>(
      mmap(nullptr, sizeof(Record), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  const pid_t pid = fork();
  if (pid == 0) {
    arm(kind, -1, false, record);
    const Result result = runScenario(api);
    disarm();
    if (result != Result::kRight) std::fprintf(stderr, "%s\n", scenarioError());
    _exit(result == Result::kRight ? 0 : 1);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  if (status != 0) {
    std::fprintf(stderr, "the program fails although no call does\n");
    std::exit(2);
  }
  return *record;
}

int run(const Options& options, const PJRT_Api& api) {
  int bad = 0;
  for (const auto& [name, kind] : kKinds) {
    if (options.kind != nullptr && std::string_view(options.kind) != name) continue;
    const Record& record = survey(api, kind);
    std::vector<long long> numbers(record.places, record.places + record.numPlaces);
    if (options.only >= 0) numbers = {options.only};
    const size_t all = numbers.size();
    const size_t take = options.sample == 0 ? all : std::min(options.sample, all);
    int counts[2] = {}, badHere = 0;
    for (size_t i = 0; i < take; ++i) {
      const long long number = numbers[i * all / take];
      for (bool isSticky : {false, true}) {
        if (!(isSticky ? options.isSticky : options.isOnce)) continue;
        // Where memory is refused even after some was given back no reserve helps, and not even an
        // error finds any; kExhausted is what machines do.
        const bool isMemory = kind == Kind::kMemory || kind == Kind::kLarge;
        if (isSticky && isMemory && !options.isStickyMemory) continue;
        if (isSticky && kind == Kind::kExhausted) continue;  // it is for ever
        const std::string end = inject(api, kind, number, isSticky, counts);
        if (end.empty()) continue;
        ++badHere;
        std::printf("  %s call %lld%s: %s\n", name, number, isSticky ? " and all after it" : "",
                    end.c_str());
      }
    }
    std::printf("%s: %llu calls from %zu places; %zu places tried: %d right, %d errors, %d bad\n",
                name, static_cast<unsigned long long>(record.calls), all, take, counts[0],
                counts[1], badHere);
    bad += badHere;
  }
  return bad == 0 ? 0 : 1;
}

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--kind" && i + 1 < argc) {
      options.kind = argv[++i];
    } else if (argument == "--sample" && i + 1 < argc) {
      options.sample = std::strtoul(argv[++i], nullptr, 10);
    } else if (argument == "--only" && i + 1 < argc) {
      options.only = std::strtoll(argv[++i], nullptr, 10);
    } else if (argument == "--trace") {
      options.traces = true;
    } else if (argument == "--once") {
      options.isSticky = false;
    } else if (argument == "--sticky") {
      options.isOnce = false;
      options.isStickyMemory = true;
    } else if (options.plugin == nullptr && !argument.starts_with("--")) {
      options.plugin = argv[i];
    } else {
      return false;
    }
  }
  return options.plugin != nullptr;
}

}  // namespace
}  // namespace isthmus::faults

int main(int argc, char** argv) {
  isthmus::faults::Options options;
  if (!isthmus::faults::parse(argc, argv, options)) {
    std::fprintf(
        stderr,
        "usage: %s PLUGIN.so [--kind KIND] [--sample N] [--only N] [--once|--sticky] [--trace]\n",
        argv[0]);
    return 2;
  }
  if (options.traces) {
    for (int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGALRM})
      std::signal(signal, &isthmus::faults::traceEnd);
  }
  void* library = dlopen(options.plugin, RTLD_NOW | RTLD_LOCAL);
  auto getApi = library == nullptr
                    ? nullptr
                    : reinterpret_cast<const PJRT_Api* (*)()>(dlsym(library, "GetPjrtApi"));
  if (getApi == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  return isthmus::faults::run(options, *getApi());
}

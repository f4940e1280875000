// The threads, the memory over time, and the report.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "test/endurance/work.h"

namespace isthmus::endurance {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::string plugin;
  double seconds = 60;
  int threads = 64;
  uint64_t seed = 1;
  bool forks = true;
};

// In MiB.
double residentMemory() {
  std::ifstream file("/proc/self/statm");
  double size = 0, resident = 0;
  file >> size >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

// What the threads tell the one that watches.
struct Board {
  std::vector<std::atomic<uint64_t>> done = std::vector<std::atomic<uint64_t>>(kKinds.size());
  std::atomic<int> failures{0};
  std::atomic<bool> isOver{false};

  void fail(const char* kind, const char* what) {
    constexpr int kShown = 20;
    if (failures.fetch_add(1) < kShown) std::fprintf(stderr, "%s: %s\n", kind, what);
  }
  uint64_t total() const {
    uint64_t sum = 0;
    for (const auto& count : done) sum += count.load();
    return sum;
  }
};

void work(World& world, Board& board, bool forks, uint64_t seed, std::atomic<int64_t>& lastSecond,
          Clock::time_point start) {
  std::mt19937_64 random(seed);
  int weights = 0;
  for (const Kind& kind : kKinds) weights += kind.weight;
  while (!board.isOver) {
    auto left = static_cast<int>(random() % static_cast<uint64_t>(weights));
    size_t index = 0;
    while (left >= kKinds[index].weight) left -= kKinds[index++].weight;
    if (!forks && std::string_view(kKinds[index].name) == "fork") continue;
    try {
      kKinds[index].run(world, random);
      ++board.done[index];
    } catch (const std::exception& error) {
      board.fail(kKinds[index].name, error.what());
    }
    lastSecond = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - start).count();
  }
}

// Memory is flat if it does not grow from the second quarter of the time, when caches are full, to
// the last: the least of each, since peaks are what happens to run at once.
bool isFlat(const std::vector<double>& memory) {
  constexpr double kSlackMiB = 64;
  const auto quarter = static_cast<ptrdiff_t>(memory.size() / 4);
  if (quarter < 3) return true;
  const double before = *std::min_element(memory.begin() + quarter, memory.begin() + 2 * quarter);
  const double after = *std::min_element(memory.end() - quarter, memory.end());
  std::printf("resident memory: %.0f MiB in the second quarter, %.0f MiB in the last\n", before,
              after);
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  return true;  // what they keep of freed memory grows
#else
  return after < before + kSlackMiB;
#endif
}

int run(const Options& options) {
  constexpr double kReportSeconds = 10;
  constexpr int64_t kStuckSeconds = 180;
  // What is cached of freed memory is not what this is about.
  setenv("ISTHMUS_HOST_CACHE_BYTES", "67108864", 0);
  World world{client::Plugin(options.plugin)};
  Board board;
  const auto start = Clock::now();
  std::vector<std::atomic<int64_t>> lastSeconds(static_cast<size_t>(options.threads));
  std::vector<std::thread> threads;
  for (int i = 0; i < options.threads; ++i) {
    threads.emplace_back([&, i] {
      work(world, board, options.forks, options.seed * 1000 + static_cast<uint64_t>(i),
           lastSeconds[static_cast<size_t>(i)], start);
    });
  }
  std::vector<double> memory;
  double nextReport = kReportSeconds;
  while (true) {
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    memory.push_back(residentMemory());
    const int64_t slowest = *std::min_element(lastSeconds.begin(), lastSeconds.end());
    if (static_cast<int64_t>(seconds) - slowest > kStuckSeconds) {
      std::printf("a thread has made no progress for %ld s\n", kStuckSeconds);
      std::fflush(stdout);
      abort();  // with what is needed to see where
    }
    if (seconds >= nextReport) {
      nextReport += kReportSeconds;
      std::printf("%6.0f s, %lu done, %.0f MiB\n", seconds, board.total(), memory.back());
      std::fflush(stdout);
    }
    if (seconds >= options.seconds) break;
  }
  board.isOver = true;
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < kKinds.size(); ++i) {
    std::printf("  %-10s %lu\n", kKinds[i].name, board.done[i].load());
  }
  const bool flat = isFlat(memory);
  std::printf("%lu done, %d failures%s\n", board.total(), board.failures.load(),
              flat ? "" : ", memory grew");
  return board.failures == 0 && flat ? 0 : 1;
}

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const bool hasValue = i + 1 < argc;
    if (argument == "--seconds" && hasValue) {
      options.seconds = std::atof(argv[++i]);
    } else if (argument == "--threads" && hasValue) {
      options.threads = std::atoi(argv[++i]);
    } else if (argument == "--no-forks") {
      options.forks = false;
    } else if (argument == "--seed" && hasValue) {
      options.seed = std::strtoull(argv[++i], nullptr, 10);
    } else if (argument[0] != '-' && options.plugin.empty()) {
      options.plugin = argument;
    } else {
      return false;
    }
  }
  return !options.plugin.empty() && options.seconds > 0 && options.threads > 0;
}

}  // namespace
}  // namespace isthmus::endurance

int main(int argc, char** argv) {
  isthmus::endurance::Options options;
  if (!isthmus::endurance::parse(argc, argv, options)) {
    std::fprintf(stderr,
                 "usage: %s PLUGIN.so [--seconds N] [--threads N] [--seed N] [--no-forks]\n",
                 argv[0]);
    return 2;
  }
  try {
    return isthmus::endurance::run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

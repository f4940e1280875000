// The threads, the memory over time, and the report.
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
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

// What the process holds while nobody works, in MiB.
struct Holding {
  double allocated;  // by malloc, and not freed
  double device;     // by buffers of the device that most work is on
  double resident;
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
  // Threads stop before their next piece of work and tell so; false if they do not in that time.
  bool stopAll(size_t threads, std::chrono::seconds patience) {
    std::unique_lock lock(mutex);
    stops = true;
    return changed.wait_for(lock, patience, [&] { return stopped == threads; });
  }
  void goOn() {
    std::lock_guard lock(mutex);
    stops = false;
    changed.notify_all();
  }
  void stopIfAsked() {
    if (!stops) return;
    std::unique_lock lock(mutex);
    ++stopped;
    changed.notify_all();
    changed.wait(lock, [this] { return !stops; });
    --stopped;
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::atomic<bool> stops{false};
  size_t stopped = 0;

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
    board.stopIfAsked();
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

Holding measure(World& world) {
  // What is in flight ends, and threads give back what they worked with.
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const auto stats = world.plugin.call<PJRT_Device_MemoryStats_Args>(
      &PJRT_Api::PJRT_Device_MemoryStats, [&](auto& args) { args.device = world.devices[0]; });
  constexpr double kMiB = 1 << 20;
  const struct mallinfo2 info = mallinfo2();
  return {static_cast<double>(info.uordblks + info.hblkhd) / kMiB,
          static_cast<double>(stats.bytes_in_use) / kMiB, residentMemory()};
}

// Memory is flat if it does not grow from the second quarter of the time, when caches are full, to
// the last: the least of each. What malloc and the device gave out is exact but for the few
// contexts of the compiler that are kept; what is resident depends on which holes happen to be
// filled.
bool isFlat(const std::vector<Holding>& holdings) {
  const size_t quarter = holdings.size() / 4;
  if (quarter == 0) return true;
  auto grows = [&](const char* what, double Holding::* amount, double slackMiB) {
    auto less = [amount](const Holding& a, const Holding& b) { return a.*amount < b.*amount; };
    auto from = [&](size_t i) { return holdings.begin() + static_cast<ptrdiff_t>(i); };
    const double before = *std::min_element(from(quarter), from(2 * quarter), less).*amount;
    const double after =
        *std::min_element(from(holdings.size() - quarter), holdings.end(), less).*amount;
    std::printf("%s: %.1f MiB in the second quarter, %.1f MiB in the last\n", what, before, after);
    return after >= before + slackMiB;
  };
  // Each, so that all are printed.
  [[maybe_unused]] bool grew = grows("allocated", &Holding::allocated, 8);
  grew |= grows("on the device", &Holding::device, 1);
  grew |= grows("resident", &Holding::resident, 64);
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  return true;  // what they keep of freed memory grows
#else
  return !grew;
#endif
}

int run(const Options& options) {
  constexpr double kReportSeconds = 10;
  constexpr int64_t kStuckSeconds = 180;
  constexpr int kMeasurements = 16;
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
  std::vector<Holding> holdings;
  double nextReport = kReportSeconds;
  while (true) {
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    const auto measured = static_cast<double>(holdings.size() + 1);
    if (seconds >= options.seconds * measured / (kMeasurements + 1)) {
      if (board.stopAll(threads.size(), std::chrono::seconds(kStuckSeconds))) {
        holdings.push_back(measure(world));
        const Holding& now = holdings.back();
        std::printf("%6.0f s, at rest: %.1f MiB allocated, %.1f on the device, %.0f resident\n",
                    seconds, now.allocated, now.device, now.resident);
      }
      board.goOn();
    }
    const int64_t slowest = *std::min_element(lastSeconds.begin(), lastSeconds.end());
    if (static_cast<int64_t>(seconds) - slowest > kStuckSeconds) {
      std::printf("a thread has made no progress for %ld s\n", kStuckSeconds);
      std::fflush(stdout);
      abort();  // with what is needed to see where
    }
    if (seconds >= nextReport) {
      nextReport += kReportSeconds;
      std::printf("%6.0f s, %lu done, %.0f MiB\n", seconds, board.total(), residentMemory());
      std::fflush(stdout);
    }
    if (seconds >= options.seconds) break;
  }
  board.isOver = true;
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < kKinds.size(); ++i) {
    std::printf("  %-10s %lu\n", kKinds[i].name, board.done[i].load());
  }
  const bool flat = isFlat(holdings);
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
  // Else each thread keeps freed pieces that count as allocated.
  if (getenv("GLIBC_TUNABLES") == nullptr) {
    setenv("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0", 1);
    execv("/proc/self/exe", argv);
  }
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

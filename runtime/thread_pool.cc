// Eigen's work-stealing pool, and loops whose tiles the caller and pool threads take in turn.
#include "runtime/thread_pool.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <csignal>
#include <thread>

#include "isthmus/flags.h"
#include "runtime/cgroup.h"
#include "runtime/fork.h"
#include "runtime/ref.h"
#include "runtime/spin.h"
#include "unsupported/Eigen/CXX11/ThreadPool"

namespace isthmus {
namespace {

// True on a thread that is running tiles of a loop.
thread_local bool isInsideLoop = false;

// How Eigen's pool makes threads: named, and never receiving the host program's signals.
struct ThreadEnvironment : Eigen::StlThreadEnvironment {
  EnvThread* CreateThread(std::function<void()> function) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    auto* thread = new EnvThread([function = std::move(function)] {
      pthread_setname_np(pthread_self(), "isthmus-pool");
      function();
    });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return thread;
  }
};

struct Pool {
  explicit Pool(int workers) : generation(forkGeneration()), threads(workers) {}
  const uint32_t generation;
  Eigen::ThreadPoolTempl<ThreadEnvironment> threads;
};

// The pool of this process. Never destroyed: its threads may be busy when the process exits. The
// one that a child inherits from its parent has no threads and is left behind.
Pool& pool() {
  static std::atomic<Pool*> current{nullptr};
  Pool* existing = current.load(std::memory_order_acquire);
  if (existing != nullptr && existing->generation == forkGeneration()) return *existing;
  auto* fresh = new Pool(computeThreads() - 1);
  if (current.compare_exchange_strong(existing, fresh, std::memory_order_acq_rel)) return *fresh;
  delete fresh;
  return *existing;
}

// Loops that are running now, which share the pool's threads.
std::atomic<int> activeLoops{0};

// Outlives the call of parallelFor if a helper comes when all is done.
struct Loop : RefCounted<Loop> {
  TileFunction function;
  void* context;
  int64_t tiles;
  int64_t chunk;
  std::atomic<int64_t> next{0};
  std::atomic<int64_t> done{0};
  std::atomic<uint32_t> isFinished{0};

  void work() {
    int64_t mine = 0;
    isInsideLoop = true;
    for (;;) {
      int64_t begin = next.fetch_add(chunk, std::memory_order_relaxed);
      if (begin >= tiles) break;
      int64_t end = std::min(begin + chunk, tiles);
      function(context, begin, end);
      mine += end - begin;
    }
    isInsideLoop = false;
    if (mine != 0 && done.fetch_add(mine, std::memory_order_acq_rel) + mine == tiles) {
      isFinished.store(1, std::memory_order_release);
      isFinished.notify_one();
    }
  }

  // Starts `helpers` more threads. The first wakes half of the others, and so on, so that many
  // threads do not wait for one to wake them all.
  void recruit(Pool& pool, int helpers) {
    while (helpers > 0) {
      int recruitsOfHelper = (helpers - 1) / 2;
      addReference();
      pool.threads.Schedule([this, &pool, recruitsOfHelper] {
        if (next.load(std::memory_order_relaxed) < tiles) {
          recruit(pool, recruitsOfHelper);
          work();
        }
        dropReference();
      });
      helpers -= 1 + recruitsOfHelper;
    }
  }
};

int64_t firstNumber(const std::string& text) {
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

int countThreads() {
  int64_t count = flagInt("ISTHMUS_NUM_THREADS");
  if (count <= 0) count = firstNumber(flagString("OMP_NUM_THREADS"));
  if (count <= 0) {
    cpu_set_t set;
    CPU_ZERO(&set);
    count = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set)
                                                         : std::thread::hardware_concurrency();
    if (auto cpus = readCgroupLimits().cpus) {
      count = std::min<int64_t>(count, static_cast<int64_t>(std::ceil(*cpus)));
    }
  }
  return static_cast<int>(std::clamp<int64_t>(count, 1, 4096));
}

}  // namespace

int computeThreads() {
  static const int count = countThreads();
  return count;
}

void parallelFor(int64_t tiles, int64_t grain, TileFunction function, void* context,
                 int maxThreads) {
  if (tiles <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  int threads = std::min(computeThreads(), maxThreads);
  if (isInsideLoop || threads <= 1 || tiles <= grain) {
    function(context, 0, tiles);
    return;
  }
  int active = activeLoops.fetch_add(1, std::memory_order_relaxed) + 1;
  threads = std::max(threads / active, 1);
  // A few chunks for each thread even out threads that are slow or late. Rather one too many than
  // one too large, when tiles are few.
  constexpr int64_t kChunksPerThread = 4;
  int64_t chunk = std::max(grain, tiles / (threads * kChunksPerThread));
  int64_t chunks = (tiles - 1) / chunk + 1;
  int helpers = static_cast<int>(std::min<int64_t>(threads, chunks)) - 1;
  if (helpers <= 0) {
    function(context, 0, tiles);
  } else {
    auto loop = makeRef<Loop>();
    loop->function = function;
    loop->context = context;
    loop->tiles = tiles;
    loop->chunk = chunk;
    loop->recruit(pool(), helpers);
    loop->work();
    auto isFinished = [&] { return loop->isFinished.load(std::memory_order_acquire) != 0; };
    if (!spinUntil(isFinished, 2000)) {
      while (!isFinished()) loop->isFinished.wait(0, std::memory_order_acquire);
    }
  }
  activeLoops.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace isthmus

// Eigen's work-stealing pool, and loops whose tiles the caller and pool threads take in turn.
#include "runtime/threads/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <thread>
#include <vector>

#include "isthmus/flags.h"
#include "isthmus/float_mode.h"
#include "isthmus/thread.h"
#include "runtime/memory/cgroup.h"
#include "runtime/ref.h"
#include "runtime/threads/fork.h"
#include "runtime/threads/spin.h"
#include "unsupported/Eigen/CXX11/ThreadPool"

namespace isthmus {
namespace {

// True on a thread that is running tiles of a loop.
thread_local bool isInsideLoop = false;

// How Eigen's pool makes threads. It asks for each only once; one that cannot be started is not
// missed, since the others and the callers of loops take all the work.
struct ThreadEnvironment {
  using Task = Eigen::StlThreadEnvironment::Task;
  class EnvThread {
   public:
    explicit EnvThread(std::function<void()> function) {
      group_.start({.name = "isthmus-pool"}, [function = std::move(function)] {
        setFloatMode(FloatMode::kProgram);
        function();
      });
    }
    void OnCancel() {}

   private:
    ThreadGroup group_;
  };

  EnvThread* CreateThread(std::function<void()> function) {
    return new EnvThread(std::move(function));
  }
  Task CreateTask(std::function<void()> function) { return Task{std::move(function)}; }
  void ExecuteTask(const Task& task) { task.f(); }
};

struct Pool {
  Eigen::ThreadPoolTempl<ThreadEnvironment> threads{computeThreads() - 1};
};

Pool& pool() { return perProcess<Pool>(); }

// Loops that are running now, which share the pool's threads.
std::atomic<int> activeLoops{0};

// A stretch of a loop's chunks that one thread begins with; others take from it when they are done
// with theirs.
struct alignas(64) Share {
  std::atomic<int64_t> next;
  int64_t end;
  std::atomic<bool> isTaken;
};

// Outlives the call of parallelFor if a helper comes when all is done.
struct Loop : RefCounted<Loop> {
  TileFunction function;
  void* context;
  int64_t tiles;
  int64_t chunk;
  int64_t chunks;
  std::vector<Share> shares;
  std::atomic<int64_t> done{0};
  std::atomic<bool> hasFailed{false};  // a tile ended by an exception, which is want of memory
  std::atomic<uint32_t> isFinished{0};

  Loop(TileFunction function, void* context, int64_t tiles, int64_t chunk, int64_t chunks,
       int threads)
      : function(function),
        context(context),
        tiles(tiles),
        chunk(chunk),
        chunks(chunks),
        shares(static_cast<size_t>(threads)) {
    for (int i = 0; i < threads; ++i) {
      shares[i].next.store(chunks * i / threads, std::memory_order_relaxed);
      shares[i].end = chunks * (i + 1) / threads;
    }
  }

  // The same thread gets the same share of loops that follow each other, which often touch the
  // same memory: it is still in that processor's cache.
  size_t takeShare(size_t preferred) {
    size_t at = preferred % shares.size();
    for (size_t i = 0; i < shares.size(); ++i) {
      size_t candidate = (at + i) % shares.size();
      if (!shares[candidate].isTaken.exchange(true, std::memory_order_relaxed)) return candidate;
    }
    return at;
  }

  void work(size_t share) {
    int64_t mine = 0;
    isInsideLoop = true;
    for (size_t i = 0; i < shares.size(); ++i) {
      Share& from = shares[(share + i) % shares.size()];
      // Reading first leaves the line of an empty share where it is.
      while (from.next.load(std::memory_order_relaxed) < from.end) {
        int64_t taken = from.next.fetch_add(1, std::memory_order_relaxed);
        if (taken >= from.end) break;
        int64_t end = std::min((taken + 1) * chunk, tiles);
        try {
          function(context, taken * chunk, end);
        } catch (...) {
          hasFailed.store(true, std::memory_order_relaxed);
        }
        ++mine;
      }
    }
    isInsideLoop = false;
    if (mine != 0 && done.fetch_add(mine, std::memory_order_acq_rel) + mine == chunks) {
      isFinished.store(1, std::memory_order_release);
      isFinished.notify_one();
    }
  }

  // Starts `helpers` more threads. The first wakes half of the others, and so on, so that many
  // threads do not wait for one to wake them all.
  void recruit(Pool& pool, int helpers) {
    while (helpers > 0) {
      int recruitsOfHelper = (helpers - 1) / 2;
      try {
        pool.threads.Schedule([loop = Ref<Loop>(this), &pool, recruitsOfHelper] {
          if (loop->isFinished.load(std::memory_order_relaxed) != 0) return;
          loop->recruit(pool, recruitsOfHelper);
          loop->work(loop->takeShare(static_cast<size_t>(pool.threads.CurrentThreadId() + 1)));
        });
      } catch (const std::bad_alloc&) {
        return;  // those who work already do it all
      }
      helpers -= 1 + recruitsOfHelper;
    }
  }
};

// Null if there is no memory for it: then nothing has begun.
Ref<Loop> startLoop(TileFunction function, void* context, int64_t tiles, int64_t chunk,
                    int64_t chunks, int helpers) {
  try {
    Pool& threads = pool();
    auto loop = makeRef<Loop>(function, context, tiles, chunk, chunks, helpers + 1);
    loop->recruit(threads, helpers);
    return loop;
  } catch (const std::bad_alloc&) {
    return {};
  }
}

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
  struct Active {
    const int number = activeLoops.fetch_add(1, std::memory_order_relaxed) + 1;
    ~Active() { activeLoops.fetch_sub(1, std::memory_order_relaxed); }
  } active;
  threads = std::max(threads / active.number, 1);
  // A few chunks for each thread even out threads that are slow or late. Rather one too many than
  // one too large, when tiles are few.
  constexpr int64_t kChunksPerThread = 4;
  int64_t chunk = std::max(grain, tiles / (threads * kChunksPerThread));
  int64_t chunks = (tiles - 1) / chunk + 1;
  int helpers = static_cast<int>(std::min<int64_t>(threads, chunks)) - 1;
  Ref<Loop> loop =
      helpers > 0 ? startLoop(function, context, tiles, chunk, chunks, helpers) : Ref<Loop>();
  if (!loop) {
    function(context, 0, tiles);
    return;
  }
  loop->work(loop->takeShare(0));
  auto isFinished = [&] { return loop->isFinished.load(std::memory_order_acquire) != 0; };
  if (!spinUntil(isFinished, 2000)) {
    while (!isFinished()) loop->isFinished.wait(0, std::memory_order_acquire);
  }
  if (loop->hasFailed.load(std::memory_order_relaxed)) throw std::bad_alloc();
}

}  // namespace isthmus

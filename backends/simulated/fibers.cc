#include "backends/simulated/fibers.h"

#include <sys/mman.h>
#include <ucontext.h>

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

// The sanitizers follow stacks only if they are told of a switch.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ISTHMUS_FIBERS_TSAN 1
#include <sanitizer/tsan_interface.h>
#endif
#if __has_feature(address_sanitizer)
#define ISTHMUS_FIBERS_ASAN 1
#include <sanitizer/common_interface_defs.h>
#endif
#endif

namespace isthmus::simulated {
namespace {

constexpr size_t kStackBytes = 256 << 10;

// A place where code can go on: a fiber, or the thread that runs them.
struct Context {
  ucontext_t context{};
  void* stack = nullptr;  // of a fiber
  size_t stackBytes = 0;
  void* fake = nullptr;   // ASan's
  void* known = nullptr;  // TSan's
};

void switchTo(Context& from, Context& to, bool isLast = false) {
#ifdef ISTHMUS_FIBERS_ASAN
  __sanitizer_start_switch_fiber(isLast ? nullptr : &from.fake, to.stack, to.stackBytes);
#endif
#ifdef ISTHMUS_FIBERS_TSAN
  __tsan_switch_to_fiber(to.known, 0);
#endif
  swapcontext(&from.context, &to.context);
#ifdef ISTHMUS_FIBERS_ASAN
  __sanitizer_finish_switch_fiber(from.fake, nullptr, nullptr);
#endif
}

class Fiber {
 public:
  Fiber() {
    // Pages that nobody touches cost nothing.
    void* stack = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED) throw std::bad_alloc();
    own_.stack = stack;
    own_.stackBytes = kStackBytes;
#ifdef ISTHMUS_FIBERS_TSAN
    own_.known = __tsan_create_fiber(0);
#endif
  }
  ~Fiber() {
#ifdef ISTHMUS_FIBERS_TSAN
    __tsan_destroy_fiber(own_.known);
#endif
    munmap(own_.stack, kStackBytes);
  }
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  void begin(unsigned number, const std::function<void(unsigned)>& thread) {
    number_ = number;
    thread_ = &thread;
    hasReturned_ = false;
    getcontext(&own_.context);
    own_.context.uc_stack.ss_sp = own_.stack;
    own_.context.uc_stack.ss_size = own_.stackBytes;
    own_.context.uc_link = nullptr;
    makecontext(&own_.context, enter, 0);
  }
  // Until its next barrier, or its end.
  void goOn();
  void pause() { switchTo(own_, *host_); }
  bool hasReturned() const { return hasReturned_; }

 private:
  static void enter();

  Context own_;
  Context* host_ = nullptr;
  unsigned number_ = 0;
  const std::function<void(unsigned)>* thread_ = nullptr;
  bool hasReturned_ = false;
};

// Of the thread that calls runGroup. Fibers stay with it, for the next group.
struct Host {
  std::vector<std::unique_ptr<Fiber>> fibers;
  Fiber* current = nullptr;
  Context context;
};

Host& host() {
  thread_local Host instance;
  return instance;
}

void Fiber::goOn() {
  Host& own = host();
  host_ = &own.context;
#ifdef ISTHMUS_FIBERS_TSAN
  host_->known = __tsan_get_current_fiber();
#endif
  own.current = this;
  switchTo(*host_, own_);
  own.current = nullptr;
}

void Fiber::enter() {
  Fiber& self = *host().current;
#ifdef ISTHMUS_FIBERS_ASAN
  const void* bottom = nullptr;
  __sanitizer_finish_switch_fiber(nullptr, &bottom, &self.host_->stackBytes);
  self.host_->stack = const_cast<void*>(bottom);
#endif
  (*self.thread_)(self.number_);
  self.hasReturned_ = true;
  switchTo(self.own_, *self.host_, true);
}

}  // namespace

void runGroup(unsigned count, const std::function<void(unsigned)>& thread) {
  std::vector<std::unique_ptr<Fiber>>& fibers = host().fibers;
  size_t paused = 0;
  for (unsigned number = 0; number < count; ++number) {
    if (paused == fibers.size()) fibers.push_back(std::make_unique<Fiber>());
    fibers[paused]->begin(number, thread);
    fibers[paused]->goOn();
    // Who comes to no barrier leaves its stack to the next.
    if (!fibers[paused]->hasReturned()) ++paused;
  }
  for (size_t left = paused; left > 0;) {
    left = 0;
    for (size_t i = 0; i < paused; ++i) {
      if (fibers[i]->hasReturned()) continue;
      fibers[i]->goOn();
      left += !fibers[i]->hasReturned();
    }
  }
}

void groupBarrier() { host().current->pause(); }

}  // namespace isthmus::simulated

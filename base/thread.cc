// pthreads, since std::thread throws where a thread cannot be made and has no stack size.
#include "isthmus/thread.h"

#include <csignal>
#include <cstdio>
#include <exception>
#include <initializer_list>
#include <memory>

#include "isthmus/float_mode.h"
#include "isthmus/log.h"

namespace isthmus {
namespace {

// The caller's signals come back however the function that blocks them ends.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    // Those of the thread's own making: blocked, they would end the process past every handler.
    for (int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT})
      sigdelset(&all, own);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;

 private:
  sigset_t before_;
};

struct Start {
  char name[16];
  std::function<void()> body;
};

void* runThread(void* argument) noexcept {
  std::unique_ptr<Start> start(static_cast<Start*>(argument));
  pthread_setname_np(pthread_self(), start->name);
  setFloatMode(FloatMode::kIeee);
  try {
    start->body();
  } catch (const std::exception& error) {
    log(LogLevel::kError, "thread ", start->name, " ended: ", error.what());
  } catch (...) {
    log(LogLevel::kError, "thread ", start->name, " ended by an exception");
  }
  return nullptr;
}

bool start(const ThreadOptions& options, std::function<void()> body, bool isDetached,
           pthread_t& thread) noexcept {
  try {
    auto start = std::make_unique<Start>();
    snprintf(start->name, sizeof(start->name), "%s", options.name);
    start->body = std::move(body);
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0) return false;
    if (isDetached) pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    bool ok =
        options.stackBytes == 0 || pthread_attr_setstacksize(&attributes, options.stackBytes) == 0;
    if (ok) {
      BlockedSignals blocked;
      ok = pthread_create(&thread, &attributes, runThread, start.get()) == 0;
    }
    pthread_attr_destroy(&attributes);
    if (ok) (void)start.release();
    return ok;
  } catch (...) {
    return false;  // no memory
  }
}

}  // namespace

bool startDetachedThread(const ThreadOptions& options, std::function<void()> body) noexcept {
  pthread_t thread;
  return start(options, std::move(body), /*isDetached=*/true, thread);
}

bool ThreadGroup::start(const ThreadOptions& options, std::function<void()> body) noexcept {
  try {
    threads_.reserve(threads_.size() + 1);
  } catch (...) {
    return false;
  }
  pthread_t thread;
  if (!isthmus::start(options, std::move(body), /*isDetached=*/false, thread)) return false;
  threads_.push_back(thread);
  return true;
}

void ThreadGroup::join() {
  for (pthread_t thread : threads_) pthread_join(thread, nullptr);
  threads_.clear();
}

void ThreadGroup::detach() {
  for (pthread_t thread : threads_) pthread_detach(thread);
  threads_.clear();
}

}  // namespace isthmus

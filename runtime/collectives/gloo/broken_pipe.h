// Keeps a connection that the other side has closed from ending the process.
#pragma once

#include <csignal>
#include <ctime>

namespace isthmus {

// While it lives, a write of this thread to a closed connection raises no SIGPIPE: it fails with
// EPIPE, as everywhere else. Threads that are started meanwhile inherit that for good. (Gloo writes
// without MSG_NOSIGNAL; the signal's disposition belongs to the whole process, and so to the user.)
class NoBrokenPipeSignal {
 public:
  NoBrokenPipeSignal() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    wasPending_ = isPending();
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoBrokenPipeSignal() {
    // What came meanwhile would be delivered with the old mask; what came before is not ours.
    const timespec now{};
    if (!wasPending_ && isPending()) sigtimedwait(&pipe_, nullptr, &now);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoBrokenPipeSignal(const NoBrokenPipeSignal&) = delete;
  NoBrokenPipeSignal& operator=(const NoBrokenPipeSignal&) = delete;

 private:
  static bool isPending() {
    sigset_t pending;
    sigemptyset(&pending);
    sigpending(&pending);
    return sigismember(&pending, SIGPIPE) == 1;
  }

  sigset_t pipe_{};
  sigset_t before_{};
  bool wasPending_ = false;
};

}  // namespace isthmus

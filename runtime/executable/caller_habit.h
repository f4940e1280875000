// Whether the caller of a device waits for what it launches, or runs ahead of it.
//
// A launch that is handed to the device's thread costs its caller nothing but the thread's wake-up:
// good for whoever has more to do meanwhile. Whoever asks for the results at once waits for that
// wake-up, and for their own, which is longer than a short program takes.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace isthmus {

// Safe from any thread; an opinion, so callers that come at the same time may confuse it.
class CallerHabit {
 public:
  using Clock = std::chrono::steady_clock;

  // A launch begins: its number, which is not 0.
  uint32_t beginLaunch() {
    uint32_t last = last_.load(std::memory_order_relaxed);
    uint32_t hits = hits_.load(std::memory_order_relaxed);
    bool isHit = last != 0 && asked_.load(std::memory_order_relaxed) == last;
    hits_.store(isHit ? std::min(hits + 1, kMost) : hits / 2, std::memory_order_relaxed);
    uint32_t number = std::max(last + 1, 1u);
    last_.store(number, std::memory_order_relaxed);
    return number;
  }

  // The last launch returns to its caller.
  void endLaunch(Clock::time_point now = Clock::now()) {
    returned_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
  }

  // Somebody wants to know when a result of the launch of this number is there.
  void ask(uint32_t number, Clock::time_point now = Clock::now()) {
    if (number != last_.load(std::memory_order_relaxed)) return;
    Clock::duration since =
        now.time_since_epoch() - Clock::duration(returned_.load(std::memory_order_relaxed));
    if (since < kAtOnce) asked_.store(number, std::memory_order_relaxed);
  }

  // Most of the last launches were asked for at once.
  bool waits() const { return hits_.load(std::memory_order_relaxed) >= kEnough; }

 private:
  // About what it takes to wake the device's thread, and then the one that waits for it.
  static constexpr std::chrono::microseconds kAtOnce{100};
  static constexpr uint32_t kEnough = 3, kMost = 8;

  std::atomic<uint32_t> last_{0}, asked_{0}, hits_{0};
  std::atomic<Clock::rep> returned_{0};
};

}  // namespace isthmus

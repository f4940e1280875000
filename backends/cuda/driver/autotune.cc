#include "backends/cuda/driver/autotune.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <optional>
#include <random>

#include "isthmus/flags.h"
#include "isthmus/log.h"

namespace isthmus::cuda {
namespace {

// About two microseconds of an H100.
constexpr double kMinProducts = 5e8, kMinBytes = 4 << 20;
// More than this is not taken from programs to try things in.
constexpr size_t kMaxBytes = size_t{4} << 30;
// Of one candidate's runs, and of all: those that are left then are not tried.
constexpr int64_t kEnoughNs = 500'000, kMaxNs = 400'000'000;
constexpr int64_t kMaxRuns = 16;
// So long are devices given work until they run as fast as they will.
constexpr int64_t kWarmUpNs = 2'000'000;
// What is slower than the best by this after one run is not run again; what is to replace it must
// be faster than it by this.
constexpr double kHopeless = 1.3, kClearly = 0.98;

// Numbers between 2^-7 and 2, in each of the floating-point types that libraries multiply: zeros
// would cost less energy, and devices be faster than they are.
const std::vector<uint16_t>& ordinaryNumbers() {
  static const std::vector<uint16_t>& numbers = *[] {
    auto* made = new std::vector<uint16_t>(32 << 10);
    std::minstd_rand random(1);
    for (uint16_t& one : *made) {
      const auto bits = static_cast<uint32_t>(random() >> 8);
      one = static_cast<uint16_t>((bits & 0x83ffU) | 0x3c00U);
    }
    return made;
  }();
  return numbers;
}

class Timing {
 public:
  Timing(Driver& driver, int device, const Candidates& candidates)
      : driver_(driver), device_(device), candidates_(candidates) {}
  ~Timing() {
    for (void* buffer : buffers_) driver_.free(device_, Queue::kCompute, buffer);
  }
  Timing(const Timing&) = delete;
  Timing& operator=(const Timing&) = delete;

  // kResourceExhausted where there is no memory.
  Status allocate() {
    for (size_t bytes : candidates_.bytes) {
      // To be tried out is not worth what makes room: others would lose what they keep.
      ISTHMUS_ASSIGN_OR_RETURN(void* buffer, driver_.tryAllocate(device_, Queue::kCompute, bytes));
      buffers_.push_back(buffer);
    }
    for (size_t i = 0; i + 1 < buffers_.size(); ++i) {
      ISTHMUS_RETURN_IF_ERROR(fill(static_cast<char*>(buffers_[i]), candidates_.bytes[i]));
    }
    return {};
  }

  StatusOr<size_t> fastest() {
    std::optional<size_t> best;
    double bestNs = 0;
    Status failure;
    for (size_t one = 0; one < candidates_.count && spentNs_ < kMaxNs; ++one) {
      StatusOr<double> ns = timed(one, best ? std::optional(bestNs) : std::nullopt);
      if (!ns.ok()) {
        if (failure.ok()) failure = ns.status();
        continue;
      }
      if (best && *ns > bestNs * kClearly) continue;
      best = one;
      bestNs = *ns;
    }
    if (best) return *best;
    return failure.ok() ? internalError("there is nothing to time") : failure;
  }

 private:
  // The first numbers by the host, the others from what is there.
  Status fill(char* buffer, size_t bytes) {
    const std::vector<uint16_t>& numbers = ordinaryNumbers();
    size_t filled = std::min(bytes, numbers.size() * sizeof(numbers[0]));
    ISTHMUS_RETURN_IF_ERROR(driver_.copy(device_, Queue::kCompute, buffer, numbers.data(), filled));
    while (filled < bytes) {
      const size_t more = std::min(filled, bytes - filled);
      ISTHMUS_RETURN_IF_ERROR(
          driver_.copy(device_, Queue::kCompute, buffer + filled, buffer, more));
      filled += more;
    }
    return {};
  }

  // Of one run, on average over so many.
  StatusOr<double> average(size_t candidate, int64_t runs) {
    ISTHMUS_ASSIGN_OR_RETURN(DeviceEvent begin, driver_.recordTimed(device_, Queue::kCompute));
    for (int64_t i = 0; i < runs; ++i) {
      ISTHMUS_RETURN_IF_ERROR(candidates_.run(candidate, buffers_));
    }
    ISTHMUS_ASSIGN_OR_RETURN(DeviceEvent end, driver_.recordTimed(device_, Queue::kCompute));
    ISTHMUS_RETURN_IF_ERROR(driver_.await(device_, end));
    ISTHMUS_ASSIGN_OR_RETURN(int64_t ns, driver_.elapsedNs(device_, begin, end));
    spentNs_ += ns;
    return static_cast<double>(std::max<int64_t>(ns, 1)) / static_cast<double>(runs);
  }

  StatusOr<double> timed(size_t candidate, std::optional<double> best) {
    // The first time its code is loaded, and the device may have been idle.
    ISTHMUS_RETURN_IF_ERROR(average(candidate, 1).status());
    ISTHMUS_ASSIGN_OR_RETURN(double once, average(candidate, 1));
    if (best && once > *best * kHopeless) return once;
    if (!isWarm_) {
      const auto runs = static_cast<int64_t>(static_cast<double>(kWarmUpNs) / once);
      ISTHMUS_RETURN_IF_ERROR(average(candidate, std::clamp<int64_t>(runs, 1, 100)).status());
      isWarm_ = true;
    }
    const auto runs = static_cast<int64_t>(static_cast<double>(kEnoughNs) / once);
    return average(candidate, std::clamp<int64_t>(runs, 1, kMaxRuns));
  }

  Driver& driver_;
  int device_;
  const Candidates& candidates_;
  std::vector<void*> buffers_;
  int64_t spentNs_ = 0;
  bool isWarm_ = false;
};

}  // namespace

size_t maxCandidates() {
  return static_cast<size_t>(std::max<int64_t>(1, flagInt("ISTHMUS_CUDA_AUTOTUNE")));
}

bool isWorthTiming(double products, double bytes) {
  return products >= kMinProducts || bytes >= kMinBytes;
}

StatusOr<size_t> fastestOf(Driver& driver, int device, const Candidates& candidates) {
  const std::vector<size_t>& bytes = candidates.bytes;
  if (candidates.count <= 1 || std::accumulate(bytes.begin(), bytes.end(), size_t{0}) > kMaxBytes) {
    return size_t{0};
  }
  Timing timing(driver, device, candidates);
  Status allocated = timing.allocate();
  if (allocated.code() == StatusCode::kResourceExhausted) return size_t{0};
  ISTHMUS_RETURN_IF_ERROR(allocated);
  return timing.fastest();
}

}  // namespace isthmus::cuda

// fft: isthmus_rt_fft and its descriptor.
//
// Forward transforms are unscaled sums with exp(-2 pi i j k / n); inverse ones are divided by the
// number of points. Real transforms keep the first n / 2 + 1 values of the last dimension, of which
// IRFFT ignores the imaginary parts of the first and, for even n, the last. Any length is
// O(n log n); accuracy is that of twiddle factors rounded correctly from double precision.
#pragma once

#include <cstdint>
#include <span>

#include "backends/cpu/abi.h"
#include "isthmus/status.h"
#include "isthmus/types.h"

namespace isthmus::cpu {

// The values are those of StableHLO's FftType.
enum class FftType : int32_t { kFft = 0, kIfft = 1, kRfft = 2, kIrfft = 3 };

inline constexpr int kMaxFftRank = 3;

// buffers: operand, result. The transformed dimensions are the last `rank` ones. The operand of FFT
// and IFFT may be the result's memory.
struct FftDescriptor {
  FftType type;
  int32_t isDouble;  // 1: f64 and c128; 0: f32 and c64
  int32_t rank;      // 1 to kMaxFftRank
  int32_t reserved;
  int64_t batch;                 // product of the other dimensions
  int64_t lengths[kMaxFftRank];  // fft_length: of the real side in real transforms
};

// Fails when the lengths do not fit the operand, and on operands of other element types.
StatusOr<FftDescriptor> makeFftDescriptor(FftType type, ElementType operandType,
                                          std::span<const int64_t> operandDims,
                                          std::span<const int64_t> fftLength);

extern "C" int32_t isthmus_rt_fft(IsthmusRun* run, const void* descriptor, void* const* buffers);

}  // namespace isthmus::cpu

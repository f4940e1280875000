// Packing operands of 8 or 16 bits into panels whose 32-bit elements hold several steps of a lane.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/block_transpose.h"
#include "backends/cpu/kernels/gemm/gemm_kernels.h"
#include "backends/cpu/kernels/vectors.h"

namespace isthmus::cpu::ISTHMUS_ISA {
namespace {

typedef uint32_t PackBlock __attribute__((vector_size(32)));
typedef uint32_t PackBlockLoose __attribute__((vector_size(32), aligned(1), may_alias));

// Panels of Raw (uint8_t or uint16_t): element (group of steps, lane) at group * width + lane, its
// steps from the lowest bits up. All bits of an element are xored with `flip`; lanes and steps that
// are missing count as zero before that.
template <typename Raw, int width, uint32_t flip>
class NarrowPacker {
 public:
  static constexpr int kSteps = sizeof(uint32_t) / sizeof(Raw);

  static void pack(uint32_t* out, const PanelSource& s) {
    if (s.lanesContiguous && s.lanes == width) return packRows(out, s);
    const bool aligned = s.kRun % kSteps == 0 && s.kPhase % kSteps == 0;
    if (aligned && s.kRun >= kBlock * kSteps && !s.lanesContiguous) return packColumns(out, s);
    packElements(out, s, 0, s.kc);
  }

 private:
  static constexpr int kBlock = 8;  // lanes and groups that are transposed in registers
  static constexpr int kVector = kLanes<uint32_t>;

  static const Raw* dataOf(const PanelSource& s) { return static_cast<const Raw*>(s.data); }

  static void packElements(uint32_t* out, const PanelSource& s, int64_t begin, int64_t end) {
    const Raw* data = dataOf(s);
    for (int64_t k = begin; k < end; k += kSteps) {
      uint32_t* row = out + k / kSteps * width;
      for (int i = 0; i < width; ++i) {
        uint32_t element = 0;
        if (i < s.lanes && s.laneOffsets[i] != kZeroLane) {
          for (int step = 0; step < kSteps && k + step < end; ++step) {
            element |= uint32_t{data[s.laneOffsets[i] + s.kOffsets[k + step]]}
                       << (8 * sizeof(Raw) * step);
          }
        }
        row[i] = element ^ flip;
      }
    }
  }

  // Lanes side by side in memory: rows of as many steps as an element holds are interleaved.
  static void packRows(uint32_t* out, const PanelSource& s) {
    const Raw* data = dataOf(s) + s.laneOffsets[0];
    constexpr int whole = width / kVector * kVector;
    int64_t k = 0;
    for (; k + kSteps <= s.kc; k += kSteps) {
      const Raw* rows[kSteps];
#pragma clang loop unroll(full)
      for (int step = 0; step < kSteps; ++step) {
        rows[step] = data + s.kOffsets[k + step];
        // Rows far apart are no stream that the processor would see; the next panel's are there.
        __builtin_prefetch(rows[step] + width);
      }
#pragma clang loop unroll(full)
      for (int i = 0; i < whole; i += kVector) {
        Vec<uint32_t> block = Vec<uint32_t>{} ^ flip;
#pragma clang loop unroll(full)
        for (int step = 0; step < kSteps; ++step) {
          using Few = typename VectorOf<Raw, kVector * sizeof(Raw)>::Loose;
          block ^=
              __builtin_convertvector(*reinterpret_cast<const Few*>(rows[step] + i), Vec<uint32_t>)
              << (8 * sizeof(Raw) * step);
        }
        store(out + i, block);
      }
#pragma clang loop unroll(full)
      for (int i = whole; i < width; ++i) {
        uint32_t element = 0;
        for (int step = 0; step < kSteps; ++step) {
          element |= uint32_t{rows[step][i]} << (8 * sizeof(Raw) * step);
        }
        out[i] = element ^ flip;
      }
      out += width;
    }
    if (k < s.kc) packElements(out - k / kSteps * width, s, k, s.kc);
  }

  // Steps side by side in memory: elements are there already, and blocks of them are transposed.
  static void packColumns(uint32_t* out, const PanelSource& s) {
    int64_t left = s.kRun - s.kPhase;
    for (int64_t k = 0; k < s.kc;) {
      const int64_t run = left < s.kc - k ? left : s.kc - k;
      left = s.kRun;
      const int64_t blocks = run / (kBlock * kSteps);
      if (blocks > 0) packBlocks(out, s, k, blocks);
      const int64_t done = blocks * kBlock * kSteps;
      if (done < run) packElements(out, s, k + done, k + run);
      k += run;
    }
  }

  static void packBlocks(uint32_t* out, const PanelSource& s, int64_t k, int64_t blocks) {
    constexpr int groups = (width + kBlock - 1) / kBlock;
    const Raw* data = dataOf(s) + s.kOffsets[k];
    uint32_t* row = out + k / kSteps * width;
    for (int64_t block = 0; block < blocks; ++block) {
      PackBlock r[groups][kBlock];
#pragma clang loop unroll(full)
      for (int g = 0; g < groups; ++g) {
#pragma clang loop unroll(full)
        for (int i = 0; i < kBlock; ++i) {
          const int lane = g * kBlock + i;
          const bool present = lane < s.lanes && s.laneOffsets[lane] != kZeroLane;
          r[g][i] = present ? *reinterpret_cast<const PackBlockLoose*>(data + s.laneOffsets[lane])
                            : PackBlock{};
          r[g][i] ^= flip;
        }
        transposeBlock<PackBlock, kBlock>(r[g]);
      }
      // The lanes past the panel's width are overwritten by the next row, or lie in its slack.
#pragma clang loop unroll(full)
      for (int i = 0; i < kBlock; ++i) {
#pragma clang loop unroll(full)
        for (int g = 0; g < groups; ++g) {
          *reinterpret_cast<PackBlockLoose*>(row + i * width + g * kBlock) = r[g][i];
        }
      }
      data += kBlock * kSteps;
      row += kBlock * width;
    }
  }
};

}  // namespace
}  // namespace isthmus::cpu::ISTHMUS_ISA

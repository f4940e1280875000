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
// steps from the lowest bits up, which are what Source is in memory, extended by sign or by zero if
// that is narrower. All bits of an element are xored with `flip`; lanes and steps that are missing
// count as zero before that.
template <typename Raw, int width, uint32_t flip, typename Source = Raw>
class NarrowPacker {
 public:
  static constexpr int kSteps = sizeof(uint32_t) / sizeof(Raw);

  static void pack(uint32_t* out, const PanelSource& s) {
    if (s.lanesContiguous) {
      return s.lanes == width ? packRows(out, s, width) : packRows(out, s, s.lanes);
    }
    if (areSideBySide(s) && s.kRun >= kBlock * kSteps) return packColumns(out, s);
    packElements(out, s, 0, s.kc);
  }

 private:
  static constexpr int kBlock = 8;  // lanes and groups that are transposed in registers

  static const Source* dataOf(const PanelSource& s) { return static_cast<const Source*>(s.data); }

  // Whether the steps of each element lie side by side.
  static bool areSideBySide(const PanelSource& s) {
    return s.kRun % kSteps == 0 && s.kPhase % kSteps == 0;
  }

  static uint32_t stepAt(Source value, int step) {
    return uint32_t{static_cast<Raw>(value)} << (8 * sizeof(Raw) * step);
  }

  static uint32_t elementAt(const Source* steps) {
    uint32_t element = 0;
    for (int step = 0; step < kSteps; ++step) element |= stepAt(steps[step], step);
    return element;
  }

  static void packElements(uint32_t* out, const PanelSource& s, int64_t begin, int64_t end) {
    const Source* data = dataOf(s);
    const bool sideBySide = areSideBySide(s);
    for (int64_t k = begin; k < end; k += kSteps) {
      uint32_t* row = out + k / kSteps * width;
      for (int i = 0; i < width; ++i) {
        uint32_t element = 0;
        if (i < s.lanes && s.laneOffsets[i] != kZeroLane) {
          const Source* lane = data + s.laneOffsets[i];
          if (sideBySide && k + kSteps <= end) {
            element = elementAt(lane + s.kOffsets[k]);
          } else {
            for (int step = 0; step < kSteps && k + step < end; ++step) {
              element |= stepAt(lane[s.kOffsets[k + step]], step);
            }
          }
        }
        row[i] = element ^ flip;
      }
    }
  }

  // Interleaves lanes [lane, end) of rows of as many steps as an element holds, `count` at a time
  // as far as there are so many, the last ones in smaller powers of two.
  template <int count>
  static inline __attribute__((always_inline)) void interleave(uint32_t* out,
                                                               const Source* const* rows, int lane,
                                                               int end) {
    using Few = typename VectorOf<Source, count * sizeof(Source)>::Loose;
    using Extended = typename VectorOf<Raw, count * sizeof(Raw)>::Type;
    using Elements = VectorOf<uint32_t, count * sizeof(uint32_t)>;
    for (; lane + count <= end; lane += count) {
      auto block = typename Elements::Type{} ^ flip;
#pragma clang loop unroll(full)
      for (int step = 0; step < kSteps; ++step) {
        const auto few =
            __builtin_convertvector(*reinterpret_cast<const Few*>(rows[step] + lane), Extended);
        block ^= __builtin_convertvector(few, typename Elements::Type) << (8 * sizeof(Raw) * step);
      }
      *reinterpret_cast<typename Elements::Loose*>(out + lane) = block;
    }
    if constexpr (count > 1) interleave<count / 2>(out, rows, lane, end);
  }

  // Lanes side by side in memory.
  static inline __attribute__((always_inline)) void packRows(uint32_t* out, const PanelSource& s,
                                                             int lanes) {
    const Source* data = dataOf(s) + s.laneOffsets[0];
    int64_t k = 0;
    for (; k + kSteps <= s.kc; k += kSteps) {
      const Source* rows[kSteps];
#pragma clang loop unroll(full)
      for (int step = 0; step < kSteps; ++step) {
        rows[step] = data + s.kOffsets[k + step];
        // Rows far apart are no stream that the processor would see; the next panel's are there.
        __builtin_prefetch(rows[step] + width);
      }
      interleave<kLanes<uint32_t>>(out, rows, 0, lanes);
      for (int i = lanes; i < width; ++i) out[i] = flip;
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

  // The next kBlock elements of a lane.
  static inline __attribute__((always_inline)) PackBlock blockAt(const Source* steps) {
    using Steps = typename VectorOf<Source, kBlock * kSteps * sizeof(Source)>::Loose;
    using Extended = typename VectorOf<Raw, sizeof(PackBlock)>::Type;
    return reinterpret_cast<PackBlock>(
        __builtin_convertvector(*reinterpret_cast<const Steps*>(steps), Extended));
  }

  static void packBlocks(uint32_t* out, const PanelSource& s, int64_t k, int64_t blocks) {
    constexpr int groups = (width + kBlock - 1) / kBlock;
    const Source* data = dataOf(s) + s.kOffsets[k];
    uint32_t* row = out + k / kSteps * width;
    for (int64_t block = 0; block < blocks; ++block) {
      PackBlock r[groups][kBlock];
#pragma clang loop unroll(full)
      for (int g = 0; g < groups; ++g) {
#pragma clang loop unroll(full)
        for (int i = 0; i < kBlock; ++i) {
          const int lane = g * kBlock + i;
          const bool present = lane < s.lanes && s.laneOffsets[lane] != kZeroLane;
          r[g][i] = present ? blockAt(data + s.laneOffsets[lane]) : PackBlock{};
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

// isthmus_rt_rng: lays out the words of the generators as XLA does.
#include "backends/cpu/kernels/rng/rng.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/kernels/element_access.h"
#include "backends/cpu/kernels/isa.h"
#include "backends/cpu/kernels/parallel_for.h"
#include "backends/cpu/kernels/rng/rng_kernels.h"

namespace isthmus::cpu {
namespace {

constexpr int64_t kBlock = 1024;  // counters at a time

struct Call {
  const RngDescriptor& d;
  RngKernels kernels;
  uint64_t key;
  uint64_t low;
  uint64_t high;
  char* result;

  void store(int64_t index, uint32_t word) const {
    // Less than a byte: the low bits, and copies of the sign if there is one.
    if (d.narrow > 0) word &= (1u << d.narrow) - 1;
    if (d.narrow < 0) {
      const uint32_t sign = 1u << (-d.narrow - 1);
      word = ((word & (2 * sign - 1)) ^ sign) - sign;
    }
    // Little-endian: the low bytes come first.
    std::memcpy(result + index * d.elementBytes, &word, static_cast<size_t>(d.elementBytes));
  }

  int64_t halfSize() const { return (d.splitSize + 1) / 2; }
  int64_t threefryCounters() const {
    return d.elementBytes == 8 ? d.elements : d.splitOuter * halfSize() * d.splitInner;
  }
  int64_t philoxCounters() const {
    return d.elementBytes == 8 ? (d.elements + 1) / 2 : (d.elements + 3) / 4;
  }

  void threefryBlock(int64_t begin, int64_t count) const {
    uint32_t words[2][kBlock];
    kernels.threefry(key, low + static_cast<uint64_t>(begin), count, words[0], words[1]);
    if (d.elementBytes == 8) {
      for (int64_t i = 0; i < count; ++i) {
        uint64_t value = words[0][i] | static_cast<uint64_t>(words[1][i]) << 32;
        std::memcpy(result + (begin + i) * 8, &value, 8);
      }
      return;
    }
    // Runs along the innermost dimension keep both words at constant distances.
    for (int64_t i = 0; i < count;) {
      const int64_t at = begin + i;
      const int64_t inner = at % d.splitInner;
      const int64_t row = at / d.splitInner;  // (outer, half position)
      const int64_t outer = row / halfSize(), position = row % halfSize();
      const int64_t run = std::min(count - i, d.splitInner - inner);
      for (int word = 0; word < 2; ++word) {
        const int64_t split = 2 * position + word;
        if (split >= d.splitSize) continue;
        const int64_t first = (outer * d.splitSize + split) * d.splitInner + inner;
        if (d.elementBytes == 4) {
          std::memcpy(result + first * 4, words[word] + i, static_cast<size_t>(run) * 4);
        } else {
          for (int64_t j = 0; j < run; ++j) store(first + j, words[word][i + j]);
        }
      }
      i += run;
    }
  }

  void philoxBlock(int64_t begin, int64_t count) const {
    uint32_t words[4 * kBlock];
    const uint64_t from = low + static_cast<uint64_t>(begin);
    kernels.philox(key, from, high + (from < low ? 1 : 0), count, words);
    if (d.elementBytes >= 4) {
      const int64_t perCounter = d.elementBytes == 8 ? 2 : 4;
      const int64_t elements = std::min(count * perCounter, d.elements - begin * perCounter);
      std::memcpy(result + begin * perCounter * d.elementBytes, words,
                  static_cast<size_t>(elements * d.elementBytes));
      return;
    }
    const int64_t elements = std::min(count * 4, d.elements - begin * 4);
    for (int64_t i = 0; i < elements; ++i) store(begin * 4 + i, words[i]);
  }

  void blocks(int64_t begin, int64_t end) const {
    const bool threefry = d.algorithm == RngAlgorithm::kThreeFry;
    const int64_t counters = threefry ? threefryCounters() : philoxCounters();
    for (int64_t block = begin; block < end; ++block) {
      const int64_t count = std::min(kBlock, counters - block * kBlock);
      threefry ? threefryBlock(block * kBlock, count) : philoxBlock(block * kBlock, count);
    }
  }
};

int32_t narrowBits(ElementType type) {
  const int bits = elementBits(type);
  if (bits >= 8) return 0;
  return elementClass(type) == ElementClass::kSigned ? -bits : bits;
}

}  // namespace

StatusOr<RngDescriptor> makeRngDescriptor(RngAlgorithm algorithm, int64_t stateWords,
                                          ElementType resultType,
                                          std::span<const int64_t> resultDims) {
  const bool threefry = algorithm == RngAlgorithm::kThreeFry;
  if (threefry ? stateWords != 2 : stateWords != 2 && stateWords != 3) {
    return invalidArgument("rng_bit_generator: got a state of ", stateWords, " words, expected 2",
                           threefry ? "" : " or 3");
  }
  switch (elementClass(resultType)) {
    case ElementClass::kSigned:
    case ElementClass::kUnsigned:
    case ElementClass::kFloat:
      break;
    default:
      return unimplemented("rng_bit_generator: results of element type ",
                           static_cast<int>(resultType));
  }
  RngDescriptor d{};
  d.algorithm = threefry ? RngAlgorithm::kThreeFry : RngAlgorithm::kPhilox;
  d.stateWords = static_cast<int32_t>(stateWords);
  d.elementBytes = static_cast<int32_t>(storageBytes(resultType));
  d.narrow = narrowBits(resultType);
  d.elements = 1;
  for (int64_t dim : resultDims) d.elements *= dim;
  size_t split = resultDims.size();
  for (size_t i = 0; i < resultDims.size() && split == resultDims.size(); ++i) {
    if (resultDims[i] % 2 == 0) split = i;
  }
  if (split == resultDims.size() && !resultDims.empty()) {
    split = static_cast<size_t>(std::max_element(resultDims.begin(), resultDims.end()) -
                                resultDims.begin());
  }
  d.splitOuter = d.splitSize = d.splitInner = 1;
  for (size_t i = 0; i < resultDims.size(); ++i) {
    (i < split ? d.splitOuter : i == split ? d.splitSize : d.splitInner) *= resultDims[i];
  }
  return d;
}

extern "C" int32_t isthmus_rt_rng(IsthmusRun* run, const void* descriptor, void* const* buffers) {
  const auto& d = *static_cast<const RngDescriptor*>(descriptor);
  uint64_t state[3] = {};
  std::memcpy(state, buffers[0], static_cast<size_t>(d.stateWords) * 8);
  Call call{d,
            forHost(v2::rngKernels, v3::rngKernels, v4::rngKernels)(),
            state[0],
            state[1],
            d.stateWords == 3 ? state[2] : state[0],
            static_cast<char*>(buffers[2])};
  const bool threefry = d.algorithm == RngAlgorithm::kThreeFry;
  const int64_t counters = threefry ? call.threefryCounters() : call.philoxCounters();
  const int64_t blocks = (counters + kBlock - 1) / kBlock;
  if (blocks > 0 && d.elements > 0) {
    if (blocks < 4) {
      call.blocks(0, blocks);
    } else {
      parallelFor(*run->services, blocks, 4,
                  [&](int64_t begin, int64_t end) { call.blocks(begin, end); });
    }
  }
  const uint64_t newLow = state[1] + static_cast<uint64_t>(counters);
  if (!threefry && newLow < state[1]) ++state[2];
  state[1] = newLow;
  std::memcpy(buffers[1], state, static_cast<size_t>(d.stateWords) * 8);
  return 0;
}

}  // namespace isthmus::cpu

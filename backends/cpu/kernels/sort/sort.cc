// isthmus_rt_sort: radix sort of keys, or merge sort with a comparator.
#include "backends/cpu/kernels/sort/sort.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "backends/cpu/kernels/parallel_for.h"
#include "backends/cpu/kernels/sort/radix_sort.h"
#include "backends/cpu/kernels/sort/sort_keys.h"
#include "runtime/scratch.h"

namespace isthmus::cpu {
namespace {

using Wide = unsigned __int128;

// One row along the sorted dimension: element i of operand o is at base + i * stride.
struct Row {
  int64_t base;
  int64_t stride;
};

Row rowOf(const SortDescriptor& d, int64_t index) {
  return {index / d.inner * d.length * d.inner + index % d.inner, d.inner};
}

template <typename T>
void gatherAs(const void* from, void* to, Row row, const uint32_t* order, int64_t count) {
  const T* source = static_cast<const T*>(from) + row.base;
  T* target = static_cast<T*>(to) + row.base;
  for (int64_t i = 0; i < count; ++i) target[i * row.stride] = source[order[i] * row.stride];
}

struct Bytes16 {
  uint64_t parts[2];
};

void gather(const void* from, void* to, int32_t bytes, Row row, const uint32_t* order,
            int64_t count) {
  switch (bytes) {
    case 1:
      return gatherAs<uint8_t>(from, to, row, order, count);
    case 2:
      return gatherAs<uint16_t>(from, to, row, order, count);
    case 4:
      return gatherAs<uint32_t>(from, to, row, order, count);
    case 8:
      return gatherAs<uint64_t>(from, to, row, order, count);
    default:
      return gatherAs<Bytes16>(from, to, row, order, count);
  }
}

// Copies a row of an operand out, so that the result may be written over it.
void copyRow(const void* from, void* to, int32_t bytes, Row row, int64_t count) {
  const char* source = static_cast<const char*>(from) + row.base * bytes;
  char* target = static_cast<char*>(to);
  if (row.stride == 1) {
    std::memcpy(target, source, static_cast<size_t>(count * bytes));
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(target + i * bytes, source + i * row.stride * bytes, static_cast<size_t>(bytes));
  }
}

struct Call {
  const SortDescriptor& d;
  const int32_t* elementBytes;  // of each operand
  void* const* operands;
  void* const* results;
  SortComparator compare;
  RunServices* services;  // for sharing one row between threads, else null
  std::atomic<bool> outOfMemory{false};

  // Scratch of one row: two arrays of items, the order, one operand, counters.
  size_t itemBytes() const { return sizeof(Wide) * static_cast<size_t>(d.length); }
  size_t orderBytes() const {
    return (sizeof(uint32_t) * static_cast<size_t>(d.length) + 63) / 64 * 64;
  }
  size_t scratchBytes() const {
    return 2 * itemBytes() + 2 * orderBytes() + 16 * static_cast<size_t>(d.length) +
           radixCounterBytes();
  }
};

struct RowMemory {
  char* items;
  char* spare;
  uint32_t* order;
  uint32_t* otherOrder;
  char* copy;
  uint32_t* counters;

  RowMemory(const Call& call, char* memory) {
    items = memory;
    spare = items + call.itemBytes();
    order = reinterpret_cast<uint32_t*>(spare + call.itemBytes());
    otherOrder = reinterpret_cast<uint32_t*>(reinterpret_cast<char*>(order) + call.orderBytes());
    copy = reinterpret_cast<char*>(otherOrder) + call.orderBytes();
    counters = reinterpret_cast<uint32_t*>(copy + 16 * static_cast<size_t>(call.d.length));
  }
};

// Writes all results of a row, whose i-th element is the order[i]-th of the operands.
void writeRow(const Call& call, Row row, const RowMemory& memory, const uint32_t* order) {
  for (int32_t o = 0; o < call.d.numOperands; ++o) {
    const int32_t bytes = call.elementBytes[o];
    if (call.operands[o] != call.results[o]) {
      gather(call.operands[o], call.results[o], bytes, row, order, call.d.length);
      continue;
    }
    copyRow(call.operands[o], memory.copy, bytes, row, call.d.length);
    char* target = static_cast<char*>(call.results[o]) + row.base * bytes;
    for (int64_t i = 0; i < call.d.length; ++i) {
      std::memcpy(target + i * row.stride * bytes, memory.copy + order[i] * int64_t{bytes},
                  static_cast<size_t>(bytes));
    }
  }
}

// Sorts by one key of bits up to 32 (items of 64 bits) or 64 (items of 128): the key above the
// position. `first` says that positions are still those of the operand.
template <typename K, typename Item>
void sortByKey(const Call& call, Row row, const SortKey& key, const void* operand,
               const RowMemory& memory, bool first) {
  constexpr int positionBits = sizeof(Item) * 4;
  const int64_t n = call.d.length;
  Item* items = reinterpret_cast<Item*>(memory.items);
  Item* spare = reinterpret_cast<Item*>(memory.spare);
  withKeyMapper<K>(key, [&](auto map) {
    for (int64_t i = 0; i < n; ++i) {
      int64_t at = first ? i : memory.order[i];
      items[i] =
          Item(map(operand, row.base + at * row.stride)) << positionBits | static_cast<Item>(i);
    }
  });
  if (n < kMinRadixItems) {
    std::sort(items, items + n);  // no two are equal
  } else {
    items = radixSort(items, spare, n, positionBits, sizeof(K) * 8, memory.counters, call.services);
  }
  if (first) {
    for (int64_t i = 0; i < n; ++i) memory.order[i] = static_cast<uint32_t>(items[i]);
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    memory.otherOrder[i] = memory.order[static_cast<uint32_t>(items[i])];
  }
  std::memcpy(memory.order, memory.otherOrder, static_cast<size_t>(n) * sizeof(uint32_t));
}

void sortRowByKeys(const Call& call, Row row, const RowMemory& memory) {
  // Least significant key first; each sort is stable.
  for (int32_t k = call.d.numKeys; k-- > 0;) {
    const SortKey& key = call.d.keys[k];
    const bool first = k == call.d.numKeys - 1;
    switch (sortKeyBits(key.type)) {
      case 8:
        sortByKey<uint8_t, uint64_t>(call, row, key, call.operands[k], memory, first);
        break;
      case 16:
        sortByKey<uint16_t, uint64_t>(call, row, key, call.operands[k], memory, first);
        break;
      case 32:
        sortByKey<uint32_t, uint64_t>(call, row, key, call.operands[k], memory, first);
        break;
      default:
        sortByKey<uint64_t, Wide>(call, row, key, call.operands[k], memory, first);
    }
  }
  writeRow(call, row, memory, memory.order);
}

// Keys alone: nothing but the keys moves, if their mapping can be undone. Not so when zeros or
// NaNs that differ in bits count as equal.
template <typename K>
bool sortBareKeys(const Call& call, Row row, const RowMemory& memory) {
  const int64_t n = call.d.length;
  const SortKey& key = call.d.keys[0];
  const K* source = static_cast<const K*>(call.operands[0]) + row.base;
  K* target = static_cast<K*>(call.results[0]) + row.base;
  constexpr K sign = K(1) << (sizeof(K) * 8 - 1);
  const ElementClass kind = elementClass(key.type);
  const bool isFloat = kind == ElementClass::kFloat;
  if (isFloat && key.order == SortOrder::kNumeric) {
    K infinity = 0;
    if constexpr (sizeof(K) == 2) infinity = key.type == ElementType::kBF16 ? 0x7F80 : 0x7C00;
    if constexpr (sizeof(K) == 4) infinity = 0x7F800000u;
    if constexpr (sizeof(K) == 8) infinity = 0x7FF0000000000000u;
    bool odd = false;
    for (int64_t i = 0; i < n; ++i) {
      K bits = source[i * row.stride];
      odd |= (bits == sign) | (K(bits & K(~sign)) > infinity);
    }
    if (odd) return false;
  }
  K* items = reinterpret_cast<K*>(memory.items);
  K* spare = reinterpret_cast<K*>(memory.spare);
  const K flip = key.descending ? K(~K(0)) : K(0);
  for (int64_t i = 0; i < n; ++i) {
    K bits = source[i * row.stride];
    if (isFloat) bits = totalOrderKey(bits);
    if (kind == ElementClass::kSigned) bits ^= sign;
    items[i] = bits ^ flip;
  }
  if (n < kMinRadixItems) {
    std::sort(items, items + n);
  } else {
    items = radixSort(items, spare, n, 0, sizeof(K) * 8, memory.counters, call.services);
  }
  for (int64_t i = 0; i < n; ++i) {
    K bits = items[i] ^ flip;
    if (isFloat) bits = (bits & sign) ? K(bits ^ sign) : K(~bits);
    if (kind == ElementClass::kSigned) bits ^= sign;
    target[i * row.stride] = bits;
  }
  return true;
}

bool tryBareKeys(const Call& call, Row row, const RowMemory& memory) {
  if (call.d.numOperands != 1 || call.d.numKeys != 1) return false;
  ElementType type = call.d.keys[0].type;
  if (isFloat8OrSmaller(type) || unusedBits(type) != 0) return false;
  switch (sortKeyBits(type)) {
    case 8:
      return sortBareKeys<uint8_t>(call, row, memory);
    case 16:
      return sortBareKeys<uint16_t>(call, row, memory);
    case 32:
      return sortBareKeys<uint32_t>(call, row, memory);
    default:
      return sortBareKeys<uint64_t>(call, row, memory);
  }
}

// Compares elements of one row by position.
class Comparator {
 public:
  Comparator(const Call& call, Row row) : call_(call), row_(row) {}
  bool operator()(uint32_t left, uint32_t right) const {
    return call_.compare(call_.operands, row_.base + left * row_.stride,
                         row_.base + right * row_.stride) != 0;
  }

 private:
  const Call& call_;
  Row row_;
};

// A comparator need not be a strict order (it may be <=, or unordered for NaN): merging only ever
// asks whether the right element goes before the left one, which ends for any answer.
void mergeRuns(const Comparator& before, const uint32_t* from, uint32_t* to, int64_t begin,
               int64_t middle, int64_t end) {
  int64_t l = begin, r = middle;
  for (int64_t i = begin; i < end; ++i) {
    bool takeRight = l == middle || (r < end && before(from[r], from[l]));
    to[i] = takeRight ? from[r++] : from[l++];
  }
}

void insertionSort(const Comparator& before, uint32_t* order, int64_t begin, int64_t end) {
  for (int64_t i = begin + 1; i < end; ++i) {
    uint32_t value = order[i];
    int64_t j = i;
    for (; j > begin && before(value, order[j - 1]); --j) order[j] = order[j - 1];
    order[j] = value;
  }
}

void sortRowByComparator(const Call& call, Row row, const RowMemory& memory) {
  constexpr int64_t kRun = 8;
  const int64_t n = call.d.length;
  const Comparator before(call, row);
  struct Merge {
    const Comparator& before;
    uint32_t* from;
    uint32_t* to;
    int64_t n, width;
  };
  auto initial = [](void* context, int64_t begin, int64_t end) {
    const Merge& m = *static_cast<Merge*>(context);
    for (int64_t run = begin; run < end; ++run) {
      const int64_t first = run * kRun, last = std::min(m.n, first + kRun);
      for (int64_t i = first; i < last; ++i) m.from[i] = static_cast<uint32_t>(i);
      insertionSort(m.before, m.from, first, last);
    }
  };
  auto level = [](void* context, int64_t begin, int64_t end) {
    const Merge& m = *static_cast<Merge*>(context);
    for (int64_t pair = begin; pair < end; ++pair) {
      const int64_t first = pair * 2 * m.width;
      mergeRuns(m.before, m.from, m.to, first, std::min(m.n, first + m.width),
                std::min(m.n, first + 2 * m.width));
    }
  };
  auto run = [&](auto function, Merge& merge, int64_t tiles, int64_t grain) {
    if (call.services && n >= 4096) {
      call.services->parallelFor(tiles, grain, function, &merge);
    } else {
      function(&merge, 0, tiles);
    }
  };
  Merge merge{before, memory.order, memory.otherOrder, n, kRun};
  run(initial, merge, (n + kRun - 1) / kRun, 64);
  for (; merge.width < n; merge.width *= 2) {
    run(level, merge, (n + 2 * merge.width - 1) / (2 * merge.width),
        std::max<int64_t>(1, 1024 / merge.width));
    std::swap(merge.from, merge.to);
  }
  writeRow(call, row, memory, merge.from);
}

void sortRows(Call& call, RunServices& services, int64_t begin, int64_t end) {
  Scratch<char> scratch(services, static_cast<int64_t>(call.scratchBytes()));
  if (!scratch) {
    call.outOfMemory = true;
    return;
  }
  RowMemory memory(call, scratch.data());
  for (int64_t index = begin; index < end; ++index) {
    const Row row = rowOf(call.d, index);
    if (call.d.numKeys == 0) {
      sortRowByComparator(call, row, memory);
    } else if (!tryBareKeys(call, row, memory)) {
      sortRowByKeys(call, row, memory);
    }
  }
}

}  // namespace

std::string sortBytes(SortDescriptor sort, const std::vector<int32_t>& elementBytes) {
  sort.numOperands = static_cast<int32_t>(elementBytes.size());
  std::string bytes(reinterpret_cast<const char*>(&sort), sizeof(sort));
  return bytes.append(reinterpret_cast<const char*>(elementBytes.data()),
                      elementBytes.size() * sizeof(int32_t));
}

extern "C" int32_t isthmus_rt_sort(IsthmusRun* run, const void* descriptor, void* const* buffers) {
  const auto& d = *static_cast<const SortDescriptor*>(descriptor);
  Call call{d,       reinterpret_cast<const int32_t*>(&d + 1),
            buffers, buffers + d.numOperands,
            nullptr, nullptr};
  if (d.numKeys == 0) {
    call.compare = reinterpret_cast<SortComparator>(buffers[2 * d.numOperands]);
  }
  if (d.length >= (int64_t{1} << 32)) {
    return fail(run, unimplemented("sort: a dimension of ", d.length,
                                   " elements, at most 2^32 - 1 are supported"));
  }
  const int64_t rows = d.outer * d.inner;
  if (rows == 0 || d.length == 0) return 0;
  RunServices& services = *run->services;
  const int threads = services.numThreads();
  if (threads == 1 || rows < threads || rows * d.length < 2048) {
    call.services = threads > 1 ? &services : nullptr;
    sortRows(call, services, 0, rows);
  } else {
    parallelFor(services, rows,
                std::max<int64_t>(1, std::min(rows / (4 * threads), 65536 / d.length)),
                [&](int64_t begin, int64_t end) { sortRows(call, services, begin, end); });
  }
  if (call.outOfMemory) return fail(run, resourceExhausted("sort: no scratch memory"));
  return 0;
}

}  // namespace isthmus::cpu

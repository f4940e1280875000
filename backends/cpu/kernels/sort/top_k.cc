// isthmus_rt_top_k: one scan that keeps the k best in a heap, or a full sort when k is large.
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

struct Call {
  const TopKDescriptor& d;
  const void* operand;
  void* values;
  int32_t* indices;
  RunServices& services;
  std::atomic<bool> outOfMemory{false};
};

// Items order by key, then by falling position, so that the largest items are the wanted ones.
template <typename K, typename Item>
void rows(Call& call, int64_t begin, int64_t end) {
  constexpr int positionBits = sizeof(Item) * 4;
  constexpr uint32_t kTop = ~uint32_t{0};
  const int64_t n = call.d.length, k = call.d.k;
  const bool fullSort = k > n / 8 && n >= kMinRadixItems;
  const size_t itemCount = static_cast<size_t>(fullSort ? 2 * n : k);
  const size_t bytes = itemCount * sizeof(Item) + (fullSort ? radixCounterBytes() : 0) + 64;
  Scratch<char> memory(call.services, static_cast<int64_t>(bytes));
  if (!memory) {
    call.outOfMemory = true;
    return;
  }
  Item* items = reinterpret_cast<Item*>(memory.data());
  const int64_t elementBytes = static_cast<int64_t>(storageBytes(call.d.type));
  for (int64_t row = begin; row < end; ++row) {
    Item* best = items;
    withKeyMapper<K>({call.d.type, SortOrder::kTotal, 0}, [&](auto map) {
      auto item = [&](int64_t i) {
        return Item(map(call.operand, row * n + i)) << positionBits |
               Item(kTop - static_cast<uint32_t>(i));
      };
      if (fullSort) {
        // Descending: complemented keys, and positions as they come.
        for (int64_t i = 0; i < n; ++i) {
          items[i] = Item(K(~map(call.operand, row * n + i))) << positionBits | Item(uint32_t(i));
        }
        best = radixSort(items, items + n, n, positionBits, sizeof(K) * 8,
                         reinterpret_cast<uint32_t*>(items + 2 * n), nullptr);
        for (int64_t i = 0; i < k; ++i) {
          best[i] = (best[i] & (Item(kTop))) ^ Item(kTop);  // as the heap leaves it
        }
        return;
      }
      auto greater = [](const Item& a, const Item& b) { return a > b; };
      for (int64_t i = 0; i < k; ++i) items[i] = item(i);
      std::make_heap(items, items + k, greater);
      K worst = k > 0 ? static_cast<K>(items[0] >> positionBits) : K(0);
      constexpr int64_t block = 16;
      int64_t i = k;
      auto offer = [&](int64_t at) {
        // Later positions lose ties, so only greater keys count.
        if (map(call.operand, row * n + at) <= worst) return;
        std::pop_heap(items, items + k, greater);
        items[k - 1] = item(at);
        std::push_heap(items, items + k, greater);
        worst = static_cast<K>(items[0] >> positionBits);
      };
      if (k > 0) {
        for (; i + block <= n; i += block) {
          bool any = false;
          for (int64_t j = 0; j < block; ++j) any |= map(call.operand, row * n + i + j) > worst;
          if (!any) continue;
          for (int64_t j = 0; j < block; ++j) offer(i + j);
        }
        for (; i < n; ++i) offer(i);
      }
      std::sort(items, items + k, greater);
    });
    for (int64_t i = 0; i < k; ++i) {
      int64_t at = kTop - static_cast<uint32_t>(best[i]);
      call.indices[row * k + i] = static_cast<int32_t>(at);
      std::memcpy(static_cast<char*>(call.values) + (row * k + i) * elementBytes,
                  static_cast<const char*>(call.operand) + (row * n + at) * elementBytes,
                  static_cast<size_t>(elementBytes));
    }
  }
}

void dispatch(Call& call, int64_t begin, int64_t end) {
  switch (sortKeyBits(call.d.type)) {
    case 8:
      return rows<uint8_t, uint64_t>(call, begin, end);
    case 16:
      return rows<uint16_t, uint64_t>(call, begin, end);
    case 32:
      return rows<uint32_t, uint64_t>(call, begin, end);
    default:
      return rows<uint64_t, Wide>(call, begin, end);
  }
}

}  // namespace

extern "C" int32_t isthmus_rt_top_k(IsthmusRun* run, const void* descriptor, void* const* buffers) {
  const auto& d = *static_cast<const TopKDescriptor*>(descriptor);
  if (sortKeyBits(d.type) == 0 || d.k > d.length || d.length > INT32_MAX) {
    return fail(run, invalidArgument("top_k: k ", d.k, " of ", d.length, " elements of type ",
                                     static_cast<int>(d.type), " is not supported"));
  }
  if (d.rows == 0 || d.k == 0) return 0;
  Call call{d, buffers[0], buffers[1], static_cast<int32_t*>(buffers[2]), *run->services};
  if (d.rows == 1 || run->services->numThreads() == 1 || d.rows * d.length < 16384) {
    dispatch(call, 0, d.rows);
  } else {
    parallelFor(*run->services, d.rows, std::max<int64_t>(1, 16384 / d.length),
                [&](int64_t begin, int64_t end) { dispatch(call, begin, end); });
  }
  if (call.outOfMemory) return fail(run, resourceExhausted("top_k: no scratch memory"));
  return 0;
}

}  // namespace isthmus::cpu

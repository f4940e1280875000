// Turning sums into elements of the result type.
#include <cstring>

#include "backends/cpu/kernels/element_access.h"
#include "backends/cpu/kernels/gemm/gemm_kernels.h"

namespace isthmus::cpu {
namespace {

template <typename T>
void storeEach(const void* sums, int64_t count, ElementType type, void* result, int64_t index) {
  const T* values = static_cast<const T*>(sums);
  for (int64_t i = 0; i < count; ++i) storeElement<T>(result, type, index + i, values[i]);
}

void storeBfloat16(const float* sums, int64_t count, uint16_t* result) {
  for (int64_t i = 0; i < count; ++i) {
    // floatToBfloat16 without a branch, so that the loop vectorizes.
    uint32_t bits;
    std::memcpy(&bits, sums + i, sizeof(bits));
    uint32_t rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
    uint32_t quiet = (bits >> 16) | 0x40;
    result[i] = static_cast<uint16_t>((bits & 0x7FFFFFFF) > 0x7F800000 ? quiet : rounded);
  }
}

}  // namespace

void storeSums(GemmDomain domain, const void* sums, int64_t count, ElementType type, void* result,
               int64_t index) {
  if (type == floatTypeOf(domain)) {
    const auto bytes = static_cast<int64_t>(storageBytes(type));
    std::memcpy(static_cast<char*>(result) + index * bytes, sums,
                static_cast<size_t>(count * bytes));
    return;
  }
  switch (domain) {
    case GemmDomain::kF32:
    case GemmDomain::kBf16:
      if (type == ElementType::kBF16) {
        if (isAvailable(GemmDomain::kBf16)) {
          if (auto store = gemmKernels(GemmDomain::kBf16).storeBfloats) {
            return store(static_cast<const float*>(sums), count,
                         static_cast<uint16_t*>(result) + index);
          }
        }
        return storeBfloat16(static_cast<const float*>(sums), count,
                             static_cast<uint16_t*>(result) + index);
      }
      if (type == ElementType::kF16) {
        if (auto store = gemmKernels(GemmDomain::kF32).storeHalves) {
          return store(static_cast<const float*>(sums), count,
                       static_cast<uint16_t*>(result) + index);
        }
      }
      return storeEach<float>(sums, count, type, result, index);
    case GemmDomain::kF64:
      return storeEach<double>(sums, count, type, result, index);
    case GemmDomain::kU32:
    case GemmDomain::kPairs:
    case GemmDomain::kBytes:
      return storeEach<uint32_t>(sums, count, type, result, index);
    case GemmDomain::kU64:
      return storeEach<uint64_t>(sums, count, type, result, index);
    case GemmDomain::kC64:
      return storeEach<Complex64>(sums, count, type, result, index);
    case GemmDomain::kC128:
      return storeEach<Complex128>(sums, count, type, result, index);
  }
}

}  // namespace isthmus::cpu

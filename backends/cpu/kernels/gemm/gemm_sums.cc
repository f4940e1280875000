// Turning sums into elements of the result type.
#include <cstring>

#include "backends/cpu/kernels/element_access.h"
#include "backends/cpu/kernels/gemm/gemm_domains.h"

namespace isthmus::cpu {
namespace {

template <typename T>
void storeEach(const void* sums, int64_t count, ElementType type, void* result, int64_t index) {
  const T* values = static_cast<const T*>(sums);
  for (int64_t i = 0; i < count; ++i) storeElement<T>(result, type, index + i, values[i]);
}

// The same of integers, in loops that vectorize.
void storeIntegers(const uint32_t* sums, int64_t count, ElementType type, void* result,
                   int64_t index) {
  auto store = [&]<typename S>(S* to) {
    for (int64_t i = 0; i < count; ++i) to[index + i] = static_cast<S>(sums[i]);
  };
  switch (type) {
    case ElementType::kPred:
      return store(static_cast<bool*>(result));
    case ElementType::kS8:
    case ElementType::kU8:
      return store(static_cast<uint8_t*>(result));
    case ElementType::kS16:
    case ElementType::kU16:
      return store(static_cast<uint16_t*>(result));
    default:
      return storeEach<uint32_t>(sums, count, type, result, index);
  }
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

// By instructions for it where there are such.
auto bfloatStore() -> decltype(&storeBfloat16) {
  if (!isAvailable(GemmDomain::kBf16)) return storeBfloat16;
  const auto store = gemmKernels(GemmDomain::kBf16).storeBfloats;
  return store ? store : storeBfloat16;
}

}  // namespace

void storeSums(GemmDomain domain, const void* sums, int64_t count, ElementType type, void* result,
               int64_t index) {
  if (isDomainType(domain, type)) {
    const auto bytes = static_cast<int64_t>(storageBytes(type));
    std::memcpy(static_cast<char*>(result) + index * bytes, sums,
                static_cast<size_t>(count * bytes));
    return;
  }
  switch (domain) {
    case GemmDomain::kF32:
    case GemmDomain::kBf16:
      if (type == ElementType::kBF16) {
        return bfloatStore()(static_cast<const float*>(sums), count,
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
      return storeIntegers(static_cast<const uint32_t*>(sums), count, type, result, index);
    case GemmDomain::kU64:
      return storeEach<uint64_t>(sums, count, type, result, index);
    case GemmDomain::kC64:
      return storeEach<Complex64>(sums, count, type, result, index);
    case GemmDomain::kC128:
      return storeEach<Complex128>(sums, count, type, result, index);
  }
}

void storeSumRows(GemmDomain domain, const void* sums, int64_t ldSums, int64_t rows,
                  int64_t columns, ElementType type, void* result, int64_t index,
                  int64_t rowStride) {
  const int64_t sumBytes = gemmKernels(domain).elementBytes;
  const bool isBfloat =
      type == ElementType::kBF16 && (domain == GemmDomain::kF32 || domain == GemmDomain::kBf16);
  // What is chosen once for all rows, which may be short.
  const auto store = isBfloat ? bfloatStore() : nullptr;
  for (int64_t row = 0; row < rows; ++row) {
    const char* from = static_cast<const char*>(sums) + row * ldSums * sumBytes;
    const int64_t at = index + row * rowStride;
    if (store) {
      store(reinterpret_cast<const float*>(from), columns, static_cast<uint16_t*>(result) + at);
    } else {
      storeSums(domain, from, columns, type, result, at);
    }
  }
}

}  // namespace isthmus::cpu

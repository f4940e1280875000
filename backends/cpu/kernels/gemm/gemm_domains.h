// Which type sums are kept in, by the types of an operation.
#pragma once

#include <initializer_list>

#include "backends/cpu/kernels/element_access.h"
#include "backends/cpu/kernels/gemm/gemm_kernels.h"

namespace isthmus::cpu {

// For sums of at most `terms` products each.
inline GemmDomain chooseDomain(ElementType lhs, ElementType rhs, ElementType result,
                               int64_t terms = INT64_MAX) {
  switch (elementClass(result)) {
    case ElementClass::kComplex:
      return result == ElementType::kC64 ? GemmDomain::kC64 : GemmDomain::kC128;
    case ElementClass::kFloat:
      for (ElementType type : {lhs, rhs, result}) {
        if (type == ElementType::kF64) return GemmDomain::kF64;
      }
      return GemmDomain::kF32;
    case ElementClass::kPred:
      // A count that cannot wrap to zero.
      return terms <= UINT32_MAX ? GemmDomain::kU32 : GemmDomain::kU64;
    default:
      return storageBytes(result) <= 4 ? GemmDomain::kU32 : GemmDomain::kU64;
  }
}

// Whether a result is the same if elements of the type are read as signed integers of so many
// bytes: these hold all its values, or all that the result keeps of products.
inline bool isReadAs(ElementType type, ElementType result, size_t bytes) {
  const size_t own = storageBytes(type);
  switch (elementClass(type)) {
    case ElementClass::kPred:
      return true;
    case ElementClass::kSigned:
      return own <= bytes;
    case ElementClass::kUnsigned:
      return own < bytes || (own == bytes && storageBytes(result) <= bytes);
    default:
      return false;
  }
}

// The domain whose kernels take the operands as they are, several steps at a time, where there are
// such for `domain`; else `domain`. For operands that are packed by whole elements of panels.
inline GemmDomain narrowDomain(GemmDomain domain, ElementType lhs, ElementType rhs,
                               ElementType result) {
  if (domain == GemmDomain::kF32 && lhs == ElementType::kBF16 && rhs == ElementType::kBF16) {
    return isAvailable(GemmDomain::kBf16) ? GemmDomain::kBf16 : domain;
  }
  if (domain != GemmDomain::kU32) return domain;
  auto areReadAs = [&](size_t bytes) {
    return isReadAs(lhs, result, bytes) && isReadAs(rhs, result, bytes);
  };
  if (areReadAs(1) && isAvailable(GemmDomain::kBytes)) return GemmDomain::kBytes;
  return areReadAs(2) ? GemmDomain::kPairs : domain;
}

// Whether sums of the domain are stored as this type bit for bit.
inline bool isDomainType(GemmDomain domain, ElementType type) {
  switch (domain) {
    case GemmDomain::kF32:
    case GemmDomain::kBf16:
      return type == ElementType::kF32;
    case GemmDomain::kF64:
      return type == ElementType::kF64;
    case GemmDomain::kU32:
    case GemmDomain::kPairs:
    case GemmDomain::kBytes:
      return type == ElementType::kS32 || type == ElementType::kU32;
    case GemmDomain::kU64:
      return type == ElementType::kS64 || type == ElementType::kU64;
    case GemmDomain::kC64:
      return type == ElementType::kC64;
    case GemmDomain::kC128:
      return type == ElementType::kC128;
  }
  return false;
}

}  // namespace isthmus::cpu

// Which type sums are kept in, by the types of an operation.
#pragma once

#include <initializer_list>

#include "backends/cpu/kernels/element_access.h"
#include "backends/cpu/kernels/gemm/gemm_kernels.h"

namespace isthmus::cpu {

inline GemmDomain chooseDomain(ElementType lhs, ElementType rhs, ElementType result) {
  switch (elementClass(result)) {
    case ElementClass::kComplex:
      return result == ElementType::kC64 ? GemmDomain::kC64 : GemmDomain::kC128;
    case ElementClass::kFloat:
      for (ElementType type : {lhs, rhs, result}) {
        if (type == ElementType::kF64) return GemmDomain::kF64;
      }
      return GemmDomain::kF32;
    case ElementClass::kPred:
      return GemmDomain::kU64;  // a count that cannot wrap to zero
    default:
      return storageBytes(result) <= 4 ? GemmDomain::kU32 : GemmDomain::kU64;
  }
}

// Whether 16 bits hold all values of the type.
inline bool fitsPairs(ElementType type) {
  switch (elementClass(type)) {
    case ElementClass::kSigned:
      return storageBytes(type) <= 2;
    case ElementClass::kUnsigned:
      return storageBytes(type) == 1;
    default:
      return false;
  }
}

// The domain whose kernels take the operands as they are, several steps at a time, where there are
// such for `domain`; else `domain`. For operands that are packed by whole elements of panels.
inline GemmDomain narrowDomain(GemmDomain domain, ElementType lhs, ElementType rhs) {
  auto isByte = [](ElementType type) {
    return elementClass(type) == ElementClass::kSigned && storageBytes(type) == 1;
  };
  if (domain == GemmDomain::kF32 && lhs == ElementType::kBF16 && rhs == ElementType::kBF16) {
    return isAvailable(GemmDomain::kBf16) ? GemmDomain::kBf16 : domain;
  }
  if (domain != GemmDomain::kU32 || !fitsPairs(lhs) || !fitsPairs(rhs)) return domain;
  if (isByte(lhs) && isByte(rhs) && isAvailable(GemmDomain::kBytes)) return GemmDomain::kBytes;
  return GemmDomain::kPairs;
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

// The predicates that the op table's type constraints are made of.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "mlir/IR/Attributes.h"
#include "mlir/IR/TypeRange.h"
#include "mlir/IR/Types.h"

namespace isthmus::shlo {

// Kinds of element types; a set of them is their union.
enum ElementKind : uint32_t {
  kBool = 1 << 0,
  kSigned = 1 << 1,  // signless in MLIR
  kUnsigned = 1 << 2,
  kFloat = 1 << 3,
  kComplex = 1 << 4,
  kQuantized = 1 << 5,
  kQuantizedPerAxis = 1 << 6,
  kIndex = 1 << 7,
  kInt32 = 1 << 8,
  kUint32 = 1 << 9,
  kFloat32Or64 = 1 << 10,
};
inline constexpr uint32_t kInteger = kSigned | kUnsigned;
inline constexpr uint32_t kPlainElement = kBool | kInteger | kFloat | kComplex;
inline constexpr uint32_t kAnyElement = kPlainElement | kQuantized;

// All the kinds that an element type belongs to; 0 for one that StableHLO does not know.
uint32_t elementKinds(mlir::Type elementType);

bool isTensor(mlir::Type type, uint32_t kinds);
bool isRankedTensor(mlir::Type type, uint32_t kinds, std::initializer_list<int64_t> ranks);
bool isStaticTensor(mlir::Type type, uint32_t kinds, std::initializer_list<int64_t> ranks);
// Static, or dynamic in exactly one dimension, which has a bound.
bool isStaticOrBoundedTensor(mlir::Type type, uint32_t kinds);

bool isTuple(mlir::Type type);
bool isTensorOrToken(mlir::Type type);
bool isPerTensorOrToken(mlir::Type type);  // not quantized per axis
bool isTensorTokenOrBuffer(mlir::Type type);
bool isTensorTokenOrTuple(mlir::Type type);
bool isAnyValue(mlir::Type type);
bool isStaticTensorOrToken(mlir::Type type);
bool isCustomCallValue(mlir::Type type);

// A dense 1-dimensional tensor attribute of index values.
bool isIndexVector(mlir::Attribute attribute);

// Whether two types can be those of the same value: equal, or different only in what is not known
// statically (dynamic sizes and bounds) or in quantization parameters of the same storage.
bool areCompatible(mlir::Type a, mlir::Type b);
bool areCompatible(mlir::TypeRange a, mlir::TypeRange b);

}  // namespace isthmus::shlo

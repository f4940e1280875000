// How element types are kept in memory and in registers.
#pragma once

#include <optional>

#include "base/types/float_format.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Type.h"
#include "mlir/IR/Types.h"
#include "mlir/IR/Value.h"

namespace isthmus {

enum class ElementClass { kBool, kInteger, kFloat, kComplex };

// An element type as the emitter sees it. `parts` is 2 for complex numbers, whose real and
// imaginary parts are separate registers and adjacent in memory.
struct ElementKind {
  ElementClass cls = ElementClass::kInteger;
  unsigned bits = 0;  // logical width of an integer or of one float part
  bool isSigned = true;
  bool small = false;  // float that is rounded to `format` after each op
  bool isBf16 = false;
  bool isF16 = false;
  std::optional<FloatFormat> format;  // f8 and narrower, which LLVM has no arithmetic for
  unsigned storageBytes = 0;          // of a whole element

  bool isFloat() const { return cls == ElementClass::kFloat; }
  bool isComplex() const { return cls == ElementClass::kComplex; }
  bool isBool() const { return cls == ElementClass::kBool; }
  bool isInteger() const { return cls == ElementClass::kInteger; }
  unsigned parts() const { return isComplex() ? 2 : 1; }
  // Integers narrower than a byte are computed in i8 and wrapped after each op.
  bool isSubByte() const { return isInteger() && bits < 8; }

  // The type of one lane of one part in a register: i1, iN, float or double.
  llvm::Type* computeType(llvm::LLVMContext& context) const;
  // The type of one part in memory: i8 for bools, i16 for bf16, half for f16, i8 for f8.
  llvm::Type* storageType(llvm::LLVMContext& context) const;
  // Bits of the widest register that computing in this type needs per lane.
  unsigned computeBits() const;
};

// Nothing for types that have no place in a kernel (tokens, tuples).
std::optional<ElementKind> elementKind(mlir::Type type);
// Of a ranked tensor's elements; nothing for other values.
std::optional<ElementKind> kindOf(mlir::Value value);

}  // namespace isthmus

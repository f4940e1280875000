// What some targets have single instructions for and LLVM's portable IR has none: shared emission
// asks here, and does without where there is nothing.
#pragma once

#include "compiler/target/target_model.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/IR/IRBuilder.h"

namespace isthmus::codegen {

// Of a target without any. Values have one type for all operands, scalar or vector, which is the
// result's too. Stateless: any thread may ask.
class TargetInstructions {
 public:
  virtual ~TargetInstructions() = default;

  // Whether a NaN that arithmetic gives has an operand's payload or, where no operand is NaN, one
  // whose lower bits are 0.
  virtual bool keepsNanPayloads() const { return false; }

  // Whether scaleByPowerOfTwo and extremum are there for floats of this type.
  virtual bool computesInType(llvm::Type*) const { return false; }
  // x times 2^n, rounded once, whatever the whole number n is. Not called unless computesInType.
  virtual llvm::Value* scaleByPowerOfTwo(llvm::IRBuilder<>&, llvm::Value*, llvm::Value*) const;
  // The smaller or larger number, where -0 is less than +0; any value if one is NaN. Not called
  // unless computesInType.
  virtual llvm::Value* extremum(llvm::IRBuilder<>&, llvm::Value*, llvm::Value*,
                                bool isMaximum) const;

  // Whether llvm.maximum and llvm.minimum of this type are an instruction each: NaN if an operand
  // is, and -0 is less than +0.
  virtual bool ordersNumbers(llvm::Type*) const { return false; }

  // Adds a vector of f32 to memory as TargetModel::atomicVectorBits has it, each lane for itself.
  // Not called where that is 0.
  virtual void addAtomically(llvm::IRBuilder<>&, llvm::Value* to, llvm::Value* vector) const;

  // Whether reciprocal is there for this type.
  virtual bool approximatesReciprocal(llvm::Type*) const { return false; }
  // 1 / x within 2^-14 of it, where both are normal numbers. Not called unless
  // approximatesReciprocal.
  virtual llvm::Value* reciprocal(llvm::IRBuilder<>&, llvm::Value*) const;

  // Whether quotient is there for this type.
  virtual bool approximatesQuotient(llvm::Type*) const { return false; }
  // x / y within 2 ulp, as IEEE 754 has it where one is 0, infinite or NaN. Not called unless
  // approximatesQuotient.
  virtual llvm::Value* quotient(llvm::IRBuilder<>&, llvm::Value*, llvm::Value*) const;

  // Whether a product of the program and a sum of it with something are rounded once, as everything
  // else that compiles for this target has them.
  virtual bool contractsProducts() const { return false; }

  // Whether powerOfTwo is there for this type.
  virtual bool raisesTwo(llvm::Type*) const { return false; }
  // 2^x within 2 ulp, whatever x is: infinite where it is too large, NaN of NaN. Not called unless
  // raisesTwo.
  virtual llvm::Value* powerOfTwo(llvm::IRBuilder<>&, llvm::Value*) const;

  // Whether LLVM makes an instruction of a choice between zero and a shift of 64 bits that reads 32
  // bits of the amount. It does not where the shift is by another value than the choice is made by.
  virtual bool losesShiftAmounts() const { return false; }

  // Whether shuffleAny is there for so many lanes of this type.
  virtual bool shufflesAny(llvm::Type*, size_t) const { return false; }
  // Lanes of two vectors by any mask, as LLVM's shufflevector has it, of which LLVM knows nothing.
  // Not called unless shufflesAny.
  virtual llvm::Value* shuffleAny(llvm::IRBuilder<>&, llvm::Value*, llvm::Value*,
                                  llvm::ArrayRef<int> mask) const;
};

// Of the target; lives as long as the process.
const TargetInstructions& instructionsOf(const TargetModel& target);

}  // namespace isthmus::codegen

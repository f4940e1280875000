// Extrema of a row's floats, where no instruction has StableHLO's maximum and minimum: NaN if any
// element is, and -0 before +0. A step that decides both has a chain of several instructions. Here
// each lane keeps what a single instruction a step computes, and only the row's result is decided.
#include "compiler/codegen/reduce/reduction.h"
#include "compiler/codegen/target/target_instructions.h"
#include "compiler/dialect/facts/combiner.h"

namespace isthmus::codegen {
namespace {

// Of an accumulator's values: the number, without regard to NaN and to the sign of zero; bits of
// which the topmost is the result's sign; all bits of a lane that has had a NaN.
enum : unsigned { kNumber, kSign, kNan };

}  // namespace

bool ReductionEmitter::keepsApart(llvm::Type* vector) const {
  const TargetModel& target = loops_.target();
  return rowLanes_ > 1 && reduces_.size() == 1 && target.masksAsIntegers &&
         isExtremumOfFloats(reduce_, vector) && !instructionsOf(target).computesInType(vector);
}

Group ReductionEmitter::apart(const Val& neutral) {
  auto* bits = llvm::VectorType::getInteger(llvm::cast<llvm::VectorType>(neutral.re->getType()));
  llvm::Constant* none = llvm::Constant::getNullValue(bits);
  llvm::Constant* all = llvm::Constant::getAllOnesValue(bits);
  const bool isMaximum = llvm::isa<shlo::MaxOp>(soleOperation(reduce_.getBody()));
  return {
      neutral, {isMaximum ? all : none, nullptr, neutral.level}, {none, nullptr, neutral.level}};
}

Group ReductionEmitter::addApart(const Group& sum, llvm::Value* x) {
  llvm::IRBuilder<>& b = loops_.here();
  llvm::Value* bits = asIntegers(b, x);
  llvm::Value* isNan = b.CreateSExt(b.CreateFCmpUNO(x, x), bits->getType());
  Level* level = loops_.current();
  return joinApart(sum, {{x, nullptr, level}, {bits, nullptr, level}, {isNan, nullptr, level}});
}

// A maximum is negative if all elements are: of numbers other than zero that is so in any case. A
// minimum is if any is.
Group ReductionEmitter::joinApart(const Group& a, const Group& b) {
  llvm::IRBuilder<>& builder = loops_.here();
  const bool isMaximum = llvm::isa<shlo::MaxOp>(soleOperation(reduce_.getBody()));
  llvm::Value *x = b[kNumber].re, *y = a[kNumber].re;
  llvm::Value* isBeyond = isMaximum ? builder.CreateFCmpOGT(x, y) : builder.CreateFCmpOLT(x, y);
  llvm::Value* sign = isMaximum ? builder.CreateAnd(a[kSign].re, b[kSign].re)
                                : builder.CreateOr(a[kSign].re, b[kSign].re);
  Level* level = loops_.current();
  return {{builder.CreateSelect(isBeyond, x, y), nullptr, level},
          {sign, nullptr, level},
          {builder.CreateOr(a[kNan].re, b[kNan].re), nullptr, level}};
}

// The lanes' results as integers in the numbers' order, in which NaN wins.
llvm::Value* ReductionEmitter::inOrderOfApart(const Group& state) {
  llvm::IRBuilder<>& b = loops_.here();
  const bool isMaximum = llvm::isa<shlo::MaxOp>(soleOperation(reduce_.getBody()));
  llvm::Value *number = state[kNumber].re, *sign = state[kSign].re, *isNan = state[kNan].re;
  llvm::Type* type = isNan->getType();
  const unsigned bits = type->getScalarSizeInBits();
  llvm::Value* anyNan = b.CreateICmpSLT(isNan, llvm::Constant::getNullValue(type));
  number = b.CreateSelect(anyNan, llvm::ConstantFP::getNaN(number->getType()), number);
  sign = isMaximum ? b.CreateAnd(sign, b.CreateNot(isNan)) : b.CreateOr(sign, isNan);
  llvm::Value* magnitude = b.CreateAnd(
      asIntegers(b, number), llvm::ConstantInt::get(type, llvm::APInt::getSignedMaxValue(bits)));
  return b.CreateXor(magnitude, b.CreateAShr(sign, bits - 1));
}

}  // namespace isthmus::codegen

// Extrema of floats, where no instruction has StableHLO's maximum and minimum: NaN if any
// element is, and -0 before +0. A step that decides both has a chain of several instructions. Here
// each lane keeps what a single instruction a step computes, and only the result is decided.
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
  return reduces_.size() == 1 && target.masksAsIntegers && isExtremumOfFloats(reduce_, vector) &&
         !instructionsOf(target).computesInType(vector);
}

Group ReductionEmitter::apart(const Val& neutral) {
  auto* bits = llvm::VectorType::getInteger(llvm::cast<llvm::VectorType>(neutral.re->getType()));
  llvm::Constant* none = llvm::Constant::getNullValue(bits);
  llvm::Constant* all = llvm::Constant::getAllOnesValue(bits);
  const bool isMaximum = llvm::isa<shlo::MaxOp>(soleOperation(reduce_.getBody()));
  return {
      neutral, {isMaximum ? all : none, nullptr, neutral.level}, {none, nullptr, neutral.level}};
}

void ReductionEmitter::addApart(llvm::MutableArrayRef<Group> states,
                                llvm::ArrayRef<llvm::Value*> inputs) {
  llvm::IRBuilder<>& b = loops_.here();
  Level* level = loops_.current();
  for (auto [i, x] : llvm::enumerate(inputs)) {
    Group& state = states[i % states.size()];
    llvm::Value* bits = asIntegers(b, x);
    llvm::Value* isNan = llvm::Constant::getNullValue(bits->getType());
    // One comparison asks it of two.
    if (i % 2 == 0) {
      llvm::Value* next = i + 1 < inputs.size() ? inputs[i + 1] : x;
      isNan = b.CreateSExt(b.CreateFCmpUNO(x, next), bits->getType());
    }
    state =
        joinApart(state, {{x, nullptr, level}, {bits, nullptr, level}, {isNan, nullptr, level}});
  }
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

// Each lane for itself.
Group ReductionEmitter::emitLaneApart(const Group& neutral, bool unrolls) {
  const unsigned lanes = evaluator_.lanes();
  const Group start = apart(splat(neutral, lanes)[0]);
  auto inputAt = [&](const MultiIndex& at) { return splat(inputsAt(at), lanes)[0].re; };
  auto addPairs = [&](const MultiIndex& at, const Values& carried, int64_t begin, int64_t end,
                      int64_t step) {
    return loops_.loop(begin, end, step, carried, [&](const IndexExpr& i, const Values& now) {
      llvm::SmallVector<llvm::Value*, 2> inputs;
      for (int64_t k = 0; k < step; ++k) inputs.push_back(inputAt(atLast(at, i, k, false)));
      Group state = unflatten(now, start, loops_.current());
      addApart(state, inputs);
      return flatten(state);
    });
  };
  Group state = start;
  if (unrolls) {
    llvm::SmallVector<llvm::Value*, 16> inputs;
    unrolled(0, base_, {}, [&](const MultiIndex& at, const Values&) {
      inputs.push_back(inputAt(at));
      return Values();
    });
    addApart(state, inputs);
  } else {
    const int64_t size = axes_.axes.back().size, pairs = size / 2 * 2;
    auto addLine = [&](const MultiIndex& at, const Values& carried) {
      Values now = addPairs(at, carried, 0, pairs, 2);
      return pairs < size ? addPairs(at, now, pairs, size, 1) : now;
    };
    Values all = overAxes(0, axes_.axes.size() - 1, base_, flatten(start), addLine);
    state = unflatten(all, start, loops_.current());
  }
  llvm::IRBuilder<>& b = loops_.here();
  llvm::Value* bits = inOrder(b, inOrderOfApart(state));
  return withInitial(
      neutral, {{b.CreateBitCast(bits, start[kNumber].re->getType()), nullptr, loops_.current()}});
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

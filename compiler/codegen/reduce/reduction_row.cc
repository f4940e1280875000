// Reductions whose last axis the lanes share.
#include <algorithm>

#include "compiler/codegen/reduce/reduction.h"
#include "compiler/dialect/facts/combiner.h"
#include "llvm/IR/Intrinsics.h"

namespace isthmus::codegen {
namespace {

using Values = LoopBuilder::Values;

Values flattenAll(llvm::ArrayRef<Group> groups) {
  Values flat;
  for (const Group& group : groups) flat.append(flatten(group));
  return flat;
}

llvm::SmallVector<Group, 4> unflattenAll(llvm::ArrayRef<llvm::Value*> flat,
                                         llvm::ArrayRef<Group> like, Level* level) {
  llvm::SmallVector<Group, 4> groups;
  for (const Group& group : like) {
    size_t width = flatten(group).size();
    groups.push_back(unflatten(flat.take_front(width), group, level));
    flat = flat.drop_front(width);
  }
  return groups;
}

// The lanes' extremum by one instruction a step; whether one is NaN is asked once.
llvm::Value* foldExtremum(llvm::IRBuilder<>& b, llvm::Value* lanes, bool isMaximum) {
  auto* type = llvm::cast<llvm::FixedVectorType>(lanes->getType());
  llvm::Type* element = type->getElementType();
  const unsigned count = type->getNumElements();
  // StableHLO's extremum is NaN if any element is, and orders -0 before +0, which no instruction
  // for floats does: as integers in order a step is one instruction, where comparing and selecting
  // are several.
  llvm::Value* isNan = b.CreateFCmpUNO(lanes, lanes);
  llvm::Value* anyNan = b.CreateIsNotNull(b.CreateBitCast(isNan, b.getIntNTy(count)));
  llvm::Value* key = foldInOrder(b, inOrder(b, asIntegers(b, lanes)), isMaximum);
  llvm::Value* result = b.CreateBitCast(inOrder(b, key), element);
  return b.CreateSelect(anyNan, llvm::ConstantFP::getNaN(element), result);
}

// Sums and, behind them, what rounding has lost of each.
Values withNothingLost(Values sums) {
  for (size_t i = 0, count = sums.size(); i < count; ++i) {
    sums.push_back(llvm::Constant::getNullValue(sums[i]->getType()));
  }
  return sums;
}

// Adds `others` to such sums (TwoSum: D. E. Knuth, The Art of Computer Programming, volume 2,
// 4.2.2, theorem B).
Values addCompensated(llvm::IRBuilder<>& b, Values sums, llvm::ArrayRef<llvm::Value*> others) {
  for (auto [i, x] : llvm::enumerate(others)) {
    llvm::Value *&sum = sums[i], *&lost = sums[others.size() + i];
    llvm::Value* result = b.CreateFAdd(sum, x);
    llvm::Value* ofX = b.CreateFSub(result, sum);
    llvm::Value* ofSum = b.CreateFSub(result, ofX);
    lost = b.CreateFAdd(lost, b.CreateFAdd(b.CreateFSub(sum, ofSum), b.CreateFSub(x, ofX)));
    sum = result;
  }
  return sums;
}

// The sums alone. Beside an infinite one what was lost is no number, and -0 has lost nothing.
Values compensated(llvm::IRBuilder<>& b, Values sums) {
  const size_t count = sums.size() / 2;
  for (size_t i = 0; i < count; ++i) {
    llvm::Value *sum = sums[i], *lost = sums[count + i];
    llvm::Value* hasLost = b.CreateFCmpONE(lost, llvm::Constant::getNullValue(lost->getType()));
    sums[i] = b.CreateSelect(hasLost, b.CreateFAdd(sum, lost), sum);
  }
  sums.truncate(count);
  return sums;
}

}  // namespace

bool isExtremumOfFloats(shlo::ReduceOp reduce, llvm::Type* type) {
  mlir::Operation* op = soleOperation(reduce.getBody());
  return llvm::isa_and_nonnull<shlo::MaxOp, shlo::MinOp>(op) && type->isVectorTy() &&
         (type->getScalarType()->isFloatTy() || type->getScalarType()->isDoubleTy());
}

llvm::Value* asIntegers(llvm::IRBuilder<>& b, llvm::Value* floats) {
  auto* type = llvm::cast<llvm::FixedVectorType>(floats->getType());
  return b.CreateBitCast(floats, llvm::VectorType::getInteger(type));
}

llvm::Value* inOrder(llvm::IRBuilder<>& b, llvm::Value* x) {
  const unsigned bits = x->getType()->getScalarSizeInBits();
  // Negative floats grow as their bits shrink: all bits but the sign are flipped, which is its own
  // inverse.
  llvm::Value* isNegative = b.CreateAShr(x, bits - 1);
  llvm::Constant* allButSign =
      llvm::ConstantInt::get(x->getType(), llvm::APInt::getSignedMaxValue(bits));
  return b.CreateXor(x, b.CreateAnd(isNegative, allButSign));
}

llvm::Value* foldInOrder(llvm::IRBuilder<>& b, llvm::Value* keys, bool isMaximum) {
  const unsigned count = llvm::cast<llvm::FixedVectorType>(keys->getType())->getNumElements();
  for (unsigned width = count; width > 1; width /= 2) {
    llvm::SmallVector<int, 16> low, high;
    for (unsigned i = 0; i < width / 2; ++i) {
      low.push_back(static_cast<int>(i));
      high.push_back(static_cast<int>(i + width / 2));
    }
    keys = b.CreateBinaryIntrinsic(isMaximum ? llvm::Intrinsic::smax : llvm::Intrinsic::smin,
                                   b.CreateShuffleVector(keys, low),
                                   b.CreateShuffleVector(keys, high));
  }
  return b.CreateExtractElement(keys, uint64_t{0});
}

MultiIndex ReductionEmitter::atLast(MultiIndex at, const IndexExpr& i, int64_t offset,
                                    bool isVector) const {
  IndexExpr expr = add(i, IndexExpr(offset));
  if (isVector) expr.laneStride = 1;
  at.dims[axes_.axes.back().dim] = expr;
  return at;
}

int64_t ReductionEmitter::vectorEnd() const {
  return axes_.axes.back().size / rowLanes_ * rowLanes_;
}

Group ReductionEmitter::addVector(Group sum, const Group& inputs) {
  if (!isApart_) return splat(combine(sum, inputs), rowLanes_);
  addApart(sum, inputs[0].re);
  return sum;
}

// The vector at element i + offset.
Group ReductionEmitter::vectorAt(const MultiIndex& at, const IndexExpr& i, int64_t offset) {
  return splat(inputsAt(atLast(at, i, offset, rowLanes_ > 1)), rowLanes_);
}

// Adds elements [begin, end) from `at` + `origin` on, a multiple of what all accumulators take.
llvm::SmallVector<Group, 4> ReductionEmitter::overSteps(const MultiIndex& at,
                                                        const llvm::SmallVector<Group, 4>& groups,
                                                        const IndexExpr& origin, int64_t begin,
                                                        int64_t end) {
  Values flat = loops_.loop(begin, end, accumulators_ * rowLanes_, flattenAll(groups),
                            [&](const IndexExpr& i, const Values& carried) {
                              llvm::SmallVector<Group, 4> current =
                                  unflattenAll(carried, groups, loops_.current());
                              // Sums that do not wait for each other hide the latency of an
                              // addition.
                              llvm::SmallVector<llvm::Value*, 4> apart;
                              for (int64_t u = 0; u < accumulators_; ++u) {
                                Group inputs = vectorAt(at, add(origin, i), u * rowLanes_);
                                if (isApart_) {
                                  apart.push_back(inputs[0].re);
                                } else {
                                  current[u] = addVector(current[u], inputs);
                                }
                              }
                              if (isApart_) addApart(current, apart);
                              return flattenAll(current);
                            });
  return unflattenAll(flat, groups, loops_.current());
}

// The same of whole blocks, each of which is summed by itself, from a neutral value on or from its
// first elements. What rounding loses of the blocks' sum is kept beside it, so that the error of a
// sum grows with a block's elements, not with all.
llvm::SmallVector<Group, 4> ReductionEmitter::overBlocks(const MultiIndex& at,
                                                         const llvm::SmallVector<Group, 4>& groups,
                                                         const Group* neutral, int64_t begin,
                                                         int64_t end, int64_t block) {
  Values sums = loops_.loop(
      begin, end, block, withNothingLost(flattenAll(groups)),
      [&](const IndexExpr& i, const Values& carried) {
        llvm::SmallVector<Group, 4> own;
        for (int64_t u = 0; u < accumulators_; ++u) {
          own.push_back(neutral ? splat(*neutral, rowLanes_) : vectorAt(at, i, u * rowLanes_));
        }
        own = overSteps(at, own, i, neutral ? 0 : accumulators_ * rowLanes_, block);
        return addCompensated(loops_.here(), carried, flattenAll(own));
      });
  return unflattenAll(compensated(loops_.here(), sums), groups, loops_.current());
}

// All but the last, scalar, elements of one row, from `begin` on, to `groups`.
llvm::SmallVector<Group, 4> ReductionEmitter::overVectors(const MultiIndex& at,
                                                          llvm::SmallVector<Group, 4> groups,
                                                          int64_t begin, const Group* neutral) {
  const int64_t lanes = rowLanes_;
  const int64_t step = accumulators_ * lanes;
  const int64_t mainEnd = axes_.axes.back().size / step * step;
  const int64_t block = step * block_;
  const auto scope = evaluator_.enterLanes(rowLanes_);
  if (block > 0 && begin + 2 * block <= mainEnd) {
    // What no block takes comes first: added one by one to the sum of all blocks, each element
    // would be rounded as coarsely as that sum is.
    const int64_t blocksBegin = mainEnd - (mainEnd - begin) / block * block;
    if (begin < blocksBegin) groups = overSteps(at, groups, IndexExpr(0), begin, blocksBegin);
    groups = overBlocks(at, groups, neutral, blocksBegin, mainEnd, block);
  } else if (begin < mainEnd) {
    groups = overSteps(at, groups, IndexExpr(0), begin, mainEnd);
  }
  // Whole vectors that are too few for all accumulators go to the first. `begin` may lie behind the
  // main loop: emitRowFromFirst has had the first vector.
  const int64_t restBegin = std::max(begin, mainEnd);
  if (restBegin < vectorEnd()) {
    Values rest = loops_.loop(restBegin, vectorEnd(), lanes, flatten(groups[0]),
                              [&](const IndexExpr& i, const Values& carried) {
                                Group sum = unflatten(carried, groups[0], loops_.current());
                                return flatten(addVector(sum, vectorAt(at, i, 0)));
                              });
    groups[0] = unflatten(rest, groups[0], loops_.current());
  }
  return groups;
}

// By halves: log2(lanes) steps, and each adds what is of one size.
Group ReductionEmitter::foldLanes(Group group) {
  if (isApart_) {
    llvm::Value* keys = inOrderOfApart(group);
    llvm::IRBuilder<>& builder = loops_.here();
    const bool isMaximum = llvm::isa<shlo::MaxOp>(soleOperation(reduce_.getBody()));
    llvm::Value* key = inOrder(builder, foldInOrder(builder, keys, isMaximum));
    llvm::Type* element = group[0].re->getType()->getScalarType();
    return {{builder.CreateBitCast(key, element), nullptr, loops_.current()}};
  }
  if (rowLanes_ > 1 && loops_.target().masksAsIntegers && group.size() == 1 && !group[0].im &&
      isExtremumOfFloats(reduce_, group[0].re->getType())) {
    llvm::IRBuilder<>& builder = loops_.at(loops_.deeper(group[0].level, loops_.current()));
    const bool isMaximum = llvm::isa<shlo::MaxOp>(soleOperation(reduce_.getBody()));
    return {{foldExtremum(builder, group[0].re, isMaximum), nullptr, loops_.current()}};
  }
  for (unsigned width = rowLanes_; width > 1; width /= 2) {
    llvm::SmallVector<int, 16> low, high;
    for (unsigned i = 0; i < width / 2; ++i) {
      low.push_back(static_cast<int>(i));
      high.push_back(static_cast<int>(i + width / 2));
    }
    Group a, b;
    for (Val& value : group) {
      llvm::IRBuilder<>& builder = loops_.at(loops_.deeper(value.level, loops_.current()));
      auto part = [&](llvm::Value* x, llvm::ArrayRef<int> mask) -> llvm::Value* {
        if (!x) return nullptr;
        if (mask.size() == 1) return builder.CreateExtractElement(x, mask[0]);
        return builder.CreateShuffleVector(x, mask);
      };
      Level* level = loops_.current();
      a.push_back({part(value.re, low), part(value.im, low), level});
      b.push_back({part(value.re, high), part(value.im, high), level});
    }
    group = combine(a, b);
  }
  return group;
}

Group ReductionEmitter::foldAccumulators(llvm::SmallVector<Group, 4> groups) {
  // In pairs, as the lanes are: additions that do not wait for each other, and a smaller rounding
  // error.
  for (size_t width = groups.size(); width > 1; width = (width + 1) / 2) {
    for (size_t i = 0; i + (width + 1) / 2 < width; ++i) {
      const Group& other = groups[i + (width + 1) / 2];
      groups[i] = isApart_ ? joinApart(groups[i], other) : combine(groups[i], other);
    }
  }
  return groups[0];
}

Group ReductionEmitter::overTail(const MultiIndex& at, const Group& start) {
  int64_t size = axes_.axes.back().size;
  if (vectorEnd() == size) return start;
  const auto scope = evaluator_.enterLanes(1);
  Values flat = loops_.loop(vectorEnd(), size, 1, flatten(start),
                            [&](const IndexExpr& i, const Values& carried) {
                              Group sum = unflatten(carried, start, loops_.current());
                              return flatten(combine(sum, inputsAt(atLast(at, i, 0, false))));
                            });
  return unflatten(flat, start, loops_.current());
}

// The row's last vector, in which the lanes that the vector before has had hold the neutral value:
// one evaluation, where elements one by one would be up to all lanes but one.
Group ReductionEmitter::overLastVector(const MultiIndex& at, const Group& sum,
                                       const Group& neutral) {
  const int64_t lanes = rowLanes_, size = axes_.axes.back().size;
  llvm::SmallVector<llvm::Constant*, 16> isNew;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    isNew.push_back(
        llvm::ConstantInt::getBool(loops_.context(), size - lanes + lane >= vectorEnd()));
  }
  llvm::Constant* mask = llvm::ConstantVector::get(isNew);
  const auto scope = evaluator_.enterLanes(rowLanes_);
  Group inputs = splat(inputsAt(atLast(at, IndexExpr(size - lanes), 0, true)), rowLanes_);
  // An extremum may have an element twice.
  if (isApart_) return addVector(sum, inputs);
  const Group others = splat(neutral, rowLanes_);
  for (auto [value, other] : llvm::zip(inputs, others)) {
    value.re = loops_.here().CreateSelect(mask, value.re, other.re);
    value.level = loops_.current();
  }
  return splat(combine(sum, inputs), rowLanes_);
}

// What accumulators and, last, the elements of no vector give.
llvm::SmallVector<Group, 4> ReductionEmitter::accumulateRow(const Group& neutral, bool* hasTail) {
  const Group first = splat(neutral, rowLanes_);
  isApart_ = keepsApart(first[0].re->getType());
  llvm::SmallVector<Group, 4> all(accumulators_, isApart_ ? apart(first[0]) : first);
  const int64_t size = axes_.axes.back().size;
  const bool overlaps = rowLanes_ > 1 && vectorEnd() != size && vectorEnd() > 0;
  *hasTail = vectorEnd() != size && !overlaps;
  const bool areRowsApart = block_ > 0 && axes_.axes.size() > 1;
  auto addRow = [&](const MultiIndex& at, llvm::SmallVector<Group, 4> groups) {
    groups = overVectors(at, std::move(groups), 0, &neutral);
    if (overlaps) groups[0] = overLastVector(at, groups[0], neutral);
    return groups;
  };
  const size_t ofTail = *hasTail ? flatten(neutral).size() : 0;
  Step row = [&](const MultiIndex& at, const Values& carried) -> Values {
    Values tail(llvm::ArrayRef(carried).take_back(ofTail));
    Values sums(llvm::ArrayRef(carried).drop_back(ofTail));
    if (areRowsApart) {
      sums = addCompensated(loops_.here(), sums, flattenAll(addRow(at, all)));
    } else {
      sums = flattenAll(addRow(at, unflattenAll(sums, all, loops_.current())));
    }
    if (*hasTail) {
      tail = flatten(overTail(at, unflatten(tail, neutral, loops_.current())));
    }
    sums.append(tail);
    return sums;
  };
  Values start = flattenAll(all);
  if (areRowsApart) start = withNothingLost(start);
  if (*hasTail) start.append(flatten(neutral));
  Values sums = overAxes(0, axes_.axes.size() - 1, base_, start, row);
  Values tail(llvm::ArrayRef(sums).take_back(ofTail));
  sums.truncate(sums.size() - ofTail);
  if (areRowsApart) sums = compensated(loops_.here(), sums);
  sums.append(tail);
  if (*hasTail) all.push_back(neutral);
  return unflattenAll(sums, all, loops_.current());
}

Group ReductionEmitter::emitRowFromNeutral(const Group& neutral) {
  bool hasTail = false;
  llvm::SmallVector<Group, 4> all = accumulateRow(neutral, &hasTail);
  if (!hasTail) return withInitial(neutral, fold(all));
  Group scalar = all.pop_back_val();
  return withInitial(neutral, combine(fold(all), scalar));
}

// The reducer has no neutral value that we know: accumulators start from the first elements.
Group ReductionEmitter::emitRowFromFirst() {
  Step row = [&](const MultiIndex& at, const Values& carried) -> Values {
    Group first;
    {
      const auto scope = evaluator_.enterLanes(rowLanes_);
      first = splat(inputsAt(atLast(at, IndexExpr(0), 0, rowLanes_ > 1)), rowLanes_);
    }
    Group sum = overTail(at, fold(overVectors(at, {first}, rowLanes_)));
    return flatten(combine(unflatten(carried, initial_, loops_.current()), sum));
  };
  Values flat = overAxes(0, axes_.axes.size() - 1, base_, flatten(initial_), row);
  return unflatten(flat, initial_, loops_.current());
}

Group ReductionEmitter::emitRow(unsigned lanes, unsigned accumulators, unsigned block) {
  rowLanes_ = lanes;
  block_ = block;
  std::optional<Group> start = neutral();
  // Without a neutral value a second accumulator would have nothing to start from.
  accumulators_ = start ? accumulators : 1;
  Group result = start ? emitRowFromNeutral(*start) : emitRowFromFirst();
  for (Val& value : result) value.level = outside_;
  return result;
}

}  // namespace isthmus::codegen

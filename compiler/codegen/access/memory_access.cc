// Loads and stores of the evaluator, and the arithmetic on indices that takes instructions.
#include "compiler/codegen/evaluator.h"

#include <numeric>

#include "llvm/IR/Module.h"

namespace isthmus::codegen {

static llvm::Type* withLanes(llvm::Type* type, unsigned lanes) {
  return lanes == 1 ? type : llvm::FixedVectorType::get(type, lanes);
}

IndexExpr Evaluator::addIndex(const IndexExpr& a, const IndexExpr& b) {
  // Registers are added only where both have some: the rest is arithmetic on constants.
  if (!a.lanes || !b.lanes) return add(a, b);
  Level* level = LoopBuilder::deeper(a.lanesLevel, b.lanesLevel);
  llvm::Value* lanes = loops_.at(level).CreateAdd(a.lanes, b.lanes);
  IndexExpr rest = b;
  rest.lanes = nullptr;
  IndexExpr sum = add(a, rest);
  sum.lanes = lanes;
  sum.lanesLevel = level;
  sum.lanesLo = a.lanesLo + b.lanesLo;
  sum.lanesHi = a.lanesHi + b.lanesHi;
  return sum;
}

IndexExpr Evaluator::scaleIndex(const IndexExpr& a, int64_t factor) {
  IndexExpr uniform = a;
  uniform.lanes = nullptr;
  IndexExpr product = scale(uniform, factor);
  if (!a.lanes || factor == 0) return product;
  llvm::IRBuilder<>& b = loops_.at(a.lanesLevel);
  product.lanes =
      factor == 1 ? a.lanes
                  : b.CreateMul(a.lanes, llvm::ConstantInt::getSigned(a.lanes->getType(), factor));
  product.lanesLevel = a.lanesLevel;
  product.lanesLo = std::min(a.lanesLo * factor, a.lanesHi * factor);
  product.lanesHi = std::max(a.lanesLo * factor, a.lanesHi * factor);
  return product;
}

// Of an access to elements of `type` from `linear` on, in a buffer.
static llvm::Align alignmentOf(const LoopBuilder& loops, llvm::Type* type,
                               const IndexExpr& linear) {
  const llvm::DataLayout& layout = loops.function()->getParent()->getDataLayout();
  const uint64_t element = layout.getTypeStoreSize(type);
  const auto buffer = static_cast<uint64_t>(loops.target().bufferBytes);
  if (buffer <= element) return llvm::Align(element);
  const auto offset = static_cast<uint64_t>(std::abs(knownDivisor(linear))) * element;
  return llvm::Align(std::max<uint64_t>(element, std::gcd(buffer, offset)));
}

static std::string divisionKey(const IndexExpr& a, int64_t divisor, unsigned lanes) {
  std::string key = "div";
  auto put = [&](auto x) { key.append(reinterpret_cast<const char*>(&x), sizeof(x)); };
  put(divisor);
  put(lanes);
  for (const IndexExpr::Term& term : a.terms) {
    put(term.symbol);
    put(term.coefficient);
  }
  put(a.constant);
  put(a.laneStride);
  put(a.lanes);
  return key;
}

void Evaluator::divideIndex(IndexExpr a, int64_t divisor, IndexExpr* quotient,
                            IndexExpr* remainder) {
  unsigned lanes = a.isUniform() ? 1 : lanes_;
  if (divideSymbolically(a, divisor, lanes, quotient, remainder)) return;
  Range range = rangeOf(a, lanes);
  // Lanes that stay within one block of `divisor` share the quotient.
  IndexExpr uniform = a;
  uniform.lanes = nullptr;
  uniform.laneStride = 0;
  int64_t block = std::gcd(knownDivisor(uniform), divisor);
  bool together =
      a.isUniform() || (!a.lanes && a.laneStride >= 0 && a.laneStride * (lanes - 1) < block);
  Level* level = LoopBuilder::levelOf(together ? uniform : a, loops_.entry());
  std::string key = divisionKey(together ? uniform : a, divisor, together ? 1 : lanes);
  llvm::Value*& q = level->scalars[key + "q"];
  llvm::Value*& r = level->scalars[key + "r"];
  Range quotientRange{range.lo / divisor, range.hi / divisor};
  Range remainderRange{0, divisor - 1};
  if (together) {
    if (!q) {
      llvm::Value* value = loops_.uniformPart(uniform);
      llvm::IRBuilder<>& b = loops_.at(level);
      // Indices are never negative, and an unsigned division by a constant is a multiplication and
      // a shift.
      q = b.CreateUDiv(value, loops_.i64(divisor));
      r = b.CreateSub(value, b.CreateMul(q, loops_.i64(divisor)));
    }
    // The symbols are made once per division, or equal indices would look different.
    auto symbolOf = [&](llvm::Value* value, Range bounds, int64_t multiple) {
      static_assert(sizeof(const Symbol*) == sizeof(void*));
      std::string symbolKey =
          key + "s" + std::string(reinterpret_cast<const char*>(&value), sizeof(value));
      auto [it, isNew] = symbols_.try_emplace(symbolKey, nullptr);
      if (isNew) it->second = loops_.makeSymbol(value, level, bounds, multiple);
      return it->second;
    };
    *quotient = IndexExpr::of(symbolOf(q, quotientRange, 1));
    *remainder = IndexExpr::of(symbolOf(r, {0, divisor - 1 - a.laneStride * (lanes - 1)}, block));
    remainder->laneStride = a.laneStride;
    return;
  }
  if (!q) {
    Level* at = nullptr;
    llvm::Value* value = loops_.laneValues(a, lanes, &at);
    llvm::IRBuilder<>& b = loops_.at(level);
    llvm::Value* constant = llvm::ConstantInt::getSigned(value->getType(), divisor);
    q = b.CreateUDiv(value, constant);
    r = b.CreateSub(value, b.CreateMul(q, constant));
  }
  auto vectorOf = [&](llvm::Value* value, Range bounds) {
    IndexExpr expr;
    expr.lanes = value;
    expr.lanesLevel = level;
    expr.lanesLo = bounds.lo;
    expr.lanesHi = bounds.hi;
    return expr;
  };
  *quotient = vectorOf(q, quotientRange);
  *remainder = vectorOf(r, remainderRange);
}

IndexExpr Evaluator::linearize(const MultiIndex& index, mlir::RankedTensorType type) {
  IndexExpr sum;
  int64_t stride = 1;
  for (int64_t d = type.getRank() - 1; d >= 0; --d) {
    sum = addIndex(sum, scaleIndex(index.dims[d], stride));
    stride *= type.getDimSize(d);
  }
  return sum;
}

std::optional<IndexExpr> Evaluator::linearizeOuter(const MultiIndex& index,
                                                   mlir::RankedTensorType type, size_t dims) {
  if (dims > 0 && (index.merged >> (dims - 1) & 1)) return std::nullopt;
  MultiIndex outer;
  outer.dims.assign(index.dims.begin(), index.dims.begin() + dims);
  return linearize(
      outer, mlir::RankedTensorType::get(type.getShape().take_front(dims), type.getElementType()));
}

MultiIndex Evaluator::normalize(const MultiIndex& index, llvm::ArrayRef<int64_t> shape) {
  if (!index.merged) return index;
  MultiIndex apart;
  apart.dims = index.dims;
  for (int64_t d = static_cast<int64_t>(shape.size()) - 1; d > 0; --d) {
    if (!(index.merged >> (d - 1) & 1)) continue;
    IndexExpr quotient, remainder;
    if (shape[d] == 0) continue;
    divideIndex(apart.dims[d], shape[d], &quotient, &remainder);
    apart.dims[d] = remainder;
    apart.dims[d - 1] = quotient;
  }
  return apart;
}

IndexExpr Evaluator::indexFrom(Val value, const ElementKind& kind, int64_t lo, int64_t hi,
                               bool clamp) {
  llvm::IRBuilder<>& b = loops_.at(value.level);
  IndexExpr expr;
  if (auto* constant = llvm::dyn_cast<llvm::ConstantInt>(value.re)) {
    int64_t number = kind.isSigned || constant->getBitWidth() == 64 ? constant->getSExtValue()
                                                                    : constant->getZExtValue();
    // An unsigned 64-bit number beyond i64: past the end, wherever that is.
    if (!kind.isSigned && number < 0) number = hi;
    return IndexExpr(clamp ? std::max(lo, std::min(hi, number)) : number);
  }
  unsigned lanes = value.lanes();
  llvm::Type* wide = withLanes(lanes == 1 ? b.getInt64Ty() : loops_.laneType(), lanes);
  llvm::Value* number = value.re;
  unsigned from = number->getType()->getScalarSizeInBits();
  unsigned to = wide->getScalarSizeInBits();
  bool isSigned = kind.isSigned && !kind.isBool();
  if (from > to || (from == to && !isSigned)) {
    // Clamp before narrowing, so that no high bits are lost.
    auto limit = [&](int64_t x) { return llvm::ConstantInt::getSigned(number->getType(), x); };
    if (isSigned) {
      number = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, number, limit(lo));
      number = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, number, limit(hi));
    } else {
      number = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, number, limit(hi));
    }
    isSigned = true;
    if (from > to) number = b.CreateTrunc(number, wide);
  } else {
    number = isSigned ? b.CreateSExt(number, wide) : b.CreateZExt(number, wide);
  }
  if (clamp) {
    auto limit = [&](int64_t x) { return llvm::ConstantInt::getSigned(wide, x); };
    number = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, number, limit(lo));
    number = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, number, limit(hi));
  }
  if (lanes == 1) {
    std::string key(reinterpret_cast<const char*>(&number), sizeof(number));
    key += "index";
    auto [it, isNew] = symbols_.try_emplace(key, nullptr);
    if (isNew) it->second = loops_.makeSymbol(number, value.level, {lo, hi});
    return IndexExpr::of(it->second);
  }
  expr.lanes = number;
  expr.lanesLevel = value.level;
  expr.lanesLo = lo;
  expr.lanesHi = hi;
  return expr;
}

Condition Evaluator::within(const IndexExpr& expr, int64_t lo, int64_t hi) {
  unsigned lanes = expr.isUniform() ? 1 : lanes_;
  Range range = rangeOf(expr, lanes);
  // Padding and windows are mostly decided here, so that interiors compute no masks.
  if (range.lo >= lo && range.hi < hi) return Condition::always(true);
  if (range.hi < lo || range.lo >= hi || lo >= hi) return Condition::always(false);
  Level* level = nullptr;
  llvm::Value* value = loops_.laneValues(expr, lanes, &level);
  llvm::IRBuilder<>& b = loops_.at(level);
  llvm::Type* type = value->getType();
  llvm::Value* inside = nullptr;
  if (range.lo >= lo) {
    inside = b.CreateICmpSLT(value, llvm::ConstantInt::getSigned(type, hi));
  } else if (range.hi < hi) {
    inside = b.CreateICmpSGE(value, llvm::ConstantInt::getSigned(type, lo));
  } else {
    // Below lo it wraps to a large number: one comparison for both bounds.
    llvm::Value* shifted = b.CreateSub(value, llvm::ConstantInt::getSigned(type, lo));
    inside = b.CreateICmpULT(shifted, llvm::ConstantInt::getSigned(type, hi - lo));
  }
  return {false, false, {inside, nullptr, level}};
}

Condition Evaluator::both(const Condition& a, const Condition& b) {
  if (a.known) return a.value ? b : a;
  if (b.known) return b.value ? a : b;
  unsigned lanes = std::max(a.dynamic.lanes(), b.dynamic.lanes());
  Val x = splat(a.dynamic, lanes);
  Val y = splat(b.dynamic, lanes);
  Level* level = LoopBuilder::deeper(x.level, y.level);
  return {false, false, {loops_.at(level).CreateAnd(x.re, y.re), nullptr, level}};
}

IndexExpr Evaluator::chooseUniform(const Val& condition, const IndexExpr& expr, int64_t otherwise,
                                   Range range) {
  llvm::Value* value = loops_.uniformPart(expr);
  // Equal choices must be one symbol, or what is computed at them looks different.
  std::string key = "choose";
  auto put = [&](auto x) { key.append(reinterpret_cast<const char*>(&x), sizeof(x)); };
  put(condition.re);
  put(value);
  put(otherwise);
  auto [it, isNew] = symbols_.try_emplace(key, nullptr);
  if (isNew) {
    Level* level = LoopBuilder::deeper(condition.level, LoopBuilder::levelOf(expr, loops_.entry()));
    llvm::Value* chosen = loops_.at(level).CreateSelect(condition.re, value, loops_.i64(otherwise));
    it->second = loops_.makeSymbol(chosen, level, range);
  }
  return IndexExpr::of(it->second);
}

IndexExpr Evaluator::selectIndex(const Condition& condition, const IndexExpr& expr,
                                 int64_t otherwise, int64_t lo, int64_t hi) {
  if (condition.known) return condition.value ? expr : IndexExpr(otherwise);
  if (condition.dynamic.lanes() == 1) {
    // A choice of the uniform part keeps the lanes' order; without lanes set it is exact, and with
    // them the other branch reads neighbours of `otherwise`, which must exist as well.
    IndexExpr uniform = expr;
    uniform.lanes = nullptr;
    uniform.laneStride = 0;
    int64_t span = expr.lanes ? expr.lanesHi : expr.laneStride * (lanes_ - 1);
    if (span >= 0 && otherwise + span <= hi && (!expr.lanes || expr.lanesLo >= 0)) {
      IndexExpr result = chooseUniform(condition.dynamic, uniform, otherwise, {lo, hi - span});
      result.laneStride = expr.laneStride;
      result.lanes = expr.lanes;
      result.lanesLevel = expr.lanesLevel;
      result.lanesLo = expr.lanesLo;
      result.lanesHi = expr.lanesHi;
      return result;
    }
  }
  if (condition.dynamic.lanes() == 1 && expr.isUniform()) {
    return chooseUniform(condition.dynamic, expr, otherwise, {lo, hi});
  }
  Level* level = nullptr;
  llvm::Value* value = loops_.laneValues(expr, lanes_, &level);
  level = LoopBuilder::deeper(level, condition.dynamic.level);
  llvm::Value* mask = condition.dynamic.re;
  llvm::IRBuilder<>& b = loops_.at(level);
  llvm::Value* chosen =
      b.CreateSelect(mask, value, llvm::ConstantInt::getSigned(value->getType(), otherwise));
  IndexExpr result;
  result.lanes = chosen;
  result.lanesLevel = level;
  result.lanesLo = lo;
  result.lanesHi = hi;
  return result;
}

Val Evaluator::selectValue(const Condition& condition, Val a, Val b) {
  if (condition.known) return condition.value ? a : b;
  Val mask = condition.dynamic;
  unsigned lanes = std::max({mask.lanes(), a.lanes(), b.lanes()});
  a = splat(a, lanes);
  b = splat(b, lanes);
  Level* level = LoopBuilder::deeper(mask.level, LoopBuilder::deeper(a.level, b.level));
  llvm::IRBuilder<>& builder = loops_.at(level);
  Val result{builder.CreateSelect(mask.re, a.re, b.re), nullptr, level};
  if (a.im) result.im = builder.CreateSelect(mask.re, a.im, b.im);
  return result;
}

llvm::LoadInst* Evaluator::loadAligned(llvm::IRBuilder<>& b, llvm::Type* type, llvm::Value* from,
                                       llvm::Align align) {
  llvm::LoadInst* loaded = b.CreateAlignedLoad(type, from, align);
  if (readsOperand_ && isForGroup_) {
    loaded->setMetadata(llvm::LLVMContext::MD_invariant_load,
                        llvm::MDNode::get(loops_.context(), {}));
  }
  return loaded;
}

llvm::Value* Evaluator::loadPart(llvm::Value* base, llvm::Type* type, const IndexExpr& linear,
                                 Level* level, int64_t count) {
  unsigned lanes = linear.isUniform() ? 1 : lanes_;
  llvm::Value* pointer = loops_.address(base, type, linear);
  const llvm::DataLayout& layout = loops_.function()->getParent()->getDataLayout();
  llvm::Align align(layout.getTypeStoreSize(type));
  auto offset = [&](int64_t elements) {
    llvm::IRBuilder<>& b = loops_.at(level);
    return elements == 0 ? pointer : b.CreateConstInBoundsGEP1_64(type, pointer, elements);
  };
  if (lanes == 1) {
    return loadAligned(loops_.at(level), type, offset(linear.constant), align);
  }
  llvm::Type* vector = withLanes(type, lanes);
  if (!linear.lanes && linear.laneStride == 1) {
    llvm::Align known = alignmentOf(loops_, type, linear);
    return loadAligned(loops_.at(level), vector, offset(linear.constant), known);
  }
  if (!linear.lanes && linear.laneStride == -1) {
    int64_t first = linear.constant - static_cast<int64_t>(lanes) + 1;
    llvm::Value* loaded = loadAligned(loops_.at(level), vector, offset(first), align);
    return loops_.at(level).CreateVectorReverse(loaded);
  }
  // From cheap to dear: columns of a block that is read anyway, of whole vectors nearby, element by
  // element.
  if (llvm::Value* element = transposedLoad(base, type, linear, level)) return element;
  if (llvm::Value* column = interleavedLoad(base, type, linear, level, count)) return column;
  llvm::IRBuilder<>& b = loops_.at(level);
  if (linear.lanes) {
    llvm::Value* indices = linear.lanes;
    if (linear.laneStride) {
      indices = b.CreateAdd(indices, loops_.laneRamp(lanes, linear.laneStride));
    }
    llvm::Value* from = offset(linear.constant);
    unsigned bits = type->getPrimitiveSizeInBits();
    if (loops_.target().gathers && (bits == 32 || bits == 64) && lanes >= 4) {
      llvm::Value* wide = b.CreateSExt(indices, withLanes(b.getInt64Ty(), lanes));
      return b.CreateMaskedGather(vector, b.CreateGEP(type, from, wide), align);
    }
    llvm::Value* result = llvm::PoisonValue::get(vector);
    for (unsigned lane = 0; lane < lanes; ++lane) {
      llvm::Value* index = b.CreateSExt(b.CreateExtractElement(indices, lane), b.getInt64Ty());
      llvm::Value* element = loadAligned(b, type, b.CreateGEP(type, from, index), align);
      result = b.CreateInsertElement(result, element, lane);
    }
    return result;
  }
  llvm::Value* result = llvm::PoisonValue::get(vector);
  for (unsigned lane = 0; lane < lanes; ++lane) {
    llvm::Value* from = offset(linear.constant + linear.laneStride * lane);
    result = b.CreateInsertElement(result, loadAligned(b, type, from, align), lane);
  }
  return result;
}

Val Evaluator::load(llvm::Value* base, const ElementKind& kind, const IndexExpr& linear,
                    Level* atLeast, int64_t count) {
  Level* level = LoopBuilder::levelOf(linear, loops_.entry());
  level = LoopBuilder::deeper(level, atLeast);
  llvm::Type* type = kind.storageType(loops_.context());
  if (!kind.isComplex()) {
    llvm::Value* stored = loadPart(base, type, linear, level, count);
    return {fromStorage(stored, kind, level), nullptr, level};
  }
  IndexExpr real = scaleIndex(linear, 2);
  IndexExpr imaginary = add(real, IndexExpr(1));
  unsigned lanes = linear.isUniform() ? 1 : lanes_;
  bool fits = 2 * static_cast<uint64_t>(lanes) <= loops_.target().maxVectorElements;
  if (lanes > 1 && !linear.lanes && linear.laneStride == 1 && fits) {
    // One load of both parts, then taken apart.
    llvm::Value* pointer = loops_.address(base, type, real);
    llvm::IRBuilder<>& b = loops_.at(level);
    if (real.constant) pointer = b.CreateConstInBoundsGEP1_64(type, pointer, real.constant);
    llvm::Value* both = loadAligned(b, withLanes(type, 2 * lanes), pointer,
                                    llvm::Align(type->getScalarSizeInBits() / 8));
    llvm::SmallVector<int, 16> even, odd;
    for (unsigned i = 0; i < lanes; ++i) {
      even.push_back(2 * i);
      odd.push_back(2 * i + 1);
    }
    return {b.CreateShuffleVector(both, even), b.CreateShuffleVector(both, odd), level};
  }
  llvm::Value* re = loadPart(base, type, real, level, 2 * count);
  llvm::Value* im = loadPart(base, type, imaginary, level, 2 * count);
  return {re, im, level};
}

void Evaluator::store(llvm::Value* base, const ElementKind& kind, const IndexExpr& linear,
                      Val value) {
  Level* level = loops_.current();
  llvm::Type* type = kind.storageType(loops_.context());
  unsigned lanes = linear.isUniform() ? 1 : lanes_;
  value = splat(value, lanes);
  loops_.at(level);
  IndexExpr first = kind.isComplex() ? scaleIndex(linear, 2) : linear;
  llvm::Value* pointer = loops_.address(base, type, first);
  llvm::IRBuilder<>& b = loops_.at(level);
  if (first.constant) pointer = b.CreateConstInBoundsGEP1_64(type, pointer, first.constant);
  llvm::Align align(loops_.function()->getParent()->getDataLayout().getTypeStoreSize(type));
  auto part = [&](llvm::Value* register_) { return toStorage(register_, kind); };
  if (lanes == 1 || (!linear.lanes && linear.laneStride == 1)) {
    if (!kind.isComplex()) {
      if (lanes > 1) align = alignmentOf(loops_, type, first);
      b.CreateAlignedStore(part(value.re), pointer, align);
    } else if (lanes == 1) {
      b.CreateAlignedStore(value.re, pointer, align);
      b.CreateAlignedStore(value.im, b.CreateConstInBoundsGEP1_64(type, pointer, 1), align);
    } else {
      unsigned pieceLanes = std::min(lanes, loops_.target().maxVectorElements / 2);
      for (unsigned begin = 0; begin < lanes; begin += pieceLanes) {
        llvm::SmallVector<int, 16> zip;
        for (unsigned i = begin; i < begin + pieceLanes; ++i) {
          zip.push_back(static_cast<int>(i));
          zip.push_back(static_cast<int>(i + lanes));
        }
        llvm::Value* to =
            begin == 0 ? pointer : b.CreateConstInBoundsGEP1_64(type, pointer, 2 * begin);
        b.CreateAlignedStore(b.CreateShuffleVector(value.re, value.im, zip), to, align);
      }
    }
    return;
  }
  for (unsigned lane = 0; lane < lanes; ++lane) {
    llvm::Value* to = pointer;
    if (first.lanes) {
      to = b.CreateGEP(type, to,
                       b.CreateSExt(b.CreateExtractElement(first.lanes, lane), b.getInt64Ty()));
    }
    if (first.laneStride) {
      to = b.CreateConstInBoundsGEP1_64(type, to, first.laneStride * lane);
    }
    b.CreateAlignedStore(b.CreateExtractElement(part(value.re), lane), to, align);
    if (kind.isComplex()) {
      b.CreateAlignedStore(b.CreateExtractElement(value.im, lane),
                           b.CreateConstInBoundsGEP1_64(type, to, 1), align);
    }
  }
}

llvm::Value* Evaluator::fromStorage(llvm::Value* stored, const ElementKind& kind, Level* level) {
  llvm::IRBuilder<>& b = loops_.at(level);
  if (kind.isBool()) return b.CreateICmpNE(stored, llvm::Constant::getNullValue(stored->getType()));
  if (kind.isF16 || kind.isBf16 || kind.format) {
    return bitsToFloat(b, loops_.target(), stored, kind);
  }
  // A caller's bytes need not be extended.
  return wrapInteger(b, stored, kind);
}

llvm::Value* Evaluator::toStorage(llvm::Value* value, const ElementKind& kind) {
  llvm::IRBuilder<>& b = loops_.here();
  if (kind.isBool()) {
    return b.CreateZExt(
        value,
        withLanes(b.getInt8Ty(), llvm::isa<llvm::FixedVectorType>(value->getType()) ? lanes_ : 1));
  }
  if (kind.isF16 || kind.isBf16 || kind.format) {
    return floatToBits(b, loops_.target(), value, kind);
  }
  return value;
}

}  // namespace isthmus::codegen

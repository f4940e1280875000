// Loops of a kernel under construction.
#include "compiler/codegen/loop/level.h"

#include <algorithm>

#include "llvm/IR/Constants.h"

namespace isthmus::codegen {

LoopBuilder::LoopBuilder(llvm::Function* function, const TargetModel& target)
    : function_(function),
      target_(target),
      builder_(function->getContext()),
      laneType_(llvm::Type::getInt32Ty(function->getContext())) {
  levels_.push_back(std::make_unique<Level>());
  current_ = entry();
  current_->block = llvm::BasicBlock::Create(context(), "entry", function);
}

const Symbol* LoopBuilder::makeSymbol(llvm::Value* value, Level* level, Range range,
                                      int64_t multipleOf) {
  auto symbol = std::make_unique<Symbol>();
  symbol->id = static_cast<int>(symbols_.size());
  symbol->value = value;
  symbol->level = level;
  symbol->lo = range.lo;
  symbol->hi = range.hi;
  symbol->multipleOf = multipleOf;
  symbols_.push_back(std::move(symbol));
  return symbols_.back().get();
}

LoopBuilder::Values LoopBuilder::loop(
    const Bounds& bounds, const Values& initial,
    const std::function<Values(const IndexExpr&, const Values&)>& body) {
  auto* lo = llvm::dyn_cast<llvm::ConstantInt>(bounds.lo);
  auto* hi = llvm::dyn_cast<llvm::ConstantInt>(bounds.hi);
  bool empty = bounds.mayBeEmpty;
  if (lo && hi) {
    int64_t length = hi->getSExtValue() - lo->getSExtValue();
    if (length <= 0) return initial;
    empty = false;
    // Without the loop its index is a constant, which folds in all that is computed from it.
    if (length <= bounds.step) return body(IndexExpr(lo->getSExtValue()), initial);
  }

  Level* outer = current_;
  levels_.push_back(std::make_unique<Level>());
  Level* inner = levels_.back().get();
  inner->parent = outer;
  inner->depth = outer->depth + 1;
  if (lo && hi) inner->rounds = (hi->getSExtValue() - lo->getSExtValue()) / bounds.step;
  llvm::BasicBlock* header = llvm::BasicBlock::Create(context(), "loop", function_);
  inner->block = header;

  llvm::IRBuilder<>& b = at(inner);
  llvm::PHINode* variable = b.CreatePHI(b.getInt64Ty(), 2, "i");
  llvm::SmallVector<llvm::PHINode*, 4> carried;
  Values carriedValues;
  for (llvm::Value* value : initial) {
    carried.push_back(b.CreatePHI(value->getType(), 2, "carried"));
    carriedValues.push_back(carried.back());
  }
  const Symbol* symbol = makeSymbol(variable, inner, bounds.range, bounds.multipleOf);
  current_ = inner;
  Values next = body(IndexExpr::of(symbol), carriedValues);
  current_ = outer;

  llvm::BasicBlock* exit = llvm::BasicBlock::Create(context(), "done", function_);
  at(inner);
  // Bounds are far from the ends of i64, so nothing wraps; with that said LLVM widens no index
  // again.
  llvm::Value* following = builder_.CreateAdd(variable, i64(bounds.step), "next", true, true);
  builder_.CreateCondBr(builder_.CreateICmpSLT(following, bounds.hi), header, exit);
  // The body may have opened and closed loops of its own: where it ends is not where it began.
  llvm::BasicBlock* latch = inner->block;

  at(outer);
  llvm::BasicBlock* preheader = outer->block;
  if (empty) {
    builder_.CreateCondBr(builder_.CreateICmpSLT(bounds.lo, bounds.hi), header, exit);
  } else {
    builder_.CreateBr(header);
  }
  variable->addIncoming(bounds.lo, preheader);
  variable->addIncoming(following, latch);
  for (size_t i = 0; i < carried.size(); ++i) {
    carried[i]->addIncoming(initial[i], preheader);
    carried[i]->addIncoming(next[i], latch);
  }
  outer->block = exit;
  Values results;
  at(outer);
  for (size_t i = 0; i < carried.size(); ++i) {
    llvm::PHINode* result = builder_.CreatePHI(next[i]->getType(), 2, "result");
    result->addIncoming(next[i], latch);
    if (empty) result->addIncoming(initial[i], preheader);
    results.push_back(result);
  }
  return results;
}

LoopBuilder::Values LoopBuilder::loop(
    int64_t lo, int64_t hi, int64_t step, const Values& initial,
    const std::function<Values(const IndexExpr&, const Values&)>& body) {
  Bounds bounds;
  bounds.lo = i64(lo);
  bounds.hi = i64(hi);
  bounds.step = step;
  bounds.range = {lo, lo + (std::max<int64_t>(hi - lo, 1) - 1) / step * step};
  bounds.multipleOf = lo % step == 0 ? step : 1;
  bounds.mayBeEmpty = false;
  return loop(bounds, initial, body);
}

LoopBuilder::Values LoopBuilder::branch(llvm::Value* condition, const Values& otherwise,
                                        const std::function<Values()>& then) {
  Level* outer = current_;
  levels_.push_back(std::make_unique<Level>());
  Level* inner = levels_.back().get();
  inner->parent = outer;
  inner->depth = outer->depth + 1;
  llvm::BasicBlock* taken = llvm::BasicBlock::Create(context(), "then", function_);
  inner->block = taken;
  current_ = inner;
  Values values = then();
  current_ = outer;
  llvm::BasicBlock* exit = llvm::BasicBlock::Create(context(), "endif", function_);
  at(inner).CreateBr(exit);
  llvm::BasicBlock* last = inner->block;
  at(outer).CreateCondBr(condition, taken, exit);
  llvm::BasicBlock* before = outer->block;
  outer->block = exit;
  Values results;
  at(outer);
  for (size_t i = 0; i < values.size(); ++i) {
    llvm::PHINode* phi = builder_.CreatePHI(values[i]->getType(), 2, "either");
    phi->addIncoming(values[i], last);
    phi->addIncoming(otherwise[i], before);
    results.push_back(phi);
  }
  return results;
}

Level* LoopBuilder::levelOf(const IndexExpr& expr, Level* otherwise) {
  Level* level = otherwise;
  for (const IndexExpr::Term& term : expr.terms) level = deeper(level, term.symbol->level);
  if (expr.lanes) level = deeper(level, expr.lanesLevel);
  return level;
}

static std::string keyOf(const void* what, llvm::ArrayRef<IndexExpr::Term> terms) {
  std::string key(reinterpret_cast<const char*>(&what), sizeof(what));
  for (const IndexExpr::Term& term : terms) {
    key.append(reinterpret_cast<const char*>(&term.symbol), sizeof(term.symbol));
    key.append(reinterpret_cast<const char*>(&term.coefficient), sizeof(term.coefficient));
  }
  return key;
}

// Terms from the outermost level to the innermost, so that sums of outer terms are shared.
static llvm::SmallVector<IndexExpr::Term, 4> byDepth(llvm::ArrayRef<IndexExpr::Term> terms) {
  llvm::SmallVector<IndexExpr::Term, 4> sorted(terms.begin(), terms.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const IndexExpr::Term& a, const IndexExpr::Term& b) {
                     return a.symbol->level->depth < b.symbol->level->depth;
                   });
  return sorted;
}

llvm::Value* LoopBuilder::sumOfTerms(llvm::ArrayRef<IndexExpr::Term> terms) {
  if (terms.empty()) return i64(0);
  const IndexExpr::Term& last = terms.back();
  Level* level = last.symbol->level;
  std::string key = keyOf(nullptr, terms);
  if (auto it = level->scalars.find(key); it != level->scalars.end()) return it->second;
  llvm::Value* before = sumOfTerms(terms.drop_back());
  llvm::IRBuilder<>& b = at(level);
  llvm::Value* scaled = last.coefficient == 1 ? last.symbol->value
                                              : b.CreateMul(last.symbol->value,
                                                            i64(last.coefficient), "", false, true);
  llvm::Value* sum = terms.size() == 1 ? scaled : b.CreateAdd(before, scaled, "", false, true);
  level->scalars[key] = sum;
  return sum;
}

llvm::Value* LoopBuilder::uniformPart(const IndexExpr& expr) {
  llvm::Value* sum = sumOfTerms(byDepth(expr.terms));
  if (expr.constant == 0) return sum;
  if (expr.terms.empty()) return i64(expr.constant);
  // A term without a symbol tells the sum with the constant from the one without it.
  IndexExpr::Term marker{nullptr, expr.constant};
  Level* level = levelOf(expr, entry());
  if (expr.lanes) {
    // The lanes are no part of this sum: they must not hold it in an inner loop.
    level = entry();
    for (const IndexExpr::Term& term : expr.terms) level = deeper(level, term.symbol->level);
  }
  llvm::SmallVector<IndexExpr::Term, 4> terms = byDepth(expr.terms);
  terms.push_back(marker);
  std::string key = keyOf(nullptr, terms);
  llvm::Value*& value = level->scalars[key];
  if (!value) value = at(level).CreateAdd(sum, i64(expr.constant), "", false, true);
  return value;
}

llvm::Value* LoopBuilder::address(llvm::Value* base, llvm::Type* element, const IndexExpr& expr) {
  // One GEP per level keeps the outer part of an address out of the inner loops.
  llvm::SmallVector<IndexExpr::Term, 4> terms = byDepth(expr.terms);
  llvm::Value* pointer = base;
  size_t begin = 0;
  while (begin < terms.size()) {
    Level* level = terms[begin].symbol->level;
    size_t end = begin;
    while (end < terms.size() && terms[end].symbol->level == level) ++end;
    std::string key = keyOf(base, llvm::ArrayRef(terms).take_front(end)) +
                      std::string(reinterpret_cast<const char*>(&element), sizeof(element));
    llvm::Value* known = nullptr;
    if (auto it = level->scalars.find(key); it != level->scalars.end()) known = it->second;
    if (!known) {
      llvm::Value* offset = sumOfTerms(llvm::ArrayRef(terms).slice(begin, end - begin));
      known = at(level).CreateGEP(element, pointer, offset, "", llvm::GEPNoWrapFlags::inBounds());
      level->scalars[key] = known;
    }
    pointer = known;
    begin = end;
  }
  return pointer;
}

llvm::Value* LoopBuilder::laneRamp(unsigned lanes, int64_t step) const {
  llvm::SmallVector<llvm::Constant*, 16> values;
  for (unsigned i = 0; i < lanes; ++i) {
    values.push_back(llvm::ConstantInt::getSigned(laneType_, step * i));
  }
  return llvm::ConstantVector::get(values);
}

llvm::Value* LoopBuilder::laneValues(const IndexExpr& expr, unsigned lanes, Level** level) {
  *level = levelOf(expr, entry());
  llvm::Value* uniform = uniformPart(expr);
  if (lanes == 1) {
    if (!expr.lanes) return uniform;
    llvm::IRBuilder<>& b = at(*level);
    return b.CreateAdd(uniform, b.CreateSExt(expr.lanes, b.getInt64Ty()));
  }
  llvm::IRBuilder<>& b = at(*level);
  llvm::Value* vector = nullptr;
  if (expr.laneStride) vector = laneRamp(lanes, expr.laneStride);
  if (expr.lanes) vector = vector ? b.CreateAdd(vector, expr.lanes) : expr.lanes;
  bool zero = expr.terms.empty() && expr.constant == 0;
  if (vector && zero) return vector;
  // Fits: useWideLanes() was called if any array has more elements than laneType() counts.
  llvm::Value* splat = b.CreateVectorSplat(lanes, b.CreateTrunc(uniform, laneType_));
  return vector ? b.CreateAdd(splat, vector) : splat;
}

}  // namespace isthmus::codegen

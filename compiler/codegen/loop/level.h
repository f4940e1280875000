// Loops of a kernel under construction, and where in them an instruction belongs.
//
// The body of each loop is a Level. All levels on the way from the function's entry to the
// innermost loop are open at once: an instruction is appended to the outermost one that dominates
// its use, so that loop-invariant code is hoisted as it is emitted and no pass has to find it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/codegen/access/index.h"
#include "compiler/target/target_model.h"
#include "llvm/IR/IRBuilder.h"

namespace isthmus::codegen {

// One or two (complex) registers, each a scalar or a vector of lanes, and the level that they are
// defined at.
struct Val {
  llvm::Value* re = nullptr;
  llvm::Value* im = nullptr;
  Level* level = nullptr;

  unsigned lanes() const {
    auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(re->getType());
    return vector ? vector->getNumElements() : 1;
  }
};

struct Level {
  Level* parent = nullptr;
  int depth = 0;
  llvm::BasicBlock* block = nullptr;  // its open end; without a terminator
  int64_t rounds = 0;                 // of its loop, where they are known; else 0
  // What was computed at this level, by a key that says what it is.
  std::unordered_map<std::string, llvm::SmallVector<Val, 1>> memo;
  std::unordered_map<std::string, llvm::Value*> scalars;
};

class LoopBuilder {
 public:
  LoopBuilder(llvm::Function* function, const TargetModel& target);

  const TargetModel& target() const { return target_; }
  llvm::LLVMContext& context() const { return function_->getContext(); }
  llvm::Function* function() const { return function_; }

  Level* entry() { return levels_.front().get(); }
  Level* current() const { return current_; }

  // The builder, set to the end of `level`.
  llvm::IRBuilder<>& at(Level* level) {
    builder_.SetInsertPoint(level->block);
    return builder_;
  }
  llvm::IRBuilder<>& here() { return at(current_); }

  static Level* deeper(Level* a, Level* b) { return !a || (b && b->depth > a->depth) ? b : a; }

  // Runs `body` with `level` as the current one; loops that it opens are closed when it returns.
  template <typename F>
  auto within(Level* level, F&& body) {
    Level* saved = current_;
    current_ = level;
    if constexpr (std::is_void_v<decltype(body())>) {
      body();
      current_ = saved;
    } else {
      auto result = body();
      current_ = saved;
      return result;
    }
  }

  using Values = llvm::SmallVector<llvm::Value*, 4>;
  struct Bounds {
    // Constants where known, else values at the current level or further out.
    llvm::Value* lo;
    llvm::Value* hi;  // exclusive; (hi - lo) need not be a multiple of step
    int64_t step = 1;
    Range range;  // of the loop variable
    int64_t multipleOf = 1;
    bool mayBeEmpty = true;
  };
  // for (i = lo; i < hi; i += step): `body` gets i and the carried values, and returns their next
  // ones. Returns the final ones, at the current level. A loop that runs once is no loop: i is then
  // a constant.
  Values loop(const Bounds& bounds, const Values& initial,
              const std::function<Values(const IndexExpr&, const Values&)>& body);
  // The same over the constant range [lo, hi).
  Values loop(int64_t lo, int64_t hi, int64_t step, const Values& initial,
              const std::function<Values(const IndexExpr&, const Values&)>& body);

  // `then` runs if `condition` (an i1) holds; returns its values or `otherwise`.
  Values branch(llvm::Value* condition, const Values& otherwise,
                const std::function<Values()>& then);

  // A new symbol for an i64 `value` that is defined at `level`.
  const Symbol* makeSymbol(llvm::Value* value, Level* level, Range range, int64_t multipleOf = 1);

  // Registers from expressions: the part that is the same for all lanes, as i64.
  llvm::Value* uniformPart(const IndexExpr& expr);
  // The whole, as a vector of `lanes` integers of laneType() (an i64 scalar if lanes is 1).
  llvm::Value* laneValues(const IndexExpr& expr, unsigned lanes, Level** level);
  // `base` + the uniform part of `expr` in units of `element`, less its constant.
  llvm::Value* address(llvm::Value* base, llvm::Type* element, const IndexExpr& expr);
  static Level* levelOf(const IndexExpr& expr, Level* otherwise);

  // Integers that hold per-lane indices: i32 unless an array of the fusion is too large.
  llvm::Type* laneType() const { return laneType_; }
  void useWideLanes() { laneType_ = llvm::Type::getInt64Ty(context()); }

  llvm::Value* i64(int64_t value) const {
    return llvm::ConstantInt::getSigned(llvm::Type::getInt64Ty(context()), value);
  }
  // <start, start + step, …> of laneType().
  llvm::Value* laneRamp(unsigned lanes, int64_t step) const;

 private:
  llvm::Value* sumOfTerms(llvm::ArrayRef<IndexExpr::Term> terms);

  llvm::Function* function_;
  const TargetModel& target_;
  llvm::IRBuilder<> builder_;
  llvm::Type* laneType_;
  std::vector<std::unique_ptr<Level>> levels_;
  std::vector<std::unique_ptr<Symbol>> symbols_;
  Level* current_;
};

}  // namespace isthmus::codegen

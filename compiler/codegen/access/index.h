// Indices as affine expressions of loop variables, known at emission time.
//
// A kernel's loop variables are symbols. What an op does to an index (slice, transpose, reshape, …)
// is arithmetic on expressions here and costs no instruction; an expression becomes LLVM IR only
// where an address or a number is needed, at the outermost loop level that knows its symbols.
#pragma once

#include <cstdint>

#include "llvm/ADT/SmallVector.h"

namespace llvm {
class Value;
}

namespace isthmus::codegen {

struct Level;

// An i64 that is defined at a loop level and lies in [lo, hi].
struct Symbol {
  int id = 0;
  llvm::Value* value = nullptr;
  Level* level = nullptr;
  int64_t lo = 0;
  int64_t hi = 0;
  int64_t multipleOf = 1;  // divides every value
};

// constant + sum(coefficient * symbol) + laneStride * lane + lanes[lane].
//
// `lanes` is a vector of as many integers as the lane context has lanes, for indices that are not
// affine in the lane; its elements lie in [lanesLo, lanesHi].
struct IndexExpr {
  struct Term {
    const Symbol* symbol;
    int64_t coefficient;
    bool operator==(const Term&) const = default;
  };
  llvm::SmallVector<Term, 3> terms;  // by symbol id, no coefficient is 0
  int64_t constant = 0;
  int64_t laneStride = 0;
  llvm::Value* lanes = nullptr;
  Level* lanesLevel = nullptr;
  int64_t lanesLo = 0;
  int64_t lanesHi = 0;

  IndexExpr() = default;
  IndexExpr(int64_t value) : constant(value) {}
  static IndexExpr of(const Symbol* symbol) {
    IndexExpr expr;
    expr.terms.push_back({symbol, 1});
    return expr;
  }

  bool isConstant() const { return terms.empty() && isUniform(); }
  // The same for all lanes.
  bool isUniform() const { return laneStride == 0 && !lanes; }
  bool operator==(const IndexExpr&) const = default;
};

using Index = llvm::SmallVector<IndexExpr, 4>;

struct Range {
  int64_t lo;
  int64_t hi;  // inclusive
};

// All values that `expr` can have over `numLanes` lanes.
Range rangeOf(const IndexExpr& expr, int64_t numLanes);

// At most one of the two may have `lanes`; the caller sees to it.
IndexExpr add(const IndexExpr& a, const IndexExpr& b);
// `factor` may be negative; `expr` must have no `lanes`.
IndexExpr scale(const IndexExpr& expr, int64_t factor);

// A number that divides every value of the part of `expr` that is the same for all lanes.
int64_t knownDivisor(const IndexExpr& expr);

// The quotient and the remainder of expr / divisor where they need no instruction: true, or false
// if they do. `expr` must not be negative.
bool divideSymbolically(const IndexExpr& expr, int64_t divisor, int64_t numLanes,
                        IndexExpr* quotient, IndexExpr* remainder);

}  // namespace isthmus::codegen

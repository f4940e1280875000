// Indices as affine expressions of loop variables.
#include "compiler/codegen/access/index.h"

#include <numeric>

namespace isthmus::codegen {

Range rangeOf(const IndexExpr& expr, int64_t numLanes) {
  Range range{expr.constant, expr.constant};
  auto widen = [&](int64_t a, int64_t b) {
    range.lo += std::min(a, b);
    range.hi += std::max(a, b);
  };
  for (const IndexExpr::Term& term : expr.terms) {
    widen(term.coefficient * term.symbol->lo, term.coefficient * term.symbol->hi);
  }
  if (expr.laneStride) widen(0, expr.laneStride * (numLanes - 1));
  if (expr.lanes) widen(expr.lanesLo, expr.lanesHi);
  return range;
}

IndexExpr add(const IndexExpr& a, const IndexExpr& b) {
  IndexExpr sum;
  auto i = a.terms.begin();
  auto j = b.terms.begin();
  // Terms are in the order of their symbols' ids, so that equal sums are equal expressions.
  while (i != a.terms.end() || j != b.terms.end()) {
    if (j == b.terms.end() || (i != a.terms.end() && i->symbol->id < j->symbol->id)) {
      sum.terms.push_back(*i++);
    } else if (i == a.terms.end() || j->symbol->id < i->symbol->id) {
      sum.terms.push_back(*j++);
    } else {
      int64_t coefficient = i->coefficient + j->coefficient;
      if (coefficient) sum.terms.push_back({i->symbol, coefficient});
      ++i, ++j;
    }
  }
  sum.constant = a.constant + b.constant;
  sum.laneStride = a.laneStride + b.laneStride;
  // Callers add numbers that lanes hold to uniform ones only: two such vectors would need code.
  const IndexExpr& vector = a.lanes ? a : b;
  sum.lanes = vector.lanes;
  sum.lanesLevel = vector.lanesLevel;
  sum.lanesLo = vector.lanesLo;
  sum.lanesHi = vector.lanesHi;
  return sum;
}

IndexExpr scale(const IndexExpr& expr, int64_t factor) {
  IndexExpr product;
  if (factor == 0) return product;
  for (const IndexExpr::Term& term : expr.terms) {
    product.terms.push_back({term.symbol, term.coefficient * factor});
  }
  product.constant = expr.constant * factor;
  product.laneStride = expr.laneStride * factor;
  return product;
}

int64_t knownDivisor(const IndexExpr& expr) {
  int64_t divisor = expr.constant;
  for (const IndexExpr::Term& term : expr.terms) {
    divisor = std::gcd(divisor, term.coefficient * term.symbol->multipleOf);
  }
  return divisor;
}

bool divideSymbolically(const IndexExpr& expr, int64_t divisor, int64_t numLanes,
                        IndexExpr* quotient, IndexExpr* remainder) {
  if (divisor == 1) {
    *quotient = expr;
    *remainder = IndexExpr();
    return true;
  }
  Range whole = rangeOf(expr, numLanes);
  if (whole.lo >= 0 && whole.hi < divisor) {
    *quotient = IndexExpr();
    *remainder = expr;
    return true;
  }
  // Nothing is known of numbers that were computed but their bounds.
  if (expr.lanes) return false;
  // Terms that the divisor divides are the quotient's alone; what is left is the remainder if it
  // stays within one multiple for all values of its variables.
  IndexExpr multiple;
  IndexExpr rest;
  for (const IndexExpr::Term& term : expr.terms) {
    if (term.coefficient % divisor == 0) {
      multiple.terms.push_back({term.symbol, term.coefficient / divisor});
    } else {
      rest.terms.push_back(term);
    }
  }
  if (expr.laneStride % divisor == 0) {
    multiple.laneStride = expr.laneStride / divisor;
  } else {
    rest.laneStride = expr.laneStride;
  }
  // C++ rounds to zero; the remainder of an index is never negative.
  int64_t low = expr.constant % divisor;
  if (low < 0) low += divisor;
  multiple.constant = (expr.constant - low) / divisor;
  rest.constant = low;
  Range range = rangeOf(rest, numLanes);
  // The constant may be split another way when the rest has negative terms.
  if (range.lo < 0) {
    int64_t shift = (-range.lo + divisor - 1) / divisor;
    rest.constant += shift * divisor;
    multiple.constant -= shift;
    range = rangeOf(rest, numLanes);
  } else if (range.lo >= divisor) {
    int64_t shift = range.lo / divisor;
    rest.constant -= shift * divisor;
    multiple.constant += shift;
    range = rangeOf(rest, numLanes);
  }
  if (range.lo < 0 || range.hi >= divisor) return false;
  *quotient = multiple;
  *remainder = rest;
  return true;
}

}  // namespace isthmus::codegen

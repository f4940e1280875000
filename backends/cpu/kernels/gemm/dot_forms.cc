// Which form in place suits a product, decided when its program is compiled.
#include <algorithm>

#include "backends/cpu/kernels/gemm/dot_job.h"
#include "backends/cpu/kernels/gemm/dot_matrices.h"
#include "backends/cpu/kernels/gemm/few_rows.h"

namespace isthmus::cpu {
namespace {

struct Strides {
  int64_t size, lhs, rhs;
};

Strides only(std::span<const DotDimension> dims) {
  if (dims.empty()) return {1, 0, 0};
  return {dims[0].size, dims[0].lhsStride, dims[0].rhsStride};
}

// How many elements lie from the first of each operand to its last; 0 if some lie before the first.
DotOffsets extentOf(const DotProblem& p) {
  DotOffsets last{0, 0}, lowest{0, 0};
  for (const auto& dims : {p.batch, p.m, p.n, p.k}) {
    for (const DotDimension& dim : dims) {
      last.lhs += (dim.size - 1) * dim.lhsStride;
      last.rhs += (dim.size - 1) * dim.rhsStride;
      lowest.lhs = std::min(lowest.lhs, dim.lhsStride);
      lowest.rhs = std::min(lowest.rhs, dim.rhsStride);
    }
  }
  return {lowest.lhs < 0 ? 0 : last.lhs + 1, lowest.rhs < 0 ? 0 : last.rhs + 1};
}

}  // namespace

Matrices itemOf(const DotProblem& p) {
  const Strides m = only(p.m), n = only(p.n), k = only(p.k);
  const DotOffsets extent = extentOf(p);
  return {m.size,
          n.size,
          k.size,
          static_cast<const char*>(p.lhs),
          m.lhs,
          k.lhs,
          static_cast<const char*>(p.rhs),
          k.rhs,
          n.rhs,
          static_cast<char*>(p.result),
          n.size,
          1,
          false,
          extent.lhs,
          extent.rhs,
          p.batches == 1};
}

Matrices transposed(const Matrices& x) {
  return {x.n,    x.m, x.k,    x.b,    x.bCol,     x.bStep,     x.a,         x.aStep,
          x.aRow, x.c, x.cCol, x.cRow, !x.swapped, x.bReadable, x.aReadable, x.isOnly};
}

namespace {

// Of a second-level cache, the part for a left operand that each strip of columns reads again.
constexpr int64_t kRereadParts = 4;
// Where the right operand is near, SecondLevelParts::reused bytes of the left one at a time meet
// it, in tiles of at least so many rows.
constexpr int kTallTileRows = 12;
// Of vectors, for each result: what adding the lanes of its sums costs; for each element of an
// operand whose terms lie side by side: what packing it costs.
constexpr double kLaneSumOperations = 4;
constexpr double kPackOperations = 0.4;

// Whether a narrow operand of so many elements may be copied: once for all threads, or on the stack
// for each of several items.
bool isRoomForNarrow(const GemmKernels& kernels, const Matrices& x, int64_t elements) {
  return elements * kernels.elementBytes <= (x.isOnly ? nearOperandBytes() : kNarrowBytes);
}

// Whether a few rows whose terms lie apart may be gathered and multiplied with rows that lie as
// they should.
bool gathersRows(const GemmKernels& kernels, const Matrices& x) {
  return x.bStep == 1 && x.k >= kernels.vectorLanes && x.m <= kMaxGatheredRows &&
         isRoomForNarrow(kernels, x, x.m * x.k);
}

// Whether rows may meet all columns where the rows lie.
bool hasFewColumns(const GemmKernels& kernels, const Matrices& x) {
  return x.aStep == 1 && x.cCol == 1 && x.n <= 2 * kernels.nr &&
         (padsColumns(kernels, x) ? isRoomForNarrow(kernels, x, x.k * paddedColumns(kernels, x))
                                  : isRightNear(kernels, x));
}

// Whether results of few columns cost less as sums along the terms, whose lanes are added in the
// end, than as sums along the columns, of which the last vector is not full, and for which each
// element of an operand takes `packing` operations.
bool isCheaperAsDotProducts(const GemmKernels& kernels, const Matrices& x, double packing) {
  const auto terms = static_cast<double>(x.k), lanes = static_cast<double>(kernels.vectorLanes);
  const auto rows = static_cast<double>(x.m), columns = static_cast<double>(x.n);
  const auto padded = static_cast<double>(paddedColumns(kernels, x));
  return terms / lanes + kLaneSumOperations <
         terms * (padded / lanes / columns + packing / rows + packing / columns);
}

// Whether tiles of a product can be stored transposed.
bool storesTransposed(const GemmKernels& kernels, const Matrices& x) {
  return x.m * kernels.nr * kernels.elementBytes <= kStackBytes;
}

// Whether few rows of a product whose result is transposed should meet the columns where these lie.
bool suitsTransposed(const GemmKernels& kernels, const Matrices& x) {
  return x.bCol == 1 && x.m <= 2 * kernels.mr && x.n >= kernels.vectorLanes &&
         storesTransposed(kernels, x);
}

// Whether few columns and rows whose terms lie side by side are multiplied along the terms.
bool isNarrowDot(const GemmKernels& kernels, const Matrices& x) {
  return x.n <= kMaxContiguousRows && x.n <= x.m &&
         isCheaperAsDotProducts(kernels, x, kPackOperations);
}

// What suits the shape; may swap the operands (which transposes the result).
DotForm chooseForm(const GemmKernels& kernels, int64_t l2Bytes, const Refusals& refusals,
                   Matrices& x) {
  constexpr const char* kInPlace = "in place";
  if (x.k == 0) return refusals.add(kInPlace, "there is nothing to sum"), DotForm::kBlocked;
  const int64_t bytes = kernels.elementBytes;
  if (x.n == 1 && x.m > 1) x = transposed(x);
  if (x.m == 1 && x.bCol == 1 && x.n >= kernels.vectorLanes && x.cCol == 1) {
    return DotForm::kRowTimesMatrix;
  }
  refusals.add("row_times_matrix", x.m > 1                     ? "several rows and columns"
                                   : x.n < kernels.vectorLanes ? "few columns"
                                                               : "columns lie apart");
  const bool bothContiguous = x.bStep == 1 && x.aStep == 1 && x.k >= kernels.vectorLanes;
  const Matrices other = transposed(x);
  if (bothContiguous && (x.m <= kMaxDotRows || isNarrowDot(kernels, other))) {
    return DotForm::kDotProducts;
  }
  if (bothContiguous && (x.n <= kMaxDotRows || isNarrowDot(kernels, x))) {
    x = other;
    return DotForm::kDotProducts;
  }
  if (x.m == 1 && gathersRows(kernels, x)) return DotForm::kDotProducts;
  refusals.add("dot_products", bothContiguous              ? "many rows and columns"
                               : x.k < kernels.vectorLanes ? "few terms"
                                                           : "terms lie apart");
  if (x.cCol != 1) {
    return refusals.add(kInPlace, "the result would be transposed"), DotForm::kBlocked;
  }
  // In place: few tiles of rows, or operands that stay near.
  const bool tiny = x.m * x.k * bytes <= kTinyBytes && x.k * x.n * bytes <= kTinyBytes;
  if (tiny) return DotForm::kDirect;
  const bool few = areFewRows(kernels, x.m, x.bStep);
  const bool isLeftALine = x.aStep == 1 || x.aRow == 1;
  if (x.bCol == 1 && isLeftALine && x.k <= kFewSteps && x.m > kernels.mr) {
    return DotForm::kRowByRow;
  }
  refusals.add("row_by_row", x.bCol != 1 || !isLeftALine ? "operands lie apart"
                             : x.k <= kFewSteps          ? "few rows"
                                                         : "many terms");
  // Columns that fill no vector: where rows are few, only so few of them repay gathering.
  if ((!few || x.n <= kernels.vectorLanes / 2) && gathersRows(kernels, other) &&
      isCheaperAsDotProducts(kernels, x, 0)) {
    x = other;
    return DotForm::kDotProducts;
  }
  if (!few && hasFewColumns(kernels, x)) return DotForm::kFewColumns;
  if (!few && padsColumns(kernels, x) && suitsTransposed(kernels, other)) {
    x = other;
    return DotForm::kDirect;
  }
  refusals.add("few_columns", few                    ? "few rows"
                              : x.n > 2 * kernels.nr ? "many columns"
                              : x.aStep != 1         ? "terms lie apart"
                                                     : "the right operand is not near");
  if (x.bCol != 1 || !isLeftALine) {
    return refusals.add(kInPlace, "operands lie apart"), DotForm::kBlocked;
  }
  // Tall tiles read a near right operand so seldom that packing it costs more.
  const bool near = x.m * x.k * bytes <= l2Bytes / kRereadParts ||
                    (kernels.mr >= kTallTileRows && isRightNear(kernels, x));
  if (few || (near && x.n >= kernels.nr)) return DotForm::kDirect;
  refusals.add("direct", near ? "few columns" : "many rows, and no operand that stays near");
  return DotForm::kBlocked;
}

// Why no form of this file can compute a product.
const char* inPlaceRefusal(const DotProblem& p, GemmDomain domain) {
  const ElementType type = floatTypeOf(domain);
  if (p.dot.lhsType != type || p.dot.rhsType != type || p.dot.resultType != type) {
    return "not all of f32, or of f64";
  }
  if (p.m.size() > 1 || p.n.size() > 1 || p.k.size() > 1) {
    return "several dimensions of rows, columns or terms";
  }
  const bool hasRoom = p.dot.sumsBuffer >= 0 || isRoomForSums(p, gemmKernels(domain));
  return hasRoom ? nullptr : "no result has room for its sums";
}

}  // namespace

DotChoice skinnyFormOf(const DotProblem& p, GemmDomain domain, int64_t l2Bytes,
                       const Refusals& refusals) {
  const DotChoice blocked{DotForm::kBlocked, false, false};
  if (refusals.add("in place", inPlaceRefusal(p, domain))) return blocked;
  Matrices item = itemOf(p);
  const DotForm form = chooseForm(gemmKernels(domain), l2Bytes, refusals, item);
  return form == DotForm::kBlocked ? blocked : DotChoice{form, item.swapped, false};
}

const char* skinnyFormRefusal(const DotProblem& p, DotForm form, bool isSwapped,
                              GemmDomain domain) {
  if (const char* why = inPlaceRefusal(p, domain)) return why;
  const GemmKernels& kernels = gemmKernels(domain);
  const Matrices x = isSwapped ? transposed(itemOf(p)) : itemOf(p);
  if (x.k == 0) return "there is nothing to sum";
  const char* const kTransposed = "the result would be transposed";
  const char* const kApart = "operands lie apart";
  const bool isLeftALine = x.aStep == 1 || x.aRow == 1;
  switch (form) {
    case DotForm::kRowTimesMatrix:
      if (x.m != 1) return "several rows";
      if (x.n < kernels.vectorLanes) return "few columns";
      return x.bCol == 1 && x.cCol == 1 ? nullptr : "columns lie apart";
    case DotForm::kDotProducts: {
      if (x.k < kernels.vectorLanes) return "few terms";
      if (x.aStep != 1 && gathersRows(kernels, x)) return nullptr;
      if (x.m > kMaxContiguousRows) return "many rows";
      return x.bStep == 1 && x.aStep == 1 ? nullptr : "terms lie apart";
    }
    case DotForm::kDirect:
      return x.cCol == 1 || storesTransposed(kernels, x) ? nullptr : kTransposed;
    case DotForm::kRowByRow:
      if (x.cCol != 1) return kTransposed;
      if (x.k > kFewSteps) return "many terms";
      return x.bCol == 1 && isLeftALine ? nullptr : kApart;
    case DotForm::kFewColumns:
      if (x.cCol != 1) return kTransposed;
      if (x.n > 2 * kernels.nr) return "many columns";
      if (x.aStep != 1) return kApart;
      return hasFewColumns(kernels, x) ? nullptr : "the right operand is not near";
    case DotForm::kUndecided:
    case DotForm::kBlocked:
      break;
  }
  return "it is no such form";
}

}  // namespace isthmus::cpu

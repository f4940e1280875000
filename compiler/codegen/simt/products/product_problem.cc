#include "compiler/codegen/simt/products/product_problem.h"

namespace isthmus::codegen {

using Line = ProductProblem::Line;
using Window = ProductProblem::Window;

llvm::Value* offsetOf(KernelWriter& w, llvm::Value* index, const DotDimensions& dims, bool isLhs) {
  llvm::Value* at = w.i64(0);
  for (size_t d = dims.size(); d-- > 0;) {
    llvm::Value* here = index;
    if (d > 0) std::tie(index, here) = w.divide(index, dims[d].size);
    at = w.plus(at, w.times(here, isLhs ? dims[d].lhsStride : dims[d].rhsStride));
  }
  return at;
}

std::optional<ProductProblem> problemOf(const DotRoles& roles) {
  std::optional<ProductShape> shape = shapeOf(roles);
  if (!shape) return std::nullopt;
  ProductProblem problem;
  static_cast<ProductShape&>(problem) = *std::move(shape);
  auto lineOf = [&roles](bool isLhs) {
    return [&roles, isLhs](KernelWriter& w, llvm::Value* batch, llvm::Value* line, Window) {
      llvm::Value* start = offsetOf(w, batch, roles.batch, isLhs);
      return Line{w.plus(start, offsetOf(w, line, isLhs ? roles.rows : roles.columns, isLhs))};
    };
  };
  problem.lhs = lineOf(true);
  problem.rhs = lineOf(false);
  problem.result = [rows = problem.rows, columns = problem.columns](
                       KernelWriter& w, llvm::Value* batch, llvm::Value* row, llvm::Value* column) {
    return w.plus(w.times(w.plus(w.times(batch, rows), row), columns), column);
  };
  return problem;
}

std::optional<ProductProblem> problemOf(const ConvRoles& roles) {
  std::optional<ProductShape> shape = shapeOf(roles);
  if (!shape) return std::nullopt;
  ProductProblem problem;
  static_cast<ProductShape&>(problem) = *std::move(shape);
  problem.lhs = [&roles](KernelWriter& w, llvm::Value*, llvm::Value* row, Window window) {
    llvm::IRBuilder<>& b = w.b();
    Line line{w.i64(0)};
    for (size_t d = roles.spatial.size(); d-- > 0;) {
      const ConvSpatialRole& s = roles.spatial[d];
      llvm::Value* position = nullptr;
      std::tie(row, position) = w.divide(row, s.outputSize);
      llvm::Value* at =
          b.CreateSub(w.plus(w.times(position, s.windowStride), w.times(window[d], s.rhsDilation)),
                      w.i64(s.padLow));
      // Below zero is far beyond the end, as an unsigned number.
      llvm::Value* isInside = b.CreateICmpULT(at, w.i64(s.inputSize));
      line.isInside = line.isInside ? b.CreateAnd(line.isInside, isInside) : isInside;
      line.place = b.CreateAdd(line.place, b.CreateMul(at, w.i64(s.inputStride)));
    }
    line.place = w.plus(line.place, w.times(row, roles.inputBatchStride));
    return line;
  };
  problem.rhs = [&roles](KernelWriter& w, llvm::Value*, llvm::Value* column, Window window) {
    llvm::Value* place = w.times(column, roles.kernelOutputStride);
    for (auto [s, at] : llvm::zip(roles.spatial, window)) {
      llvm::Value* element = s.isReversed ? w.b().CreateSub(w.i64(s.kernelSize - 1), at) : at;
      place = w.plus(place, w.times(element, s.kernelStride));
    }
    return Line{place};
  };
  problem.result = [&roles](KernelWriter& w, llvm::Value*, llvm::Value* row, llvm::Value* column) {
    llvm::Value* place = w.times(column, roles.outputFeatureStride);
    for (const ConvSpatialRole& s : llvm::reverse(roles.spatial)) {
      llvm::Value* position = nullptr;
      std::tie(row, position) = w.divide(row, s.outputSize);
      place = w.plus(place, w.times(position, s.outputStride));
    }
    return w.plus(place, w.times(row, roles.outputBatchStride));
  };
  return problem;
}

}  // namespace isthmus::codegen

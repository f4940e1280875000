#include "compiler/cost/library_time.h"

#include <algorithm>
#include <cmath>

#include "compiler/cost/op_cost.h"
#include "compiler/cost/time.h"
#include "compiler/cost/work.h"
#include "compiler/dialect/dialect.h"
#include "llvm/ADT/TypeSwitch.h"

namespace isthmus {
namespace {

double elementsOfOperand(mlir::Operation* op) { return elementsOf(op->getOperand(0).getType()); }

// Comparisons, each of which leads to a move.
double stepsOf(shlo::SortOp sort) {
  auto type = llvm::cast<mlir::RankedTensorType>(sort.getInputs()[0].getType());
  int64_t length = type.getRank() == 0 ? 1 : type.getDimSize(sort.getDimension());
  return elementsOf(type) * std::log2(static_cast<double>(std::max<int64_t>(2, length)));
}

double transformNs(const TargetModel& target, double flops) {
  return flops / target.transformFlopsPerNs;
}

double choleskyFlops(mlir::Operation* op) {
  auto type = llvm::cast<mlir::RankedTensorType>(op->getOperand(0).getType());
  return elementsOf(type) * static_cast<double>(type.getShape().back()) / 3;
}

double triangularSolveFlops(shlo::TriangularSolveOp solve) {
  auto type = llvm::cast<mlir::RankedTensorType>(solve.getResult().getType());
  // Each of b's elements is the sum of up to as many products as the triangle has rows.
  auto size = type.getDimSize(solve.getLeftSide() ? type.getRank() - 2 : type.getRank() - 1);
  return elementsOf(type) * static_cast<double>(size);
}

}  // namespace

double libraryNs(const TargetModel& target, mlir::Operation* op) {
  double ns = llvm::TypeSwitch<mlir::Operation*, double>(op)
                  .Case<shlo::DotGeneralOp, shlo::ConvolutionOp>(
                      [&](auto product) { return contractionNs(target, productsOf(product)); })
                  .Case([&](shlo::SortOp sort) { return oneByOneNs(target, 2 * stepsOf(sort)); })
                  // top_k, the only composite with a function.
                  .Case([&](shlo::CompositeOp topK) {
                    return oneByOneNs(target, 3 * elementsOfOperand(topK));
                  })
                  .Case([&](shlo::RngBitGeneratorOp random) {
                    return oneByOneNs(target, elementsOf(random->getResult(1).getType()));
                  })
                  .Case([&](shlo::FftOp fft) {
                    // As FFTs are counted by custom; of all points as if they were one line, which
                    // estimates batches of short ones a little too high.
                    double points = elementsOfOperand(fft);
                    return transformNs(target, 5 * points * std::log2(points + 2));
                  })
                  .Case([&](shlo::CholeskyOp cholesky) {
                    return transformNs(target, choleskyFlops(cholesky));
                  })
                  .Case([&](shlo::TriangularSolveOp solve) {
                    return transformNs(target, triangularSolveFlops(solve));
                  })
                  .Default([&](mlir::Operation* special) {
                    // Series and continued fractions.
                    return oneByOneNs(target, 100 * elementsOf(special->getResult(0).getType()));
                  });
  return target.callNs + ns;
}

double sortByCallsNs(const TargetModel& target, mlir::Operation* sort) {
  // One element at a time, about as long as a vector.
  return target.callNs +
         oneByOneNs(target, (6 + bodyCost(sort)) * stepsOf(llvm::cast<shlo::SortOp>(sort)));
}

double decompositionNs(const TargetModel& target, double flops) {
  return target.callNs + flops / target.decompositionFlopsPerNs;
}

double copiesNs(const TargetModel& target, double pieces, double bytes) {
  constexpr double kStepsOfCopy = 10;
  return oneByOneNs(target, kStepsOfCopy * pieces) + 2 * bytes / target.memoryBytesPerNs;
}

double handlerNs(const TargetModel& target, double steps) {
  return target.handlerNs + oneByOneNs(target, 4 * steps);
}

double collectiveNs(const TargetModel& target, double bytes) {
  return target.meetingNs + bytes / target.exchangeBytesPerNs;
}

}  // namespace isthmus

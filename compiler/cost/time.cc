#include "compiler/cost/time.h"

#include <algorithm>

namespace isthmus {

double arithmeticNs(const TargetModel& target, double additions) {
  return additions / target.elementOpsPerNs;
}

double oneByOneNs(const TargetModel& target, double steps) { return steps / target.scalarOpsPerNs; }

double trafficNs(const TargetModel& target, double bytes) {
  bool isNear = bytes <= static_cast<double>(target.cacheResidentBytes);
  return bytes / (isNear ? target.cacheBytesPerNs : target.memoryBytesPerNs);
}

double contractionNs(const TargetModel& target, double products) {
  return 2 * products / (target.productFlopsPerElementOp * target.elementOpsPerNs);
}

double contractionNs(const TargetModel& target, shlo::DotGeneralOp dot) {
  return contractionNs(target, productsOf(dot));
}

double repeatedProductNs(const TargetModel& target, const Work& work, bool isVector) {
  return std::max(
      isVector ? contractionNs(target, work.products) : oneByOneNs(target, work.products),
      work.bytes / target.productBytesPerNs);
}

double workNs(const TargetModel& target, const Work& work) {
  return std::max(trafficNs(target, work.bytes), arithmeticNs(target, work.additions)) +
         contractionNs(target, work.products);
}

double kernelNs(const TargetModel& target, ir::FusionOp fusion, llvm::ArrayRef<mlir::Value> roots) {
  return workNs(target, workOf(fusion, roots));
}

double storedValueNs(const TargetModel& target, double bytes) {
  // A near cache takes a store in the time of two loads.
  return 3 * bytes / target.cacheBytesPerNs;
}

}  // namespace isthmus

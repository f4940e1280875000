#include "compiler/schedule/dot_scheduler.h"

#include <algorithm>

#include "compiler/cost/time.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/schedule/loop/iteration.h"
#include "compiler/schedule/products/product_scheduler.h"
#include "compiler/target/element_kind.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "mlir/IR/Builders.h"

namespace isthmus {
namespace {

// Follows `sums` through the fusion: all that is computed from it must be at the index that it is
// read at.
const char* placeRefusal(mlir::Block& block, mlir::Value sums) {
  const int64_t elements = tensorTypeOf(sums).getNumElements();
  llvm::DenseSet<mlir::Value> follows = {sums};
  for (mlir::Operation& op : block.without_terminator()) {
    if (!llvm::any_of(op.getOperands(), [&](mlir::Value v) { return follows.contains(v); })) {
      continue;
    }
    const bool isReshape = mlir::isa<shlo::ReshapeOp>(op);
    if (!isReshape && !isElementwise(&op)) return "it is read at other places than it is computed";
    if (tensorTypeOf(op.getResult(0)).getNumElements() != elements) {
      return "what is computed from it has another number of elements";
    }
    follows.insert(op.getResult(0));
  }
  return nullptr;
}

const char* opRefusal(mlir::Block& block, shlo::DotGeneralOp dot) {
  for (mlir::Operation& op : block.without_terminator()) {
    if (&op == dot) continue;
    if (op.getNumRegions() > 0) return "a reduction, a window or a scatter is not an epilogue";
    if (mlir::isa<shlo::DynamicUpdateSliceOp, shlo::DotGeneralOp>(op)) {
      return "an update in place or another product is not an epilogue";
    }
    for (mlir::Value value : op.getResults()) {
      auto kind = kindOf(value);
      if (!kind || kind->isComplex()) return "it computes with complex numbers";
    }
  }
  return nullptr;
}

const char* sizeRefusal(ir::FusionOp fusion, shlo::DotGeneralOp dot, const TargetModel& target) {
  const SumsMatrix matrix = sumsMatrixOf(dot);
  mlir::Operation* yield = fusion.getBody().front().getTerminator();
  bool hasRoom = false;
  for (mlir::Value result : yield->getOperands()) {
    if (!reshaped(matrix, tensorTypeOf(result))) return "rows and columns are mixed by a reshape";
    hasRoom |= canHoldSums(dot, tensorTypeOf(result).getElementType());
  }
  // Kernels of a device have sums in registers, and compute as many elements as there are.
  if (target.products.unit != ProductUnit::kFunctions) return nullptr;
  // Products of operands as they lie in memory write into the result only.
  if (!hasRoom && tensorTypeOf(dot.getLhs()).getElementType() == sumsTypeOf(dot)) {
    return "no result has room for the sums";
  }
  return nullptr;
}

}  // namespace

shlo::DotGeneralOp contractionOf(ir::FusionOp fusion) {
  auto dots = fusion.getBody().front().getOps<shlo::DotGeneralOp>();
  return dots.empty() ? shlo::DotGeneralOp() : *dots.begin();
}

mlir::Operation* productOf(ir::FusionOp fusion) {
  if (shlo::DotGeneralOp dot = contractionOf(fusion)) return dot;
  auto convolutions = fusion.getBody().front().getOps<shlo::ConvolutionOp>();
  return convolutions.empty() ? nullptr : (*convolutions.begin()).getOperation();
}

SumsMatrix sumsMatrixOf(shlo::DotGeneralOp dot) {
  shlo::DotDimensionNumbersAttr numbers = dot.getDotDimensionNumbers();
  auto type = tensorTypeOf(dot.getResult());
  SumsMatrix matrix;
  matrix.rowRank = tensorTypeOf(dot.getLhs()).getRank() -
                   static_cast<int64_t>(numbers.getLhsContractingDimensions().size());
  for (int64_t d = 0; d < type.getRank(); ++d) {
    (d < matrix.rowRank ? matrix.rows : matrix.cols) *= type.getDimSize(d);
  }
  return matrix;
}

std::optional<SumsMatrix> reshaped(const SumsMatrix& matrix, mlir::RankedTensorType type) {
  SumsMatrix result;
  while (result.rowRank < type.getRank() && result.rows < matrix.rows) {
    result.rows *= type.getDimSize(result.rowRank++);
  }
  for (int64_t d = result.rowRank; d < type.getRank(); ++d) result.cols *= type.getDimSize(d);
  if (result.rows != matrix.rows || result.cols != matrix.cols) return std::nullopt;
  return result;
}

mlir::Type sumsTypeOf(shlo::DotGeneralOp dot) {
  auto kind = kindOf(dot.getResult());
  mlir::Type type = tensorTypeOf(dot.getResult()).getElementType();
  if (!kind) return nullptr;
  mlir::Builder builder(dot.getContext());
  if (kind->isFloat()) {
    for (mlir::Value value : {dot.getLhs(), dot.getRhs(), dot.getResult()}) {
      // Of mixed types only those are read that are sums already.
      if (tensorTypeOf(value).getElementType().isF64()) return type.isF64() ? type : nullptr;
    }
    bool isRounded = kind->isBf16 || kind->isF16;
    return type.isF32() || isRounded ? mlir::Type(builder.getF32Type()) : nullptr;
  }
  return kind->isInteger() && (kind->bits == 32 || kind->bits == 64) ? type : nullptr;
}

bool canHoldSums(shlo::DotGeneralOp dot, mlir::Type type) {
  auto kind = elementKind(type);
  auto sums = elementKind(sumsTypeOf(dot));
  return kind && sums && kind->storageBytes == sums->storageBytes;
}

const char* epilogueRefusal(ir::FusionOp fusion, mlir::Value sums, shlo::DotGeneralOp dot,
                            const TargetModel& target) {
  if (tensorTypeOf(dot.getResult()).getNumElements() == 0) return "there is nothing to compute";
  if (!sumsTypeOf(dot)) return "its sums are of a type that epilogues do not read";
  mlir::Block& block = fusion.getBody().front();
  if (const char* why = opRefusal(block, dot)) return why;
  if (const char* why = placeRefusal(block, sums)) return why;
  return sizeRefusal(fusion, dot, target);
}

unsigned epilogueLanesFor(ir::FusionOp fusion, const TargetModel& target) {
  unsigned widest = 8;
  fusion.getBody().walk([&](mlir::Operation* op) {
    for (mlir::Value result : op->getResults()) {
      auto kind = kindOf(result);
      if (kind && tensorTypeOf(result).getRank() > 0)
        widest = std::max(widest, kind->computeBits());
    }
  });
  return target.vectorLanes(widest);
}

unsigned epilogueLanesOf(const DotStage& stage) {
  const ProductSchedule& product = stage.product;
  const bool isAlongColumns =
      product.form == ProductForm::kVectors && !product.isSwapped && !product.vectorsAlongTerms;
  return isAlongColumns ? stage.lanes : 1;
}

void scheduleDot(ir::FusionOp fusion, const TargetModel& target, DotStage* stage) {
  mlir::Operation* product = productOf(fusion);
  mlir::Operation* yield = fusion.getBody().front().getTerminator();
  unsigned number = 0;
  for (mlir::Operation& op : fusion.getBody().front()) {
    if (&op == product) stage->contraction = static_cast<int>(number);
    ++number;
  }
  llvm::SmallVector<mlir::Value, 2> roots(yield->getOperands());
  stage->ns = std::max(1.0, kernelNs(target, fusion, roots));
  shlo::DotGeneralOp dot = contractionOf(fusion);
  if (!dot) {
    stage->product.form = ProductForm::kLibrary;
    return;
  }
  if (target.products.unit != ProductUnit::kFunctions) {
    return scheduleProduct(dot, target, nullptr, stage);
  }
  for (unsigned i = 0; i < roots.size() && stage->sums < 0; ++i) {
    if (canHoldSums(dot, tensorTypeOf(roots[i]).getElementType()))
      stage->sums = static_cast<int>(i);
  }
  stage->lanes = epilogueLanesFor(fusion, target);
  while (static_cast<int64_t>(stage->lanes) > sumsMatrixOf(dot).cols) stage->lanes /= 2;
}

}  // namespace isthmus

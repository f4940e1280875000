#include "compiler/fusion/op_traits.h"

#include <algorithm>

#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/indexing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace isthmus {

double operandEvaluations(mlir::Operation* op, unsigned index) {
  const double result = op->getNumResults() ? elementCount(op->getResult(0).getType()) : 0;
  const double operand = elementCount(op->getOperand(index).getType());
  if (operand == 1) return 1;
  if (fusionClass(op) == FusionClass::kElementwise || !hasIndexingMaps(op)) return result;
  const IndexingMaps maps = indexingMaps(op);
  if (!maps.operands[index].map) return result;
  // Each result reads all values of what is combined. Where results at other indices read other
  // elements, those outside of the operand read none; those between dilated elements compute one
  // all the same, in lanes of which some are not wanted.
  const mlir::AffineMap map = maps.operands[index].map;
  double reads = result;
  bool isReadOnce = maps.operands[index].zeros.empty();
  for (auto [d, size] : llvm::enumerate(tensorTypeOf(op->getResult(0)).getShape())) {
    isReadOnce &= size == 1 || map.isFunctionOfDim(d);
  }
  for (auto [position, symbol] : llvm::enumerate(maps.symbols)) {
    if (symbol.kind != SymbolKind::kReduced || !map.isFunctionOfSymbol(position)) continue;
    reads *= static_cast<double>(symbol.size);
    isReadOnce = false;
  }
  return isReadOnce ? std::min(reads, operand) : reads;
}

namespace {

// How many arrays a kernel reads that computes these values: those behind what each kernel computes
// for itself. No more than `most` are counted.
size_t countArraysBehind(mlir::ValueRange values, size_t most) {
  llvm::SmallPtrSet<void*, 32> seen;
  llvm::SmallVector<mlir::Value> work(values);
  size_t count = 0;
  while (!work.empty() && count < most) {
    mlir::Value value = work.pop_back_val();
    if (!seen.insert(value.getAsOpaquePointer()).second) continue;
    mlir::Operation* producer = value.getDefiningOp();
    if (producer && isRematerializable(producer)) {
      llvm::append_range(work, producer->getOperands());
    } else {
      ++count;
    }
  }
  return count;
}

}  // namespace

bool isLeftToCopies(mlir::Operation* op, const FusionOptions& options) {
  // Code size: so many stretches of the innermost dimension are loops of their own (`cutsAlong`).
  constexpr size_t kFewOperands = 7;
  auto concatenate = llvm::dyn_cast<shlo::ConcatenateOp>(op);
  if (!concatenate || !options.target.joinsByCopies) return false;
  const size_t operands = concatenate.getInputs().size();
  if (operands <= kFewOperands) return false;
  const auto most = static_cast<size_t>(options.target.maxKernelBuffers);
  if (countArraysBehind(concatenate.getInputs(), most + 1) > most) return true;
  // What kernels compute at no cost would have to be written to be copied, which is little beside
  // choosing among so many operands.
  constexpr size_t kManyOperands = 64;
  auto arrays = static_cast<size_t>(llvm::count_if(concatenate.getInputs(), [](mlir::Value input) {
    return !input.getDefiningOp() || !isRematerializable(input.getDefiningOp());
  }));
  return (arrays * 2 >= operands || operands >= kManyOperands) &&
         static_cast<double>(operands) *
                 static_cast<double>(elementCount(op->getResult(0).getType())) >
             options.target.maxSelections;
}

}  // namespace isthmus

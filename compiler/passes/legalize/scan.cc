// chlo.scan, as an operation and as the composite of that name, as a loop.
//
// The composite's decomposition is not used: that of jaxlib 0.10 forgets is_reverse.
#include "compiler/passes/legalize/scan.h"

#include "compiler/dialect/chlo.h"
#include "compiler/dialect/diagnostics/diagnostics.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/passes/legalize/array_builder.h"
#include "compiler/passes/legalize/patterns.h"
#include "llvm/ADT/STLExtras.h"
#include "mlir/IR/IRMapping.h"

namespace isthmus {
namespace {

using mlir::LogicalResult;
using mlir::PatternRewriter;
using mlir::RankedTensorType;
using mlir::Value;
using Dims = llvm::SmallVector<int64_t>;

struct Scan {
  mlir::Operation* op;
  mlir::Region* body;  // (slices of the inputs, carries) -> (slices of the outputs, carries)
  size_t inputs, outputs;
  int64_t dimension, length;
  bool isReverse;

  size_t carries() const { return op->getNumOperands() - inputs; }
};

Dims without(llvm::ArrayRef<int64_t> shape, int64_t dimension) {
  Dims result(shape);
  result.erase(result.begin() + dimension);
  return result;
}

// The steps of the loop: a slice of each input through the body, its results into the outputs.
void buildStep(const Scan& scan, mlir::Block* block, PatternRewriter& rewriter) {
  mlir::OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToStart(block);
  ArrayBuilder b(scan.op, rewriter);
  Value step = block->getArgument(0);
  Value zero = b.like(0, step);
  Value at =
      scan.isReverse ? b.sub(b.like(static_cast<double>(scan.length - 1), step), step) : step;
  auto startsFor = [&](int64_t rank) {
    llvm::SmallVector<Value> starts(rank, zero);
    starts[scan.dimension] = at;
    return starts;
  };
  mlir::IRMapping mapping;
  for (size_t i = 0; i < scan.op->getNumOperands(); ++i) {
    Value argument;
    if (i < scan.inputs) {
      Value input = scan.op->getOperand(i);
      RankedTensorType type = tensorTypeOf(input);
      Dims sizes(type.getShape());
      sizes[scan.dimension] = 1;
      Value slice = shlo::DynamicSliceOp::create(rewriter, b.location(), type.clone(sizes), input,
                                                 startsFor(type.getRank()), sizes);
      argument = b.reshape(slice, without(type.getShape(), scan.dimension));
    } else {
      argument = block->getArgument(1 + i - scan.inputs);
    }
    mapping.map(scan.body->getArgument(i), argument);
  }
  for (mlir::Operation& nested : scan.body->front().without_terminator()) {
    rewriter.clone(nested, mapping);
  }
  mlir::Operation* end = scan.body->front().getTerminator();
  llvm::SmallVector<Value> next{b.add(step, b.like(1, step))};
  for (size_t i = 0; i < scan.carries(); ++i) {
    next.push_back(mapping.lookupOrDefault(end->getOperand(scan.outputs + i)));
  }
  for (size_t i = 0; i < scan.outputs; ++i) {
    Value output = block->getArgument(1 + scan.carries() + i);
    RankedTensorType type = tensorTypeOf(output);
    Dims sizes(type.getShape());
    sizes[scan.dimension] = 1;
    Value slice = b.reshape(mapping.lookupOrDefault(end->getOperand(i)), sizes);
    next.push_back(shlo::DynamicUpdateSliceOp::create(rewriter, b.location(), type, output, slice,
                                                      startsFor(type.getRank())));
  }
  shlo::ReturnOp::create(rewriter, b.location(), next);
}

LogicalResult makeLoop(const Scan& scan, PatternRewriter& rewriter) {
  ArrayBuilder b(scan.op, rewriter);
  auto counter = RankedTensorType::get({}, rewriter.getI64Type());
  llvm::SmallVector<Value> start{b.splat(0, counter)};
  llvm::append_range(start, scan.op->getOperands().drop_front(scan.inputs));
  for (size_t i = 0; i < scan.outputs; ++i) {
    start.push_back(b.zeros(llvm::cast<RankedTensorType>(scan.op->getResult(i).getType())));
  }
  llvm::SmallVector<Value> results(llvm::drop_begin(start));
  if (scan.length > 0) {
    mlir::ValueRange initial(start);
    auto loop = shlo::WhileOp::create(rewriter, b.location(), initial.getTypes(), start);
    llvm::SmallVector<mlir::Location> locations(start.size(), b.location());
    {
      mlir::OpBuilder::InsertionGuard guard(rewriter);
      mlir::Block* condition =
          rewriter.createBlock(&loop.getCond(), {}, initial.getTypes(), locations);
      ArrayBuilder inner(scan.op, rewriter);
      Value step = condition->getArgument(0);
      Value limit = inner.like(static_cast<double>(scan.length), step);
      Value more = inner.compare(step, limit, shlo::ComparisonDirection::LT);
      shlo::ReturnOp::create(rewriter, b.location(), mlir::ValueRange{more});
      mlir::Block* body = rewriter.createBlock(&loop.getBody(), {}, initial.getTypes(), locations);
      buildStep(scan, body, rewriter);
    }
    results.assign(loop.getResults().begin() + 1, loop.getResults().end());
  }
  // The operation gives outputs first, the loop carries.
  std::rotate(results.begin(), results.begin() + static_cast<int64_t>(scan.carries()),
              results.end());
  rewriter.replaceOp(scan.op, results);
  return mlir::success();
}

// Whether the body takes and gives slices of the scanned arrays, and carries of one type.
bool hasMatchingTypes(const Scan& scan) {
  mlir::Operation* end = scan.body->front().getTerminator();
  auto sliceOf = [&](mlir::Type whole) -> mlir::Type {
    auto array = llvm::cast<RankedTensorType>(whole);
    return RankedTensorType::get(without(array.getShape(), scan.dimension), array.getElementType());
  };
  for (auto [i, operand] : llvm::enumerate(scan.op->getOperandTypes())) {
    mlir::Type expected = i < scan.inputs ? sliceOf(operand) : operand;
    if (scan.body->getArgument(static_cast<unsigned>(i)).getType() != expected) return false;
  }
  for (auto [i, result] : llvm::enumerate(scan.op->getResultTypes())) {
    mlir::Type expected = i < scan.outputs ? sliceOf(result) : result;
    if (end->getOperand(static_cast<unsigned>(i)).getType() != expected) return false;
    if (i >= scan.outputs &&
        scan.op->getOperand(static_cast<unsigned>(scan.inputs + i - scan.outputs)).getType() !=
            expected) {
      return false;
    }
  }
  return true;
}

// Whether the body and the types are what the loop needs; the length is filled in.
bool complete(Scan& scan, std::optional<int64_t> statedLength) {
  if (scan.body->empty() || scan.inputs > scan.op->getNumOperands() ||
      scan.outputs + scan.carries() != scan.op->getNumResults() ||
      scan.body->getNumArguments() != scan.op->getNumOperands() ||
      scan.body->front().getTerminator()->getNumOperands() != scan.op->getNumResults()) {
    return false;
  }
  llvm::SmallVector<Value> scanned(scan.op->getOperands().take_front(scan.inputs));
  llvm::append_range(scanned, scan.op->getResults().take_front(scan.outputs));
  std::optional<int64_t> length = statedLength;
  for (Value value : scanned) {
    auto array = llvm::dyn_cast<RankedTensorType>(value.getType());
    if (!array || !array.hasStaticShape() || scan.dimension < 0 ||
        scan.dimension >= array.getRank()) {
      return false;
    }
    if (!length) length = array.getDimSize(scan.dimension);
    if (*length != array.getDimSize(scan.dimension)) return false;
  }
  if (!length || *length < 0) return false;
  scan.length = *length;
  return hasMatchingTypes(scan);
}

// Arrays of dynamic shape may be right.
LogicalResult refuse(mlir::Operation* op) {
  auto isStatic = [](mlir::Type type) { return isStaticArray(type); };
  if (!llvm::all_of(op->getOperandTypes(), isStatic) ||
      !llvm::all_of(op->getResultTypes(), isStatic)) {
    return mlir::failure();
  }
  return emitInvalid(op, "scans arrays and has a body of other types or sizes");
}

LogicalResult legalizeScan(chlo::ScanOp op, PatternRewriter& rewriter) {
  Scan scan{op,
            &op.getBody(),
            op.getInputs().size(),
            op.getOutputs().size(),
            static_cast<int64_t>(op.getDimension()),
            0,
            op.getIsReverse()};
  if (!complete(scan, op.getScanDimSize())) return refuse(op);
  return makeLoop(scan, rewriter);
}

LogicalResult legalizeComposite(shlo::CompositeOp op, PatternRewriter& rewriter) {
  if (!isScanComposite(op)) return mlir::failure();
  mlir::DictionaryAttr attributes = op.getCompositeAttributes();
  auto inputs = attributes.getAs<mlir::DenseI32ArrayAttr>("operandSegmentSizes");
  auto results = attributes.getAs<mlir::DenseI32ArrayAttr>("resultSegmentSizes");
  auto dimension = attributes.getAs<mlir::IntegerAttr>("dimension");
  if (!inputs || !results || !dimension || inputs.size() != 2 || results.size() != 2 ||
      inputs[0] < 0 || results[0] < 0) {
    return refuse(op);
  }
  auto reverse = attributes.getAs<mlir::BoolAttr>("is_reverse");
  auto length = attributes.getAs<mlir::IntegerAttr>("scan_dim_size");
  Scan scan{op,
            &op.getCompositeRegions().front(),
            static_cast<size_t>(inputs[0]),
            static_cast<size_t>(results[0]),
            dimension.getInt(),
            0,
            reverse && reverse.getValue()};
  if (!complete(scan, length ? std::optional(length.getInt()) : std::nullopt)) return refuse(op);
  return makeLoop(scan, rewriter);
}

}  // namespace

bool isScanComposite(shlo::CompositeOp op) {
  return op.getName() == "chlo.scan" && op.getCompositeRegions().size() == 1;
}

void addScanPatterns(mlir::RewritePatternSet& patterns) {
  patterns.add(legalizeScan);
  patterns.add(legalizeComposite);
}

}  // namespace isthmus

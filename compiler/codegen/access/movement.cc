// Ops that move elements: each maps the index it is asked for to one of its operand.

#include "compiler/codegen/evaluator.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/indexing.h"
#include "compiler/dialect/types/array_shape.h"

namespace isthmus::codegen {
Val Evaluator::constantOf(mlir::Attribute element, const ElementKind& kind) {
  llvm::Type* type = kind.computeType(loops_.context());
  auto number = [&](mlir::Attribute attribute) -> llvm::Value* {
    if (auto integer = mlir::dyn_cast<mlir::IntegerAttr>(attribute)) {
      llvm::APInt bits = integer.getValue();
      unsigned width = type->getIntegerBitWidth();
      bits = kind.isSigned && !kind.isBool() ? bits.sextOrTrunc(width) : bits.zextOrTrunc(width);
      return llvm::ConstantInt::get(type, bits);
    }
    llvm::APFloat value = mlir::cast<mlir::FloatAttr>(attribute).getValue();
    // LLVM converts the NaN of a type without significands to the bits of an infinity.
    if (value.isNaN() && &value.getSemantics() == &llvm::APFloat::Float8E8M0FNU()) {
      return llvm::ConstantFP::getNaN(type);
    }
    bool inexact = false;
    value.convert(type->getFltSemantics(), llvm::APFloat::rmNearestTiesToEven, &inexact);
    return llvm::ConstantFP::get(type, value);
  };
  if (kind.isComplex()) {
    auto parts = mlir::cast<mlir::ArrayAttr>(element);
    return {number(parts[0]), number(parts[1]), loops_.entry()};
  }
  return {number(element), nullptr, loops_.entry()};
}

Val Evaluator::constantAt(mlir::Operation* op, const MultiIndex& index) {
  auto value = mlir::dyn_cast_or_null<mlir::DenseElementsAttr>(op->getAttr("value"));
  ElementKind kind = kindOf(op->getResult(0));
  if (!value) return fail(op, "only dense constants are emitted inline");
  if (value.isSplat()) return constantOf(value.getSplatValue<mlir::Attribute>(), kind);
  auto type = tensorTypeOf(op->getResult(0));
  if (type.getNumElements() == 1) {
    return constantOf(*value.getValues<mlir::Attribute>().begin(), kind);
  }
  // A table in read-only memory, in storage format.
  llvm::Module& module = *loops_.function()->getParent();
  llvm::GlobalVariable*& table = tables_[op];
  if (!table) {
    llvm::SmallVector<llvm::Constant*> elements;
    llvm::Type* storage = kind.storageType(loops_.context());
    auto bitsOf = [&](const llvm::APFloat& x) {
      llvm::APInt bits = x.bitcastToAPInt();
      if (storage->isFloatTy() || storage->isDoubleTy() || storage->isHalfTy()) {
        elements.push_back(llvm::ConstantFP::get(loops_.context(), x));
      } else {
        elements.push_back(
            llvm::ConstantInt::get(storage, bits.zextOrTrunc(storage->getIntegerBitWidth())));
      }
    };
    if (kind.isComplex()) {
      for (std::complex<llvm::APFloat> x : value.getValues<std::complex<llvm::APFloat>>()) {
        bitsOf(x.real());
        bitsOf(x.imag());
      }
    } else if (kind.isFloat()) {
      for (llvm::APFloat x : value.getValues<llvm::APFloat>()) bitsOf(x);
    } else {
      unsigned width = storage->getIntegerBitWidth();
      for (llvm::APInt x : value.getValues<llvm::APInt>()) {
        bool extendSign = kind.isSigned && !kind.isBool();
        elements.push_back(llvm::ConstantInt::get(
            storage, extendSign ? x.sextOrTrunc(width) : x.zextOrTrunc(width)));
      }
    }
    auto* array = llvm::ArrayType::get(storage, elements.size());
    table = new llvm::GlobalVariable(module, array, /*isConstant=*/true,
                                     llvm::GlobalValue::PrivateLinkage,
                                     llvm::ConstantArray::get(array, elements), "table");
    table->setAlignment(llvm::Align(64));
  }
  return load(table, kind, linearize(index, type));
}

Val Evaluator::iotaAt(mlir::Operation* op, const MultiIndex& index) {
  auto iota = mlir::cast<shlo::IotaOp>(op);
  auto type = tensorTypeOf(op->getResult(0));
  ElementKind kind = kindOf(op->getResult(0));
  MultiIndex apart = normalize(index, type.getShape());
  const IndexExpr& expr = apart.dims[iota.getIotaDimension()];
  unsigned lanes = expr.isUniform() ? 1 : lanes_;
  Level* level = nullptr;
  llvm::Value* number = loops_.laneValues(expr, lanes, &level);
  llvm::IRBuilder<>& b = loops_.at(level);
  llvm::Type* compute = kind.computeType(loops_.context());
  llvm::Type* wanted = lanes == 1 ? compute : llvm::FixedVectorType::get(compute, lanes);
  if (kind.isBool()) {
    return {b.CreateICmpNE(number, llvm::Constant::getNullValue(number->getType())), nullptr,
            level};
  }
  if (kind.isInteger()) {
    number = b.CreateSExtOrTrunc(number, wanted);
    return {wrapInteger(b, number, kind), nullptr, level};
  }
  // Signed conversion of an i32 is one instruction; an i64's is not.
  if (type.getDimSize(iota.getIotaDimension()) < (int64_t{1} << 31)) {
    number = b.CreateTrunc(number, lanes == 1 ? static_cast<llvm::Type*>(b.getInt32Ty())
                                              : llvm::FixedVectorType::get(b.getInt32Ty(), lanes));
  }
  Val result{b.CreateSIToFP(number, wanted), nullptr, level};
  result.re = roundToKind(b, loops_.target(), result.re, kind);
  if (kind.isComplex()) result.im = llvm::Constant::getNullValue(wanted);
  return result;
}

// Broadcasts, transposes, slices and reversals: along each dimension the operand is read at a
// multiple of one index of the result, moved, or at one place. Pads and concatenations ask besides
// whether there is an element, reshapes need quotients only where merged dimensions do not do, and
// where gathers and dynamic slices read is known at run time alone.
Val Evaluator::mappedAt(mlir::Operation* op, const MultiIndex& index) {
  llvm::ArrayRef<int64_t> from = shapeOf(op->getOperand(0)), to = shapeOf(op->getResult(0));
  const IndexingMaps maps = indexingMaps(op);
  llvm::SmallVector<DimIndex, 6> reads;
  llvm::SmallVector<int64_t, 6> readBy(to.size(), -1);  // the operand's dimension
  for (size_t d = 0; d < from.size(); ++d) {
    std::optional<DimIndex> read = maps.index(0, static_cast<int64_t>(d));
    if (!read || !read->terms.empty() || read->divisor != 1) {
      return fail(op, "its indexing map is not affine in one dimension");
    }
    if (read->dim) readBy[*read->dim] = static_cast<int64_t>(d);
    reads.push_back(*read);
  }
  // A merged pair stays merged if the operand has both dimensions, adjacent and the inner one
  // whole, or none.
  MultiIndex apart = index, result;
  for (size_t d = 0; d + 1 < to.size(); ++d) {
    if (!(index.merged >> d & 1)) continue;
    const int64_t outer = readBy[d], inner = readBy[d + 1];
    if (outer < 0 && inner < 0) continue;
    if (outer < 0 || inner != outer + 1 || !reads[outer].isDim() || !reads[inner].isDim() ||
        from[inner] != to[d + 1]) {
      apart = normalize(index, to);
      result.merged = 0;
      break;
    }
    result.merged |= uint64_t{1} << outer;
  }
  for (const DimIndex& read : reads) {
    IndexExpr scaled = read.dim ? scaleIndex(apart.dims[*read.dim], read.stride) : IndexExpr(0);
    result.dims.push_back(addIndex(scaled, IndexExpr(read.offset)));
  }
  return get(op->getOperand(0), result);
}

Val Evaluator::reshapeAt(mlir::Operation* op, const MultiIndex& index) {
  const mlir::Value operand = op->getOperand(0);
  return get(operand, reshapedIndex(index, tensorTypeOf(op->getResult(0)), tensorTypeOf(operand)));
}

MultiIndex Evaluator::reshapedIndex(const MultiIndex& index, mlir::RankedTensorType to,
                                    mlir::RankedTensorType from) {
  MultiIndex result;
  result.dims.resize(from.getRank());
  if (to.getNumElements() <= 1) return result;
  // Within a group of dimensions with equal products the operand's are left merged. None lacks
  // operand dimensions, since those of size 1 go with the group before them.
  ReshapeGroups groups = reshapeGroups(from.getShape(), to.getShape());
  for (auto [operands, results] : llvm::zip(groups.from, groups.to)) {
    auto [fBegin, f] = operands;
    auto [tBegin, t] = results;
    IndexExpr linear;
    int64_t stride = 1;
    for (int64_t d = t - 1; d >= tBegin; --d) {
      linear = addIndex(linear, scaleIndex(index.dims[d], stride));
      stride *= to.getDimSize(d);
    }
    // A run that was merged across groups stays merged, unless it begins within one.
    bool intoNext = t > tBegin && t < to.getRank() && (index.merged >> (t - 1) & 1);
    if (intoNext && linear != IndexExpr(0)) {
      return reshapedIndex(normalize(index, to.getShape()), to, from);
    }
    result.dims[f - 1] = linear;
    for (int64_t d = fBegin; d + 1 < f; ++d) result.merged |= uint64_t{1} << d;
    if (intoNext) {
      if (f < from.getRank()) {
        result.merged |= uint64_t{1} << (f - 1);
      }
    }
  }
  return result;
}

Val Evaluator::padAt(mlir::Operation* op, const MultiIndex& index) {
  auto pad = mlir::cast<shlo::PadOp>(op);
  auto from = tensorTypeOf(op->getOperand(0));
  auto to = tensorTypeOf(op->getResult(0));
  MultiIndex apart = normalize(index, to.getShape());
  MultiIndex inside;
  Condition all = Condition::always(true);
  if (from.getNumElements() == 0) all = Condition::always(false);
  inside.dims.resize(from.getRank());
  for (int64_t d = 0; d < from.getRank() && !(all.known && !all.value); ++d) {
    int64_t low = pad.getEdgePaddingLow()[d];
    int64_t step = pad.getInteriorPadding()[d] + 1;
    int64_t size = from.getDimSize(d);
    IndexExpr shifted = addIndex(apart.dims[d], IndexExpr(-low));
    Condition here = within(shifted, 0, (size - 1) * step + 1);
    // Where the padding is, some element that exists is read and then not chosen.
    IndexExpr safe = selectIndex(here, shifted, 0, 0, (size - 1) * step);
    if (step > 1 && !(here.known && !here.value)) {
      IndexExpr quotient, remainder;
      divideIndex(safe, step, &quotient, &remainder);
      here = both(here, within(remainder, 0, 1));
      safe = quotient;
    }
    all = both(all, here);
    inside.dims[d] = safe;
  }
  Val padding = get(op->getOperand(1), MultiIndex());
  if (all.known) return all.value ? get(op->getOperand(0), inside) : padding;
  return selectValue(all, get(op->getOperand(0), inside), padding);
}

Val Evaluator::concatenateAt(mlir::Operation* op, const MultiIndex& index) {
  auto concatenate = mlir::cast<shlo::ConcatenateOp>(op);
  auto to = tensorTypeOf(op->getResult(0));
  int64_t d = concatenate.getDimension();
  MultiIndex apart = index;
  // Merged pairs of other dimensions stay so.
  if ((index.merged >> d & 1) || (d > 0 && (index.merged >> (d - 1) & 1))) {
    apart = normalize(index, to.getShape());
  }
  Range range = rangeOf(apart.dims[d], apart.dims[d].isUniform() ? 1 : lanes_);
  Val result;
  int64_t begin = 0;
  struct Part {
    mlir::Value operand;
    int64_t begin, end;
  };
  llvm::SmallVector<Part, 4> parts;
  for (mlir::Value operand : op->getOperands()) {
    int64_t end = begin + tensorTypeOf(operand).getDimSize(d);
    if (end > begin && range.hi >= begin && range.lo < end) parts.push_back({operand, begin, end});
    begin = end;
  }
  if (parts.empty()) return fail(op, "index outside of all operands");
  for (size_t i = 0; i < parts.size(); ++i) {
    const Part& part = parts[parts.size() - 1 - i];
    int64_t size = part.end - part.begin;
    IndexExpr shifted = addIndex(apart.dims[d], IndexExpr(-part.begin));
    Condition inside = within(shifted, 0, size);
    MultiIndex source = apart;
    source.dims[d] = selectIndex(inside, shifted, 0, 0, size - 1);
    Val value = get(part.operand, source);
    if (i == 0) {
      result = value;
    } else {
      // Later parts were chosen already; this one holds below its end.
      Condition below = within(apart.dims[d], std::min(range.lo, part.begin), part.end);
      result = selectValue(below, value, result);
    }
  }
  return result;
}

Val Evaluator::dynamicSliceAt(mlir::Operation* op, const MultiIndex& index) {
  auto slice = mlir::cast<shlo::DynamicSliceOp>(op);
  auto from = tensorTypeOf(op->getOperand(0));
  auto to = tensorTypeOf(op->getResult(0));
  MultiIndex result = index;
  for (int64_t d = 0; d + 1 < to.getRank(); ++d) {
    if ((index.merged >> d & 1) && to.getDimSize(d + 1) != from.getDimSize(d + 1)) {
      result = normalize(index, to.getShape());
      break;
    }
  }
  for (int64_t d = 0; d < to.getRank(); ++d) {
    int64_t last = from.getDimSize(d) - to.getDimSize(d);
    if (last == 0) continue;
    mlir::Value start = slice.getStartIndices()[d];
    Val value = get(start, MultiIndex());
    IndexExpr first = indexFrom(value, kindOf(start), 0, last, /*clamp=*/true);
    if (result.merged >> d & 1) {
      // The outer of a merged pair: its start moves the pair by whole inner rows.
      int64_t e = d;
      int64_t row = 1;
      while (result.merged >> e & 1) row *= to.getDimSize(++e);
      result.dims[e] = addIndex(result.dims[e], scaleIndex(first, row));
    } else {
      result.dims[d] = addIndex(result.dims[d], first);
    }
  }
  return get(op->getOperand(0), result);
}

Val Evaluator::dynamicUpdateSliceAt(mlir::Operation* op, const MultiIndex& index) {
  auto update = mlir::cast<shlo::DynamicUpdateSliceOp>(op);
  auto to = tensorTypeOf(op->getResult(0));
  auto block = tensorTypeOf(update.getUpdate());
  if (block.getNumElements() == 0) return get(update.getOperand(), index);
  MultiIndex apart = normalize(index, to.getShape());
  MultiIndex inside;
  inside.dims.resize(to.getRank());
  Condition all = Condition::always(true);
  for (int64_t d = 0; d < to.getRank(); ++d) {
    int64_t last = to.getDimSize(d) - block.getDimSize(d);
    mlir::Value start = update.getStartIndices()[d];
    IndexExpr first = last == 0 ? IndexExpr(0)
                                : indexFrom(get(start, MultiIndex()), kindOf(start), 0, last, true);
    IndexExpr shifted = addIndex(apart.dims[d], scaleIndex(first, -1));
    Condition here = within(shifted, 0, block.getDimSize(d));
    all = both(all, here);
    inside.dims[d] = selectIndex(here, shifted, 0, 0, block.getDimSize(d) - 1);
  }
  if (all.known) {
    return all.value ? get(update.getUpdate(), inside) : get(update.getOperand(), index);
  }
  return selectValue(all, get(update.getUpdate(), inside), get(update.getOperand(), apart));
}

Val Evaluator::gatherAt(mlir::Operation* op, const MultiIndex& index) {
  auto gather = mlir::cast<shlo::GatherOp>(op);
  auto numbers = gather.getDimensionNumbers();
  auto from = tensorTypeOf(gather.getOperand());
  auto indices = tensorTypeOf(gather.getStartIndices());
  auto to = tensorTypeOf(op->getResult(0));
  MultiIndex apart = normalize(index, to.getShape());
  llvm::ArrayRef<int64_t> offsetDims = numbers.getOffsetDims();
  llvm::ArrayRef<int64_t> collapsed = numbers.getCollapsedSliceDims();
  llvm::ArrayRef<int64_t> operandBatching = numbers.getOperandBatchingDims();
  llvm::ArrayRef<int64_t> indicesBatching = numbers.getStartIndicesBatchingDims();
  llvm::ArrayRef<int64_t> startMap = numbers.getStartIndexMap();
  int64_t vectorDim = numbers.getIndexVectorDim();

  // The position in start_indices comes from the result's batch dimensions.
  Index batch;
  for (int64_t d = 0; d < to.getRank(); ++d) {
    if (!llvm::is_contained(offsetDims, d)) batch.push_back(apart.dims[d]);
  }
  auto startAt = [&](int64_t component) {
    MultiIndex at;
    size_t next = 0;
    for (int64_t d = 0; d < indices.getRank(); ++d) {
      at.dims.push_back(d == vectorDim ? IndexExpr(component) : batch[next++]);
    }
    return at;
  };
  MultiIndex result;
  size_t nextOffset = 0;
  for (int64_t d = 0; d < from.getRank(); ++d) {
    IndexExpr expr;
    if (auto it = llvm::find(operandBatching, d); it != operandBatching.end()) {
      int64_t dim = indicesBatching[it - operandBatching.begin()];
      expr = batch[dim > vectorDim ? dim - 1 : dim];
    } else {
      if (auto it = llvm::find(startMap, d); it != startMap.end()) {
        int64_t last = from.getDimSize(d) - gather.getSliceSizes()[d];
        if (last > 0) {
          Val start = get(gather.getStartIndices(), startAt(it - startMap.begin()));
          expr = indexFrom(start, kindOf(gather.getStartIndices()), 0, last, true);
        }
      }
      if (!llvm::is_contained(collapsed, d)) {
        expr = addIndex(expr, apart.dims[offsetDims[nextOffset++]]);
      }
    }
    result.dims.push_back(expr);
  }
  return get(gather.getOperand(), result);
}

}  // namespace isthmus::codegen

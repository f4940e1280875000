#include "compiler/codegen/simt/attention/online_rows.h"

#include <limits>

#include "compiler/codegen/math/vector_math.h"
#include "compiler/dialect/types/array_shape.h"
#include "llvm/Support/MathExtras.h"

namespace isthmus::codegen {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The addresses of what the region of the rows reads.
llvm::SmallVector<llvm::Value*, 8> operandsOf(KernelBuilder& kernel, ir::FusionOp rows) {
  llvm::SmallVector<llvm::Value*, 8> operands;
  for (mlir::Value operand : rows->getOperands()) {
    auto argument = mlir::dyn_cast<mlir::BlockArgument>(operand);
    // The others are scores, which registers stand for.
    operands.push_back(argument ? kernel.buffer(argument.getArgNumber()) : nullptr);
  }
  return operands;
}

}  // namespace

OnlineRows::OnlineRows(KernelBuilder& builder, Attention given, const AttentionStage& schedule)
    : kernel(builder),
      loops(builder.loops()),
      evaluator(builder.evaluator()),
      attention(std::move(given)),
      shape(attentionShapeOf(attention)),
      stage(schedule),
      softmax_(*onlineSoftmaxOf(attention.rows)),
      scores_(attention.rows.getBody().getArgument(attention.scoresOperand(0))),
      rowsEvaluator_(loops, attention.rows, nullptr, operandsOf(builder, attention.rows)) {
  // Weights are computed as if their row summed to 1.
  rowsEvaluator_.materialized().setRegister(softmax_.sum, {f32(1), nullptr, loops.entry()});
}

llvm::SmallVector<IndexExpr, 2> OnlineRows::apart(IndexExpr index, const AttentionDims& dims) {
  llvm::SmallVector<IndexExpr, 2> all(dims.size());
  for (size_t d = dims.size(); d-- > 0;) {
    if (d == 0) {
      all[d] = index;
    } else {
      evaluator.divideIndex(index, dims[d].size, &index, &all[d]);
    }
  }
  return all;
}

void OnlineRows::enterTile(const IndexExpr& tile) {
  IndexExpr batch, rowTile;
  evaluator.divideIndex(tile, llvm::divideCeilSigned(shape.numRows(), stage.rows), &batch,
                        &rowTile);
  batch_ = apart(batch, shape.batch);
  firstRow = scale(rowTile, stage.rows);
}

int64_t OnlineRows::blocks() const { return llvm::divideCeilSigned(shape.keys.size, stage.keys); }

llvm::Value* OnlineRows::batchOffset(int64_t AttentionDim::* stride) {
  IndexExpr offset;
  for (auto [index, dim] : llvm::zip(batch_, shape.batch)) {
    offset = add(offset, scale(index, dim.*stride));
  }
  return number(offset);
}

llvm::Value* OnlineRows::offset(llvm::Value* index, const AttentionDims& dims,
                                int64_t AttentionDim::* stride) {
  llvm::Value* at = loops.i64(0);
  for (size_t d = dims.size(); d-- > 0;) {
    llvm::Value* here = index;
    if (d > 0) {
      here = b().CreateURem(index, loops.i64(dims[d].size));
      index = b().CreateUDiv(index, loops.i64(dims[d].size));
    }
    at = b().CreateAdd(at, b().CreateMul(here, loops.i64(dims[d].*stride)));
  }
  return at;
}

llvm::Value* OnlineRows::isBelow(llvm::Value* index, int64_t size, int64_t most) {
  return most < size ? nullptr : b().CreateICmpULT(index, loops.i64(size));
}

void OnlineRows::setRows(llvm::ArrayRef<IndexExpr> inTile) {
  rows_.clear();
  const int64_t rows = shape.numRows();
  const bool isWhole = rows % stage.rows == 0;
  for (const IndexExpr& row : inTile) {
    IndexExpr index = add(firstRow, row);
    Row added;
    if (!isWhole) {
      // Outside, a row that exists is read and not stored.
      Condition inside = evaluator.within(index, 0, rows);
      index = evaluator.selectIndex(inside, index, 0, 0, rows - 1);
      if (!inside.known) added.isInside = inside.dynamic.re;
    }
    added.index = apart(index, shape.rows);
    rows_.push_back(std::move(added));
  }
}

llvm::Value* OnlineRows::resultOffset(size_t row) {
  IndexExpr offset;
  for (auto [index, dim] : llvm::zip(batch_, shape.batch)) {
    offset = add(offset, scale(index, dim.result));
  }
  for (auto [index, dim] : llvm::zip(rows_[row].index, shape.rows)) {
    offset = add(offset, scale(index, dim.result));
  }
  return number(offset);
}

OnlineRows::Column OnlineRows::columnOf(const IndexExpr& key) {
  Column column{key};
  if (shape.keys.size % stage.keys == 0) return column;
  Condition inside = evaluator.within(key, 0, shape.keys.size);
  column.index = evaluator.selectIndex(inside, key, 0, 0, shape.keys.size - 1);
  if (!inside.known) column.isInside = inside.dynamic.re;
  return column;
}

llvm::Value* OnlineRows::at(mlir::Value value, const Row& row, const Column& column) {
  MultiIndex index;
  size_t position = 0;
  for (int64_t size : shapeOf(value)) {
    IndexExpr& dim = index.dims.emplace_back();
    if (size == 1) continue;
    if (position < batch_.size()) {
      dim = batch_[position];
    } else if (position < batch_.size() + row.index.size()) {
      dim = row.index[position - batch_.size()];
    } else {
      dim = column.index;
    }
    ++position;
  }
  return rowsEvaluator_.get(value, index).re;
}

llvm::Value* OnlineRows::select(llvm::Value* condition, llvm::Value* value, double otherwise) {
  return condition ? b().CreateSelect(condition, value, f32(otherwise)) : value;
}

llvm::Value* OnlineRows::exp(llvm::Value* value) {
  MathContext math{b(), loops.target()};
  return codegen::exp(V(&math, value)).v;
}

OnlineRows::State OnlineRows::initial() {
  return {Registers(rows_.size(), f32(-kInfinity)), Registers(rows_.size(), f32(0))};
}

OnlineRows::Weights OnlineRows::weightsOf(const Registers& scores,
                                          llvm::ArrayRef<IndexExpr> columns, const State& before,
                                          const AcrossThreads& across) {
  llvm::SmallVector<Column, 16> all;
  for (const IndexExpr& key : columns) all.push_back(columnOf(key));
  const ElementKind kind = evaluator.kindOf(attention.scores[0].getResult());
  auto larger = [&](llvm::Value* x, llvm::Value* y) {
    // What is no number is not lost: its exponential is none either.
    return b().CreateSelect(b().CreateFCmpOGT(x, y), x, y);
  };
  auto give = [&](mlir::Value value, llvm::Value* register_) {
    rowsEvaluator_.materialized().setRegister(value, {register_, nullptr, loops.current()});
  };
  Registers maxima;
  for (auto [r, row] : llvm::enumerate(rows_)) {
    llvm::Value* most = nullptr;
    for (auto [c, column] : llvm::enumerate(all)) {
      llvm::Value* score = scores[r * all.size() + c];
      give(scores_, roundToKind(b(), loops.target(), score, kind));
      llvm::Value* logit = select(column.isInside, at(softmax_.logits, row, column), -kInfinity);
      most = most ? larger(logit, most) : logit;
    }
    maxima.push_back(most);
  }
  maxima = across(maxima, larger);
  Weights weights;
  for (auto [r, row] : llvm::enumerate(rows_)) {
    llvm::Value* maximum = larger(maxima[r], before.maxima[r]);
    // Of a row of which all is masked so far, exponentials are 0 and not what infinity less
    // infinity gives.
    llvm::Value* isMasked = b().CreateFCmpOEQ(maximum, f32(-kInfinity));
    llvm::Value* finite = b().CreateSelect(isMasked, f32(0), maximum);
    llvm::Value* scale = exp(b().CreateFSub(before.maxima[r], finite));
    llvm::Value* sum = b().CreateFMul(before.sums[r], scale);
    give(softmax_.maximum, finite);
    for (auto [c, column] : llvm::enumerate(all)) {
      give(scores_, roundToKind(b(), loops.target(), scores[r * all.size() + c], kind));
      mlir::Value yielded = attention.rows.getBody().front().getTerminator()->getOperand(0);
      llvm::Value* exponential = at(softmax_.exponentials, row, column);
      llvm::Value* weight = at(yielded, row, column);
      sum = b().CreateFAdd(sum, select(column.isInside, exponential, 0));
      weights.elements.push_back(select(column.isInside, weight, 0));
    }
    weights.scales.push_back(scale);
    weights.state.maxima.push_back(maximum);
    weights.state.sums.push_back(sum);
  }
  return weights;
}

Registers OnlineRows::finalScales(const State& state, const AcrossThreads& across) {
  Registers sums =
      across(state.sums, [&](llvm::Value* x, llvm::Value* y) { return b().CreateFAdd(x, y); });
  for (llvm::Value*& sum : sums) sum = b().CreateFDiv(f32(1), sum);
  return sums;
}

llvm::Value* OnlineRows::toResult(llvm::Value* value) {
  const ElementKind kind = evaluator.kindOf(attention.products[0].dot.getResult());
  return evaluator.toStorage(roundToKind(b(), loops.target(), value, kind), kind);
}

// Whether pairs of features begin at multiples of their size.
bool OnlineRows::hasPairs() const {
  auto isEven = [](const AttentionDim& dim) { return dim.result % 2 == 0; };
  return loops.target().threadBits > 0 && shape.features.size() == 1 &&
         shape.features[0].result == 1 && llvm::all_of(shape.batch, isEven) &&
         llvm::all_of(shape.rows, isEven);
}

void OnlineRows::store(size_t row, llvm::Value* feature, const Registers& values,
                       llvm::Value* isFeature) {
  const ElementKind kind = evaluator.kindOf(attention.products[0].dot.getResult());
  llvm::Type* type = kind.storageType(loops.context());
  const auto results = static_cast<unsigned>(attention.rows->getParentOp()->getNumOperands());
  llvm::Value* isInside = isFeature;
  if (llvm::Value* isRow = rows_[row].isInside) {
    isInside = isInside ? b().CreateAnd(isInside, isRow) : isRow;
  }
  auto put = [&] {
    llvm::Value* buffer = kernel.buffer(results);
    llvm::Value* first = resultOffset(row);
    auto place = [&](uint64_t i) {
      llvm::Value* number = i == 0 ? feature : b().CreateAdd(feature, loops.i64(int64_t(i)));
      return b().CreateGEP(
          type, buffer,
          b().CreateAdd(first, offset(number, shape.features, &AttentionDim::result)));
    };
    if (values.size() == 2 && hasPairs()) {
      llvm::Value* pair = llvm::PoisonValue::get(llvm::FixedVectorType::get(type, 2));
      for (uint64_t i : {0, 1}) pair = b().CreateInsertElement(pair, toResult(values[i]), i);
      b().CreateAlignedStore(pair, place(0), llvm::Align(uint64_t{2} * kind.storageBytes));
      return Registers();
    }
    for (auto [i, value] : llvm::enumerate(values)) b().CreateStore(toResult(value), place(i));
    return Registers();
  };
  if (isInside) {
    loops.branch(isInside, {}, put);
  } else {
    put();
  }
}

}  // namespace isthmus::codegen

// What a fusion computes of the sums of its dot_general, rectangle by rectangle.
#include "compiler/codegen/kernel_builder.h"
#include "compiler/codegen/stages.h"
#include "compiler/schedule/dot_scheduler.h"

namespace isthmus::codegen {
namespace {

using Values = LoopBuilder::Values;

// Where the sum of a row and a column is in an array of the product's shape, or a reshaped one.
MultiIndex indexIn(const Root& root, const SumsMatrix& matrix, const IndexExpr& row,
                   const IndexExpr& column) {
  const int64_t rank = root.type().getRank(), rowRank = reshaped(matrix, root.type())->rowRank;
  MultiIndex index;
  index.dims.resize(rank);
  if (rowRank > 0) index.dims[rowRank - 1] = row;
  if (rowRank < rank) index.dims[rank - 1] = column;
  for (int64_t d = 0; d + 1 < rank; ++d) {
    if (d + 1 != rowRank) index.merged |= uint64_t{1} << d;
  }
  return index;
}

// The values that the fusion stores of each sum.
llvm::SmallVector<Root, 4> rootsOfSums(ir::FusionOp fusion, const DotStage& stage) {
  llvm::SmallVector<Root, 4> roots;
  mlir::Operation* yield = fusion.getBody().front().getTerminator();
  for (unsigned result : stage.results) roots.push_back({yield->getOperand(result), result});
  return roots;
}

class EpilogueEmitter {
 public:
  EpilogueEmitter(KernelBuilder& kernel, ir::FusionOp fusion, const DotStage& stage)
      : kernel_(kernel),
        loops_(kernel.loops()),
        evaluator_(kernel.evaluator()),
        lanes_(stage.lanes),
        roots_(rootsOfSums(fusion, stage)) {
    auto dot = mlir::cast<shlo::DotGeneralOp>(opNumbered(fusion, stage.contraction));
    matrix_ = sumsMatrixOf(dot);
    kind_ = evaluator_.kindOf(sumsTypeOf(dot));
    evaluator_.materialized().setProduct(dot, kind_);
    for (const Root& root : roots_) {
      results_.push_back(kernel.buffer(fusion->getNumOperands() + root.result));
    }
  }

  void emit() {
    llvm::IRBuilder<>& b = loops_.here();
    length_ = b.CreateSub(colEnd(), colBegin());
    middle_ = b.CreateAdd(colBegin(), b.CreateAnd(length_, loops_.i64(-int64_t{lanes_})));
    isWide_ = b.CreateICmpSGE(length_, loops_.i64(lanes_));
    endsWithin_ = b.CreateAnd(isWide_, b.CreateICmpNE(middle_, colEnd()));
    LoopBuilder::Bounds rows;
    rows.lo = kernel_.begin();
    rows.hi = kernel_.end();
    rows.range = {0, matrix_.rows - 1};
    loops_.loop(rows, {}, [&](const IndexExpr& row, const Values&) {
      emitRow(row);
      return Values();
    });
  }

 private:
  llvm::Value* colBegin() const { return kernel_.argument(3); }
  llvm::Value* colEnd() const { return kernel_.argument(4); }
  llvm::Value* sums() const { return kernel_.argument(5); }
  llvm::Value* rowDistance() const { return kernel_.argument(6); }

  void emitRow(const IndexExpr& row) {
    llvm::Value* index = loops_.uniformPart(row);
    llvm::IRBuilder<>& b = loops_.here();
    llvm::Value* offset = b.CreateMul(b.CreateSub(index, kernel_.begin()), rowDistance());
    evaluator_.materialized().enterSumsRow(
        b.CreateGEP(kind_.storageType(loops_.context()), sums(), b.CreateSub(offset, colBegin())),
        loops_.current());
    // The last columns are a vector that reaches back over others: it is computed before these are
    // written, since results may lie where sums or operands do, and stored after them.
    Values last = emitLastVector(row);
    forColumns(colBegin(), middle_, lanes_, row);
    storeLastVector(row, last);
    loops_.branch(b.CreateNot(isWide_), {}, [&] {
      forColumns(colBegin(), colEnd(), 1, row);
      return Values();
    });
  }

  void forColumns(llvm::Value* lo, llvm::Value* hi, unsigned lanes, const IndexExpr& row) {
    LoopBuilder::Bounds bounds;
    bounds.lo = lo;
    bounds.hi = hi;
    bounds.step = lanes;
    bounds.range = {0, matrix_.cols - lanes};
    evaluator_.setLanes(lanes);
    loops_.loop(bounds, {}, [&](const IndexExpr& i, const Values&) {
      IndexExpr column = i;
      if (lanes > 1) column.laneStride = 1;
      // All values before any store: a result may be written over an operand.
      llvm::SmallVector<Val, 4> values = valuesAt(row, column);
      for (auto [r, value] : llvm::enumerate(values)) store(r, row, column, value);
      return Values();
    });
  }

  // The column of the last whole vector, known to the level at hand.
  IndexExpr lastColumn() {
    llvm::Value* first = loops_.here().CreateSub(colEnd(), loops_.i64(lanes_));
    IndexExpr column = IndexExpr::of(
        loops_.makeSymbol(first, loops_.current(), {0, matrix_.cols - int64_t{lanes_}}));
    if (lanes_ > 1) column.laneStride = 1;
    return column;
  }

  Values emitLastVector(const IndexExpr& row) {
    Values none;
    for (const Root& root : roots_) {
      llvm::Type* type = evaluator_.kindOf(root.value).computeType(loops_.context());
      none.push_back(
          llvm::PoisonValue::get(lanes_ > 1 ? llvm::FixedVectorType::get(type, lanes_) : type));
    }
    return loops_.branch(endsWithin_, none, [&] {
      evaluator_.setLanes(lanes_);
      Values values;
      for (Val value : valuesAt(row, lastColumn())) {
        // Registers for the level at hand, wherever the value is from.
        value.level = loops_.current();
        values.push_back(evaluator_.splat(value, lanes_).re);
      }
      return values;
    });
  }

  void storeLastVector(const IndexExpr& row, const Values& values) {
    loops_.branch(endsWithin_, {}, [&] {
      evaluator_.setLanes(lanes_);
      IndexExpr column = lastColumn();
      for (auto [r, value] : llvm::enumerate(values)) {
        store(r, row, column, {value, nullptr, loops_.current()});
      }
      return Values();
    });
  }

  MultiIndex indexOf(size_t root, const IndexExpr& row, const IndexExpr& column) const {
    return indexIn(roots_[root], matrix_, row, column);
  }

  llvm::SmallVector<Val, 4> valuesAt(const IndexExpr& row, const IndexExpr& column) {
    evaluator_.materialized().enterSumsColumn(column);
    llvm::SmallVector<Val, 4> values;
    for (size_t r = 0; r < roots_.size(); ++r) {
      values.push_back(evaluator_.get(roots_[r].value, indexOf(r, row, column)));
    }
    return values;
  }

  void store(size_t root, const IndexExpr& row, const IndexExpr& column, const Val& value) {
    evaluator_.store(results_[root], evaluator_.kindOf(roots_[root].value),
                     evaluator_.linearize(indexOf(root, row, column), roots_[root].type()), value);
  }

  KernelBuilder& kernel_;
  LoopBuilder& loops_;
  Evaluator& evaluator_;
  unsigned lanes_;
  llvm::SmallVector<Root, 4> roots_;
  llvm::SmallVector<llvm::Value*, 4> results_;
  SumsMatrix matrix_;
  ElementKind kind_;  // of the sums
  llvm::Value* length_ = nullptr;
  llvm::Value* middle_ = nullptr;      // where whole vectors from the first column on end
  llvm::Value* isWide_ = nullptr;      // a vector fits
  llvm::Value* endsWithin_ = nullptr;  // some columns are left, and a vector fits
};

// The same of sums in registers, at one place.
class SumsEmitter {
 public:
  SumsEmitter(KernelBuilder& kernel, ir::FusionOp fusion, const DotStage& stage)
      : kernel_(kernel),
        loops_(kernel.loops()),
        evaluator_(kernel.evaluator()),
        dot_(contractionOf(fusion)),
        lanes_(epilogueLanesOf(stage)),
        roots_(rootsOfSums(fusion, stage)),
        matrix_(sumsMatrixOf(dot_)),
        firstResult_(fusion->getNumOperands()) {}

  void emit() {
    llvm::IRBuilder<>& b = loops_.at(loops_.entry());
    const ElementKind kind = evaluator_.kindOf(dot_.getResult());
    llvm::Value* sum = kernel_.argument(4);
    evaluator_.materialized().setRegister(
        dot_.getResult(), {roundToKind(b, loops_.target(), sum, kind), nullptr, loops_.entry()});
    evaluator_.setLanes(lanes_);
    IndexExpr row =
        IndexExpr::of(loops_.makeSymbol(kernel_.begin(), loops_.entry(), {0, matrix_.rows - 1}));
    IndexExpr column = IndexExpr::of(loops_.makeSymbol(kernel_.argument(3), loops_.entry(),
                                                       {0, matrix_.cols - int64_t{lanes_}}));
    if (lanes_ > 1) column.laneStride = 1;
    // All values before any store: a result may be written over an operand.
    llvm::SmallVector<Val, 4> values;
    for (const Root& root : roots_) {
      values.push_back(evaluator_.get(root.value, indexIn(root, matrix_, row, column)));
    }
    for (auto [root, value] : llvm::zip(roots_, values)) {
      evaluator_.store(kernel_.buffer(firstResult_ + root.result), evaluator_.kindOf(root.value),
                       evaluator_.linearize(indexIn(root, matrix_, row, column), root.type()),
                       value);
    }
  }

 private:
  KernelBuilder& kernel_;
  LoopBuilder& loops_;
  Evaluator& evaluator_;
  shlo::DotGeneralOp dot_;
  unsigned lanes_;
  llvm::SmallVector<Root, 4> roots_;
  SumsMatrix matrix_;
  unsigned firstResult_;
};

}  // namespace

void emitEpilogue(KernelBuilder& kernel, ir::FusionOp fusion, const DotStage& stage) {
  if (stage.product.form != ProductForm::kNone) return SumsEmitter(kernel, fusion, stage).emit();
  EpilogueEmitter(kernel, fusion, stage).emit();
}

}  // namespace isthmus::codegen

// The value of any tensor of a fusion at any index, as LLVM IR.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "compiler/codegen/elementwise/elementwise.h"
#include "compiler/codegen/loop/level.h"
#include "compiler/codegen/materialized_values.h"
#include "compiler/dialect/isthmus.h"
#include "compiler/schedule/schedule.h"
#include "compiler/target/element_kind.h"
#include "isthmus/status.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/ScopeExit.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace isthmus::codegen {

// A multi-index: one expression per dimension of a tensor. If bit d of `merged` is set, dimension d
// is 0 here and dimension d + 1 runs over both (its expression may exceed its size): reshapes and
// collapsed loops cost no division unless an op needs the dimensions apart.
struct MultiIndex {
  Index dims;
  uint64_t merged = 0;

  bool isUniform() const {
    for (const IndexExpr& dim : dims) {
      if (!dim.isUniform()) return false;
    }
    return true;
  }
};

// A condition that is known when the code is emitted, or an i1 register.
struct Condition {
  bool known = true;
  bool value = true;
  Val dynamic;  // one lane, or as many as the context

  static Condition always(bool value) { return {true, value, {}}; }
};

// Emits values on demand; each once per index (memoised in the level that it belongs to).
//
// Errors do not interrupt emission: the first one is kept in status() and undefined values stand in
// from there on, so a caller checks once at the end.
class Evaluator {
 public:
  // `operands` are the addresses of the fusion's operands, defined in the entry block; `stage` says
  // how its reductions are computed; null where there are none.
  Evaluator(LoopBuilder& loops, ir::FusionOp fusion, const FusedStage* stage,
            llvm::ArrayRef<llvm::Value*> operands);

  const Status& status() const { return status_; }
  LoopBuilder& loops() { return loops_; }

  // `value` at `index`. Lanes are those of the current lane context, or one if the index is uniform
  // (the caller splats).
  Val get(mlir::Value value, const MultiIndex& index);

  // The lane context: how many lanes the current innermost vector loop has.
  unsigned lanes() const { return lanes_; }
  void setLanes(unsigned lanes) { lanes_ = lanes; }
  // The same until the result is destroyed.
  [[nodiscard]] auto enterLanes(unsigned lanes) {
    return llvm::scope_exit([this, saved = std::exchange(lanes_, lanes)] { lanes_ = saved; });
  }

  // Says that the code being emitted is step `step` of `size` unrolled ones, whose indices are
  // `symbol` + step: loads whose lanes are far apart but whose steps are neighbours are then made
  // as blocks and transposed in registers.
  void setTransposition(const Symbol* symbol, unsigned size, unsigned step) {
    transposition_ = {symbol, size, step};
  }

  // Reads and writes an element (or one per lane) of a dense buffer; `linear` counts elements.
  // `count`: how many the buffer has at least, so that more of it may be read than is asked for.
  Val load(llvm::Value* base, const ElementKind& kind, const IndexExpr& linear,
           Level* atLeast = nullptr, int64_t count = 0);
  void store(llvm::Value* base, const ElementKind& kind, const IndexExpr& linear, Val value);

  // Writes rows of as many elements as there are columns, one row per lane, which follow each other
  // in memory; `linear` is the linear index of the first row's first element.
  void storeInterleaved(llvm::Value* base, const ElementKind& kind, const IndexExpr& linear,
                        llvm::ArrayRef<Val> columns);

  // The position in a dense row-major buffer of `type`.
  IndexExpr linearize(const MultiIndex& index, mlir::RankedTensorType type);
  // The position of the index's first `dims` dimensions in an array of those; none where the last
  // of them is merged with the next.
  std::optional<IndexExpr> linearizeOuter(const MultiIndex& index, mlir::RankedTensorType type,
                                          size_t dims);
  // Where in an array of `from` the element is that a reshape of it to `to` has at `index`.
  MultiIndex reshapedIndex(const MultiIndex& index, mlir::RankedTensorType to,
                           mlir::RankedTensorType from);
  // Splits merged dimensions.
  MultiIndex normalize(const MultiIndex& index, llvm::ArrayRef<int64_t> shape);

  // The results of a region of scalar computations (a reducer, a scatter's update), with as many
  // lanes as the widest argument.
  llvm::SmallVector<Val, 2> evaluateRegion(mlir::Region& region, llvm::ArrayRef<Val> arguments);

  // `value` with the lanes of the context.
  Val splat(Val value, unsigned lanes);
  Val constantOf(mlir::Attribute element, const ElementKind& kind);

  ElementKind kindOf(mlir::Value value);
  ElementKind kindOf(mlir::Type type);

  // An undefined value, after noting that `op` is not implemented.
  Val fail(mlir::Operation* op, const std::string& why);
  void noteError(Status status) {
    if (status_.ok()) status_ = std::move(status);
  }

  // Index arithmetic that may need instructions.
  IndexExpr addIndex(const IndexExpr& a, const IndexExpr& b);
  IndexExpr scaleIndex(const IndexExpr& a, int64_t factor);
  // `a` may be the object that one of the results replaces.
  void divideIndex(IndexExpr a, int64_t divisor, IndexExpr* quotient, IndexExpr* remainder);
  // A run-time integer (of any kind) as an index in [lo, hi]; clamped into it if `clamp`.
  IndexExpr indexFrom(Val value, const ElementKind& kind, int64_t lo, int64_t hi, bool clamp);
  // lo <= expr < hi.
  Condition within(const IndexExpr& expr, int64_t lo, int64_t hi);
  Condition both(const Condition& a, const Condition& b);
  // `expr` where `condition` holds, else `otherwise`; the result lies in [lo, hi].
  IndexExpr selectIndex(const Condition& condition, const IndexExpr& expr, int64_t otherwise,
                        int64_t lo, int64_t hi);
  Val selectValue(const Condition& condition, Val a, Val b);
  IndexExpr chooseUniform(const Val& condition, const IndexExpr& expr, int64_t otherwise,
                          Range range);

  // The results of a `stablehlo.reduce` at an index of its result.
  llvm::SmallVector<Val, 2> reduceAt(mlir::Operation* op, const MultiIndex& index);
  // How it is computed.
  ReductionSchedule scheduleOf(mlir::Operation* reduce);

  // The innermost level that a symbol of `index` is defined at.
  Level* levelOf(const MultiIndex& index) const;
  // Whether code at `level` runs for some threads of a group only, or not equally often for all.
  bool isThreadsOwn(const Level* level) const {
    return threadsOwn_ && level->depth >= threadsOwn_->depth;
  }
  // Says so of the loop `level`, until the result is destroyed.
  [[nodiscard]] auto enterThreadsOwn(const Level* level) {
    const Level* saved = threadsOwn_;
    threadsOwn_ = level;
    return llvm::scope_exit([this, saved] { threadsOwn_ = saved; });
  }

  // What one op computes from the values of its operands at the same index.
  Val elementwise(mlir::Operation* op, llvm::ArrayRef<Val> operands);
  static bool isElementwise(mlir::Operation* op);

  // What is read where it is, not computed. What was computed of a value in a register at the same
  // index is not computed again when another register takes its place.
  MaterializedValues& materialized() { return materialized_; }

  // The accumulators of a reduction, and where in their arrays they are.
  llvm::SmallVector<Val, 2> accumulatedAt(mlir::Operation* op, const MultiIndex& index);
  // What such arrays hold there.
  llvm::SmallVector<Val, 2> loadAccumulators(mlir::Operation* op,
                                             llvm::ArrayRef<llvm::Value*> bases,
                                             const MultiIndex& index);
  IndexExpr accumulatorAt(mlir::Operation* op, const MultiIndex& index);
  // Computes the accumulators of `op`, row by row. `forColumns` runs its argument for each vector
  // (or, with one lane, element) of the columns at hand; `multiIndexAt` gives the result's index
  // for it.
  void accumulateColumns(
      mlir::Operation* op, const std::function<MultiIndex(const IndexExpr&)>& multiIndexAt,
      const std::function<void(const std::function<void(const IndexExpr&)>&)>& forColumns);
  // Computes those of a block of rows, whose origin is the block's: as many rows as a vector has
  // `lanes`, of which `forRows` runs its argument for those that there are.
  void reduceRowBlock(
      mlir::Operation* op, unsigned lanes,
      const std::function<void(const std::function<void(const MultiIndex&)>&)>& forRows);

  // From the bytes of memory to a compute register and back.
  llvm::Value* fromStorage(llvm::Value* stored, const ElementKind& kind, Level* level);
  llvm::Value* toStorage(llvm::Value* value, const ElementKind& kind);

 private:
  const Val* findMemo(const std::string& key) const;
  bool memoised(mlir::Value value, const MultiIndex& index) const;
  void memoise(mlir::Value value, const MultiIndex& index, const Val& known);
  bool isReducedAlready(mlir::Operation* op, const MultiIndex& index);
  bool isRowAtHand(const MaterializedValues::Row& row, mlir::Value value, const MultiIndex& index);
  bool isStoredRow(const MaterializedValues::StoredRow& row, mlir::Value value,
                   const MultiIndex& index);
  IndexExpr positionInRow(const MaterializedValues::Row& row, const MultiIndex& index);
  Val compute(mlir::Value value, const MultiIndex& index);
  Val computeOp(mlir::OpResult value, const MultiIndex& index);
  Val elementwiseAt(mlir::Operation* op, const MultiIndex& index);
  Val convert(mlir::Operation* op, Val operand, const ElementKind& from, const ElementKind& to);
  Val constantAt(mlir::Operation* op, const MultiIndex& index);
  Val iotaAt(mlir::Operation* op, const MultiIndex& index);
  Val mappedAt(mlir::Operation* op, const MultiIndex& index);
  Val reshapeAt(mlir::Operation* op, const MultiIndex& index);
  Val padAt(mlir::Operation* op, const MultiIndex& index);
  Val concatenateAt(mlir::Operation* op, const MultiIndex& index);
  Val dynamicSliceAt(mlir::Operation* op, const MultiIndex& index);
  Val dynamicUpdateSliceAt(mlir::Operation* op, const MultiIndex& index);
  Val gatherAt(mlir::Operation* op, const MultiIndex& index);
  Val bitcastAt(mlir::Operation* op, const MultiIndex& index);
  Val reduceWindowAt(mlir::OpResult result, const MultiIndex& index);
  Val sumAt(mlir::Operation* op);

  llvm::Value* transposedLoad(llvm::Value* base, llvm::Type* type, const IndexExpr& linear,
                              Level* level);
  llvm::Value* interleavedLoad(llvm::Value* base, llvm::Type* type, const IndexExpr& linear,
                               Level* level, int64_t count);
  llvm::LoadInst* loadAligned(llvm::IRBuilder<>& b, llvm::Type* type, llvm::Value* from,
                              llvm::Align align);
  llvm::Value* loadPart(llvm::Value* base, llvm::Type* type, const IndexExpr& linear, Level* level,
                        int64_t count);

  std::unordered_map<std::string, const Symbol*> symbols_;
  LoopBuilder& loops_;
  ir::FusionOp fusion_;
  MaterializedValues materialized_;
  llvm::SmallVector<llvm::Value*, 8> operands_;
  llvm::DenseMap<mlir::Operation*, llvm::GlobalVariable*> tables_;
  llvm::DenseMap<mlir::Operation*, ReductionSchedule> reductions_;
  // Of a reduction, all that run in one loop with it.
  llvm::DenseMap<mlir::Operation*, llvm::SmallVector<shlo::ReduceOp, 4>> sharedLoops_;
  llvm::SmallPtrSet<mlir::Operation*, 2> unrolled_;  // windows
  mlir::Operation* activeReduce_ = nullptr;
  const Level* threadsOwn_ = nullptr;
  unsigned lanes_ = 1;
  bool isForGroup_ = false;
  bool areComplexWords_ = false;
  bool readsOperand_ = false;
  struct {
    const Symbol* symbol = nullptr;
    unsigned size = 0;
    unsigned step = 0;
  } transposition_;
  int depth_ = 0;
  int64_t emitted_ = 0;
  Status status_;
};

// Rounds an f32 register to a narrower float's values (to nearest even); elsewhere the identity.
llvm::Value* roundToKind(llvm::IRBuilder<>& b, const TargetModel& target, llvm::Value* value,
                         const ElementKind& kind, Rounded what = Rounded::kAnything);
// Integers narrower than a byte are kept sign- or zero-extended.
llvm::Value* wrapInteger(llvm::IRBuilder<>& b, llvm::Value* value, const ElementKind& kind);
llvm::Value* floatToBits(llvm::IRBuilder<>& b, const TargetModel& target, llvm::Value* value,
                         const ElementKind& kind);
llvm::Value* bitsToFloat(llvm::IRBuilder<>& b, const TargetModel& target, llvm::Value* bits,
                         const ElementKind& kind);

}  // namespace isthmus::codegen

#include "compiler/fusion/legality.h"

#include "compiler/cost/op_cost.h"
#include "compiler/cost/scan_lines.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/indexing.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/dialect/facts/scan.h"
#include "compiler/dialect/facts/update_slice.h"
#include "compiler/dialect/types/permutation.h"
#include "compiler/fusion/op_traits.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SetVector.h"

namespace isthmus {
namespace {

// Where a value is evaluated: at the kernel's own index (of the full space or of the space that
// reductions leave), once for all, or at an index that operations on the way computed.
using Context = uint64_t;
constexpr Context kFull = 1;
constexpr Context kOuter = 2;
constexpr Context kScalar = 3;

constexpr unsigned kMaxContexts = 8;

constexpr const char* kRowRefusal =
    "rows that are read twice and are too long, or not the innermost";

using Shape = llvm::SmallVector<int64_t>;

// The innermost dimension of a size other than 1.
std::optional<int64_t> innermost(mlir::Value value) {
  auto shape = llvm::cast<mlir::RankedTensorType>(value.getType()).getShape();
  for (auto d = static_cast<int64_t>(shape.size()) - 1; d >= 0; --d) {
    if (shape[d] != 1) return d;
  }
  return std::nullopt;
}

// Whether a transpose moves the contiguous dimension.
bool movesInnermost(shlo::TransposeOp transpose) {
  std::optional<int64_t> d = innermost(transpose.getOperand());
  return d && indexingMaps(transpose).operands[0].resultDim(*d) != innermost(transpose.getResult());
}

// Whether both a transpose and the one that it reads change the order of elements: blocks are
// transposed in registers where only one does.
bool readsMovedRows(mlir::Operation* op) {
  auto movesElements = [](shlo::TransposeOp transpose) {
    return transpose && !keepsElements(tensorTypeOf(transpose.getOperand()).getShape(),
                                       transpose.getPermutation());
  };
  auto outer = llvm::dyn_cast<shlo::TransposeOp>(op);
  return movesElements(outer) &&
         movesElements(outer.getOperand().getDefiningOp<shlo::TransposeOp>());
}

// Whether what `value` leads to, element by element, is only looked up at few of its places, such
// as a diagonal: then lines are read whole in no order.
bool isLookedUp(mlir::Value value) {
  constexpr size_t kMaxChain = 8;
  constexpr int64_t kMinShare = 2;
  llvm::SmallSetVector<mlir::Value, kMaxChain> values;
  values.insert(value);
  for (size_t i = 0; i < values.size(); ++i) {
    if (values.size() > kMaxChain || values[i].use_empty()) return false;
    for (mlir::OpOperand& use : values[i].getUses()) {
      mlir::Operation* user = use.getOwner();
      const OpFacts* facts = findOpFacts(user);
      if (facts && facts->readsPart) {
        if (use.getOperandNumber() != 0 || elementCount(user->getResult(0).getType()) * kMinShare >
                                               elementCount(values[i].getType())) {
          return false;
        }
      } else if (fusionClass(user) == FusionClass::kElementwise) {
        values.insert(user->getResult(0));
      } else {
        return false;
      }
    }
  }
  return true;
}

// The reduced dimensions as positions among those of other sizes than 1.
Shape squeezedDimensions(shlo::ReduceOp reduce) {
  auto type = llvm::cast<mlir::RankedTensorType>(reduce.getInputs()[0].getType());
  const IndexingMaps maps = indexingMaps(reduce);
  Shape positions;
  for (int64_t d = 0, position = 0; d < type.getRank(); ++d) {
    if (type.getDimSize(d) == 1) continue;
    if (!maps.operands[0].resultDim(d)) positions.push_back(position);
    ++position;
  }
  return positions;
}

class LegalityAnalysis {
 public:
  LegalityAnalysis(const BlockGraph& graph, llvm::ArrayRef<int> members,
                   const FusionOptions& options)
      : graph_(graph), options_(options) {
    for (int member : members) members_.insert(member);
  }

  Legality run() {
    findOutputs();
    if (!findSpace() || !propagateContexts() || !checkUpdate() || !checkBuffers()) {
      return {std::nullopt, refusal_};
    }
    return {std::move(shape_), nullptr};
  }

 private:
  mlir::Operation* op(int index) const { return graph_.node(index).op; }

  // The analysis ends here.
  bool refuse(const char* why) {
    refusal_ = why;
    return false;
  }
  bool require(bool condition, const char* why) { return condition || refuse(why); }

  void findOutputs() {
    for (int member : members_) {
      const BlockGraph::Node& node = graph_.node(member);
      bool usedOutside =
          llvm::any_of(node.users, [&](int user) { return !members_.contains(user); });
      if (node.escapes || usedOutside) shape_.outputs.push_back(member);
    }
  }

  // Finds the iteration space.
  bool findSpace() {
    int updates = 0, scatters = 0, windows = 0, transposes = 0;
    for (int member : members_) {
      switch (fusionClass(op(member))) {
        case FusionClass::kReduce:
          reduces_.push_back(llvm::cast<shlo::ReduceOp>(op(member)));
          break;
        case FusionClass::kUpdateSlice:
          ++updates;
          break;
        case FusionClass::kScatter:
          ++scatters;
          break;
        case FusionClass::kWindow:
          ++windows;
          if (scanOf(op(member))) scan_ = llvm::cast<shlo::ReduceWindowOp>(op(member));
          break;
        default:
          if (auto transpose = llvm::dyn_cast<shlo::TransposeOp>(op(member));
              transpose && movesInnermost(transpose) &&
              elementCount(transpose.getType()) >= options_.target.minTransposeElements &&
              !isLookedUp(transpose.getResult())) {
            if (!permutation_.empty() && permutation_ != transpose.getPermutation()) {
              return refuse("they transpose in different ways");
            }
            permutation_ = transpose.getPermutation();
            transposesLongRows_ |= isOfLongRows(transpose.getOperand()) && isOfLongRows(transpose);
            ++transposes;
          }
      }
    }
    if (scatters > 0) {
      return require(members_.size() == 1, "a scatter is a kernel by itself") && singleton();
    }
    if (windows > 0) {
      if (members_.size() == 1) return singleton();
      return require(windows == 1 && scan_, "a window is a kernel by itself") && runningReduction();
    }
    if (updates > 0) {
      return require(reduces_.empty() && transposes == 0,
                     "an update in place with a reduction or a transpose") &&
             updateSlice();
    }
    if (!reduces_.empty()) {
      return require(transposes == 0, "a reduction with a transpose") && reduction();
    }
    full_ = squeezedShape(op(shape_.outputs.front())->getResult(0).getType());
    for (int output : shape_.outputs) {
      if (squeezedShape(op(output)->getResult(0).getType()) != full_) {
        return refuse("results of different shapes");
      }
      seed(output, kFull);
    }
    if (transposes > 0) {
      if (llvm::any_of(members_, [&](int member) {
            return readsMovedRows(op(member)) &&
                   members_.contains(graph_.indexOf(op(member)->getOperand(0).getDefiningOp()));
          })) {
        return refuse("a transpose of what moves rows, or the other way round");
      }
      if (!options_.target.transposesInLoops()) {
        return require(members_.size() == 1, "the target wants transposes by themselves");
      }
      if (transposesLongRows_ && options_.target.device == DeviceKind::kCpu &&
          llvm::any_of(members_, [&](int member) { return isOfParts(op(member)); })) {
        return refuse("a transpose of what is joined of parts, or the other way round");
      }
      transposes_ = true;
    }
    return true;
  }

  bool singleton() {
    shape_.work = elementCost(op(members_.front())) *
                  elementCount(op(members_.front())->getResult(0).getType());
    return true;
  }

  // What is computed element by element before a running reduction, and after it.
  bool runningReduction() {
    double cost = 0;
    for (int member : members_) {
      if (op(member) == scan_) continue;
      if (fusionClass(op(member)) != FusionClass::kElementwise) {
        return refuse("only elementwise operations join a running reduction");
      }
      cost += elementCost(op(member));
    }
    if (const char* why = workOnScanRefusal(scan_, cost, options_.target)) return refuse(why);
    auto type = llvm::cast<mlir::RankedTensorType>(scan_->getResult(0).getType());
    const bool isLast = shape_.outputs.size() == 1 && op(shape_.outputs.front()) == scan_;
    const ScanLines lines = scanLinesOf(type, scanOf(scan_)->dim);
    if (!isLast && wantedScanParts(lines, options_.target) > 1) {
      return refuse("threads that share a line read of a scan what they store of it");
    }
    full_ = squeezedShape(type);
    for (int output : shape_.outputs) {
      auto shape =
          llvm::cast<mlir::RankedTensorType>(op(output)->getResult(0).getType()).getShape();
      if (shape != type.getShape()) return refuse("results of different shapes");
      seed(output, kFull);
    }
    return true;
  }

  bool updateSlice() {
    // The update is computed over its own index space and lands in the operand's memory.
    if (shape_.outputs.size() != 1) return refuse("an update in place with another result");
    auto update = llvm::dyn_cast<shlo::DynamicUpdateSliceOp>(op(shape_.outputs.front()));
    if (!update || members_.contains(graph_.indexOf(update.getOperand().getDefiningOp()))) {
      return refuse("what is updated in place must be in memory");
    }
    full_ = squeezedShape(update.getUpdate().getType());
    seed(shape_.outputs.front(), kFull);
    update_ = update;
    return true;
  }

  // What is updated may be read by the kernel where it is updated alone: else all of it would be
  // copied, however little the update is, and a loop that updates an array would copy it in each
  // round. An update by itself is a kernel in any case.
  bool checkUpdate() {
    if (!update_ || members_.size() == 1) return true;
    for (int index : closure()) {
      for (mlir::OpOperand& operand : op(index)->getOpOperands()) {
        if (operand.get() != update_.getOperand() || op(index) == update_) continue;
        const auto contexts = contexts_.find(index);
        const Context own = elementCount(update_.getUpdate().getType()) == 1 ? kScalar : kFull;
        const bool isAtItsPlace =
            contexts == contexts_.end() ||
            llvm::all_of(contexts->second, [&](Context c) { return c == own; });
        if (!isAtItsPlace || !readsUpdatedPlace(update_, operand)) {
          return refuse("what is updated in place would be read elsewhere");
        }
      }
    }
    return true;
  }

  bool reduction() {
    auto type = llvm::cast<mlir::RankedTensorType>(reduces_.front().getInputs()[0].getType());
    llvm::ArrayRef<int64_t> dimensions = reduces_.front().getDimensions();
    for (shlo::ReduceOp reduce : reduces_) {
      auto other = llvm::cast<mlir::RankedTensorType>(reduce.getInputs()[0].getType());
      if (squeezedShape(other) != squeezedShape(type) ||
          squeezedDimensions(reduce) != squeezedDimensions(reduces_.front())) {
        return refuse("reductions of different shapes or dimensions");
      }
    }
    if (type.getNumElements() == 0) {
      return require(members_.size() == 1, "a reduction of nothing") && seedReduce();
    }
    full_ = squeezedShape(type);
    outer_ = squeezedShape(reduces_.front().getResult(0).getType());
    // Where the reduction only drops dimensions of size 1, the two spaces cannot be told apart.
    if (full_ == outer_) {
      return require(members_.size() == 1, "a reduction over dimensions of size 1") && seedReduce();
    }

    bool suffix = true;
    int64_t rowElements = 1;
    for (int64_t d = 0, seen = 0; d < type.getRank(); ++d) {
      bool reduced = llvm::is_contained(dimensions, d);
      if (reduced) rowElements *= type.getDimSize(d);
      if (type.getDimSize(d) == 1) continue;
      if (reduced) ++seen;
      if (!reduced && seen > 0) suffix = false;
    }
    bool fullOutputs = false;
    for (int output : shape_.outputs) {
      Shape shape = squeezedShape(op(output)->getResult(0).getType());
      if (shape != full_ && shape != outer_) {
        return refuse("a result of neither the shape before nor after the reduction");
      }
      fullOutputs |= shape == full_;
      seed(output, shape == full_ ? kFull : kOuter);
    }
    rowAllowed_ = options_.target.readsRowsAgain() && suffix &&
                  rowElements * elementBytes(type) <= options_.target.maxRowBytes &&
                  (!outer_.empty() || rowElements <= options_.target.maxSingleRowElements);
    if (fullOutputs && !rowAllowed_) return refuse(kRowRefusal);
    rereadsRow_ = fullOutputs;
    keptDimensions_.clear();
    for (int64_t d = 0; d < type.getRank(); ++d) {
      if (type.getDimSize(d) != 1 && !llvm::is_contained(dimensions, d))
        keptDimensions_.push_back(d);
    }
    fullShape_.assign(type.getShape().begin(), type.getShape().end());
    return true;
  }

  bool seedReduce() {
    for (int output : shape_.outputs) seed(output, kOuter);
    return true;
  }

  void seed(int index, Context context) { contexts_[index].insert(context); }

  // Walks from the outputs to the operands, collecting for each value the contexts in which it is
  // evaluated and for each context how often.
  bool propagateContexts() {
    if (shape_.work > 0) return true;  // a singleton
    // Members and the rematerialized operations that would be copied, latest first.
    llvm::SmallVector<int> order = closure();
    for (int index : order) {
      auto found = contexts_.find(index);
      if (found == contexts_.end()) continue;
      llvm::SmallDenseSet<Context, 4> contexts = found->second;
      if (contexts.size() > kMaxContexts) {
        return refuse("a value that is needed at too many places at once");
      }
      mlir::Operation* user = op(index);
      if (contexts.contains(kFull) && joinsWithinRow(user)) {
        return refuse("a reduction of rows that are joined of parts");
      }
      for (Context context : contexts) {
        shape_.work += elementCost(user) * evaluations(index, context);
        for (mlir::OpOperand& operand : user->getOpOperands()) {
          mlir::Operation* producer = operand.get().getDefiningOp();
          int producerIndex = graph_.indexOf(producer);
          if (producerIndex < 0 || !inKernel(producerIndex)) continue;
          if (graph_.node(producerIndex).isRematerialized == false &&
              BlockGraph::needsMemory(user, operand.getOperandNumber())) {
            return refuse("an operand that must be in memory");
          }
          std::optional<Context> next = operandContext(user, operand.getOperandNumber(), context);
          if (!next) return false;  // operandContext said why
          // A reduction is computed once per outer index, nowhere else.
          if (llvm::isa<shlo::ReduceOp>(producer) && *next != kOuter) {
            return refuse("a reduction would be computed again for each element");
          }
          if (producer == scan_ && *next != kFull) {
            return refuse("a running reduction is read at other places than it is computed");
          }
          contexts_[producerIndex].insert(*next);
          double count = *next == kScalar ? 1
                         : *next == kFull || *next == kOuter
                             ? elementCount(producer->getResult(0).getType())
                             : operandEvaluations(user, operand.getOperandNumber()) *
                                   std::max(1.0, evaluations(index, context) /
                                                     std::max<double>(1, resultCount(user)));
          auto key = std::make_pair(producerIndex, *next);
          counts_[key] = std::max(counts_[key], count);
        }
      }
    }
    return true;
  }

  static double resultCount(mlir::Operation* op) {
    return elementCount(op->getResult(0).getType());
  }

  double evaluations(int index, Context context) const {
    auto found = counts_.find({index, context});
    if (found != counts_.end()) return found->second;
    mlir::Operation* user = op(index);
    if (auto reduce = llvm::dyn_cast<shlo::ReduceOp>(user)) {
      return elementCount(reduce.getInputs()[0].getType());
    }
    if (auto update = llvm::dyn_cast<shlo::DynamicUpdateSliceOp>(user)) {
      return elementCount(update.getUpdate().getType());
    }
    return resultCount(user);
  }

  bool inKernel(int index) const {
    return members_.contains(index) || graph_.node(index).isRematerialized;
  }

  llvm::SmallVector<int> closure() const {
    llvm::SmallSetVector<int, 32> seen;
    llvm::SmallVector<int> work(members_.begin(), members_.end());
    while (!work.empty()) {
      int index = work.pop_back_val();
      if (!seen.insert(index)) continue;
      for (mlir::Value operand : op(index)->getOperands()) {
        int producer = graph_.indexOf(operand.getDefiningOp());
        if (producer >= 0 && graph_.node(producer).isRematerialized && !seen.contains(producer)) {
          work.push_back(producer);
        }
      }
    }
    llvm::SmallVector<int> order(seen.begin(), seen.end());
    llvm::sort(order, std::greater<int>());
    return order;
  }

  // The context in which `user`, evaluated in `context`, evaluates its operand; nothing if the
  // kernel cannot compute that operand itself there.
  std::optional<Context> operandContext(mlir::Operation* user, unsigned operand, Context context) {
    mlir::Type type = user->getOperand(operand).getType();
    if (elementCount(type) == 1 && !(outer_.empty() && !reduces_.empty())) return kScalar;
    Shape shape = squeezedShape(type);
    switch (fusionClass(user)) {
      case FusionClass::kElementwise:
        if (shape.empty()) return outer_.empty() && !reduces_.empty() ? kOuter : kScalar;
        return context;
      case FusionClass::kReduce: {
        auto reduce = llvm::cast<shlo::ReduceOp>(user);
        if (operand >= reduce.getInputs().size()) return kScalar;
        return kFull;
      }
      case FusionClass::kUpdateSlice:
        return operand == 1 ? kFull : kScalar;
      case FusionClass::kWindow:
        return operand < user->getNumResults() ? kFull : kScalar;
      case FusionClass::kView:
        // Only a change of unit dimensions keeps the place; others are no members.
        return context;
      default:
        break;
    }
    if (auto broadcast = llvm::dyn_cast<shlo::BroadcastInDimOp>(user)) {
      Shape result = squeezedShape(broadcast.getType());
      if (shape == result) return context;
      if (!reduces_.empty() && shape == outer_ && (context == kFull || context == kOuter) &&
          mapsKeptDimensions(broadcast)) {
        if (!rereadsRow_ && producesReduction(user->getOperand(operand))) {
          // Reading a reduction back over the full space takes a second pass over the row.
          if (!rowAllowed_) {
            refuse(kRowRefusal);
            return std::nullopt;
          }
          rereadsRow_ = true;
        }
        return kOuter;
      }
      if (shape.empty()) return kScalar;
    }
    if (llvm::isa<shlo::TransposeOp>(user) && transposes_ && context != kFull) {
      refuse("a transpose of what is read out of order");
      return std::nullopt;
    }
    return llvm::hash_combine(user, operand, context) | 16;
  }

  // Lists of points and the like: rows of a few elements are put together in registers anyway.
  static bool isOfLongRows(mlir::Value value) {
    constexpr int64_t kFewColumns = 8;
    return squeezedShape(value.getType()).back() > kFewColumns;
  }

  // Whether an array is joined of several along this dimension, or padded.
  static bool isOfPartsAlong(mlir::Operation* op, int64_t d) {
    auto joined = llvm::dyn_cast<shlo::ConcatenateOp>(op);
    auto padded = llvm::dyn_cast<shlo::PadOp>(op);
    return (joined && static_cast<int64_t>(joined.getDimension()) == d) ||
           (padded &&
            padded.getOperand().getType().getDimSize(d) != padded.getType().getDimSize(d));
  }

  // Blocks of such an array are not read as they lie in memory and transposed in registers, as
  // those of others are.
  static bool isOfParts(mlir::Operation* op) {
    return llvm::any_of(llvm::seq(tensorTypeOf(op->getResult(0)).getRank()),
                        [&](int64_t d) { return isOfPartsAlong(op, d); });
  }

  // Whether the rows that are reduced are joined of several, or padded. Vectors of them would be
  // put together element by element, which takes longer than storing the rows.
  bool joinsWithinRow(mlir::Operation* op) {
    constexpr int64_t kLongRow = 64;
    if (reduces_.empty() || options_.target.device != DeviceKind::kCpu) return false;
    const auto last = tensorTypeOf(op->getResult(0)).getRank() - 1;
    return isOfPartsAlong(op, last) &&
           tensorTypeOf(op->getResult(0)).getDimSize(last) >= kLongRow &&
           llvm::is_contained(reduces_.front().getDimensions(), last);
  }

  bool mapsKeptDimensions(shlo::BroadcastInDimOp broadcast) const {
    auto operandShape = broadcast.getOperand().getType().getShape();
    Shape resultShape(broadcast.getType().getShape());
    // The kept dimensions, as positions among the result's squeezed dimensions.
    Shape positions;
    int64_t position = 0;
    llvm::SmallDenseMap<int64_t, int64_t> squeezedPosition;
    for (int64_t d = 0; d < static_cast<int64_t>(resultShape.size()); ++d) {
      if (resultShape[d] != 1) squeezedPosition[d] = position++;
    }
    const IndexingMaps maps = indexingMaps(broadcast);
    for (int64_t d = 0; d < static_cast<int64_t>(operandShape.size()); ++d) {
      if (operandShape[d] == 1) continue;
      auto found = squeezedPosition.find(*maps.operands[0].resultDim(d));
      if (found == squeezedPosition.end()) return false;
      positions.push_back(found->second);
    }
    Shape expected;
    position = 0;
    for (int64_t d = 0; d < static_cast<int64_t>(fullShape_.size()); ++d) {
      if (fullShape_[d] == 1) continue;
      if (llvm::is_contained(keptDimensions_, d)) expected.push_back(position);
      ++position;
    }
    if (squeezedShape(broadcast.getType()) == outer_) return true;
    return positions == expected && squeezedShape(broadcast.getType()) == full_;
  }

  // Whether computing `value` in the kernel takes one of its reductions.
  bool producesReduction(mlir::Value value) const {
    llvm::SmallVector<mlir::Value> work{value};
    llvm::SmallPtrSet<mlir::Operation*, 16> seen;
    while (!work.empty()) {
      mlir::Operation* producer = work.pop_back_val().getDefiningOp();
      int index = graph_.indexOf(producer);
      if (index < 0 || !inKernel(index) || !seen.insert(producer).second) continue;
      if (llvm::isa<shlo::ReduceOp>(producer)) return true;
      work.append(producer->operand_begin(), producer->operand_end());
    }
    return false;
  }

  bool checkBuffers() {
    llvm::SmallPtrSet<void*, 32> buffers;
    int operations = 0;
    for (int index : closure()) {
      ++operations;
      for (mlir::Value operand : op(index)->getOperands()) {
        int producer = graph_.indexOf(operand.getDefiningOp());
        if (producer < 0 || !inKernel(producer)) buffers.insert(operand.getAsOpaquePointer());
      }
    }
    return require(operations <= options_.target.maxKernelOps, "too many operations") &&
           require(static_cast<int>(buffers.size() + shape_.outputs.size()) <=
                       options_.target.maxKernelBuffers,
                   "too many arrays");
  }

  const BlockGraph& graph_;
  const FusionOptions& options_;
  llvm::SmallSetVector<int, 16> members_;
  KernelShape shape_;
  const char* refusal_ = nullptr;
  llvm::SmallVector<shlo::ReduceOp> reduces_;
  llvm::ArrayRef<int64_t> permutation_;
  Shape full_, outer_, fullShape_, keptDimensions_;
  shlo::DynamicUpdateSliceOp update_;
  shlo::ReduceWindowOp scan_;
  bool rowAllowed_ = false;
  bool rereadsRow_ = false;
  bool transposes_ = false, transposesLongRows_ = false;
  llvm::DenseMap<int, llvm::SmallDenseSet<Context, 4>> contexts_;
  llvm::DenseMap<std::pair<int, Context>, double> counts_;
};

}  // namespace

Legality analyzeLegality(const BlockGraph& graph, llvm::ArrayRef<int> members,
                         const FusionOptions& options) {
  return LegalityAnalysis(graph, members, options).run();
}

}  // namespace isthmus

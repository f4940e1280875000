#include "compiler/schedule/attention/fuse_attention.h"

#include <functional>

#include "compiler/cost/time.h"
#include "compiler/dialect/diagnostics/source_location.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/schedule/attention/attention.h"
#include "compiler/schedule/attention/attention_gradient.h"
#include "compiler/schedule/dot_scheduler.h"
#include "compiler/schedule/passes.h"
#include "isthmus/log.h"
#include "llvm/ADT/SetVector.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

namespace isthmus {

#define GEN_PASS_DEF_FUSEATTENTIONPASS
#include "compiler/schedule/passes.h.inc"

namespace {

// Why attention of such scores is better left to kernels of their own; null if it is not.
const char* sizeRefusal(shlo::DotGeneralOp scores, const TargetModel& target) {
  auto type = mlir::cast<mlir::RankedTensorType>(scores.getType());
  if (4 * type.getNumElements() < target.minScoreBytes) {
    return "scores are few enough to stay in the cache";
  }
  return type.getRank() > 0 && type.getShape().back() < target.minScoreColumns ? "rows are short"
                                                                               : nullptr;
}

// Of each batch item.
int64_t rowsOf(shlo::DotGeneralOp scores) {
  int64_t rows = sumsMatrixOf(scores).rows;
  for (int64_t d : scores.getDotDimensionNumbers().getLhsBatchingDimensions()) {
    rows /= tensorTypeOf(scores.getLhs()).getDimSize(d);
  }
  return rows;
}

int64_t batchesOf(shlo::DotGeneralOp scores) {
  return sumsMatrixOf(scores).rows / std::max<int64_t>(1, rowsOf(scores));
}

// Why the products are too long for as few rows as threads can share; null if they are not.
const char* tasksRefusal(llvm::ArrayRef<shlo::DotGeneralOp> dots, int64_t tasks,
                         const TargetModel& target) {
  double ns = 0;
  for (shlo::DotGeneralOp dot : dots) ns += contractionNs(target, dot);
  return tasks < target.minScoreTasks && ns > target.parallelProductNs
             ? "there are few rows for threads to share"
             : nullptr;
}

const char* forwardRefusal(Attention& attention, const TargetModel& target) {
  shlo::DotGeneralOp scores = attention.scores[0];
  if (const char* why = sizeRefusal(scores, target)) return why;
  if (target.device == DeviceKind::kGpu) return nullptr;
  const int64_t tasks = batchesOf(scores) * llvm::divideCeil(rowsOf(scores), target.scoreTaskRows);
  llvm::SmallVector<shlo::DotGeneralOp> dots{scores};
  for (RowProduct& product : attention.products) dots.push_back(product.dot);
  return tasksRefusal(dots, tasks, target);
}

// Where rows are only reduced, storing them costs little beside a product of long sums, or of few
// elements; and each task packs the right operand for itself.
const char* reductionRefusal(Attention& reduction, const TargetModel& target) {
  shlo::DotGeneralOp scores = reduction.scores[0];
  if (arrayBytes(scores.getType()) < target.minRecomputedBytes) {
    return "they are few enough to cost less than packing the right operand for each task";
  }
  if (arrayBytes(scores.getRhs().getType()) * 4 > target.l2Bytes * batchesOf(scores)) {
    return "the product's right operand is too large for each task to pack it";
  }
  return nullptr;
}

// The same for gradients that compute what the forward pass has computed again.
const char* recomputationRefusal(AttentionGradient& gradient, const TargetModel& target) {
  if (const char* why = sizeRefusal(gradient.scores[0], target)) return why;
  auto bytes = [](shlo::DotGeneralOp dot) {
    return elementBytes(tensorTypeOf(dot.getResult()).getElementType());
  };
  const bool isNarrow =
      llvm::all_of(gradient.scores, [&](shlo::DotGeneralOp dot) { return bytes(dot) < 4; });
  if (rowsOf(gradient.scores[0]) <= target.fewScoreRows) return nullptr;
  const int64_t least =
      isNarrow ? target.minNarrowGradientScoreBytes : target.minGradientScoreBytes;
  const int64_t elements = tensorTypeOf(gradient.scores[0].getResult()).getNumElements();
  return elements * (isNarrow ? 2 : 4) < least
             ? "they are few enough to cost less than computing them again"
             : nullptr;
}

// And for those that read what the forward pass has stored.
const char* gradientRefusal(AttentionGradient& gradient, const TargetModel& target) {
  const int64_t batches = batchesOf(gradient.scores[0]);
  llvm::SmallVector<shlo::DotGeneralOp> dots(gradient.scores.begin(), gradient.scores.end());
  int64_t elements = 0;
  for (shlo::DotGeneralOp scores : gradient.scores) {
    elements += tensorTypeOf(scores.getRhs()).getNumElements();
  }
  for (RowProduct& product : gradient.products) {
    dots.push_back(product.dot);
    const bool isLeft = product.dot.getLhs() == gradient.weights[product.weights];
    mlir::Value values = isLeft ? product.dot.getRhs() : product.dot.getLhs();
    mlir::Value kept = product.sumsRows ? product.dot.getResult() : values;
    elements += tensorTypeOf(kept).getNumElements();
  }
  if (4 * elements > target.maxScoreOperandBytes * batches) {
    return "copies of their operands would take too much memory";
  }
  const int64_t parts = std::max<int64_t>(1, rowsOf(gradient.scores[0]) / target.scorePartRows);
  return tasksRefusal(dots, batches * parts, target);
}

// The fusion that only transposes the result, if that is all that happens to it.
ir::FusionOp transposeOf(shlo::DotGeneralOp product) {
  mlir::Value result = product.getResult();
  if (!result.hasOneUse()) return nullptr;
  auto fusion = mlir::dyn_cast<ir::FusionOp>(*result.user_begin());
  if (!fusion || fusion->getBlock() != product->getBlock()) return nullptr;
  mlir::Block& body = fusion.getBody().front();
  if (body.getOperations().size() != 2 || !mlir::isa<shlo::TransposeOp>(body.front())) {
    return nullptr;
  }
  return fusion;
}

// Whether all elements are one number, which costs less to have than to read.
bool isSplat(ir::FusionOp fusion) {
  return fusion->getNumOperands() == 0 && fusion->getNumResults() == 1 &&
         llvm::all_of(fusion.getBody().front().without_terminator(), [](mlir::Operation& op) {
           auto constant = mlir::dyn_cast<shlo::ConstantOp>(op);
           return constant ? constant.getValue().isSplat()
                           : mlir::isa<shlo::BroadcastInDimOp, shlo::ReshapeOp>(op);
         });
}

// Takes arrays of one number, such as scales that several kernels read, into the kernel. Kernels
// that nobody reads then are erased, and noted in `gone`.
void inlineSplats(ir::FusionOp rows, llvm::DenseSet<mlir::Operation*>& gone) {
  mlir::Block& block = rows.getBody().front();
  for (unsigned i = rows->getNumOperands(); i-- > 0;) {
    auto splat = rows->getOperand(i).getDefiningOp<ir::FusionOp>();
    if (!splat || !isSplat(splat)) continue;
    auto builder = mlir::OpBuilder::atBlockBegin(&block);
    mlir::IRMapping mapping;
    mlir::Block& body = splat.getBody().front();
    for (mlir::Operation& op : body.without_terminator()) builder.clone(op, mapping);
    block.getArgument(i).replaceAllUsesWith(mapping.lookup(body.getTerminator()->getOperand(0)));
    block.eraseArgument(i);
    rows->eraseOperand(i);
    if (!splat->use_empty()) continue;
    gone.insert(splat);
    splat.erase();
  }
}

// The fusion that only repeats elements of an array, if that is what a value is of.
ir::FusionOp repetitionOf(mlir::Value value) {
  auto fusion = value.getDefiningOp<ir::FusionOp>();
  if (!fusion || fusion->getNumOperands() != 1) return nullptr;
  mlir::Block& body = fusion.getBody().front();
  if (body.getOperations().size() != 2 || !mlir::isa<shlo::BroadcastInDimOp>(body.front())) {
    return nullptr;
  }
  return fusion;
}

// The operation that makes a view of an array, in a fusion of its own or not; null for others.
mlir::Operation* viewOf(mlir::Value value) {
  if (ir::FusionOp fusion = repetitionOf(value)) return &fusion.getBody().front().front();
  mlir::Operation* op = value.getDefiningOp();
  return op && mlir::isa<shlo::ReshapeOp>(op) && stripViews(value) != value ? op : nullptr;
}
mlir::Value viewedBy(mlir::Value value) {
  mlir::Operation* op = value.getDefiningOp();
  return op->getOperand(0);
}

// Makes reshapes of one array that differ in dimensions of size 1 only views of the first of them:
// what two products read in such shapes is one array then.
void shareReshapes(mlir::ModuleOp module) {
  llvm::DenseMap<std::pair<mlir::Block*, mlir::Value>, llvm::SmallVector<shlo::ReshapeOp, 2>> seen;
  module.walk([&](shlo::ReshapeOp reshape) {
    if (mlir::isa<ir::FusionOp>(reshape->getParentOp())) return;
    auto& others = seen[{reshape->getBlock(), reshape.getOperand()}];
    auto isLikeIt = [&](shlo::ReshapeOp other) {
      return squeezedShape(other.getType()) == squeezedShape(reshape.getType());
    };
    auto found = llvm::find_if(others, isLikeIt);
    if (found == others.end()) {
      others.push_back(reshape);
    } else {
      reshape->setOperand(0, found->getResult());
    }
  });
}

bool isZero(mlir::Value value) {
  if (auto broadcast = value.getDefiningOp<shlo::BroadcastInDimOp>())
    value = broadcast.getOperand();
  return mlir::matchPattern(value, mlir::m_AnyZeroFloat());
}

// The fusion that only moves and converts elements of the result, if that is all that happens to
// it; the operations go to `moves`. What adds zeros is left out.
ir::FusionOp movesOf(shlo::DotGeneralOp product, llvm::SmallVectorImpl<mlir::Operation*>& moves) {
  mlir::Value result = product.getResult();
  auto fusion = result.hasOneUse() ? mlir::dyn_cast<ir::FusionOp>(*result.user_begin()) : nullptr;
  if (!fusion || fusion->getBlock() != product->getBlock() || fusion->getNumOperands() != 1 ||
      fusion->getNumResults() != 1) {
    return nullptr;
  }
  mlir::Block& body = fusion.getBody().front();
  for (mlir::Value value = body.getTerminator()->getOperand(0); value != body.getArgument(0);) {
    mlir::Operation* op = value.getDefiningOp();
    if (auto add = mlir::dyn_cast_or_null<shlo::AddOp>(op)) {
      const bool isLeft = isZero(add.getRhs());
      if (!isLeft && !isZero(add.getLhs())) return nullptr;
      value = isLeft ? add.getLhs() : add.getRhs();
      continue;
    }
    const bool isMove =
        op && (mlir::isa<shlo::TransposeOp, shlo::ConvertOp>(op) ||
               (mlir::isa<shlo::ReshapeOp>(op) &&
                squeezedShape(op->getOperand(0).getType()) == squeezedShape(value.getType())));
    if (!isMove) return nullptr;
    moves.insert(moves.begin(), op);
    value = op->getOperand(0);
  }
  return moves.empty() ? nullptr : fusion;
}

// What an attention is in the block: the operations that its fusion takes the place of. A library
// takes views of arrays, and moves and converts results.
struct Parts {
  // What happens to a product's result: in which fusion, null where there is none.
  struct Moves {
    Moves(shlo::DotGeneralOp product, bool isOfLibrary) {
      fusion = isOfLibrary ? movesOf(product, ops) : transposeOf(product);
      if (!isOfLibrary && fusion) ops.push_back(&fusion.getBody().front().front());
      if (!fusion) ops.clear();
      result = fusion ? fusion->getResult(0) : mlir::Value(product.getResult());
    }

    ir::FusionOp fusion;
    llvm::SmallVector<mlir::Operation*, 3> ops;
    mlir::Value result;
  };

  Parts(Attention& attention, bool isOfLibrary)
      : ops(attention.scores.begin(), attention.scores.end()), takesViews(isOfLibrary) {
    ops.push_back(attention.rows);
    for (RowProduct& product : attention.products) {
      ops.push_back(product.dot);
      moves.emplace_back(product.dot, isOfLibrary);
      replaced.push_back(moves.back().result);
    }
    if (attention.products.empty()) llvm::append_range(replaced, attention.rows->getResults());
  }

  llvm::SmallVector<mlir::Operation*> ops;
  llvm::SmallVector<Moves, 3> moves;        // by product
  llvm::SmallVector<mlir::Value> replaced;  // by the fusion's results
  bool takesViews;
};

// A fusion of copies of the parts, which nothing uses yet. The last product must be the last in the
// block.
ir::FusionOp build(Attention& attention, Parts& parts) {
  llvm::SetVector<mlir::Value> inputs;
  llvm::SetVector<mlir::Value> views;  // from users to what they are of
  for (mlir::Operation* part : parts.ops) {
    for (mlir::Value operand : part->getOperands()) {
      if (llvm::is_contained(parts.ops, operand.getDefiningOp())) continue;
      for (; parts.takesViews && part != attention.rows && viewOf(operand);
           operand = viewedBy(operand)) {
        views.insert(operand);
      }
      inputs.insert(operand);
    }
  }
  mlir::OpBuilder builder(parts.ops.back());
  auto fusion =
      ir::FusionOp::create(builder, attention.rows.getLoc(),
                           mlir::ValueRange(parts.replaced).getTypes(), inputs.getArrayRef());
  mlir::Block* block = builder.createBlock(&fusion.getBody());
  mlir::IRMapping mapping;
  for (mlir::Value input : inputs) {
    mapping.map(input, block->addArgument(input.getType(), input.getLoc()));
  }
  std::function<void(mlir::Value)> view = [&](mlir::Value value) {
    mlir::Value source = viewedBy(value);
    if (!mapping.contains(source)) view(source);
    mlir::Operation* op = viewOf(value);
    mlir::IRMapping inner;
    inner.map(op->getOperand(0), mapping.lookup(source));
    mapping.map(value, builder.clone(*op, inner)->getResult(0));
  };
  for (mlir::Value value : views) {
    if (!mapping.contains(value)) view(value);
  }
  for (mlir::Operation* part : parts.ops) builder.clone(*part, mapping);
  llvm::SmallVector<mlir::Value> results;
  if (attention.products.empty()) {
    for (mlir::Value number : parts.replaced) results.push_back(mapping.lookup(number));
  }
  for (auto [product, moves] : llvm::zip(attention.products, parts.moves)) {
    results.push_back(mapping.lookup(product.dot.getResult()));
    for (mlir::Operation* move : moves.ops) {
      mlir::IRMapping inner;
      inner.map(move->getOperand(0), results.back());
      results.back() = builder.clone(*move, inner)->getResult(0);
    }
  }
  ir::YieldOp::create(builder, attention.rows.getLoc(), results);
  return fusion;
}

// Puts the fusion in the place of the parts, which are erased; kernels are noted in `gone`.
void replace(Parts& parts, ir::FusionOp fusion, llvm::DenseSet<mlir::Operation*>& gone) {
  for (auto [old, result] : llvm::zip(parts.replaced, fusion->getResults())) {
    old.replaceAllUsesWith(result);
  }
  auto erase = [&](mlir::Operation* op) {
    if (mlir::isa<ir::FusionOp>(op)) gone.insert(op);
    llvm::SmallVector<mlir::Value> operands(op->getOperands());
    op->erase();
    for (mlir::Value operand : operands) {
      while (operand.use_empty() && viewOf(operand)) {
        mlir::Operation* view = operand.getDefiningOp();
        operand = viewedBy(operand);
        if (mlir::isa<ir::FusionOp>(view)) gone.insert(view);
        view->erase();
      }
    }
  };
  for (Parts::Moves& moves : parts.moves) {
    if (moves.fusion) erase(moves.fusion);
  }
  for (mlir::Operation* part : llvm::reverse(parts.ops)) erase(part);
}

void fuse(Attention attention, llvm::DenseSet<mlir::Operation*>& gone) {
  inlineSplats(attention.rows, gone);
  Parts parts(attention, false);
  replace(parts, build(attention, parts), gone);
}

class FuseAttentionPass : public impl::FuseAttentionPassBase<FuseAttentionPass> {
 public:
  FuseAttentionPass() = default;
  FuseAttentionPass(const TargetModel& target, IsOfLibrary isOfLibrary, bool hasKernels)
      : target_(target), isOfLibrary_(std::move(isOfLibrary)), hasKernels_(hasKernels) {}

  void runOnOperation() override {
    llvm::DenseSet<mlir::Operation*> gone;
    if (isOfLibrary_) {
      shareReshapes(getOperation());
      for (ir::FusionOp last : kernelsOf()) {
        if (!gone.contains(last)) fuseGradientForLibrary(last, gone);
      }
      gone.clear();
      for (ir::FusionOp rows : kernelsOf()) {
        if (!gone.contains(rows)) fuseForLibrary(rows, gone);
      }
    }
    if (!hasKernels_) return;
    // Gradients first: then what the forward pass computes is used by it alone.
    gone.clear();
    const llvm::SmallVector<ir::FusionOp> kernels = kernelsOf();
    for (ir::FusionOp last : kernels) {
      if (!gone.contains(last)) fuseGradient(last, gone);
    }
    llvm::SmallVector<Attention> found;
    for (ir::FusionOp rows : kernelsOf()) {
      std::optional<Attention> attention = attentionAround(rows);
      const bool isReduction = !attention;
      if (isReduction) attention = reductionAround(rows);
      if (!attention) continue;
      const char* why = isReduction ? reductionRefusal(*attention, target_) : nullptr;
      if (!why) why = forwardRefusal(*attention, target_);
      if (!why) why = attentionRefusal(*attention, target_);
      if (!why) {
        found.push_back(*attention);
      } else {
        log(rows, "rows of products", why);
      }
    }
    llvm::DenseSet<mlir::Operation*> taken;
    for (const Attention& attention : found) {
      // One's second product may be another's first.
      llvm::SmallVector<mlir::Operation*> dots{attention.scores[0]};
      for (const RowProduct& product : attention.products) dots.push_back(product.dot);
      if (llvm::any_of(dots, [&](mlir::Operation* dot) { return taken.contains(dot); })) continue;
      taken.insert(dots.begin(), dots.end());
      fuse(attention, gone);
    }
  }

 private:
  llvm::SmallVector<ir::FusionOp> kernelsOf() {
    llvm::SmallVector<ir::FusionOp> kernels;
    getOperation().walk([&](ir::FusionOp fusion) {
      if (!mlir::isa<ir::FusionOp>(fusion->getParentOp())) kernels.push_back(fusion);
    });
    return kernels;
  }

  static void log(ir::FusionOp rows, const char* what, const char* why) {
    if (!logsCompilation()) return;
    std::string where = sourceLocation(rows.getLoc());
    logCompilation(std::string(what) + (where.empty() ? "" : " at " + where) +
                   " are stored: " + why);
  }

  void fuseForLibrary(ir::FusionOp rows, llvm::DenseSet<mlir::Operation*>& gone) {
    std::optional<Attention> attention = attentionAround(rows);
    if (!attention || partsRefusal(*attention, target_)) return;
    // Whoever computes them: they cost less to have than to read.
    inlineSplats(attention->rows, gone);
    Parts parts(*attention, true);
    ir::FusionOp fusion = build(*attention, parts);
    if (isOfLibrary_(fusion)) {
      replace(parts, fusion, gone);
    } else {
      fusion.erase();
    }
  }

  void fuseGradientForLibrary(ir::FusionOp last, llvm::DenseSet<mlir::Operation*>& gone) {
    const char* why;
    std::optional<AttentionGradient> gradient = gradientAround(last, &why);
    if (!gradient) return;
    const llvm::SmallVector<mlir::Operation*> rows(gradient->rows.begin(), gradient->rows.end());
    for (ir::FusionOp one : gradient->rows) inlineSplats(one, gone);
    Attention attention;
    auto refusal = [&](Attention& merged) -> const char* {
      if (const char* no = partsRefusal(merged, target_)) return no;
      // The products that are to be replaced have the users.
      Parts parts(merged, true);
      for (auto [i, product] : llvm::enumerate(gradient->products)) {
        parts.moves[i] = Parts::Moves(product.dot, true);
        parts.replaced[i] = parts.moves[i].result;
      }
      ir::FusionOp trial = build(merged, parts);
      const bool isTaken = isOfLibrary_(trial);
      trial.erase();
      return isTaken ? nullptr : "no library computes it";
    };
    if (rematerialize(*gradient, refusal, &attention)) return;
    gone.insert(rows.begin(), rows.end());
    Parts parts(attention, true);
    replace(parts, build(attention, parts), gone);
  }

  void fuseGradient(ir::FusionOp last, llvm::DenseSet<mlir::Operation*>& gone) {
    const char* why;
    std::optional<AttentionGradient> gradient = gradientAround(last, &why);
    if (gradient) why = recomputationRefusal(*gradient, target_);
    if (gradient && !why) why = fuseGradient(*gradient, gone);
    if (gradient && !why) return;
    if (why) log(last, "weights that a gradient reads", why);
    gradient = gradientOfStoredWeights(last, &why);
    if (gradient) why = gradientRefusal(*gradient, target_);
    if (gradient && !why) why = fuseGradient(*gradient, gone);
    if (why) log(last, "rows of products and their gradients", why);
  }

  // Null, or why it cannot be; then nothing has changed.
  const char* fuseGradient(const AttentionGradient& gradient,
                           llvm::DenseSet<mlir::Operation*>& gone) {
    Attention attention;
    const llvm::SmallVector<mlir::Operation*> rows(gradient.rows.begin(), gradient.rows.end());
    auto refusal = [&](Attention& merged) { return attentionRefusal(merged, target_); };
    if (const char* why = rematerialize(gradient, refusal, &attention)) return why;
    gone.insert(rows.begin(), rows.end());
    fuse(attention, gone);
    return nullptr;
  }

  TargetModel target_;
  IsOfLibrary isOfLibrary_;
  bool hasKernels_ = true;
};

}  // namespace

std::unique_ptr<mlir::Pass> createFuseAttentionPass(const TargetModel& target,
                                                    IsOfLibrary isOfLibrary, bool hasKernels) {
  return std::make_unique<FuseAttentionPass>(target, std::move(isOfLibrary), hasKernels);
}

}  // namespace isthmus

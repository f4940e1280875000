#include "compiler/schedule/attention/attention_gradient.h"

#include "compiler/dialect/dead_code.h"
#include "compiler/dialect/types/array_shape.h"
#include "llvm/ADT/SetVector.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"

namespace isthmus {
namespace {

// Kernels between the first products and the last ones: the forward pass', the gradient's, and what
// fusion left apart of them.
constexpr size_t kMaxRowKernels = 6;

// Finds the kernels on rows behind one, up to the products that they begin with.
class RowKernels {
 public:
  explicit RowKernels(ir::FusionOp last)
      : block_(last->getBlock()), shape_(squeezedShape(last->getResult(0).getType())) {
    rows_.insert(last);
  }

  bool run() {
    for (size_t i = 0; i < rows_.size(); ++i) {
      for (mlir::Value operand : rows_[i]->getOperands()) {
        if (isScores(operand)) {
          scores_.insert(operand.getDefiningOp());
        } else if (leadsToScores(operand)) {
          rows_.insert(operand.getDefiningOp());
        }
      }
      if (rows_.size() > kMaxRowKernels || scores_.size() > kMaxScores) return false;
    }
    return scores_.size() == kMaxScores;
  }

  template <typename Op, typename List>
  static void sorted(const llvm::SetVector<mlir::Operation*>& ops, List& list) {
    llvm::SmallVector<mlir::Operation*> order(ops.begin(), ops.end());
    llvm::sort(order, [](mlir::Operation* a, mlir::Operation* b) { return a->isBeforeInBlock(b); });
    for (mlir::Operation* op : order) list.push_back(mlir::cast<Op>(op));
  }

  const llvm::SetVector<mlir::Operation*>& rows() const { return rows_; }
  const llvm::SetVector<mlir::Operation*>& scores() const { return scores_; }

 private:
  bool isScores(mlir::Value value) const {
    auto dot = value.getDefiningOp<shlo::DotGeneralOp>();
    return dot && dot->getBlock() == block_ && squeezedShape(value.getType()) == shape_;
  }
  // Through few kernels: fewer than there may be.
  bool leadsToScores(mlir::Value value, size_t depth = kMaxRowKernels) {
    auto fusion = value.getDefiningOp<ir::FusionOp>();
    if (!fusion || fusion->getBlock() != block_ || depth == 0) return false;
    // Remembered, since the ways through many kernels that share operands are exponentially many.
    auto [it, isNew] = leads_.try_emplace(fusion, false);
    if (!isNew) return it->second;
    const bool leads = llvm::any_of(fusion->getOperands(), [&](mlir::Value operand) {
      return isScores(operand) || leadsToScores(operand, depth - 1);
    });
    return leads_[fusion] = leads;
  }

  mlir::Block* block_;
  llvm::SmallVector<int64_t> shape_;
  llvm::SetVector<mlir::Operation*> rows_, scores_;
  llvm::DenseMap<mlir::Operation*, bool> leads_;
};

bool isPart(AttentionGradient& gradient, mlir::Operation* op) {
  return llvm::is_contained(gradient.scores, op) || llvm::is_contained(gradient.rows, op) ||
         llvm::any_of(gradient.products, [&](RowProduct& p) { return p.dot == op; });
}

// Operations before `end` that read what the products give: they must come after the new ones.
// Null, or why they cannot.
const char* findReaders(AttentionGradient& gradient, mlir::Operation* end,
                        llvm::SetVector<mlir::Operation*>& readers) {
  mlir::Operation* first = end;
  for (RowProduct& product : gradient.products) {
    if (product.dot->isBeforeInBlock(first)) first = product.dot;
  }
  for (mlir::Operation* op = first; op != end->getNextNode(); op = op->getNextNode()) {
    bool reads = false;
    op->walk([&](mlir::Operation* inner) {
      reads |= llvm::any_of(inner->getOperands(), [&](mlir::Value value) {
        mlir::Operation* from = value.getDefiningOp();
        return from &&
               (readers.contains(from) ||
                llvm::any_of(gradient.products, [&](RowProduct& p) { return p.dot == from; }));
      });
    });
    if (!reads) continue;
    if (isPart(gradient, op)) return "the products need each other's results";
    if (!mlir::isMemoryEffectFree(op)) return "an effect is between the products";
    readers.insert(op);
  }
  return nullptr;
}

// The body of all kernels on rows as one.
ir::FusionOp mergeRows(AttentionGradient& gradient, mlir::OpBuilder& builder,
                       const mlir::IRMapping& outer) {
  llvm::SetVector<mlir::Value> inputs;
  for (ir::FusionOp fusion : gradient.rows) {
    for (mlir::Value operand : fusion->getOperands()) {
      if (!llvm::is_contained(gradient.rows, operand.getDefiningOp())) inputs.insert(operand);
    }
  }
  llvm::SmallVector<mlir::Value> operands;
  for (mlir::Value input : inputs) operands.push_back(outer.lookupOrDefault(input));
  llvm::SmallVector<mlir::Type> types;
  for (mlir::Value weights : gradient.weights) types.push_back(weights.getType());

  mlir::OpBuilder::InsertionGuard guard(builder);
  const mlir::Location loc = gradient.rows.back().getLoc();
  auto merged = ir::FusionOp::create(builder, loc, types, operands);
  mlir::Block* block = builder.createBlock(&merged.getBody());
  mlir::IRMapping values;
  for (mlir::Value input : inputs) {
    values.map(input, block->addArgument(input.getType(), input.getLoc()));
  }
  for (ir::FusionOp fusion : gradient.rows) {
    mlir::Block& body = fusion.getBody().front();
    mlir::IRMapping mapping;
    for (auto [argument, operand] : llvm::zip(body.getArguments(), fusion->getOperands())) {
      mapping.map(argument, values.lookup(operand));
    }
    for (mlir::Operation& op : body.without_terminator()) builder.clone(op, mapping);
    for (auto [result, value] :
         llvm::zip(fusion->getResults(), body.getTerminator()->getOperands())) {
      values.map(result, mapping.lookup(value));
    }
  }
  llvm::SmallVector<mlir::Value> weights;
  for (mlir::Value value : gradient.weights) weights.push_back(values.lookup(value));
  ir::YieldOp::create(builder, loc, weights);
  return merged;
}

// Masks and scales that several of the kernels computed are computed once.
void simplifyRows(ir::FusionOp rows) {
  eraseDead(rows.getBody().front());
  mlir::IRRewriter rewriter(rows.getContext());
  mlir::DominanceInfo dominance;
  mlir::eliminateCommonSubExpressions(rewriter, dominance, rows);
}

// Without the results, and then the operands, that nothing uses.
void prune(ir::FusionOp fusion) {
  if (fusion->use_empty()) return fusion->erase();
  mlir::Block& old = fusion.getBody().front();
  llvm::SmallVector<mlir::Value> results, yielded, operands;
  for (auto [result, value] : llvm::zip(fusion->getResults(), old.getTerminator()->getOperands())) {
    if (result.use_empty()) continue;
    results.push_back(result);
    yielded.push_back(value);
  }
  if (results.size() == fusion->getNumResults()) return;
  old.getTerminator()->setOperands(yielded);
  eraseDead(old);
  for (unsigned i = old.getNumArguments(); i-- > 0;) {
    if (!old.getArgument(i).use_empty()) continue;
    old.eraseArgument(i);
    fusion->eraseOperand(i);
  }
  mlir::OpBuilder builder(fusion);
  llvm::SmallVector<mlir::Type> types;
  for (mlir::Value result : results) types.push_back(result.getType());
  auto pruned = ir::FusionOp::create(builder, fusion.getLoc(), types, fusion->getOperands());
  pruned.getBody().takeBody(fusion.getBody());
  for (auto [from, to] : llvm::zip(results, pruned->getResults())) from.replaceAllUsesWith(to);
  fusion->erase();
}

bool isProductBeside(ir::FusionOp rows, mlir::Operation* user) {
  return mlir::isa<shlo::DotGeneralOp>(user) && user->getBlock() == rows->getBlock();
}

// Whether nothing but products reads what `rows` gives, arrays all of them.
bool isReadByProducts(ir::FusionOp rows) {
  auto isArray = [](mlir::Type type) { return mlir::isa<mlir::RankedTensorType>(type); };
  return !rows->use_empty() && llvm::all_of(rows->getResultTypes(), isArray) &&
         llvm::all_of(rows->getUsers(),
                      [&](mlir::Operation* user) { return isProductBeside(rows, user); });
}

// Adds the products of what the last of the kernels gives, and of what the others give if they are
// the gradient's. Null, or why this cannot be.
const char* addProducts(AttentionGradient& found) {
  ir::FusionOp last = found.rows.back();
  // One more product, the forward pass', may be of what then is a kernel of its own again.
  mlir::Value forward;
  for (ir::FusionOp fusion : found.rows) {
    for (mlir::Value result : fusion->getResults()) {
      for (mlir::Operation* user : result.getUsers()) {
        if (llvm::is_contained(found.rows, user)) continue;
        if (!isProductBeside(last, user)) return "something else reads the weights";
        auto dot = mlir::cast<shlo::DotGeneralOp>(user);
        if (dot.getLhs() == dot.getRhs()) return "something else reads the weights";
        const bool sumsRows = contractsRows(found.scores[0], result, dot);
        if (fusion != last && !sumsRows) {
          if (forward) return "something else reads the weights";
          forward = result;
          continue;
        }
        auto* at = llvm::find(found.weights, result);
        found.products.push_back(
            {dot, nullptr, static_cast<unsigned>(at - found.weights.begin()), sumsRows});
        if (at == found.weights.end()) found.weights.push_back(result);
      }
    }
  }
  if (found.weights.size() > kMaxWeights || found.products.size() > kMaxRowProducts) {
    return "there are too many products";
  }
  for (RowProduct& product : found.products) {
    for (mlir::Value operand : product.dot->getOperands()) {
      if (operand != found.weights[product.weights] && operand.getDefiningOp() &&
          isPart(found, operand.getDefiningOp())) {
        return "a product is of two results";
      }
    }
  }
  return nullptr;
}

}  // namespace

std::optional<AttentionGradient> gradientAround(ir::FusionOp last, const char** why) {
  *why = nullptr;
  if (!isReadByProducts(last)) return std::nullopt;
  RowKernels kernels(last);
  if (!kernels.run()) return std::nullopt;

  AttentionGradient found;
  RowKernels::sorted<shlo::DotGeneralOp>(kernels.scores(), found.scores);
  RowKernels::sorted<ir::FusionOp>(kernels.rows(), found.rows);
  for (shlo::DotGeneralOp scores : found.scores) {
    for (mlir::Operation* user : scores->getUsers()) {
      if (!kernels.rows().contains(user)) *why = "something else reads the scores";
    }
  }
  if (!*why) *why = addProducts(found);
  if (*why) return std::nullopt;
  return found;
}

std::optional<AttentionGradient> gradientOfStoredWeights(ir::FusionOp last, const char** why) {
  *why = nullptr;
  if (!isReadByProducts(last)) return std::nullopt;
  AttentionGradient found;
  found.rows = {last};
  const llvm::SmallVector<int64_t> shape = squeezedShape(last->getResult(0).getType());
  for (mlir::Value operand : last->getOperands()) {
    auto dot = operand.getDefiningOp<shlo::DotGeneralOp>();
    if (dot && dot->hasOneUse() && dot->getBlock() == last->getBlock() &&
        squeezedShape(operand.getType()) == shape) {
      found.scores.push_back(dot);
    }
  }
  if (found.scores.empty()) return std::nullopt;
  *why = addProducts(found);
  // One that sums elements is attention as it is.
  const bool isForward = found.products.size() == 1 && !found.products[0].sumsRows;
  if (*why || isForward) return std::nullopt;
  return found;
}

const char* rematerialize(AttentionGradient gradient,
                          llvm::function_ref<const char*(Attention&)> refusal,
                          Attention* attention) {
  mlir::Operation* end = gradient.rows.back();
  for (RowProduct& product : gradient.products) {
    if (end->isBeforeInBlock(product.dot)) end = product.dot;
  }
  llvm::SetVector<mlir::Operation*> readers;
  if (const char* why = findReaders(gradient, end, readers)) return why;

  mlir::OpBuilder builder(end);
  mlir::IRMapping mapping;
  *attention = Attention();
  for (shlo::DotGeneralOp scores : gradient.scores) {
    attention->scores.push_back(
        mlir::cast<shlo::DotGeneralOp>(builder.clone(*scores.getOperation(), mapping)));
  }
  attention->rows = mergeRows(gradient, builder, mapping);
  simplifyRows(attention->rows);
  mapping.map(gradient.weights, attention->rows->getResults());
  for (RowProduct& product : gradient.products) {
    attention->products.push_back(product);
    attention->products.back().dot =
        mlir::cast<shlo::DotGeneralOp>(builder.clone(*product.dot.getOperation(), mapping));
  }
  // The refusal asks about the merged kernel, which therefore is built beside the old ones and
  // taken away again, from users to operands.
  if (const char* why = refusal(*attention)) {
    for (RowProduct& product : attention->products) product.dot->erase();
    attention->rows->erase();
    for (shlo::DotGeneralOp scores : attention->scores) scores->erase();
    return why;
  }
  mlir::Operation* after = attention->products.back().dot;
  for (mlir::Operation* reader : readers) {
    reader->moveAfter(after);
    after = reader;
  }
  for (auto [from, to] : llvm::zip(gradient.products, attention->products)) {
    from.dot->replaceAllUsesWith(to.dot);
    from.dot->erase();
  }
  // The forward pass may still need some of their results. Users first: what they read is then
  // unused.
  for (ir::FusionOp fusion : llvm::reverse(gradient.rows)) prune(fusion);
  for (shlo::DotGeneralOp scores : gradient.scores) {
    if (scores->use_empty()) scores->erase();
  }
  return nullptr;
}

}  // namespace isthmus

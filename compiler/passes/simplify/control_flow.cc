// while, case and if: what never changes, what nobody reads, what is decided already.
#include "compiler/cost/rematerialization.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/collective_groups.h"
#include "compiler/dialect/facts/trip_count.h"
#include "compiler/passes/simplify/match.h"
#include "compiler/passes/simplify/patterns.h"
#include "llvm/ADT/BitVector.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace isthmus {
namespace {

using mlir::LogicalResult;
using mlir::PatternRewriter;

// Replaces `op` by the contents of `region`, a block without arguments that ends in return.
void inlineRegion(mlir::Operation* op, mlir::Region& region, PatternRewriter& rewriter) {
  mlir::Block& block = region.front();
  mlir::Operation* terminator = block.getTerminator();
  llvm::SmallVector<mlir::Value> results(terminator->getOperands());
  rewriter.eraseOp(terminator);
  rewriter.inlineBlockBefore(&block, op);
  rewriter.replaceOp(op, results);
}

LogicalResult decideCase(shlo::CaseOp op, PatternRewriter& rewriter) {
  int64_t branches = static_cast<int64_t>(op.getBranches().size());
  int64_t index = branches - 1;
  if (branches > 1) {
    auto known = constantIntegers(op.getIndex());
    if (!known || known->size() != 1) return mlir::failure();
    // An index out of range takes the last branch.
    if ((*known)[0] >= 0 && (*known)[0] < branches) index = (*known)[0];
  }
  inlineRegion(op, op.getBranches()[index], rewriter);
  return mlir::success();
}

LogicalResult decideIf(shlo::IfOp op, PatternRewriter& rewriter) {
  if (isSplatOf(op.getPred(), 1)) {
    inlineRegion(op, op.getTrueBranch(), rewriter);
    return mlir::success();
  }
  if (isSplatOf(op.getPred(), 0)) {
    inlineRegion(op, op.getFalseBranch(), rewriter);
    return mlir::success();
  }
  return mlir::failure();
}

// Rebuilds `op` without the carried values set in `drop`. Their block arguments and yielded values
// must have no other uses; uses of their results have been replaced.
void dropCarried(shlo::WhileOp op, const llvm::BitVector& drop, PatternRewriter& rewriter) {
  llvm::SmallVector<mlir::Value> inits;
  llvm::SmallVector<mlir::Type> types;
  for (unsigned i = 0; i < drop.size(); ++i) {
    if (drop.test(i)) continue;
    inits.push_back(op.getOperands()[i]);
    types.push_back(op.getResultTypes()[i]);
  }
  mlir::Operation* yield = op.getBody().front().getTerminator();
  rewriter.modifyOpInPlace(yield, [&] { yield->eraseOperands(drop); });
  op.getCond().front().eraseArguments(drop);
  op.getBody().front().eraseArguments(drop);
  mlir::OperationState state(op.getLoc(), shlo::WhileOp::getOperationName());
  state.addOperands(inits);
  state.addTypes(types);
  state.addAttributes(llvm::to_vector(op->getDiscardableAttrs()));
  state.addRegion();
  state.addRegion();
  mlir::Operation* replacement = rewriter.create(state);
  rewriter.inlineRegionBefore(op.getCond(), replacement->getRegion(0),
                              replacement->getRegion(0).end());
  rewriter.inlineRegionBefore(op.getBody(), replacement->getRegion(1),
                              replacement->getRegion(1).end());
  llvm::SmallVector<mlir::Value> results;
  unsigned next = 0;
  for (unsigned i = 0; i < drop.size(); ++i) {
    // A dropped result has no uses; any value of its type will do.
    results.push_back(drop.test(i) ? op.getOperands()[i] : replacement->getResult(next++));
  }
  rewriter.replaceOp(op, results);
}

// A carried value that the body hands on as it came is the initial value everywhere.
struct HoistInvariantCarried : mlir::OpRewritePattern<shlo::WhileOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(shlo::WhileOp op, PatternRewriter& rewriter) const override {
    mlir::Operation* yield = op.getBody().front().getTerminator();
    llvm::BitVector invariant(op->getNumResults());
    for (unsigned i = 0; i < op->getNumResults(); ++i) {
      mlir::Value argument = op.getBody().front().getArgument(i);
      if (yield->getOperand(i) != argument) continue;
      if (argument.getType() != op.getOperands()[i].getType()) continue;
      invariant.set(i);
    }
    if (invariant.none()) return mlir::failure();
    for (unsigned i : invariant.set_bits()) {
      mlir::Value init = op.getOperands()[i];
      rewriter.replaceAllUsesWith(op.getBody().front().getArgument(i), init);
      rewriter.replaceAllUsesWith(op.getCond().front().getArgument(i), init);
      rewriter.replaceAllUsesWith(op.getResult(i), init);
    }
    dropCarried(op, invariant, rewriter);
    return mlir::success();
  }
};

// A carried value that decides nothing, is read by nobody after the loop and feeds only itself.
struct DropUnreadCarried : mlir::OpRewritePattern<shlo::WhileOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(shlo::WhileOp op, PatternRewriter& rewriter) const override {
    unsigned count = op->getNumResults();
    mlir::Block& body = op.getBody().front();
    mlir::Operation* yield = body.getTerminator();
    llvm::BitVector needed(count);
    llvm::SmallVector<mlir::Value> work;
    llvm::DenseSet<mlir::Value> seen;
    auto need = [&](unsigned i) {
      if (needed.test(i)) return;
      needed.set(i);
      work.push_back(yield->getOperand(i));
    };
    for (unsigned i = 0; i < count; ++i) {
      if (!op.getResult(i).use_empty() || !op.getCond().front().getArgument(i).use_empty()) need(i);
    }
    for (mlir::Operation& nested : body.without_terminator()) {
      if (!mlir::isMemoryEffectFree(&nested)) addOperands(&nested, work);
    }
    while (!work.empty()) {
      mlir::Value value = work.pop_back_val();
      if (!seen.insert(value).second) continue;
      if (auto argument = llvm::dyn_cast<mlir::BlockArgument>(value)) {
        if (argument.getOwner() == &body) need(argument.getArgNumber());
        continue;
      }
      // What a nested block defines is reached through the operation that holds the block.
      mlir::Operation* producer = body.findAncestorOpInBlock(*value.getDefiningOp());
      if (producer) addOperands(producer, work);
    }
    needed.flip();
    if (needed.none()) return mlir::failure();
    for (unsigned i : needed.set_bits()) {
      // Cut the cycle; what computed the value dies.
      rewriter.modifyOpInPlace(yield, [&] { yield->setOperand(i, op.getOperands()[i]); });
    }
    // A reversed range cannot be erased from as one walks: its iterators point at the operation
    // before.
    llvm::SmallVector<mlir::Operation*> all;
    for (mlir::Operation& nested : body.without_terminator()) all.push_back(&nested);
    for (mlir::Operation* nested : llvm::reverse(all)) {
      if (mlir::isOpTriviallyDead(nested)) rewriter.eraseOp(nested);
    }
    for (unsigned i = 0; i < count; ++i) {
      if (!body.getArgument(i).use_empty()) needed.reset(i);
    }
    if (needed.none()) return mlir::failure();
    dropCarried(op, needed, rewriter);
    return mlir::success();
  }

  static void addOperands(mlir::Operation* op, llvm::SmallVectorImpl<mlir::Value>& work) {
    op->walk([&](mlir::Operation* nested) {
      work.append(nested->operand_begin(), nested->operand_end());
    });
  }
};

// Two carried values that begin and go on alike, as the counters that JAX's fori_loop and its scan
// have each, are one.
struct MergeEqualCarried : mlir::OpRewritePattern<shlo::WhileOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(shlo::WhileOp op, PatternRewriter& rewriter) const override {
    const unsigned count = op->getNumResults();
    llvm::BitVector merged(count);
    for (unsigned second = 1; second < count; ++second) {
      for (unsigned first = 0; first < second && !merged.test(second); ++first) {
        if (merged.test(first) || !areEqual(op, first, second)) continue;
        for (mlir::Region* region : {&op.getCond(), &op.getBody()}) {
          rewriter.replaceAllUsesWith(region->getArgument(second), region->getArgument(first));
        }
        rewriter.replaceAllUsesWith(op.getResult(second), op.getResult(first));
        merged.set(second);
      }
    }
    if (merged.none()) return mlir::failure();
    dropCarried(op, merged, rewriter);
    return mlir::success();
  }

 private:
  // Of what computes the next values: more is hardly computed twice, and has other operations in
  // common.
  static constexpr int kMaxOperations = 8;

  static bool areEqual(shlo::WhileOp op, unsigned first, unsigned second) {
    mlir::Value init = op.getOperands()[first], other = op.getOperands()[second];
    mlir::Block& body = op.getBody().front();
    if (init.getType() != other.getType() ||
        body.getArgument(first).getType() != body.getArgument(second).getType()) {
      return false;
    }
    mlir::Attribute begin, otherBegin;
    const bool beginAlike =
        init == other ||
        (mlir::matchPattern(init, mlir::m_Constant(&begin)) &&
         mlir::matchPattern(other, mlir::m_Constant(&otherBegin)) && begin == otherBegin);
    if (!beginAlike) return false;
    mlir::Operation* yield = body.getTerminator();
    int operations = 0;
    return goOnAlike(yield->getOperand(first), yield->getOperand(second), body.getArgument(first),
                     body.getArgument(second), operations);
  }

  // Whether `a` is what `b` is, if the two arguments are equal.
  static bool goOnAlike(mlir::Value a, mlir::Value b, mlir::Value first, mlir::Value second,
                        int& operations) {
    auto isEither = [&](mlir::Value value) { return value == first || value == second; };
    if (a == b || (isEither(a) && isEither(b))) return true;
    mlir::Operation *of = a.getDefiningOp(), *other = b.getDefiningOp();
    if (!of || !other || ++operations > kMaxOperations) return false;
    if (of->getName() != other->getName() || of->getNumRegions() > 0 ||
        !mlir::isMemoryEffectFree(of) || of->getAttrDictionary() != other->getAttrDictionary() ||
        of->getNumOperands() != other->getNumOperands() || a.getType() != b.getType() ||
        of->getNumResults() > 1) {
      return false;
    }
    return llvm::all_of(llvm::zip(of->getOperands(), other->getOperands()), [&](auto pair) {
      return goOnAlike(std::get<0>(pair), std::get<1>(pair), first, second, operations);
    });
  }
};

// Whether devices that meet in the body of `loop` would meet before it, too: all of them come by,
// or they have as many rounds each. Others may have none, and not even come by.
bool isReachedAlike(shlo::WhileOp loop) {
  return llvm::isa<mlir::func::FuncOp>(loop->getParentOp()) || tripCount(loop).value_or(0) > 0;
}

// Work of a loop's body that does not depend on the iteration is done once before the loop. Free
// operations stay: they cost nothing in the kernels that use them, but memory outside.
struct HoistInvariantWork : mlir::OpRewritePattern<shlo::WhileOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(shlo::WhileOp op, PatternRewriter& rewriter) const override {
    mlir::Block& body = op.getBody().front();
    llvm::DenseSet<mlir::Operation*> invariant;
    llvm::SmallVector<mlir::Operation*> moves;
    for (mlir::Operation& nested : body.without_terminator()) {
      const bool mayMove =
          isCollective(&nested) ? isReachedAlike(op) : mlir::isMemoryEffectFree(&nested);
      if (!mayMove || nested.getNumRegions() > 1 || llvm::isa<shlo::WhileOp>(nested)) continue;
      bool outside = true;
      nested.walk([&](mlir::Operation* inner) {
        for (mlir::Value operand : inner->getOperands()) {
          if (nested.isAncestor(operand.getParentBlock()->getParentOp()) &&
              operand.getParentRegion() != nested.getParentRegion()) {
            continue;  // defined inside `nested`
          }
          if (!op.getBody().isAncestor(operand.getParentRegion())) continue;
          mlir::Operation* producer = operand.getDefiningOp();
          outside &= producer && invariant.contains(producer);
        }
      });
      if (!outside) continue;
      invariant.insert(&nested);
      if (!isRematerializable(&nested)) moves.push_back(&nested);
    }
    if (moves.empty()) return mlir::failure();
    mlir::IRMapping mapping;
    for (mlir::Operation* nested : moves) {
      copyFreeOperands(nested, body, op, mapping, rewriter);
      // Moved, not cloned and erased: the mapping must never hold a value whose memory is free for
      // the next operation to take.
      rewriter.modifyOpInPlace(nested, [&] {
        nested->walk([&](mlir::Operation* inner) {
          for (mlir::OpOperand& operand : inner->getOpOperands()) {
            operand.set(mapping.lookupOrDefault(operand.get()));
          }
        });
      });
      rewriter.moveOpBefore(nested, op);
    }
    return mlir::success();
  }

  static void copyFreeOperands(mlir::Operation* nested, mlir::Block& body, shlo::WhileOp loop,
                               mlir::IRMapping& mapping, PatternRewriter& rewriter) {
    nested->walk([&](mlir::Operation* inner) {
      for (mlir::Value operand : inner->getOperands()) {
        mlir::Operation* producer = operand.getDefiningOp();
        if (!producer || producer->getBlock() != &body || mapping.contains(operand)) continue;
        copyFreeOperands(producer, body, loop, mapping, rewriter);
        rewriter.setInsertionPoint(loop);
        rewriter.clone(*producer, mapping);
      }
    });
  }
};

}  // namespace

void addControlFlowPatterns(mlir::RewritePatternSet& patterns) {
  patterns.add(decideCase);
  patterns.add(decideIf);
  patterns.add<HoistInvariantCarried, MergeEqualCarried>(patterns.getContext());
}

void addWholeLoopPatterns(mlir::RewritePatternSet& patterns) {
  patterns.add<DropUnreadCarried, HoistInvariantWork>(patterns.getContext());
}

}  // namespace isthmus

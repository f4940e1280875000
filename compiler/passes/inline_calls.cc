// The inline-calls pass: one function holds the whole program.
#include "compiler/dialect/chlo.h"
#include "compiler/dialect/diagnostics/diagnostics.h"
#include "compiler/dialect/diagnostics/source_location.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/passes/legalize/scan.h"
#include "compiler/passes/passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TypeUtilities.h"

namespace isthmus {

#define GEN_PASS_DEF_INLINECALLSPASS
#include "compiler/passes/passes.h.inc"

namespace {

// A few lines of calls that call twice what calls twice … would fill any memory.
constexpr int64_t kMaxOperations = 4'000'000;
// Calls nest as deep as a program likes, our stack does not.
constexpr int kMaxCallDepth = 500;

// Whether backends have a kernel for the composite itself. Where many devices share the program,
// its decomposition can be partitioned and it cannot.
bool isNative(shlo::CompositeOp op) {
  auto module = op->getParentOfType<mlir::ModuleOp>();
  if (auto partitions = module->getAttrOfType<mlir::IntegerAttr>("mhlo.num_partitions")) {
    if (partitions.getInt() > 1) return false;
  }
  if (op.getName() != "chlo.top_k" || op->getNumOperands() != 1 || op->getNumResults() != 2) {
    return false;
  }
  auto operand = llvm::dyn_cast<mlir::RankedTensorType>(op->getOperand(0).getType());
  auto values = llvm::dyn_cast<mlir::RankedTensorType>(op->getResult(0).getType());
  auto indices = llvm::dyn_cast<mlir::RankedTensorType>(op->getResult(1).getType());
  if (!operand || !values || !indices || !operand.hasStaticShape() || operand.getRank() == 0 ||
      !values.hasStaticShape() || values.getElementType() != operand.getElementType() ||
      values.getRank() != operand.getRank() || indices.getShape() != values.getShape()) {
    return false;
  }
  const int64_t last = operand.getRank() - 1;
  mlir::Type element = operand.getElementType();
  const bool hasOrder = element.isF32() || element.isF64() || element.isF16() || element.isBF16() ||
                        element.isInteger(8) || element.isInteger(16) || element.isInteger(32) ||
                        element.isInteger(64);
  return hasOrder && indices.getElementType().isSignlessInteger(32) &&
         operand.getShape().drop_back() == values.getShape().drop_back() &&
         values.getDimSize(last) <= operand.getDimSize(last) &&
         operand.getDimSize(last) <= INT32_MAX;
}

// Whether code generation computes the function that a composite stands for better than its
// decomposition does. erfc of f32 is within 7 ulp, where the decomposition's tail is off by 60. Not
// erf, whose decomposition, a quotient of polynomials, is faster than what we have.
bool isGenerated(shlo::CompositeOp op) {
  const OpFacts* facts = findOpFacts(op.getName());
  if (!facts || facts->code != OpCode::Chlo_ErfcOp || op->getNumResults() != 1) return false;
  mlir::Type type = op->getResult(0).getType();
  mlir::Type element = mlir::getElementTypeOrSelf(type);
  return op->getNumOperands() == 1 && op->getOperand(0).getType() == type &&
         (element.isF32() || element.isF16() || element.isBF16()) &&
         llvm::cast<mlir::ShapedType>(type).hasStaticShape();
}

void replaceByFunction(shlo::CompositeOp op) {
  mlir::OpBuilder builder(op);
  mlir::OperationState state(op.getLoc(), op.getName());
  state.addOperands(op->getOperands());
  state.addTypes(op->getResultTypes());
  op->replaceAllUsesWith(builder.create(state)->getResults());
  op->erase();
}

struct InlineCallsPass : impl::InlineCallsPassBase<InlineCallsPass> {
  using InlineCallsPassBase::InlineCallsPassBase;

  void getDependentDialects(mlir::DialectRegistry& registry) const override {
    registry.insert<chlo::ChloDialect>();
  }

  void runOnOperation() override {
    mlir::ModuleOp module = getOperation();
    mlir::SymbolTable symbols(module);
    llvm::SmallVector<mlir::func::FuncOp> functions(module.getOps<mlir::func::FuncOp>());
    for (mlir::func::FuncOp function : functions) {
      if (mlir::failed(inlineInto(function, symbols, 0))) return signalPassFailure();
    }
    eraseUnreachable(module, symbols);
  }

  // What composites still name stays.
  static void eraseUnreachable(mlir::ModuleOp module, mlir::SymbolTable& symbols) {
    llvm::SmallVector<mlir::Operation*> pending;
    llvm::DenseSet<mlir::Operation*> reached;
    for (mlir::Operation& op : *module.getBody()) {
      auto function = llvm::dyn_cast<mlir::func::FuncOp>(op);
      if (!function || !function.isPrivate()) pending.push_back(&op);
    }
    while (!pending.empty()) {
      mlir::Operation* op = pending.pop_back_val();
      auto uses = mlir::SymbolTable::getSymbolUses(op);
      if (!uses) continue;
      for (const mlir::SymbolTable::SymbolUse& use : *uses) {
        mlir::Operation* used = symbols.lookup(use.getSymbolRef().getRootReference());
        if (used && reached.insert(used).second) pending.push_back(used);
      }
    }
    for (auto function : llvm::make_early_inc_range(module.getOps<mlir::func::FuncOp>())) {
      if (function.isPrivate() && !reached.contains(function)) function.erase();
    }
  }

  bool hasKernel(shlo::CompositeOp composite) const {
    if (!isNative(composite)) return false;
    auto values = llvm::cast<mlir::RankedTensorType>(composite->getResult(0).getType());
    return values.getShape().back() <= largestTopK && values.getElementTypeBitWidth() <= widestTopK;
  }

  enum class Mark { kOpen, kDone };

  mlir::LogicalResult inlineInto(mlir::func::FuncOp function, mlir::SymbolTable& symbols,
                                 int depth) {
    auto [entry, isNew] = marks_.try_emplace(function, Mark::kOpen);
    if (!isNew) {
      if (entry->second == Mark::kDone) return mlir::success();
      return errorOf(function) << " calls itself: recursion cannot be compiled";
    }
    if (depth > kMaxCallDepth) {
      return errorOf(function) << " is called deeper than " << kMaxCallDepth << " calls";
    }
    int64_t operations = 0;
    llvm::SmallVector<mlir::Operation*> calls;
    function.walk([&](mlir::Operation* op) {
      ++operations;
      auto composite = llvm::dyn_cast<shlo::CompositeOp>(op);
      if (composite ? !hasKernel(composite) && !isScanComposite(composite)
                    : llvm::isa<mlir::func::CallOp>(op))
        calls.push_back(op);
    });
    for (mlir::Operation* call : calls) {
      if (auto composite = llvm::dyn_cast<shlo::CompositeOp>(call);
          composite && isGenerated(composite)) {
        replaceByFunction(composite);
        continue;
      }
      mlir::FlatSymbolRefAttr name = calleeOf(call);
      auto callee = symbols.lookup<mlir::func::FuncOp>(name.getValue());
      if (!callee || callee.isExternal() || callee.getBody().getBlocks().size() != 1) {
        return emitInvalid(call, "calls @") << name.getValue() << ", which has no body here";
      }
      if (callee.getArgumentTypes() != call->getOperandTypes() ||
          callee.getResultTypes() != call->getResultTypes()) {
        return emitInvalid(call, "calls @")
               << name.getValue() << " of type " << callee.getFunctionType()
               << " with other operand or result types";
      }
      if (mlir::failed(inlineInto(callee, symbols, depth + 1))) return mlir::failure();
      operations += sizes_[callee];
      if (operations > kMaxOperations) {
        return errorOf(function) << " has more than " << kMaxOperations
                                 << " operations after inlining";
      }
      inlineCall(call, callee);
    }
    sizes_[function] = operations;
    marks_[function] = Mark::kDone;
    return mlir::success();
  }

  // (An operation's own error would quote the whole function.)
  static mlir::InFlightDiagnostic errorOf(mlir::func::FuncOp function) {
    return mlir::emitError(function.getLoc(), "function @") << function.getName();
  }

  static mlir::FlatSymbolRefAttr calleeOf(mlir::Operation* call) {
    if (auto composite = llvm::dyn_cast<shlo::CompositeOp>(call)) {
      return composite.getDecompositionAttr();
    }
    return llvm::cast<mlir::func::CallOp>(call).getCalleeAttr();
  }

  static void inlineCall(mlir::Operation* call, mlir::func::FuncOp callee) {
    mlir::OpBuilder builder(call);
    mlir::IRMapping mapping;
    mapping.map(callee.getArguments(), call->getOperands());
    llvm::DenseMap<mlir::Location, mlir::Location> locations;
    for (mlir::Operation& op : callee.getBody().front().without_terminator()) {
      builder.clone(op, mapping)->walk([&](mlir::Operation* inner) {
        auto known = locations.find(inner->getLoc());
        if (known == locations.end()) {
          mlir::Location place = placeOf(inner->getLoc(), call->getLoc());
          known = locations.try_emplace(inner->getLoc(), place).first;
        }
        inner->setLoc(known->second);
      });
    }
    mlir::Operation* terminator = callee.getBody().front().getTerminator();
    for (auto [result, returned] : llvm::zip(call->getResults(), terminator->getOperands())) {
      result.replaceAllUsesWith(mapping.lookupOrDefault(returned));
    }
    call->erase();
  }

  // Functions that a framework makes for many callers have no place in the user's program: what is
  // in them is where the call is.
  static mlir::Location placeOf(mlir::Location callee, mlir::Location caller) {
    if (!sourcePosition(callee).empty() || sourcePosition(caller).empty()) return callee;
    return mlir::CallSiteLoc::get(callee, caller);
  }

  llvm::DenseMap<mlir::func::FuncOp, Mark> marks_;
  llvm::DenseMap<mlir::func::FuncOp, int64_t> sizes_;
};

}  // namespace
}  // namespace isthmus

// The expand-collectives pass: all_reduce and reduce_scatter that backends do not compute by
// themselves, as exchanges and arithmetic.
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/collective_groups.h"
#include "compiler/dialect/facts/combiner.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/passes/legalize/array_builder.h"
#include "compiler/passes/passes.h"

namespace isthmus {

#define GEN_PASS_DEF_EXPANDCOLLECTIVESPASS
#include "compiler/passes/passes.h.inc"

namespace {

using mlir::Value;
using Dims = llvm::SmallVector<int64_t>;

// More members would make too long a program.
constexpr int64_t kMaxMembers = 1024;

// Whether backends combine arrays of `type` with this computation by themselves.
bool isBuiltIn(mlir::Region& computation, mlir::Type type) {
  mlir::Operation* op = soleOperation(computation);
  mlir::Type element = mlir::getElementTypeOrSelf(type);
  if (!op || mlir::getElementTypeOrSelf(op->getResult(0)) != element) return false;
  if (llvm::isa<shlo::AddOp, shlo::MulOp>(op)) return true;
  return llvm::isa<shlo::MinOp, shlo::MaxOp, shlo::AndOp, shlo::OrOp>(op) &&
         !llvm::isa<mlir::ComplexType>(element);
}

struct ExpandCollectivesPass : impl::ExpandCollectivesPassBase<ExpandCollectivesPass> {
  using ExpandCollectivesPassBase::ExpandCollectivesPassBase;

  void runOnOperation() override {
    llvm::SmallVector<mlir::Operation*> found;
    getOperation().walk([&](mlir::Operation* op) {
      if (llvm::isa<shlo::AllReduceOp, shlo::ReduceScatterOp>(op)) found.push_back(op);
    });
    for (mlir::Operation* op : found) {
      if (auto reduce = llvm::dyn_cast<shlo::AllReduceOp>(op)) {
        expand(reduce);
      } else {
        expand(llvm::cast<shlo::ReduceScatterOp>(op));
      }
    }
  }

  // How many processes combine their operands; 0 if groups differ or nobody knows.
  template <typename Op>
  int64_t groupSize(Op op) {
    auto groups = llvm::dyn_cast_or_null<mlir::DenseIntElementsAttr>(op.getReplicaGroups());
    if (!groups || groups.getType().getRank() != 2) return 0;
    if (llvm::any_of(groups.template getValues<llvm::APInt>(),
                     [](const llvm::APInt& id) { return id.isNegative(); })) {
      return 0;
    }
    int64_t listed =
        groups.getNumElements() == 0 ? int64_t{numReplicas} : groups.getType().getDimSize(1);
    bool ofAllPartitions =
        hasChannel(op) && (!op.getUseGlobalDeviceIds() || groups.getNumElements() == 0);
    return listed * (ofAllPartitions ? int64_t{numPartitions} : 1);
  }

  template <typename Op>
  void expand(Op op) {
    mlir::Region& computation = op.getComputation();
    bool isBackends =
        llvm::all_of(llvm::zip(op->getOperandTypes(), op->getResultTypes()), [&](auto types) {
          auto [from, to] = types;
          return mlir::getElementTypeOrSelf(from) == mlir::getElementTypeOrSelf(to) &&
                 isBuiltIn(computation, from);
        });
    int64_t members = groupSize(op);
    if (isBackends || members < 1 || members > kMaxMembers ||
        !ArrayBuilder::isElementwise(computation.front())) {
      return;
    }
    mlir::OpBuilder builder(op);
    ArrayBuilder b(op, builder);
    llvm::SmallVector<Value> results;
    for (auto [operand, result] : llvm::zip(op->getOperands(), op->getResults())) {
      Value all = combine(op, operand, members, b);
      if constexpr (std::is_same_v<Op, shlo::ReduceScatterOp>) all = ownPart(op, all, members, b);
      results.push_back(b.convert(all, mlir::getElementTypeOrSelf(result.getType())));
    }
    op->replaceAllUsesWith(results);
    op->erase();
  }

  // `operand` of all members, combined in the order of the group.
  template <typename Op>
  Value combine(Op op, Value operand, int64_t members, ArrayBuilder& b) {
    mlir::Block& body = op.getComputation().front();
    mlir::Type element = mlir::getElementTypeOrSelf(body.getArgument(0).getType());
    operand = b.convert(operand, element);
    llvm::ArrayRef<int64_t> shape = tensorTypeOf(operand).getShape();
    Dims one{1}, many{members};
    llvm::append_range(one, shape);
    llvm::append_range(many, shape);
    auto gathered = shlo::AllGatherOp::create(
        b.builder(), b.location(), mlir::TypeRange{mlir::RankedTensorType::get(many, element)},
        mlir::ValueRange{b.reshape(operand, one)}, uint64_t{0}, op.getReplicaGroups(),
        op.getChannelHandleAttr(), op.getUseGlobalDeviceIds());
    Value total;
    for (int64_t member = 0; member < members; ++member) {
      Dims start(many.size(), 0), limit = many;
      start[0] = member;
      limit[0] = member + 1;
      Value part = b.reshape(b.slice(gathered->getResult(0), start, limit), shape);
      total = total ? b.apply(body, {total, part}) : part;
    }
    return total;
  }

  // The part of `all` along the scattered dimension that is this process's.
  Value ownPart(shlo::ReduceScatterOp op, Value all, int64_t members, ArrayBuilder& b) {
    // Scattering 0, 1, 2, … tells each process its place in the group.
    auto places = mlir::RankedTensorType::get({members}, b.builder().getI32Type());
    auto place = mlir::RankedTensorType::get({1}, b.builder().getI32Type());
    auto scalar = mlir::RankedTensorType::get({}, b.builder().getI32Type());
    auto scatter = shlo::ReduceScatterOp::create(
        b.builder(), b.location(), place, b.iota(places, 0), uint64_t{0}, op.getReplicaGroups(),
        op.getChannelHandleAttr(), op.getUseGlobalDeviceIds());
    fillWith<shlo::MaxOp>(b.builder(), scatter.getComputation(), b.builder().getI32Type(),
                          b.location());
    auto dimension = static_cast<int64_t>(op.getScatterDimension());
    Dims shape(tensorTypeOf(all).getShape());
    shape[dimension] /= members;
    Value index = b.reshape(scatter.getResult(), {});
    llvm::SmallVector<Value> starts(shape.size(), b.zeros(scalar));
    starts[dimension] = b.mul(index, b.like(static_cast<double>(shape[dimension]), index));
    return shlo::DynamicSliceOp::create(
        b.builder(), b.location(),
        mlir::RankedTensorType::get(shape, mlir::getElementTypeOrSelf(all.getType())), all, starts,
        shape);
  }
};

}  // namespace
}  // namespace isthmus

// A merge sort in global memory. Each work-item sorts some runs by insertion; then, in rounds,
// pairs of runs are merged from the results to scratch memory or back. In a round each work-item
// makes a stretch of what is merged, whose beginnings in both runs it finds by bisection, so that
// rounds of few and long runs keep as many work-items busy as those of many and short ones.
#include <algorithm>

#include "compiler/codegen/evaluator.h"
#include "compiler/codegen/simt/data_kernels.h"
#include "compiler/codegen/simt/kernel_writer.h"
#include "compiler/codegen/simt/sort/sort_writer.h"
#include "compiler/schedule/data/data_scheduler.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace isthmus::codegen {
namespace {

// i1 less(x0, y0, x1, y1, …): what the comparator gives of elements in registers.
StatusOr<llvm::Function*> emitLess(mlir::Region& comparator, const SortArrays& arrays,
                                   llvm::Module& module, const WorkItemForm& form,
                                   const std::string& name) {
  // What evaluators belong to; there is nothing in it.
  mlir::OpBuilder builder(comparator.getContext());
  auto fusion =
      ir::FusionOp::create(builder, comparator.getLoc(), mlir::TypeRange{}, mlir::ValueRange{});
  builder.setInsertionPointToEnd(&fusion.getBody().emplaceBlock());
  ir::YieldOp::create(builder, comparator.getLoc(), mlir::ValueRange{});
  llvm::LLVMContext& context = module.getContext();
  std::vector<llvm::Type*> types;
  for (const ElementKind& kind : arrays.kinds) {
    types.insert(types.end(), 2 * kind.parts(), kind.computeType(context));
  }
  auto* function =
      llvm::Function::Create(llvm::FunctionType::get(llvm::Type::getInt1Ty(context), types, false),
                             llvm::Function::InternalLinkage, name, &module);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  Status status;
  {
    LoopBuilder loops(function, form.target);
    Evaluator evaluator(loops, fusion, nullptr, {});
    llvm::SmallVector<Val, 8> arguments;
    unsigned next = 0;
    for (const ElementKind& kind : arrays.kinds) {
      for (int side = 0; side < 2; ++side) {
        Val value{function->getArg(next++), nullptr, loops.entry()};
        if (kind.isComplex()) value.im = function->getArg(next++);
        arguments.push_back(value);
      }
    }
    llvm::SmallVector<Val, 2> results = evaluator.evaluateRegion(comparator, arguments);
    status = evaluator.status();
    if (status.ok() && results.size() != 1) status = internalError("a comparator without result");
    if (status.ok()) loops.at(loops.entry()).CreateRet(results[0].re);
  }
  fusion->destroy();
  if (!status.ok()) {
    function->eraseFromParent();
    return status;
  }
  return function;
}

Status inlineCalls(llvm::Function* function) {
  for (llvm::User* user : llvm::make_early_inc_range(function->users())) {
    llvm::InlineFunctionInfo info;
    if (!llvm::InlineFunction(*llvm::cast<llvm::CallInst>(user), info).isSuccess()) {
      return internalError("a comparator cannot be inlined");
    }
  }
  function->eraseFromParent();
  return {};
}

class SortKernel : public SortWriter {
 public:
  using Storage = SortStorage;

  // Elements of a run that is sorted by insertion, a power of two, and of what is merged for each
  // work-item.
  SortKernel(const SortArrays& arrays, const SortStage& stage, KernelWriter& writer)
      : SortWriter(arrays, writer), run_(stage.run), stretch_(stage.grain) {
    auto [outer, inner] = w_.divide(w_.item(1), a_.inner);
    row_ = w_.plus(w_.times(outer, a_.length * a_.inner), inner);
  }

  void sortRuns(Storage to) {
    llvm::Value* first = w_.times(w_.item(0), stretch_);
    whenFirst([&] { b_.CreateStore(w_.i64(run_), runLength(0)); });
    w_.loop(std::min(stretch_, a_.length), {}, [&](llvm::Value* i, const Values&) {
      llvm::Value* at = w_.plus(first, i);
      w_.branch(b_.CreateICmpULT(at, w_.i64(a_.length)), [&] { insert(at, to); });
      return Values();
    });
  }

  // From `from` to `to`, in rounds of this parity.
  void mergeRuns(Storage from, Storage to, int64_t parity) {
    llvm::Value* run = b_.CreateLoad(b_.getInt64Ty(), runLength(parity));
    llvm::Value* two = b_.CreateShl(run, 1);
    whenFirst([&] { b_.CreateStore(two, runLength(1 - parity)); });
    llvm::Value* begin = w_.times(w_.item(0), stretch_);
    llvm::Value* end = least(w_.plus(begin, w_.i64(stretch_)), w_.i64(a_.length));
    // A stretch covers several pairs of short runs.
    repeatWhile(
        {begin}, [&](const Values& at) { return b_.CreateICmpULT(at[0], end); },
        [&](const Values& at) -> Values {
          llvm::Value* low = b_.CreateAnd(at[0], b_.CreateNeg(two));
          llvm::Value* middle = least(w_.plus(low, run), w_.i64(a_.length));
          llvm::Value* high = least(w_.plus(low, two), w_.i64(a_.length));
          llvm::Value* stop = least(end, high);
          mergePair(from, to, low, middle, high, at[0], stop);
          return {stop};
        });
  }

 private:
  void whenFirst(const std::function<void()>& then) {
    llvm::Value* isFirst = b_.CreateAnd(b_.CreateICmpEQ(w_.item(0), w_.i64(0)),
                                        b_.CreateICmpEQ(w_.item(1), w_.i64(0)));
    w_.branch(isFirst, then);
  }
  // Where element `i` of this row is.
  llvm::Value* indexOf(llvm::Value* i) { return w_.plus(row_, w_.times(i, a_.inner)); }

  // Whether the one element is less than the other.
  llvm::Value* less(Storage storageX, llvm::Value* x, Storage storageY, llvm::Value* y) {
    auto row = [&](Storage storage, llvm::Value* i, unsigned side) {
      Row values(a_.kinds.size());
      for (size_t k = 0; k < values.size(); ++k) {
        if (!a_.isCompared[2 * k + side]) continue;
        values[k] = w_.load(base(storage, k), indexOf(i), a_.kinds[k]);
      }
      return values;
    };
    Row left = row(storageX, x, 0);
    return SortWriter::less(left, row(storageY, y, 1));
  }

  // Bits stay as they are, also those of a NaN: nothing is computed.
  void move(Storage to, llvm::Value* at, Storage from, llvm::Value* i) {
    for (size_t k = 0; k < a_.kinds.size(); ++k) {
      const ElementKind& kind = a_.kinds[k];
      llvm::Align align(kind.storageBytes / kind.parts());
      llvm::Type* type = kind.storageType(b_.getContext());
      for (unsigned part = 0; part < kind.parts(); ++part) {
        auto place = [&](Storage where, llvm::Value* element) {
          llvm::Value* index = w_.plus(w_.times(indexOf(element), kind.parts()), w_.i64(part));
          return b_.CreateGEP(type, base(where, k), index);
        };
        llvm::Value* bits = b_.CreateAlignedLoad(type, place(from, i), align);
        b_.CreateAlignedStore(bits, place(to, at), align);
      }
    }
  }

  // Operand number `i` goes behind those of its run that are not greater.
  void insert(llvm::Value* i, Storage to) {
    llvm::Value* first = b_.CreateAnd(i, w_.i64(-run_));
    auto isBefore = [&](const Values& at) {
      // Of an element that is not there, another is compared and not used.
      llvm::Value* exists = b_.CreateICmpUGT(at[0], first);
      llvm::Value* other = b_.CreateSub(at[0], b_.CreateZExt(exists, b_.getInt64Ty()));
      llvm::Value* place = b_.CreateSelect(exists, other, i);
      return b_.CreateAnd(exists, less(Storage::kOperands, i, to, place));
    };
    Values at = repeatWhile({i}, isBefore, [&](const Values& now) -> Values {
      llvm::Value* other = b_.CreateSub(now[0], w_.i64(1));
      move(to, now[0], to, other);
      return {other};
    });
    move(to, at[0], Storage::kOperands, i);
  }

  // Elements [at, stop) of what the runs [low, middle) and [middle, high) make.
  void mergePair(Storage from, Storage to, llvm::Value* low, llvm::Value* middle, llvm::Value* high,
                 llvm::Value* at, llvm::Value* stop) {
    llvm::Value* before = b_.CreateSub(at, low);  // elements of both runs
    llvm::Value* lefts = b_.CreateSub(middle, low);
    llvm::Value* rights = b_.CreateSub(high, middle);
    // Equal elements stay in their order.
    llvm::Value* found = leftsOf(before, lefts, rights, [&](llvm::Value* right, llvm::Value* left) {
      return less(from, w_.plus(middle, right), from, w_.plus(low, left));
    });
    llvm::Value* left = w_.plus(low, found);
    llvm::Value* right = b_.CreateSub(w_.plus(middle, before), found);
    repeatWhile(
        {at, left, right}, [&](const Values& now) { return b_.CreateICmpULT(now[0], stop); },
        [&](const Values& now) -> Values {
          llvm::Value* hasLeft = b_.CreateICmpULT(now[1], middle);
          llvm::Value* hasRight = b_.CreateICmpULT(now[2], high);
          // Of a run that is used up, an element that is there is compared and not used.
          llvm::Value* x = b_.CreateSelect(hasLeft, now[1], low);
          llvm::Value* y = b_.CreateSelect(hasRight, now[2], low);
          llvm::Value* isLess = less(from, y, from, x);
          llvm::Value* takesRight =
              b_.CreateAnd(hasRight, b_.CreateOr(b_.CreateNot(hasLeft), isLess));
          move(to, now[0], from, b_.CreateSelect(takesRight, y, x));
          llvm::Value* step = b_.CreateZExt(takesRight, b_.getInt64Ty());
          return {w_.plus(now[0], w_.i64(1)), w_.plus(now[1], b_.CreateSub(w_.i64(1), step)),
                  w_.plus(now[2], step)};
        });
  }

  int64_t run_, stretch_;
  llvm::Value* row_;
};

StatusOr<SortArrays> arraysOf(shlo::SortOp op) {
  ISTHMUS_ASSIGN_OR_RETURN(SortShape shape, sortShapeOf(op));
  SortArrays arrays{std::move(shape), {}, {}};
  const int64_t elements = arrays.rows() * arrays.length;
  for (const ElementKind& kind : arrays.kinds) {
    arrays.scratchOffsets.push_back(arrays.scratchBytes);
    arrays.scratchBytes += static_cast<int64_t>(
        llvm::alignTo(static_cast<uint64_t>(elements) * kind.storageBytes, 64));
  }
  for (mlir::BlockArgument argument : op.getComparator().getArguments()) {
    arrays.isCompared.push_back(!argument.use_empty());
  }
  return arrays;
}

// One work-item for each stretch.
OpKernels emitItemSort(const SortArrays& arrays, const SortStage& stage, llvm::Module& module,
                       const WorkItemForm& form, const std::string& symbol) {
  OpKernels kernels;
  kernels.scratchBytes = arrays.scratchBytes;
  int64_t rounds = 0;
  for (int64_t run = stage.run; run < arrays.length; run *= 2) ++rounds;
  Items items{llvm::divideCeilSigned(arrays.length, stage.grain), arrays.rows(), 1};
  auto emit = [&](const char* suffix, const std::function<void(SortKernel&)>& body) {
    OpKernel kernel{symbol + suffix, items};
    KernelWriter writer(module, form, kernel.name, arrays.buffers(), items);
    SortKernel sort(arrays, stage, writer);
    body(sort);
    writer.finish();
    return kernel;
  };
  // The last round ends in the results.
  bool startsInResults = rounds % 2 == 0;
  SortStorage first = startsInResults ? SortStorage::kResults : SortStorage::kScratch;
  SortStorage second = startsInResults ? SortStorage::kScratch : SortStorage::kResults;
  kernels.stages.push_back(emit("", [&](SortKernel& sort) { sort.sortRuns(first); }));
  OpKernel there, back;
  if (rounds > 0) {
    there = emit("_there", [&](SortKernel& sort) { sort.mergeRuns(first, second, 0); });
  }
  if (rounds > 1) {
    back = emit("_back", [&](SortKernel& sort) { sort.mergeRuns(second, first, 1); });
  }
  for (int64_t round = 0; round < rounds; ++round) {
    kernels.stages.push_back(round % 2 == 0 ? there : back);
  }
  return kernels;
}

}  // namespace

StatusOr<OpKernels> emitSort(shlo::SortOp op, llvm::Module& module, const WorkItemForm& form,
                             const std::string& symbol) {
  ISTHMUS_ASSIGN_OR_RETURN(KernelSchedule schedule, dataScheduleOf(op, form.target));
  const auto* only = schedule.only<SortStage>();
  if (!only) return OpKernels();
  const SortStage& stage = *only;
  ISTHMUS_ASSIGN_OR_RETURN(SortArrays arrays, arraysOf(op));
  ISTHMUS_ASSIGN_OR_RETURN(arrays.less,
                           emitLess(op.getComparator(), arrays, module, form, symbol + "_less"));
  const auto emit = stage.groupThreads > 1 ? emitGroupSort : emitItemSort;
  OpKernels kernels = emit(arrays, stage, module, form, symbol);
  ISTHMUS_RETURN_IF_ERROR(inlineCalls(arrays.less));
  return kernels;
}

}  // namespace isthmus::codegen

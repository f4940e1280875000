// A group has some lines of the larger operand, each read by several threads: side by side along
// the sums where these lie together in memory, else along the lines. Each thread sums every so many
// products of its line and of all the few lines of the other operand, and the line's threads add up
// what they have in the group's memory.
#include "compiler/codegen/simt/products/line_product.h"

#include <algorithm>

#include "compiler/codegen/target/group_threads.h"
#include "compiler/schedule/products/product_scheduler.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MathExtras.h"

namespace isthmus::codegen {
namespace {

constexpr int64_t kLineThreads = kProductSide * kProductSide;
// Products of a line that a thread has under way at a time.
constexpr int64_t kUnrolled = 4;

// A schedule, with what follows from the product.
struct Plan {
  Plan(const ProductProblem& problem, const DotStage& stage)
      : isSwapped(stage.product.isSwapped),
        few(std::min(problem.rows, problem.columns)),
        many(std::max(problem.rows, problem.columns)),
        alongContracting((isSwapped ? problem.lhsStride : problem.rhsStride) == 1),
        lines(stage.product.tileRows),
        splits(stage.product.splits),
        sumsOfGroup(stage.product.tileTerms),
        vector(stage.lanes) {}

  bool isSwapped;  // the few lines are the rhs's
  int64_t few, many;
  bool alongContracting;  // the larger operand's sums lie together
  int64_t lines;          // of the larger operand, of a group
  int64_t splits;         // groups that share a line's sums
  int64_t sumsOfGroup;    // a multiple of what its threads take at a time
  int64_t vector;         // neighbours along the sums that a thread reads at once

  int64_t threadsOfLine() const { return kLineThreads / lines; }
};

class LineKernel {
 public:
  LineKernel(const ProductProblem& problem, const ProductTask& task, const Plan& plan,
             const WorkItemForm& form, ProductWriter& writer)
      : problem_(problem), kinds_(task.kinds), plan_(plan), form_(form), w_(writer) {}

  void emit(llvm::Module& module) {
    thread_ = form_.threadInGroup(w_.b());
    std::tie(lineInGroup_, slice_) = w_.divide(thread_, plan_.threadsOfLine());
    if (!plan_.alongContracting) std::tie(slice_, lineInGroup_) = w_.divide(thread_, plan_.lines);
    firstLine_ = w_.times(w_.item(0), plan_.lines);
    llvm::Value* line = w_.plus(firstLine_, lineInGroup_);
    // Of a line that does not exist, another one's sums are computed and not stored.
    line = w_.b().CreateSelect(w_.b().CreateICmpULT(line, w_.i64(plan_.many)), line, w_.i64(0));
    manyPlace_ = lineOf(!plan_.isSwapped, line);
    for (int64_t f = 0; f < plan_.few; ++f) {
      fewPlaces_.push_back(lineOf(plan_.isSwapped, w_.i64(f)));
    }
    addUp(module, sumOverTerms());
  }

 private:
  using Elements = KernelWriter::Elements;

  // Where a line of the rhs begins, or of the lhs.
  llvm::Value* lineOf(bool isRhs, llvm::Value* line) {
    return (isRhs ? problem_.rhs : problem_.lhs)(w_, w_.item(2), line, {}).place;
  }

  // As vectors, if the plan has them: `type` of one number is the type of several.
  Val zeros() {
    Val zero = w_.zero(kinds_.sum);
    if (plan_.vector > 1) {
      zero.re = w_.b().CreateVectorSplat(static_cast<unsigned>(plan_.vector), zero.re);
    }
    return zero;
  }

  Val loadTerm(bool isRhs, llvm::Value* start, llvm::Value* term, llvm::Value* isInside) {
    const ElementKind& kind = isRhs ? kinds_.rhs : kinds_.lhs;
    const int64_t stride = isRhs ? problem_.rhsStride : problem_.lhsStride;
    llvm::Value* place = w_.plus(start, w_.times(term, stride));
    // Outside, an element that is there is read and not used.
    if (isInside) place = w_.b().CreateSelect(isInside, place, w_.i64(0));
    const auto lanes = static_cast<unsigned>(plan_.vector);
    Val value = w_.load(isRhs ? w_.rhs() : w_.lhs(), place, kind, lanes, plan_.vector > 1);
    value = w_.convert(value, kind, kinds_.sum);
    return isInside ? w_.select(isInside, value, zeros()) : value;
  }

  Elements addTerm(llvm::Value* term, llvm::Value* isInside, const Elements& sums) {
    Val many = loadTerm(!plan_.isSwapped, manyPlace_, term, isInside);
    Elements next;
    for (auto [place, sum] : llvm::zip(fewPlaces_, sums)) {
      Val few = loadTerm(plan_.isSwapped, place, term, isInside);
      next.push_back(plan_.isSwapped ? w_.multiplyAdd(many, few, sum, kinds_.sum)
                                     : w_.multiplyAdd(few, many, sum, kinds_.sum));
    }
    return next;
  }

  Elements sumOverTerms() {
    const int64_t step = plan_.threadsOfLine() * plan_.vector;
    const int64_t steps = plan_.sumsOfGroup / step;
    llvm::Value* first =
        w_.plus(w_.times(w_.item(1), plan_.sumsOfGroup), w_.times(slice_, plan_.vector));
    const bool hasTail = problem_.contracting % plan_.sumsOfGroup != 0;
    auto addSteps = [&](llvm::Value* number, int64_t count, Elements sums) {
      for (int64_t u = 0; u < count; ++u) {
        llvm::Value* at = w_.times(w_.plus(number, w_.i64(u)), step);
        llvm::Value* term = w_.plus(first, at);
        llvm::Value* isInside =
            hasTail ? w_.b().CreateICmpULT(term, w_.i64(problem_.contracting)) : nullptr;
        sums = addTerm(term, isInside, sums);
      }
      return sums;
    };
    Elements sums(static_cast<size_t>(plan_.few), zeros());
    sums = w_.loop(steps / kUnrolled, sums, [&](llvm::Value* i, const Elements& carried) {
      return addSteps(w_.times(i, kUnrolled), kUnrolled, carried);
    });
    sums = addSteps(w_.i64(steps / kUnrolled * kUnrolled), steps % kUnrolled, sums);
    if (plan_.vector > 1) {
      for (Val& sum : sums) sum.re = w_.sumOfLanes(sum.re, kinds_.sum);
    }
    return sums;
  }

  // The threads' sums of each line meet, and each thread then adds up those of some results.
  void addUp(llvm::Module& module, const Elements& sums) {
    llvm::IRBuilder<>& b = w_.b();
    llvm::Type* type = kinds_.sum.computeType(module.getContext());
    llvm::Type* stored = type->isIntegerTy(1) ? b.getInt8Ty() : type;
    llvm::GlobalVariable* memory =
        makeGroupMemory(module, stored, kLineThreads * plan_.few, "sums");
    const int64_t results = plan_.lines * plan_.few;
    auto slot = [&](llvm::Value* slice, llvm::Value* result) {
      llvm::Value* index = w_.plus(w_.times(slice, results), result);
      return b.CreateInBoundsGEP(stored, memory, index);
    };
    for (int64_t f = 0; f < plan_.few; ++f) {
      llvm::Value* result = w_.plus(w_.i64(f * plan_.lines), lineInGroup_);
      b.CreateStore(b.CreateZExtOrBitCast(sums[static_cast<size_t>(f)].re, stored),
                    slot(slice_, result));
    }
    form_.barrier(b);
    for (int64_t first = 0; first < results; first += kLineThreads) {
      llvm::Value* result = w_.plus(thread_, w_.i64(first));
      auto [few, line] = w_.divide(result, plan_.lines);
      llvm::Value* many = w_.plus(firstLine_, line);
      llvm::Value* isResult = b.CreateAnd(b.CreateICmpULT(result, w_.i64(results)),
                                          b.CreateICmpULT(many, w_.i64(plan_.many)));
      w_.branch(isResult, [&, few = few] {
        Elements sum = w_.loop(
            plan_.threadsOfLine(), {w_.zero(kinds_.sum)}, [&](llvm::Value* i, const Elements& all) {
              Val part{b.CreateTruncOrBitCast(b.CreateLoad(stored, slot(i, result)), type)};
              return Elements{w_.add(all[0], part, kinds_.sum)};
            });
        store(few, many, sum[0]);
      });
    }
  }

  void store(llvm::Value* few, llvm::Value* many, const Val& sum) {
    llvm::Value* row = plan_.isSwapped ? many : few;
    llvm::Value* column = plan_.isSwapped ? few : many;
    ProductWriter::Site site = problem_.site(w_, w_.item(2), row, column, nullptr);
    if (plan_.splits == 1) return w_.storeSum(site, sum);
    llvm::Value* part = w_.times(w_.item(1), problem_.elements());
    w_.store(w_.scratch(), w_.plus(part, site.place), kinds_.sum, sum);
  }

  const ProductProblem& problem_;
  const ProductKinds& kinds_;
  const Plan& plan_;
  const WorkItemForm& form_;
  ProductWriter& w_;
  llvm::Value* thread_ = nullptr;
  // Of the thread: its line of the group's, and its part of the sums.
  llvm::Value *lineInGroup_ = nullptr, *slice_ = nullptr;
  llvm::Value* firstLine_ = nullptr;
  llvm::Value* manyPlace_ = nullptr;
  llvm::SmallVector<llvm::Value*, 16> fewPlaces_;
};

// Adds the sums of all parts of each element, in their order.
StatusOr<OpKernel> emitSumOfParts(const ProductProblem& problem, const ProductTask& task,
                                  llvm::Module& module, const WorkItemForm& form,
                                  const std::string& symbol) {
  const ElementKind& kind = task.kinds.sum;
  Items items{problem.elements(), 1, 1};
  ProductWriter w(module, form, symbol, task, items, 1, true);
  KernelWriter::Elements sum =
      w.loop(task.product().splits, {w.zero(kind)},
             [&](llvm::Value* part, const KernelWriter::Elements& all) {
               llvm::Value* place = w.plus(w.times(part, problem.elements()), w.item(0));
               return KernelWriter::Elements{w.add(all[0], w.load(w.scratch(), place, kind), kind)};
             });
  auto [row, column] = w.divide(w.item(0), problem.columns);
  w.storeSum({row, column, w.item(0)}, sum[0]);
  ISTHMUS_RETURN_IF_ERROR(w.finish());
  return OpKernel{symbol, items};
}

}  // namespace

StatusOr<OpKernels> emitLineProduct(const ProductProblem& problem, const ProductTask& task,
                                    llvm::Module& module, const WorkItemForm& form,
                                    const std::string& symbol) {
  const Plan plan(problem, task.stage);
  const bool isSplit = plan.splits > 1;
  OpKernels kernels;
  Items items{llvm::divideCeilSigned(plan.many, plan.lines), plan.splits, problem.batches};
  if (isSplit) {
    kernels.scratchBytes = problem.elements() * plan.splits * task.kinds.sum.storageBytes;
  }
  ProductWriter writer(module, form, symbol, task, items, kLineThreads, isSplit);
  LineKernel(problem, task, plan, form, writer).emit(module);
  ISTHMUS_RETURN_IF_ERROR(writer.finish());
  kernels.stages.push_back({symbol, items, kLineThreads});
  if (isSplit) {
    ISTHMUS_ASSIGN_OR_RETURN(OpKernel sum,
                             emitSumOfParts(problem, task, module, form, symbol + "_sum"));
    kernels.stages.push_back(std::move(sum));
  }
  return kernels;
}

}  // namespace isthmus::codegen

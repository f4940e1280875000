// A group has some lines of the larger operand, each read by several threads: side by side along
// the sums where these lie together in memory, else along the lines. Each thread sums every so many
// products of its line and of all the few lines of the other operand, and the line's threads add up
// what they have in the group's memory.
#include "compiler/codegen/simt/products/skinny_dot.h"

#include <algorithm>

#include "compiler/codegen/group_threads.h"
#include "compiler/codegen/simt/kernel_writer.h"
#include "compiler/codegen/simt/products/product_problem.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MathExtras.h"

namespace isthmus::codegen {
namespace {

constexpr int64_t kThreads = 256;
// Of the smaller operand: so many sums a thread keeps in registers.
constexpr int64_t kMaxFew = 16;
// Threads of a line that is read along the sums, and lines side by side that are read across.
constexpr int64_t kThreadsAlong = 32, kLinesAcross = 32;
// Products of a line that a thread has under way at a time.
constexpr int64_t kUnrolled = 4;
constexpr int64_t kMinSums = 64;
// Groups that keep a large device busy, and the sums that are worth a group of their own.
constexpr int64_t kEnoughGroups = 512, kMinSumsOfGroup = 512;

struct Plan {
  bool isSwapped = false;  // the few lines are the rhs's
  int64_t few = 1, many = 1;
  bool alongSums = false;   // the larger operand's sums lie together
  int64_t lines = 1;        // of the larger operand, of a group
  int64_t splits = 1;       // groups that share a line's sums
  int64_t sumsOfGroup = 1;  // a multiple of what its threads take at a time
  int64_t vector = 1;       // neighbours along the sums that a thread reads at once

  int64_t threadsOfLine() const { return kThreads / lines; }
  int64_t groups(int64_t batches) const {
    return llvm::divideCeilSigned(many, lines) * splits * batches;
  }
};

// Where lines of both operands begin at whole vectors, and sums are whole vectors.
int64_t vectorOf(const ProductProblem& problem, const ProductKinds& kinds, const DotRoles& roles,
                 const TargetModel& target) {
  const int64_t lanes = std::min(target.neighboursOf(kinds.lhs.storageBytes),
                                 target.neighboursOf(kinds.rhs.storageBytes));
  bool isWhole = problem.lhsStride == 1 && problem.rhsStride == 1 && problem.terms % lanes == 0;
  for (const DotDimensions* dims : {&roles.batch, &roles.rows, &roles.columns}) {
    for (const DotDimension& d : *dims) {
      isWhole = isWhole && d.lhsStride % lanes == 0 && d.rhsStride % lanes == 0;
    }
  }
  const bool isNumber = !kinds.lhs.isBool() && !kinds.rhs.isBool() && !kinds.lhs.isSubByte() &&
                        !kinds.rhs.isSubByte();
  return isWhole && isNumber ? lanes : 1;
}

std::optional<Plan> planOf(const ProductProblem& problem, const ProductKinds& kinds,
                           const DotRoles& roles, const WorkItemForm& form) {
  const TargetModel& target = form.target;
  const bool hasGroups =
      form.groupIndex && target.groupSize >= kThreads && target.subgroupSize <= target.groupSize;
  Plan plan;
  plan.isSwapped = problem.columns < problem.rows;
  plan.few = std::min(problem.rows, problem.columns);
  plan.many = std::max(problem.rows, problem.columns);
  if (!hasGroups || kinds.sum.isComplex() || plan.few > kMaxFew || problem.terms < kMinSums) {
    return std::nullopt;
  }
  plan.alongSums = (plan.isSwapped ? problem.lhsStride : problem.rhsStride) == 1;
  // Threads side by side that have a line each read neighbours already, if there are enough.
  if (!plan.alongSums && plan.many * problem.batches >= target.enoughColumns) return std::nullopt;
  plan.lines = plan.alongSums ? kThreads / kThreadsAlong : kLinesAcross;
  if (plan.alongSums) plan.vector = vectorOf(problem, kinds, roles, target);
  const int64_t step = plan.threadsOfLine() * plan.vector;
  const int64_t most = std::max<int64_t>(1, problem.terms / kMinSumsOfGroup);
  plan.splits = std::clamp<int64_t>(kEnoughGroups / plan.groups(problem.batches), 1, most);
  plan.sumsOfGroup =
      llvm::divideCeilSigned(llvm::divideCeilSigned(problem.terms, plan.splits), step) * step;
  plan.splits = llvm::divideCeilSigned(problem.terms, plan.sumsOfGroup);
  const int64_t bytes = std::max<int64_t>(1, kinds.sum.computeBits() / 8);
  return kThreads * plan.few * bytes <= target.localBytes ? std::optional(plan) : std::nullopt;
}

class SkinnyKernel {
 public:
  SkinnyKernel(const ProductProblem& problem, const ProductKinds& kinds, const Plan& plan,
               const WorkItemForm& form, KernelWriter& writer)
      : problem_(problem), kinds_(kinds), plan_(plan), form_(form), w_(writer) {}

  void emit(llvm::Module& module) {
    thread_ = form_.threadInGroup(w_.b());
    std::tie(lineInGroup_, slice_) = w_.divide(thread_, plan_.threadsOfLine());
    if (!plan_.alongSums) std::tie(slice_, lineInGroup_) = w_.divide(thread_, plan_.lines);
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
    Val value = w_.load(w_.buffer(isRhs ? 1 : 0), place, kind, lanes, plan_.vector > 1);
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
    const bool hasTail = problem_.terms % plan_.sumsOfGroup != 0;
    auto addSteps = [&](llvm::Value* number, int64_t count, Elements sums) {
      for (int64_t u = 0; u < count; ++u) {
        llvm::Value* at = w_.times(w_.plus(number, w_.i64(u)), step);
        llvm::Value* term = w_.plus(first, at);
        llvm::Value* isInside =
            hasTail ? w_.b().CreateICmpULT(term, w_.i64(problem_.terms)) : nullptr;
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
    auto* array = llvm::ArrayType::get(stored, static_cast<uint64_t>(kThreads * plan_.few));
    auto* memory = new llvm::GlobalVariable(
        module, array, false, llvm::GlobalValue::InternalLinkage, llvm::UndefValue::get(array),
        "sums", nullptr, llvm::GlobalValue::NotThreadLocal, kGroupMemorySpace);
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
    for (int64_t first = 0; first < results; first += kThreads) {
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
    llvm::Value* place = problem_.result(w_, w_.item(2), row, column);
    if (plan_.splits == 1) {
      w_.store(w_.buffer(2), place, kinds_.result, w_.convert(sum, kinds_.sum, kinds_.result));
      return;
    }
    const int64_t all = problem_.batches * problem_.rows * problem_.columns;
    w_.store(w_.buffer(3), w_.plus(w_.times(w_.item(1), all), place), kinds_.sum, sum);
  }

  const ProductProblem& problem_;
  const ProductKinds& kinds_;
  const Plan& plan_;
  const WorkItemForm& form_;
  KernelWriter& w_;
  llvm::Value* thread_ = nullptr;
  // Of the thread: its line of the group's, and its part of the sums.
  llvm::Value *lineInGroup_ = nullptr, *slice_ = nullptr;
  llvm::Value* firstLine_ = nullptr;
  llvm::Value* manyPlace_ = nullptr;
  llvm::SmallVector<llvm::Value*, kMaxFew> fewPlaces_;
};

// Adds the sums of all parts of each element, in their order.
OpKernel emitSumOfParts(const ProductKinds& kinds, int64_t elements, int64_t parts,
                        llvm::Module& module, const WorkItemForm& form, const std::string& symbol) {
  Items items{elements, 1, 1};
  KernelWriter w(module, form, symbol, 4, items);
  KernelWriter::Elements sum =
      w.loop(parts, {w.zero(kinds.sum)}, [&](llvm::Value* part, const KernelWriter::Elements& all) {
        llvm::Value* place = w.plus(w.times(part, elements), w.item(0));
        return KernelWriter::Elements{
            w.add(all[0], w.load(w.buffer(3), place, kinds.sum), kinds.sum)};
      });
  w.store(w.buffer(2), w.item(0), kinds.result, w.convert(sum[0], kinds.sum, kinds.result));
  w.finish();
  return {symbol, items};
}

}  // namespace

std::optional<OpKernels> emitSkinnyDot(const DotRoles& roles, const ProductKinds& kinds,
                                       llvm::Module& module, const WorkItemForm& form,
                                       const std::string& symbol) {
  std::optional<ProductProblem> problem = problemOf(roles);
  if (!problem) return std::nullopt;
  std::optional<Plan> plan = planOf(*problem, kinds, roles, form);
  if (!plan) return std::nullopt;
  OpKernels kernels;
  const int64_t elements = problem->batches * problem->rows * problem->columns;
  Items items{llvm::divideCeilSigned(plan->many, plan->lines), plan->splits, problem->batches};
  if (plan->splits > 1) {
    kernels.scratchBytes = elements * plan->splits * kinds.sum.storageBytes;
  }
  KernelWriter writer(module, form, symbol, plan->splits > 1 ? 4 : 3, items, kThreads);
  SkinnyKernel(*problem, kinds, *plan, form, writer).emit(module);
  writer.finish();
  kernels.stages.push_back({symbol, items, kThreads});
  if (plan->splits > 1) {
    kernels.stages.push_back(
        emitSumOfParts(kinds, elements, plan->splits, module, form, symbol + "_sum"));
  }
  return kernels;
}

}  // namespace isthmus::codegen

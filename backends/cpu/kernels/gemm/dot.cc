// isthmus_rt_dot: kernels for skinny matrices and blocked multiplication, and which of them suit.
#include "backends/cpu/kernels/gemm/dot.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/kernels/gemm/dot_job.h"
#include "backends/cpu/kernels/gemm/split_k.h"
#include "backends/cpu/kernels/isa.h"
#include "runtime/scratch.h"

namespace isthmus::cpu {
namespace {

bool runBlocked(RunServices& services, const DotProblem& p, GemmDomain domain) {
  constexpr int64_t kLocalEntries = 512;
  int64_t local[kLocalEntries];
  Scratch<int64_t> tables(services, p.rows + p.cols + 2 * p.contracting, local, kLocalEntries);
  return tables && runGemm(services, DotJob(p, domain, tables.data()));
}

constexpr const char* kFormNames[] = {"undecided", "blocked",    "row_times_matrix", "dot_products",
                                      "direct",    "row_by_row", "few_columns"};

void setChoice(const DotChoice& choice, DotDescriptor& dot) {
  dot.form = choice.form;
  dot.formKernels = hostKernels();
  dot.flags &= ~(kDotIsSwapped | kDotIsNear);
  if (choice.isSwapped) dot.flags |= kDotIsSwapped;
  if (choice.isNear) dot.flags |= kDotIsNear;
}

// Without decoding the rest: most of the time of a tiny product.
GemmDomain domainOf(const DotDescriptor& dot) {
  const DotDimension* terms = dot.dims + dot.batchRank + dot.mRank + dot.nRank;
  return chooseDomain(dot.lhsType, dot.rhsType, dot.resultType,
                      groupSize({terms, static_cast<size_t>(dot.kRank)}));
}

// In one form, all of it.
bool runWhole(RunServices& services, const DotProblem& p, const DotChoice& choice,
              GemmDomain domain) {
  if (choice.form != DotForm::kBlocked && runSkinnyDot(services, p, choice, domain)) return true;
  return runBlocked(services, p,
                    narrowDomain(domain, p.dot.lhsType, p.dot.rhsType, p.dot.resultType));
}

bool runSplit(RunServices& services, const SplitK& split, const DotProblem& p,
              const DotChoice& choice, GemmDomain domain) {
  Scratch<char> sums(services, split.sumsBytes());
  if (!sums || !runWhole(services, split.equalPartsOf(p, sums.data()), choice, domain)) {
    return false;
  }
  if (split.hasRest()) {
    const DotProblem rest = split.restOf(p, sums.data());
    const DotChoice form = skinnyFormOf(rest, domain, nearCacheBytes(), Refusals());
    if (!runWhole(services, rest, form, domain)) return false;
  }
  split.finish(services, p, sums.data());
  return true;
}

// What is computed in one form: a product, or of one that is split, the batch of its parts.
DotDescriptor ofOneForm(const DotDescriptor& dot, GemmDomain domain) {
  const SplitK split(dot, domain);
  return split.parts() > 1 ? split.equalParts() : dot;
}

DotChoice decideForm(const DotDescriptor& dot, int64_t l2Bytes, const Refusals& refusals) {
  const GemmDomain domain = domainOf(dot);
  const DotDescriptor computed = ofOneForm(dot, domain);
  DotChoice choice = skinnyFormOf(decodeShape(computed), domain, l2Bytes, refusals);
  choice.isNear = isNearVectorDot(dot, choice.form, domain);
  return choice;
}

}  // namespace

int termsAtOnce(ElementType lhs, ElementType rhs, ElementType result) {
  return gemmKernels(narrowDomain(chooseDomain(lhs, rhs, result), lhs, rhs, result))
      .stepsPerBlock();
}

std::string chooseDotForm(int64_t l2Bytes, DotDescriptor& dot) {
  std::string reason;
  setChoice(decideForm(dot, l2Bytes, Refusals(&reason)), dot);
  return reason;
}

std::string setDotForm(std::string_view name, bool isSwapped, DotDescriptor& dot) {
  const auto* at = std::find(std::begin(kFormNames) + 1, std::end(kFormNames), name);
  if (at == std::end(kFormNames)) return "products have no form of the name " + std::string(name);
  const auto form = static_cast<DotForm>(at - std::begin(kFormNames));
  const GemmDomain domain = domainOf(dot);
  const char* why = nullptr;
  if (form == DotForm::kBlocked) {
    if (isSwapped) why = "its operands stay in their places";
  } else {
    const DotDescriptor computed = ofOneForm(dot, domain);
    why = skinnyFormRefusal(decodeShape(computed), form, isSwapped, domain);
  }
  if (why) return std::string(name) + ": " + why;
  setChoice({form, isSwapped, isNearVectorDot(dot, form, domain)}, dot);
  return "";
}

std::string_view formNameOf(const DotDescriptor& dot) {
  return kFormNames[static_cast<int>(dot.form)];
}

std::string describeForm(const DotDescriptor& dot) {
  std::string text = std::string(formNameOf(dot)) + " for " + isaOfKernels(dot.formKernels);
  if (dot.flags & kDotIsSwapped) text += ", swapped";
  if (dot.flags & kDotIsNear) text += ", near";
  if (const int64_t parts = SplitK(dot, domainOf(dot)).parts(); parts > 1) {
    text += ", in " + std::to_string(parts) + " parts of the terms";
  }
  return text;
}

extern "C" int32_t isthmus_rt_dot(IsthmusRun* run, const void* descriptor, void* const* buffers) {
  const auto& dot = *static_cast<const DotDescriptor*>(descriptor);
  DotChoice choice{dot.form, (dot.flags & kDotIsSwapped) != 0, (dot.flags & kDotIsNear) != 0};
  // A program may have been compiled for other kernels than this machine has.
  if (dot.form == DotForm::kUndecided || dot.formKernels != hostKernels()) {
    choice = decideForm(dot, nearCacheBytes(), Refusals());
  }
  const GemmDomain domain = domainOf(dot);
  if (choice.isNear && runNearVectorDot(dot, choice.form, buffers, domain)) return 0;
  DotProblem p = decodeDot(dot, buffers);
  if (p.batches == 0 || p.rows == 0 || p.cols == 0) return 0;
  const SplitK split(dot, domain);
  const bool done = split.parts() > 1 ? runSplit(*run->services, split, p, choice, domain)
                                      : runWhole(*run->services, p, choice, domain);
  if (done) return 0;
  return fail(run, resourceExhausted("dot_general: no scratch memory for packing operands"));
}

}  // namespace isthmus::cpu

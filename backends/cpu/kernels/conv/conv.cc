// isthmus_rt_conv: depthwise loops, windows in place, sums over positions or matrix multiplication,
// and which of them suits.
#include "backends/cpu/kernels/conv/conv.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "backends/cpu/kernels/conv/conv_problem.h"
#include "backends/cpu/kernels/gemm/gemm_domains.h"
#include "backends/cpu/kernels/isa.h"
#include "backends/cpu/kernels/parallel_for.h"

namespace isthmus::cpu {

namespace {

// Whether no tap meets the results, which dilation makes, and they are zeros in rows of features.
bool isUntouched(const ConvProblem& p, GemmDomain domain) {
  return p.taps() == 0 && !p.epilogue && p.rank > 0 && p.conv.resultType == floatTypeOf(domain) &&
         p.conv.outputFeatureStride == 1 && p.conv.resultColumns == p.conv.outputFeatures;
}

void fillUntouched(RunServices& services, const ConvProblem& p) {
  const auto bytes = static_cast<int64_t>(storageBytes(p.conv.resultType));
  const ConvAxis& inner = p.axes[p.rank - 1];
  const auto rowBytes = static_cast<size_t>(p.groups * p.outputFeatures * bytes);
  const int64_t rows = p.positions() / inner.outputSize;
  const int64_t grain = std::max<int64_t>(
      1, (int64_t{64} << 10) / std::max<int64_t>(1, inner.outputSize * p.outputFeatures));
  parallelFor(services, rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      int64_t rest = row, output = p.outputOffset;
      for (int d = p.rank - 1; d-- > 0;) {
        output += rest % p.axes[d].outputSize * p.axes[d].outputStride;
        rest /= p.axes[d].outputSize;
      }
      char* to = static_cast<char*>(p.result) + output * bytes;
      for (int64_t i = 0; i < inner.outputSize; ++i) {
        std::memset(to + i * inner.outputStride * bytes, 0, rowBytes);
      }
    }
  });
}

// A form by its number, in the order in which they are tried.
struct FormFunctions {
  const char* name;
  // Null if the form suits the problem, or can compute it. Without one it always does.
  const char* (*refusal)(const ConvProblem& problem, GemmDomain domain, Asked asked);
  // False for want of scratch memory.
  bool (*run)(RunServices& services, const ConvProblem& problem, GemmDomain domain);
};

constexpr FormFunctions kForms[] = {
    {"undecided", nullptr, runConvAsGemm},
    {"depthwise", depthwiseRefusal, runDepthwise},
    {"transposed_sums", transposedSumsRefusal, runTransposedSums},
    {"position_sums", positionSumsRefusal, runPositionSums},
    {"planes", planesRefusal, runPlanes},
    {"windows", windowRefusal, runWindowConv},
    {"product", nullptr, runConvAsGemm},
};
static_assert(std::size(kForms) == static_cast<size_t>(ConvForm::kProduct) + 1);

const FormFunctions& functionsOf(ConvForm form) { return kForms[static_cast<int>(form)]; }

// Null if the form computes the problem.
const char* refusalOf(ConvForm form, const ConvProblem& p, GemmDomain domain, Asked asked) {
  const FormFunctions& functions = functionsOf(form);
  return functions.refusal ? functions.refusal(p, domain, asked) : nullptr;
}

ConvForm formOf(const ConvProblem& p, GemmDomain domain, const Refusals& refusals) {
  auto form = ConvForm::kDepthwise;
  while (refusals.add(functionsOf(form).name, refusalOf(form, p, domain, Asked::kWhetherItSuits))) {
    // The last one, the product, is never refused.
    form = static_cast<ConvForm>(static_cast<int>(form) + 1);
  }
  return form;
}

}  // namespace

std::string chooseConvForm(ConvDescriptor& conv) {
  const GemmDomain domain = chooseDomain(conv.lhsType, conv.rhsType, conv.resultType);
  conv.formKernels = hostKernels();
  conv.form = ConvForm::kUndecided;
  // Problems compute where their operands begin; nothing is read.
  char nothing = 0;
  void* const none[3] = {&nothing, &nothing, &nothing};
  std::string reason;
  bool isFirst = true;
  for (const ConvProblem& p : plainProblems(conv, none)) {
    if (p.positions() == 0 || p.taps() == 0) continue;
    std::string why;
    const ConvForm form = formOf(p, domain, Refusals(&why));
    if (isFirst) {
      conv.form = form;
      reason = why;
    } else if (form != conv.form) {
      conv.form = ConvForm::kUndecided;
      return "its input has holes, between which parts are of several forms";
    }
    isFirst = false;
  }
  return isFirst ? "there is nothing to sum" : reason;
}

std::string setConvForm(std::string_view name, ConvDescriptor& conv) {
  const auto* at = std::ranges::find(kForms, name, &FormFunctions::name);
  if (at == std::end(kForms)) {
    return "convolutions have no form of the name " + std::string(name);
  }
  const auto form = static_cast<ConvForm>(at - std::begin(kForms));
  const GemmDomain domain = chooseDomain(conv.lhsType, conv.rhsType, conv.resultType);
  char nothing = 0;
  void* const none[3] = {&nothing, &nothing, &nothing};
  for (const ConvProblem& p : plainProblems(conv, none)) {
    if (p.positions() == 0 || p.taps() == 0) continue;
    if (const char* why = refusalOf(form, p, domain, Asked::kWhetherItCan)) {
      return std::string(name) + ": " + why;
    }
  }
  conv.form = form;
  conv.formKernels = hostKernels();
  return "";
}

std::string_view formNameOf(const ConvDescriptor& conv) { return functionsOf(conv.form).name; }

std::string describeForm(const ConvDescriptor& conv) {
  return std::string(formNameOf(conv)) + " for " + isaOfKernels(conv.formKernels);
}

extern "C" int32_t isthmus_rt_conv(IsthmusRun* run, const void* descriptor, void* const* buffers) {
  const auto& conv = *static_cast<const ConvDescriptor*>(descriptor);
  RunServices& services = *run->services;
  const GemmDomain domain = chooseDomain(conv.lhsType, conv.rhsType, conv.resultType);
  // Of a program that was compiled for other kernels than this machine has, each part's is found.
  const bool isDecided = conv.form != ConvForm::kUndecided && conv.formKernels == hostKernels();
  std::vector<ConvProblem> problems = plainProblems(conv, buffers);
  auto epilogue = (conv.flags & kConvHasEpilogue) ? reinterpret_cast<DotEpilogue>(buffers[3])
                                                  : DotEpilogue{nullptr};
  bool epilogueDone = epilogue == nullptr;
  if (epilogue && problems.size() == 1 && positionsAreRows(problems[0])) {
    problems[0].epilogue = epilogue;
    problems[0].epilogueBuffers = buffers + 4;
    epilogueDone = true;
  }
  int64_t elements = 0;
  for (const ConvProblem& p : problems) {
    const int64_t positions = p.positions();
    elements += positions * p.groups * p.outputFeatures;
    if (positions == 0) continue;
    if (isUntouched(p, domain)) {
      fillUntouched(services, p);
      continue;
    }
    // Where nothing is summed, the form is of other parts.
    const ConvForm form = isDecided && p.taps() > 0 ? conv.form : formOf(p, domain, Refusals());
    if (!functionsOf(form).run(services, p, domain)) {
      return fail(run, resourceExhausted("convolution: no scratch memory for packing operands"));
    }
  }
  if (epilogueDone || elements == 0) return 0;
  const int64_t columns = conv.resultColumns;
  parallelFor(services, elements / columns, std::max<int64_t>(1, 16384 / columns),
              [&](int64_t begin, int64_t end) { epilogue(buffers + 4, begin, end, 0, columns); });
  return 0;
}

}  // namespace isthmus::cpu

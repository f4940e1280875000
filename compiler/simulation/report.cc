// Reports of simulations as text and as JSON.
#include <algorithm>
#include <cstdio>
#include <numeric>

#include "compiler/simulation/simulate.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

namespace isthmus::simulation {
namespace {

double totalSeconds(const Step& step) { return step.seconds * step.times; }

std::string gigabytes(int64_t bytes) {
  return llvm::formatv("{0:F3} GB", static_cast<double>(bytes) * 1e-9).str();
}

}  // namespace

std::string toText(const Report& report, size_t maxSteps) {
  std::string text;
  llvm::raw_string_ostream out(text);
  int64_t used = report.argumentBytes + report.resultBytes + report.temporaryBytes;
  out << llvm::formatv("{0} devices of {1}\n", report.numDevices, report.machine)
      << llvm::formatv(
             "{0:F3} ms a run with collectives beside kernels, {1:F3} ms one after the other\n",
             report.overlappedSeconds * 1e3, report.synchronousSeconds * 1e3)
      << llvm::formatv("{0:F3} ms in kernels, {1:F3} ms in collectives\n",
                       report.kernelSeconds * 1e3, report.collectiveSeconds * 1e3)
      << llvm::formatv("each device: {0:F3} GFLOP, {1:F3} GB of memory traffic, {2:F3} GB sent\n",
                       report.flops * 1e-9, report.bytes * 1e-9, report.sentBytes * 1e-9)
      << "memory of each device: " << gigabytes(report.argumentBytes) << " arguments, "
      << gigabytes(report.resultBytes) << " results, " << gigabytes(report.temporaryBytes)
      << " temporaries, of " << gigabytes(report.memoryBytes)
      << (used > report.memoryBytes ? ": IT DOES NOT FIT\n" : "\n");
  std::vector<size_t> order(report.steps.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return totalSeconds(report.steps[a]) > totalSeconds(report.steps[b]);
  });
  out << "\n     us/run  share   times  waits for   step\n";
  for (size_t i = 0; i < std::min(maxSteps, order.size()); ++i) {
    const Step& step = report.steps[order[i]];
    double share =
        report.synchronousSeconds > 0 ? totalSeconds(step) / report.synchronousSeconds : 0;
    out << llvm::formatv("{0,11:F1} {1,6:P1} {2,7} {3,-11} {4}", totalSeconds(step) * 1e6, share,
                         llvm::formatv("{0:F0}", step.times).str(), step.bound, step.name);
    if (!step.source.empty()) out << "  (" << step.source << ")";
    out << "\n";
  }
  if (order.size() > maxSteps) out << "  … and " << order.size() - maxSteps << " shorter steps\n";
  for (const std::string& note : report.notes) out << "note: " << note << "\n";
  return text;
}

std::string toJson(const Report& report) {
  llvm::json::Array steps;
  for (const Step& step : report.steps) {
    steps.push_back(llvm::json::Object{{"name", step.name},
                                       {"source", step.source},
                                       {"times", step.times},
                                       {"seconds", step.seconds},
                                       {"flops", step.flops},
                                       {"bytes", step.bytes},
                                       {"sent_bytes", step.sentBytes},
                                       {"bound", step.bound}});
  }
  llvm::json::Object object{{"machine", report.machine},
                            {"devices", report.numDevices},
                            {"overlapped_seconds", report.overlappedSeconds},
                            {"synchronous_seconds", report.synchronousSeconds},
                            {"kernel_seconds", report.kernelSeconds},
                            {"collective_seconds", report.collectiveSeconds},
                            {"flops", report.flops},
                            {"bytes", report.bytes},
                            {"sent_bytes", report.sentBytes},
                            {"argument_bytes", report.argumentBytes},
                            {"result_bytes", report.resultBytes},
                            {"temporary_bytes", report.temporaryBytes},
                            {"memory_bytes", report.memoryBytes},
                            {"notes", llvm::json::Array(report.notes)},
                            {"steps", std::move(steps)}};
  return llvm::formatv("{0:2}", llvm::json::Value(std::move(object))).str();
}

}  // namespace isthmus::simulation

// The one file of the loader that asks LLVM: for the name and the features of this CPU.
#include "backends/cpu/load/host_target.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "backends/cpu/kernels/isa.h"
#include "compiler/target/error_handlers.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

namespace isthmus::cpu {
namespace {

std::set<std::string_view> presentFeatures(std::string_view list) {
  std::set<std::string_view> features;
  while (!list.empty()) {
    size_t comma = std::min(list.find(','), list.size());
    std::string_view feature = list.substr(0, comma);
    if (feature.size() > 1 && feature[0] == '+') features.insert(feature.substr(1));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return features;
}

TargetModel detectHost() {
  installErrorHandlers();
  TargetModel target;
  target.triple = llvm::sys::getProcessTriple();
  if (llvm::Triple(target.triple).isX86()) target.intrinsics = Intrinsics::kX86;
  target.cpu = llvm::sys::getHostCPUName().str();
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  // Sorted, since the string becomes part of cache keys and serialized executables.
  std::vector<std::string> names;
  for (const auto& feature : features) {
    names.push_back((feature.second ? "+" : "-") + feature.first().str());
  }
  std::sort(names.begin(), names.end(),
            [](const std::string& a, const std::string& b) { return a.substr(1) < b.substr(1); });
  for (const std::string& name : names) {
    if (!target.features.empty()) target.features += ',';
    target.features += name;
  }
  auto has = [&](const char* name) { return features.lookup(name); };
  target.fma = has("fma");
  target.convertsF16 = has("f16c");
  target.avx512 = has("avx512f") && has("avx512bw") && has("avx512dq") && has("avx512vl");
  target.vectorBits = target.avx512 ? 512 : has("avx") ? 256 : 128;
  // Held back by ISTHMUS_MAX_ISA: LLVM's own levels, and nothing of this machine's besides.
  const Isa isa = hostIsa();
  if ((isa < Isa::kV4 && target.avx512) || (isa < Isa::kV3 && has("avx2"))) {
    target.cpu = isa == Isa::kV3 ? "x86-64-v3" : "x86-64-v2";
    target.features.clear();
    target.avx512 = false;
    target.fma = target.convertsF16 = isa == Isa::kV3;
    target.vectorBits = isa == Isa::kV3 ? 256 : 128;
  }
  // AVX2's gathers issue the same loads as are made one by one, and are slow where microcode guards
  // them against gather data sampling. All of AMD's are microcode, which waits for each one's
  // loads.
  const bool isAmd = llvm::StringRef(target.cpu).starts_with("znver");
  target.gathers = target.avx512 && !isAmd;
  target.roundsToBf16 = target.avx512 && isa >= Isa::kBf16 && has("avx512bf16");
  target.avx512Vbmi = target.avx512 && has("avx512vbmi");
  // Any two registers are shuffled by one instruction of AVX-512, by three or more before.
  target.maxInterleave = target.avx512 ? 16 : 4;
  // Of Zen 3; newer cores have more. Of AVX-512, code generation has instructions for whole
  // registers only.
  target.instructionsInFlight = target.avx512 ? 0 : 256;
  if (const int64_t bytes = secondLevelCacheBytes(); bytes > 0) target.l2Bytes = bytes;
  return target;
}

}  // namespace

const TargetModel& hostTarget() {
  static const TargetModel target = detectHost();
  return target;
}

std::string missingFeatures(std::string_view needed, std::string_view available) {
  std::set<std::string_view> here = presentFeatures(available);
  std::string missing;
  for (std::string_view feature : presentFeatures(needed)) {
    if (here.count(feature) != 0) continue;
    if (!missing.empty()) missing += ", ";
    missing += feature;
  }
  return missing;
}

Status checkFeatures(std::string_view needed) {
  std::string missing = missingFeatures(needed, hostTarget().features);
  if (missing.empty()) return {};
  return failedPrecondition("the executable needs CPU features that are missing here: ", missing);
}

}  // namespace isthmus::cpu

// A compiled program of the CPU backend: native code, its constants and what callers may ask.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backends/cpu/abi.h"
#include "backends/cpu/load/object_loader.h"
#include "backends/cpu/profile/program_trace.h"
#include "base/program/constant_pool.h"
#include "isthmus/backend.h"
#include "runtime/ffi/call_site.h"

namespace isthmus::cpu {

// Everything that makes up an executable; what is serialized.
struct ProgramImage {
  ProgramInfo info;
  std::vector<std::string> objects;  // ELF object files; one defines isthmus_main
  std::string constants;             // the constant pool
  int64_t arenaBytes = 0;
  double estimatedNs = 0;            // of one run
  bool mayBlock = false;             // waits for other devices
  bool callsUserCode = false;        // custom calls, which may take long or launch others
  std::vector<ffi::CallSpec> calls;  // custom calls, by the index in their descriptors
  ProgramSteps steps;                // for profiles
  std::string features;              // what the code needs of the CPU: "+avx2,+fma,…"
};

class CpuExecutable final : public Executable {
 public:
  // Loads the code into memory. kInvalidArgument if the objects are malformed.
  static StatusOr<std::shared_ptr<const Executable>> load(ProgramImage image);

  const ProgramImage& image() const { return image_; }
  const ProgramInfo& info() const override { return image_.info; }
  Status run(const RunRequest& request) const override;
  bool isCheap() const override;
  bool mayBlock() const override { return image_.mayBlock || image_.callsUserCode; }
  bool callsUserCode() const override { return image_.callsUserCode; }
  StatusOr<std::string> serialize() const override;

 private:
  explicit CpuExecutable(ProgramImage image) : image_(std::move(image)) {}
  // What both kinds of run share: memory for temporaries, and the call.
  Status runMain(IsthmusRun& run) const;
  Status runTraced(const RunRequest& request) const;

  ProgramImage image_;
  std::unique_ptr<LoadedCode> code_;
  AlignedBytes constants_;
  CallSites callSites_;
  IsthmusMain main_ = nullptr;
  mutable std::once_flag eventsOnce_;
  mutable std::shared_ptr<const ProgramEvents> events_;  // made by the first run that is traced
};

}  // namespace isthmus::cpu

// A compiled program on the devices of one driver.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "backends/cuda/driver/blas.h"
#include "backends/cuda/driver/dnn/dnn.h"
#include "backends/cuda/driver/driver.h"
#include "backends/cuda/driver/nccl.h"
#include "backends/cuda/executable/program.h"
#include "backends/cuda/launch/graph_cache.h"
#include "backends/cuda/launch/launch_choice.h"
#include "backends/cuda/launch/program_graph.h"
#include "backends/cuda/launch/scratch_arena.h"
#include "backends/cuda/queue.h"
#include "backends/shared/staging/staged_executable.h"
#include "base/memory/program_memory.h"
#include "isthmus/backend.h"

namespace isthmus::cuda {

// What programs run by. All outlive all executables.
struct Libraries {
  Driver* driver = nullptr;
  PinnedPool* pinned = nullptr;
  Blas* blas = nullptr;                                   // null: programs call none of it
  Dnn* dnn = nullptr;                                     // null: neither of this
  Nccl* nccl = nullptr;                                   // null: collectives are the host's
  std::span<const std::unique_ptr<ScratchArena>> arenas;  // by device
};

class CudaExecutable final : public StagedExecutable {
 public:
  // Loads the kernels on each device and uploads the constants; a device that is lost, or has no
  // memory now, says so when it is to run the program, which others may. `identity`:
  // CompileTarget::identity() of what it was compiled for, which serialized bytes have.
  static StatusOr<std::shared_ptr<const Executable>> load(const Libraries& libraries,
                                                          std::string identity, ProgramImage image);

  // Enqueues all steps on the device's stream; blocks where control flow needs a predicate, or the
  // host has a part.
  StatusOr<DeviceEventRef> enqueue(const RunRequest& request, DeviceEvents after) const override;
  // Straight programs use the device's arena.
  size_t scratchBytes() const override {
    return isStraight_ ? 0 : static_cast<size_t>(usedScratchBytes_);
  }
  bool isCheap() const override { return isShort_; }
  StatusOr<std::string> serialize() const override;

 private:
  class Run;

  // One of both.
  struct LibraryPlan {
    std::shared_ptr<const BlasPlan> product;
    std::shared_ptr<const DnnPlan> dnn;
  };
  // What each device has of the program.
  struct OnDevice {
    OnDevice(Driver& driver, int device) : driver(driver), device(device) {}
    ~OnDevice() { driver.free(device, Queue::kTransfer, constants); }
    OnDevice(const OnDevice&) = delete;
    OnDevice& operator=(const OnDevice&) = delete;

    Driver& driver;
    const int device;
    std::unique_ptr<DeviceModule> module;
    std::vector<CUfunction> kernels;
    std::vector<LibraryPlan> calls;
    bool recordsCalls = true;  // all of them may be part of a graph
    void* constants = nullptr;
    ProgramMemory::Block counted;
    // One of both is used: the second by programs that call no library.
    std::unique_ptr<GraphCache> graphs;
    std::unique_ptr<ProgramGraph> graph;
    std::unique_ptr<LaunchChoice> choice;
  };

  CudaExecutable(const Libraries& libraries, std::string identity, ProgramImage image)
      : driver_(*libraries.driver),
        pinned_(*libraries.pinned),
        blas_(libraries.blas),
        dnn_(libraries.dnn),
        nccl_(libraries.nccl),
        arenas_(libraries.arenas),
        identity_(std::move(identity)),
        image_(std::move(image)) {}
  // How runs are enqueued.
  void planRuns();
  // What the device has, from the first call that finds room on.
  StatusOr<const OnDevice*> on(int device) const;
  Status loadOn(int device, OnDevice& own) const;
  StatusOr<LibraryPlan> planOn(int device, const LibraryWork& work) const;
  // Waits for what was enqueued; an error says what may have gone wrong.
  Status finish(int device) const;
  const StagedProgram& program() const override { return image_; }
  // "program f with kernel0 (stablehlo.add at model.py:7:3)": the first few kernels, and all of
  // them.
  WorkText faultText() const;
  std::string ofProgram() const { return " of program " + image_.info.name; }

  Driver& driver_;
  PinnedPool& pinned_;
  Blas* blas_;
  Dnn* dnn_;
  Nccl* nccl_;
  std::span<const std::unique_ptr<ScratchArena>> arenas_;
  std::string identity_;
  ProgramImage image_;
  // All steps are enqueued without reading anything: so few that they can be a graph, which is
  // wanted.
  bool isStraight_ = false;
  bool isShort_ = false;
  bool usesGraphs_ = false;
  int64_t usedScratchBytes_ = 0;  // the program's own, and what is kept aside in a swap
  int64_t swapOffset_ = 0;
  std::shared_ptr<const WorkText> faultText_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<OnDevice>>
      devices_;  // null: not loaded; guarded by the mutex
};

}  // namespace isthmus::cuda

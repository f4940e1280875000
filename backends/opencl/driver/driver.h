// One OpenCL context with its devices: queues, memory and programs, with errors as Status.
//
// Queues keep no order: each command waits for the events that it is given, of any device, and
// gives one for its end. A command whose event has failed fails those that wait for it.
//
// Memory is addresses: Intel's unified shared memory where GPUs have it, else OpenCL 2's
// shared virtual memory. Either way kernels may be given any address inside an allocation, so that
// a program's arena is one allocation. All devices of a context see each other's memory.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "backends/opencl/driver/library.h"
#include "isthmus/status.h"

namespace isthmus::opencl {

// What a device says of itself.
struct DeviceFacts {
  std::string platform;  // "Intel(R) OpenCL"
  std::string name;
  std::string version;        // "OpenCL 3.1 …"
  std::string driverVersion;  // of the driver
  bool isCpu = false;
  bool takesSpirv = false;      // clCreateProgramWithIL
  bool hasDoubles = false;      // cl_khr_fp64
  bool hasHalves = false;       // cl_khr_fp16
  bool hasLongAtomics = false;  // cl_khr_int64_base_atomics and cl_khr_int64_extended_atomics
  bool hasUsm = false;          // cl_intel_unified_shared_memory
  bool hasSvm = false;          // coarse-grained shared virtual memory
  bool hasFineSvm = false;      // fine-grained: the host may use it without mapping
  bool hasNoOrder = false;      // queues may be out of order
  // cl_intel_subgroup_matrix_multiply_accumulate, for sub-groups of 16 threads, in SPIR-V.
  bool hasMatrices = false;
  // Work-items of sub-groups of 16, which kernels may ask for, read each other's registers.
  bool hasSubgroupShuffle = false;
  uint64_t memoryBytes = 0;        // of a CPU, what is not left to the host
  uint64_t localBytes = 0;         // per work-group
  uint64_t parameterBytes = 1024;  // of a kernel, together; all devices have as many
  size_t maxWorkGroupItems = 1;
  unsigned computeUnits = 1;
  unsigned vectorBits = 0;  // of the registers that its compiler makes vectors for
  // How many commands of a queue may be pending at a time.
  size_t maxPending = 4096;

  // What code for the device depends on.
  std::string identity() const;
};

// The end of a command; copies are the same one. Null by default.
class CommandEvent {
 public:
  CommandEvent() = default;
  // Takes over the caller's reference.
  CommandEvent(const Library& library, cl_event event) : library_(&library), event_(event) {}
  CommandEvent(const CommandEvent& other);
  CommandEvent(CommandEvent&& other) noexcept { swap(other); }
  CommandEvent& operator=(CommandEvent other) noexcept {
    swap(other);
    return *this;
  }
  ~CommandEvent();

  explicit operator bool() const { return event_ != nullptr; }
  cl_event handle() const { return event_; }
  // Nothing while the command is not over; then CL_SUCCESS or what it failed with.
  std::optional<cl_int> outcome() const;
  bool isOver() const { return outcome().has_value(); }
  // Blocks until it is over. OK, or the error.
  Status await() const;
  // The same; nothing, at once, where another thread waits in the driver and this one would have to
  // wait for that.
  std::optional<Status> awaitAlone() const;
  // When it began and ended, in nanoseconds of the device's clock. Only of commands on
  // Queue::kTimed that are over.
  struct Times {
    int64_t beginNs = 0;
    int64_t endNs = 0;
  };
  std::optional<Times> times() const;

 private:
  Status awaitInTurn() const;
  void swap(CommandEvent& other) noexcept {
    std::swap(library_, other.library_);
    std::swap(event_, other.event_);
  }

  const Library* library_ = nullptr;
  cl_event event_ = nullptr;
};
using CommandEvents = std::span<const CommandEvent>;

// A queue of the driver, with a bound on its pending commands.
class CommandQueue {
 public:
  CommandQueue(const Library& library, cl_command_queue queue, size_t maxPending)
      : library_(library), queue_(queue), maxPending_(maxPending) {}
  CommandQueue(const CommandQueue&) = delete;
  CommandQueue& operator=(const CommandQueue&) = delete;

  cl_command_queue handle() const { return queue_; }
  Status flush();
  // To be called before each command is enqueued. Where too many are pending, waits until half of
  // them are over, however they end.
  Status makeRoom();
  // The event of a command that has been enqueued, whose reference this takes over.
  CommandEvent take(cl_event event);

 private:
  const Library& library_;
  const cl_command_queue queue_;
  const size_t maxPending_;
  std::mutex mutex_;
  std::deque<CommandEvent> pending_;  // and some that are over; oldest first
};

// Work-items of a launch and of its groups.
struct GroupShape {
  std::array<size_t, 3> global;
  std::array<size_t, 3> local;
};

// A built program. Kernels are made by those who launch them, since setting an argument is not
// safe from two threads.
class Program {
 public:
  Program(const Library& library, cl_program program) : library_(library), program_(program) {}
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  cl_program handle() const { return program_; }

 private:
  const Library& library_;
  cl_program program_;
};

// One thread that runs what it is given, one after the other; callers wait. Ends with its owner.
class BuildThread {
 public:
  BuildThread() = default;
  ~BuildThread();
  void run(const std::function<void()>& work);

 private:
  void loop();

  std::mutex callers_;  // held by the one whose work is done
  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void()>* work_ = nullptr;
  bool ends_ = false;
  std::thread thread_;  // started by the first work
};

class Driver {
 public:
  // `library` as loadLibrary takes it. `wanted` is a part of the name of the platform or device;
  // empty means the best: GPUs before accelerators before CPUs, SPIR-V before none. `queues` is
  // how many devices a client gets; if there are fewer, each is given out several times, with
  // queues of its own; 0 means each once. kNotFound lists what there is.
  static StatusOr<std::unique_ptr<Driver>> create(const std::string& library,
                                                  const std::string& wanted, int queues);
  ~Driver() = default;  // contexts live as long as the process

  const Library& library() const { return library_; }
  int numDevices() const { return static_cast<int>(queues_.size()); }
  // Whether the host may read and write what `allocate` returns, while no command uses it.
  bool isHostAddressable() const { return isFineGrained_; }
  // Whether the host copies so few bytes sooner than it hands a copy over, where no command that
  // may use them is pending.
  bool mayHostCopy(size_t bytes) const { return isFineGrained_ && bytes <= kMaxHostCopyBytes; }
  // Whether a thread that waits for a command computes it, sooner than another one that is woken.
  bool waitersCompute() const { return library_.waitsOneByOne; }
  // How many copies and runs of programs there are that are being enqueued, or whose end nobody has
  // seen yet. Their events share it, and may outlive the driver.
  const std::shared_ptr<std::atomic<int>>& underWay() const { return underWay_; }
  const DeviceFacts& facts(int device) const { return facts_[queues_[device].physical]; }
  // A device of each kind, in the order of their ids.
  std::vector<DeviceFacts> kinds() const;
  // What code for these devices depends on: the driver, and each kind of device.
  std::string identity() const;

  // Never null; kResourceExhausted if the device has no more. Any thread. What was freed is kept
  // for the next allocation of about its size: new memory costs a page fault for each of its pages.
  // On CPUs, where much of it is still in use, blocks until that is over: a caller that runs ahead
  // would have each program compute in other memory, and none in a cache.
  StatusOr<void*> allocate(int device, size_t bytes);
  // Once `after` are over, in any way.
  void free(void* data, std::vector<CommandEvent> after = {});

  // Programs have a queue of their own, so that no copy stands in line behind one; another one
  // while a profile is recorded, since times cost something; and where waiters compute, one that
  // keeps order, for programs that a thread waits for: by Intel's driver for CPUs it then goes on
  // from command to command, but without an order it leaves the second to a thread that is woken.
  enum class Queue { kPrograms, kCopies, kTimed, kInOrder };
  // Commands after those in `after`, of which none is null. They need not begin before `flush`, and
  // must not be waited for before. Copies are of at least one byte, to another place.
  StatusOr<CommandEvent> copy(int device, Queue queue, void* to, const void* from, size_t bytes,
                              CommandEvents after);
  StatusOr<CommandEvent> launch(int device, Queue queue, cl_kernel kernel, const GroupShape& shape,
                                CommandEvents after);
  // Computes nothing. `after` is not empty.
  StatusOr<CommandEvent> join(int device, Queue queue, CommandEvents after);
  Status flush(int device, Queue queue);

  // Programs for all devices, which take subnormal numbers for zero. What the driver's compiler
  // said is part of the error. All are built by one thread: Intel's compiler for CPUs crashes when
  // threads take turns ("Invalid br record").
  StatusOr<std::unique_ptr<Program>> buildSpirv(std::string_view binary);
  StatusOr<std::unique_ptr<Program>> buildSource(std::string_view text);

  // What the driver made of a program, by kind of device, and a program of that again. A driver
  // need not take it.
  StatusOr<std::vector<std::string>> binariesOf(const Program& program) const;
  StatusOr<std::unique_ptr<Program>> buildBinaries(const std::vector<std::string>& binaries);

  StatusOr<cl_kernel> createKernel(const Program& program, const std::string& name);
  Status setPointer(cl_kernel kernel, unsigned index, const void* data);

 private:
  struct Queues {
    int physical = 0;
    std::unique_ptr<CommandQueue> programs;
    std::unique_ptr<CommandQueue> copies;
    // Made when they are first asked for.
    std::unique_ptr<CommandQueue> timed;
    std::unique_ptr<CommandQueue> inOrder;
  };
  // Events as the functions of OpenCL take them.
  class WaitList {
   public:
    // Where there are many, markers on `queue` wait for them.
    Status add(Driver& driver, CommandQueue& queue, CommandEvents after);
    std::span<const cl_event> handles() const { return handles_; }
    cl_uint size() const { return static_cast<cl_uint>(handles_.size()); }
    const cl_event* data() const { return handles_.empty() ? nullptr : handles_.data(); }

   private:
    std::vector<cl_event> handles_;
    std::vector<CommandEvent> joined_;
  };
  static constexpr size_t kMaxHostCopyBytes = 512 << 10;

  Driver() = default;
  Status findDevices(const std::string& wanted);
  Status makeQueues(int queues);
  StatusOr<CommandEvent> enqueueCopy(CommandQueue& queue, void* to, const void* from, size_t bytes,
                                     std::span<const cl_event> after);
  // A command that computes nothing.
  StatusOr<CommandEvent> enqueueMarker(CommandQueue& queue, std::span<const cl_event> after);
  StatusOr<std::unique_ptr<Program>> build(cl_program program);
  StatusOr<std::unique_ptr<CommandQueue>> makeQueue(int physical, cl_queue_properties properties);
  StatusOr<CommandQueue*> queueOf(int device, Queue queue);
  Status flushAll(int device);
  // Of each physical device, the number of its kind.
  std::vector<size_t> kindNumbers() const;
  cl_device_id deviceOf(int device) const { return devices_[queues_[device].physical]; }

  // Of a live allocation, or of one that is kept.
  struct Block {
    int physical = 0;
    size_t bytes = 0;
    auto operator<=>(const Block&) const = default;
  };
  struct Kept {
    void* data;
    std::vector<CommandEvent> after;  // not over when it was freed
    bool isUnused() const;
  };

  void* allocateByDriver(int device, size_t bytes, cl_int& code);
  // All with blocksMutex_ held.
  // Null, and `code`, if there is none.
  void* allocateNew(int device, size_t bytes, cl_int& code);
  void* takeKept(const Block& block);
  // Of this size, what was freed first of what is still in use, if that is too much to use more.
  std::vector<CommandEvent> usersOfKept(const Block& block) const;
  void release(void* data);
  // Of memory that is kept, what nobody uses any more; until so much is left.
  void releaseKept(size_t bytes);

  Library library_;
  BuildThread builder_;
  std::mutex queuesMutex_;  // of those that are made late
  std::mutex blocksMutex_;
  std::unordered_map<void*, Block> live_;
  std::map<Block, std::vector<Kept>> kept_;
  size_t keptBytes_ = 0;
  size_t usedBytes_ = 0;  // live and kept
  cl_platform_id platform_ = nullptr;
  cl_context context_ = nullptr;
  std::vector<cl_device_id> devices_;
  std::vector<DeviceFacts> facts_;
  std::vector<Queues> queues_;
  std::shared_ptr<std::atomic<int>> underWay_ = std::make_shared<std::atomic<int>>(0);
  bool isFineGrained_ = false;
  bool usesUsm_ = false;
  // On CPUs markers are copies of one of these to another: Intel's driver for CPUs now and then
  // forgets one of a thousand events, and its markers crash then, where copies fail.
  char* unusedBytes_ = nullptr;
  clDeviceMemAllocINTEL_fn deviceAlloc_ = nullptr;
  clMemBlockingFreeINTEL_fn usmFree_ = nullptr;
  clEnqueueMemcpyINTEL_fn usmCopy_ = nullptr;
  clSetKernelArgMemPointerINTEL_fn usmArgument_ = nullptr;
};

}  // namespace isthmus::opencl

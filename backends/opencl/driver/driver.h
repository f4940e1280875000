// One OpenCL context with its devices: queues, memory and programs, with errors as Status.
//
// Memory is addresses: Intel's unified shared memory where the driver has it, else OpenCL 2's
// shared virtual memory. Either way kernels may be given any address inside an allocation, so that
// a program's arena is one allocation. All devices of a context see each other's memory.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
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
  bool takesSpirv = false;  // clCreateProgramWithIL
  bool hasDoubles = false;  // cl_khr_fp64
  bool hasHalves = false;   // cl_khr_fp16: arithmetic, not only storage
  bool hasUsm = false;      // cl_intel_unified_shared_memory
  bool hasSvm = false;      // coarse-grained shared virtual memory
  uint64_t memoryBytes = 0;
  uint64_t maxAllocationBytes = 0;
  uint64_t localBytes = 0;  // per work-group
  size_t maxWorkGroupItems = 1;
  unsigned computeUnits = 1;
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
  const DeviceFacts& facts(int device) const { return facts_[queues_[device].physical]; }
  // In order: what is enqueued later sees what was enqueued before.
  cl_command_queue queue(int device) const { return queues_[device].compute; }

  // Never null; kResourceExhausted if the device has no more. Any thread. What was freed is kept
  // for the next allocation of about its size: new memory costs a page fault for each of its pages.
  StatusOr<void*> allocate(int device, size_t bytes);
  void free(void* data);

  // Done when they return. They use a queue of their own, so that they do not wait for programs.
  Status copyFromHost(int device, void* to, const void* host, size_t bytes);
  Status copyToHost(int device, const void* from, void* host, size_t bytes);
  Status copyBetween(int device, void* to, const void* from, size_t bytes);
  // Enqueued on the device's compute queue; blocks until done if `waits`.
  Status enqueueCopy(int device, void* to, const void* from, size_t bytes, bool waits = false);
  Status finish(int device);

  // Programs for all devices. What the driver's compiler said is part of the error. All are built
  // by one thread: Intel's compiler for CPUs crashes when threads take turns ("Invalid br record").
  StatusOr<std::unique_ptr<Program>> buildSpirv(std::string_view binary);
  StatusOr<std::unique_ptr<Program>> buildSource(std::string_view text, const std::string& options);

  StatusOr<cl_kernel> createKernel(const Program& program, const std::string& name);
  Status setPointer(cl_kernel kernel, unsigned index, const void* data);

 private:
  struct Queues {
    int physical = 0;
    cl_command_queue compute = nullptr;
    cl_command_queue transfer = nullptr;
  };
  Driver() = default;
  Status findDevices(const std::string& wanted);
  Status makeQueues(int queues);
  StatusOr<std::unique_ptr<Program>> build(cl_program program, const std::string& options);
  Status copyOn(cl_command_queue queue, void* to, const void* from, size_t bytes, bool waits);
  cl_device_id deviceOf(int device) const { return devices_[queues_[device].physical]; }

  void* allocateNew(int device, size_t bytes, cl_int& code);
  void release(void* data);
  void releaseKept();

  // A live allocation, or one that is kept.
  struct Block {
    int physical = 0;
    size_t bytes = 0;
  };

  Library library_;
  BuildThread builder_;
  std::mutex blocksMutex_;
  std::unordered_map<void*, Block> live_;
  std::map<std::pair<int, size_t>, std::vector<void*>> kept_;  // by device and size
  size_t keptBytes_ = 0;
  cl_platform_id platform_ = nullptr;
  cl_context context_ = nullptr;
  std::vector<cl_device_id> devices_;
  std::vector<DeviceFacts> facts_;
  std::vector<Queues> queues_;
  bool usesUsm_ = false;
  clDeviceMemAllocINTEL_fn deviceAlloc_ = nullptr;
  clHostMemAllocINTEL_fn hostAlloc_ = nullptr;
  clMemBlockingFreeINTEL_fn usmFree_ = nullptr;
  clEnqueueMemcpyINTEL_fn usmCopy_ = nullptr;
  clSetKernelArgMemPointerINTEL_fn usmArgument_ = nullptr;
};

}  // namespace isthmus::opencl

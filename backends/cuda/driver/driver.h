// The GPUs of one driver: contexts, streams, events, memory, modules and graphs, with errors as
// Status. Nothing above this folder calls CUDA.
//
// Each device has a stream for each Queue; what is enqueued on one is in order. All methods may be
// called from any thread. A fault of a kernel breaks its device for good: the call that tells of
// it, and every later one on the device, fails with kUnavailable and what was said of the fault
// first.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backends/cuda/driver/library.h"
#include "backends/cuda/driver/memory/block_cache.h"
#include "isthmus/status.h"

namespace isthmus::cuda {

// What a device says of itself.
struct DeviceFacts {
  std::string name;
  int capability = 0;  // times ten
  int units = 0;       // streaming multiprocessors
  uint64_t memoryBytes = 0;
};

struct MemoryUse {
  uint64_t usedBytes = 0, peakBytes = 0, reservedBytes = 0;
};

// What a device is at work on, for errors.
struct WorkText {
  std::string name;  // such as a program and its first kernels
  std::string all;   // what the name leaves out, for the log; empty: nothing
};

class Driver;

// A point in a stream; moves, and goes with its owner.
class DeviceEvent {
 public:
  DeviceEvent() = default;
  DeviceEvent(Driver* driver, int device, CUevent event, bool isTimed)
      : driver_(driver), device_(device), event_(event), isTimed_(isTimed) {}
  DeviceEvent(DeviceEvent&& other) noexcept { *this = std::move(other); }
  DeviceEvent& operator=(DeviceEvent&& other) noexcept;
  ~DeviceEvent();
  CUevent handle() const { return event_; }
  explicit operator bool() const { return event_ != nullptr; }

 private:
  Driver* driver_ = nullptr;
  int device_ = 0;
  CUevent event_ = nullptr;
  bool isTimed_ = false;
};

// While it exists a device's context is the thread's current one; afterwards that is what it was,
// since callers and their other libraries have contexts too.
class ContextScope {
 public:
  ContextScope() = default;
  ContextScope(const Library* library, CUcontext previous)
      : library_(library), previous_(previous) {}
  ContextScope(ContextScope&& other) noexcept { *this = std::move(other); }
  ContextScope& operator=(ContextScope&& other) noexcept {
    std::swap(library_, other.library_);
    std::swap(previous_, other.previous_);
    return *this;
  }
  ~ContextScope() {
    if (library_) library_->CtxSetCurrent(previous_);
  }

 private:
  const Library* library_ = nullptr;  // null: nothing was changed
  CUcontext previous_ = nullptr;
};

// Kernels in one device's memory.
class DeviceModule {
 public:
  DeviceModule(Driver& driver, int device, CUmodule module)
      : driver_(driver), device_(device), module_(module) {}
  ~DeviceModule();
  DeviceModule(const DeviceModule&) = delete;
  DeviceModule& operator=(const DeviceModule&) = delete;
  CUmodule handle() const { return module_; }

 private:
  Driver& driver_;
  int device_;
  CUmodule module_;
};

// Launches and copies that are put together to become a DeviceGraph.
class GraphTemplate {
 public:
  GraphTemplate(Driver& driver, int device, CUgraph graph)
      : driver_(&driver), device_(device), graph_(graph) {}
  GraphTemplate(GraphTemplate&& other) noexcept
      : driver_(other.driver_), device_(other.device_), graph_(std::exchange(other.graph_, {})) {}
  GraphTemplate& operator=(GraphTemplate&&) = delete;
  ~GraphTemplate();
  int device() const { return device_; }
  CUgraph handle() const { return graph_; }

 private:
  Driver* driver_;
  int device_;
  CUgraph graph_;
};

// Launches and copies that are launched as one.
class DeviceGraph {
 public:
  DeviceGraph(Driver& driver, GraphTemplate madeOf, CUgraphExec graph)
      : driver_(driver), madeOf_(std::move(madeOf)), graph_(graph) {}
  ~DeviceGraph();
  DeviceGraph(const DeviceGraph&) = delete;
  DeviceGraph& operator=(const DeviceGraph&) = delete;
  int device() const { return madeOf_.device(); }
  CUgraphExec handle() const { return graph_; }

 private:
  Driver& driver_;
  GraphTemplate madeOf_;  // has the nodes
  CUgraphExec graph_;
};

// Programs; copies to the device or between devices; copies to the host; buffers that come and go,
// for which nothing waits there; what is recorded instead of done: nothing else may be enqueued on
// a stream that records.
enum class Queue { kCompute, kTransfer, kDownload, kAllocate, kRecording };
inline constexpr int kNumQueues = 5;

class Driver {
 public:
  // Loads `library` and opens the devices of the numbers `wanted`, or all if there are none; or
  // `count` of these if that is not 0, the same ones several times if there are fewer. kNotFound
  // without driver or device; kFailedPrecondition for a device older than compute capability 8.0.
  static StatusOr<std::unique_ptr<Driver>> create(const std::string& library,
                                                  std::vector<int64_t> wanted, int count);
  ~Driver() = default;  // contexts live as long as the process

  int numDevices() const { return static_cast<int>(devices_.size()); }
  const DeviceFacts& facts(int device) const { return devices_[device]->facts; }
  // The driver's number of a device; several of ours may be the same GPU.
  int ordinal(int device) const { return devices_[device]->ordinal; }
  // Different ones.
  int numGpus() const;
  int version() const { return version_; }  // 12040 for CUDA 12.4
  const Library& library() const { return library_; }

  // Memory in the order of a stream: it is there for what is enqueued on `queue` afterwards, and
  // gone after what was enqueued before. kResourceExhausted when there is none. Zero bytes give an
  // address too.
  StatusOr<void*> allocate(int device, Queue queue, size_t bytes);
  // The same if there is memory as things are: makes no room, and waits for nothing.
  StatusOr<void*> tryAllocate(int device, Queue queue, size_t bytes);
  void free(int device, Queue queue, void* data);
  // The same of memory that everything enqueued before, on any stream, is done with: it may be kept
  // for takeKept(), and is no part of memoryUse() then. It goes where memory runs out.
  void keep(int device, void* data, size_t bytes);
  // Memory of exactly so many bytes that nothing uses; null if none is kept, or the device is lost.
  void* takeKept(int device, size_t bytes);
  // `free` is called where memory of the device's GPU runs out, before it is asked for again; by
  // any thread.
  void onExhausted(int device, std::function<void()> free);
  // Waits for what frees memory of the GPU, and gives back what nobody uses: for libraries that
  // have memory of their own and found none. Of several GPUs one may wait for what this thread is
  // yet to launch on another: then it waits no longer than something ends.
  Status makeRoom(int device);
  // Page-locked memory of the host, which all devices see, by any that is not lost.
  StatusOr<void*> allocateHost(size_t bytes);
  void freeHost(void* data);
  MemoryUse memoryUse(int device) const;

  // From and to any memory of host or devices. Memory of the host must stay until the copy is done.
  Status copy(int device, Queue queue, void* to, const void* from, size_t bytes);
  // Calls `function` with `argument` on a thread of the driver when all that was enqueued before is
  // done without an error. It must not call CUDA, nor wait for who does.
  Status callHost(int device, Queue queue, void (*function)(void*), void* argument);
  // Between memories of the device: `blocks` blocks of `bytes`, each so many bytes behind the last.
  Status copyBlocks(int device, Queue queue, void* to, size_t toStride, const void* from,
                    size_t fromStride, size_t bytes, size_t blocks);
  Status clear(int device, Queue queue, void* data, size_t bytes);
  // Blocks until all that was enqueued is done.
  Status synchronize(int device, Queue queue);
  // The same of a stream that is not ours; null is the default stream, on which ours never wait.
  Status synchronizeExternal(int device, CUstream stream);
  StatusOr<DeviceEvent> record(int device, Queue queue);
  // The same with a time, which makes it slower.
  StatusOr<DeviceEvent> recordTimed(int device, Queue queue);
  // Between two such events that have happened; to half a microsecond or so.
  StatusOr<int64_t> elapsedNs(int device, const DeviceEvent& begin, const DeviceEvent& end);
  // What is enqueued on `queue` afterwards waits for `event`, of any device.
  Status wait(int device, Queue queue, const DeviceEvent& event);
  StatusOr<bool> isDone(int device, const DeviceEvent& event);
  // Blocks until `event` has happened.
  Status await(int device, const DeviceEvent& event);

  // Modules, graphs and launches of either take memory of the device, for which room is made where
  // there is none: kResourceExhausted if that does not help. What the driver's compiler said is
  // part of the error.
  StatusOr<std::unique_ptr<DeviceModule>> loadModule(int device, const std::string& ptx);
  StatusOr<CUfunction> findKernel(const DeviceModule& module, int device, const std::string& name);
  // `arguments` are addresses, which are copied.
  Status launch(int device, Queue queue, CUfunction kernel, int64_t blocks, unsigned threads,
                std::span<void* const> arguments);

  // Records what `enqueue` puts on Queue::kRecording of the device; one recording at a time. An
  // error of it gives the recording up.
  StatusOr<std::unique_ptr<DeviceGraph>> recordGraph(int device,
                                                     const std::function<Status()>& enqueue);
  Status launchGraph(int device, Queue queue, const DeviceGraph& graph);

  // The same node by node, so that they can be changed: each begins after `after`, if there is one.
  // Copies are of more than 0 bytes, between memories of the device.
  StatusOr<GraphTemplate> createGraph(int device);
  StatusOr<CUgraphNode> addLaunch(GraphTemplate& graph, CUgraphNode after, CUfunction kernel,
                                  int64_t blocks, unsigned threads,
                                  std::span<void* const> arguments);
  StatusOr<CUgraphNode> addCopy(GraphTemplate& graph, CUgraphNode after, void* to, const void* from,
                                size_t bytes);
  StatusOr<std::unique_ptr<DeviceGraph>> instantiate(GraphTemplate graph);
  // Of launches of the graph from now on.
  Status updateLaunch(DeviceGraph& graph, CUgraphNode node, CUfunction kernel, int64_t blocks,
                      unsigned threads, std::span<void* const> arguments);
  Status updateCopy(DeviceGraph& graph, CUgraphNode node, void* to, const void* from, size_t bytes);

  // For libraries that enqueue by themselves, or for many calls in turn: the device's context, or
  // what broke the device.
  StatusOr<ContextScope> enter(int device) const;
  CUstream stream(int device, Queue queue) const {
    return devices_[device]->streams[static_cast<int>(queue)];
  }
  bool isLost(int device) const;
  // The first that is not lost; 0 if all are.
  int usableDevice() const;
  // `what` (such as a program and its kernels) is under way on the device until `isDone` says so:
  // whoever sees a fault first cannot tell whose it is, but who was at work.
  void setUnderWay(int device, std::shared_ptr<const WorkText> what, std::function<bool()> isDone);
  // Whether devices note what they are at (ISTHMUS_CUDA_MARK_KERNELS): then a fault tells, instead
  // of what was under way.
  bool marksWork() const { return marksWork_; }
  // Where they do: from here on the compute stream is at `what`; empty: at nothing.
  Status mark(int device, std::string what);
  // The same of what `enqueue` puts there, between which other threads put nothing.
  Status enqueueMarked(int device, std::string what, const std::function<Status()>& enqueue);

 private:
  friend class DeviceEvent;
  friend class DeviceModule;
  friend class DeviceGraph;
  friend class GraphTemplate;

  struct Device {
    CUdevice ordinal = 0;
    CUcontext context = nullptr;
    CUmemoryPool pool = nullptr;
    CUstream streams[kNumQueues] = {};  // by Queue
    DeviceFacts facts;
    std::mutex recording;
    std::mutex exhaustedMutex;
    std::vector<std::function<void()>> onExhausted;
    std::unique_ptr<BlockCache> cache;
    std::mutex eventsMutex;
    std::vector<CUevent> events;         // that nobody has, without a time
    std::recursive_mutex underWayMutex;  // who asks whether work is done may learn of a fault
    struct Work {
      std::shared_ptr<const WorkText> what;
      std::function<bool()> isDone;
    };
    std::deque<Work> underWay;
    std::mutex markOrder;   // of marks and what they are of
    std::mutex marksMutex;  // of `marks`
    struct Mark {
      uint32_t number;
      std::string what;
    };
    std::deque<Mark> marks;           // from the one that was reached last on; never empty then
    uint32_t* reachedMark = nullptr;  // its number, in page-locked memory; null: nothing is marked
    mutable std::mutex mutex;
    Status lost;
  };

  Driver() = default;
  // Marks the device as broken by what `status` says, unless it is by something else already.
  // Says what was under way, and returns what all later calls fail with.
  Status setLost(int device, const Status& status);
  // What the GPU of the device is at, as far as it is marked: " a, or b"; else empty.
  std::string markedWork(int device);
  // mark(), by whom nobody comes before.
  Status markInOrder(int device, std::string what);
  // Forgets the marks before the one that the device has reached.
  static void forgetPassedMarks(Device& device);
  // Waits for all that was enqueued; where there are several GPUs, until nothing of it has ended
  // for a while.
  Status awaitProgress(const std::vector<int>& devices);
  // Lets all who have memory that nobody uses free it.
  void freeUnused(const std::vector<int>& devices);
  // All devices of the GPU that `device` is of, which have its memory together.
  std::vector<int> devicesOfGpu(int device) const;
  StatusOr<void*> allocated(int device, CUresult code, CUdeviceptr address, size_t bytes);
  // Frees all that is kept on the GPU; whether there was anything.
  bool freeKept(int device);
  Status openDevice(int ordinal);
  StatusOr<DeviceEvent> record(int device, Queue queue, bool isTimed);
  // Lets the GPUs that are used see each other's memory, where they can.
  void connectPeers();
  // A new one, or one that was given back.
  StatusOr<CUevent> makeEvent(int device, bool isTimed);
  void giveBack(int device, CUevent event, bool isTimed);
  Status check(CUresult code, const char* call) const { return library_.check(code, call); }
  // The same of a call on the device, which is lost after some errors.
  Status check(int device, CUresult code, const char* call);
  // What `call` returns, the second time if it finds room then where it had none.
  CUresult withRoom(int device, const std::function<CUresult()>& call);

  Library library_;
  int version_ = 0;
  bool marksWork_ = false;
  std::vector<std::unique_ptr<Device>> devices_;
};

}  // namespace isthmus::cuda

#include "backends/cuda/driver/driver.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <set>
#include <thread>
#include <utility>

#include "backends/cuda/target/nvidia.h"
#include "isthmus/flags.h"
#include "isthmus/log.h"

namespace isthmus::cuda {
namespace {

// Of a device's memory, what allocations of the same sizes find at most.
constexpr size_t kKeptShare = 4;

constexpr size_t kLogBytes = 16 << 10;
constexpr size_t kMaxKeptEvents = 1024;
constexpr std::chrono::microseconds kLongestSpin{30};
// With work that frees memory, but may wait for the launch that needs it.
constexpr std::chrono::seconds kPatience{5};

// Which headers before CUDA 12.8 have no names for.
constexpr CUresult kErrorContained = 226, kErrorTensorMemoryLeak = 721;

// After these the context is of no use any more: every call on it fails.
bool isSticky(CUresult code) {
  constexpr CUresult kCodes[] = {CUDA_ERROR_DEINITIALIZED,        CUDA_ERROR_ECC_UNCORRECTABLE,
                                 CUDA_ERROR_NVLINK_UNCORRECTABLE, kErrorContained,
                                 CUDA_ERROR_ILLEGAL_ADDRESS,      CUDA_ERROR_LAUNCH_TIMEOUT,
                                 CUDA_ERROR_CONTEXT_IS_DESTROYED, CUDA_ERROR_ASSERT,
                                 CUDA_ERROR_HARDWARE_STACK_ERROR, CUDA_ERROR_ILLEGAL_INSTRUCTION,
                                 CUDA_ERROR_MISALIGNED_ADDRESS,   CUDA_ERROR_INVALID_ADDRESS_SPACE,
                                 CUDA_ERROR_INVALID_PC,           CUDA_ERROR_LAUNCH_FAILED,
                                 kErrorTensorMemoryLeak,          CUDA_ERROR_MPS_CLIENT_TERMINATED,
                                 CUDA_ERROR_EXTERNAL_DEVICE,      CUDA_ERROR_UNKNOWN};
  return std::ranges::find(kCodes, code) != std::end(kCodes);
}

CUdeviceptr addressOf(const void* data) { return reinterpret_cast<CUdeviceptr>(data); }

// CUDA takes the address of each argument, and copies what is there.
std::vector<void*> placesOf(std::span<void* const> arguments) {
  std::vector<void*> places;
  for (void* const& argument : arguments) places.push_back(const_cast<void**>(&argument));
  return places;
}

CUDA_KERNEL_NODE_PARAMS launchNode(CUfunction kernel, int64_t blocks, unsigned threads,
                                   std::vector<void*>& places) {
  CUDA_KERNEL_NODE_PARAMS node{};
  node.func = kernel;
  node.gridDimX = static_cast<unsigned>(blocks);
  node.blockDimX = threads;
  node.gridDimY = node.gridDimZ = node.blockDimY = node.blockDimZ = 1;
  node.kernelParams = places.data();
  return node;
}

// One row, whose pitch CUDA does not look at; it refuses one of 2 GiB or more.
CUDA_MEMCPY3D copyNode(void* to, const void* from, size_t bytes) {
  CUDA_MEMCPY3D node{};
  node.srcMemoryType = node.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  node.srcDevice = addressOf(from);
  node.dstDevice = addressOf(to);
  node.WidthInBytes = bytes;
  node.Height = node.Depth = 1;
  return node;
}

}  // namespace

DeviceEvent& DeviceEvent::operator=(DeviceEvent&& other) noexcept {
  std::swap(driver_, other.driver_);
  std::swap(device_, other.device_);
  std::swap(event_, other.event_);
  std::swap(isTimed_, other.isTimed_);
  return *this;
}

DeviceEvent::~DeviceEvent() {
  if (event_) driver_->giveBack(device_, event_, isTimed_);
}

DeviceModule::~DeviceModule() {
  if (auto scope = driver_.enter(device_); scope.ok()) driver_.library_.ModuleUnload(module_);
}

GraphTemplate::~GraphTemplate() {
  if (!graph_) return;
  if (auto scope = driver_->enter(device_); scope.ok()) driver_->library_.GraphDestroy(graph_);
}

DeviceGraph::~DeviceGraph() {
  if (auto scope = driver_.enter(device()); scope.ok()) driver_.library_.GraphExecDestroy(graph_);
}

StatusOr<std::unique_ptr<Driver>> Driver::create(const std::string& library,
                                                 std::vector<int64_t> wanted, int count) {
  std::unique_ptr<Driver> driver(new Driver);
  ISTHMUS_ASSIGN_OR_RETURN(driver->library_, loadLibrary(library));
  driver->marksWork_ = flagBool("ISTHMUS_CUDA_MARK_KERNELS");
  ISTHMUS_RETURN_IF_ERROR(
      driver->check(driver->library_.DriverGetVersion(&driver->version_), "cuDriverGetVersion"));
  int physical = 0;
  ISTHMUS_RETURN_IF_ERROR(
      driver->check(driver->library_.DeviceGetCount(&physical), "cuDeviceGetCount"));
  if (physical < 1) return notFound("the NVIDIA driver at ", library, " has no device");
  if (wanted.empty()) {
    for (int i = 0; i < physical; ++i) wanted.push_back(i);
  }
  size_t number = count == 0 ? wanted.size() : static_cast<size_t>(count);
  for (size_t i = 0; i < number; ++i) {
    int64_t ordinal = wanted[i % wanted.size()];
    if (ordinal < 0 || ordinal >= physical) {
      return notFound("there is no CUDA device ", ordinal, ", but ", physical, " of them");
    }
    ISTHMUS_RETURN_IF_ERROR(driver->openDevice(static_cast<int>(ordinal)));
  }
  ISTHMUS_ASSIGN_OR_RETURN(ContextScope scope, driver->enter(0));
  driver->connectPeers();
  return driver;
}

int Driver::numGpus() const {
  std::set<CUdevice> gpus;
  for (const std::unique_ptr<Device>& device : devices_) gpus.insert(device->ordinal);
  return static_cast<int>(gpus.size());
}

// Stream-ordered memory is its own device's alone otherwise: copies between devices then go by the
// host.
void Driver::connectPeers() {
  std::set<std::pair<CUdevice, CUdevice>> known;
  for (const std::unique_ptr<Device>& owner : devices_) {
    for (const std::unique_ptr<Device>& peer : devices_) {
      if (owner->ordinal == peer->ordinal) continue;
      if (!known.emplace(owner->ordinal, peer->ordinal).second) continue;
      int canAccess = 0;
      Status status = check(library_.DeviceCanAccessPeer(&canAccess, peer->ordinal, owner->ordinal),
                            "cuDeviceCanAccessPeer");
      if (status.ok() && !canAccess) continue;
      CUmemAccessDesc access{CU_MEM_LOCATION_TYPE_DEVICE, peer->ordinal,
                             CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
      if (status.ok()) {
        status = check(library_.MemPoolSetAccess(owner->pool, &access, 1), "cuMemPoolSetAccess");
      }
      if (!status.ok()) {
        log(LogLevel::kWarning, "cuda: device ", peer->ordinal, " cannot use the memory of device ",
            owner->ordinal, ": ", status.message());
      }
    }
  }
}

Status Driver::openDevice(int ordinal) {
  auto device = std::make_unique<Device>();
  ISTHMUS_RETURN_IF_ERROR(check(library_.DeviceGet(&device->ordinal, ordinal), "cuDeviceGet"));
  char name[256] = "";
  ISTHMUS_RETURN_IF_ERROR(
      check(library_.DeviceGetName(name, sizeof(name) - 1, device->ordinal), "cuDeviceGetName"));
  device->facts.name = name;
  auto attribute = [&](CUdeviceAttribute which, int& value) {
    return check(library_.DeviceGetAttribute(&value, which, device->ordinal),
                 "cuDeviceGetAttribute");
  };
  int major = 0, minor = 0, hasPools = 0;
  ISTHMUS_RETURN_IF_ERROR(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, major));
  ISTHMUS_RETURN_IF_ERROR(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, minor));
  ISTHMUS_RETURN_IF_ERROR(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device->facts.units));
  ISTHMUS_RETURN_IF_ERROR(attribute(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, hasPools));
  device->facts.capability = 10 * major + minor;
  if (device->facts.capability < kOldestCapability) {
    return failedPrecondition("device ", ordinal, ", ", name, ", has compute capability ", major,
                              ".", minor, ", expected 8.0 or newer");
  }
  if (!hasPools) {
    return failedPrecondition("device ", ordinal, ", ", name,
                              ", has no stream-ordered allocation (memory pools)");
  }
  size_t bytes = 0;
  ISTHMUS_RETURN_IF_ERROR(
      check(library_.DeviceTotalMem(&bytes, device->ordinal), "cuDeviceTotalMem"));
  device->facts.memoryBytes = bytes;
  device->cache = std::make_unique<BlockCache>(bytes / kKeptShare);
  ISTHMUS_RETURN_IF_ERROR(check(library_.DevicePrimaryCtxRetain(&device->context, device->ordinal),
                                "cuDevicePrimaryCtxRetain"));
  CUcontext current = nullptr;
  ISTHMUS_RETURN_IF_ERROR(check(library_.CtxGetCurrent(&current), "cuCtxGetCurrent"));
  ISTHMUS_RETURN_IF_ERROR(check(library_.CtxSetCurrent(device->context), "cuCtxSetCurrent"));
  ContextScope scope(&library_, current);
  ISTHMUS_RETURN_IF_ERROR(check(library_.DeviceGetDefaultMemPool(&device->pool, device->ordinal),
                                "cuDeviceGetDefaultMemPool"));
  // What was freed stays with the process: to ask for it again takes long.
  uint64_t threshold = std::numeric_limits<uint64_t>::max();
  ISTHMUS_RETURN_IF_ERROR(check(
      library_.MemPoolSetAttribute(device->pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold),
      "cuMemPoolSetAttribute"));
  for (CUstream& one : device->streams) {
    ISTHMUS_RETURN_IF_ERROR(
        check(library_.StreamCreate(&one, CU_STREAM_NON_BLOCKING), "cuStreamCreate"));
  }
  if (marksWork_) {
    // The host's: what is in the memory of a device cannot be read after a fault.
    void* reached = nullptr;
    ISTHMUS_RETURN_IF_ERROR(
        check(library_.MemHostAlloc(&reached, sizeof(uint32_t), CU_MEMHOSTALLOC_PORTABLE),
              "cuMemHostAlloc"));
    device->reachedMark = new (reached) uint32_t(0);
    device->marks.push_back({0, ""});
  }
  devices_.push_back(std::move(device));
  return {};
}

StatusOr<ContextScope> Driver::enter(int device) const {
  const Device& one = *devices_[device];
  {
    std::lock_guard lock(one.mutex);
    if (!one.lost.ok()) return one.lost;
  }
  CUcontext current = nullptr;
  ISTHMUS_RETURN_IF_ERROR(check(library_.CtxGetCurrent(&current), "cuCtxGetCurrent"));
  if (current == one.context) return ContextScope();
  ISTHMUS_RETURN_IF_ERROR(check(library_.CtxSetCurrent(one.context), "cuCtxSetCurrent"));
  return ContextScope(&library_, current);
}

Status Driver::check(int device, CUresult code, const char* call) {
  Status status = check(code, call);
  return isSticky(code) ? setLost(device, status) : status;
}

Status Driver::setLost(int device, const Status& status) {
  constexpr size_t kMaxNamed = 3;
  Device& one = *devices_[device];
  std::string text = "device " + std::to_string(device) +
                     " was lost by an earlier error: " + std::string(status.message());
  std::string rest;
  if (const std::string at = markedWork(device); !at.empty()) {
    text += "; it was at" + at;
  } else {
    std::lock_guard lock(one.underWayMutex);
    for (size_t i = 0; i < std::min(one.underWay.size(), kMaxNamed); ++i) {
      const WorkText& what = *one.underWay[i].what;
      text += (i == 0 ? "; under way: " : "; then: ") + what.name;
      if (!what.all.empty()) rest += "\n" + what.all;
    }
  }
  std::lock_guard lock(one.mutex);
  if (!one.lost.ok()) return one.lost;
  one.lost = Status(StatusCode::kUnavailable, text);
  if (!rest.empty()) log(LogLevel::kError, "cuda: ", text, "; all of it:", rest);
  return one.lost;
}

// Devices that share a GPU are lost together, whose fault it was.
std::string Driver::markedWork(int device) {
  std::string text;
  for (int other : devicesOfGpu(device)) {
    Device& one = *devices_[other];
    if (!one.reachedMark) continue;
    std::lock_guard lock(one.marksMutex);
    forgetPassedMarks(one);
    if (one.marks.front().what.empty()) continue;
    text += (text.empty() ? " " : ", or ") + one.marks.front().what;
  }
  return text;
}

// Numbers start anew after 2^32, but not so many are under way.
void Driver::forgetPassedMarks(Device& device) {
  const uint32_t reached =
      std::atomic_ref<uint32_t>(*device.reachedMark).load(std::memory_order_acquire);
  auto isPassed = [&](const Device::Mark& mark) {
    return static_cast<int32_t>(mark.number - reached) < 0;
  };
  while (isPassed(device.marks.front())) device.marks.pop_front();
}

Status Driver::markInOrder(int device, std::string what) {
  Device& one = *devices_[device];
  uint32_t number = 0;
  {
    std::lock_guard lock(one.marksMutex);
    forgetPassedMarks(one);
    number = one.marks.back().number + 1;
    one.marks.push_back({number, std::move(what)});
  }
  ISTHMUS_ASSIGN_OR_RETURN(ContextScope scope, enter(device));
  return check(device,
               library_.StreamWriteValue32(stream(device, Queue::kCompute),
                                           addressOf(one.reachedMark), number, 0),
               "cuStreamWriteValue32");
}

Status Driver::mark(int device, std::string what) {
  std::lock_guard order(devices_[device]->markOrder);
  return markInOrder(device, std::move(what));
}

Status Driver::enqueueMarked(int device, std::string what, const std::function<Status()>& enqueue) {
  std::lock_guard order(devices_[device]->markOrder);
  ISTHMUS_RETURN_IF_ERROR(markInOrder(device, std::move(what)));
  return enqueue();
}

void Driver::setUnderWay(int device, std::shared_ptr<const WorkText> what,
                         std::function<bool()> isDone) {
  if (isLost(device)) return;
  Device& one = *devices_[device];
  std::lock_guard lock(one.underWayMutex);
  while (!one.underWay.empty() && one.underWay.front().isDone()) one.underWay.pop_front();
  one.underWay.push_back({std::move(what), std::move(isDone)});
}

bool Driver::isLost(int device) const {
  const Device& one = *devices_[device];
  std::lock_guard lock(one.mutex);
  return !one.lost.ok();
}

int Driver::usableDevice() const {
  for (int device = 0; device < numDevices(); ++device) {
    if (!isLost(device)) return device;
  }
  return 0;
}

StatusOr<void*> Driver::allocate(int device, Queue queue, size_t bytes) {
  ISTHMUS_ASSIGN_OR_RETURN(ContextScope scope, enter(device));
  CUdeviceptr address = 0;
  auto allocate = [&] {
    return library_.MemAllocAsync(&address, std::max<size_t>(bytes, 1), stream(device, queue));
  };
  CUresult code = allocate();
  // In the order of the streams, without waiting for them.
  if (code == CUDA_ERROR_OUT_OF_MEMORY && freeKept(device)) code = allocate();
  if (code == CUDA_ERROR_OUT_OF_MEMORY) {
    ISTHMUS_RETURN_IF_ERROR(makeRoom(device));
    code = allocate();
    // What other threads have freed meanwhile was kept.
    while (code == CUDA_ERROR_OUT_OF_MEMORY && freeKept(device)) code = allocate();
  }
  return this->allocated(device, code, address, bytes);
}

StatusOr<void*> Driver::tryAllocate(int device, Queue queue, size_t bytes) {
  ISTHMUS_ASSIGN_OR_RETURN(ContextScope scope, enter(device));
  CUdeviceptr address = 0;
  const CUresult code =
      library_.MemAllocAsync(&address, std::max<size_t>(bytes, 1), stream(device, queue));
  return allocated(device, code, address, bytes);
}

StatusOr<void*> Driver::allocated(int device, CUresult code, CUdeviceptr address, size_t bytes) {
  if (code == CUDA_ERROR_OUT_OF_MEMORY) {
    MemoryUse use = memoryUse(device);
    return resourceExhausted("device ", device, " (", facts(device).name, ") has no memory for ",
                             bytes, " bytes: ", use.usedBytes, " of ", facts(device).memoryBytes,
                             " are in use by this process");
  }
  ISTHMUS_RETURN_IF_ERROR(check(device, code, "cuMemAllocAsync"));
  return reinterpret_cast<void*>(address);
}

std::vector<int> Driver::devicesOfGpu(int device) const {
  std::vector<int> same;
  for (int other = 0; other < numDevices(); ++other) {
    if (ordinal(other) == ordinal(device)) same.push_back(other);
  }
  return same;
}

Status Driver::makeRoom(int device) {
  const std::vector<int> sharing = devicesOfGpu(device);
  // Arenas are freed on the compute stream.
  freeUnused(sharing);
  ISTHMUS_RETURN_IF_ERROR(awaitProgress(sharing));
  // Buffers whose users have ended meanwhile, on a stream that waits for nothing.
  freeUnused(sharing);
  for (int one : sharing) ISTHMUS_RETURN_IF_ERROR(synchronize(one, Queue::kAllocate));
  // What the pool keeps in pieces may be enough as a whole.
  return check(device, library_.MemPoolTrimTo(devices_[device]->pool, 0), "cuMemPoolTrimTo");
}

void Driver::freeUnused(const std::vector<int>& devices) {
  for (int one : devices) {
    std::lock_guard lock(devices_[one]->exhaustedMutex);
    for (const auto& free : devices_[one]->onExhausted) free();
  }
  freeKept(devices.front());
}

Status Driver::awaitProgress(const std::vector<int>& devices) {
  struct End {
    int device;
    DeviceEvent event;
  };
  std::vector<End> ends;
  const bool mayWaitForUs = numGpus() > 1;
  for (int one : devices) {
    for (Queue freeing : {Queue::kCompute, Queue::kTransfer, Queue::kDownload}) {
      if (!mayWaitForUs) {
        ISTHMUS_RETURN_IF_ERROR(synchronize(one, freeing));
        continue;
      }
      ISTHMUS_ASSIGN_OR_RETURN(DeviceEvent event, record(one, freeing));
      ends.push_back({one, std::move(event)});
    }
  }
  auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (true) {
    bool isProgress = false;
    for (size_t i = ends.size(); i-- > 0;) {
      ISTHMUS_ASSIGN_OR_RETURN(bool isOver, isDone(ends[i].device, ends[i].event));
      if (!isOver) continue;
      ends.erase(ends.begin() + static_cast<std::ptrdiff_t>(i));
      isProgress = true;
    }
    if (ends.empty()) return {};
    const auto now = std::chrono::steady_clock::now();
    if (isProgress) deadline = now + kPatience;
    if (now >= deadline) return {};
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

CUresult Driver::withRoom(int device, const std::function<CUresult()>& call) {
  CUresult code = call();
  if (code == CUDA_ERROR_OUT_OF_MEMORY && makeRoom(device).ok()) code = call();
  return code;
}

void Driver::onExhausted(int device, std::function<void()> free) {
  std::lock_guard lock(devices_[device]->exhaustedMutex);
  devices_[device]->onExhausted.push_back(std::move(free));
}

void Driver::free(int device, Queue queue, void* data) {
  if (!data) return;
  if (auto scope = enter(device); scope.ok()) {
    library_.MemFreeAsync(addressOf(data), stream(device, queue));
  }
}

void Driver::keep(int device, void* data, size_t bytes) {
  for (void* freed : devices_[device]->cache->keep(data, bytes)) {
    free(device, Queue::kAllocate, freed);
  }
}

bool Driver::freeKept(int device) {
  bool isAny = false;
  for (int one : devicesOfGpu(device)) {
    for (void* kept : devices_[one]->cache->takeAll()) {
      free(one, Queue::kAllocate, kept);
      isAny = true;
    }
  }
  return isAny;
}

void* Driver::takeKept(int device, size_t bytes) {
  return isLost(device) ? nullptr : devices_[device]->cache->take(bytes);
}

StatusOr<void*> Driver::allocateHost(size_t bytes) {
  const int device = usableDevice();
  ISTHMUS_ASSIGN_OR_RETURN(ContextScope scope, enter(device));
  void* data = nullptr;
  ISTHMUS_RETURN_IF_ERROR(check(
      device, library_.MemHostAlloc(&data, std::max<size_t>(bytes, 1), CU_MEMHOSTALLOC_PORTABLE),
      "cuMemHostAlloc"));
  return data;
}

void Driver::freeHost(void* data) {
  if (!data) return;
  if (auto scope = enter(usableDevice()); scope.ok()) library_.MemFreeHost(data);
}

MemoryUse Driver::memoryUse(int device) const {
  MemoryUse use;
  StatusOr<ContextScope> scope = enter(device);
  if (!scope.ok()) return use;
  CUmemoryPool pool = devices_[device]->pool;
  library_.MemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &use.usedBytes);
  library_.MemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &use.peakBytes);
  library_.MemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &use.reservedBytes);
  for (int one : devicesOfGpu(device)) {
    use.usedBytes -= std::min<uint64_t>(use.usedBytes, devices_[one]->cache->bytes());
  }
  return use;
}

Status Driver::copy(int device, Queue queue, void* to, const void* from, size_t bytes) {
  if (bytes == 0 || to == from) return {};
  ISTHMUS_ASSIGN_OR_RETURN(ContextScope scope, enter(device));
  return check(device,
               library_.MemcpyAsync(addressOf(to), addressOf(from), bytes, stream(device, queue)),
               "cuMemcpyAsync");
}

Status Driver::callHost(int device, Queue queue, void (*function)(void*), void* argument) {
  ISTHMUS_ASSIGN_OR_RETURN(ContextScope scope, enter(device));
  return check(device, library_.LaunchHostFunc(stream(device, queue), function, argument),
               "cuLaunchHostFunc");
}

Status Driver::copyBlocks(int device, Queue queue, void* to, size_t toStride, const void* from,
                          size_t fromStride, size_t bytes, size_t blocks) {
  if (bytes == 0 || blocks == 0) return {};
  ISTHMUS_ASSIGN_OR_RETURN(ContextScope scope, enter(device));
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = addressOf(from);
  copy.srcPitch = fromStride;
  copy.dstDevice = addressOf(to);
  copy.dstPitch = toStride;
  copy.WidthInBytes = bytes;
  copy.Height = blocks;
  return check(device, library_.Memcpy2DAsync(&copy, stream(device, queue)), "cuMemcpy2DAsync");
}

Status Driver::clear(int device, Queue queue, void* data, size_t bytes) {
  if (bytes == 0) return {};
  ISTHMUS_ASSIGN_OR_RETURN(ContextScope scope, enter(device));
  return check(device, library_.MemsetD8Async(addressOf(data), 0, bytes, stream(device, queue)),
               "cuMemsetD8Async");
}

Status Driver::synchronize(int device, Queue queue) {
  ISTHMUS_ASSIGN_OR_RETURN(ContextScope scope, enter(device));
  return check(device, library_.StreamSynchronize(stream(device, queue)), "cuStreamSynchronize");
}

Status Driver::synchronizeExternal(int device, CUstream external) {
  ISTHMUS_ASSIGN_OR_RETURN(ContextScope scope, enter(device));
  return check(device, library_.StreamSynchronize(external), "cuStreamSynchronize");
}

StatusOr<DeviceEvent> Driver::record(int device, Queue queue) {
  return record(device, queue, /*isTimed=*/false);
}

StatusOr<DeviceEvent> Driver::recordTimed(int device, Queue queue) {
  return record(device, queue, /*isTimed=*/true);
}

StatusOr<int64_t> Driver::elapsedNs(int device, const DeviceEvent& begin, const DeviceEvent& end) {
  ISTHMUS_ASSIGN_OR_RETURN(ContextScope scope, enter(device));
  float milliseconds = 0;
  ISTHMUS_RETURN_IF_ERROR(
      check(device, library_.EventElapsedTime(&milliseconds, begin.handle(), end.handle()),
            "cuEventElapsedTime"));
  return static_cast<int64_t>(static_cast<double>(milliseconds) * 1e6);
}

StatusOr<CUevent> Driver::makeEvent(int device, bool isTimed) {
  if (!isTimed) {
    Device& one = *devices_[device];
    std::lock_guard lock(one.eventsMutex);
    if (!one.events.empty()) {
      CUevent event = one.events.back();
      one.events.pop_back();
      return event;
    }
  }
  CUevent event = nullptr;
  // A thread that waits for long sleeps, instead of asking without end as it does by default.
  unsigned flags = isTimed ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC;
  ISTHMUS_RETURN_IF_ERROR(check(device, library_.EventCreate(&event, flags), "cuEventCreate"));
  return event;
}

// What waits for an event waits for what was recorded last when it was told to: the event may be
// recorded anew meanwhile.
void Driver::giveBack(int device, CUevent event, bool isTimed) {
  if (!isTimed) {
    Device& one = *devices_[device];
    std::lock_guard lock(one.eventsMutex);
    if (one.events.size() < kMaxKeptEvents) {
      one.events.push_back(event);
      return;
    }
  }
  if (auto scope = enter(device); scope.ok()) library_.EventDestroy(event);
}

StatusOr<DeviceEvent> Driver::record(int device, Queue queue, bool isTimed) {
  ISTHMUS_ASSIGN_OR_RETURN(ContextScope scope, enter(device));
  ISTHMUS_ASSIGN_OR_RETURN(CUevent event, makeEvent(device, isTimed));
  DeviceEvent owned(this, device, event, isTimed);
  ISTHMUS_RETURN_IF_ERROR(
      check(device, library_.EventRecord(event, stream(device, queue)), "cuEventRecord"));
  return owned;
}

Status Driver::wait(int device, Queue queue, const DeviceEvent& event) {
  ISTHMUS_ASSIGN_OR_RETURN(ContextScope scope, enter(device));
  return check(device, library_.StreamWaitEvent(stream(device, queue), event.handle(), 0),
               "cuStreamWaitEvent");
}

StatusOr<bool> Driver::isDone(int device, const DeviceEvent& event) {
  ISTHMUS_ASSIGN_OR_RETURN(ContextScope scope, enter(device));
  CUresult code = library_.EventQuery(event.handle());
  if (code == CUDA_ERROR_NOT_READY) return false;
  ISTHMUS_RETURN_IF_ERROR(check(device, code, "cuEventQuery"));
  return true;
}

Status Driver::await(int device, const DeviceEvent& event) {
  ISTHMUS_ASSIGN_OR_RETURN(ContextScope scope, enter(device));
  // To be woken takes longer than most of what is waited for.
  auto end = std::chrono::steady_clock::now() + kLongestSpin;
  while (std::chrono::steady_clock::now() < end) {
    CUresult code = library_.EventQuery(event.handle());
    if (code != CUDA_ERROR_NOT_READY) return check(device, code, "cuEventQuery");
    std::this_thread::yield();
  }
  return check(device, library_.EventSynchronize(event.handle()), "cuEventSynchronize");
}

StatusOr<std::unique_ptr<DeviceModule>> Driver::loadModule(int device, const std::string& ptx) {
  ISTHMUS_ASSIGN_OR_RETURN(ContextScope scope, enter(device));
  std::string said(kLogBytes, '\0');
  CUjitOption options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {said.data(), reinterpret_cast<void*>(kLogBytes)};
  CUmodule module = nullptr;
  Status status = check(
      device,
      withRoom(device,
               [&] { return library_.ModuleLoadDataEx(&module, ptx.c_str(), 2, options, values); }),
      "cuModuleLoadDataEx");
  if (status.ok()) return std::make_unique<DeviceModule>(*this, device, module);
  said.resize(said.find('\0') == std::string::npos ? said.size() : said.find('\0'));
  return status.withMessage(std::string(status.message()) +
                            (said.empty() ? "" : "; the driver says: " + said));
}

StatusOr<CUfunction> Driver::findKernel(const DeviceModule& module, int device,
                                        const std::string& name) {
  ISTHMUS_ASSIGN_OR_RETURN(ContextScope scope, enter(device));
  CUfunction function = nullptr;
  ISTHMUS_RETURN_IF_ERROR(
      check(device, library_.ModuleGetFunction(&function, module.handle(), name.c_str()),
            "cuModuleGetFunction")
          .withContext(name));
  return function;
}

Status Driver::launch(int device, Queue queue, CUfunction kernel, int64_t blocks, unsigned threads,
                      std::span<void* const> arguments) {
  if (blocks == 0) return {};
  ISTHMUS_ASSIGN_OR_RETURN(ContextScope scope, enter(device));
  std::vector<void*> places = placesOf(arguments);
  auto launched = [&] {
    return library_.LaunchKernel(kernel, static_cast<unsigned>(blocks), 1, 1, threads, 1, 1, 0,
                                 stream(device, queue), places.data(), nullptr);
  };
  // Nobody may wait while a stream records.
  return check(device, queue == Queue::kRecording ? launched() : withRoom(device, launched),
               "cuLaunchKernel");
}

StatusOr<std::unique_ptr<DeviceGraph>> Driver::recordGraph(int device,
                                                           const std::function<Status()>& enqueue) {
  std::lock_guard lock(devices_[device]->recording);
  ISTHMUS_ASSIGN_OR_RETURN(ContextScope scope, enter(device));
  CUstream recording = stream(device, Queue::kRecording);
  ISTHMUS_RETURN_IF_ERROR(
      check(device, library_.StreamBeginCapture(recording, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
            "cuStreamBeginCapture"));
  Status status = enqueue();
  // Even after an error: the stream must not go on recording.
  CUgraph graph = nullptr;
  Status ended = check(device, library_.StreamEndCapture(recording, &graph), "cuStreamEndCapture");
  GraphTemplate owned(*this, device, graph);
  ISTHMUS_RETURN_IF_ERROR(status);
  ISTHMUS_RETURN_IF_ERROR(ended);
  return instantiate(std::move(owned));
}

Status Driver::launchGraph(int device, Queue queue, const DeviceGraph& graph) {
  ISTHMUS_ASSIGN_OR_RETURN(ContextScope scope, enter(device));
  return check(
      device,
      withRoom(device, [&] { return library_.GraphLaunch(graph.handle(), stream(device, queue)); }),
      "cuGraphLaunch");
}

StatusOr<GraphTemplate> Driver::createGraph(int device) {
  ISTHMUS_ASSIGN_OR_RETURN(ContextScope scope, enter(device));
  CUgraph graph = nullptr;
  ISTHMUS_RETURN_IF_ERROR(check(device, library_.GraphCreate(&graph, 0), "cuGraphCreate"));
  return GraphTemplate(*this, device, graph);
}

StatusOr<CUgraphNode> Driver::addLaunch(GraphTemplate& graph, CUgraphNode after, CUfunction kernel,
                                        int64_t blocks, unsigned threads,
                                        std::span<void* const> arguments) {
  ISTHMUS_ASSIGN_OR_RETURN(ContextScope scope, enter(graph.device()));
  std::vector<void*> places = placesOf(arguments);
  CUDA_KERNEL_NODE_PARAMS launch = launchNode(kernel, blocks, threads, places);
  CUgraphNode node = nullptr;
  ISTHMUS_RETURN_IF_ERROR(
      check(graph.device(),
            library_.GraphAddKernelNode(&node, graph.handle(), &after, after ? 1 : 0, &launch),
            "cuGraphAddKernelNode"));
  return node;
}

StatusOr<CUgraphNode> Driver::addCopy(GraphTemplate& graph, CUgraphNode after, void* to,
                                      const void* from, size_t bytes) {
  ISTHMUS_ASSIGN_OR_RETURN(ContextScope scope, enter(graph.device()));
  CUDA_MEMCPY3D copy = copyNode(to, from, bytes);
  CUgraphNode node = nullptr;
  ISTHMUS_RETURN_IF_ERROR(
      check(graph.device(),
            library_.GraphAddMemcpyNode(&node, graph.handle(), &after, after ? 1 : 0, &copy,
                                        devices_[graph.device()]->context),
            "cuGraphAddMemcpyNode"));
  return node;
}

StatusOr<std::unique_ptr<DeviceGraph>> Driver::instantiate(GraphTemplate graph) {
  ISTHMUS_ASSIGN_OR_RETURN(ContextScope scope, enter(graph.device()));
  CUgraphExec executable = nullptr;
  ISTHMUS_RETURN_IF_ERROR(
      check(graph.device(),
            withRoom(graph.device(),
                     [&] { return library_.GraphInstantiate(&executable, graph.handle(), 0); }),
            "cuGraphInstantiateWithFlags"));
  return std::make_unique<DeviceGraph>(*this, std::move(graph), executable);
}

Status Driver::updateLaunch(DeviceGraph& graph, CUgraphNode node, CUfunction kernel, int64_t blocks,
                            unsigned threads, std::span<void* const> arguments) {
  ISTHMUS_ASSIGN_OR_RETURN(ContextScope scope, enter(graph.device()));
  std::vector<void*> places = placesOf(arguments);
  CUDA_KERNEL_NODE_PARAMS launch = launchNode(kernel, blocks, threads, places);
  return check(graph.device(), library_.GraphExecKernelNodeSetParams(graph.handle(), node, &launch),
               "cuGraphExecKernelNodeSetParams");
}

Status Driver::updateCopy(DeviceGraph& graph, CUgraphNode node, void* to, const void* from,
                          size_t bytes) {
  ISTHMUS_ASSIGN_OR_RETURN(ContextScope scope, enter(graph.device()));
  CUDA_MEMCPY3D copy = copyNode(to, from, bytes);
  return check(graph.device(),
               library_.GraphExecMemcpyNodeSetParams(graph.handle(), node, &copy,
                                                     devices_[graph.device()]->context),
               "cuGraphExecMemcpyNodeSetParams");
}

}  // namespace isthmus::cuda

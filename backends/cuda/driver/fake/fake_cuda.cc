#include "backends/cuda/driver/fake/fake_cuda.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "backends/cuda/driver/api.h"
#include "backends/cuda/driver/fake/fake_streams.h"
#include "backends/cuda/driver/fake/ptx/machine.h"

namespace isthmus::cuda {
namespace {

struct Event {
  uint64_t recorded = 0;            // how often
  std::set<uint64_t> pending;       // of these
  struct Stream* stream = nullptr;  // of the last time
  bool isDone() const { return !pending.contains(recorded); }
  bool wasAsked = false;
  bool hasTime = false;
  int64_t time = 0;  // of the clock when it was done last
};

struct Work {
  std::function<CUresult()> run;
  // Waits until what was recorded by `event` the `times`-th time is done.
  Event* event = nullptr;
  uint64_t times = 0;
  bool isCopy = false;
};

struct Stream {
  int number = 0, device = 0;
  std::deque<Work> queue;
  bool isCapturing = false;
  std::vector<Work> captured;
};

// Nodes are numbers from 1 on: each follows the one before.
struct Graph {
  std::vector<Work> work;
};

struct Function {
  std::string name;
  std::shared_ptr<const ptx::Program> program;
  const ptx::Entry* entry = nullptr;
};

struct Module {
  std::shared_ptr<const ptx::Program> program;
  std::map<std::string, std::unique_ptr<Function>> functions;
};

struct Allocation {
  size_t bytes = 0;
  int device = -1;  // -1: the host's
};

// All state; one mutex for all, since speed is not asked for.
struct Fake {
  std::recursive_mutex mutex;
  bool isSetUp = false;
  int devices = 1, capability = 80;
  uint64_t memoryBytes = 0;
  std::vector<uint64_t> used, peak;
  std::map<uintptr_t, Allocation> allocations;
  std::vector<std::unique_ptr<Stream>> streams;
  // Events, modules and graphs by address; what nobody can destroy after a fault stays here.
  std::map<void*, std::shared_ptr<void>> objects;
  std::map<std::string, FakeKernel> kernels;
  std::set<std::string> faulty;
  std::map<std::string, int> counts;
  struct Failure {
    CUresult code;
    int times;
  };
  std::map<std::string, Failure> failures;  // by function
  CUresult broken = CUDA_SUCCESS;
  bool isHeld = false;
  std::string log, logCopy;
};

Fake& fake() {
  static Fake& state = *new Fake;
  return state;
}

thread_local int currentDevice = -1;

void record(const std::string& line) { fake().log += line + "\n"; }

template <typename T>
T* make(T value) {
  auto object = std::make_shared<T>(std::move(value));
  T* address = object.get();
  fake().objects[address] = std::move(object);
  return address;
}

Stream* streamOf(CUstream stream) { return reinterpret_cast<Stream*>(stream); }

// The allocation of a device or of the host's locked memory that `address` is in, or null.
const Allocation* find(CUdeviceptr address) {
  auto it = fake().allocations.upper_bound(address);
  if (it == fake().allocations.begin()) return nullptr;
  --it;
  return address < it->first + it->second.bytes ? &it->second : nullptr;
}

// Whether all of it is in one allocation, or in none: plain memory of the host.
bool isWhole(CUdeviceptr address, size_t bytes) {
  const Allocation* first = find(address);
  return bytes == 0 || first == find(address + bytes - 1);
}

CUresult enqueue(Stream* stream, Work work) {
  if (fake().broken != CUDA_SUCCESS) return fake().broken;
  if (stream->isCapturing) {
    stream->captured.push_back(std::move(work));
  } else {
    stream->queue.push_back(std::move(work));
  }
  return CUDA_SUCCESS;
}

bool canRun(const Stream& stream) {
  if (stream.queue.empty()) return false;
  const Work& first = stream.queue.front();
  return !first.event || !first.event->pending.contains(first.times);
}

// The devices' clock, which their work alone moves, and what they are said to take: what this
// machine takes depends on what else it does.
int64_t clockNs = 0;
constexpr int64_t kWorkNs = 1000;
constexpr size_t kBytesPerNs = 16;

CUresult runFirst(Stream* stream) {
  Work work = std::move(stream->queue.front());
  stream->queue.pop_front();
  if (!work.run) return CUDA_SUCCESS;
  clockNs += kWorkNs;
  return work.run();
}

// Does the work of `stream`, and of others as far as it waits for them.
CUresult drain(Stream* stream) {
  Fake& f = fake();
  while (!stream->queue.empty() && f.broken == CUDA_SUCCESS) {
    if (canRun(*stream)) {
      f.broken = runFirst(stream);
      continue;
    }
    bool isStuck = true;
    for (auto& other : f.streams) {
      if (f.broken != CUDA_SUCCESS || canRun(*stream)) break;
      if (!canRun(*other)) continue;
      f.broken = runFirst(other.get());
      isStuck = false;
    }
    if (isStuck && f.broken == CUDA_SUCCESS) f.broken = CUDA_ERROR_UNKNOWN;  // waits for ever
  }
  return f.broken;
}

constexpr CUresult kInvalidValue = 1, kInvalidContext = 201, kNoBinary = 209, kNotFound = 500,
                   kLaunchTimeout = 702, kIllegalInstruction = 715, kMisalignedAddress = 716,
                   kCaptureUnsupported = 900;
struct ErrorName {
  CUresult code;
  const char *name, *sentence;
};
constexpr ErrorName kErrors[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {kNoBinary, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {CUDA_ERROR_INVALID_PTX, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS",
     "an illegal memory access was encountered"},
    {kIllegalInstruction, "CUDA_ERROR_ILLEGAL_INSTRUCTION",
     "an illegal instruction was encountered"},
    {kMisalignedAddress, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {kLaunchTimeout, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"},
    {CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

// Memory that kernels of `device` may use, and variables of their program.
ptx::FindMemory memoryOf(const ptx::Program& program, int device) {
  return [&program, device](uint64_t address, ptx::Range& range) {
    auto variable = program.globals.upper_bound(address);
    if (variable != program.globals.begin()) {
      --variable;
      if (address - variable->first < variable->second.bytes) {
        range = {variable->first, variable->second.bytes, variable->second.isConstant};
        return true;
      }
    }
    auto it = fake().allocations.upper_bound(address);
    if (it == fake().allocations.begin()) return false;
    --it;
    bool isOurs = it->second.device < 0 || it->second.device == device;
    // Atomics on less than a word are of the whole word, as allocations of GPUs are of whole ones.
    range = {it->first, (it->second.bytes + 3) / 4 * 4, false};
    return isOurs && address - it->first < range.bytes;
  };
}

// As ptxas has it for .version 8.0 and older.
bool hasRoomForParameters(const ptx::Program& program, std::string& problem) {
  constexpr size_t kMaxBytes = 4352;
  for (const auto& [name, entry] : program.entries) {
    if (entry.parameterBytes > kMaxBytes) {
      problem = "entry function '" + name + "' uses too much parameter space";
      return false;
    }
  }
  return true;
}

CUresult codeOf(ptx::Fault::Code code) {
  switch (code) {
    case ptx::Fault::Code::kNone:
      return CUDA_SUCCESS;
    case ptx::Fault::Code::kLaunch:
      return kInvalidValue;
    case ptx::Fault::Code::kIllegalAddress:
      return CUDA_ERROR_ILLEGAL_ADDRESS;
    case ptx::Fault::Code::kMisaligned:
      return kMisalignedAddress;
    case ptx::Fault::Code::kStuck:
      return kLaunchTimeout;
    case ptx::Fault::Code::kTrap:
      return kIllegalInstruction;
    case ptx::Fault::Code::kRace:
      return CUDA_ERROR_LAUNCH_FAILED;
  }
  return CUDA_ERROR_UNKNOWN;
}

CUresult interpret(const Function& function, unsigned blocks, unsigned threads,
                   const std::vector<void*>& arguments, int device) {
  std::vector<char> parameters(function.entry->parameterBytes);
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::memcpy(parameters.data() + function.entry->parameters[i].offset, &arguments[i],
                sizeof(void*));
  }
  ptx::Launch launch;
  launch.program = function.program.get();
  launch.entry = function.entry;
  launch.blocks[0] = blocks;
  launch.threads[0] = threads;
  launch.parameters = parameters.data();
  launch.find = memoryOf(*function.program, device);
  ptx::Fault fault = ptx::run(launch);
  if (fault.code != ptx::Fault::Code::kNone) {
    record(fault.text);
    std::fprintf(stderr, "fake CUDA driver: %s\n", fault.text.c_str());
  }
  return codeOf(fault.code);
}

// What a launch does; all parameters are addresses of memory of this device, or of nothing.
CUresult launchOf(Function* function, unsigned blocks, unsigned threads, void** parameters,
                  int device, Work& work) {
  auto it = fake().kernels.find(function->name);
  FakeKernel kernel = it == fake().kernels.end() ? nullptr : it->second;
  bool isFaulty = fake().faulty.contains(function->name);
  std::vector<void*> arguments;
  for (size_t i = 0; i < function->entry->parameters.size(); ++i) {
    void* argument = nullptr;
    if (function->entry->parameters[i].bytes != sizeof(argument)) return kInvalidValue;
    std::memcpy(&argument, parameters[i], sizeof(argument));
    const Allocation* memory = find(reinterpret_cast<CUdeviceptr>(argument));
    if (argument && (!memory || (memory->device >= 0 && memory->device != device))) {
      return kInvalidValue;
    }
    arguments.push_back(argument);
  }
  // The module may be unloaded before the work is done.
  Function launched = *function;
  work.run = [=]() -> CUresult {
    if (isFaulty) return CUDA_ERROR_ILLEGAL_ADDRESS;
    for (void* argument : arguments) {
      bool isGone = argument && !find(reinterpret_cast<CUdeviceptr>(argument));
      if (isGone) return CUDA_ERROR_ILLEGAL_ADDRESS;
    }
    if (!kernel) return interpret(launched, blocks, threads, arguments, device);
    kernel(const_cast<void**>(arguments.data()), blocks, threads);
    return CUDA_SUCCESS;
  };
  return CUDA_SUCCESS;
}

CUresult workOf(const CUDA_KERNEL_NODE_PARAMS& launch, Work& work) {
  if (launch.gridDimX == 0 || launch.gridDimY != 1 || launch.gridDimZ != 1 ||
      launch.blockDimX == 0 || launch.blockDimX > 1024 || launch.blockDimY != 1 ||
      launch.blockDimZ != 1 || launch.sharedMemBytes != 0 || launch.extra != nullptr) {
    return kInvalidValue;
  }
  return launchOf(reinterpret_cast<Function*>(launch.func), launch.gridDimX, launch.blockDimX,
                  launch.kernelParams, currentDevice, work);
}

// Of GPUs to date, as CU_DEVICE_ATTRIBUTE_MAX_PITCH has it.
constexpr size_t kMaxPitch = (size_t{1} << 31) - 1;

CUresult workOf(const CUDA_MEMCPY3D& copy, CUcontext context, Work& work) {
  if (!context || copy.srcMemoryType != CU_MEMORYTYPE_DEVICE ||
      copy.dstMemoryType != CU_MEMORYTYPE_DEVICE || copy.WidthInBytes == 0 || copy.Height != 1 ||
      copy.Depth != 1 || copy.reserved0 || copy.reserved1 || copy.srcDevice == copy.dstDevice ||
      std::max(copy.srcPitch, copy.dstPitch) > kMaxPitch) {
    return kInvalidValue;
  }
  CUdeviceptr to = copy.dstDevice, from = copy.srcDevice;
  size_t bytes = copy.WidthInBytes;
  if (!find(to) || !find(from)) return kInvalidValue;
  work.isCopy = true;
  work.run = [=]() -> CUresult {
    if (!isWhole(to, bytes) || !isWhole(from, bytes)) return CUDA_ERROR_ILLEGAL_ADDRESS;
    std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
    return CUDA_SUCCESS;
  };
  return CUDA_SUCCESS;
}

CUresult addNode(Graph* graph, const CUgraphNode* after, size_t count, Work work,
                 CUgraphNode* node) {
  size_t before = graph->work.size();
  if (count > 1 || (count == 1) != (before > 0)) return kInvalidValue;
  if (count == 1 && reinterpret_cast<uintptr_t>(*after) != before) return kInvalidValue;
  graph->work.push_back(std::move(work));
  *node = reinterpret_cast<CUgraphNode>(before + 1);
  return CUDA_SUCCESS;
}

CUresult setNode(Graph* graph, CUgraphNode node, Work work) {
  auto number = reinterpret_cast<uintptr_t>(node);
  if (number < 1 || number > graph->work.size()) return kInvalidValue;
  if (graph->work[number - 1].isCopy != work.isCopy) return kInvalidValue;
  graph->work[number - 1] = std::move(work);
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace isthmus::cuda

using namespace isthmus::cuda;

void fake_cuda_enqueue(CUstream stream, const std::string& what, std::function<void()> work) {
  std::lock_guard lock(fake().mutex);
  Stream* one = streamOf(stream);
  record(what + " on stream " + std::to_string(one->number));
  enqueue(one, {[work] {
            work();
            return CUDA_SUCCESS;
          }});
}

namespace {

CUresult failureOf(const char* function) {
  auto found = fake().failures.find(function);
  if (found == fake().failures.end() || found->second.times == 0) return CUDA_SUCCESS;
  --found->second.times;
  return found->second.code;
}

}  // namespace

void fake_cuda_take(int64_t ns) { clockNs += ns; }

// Locks, and refuses calls without a context or after a fault.
#define FAKE_ENTER                                         \
  std::lock_guard fakeLock(fake().mutex);                  \
  if (currentDevice < 0) return kInvalidContext;           \
  if (fake().broken != CUDA_SUCCESS) return fake().broken; \
  if (CUresult fakeCode = failureOf(__func__)) return fakeCode;

extern "C" {

void fake_cuda_reset(int devices, int capability, uint64_t memoryBytes) {
  Fake& f = fake();
  std::lock_guard lock(f.mutex);
  for (auto& [address, allocation] : f.allocations) std::free(reinterpret_cast<void*>(address));
  f.allocations.clear();
  f.streams.clear();
  f.objects.clear();
  f.kernels.clear();
  f.faulty.clear();
  f.counts.clear();
  f.failures.clear();
  f.isHeld = false;
  f.broken = CUDA_SUCCESS;
  f.log.clear();
  f.isSetUp = true;
  f.devices = devices;
  f.capability = capability;
  f.memoryBytes = memoryBytes;
  f.used.assign(static_cast<size_t>(devices), 0);
  f.peak.assign(static_cast<size_t>(devices), 0);
}

const char* fake_cuda_log() {
  std::lock_guard lock(fake().mutex);
  fake().logCopy = fake().log;
  return fake().logCopy.c_str();
}

void fake_cuda_kernel(const char* name, FakeKernel kernel) {
  std::lock_guard lock(fake().mutex);
  fake().kernels[name] = kernel;
}

void fake_cuda_fault(const char* name) {
  std::lock_guard lock(fake().mutex);
  fake().faulty.insert(name);
}

int fake_cuda_allocations() {
  std::lock_guard lock(fake().mutex);
  return static_cast<int>(fake().allocations.size());
}

void fake_cuda_fail(const char* function, int code, int times) {
  std::lock_guard lock(fake().mutex);
  fake().failures[function] = {code, times};
}

void fake_cuda_hold(int isHeld) {
  std::lock_guard lock(fake().mutex);
  fake().isHeld = isHeld != 0;
}

int fake_cuda_count(const char* name) {
  std::lock_guard lock(fake().mutex);
  return fake().counts[name];
}

CUresult cuInit(unsigned) {
  if (!fake().isSetUp) fake_cuda_reset(1, 90, uint64_t{1} << 30);
  return fake().devices > 0 ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}
CUresult cuDriverGetVersion(int* version) {
  *version = 12040;
  return CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult code, const char** name) {
  for (const ErrorName& error : kErrors) {
    if (error.code == code) *name = error.name;
  }
  return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult code, const char** sentence) {
  for (const ErrorName& error : kErrors) {
    if (error.code == code) *sentence = error.sentence;
  }
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int* count) {
  *count = fake().devices;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  *device = ordinal;
  return ordinal < fake().devices ? CUDA_SUCCESS : kInvalidValue;
}
CUresult cuDeviceGetName(char* name, int size, CUdevice) {
  std::strncpy(name, "Fake GPU", static_cast<size_t>(size));
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdeviceAttribute attribute, CUdevice) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = fake().capability / 10;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      *value = fake().capability % 10;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      *value = 4;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
      *value = 1;
      return CUDA_SUCCESS;
    default:
      return kInvalidValue;
  }
}
CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice) {
  *bytes = fake().memoryBytes;
  return CUDA_SUCCESS;
}
// Contexts and pools are device numbers, plus one so that none is null.
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  *context = reinterpret_cast<CUcontext>(static_cast<uintptr_t>(device) + 1);
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
  *pool = reinterpret_cast<CUmemoryPool>(static_cast<uintptr_t>(device) + 1);
  return CUDA_SUCCESS;
}
CUresult cuCtxGetCurrent(CUcontext* context) {
  *context = reinterpret_cast<CUcontext>(static_cast<uintptr_t>(currentDevice + 1));
  return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext context) {
  currentDevice = static_cast<int>(reinterpret_cast<uintptr_t>(context)) - 1;
  return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream* stream, unsigned) {
  FAKE_ENTER
  auto owned = std::make_unique<Stream>();
  owned->number = static_cast<int>(fake().streams.size());
  owned->device = currentDevice;
  *stream = reinterpret_cast<CUstream>(owned.get());
  fake().streams.push_back(std::move(owned));
  return CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream stream) {
  FAKE_ENTER
  if (reinterpret_cast<uintptr_t>(stream) <= 2) {
    record("wait for default stream " + std::to_string(reinterpret_cast<uintptr_t>(stream)));
    return CUDA_SUCCESS;
  }
  if (streamOf(stream)->isCapturing) return kCaptureUnsupported;
  return drain(streamOf(stream));
}
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  FAKE_ENTER
  auto* which = reinterpret_cast<Event*>(event);
  return enqueue(streamOf(stream), {nullptr, which, which->recorded});
}
CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr address, uint32_t value,
                                 unsigned flags) {
  FAKE_ENTER
  if (flags != 0 || address % sizeof(value) != 0 || !find(address) ||
      !isWhole(address, sizeof(value))) {
    return kInvalidValue;
  }
  return enqueue(streamOf(stream), {[=] {
                   std::atomic_ref<uint32_t>(*reinterpret_cast<uint32_t*>(address))
                       .store(value, std::memory_order_release);
                   return CUDA_SUCCESS;
                 }});
}
CUresult cuStreamBeginCapture_v2(CUstream stream, int) {
  FAKE_ENTER
  Stream* one = streamOf(stream);
  if (one->isCapturing) return kCaptureUnsupported;
  one->isCapturing = true;
  return CUDA_SUCCESS;
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  FAKE_ENTER
  Stream* one = streamOf(stream);
  if (!one->isCapturing) return kCaptureUnsupported;
  one->isCapturing = false;
  *graph = reinterpret_cast<CUgraph>(make(Graph{std::move(one->captured)}));
  one->captured.clear();
  record("capture of stream " + std::to_string(one->number));
  return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent* event, unsigned flags) {
  FAKE_ENTER
  ++fake().counts["cuEventCreate"];
  Event made;
  made.hasTime = (flags & CU_EVENT_DISABLE_TIMING) == 0;
  *event = reinterpret_cast<CUevent>(make(made));
  return CUDA_SUCCESS;
}
CUresult cuEventElapsedTime(float* milliseconds, CUevent begin, CUevent end) {
  FAKE_ENTER
  auto *first = reinterpret_cast<Event*>(begin), *last = reinterpret_cast<Event*>(end);
  if (!first->hasTime || !last->hasTime || first->recorded == 0 || last->recorded == 0) {
    return kInvalidValue;
  }
  if (!first->isDone() || !last->isDone()) return CUDA_ERROR_NOT_READY;
  *milliseconds = static_cast<float>(static_cast<double>(last->time - first->time) / 1e6);
  return CUDA_SUCCESS;
}
CUresult cuEventDestroy_v2(CUevent event) {
  std::lock_guard lock(fake().mutex);
  // What waits for it was told its number already; work on streams refers to it.
  for (auto& stream : fake().streams) drain(stream.get());
  fake().objects.erase(event);
  return CUDA_SUCCESS;
}
CUresult cuEventRecord(CUevent event, CUstream stream) {
  FAKE_ENTER
  auto* one = reinterpret_cast<Event*>(event);
  uint64_t number = ++one->recorded;
  one->pending.insert(number);
  one->stream = streamOf(stream);
  return enqueue(streamOf(stream), {[one, number] {
                   one->pending.erase(number);
                   one->time = clockNs;
                   return CUDA_SUCCESS;
                 }});
}
CUresult cuEventQuery(CUevent event) {
  FAKE_ENTER
  ++fake().counts["cuEventQuery"];
  auto* one = reinterpret_cast<Event*>(event);
  // Work goes on while somebody asks again.
  for (auto& stream : fake().streams) {
    if (one->isDone() || !one->wasAsked || fake().isHeld) break;
    if (CUresult code = drain(stream.get())) return code;
  }
  one->wasAsked = true;
  return one->isDone() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}
CUresult cuEventSynchronize(CUevent event) {
  FAKE_ENTER
  auto* one = reinterpret_cast<Event*>(event);
  return one->isDone() ? CUDA_SUCCESS : drain(one->stream);
}

CUresult cuMemAllocAsync(CUdeviceptr* address, size_t bytes, CUstream stream) {
  FAKE_ENTER
  ++fake().counts["cuMemAllocAsync"];
  Fake& f = fake();
  Stream* one = streamOf(stream);
  if (bytes == 0) return kInvalidValue;
  if (one->isCapturing) return kCaptureUnsupported;
  uint64_t& used = f.used[static_cast<size_t>(one->device)];
  if (bytes > f.memoryBytes - used) return CUDA_ERROR_OUT_OF_MEMORY;
  used += bytes;
  f.peak[static_cast<size_t>(one->device)] =
      std::max(f.peak[static_cast<size_t>(one->device)], used);
  void* data = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  // What nobody has written is a NaN in every type.
  std::memset(data, 0xff, bytes);
  *address = reinterpret_cast<CUdeviceptr>(data);
  f.allocations[*address] = {bytes, one->device};
  return CUDA_SUCCESS;
}
CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  FAKE_ENTER
  ++fake().counts["cuMemFreeAsync"];
  if (!fake().allocations.contains(address)) return kInvalidValue;
  if (streamOf(stream)->isCapturing) return kCaptureUnsupported;
  return enqueue(streamOf(stream), {[address] {
                   auto it = fake().allocations.find(address);
                   if (it == fake().allocations.end()) return kInvalidValue;
                   fake().used[static_cast<size_t>(it->second.device)] -= it->second.bytes;
                   std::free(reinterpret_cast<void*>(address));
                   fake().allocations.erase(it);
                   return CUDA_SUCCESS;
                 }});
}
CUresult cuMemPoolSetAttribute(CUmemoryPool, CUmemPoolAttribute, void*) { return CUDA_SUCCESS; }
CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPoolAttribute attribute, void* value) {
  FAKE_ENTER
  size_t device = reinterpret_cast<uintptr_t>(pool) - 1;
  uint64_t number =
      attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH ? fake().peak[device] : fake().used[device];
  std::memcpy(value, &number, sizeof(number));
  return CUDA_SUCCESS;
}
CUresult cuMemPoolTrimTo(CUmemoryPool, size_t) {
  FAKE_ENTER
  ++fake().counts["cuMemPoolTrimTo"];
  return CUDA_SUCCESS;
}
CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  if (device == peer) return kInvalidValue;
  // The last of four sits on another bus.
  *can = fake().devices < 4 || (device != fake().devices - 1 && peer != fake().devices - 1);
  return CUDA_SUCCESS;
}
CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc* access, size_t count) {
  FAKE_ENTER
  auto owner = static_cast<int>(reinterpret_cast<uintptr_t>(pool)) - 1;
  for (size_t i = 0; i < count; ++i) {
    int can = 0;
    if (access[i].locationType != CU_MEM_LOCATION_TYPE_DEVICE ||
        access[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE ||
        cuDeviceCanAccessPeer(&can, access[i].locationId, owner) != CUDA_SUCCESS || !can) {
      return kInvalidValue;
    }
    record("device " + std::to_string(access[i].locationId) + " sees memory of " +
           std::to_string(owner));
  }
  return CUDA_SUCCESS;
}
CUresult cuMemHostAlloc(void** data, size_t bytes, unsigned) {
  FAKE_ENTER
  *data = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  fake().allocations[reinterpret_cast<uintptr_t>(*data)] = {bytes, -1};
  return CUDA_SUCCESS;
}
CUresult cuMemFreeHost(void* data) {
  FAKE_ENTER
  if (fake().allocations.erase(reinterpret_cast<uintptr_t>(data)) == 0) return kInvalidValue;
  std::free(data);
  return CUDA_SUCCESS;
}
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  FAKE_ENTER
  Stream* one = streamOf(stream);
  bool isOrdinary = !find(to) || !find(from);
  record("copy " + std::to_string(bytes) + (isOrdinary ? " of ordinary memory" : "") +
         " on stream " + std::to_string(one->number));
  return enqueue(one, {[=] {
                   if (!isWhole(to, bytes) || !isWhole(from, bytes)) {
                     return CUDA_ERROR_ILLEGAL_ADDRESS;
                   }
                   std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from),
                                bytes);
                   clockNs += static_cast<int64_t>(bytes / kBytesPerNs);
                   return CUDA_SUCCESS;
                 }});
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* argument) {
  FAKE_ENTER
  Stream* one = streamOf(stream);
  record("host function on stream " + std::to_string(one->number));
  return enqueue(one, {[=] {
                   function(argument);
                   return CUDA_SUCCESS;
                 }});
}

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* copy, CUstream stream) {
  FAKE_ENTER
  const CUDA_MEMCPY2D c = *copy;
  if (c.srcMemoryType != CU_MEMORYTYPE_DEVICE || c.dstMemoryType != CU_MEMORYTYPE_DEVICE ||
      c.srcXInBytes != 0 || c.srcY != 0 || c.dstXInBytes != 0 || c.dstY != 0 ||
      c.srcPitch < c.WidthInBytes || c.dstPitch < c.WidthInBytes) {
    return kInvalidValue;
  }
  return enqueue(streamOf(stream), {[c] {
                   for (size_t row = 0; row < c.Height; ++row) {
                     CUdeviceptr to = c.dstDevice + row * c.dstPitch;
                     CUdeviceptr from = c.srcDevice + row * c.srcPitch;
                     if (!find(to) || !find(from) || !isWhole(to, c.WidthInBytes) ||
                         !isWhole(from, c.WidthInBytes)) {
                       return CUDA_ERROR_ILLEGAL_ADDRESS;
                     }
                     std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from),
                                 c.WidthInBytes);
                   }
                   return CUDA_SUCCESS;
                 }});
}
CUresult cuMemsetD8Async(CUdeviceptr address, unsigned char value, size_t bytes, CUstream stream) {
  FAKE_ENTER
  return enqueue(streamOf(stream), {[=] {
                   if (!find(address) || !isWhole(address, bytes)) {
                     return CUDA_ERROR_ILLEGAL_ADDRESS;
                   }
                   std::memset(reinterpret_cast<void*>(address), value, bytes);
                   return CUDA_SUCCESS;
                 }});
}

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned count,
                            CUjitOption* options, void** values) {
  FAKE_ENTER
  Module loaded;
  std::string problem;
  loaded.program = isthmus::ptx::parse(static_cast<const char*>(image), problem);
  if (loaded.program && !hasRoomForParameters(*loaded.program, problem)) loaded.program = nullptr;
  if (!loaded.program) {
    char* said = nullptr;
    size_t bytes = 0;
    for (unsigned i = 0; i < count; ++i) {
      if (options[i] == CU_JIT_ERROR_LOG_BUFFER) said = static_cast<char*>(values[i]);
      if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) {
        bytes = reinterpret_cast<uintptr_t>(values[i]);
      }
    }
    if (said) std::snprintf(said, bytes, "ptxas fatal: %s", problem.c_str());
    return CUDA_ERROR_INVALID_PTX;
  }
  // Code for later GPUs than the device.
  const std::string& target = loaded.program->target;
  if (target.starts_with("sm_") && std::atoi(target.c_str() + 3) > fake().capability) {
    return kNoBinary;
  }
  record("module of " + std::to_string(currentDevice));
  *module = reinterpret_cast<CUmodule>(make(std::move(loaded)));
  return CUDA_SUCCESS;
}
CUresult cuModuleUnload(CUmodule module) {
  std::lock_guard lock(fake().mutex);
  fake().objects.erase(module);
  return CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  FAKE_ENTER
  auto* one = reinterpret_cast<Module*>(module);
  auto entry = one->program->entries.find(name);
  if (entry == one->program->entries.end()) return kNotFound;
  auto& slot = one->functions[name];
  if (!slot) slot = std::make_unique<Function>(Function{name, one->program, &entry->second});
  *function = reinterpret_cast<CUfunction>(slot.get());
  return CUDA_SUCCESS;
}
CUresult cuLaunchKernel(CUfunction function, unsigned x, unsigned y, unsigned z, unsigned tx,
                        unsigned ty, unsigned tz, unsigned shared, CUstream stream,
                        void** parameters, void** extra) {
  FAKE_ENTER
  if (x == 0 || y != 1 || z != 1 || tx == 0 || tx > 1024 || ty != 1 || tz != 1 || shared != 0 ||
      extra != nullptr) {
    return kInvalidValue;
  }
  Stream* one = streamOf(stream);
  auto* which = reinterpret_cast<Function*>(function);
  record("launch " + which->name + " " + std::to_string(x) + "x" + std::to_string(tx) +
         " on stream " + std::to_string(one->number));
  Work work;
  if (CUresult code = launchOf(which, x, tx, parameters, one->device, work)) return code;
  return enqueue(one, std::move(work));
}

CUresult cuGraphCreate(CUgraph* graph, unsigned flags) {
  FAKE_ENTER
  if (flags != 0) return kInvalidValue;
  *graph = reinterpret_cast<CUgraph>(make(Graph{}));
  return CUDA_SUCCESS;
}
CUresult cuGraphAddKernelNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* after,
                                 size_t count, const CUDA_KERNEL_NODE_PARAMS* launch) {
  FAKE_ENTER
  Work work;
  if (CUresult code = workOf(*launch, work)) return code;
  return addNode(reinterpret_cast<Graph*>(graph), after, count, std::move(work), node);
}
CUresult cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after,
                              size_t count, const CUDA_MEMCPY3D* copy, CUcontext context) {
  FAKE_ENTER
  Work work;
  if (CUresult code = workOf(*copy, context, work)) return code;
  return addNode(reinterpret_cast<Graph*>(graph), after, count, std::move(work), node);
}
CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec executable, CUgraphNode node,
                                           const CUDA_KERNEL_NODE_PARAMS* launch) {
  FAKE_ENTER
  Work work;
  if (CUresult code = workOf(*launch, work)) return code;
  return setNode(reinterpret_cast<Graph*>(executable), node, std::move(work));
}
CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec executable, CUgraphNode node,
                                        const CUDA_MEMCPY3D* copy, CUcontext context) {
  FAKE_ENTER
  Work work;
  if (CUresult code = workOf(*copy, context, work)) return code;
  return setNode(reinterpret_cast<Graph*>(executable), node, std::move(work));
}
CUresult cuGraphInstantiateWithFlags(CUgraphExec* executable, CUgraph graph, unsigned long long) {
  FAKE_ENTER
  *executable = reinterpret_cast<CUgraphExec>(make(Graph(*reinterpret_cast<Graph*>(graph))));
  return CUDA_SUCCESS;
}
CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream) {
  FAKE_ENTER
  Stream* one = streamOf(stream);
  record("graph on stream " + std::to_string(one->number));
  for (const Work& work : reinterpret_cast<Graph*>(executable)->work) {
    if (CUresult code = enqueue(one, work)) return code;
  }
  return CUDA_SUCCESS;
}
CUresult cuGraphExecDestroy(CUgraphExec executable) {
  std::lock_guard lock(fake().mutex);
  fake().objects.erase(executable);
  return CUDA_SUCCESS;
}
CUresult cuGraphDestroy(CUgraph graph) {
  std::lock_guard lock(fake().mutex);
  fake().objects.erase(graph);
  return CUDA_SUCCESS;
}

}  // extern "C"

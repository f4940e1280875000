#include "backends/opencl/driver/driver.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <chrono>

#include "isthmus/backend.h"
#include "isthmus/log.h"
#include "runtime/memory/host_allocator.h"

namespace isthmus::opencl {
namespace {

// Of a device's memory, this part may be kept after it was freed.
constexpr size_t kKeptShare = 8;
// Of a CPU's memory, this part is left to the host.
constexpr uint64_t kHostShare = 8;
constexpr cl_queue_properties kNoOrder = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
// Of one size and in use: about what the second level of a CPU's caches has.
constexpr size_t kMaxCachedBytes = 2 << 20;

// Of memory of the process that drivers of CPUs hand out, whose small pages kernels that stream
// through it wait for.
void useHugePages(void* data, size_t bytes) {
  constexpr uintptr_t kPage = 2 << 20;
  auto begin = reinterpret_cast<uintptr_t>(data);
  const uintptr_t end = (begin + bytes) / kPage * kPage;
  begin = (begin + kPage - 1) / kPage * kPage;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

// Few sizes, so that kept memory is found again: eight between a power of two and the next.
size_t roundedSize(size_t bytes) {
  size_t step = std::max<size_t>(kBufferAlignment, std::bit_floor(bytes) / 8);
  return std::max<size_t>(kBufferAlignment, (bytes + step - 1) / step * step);
}

std::string lowerCase(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// Reads facts; what a device does not answer stays empty or zero.
class DeviceReader {
 public:
  DeviceReader(const Library& library, cl_device_id device) : library_(library), device_(device) {}

  std::string text(cl_device_info what) const {
    size_t bytes = 0;
    if (library_.GetDeviceInfo(device_, what, 0, nullptr, &bytes) != CL_SUCCESS) return "";
    std::string value(bytes, '\0');
    if (library_.GetDeviceInfo(device_, what, bytes, value.data(), nullptr) != CL_SUCCESS)
      return "";
    return value.c_str();  // without the zero at the end
  }
  template <typename T>
  T number(cl_device_info what) const {
    T value{};
    if (library_.GetDeviceInfo(device_, what, sizeof(value), &value, nullptr) != CL_SUCCESS) {
      return T{};
    }
    return value;
  }

  bool hasSubgroupsOf(size_t threads) const {
    std::array<size_t, 16> sizes{};
    size_t bytes = 0;
    if (library_.GetDeviceInfo(device_, CL_DEVICE_SUB_GROUP_SIZES_INTEL, sizeof(sizes),
                               sizes.data(), &bytes) != CL_SUCCESS) {
      return false;
    }
    auto end = sizes.begin() + static_cast<ptrdiff_t>(bytes / sizeof(size_t));
    return std::find(sizes.begin(), end, threads) != end;
  }

 private:
  const Library& library_;
  cl_device_id device_;
};

DeviceFacts readFacts(const Library& library, const std::string& platform, cl_device_id device) {
  DeviceReader reader(library, device);
  DeviceFacts facts;
  facts.platform = platform;
  facts.name = reader.text(CL_DEVICE_NAME);
  facts.version = reader.text(CL_DEVICE_VERSION);
  facts.driverVersion = reader.text(CL_DRIVER_VERSION);
  std::string extensions = " " + reader.text(CL_DEVICE_EXTENSIONS) + " ";
  auto has = [&](const char* name) {
    return extensions.find(" " + std::string(name) + " ") != std::string::npos;
  };
  facts.isCpu = (reader.number<cl_device_type>(CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) != 0;
  facts.takesSpirv = reader.text(CL_DEVICE_IL_VERSION).find("SPIR-V") != std::string::npos;
  facts.hasDoubles = has("cl_khr_fp64");
  facts.hasHalves = has("cl_khr_fp16");
  facts.hasLongAtomics = has("cl_khr_int64_base_atomics") && has("cl_khr_int64_extended_atomics");
  facts.hasUsm = has("cl_intel_unified_shared_memory");
  auto svm = reader.number<cl_device_svm_capabilities>(CL_DEVICE_SVM_CAPABILITIES);
  facts.hasSvm = (svm & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER) != 0;
  facts.hasFineSvm = (svm & CL_DEVICE_SVM_FINE_GRAIN_BUFFER) != 0;
  auto order = reader.number<cl_command_queue_properties>(CL_DEVICE_QUEUE_ON_HOST_PROPERTIES);
  facts.hasNoOrder = (order & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0;
  facts.hasMatrices = facts.takesSpirv && has("cl_intel_subgroup_matrix_multiply_accumulate") &&
                      has("cl_intel_required_subgroup_size") && reader.hasSubgroupsOf(16);
  facts.hasSubgroupShuffle = facts.takesSpirv && has("cl_khr_subgroup_shuffle") &&
                             has("cl_intel_required_subgroup_size") && reader.hasSubgroupsOf(16);
  facts.memoryBytes = reader.number<cl_ulong>(CL_DEVICE_GLOBAL_MEM_SIZE);
  if (facts.isCpu) {
    // A CPU's memory is the host's, which needs some; the system ends processes that touch more
    // than there is, long after it has promised it to them.
    auto host = static_cast<uint64_t>(hostMemoryLimit());
    facts.memoryBytes = std::min(facts.memoryBytes, host) / kHostShare * (kHostShare - 1);
  }
  facts.localBytes = reader.number<cl_ulong>(CL_DEVICE_LOCAL_MEM_SIZE);
  facts.parameterBytes =
      std::max<uint64_t>(facts.parameterBytes, reader.number<size_t>(CL_DEVICE_MAX_PARAMETER_SIZE));
  facts.maxWorkGroupItems = reader.number<size_t>(CL_DEVICE_MAX_WORK_GROUP_SIZE);
  facts.computeUnits = reader.number<cl_uint>(CL_DEVICE_MAX_COMPUTE_UNITS);
  facts.vectorBits = 32 * reader.number<cl_uint>(CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT);
  // Where a thousand commands are pending, Intel's driver for CPUs loses events: what waits for one
  // fails with CL_INVALID_EVENT, or the process ends.
  if (facts.isCpu && platform.starts_with("Intel")) facts.maxPending = 256;
  return facts;
}

struct Candidate {
  cl_platform_id platform;
  cl_device_id device;
  DeviceFacts facts;
};

// PoCL runs what a command of its device `basic` waits for in the thread that ends it, with the
// lock held that this then wants (3.1).
bool isPoclBasic(const Candidate& one) {
  return one.facts.platform == "Portable Computing Language" && one.facts.name.starts_with("basic");
}

std::string platformName(const Library& library, cl_platform_id platform) {
  char name[256] = "";
  library.GetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(name) - 1, name, nullptr);
  return name;
}

std::vector<Candidate> allDevices(const Library& library) {
  std::vector<Candidate> found;
  cl_uint count = 0;
  if (library.GetPlatformIDs(0, nullptr, &count) != CL_SUCCESS) return found;
  std::vector<cl_platform_id> platforms(count);
  if (library.GetPlatformIDs(count, platforms.data(), nullptr) != CL_SUCCESS) return found;
  for (cl_platform_id platform : platforms) {
    cl_uint number = 0;
    if (library.GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &number) != CL_SUCCESS) {
      continue;
    }
    std::vector<cl_device_id> devices(number);
    if (library.GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, number, devices.data(), nullptr) !=
        CL_SUCCESS) {
      continue;
    }
    std::string name = platformName(library, platform);
    for (cl_device_id device : devices) {
      found.push_back({platform, device, readFacts(library, name, device)});
    }
  }
  return found;
}

}  // namespace

BuildThread::~BuildThread() {
  {
    std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void BuildThread::run(const std::function<void()>& work) {
  std::lock_guard caller(callers_);
  std::unique_lock lock(mutex_);
  if (!thread_.joinable()) thread_ = std::thread([this] { loop(); });
  work_ = &work;
  changed_.notify_all();
  changed_.wait(lock, [this] { return work_ == nullptr; });
}

void BuildThread::loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return work_ != nullptr || ends_; });
    if (!work_) return;
    lock.unlock();
    (*work_)();
    lock.lock();
    work_ = nullptr;
    changed_.notify_all();
  }
}

namespace {

// Held by the thread that is in WaitForEvents, if there may be but one.
std::mutex& turnToWait() {
  static std::mutex turn;
  return turn;
}

}  // namespace

CommandEvent::CommandEvent(const CommandEvent& other)
    : library_(other.library_), event_(other.event_) {
  if (event_) library_->RetainEvent(event_);
}

CommandEvent::~CommandEvent() {
  if (event_) library_->ReleaseEvent(event_);
}

std::optional<cl_int> CommandEvent::outcome() const {
  cl_int status = CL_COMPLETE;
  cl_int code = library_->GetEventInfo(event_, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status),
                                       &status, nullptr);
  if (code != CL_SUCCESS) return code;
  if (status > CL_COMPLETE) return std::nullopt;
  return status;
}

Status CommandEvent::await() const {
  std::unique_lock turn(turnToWait(), std::defer_lock);
  while (library_->waitsOneByOne && !turn.try_lock()) {
    if (isOver()) break;
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  return awaitInTurn();
}

std::optional<Status> CommandEvent::awaitAlone() const {
  std::unique_lock turn(turnToWait(), std::defer_lock);
  if (library_->waitsOneByOne && !turn.try_lock()) return std::nullopt;
  return awaitInTurn();
}

Status CommandEvent::awaitInTurn() const {
  cl_int waited = isOver() ? CL_SUCCESS : library_->WaitForEvents(1, &event_);
  if (std::optional<cl_int> code = outcome()) return check(*code, "a command");
  return check(waited, "clWaitForEvents");
}

std::optional<CommandEvent::Times> CommandEvent::times() const {
  cl_ulong begin = 0;
  cl_ulong end = 0;
  for (auto [what, value] :
       {std::pair(CL_PROFILING_COMMAND_START, &begin), std::pair(CL_PROFILING_COMMAND_END, &end)}) {
    if (library_->GetEventProfilingInfo(event_, what, sizeof(*value), value, nullptr) !=
        CL_SUCCESS) {
      return std::nullopt;
    }
  }
  return Times{static_cast<int64_t>(begin), static_cast<int64_t>(end)};
}

Status CommandQueue::flush() { return check(library_.Flush(queue_), "clFlush"); }

Status CommandQueue::makeRoom() {
  std::lock_guard lock(mutex_);
  if (pending_.size() < maxPending_) return {};
  std::erase_if(pending_, [](const CommandEvent& event) { return event.isOver(); });
  if (pending_.size() <= maxPending_ / 2) return {};
  ISTHMUS_RETURN_IF_ERROR(flush());
  for (; pending_.size() > maxPending_ / 2; pending_.pop_front()) (void)pending_.front().await();
  return {};
}

CommandEvent CommandQueue::take(cl_event event) {
  std::lock_guard lock(mutex_);
  return pending_.emplace_back(library_, event);
}

Program::~Program() { library_.ReleaseProgram(program_); }

StatusOr<std::unique_ptr<Driver>> Driver::create(const std::string& library,
                                                 const std::string& wanted, int queues) {
  std::unique_ptr<Driver> driver(new Driver);
  ISTHMUS_ASSIGN_OR_RETURN(driver->library_, loadLibrary(library));
  ISTHMUS_RETURN_IF_ERROR(driver->findDevices(wanted));
  ISTHMUS_RETURN_IF_ERROR(driver->makeQueues(queues));
  const std::vector<DeviceFacts>& facts = driver->facts_;
  // Threads that wait in Intel's driver for CPUs compute for each other, and one may wait for what
  // it stands in the middle of itself: two were enough for a training to stop for ever.
  driver->library_.waitsOneByOne = std::ranges::any_of(
      facts, [](const DeviceFacts& one) { return one.isCpu && one.platform.starts_with("Intel"); });
  if (std::all_of(facts.begin(), facts.end(), [](const DeviceFacts& one) { return one.isCpu; })) {
    ISTHMUS_ASSIGN_OR_RETURN(void* bytes, driver->allocate(0, kBufferAlignment));
    driver->unusedBytes_ = static_cast<char*>(bytes);
  }
  return driver;
}

Status Driver::findDevices(const std::string& wanted) {
  std::vector<Candidate> all = allDevices(library_);
  std::string list;
  for (const Candidate& one : all) {
    list += (list.empty() ? "" : ", ") + one.facts.name + " (" + one.facts.platform + ")";
  }
  std::string pattern = lowerCase(wanted);
  std::erase_if(all, [&](const Candidate& one) {
    bool matches = lowerCase(one.facts.platform).find(pattern) != std::string::npos ||
                   lowerCase(one.facts.name).find(pattern) != std::string::npos;
    return !matches || !(one.facts.hasUsm || one.facts.hasSvm);
  });
  if (all.empty()) {
    return notFound("no OpenCL device with shared memory",
                    wanted.empty() ? "" : " and " + wanted + " in its name", " by ", library_.path,
                    "; there is: ", list.empty() ? "none" : list);
  }
  auto rank = [](const Candidate& one) {
    return (one.facts.isCpu ? 0 : 2) + (one.facts.takesSpirv ? 1 : 0);
  };
  const Candidate best =
      *std::max_element(all.begin(), all.end(),
                        [&](const Candidate& a, const Candidate& b) { return rank(a) < rank(b); });
  platform_ = best.platform;
  std::erase_if(all, [&](const Candidate& one) {
    return one.platform != platform_ || rank(one) != rank(best);
  });
  const bool areAllBasic = std::all_of(all.begin(), all.end(), isPoclBasic);
  for (const Candidate& one : all) {
    if (isPoclBasic(one) && !areAllBasic) {
      log(LogLevel::kWarning, "xpu: device ", one.facts.name,
          " is left out, since its driver hangs where it waits for another device");
      continue;
    }
    devices_.push_back(one.device);
    facts_.push_back(one.facts);
  }
  cl_int code = CL_SUCCESS;
  cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                        reinterpret_cast<cl_context_properties>(platform_), 0};
  context_ = library_.CreateContext(properties, static_cast<cl_uint>(devices_.size()),
                                    devices_.data(), nullptr, nullptr, &code);
  ISTHMUS_RETURN_IF_ERROR(check(code, "clCreateContext"));
  // Intel's driver for CPUs keeps a list of the commands that use each allocation of its own kind
  // of shared memory, and walks it for each command: a thousand small kernels took 14 us each,
  // not 1.
  usesUsm_ = std::all_of(facts_.begin(), facts_.end(), [](const DeviceFacts& facts) {
    return facts.hasUsm && !(facts.isCpu && facts.hasSvm);
  });
  // Of a GPU, memory that the host could use as well would be slower for its kernels.
  isFineGrained_ = !usesUsm_ && std::all_of(facts_.begin(), facts_.end(), [](const auto& facts) {
    return facts.isCpu && facts.hasFineSvm;
  });
  if (!usesUsm_) return {};
  auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
        library_.GetExtensionFunctionAddressForPlatform(platform_, name));
    return function != nullptr;
  };
  bool hasAll =
      find(deviceAlloc_, "clDeviceMemAllocINTEL") && find(usmFree_, "clMemBlockingFreeINTEL") &&
      find(usmCopy_, "clEnqueueMemcpyINTEL") && find(usmArgument_, "clSetKernelArgMemPointerINTEL");
  if (hasAll) return {};
  usesUsm_ = false;
  if (facts_[0].hasSvm) return {};
  return notFound("the driver of ", facts_[0].name, " lacks functions of ",
                  "cl_intel_unified_shared_memory, which it says it has");
}

StatusOr<std::unique_ptr<CommandQueue>> Driver::makeQueue(int physical,
                                                          cl_queue_properties properties) {
  // A device that can only keep order is slower.
  if (!facts_[physical].hasNoOrder) properties &= ~CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
  cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, properties, 0};
  cl_int code = CL_SUCCESS;
  cl_command_queue queue =
      library_.CreateCommandQueueWithProperties(context_, devices_[physical], list, &code);
  ISTHMUS_RETURN_IF_ERROR(check(code, "clCreateCommandQueueWithProperties"));
  return std::make_unique<CommandQueue>(library_, queue, facts_[physical].maxPending);
}

Status Driver::makeQueues(int queues) {
  int count = queues == 0 ? static_cast<int>(devices_.size()) : queues;
  for (int i = 0; i < count; ++i) {
    Queues one;
    one.physical = i % static_cast<int>(devices_.size());
    ISTHMUS_ASSIGN_OR_RETURN(one.programs, makeQueue(one.physical, kNoOrder));
    ISTHMUS_ASSIGN_OR_RETURN(one.copies, makeQueue(one.physical, kNoOrder));
    queues_.push_back(std::move(one));
  }
  return {};
}

StatusOr<CommandQueue*> Driver::queueOf(int device, Queue queue) {
  Queues& own = queues_[device];
  if (queue == Queue::kPrograms) return own.programs.get();
  if (queue == Queue::kCopies) return own.copies.get();
  const bool isTimed = queue == Queue::kTimed;
  std::unique_ptr<CommandQueue>& late = isTimed ? own.timed : own.inOrder;
  std::lock_guard lock(queuesMutex_);
  if (!late) {
    ISTHMUS_ASSIGN_OR_RETURN(
        late, makeQueue(own.physical, isTimed ? kNoOrder | CL_QUEUE_PROFILING_ENABLE : 0));
  }
  return late.get();
}

std::string DeviceFacts::identity() const {
  return platform + "; " + name + "; " + version + "; driver " + driverVersion + "; " +
         (takesSpirv ? "SPIR-V" : "OpenCL C") + "; " + (hasHalves ? "halves; " : "") +
         (hasMatrices ? "matrices; " : "") + (hasSubgroupShuffle ? "sub-group shuffle; " : "") +
         (hasUsm ? "USM" : "SVM") + "; vectors of " + std::to_string(vectorBits) +
         " bits; groups of " + std::to_string(maxWorkGroupItems) + " with " +
         std::to_string(localBytes) + " bytes; parameters of " + std::to_string(parameterBytes) +
         " bytes";
}

std::vector<size_t> Driver::kindNumbers() const {
  std::vector<std::string> known;
  std::vector<size_t> numbers;
  for (const DeviceFacts& facts : facts_) {
    auto found = std::find(known.begin(), known.end(), facts.identity());
    numbers.push_back(static_cast<size_t>(found - known.begin()));
    if (found == known.end()) known.push_back(facts.identity());
  }
  return numbers;
}

std::vector<DeviceFacts> Driver::kinds() const {
  std::vector<DeviceFacts> kinds;
  const std::vector<size_t> numbers = kindNumbers();
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] == kinds.size()) kinds.push_back(facts_[i]);
  }
  return kinds;
}

std::string Driver::identity() const {
  std::string text;
  for (const DeviceFacts& facts : kinds()) text += facts.identity() + "\n";
  return text;
}

void* Driver::allocateNew(int device, size_t bytes, cl_int& code) {
  const DeviceFacts& facts = this->facts(device);
  // Drivers of CPUs promise memory that there is not.
  if (facts.isCpu && (bytes > facts.memoryBytes || usedBytes_ > facts.memoryBytes - bytes)) {
    return nullptr;
  }
  void* data = allocateByDriver(device, bytes, code);
  if (data) usedBytes_ += bytes;
  return data;
}

void* Driver::allocateByDriver(int device, size_t bytes, cl_int& code) {
  if (usesUsm_) {
    return deviceAlloc_(context_, deviceOf(device), nullptr, bytes, kBufferAlignment, &code);
  }
  cl_svm_mem_flags flags = CL_MEM_READ_WRITE;
  if (isFineGrained_) flags |= CL_MEM_SVM_FINE_GRAIN_BUFFER;
  void* data = library_.SVMAlloc(context_, flags, bytes, kBufferAlignment);
  if (data && isFineGrained_) useHugePages(data, bytes);
  return data;
}

void Driver::release(void* data) {
  if (usesUsm_) {
    usmFree_(context_, data);
  } else {
    library_.SVMFree(context_, data);
  }
}

bool Driver::Kept::isUnused() const {
  return std::all_of(after.begin(), after.end(),
                     [](const CommandEvent& event) { return event.isOver(); });
}

void Driver::releaseKept(size_t bytes) {
  for (auto& [block, all] : kept_) {
    std::erase_if(all, [&](const Kept& one) {
      if (keptBytes_ <= bytes || !one.isUnused()) return false;
      release(one.data);
      keptBytes_ -= block.bytes;
      usedBytes_ -= block.bytes;
      return true;
    });
  }
}

void* Driver::takeKept(const Block& block) {
  auto found = kept_.find(block);
  if (found == kept_.end()) return nullptr;
  std::vector<Kept>& all = found->second;
  // The one used last is the likeliest to be in a cache.
  auto unused = std::find_if(all.rbegin(), all.rend(), [](Kept& one) { return one.isUnused(); });
  if (unused == all.rend()) return nullptr;
  void* data = unused->data;
  all.erase(std::next(unused).base());
  keptBytes_ -= block.bytes;
  return data;
}

std::vector<CommandEvent> Driver::usersOfKept(const Block& block) const {
  auto found = kept_.find(block);
  if (!facts_[block.physical].isCpu || found == kept_.end()) return {};
  const std::vector<Kept>& all = found->second;
  if (all.size() * block.bytes < kMaxCachedBytes) return {};
  return all.front().after;
}

StatusOr<void*> Driver::allocate(int device, size_t bytes) {
  Block block{queues_[device].physical, roundedSize(bytes)};
  std::unique_lock lock(blocksMutex_);
  cl_int code = CL_SUCCESS;
  void* data = takeKept(block);
  if (!data) {
    if (std::vector<CommandEvent> users = usersOfKept(block); !users.empty()) {
      lock.unlock();
      ISTHMUS_RETURN_IF_ERROR(flushAll(device));
      for (const CommandEvent& event : users) (void)event.await();
      lock.lock();
      data = takeKept(block);
    }
  }
  if (!data) data = allocateNew(device, block.bytes, code);
  if (!data) {
    // What is about to be free is worth waiting for.
    std::vector<CommandEvent> pending;
    for (auto& [key, all] : kept_) {
      for (Kept& one : all) pending.insert(pending.end(), one.after.begin(), one.after.end());
    }
    lock.unlock();
    ISTHMUS_RETURN_IF_ERROR(flushAll(device));
    for (const CommandEvent& event : pending) (void)event.await();
    lock.lock();
    releaseKept(0);
    data = allocateNew(device, block.bytes, code);
  }
  if (!data) {
    return resourceExhausted("device ", device, " has no memory for ", bytes, " bytes, of ",
                             facts(device).memoryBytes, " in all",
                             code == CL_SUCCESS ? "" : ": " + errorName(code));
  }
  live_[data] = block;
  return data;
}

void Driver::free(void* data, std::vector<CommandEvent> after) {
  if (!data) return;
  std::lock_guard lock(blocksMutex_);
  auto it = live_.find(data);
  if (it == live_.end()) return;
  Block block = it->second;
  live_.erase(it);
  kept_[block].push_back({data, std::move(after)});
  keptBytes_ += block.bytes;
  releaseKept(facts_[block.physical].memoryBytes / kKeptShare);
}

StatusOr<CommandEvent> Driver::enqueueCopy(CommandQueue& queue, void* to, const void* from,
                                           size_t bytes, std::span<const cl_event> after) {
  const auto count = static_cast<cl_uint>(after.size());
  const cl_event* events = after.empty() ? nullptr : after.data();
  ISTHMUS_RETURN_IF_ERROR(queue.makeRoom());
  cl_event event = nullptr;
  if (usesUsm_) {
    ISTHMUS_RETURN_IF_ERROR(
        check(usmCopy_(queue.handle(), CL_FALSE, to, from, bytes, count, events, &event),
              "clEnqueueMemcpyINTEL"));
  } else {
    ISTHMUS_RETURN_IF_ERROR(check(
        library_.EnqueueSVMMemcpy(queue.handle(), CL_FALSE, to, from, bytes, count, events, &event),
        "clEnqueueSVMMemcpy"));
  }
  return queue.take(event);
}

StatusOr<CommandEvent> Driver::enqueueMarker(CommandQueue& queue, std::span<const cl_event> after) {
  if (unusedBytes_) return enqueueCopy(queue, unusedBytes_, unusedBytes_ + 1, 1, after);
  ISTHMUS_RETURN_IF_ERROR(queue.makeRoom());
  cl_event event = nullptr;
  ISTHMUS_RETURN_IF_ERROR(
      check(library_.EnqueueMarkerWithWaitList(queue.handle(), static_cast<cl_uint>(after.size()),
                                               after.empty() ? nullptr : after.data(), &event),
            "clEnqueueMarkerWithWaitList"));
  return queue.take(event);
}

Status Driver::WaitList::add(Driver& driver, CommandQueue& queue, CommandEvents after) {
  // Drivers have limits that they do not tell.
  constexpr size_t kMaxEvents = 128;
  for (const CommandEvent& event : after) handles_.push_back(event.handle());
  while (handles_.size() > kMaxEvents) {
    std::vector<cl_event> joined;
    for (size_t begin = 0; begin < handles_.size(); begin += kMaxEvents) {
      size_t count = std::min(kMaxEvents, handles_.size() - begin);
      ISTHMUS_ASSIGN_OR_RETURN(
          CommandEvent event,
          driver.enqueueMarker(queue, std::span(handles_).subspan(begin, count)));
      joined.push_back(event.handle());
      joined_.push_back(std::move(event));
    }
    handles_ = std::move(joined);
  }
  return {};
}

StatusOr<CommandEvent> Driver::copy(int device, Queue queue, void* to, const void* from,
                                    size_t bytes, CommandEvents after) {
  ISTHMUS_ASSIGN_OR_RETURN(CommandQueue * there, queueOf(device, queue));
  WaitList list;
  ISTHMUS_RETURN_IF_ERROR(list.add(*this, *there, after));
  return enqueueCopy(*there, to, from, bytes, list.handles());
}

StatusOr<CommandEvent> Driver::launch(int device, Queue queue, cl_kernel kernel,
                                      const GroupShape& shape, CommandEvents after) {
  ISTHMUS_ASSIGN_OR_RETURN(CommandQueue * there, queueOf(device, queue));
  WaitList list;
  ISTHMUS_RETURN_IF_ERROR(list.add(*this, *there, after));
  ISTHMUS_RETURN_IF_ERROR(there->makeRoom());
  cl_event event = nullptr;
  ISTHMUS_RETURN_IF_ERROR(
      check(library_.EnqueueNDRangeKernel(there->handle(), kernel, 3, nullptr, shape.global.data(),
                                          shape.local.data(), list.size(), list.data(), &event),
            "clEnqueueNDRangeKernel"));
  return there->take(event);
}

StatusOr<CommandEvent> Driver::join(int device, Queue queue, CommandEvents after) {
  ISTHMUS_ASSIGN_OR_RETURN(CommandQueue * there, queueOf(device, queue));
  WaitList list;
  ISTHMUS_RETURN_IF_ERROR(list.add(*this, *there, after));
  return enqueueMarker(*there, list.handles());
}

Status Driver::flush(int device, Queue queue) {
  ISTHMUS_ASSIGN_OR_RETURN(CommandQueue * there, queueOf(device, queue));
  return there->flush();
}

Status Driver::flushAll(int device) {
  ISTHMUS_RETURN_IF_ERROR(flush(device, Queue::kPrograms));
  ISTHMUS_RETURN_IF_ERROR(flush(device, Queue::kCopies));
  std::unique_lock lock(queuesMutex_);
  CommandQueue* late[] = {queues_[device].timed.get(), queues_[device].inOrder.get()};
  lock.unlock();
  for (CommandQueue* queue : late) {
    if (queue) ISTHMUS_RETURN_IF_ERROR(queue->flush());
  }
  return {};
}

StatusOr<std::unique_ptr<Program>> Driver::build(cl_program program) {
  // As on platform isthmus, and in the host's functions of this one.
  constexpr const char* kOptions = "-cl-denorms-are-zero";
  auto owned = std::make_unique<Program>(library_, program);
  cl_int code = library_.BuildProgram(program, static_cast<cl_uint>(devices_.size()),
                                      devices_.data(), kOptions, nullptr, nullptr);
  if (code == CL_SUCCESS) return owned;
  size_t bytes = 0;
  library_.GetProgramBuildInfo(program, devices_[0], CL_PROGRAM_BUILD_LOG, 0, nullptr, &bytes);
  std::string said(bytes, '\0');
  library_.GetProgramBuildInfo(program, devices_[0], CL_PROGRAM_BUILD_LOG, bytes, said.data(),
                               nullptr);
  return internalError("clBuildProgram failed: ", errorName(code), ": ", said.c_str());
}

StatusOr<std::unique_ptr<Program>> Driver::buildSpirv(std::string_view binary) {
  StatusOr<std::unique_ptr<Program>> result = internalError("not built");
  builder_.run([&] {
    cl_int code = CL_SUCCESS;
    cl_program program =
        library_.CreateProgramWithIL(context_, binary.data(), binary.size(), &code);
    Status made = check(code, "clCreateProgramWithIL");
    result = made.ok() ? build(program) : made;
  });
  return result;
}

StatusOr<std::unique_ptr<Program>> Driver::buildSource(std::string_view text) {
  StatusOr<std::unique_ptr<Program>> result = internalError("not built");
  builder_.run([&] {
    cl_int code = CL_SUCCESS;
    const char* data = text.data();
    size_t size = text.size();
    cl_program program = library_.CreateProgramWithSource(context_, 1, &data, &size, &code);
    Status made = check(code, "clCreateProgramWithSource");
    result = made.ok() ? build(program) : made;
  });
  return result;
}

StatusOr<std::vector<std::string>> Driver::binariesOf(const Program& program) const {
  std::vector<size_t> sizes(devices_.size());
  const size_t bytes = sizes.size() * sizeof(size_t);
  ISTHMUS_RETURN_IF_ERROR(check(library_.GetProgramInfo(program.handle(), CL_PROGRAM_BINARY_SIZES,
                                                        bytes, sizes.data(), nullptr),
                                "clGetProgramInfo"));
  std::vector<std::string> binaries;
  std::vector<unsigned char*> pointers;
  for (size_t size : sizes) binaries.emplace_back(size, '\0');
  for (std::string& binary : binaries) {
    pointers.push_back(reinterpret_cast<unsigned char*>(binary.data()));
  }
  ISTHMUS_RETURN_IF_ERROR(check(
      library_.GetProgramInfo(program.handle(), CL_PROGRAM_BINARIES,
                              pointers.size() * sizeof(unsigned char*), pointers.data(), nullptr),
      "clGetProgramInfo"));
  std::vector<std::string> ofKinds;
  const std::vector<size_t> numbers = kindNumbers();
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] == ofKinds.size()) ofKinds.push_back(std::move(binaries[i]));
  }
  return ofKinds;
}

StatusOr<std::unique_ptr<Program>> Driver::buildBinaries(const std::vector<std::string>& binaries) {
  if (size_t count = kinds().size(); binaries.size() != count) {
    return invalidArgument("binaries for ", binaries.size(), " kinds of devices, expected ", count);
  }
  std::vector<size_t> sizes;
  std::vector<const unsigned char*> pointers;
  for (size_t kind : kindNumbers()) {
    sizes.push_back(binaries[kind].size());
    pointers.push_back(reinterpret_cast<const unsigned char*>(binaries[kind].data()));
  }
  StatusOr<std::unique_ptr<Program>> result = internalError("not built");
  builder_.run([&] {
    cl_int code = CL_SUCCESS;
    cl_program program = library_.CreateProgramWithBinary(
        context_, static_cast<cl_uint>(devices_.size()), devices_.data(), sizes.data(),
        pointers.data(), nullptr, &code);
    Status made = check(code, "clCreateProgramWithBinary");
    result = made.ok() ? build(program) : made;
  });
  return result;
}

StatusOr<cl_kernel> Driver::createKernel(const Program& program, const std::string& name) {
  cl_int code = CL_SUCCESS;
  cl_kernel kernel = library_.CreateKernel(program.handle(), name.c_str(), &code);
  ISTHMUS_RETURN_IF_ERROR(check(code, "clCreateKernel").withContext(name));
  return kernel;
}

Status Driver::setPointer(cl_kernel kernel, unsigned index, const void* data) {
  if (usesUsm_) return check(usmArgument_(kernel, index, data), "clSetKernelArgMemPointerINTEL");
  return check(library_.SetKernelArgSVMPointer(kernel, index, data), "clSetKernelArgSVMPointer");
}

}  // namespace isthmus::opencl

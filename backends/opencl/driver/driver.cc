#include "backends/opencl/driver/driver.h"

#include <algorithm>
#include <bit>
#include <cctype>

#include "isthmus/backend.h"

namespace isthmus::opencl {
namespace {

// Of a device's memory, this part may be kept after it was freed.
constexpr size_t kKeptShare = 8;

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
  facts.hasUsm = has("cl_intel_unified_shared_memory");
  auto svm = reader.number<cl_device_svm_capabilities>(CL_DEVICE_SVM_CAPABILITIES);
  facts.hasSvm = (svm & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER) != 0;
  facts.memoryBytes = reader.number<cl_ulong>(CL_DEVICE_GLOBAL_MEM_SIZE);
  facts.maxAllocationBytes = reader.number<cl_ulong>(CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  facts.localBytes = reader.number<cl_ulong>(CL_DEVICE_LOCAL_MEM_SIZE);
  facts.maxWorkGroupItems = reader.number<size_t>(CL_DEVICE_MAX_WORK_GROUP_SIZE);
  facts.computeUnits = reader.number<cl_uint>(CL_DEVICE_MAX_COMPUTE_UNITS);
  return facts;
}

struct Candidate {
  cl_platform_id platform;
  cl_device_id device;
  DeviceFacts facts;
};

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

Program::~Program() { library_.ReleaseProgram(program_); }

StatusOr<std::unique_ptr<Driver>> Driver::create(const std::string& library,
                                                 const std::string& wanted, int queues) {
  std::unique_ptr<Driver> driver(new Driver);
  ISTHMUS_ASSIGN_OR_RETURN(driver->library_, loadLibrary(library));
  ISTHMUS_RETURN_IF_ERROR(driver->findDevices(wanted));
  ISTHMUS_RETURN_IF_ERROR(driver->makeQueues(queues));
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
  for (const Candidate& one : all) {
    if (one.platform != platform_ || rank(one) != rank(best)) continue;
    devices_.push_back(one.device);
    facts_.push_back(one.facts);
  }
  cl_int code = CL_SUCCESS;
  cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                        reinterpret_cast<cl_context_properties>(platform_), 0};
  context_ = library_.CreateContext(properties, static_cast<cl_uint>(devices_.size()),
                                    devices_.data(), nullptr, nullptr, &code);
  ISTHMUS_RETURN_IF_ERROR(check(code, "clCreateContext"));
  usesUsm_ = std::all_of(facts_.begin(), facts_.end(),
                         [](const DeviceFacts& facts) { return facts.hasUsm; });
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

Status Driver::makeQueues(int queues) {
  int count = queues == 0 ? static_cast<int>(devices_.size()) : queues;
  for (int i = 0; i < count; ++i) {
    Queues one;
    one.physical = i % static_cast<int>(devices_.size());
    for (cl_command_queue* queue : {&one.compute, &one.transfer}) {
      cl_int code = CL_SUCCESS;
      *queue = library_.CreateCommandQueueWithProperties(context_, devices_[one.physical], nullptr,
                                                         &code);
      ISTHMUS_RETURN_IF_ERROR(check(code, "clCreateCommandQueueWithProperties"));
    }
    queues_.push_back(one);
  }
  return {};
}

void* Driver::allocateNew(int device, size_t bytes, cl_int& code) {
  if (usesUsm_) {
    return deviceAlloc_(context_, deviceOf(device), nullptr, bytes, kBufferAlignment, &code);
  }
  return library_.SVMAlloc(context_, CL_MEM_READ_WRITE, bytes, kBufferAlignment);
}

void Driver::release(void* data) {
  if (usesUsm_) {
    usmFree_(context_, data);
  } else {
    library_.SVMFree(context_, data);
  }
}

void Driver::releaseKept() {
  for (auto& [size, blocks] : kept_) {
    for (void* data : blocks) release(data);
  }
  kept_.clear();
  keptBytes_ = 0;
}

StatusOr<void*> Driver::allocate(int device, size_t bytes) {
  Block block{queues_[device].physical, roundedSize(bytes)};
  std::lock_guard lock(blocksMutex_);
  void* data = nullptr;
  if (auto it = kept_.find({block.physical, block.bytes});
      it != kept_.end() && !it->second.empty()) {
    data = it->second.back();
    it->second.pop_back();
    keptBytes_ -= block.bytes;
  }
  cl_int code = CL_SUCCESS;
  if (!data) data = allocateNew(device, block.bytes, code);
  if (!data) {
    releaseKept();
    data = allocateNew(device, block.bytes, code);
  }
  if (!data) {
    return resourceExhausted("device ", device, " has no memory for ", bytes, " bytes",
                             code == CL_SUCCESS ? "" : ": " + errorName(code));
  }
  live_[data] = block;
  return data;
}

void Driver::free(void* data) {
  if (!data) return;
  std::lock_guard lock(blocksMutex_);
  auto it = live_.find(data);
  if (it == live_.end()) return;
  Block block = it->second;
  live_.erase(it);
  if (keptBytes_ + block.bytes > facts_[block.physical].memoryBytes / kKeptShare) {
    release(data);
    return;
  }
  kept_[{block.physical, block.bytes}].push_back(data);
  keptBytes_ += block.bytes;
}

Status Driver::copyOn(cl_command_queue queue, void* to, const void* from, size_t bytes,
                      bool waits) {
  if (bytes == 0 || to == from) return {};
  cl_bool blocking = waits ? CL_TRUE : CL_FALSE;
  if (usesUsm_) {
    return check(usmCopy_(queue, blocking, to, from, bytes, 0, nullptr, nullptr),
                 "clEnqueueMemcpyINTEL");
  }
  return check(library_.EnqueueSVMMemcpy(queue, blocking, to, from, bytes, 0, nullptr, nullptr),
               "clEnqueueSVMMemcpy");
}

Status Driver::copyFromHost(int device, void* to, const void* host, size_t bytes) {
  return copyOn(queues_[device].transfer, to, host, bytes, true);
}

Status Driver::copyToHost(int device, const void* from, void* host, size_t bytes) {
  return copyOn(queues_[device].transfer, host, from, bytes, true);
}

Status Driver::copyBetween(int device, void* to, const void* from, size_t bytes) {
  return copyOn(queues_[device].transfer, to, from, bytes, true);
}

Status Driver::enqueueCopy(int device, void* to, const void* from, size_t bytes, bool waits) {
  return copyOn(queues_[device].compute, to, from, bytes, waits);
}

Status Driver::finish(int device) {
  return check(library_.Finish(queues_[device].compute), "clFinish");
}

StatusOr<std::unique_ptr<Program>> Driver::build(cl_program program, const std::string& options) {
  auto owned = std::make_unique<Program>(library_, program);
  cl_int code = library_.BuildProgram(program, static_cast<cl_uint>(devices_.size()),
                                      devices_.data(), options.c_str(), nullptr, nullptr);
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
    result = made.ok() ? build(program, "") : made;
  });
  return result;
}

StatusOr<std::unique_ptr<Program>> Driver::buildSource(std::string_view text,
                                                       const std::string& options) {
  StatusOr<std::unique_ptr<Program>> result = internalError("not built");
  builder_.run([&] {
    cl_int code = CL_SUCCESS;
    const char* data = text.data();
    size_t size = text.size();
    cl_program program = library_.CreateProgramWithSource(context_, 1, &data, &size, &code);
    Status made = check(code, "clCreateProgramWithSource");
    result = made.ok() ? build(program, options) : made;
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

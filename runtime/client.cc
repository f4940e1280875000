// Devices, memories and buffers of a client.
#include "runtime/client.h"

#include <algorithm>
#include <chrono>

#include "isthmus/flags.h"
#include "runtime/collectives/in_process.h"
#include "runtime/device/device_copies.h"
#include "runtime/executable/compile.h"
#include "runtime/executable/loaded_executable.h"
#include "runtime/memory/host_layout.h"
#include "runtime/memory/program_limits.h"

namespace isthmus {
namespace {

// Smaller arrays are copied even when they could be aliased: the copy costs less than telling the
// caller later that its memory is no longer read.
constexpr size_t kSmallestAlias = 16 << 10;

// What stays in the near caches is read up to a quarter slower where vectors straddle cache lines,
// every time that a kernel reads it: such arrays are copied up to here, and larger ones when some
// programs have read them. (malloc's arrays of more than a page or so begin 16 bytes behind a
// line.)
constexpr size_t kSmallestMisalignedAlias = 256 << 10;

// Other programs' memory is used in place if its address is a multiple of this, which malloc's are.
// Kernels need less; frameworks ask for a refusal to tell whether an exchange was free of copies,
// and XLA's CPU client draws the line here.
constexpr size_t kViewAlignment = 16;

// What generated code may assume about the address of an element.
size_t alignmentOf(ElementType type) {
  size_t bytes = elementSizeBytes(type);
  bool isComplex = type == ElementType::kC64 || type == ElementType::kC128;
  return std::max<size_t>(isComplex ? bytes / 2 : bytes, 1);
}

constexpr const char* kFromHost = "from the host";

Status checkType(const ArrayType& type) {
  if (type.isValid() && type.elementType != ElementType::kInvalid) return {};
  return invalidArgument("buffer of type ", type.toString(),
                         ": expected dimensions >= 0 and a size that fits in memory");
}

// How much of a device's memory may be used; takes the options out.
StatusOr<MemoryShare> takeMemoryShare(AttributeMap& options) {
  MemoryShare share;
  share.maxBytes = flagInt("ISTHMUS_MEMORY_LIMIT_BYTES");
  if (auto option = options.find("memory_limit_bytes"); option != options.end()) {
    const auto* number = std::get_if<int64_t>(&option->second);
    if (number == nullptr) {
      return invalidArgument("client option memory_limit_bytes must be an integer");
    }
    share.maxBytes = *number;
    options.erase(option);
  }
  if (share.maxBytes < 0) {
    return invalidArgument("the limit of device memory is ", share.maxBytes,
                           " bytes, expected 0 (none) or more");
  }
  double& fraction = share.fraction;
  fraction = static_cast<double>(flagInt("ISTHMUS_MEMORY_PERCENT")) / 100;
  if (auto option = options.find("memory_fraction"); option != options.end()) {
    const auto* number = std::get_if<float>(&option->second);
    if (number == nullptr) return invalidArgument("client option memory_fraction must be a float");
    fraction = *number;
    options.erase(option);
  }
  if (fraction > 0 && fraction <= 1) return share;
  return invalidArgument("the fraction of device memory to use is ", fraction,
                         ", expected more than 0 and at most 1");
}

std::shared_ptr<const ArrayType> share(ArrayType type) {
  return std::make_shared<const ArrayType>(std::move(type));
}

}  // namespace

Client::Client(Backend& backend, Topology topology, std::unique_ptr<Job> job,
               const MemoryShare& memoryShare)
    : backend_(backend),
      topology_(std::move(topology)),
      job_(std::move(job)),
      collectives_(std::make_unique<InProcessCollectives>(job_.get())),
      transferQueue_("isthmus-copy") {
  std::vector<std::string> kinds;
  for (const DeviceDescription& description : topology_.devices) {
    bool isAddressable = description.processIndex == processIndex();
    Device& device =
        *ownedDevices_.emplace_back(std::make_unique<Device>(*this, description, isAddressable));
    devices_.push_back(&device);
    if (!isAddressable) continue;
    addressableDevices_.push_back(&device);
    for (const MemoryDescription& memory : description.memories) {
      auto kind = std::find(kinds.begin(), kinds.end(), memory.kind);
      auto kindId = static_cast<int>(kind - kinds.begin()) + 1;
      if (kind == kinds.end()) kinds.push_back(memory.kind);
      auto id = static_cast<int>(ownedMemories_.size());
      Memory& made = *ownedMemories_.emplace_back(
          std::make_unique<Memory>(*this, device, id, kindId, memory.kind, memoryShare));
      memories_.push_back(&made);
      device.memories_.push_back(&made);
      if (memory.isDefault || device.defaultMemory_ == nullptr) device.defaultMemory_ = &made;
    }
  }
}

Client::~Client() = default;

StatusOr<Ref<Client>> Client::create(Backend& backend, AttributeMap options,
                                     const JobOptions& jobOptions) {
  if (flagIsSet("ISTHMUS_NUM_DEVICES")) options["num_devices"] = flagInt("ISTHMUS_NUM_DEVICES");
  ISTHMUS_ASSIGN_OR_RETURN(MemoryShare memoryShare, takeMemoryShare(options));
  ISTHMUS_ASSIGN_OR_RETURN(Topology topology, Topology::create(backend, std::move(options)));
  std::unique_ptr<Job> job;
  if (jobOptions.numProcesses > 1) {
    ISTHMUS_ASSIGN_OR_RETURN(job, Job::join(jobOptions, topology));
  }
  std::sort(topology.devices.begin(), topology.devices.end(),
            [](const DeviceDescription& a, const DeviceDescription& b) { return a.id < b.id; });
  bool hasAddressable = false;
  for (size_t i = 0; i < topology.devices.size(); ++i) {
    DeviceDescription& device = topology.devices[i];
    if (i > 0 && topology.devices[i - 1].id == device.id) {
      return internalError("backend describes two devices with id ", device.id);
    }
    if (device.memories.empty()) device.memories.push_back({"device", true});
    hasAddressable |= device.processIndex == jobOptions.processIndex;
  }
  if (!hasAddressable) return internalError("backend describes no device of this process");
  return Ref<Client>::adopt(new Client(backend, std::move(topology), std::move(job), memoryShare));
}

StatusOr<Device*> Client::lookupDevice(int id) const {
  auto found = std::lower_bound(devices_.begin(), devices_.end(), id,
                                [](const Device* device, int id) { return device->id() < id; });
  if (found != devices_.end() && (*found)->id() == id) return *found;
  return invalidArgument("No matching device found for device_id ", id);
}

StatusOr<Device*> Client::lookupAddressableDevice(int localHardwareId) const {
  for (Device* device : addressableDevices_) {
    if (device->localHardwareId() == localHardwareId) return device;
  }
  return invalidArgument("No matching device found for local_hardware_id ", localHardwareId);
}

DeviceAssignment Client::defaultDeviceAssignment(int numReplicas, int numPartitions) const {
  DeviceAssignment assignment{numReplicas, numPartitions, {}};
  int64_t count = int64_t{numReplicas} * numPartitions;
  bool isLocal = count <= static_cast<int64_t>(addressableDevices_.size());
  const std::vector<Device*>& devices = isLocal ? addressableDevices_ : devices_;
  for (int64_t i = 0; i < count; ++i) {
    assignment.deviceIds.push_back(devices[static_cast<size_t>(i) % devices.size()]->id());
  }
  return assignment;
}

// ---- Buffers
// --------------------------------------------------------------------------------------

StatusOr<Client::FromHost> Client::bufferFromHost(Memory& memory, const HostArray& array) {
  ISTHMUS_RETURN_IF_ERROR(checkType(array.type));
  size_t bytes = array.type.sizeBytes();
  if (array.data == nullptr && bytes > 0) {
    return invalidArgument("buffer from host of ", array.type.toString(), ": data is null");
  }
  std::span<const int64_t> strides;
  if (array.byteStrides) {
    strides = *array.byteStrides;
    if (strides.size() != array.type.dims.size()) {
      return invalidArgument("buffer from host of ", array.type.toString(), ": ", strides.size(),
                             " strides, expected ", array.type.dims.size());
    }
  }
  std::vector<int64_t> rowMajor;
  if (!array.byteStrides && !array.type.minorToMajor.empty()) {
    rowMajor = denseStrides({array.type.elementType, array.type.dims});
    strides = rowMajor;
  }
  bool isInPlace = strides.empty() || isDense(array.type, strides);
  bool mayAlias = array.semantics == HostBufferSemantics::kImmutableZeroCopy ||
                  array.semantics == HostBufferSemantics::kMutableZeroCopy;
  auto address = reinterpret_cast<uintptr_t>(array.data);
  const bool isLineAligned = address % kBufferAlignment == 0;
  const size_t smallest = isLineAligned ? kSmallestAlias : kSmallestMisalignedAlias;
  if (mayAlias && isInPlace && bytes >= smallest && backend_.isHostAddressable() &&
      address % alignmentOf(array.type.elementType) == 0 && flagBool("ISTHMUS_ZERO_COPY")) {
    Promise released;
    bool isWritable = array.semantics == HostBufferSemantics::kMutableZeroCopy;
    auto storage = Storage::foreign(memory, const_cast<void*>(array.data), bytes, isWritable,
                                    [released] { released.set(); });
    auto buffer = makeRef<Buffer>(memory, std::make_shared<const ArrayType>(array.type),
                                  std::move(storage), Event());
    if (!isLineAligned && !isWritable && memory.queue() == nullptr) buffer->alignAfterFewUses();
    return FromHost{std::move(buffer), released.event()};
  }
  if (memory.queue() != nullptr) return enqueueFromHost(memory, array, strides);
  ISTHMUS_ASSIGN_OR_RETURN(Ref<Storage> storage,
                           Storage::allocate(memory, bytes, {&array.type, kFromHost}));
  ISTHMUS_RETURN_IF_ERROR(memory.writeArray(storage->data(), array.type, array.data, strides));
  return FromHost{makeRef<Buffer>(memory, std::make_shared<const ArrayType>(array.type),
                                  std::move(storage), Event()),
                  Event()};
}

StatusOr<BufferRef> Client::viewOfMemory(Memory& memory, ArrayType type, void* data,
                                         std::function<void()> onDelete) {
  ISTHMUS_RETURN_IF_ERROR(checkType(type));
  size_t bytes = type.sizeBytes();
  if (data == nullptr && bytes > 0) {
    return invalidArgument("view of device memory as ", type.toString(), ": the pointer is null");
  }
  if (reinterpret_cast<uintptr_t>(data) % kViewAlignment != 0) {
    return invalidArgument("view of device memory as ", type.toString(),
                           ": the address is not aligned to ", kViewAlignment, " bytes");
  }
  auto storage = Storage::foreign(memory, data, bytes, false, std::move(onDelete));
  return makeRef<Buffer>(memory, share(std::move(type)), std::move(storage), Event());
}

StatusOr<BufferRef> Client::uninitialized(Memory& memory, ArrayType type) {
  ISTHMUS_RETURN_IF_ERROR(checkType(type));
  ISTHMUS_ASSIGN_OR_RETURN(Ref<Storage> storage,
                           Storage::allocate(memory, type.sizeBytes(), {&type, "uninitialized"}));
  return makeRef<Buffer>(memory, share(std::move(type)), std::move(storage), Event());
}

StatusOr<BufferRef> Client::errorBuffer(Memory& memory, ArrayType type, Status error) {
  ISTHMUS_RETURN_IF_ERROR(checkType(type));
  if (error.ok()) return invalidArgument("error buffer: the error is OK");
  return makeRef<Buffer>(memory, share(std::move(type)), nullptr, Event::of(std::move(error)));
}

// ---- Programs
// -------------------------------------------------------------------------------------

StatusOr<Ref<LoadedExecutable>> Client::compile(const CompileRequest& request) {
  const ProgramLimits limits(*this);
  ISTHMUS_ASSIGN_OR_RETURN(auto executable, compileProgram(backend_, request, &limits));
  return load(std::move(executable));
}

StatusOr<Ref<LoadedExecutable>> Client::deserialize(std::string_view bytes,
                                                    const CompileOptions* options) {
  const ProgramLimits limits(*this);
  ISTHMUS_ASSIGN_OR_RETURN(auto executable, deserializeProgram(backend_, bytes, &limits));
  return load(std::move(executable), options);
}

StatusOr<Ref<LoadedExecutable>> Client::load(std::shared_ptr<const Executable> executable,
                                             const CompileOptions* options) {
  const ProgramInfo& info = executable->info();
  if (options == nullptr) options = &info.options;
  DeviceAssignment assignment;
  bool isPortable = options->compilePortableExecutable;
  if (!isPortable) {
    if (options->deviceAssignment) {
      assignment = *options->deviceAssignment;
    } else if (!info.deviceAssignment.deviceIds.empty()) {
      assignment = info.deviceAssignment;
    } else if (options->numReplicas == 1 && options->numPartitions == 1 &&
               options->deviceOrdinal >= 0) {
      assignment = {1, 1, {options->deviceOrdinal}};
    } else {
      assignment = defaultDeviceAssignment(options->numReplicas, options->numPartitions);
    }
  }
  return LoadedExecutable::create(Ref<Client>(this), std::move(executable), std::move(assignment),
                                  isPortable);
}

Status Client::admitForCaller(size_t launches, const Event& callersPart) {
  constexpr size_t kMany = 1024;
  constexpr size_t kMost = size_t{1} << 16;
  constexpr auto kMoment = std::chrono::milliseconds(1);
  size_t waiting = waitingForCaller_->fetch_add(launches, std::memory_order_relaxed);
  if (waiting >= kMost) {
    waitingForCaller_->fetch_sub(launches, std::memory_order_relaxed);
    return resourceExhausted(waiting,
                             " launches wait already for what their caller has yet to do: fulfil "
                             "an alias buffer, complete a transfer, or set an event");
  }
  callersPart.onReady([count = waitingForCaller_, launches](const Status&) {
    count->fetch_sub(launches, std::memory_order_relaxed);
  });
  if (waiting >= kMany && !TaskQueue::isQueueThread()) {
    (void)callersPart.awaitUntil(std::chrono::steady_clock::now() + kMoment);
  }
  return {};
}

}  // namespace isthmus

// Allocation in a memory space, with counts.
#include "runtime/memory/memory.h"

#include <algorithm>
#include <utility>

#include "isthmus/backend.h"
#include "isthmus/trace.h"
#include "runtime/client.h"
#include "runtime/device/device.h"
#include "runtime/memory/host_allocator.h"
#include "runtime/memory/host_layout.h"
#include "runtime/memory/staging.h"

namespace isthmus {
namespace {

// Blocks that errors name one by one.
constexpr size_t kListedBlocks = 8;
constexpr std::string_view kInUse = "in use are ";

void raiseTo(std::atomic<int64_t>& maximum, int64_t value) {
  int64_t seen = maximum.load(std::memory_order_relaxed);
  while (seen < value && !maximum.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

int64_t limitOf(Backend& backend, int deviceId) {
  AttributeMap stats = backend.memoryStats(deviceId);
  if (auto limit = stats.find("bytes_limit"); limit != stats.end()) {
    if (const auto* bytes = std::get_if<int64_t>(&limit->second)) return *bytes;
  }
  return hostMemoryLimit();
}

int64_t shareOf(int64_t bytes, const MemoryShare& share) {
  auto fraction = static_cast<int64_t>(static_cast<double>(bytes) * share.fraction);
  return share.maxBytes > 0 ? std::min(fraction, share.maxBytes) : fraction;
}

StatusOr<void*> allocateOnQueue(DeviceQueue& queue, std::string_view kind, size_t bytes,
                                DeviceEventRef& available) {
  ISTHMUS_ASSIGN_OR_RETURN(DeviceQueue::Block block, queue.allocate(kind, bytes));
  available = std::move(block.available);
  return block.data;
}

StatusOr<std::shared_ptr<Staging>> sharedStaging(size_t bytes) {
  ISTHMUS_ASSIGN_OR_RETURN(Staging staging, Staging::allocate(bytes));
  return std::make_shared<Staging>(std::move(staging));
}

}  // namespace

Memory::Memory(Client& client, Device& device, int id, int kindId, std::string kind,
               const MemoryShare& share)
    : client_(client),
      backend_(client.backend()),
      queue_(backend_.queue(device.id())),
      id_(id),
      kindId_(kindId),
      kind_(std::move(kind)),
      debugString_(kind_ + "[id=" + std::to_string(id) + ", device=" + std::to_string(device.id()) +
                   "]"),
      devices_{&device},
      deviceId_(device.id()),
      isHostAddressable_(backend_.isHostAddressable()),
      bytesLimit_(shareOf(limitOf(backend_, deviceId_), share)) {
  if (isHostAddressable_) return;
  blocks_ = std::make_unique<LiveBlocks>();
  // Where programs have their own.
  if (kind_ == "device") programs_ = &ProgramMemory::of(backend_, deviceId_);
}

Status Memory::describeFailure(const Status& status, size_t bytes) const {
  std::string place = "allocating in " + debugString_;
  if (blocks_ == nullptr || status.code() != StatusCode::kResourceExhausted) {
    return status.withContext(place);
  }
  return resourceExhausted(place, ": ", status.message(), "; asked for ", byteSizeText(bytes), ", ",
                           kInUse, largestBlocks());
}

// A limit's error has the list already.
Status Memory::describeShortage(const Status& status) const {
  if (blocks_ == nullptr || status.code() != StatusCode::kResourceExhausted) return status;
  if (status.message().find(kInUse) != std::string_view::npos) return status;
  return resourceExhausted(status.message(), "; of ", debugString_, " ", kInUse, largestBlocks());
}

std::string Memory::largestBlocks() const {
  std::vector<ProgramMemory::Entry> programs;
  if (programs_ != nullptr) programs = programs_->entries();
  return blocks_->largest(kListedBlocks, programs);
}

// The memories of a device share what there is, but programs use one of them.
Status Memory::checkLimit(size_t bytes, int64_t programBytes) const {
  int64_t left = bytesLimit_ - bytesInUse_.load(std::memory_order_relaxed) - programBytes;
  if (left >= 0 && bytes <= static_cast<size_t>(left)) return {};
  return resourceExhausted("the limit of ", byteSizeText(static_cast<size_t>(bytesLimit_)),
                           " is reached");
}

Status Memory::checkForPrograms(size_t bytes) const {
  Status status = checkLimit(bytes);
  return status.ok() ? status : describeFailure(status, bytes);
}

StatusOr<void*> Memory::allocateListed(size_t bytes, const BlockOrigin& origin,
                                       DeviceEventRef* available) {
  // Only if that helps.
  const bool isShort = programs_ != nullptr && !checkLimit(bytes).ok();
  if (isShort && checkLimit(bytes, 0).ok()) programs_->giveBack();
  ISTHMUS_RETURN_IF_ERROR(checkLimit(bytes));
  if (queue_ == nullptr) ISTHMUS_RETURN_IF_ERROR(device().givenUp());
  StatusOr<void*> data = queue_ == nullptr ? backend_.allocate(deviceId_, kind_, bytes)
                                           : allocateOnQueue(*queue_, kind_, bytes, *available);
  if (data.ok()) blocks_->add(*data, bytes, origin);
  return data;
}

StatusOr<void*> Memory::allocate(size_t bytes, const BlockOrigin& origin,
                                 DeviceEventRef* available) {
  StatusOr<void*> data = blocks_ == nullptr ? backend_.allocate(deviceId_, kind_, bytes)
                                            : allocateListed(bytes, origin, available);
  if (!data.ok()) return describeFailure(data.status(), bytes);
  auto size = static_cast<int64_t>(bytes);
  int64_t inUse = bytesInUse_.fetch_add(size, std::memory_order_relaxed) + size;
  allocations_.fetch_add(1, std::memory_order_relaxed);
  raiseTo(peakBytesInUse_, inUse + programBytes());
  raiseTo(largestAllocation_, size);
  return data;
}

void Memory::deallocate(void* data, size_t bytes) {
  if (blocks_ != nullptr) return deallocateListed(data, bytes, {});
  bytesInUse_.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_relaxed);
  backend_.deallocate(deviceId_, kind_, data, bytes);
}

void Memory::deallocateListed(void* data, size_t bytes, DeviceEvents after) {
  bytesInUse_.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_relaxed);
  blocks_->remove(data);
  if (queue_ != nullptr) return queue_->release(kind_, data, bytes, after);
  // What it was given up on may use it for ever.
  if (!device().givenUp().ok()) return;
  backend_.deallocate(deviceId_, kind_, data, bytes);
}

Status Memory::write(void* data, size_t offset, const void* host, size_t bytes) {
  if (isHostAddressable_) {
    copyBytes(static_cast<char*>(data) + offset, host, bytes);
    return {};
  }
  if (!device().isTimed()) return backend_.copyFromHost(deviceId_, data, offset, host, bytes);
  ISTHMUS_ASSIGN_OR_RETURN(std::shared_ptr<Staging> staging, sharedStaging(bytes));
  copyBytes(staging->data(), host, bytes);
  return device().inTime("a copy", [this, data, offset, staging, bytes] {
    return backend_.copyFromHost(deviceId_, data, offset, staging->data(), bytes);
  });
  return {};
}

Status Memory::read(const void* data, size_t offset, void* host, size_t bytes) const {
  if (isHostAddressable_) {
    copyBytes(host, static_cast<const char*>(data) + offset, bytes);
    return {};
  }
  if (!device().isTimed()) return backend_.copyToHost(deviceId_, data, offset, host, bytes);
  ISTHMUS_ASSIGN_OR_RETURN(std::shared_ptr<Staging> staging, sharedStaging(bytes));
  ISTHMUS_RETURN_IF_ERROR(device().inTime("a copy", [this, data, offset, staging, bytes] {
    return backend_.copyToHost(deviceId_, data, offset, staging->data(), bytes);
  }));
  copyBytes(host, staging->data(), bytes);
  return {};
}

Status Memory::writeArray(void* data, const ArrayType& type, const void* host,
                          std::span<const int64_t> byteStrides) {
  trace::Scope scope("copy to device", {}, static_cast<int64_t>(type.sizeBytes()));
  if (byteStrides.empty() || isDense(type, byteStrides)) {
    return write(data, 0, host, type.sizeBytes());
  }
  if (isHostAddressable_) {
    copyStrided(type, host, byteStrides, data, {});
    return {};
  }
  ISTHMUS_ASSIGN_OR_RETURN(Staging staging, Staging::allocate(type.sizeBytes()));
  copyStrided(type, host, byteStrides, staging.data(), {});
  return write(data, 0, staging.data(), type.sizeBytes());
}

Status Memory::readArray(const void* data, const ArrayType& type, void* host,
                         std::span<const int64_t> byteStrides) const {
  trace::Scope scope("copy to host", {}, static_cast<int64_t>(type.sizeBytes()));
  if (byteStrides.empty() || isDense(type, byteStrides)) {
    return read(data, 0, host, type.sizeBytes());
  }
  if (isHostAddressable_) {
    copyStrided(type, data, {}, host, byteStrides);
    return {};
  }
  ISTHMUS_ASSIGN_OR_RETURN(Staging staging, Staging::allocate(type.sizeBytes()));
  ISTHMUS_RETURN_IF_ERROR(read(data, 0, staging.data(), type.sizeBytes()));
  copyStrided(type, staging.data(), {}, host, byteStrides);
  return {};
}

Status Memory::copyFrom(void* data, const Memory& source, const void* sourceData, size_t bytes) {
  trace::Scope scope("copy between buffers", {}, static_cast<int64_t>(bytes));
  if (!isHostAddressable_) {
    return device().inTime("a copy", [this, data, from = source.deviceId_, sourceData, bytes] {
      return backend_.copyBetween(deviceId_, data, from, sourceData, bytes);
    });
  }
  copyBytes(data, sourceData, bytes);
  return {};
}

MemoryStats Memory::stats() const {
  MemoryStats stats;
  stats.bytesInUse = bytesInUse_.load(std::memory_order_relaxed) + programBytes();
  // Nobody told when programs took more.
  stats.peakBytesInUse =
      std::max(peakBytesInUse_.load(std::memory_order_relaxed), stats.bytesInUse);
  stats.allocations = allocations_.load(std::memory_order_relaxed);
  stats.largestAllocation = largestAllocation_.load(std::memory_order_relaxed);
  stats.bytesLimit = stats.bytesReservable = bytesLimit_;
  if (isHostAddressable_) {
    stats.bytesReservable /= static_cast<int64_t>(client_.addressableDevices().size());
  }
  return stats;
}

void Memory::clearStats() {
  peakBytesInUse_.store(bytesInUse_.load(std::memory_order_relaxed) + programBytes(),
                        std::memory_order_relaxed);
  largestAllocation_.store(0, std::memory_order_relaxed);
  allocations_.store(0, std::memory_order_relaxed);
}

}  // namespace isthmus

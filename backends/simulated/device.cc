// Events, the threads that take work, and what they do to memory.
#include "backends/simulated/device.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <utility>

namespace isthmus::simulated {

class WorkEvent final : public DeviceEvent {
 public:
  explicit WorkEvent(Machine& machine) : machine_(machine) {}

  bool isReady() const override { return isReady_.load(std::memory_order_acquire); }
  Status await() const override {
    std::unique_lock lock(machine_.mutex);
    machine_.changed.wait(lock, [this] { return isReady(); });
    return status_;
  }
  // With the machine's mutex held; the first counts.
  void set(Status status) {
    if (isReady()) return;
    status_ = std::move(status);
    isReady_.store(true, std::memory_order_release);
    machine_.changed.notify_all();
  }

 private:
  Machine& machine_;
  std::atomic<bool> isReady_{false};
  Status status_;
};

// A thread and the work that waits for it. All but the constructor: with the machine's mutex held.
class Engine {
 public:
  struct Item {
    std::string kernel;  // empty for a copy
    bool isOrdered = false;
    bool isFence = false;  // happens after all, however they ended
    std::function<Status()> work;
    std::vector<DeviceEventRef> after;
    std::vector<std::shared_ptr<WorkEvent>> ends;

    void end(const Status& status) const {
      for (const std::shared_ptr<WorkEvent>& event : ends) event->set(status);
    }
  };

  Engine(Device& device, uint32_t seed)
      : device_(device), order_(seed), isInOrder_(seed == 0), thread_([this] { loop(); }) {}
  ~Engine() {
    {
      std::lock_guard lock(device_.machine_.mutex);
      fail(Status(StatusCode::kCancelled, "the simulated device is gone"));
      isEnding_ = true;
      device_.machine_.changed.notify_all();
    }
    thread_.join();
  }

  void push(Item item) {
    items_.push_back(std::move(item));
    device_.machine_.changed.notify_all();
  }
  // Ends what has not begun.
  void fail(const Status& status) {
    for (Item& item : items_) item.end(status);
    items_.clear();
  }

 private:
  void loop();
  bool take(Item& item);
  Status perform(const Item& item);
  // Until the device is lost.
  Status hang();

  Device& device_;
  std::mt19937 order_;
  const bool isInOrder_;
  std::list<Item> items_;
  bool isEnding_ = false;
  std::thread thread_;
};

// Any item that may start now.
bool Engine::take(Item& item) {
  std::vector<std::list<Item>::iterator> ready;
  for (auto it = items_.begin(); it != items_.end(); ++it) {
    bool isFirst = it == items_.begin();
    if (it->isOrdered && !isFirst) break;
    bool isReady = std::all_of(it->after.begin(), it->after.end(),
                               [](const DeviceEventRef& event) { return event->isReady(); });
    if (isReady) ready.push_back(it);
    if (it->isOrdered || isInOrder_) break;
  }
  if (ready.empty()) return false;
  auto chosen = ready[isInOrder_ ? 0 : order_() % ready.size()];
  item = std::move(*chosen);
  items_.erase(chosen);
  return true;
}

void Engine::loop() {
  Machine& machine = device_.machine_;
  std::unique_lock lock(machine.mutex);
  while (true) {
    Item item;
    machine.changed.wait(lock, [&] { return isEnding_ || take(item); });
    if (isEnding_) return;
    lock.unlock();
    Status status = perform(item);
    item.work = nullptr;
    lock.lock();
    item.end(status);
  }
}

Status Engine::hang() {
  std::unique_lock lock(device_.machine_.mutex);
  device_.machine_.changed.wait(lock, [&] { return isEnding_ || !device_.lost_.ok(); });
  return device_.lost_.ok() ? Status(StatusCode::kCancelled, "the simulated device is gone")
                            : device_.lost_;
}

Status Engine::perform(const Item& item) {
  if (item.isFence) return {};
  for (const DeviceEventRef& event : item.after) ISTHMUS_RETURN_IF_ERROR(event->await());
  if (device_.options_.latency.count() > 0) std::this_thread::sleep_for(device_.options_.latency);
  if (item.kernel.empty()) {
    if (device_.takeFault(Fault::kCopy)) return internalError("a copy failed");
    if (!device_.takeFault(Fault::kHangingCopy)) return item.work();
    return hang();
  }
  if (device_.takeFault(Fault::kKernel, item.kernel)) {
    return internalError("kernel ", item.kernel, " read an address that is not there");
  }
  if (device_.takeFault(Fault::kLostDevice, item.kernel)) device_.lose();
  if (device_.takeFault(Fault::kHang, item.kernel)) static_cast<void>(hang());
  {
    std::lock_guard lock(device_.machine_.mutex);
    if (!device_.lost_.ok()) return device_.lost_.withContext("kernel " + item.kernel);
  }
  try {
    return item.work().withContext("kernel " + item.kernel);
  } catch (const std::exception& error) {
    return internalError("kernel ", item.kernel, ": ", error.what());
  }
}

Device::Device(DeviceOptions options, Machine& machine, std::unique_ptr<AddressSpace> memory)
    : options_(options),
      machine_(machine),
      memory_(std::move(memory)),
      compute_(std::make_unique<Engine>(*this, options.seed)),
      copies_(std::make_unique<Engine>(*this, options.seed)) {}

Device::~Device() = default;

StatusOr<std::unique_ptr<Device>> Device::create(DeviceOptions options, Machine& machine) {
  ISTHMUS_ASSIGN_OR_RETURN(std::unique_ptr<AddressSpace> memory,
                           AddressSpace::create(options.memoryBytes));
  // Not under the mutex: where the second thread cannot be started, the first one ends, and needs
  // it.
  std::unique_ptr<Device> device(new Device(options, machine, std::move(memory)));
  std::lock_guard lock(machine.mutex);
  device->id_ = static_cast<int>(machine.devices.size());
  machine.devices.push_back(device.get());
  return device;
}

void Device::inject(Fault fault, std::string kernel, int before) {
  std::lock_guard lock(machine_.mutex);
  faults_.push_back({fault, std::move(kernel), before});
}

bool Device::clearFaults() {
  std::lock_guard lock(machine_.mutex);
  const bool wereThere = !faults_.empty();
  faults_.clear();
  return wereThere;
}

bool Device::takeFault(Fault fault, std::string_view kernel) {
  std::lock_guard lock(machine_.mutex);
  auto found = std::find_if(faults_.begin(), faults_.end(), [&](const Injected& one) {
    return one.fault == fault && kernel.find(one.kernel) != std::string_view::npos;
  });
  if (found == faults_.end() || found->before-- > 0) return false;
  faults_.erase(found);
  return true;
}

void Device::lose() {
  std::lock_guard lock(machine_.mutex);
  lost_ = Status(StatusCode::kUnavailable, "device " + std::to_string(id_) + " is lost");
  compute_->fail(lost_);
  copies_->fail(lost_);
  for (const std::weak_ptr<WorkEvent>& promised : promised_) {
    if (std::shared_ptr<WorkEvent> event = promised.lock()) event->set(lost_);
  }
  machine_.changed.notify_all();
}

StatusOr<DeviceQueue::Block> Device::allocate(std::string_view, size_t bytes) {
  if (takeFault(Fault::kOutOfMemory)) {
    return resourceExhausted("no memory for ", bytes, " bytes (simulated)");
  }
  {
    std::lock_guard lock(machine_.mutex);
    if (!lost_.ok()) return lost_;
  }
  ISTHMUS_ASSIGN_OR_RETURN(AddressSpace::Block block, memory_->allocate(bytes));
  Block result{block.data, nullptr};
  if (!block.available.empty()) {
    StatusOr<DeviceEventRef> all = enqueueCopy({}, block.available);
    if (!all.ok()) {
      memory_->release(block.data, {});
      return all.status();
    }
    result.available = *std::move(all);
  }
  return result;
}

void Device::release(std::string_view, void* data, size_t, DeviceEvents after) {
  memory_->release(data, {after.begin(), after.end()});
}

StatusOr<DeviceEventRef> Device::enqueueCopy(std::function<Status()> copy, DeviceEvents after) {
  bool isFence = !copy;
  if (!isFence && takeFault(Fault::kRefusal)) return internalError("a copy was not taken");
  auto event = std::make_shared<WorkEvent>(machine_);
  std::lock_guard lock(machine_.mutex);
  if (!lost_.ok()) return lost_;
  copies_->push({"", false, isFence, std::move(copy), {after.begin(), after.end()}, {event}});
  return DeviceEventRef(std::move(event));
}

StatusOr<DeviceEventRef> Device::copyFromHost(void* device, size_t offset, const void* host,
                                              size_t bytes, DeviceEvents after) {
  ISTHMUS_ASSIGN_OR_RETURN(char* to, memory_->twin(static_cast<char*>(device) + offset, bytes));
  return enqueueCopy(
      [=] {
        if (bytes > 0) std::memcpy(to, host, bytes);
        return Status();
      },
      after);
}

StatusOr<DeviceEventRef> Device::copyToHost(const void* device, size_t offset, void* host,
                                            size_t bytes, DeviceEvents after) {
  ISTHMUS_ASSIGN_OR_RETURN(char* from,
                           memory_->twin(static_cast<const char*>(device) + offset, bytes));
  return enqueueCopy(
      [=] {
        if (bytes > 0) std::memcpy(host, from, bytes);
        return Status();
      },
      after);
}

StatusOr<DeviceEventRef> Device::copyFromDevice(void* to, int fromDeviceId, const void* from,
                                                size_t bytes, DeviceEvents after) {
  Device* peer = nullptr;
  {
    std::lock_guard lock(machine_.mutex);
    auto index = static_cast<size_t>(fromDeviceId);
    if (index < machine_.devices.size()) peer = machine_.devices[index];
  }
  if (peer == nullptr) {
    return invalidArgument("copy from device ", fromDeviceId, ", which is not there");
  }
  ISTHMUS_ASSIGN_OR_RETURN(char* target, memory_->twin(to, bytes));
  ISTHMUS_ASSIGN_OR_RETURN(char* source, peer->memory_->twin(from, bytes));
  return enqueueCopy(
      [=] {
        if (bytes > 0) std::memmove(target, source, bytes);
        return Status();
      },
      after);
}

StatusOr<DeviceEventRef> Device::launch(std::string kernel, bool isOrdered,
                                        std::function<Status()> work, DeviceEvents after,
                                        DeviceEvents with) {
  if (takeFault(Fault::kRefusal, kernel)) {
    return internalError("kernel ", kernel, " was not taken");
  }
  auto event = std::make_shared<WorkEvent>(machine_);
  std::vector<std::shared_ptr<WorkEvent>> ends = {event};
  for (const DeviceEventRef& promised : with) {
    ends.push_back(
        std::const_pointer_cast<WorkEvent>(std::static_pointer_cast<const WorkEvent>(promised)));
  }
  std::lock_guard lock(machine_.mutex);
  if (!lost_.ok()) return lost_;
  compute_->push({std::move(kernel),
                  isOrdered,
                  false,
                  std::move(work),
                  {after.begin(), after.end()},
                  std::move(ends)});
  return DeviceEventRef(std::move(event));
}

DeviceEventRef Device::promise() {
  auto event = std::make_shared<WorkEvent>(machine_);
  std::lock_guard lock(machine_.mutex);
  if (!lost_.ok()) event->set(lost_);
  std::erase_if(promised_, [](const auto& promised) { return promised.expired(); });
  promised_.push_back(event);
  return event;
}

void Device::fail(const DeviceEventRef& promised, const Status& status) {
  std::lock_guard lock(machine_.mutex);
  std::const_pointer_cast<WorkEvent>(std::static_pointer_cast<const WorkEvent>(promised))
      ->set(status);
}

}  // namespace isthmus::simulated

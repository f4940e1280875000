// A backend over the devices of a driver that is loaded when the first client is made.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "compiler/driver/driver.h"
#include "isthmus/backend.h"
#include "isthmus/status.h"

namespace isthmus {

// `Choice` is what a client chooses, comparable by ==, with the driver's `library`. From any
// thread.
template <typename Driver, typename Queue, typename Choice>
class DriverBackend : public Backend {
 public:
  std::string platformName() const override {
    std::lock_guard lock(mutex_);
    return platformName_;
  }
  DeviceQueue* queue(int deviceId) override { return &queueOf(deviceId); }
  bool isHostAddressable() const override { return false; }
  StatusOr<std::string> optimizedProgram(const ProgramInfo& info) override {
    return optimizedProgramText(info);
  }

 protected:
  // `platform`: its name unless a client gives it another; `api`: what drives the devices
  // ("OpenCL"), for messages.
  DriverBackend(std::string platform, std::string api)
      : platformName_(std::move(platform)), api_(std::move(api)) {}

  // Loads it, with what else the choice names. Called once, unless it fails, under mutex_.
  virtual StatusOr<std::unique_ptr<Driver>> createDriver(const Choice& choice) = 0;
  // Once for each device of the driver that was created, in their order, under mutex_ too. The
  // driver outlives it.
  virtual std::unique_ptr<Queue> createQueue(Driver& driver, int device) = 0;

  // The driver of the first client; null before.
  Driver* driver() const {
    std::lock_guard lock(mutex_);
    return driver_.get();
  }
  Queue& queueOf(int deviceId) const {
    std::lock_guard lock(mutex_);
    return *queues_[static_cast<size_t>(deviceId)];
  }
  // For a client, and the platform's name that it wants, if it does. kFailedPrecondition if an
  // earlier client chose otherwise.
  StatusOr<Driver*> openDriver(const Choice& choice, std::string platformName) {
    std::lock_guard lock(mutex_);
    if (!platformName.empty()) platformName_ = std::move(platformName);
    if (!driver_) {
      ISTHMUS_ASSIGN_OR_RETURN(driver_, createDriver(choice));
      choice_ = choice;
      for (int device = 0; device < driver_->numDevices(); ++device) {
        queues_.push_back(createQueue(*driver_, device));
      }
    }
    if (choice != choice_) {
      return failedPrecondition("this process has a client of other ", api_,
                                " devices: ", driver_->numDevices(), " by ", choice_.library);
    }
    return driver_.get();
  }

  mutable std::mutex mutex_;
  Choice choice_;  // under mutex_

 private:
  std::string platformName_;
  const std::string api_;
  std::unique_ptr<Driver> driver_;
  std::vector<std::unique_ptr<Queue>> queues_;  // by device
};

}  // namespace isthmus

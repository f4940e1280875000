// Events of devices that know more of their work than that it is not over.
#pragma once

#include <string>

#include "isthmus/device_queue.h"

namespace isthmus {

class DescribedEvent : public DeviceEvent {
 public:
  // What of the work is under way ("kernel k (add)", "a copy"), for the error when it takes too
  // long; empty: that is not known.
  virtual std::string underWay() const = 0;
};

// Empty also where the event does not say.
inline std::string underWay(const DeviceEvent& event) {
  const auto* described = dynamic_cast<const DescribedEvent*>(&event);
  return described == nullptr ? std::string() : described->underWay();
}

}  // namespace isthmus

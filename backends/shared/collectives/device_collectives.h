// Collectives that devices carry out by themselves: who takes part, and what must be reordered
// before and after, whatever the device is.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "backends/shared/collectives/collective_descriptor.h"
#include "backends/shared/collectives/collective_groups.h"
#include "isthmus/device_optional.h"
#include "isthmus/status.h"

namespace isthmus {

// A collective as a device of a launch takes part in it.
struct CollectivePart {
  DeviceCollective::Kind kind = DeviceCollective::Kind::kAllReduce;
  std::vector<int64_t> devices;  // in rank order
  std::vector<int64_t> sources;  // of a permutation
};

// Whether a function of the host (HostFunction::function) is a collective.
bool isCollectiveFunction(std::string_view function);

// Of one. kInvalidArgument if its groups are not those of the launch.
StatusOr<CollectivePart> collectivePartOf(std::string_view function, const Collective& collective,
                                          const RunRequest& request);

// One collective of one device, operand by operand. Places are addresses, or blocks and offsets.
template <typename Place>
class CollectiveOnDevice {
 public:
  CollectiveOnDevice(const Collective& collective, const CollectivePart& part)
      : collective_(collective),
        part_(part),
        ranks_(static_cast<int64_t>(part.devices.size())),
        width_(static_cast<int64_t>(elementSizeBytes(collective.head.type))) {}
  virtual ~CollectiveOnDevice() = default;

  // Enqueues all that this takes. kInvalidArgument if the operand's shape does not fit the group.
  Status enqueue(const CollectiveOperand& operand, Place input, Place output) {
    using Kind = DeviceCollective::Kind;
    int64_t elements = operand.elements;
    switch (part_.kind) {
      case Kind::kAllReduce:
      case Kind::kPermute:
        return meet(elements, input, output);
      case Kind::kAllGather: {
        ISTHMUS_RETURN_IF_ERROR(checkResult(collective_, operand, elements * ranks_, ranks_));
        return meetAndJoin(operand, elements, input, output);
      }
      case Kind::kReduceScatter: {
        ISTHMUS_RETURN_IF_ERROR(checkSplit(collective_, operand, ranks_));
        ISTHMUS_RETURN_IF_ERROR(checkResult(collective_, operand, elements / ranks_, ranks_));
        ISTHMUS_ASSIGN_OR_RETURN(Place blocks, splitInput(operand, input));
        return meet(elements / ranks_, blocks, output);
      }
      case Kind::kAllToAll: {
        ISTHMUS_RETURN_IF_ERROR(checkSplit(collective_, operand, ranks_));
        ISTHMUS_RETURN_IF_ERROR(checkResult(collective_, operand, elements, ranks_));
        ISTHMUS_ASSIGN_OR_RETURN(Place blocks, splitInput(operand, input));
        return meetAndJoin(operand, elements / ranks_, blocks, output);
      }
    }
    return internalError("no such collective");
  }

 protected:
  const Collective& collective() const { return collective_; }
  const CollectivePart& part() const { return part_; }
  int64_t width() const { return width_; }  // bytes of an element

  // Memory of so many bytes until the collective is over.
  virtual StatusOr<Place> temporary(int64_t bytes) = 0;
  // Enqueues the reordering of an array of [a, b] blocks of `bytes` to [b, a].
  virtual Status swapBlocks(Place from, Place to, int64_t a, int64_t b, int64_t bytes) = 0;
  // Enqueues the exchange; `elements` as DeviceCollective has them.
  virtual Status meet(int64_t elements, Place input, Place output) = 0;

 private:
  // The input with one rank's part after the other.
  StatusOr<Place> splitInput(const CollectiveOperand& operand, Place input) {
    if (operand.splitOuter <= 1) return input;
    ISTHMUS_ASSIGN_OR_RETURN(Place reordered, temporary(operand.elements * width_));
    ISTHMUS_RETURN_IF_ERROR(swapBlocks(input, reordered, operand.splitOuter, ranks_,
                                       operand.elements / (operand.splitOuter * ranks_) * width_));
    return reordered;
  }
  // What comes has one rank's part of `elements` after the other.
  Status meetAndJoin(const CollectiveOperand& operand, int64_t elements, Place input,
                     Place output) {
    if (operand.joinOuter <= 1) return meet(elements, input, output);
    ISTHMUS_ASSIGN_OR_RETURN(Place received, temporary(elements * ranks_ * width_));
    ISTHMUS_RETURN_IF_ERROR(meet(elements, input, received));
    return swapBlocks(received, output, ranks_, operand.joinOuter,
                      elements * width_ / operand.joinOuter);
  }

  const Collective& collective_;
  const CollectivePart& part_;
  int64_t ranks_;
  int64_t width_;
};

}  // namespace isthmus

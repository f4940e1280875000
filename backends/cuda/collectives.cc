#include "backends/cuda/collectives.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <string_view>

#include "backends/shared/collectives/device_collectives.h"
#include "isthmus/run_services.h"
#include "runtime/event.h"

namespace isthmus::cuda {
namespace {

constexpr Queue kQueue = Queue::kCompute;
// Of copies of blocks: what CUDA calls a pitch.
constexpr int64_t kMaxStrideBytes = (int64_t{1} << 31) - 1;

using Kind = DeviceCollective::Kind;

// A reduction as NCCL is asked for it.
struct Reduction {
  NcclType type;
  NcclReduction operation;
  size_t parts = 1;  // numbers of an element
};

std::optional<NcclType> integerType(ElementType type) {
  switch (type) {
    case ElementType::kS8:
      return NcclType::kS8;
    case ElementType::kU8:
      return NcclType::kU8;
    case ElementType::kS32:
      return NcclType::kS32;
    case ElementType::kU32:
      return NcclType::kU32;
    case ElementType::kS64:
      return NcclType::kS64;
    case ElementType::kU64:
      return NcclType::kU64;
    default:
      return std::nullopt;
  }
}

std::optional<NcclType> floatType(ElementType type) {
  switch (type) {
    case ElementType::kF16:
      return NcclType::kF16;
    case ElementType::kBF16:
      return NcclType::kBf16;
    case ElementType::kF32:
      return NcclType::kF32;
    case ElementType::kF64:
      return NcclType::kF64;
    default:
      return std::nullopt;
  }
}

// None where NCCL has no such type or operation, or another one: its least and greatest of floats
// lose NaNs, which StableHLO's keep.
std::optional<Reduction> reductionOf(ReductionKind kind, ElementType type) {
  if (type == ElementType::kPred) {
    // Zeros and ones.
    bool isOr =
        kind == ReductionKind::kSum || kind == ReductionKind::kMax || kind == ReductionKind::kOr;
    return Reduction{NcclType::kU8, isOr ? NcclReduction::kMax : NcclReduction::kMin};
  }
  if (kind == ReductionKind::kSum) {
    if (type == ElementType::kC64) return Reduction{NcclType::kF32, NcclReduction::kSum, 2};
    if (type == ElementType::kC128) return Reduction{NcclType::kF64, NcclReduction::kSum, 2};
  }
  std::optional<NcclType> integer = integerType(type);
  std::optional<NcclType> any = integer ? integer : floatType(type);
  if (!any) return std::nullopt;
  switch (kind) {
    case ReductionKind::kSum:
      return Reduction{*any, NcclReduction::kSum};
    case ReductionKind::kProduct:
      return Reduction{*any, NcclReduction::kProduct};
    case ReductionKind::kMin:
      if (integer) return Reduction{*integer, NcclReduction::kMin};
      return std::nullopt;
    case ReductionKind::kMax:
      if (integer) return Reduction{*integer, NcclReduction::kMax};
      return std::nullopt;
    case ReductionKind::kAnd:
    case ReductionKind::kOr:
      return std::nullopt;  // bit by bit
  }
  return std::nullopt;
}

// Memory in the order of the queue.
class Temporary {
 public:
  Temporary(Driver& driver, int device) : driver_(driver), device_(device) {}
  ~Temporary() { driver_.free(device_, kQueue, data_); }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  StatusOr<void*> allocate(size_t bytes) {
    ISTHMUS_ASSIGN_OR_RETURN(data_, driver_.allocate(device_, kQueue, bytes));
    return data_;
  }

 private:
  Driver& driver_;
  int device_;
  void* data_ = nullptr;
};

class CollectiveByNccl final : public CollectiveOnDevice<void*> {
 public:
  CollectiveByNccl(Nccl& nccl, Driver& driver, const NcclPart& by, const Collective& collective,
                   const CollectivePart& part, const Reduction& reduction)
      : CollectiveOnDevice(collective, part),
        nccl_(nccl),
        driver_(driver),
        by_(by),
        reduction_(reduction) {}

 private:
  static size_t size(int64_t number) { return static_cast<size_t>(number); }

  StatusOr<void*> temporary(int64_t bytes) override {
    return temporaries_.emplace_back(driver_, by_.device).allocate(size(bytes));
  }

  Status meet(int64_t elements, void* input, void* output) override {
    const size_t bytes = size(elements * width());
    switch (part().kind) {
      case Kind::kAllReduce:
        return nccl_.allReduce(by_, reduction_.type, reduction_.operation,
                               size(elements) * reduction_.parts, input, output);
      case Kind::kReduceScatter:
        return nccl_.reduceScatter(by_, reduction_.type, reduction_.operation,
                                   size(elements) * reduction_.parts, input, output);
      case Kind::kAllGather:
        return nccl_.allGather(by_, bytes, input, output);
      case Kind::kAllToAll:
        return nccl_.allToAll(by_, bytes, input, output);
      case Kind::kPermute:
        return nccl_.permute(by_, part().sources, bytes, input, output);
    }
    return internalError("no such collective");
  }

  Status swapBlocks(void* from, void* to, int64_t a, int64_t b, int64_t bytes) override {
    const char* source = static_cast<const char*>(from);
    char* target = static_cast<char*>(to);
    if (std::max(a, b) * bytes > kMaxStrideBytes) {
      // These blocks are large.
      for (int64_t i = 0; i < a * b; ++i) {
        ISTHMUS_RETURN_IF_ERROR(driver_.copy(by_.device, kQueue,
                                             target + (i % b * a + i / b) * bytes,
                                             source + i * bytes, size(bytes)));
      }
      return {};
    }
    for (int64_t i = 0; i < std::min(a, b); ++i) {
      Status status =
          a <= b ? driver_.copyBlocks(by_.device, kQueue, target + i * bytes, size(a * bytes),
                                      source + i * b * bytes, size(bytes), size(bytes), size(b))
                 : driver_.copyBlocks(by_.device, kQueue, target + i * a * bytes, size(bytes),
                                      source + i * bytes, size(b * bytes), size(bytes), size(a));
      ISTHMUS_RETURN_IF_ERROR(status);
    }
    return {};
  }

  Nccl& nccl_;
  Driver& driver_;
  const NcclPart& by_;
  const Reduction& reduction_;
  std::deque<Temporary> temporaries_;
};

}  // namespace

bool RunCollectives::isCollective(const HostFunction& function) {
  return isCollectiveFunction(function.function);
}

StatusOr<NcclPart> RunCollectives::join(const std::vector<int64_t>& devices,
                                        const char* description) {
  NcclPart part;
  part.description = description;
  ISTHMUS_ASSIGN_OR_RETURN(part.group, nccl_->group(devices, request_.launchId));
  if (!run_) {
    run_ = std::make_shared<NcclRun>();
    Promise aborted;
    request_.services->collectives().onAbort(
        request_.launchId, request_.deviceId,
        [aborted](const Status& error) { aborted.set(error); });
    abortedBy_ = [event = aborted.event()] { return event.isReady() ? event.status() : Status(); };
  }
  part.rank = static_cast<int>(std::ranges::find(devices, request_.deviceId) - devices.begin());
  part.device = request_.deviceId;
  part.launchId = request_.launchId;
  part.run = run_;
  part.queue = kQueue;
  part.abortedBy = abortedBy_;
  return part;
}

StatusOr<bool> RunCollectives::enqueue(const HostFunction& function,
                                       const std::vector<void*>& inputs,
                                       const std::vector<void*>& outputs) {
  if (!nccl_ || !isCollective(function)) return false;
  const Collective collective(function.descriptor.data());
  ISTHMUS_ASSIGN_OR_RETURN(CollectivePart part,
                           collectivePartOf(function.function, collective, request_));
  std::optional<Reduction> reduction = Reduction{NcclType::kU8, NcclReduction::kSum};
  if (part.kind == Kind::kAllReduce || part.kind == Kind::kReduceScatter) {
    reduction = reductionOf(collective.head.reduction, collective.head.type);
  }
  if (!reduction || !nccl_->canMeet(part.devices)) return false;
  ISTHMUS_ASSIGN_OR_RETURN(NcclPart by, join(part.devices, collective.description));
  for (size_t i = 0; i < collective.operands.size(); ++i) {
    if (collective.operands[i].elements == 0) continue;
    CollectiveByNccl one(*nccl_, driver_, by, collective, part, *reduction);
    ISTHMUS_RETURN_IF_ERROR(one.enqueue(collective.operands[i], inputs[i], outputs[i]));
  }
  return true;
}

}  // namespace isthmus::cuda

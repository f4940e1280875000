#include "backends/cuda/collectives.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "backends/shared/collectives/collective_groups.h"
#include "isthmus/run_services.h"
#include "runtime/event.h"

namespace isthmus::cuda {
namespace {

constexpr Queue kQueue = Queue::kCompute;
// Of copies of blocks: what CUDA calls a pitch.
constexpr int64_t kMaxStrideBytes = (int64_t{1} << 31) - 1;

enum class Kind { kAllReduce, kAllGather, kReduceScatter, kAllToAll, kPermute, kBroadcast };

std::optional<Kind> kindOf(std::string_view function) {
  constexpr std::pair<std::string_view, Kind> kKinds[] = {
      {"isthmus_rt_all_reduce", Kind::kAllReduce},
      {"isthmus_rt_all_gather", Kind::kAllGather},
      {"isthmus_rt_reduce_scatter", Kind::kReduceScatter},
      {"isthmus_rt_all_to_all", Kind::kAllToAll},
      {"isthmus_rt_collective_permute", Kind::kPermute},
      {"isthmus_rt_collective_broadcast", Kind::kBroadcast},
  };
  for (const auto& [name, kind] : kKinds) {
    if (name == function) return kind;
  }
  return std::nullopt;
}

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

  StatusOr<char*> allocate(size_t bytes) {
    ISTHMUS_ASSIGN_OR_RETURN(data_, driver_.allocate(device_, kQueue, bytes));
    return static_cast<char*>(data_);
  }

 private:
  Driver& driver_;
  int device_;
  void* data_ = nullptr;
};

// One collective of one device, operand by operand.
class EnqueuedCollective {
 public:
  EnqueuedCollective(Nccl& nccl, Driver& driver, const NcclPart& part, const Collective& collective)
      : nccl_(nccl),
        driver_(driver),
        part_(part),
        collective_(collective),
        width_(static_cast<int64_t>(elementSizeBytes(collective.head.type))),
        ranks_(static_cast<int64_t>(part.group->ranks())) {}

  Status allReduce(const CollectiveOperand& operand, const Reduction& reduction, const void* input,
                   void* output) {
    return nccl_.allReduce(part_, reduction.type, reduction.operation,
                           size(operand.elements) * reduction.parts, input, output);
  }

  Status allGather(const CollectiveOperand& operand, const void* input, void* output) {
    ISTHMUS_RETURN_IF_ERROR(checkResult(collective_, operand, operand.elements * ranks_, ranks_));
    int64_t bytes = operand.elements * width_;
    if (operand.joinOuter <= 1) return nccl_.allGather(part_, size(bytes), input, output);
    Temporary gathered(driver_, part_.device);
    ISTHMUS_ASSIGN_OR_RETURN(char* data, gathered.allocate(size(bytes * ranks_)));
    ISTHMUS_RETURN_IF_ERROR(nccl_.allGather(part_, size(bytes), input, data));
    return swapBlocks(data, output, ranks_, operand.joinOuter, bytes / operand.joinOuter);
  }

  Status reduceScatter(const CollectiveOperand& operand, const Reduction& reduction,
                       const void* input, void* output) {
    ISTHMUS_RETURN_IF_ERROR(checkSplit(collective_, operand, ranks_));
    ISTHMUS_RETURN_IF_ERROR(checkResult(collective_, operand, operand.elements / ranks_, ranks_));
    Temporary reordered(driver_, part_.device);
    ISTHMUS_ASSIGN_OR_RETURN(const void* blocks, splitInput(operand, input, reordered));
    return nccl_.reduceScatter(part_, reduction.type, reduction.operation,
                               size(operand.elements / ranks_) * reduction.parts, blocks, output);
  }

  Status allToAll(const CollectiveOperand& operand, const void* input, void* output) {
    ISTHMUS_RETURN_IF_ERROR(checkSplit(collective_, operand, ranks_));
    ISTHMUS_RETURN_IF_ERROR(checkResult(collective_, operand, operand.elements, ranks_));
    Temporary reordered(driver_, part_.device), received(driver_, part_.device);
    ISTHMUS_ASSIGN_OR_RETURN(const void* blocks, splitInput(operand, input, reordered));
    int64_t bytes = operand.elements * width_ / ranks_;
    if (operand.joinOuter <= 1) return nccl_.allToAll(part_, size(bytes), blocks, output);
    ISTHMUS_ASSIGN_OR_RETURN(char* data, received.allocate(size(bytes * ranks_)));
    ISTHMUS_RETURN_IF_ERROR(nccl_.allToAll(part_, size(bytes), blocks, data));
    return swapBlocks(data, output, ranks_, operand.joinOuter, bytes / operand.joinOuter);
  }

  Status permute(const CollectiveOperand& operand, std::span<const int64_t> sources,
                 const void* input, void* output) {
    return nccl_.permute(part_, sources, size(operand.elements * width_), input, output);
  }

 private:
  static size_t size(int64_t number) { return static_cast<size_t>(number); }

  // The input with one rank's part after the other.
  StatusOr<const void*> splitInput(const CollectiveOperand& operand, const void* input,
                                   Temporary& reordered) {
    if (operand.splitOuter <= 1) return input;
    ISTHMUS_ASSIGN_OR_RETURN(char* data, reordered.allocate(size(operand.elements * width_)));
    ISTHMUS_RETURN_IF_ERROR(swapBlocks(input, data, operand.splitOuter, ranks_,
                                       operand.elements / (operand.splitOuter * ranks_) * width_));
    return data;
  }

  // Reorders an array of [a, b] blocks to [b, a].
  Status swapBlocks(const void* from, void* to, int64_t a, int64_t b, int64_t bytes) {
    const char* source = static_cast<const char*>(from);
    char* target = static_cast<char*>(to);
    if (std::max(a, b) * bytes > kMaxStrideBytes) {
      // These blocks are large.
      for (int64_t i = 0; i < a * b; ++i) {
        ISTHMUS_RETURN_IF_ERROR(driver_.copy(part_.device, kQueue,
                                             target + (i % b * a + i / b) * bytes,
                                             source + i * bytes, size(bytes)));
      }
      return {};
    }
    for (int64_t i = 0; i < std::min(a, b); ++i) {
      Status status =
          a <= b ? driver_.copyBlocks(part_.device, kQueue, target + i * bytes, size(a * bytes),
                                      source + i * b * bytes, size(bytes), size(bytes), size(b))
                 : driver_.copyBlocks(part_.device, kQueue, target + i * a * bytes, size(bytes),
                                      source + i * bytes, size(b * bytes), size(bytes), size(a));
      ISTHMUS_RETURN_IF_ERROR(status);
    }
    return {};
  }

  Nccl& nccl_;
  Driver& driver_;
  const NcclPart& part_;
  const Collective& collective_;
  int64_t width_;
  int64_t ranks_;
};

}  // namespace

bool DeviceCollectives::isCollective(const HostFunction& function) {
  return kindOf(function.function).has_value();
}

StatusOr<NcclPart> DeviceCollectives::join(const std::vector<int64_t>& devices,
                                           const char* description) {
  NcclPart part;
  part.description = description;
  ISTHMUS_ASSIGN_OR_RETURN(part.group, nccl_->group(devices, request_.launchId));
  if (!run_) {
    run_ = std::make_shared<NcclRun>();
    Promise aborted;
    request_.services->collectives().promiseOnAbort(request_.launchId, request_.deviceId, aborted);
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

StatusOr<bool> DeviceCollectives::enqueue(const HostFunction& function,
                                          const std::vector<void*>& inputs,
                                          const std::vector<void*>& outputs) {
  std::optional<Kind> kind = kindOf(function.function);
  if (!nccl_ || !kind) return false;
  const Collective collective(function.descriptor.data());
  std::optional<Reduction> reduction;
  if (kind == Kind::kAllReduce || kind == Kind::kReduceScatter) {
    reduction = reductionOf(collective.head.reduction, collective.head.type);
    if (!reduction) return false;
  }
  std::vector<int64_t> devices, sources;
  if (kind == Kind::kPermute || kind == Kind::kBroadcast) {
    devices = everybodyOf(request_, collective);
    ISTHMUS_ASSIGN_OR_RETURN(sources, kind == Kind::kPermute
                                          ? sourcesByPairs(request_, collective)
                                          : sourcesOfBroadcast(request_, collective));
  } else {
    ISTHMUS_ASSIGN_OR_RETURN(devices, findOwnGroup(request_, collective));
  }
  if (!nccl_->canMeet(devices)) return false;
  ISTHMUS_ASSIGN_OR_RETURN(NcclPart part, join(devices, collective.description));
  EnqueuedCollective enqueued(*nccl_, driver_, part, collective);
  for (size_t i = 0; i < collective.operands.size(); ++i) {
    const CollectiveOperand& operand = collective.operands[i];
    if (operand.elements == 0) continue;
    Status status;
    switch (*kind) {
      case Kind::kAllReduce:
        status = enqueued.allReduce(operand, *reduction, inputs[i], outputs[i]);
        break;
      case Kind::kAllGather:
        status = enqueued.allGather(operand, inputs[i], outputs[i]);
        break;
      case Kind::kReduceScatter:
        status = enqueued.reduceScatter(operand, *reduction, inputs[i], outputs[i]);
        break;
      case Kind::kAllToAll:
        status = enqueued.allToAll(operand, inputs[i], outputs[i]);
        break;
      case Kind::kPermute:
      case Kind::kBroadcast:
        status = enqueued.permute(operand, sources, inputs[i], outputs[i]);
        break;
    }
    ISTHMUS_RETURN_IF_ERROR(status);
  }
  return true;
}

}  // namespace isthmus::cuda

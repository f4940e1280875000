// Which bytes go to which process, for each collective.
#include "runtime/collectives/wire.h"

#include <algorithm>
#include <memory>
#include <new>
#include <string>

#include "runtime/bootstrap/topology_exchange.h"
#include "runtime/collectives/reduce.h"
#include "runtime/stable_hash.h"

namespace isthmus {
namespace {

constexpr size_t kSmallBytes = 64 << 10;

const char* at(const void* data, size_t offset) { return static_cast<const char*>(data) + offset; }
char* at(void* data, size_t offset) { return static_cast<char*>(data) + offset; }

using Bytes = std::unique_ptr<char[]>;

StatusOr<Bytes> allocate(size_t bytes) {
  Bytes memory(new (std::nothrow) char[std::max<size_t>(bytes, 1)]);
  if (memory == nullptr) {
    return resourceExhausted("no memory for ", bytes, " bytes from other processes");
  }
  return memory;
}

// The elements that each of `count` processes reduces: [begin(i), begin(i + 1)).
struct Shares {
  int64_t elements;
  int64_t count;
  int64_t begin(size_t i) const {
    auto index = static_cast<int64_t>(i);
    return elements / count * index + std::min(index, elements % count);
  }
  int64_t size(size_t i) const { return begin(i + 1) - begin(i); }
};

}  // namespace

WireCollective::WireCollective(Job& job, const CollectiveCall& call,
                               std::span<const CollectivePart> parts, uint64_t tag)
    : job_(job), call_(call), parts_(parts), tag_(tag) {
  for (size_t rank = 0; rank < parts.size(); ++rank) {
    int process = processOfDevice(call.group[rank]);
    auto found = std::find(processes_.begin(), processes_.end(), process);
    if (process == job.processIndex() && found == processes_.end()) {
      own_ = processes_.size();
      first_ = rank;
    }
    processOfRank_.push_back(static_cast<size_t>(found - processes_.begin()));
    if (found == processes_.end()) processes_.push_back(process);
  }
}

bool WireCollective::isSmallReduction(size_t bytes, size_t ranks) {
  return bytes <= kSmallBytes / ranks;
}

void WireCollective::send(size_t process, uint64_t what, const void* data, size_t bytes) {
  if (bytes == 0) return;
  outgoing_.push_back({processes_[process], combineHashes(tag_, what), data, bytes});
}

void WireCollective::receive(size_t process, uint64_t what, void* data, size_t bytes) {
  if (bytes == 0) return;
  incoming_.push_back({processes_[process], combineHashes(tag_, what), data, bytes});
}

Status WireCollective::exchange() {
  std::string what = internal::concatenate(parts_[first_].operation, " (", call_.description, ")");
  Status status = job_.exchange(what, outgoing_, incoming_);
  outgoing_.clear();
  incoming_.clear();
  return status;
}

Status WireCollective::allGather(size_t bytes) {
  for (size_t rank = 0; rank < parts_.size(); ++rank) {
    if (!isLocal(rank)) {
      receive(processOfRank_[rank], rank, at(parts_[first_].output, rank * bytes), bytes);
      continue;
    }
    for (size_t process = 0; process < processes_.size(); ++process) {
      if (process != own_) send(process, rank, parts_[rank].input, bytes);
    }
  }
  return exchange();
}

Status WireCollective::allToAll(size_t bytes) {
  size_t ranks = parts_.size();
  for (size_t from = 0; from < ranks; ++from) {
    for (size_t to = 0; to < ranks; ++to) {
      uint64_t what = from * ranks + to;
      if (isLocal(from) && !isLocal(to)) {
        send(processOfRank_[to], what, at(parts_[from].input, to * bytes), bytes);
      } else if (!isLocal(from) && isLocal(to)) {
        receive(processOfRank_[from], what, at(parts_[to].output, from * bytes), bytes);
      }
    }
  }
  return exchange();
}

Status WireCollective::permute(std::span<const int64_t> sources, size_t bytes) {
  for (size_t to = 0; to < parts_.size(); ++to) {
    if (sources[to] < 0) continue;
    auto from = static_cast<size_t>(sources[to]);
    if (isLocal(from) && !isLocal(to)) {
      send(processOfRank_[to], to, parts_[from].input, bytes);
    } else if (!isLocal(from) && isLocal(to)) {
      receive(processOfRank_[from], to, parts_[to].output, bytes);
    }
  }
  return exchange();
}

Status WireCollective::allReduce(ReductionKind kind, ElementType type, int64_t elements,
                                 const void* partial) {
  size_t width = elementSizeBytes(type);
  if (isSmallReduction(static_cast<size_t>(elements) * width, parts_.size())) {
    return gatherAndReduce(kind, type, elements);
  }
  // Each process reduces a share of the elements, and sends the result to the others.
  size_t count = processes_.size();
  Shares shares{elements, static_cast<int64_t>(count)};
  size_t ownBytes = static_cast<size_t>(shares.size(own_)) * width;
  size_t ownOffset = static_cast<size_t>(shares.begin(own_)) * width;
  ISTHMUS_ASSIGN_OR_RETURN(Bytes received, allocate(count * ownBytes));
  std::vector<const void*> inputs(count);
  for (size_t process = 0; process < count; ++process) {
    inputs[process] = at(partial, ownOffset);
    if (process == own_) continue;
    inputs[process] = at(received.get(), process * ownBytes);
    send(process, own_, at(partial, static_cast<size_t>(shares.begin(process)) * width),
         static_cast<size_t>(shares.size(process)) * width);
    receive(process, process, at(received.get(), process * ownBytes), ownBytes);
  }
  ISTHMUS_RETURN_IF_ERROR(exchange());
  void* output = parts_[first_].output;
  reduceElements(kind, type, inputs, at(output, ownOffset), shares.size(own_));
  for (size_t process = 0; process < count; ++process) {
    if (process == own_) continue;
    send(process, count + own_, at(output, ownOffset), ownBytes);
    receive(process, count + process,
            at(output, static_cast<size_t>(shares.begin(process)) * width),
            static_cast<size_t>(shares.size(process)) * width);
  }
  return exchange();
}

Status WireCollective::gatherAndReduce(ReductionKind kind, ElementType type, int64_t elements) {
  size_t bytes = static_cast<size_t>(elements) * elementSizeBytes(type);
  ISTHMUS_ASSIGN_OR_RETURN(Bytes received, allocate(bytes * parts_.size()));
  std::vector<const void*> inputs(parts_.size());
  for (size_t rank = 0; rank < parts_.size(); ++rank) {
    if (!isLocal(rank)) {
      inputs[rank] = at(received.get(), rank * bytes);
      receive(processOfRank_[rank], rank, at(received.get(), rank * bytes), bytes);
      continue;
    }
    inputs[rank] = parts_[rank].input;
    for (size_t process = 0; process < processes_.size(); ++process) {
      if (process != own_) send(process, rank, parts_[rank].input, bytes);
    }
  }
  ISTHMUS_RETURN_IF_ERROR(exchange());
  reduceElements(kind, type, inputs, parts_[first_].output, elements);
  return {};
}

Status WireCollective::reduceScatter(ReductionKind kind, ElementType type, int64_t elements,
                                     const void* partial) {
  size_t bytes = static_cast<size_t>(elements) * elementSizeBytes(type);
  if (isSmallReduction(bytes * parts_.size(), parts_.size())) {
    return exchangeAndReduce(kind, type, elements);
  }
  size_t count = processes_.size();
  size_t ranks = parts_.size();
  ISTHMUS_ASSIGN_OR_RETURN(Bytes received, allocate(count * ranks * bytes));
  for (size_t rank = 0; rank < ranks; ++rank) {
    if (!isLocal(rank)) {
      send(processOfRank_[rank], own_ * ranks + rank, at(partial, rank * bytes), bytes);
      continue;
    }
    for (size_t process = 0; process < count; ++process) {
      uint64_t what = process * ranks + rank;
      if (process != own_) receive(process, what, at(received.get(), what * bytes), bytes);
    }
  }
  ISTHMUS_RETURN_IF_ERROR(exchange());
  std::vector<const void*> inputs(count);
  for (size_t rank = 0; rank < ranks; ++rank) {
    if (!isLocal(rank)) continue;
    for (size_t process = 0; process < count; ++process) {
      inputs[process] = process == own_ ? at(partial, rank * bytes)
                                        : at(received.get(), (process * ranks + rank) * bytes);
    }
    reduceElements(kind, type, inputs, parts_[rank].output, elements);
  }
  return {};
}

Status WireCollective::exchangeAndReduce(ReductionKind kind, ElementType type, int64_t elements) {
  size_t bytes = static_cast<size_t>(elements) * elementSizeBytes(type);
  size_t ranks = parts_.size();
  ISTHMUS_ASSIGN_OR_RETURN(Bytes received, allocate(ranks * ranks * bytes));
  for (size_t from = 0; from < ranks; ++from) {
    for (size_t to = 0; to < ranks; ++to) {
      uint64_t what = from * ranks + to;
      if (isLocal(from) && !isLocal(to)) {
        send(processOfRank_[to], what, at(parts_[from].input, to * bytes), bytes);
      } else if (!isLocal(from) && isLocal(to)) {
        receive(processOfRank_[from], what, at(received.get(), what * bytes), bytes);
      }
    }
  }
  ISTHMUS_RETURN_IF_ERROR(exchange());
  std::vector<const void*> inputs(ranks);
  for (size_t to = 0; to < ranks; ++to) {
    if (!isLocal(to)) continue;
    for (size_t from = 0; from < ranks; ++from) {
      inputs[from] = isLocal(from) ? at(parts_[from].input, to * bytes)
                                   : at(received.get(), (from * ranks + to) * bytes);
    }
    reduceElements(kind, type, inputs, parts_[to].output, elements);
  }
  return {};
}

}  // namespace isthmus

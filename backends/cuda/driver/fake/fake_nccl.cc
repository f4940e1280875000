// NCCL's functions over the fake driver, as its manual describes them. Every call blocks until its
// peers have made theirs (which NCCL may do too), so that a caller must not do with one thread.
#include "backends/cuda/driver/fake/fake_nccl.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backends/cuda/driver/api.h"
#include "backends/cuda/driver/fake/fake_streams.h"

using namespace isthmus::cuda;

extern "C" {
CUresult cuCtxSetCurrent(CUcontext context);
CUresult cuEventCreate(CUevent* event, unsigned flags);
CUresult cuEventRecord(CUevent event, CUstream stream);
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags);
}

namespace {

constexpr int kOk = 0, kSystemError = 2, kInvalidArgument = 4, kInvalidUsage = 5;

using Bytes = std::shared_ptr<std::vector<char>>;

// Data on its way, there when `event` has happened.
struct Message {
  Bytes data;
  CUevent event = nullptr;
};

struct Arguments {
  std::string name;
  size_t count = 0;
  int type = 0, reduction = 0;
  bool operator==(const Arguments&) const = default;
};

// One collective: what each rank brings.
struct Rendezvous {
  std::vector<Arguments> arguments;
  std::vector<Message> inputs;
  int arrived = 0;
};

struct Clique {
  std::mutex mutex;
  std::condition_variable changed;
  int ranks = 0;
  std::map<int64_t, Rendezvous> open;                          // by number
  std::map<std::pair<int, int>, std::deque<Message>> mailbox;  // by sender and receiver
};

struct Comm {
  std::shared_ptr<Clique> clique;
  int rank = 0;
  int64_t next = 0;  // number of the next collective
  bool isAborted = false;
};

std::atomic<int> asyncError{0}, aborts{0};

size_t sizeOf(int type) {
  constexpr size_t kSizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return type >= 0 && type < 10 ? kSizes[type] : 0;
}

template <typename T>
void reduceInto(char* into, const char* from, size_t count, int reduction) {
  for (size_t i = 0; i < count; ++i) {
    T a, b;
    std::memcpy(&a, into + i * sizeof(T), sizeof(T));
    std::memcpy(&b, from + i * sizeof(T), sizeof(T));
    T result = reduction == 0   ? static_cast<T>(a + b)
               : reduction == 1 ? static_cast<T>(a * b)
               : reduction == 2 ? std::max(a, b)
                                : std::min(a, b);
    std::memcpy(into + i * sizeof(T), &result, sizeof(T));
  }
}

void reduceInto(char* into, const char* from, size_t count, int type, int reduction) {
  switch (type) {
    case 0:
      return reduceInto<int8_t>(into, from, count, reduction);
    case 1:
      return reduceInto<uint8_t>(into, from, count, reduction);
    case 2:
      return reduceInto<int32_t>(into, from, count, reduction);
    case 3:
      return reduceInto<uint32_t>(into, from, count, reduction);
    case 4:
      return reduceInto<int64_t>(into, from, count, reduction);
    case 7:
      return reduceInto<float>(into, from, count, reduction);
    case 8:
      return reduceInto<double>(into, from, count, reduction);
    default:
      return;  // the tests have no others
  }
}

Message send(const void* data, size_t bytes, CUstream stream, const std::string& what) {
  Message message;
  message.data = std::make_shared<std::vector<char>>(bytes);
  fake_cuda_enqueue(stream, what,
                    [=] { std::memcpy(message.data->data(), data, message.data->size()); });
  cuEventCreate(&message.event, CU_EVENT_DISABLE_TIMING);
  cuEventRecord(message.event, stream);
  return message;
}

// `compute(inputs)` when the inputs of all ranks are there.
template <typename Compute>
int meet(void* handle, const Arguments& arguments, const void* input, size_t bytes, CUstream stream,
         Compute compute) {
  auto* comm = static_cast<Comm*>(handle);
  Clique& clique = *comm->clique;
  if (sizeOf(arguments.type) == 0) return kInvalidArgument;
  Message own = send(input, bytes, stream, "nccl " + arguments.name);
  std::unique_lock lock(clique.mutex);
  if (comm->isAborted) return kInvalidUsage;
  Rendezvous& rendezvous = clique.open[comm->next++];
  rendezvous.inputs.resize(static_cast<size_t>(clique.ranks));
  rendezvous.inputs[static_cast<size_t>(comm->rank)] = own;
  rendezvous.arguments.push_back(arguments);
  ++rendezvous.arrived;
  clique.changed.notify_all();
  clique.changed.wait(lock, [&] { return rendezvous.arrived == clique.ranks || comm->isAborted; });
  if (comm->isAborted) return kSystemError;
  for (const Arguments& other : rendezvous.arguments) {
    if (other != arguments) return kInvalidUsage;
  }
  std::vector<Bytes> inputs;
  for (const Message& message : rendezvous.inputs) {
    cuStreamWaitEvent(stream, message.event, 0);
    inputs.push_back(message.data);
  }
  lock.unlock();
  fake_cuda_enqueue(stream, "nccl result", [=] { compute(inputs); });
  return kOk;
}

struct PointToPoint {
  Comm* comm;
  const void* from;  // null: received
  void* to;
  size_t bytes;
  int peer;
  CUstream stream;
};
thread_local int groupDepth = 0;
thread_local std::vector<PointToPoint> grouped;

int receive(const PointToPoint& one) {
  Clique& clique = *one.comm->clique;
  std::unique_lock lock(clique.mutex);
  std::deque<Message>& messages = clique.mailbox[{one.peer, one.comm->rank}];
  clique.changed.wait(lock, [&] { return !messages.empty() || one.comm->isAborted; });
  if (one.comm->isAborted) return kSystemError;
  Message message = messages.front();
  messages.pop_front();
  lock.unlock();
  if (message.data->size() != one.bytes) return kInvalidUsage;
  cuStreamWaitEvent(one.stream, message.event, 0);
  fake_cuda_enqueue(one.stream, "nccl receive",
                    [=] { std::memcpy(one.to, message.data->data(), one.bytes); });
  return kOk;
}

int pointToPoint(PointToPoint one, int type) {
  if (one.peer < 0 || one.peer >= one.comm->clique->ranks || sizeOf(type) == 0) {
    return kInvalidArgument;
  }
  if (groupDepth == 0) return kInvalidUsage;  // would wait for ever
  one.bytes *= sizeOf(type);
  grouped.push_back(one);
  return kOk;
}

// For ever: whoever waits may still look at it after an abort.
Comm* keep(std::unique_ptr<Comm> comm) {
  static std::mutex mutex;
  static auto& comms = *new std::vector<std::unique_ptr<Comm>>;
  std::lock_guard lock(mutex);
  return comms.emplace_back(std::move(comm)).get();
}

}  // namespace

extern "C" {

void fake_nccl_fail(int code) { asyncError = code; }
int fake_nccl_aborts() { return aborts; }

int ncclCommInitAll(void** comms, int count, const int* devices) {
  auto clique = std::make_shared<Clique>();
  clique->ranks = count;
  for (int i = 0; i < count; ++i) {
    if (std::count(devices, devices + count, devices[i]) != 1) return kInvalidUsage;
    comms[i] = keep(std::unique_ptr<Comm>(new Comm{clique, i}));
  }
  return kOk;
}
int ncclCommAbort(void* handle) {
  auto* comm = static_cast<Comm*>(handle);
  {
    std::lock_guard lock(comm->clique->mutex);
    if (comm->isAborted) return kInvalidUsage;
    comm->isAborted = true;
  }
  ++aborts;
  comm->clique->changed.notify_all();
  return kOk;
}
int ncclCommGetAsyncError(void* handle, int* error) {
  auto* comm = static_cast<Comm*>(handle);
  std::lock_guard lock(comm->clique->mutex);
  if (comm->isAborted) return kInvalidUsage;
  *error = asyncError;
  return kOk;
}
const char* ncclGetErrorString(int code) {
  return code == kSystemError ? "unhandled system error" : "some error";
}

int ncclAllReduce(const void* input, void* output, size_t count, int type, int reduction,
                  void* comm, CUstream stream) {
  return meet(comm, {"all reduce", count, type, reduction}, input, count * sizeOf(type), stream,
              [=](const std::vector<Bytes>& inputs) {
                std::vector<char> sum = *inputs[0];
                for (size_t i = 1; i < inputs.size(); ++i) {
                  reduceInto(sum.data(), inputs[i]->data(), count, type, reduction);
                }
                std::memcpy(output, sum.data(), sum.size());
              });
}
int ncclReduceScatter(const void* input, void* output, size_t count, int type, int reduction,
                      void* comm, CUstream stream) {
  auto rank = static_cast<size_t>(static_cast<Comm*>(comm)->rank);
  size_t ranks = static_cast<size_t>(static_cast<Comm*>(comm)->clique->ranks);
  size_t bytes = count * sizeOf(type);
  return meet(comm, {"reduce scatter", count, type, reduction}, input, bytes * ranks, stream,
              [=](const std::vector<Bytes>& inputs) {
                std::memcpy(output, inputs[0]->data() + rank * bytes, bytes);
                for (size_t i = 1; i < inputs.size(); ++i) {
                  reduceInto(static_cast<char*>(output), inputs[i]->data() + rank * bytes, count,
                             type, reduction);
                }
              });
}
int ncclAllGather(const void* input, void* output, size_t count, int type, void* comm,
                  CUstream stream) {
  size_t bytes = count * sizeOf(type);
  return meet(comm, {"all gather", count, type, 0}, input, bytes, stream,
              [=](const std::vector<Bytes>& inputs) {
                for (size_t i = 0; i < inputs.size(); ++i) {
                  std::memcpy(static_cast<char*>(output) + i * bytes, inputs[i]->data(), bytes);
                }
              });
}
int ncclSend(const void* data, size_t count, int type, int peer, void* comm, CUstream stream) {
  return pointToPoint({static_cast<Comm*>(comm), data, nullptr, count, peer, stream}, type);
}
int ncclRecv(void* data, size_t count, int type, int peer, void* comm, CUstream stream) {
  return pointToPoint({static_cast<Comm*>(comm), nullptr, data, count, peer, stream}, type);
}
int ncclGroupStart() {
  ++groupDepth;
  return kOk;
}
int ncclGroupEnd() {
  if (groupDepth == 0) return kInvalidUsage;
  if (--groupDepth > 0) return kOk;
  std::vector<PointToPoint> all = std::move(grouped);
  grouped.clear();
  for (const PointToPoint& one : all) {
    if (!one.from) continue;
    Message message = send(one.from, one.bytes, one.stream, "nccl send");
    std::lock_guard lock(one.comm->clique->mutex);
    one.comm->clique->mailbox[{one.comm->rank, one.peer}].push_back(message);
    one.comm->clique->changed.notify_all();
  }
  for (const PointToPoint& one : all) {
    if (one.from) continue;
    if (int code = receive(one)) return code;
  }
  return kOk;
}

}  // extern "C"

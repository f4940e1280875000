// What moves bytes between the processes of a job.
//
// This is all that the collectives ask of an engine: Gloo today (gloo/); ncclSend and ncclRecv in a
// group, or oneCCL's, would be the same. An engine that does whole collectives itself on a device's
// queue implements `Collectives` (run_services.h) instead.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "isthmus/status.h"
#include "runtime/bootstrap/key_value_store.h"

namespace isthmus {

// A message is received by who asks for its tag. `bytes` is not 0, and equal on both sides.
struct OutgoingMessage {
  int process;
  uint64_t tag;
  const void* data;
  size_t bytes;
};
struct IncomingMessage {
  int process;
  uint64_t tag;
  void* data;
  size_t bytes;
};

class Transport {
 public:
  virtual ~Transport() = default;

  // Sends and receives all messages, straight from and into their memory, and returns when all have
  // been. May be called from several threads; concurrent exchanges have different tags. An error
  // names the process that is gone (kUnavailable) or silent (kDeadlineExceeded), puts its number
  // into `lost`, and leaves the transport broken: exchanges in other threads and later ones fail.
  virtual Status exchange(std::span<const OutgoingMessage> outgoing,
                          std::span<const IncomingMessage> incoming,
                          std::chrono::milliseconds timeout, int& lost) = 0;

  // Ends all connections, which the other processes notice. Exchanges fail, running ones too.
  virtual void close() = 0;
};

struct TransportOptions {
  int processIndex = 0;
  int numProcesses = 1;
  std::string prefix;  // of keys in the store
  std::string
      coordinatorAddress;  // "host:port", to find the interface that reaches it; may be empty
  std::chrono::milliseconds timeout{};
};

// Connects this process to all others of the job, all of which call this; blocks until they have.
// The store must outlive the call only.
StatusOr<std::unique_ptr<Transport>> openTransport(KeyValueStore& store,
                                                   const TransportOptions& options);

}  // namespace isthmus

// The transport on Gloo's pairs and unbound buffers. Gloo throws; nothing leaves this file that
// way.
#include "runtime/collectives/gloo/module.h"

#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>

#include <atomic>
#include <mutex>
#include <vector>

#include "runtime/collectives/gloo/broken_pipe.h"
#include "runtime/collectives/gloo/local_address.h"

namespace isthmus {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Rounded up: what waits so long has reached the deadline.
milliseconds timeUntil(Clock::time_point deadline) {
  auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
  return std::max(left, milliseconds(1));
}

// The framework's store as Gloo wants it.
class Store final : public gloo::rendezvous::Store {
 public:
  Store(KeyValueStore& store, std::string prefix, Clock::time_point deadline)
      : store_(store), prefix_(std::move(prefix)), deadline_(deadline) {}

  void set(const std::string& key, const std::vector<char>& data) override {
    check(store_.put(prefix_ + key, {data.data(), data.size()}));
  }
  std::vector<char> get(const std::string& key) override {
    StatusOr<std::string> value = store_.get(prefix_ + key, timeUntil(deadline_));
    check(value.status());
    return {value->begin(), value->end()};
  }
  void wait(const std::vector<std::string>& keys) override {
    for (const std::string& key : keys) get(key);
  }
  void wait(const std::vector<std::string>& keys, const milliseconds&) override { wait(keys); }

 private:
  static void check(const Status& status) {
    if (!status.ok()) throw gloo::IoException(std::string(status.message()));
  }

  KeyValueStore& store_;
  std::string prefix_;
  Clock::time_point deadline_;
};

class GlooTransport final : public Transport {
 public:
  explicit GlooTransport(std::shared_ptr<gloo::rendezvous::Context> context)
      : context_(std::move(context)) {}
  ~GlooTransport() override { close(); }

  Status exchange(std::span<const OutgoingMessage> outgoing,
                  std::span<const IncomingMessage> incoming, milliseconds timeout,
                  int& lost) override {
    NoBrokenPipeSignal noSignal;
    Clock::time_point deadline = Clock::now() + timeout;
    int process = -1;
    try {
      if (isClosed_) throw gloo::IoException("the connections were closed");
      std::vector<std::unique_ptr<gloo::transport::UnboundBuffer>> receives, sends;
      for (const IncomingMessage& message : incoming) {
        process = message.process;
        receives.push_back(context_->createUnboundBuffer(message.data, message.bytes));
        receives.back()->recv(process, message.tag);
      }
      for (const OutgoingMessage& message : outgoing) {
        process = message.process;
        sends.push_back(
            context_->createUnboundBuffer(const_cast<void*>(message.data), message.bytes));
        sends.back()->send(process, message.tag);
      }
      for (size_t i = 0; i < receives.size(); ++i) {
        process = incoming[i].process;
        receives[i]->waitRecv(timeUntil(deadline));
      }
      for (size_t i = 0; i < sends.size(); ++i) {
        process = outgoing[i].process;
        sends[i]->waitSend(timeUntil(deadline));
      }
      return {};
    } catch (const std::exception& error) {
      lost = process;
      bool isSilent = Clock::now() >= deadline;
      close();
      if (isSilent) {
        return Status(StatusCode::kDeadlineExceeded,
                      internal::concatenate("process ", process, " has not answered for ",
                                            timeout.count() / 1000, " s"));
      }
      return Status(
          StatusCode::kUnavailable,
          internal::concatenate("the connection to process ", process, " is gone: ", error.what()));
    }
  }

  void close() override {
    NoBrokenPipeSignal noSignal;
    std::lock_guard lock(closeMutex_);
    if (isClosed_.exchange(true)) return;
    try {
      context_->closeConnections();
    } catch (const std::exception&) {
      // It is gone already.
    }
  }

 private:
  std::shared_ptr<gloo::rendezvous::Context> context_;
  std::mutex closeMutex_;
  std::atomic<bool> isClosed_{false};
};

StatusOr<std::unique_ptr<Transport>> open(KeyValueStore& keyValueStore,
                                          const TransportOptions& options) {
  ISTHMUS_ASSIGN_OR_RETURN(std::string address, localAddressTowards(options.coordinatorAddress));
  NoBrokenPipeSignal noSignal;
  try {
    Clock::time_point deadline = Clock::now() + options.timeout;
    Store store(keyValueStore, options.prefix + "gloo/", deadline);
    gloo::transport::tcp::attr attributes;
    attributes.hostname = address;
    std::shared_ptr<gloo::transport::Device> device =
        gloo::transport::tcp::CreateDevice(attributes);
    auto context =
        std::make_shared<gloo::rendezvous::Context>(options.processIndex, options.numProcesses);
    context->setTimeout(options.timeout);
    context->connectFullMesh(store, device);
    return std::unique_ptr<Transport>(new GlooTransport(std::move(context)));
  } catch (const std::exception& error) {
    return Status(StatusCode::kUnavailable,
                  internal::concatenate("connecting from ", address,
                                        " to the other processes of the job: ", error.what()));
  }
}

}  // namespace
}  // namespace isthmus

void isthmus_open_gloo(isthmus::KeyValueStore& store, const isthmus::TransportOptions& options,
                       std::unique_ptr<isthmus::Transport>& transport, isthmus::Status& status) {
  isthmus::StatusOr<std::unique_ptr<isthmus::Transport>> opened = isthmus::open(store, options);
  status = opened.status();
  if (opened.ok()) transport = std::move(*opened);
}

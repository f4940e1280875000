#include "runtime/buffer/process_transfers.h"

#include <algorithm>
#include <string>

#include "runtime/buffer/host_to_device.h"
#include "runtime/client.h"
#include "runtime/stable_hash.h"
#include "runtime/threads/host_threads.h"

namespace isthmus {
namespace {

// Goes before the contents, which follow only if all is well.
struct Header {
  int64_t bytes = 0;
  int32_t code = 0;  // StatusCode of the contents
  char message[2036] = {};
};
static_assert(sizeof(Header) == 2048);

// One transfer as both sides know it.
struct Transfer {
  Job* job;
  int process;  // the other one
  uint64_t tag;
  std::string what;  // for errors

  uint64_t headerTag() const { return combineHashes(tag, 1); }
};

StatusOr<Transfer> describe(Client& client, const Device& source, const Device& destination,
                            const Device& other, int64_t key) {
  if (client.job() == nullptr || other.isAddressable()) {
    return invalidArgument("device ", other.id(), " is of this process: arrays go there by a copy");
  }
  uint64_t tag = combineHashes(stableHash("transfer"), static_cast<uint64_t>(key));
  tag = combineHashes(tag, static_cast<uint64_t>(source.id()));
  tag = combineHashes(tag, static_cast<uint64_t>(destination.id()));
  return Transfer{client.job(), other.description().processIndex, tag,
                  internal::concatenate("transfer ", key, " from device ", source.id(),
                                        " to device ", destination.id())};
}

// Runs `work` on a thread that may block, or here if there is none.
template <typename Work>
void runBlocking(Work work) {
  struct BlockingTask final : Task {
    explicit BlockingTask(Work work) : work(std::move(work)) {}
    void run() override { work(); }
    Work work;
  };
  std::unique_ptr<Task> task = std::make_unique<BlockingTask>(std::move(work));
  if (!runOnHostThread(task)) task->run();
}

Status send(const Transfer& transfer, const Status& contents, const void* data, size_t bytes) {
  Header header;
  header.bytes = static_cast<int64_t>(bytes);
  header.code = static_cast<int32_t>(contents.code());
  contents.message().copy(header.message, sizeof(header.message) - 1);
  OutgoingMessage messages[] = {
      {transfer.process, transfer.headerTag(), &header, sizeof(header)},
      {transfer.process, transfer.tag, data, bytes},
  };
  const size_t count = contents.ok() && bytes > 0 ? 2 : 1;
  Status sent = transfer.job->exchange(transfer.what, {messages, count}, {});
  return contents.ok() ? sent : contents;
}

Status receive(const Transfer& transfer, void* data, size_t bytes) {
  Header header;
  IncomingMessage head{transfer.process, transfer.headerTag(), &header, sizeof(header)};
  ISTHMUS_RETURN_IF_ERROR(transfer.job->exchange(transfer.what, {}, {&head, 1}));
  header.message[sizeof(header.message) - 1] = 0;
  if (header.code != 0) {
    return Status(static_cast<StatusCode>(header.code),
                  internal::concatenate(transfer.what, ": ", header.message));
  }
  if (header.bytes != static_cast<int64_t>(bytes)) {
    // The sender waits until its bytes are taken, and nobody will take them.
    return transfer.job->fail(invalidArgument(transfer.what, ": ", header.bytes,
                                              " bytes were sent where ", bytes, " are expected"));
  }
  if (bytes == 0) return {};
  IncomingMessage message{transfer.process, transfer.tag, data, bytes};
  return transfer.job->exchange(transfer.what, {}, {&message, 1});
}

std::shared_ptr<char[]> allocateBytes(size_t bytes) {
  return std::shared_ptr<char[]>(new char[std::max<size_t>(bytes, 1)]);
}

}  // namespace

StatusOr<Event> sendToProcess(Buffer& buffer, const Device& destination, int64_t key) {
  Client& client = buffer.client();
  ISTHMUS_ASSIGN_OR_RETURN(Transfer transfer,
                           describe(client, buffer.device(), destination, destination, key));
  Promise promise;
  const size_t bytes = buffer.sizeBytes();
  BufferRef source(&buffer);
  if (client.isAsynchronous()) {
    std::shared_ptr<char[]> data = allocateBytes(bytes);
    ISTHMUS_ASSIGN_OR_RETURN(Event copied, buffer.copyToHost(data.get(), bytes));
    copied.onReady([=](const Status& contents) {
      runBlocking([=, status = contents]() mutable {
        promise.set(send(transfer, status, data.get(), bytes));
      });
    });
    return promise.event();
  }
  if (!buffer.hold()) return invalidArgument(transfer.what, ": the buffer is deleted or donated");
  buffer.definition().onReady([=](const Status& contents) {
    runBlocking([=, status = contents]() mutable {
      const void* data = nullptr;
      if (status.ok()) {
        StatusOr<Storage*> storage = source->storage();
        status = storage.status();
        if (storage.ok()) data = (*storage)->data();
      }
      status = send(transfer, status, data, bytes);
      source->dropHold();
      promise.set(std::move(status));
    });
  });
  return promise.event();
}

StatusOr<BufferRef> receiveFromProcess(Memory& memory, ArrayType type, const Device& source,
                                       int64_t key) {
  Client& client = memory.client();
  ISTHMUS_ASSIGN_OR_RETURN(Transfer transfer,
                           describe(client, source, memory.device(), source, key));
  if (client.isAsynchronous()) {
    std::vector<ArrayType> types(1, std::move(type));
    ISTHMUS_ASSIGN_OR_RETURN(std::shared_ptr<HostToDeviceTransfers> transfers,
                             HostToDeviceTransfers::create(memory, std::move(types)));
    ISTHMUS_ASSIGN_OR_RETURN(BufferRef buffer, transfers->retrieve(0));
    runBlocking([=, bytes = buffer->sizeBytes()]() {
      std::shared_ptr<char[]> data = allocateBytes(bytes);
      Status status = receive(transfer, data.get(), bytes);
      if (status.ok()) {
        StatusOr<Event> copied =
            transfers->transferData(0, data.get(), 0, static_cast<int64_t>(bytes), true);
        status = copied.status();
        if (copied.ok()) copied->onReady([data, transfers](const Status&) {});
      }
      if (!status.ok()) (void)transfers->setError(0, std::move(status));
    });
    return buffer;
  }
  Promise promise;
  auto buffer = makeRef<Buffer>(memory, std::make_shared<const ArrayType>(std::move(type)), nullptr,
                                promise.event());
  ISTHMUS_ASSIGN_OR_RETURN(void* data, buffer->pointer());
  buffer->beginWriting();
  runBlocking([=]() mutable {
    Status status = receive(transfer, data, buffer->sizeBytes());
    promise.set(std::move(status));
    buffer->endWriting();
  });
  return buffer;
}

}  // namespace isthmus

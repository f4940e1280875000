// One sequence of calls of the C API, and what must come of each.
#pragma once

#include <fuzzer/FuzzedDataProvider.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "fuzz/inputs/c_api.h"
#include "fuzz/inputs/content.h"

namespace isthmus::fuzz {

// Programs of pjrt/testing/programs_testing.h, each compiled once for a client, for one device or
// for any.
enum Program { kAdd, kAccumulate, kMayDonate, kHost, kFail, kWait, kNoOutputs, kNumPrograms };

// A client and its programs, which many sequences share.
struct World {
  World();
  // The client may go before the buffers that it made, and then goes with the last of them.
  void destroy();

  PJRT_Client* client;
  std::vector<PJRT_Device*> devices;
  std::vector<PJRT_Memory*> memories;            // the default one of each device
  std::vector<PJRT_Memory*> hostMemories;        // pinned_host
  std::vector<PJRT_LoadedExecutable*> programs;  // Program * 2 + isPortable
  std::map<const void*, int> mapped;             // for DMA: how often
  bool isOnHost = false;                         // the devices' memory is the host's
};

class CallSequence {
 public:
  CallSequence(World& world, const uint8_t* data, size_t size) : world_(world), in_(data, size) {}
  // Makes the calls that the bytes say, then ends what is pending and compares everything.
  // Ends the process with a message where the plugin breaks a promise. True if the client has been
  // destroyed on the way.
  bool run();

 private:
  struct Buffer {
    PJRT_Buffer* handle = nullptr;
    Content::Ref content;
    size_t device = 0;
    bool isFloat = true;
    bool isDeleted = false;
    int references = 0;
  };
  // An event, what it stands for, and where data should be once it has happened.
  struct Watched {
    PJRT_Event* event = nullptr;
    Content::Ref content;
    float* destination = nullptr;
    size_t first = 0, count = 0;  // elements
  };
  // What somebody has still to do, for contents to come true.
  struct Duty {
    enum Kind { kAlias, kDonation, kRawCopy, kEvent } kind;
    Content::Ref content;
    PJRT_FulfillAliasBufferCallback* alias = nullptr;
    PJRT_Memory* memory = nullptr;
    void* data = nullptr;
    void (*donated)(PJRT_Buffer_DonateWithControlDependency_Callback_Args*) = nullptr;
    void (*destined)(PJRT_Buffer_CopyRawToHostFuture_Callback_Args*) = nullptr;
    float* destination = nullptr;
    PJRT_Event* event = nullptr;
  };
  struct Transfer {
    PJRT_AsyncHostToDeviceTransferManager* handle = nullptr;
    size_t device = 0;
    struct Entry {
      Content::Ref content;
      Values values;
      bool isRetrieved = false;
      bool isComplete = false;
    };
    std::vector<Entry> entries;
  };

  void step();
  // Steps: of buffers in call_steps.cc, of promises and transfers in call_promises.cc, of the
  // client in call_client.cc.
  void fromHost();
  void viewOfMemory();
  void errorBuffer();
  void uninitialized();
  void deleteBuffer();
  void destroyBuffer();
  void copyToMemory();
  void toHost();
  void rawToHost();
  void rawToHostLater();
  void bitcast();
  void donateLater();
  void reference();
  void dereference();
  void readPointer();
  void readyEvent();
  void inspect();
  void createAlias();
  void createEvent();
  void doDuty();
  void execute();
  void scratchExecutable();
  void createTransfer();
  void transferStep();
  void dmaMap();
  void topology();
  void event();
  void finish();

  int number(int least, int most) { return in_.ConsumeIntegralInRange(least, most); }
  bool chance(int oneIn) { return number(1, oneIn) == 1; }
  Buffer* pick();
  float* hostMemory();
  PJRT_Device* device(size_t index) { return world_.devices[index]; }
  void add(PJRT_Buffer* handle, Content::Ref content, size_t device, bool isFloat = true);
  void watch(PJRT_Event* event, Content::Ref content, float* destination = nullptr,
             size_t first = 0, size_t count = 0);
  // The sequence does not end before this event has happened, whoever destroys it: what it stands
  // for uses the sequence's memory, or a device.
  void outlast(PJRT_Event* event);
  // Calls that a deleted buffer must refuse and any other must accept.
  bool accepted(const Outcome& outcome, bool isLegal, const char* what);
  void check(Watched& watched);
  void destroy(Buffer& buffer);
  void fulfil(size_t index, bool isFailure);
  bool isBlocked() const;  // whether a launch waits for somebody

  World& world_;
  FuzzedDataProvider in_;
  std::vector<Buffer> buffers_;
  std::vector<Watched> watched_;
  std::vector<Duty> duties_;
  std::vector<Transfer> transfers_;
  std::vector<Content::Ref> launches_;
  // One allocation each, so that ASan sees what goes beyond one.
  std::vector<std::unique_ptr<std::array<float, kElements>>> memory_;
  std::vector<std::pair<const float*, Content::Ref>> lent_;  // host arrays, which nobody may change
  Content::Ref waiters_ = Content::promise();
  bool isReleased_ = false;
  bool destroysClientFirst_ = false;
  int failsOdd_ = 0;
  std::atomic<int> callbacks_{0}, deletions_{0}, ends_{0};
  int expectedCallbacks_ = 0, expectedDeletions_ = 0, expectedEnds_ = 0;
};

}  // namespace isthmus::fuzz

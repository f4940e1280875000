// Programs of several devices.
#include <array>
#include <chrono>
#include <thread>
#include <utility>

#include "conformance/check.h"
#include "conformance/checks/programs.h"
#include "conformance/checks/transfer.h"

namespace isthmus::conformance {
namespace {

constexpr int kReplicas = 2;  // of kAllReduce
constexpr std::string_view kReason = "the input is rotten";

HostArray argument(int replica) {
  return replica == 0 ? HostArray::of<float>({4}, {1, 2, 3, 4})
                      : HostArray::of<float>({4}, {10, 20, 30, 40});
}

void expectSums(Session& s, const LoadedExecutable& executable) {
  Buffer x = s.fromHost(argument(0), s.device(0)), y = s.fromHost(argument(1), s.device(1));
  const auto results = s.execute(executable, {{x.get()}, {y.get()}}, {});
  for (const auto& list : results) {
    s.expectEqual(HostArray::of<float>({4}, {11, 22, 33, 44}), s.toHost(list[0]));
  }
}

// Launches the program with an argument that has failed, or will have, and another that has not.
void expectErrors(Session& s, const LoadedExecutable& executable, int failing,
                  const Buffer& failed) {
  Buffer good = s.fromHost(argument(1 - failing), s.device(1 - failing));
  std::array<PJRT_Buffer*, kReplicas> arguments{good.get(), good.get()};
  arguments[failing] = failed.get();
  std::vector<std::vector<Buffer>> results;
  const Outcome outcome =
      s.tryExecute(executable.get(), {{arguments[0]}, {arguments[1]}}, 1, {}, &results);
  // A launch that is refused as a whole leaves no results.
  if (results.empty()) {
    s.refuse("executing", outcome, "with an argument that failed");
  } else {
    for (int replica = 0; replica < kReplicas; ++replica) {
      HostArray array;
      s.refuse("reading the result", s.tryToHost(results[replica][0].get(), &array),
               "of replica " + std::to_string(replica) + " where the argument of replica " +
                   std::to_string(failing) + " failed");
    }
  }
  s.expectEqual(argument(1 - failing), s.toHost(good));
}

Buffer errorBuffer(Session& s, PJRT_Device* device) {
  const int64_t dims[1] = {4};
  auto args = make<PJRT_Client_CreateErrorBuffer_Args>();
  args.client = s.client();
  args.error_code = PJRT_Error_Code_DATA_LOSS;
  args.error_message = kReason.data();
  args.error_message_size = kReason.size();
  args.shape_dims = dims;
  args.shape_num_dims = 1;
  args.shape_element_type = PJRT_Buffer_Type_F32;
  args.memory = s.defaultMemory(device);
  s.mayLack(&PJRT_Api::PJRT_Client_CreateErrorBuffer, args);
  return {s, args.buffer};
}

}  // namespace

ISTHMUS_CHECK(devices, all_reduce, kComplete, "replicas add up their arguments") {
  s.device(kReplicas - 1);
  expectSums(s, s.compile(kAllReduce, {kReplicas, 1}));
}

ISTHMUS_CHECK(devices, all_reduce_of_an_error, kComplete,
              "where a replica's argument is an error, every replica's result is one, and later "
              "launches are as if nothing had been") {
  s.device(kReplicas - 1);
  LoadedExecutable executable = s.compile(kAllReduce, {kReplicas, 1});
  for (int failing = 0; failing < kReplicas; ++failing) {
    expectErrors(s, executable, failing, errorBuffer(s, s.device(failing)));
    expectSums(s, executable);
  }
}

ISTHMUS_CHECK(devices, all_reduce_of_what_fails, kComplete,
              "where a replica's argument fails after the launch, every replica's result is an "
              "error, and later launches are as if nothing had been") {
  s.device(kReplicas - 1);
  LoadedExecutable executable = s.compile(kAllReduce, {kReplicas, 1});
  for (int failing = 0; failing < kReplicas; ++failing) {
    Transfer transfer(s, s.device(failing));
    Buffer argument = transfer.buffer();
    Outcome failed;
    // By another thread, since a launch may wait for its arguments.
    std::jthread later([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      failed = transfer.fail(kReason);
    });
    expectErrors(s, executable, failing, argument);
    later.join();
    s.succeed("PJRT_AsyncHostToDeviceTransferManager_SetBufferError", failed);
    expectSums(s, executable);
  }
}

}  // namespace isthmus::conformance

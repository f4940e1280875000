// What the tests share that drive the plugin through its function table, as a framework does.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "isthmus/pjrt_c_api.h"
#include "pjrt/table.h"

namespace isthmus::pjrt {

// Argument structures as callers make them: sized, everything else zero.
template <typename Args>
Args make() {
  Args args = {};
  args.struct_size = kPjrtStructSize<Args>;
  return args;
}

struct Outcome {
  PJRT_Error_Code code = PJRT_Error_Code_OK;
  std::string message;
  bool ok() const { return code == PJRT_Error_Code_OK; }
};

// Reads and frees an error, as callers do.
inline Outcome consume(PJRT_Error* error) {
  const PJRT_Api& api = *pjrtApi();
  if (error == nullptr) return {};
  auto code = make<PJRT_Error_GetCode_Args>();
  code.error = error;
  EXPECT_EQ(api.PJRT_Error_GetCode(&code), nullptr);
  auto message = make<PJRT_Error_Message_Args>();
  message.error = error;
  api.PJRT_Error_Message(&message);
  Outcome outcome{code.code, std::string(message.message, message.message_size)};
  auto destroy = make<PJRT_Error_Destroy_Args>();
  destroy.error = error;
  api.PJRT_Error_Destroy(&destroy);
  return outcome;
}

// Calls an entry, `call(api.PJRT_X, args)`, and reads its error.
template <typename Args>
Outcome call(PJRT_Entry<Args> entry, Args& args) {
  return consume(entry(&args));
}

#define EXPECT_PJRT_OK(expression)      \
  if (Outcome o = (expression); true) { \
    EXPECT_TRUE(o.ok()) << o.message;   \
  }
#define ASSERT_PJRT_OK(expression)      \
  if (Outcome o = (expression); true) { \
    ASSERT_TRUE(o.ok()) << o.message;   \
  }

// A client with `kNumDevices` devices, and short forms of the common calls.
class CApiTest : public testing::Test {
 protected:
  static constexpr int64_t kNumDevices = 4;

  void SetUp() override;
  void TearDown() override;

  PJRT_Device* device(size_t index = 0);
  PJRT_Memory* memory(std::string_view kind, size_t device = 0);
  PJRT_Buffer* fromHost(const std::vector<float>& values, size_t device = 0);
  std::vector<float> toHost(PJRT_Buffer* buffer);
  // Null if it failed; `lastError` says why.
  PJRT_LoadedExecutable* compile(std::string_view code, int replicas = 1, int partitions = 1);
  PJRT_Executable* executableOf(PJRT_LoadedExecutable* loaded);
  // Runs on all devices; `outputs` is sized by the caller.
  Outcome execute(PJRT_LoadedExecutable* loaded,
                  const std::vector<std::vector<PJRT_Buffer*>>& arguments,
                  std::vector<std::vector<PJRT_Buffer*>>& outputs,
                  const std::vector<int64_t>& nonDonatable = {}, PJRT_Event** complete = nullptr,
                  PJRT_Device* onDevice = nullptr);

  bool isDeleted(PJRT_Buffer* buffer);
  Outcome awaitReady(PJRT_Buffer* buffer);
  // Waits for an event and destroys it.
  Outcome finish(PJRT_Event* event);
  void destroy(PJRT_Buffer* buffer);
  void destroy(PJRT_LoadedExecutable* executable);
  void destroy(PJRT_Executable* executable);

  const PJRT_Api& api_ = *pjrtApi();
  PJRT_Client* client_ = nullptr;
  Outcome lastError_;
};

}  // namespace isthmus::pjrt

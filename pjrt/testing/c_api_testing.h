// What the tests share that drive the plugin through its function table, as a framework does.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "pjrt/table.h"
#include "pjrt/testing/c_api_calls.h"

namespace isthmus::pjrt {

// Reads and frees an error of the plugin under test.
inline Outcome consume(PJRT_Error* error) { return consume(*pjrtApi(), error); }

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

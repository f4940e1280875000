// Every slot of the table at once: none is null, and none falls over what a caller can send.
#include "pjrt/table.h"

#include <cstring>
#include <map>
#include <set>

#include "pjrt/entry.h"
#include "pjrt/testing/c_api_testing.h"

namespace isthmus::pjrt {
namespace {

TEST(Table, HasNoNullSlot) {
  const PJRT_Api& api = *pjrtApi();
  const auto* words = reinterpret_cast<const void* const*>(&api.PJRT_Error_Destroy);
  for (int i = 0; i < 138; ++i) EXPECT_NE(words[i], nullptr) << "slot " << i;
  EXPECT_EQ(api.struct_size, 1144u);
  EXPECT_EQ(api.pjrt_api_version.major_version, 0);
  EXPECT_EQ(api.pjrt_api_version.minor_version, 112);
}

TEST(Table, EveryEntryRefusesNullArguments) {
  const PJRT_Api& api = *pjrtApi();
#define CHECK_ENTRY(name) \
  EXPECT_EQ(consume(api.PJRT_##name(nullptr)).code, PJRT_Error_Code_INVALID_ARGUMENT) << #name;
  ISTHMUS_PJRT_SLOTS(CHECK_ENTRY)
#undef CHECK_ENTRY
  api.PJRT_Error_Destroy(nullptr);
  api.PJRT_Error_Message(nullptr);
}

// What an entry does with a structure one byte too small must not depend on, or touch, the rest.
template <typename Args>
void checkTooSmall(PJRT_Entry<Args> entry, const char* name) {
  Args args;
  std::memset(static_cast<void*>(&args), 0xab, sizeof(args));
  args.struct_size = kRequiredSize<Args> - 1;
  Args before = args;
  Outcome outcome = consume(entry(&args));
  EXPECT_EQ(outcome.code, PJRT_Error_Code_INVALID_ARGUMENT) << name;
  EXPECT_NE(outcome.message.find(kPjrtStructName<Args>), std::string::npos) << outcome.message;
  EXPECT_EQ(std::memcmp(&args, &before, sizeof(args)), 0) << name;
}

TEST(Table, EveryEntryRefusesSmallStructures) {
  const PJRT_Api& api = *pjrtApi();
#define CHECK_ENTRY(name) checkTooSmall(api.PJRT_##name, #name);
  ISTHMUS_PJRT_SLOTS(CHECK_ENTRY)
#undef CHECK_ENTRY
}

// Frees what an entry made although all it was given was null.
void destroyMade(PJRT_Event_Create_Args& made) {
  auto args = make<PJRT_Event_Destroy_Args>();
  args.event = made.event;
  EXPECT_PJRT_OK(call(pjrtApi()->PJRT_Event_Destroy, args));
}
void destroyMade(PJRT_Client_Create_Args& made) {
  auto args = make<PJRT_Client_Destroy_Args>();
  args.client = made.client;
  EXPECT_PJRT_OK(call(pjrtApi()->PJRT_Client_Destroy, args));
}
void destroyMade(PJRT_TopologyDescription_Create_Args& made) {
  auto args = make<PJRT_TopologyDescription_Destroy_Args>();
  args.topology = made.topology;
  EXPECT_PJRT_OK(call(pjrtApi()->PJRT_TopologyDescription_Destroy, args));
}
void destroyMade(PJRT_ExecuteContext_Create_Args& made) {
  auto args = make<PJRT_ExecuteContext_Destroy_Args>();
  args.context = made.context;
  EXPECT_PJRT_OK(call(pjrtApi()->PJRT_ExecuteContext_Destroy, args));
}
template <typename Args>
void destroyMade(Args&) {}

// Structures of the right size in which every handle is null.
TEST(Table, EveryEntrySurvivesNullHandles) {
  const PJRT_Api& api = *pjrtApi();
  const std::set<std::string> fine = {
      "Plugin_Initialize",          "Plugin_Attributes",     "Event_Create",  "Client_Create",
      "TopologyDescription_Create", "ExecuteContext_Create", "Error_GetCode",
  };
  std::map<std::string, PJRT_Error_Code> codes;
#define CHECK_ENTRY(name)                                \
  {                                                      \
    auto args = make<PJRT_##name##_Args>();              \
    codes[#name] = consume(api.PJRT_##name(&args)).code; \
    destroyMade(args);                                   \
  }
  ISTHMUS_PJRT_SLOTS(CHECK_ENTRY)
#undef CHECK_ENTRY
  EXPECT_EQ(codes.size(), 136u);
  for (const auto& [name, code] : codes) {
    bool isFine = fine.contains(name) || name.ends_with("_Destroy");
    EXPECT_EQ(code, isFine ? PJRT_Error_Code_OK : PJRT_Error_Code_INVALID_ARGUMENT) << name;
  }
}

// Callers of older versions pass structures that end before newer fields.
TEST(Table, OlderCallersGetNoMoreThanTheyHaveRoomFor) {
  const PJRT_Api& api = *pjrtApi();
  auto create = make<PJRT_Client_Create_Args>();
  create.struct_size = offsetof(PJRT_Client_Create_Args, kv_try_get_callback);
  ASSERT_PJRT_OK(call(api.PJRT_Client_Create, create));
  auto devices = make<PJRT_Client_Devices_Args>();
  devices.client = create.client;
  ASSERT_PJRT_OK(call(api.PJRT_Client_Devices, devices));

  PJRT_Device_MemoryStats_Args stats;
  std::memset(static_cast<void*>(&stats), 0xab, sizeof(stats));
  stats.struct_size = offsetof(PJRT_Device_MemoryStats_Args, pool_bytes);
  stats.device = devices.devices[0];
  ASSERT_PJRT_OK(call(api.PJRT_Device_MemoryStats, stats));
  EXPECT_TRUE(stats.bytes_limit_is_set);
  EXPECT_GT(stats.bytes_limit, 0);
  EXPECT_TRUE(stats.bytes_reservable_limit_is_set);
  EXPECT_EQ(stats.bytes_reservable_limit,
            stats.bytes_limit / static_cast<int64_t>(devices.num_devices));
  EXPECT_FALSE(stats.largest_free_block_bytes_is_set);
  EXPECT_EQ(stats.pool_bytes, static_cast<int64_t>(0xababababababababull));

  auto destroy = make<PJRT_Client_Destroy_Args>();
  destroy.client = create.client;
  EXPECT_PJRT_OK(call(api.PJRT_Client_Destroy, destroy));
}

TEST(Table, ExtensionsAreThoseThatAreServed) {
  std::map<int, size_t> found;
  for (const PJRT_Extension_Base* node = pjrtApi()->extension_start; node != nullptr;
       node = node->next) {
    found[node->type] = node->struct_size;
  }
  EXPECT_EQ(found, (std::map<int, size_t>{{PJRT_Extension_Type_Isthmus_CustomCall, 32},
                                          {PJRT_Extension_Type_Profiler, 40},
                                          {PJRT_Extension_Type_Custom_Partitioner, 40},
                                          {PJRT_Extension_Type_Layouts, 80},
                                          {PJRT_Extension_Type_FFI, 48},
                                          {PJRT_Extension_Type_MemoryDescriptions, 40},
                                          {PJRT_Extension_Type_CrossHostTransfers, 56},
                                          {PJRT_Extension_Type_Stream, 40},
                                          {PJRT_Extension_Type_Shardings, 40}}));
}

}  // namespace
}  // namespace isthmus::pjrt

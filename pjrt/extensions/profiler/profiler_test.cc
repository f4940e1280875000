// The profiler's table, called as its clients do: with structures whose sizes are garbage.
#include "isthmus/pjrt_c_api/profiler.h"

#include <cstring>
#include <string>

#include "isthmus/trace.h"
#include "isthmus/wire_format.h"
#include "pjrt/testing/c_api_testing.h"

namespace isthmus::pjrt {
namespace {

using namespace std::string_literals;

const PLUGIN_Profiler_Api& api() {
  for (const PJRT_Extension_Base* node = pjrtApi()->extension_start; node; node = node->next) {
    if (node->type == PJRT_Extension_Type_Profiler) {
      return *reinterpret_cast<const PJRT_Profiler_Extension*>(node)->profiler_api;
    }
  }
  ADD_FAILURE() << "no profiler extension";
  std::abort();
}

template <typename Args>
Args garbage() {
  Args args;
  std::memset(static_cast<void*>(&args), 0xab, sizeof(args));
  return args;
}

// The error's code, and its message if asked for; frees it.
int codeOf(PLUGIN_Profiler_Error* error, std::string* message = nullptr) {
  if (!error) return 0;
  auto code = garbage<PLUGIN_Profiler_Error_GetCode_Args>();
  code.error = error;
  EXPECT_EQ(api().error_get_code(&code), nullptr);
  auto text = garbage<PLUGIN_Profiler_Error_Message_Args>();
  text.error = error;
  api().error_message(&text);
  if (message) *message = std::string(text.message, text.message_size);
  auto destroy = garbage<PLUGIN_Profiler_Error_Destroy_Args>();
  destroy.error = error;
  api().error_destroy(&destroy);
  return code.code;
}

class ProfilerTest : public testing::Test {
 protected:
  void SetUp() override { profiler_ = make(""); }
  void TearDown() override {
    if (profiler_) EXPECT_EQ(call(api().destroy, profiler_), 0);
  }
  static PLUGIN_Profiler* make(const std::string& options) {
    auto args = garbage<PLUGIN_Profiler_Create_Args>();
    args.options = options.data();
    args.options_size = options.size();
    EXPECT_EQ(codeOf(api().create(&args)), 0);
    return args.profiler;
  }
  template <typename Args>
  static int call(PLUGIN_Profiler_Entry<Args> entry, PLUGIN_Profiler* profiler) {
    auto args = garbage<Args>();
    args.profiler = profiler;
    return codeOf(entry(&args));
  }
  int start() { return call(api().start, profiler_); }
  int stop() { return call(api().stop, profiler_); }
  std::string collect() {
    auto args = garbage<PLUGIN_Profiler_CollectData_Args>();
    args.profiler = profiler_;
    args.buffer = nullptr;
    EXPECT_EQ(codeOf(api().collect_data(&args)), 0);
    return std::string(reinterpret_cast<char*>(args.buffer), args.buffer_size_in_bytes);
  }
  // Names of the planes, which are field 2 of fields 1.
  static std::vector<std::string> planesOf(const std::string& space) {
    std::vector<std::string> planes;
    wire::Reader reader(space);
    for (wire::Field plane; reader.next(plane);) {
      if (plane.number != 1) continue;
      wire::Reader fields(plane.bytes);
      for (wire::Field field; fields.next(field);) {
        if (field.number == 2) planes.emplace_back(field.bytes);
      }
    }
    EXPECT_TRUE(reader.ok());
    return planes;
  }
  static void happen() {
    static const trace::EventInfo run{.name = "jit_f"};
    trace::record({.info = &run,
                   .beginNs = trace::now(),
                   .endNs = trace::now() + 1,
                   .run = 1,
                   .track = trace::Track::kRun});
    trace::Scope scope("work");
  }

  PLUGIN_Profiler* profiler_ = nullptr;
};

const std::vector<std::string> kBoth = {"/device:CUSTOM:ISTHMUS:0", "/host:CPU"};

// jaxlib 0.10 falls over any other size of the table.
TEST_F(ProfilerTest, TheTableHasTheSizeThatClientsTake) {
  EXPECT_EQ(api().struct_size, 80u);
  EXPECT_NE(api().serialize, nullptr);
}

TEST_F(ProfilerTest, StartStopCollectAndAgain) {
  EXPECT_EQ(collect(), "");
  for (int round = 0; round < 3; ++round) {
    happen();  // in no recording
    ASSERT_EQ(start(), 0);
    EXPECT_EQ(start(), 0) << "again";
    happen();
    ASSERT_EQ(stop(), 0);
    EXPECT_EQ(stop(), 0) << "again";
    std::string bytes = collect();
    EXPECT_EQ(planesOf(bytes), kBoth);
    EXPECT_EQ(collect(), bytes);
  }
}

TEST_F(ProfilerTest, CopiesIntoACallersBuffer) {
  ASSERT_EQ(start(), 0);
  happen();
  ASSERT_EQ(stop(), 0);
  std::string bytes = collect();
  std::string buffer(bytes.size() + 10, 'x');
  auto args = garbage<PLUGIN_Profiler_CollectData_Args>();
  args.profiler = profiler_;
  args.buffer = reinterpret_cast<uint8_t*>(buffer.data());
  args.buffer_size_in_bytes = buffer.size();
  EXPECT_EQ(codeOf(api().collect_data(&args)), 0);
  EXPECT_EQ(args.buffer_size_in_bytes, bytes.size());
  EXPECT_EQ(buffer, bytes + std::string(10, 'x'));
  args.buffer_size_in_bytes = bytes.size() - 1;
  EXPECT_EQ(codeOf(api().collect_data(&args)), PJRT_Error_Code_INVALID_ARGUMENT);
}

TEST_F(ProfilerTest, ConsumesNowAndSerializesLater) {
  ASSERT_EQ(start(), 0);
  happen();
  ASSERT_EQ(stop(), 0);
  auto consumed = garbage<PLUGIN_Profiler_Consume_Args>();
  consumed.profiler = profiler_;
  ASSERT_EQ(codeOf(api().consume(&consumed)), 0);
  // The next recording begins meanwhile.
  ASSERT_EQ(start(), 0);
  auto serialized = garbage<PLUGIN_Profiler_Serialize_Args>();
  serialized.profiler = profiler_;
  serialized.consume_result = consumed.result;
  ASSERT_EQ(codeOf(api().serialize(&serialized)), 0);
  EXPECT_EQ(planesOf({reinterpret_cast<const char*>(serialized.serialized_bytes),
                      serialized.serialized_size}),
            kBoth);
  auto destroy = garbage<PLUGIN_Profiler_ConsumeResult_Destroy_Args>();
  destroy.consume_result = consumed.result;
  api().consume_result_destroy(&destroy);
}

TEST_F(ProfilerTest, OneAtATimeInAProcess) {
  ASSERT_EQ(start(), 0);
  PLUGIN_Profiler* other = make("");
  auto args = garbage<PLUGIN_Profiler_Start_Args>();
  args.profiler = other;
  std::string message;
  EXPECT_EQ(codeOf(api().start(&args), &message), PJRT_Error_Code_FAILED_PRECONDITION);
  EXPECT_NE(message.find("already"), std::string::npos) << message;
  EXPECT_EQ(call(api().destroy, other), 0);
  EXPECT_TRUE(trace::isOn()) << "the first one goes on";
  EXPECT_EQ(call(api().collect_data, profiler_), PJRT_Error_Code_FAILED_PRECONDITION);
  EXPECT_EQ(call(api().consume, profiler_), PJRT_Error_Code_FAILED_PRECONDITION);
  // Destroying one that runs ends its recording.
  EXPECT_EQ(call(api().destroy, profiler_), 0);
  EXPECT_FALSE(trace::isOn());
  profiler_ = make("");
  EXPECT_EQ(start(), 0);
}

// ProfileOptions: host_tracer_level 2, device_tracer_level 3, version 5.
TEST_F(ProfilerTest, OptionsChoosePlanes) {
  const std::pair<std::string, std::vector<std::string>> cases[] = {
      {""s, kBoth},
      {"\x10\x02\x18\x01\x28\x01"s, kBoth},
      {"\x18\x01\x28\x01"s, {kBoth[0]}},
      {"\x10\x01\x28\x01"s, {kBoth[1]}},
      {"\x28\x01"s, {}},
  };
  for (const auto& [options, planes] : cases) {
    ASSERT_EQ(call(api().destroy, profiler_), 0);
    profiler_ = make(options);
    ASSERT_EQ(start(), 0);
    happen();
    ASSERT_EQ(stop(), 0);
    EXPECT_EQ(planesOf(collect()), planes) << testing::PrintToString(options);
  }
}

TEST_F(ProfilerTest, RefusesWhatMakesNoSense) {
  auto args = garbage<PLUGIN_Profiler_Create_Args>();
  std::string malformed = "\x10";
  args.options = malformed.data();
  args.options_size = malformed.size();
  EXPECT_EQ(codeOf(api().create(&args)), PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_EQ(codeOf(api().create(nullptr)), PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_EQ(codeOf(api().start(nullptr)), PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_EQ(call(api().start, nullptr), PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_EQ(call(api().stop, nullptr), PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_EQ(call(api().destroy, nullptr), PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_EQ(call(api().collect_data, nullptr), PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_EQ(call(api().consume, nullptr), PJRT_Error_Code_INVALID_ARGUMENT);
  auto serialize = garbage<PLUGIN_Profiler_Serialize_Args>();
  serialize.profiler = profiler_;
  serialize.consume_result = nullptr;
  EXPECT_EQ(codeOf(api().serialize(&serialize)), PJRT_Error_Code_INVALID_ARGUMENT);
  api().error_destroy(nullptr);
  api().error_message(nullptr);
  api().consume_result_destroy(nullptr);
}

}  // namespace
}  // namespace isthmus::pjrt

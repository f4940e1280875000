// Options that clients of devices send.
#include "backends/shared/devices/device_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace isthmus {
namespace {

using ::testing::HasSubstr;

StatusOr<DeviceOptions> read(const AttributeMap& options, std::string& library) {
  const OwnOption own[] = {textInto("acme_library", library)};
  return readDeviceOptions(options, "acme", own);
}

StatusCode codeOf(const AttributeMap& options) {
  std::string library;
  return read(options, library).status().code();
}

TEST(DeviceOptionsTest, all_that_a_client_sends_is_read) {
  std::string library = "default";
  StatusOr<DeviceOptions> options = read({{"num_devices", int64_t{3}},
                                          {"acme_library", std::string("libacme.so")},
                                          {"platform_name", std::string("mine")},
                                          {"node_id", int64_t{0}},
                                          {"num_nodes", int64_t{1}}},
                                         library);
  ASSERT_TRUE(options.ok()) << options.status().message();
  EXPECT_EQ(options->count, 3);
  EXPECT_EQ(options->platformName, "mine");
  EXPECT_EQ(library, "libacme.so");
}

TEST(DeviceOptionsTest, what_is_not_sent_stays) {
  std::string library = "default";
  StatusOr<DeviceOptions> options = read({}, library);
  ASSERT_TRUE(options.ok()) << options.status().message();
  EXPECT_EQ(options->count, 0);
  EXPECT_EQ(options->platformName, "");
  EXPECT_EQ(library, "default");
}

TEST(DeviceOptionsTest, an_unknown_option_is_told_which_there_are) {
  std::string library;
  Status status = read({{"acme_libary", std::string("x")}}, library).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("acme_libary, expected num_devices, acme_library, platform_name"));
}

TEST(DeviceOptionsTest, values_that_an_option_cannot_have_are_refused) {
  EXPECT_EQ(codeOf({{"num_devices", int64_t{0}}}), StatusCode::kInvalidArgument);
  EXPECT_EQ(codeOf({{"num_devices", std::string("two")}}), StatusCode::kInvalidArgument);
  EXPECT_EQ(codeOf({{"acme_library", std::string()}}), StatusCode::kInvalidArgument);
  EXPECT_EQ(codeOf({{"acme_library", int64_t{1}}}), StatusCode::kInvalidArgument);
  EXPECT_EQ(codeOf({{"num_nodes", int64_t{2}}}), StatusCode::kUnimplemented);
  EXPECT_EQ(codeOf({{"node_id", int64_t{1}}}), StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace isthmus

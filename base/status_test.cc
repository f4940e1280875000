#include "isthmus/status.h"

#include <gtest/gtest.h>

#include <string>

namespace isthmus {
namespace {

std::string placeOf(int line) { return " (base/status_test.cc:" + std::to_string(line) + ")"; }

TEST(Status, InternalErrorsKnowTheLineThatMadeThem) {
  const Status error = internalError("step ", 3, " has no slot");
  const int line = __LINE__ - 1;
  EXPECT_EQ(error.message(), "step 3 has no slot");
  EXPECT_EQ(error.messageWithPlace(), "step 3 has no slot" + placeOf(line));
}

TEST(Status, ErrorsInOtherWordsKnowItToo) {
  const Status error = internalError(std::string("no slot"));
  const int line = __LINE__ - 1;
  EXPECT_EQ(error.withContext("plan").messageWithPlace(), "plan: no slot" + placeOf(line));
  EXPECT_EQ(error.withMessage("no room").messageWithPlace(), "no room" + placeOf(line));
  EXPECT_EQ(error.withMessage("no room").code(), StatusCode::kInternal);
}

TEST(Status, WhatUsersCauseHasNoPlace) {
  EXPECT_EQ(invalidArgument("no such ", "device").messageWithPlace(), "no such device");
  EXPECT_EQ(Status().messageWithPlace(), "");
  EXPECT_TRUE(Status().withMessage("no room").ok());
}

// Of a vendor's sources, which lie anywhere, no path is told.
TEST(Status, SourcesElsewhereAreKnownByTheirNames) {
  EXPECT_STREQ(internal::sourceFile("/home/vendor/acme/device.cc"), "device.cc");
  EXPECT_STREQ(internal::sourceFile("device.cc"), "device.cc");
}

}  // namespace
}  // namespace isthmus

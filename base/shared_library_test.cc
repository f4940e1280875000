#include "base/shared_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace isthmus {
namespace {

using testing::HasSubstr;

TEST(SharedLibrary, the_first_one_that_is_there_is_loaded) {
  const std::vector<std::string> names = {"libnowhere.so.1", "libc.so.6", "libm.so.6"};
  StatusOr<SharedLibrary> library = SharedLibrary::open("C library", names);
  ASSERT_TRUE(library.ok()) << library.status().message();
  EXPECT_EQ(library->name(), "libc.so.6");
  int (*absolute)(int) = nullptr;
  ASSERT_TRUE(library->find("abs", absolute).ok());
  EXPECT_EQ(absolute(-7), 7);
  Status status = library->find("no_such_function", absolute);
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_EQ(status.message(), "the C library at libc.so.6 has no no_such_function");
}

TEST(SharedLibrary, one_that_is_not_there_is_an_error_with_what_the_linker_said) {
  const std::vector<std::string> names = {"libnowhere.so.1", "libneither.so.2"};
  Status status = SharedLibrary::open("thing", names).status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("no thing at libnowhere.so.1: libnowhere.so.1: cannot open shared object"));
  EXPECT_EQ(SharedLibrary::open("thing", std::vector<std::string>()).status().code(),
            StatusCode::kNotFound);
}

}  // namespace
}  // namespace isthmus

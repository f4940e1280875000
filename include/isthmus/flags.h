// The environment variables that Isthmus reads, all of them: name, type, default, doc.
//
// One table (base/flags.cc) lists them; nothing else calls getenv. Values are read once, at the
// first use of any flag; a malformed value is reported on stderr and the default holds.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace isthmus {

// A variable that is set to nothing is as one that is not set; but for a library, that need not be
// there, it means none.
enum class FlagType { kBool, kInt, kString, kLibrary };

// An environment variable that is read.
struct FlagInfo {
  std::string_view name;  // "ISTHMUS_NUM_THREADS"
  FlagType type;
  std::string_view defaultValue;  // as text; empty means unset
  std::string_view doc;           // one sentence
};

// The table, for documentation and `isthmus-info`.
std::span<const FlagInfo> allFlags();

// The value of a flag in the table; an unknown name is a bug and gives the type's zero.
bool flagBool(std::string_view name);
int64_t flagInt(std::string_view name);
const std::string& flagString(std::string_view name);
// True if the environment sets the flag to a well-formed value.
bool flagIsSet(std::string_view name);

// For tests: overrides a flag in this process; not safe while other threads read flags.
void setFlagForTest(std::string_view name, std::string_view value);

}  // namespace isthmus

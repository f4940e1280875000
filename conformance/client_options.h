// Options that a plugin is to make its client with.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "isthmus/pjrt_c_api.h"

namespace isthmus::conformance {

struct ClientOption {
  std::string name;
  std::variant<std::string, int64_t, std::vector<int64_t>, float, bool> value;

  // Points into the option.
  PJRT_NamedValue named() const;
};

// Of "name=value". true and false are bools, 7 is an int64, 1,2 are int64s, 0.5 is a float, and all
// else a string; "name:TYPE=value" says which of string, int64, int64s, float and bool it is.
// Throws std::runtime_error where the value is not of the type.
ClientOption parseClientOption(std::string_view text);

}  // namespace isthmus::conformance

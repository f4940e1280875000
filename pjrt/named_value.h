// PJRT_NamedValue lists: options as they come in, attributes as they go out.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "isthmus/backend.h"
#include "isthmus/pjrt_c_api.h"
#include "isthmus/status.h"

namespace isthmus::pjrt {

// Copies a caller's list. kInvalidArgument names the value that is malformed or given twice.
StatusOr<AttributeMap> parseNamedValues(const PJRT_NamedValue* values, size_t count);

// A list that callers may point into for as long as this object lives. Not copied or moved, since
// the entries hold addresses of the strings.
class NamedValueList {
 public:
  explicit NamedValueList(AttributeMap attributes);
  NamedValueList(const NamedValueList&) = delete;
  NamedValueList& operator=(const NamedValueList&) = delete;

  const PJRT_NamedValue* data() const { return values_.data(); }
  size_t size() const { return values_.size(); }

 private:
  AttributeMap attributes_;
  std::vector<PJRT_NamedValue> values_;
};

}  // namespace isthmus::pjrt

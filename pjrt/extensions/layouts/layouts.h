// The layout objects of extension 4.
#pragma once

#include <cstddef>
#include <string>

#include "isthmus/pjrt_c_api.h"
#include "isthmus/types.h"

struct PJRT_Layouts_MemoryLayout {
  std::string text;  // "{1,0}"
};

namespace isthmus::pjrt {

// The layout of arrays of this type. Lives as long as the process, like all layouts here (there are
// as many as orders of dimensions in use), so destroying one does nothing.
PJRT_Layouts_MemoryLayout* layoutOf(const ArrayType& type);

}  // namespace isthmus::pjrt

// The layout objects of extension 4.
#pragma once

#include <cstddef>
#include <string>

#include "isthmus/pjrt_c_api.h"

struct PJRT_Layouts_MemoryLayout {
  std::string text;  // "{1,0}"
};

namespace isthmus::pjrt {

// The row-major layout of a rank. Lives as long as the process, like all layouts here, so
// destroying one does nothing. Null for a rank above 64.
PJRT_Layouts_MemoryLayout* rowMajorLayout(size_t rank);

}  // namespace isthmus::pjrt

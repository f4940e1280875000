// Which composites are scans, and keep their meaning rather than their decomposition.
#pragma once

#include "compiler/dialect/dialect.h"

namespace isthmus {

bool isScanComposite(shlo::CompositeOp op);

}  // namespace isthmus

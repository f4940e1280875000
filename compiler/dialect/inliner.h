// What our dialects say of inlining: functions may go into regions and regions anywhere, for
// nothing refers to its place.
#pragma once

#include "mlir/Transforms/InliningUtils.h"

namespace isthmus {

struct UnrestrictedInliner : mlir::DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;
  bool isLegalToInline(mlir::Operation*, mlir::Operation*, bool) const final { return true; }
  bool isLegalToInline(mlir::Region*, mlir::Region*, bool, mlir::IRMapping&) const final {
    return true;
  }
  bool isLegalToInline(mlir::Operation*, mlir::Region*, bool, mlir::IRMapping&) const final {
    return true;
  }
};

}  // namespace isthmus

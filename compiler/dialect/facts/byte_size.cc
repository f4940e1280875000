#include "compiler/dialect/facts/byte_size.h"

#include "compiler/dialect/types/array_shape.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/BuiltinTypes.h"

namespace isthmus {
namespace {

std::string typeText(mlir::Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

}  // namespace

StatusOr<int64_t> byteSize(mlir::Type type) {
  auto shaped = llvm::dyn_cast<mlir::RankedTensorType>(type);
  if (!shaped) {
    if (llvm::isa<mlir::ShapedType, mlir::TupleType>(type)) {
      return unimplemented("a value of type ", typeText(type), " has no place in memory yet");
    }
    return 0;
  }
  if (!shaped.hasStaticShape()) {
    return unimplemented("dynamic shape ", typeText(type), " has no size at compile time");
  }
  int64_t bytes = elementBytes(shaped.getElementType());
  if (bytes == 0) return unimplemented("element type of ", typeText(type), " has no size");
  for (int64_t dim : shaped.getShape()) {
    if (dim == 0) return 0;
  }
  for (int64_t dim : shaped.getShape()) {
    if (llvm::MulOverflow(bytes, dim, bytes) || bytes > (int64_t{1} << 62)) {
      return resourceExhausted("array of type ", typeText(type), " is larger than memory");
    }
  }
  return bytes;
}

}  // namespace isthmus

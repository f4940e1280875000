#include "compiler/import/text/resources.h"

#include "compiler/dialect/diagnostics/source_location.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/byte_size.h"
#include "mlir/IR/DialectResourceBlobManager.h"

namespace isthmus::importer {
namespace {

constexpr int64_t kMaxCopiedBytes = 1 << 16;

mlir::DenseElementsAttr copyOf(mlir::ShapedType type, llvm::ArrayRef<char> bytes) {
  if (!type.getElementType().isInteger(1)) {
    return mlir::DenseElementsAttr::getFromRawBuffer(type, bytes);
  }
  // A byte for each, which MLIR's other constants have not.
  llvm::SmallVector<bool> bits;
  for (char byte : bytes) bits.push_back(byte != 0);
  return mlir::DenseElementsAttr::get(type, bits);
}

}  // namespace

bool readResources(mlir::ModuleOp module, ErrorSink& sink) {
  mlir::WalkResult result = module.walk([&](shlo::ConstantOp op) {
    auto resource = llvm::dyn_cast<mlir::DenseResourceElementsAttr>(op.getValue());
    if (!resource) return mlir::WalkResult::advance();
    mlir::AsmResourceBlob* blob = resource.getRawHandle().getBlob();
    const size_t given = blob ? blob->getData().size() : 0;
    StatusOr<int64_t> bytes = byteSize(resource.getType());
    if (!bytes.ok() || static_cast<int64_t>(given) != *bytes) {
      std::string type;
      llvm::raw_string_ostream(type) << resource.getType();
      std::string place = sourceLocation(op.getLoc());
      sink.fail(StatusCode::kInvalidArgument,
                "stablehlo.constant of type " + type + " at " + place + ": its resource '" +
                    resource.getRawHandle().getKey().str() + "' has " + std::to_string(given) +
                    " bytes, expected " +
                    (bytes.ok() ? std::to_string(*bytes) : std::string(bytes.status().message())));
      return mlir::WalkResult::interrupt();
    }
    if (*bytes <= kMaxCopiedBytes) op.setValueAttr(copyOf(resource.getType(), blob->getData()));
    return mlir::WalkResult::advance();
  });
  return !result.wasInterrupted();
}

}  // namespace isthmus::importer

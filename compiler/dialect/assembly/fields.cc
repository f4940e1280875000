// Text of attributes that are written field by field.
#include "compiler/dialect/assembly/fields.h"

#include "compiler/dialect/assembly/assembly.h"
#include "llvm/ADT/STLExtras.h"

namespace isthmus {

using mlir::failed;
using mlir::failure;
using mlir::ParseResult;
using mlir::succeeded;
using mlir::success;

ParseResult parseFields(mlir::AsmParser& parser, llvm::MutableArrayRef<Field> fields) {
  llvm::SmallVector<llvm::StringRef> seen;
  auto parseField = [&]() -> ParseResult {
    llvm::SMLoc loc = parser.getCurrentLocation();
    llvm::StringRef name;
    if (parser.parseKeyword(&name) || parser.parseEqual()) return failure();
    if (llvm::is_contained(seen, name)) {
      return parser.emitError(loc) << "field " << name << " is given twice";
    }
    seen.push_back(name);
    auto* field = llvm::find_if(fields, [&](const Field& f) { return f.name == name; });
    if (field == fields.end()) return parser.emitError(loc) << "unknown field " << name;
    if (field->isScalar) return parser.parseInteger(field->scalar);
    mlir::FailureOr<llvm::SmallVector<int64_t>> dims = shlo::parseDimSizes(parser);
    if (failed(dims)) return failure();
    field->dims = std::move(*dims);
    return success();
  };
  if (parser.parseLess()) return failure();
  if (succeeded(parser.parseOptionalGreater())) return success();
  do {
    // A comma may be the last thing.
    if (!seen.empty() && succeeded(parser.parseOptionalGreater())) return success();
    if (parseField()) return failure();
  } while (succeeded(parser.parseOptionalComma()));
  return parser.parseGreater();
}

void printFields(mlir::AsmPrinter& printer, llvm::ArrayRef<Field> fields) {
  llvm::StringRef separator = "";
  printer << '<';
  for (const Field& field : fields) {
    if (field.isScalar ? field.scalar == 0 : field.dims.empty()) continue;
    printer << separator << field.name << " = ";
    separator = ", ";
    if (field.isScalar) {
      printer << field.scalar;
    } else {
      printer << '[';
      llvm::interleaveComma(field.dims, printer);
      printer << ']';
    }
  }
  printer << '>';
}

}  // namespace isthmus

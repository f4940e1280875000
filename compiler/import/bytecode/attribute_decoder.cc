// Decodes the attributes and types of a bytecode file on demand, straight into builtin and our own.
#include "compiler/import/bytecode/attribute_decoder.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"

namespace isthmus::importer {
namespace {

void decodeCustom(DecodeStream& in, llvm::StringRef dialect, mlir::Attribute& result) {
  if (dialect == "builtin") {
    result = decodeBuiltinAttribute(in);
  } else if (dialect == "vhlo") {
    result = decodeVhloAttribute(in);
  } else if (dialect == "sdy") {
    result = decodeSdyAttribute(in);
  } else if (dialect == "stablehlo") {
    result = decodeStablehloAttribute(in);
  } else {
    in.decoder().sink().fail(
        StatusCode::kUnimplemented,
        internal::concatenate("program bytecode has an attribute of dialect '",
                              std::string_view(dialect), "' in an encoding of its own"));
  }
}

void decodeCustom(DecodeStream& in, llvm::StringRef dialect, mlir::Type& result) {
  if (dialect == "builtin") {
    result = decodeBuiltinType(in);
  } else if (dialect == "vhlo") {
    result = decodeVhloType(in);
  } else if (dialect == "stablehlo") {
    result = decodeStablehloType(in);
  } else {
    in.decoder().sink().fail(
        StatusCode::kUnimplemented,
        internal::concatenate("program bytecode has a type of dialect '", std::string_view(dialect),
                              "' in an encoding of its own"));
  }
}

void parse(llvm::StringRef text, mlir::MLIRContext* context, mlir::Attribute& result) {
  result = mlir::parseAttribute(text, context);
}
void parse(llvm::StringRef text, mlir::MLIRContext* context, mlir::Type& result) {
  result = mlir::parseType(text, context);
}

bool isLocation(mlir::Attribute attribute) { return llvm::isa<mlir::LocationAttr>(attribute); }
bool isLocation(mlir::Type) { return false; }

int64_t maxExpanded(mlir::Attribute) { return kMaxExpandedAttribute; }
int64_t maxExpanded(mlir::Type) { return kMaxExpandedType; }

}  // namespace

template <typename T>
bool AttributeDecoder::resolve(const std::vector<EncodedEntry>& entries,
                               std::vector<Slot<T>>& slots, uint64_t index, T& result) {
  if (index >= slots.size()) {
    return sink_.fail(StatusCode::kInvalidArgument,
                      "program bytecode refers to an attribute or type that does not exist");
  }
  Slot<T>& slot = slots[index];
  if (slot.value) {
    result = slot.value;
    return charge(slot.cost, isLocation(result));
  }
  if (sink_.failed()) return false;
  if (slot.inProgress || depth_ == kMaxDepth) {
    return sink_.fail(StatusCode::kInvalidArgument,
                      "program bytecode has attributes or types that nest too deeply");
  }
  const EncodedEntry& entry = entries[index];
  DecodeStream in(entry.bytes, *this);
  slot.inProgress = true;
  ++depth_;
  GraphCost* const outer = std::exchange(current_, &slot.cost);
  if (entry.isText) {
    llvm::StringRef text;
    if (in.cursor().nullTerminated(text) && checkTextLimits(text, sink_)) {
      // Without aliases it is no larger than its text.
      slot.cost.size += text.size() / 8;
      parse(text, context_, result);
    }
  } else {
    decodeCustom(in, entry.dialect, result);
  }
  --depth_;
  current_ = outer;
  slot.inProgress = false;
  if (!result || sink_.failed()) {
    return in.cursor().fail("has an attribute or type that cannot be decoded");
  }
  if (slot.cost.size > maxExpanded(result)) {
    return in.cursor().fail("has an attribute or type that expands too far");
  }
  if (!in.cursor().atEnd()) return in.cursor().fail("has bytes after an attribute or type");
  slot.value = result;
  return charge(slot.cost, isLocation(result));
}

bool AttributeDecoder::charge(const GraphCost& cost, bool isLocation) {
  if (current_ != nullptr) {
    current_->add(cost);
    // A type in an attribute, or the other way round, is bound by where it began.
    if (current_->depth <= kMaxGraphDepth && current_->size <= kMaxExpandedAttribute) return true;
  } else {
    if (!isLocation) total_ += cost.size - 1;
    if (total_ <= kMaxExpandedProgram) return true;
  }
  return sink_.fail(StatusCode::kInvalidArgument,
                    "program bytecode has attributes or types that nest or expand too far");
}

bool AttributeDecoder::attribute(uint64_t index, mlir::Attribute& result) {
  result = {};
  return resolve(file_.attributes, attributes_, index, result);
}

bool AttributeDecoder::type(uint64_t index, mlir::Type& result) {
  result = {};
  return resolve(file_.types, types_, index, result);
}

bool DecodeStream::string(llvm::StringRef& result) {
  uint64_t index;
  if (!cursor_.varInt(index)) return false;
  const std::vector<llvm::StringRef>& strings = decoder_.file().strings;
  if (index >= strings.size()) return cursor_.fail("refers to a string that does not exist");
  result = strings[index];
  return true;
}

bool DecodeStream::blob(llvm::ArrayRef<char>& result) {
  uint64_t size;
  llvm::ArrayRef<uint8_t> bytes;
  if (!cursor_.varInt(size) || !cursor_.bytes(size, bytes)) return false;
  result = llvm::ArrayRef<char>(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return true;
}

bool DecodeStream::apInt(unsigned width, llvm::APInt& result) {
  if (width <= 8) {
    uint8_t value;
    if (!cursor_.byte(value)) return false;
    result = llvm::APInt(width, value, /*isSigned=*/false, /*implicitTrunc=*/true);
    return true;
  }
  if (width > 64) return cursor_.fail("has an integer of more than 64 bits");
  int64_t value;
  if (!cursor_.signedVarInt(value)) return false;
  result = llvm::APInt(width, static_cast<uint64_t>(value), /*isSigned=*/true,
                       /*implicitTrunc=*/true);
  return true;
}

bool DecodeStream::apFloat(const llvm::fltSemantics& semantics, llvm::APFloat& result) {
  llvm::APInt bits;
  if (!apInt(llvm::APFloat::getSizeInBits(semantics), bits)) return false;
  result = llvm::APFloat(semantics, bits);
  return true;
}

llvm::FailureOr<llvm::APInt> DecodeStream::readAPIntWithKnownWidth(unsigned width) {
  llvm::APInt result;
  if (!apInt(width, result)) return mlir::failure();
  return result;
}

llvm::FailureOr<llvm::APFloat> DecodeStream::readAPFloatWithKnownSemantics(
    const llvm::fltSemantics& semantics) {
  llvm::APFloat result(semantics);
  if (!apFloat(semantics, result)) return mlir::failure();
  return result;
}

llvm::LogicalResult DecodeStream::readBool(bool& result) {
  uint8_t value;
  if (!cursor_.byte(value)) return mlir::failure();
  result = value != 0;
  return mlir::success();
}

}  // namespace isthmus::importer

// Decodes the attributes and types of a bytecode file on demand, straight into builtin and our own.
#pragma once

#include <vector>

#include "compiler/import/bytecode/container.h"
#include "compiler/import/text/text_limits.h"
#include "mlir/Bytecode/BytecodeImplementation.h"
#include "mlir/IR/Attributes.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/Types.h"

namespace isthmus::importer {

// Each entry is decoded once, at its first use. Entries that contain themselves, or that exceed the
// bounds of text_limits.h, are errors.
class AttributeDecoder {
 public:
  // Of entries that are decoded for each other.
  static constexpr int kMaxDepth = 512;

  AttributeDecoder(const Container& file, mlir::MLIRContext* context, ErrorSink& sink)
      : file_(file),
        context_(context),
        sink_(sink),
        attributes_(file.attributes.size()),
        types_(file.types.size()) {}

  bool attribute(uint64_t index, mlir::Attribute& attribute);
  bool type(uint64_t index, mlir::Type& type);
  template <typename T>
  bool attribute(uint64_t index, T& result) {
    mlir::Attribute decoded;
    if (!attribute(index, decoded)) return false;
    if ((result = mlir::dyn_cast<T>(decoded))) return true;
    return sink_.fail(StatusCode::kInvalidArgument,
                      "program bytecode has an attribute of the wrong kind");
  }

  const Container& file() const { return file_; }
  mlir::MLIRContext* context() const { return context_; }
  ErrorSink& sink() const { return sink_; }
  // For diagnostics of attributes, which have no place in the source.
  mlir::Location location() const { return mlir::UnknownLoc::get(context_); }

 private:
  template <typename T>
  struct Slot {
    T value;
    GraphCost cost;
    bool inProgress = false;
  };
  template <typename T>
  bool resolve(const std::vector<EncodedEntry>& entries, std::vector<Slot<T>>& slots,
               uint64_t index, T& result);

  const Container& file_;
  mlir::MLIRContext* context_;
  ErrorSink& sink_;
  std::vector<Slot<mlir::Attribute>> attributes_;
  std::vector<Slot<mlir::Type>> types_;
  // Adds the cost of an entry to that of the one that is being decoded, or to the program's.
  bool charge(const GraphCost& cost, bool isLocation);

  int depth_ = 0;
  GraphCost* current_ = nullptr;  // of the entry that is being decoded
  int64_t total_ = 0;             // of the uses by operations
};

// The bytes of one entry, or of one operation's properties. Also what MLIR's generated readers of
// properties read from.
class DecodeStream final : public mlir::DialectBytecodeReader {
 public:
  DecodeStream(llvm::ArrayRef<uint8_t> bytes, AttributeDecoder& decoder)
      : cursor_(bytes, decoder.file().base, decoder.sink()), decoder_(decoder) {}

  Cursor& cursor() { return cursor_; }
  AttributeDecoder& decoder() { return decoder_; }

  // Reads of what decoders need; false with the error in the sink.
  template <typename T>
  bool attribute(T& result) {
    uint64_t index;
    return cursor_.varInt(index) && decoder_.attribute(index, result);
  }
  // Leaves `result` null if the entry has none.
  template <typename T>
  bool optionalAttribute(T& result) {
    uint64_t index;
    bool present;
    if (!cursor_.varIntWithFlag(index, present)) return false;
    return !present || decoder_.attribute(index, result);
  }
  bool type(mlir::Type& result) {
    uint64_t index;
    return cursor_.varInt(index) && decoder_.type(index, result);
  }
  bool string(llvm::StringRef& result);
  bool blob(llvm::ArrayRef<char>& result);
  template <typename T, typename ReadElement>
  bool list(llvm::SmallVectorImpl<T>& result, ReadElement readElement) {
    uint64_t count;
    if (!cursor_.count(count)) return false;
    result.reserve(count);
    for (uint64_t i = 0; i < count; ++i) {
      T element{};
      if (!readElement(element)) return false;
      result.push_back(std::move(element));
    }
    return true;
  }
  template <typename T>
  bool attributes(llvm::SmallVectorImpl<T>& result) {
    return list(result, [this](T& element) { return attribute(element); });
  }
  bool types(llvm::SmallVectorImpl<mlir::Type>& result) {
    return list(result, [this](mlir::Type& element) { return type(element); });
  }
  bool signedVarInts(llvm::SmallVectorImpl<int64_t>& result) {
    return list(result, [this](int64_t& element) { return cursor_.signedVarInt(element); });
  }
  // `width` is at most 64.
  bool apInt(unsigned width, llvm::APInt& result);
  bool apFloat(const llvm::fltSemantics& semantics, llvm::APFloat& result);

  // MLIR's interface to the same.
  mlir::InFlightDiagnostic emitError(const llvm::Twine& message) const override {
    return mlir::emitError(decoder_.location(), message);
  }
  llvm::FailureOr<const mlir::DialectVersion*> getDialectVersion(llvm::StringRef) const override {
    return mlir::failure();
  }
  mlir::MLIRContext* getContext() const override { return decoder_.context(); }
  uint64_t getBytecodeVersion() const override { return decoder_.file().version; }
  llvm::LogicalResult readAttribute(mlir::Attribute& result) override {
    return mlir::success(attribute(result));
  }
  llvm::LogicalResult readOptionalAttribute(mlir::Attribute& result) override {
    return mlir::success(optionalAttribute(result));
  }
  llvm::LogicalResult readType(mlir::Type& result) override { return mlir::success(type(result)); }
  llvm::LogicalResult readVarInt(uint64_t& result) override {
    return mlir::success(cursor_.varInt(result));
  }
  llvm::LogicalResult readSignedVarInt(int64_t& result) override {
    return mlir::success(cursor_.signedVarInt(result));
  }
  llvm::FailureOr<llvm::APInt> readAPIntWithKnownWidth(unsigned width) override;
  llvm::FailureOr<llvm::APFloat> readAPFloatWithKnownSemantics(
      const llvm::fltSemantics& semantics) override;
  llvm::LogicalResult readString(llvm::StringRef& result) override {
    return mlir::success(string(result));
  }
  llvm::LogicalResult readBlob(llvm::ArrayRef<char>& result) override {
    return mlir::success(blob(result));
  }
  llvm::LogicalResult readBool(bool& result) override;

 private:
  llvm::FailureOr<mlir::AsmDialectResourceHandle> readResourceHandle() override {
    return mlir::failure();
  }

  Cursor cursor_;
  AttributeDecoder& decoder_;
};

// An enumeration's value is its number on the wire.
template <typename Attr, typename Symbolize>
mlir::Attribute decodeEnum(DecodeStream& in, Symbolize symbolize) {
  uint64_t value;
  if (!in.cursor().varInt(value)) return {};
  const auto symbol =
      value > UINT32_MAX ? decltype(symbolize(0))() : symbolize(static_cast<uint32_t>(value));
  if (!symbol) return in.cursor().fail("has an enumeration with an unknown value"), nullptr;
  return Attr::get(in.getContext(), *symbol);
}

// For MLIR's getChecked: reports at the location of what is read.
inline auto reportAt(DecodeStream& in) {
  return [&in] { return mlir::emitError(in.decoder().location()); };
}

// Attributes that StableHLO and VHLO write alike, behind different codes. Null as below.
mlir::Attribute decodeComparisonDirection(DecodeStream& in);
mlir::Attribute decodeComparisonType(DecodeStream& in);
mlir::Attribute decodeFftType(DecodeStream& in);
mlir::Attribute decodePrecision(DecodeStream& in);
mlir::Attribute decodeRngAlgorithm(DecodeStream& in);
mlir::Attribute decodeRngDistribution(DecodeStream& in);
mlir::Attribute decodeTranspose(DecodeStream& in);
mlir::Attribute decodeResultAccuracyMode(DecodeStream& in);
mlir::Attribute decodeOutputOperandAlias(DecodeStream& in);
mlir::Attribute decodeResultAccuracy(DecodeStream& in);
mlir::Attribute decodeTypeExtensions(DecodeStream& in);

// What the builtin dialect and VHLO write alike, behind different codes. Null as below.
mlir::Attribute decodeArray(DecodeStream& in);
mlir::Attribute decodeDictionary(DecodeStream& in);
mlir::Attribute decodeTypeAttribute(DecodeStream& in);
// Of raw bytes, which are copied once.
mlir::Attribute decodeDenseElements(DecodeStream& in);
mlir::Attribute decodeInteger(DecodeStream& in);
mlir::Attribute decodeFloat(DecodeStream& in);
mlir::Type decodeComplexType(DecodeStream& in);
mlir::Type decodeFunctionType(DecodeStream& in);
mlir::Type decodeTensorType(DecodeStream& in, bool hasEncoding);
mlir::Type decodeTupleType(DecodeStream& in);
mlir::Type decodeUnrankedTensorType(DecodeStream& in);

// False, with the error in the sink: nothing is known that a dialect writes behind this code.
// `what` is such as "a vhlo type".
bool failUnknownCode(DecodeStream& in, std::string_view what, uint64_t code);

// The encodings of each dialect. Null with the error in the sink, or in a diagnostic.
mlir::Attribute decodeBuiltinAttribute(DecodeStream& in);
mlir::Type decodeBuiltinType(DecodeStream& in);
mlir::Attribute decodeVhloAttribute(DecodeStream& in);
mlir::Type decodeVhloType(DecodeStream& in);
// StableHLO's own, without versions: types of operands and results of operations that have no
// versioned form, as Shardy's, and whole programs that never left their process.
mlir::Attribute decodeStablehloAttribute(DecodeStream& in);
mlir::Type decodeStablehloType(DecodeStream& in);
mlir::Attribute decodeSdyAttribute(DecodeStream& in);

// False if a dimension is negative, if the elements' count or the bytes that they take need more
// than 62 bits, or if there are more than a thousand dimensions.
bool isReasonableShape(llvm::ArrayRef<int64_t> shape);

// A tensor type, if its element count and byte size fit in 62 bits; otherwise null.
mlir::Type makeTensorType(DecodeStream& in, llvm::ArrayRef<int64_t> shape, mlir::Type elementType,
                          mlir::Attribute encoding);

}  // namespace isthmus::importer

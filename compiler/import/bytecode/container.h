// The tables of an MLIR bytecode file: strings, dialects, operation names, and where each
// attribute, type and property list lies. Reads structure only; nothing is decoded.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/import/bytecode/cursor.h"

namespace isthmus::importer {

// Format versions at which the encoding changed.
enum BytecodeVersion : uint64_t {
  kDialectVersions = 1,
  kIsolatedRegionSections = 2,
  kUseListOrders = 3,
  kOptionalArgumentLocations = 4,
  kProperties = 5,
  kNewestBytecodeVersion = 6,
};

enum SectionKind : uint8_t {
  kStringSection = 0,
  kDialectSection = 1,
  kAttributeTypeSection = 2,
  kAttributeTypeOffsetSection = 3,
  kIrSection = 4,
  kResourceSection = 5,
  kResourceOffsetSection = 6,
  kDialectVersionSection = 7,
  kPropertiesSection = 8,
  kNumSections = 9,
};

// An attribute or a type that is not decoded yet.
struct EncodedEntry {
  llvm::StringRef dialect;
  llvm::ArrayRef<uint8_t> bytes;
  bool isText = false;  // the assembly format, null-terminated, and not a dialect's own encoding
};

struct EncodedOpName {
  llvm::StringRef dialect;
  llvm::StringRef name;       // without the dialect
  bool wasRegistered = true;  // false: properties are one attribute (from kProperties on)
};

struct Container {
  uint64_t version = 0;
  llvm::StringRef producer;  // "StableHLO_v1.17.0" in a portable artifact
  std::vector<llvm::StringRef> strings;
  std::vector<EncodedOpName> opNames;
  std::vector<EncodedEntry> attributes;
  std::vector<EncodedEntry> types;
  std::vector<llvm::ArrayRef<uint8_t>> properties;
  llvm::ArrayRef<uint8_t> ir;
  const uint8_t* base = nullptr;
};

// True if the bytes start as bytecode does.
bool isBytecode(llvm::StringRef code);

// Reads the tables. They refer to `code`. False with the error in the sink if anything is out of
// range; memory stays within a small multiple of the size of `code`.
bool readContainer(llvm::StringRef code, Container& container, ErrorSink& sink);

}  // namespace isthmus::importer

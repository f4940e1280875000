// The tables of an MLIR bytecode file: strings, dialects, operation names, and where each
// attribute, type and property list lies. Reads structure only; nothing is decoded.
#include "compiler/import/bytecode/container.h"

#include <array>
#include <optional>

namespace isthmus::importer {
namespace {

constexpr llvm::StringLiteral kMagic("ML\xefR");

using Bytes = llvm::ArrayRef<uint8_t>;
using Sections = std::array<std::optional<Bytes>, kNumSections>;

bool readSections(Cursor& cursor, uint64_t version, Sections& sections) {
  while (!cursor.atEnd()) {
    uint8_t kind;
    Bytes contents;
    if (!cursor.section(kind, contents)) return false;
    if (kind >= kNumSections) return cursor.fail("has a section of an unknown kind");
    if (sections[kind]) return cursor.fail("has the same section twice");
    sections[kind] = contents;
  }
  for (uint8_t kind : {kStringSection, kDialectSection, kAttributeTypeSection,
                       kAttributeTypeOffsetSection, kIrSection}) {
    if (!sections[kind]) return cursor.fail("lacks a section");
  }
  if (version >= kProperties && !sections[kPropertiesSection]) {
    return cursor.fail("lacks the section of properties");
  }
  return true;
}

// The lengths come first, in reverse order, then the characters of all strings.
bool readStrings(Cursor cursor, Bytes section, std::vector<llvm::StringRef>& strings) {
  uint64_t count;
  if (!cursor.count(count)) return false;
  strings.resize(count);
  uint64_t end = section.size();
  for (uint64_t i = count; i-- > 0;) {
    uint64_t length;
    if (!cursor.varInt(length)) return false;
    if (length == 0 || length > end) return cursor.fail("has a string of a wrong length");
    end -= length;
    strings[i] = llvm::StringRef(reinterpret_cast<const char*>(section.data()) + end, length - 1);
  }
  if (cursor.remaining() != section.size() - end) {
    return cursor.fail("has bytes between the lengths of the strings and the strings");
  }
  return true;
}

bool stringAt(const Cursor& cursor, const std::vector<llvm::StringRef>& strings, uint64_t index,
              llvm::StringRef& string) {
  if (index >= strings.size()) return cursor.fail("refers to a string that does not exist");
  string = strings[index];
  return true;
}

// A group is a dialect, a count and that many entries.
template <typename ReadEntry>
bool readGroup(Cursor& cursor, const std::vector<llvm::StringRef>& dialects, ReadEntry readEntry) {
  uint64_t dialect, count;
  if (!cursor.varInt(dialect) || !cursor.count(count)) return false;
  if (dialect >= dialects.size()) return cursor.fail("refers to a dialect that does not exist");
  // Zero entries would let a short file loop for long in a caller that waits for a number of them.
  if (count == 0) return cursor.fail("has an empty group");
  for (uint64_t i = 0; i < count; ++i) {
    if (!readEntry(dialects[dialect])) return false;
  }
  return true;
}

bool readDialects(Cursor cursor, Container& file, std::vector<llvm::StringRef>& dialects) {
  uint64_t count;
  if (!cursor.count(count)) return false;
  dialects.resize(count);
  for (llvm::StringRef& dialect : dialects) {
    uint64_t name;
    bool hasVersion = false;
    if (file.version < kDialectVersions ? !cursor.varInt(name)
                                        : !cursor.varIntWithFlag(name, hasVersion)) {
      return false;
    }
    if (!stringAt(cursor, file.strings, name, dialect)) return false;
    if (hasVersion) {
      // Every encoding of the dialects that we decode tells its version in its own codes.
      uint8_t kind;
      Bytes contents;
      if (!cursor.section(kind, contents)) return false;
      if (kind != kDialectVersionSection) return cursor.fail("lacks a dialect's version");
    }
  }
  if (file.version >= kOptionalArgumentLocations) {
    uint64_t numOps;
    if (!cursor.count(numOps)) return false;
    file.opNames.reserve(numOps);
  }
  while (!cursor.atEnd()) {
    auto readName = [&](llvm::StringRef dialect) {
      EncodedOpName op;
      op.dialect = dialect;
      uint64_t name;
      if (file.version < kProperties ? !cursor.varInt(name)
                                     : !cursor.varIntWithFlag(name, op.wasRegistered)) {
        return false;
      }
      if (!stringAt(cursor, file.strings, name, op.name)) return false;
      file.opNames.push_back(op);
      return true;
    };
    if (!readGroup(cursor, dialects, readName)) return false;
  }
  return true;
}

bool readEntries(Cursor cursor, Bytes data, const std::vector<llvm::StringRef>& dialects,
                 Container& file) {
  uint64_t numAttributes, numTypes;
  if (!cursor.count(numAttributes) || !cursor.count(numTypes)) return false;
  uint64_t offset = 0;
  auto readTable = [&](uint64_t count, std::vector<EncodedEntry>& entries) {
    entries.reserve(count);
    while (entries.size() < count) {
      auto readEntry = [&](llvm::StringRef dialect) {
        uint64_t size;
        bool isCustom;
        if (!cursor.varIntWithFlag(size, isCustom)) return false;
        if (entries.size() == count) return cursor.fail("has more entries than it says");
        if (size > data.size() - offset) return cursor.fail("has an entry that is too long");
        entries.push_back({dialect, data.slice(offset, size), !isCustom});
        offset += size;
        return true;
      };
      if (!readGroup(cursor, dialects, readEntry)) return false;
    }
    return true;
  };
  if (!readTable(numAttributes, file.attributes) || !readTable(numTypes, file.types)) return false;
  if (!cursor.atEnd()) return cursor.fail("has bytes after the table of attributes and types");
  return true;
}

bool readProperties(Cursor cursor, Container& file) {
  if (cursor.atEnd()) return true;
  uint64_t count;
  if (!cursor.count(count)) return false;
  file.properties.resize(count);
  for (Bytes& properties : file.properties) {
    uint64_t size;
    if (!cursor.varInt(size) || !cursor.bytes(size, properties)) return false;
  }
  if (!cursor.atEnd()) return cursor.fail("has bytes after the properties");
  return true;
}

}  // namespace

bool isBytecode(llvm::StringRef code) { return code.starts_with(kMagic); }

bool readContainer(llvm::StringRef code, Container& file, ErrorSink& sink) {
  const auto* base = reinterpret_cast<const uint8_t*>(code.data());
  file.base = base;
  Cursor cursor(Bytes(base, code.size()).drop_front(kMagic.size()), base, sink);
  if (!cursor.varInt(file.version)) return false;
  if (file.version > kNewestBytecodeVersion) {
    return sink.fail(StatusCode::kInvalidArgument,
                     internal::concatenate("program bytecode has format version ", file.version,
                                           ", newer than ", uint64_t{kNewestBytecodeVersion}));
  }
  if (!cursor.nullTerminated(file.producer)) return false;
  Sections sections;
  if (!readSections(cursor, file.version, sections)) return false;
  if (sections[kResourceSection] && !sections[kResourceSection]->empty()) {
    return sink.fail(StatusCode::kUnimplemented, "program bytecode has a section of resources");
  }
  auto in = [&](SectionKind kind) { return Cursor(*sections[kind], base, sink); };
  std::vector<llvm::StringRef> dialects;
  if (!readStrings(in(kStringSection), *sections[kStringSection], file.strings) ||
      !readDialects(in(kDialectSection), file, dialects) ||
      !readEntries(in(kAttributeTypeOffsetSection), *sections[kAttributeTypeSection], dialects,
                   file)) {
    return false;
  }
  if (sections[kPropertiesSection] && !readProperties(in(kPropertiesSection), file)) return false;
  file.ir = *sections[kIrSection];
  return true;
}

}  // namespace isthmus::importer

#include "compiler/import/bytecode/container.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace isthmus::importer {
namespace {

using Bytes = std::vector<uint8_t>;

bool readVarInt(const Bytes& bytes, uint64_t& value, size_t& left) {
  ErrorSink sink;
  Cursor cursor(bytes, bytes.data(), sink);
  const bool isRead = cursor.varInt(value);
  left = cursor.remaining();
  EXPECT_EQ(isRead, !sink.failed());
  return isRead;
}

// The examples are worked out by hand from the format's description: the number of low zero bits of
// the first byte is the number of bytes that follow.
TEST(CursorTest, ReadsVarIntsOfEveryLength) {
  struct Case {
    Bytes bytes;
    uint64_t value;
  };
  const Case cases[] = {
      {{0x01}, 0},
      {{0xff}, 127},
      {{0x02, 0x02}, 128},
      {{0xfe, 0xff}, (1 << 14) - 1},
      {{0x04, 0x00, 0x02}, 1 << 14},
      {{0x08, 0x00, 0x00, 0x02}, 1 << 21},
      {{0x40, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02}, uint64_t{1} << 42},
      {{0x80, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x80}, (uint64_t{1} << 55) + 1},
      {{0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, UINT64_MAX},
  };
  for (const Case& c : cases) {
    uint64_t value = 0;
    size_t left = 99;
    ASSERT_TRUE(readVarInt(c.bytes, value, left));
    EXPECT_EQ(value, c.value);
    EXPECT_EQ(left, 0u);
    Bytes shorter = c.bytes;
    shorter.pop_back();
    EXPECT_FALSE(readVarInt(shorter, value, left));
  }
}

TEST(CursorTest, ReadsSignedVarInts) {
  // Zigzag: 0, -1, 1, -2, …
  const Bytes bytes = {0x01, 0x03, 0x05, 0x07};
  ErrorSink sink;
  Cursor cursor(bytes, bytes.data(), sink);
  for (int64_t expected : {0, -1, 1, -2}) {
    int64_t value;
    ASSERT_TRUE(cursor.signedVarInt(value));
    EXPECT_EQ(value, expected);
  }
}

TEST(CursorTest, RefusesCountsThatCannotBe) {
  const Bytes bytes = {0x09, 0x01, 0x01};  // 4 things in 2 bytes
  ErrorSink sink;
  Cursor cursor(bytes, bytes.data(), sink);
  uint64_t count;
  EXPECT_FALSE(cursor.count(count));
  EXPECT_EQ(sink.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(sink.status().message()), testing::HasSubstr("byte 1"));
}

// Sections follow the header; each is a kind, a length and that many bytes.
Bytes fileOf(const std::vector<std::pair<uint8_t, Bytes>>& sections) {
  Bytes file = {'M', 'L', 0xef, 'R', 0x0d, 't', 0};  // format version 6, producer "t"
  for (const auto& [kind, contents] : sections) {
    file.push_back(kind);
    file.push_back(contents.size() * 2 + 1);
    file.insert(file.end(), contents.begin(), contents.end());
  }
  return file;
}

std::vector<std::pair<uint8_t, Bytes>> smallFile() {
  return {
      // Two strings, "b" and "op", with their ends; lengths in reverse order.
      {kStringSection, {0x05, 0x07, 0x05, 'b', 0, 'o', 'p', 0}},
      // One dialect, "b"; one operation, "b.op", registered.
      {kDialectSection, {0x03, 0x01, 0x03, 0x01, 0x03, 0x07}},
      {kAttributeTypeSection, {0x55, 0x66, 0x77}},
      // One attribute of two bytes and one type of one byte, as text, both of dialect 0.
      {kAttributeTypeOffsetSection, {0x03, 0x03, 0x01, 0x03, 0x0b, 0x01, 0x03, 0x05}},
      {kIrSection, {0x01}},
      // One list of properties, of one byte.
      {kPropertiesSection, {0x03, 0x03, 0x42}},
  };
}

StatusOr<Container> read(const Bytes& bytes) {
  Container file;
  ErrorSink sink;
  const llvm::StringRef code(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!readContainer(code, file, sink)) return sink.status();
  return file;
}

TEST(ContainerTest, ReadsTheTables) {
  const Bytes bytes = fileOf(smallFile());
  StatusOr<Container> file = read(bytes);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->version, 6u);
  EXPECT_EQ(file->producer.str(), "t");
  ASSERT_EQ(file->strings.size(), 2u);
  EXPECT_EQ(file->strings[1].str(), "op");
  ASSERT_EQ(file->opNames.size(), 1u);
  EXPECT_EQ(file->opNames[0].dialect.str(), "b");
  EXPECT_EQ(file->opNames[0].name.str(), "op");
  EXPECT_TRUE(file->opNames[0].wasRegistered);
  ASSERT_EQ(file->attributes.size(), 1u);
  EXPECT_EQ(file->attributes[0].bytes, llvm::ArrayRef<uint8_t>({0x55, 0x66}));
  EXPECT_FALSE(file->attributes[0].isText);
  ASSERT_EQ(file->types.size(), 1u);
  EXPECT_EQ(file->types[0].bytes, llvm::ArrayRef<uint8_t>({0x77}));
  EXPECT_TRUE(file->types[0].isText);
  ASSERT_EQ(file->properties.size(), 1u);
  EXPECT_EQ(file->properties[0], llvm::ArrayRef<uint8_t>({0x42}));
}

TEST(ContainerTest, EveryPrefixIsAnError) {
  const Bytes bytes = fileOf(smallFile());
  for (size_t size = 4; size < bytes.size(); ++size) {
    EXPECT_FALSE(read(Bytes(bytes.begin(), bytes.begin() + size)).ok()) << size;
  }
}

TEST(ContainerTest, RefusesWhatIsOutOfRange) {
  struct Case {
    const char* what;
    size_t section;
    size_t byte;
    uint8_t value;
  };
  const Case cases[] = {
      {"more strings than bytes", 0, 0, 0xff},
      {"a string longer than the rest", 0, 1, 0x21},
      {"a string without an end", 0, 1, 0x01},
      {"a dialect whose name does not exist", 1, 1, 0x15},
      {"an operation of a dialect that does not exist", 1, 3, 0x05},
      {"an operation whose name does not exist", 1, 5, 0x13},
      {"an attribute longer than the section", 3, 4, 0x13},
      {"more attributes than there are", 3, 0, 0x05},
      {"an empty group", 3, 3, 0x01},
      {"properties longer than the section", 5, 1, 0x07},
  };
  for (const Case& c : cases) {
    auto sections = smallFile();
    sections[c.section].second[c.byte] = c.value;
    EXPECT_FALSE(read(fileOf(sections)).ok()) << c.what;
  }
}

TEST(ContainerTest, RefusesMissingDoubleAndUnknownSections) {
  for (size_t i = 0; i < smallFile().size(); ++i) {
    auto sections = smallFile();
    sections.erase(sections.begin() + i);
    EXPECT_FALSE(read(fileOf(sections)).ok()) << "without section " << i;
    sections = smallFile();
    sections.push_back(sections[i]);
    EXPECT_FALSE(read(fileOf(sections)).ok()) << "with section " << i << " twice";
  }
  auto sections = smallFile();
  sections.push_back({kNumSections, {}});
  EXPECT_FALSE(read(fileOf(sections)).ok());
}

TEST(ContainerTest, RefusesNewerFormats) {
  Bytes bytes = fileOf(smallFile());
  bytes[4] = 0x0f;  // format version 7
  StatusOr<Container> file = read(bytes);
  ASSERT_FALSE(file.ok());
  EXPECT_THAT(std::string(file.status().message()), testing::HasSubstr("format version 7"));
}

}  // namespace
}  // namespace isthmus::importer

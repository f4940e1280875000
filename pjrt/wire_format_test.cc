// Wire format: hand-made bytes, after the encoding's public description.
#include "isthmus/wire_format.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace isthmus::wire {
namespace {

using namespace std::string_literals;

TEST(WireFormat, ReadsEveryType) {
  // 1: varint 300; 2: fixed64 of 1.5; 3: "ab"; 4: fixed32 7.
  std::string input =
      "\x08\xac\x02\x11\x00\x00\x00\x00\x00\x00\xf8\x3f\x1a\x02"s + "ab" + "\x25\x07\x00\x00\x00"s;
  Reader reader(input);
  Field field;
  ASSERT_TRUE(reader.next(field));
  EXPECT_EQ(field.number, 1u);
  EXPECT_EQ(field.asInt64(), 300);
  ASSERT_TRUE(reader.next(field));
  EXPECT_EQ(field.type, WireType::kFixed64);
  EXPECT_EQ(field.asDouble(), 1.5);
  ASSERT_TRUE(reader.next(field));
  EXPECT_EQ(field.bytes, "ab");
  ASSERT_TRUE(reader.next(field));
  EXPECT_EQ(field.number, 4u);
  EXPECT_EQ(field.bits, 7u);
  EXPECT_FALSE(reader.next(field));
  EXPECT_TRUE(reader.ok());
}

TEST(WireFormat, ReadsNegativeIntegers) {
  Reader reader("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  Field field;
  ASSERT_TRUE(reader.next(field));
  EXPECT_EQ(field.asInt64(), -1);
  EXPECT_EQ(field.asInt32(), -1);
}

TEST(WireFormat, RefusesMalformedInput) {
  for (const std::string& input : {
           "\x08"s,                                              // no value
           "\x08\x80"s,                                          // cut in a varint
           "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"s,      // more than 64 bits
           "\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"s,  // eleven bytes
           "\x0a\x05xy"s,                                        // length beyond the end
           "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s,      // length of 2^64 - 1
           "\x00\x00"s,                                          // field 0
           "\x0b"s,
           "\x0c"s,
           "\x0e"s,
           "\x0f"s,  // groups, unknown types
           "\x09\x00"s,
           "\x0d\x00"s,  // cut in fixed64, fixed32
       }) {
    Reader reader(input);
    Field field;
    while (reader.next(field)) {
    }
    EXPECT_FALSE(reader.ok()) << testing::PrintToString(input);
  }
}

TEST(WireFormat, ReadsRepeatedIntegersPackedOrNot) {
  std::vector<uint64_t> values;
  Reader reader("\x0a\x03\x01\xac\x02\x08\x05");
  for (Field field; reader.next(field);) {
    EXPECT_TRUE(forEachVarint(field, [&](uint64_t value) { values.push_back(value); }));
  }
  EXPECT_EQ(values, (std::vector<uint64_t>{1, 300, 5}));
  Reader bad("\x0a\x02\x01\x80");
  Field field;
  ASSERT_TRUE(bad.next(field));
  EXPECT_FALSE(forEachVarint(field, [](uint64_t) {}));
}

TEST(WireFormat, WritesWhatTheDescriptionSays) {
  Writer writer;
  writer.varint(1, 300);
  writer.bytes(2, "ab");
  writer.packed(3, std::vector<int>{1, 300});
  writer.packed(4, std::vector<int>{});
  writer.real(5, 1.5);
  EXPECT_EQ(writer.str(), "\x08\xac\x02\x12\x02"s + "ab" + "\x1a\x03\x01\xac\x02"s +
                              "\x29\x00\x00\x00\x00\x00\x00\xf8\x3f"s);
}

}  // namespace
}  // namespace isthmus::wire

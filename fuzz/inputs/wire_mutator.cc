// Reads a message as a tree of fields without knowing its type, changes a few nodes, writes it.
#include "fuzz/inputs/wire_mutator.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t maxSize);

namespace isthmus::fuzz {
namespace {

using Random = std::mt19937;

enum Wire : uint64_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };
constexpr int kMaxDepth = 24;
constexpr uint64_t kEdges[] = {0,          1,          2,
                               3,          127,        255,
                               1u << 20,   1u << 31,   0xffffffffu,
                               1ull << 40, 1ull << 62, 0x7fffffffffffffffull,
                               1ull << 63, ~0ull,      static_cast<uint64_t>(-2)};

struct Field {
  uint64_t number = 1;
  Wire wire = kVarint;
  uint64_t value = 0;        // of numbers
  std::string bytes;         // of kBytes without structure
  std::vector<Field> parts;  // of kBytes with it
  bool isMessage = false;
};
using Message = std::vector<Field>;

bool readVarint(std::string_view& in, uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 64 && !in.empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(in[0]);
    in.remove_prefix(1);
    value |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

void writeVarint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

std::optional<Message> read(std::string_view in, int depth) {
  Message message;
  while (!in.empty()) {
    uint64_t tag, length;
    Field field;
    if (!readVarint(in, tag) || tag >> 3 == 0 || tag >> 3 > 4096) return {};
    field.number = tag >> 3;
    field.wire = static_cast<Wire>(tag & 7);
    if (field.wire == kVarint) {
      if (!readVarint(in, field.value)) return {};
    } else if (field.wire == kFixed64 || field.wire == kFixed32) {
      const size_t size = field.wire == kFixed64 ? 8 : 4;
      if (in.size() < size) return {};
      std::memcpy(&field.value, in.data(), size);
      in.remove_prefix(size);
    } else if (field.wire == kBytes) {
      if (!readVarint(in, length) || length > in.size()) return {};
      const std::string_view content = in.substr(0, length);
      in.remove_prefix(length);
      if (auto parts = depth < kMaxDepth && length > 1 ? read(content, depth + 1) : std::nullopt) {
        field.isMessage = true;
        field.parts = std::move(*parts);
      } else {
        field.bytes = content;
      }
    } else {
      return {};
    }
    message.push_back(std::move(field));
  }
  return message;
}

void write(std::string& out, const Message& message) {
  for (const Field& field : message) {
    writeVarint(out, field.number << 3 | field.wire);
    if (field.wire == kVarint) {
      writeVarint(out, field.value);
    } else if (field.wire == kBytes) {
      std::string content = field.bytes;
      if (field.isMessage) {
        content.clear();
        write(content, field.parts);
      }
      writeVarint(out, content.size());
      out += content;
    } else {
      out.append(reinterpret_cast<const char*>(&field.value), field.wire == kFixed64 ? 8 : 4);
    }
  }
}

void collect(Message& message, std::vector<Message*>& all) {
  all.push_back(&message);
  for (Field& field : message) {
    if (field.isMessage) collect(field.parts, all);
  }
}

void mutateBytes(std::string& bytes) {
  const size_t size = bytes.size();
  bytes.resize(size + 16);
  bytes.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(bytes.data()), size, bytes.size()));
}

void mutateField(Field& field, Random& random) {
  if (field.wire != kBytes) {
    switch (random() % 3) {
      case 0:
        field.value = kEdges[random() % std::size(kEdges)];
        break;
      case 1:
        field.value += random() % 7 - 3;
        break;
      default:
        field.value = random() % 64;
    }
  } else if (!field.isMessage) {
    mutateBytes(field.bytes);
  } else {
    field.isMessage = false;
    field.bytes.clear();
    if (random() % 2) write(field.bytes, field.parts);
    mutateBytes(field.bytes);
  }
}

// One change somewhere in the tree, below `root`.
void mutateTree(Message& root, Random& random) {
  std::vector<Message*> all;
  collect(root, all);
  Message& message = *all[random() % all.size()];
  const unsigned kind = random() % 8;
  if (message.empty() || kind == 0) {
    message.push_back(
        {random() % 40 + 1, kVarint, kEdges[random() % std::size(kEdges)], {}, {}, false});
    return;
  }
  const size_t at = random() % message.size();
  switch (kind) {
    case 1:
      message.erase(message.begin() + at);
      break;
    case 2:
      message.insert(message.begin() + at, Field(message[at]));
      break;
    case 3:
      std::swap(message[at], message[random() % message.size()]);
      break;
    case 4: {  // a field of elsewhere, which may make a message contain its own kind
      const Message& other = *all[random() % all.size()];
      if (!other.empty()) {
        Field copy = other[random() % other.size()];
        if (random() % 2) copy.number = message[at].number;
        message[at] = std::move(copy);
      }
      break;
    }
    case 5: {  // the same field many times
      const Field copy = message[at];
      for (unsigned count = random() % 64; count > 0; --count) message.push_back(copy);
      break;
    }
    default:
      mutateField(message[at], random);
  }
}

}  // namespace

size_t mutateMessage(uint8_t* data, size_t size, size_t maxSize, unsigned seed) {
  Random random(seed);
  auto message = read({reinterpret_cast<const char*>(data), size}, 0);
  if (!message || random() % 32 == 0) return LLVMFuzzerMutate(data, size, maxSize);
  for (unsigned changes = 1 + random() % 3; changes > 0; --changes) mutateTree(*message, random);
  std::string bytes;
  write(bytes, *message);
  const size_t newSize = std::min(bytes.size(), maxSize);
  std::memcpy(data, bytes.data(), newSize);
  return newSize;
}

}  // namespace isthmus::fuzz

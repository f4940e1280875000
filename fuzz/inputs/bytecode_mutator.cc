// Finds the sections of a bytecode file, changes one, and writes the lengths anew.
#include "fuzz/inputs/bytecode_mutator.h"

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

constexpr uint8_t kHasAlignment = 0x80;
constexpr char kPadding = '\xcb';

struct Section {
  uint8_t kind = 0;  // with kHasAlignment
  uint64_t alignment = 1;
  std::string content;
};

struct File {
  std::string head;  // magic, version, producer
  std::vector<Section> sections;
};

// MLIR's variable-length integers: the number of trailing zeros of the first byte is that of the
// bytes which follow; all zeros mean that eight follow.
bool readVarint(std::string_view in, size_t& at, uint64_t& value) {
  if (at >= in.size()) return false;
  const auto first = static_cast<uint8_t>(in[at]);
  const size_t more = first == 0 ? 8 : __builtin_ctz(first);
  if (in.size() - at < more + 1) return false;
  value = 0;
  if (first == 0) {
    std::memcpy(&value, in.data() + at + 1, 8);
  } else {
    std::memcpy(&value, in.data() + at, std::min<size_t>(more + 1, 8));
    value >>= more + 1;
  }
  at += more + 1;
  return true;
}

void writeVarint(std::string& out, uint64_t value) {
  size_t bytes = 1;
  while (bytes < 9 && value >> (7 * bytes) != 0) ++bytes;
  if (bytes == 9) {
    out += '\0';
    out.append(reinterpret_cast<const char*>(&value), 8);
    return;
  }
  const uint64_t encoded = (value << 1 | 1) << (bytes - 1);
  out.append(reinterpret_cast<const char*>(&encoded), bytes);
}

std::optional<File> read(std::string_view in) {
  size_t at = 4;
  uint64_t version, length;
  if (!in.starts_with("ML\xefR") || !readVarint(in, at, version)) return {};
  const size_t end = in.find('\0', at);
  if (end == in.npos) return {};
  File file{std::string(in.substr(0, end + 1)), {}};
  for (at = end + 1; at < in.size();) {
    Section section;
    section.kind = in[at++];
    if (!readVarint(in, at, length)) return {};
    if (section.kind & kHasAlignment) {
      if (!readVarint(in, at, section.alignment) || section.alignment == 0) return {};
      while (at < in.size() && at % section.alignment != 0) ++at;
    }
    if (at > in.size() || length > in.size() - at) return {};
    section.content = in.substr(at, length);
    at += length;
    file.sections.push_back(std::move(section));
  }
  return file;
}

std::string write(const File& file) {
  std::string out = file.head;
  for (const Section& section : file.sections) {
    out += static_cast<char>(section.kind);
    writeVarint(out, section.content.size());
    if (section.kind & kHasAlignment) {
      writeVarint(out, section.alignment);
      while (out.size() % section.alignment != 0 && section.alignment <= 4096) out += kPadding;
    }
    out += section.content;
  }
  return out;
}

// A number of the same length, so that what follows stays where it is.
void replaceVarint(std::string& content, size_t at, Random& random) {
  const auto first = static_cast<uint8_t>(content[at]);
  const size_t bytes =
      std::min<size_t>(first == 0 ? 9 : __builtin_ctz(first) + 1, content.size() - at);
  if (bytes == 1) {
    content[at] = static_cast<char>((random() % 128) << 1 | 1);
    return;
  }
  const unsigned kind = random() % 4;
  for (size_t i = 1; i < bytes; ++i) {
    content[at + i] = kind == 0   ? '\0'
                      : kind == 1 ? '\xff'
                      : kind == 2 ? content[at + i]
                                  : random();
  }
  if (kind == 2) content[at + 1 + random() % (bytes - 1)] ^= 1 << random() % 8;
}

void mutate(File& file, Random& random) {
  std::string& content = file.sections[random() % file.sections.size()].content;
  if (content.empty()) return;
  const size_t at = random() % content.size();
  switch (random() % 8) {
    case 0: {  // any change of libFuzzer's, which may alter the length
      const size_t size = content.size();
      content.resize(size + 16);
      content.resize(
          LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(content.data()), size, content.size()));
      break;
    }
    case 1:  // an index becomes a neighbour: cycles, forward references, other kinds
      content[at] = static_cast<char>(content[at] + 2 * static_cast<int>(random() % 9) - 8);
      break;
    case 2: {  // a piece of it over another one
      const size_t from = random() % content.size();
      const size_t length =
          std::min({size_t{1} + random() % 32, content.size() - from, content.size() - at});
      std::memmove(content.data() + at, content.data() + from, length);
      break;
    }
    case 3:
      content.insert(at, content.substr(random() % content.size(), 1 + random() % 64));
      break;
    case 4:
      content.erase(at, 1 + random() % 8);
      break;
    default:
      replaceVarint(content, at, random);
  }
}

}  // namespace

size_t mutateBytecode(uint8_t* data, size_t size, size_t maxSize, unsigned seed) {
  Random random(seed);
  auto file = read({reinterpret_cast<const char*>(data), size});
  if (!file || file->sections.empty() || random() % 32 == 0) {
    return LLVMFuzzerMutate(data, size, maxSize);
  }
  for (unsigned changes = 1 + random() % 4; changes > 0; --changes) mutate(*file, random);
  const std::string bytes = write(*file);
  const size_t newSize = std::min(bytes.size(), maxSize);
  std::memcpy(data, bytes.data(), newSize);
  return newSize;
}

}  // namespace isthmus::fuzz

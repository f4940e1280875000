// PTX as a sequence of tokens.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace isthmus::ptx {

struct Token {
  enum class Kind {
    kWord,    // a name, an opcode with its modifiers, or a directive with its dot
    kNumber,  // `bits` has its value; of a float the bits of its type
    kString,
    kPunctuation,
    kEnd,
  };
  Kind kind = Kind::kEnd;
  std::string_view text;  // of the source
  uint64_t bits = 0;
  int line = 0;
};

// Without comments; the last is kEnd. False, with a sentence in `error`, at what is no token.
bool tokenize(std::string_view source, std::vector<Token>& tokens, std::string& error);

}  // namespace isthmus::ptx

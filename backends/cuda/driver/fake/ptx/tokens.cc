#include "backends/cuda/driver/fake/ptx/tokens.h"

#include <bit>
#include <cctype>
#include <charconv>
#include <cstdlib>

namespace isthmus::ptx {
namespace {

bool isWordStart(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%' ||
         c == '.';
}
bool isDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)); }

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  bool run(std::vector<Token>& tokens, std::string& error) {
    for (;;) {
      skipBlanks();
      Token token;
      token.line = line_;
      if (at_ == source_.size()) {
        tokens.push_back(token);
        return true;
      }
      size_t begin = at_;
      if (!read(token)) {
        error = "line " + std::to_string(line_) + ": unexpected '" + source_[begin] + "'";
        return false;
      }
      token.text = source_.substr(begin, at_ - begin);
      tokens.push_back(token);
    }
  }

 private:
  char peek(size_t ahead = 0) const {
    return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0';
  }

  void skipBlanks() {
    while (at_ < source_.size()) {
      if (peek() == '/' && peek(1) == '/') {
        while (at_ < source_.size() && peek() != '\n') ++at_;
      } else if (peek() == '/' && peek(1) == '*') {
        for (at_ += 2; at_ < source_.size() && !(peek() == '*' && peek(1) == '/'); ++at_) {
          line_ += peek() == '\n';
        }
        at_ = std::min(at_ + 2, source_.size());
      } else if (std::isspace(static_cast<unsigned char>(peek()))) {
        line_ += peek() == '\n';
        ++at_;
      } else {
        return;
      }
    }
  }

  bool read(Token& token) {
    if (isWordStart(peek())) {
      token.kind = Token::Kind::kWord;
      // "::" is part of modifiers such as .L1::no_allocate, ":" ends a label.
      while (isWordStart(peek()) || isDigit(peek()) || (peek() == ':' && peek(1) == ':')) {
        at_ += peek() == ':' ? 2 : 1;
      }
      return true;
    }
    if (isDigit(peek())) return readNumber(token);
    if (peek() == '"') {
      token.kind = Token::Kind::kString;
      for (++at_; at_ < source_.size() && peek() != '"'; ++at_) line_ += peek() == '\n';
      if (at_ == source_.size()) return false;
      ++at_;
      return true;
    }
    constexpr std::string_view kPunctuation = "{}()[]<>,;:@!+-=|*";
    if (kPunctuation.find(peek()) == std::string_view::npos) return false;
    token.kind = Token::Kind::kPunctuation;
    ++at_;
    return true;
  }

  bool readDigits(int base, uint64_t& value) {
    const char *begin = source_.data() + at_, *end = source_.data() + source_.size();
    auto [stopped, code] = std::from_chars(begin, end, value, base);
    at_ += static_cast<size_t>(stopped - begin);
    return code == std::errc() && stopped != begin;
  }

  bool readNumber(Token& token) {
    token.kind = Token::Kind::kNumber;
    char second = static_cast<char>(std::tolower(static_cast<unsigned char>(peek(1))));
    if (peek() == '0' && (second == 'x' || second == 'f' || second == 'd')) {
      at_ += 2;
      if (!readDigits(16, token.bits)) return false;
    } else if (peek() == '0' && second == 'b') {
      at_ += 2;
      if (!readDigits(2, token.bits)) return false;
    } else {
      size_t begin = at_;
      if (!readDigits(10, token.bits)) return false;
      if (peek() == '.' && isDigit(peek(1))) {
        while (isDigit(peek()) || peek() == '.') ++at_;
        std::string text(source_.substr(begin, at_ - begin));
        token.bits = std::bit_cast<uint64_t>(std::strtod(text.c_str(), nullptr));
      }
    }
    if (peek() == 'U') ++at_;
    return true;
  }

  std::string_view source_;
  size_t at_ = 0;
  int line_ = 1;
};

}  // namespace

bool tokenize(std::string_view source, std::vector<Token>& tokens, std::string& error) {
  return Lexer(source).run(tokens, error);
}

}  // namespace isthmus::ptx

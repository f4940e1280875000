// The textual form of programs.
#include "compiler/import/text/text.h"

#include "llvm/ADT/StringExtras.h"
#include "mlir/IR/OperationSupport.h"

namespace isthmus::importer {
namespace {

bool isNameCharacter(char c) { return llvm::isAlnum(c) || c == '_' || c == '$' || c == '-'; }

// The end of the string literal or comment that starts at `at`, or `at` if none does.
size_t skipOpaque(llvm::StringRef text, size_t at) {
  if (text[at] == '"') {
    size_t end = at + 1;
    while (end < text.size() && text[end] != '"' && text[end] != '\n') {
      end += text[end] == '\\' ? 2 : 1;
    }
    return std::min(end + 1, text.size());
  }
  if (text[at] == '/' && text.substr(at).starts_with("//")) {
    return std::min(text.find('\n', at), text.size());
  }
  return at;
}

// The number of elements of the type of booleans that `text` starts with; 0 if it is another type.
uint64_t countBooleans(llvm::StringRef text) {
  uint64_t count = 1, dimension;
  if (!text.consume_front("tensor<")) return 0;
  while (!text.consumeInteger(10, dimension)) {
    if (!text.consume_front("x") || __builtin_mul_overflow(count, dimension, &count)) return 0;
  }
  return text.starts_with("i1>") ? count : 0;
}

// Two digits for each byte in, two digits for eight bytes out.
std::string packBytes(llvm::StringRef digits) {
  std::string packed((digits.size() / 2 + 7) / 8, 0);
  for (size_t i = 0; i < digits.size() / 2; ++i) {
    if (digits[2 * i + 1] != '0') packed[i / 8] |= 1 << (i % 8);
  }
  return llvm::toHex(packed);
}

}  // namespace

std::string renameMhlo(llvm::StringRef text, mlir::MLIRContext& context) {
  constexpr llvm::StringLiteral kPrefix("mhlo.");
  std::string result;
  result.reserve(text.size() + text.size() / 8);
  size_t copied = 0;
  auto replace = [&](size_t begin, size_t end, const llvm::Twine& by) {
    result.append(text.data() + copied, begin - copied);
    result += by.str();
    copied = end;
  };
  for (size_t at = 0; at < text.size();) {
    const bool isQuoted = text[at] == '"' && text.substr(at + 1).starts_with(kPrefix);
    if (!isQuoted) {
      if (size_t end = skipOpaque(text, at); end != at) {
        at = end;
        continue;
      }
    }
    const size_t begin = isQuoted ? at + 1 : at;
    // The other spelling of an attribute or type of the dialect: #mhlo<…>.
    if (begin > 0 && (text[begin - 1] == '#' || text[begin - 1] == '!') &&
        text.substr(begin).starts_with("mhlo<")) {
      replace(begin, begin + 4, "stablehlo");
      at = begin + 4;
      continue;
    }
    const bool isName =
        text.substr(begin).starts_with(kPrefix) &&
        (isQuoted || begin == 0 || !(isNameCharacter(text[begin - 1]) || text[begin - 1] == '.'));
    if (!isName) {
      ++at;
      continue;
    }
    size_t end = begin + kPrefix.size();
    while (end < text.size() && (isNameCharacter(text[end]) || text[end] == '.')) ++end;
    const llvm::StringRef mnemonic = text.slice(begin + kPrefix.size(), end);
    const bool isAttributeOrType =
        !isQuoted && begin > 0 && (text[begin - 1] == '#' || text[begin - 1] == '!');
    const std::string stablehlo = ("stablehlo." + mnemonic).str();
    // Only a quoted name that is called is an operation; the rest are strings.
    const bool isCall = isQuoted && text.substr(end).starts_with("\"(");
    if (mnemonic == "copy" && (isCall || !isQuoted)) {
      replace(begin, end, "stablehlo.optimization_barrier");
    } else if (isAttributeOrType || ((isCall || !isQuoted) &&
                                     mlir::RegisteredOperationName::lookup(stablehlo, &context))) {
      replace(begin, end, stablehlo);
    }
    at = isQuoted ? std::min(end + 1, text.size()) : end;
    if (isQuoted && !isCall) {
      // The name may have ended inside a longer string: go on after that string.
      at = skipOpaque(text, begin - 1);
    }
  }
  result.append(text.data() + copied, text.size() - copied);
  return result;
}

std::string packHexBooleans(llvm::StringRef text) {
  constexpr llvm::StringLiteral kOpening("dense<\"0x"), kClosing("\"> : ");
  std::string result;
  size_t copied = 0;
  for (size_t at = text.find(kOpening); at != llvm::StringRef::npos;
       at = text.find(kOpening, at + 1)) {
    const size_t begin = at + kOpening.size();
    const size_t end = text.find('"', begin);
    if (end == llvm::StringRef::npos || !text.substr(end).starts_with(kClosing)) continue;
    const llvm::StringRef digits = text.slice(begin, end);
    if (digits.size() <= 2 ||
        digits.size() / 2 != countBooleans(text.substr(end + kClosing.size()))) {
      continue;
    }
    result.append(text.data() + copied, begin - copied);
    result += packBytes(digits);
    copied = end;
  }
  result.append(text.data() + copied, text.size() - copied);
  return result;
}

}  // namespace isthmus::importer

// One pass over the tokens of a program, which counts rather more than the parser would meet.
#include "compiler/import/text/text_limits.h"

#include <algorithm>

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

namespace isthmus::importer {

void GraphCost::add(const GraphCost& part, int64_t nesting) {
  depth = std::max(depth, part.depth + nesting);
  size = std::min(size + part.size, kMaxExpandedProgram + 1);
}

namespace {

constexpr size_t kMaxNesting = 256;
// Operators in a row, as in an affine expression, whose terms nest without any bracket.
constexpr int kMaxOperators = 256;
// Dimensions in a row, as in 2x3x?xf32: the parser reads the rest of them anew for each one.
constexpr int kMaxDimensions = 1024;

bool isNameCharacter(char c) { return llvm::isAlnum(c) || c == '_' || c == '$' || c == '.'; }

class TextLimits {
 public:
  TextLimits(llvm::StringRef text, ErrorSink& sink) : text_(text), sink_(sink) {}

  bool check() {
    while (skipSpace()) {
      if (!token()) return false;
    }
    finishAlias();
    return isFine_;
  }

 private:
  struct Alias {
    GraphCost cost;
    bool isLocation = false;
  };

  bool fail(const char* what) {
    isFine_ = false;
    return sink_.fail(StatusCode::kInvalidArgument, what);
  }

  // Goes to the next token. False at the end of the text.
  bool skipSpace() {
    while (at_ < text_.size()) {
      if (text_[at_] == '/' && text_.substr(at_).starts_with("//")) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (llvm::isSpace(text_[at_]) || text_[at_] == '\0') {
        ++at_;
      } else {
        return true;
      }
    }
    return false;
  }

  bool token() {
    const char c = text_[at_];
    if (c == '"') return string();
    if (c == '#' || c == '!') return reference();
    if (c == '%' || c == '@' || c == '^') {
      ++at_;
      skipName();
      return atom();
    }
    if (isNameCharacter(c) || c == '?') return word();
    ++at_;
    return punctuation(c);
  }

  void skipName() {
    while (at_ < text_.size() && (isNameCharacter(text_[at_]) || text_[at_] == '-')) {
      if (text_.substr(at_).starts_with("->")) return;
      ++at_;
    }
  }

  bool string() {
    for (++at_; at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n';) {
      at_ += text_[at_] == '\\' ? 2 : 1;
    }
    at_ = std::min(at_ + 1, text_.size());
    return atom();
  }

  // A word, a number, or dimensions, which spaces may divide.
  bool word() {
    const size_t begin = at_;
    bool isDimensions = true;
    for (; at_ < text_.size() && (isNameCharacter(text_[at_]) || text_[at_] == '?'); ++at_) {
      dimensions_ += text_[at_] == 'x';
      isDimensions =
          isDimensions && (llvm::isDigit(text_[at_]) || text_[at_] == 'x' || text_[at_] == '?');
    }
    if (dimensions_ > kMaxDimensions) {
      return fail("program has a tensor that is too large: more than 1024 dimensions");
    }
    if (!isDimensions) dimensions_ = 0;
    const llvm::StringRef word = text_.slice(begin, at_);
    if (word == "mod" || word == "floordiv" || word == "ceildiv") return binaryOperator();
    if (word == "loc" && isAliasBegun_) alias_.isLocation = true;
    return llvm::isDigit(word[0]) ? value() : atom();
  }

  // #name, !name, or a dialect's own, such as #stablehlo.dot<...>.
  bool reference() {
    const size_t begin = at_++;
    while (at_ < text_.size() && isNameCharacter(text_[at_])) ++at_;
    const llvm::StringRef name = text_.slice(begin, at_);
    const size_t end = at_;
    if (skipSpace() && text_[at_] == '=' && !text_.substr(at_).starts_with("==")) {
      finishAlias();
      aliasName_ = name;
      alias_ = {};
      isAliasBegun_ = true;
      wasAtom_ = false;
      ++at_;
      return true;
    }
    at_ = end;
    if (!atom()) return false;
    auto found = aliases_.find(name);
    if (found == aliases_.end()) return true;
    const Alias& used = found->second;
    if (aliasName_.empty()) {
      if (used.isLocation) return true;
      total_ = std::min(total_ + used.cost.size - 1, kMaxExpandedProgram + 1);
      return total_ <= kMaxExpandedProgram || fail("program uses attributes that expand too far");
    }
    alias_.cost.add(used.cost, 1 + static_cast<int64_t>(brackets_.size()));
    return checkAlias();
  }

  bool checkAlias() {
    const int64_t limit = aliasName_.starts_with("!") ? kMaxExpandedType : kMaxExpandedAttribute;
    if (alias_.cost.depth > kMaxGraphDepth) {
      return fail("program has attributes or types that nest too deeply");
    }
    return alias_.cost.size <= limit ||
           fail("program has an attribute or type that expands too far");
  }

  bool punctuation(char c) {
    isAliasBegun_ = false;
    switch (c) {
      case '(':
      case '[':
      case '{':
      case '<':
        wasAtom_ = false;
        brackets_.push_back(c);
        if (c == '{') operators_ = 0;
        if (brackets_.size() > kMaxNesting) return tooDeep();
        alias_.cost.depth = std::max(alias_.cost.depth, static_cast<int64_t>(brackets_.size()) + 1);
        return true;
      case ')':
        return close('(');
      case ']':
        return close('[');
      case '}':
        operators_ = 0;
        return close('{');
      case '>':
        // Of >= and of an operation's own syntax it is no bracket.
        if (!brackets_.empty() && brackets_.back() == '<') brackets_.pop_back();
        wasAtom_ = true;
        return true;
      case '-':
        if (at_ < text_.size() && text_[at_] == '>') {
          ++at_;
          wasAtom_ = false;
          return true;
        }
        return binaryOperator();
      case '+':
      case '*':
        return binaryOperator();
      default:
        // No affine expression goes on after one of these.
        operators_ = 0;
        dimensions_ = 0;
        wasAtom_ = false;
        return true;
    }
  }

  // Whatever has been opened inside is not open any more.
  bool close(char opening) {
    auto found = std::find(brackets_.rbegin(), brackets_.rend(), opening);
    if (found != brackets_.rend()) brackets_.truncate(brackets_.rend() - found - 1);
    wasAtom_ = true;
    return true;
  }

  bool tooDeep() { return fail("program text nests deeper than 256"); }

  bool binaryOperator() {
    wasAtom_ = false;
    return ++operators_ <= kMaxOperators || tooDeep();
  }

  // Two things that are complete in themselves never follow each other in one attribute: the second
  // begins the next operation.
  void endAliasBetweenAtoms() {
    if (!aliasName_.empty() && brackets_.empty() && wasAtom_) finishAlias();
    wasAtom_ = true;
    isAliasBegun_ = false;
  }

  bool atom() {
    endAliasBetweenAtoms();
    if (aliasName_.empty()) return true;
    alias_.cost.size = std::min(alias_.cost.size + 1, kMaxExpandedProgram + 1);
    return checkAlias();
  }

  // A number is no entry of the graph: many of them make one.
  bool value() {
    endAliasBetweenAtoms();
    return true;
  }

  void finishAlias() {
    if (!aliasName_.empty()) {
      // An alias that is defined twice is an error of the parser's, before which both are used.
      Alias& known = aliases_[aliasName_];
      known.isLocation = alias_.isLocation;
      known.cost.depth = std::max(known.cost.depth, alias_.cost.depth);
      known.cost.size = std::max(known.cost.size, alias_.cost.size);
    }
    aliasName_ = {};
  }

  llvm::StringRef text_;
  ErrorSink& sink_;
  size_t at_ = 0;
  bool isFine_ = true;
  llvm::SmallVector<char> brackets_;
  int operators_ = 0;
  int dimensions_ = 0;
  llvm::StringMap<Alias> aliases_;
  // The definition that we are in; without a name, none.
  llvm::StringRef aliasName_;
  Alias alias_;
  bool isAliasBegun_ = false;  // directly after its =
  bool wasAtom_ = false;       // the last token was complete in itself
  int64_t total_ = 0;
};

}  // namespace

bool checkTextLimits(llvm::StringRef text, ErrorSink& sink) {
  return TextLimits(text, sink).check();
}

}  // namespace isthmus::importer

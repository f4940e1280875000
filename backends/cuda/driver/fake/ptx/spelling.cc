#include "backends/cuda/driver/fake/ptx/spelling.h"

#include <algorithm>

namespace isthmus::ptx {

Spelling::Spelling(std::string_view opcode, std::vector<Operand> arguments)
    : operands(std::move(arguments)) {
  while (true) {
    size_t dot = opcode.find('.');
    parts_.push_back(opcode.substr(0, dot));
    if (dot == std::string_view::npos) break;
    opcode.remove_prefix(dot + 1);
  }
  isTaken_.assign(parts_.size(), false);
  isTaken_[0] = true;
}

bool Spelling::take(std::string_view modifier) {
  for (size_t n = 1; n < parts_.size(); ++n) {
    if (parts_[n] != modifier || isTaken_[n]) continue;
    isTaken_[n] = true;
    return true;
  }
  return false;
}

std::string_view Spelling::takeOneOf(std::initializer_list<std::string_view> modifiers) {
  for (std::string_view modifier : modifiers) {
    if (take(modifier)) return modifier;
  }
  return {};
}

void Spelling::takeAll(std::string_view prefix) {
  for (size_t n = 1; n < parts_.size(); ++n) {
    if (parts_[n].starts_with(prefix)) isTaken_[n] = true;
  }
}

Type Spelling::takeType() {
  for (size_t n = 1; n < parts_.size(); ++n) {
    Type type = typeOf(parts_[n]);
    if (isTaken_[n] || type == Type::kNone) continue;
    isTaken_[n] = true;
    return type;
  }
  return Type::kNone;
}

Rounding Spelling::takeRounding(bool* isIntegral, bool* isThere) {
  struct Row {
    std::string_view name;
    Rounding rounding;
    bool isIntegral;
  };
  constexpr Row kRows[] = {
      {"rn", Rounding::kNearest, false}, {"rna", Rounding::kAway, false},
      {"rz", Rounding::kZero, false},    {"rm", Rounding::kDown, false},
      {"rp", Rounding::kUp, false},      {"rni", Rounding::kNearest, true},
      {"rzi", Rounding::kZero, true},    {"rmi", Rounding::kDown, true},
      {"rpi", Rounding::kUp, true},
  };
  for (const Row& row : kRows) {
    if (row.isIntegral && !isIntegral) continue;
    if (!take(row.name)) continue;
    if (isIntegral) *isIntegral = row.isIntegral;
    if (isThere) *isThere = true;
    return row.rounding;
  }
  return Rounding::kNearest;
}

std::string Spelling::rest() const {
  std::string result;
  for (size_t n = 0; n < parts_.size(); ++n) {
    if (!isTaken_[n]) result += "." + std::string(parts_[n]);
  }
  return result;
}

bool Spelling::place(Instruction& i, bool hasResult) const {
  for (size_t n = 0; n < operands.size(); ++n) {
    const Operand& operand = operands[n];
    std::vector<Slot> slots = operand.elements;
    if (operand.kind != Operand::Kind::kVector) slots = {operand.slot};
    if (operand.alternative != kNoSlot) slots.push_back(operand.alternative);
    bool isResult = hasResult && n == 0;
    if (operand.kind == Operand::Kind::kName) return false;
    if ((isResult ? i.numTo : i.numFrom) + slots.size() >
        (isResult ? i.to.size() : i.from.size())) {
      return false;
    }
    for (Slot slot : slots) {
      if (isResult) {
        i.to[i.numTo++] = slot;
      } else {
        i.from[i.numFrom++] = slot;
      }
    }
  }
  return true;
}

}  // namespace isthmus::ptx

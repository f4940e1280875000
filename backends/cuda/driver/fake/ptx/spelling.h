// An instruction as it is spelled, and what families of instructions make of it.
#pragma once

#include <string_view>
#include <vector>

#include "backends/cuda/driver/fake/ptx/numbers.h"
#include "backends/cuda/driver/fake/ptx/program.h"

namespace isthmus::ptx {

struct Operand {
  enum class Kind { kSlot, kAddress, kVector, kName };
  Kind kind = Kind::kSlot;
  Slot slot = kNoSlot;         // also an address's base
  Slot alternative = kNoSlot;  // of p|q
  int64_t offset = 0;
  bool isNegated = false;
  bool isConstant = false;  // a number, `constant`
  uint64_t constant = 0;
  // Where the variable of an address lies, if it names one.
  bool hasSpace = false;
  Space space = Space::kGeneric;
  std::vector<Slot> elements;
  std::string_view name;
};

// "add.rn.f32" with its operands. Families take the modifiers that they know; what nobody takes is
// an error.
class Spelling {
 public:
  Spelling(std::string_view opcode, std::vector<Operand> operands);

  std::string_view op() const { return parts_[0]; }
  // Whether the modifier is there; it is taken then.
  bool take(std::string_view modifier);
  // The modifier among these that is there, taken, or an empty one.
  std::string_view takeOneOf(std::initializer_list<std::string_view> modifiers);
  // All that begin so are taken.
  void takeAll(std::string_view prefix);
  // The next type among the modifiers, taken.
  Type takeType();
  // .rn, .rna, .rz, .rm, .rp or, with an i, to integral numbers; kNearest without one.
  Rounding takeRounding(bool* isIntegral = nullptr, bool* isThere = nullptr);
  // The modifiers that nobody took.
  std::string rest() const;

  // The operands in order: all of the first are results if `hasResult`, the others arguments.
  // False if they are too many.
  bool place(Instruction& i, bool hasResult = true) const;

  std::vector<Operand> operands;

 private:
  std::vector<std::string_view> parts_;
  std::vector<bool> isTaken_;
};

// The state space of an access to `operand`, taken. False if the variable lies elsewhere.
bool takeSpace(Spelling& s, const Operand& operand, Space& space);

// Each says false if the instruction is not of its family, or is one that it does not know.
bool decodeIntegers(Spelling& s, Instruction& i);
bool decodeFloats(Spelling& s, Instruction& i);
bool decodeHalves(Spelling& s, Instruction& i);
bool decodeComparisons(Spelling& s, Instruction& i);
bool decodeMoves(Spelling& s, Instruction& i);
bool decodeConversions(Spelling& s, Instruction& i);
bool decodeMemory(Spelling& s, Instruction& i);
bool decodeAtomics(Spelling& s, Instruction& i);
bool decodeWarps(Spelling& s, Instruction& i);
bool decodeMatrices(Spelling& s, Instruction& i);

}  // namespace isthmus::ptx

// One C variable for each value, a label for each block, and gotos between them.
#include "backends/opencl/codegen/opencl_c.h"

#include <optional>

#include "compiler/codegen/target/group_threads.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/raw_ostream.h"

namespace isthmus::opencl {
namespace {

using Text = StatusOr<std::string>;

std::string show(const llvm::Value& value) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  value.print(stream);
  return text;
}

Status unsupported(const llvm::Value& value, std::string_view what) {
  return unimplemented("OpenCL C has no ", what, ": ", show(value));
}

const char* spaceName(unsigned space) {
  switch (space) {
    case 0:
      return "private";
    case 1:
      return "global";
    case codegen::kGroupMemorySpace:
      return "local";
    default:
      return nullptr;
  }
}

// A table of constants, which OpenCL C keeps outside of functions in a space of its own; or null.
const llvm::GlobalVariable* tableOf(const llvm::Value* pointer) {
  auto* table = llvm::dyn_cast<llvm::GlobalVariable>(llvm::getUnderlyingObject(pointer));
  return table && table->isConstant() && table->hasInitializer() ? table : nullptr;
}

// "constant ulong t0[] = {…};": whole longs, for their alignment.
Text writeTable(const llvm::GlobalVariable& table, const std::string& name) {
  auto* data = llvm::dyn_cast<llvm::ConstantDataSequential>(table.getInitializer());
  if (!data && !table.getInitializer()->isNullValue()) return unsupported(table, "such table");
  const llvm::DataLayout& layout = table.getParent()->getDataLayout();
  std::string bytes(layout.getTypeAllocSize(table.getValueType()).getFixedValue(), '\0');
  if (data) bytes = data->getRawDataValues().str();
  bytes.resize((bytes.size() + 7) / 8 * 8);
  std::string text = "constant ulong " + name + "[] = {";
  for (size_t at = 0; at < bytes.size(); at += 8) {
    text += std::to_string(llvm::support::endian::read64le(bytes.data() + at)) + "UL, ";
  }
  return text + "};\n";
}

// Integers are unsigned in C, so that they wrap.
Text typeName(const llvm::Type* type, bool isSigned = false) {
  if (type->isFloatTy()) return std::string("float");
  if (type->isDoubleTy()) return std::string("double");
  // Halves are only moved about: their bits.
  if (type->isHalfTy()) return std::string("ushort");
  if (auto* pointer = llvm::dyn_cast<llvm::PointerType>(type)) {
    const char* space = spaceName(pointer->getAddressSpace());
    if (space) return std::string(space) + " uchar*";
  }
  if (type->isIntegerTy(1)) return std::string("bool");
  const char* prefix = isSigned ? "" : "u";
  if (type->isIntegerTy(8)) return std::string(prefix) + "char";
  if (type->isIntegerTy(16)) return std::string(prefix) + "short";
  if (type->isIntegerTy(32)) return std::string(prefix) + "int";
  if (type->isIntegerTy(64)) return std::string(prefix) + "long";
  std::string text;
  llvm::raw_string_ostream(text) << *type;
  return unimplemented("OpenCL C has no type ", text);
}

std::string constantText(const llvm::APInt& value) {
  if (value.getBitWidth() == 1) return value.isZero() ? "false" : "true";
  std::string digits = std::to_string(value.getZExtValue());
  if (value.getBitWidth() == 64) return digits + "UL";
  if (value.getBitWidth() == 32) return digits + "U";
  return (value.getBitWidth() == 16 ? "(ushort)" : "(uchar)") + digits;
}

class FunctionWriter {
 public:
  // `tables`: the names of the module's tables.
  FunctionWriter(const llvm::Function& function,
                 const llvm::DenseMap<const llvm::Value*, std::string>& tables)
      : function_(function), layout_(function.getParent()->getDataLayout()), names_(tables) {}

  StatusOr<std::string> write();

 private:
  Status declare();
  Status declareGroupMemory();
  Status writeBlock(const llvm::BasicBlock& block);
  Status writeInstruction(const llvm::Instruction& instruction);
  Status writeTerminator(const llvm::Instruction& terminator);
  Status writeStore(const llvm::StoreInst& store);
  std::string jump(const llvm::BasicBlock& from, const llvm::BasicBlock& to);

  Text expression(const llvm::Instruction& instruction);
  Text binary(const llvm::BinaryOperator& op);
  Text compare(const llvm::CmpInst& op);
  Text floatCompare(llvm::CmpInst::Predicate predicate, const std::string& a, const std::string& b);
  Text cast(const llvm::CastInst& op);
  Text address(const llvm::GEPOperator& op);
  Text call(const llvm::CallInst& op);
  Text intrinsic(const llvm::IntrinsicInst& op);
  Text operand(const llvm::Value* value);
  // Of an integer, as C's signed type.
  Text signedOperand(const llvm::Value* value);
  Text memory(const llvm::Value* pointer, const llvm::Type* type);
  // "(volatile global uint*)x": what OpenCL's atomic functions take.
  Text atomicAddress(const llvm::Value* pointer, const llvm::Type* type, bool isSigned = false);
  Text exchange(const llvm::AtomicCmpXchgInst& op);
  Text atomic(const llvm::AtomicRMWInst& op);

  const llvm::Function& function_;
  const llvm::DataLayout& layout_;
  std::string out_;
  llvm::DenseMap<const llvm::Value*, std::string> names_;
  llvm::DenseMap<const llvm::BasicBlock*, std::string> labels_;
  Status jumpError_;
  int groupArrays_ = 0;
};

Text FunctionWriter::operand(const llvm::Value* value) {
  if (auto it = names_.find(value); it != names_.end()) return it->second;
  if (auto* number = llvm::dyn_cast<llvm::ConstantInt>(value)) {
    ISTHMUS_RETURN_IF_ERROR(typeName(value->getType()).status());
    return constantText(number->getValue());
  }
  if (auto* number = llvm::dyn_cast<llvm::ConstantFP>(value)) {
    llvm::APInt bits = number->getValueAPF().bitcastToAPInt();
    if (value->getType()->isFloatTy()) return "as_float(" + constantText(bits) + ")";
    if (value->getType()->isDoubleTy()) return "as_double(" + constantText(bits) + ")";
    if (value->getType()->isHalfTy()) return constantText(bits);
  }
  if (llvm::isa<llvm::UndefValue, llvm::ConstantPointerNull>(value)) {  // poison too
    ISTHMUS_ASSIGN_OR_RETURN(std::string type, typeName(value->getType()));
    return "(" + type + ")0";
  }
  if (auto* place = llvm::dyn_cast<llvm::GEPOperator>(value)) {
    ISTHMUS_ASSIGN_OR_RETURN(std::string text, address(*place));
    return "(" + text + ")";
  }
  return unsupported(*value, "such operand");
}

Text FunctionWriter::signedOperand(const llvm::Value* value) {
  ISTHMUS_ASSIGN_OR_RETURN(std::string text, operand(value));
  // The one bit of a bool is its sign.
  if (value->getType()->isIntegerTy(1)) return "(" + text + " ? -1 : 0)";
  ISTHMUS_ASSIGN_OR_RETURN(std::string type, typeName(value->getType(), true));
  return "(" + type + ")" + text;
}

Text FunctionWriter::memory(const llvm::Value* pointer, const llvm::Type* type) {
  ISTHMUS_ASSIGN_OR_RETURN(std::string name, operand(pointer));
  if (type->isIntegerTy(1)) return unsupported(*pointer, "memory of single bits");
  ISTHMUS_ASSIGN_OR_RETURN(std::string element, typeName(type));
  const char* space =
      tableOf(pointer) ? "constant" : spaceName(pointer->getType()->getPointerAddressSpace());
  if (!space) return unsupported(*pointer, "such memory");
  return "*(" + std::string(space) + " any_" + element + "*)" + name;
}

Text FunctionWriter::atomicAddress(const llvm::Value* pointer, const llvm::Type* type,
                                   bool isSigned) {
  ISTHMUS_ASSIGN_OR_RETURN(std::string name, operand(pointer));
  ISTHMUS_ASSIGN_OR_RETURN(std::string element, typeName(type, isSigned));
  const char* space = spaceName(pointer->getType()->getPointerAddressSpace());
  if (!space || !(type->isIntegerTy(32) || type->isIntegerTy(64))) {
    return unsupported(*pointer, "such shared memory");
  }
  return "(volatile " + std::string(space) + " " + element + "*)" + name;
}

// Those of 64 bits have names of their own.
static std::string atomicName(const llvm::Type* type, const char* what) {
  return std::string(type->isIntegerTy(64) ? "atom_" : "atomic_") + what;
}

// What was there: the first of the pair that LLVM's instruction gives.
Text FunctionWriter::exchange(const llvm::AtomicCmpXchgInst& op) {
  const llvm::Type* type = op.getCompareOperand()->getType();
  ISTHMUS_ASSIGN_OR_RETURN(std::string place, atomicAddress(op.getPointerOperand(), type));
  ISTHMUS_ASSIGN_OR_RETURN(std::string expected, operand(op.getCompareOperand()));
  ISTHMUS_ASSIGN_OR_RETURN(std::string next, operand(op.getNewValOperand()));
  return atomicName(type, "cmpxchg") + "(" + place + ", " + expected + ", " + next + ")";
}

Text FunctionWriter::atomic(const llvm::AtomicRMWInst& op) {
  using Op = llvm::AtomicRMWInst;
  const char* name = nullptr;
  bool isSigned = op.getOperation() == Op::Max || op.getOperation() == Op::Min;
  switch (op.getOperation()) {
    case Op::Add:
      name = "add";
      break;
    case Op::And:
      name = "and";
      break;
    case Op::Or:
      name = "or";
      break;
    case Op::Xor:
      name = "xor";
      break;
    case Op::Max:
    case Op::UMax:
      name = "max";
      break;
    case Op::Min:
    case Op::UMin:
      name = "min";
      break;
    default:
      return unsupported(op, "such atomic function");
  }
  const llvm::Value* value = op.getValOperand();
  ISTHMUS_ASSIGN_OR_RETURN(std::string place,
                           atomicAddress(op.getPointerOperand(), value->getType(), isSigned));
  ISTHMUS_ASSIGN_OR_RETURN(std::string text, isSigned ? signedOperand(value) : operand(value));
  return atomicName(value->getType(), name) + "(" + place + ", " + text + ")";
}

Text FunctionWriter::binary(const llvm::BinaryOperator& op) {
  ISTHMUS_ASSIGN_OR_RETURN(std::string a, operand(op.getOperand(0)));
  ISTHMUS_ASSIGN_OR_RETURN(std::string b, operand(op.getOperand(1)));
  ISTHMUS_ASSIGN_OR_RETURN(std::string type, typeName(op.getType()));
  bool isBool = op.getType()->isIntegerTy(1);
  auto infix = [&](const char* sign) { return a + " " + sign + " " + b; };
  // Narrow types become signed ints in C: their products might overflow.
  auto wrapping = [&](const char* sign) {
    if (isBool) return std::string("(((uint)") + a + " " + sign + " (uint)" + b + ") & 1) != 0";
    bool isNarrow = op.getType()->getIntegerBitWidth() < 32;
    std::string wide = isNarrow ? "(uint)" : "";
    return "(" + type + ")(" + wide + a + " " + sign + " " + wide + b + ")";
  };
  auto withSigns = [&](const char* sign) -> Text {
    if (isBool) return unsupported(op, "signed arithmetic on single bits");
    ISTHMUS_ASSIGN_OR_RETURN(std::string x, signedOperand(op.getOperand(0)));
    // Only the left side of a shift has a sign.
    std::string y = b;
    if (op.getOpcode() != llvm::Instruction::AShr) {
      ISTHMUS_ASSIGN_OR_RETURN(y, signedOperand(op.getOperand(1)));
    }
    return "(" + type + ")(" + x + " " + sign + " " + y + ")";
  };
  if (op.getType()->isHalfTy()) return unsupported(op, "arithmetic on f16");
  switch (op.getOpcode()) {
    case llvm::Instruction::Add:
      return wrapping("+");
    case llvm::Instruction::Sub:
      return wrapping("-");
    case llvm::Instruction::Mul:
      return wrapping("*");
    case llvm::Instruction::UDiv:
      return wrapping("/");
    case llvm::Instruction::URem:
      return wrapping("%");
    case llvm::Instruction::Shl:
      return wrapping("<<");
    case llvm::Instruction::LShr:
      return wrapping(">>");
    case llvm::Instruction::And:
      return wrapping("&");
    case llvm::Instruction::Or:
      return wrapping("|");
    case llvm::Instruction::Xor:
      return wrapping("^");
    case llvm::Instruction::SDiv:
      return withSigns("/");
    case llvm::Instruction::SRem:
      return withSigns("%");
    case llvm::Instruction::AShr:
      return withSigns(">>");
    case llvm::Instruction::FAdd:
      return infix("+");
    case llvm::Instruction::FSub:
      return infix("-");
    case llvm::Instruction::FMul:
      return infix("*");
    case llvm::Instruction::FDiv:
      return infix("/");
    case llvm::Instruction::FRem:
      return "fmod(" + a + ", " + b + ")";
    default:
      return unsupported(op, "such arithmetic");
  }
}

Text FunctionWriter::floatCompare(llvm::CmpInst::Predicate predicate, const std::string& a,
                                  const std::string& b) {
  auto infix = [&](const char* sign) { return "(" + a + " " + sign + " " + b + ")"; };
  std::string isOrdered = "(" + a + " == " + a + " && " + b + " == " + b + ")";
  switch (predicate) {
    case llvm::CmpInst::FCMP_FALSE:
      return std::string("false");
    case llvm::CmpInst::FCMP_TRUE:
      return std::string("true");
    case llvm::CmpInst::FCMP_OEQ:
      return infix("==");
    case llvm::CmpInst::FCMP_OGT:
      return infix(">");
    case llvm::CmpInst::FCMP_OGE:
      return infix(">=");
    case llvm::CmpInst::FCMP_OLT:
      return infix("<");
    case llvm::CmpInst::FCMP_OLE:
      return infix("<=");
    case llvm::CmpInst::FCMP_ONE:
      return "(" + isOrdered + " && " + infix("!=") + ")";
    case llvm::CmpInst::FCMP_ORD:
      return isOrdered;
    case llvm::CmpInst::FCMP_UNO:
      return "!" + isOrdered;
    // The unordered ones are what their opposites are not.
    case llvm::CmpInst::FCMP_UEQ:
      return "!(" + isOrdered + " && " + infix("!=") + ")";
    case llvm::CmpInst::FCMP_UGT:
      return "!" + infix("<=");
    case llvm::CmpInst::FCMP_UGE:
      return "!" + infix("<");
    case llvm::CmpInst::FCMP_ULT:
      return "!" + infix(">=");
    case llvm::CmpInst::FCMP_ULE:
      return "!" + infix(">");
    case llvm::CmpInst::FCMP_UNE:
      return infix("!=");
    default:
      return internalError("no such comparison");
  }
}

Text FunctionWriter::compare(const llvm::CmpInst& op) {
  bool isSigned = op.isSigned();
  const llvm::Value* left = op.getOperand(0);
  const llvm::Value* right = op.getOperand(1);
  ISTHMUS_ASSIGN_OR_RETURN(std::string a, isSigned ? signedOperand(left) : operand(left));
  ISTHMUS_ASSIGN_OR_RETURN(std::string b, isSigned ? signedOperand(right) : operand(right));
  if (left->getType()->isHalfTy()) return unsupported(op, "arithmetic on f16");
  if (llvm::isa<llvm::FCmpInst>(op)) return floatCompare(op.getPredicate(), a, b);
  const char* sign = nullptr;
  switch (op.getPredicate()) {
    case llvm::CmpInst::ICMP_EQ:
      sign = "==";
      break;
    case llvm::CmpInst::ICMP_NE:
      sign = "!=";
      break;
    case llvm::CmpInst::ICMP_UGT:
    case llvm::CmpInst::ICMP_SGT:
      sign = ">";
      break;
    case llvm::CmpInst::ICMP_UGE:
    case llvm::CmpInst::ICMP_SGE:
      sign = ">=";
      break;
    case llvm::CmpInst::ICMP_ULT:
    case llvm::CmpInst::ICMP_SLT:
      sign = "<";
      break;
    case llvm::CmpInst::ICMP_ULE:
    case llvm::CmpInst::ICMP_SLE:
      sign = "<=";
      break;
    default:
      return unsupported(op, "such comparison");
  }
  return "(" + a + ") " + sign + " (" + b + ")";
}

Text FunctionWriter::cast(const llvm::CastInst& op) {
  const llvm::Value* from = op.getOperand(0);
  bool isOfHalves = from->getType()->isHalfTy() || op.getType()->isHalfTy();
  if (isOfHalves && op.getOpcode() != llvm::Instruction::BitCast) {
    return unsupported(op, "arithmetic on f16");
  }
  ISTHMUS_ASSIGN_OR_RETURN(std::string x, operand(from));
  ISTHMUS_ASSIGN_OR_RETURN(std::string type, typeName(op.getType()));
  bool isBool = op.getType()->isIntegerTy(1);
  switch (op.getOpcode()) {
    case llvm::Instruction::Trunc:
      return isBool ? "(" + x + " & 1) != 0" : "(" + type + ")" + x;
    case llvm::Instruction::ZExt:
    case llvm::Instruction::UIToFP:
    case llvm::Instruction::FPExt:
    case llvm::Instruction::FPTrunc:
      return "(" + type + ")" + x;
    case llvm::Instruction::SExt:
    case llvm::Instruction::SIToFP: {
      ISTHMUS_ASSIGN_OR_RETURN(std::string number, signedOperand(from));
      return "(" + type + ")(" + number + ")";
    }
    case llvm::Instruction::FPToUI:
      if (isBool) return "(uint)" + x + " != 0";
      return "(" + type + ")" + x;
    case llvm::Instruction::FPToSI: {
      if (isBool) return "(int)" + x + " != 0";
      ISTHMUS_ASSIGN_OR_RETURN(std::string number, typeName(op.getType(), true));
      return "(" + type + ")(" + number + ")" + x;
    }
    case llvm::Instruction::BitCast:
      return "as_" + type + "(" + x + ")";
    default:
      return unsupported(op, "such conversion");
  }
}

Text FunctionWriter::address(const llvm::GEPOperator& op) {
  ISTHMUS_ASSIGN_OR_RETURN(std::string text, operand(op.getPointerOperand()));
  unsigned bits = layout_.getIndexTypeSizeInBits(op.getType());
  llvm::SmallMapVector<llvm::Value*, llvm::APInt, 4> variable;
  llvm::APInt constant(bits, 0);
  if (!op.collectOffset(layout_, bits, variable, constant)) return unsupported(op, "such address");
  std::string offset = std::to_string(constant.getSExtValue()) + "L";
  for (auto& [index, scale] : variable) {
    ISTHMUS_ASSIGN_OR_RETURN(std::string factor, signedOperand(index));
    offset += " + (long)(" + factor + ") * " + std::to_string(scale.getSExtValue()) + "L";
  }
  return text + " + (" + offset + ")";
}

Text FunctionWriter::intrinsic(const llvm::IntrinsicInst& op) {
  llvm::SmallVector<std::string, 3> x;
  for (const llvm::Value* argument : op.args()) {
    ISTHMUS_ASSIGN_OR_RETURN(std::string text, operand(argument));
    x.push_back(std::move(text));
  }
  ISTHMUS_ASSIGN_OR_RETURN(std::string type, typeName(op.getType()));
  auto named = [&](const std::string& name) { return name + "(" + llvm::join(x, ", ") + ")"; };
  auto withSigns = [&](const char* name) -> Text {
    ISTHMUS_ASSIGN_OR_RETURN(std::string a, signedOperand(op.getArgOperand(0)));
    ISTHMUS_ASSIGN_OR_RETURN(std::string b, signedOperand(op.getArgOperand(1)));
    return "(" + type + ")" + name + "(" + a + ", " + b + ")";
  };
  switch (op.getIntrinsicID()) {
    case llvm::Intrinsic::fma:
      return named("fma");
    case llvm::Intrinsic::sqrt:
      return named("sqrt");
    case llvm::Intrinsic::fabs:
      return named("fabs");
    case llvm::Intrinsic::floor:
      return named("floor");
    case llvm::Intrinsic::ceil:
      return named("ceil");
    case llvm::Intrinsic::trunc:
      return named("trunc");
    case llvm::Intrinsic::rint:
    case llvm::Intrinsic::nearbyint:
    case llvm::Intrinsic::roundeven:
      return named("rint");
    case llvm::Intrinsic::copysign:
      return named("copysign");
    case llvm::Intrinsic::minnum:
      return named("fmin");
    case llvm::Intrinsic::maxnum:
      return named("fmax");
    case llvm::Intrinsic::umin:
      return named("min");
    case llvm::Intrinsic::umax:
      return named("max");
    case llvm::Intrinsic::smin:
      return withSigns("min");
    case llvm::Intrinsic::smax:
      return withSigns("max");
    case llvm::Intrinsic::uadd_sat:
      return named("add_sat");
    case llvm::Intrinsic::usub_sat:
      return named("sub_sat");
    case llvm::Intrinsic::sadd_sat:
      return withSigns("add_sat");
    case llvm::Intrinsic::ssub_sat:
      return withSigns("sub_sat");
    case llvm::Intrinsic::ctlz:
      return "clz(" + x[0] + ")";
    case llvm::Intrinsic::ctpop:
      return "popcount(" + x[0] + ")";
    case llvm::Intrinsic::abs: {
      ISTHMUS_ASSIGN_OR_RETURN(std::string number, signedOperand(op.getArgOperand(0)));
      return "abs(" + number + ")";
    }
    case llvm::Intrinsic::fshl:
      if (op.getArgOperand(0) != op.getArgOperand(1)) break;
      return "rotate(" + x[0] + ", " + x[2] + ")";
    case llvm::Intrinsic::fptosi_sat: {
      ISTHMUS_ASSIGN_OR_RETURN(std::string number, typeName(op.getType(), true));
      return "(" + type + ")convert_" + number + "_sat(" + x[0] + ")";
    }
    case llvm::Intrinsic::fptoui_sat:
      return "convert_" + type + "_sat(" + x[0] + ")";
    default:
      break;
  }
  return unsupported(op, "such intrinsic");
}

Text FunctionWriter::call(const llvm::CallInst& op) {
  if (auto* known = llvm::dyn_cast<llvm::IntrinsicInst>(&op)) return intrinsic(*known);
  const llvm::Function* callee = op.getCalledFunction();
  if (!callee) return unsupported(op, "such function");
  // A built-in function, by its C++ name: _Z3powff.
  llvm::StringRef name = callee->getName();
  size_t length = 0;
  if (!name.consume_front("_Z") || name.consumeInteger(10, length)) {
    return unsupported(op, "such function");
  }
  if (name.take_front(length) == "barrier") return std::string("barrier(CLK_LOCAL_MEM_FENCE)");
  std::string text;
  for (const llvm::Value* argument : op.args()) {
    ISTHMUS_ASSIGN_OR_RETURN(std::string value, operand(argument));
    text += (text.empty() ? "" : ", ") + value;
  }
  return name.take_front(length).str() + "(" + text + ")";
}

Text FunctionWriter::expression(const llvm::Instruction& instruction) {
  if (auto* op = llvm::dyn_cast<llvm::BinaryOperator>(&instruction)) return binary(*op);
  if (auto* op = llvm::dyn_cast<llvm::CmpInst>(&instruction)) return compare(*op);
  if (auto* op = llvm::dyn_cast<llvm::CastInst>(&instruction)) return cast(*op);
  if (auto* op = llvm::dyn_cast<llvm::GEPOperator>(&instruction)) return address(*op);
  if (auto* op = llvm::dyn_cast<llvm::CallInst>(&instruction)) return call(*op);
  if (auto* op = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
    return memory(op->getPointerOperand(), op->getType());
  }
  if (auto* op = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) return exchange(*op);
  if (auto* op = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) return atomic(*op);
  if (auto* op = llvm::dyn_cast<llvm::ExtractValueInst>(&instruction)) {
    if (llvm::isa<llvm::AtomicCmpXchgInst>(op->getAggregateOperand()) && op->getIndices()[0] == 0) {
      return operand(op->getAggregateOperand());
    }
  }
  if (instruction.getOpcode() == llvm::Instruction::FNeg) {
    ISTHMUS_ASSIGN_OR_RETURN(std::string x, operand(instruction.getOperand(0)));
    return "-" + x;
  }
  if (llvm::isa<llvm::FreezeInst>(instruction)) return operand(instruction.getOperand(0));
  if (auto* op = llvm::dyn_cast<llvm::SelectInst>(&instruction)) {
    ISTHMUS_ASSIGN_OR_RETURN(std::string condition, operand(op->getCondition()));
    ISTHMUS_ASSIGN_OR_RETURN(std::string a, operand(op->getTrueValue()));
    ISTHMUS_ASSIGN_OR_RETURN(std::string b, operand(op->getFalseValue()));
    return condition + " ? " + a + " : " + b;
  }
  return unsupported(instruction, "such instruction");
}

Status FunctionWriter::writeStore(const llvm::StoreInst& store) {
  const llvm::Value* value = store.getValueOperand();
  ISTHMUS_ASSIGN_OR_RETURN(std::string to, memory(store.getPointerOperand(), value->getType()));
  ISTHMUS_ASSIGN_OR_RETURN(std::string text, operand(value));
  out_ += "  " + to + " = " + text + ";\n";
  return {};
}

// Phis take their values from variables that the jump to their block sets.
std::string FunctionWriter::jump(const llvm::BasicBlock& from, const llvm::BasicBlock& to) {
  std::string text;
  for (const llvm::PHINode& phi : to.phis()) {
    Text value = operand(phi.getIncomingValueForBlock(&from));
    if (!value.ok()) {
      jumpError_ = value.status();
      return text;
    }
    text += names_[&phi] + "_in = " + *value + "; ";
  }
  return text + "goto " + labels_[&to] + ";";
}

Status FunctionWriter::writeTerminator(const llvm::Instruction& terminator) {
  const llvm::BasicBlock& block = *terminator.getParent();
  if (llvm::isa<llvm::ReturnInst>(terminator)) {
    out_ += "  return;\n";
    return {};
  }
  if (llvm::isa<llvm::UnreachableInst>(terminator)) {
    out_ += "  return;\n";
    return {};
  }
  if (auto* branch = llvm::dyn_cast<llvm::BranchInst>(&terminator)) {
    if (branch->isConditional()) {
      ISTHMUS_ASSIGN_OR_RETURN(std::string condition, operand(branch->getCondition()));
      out_ += "  if (" + condition + ") { " + jump(block, *branch->getSuccessor(0)) + " }\n";
      out_ += "  " + jump(block, *branch->getSuccessor(1)) + "\n";
    } else {
      out_ += "  " + jump(block, *branch->getSuccessor(0)) + "\n";
    }
    return jumpError_;
  }
  if (auto* choice = llvm::dyn_cast<llvm::SwitchInst>(&terminator)) {
    ISTHMUS_ASSIGN_OR_RETURN(std::string value, operand(choice->getCondition()));
    for (const auto& one : choice->cases()) {
      ISTHMUS_ASSIGN_OR_RETURN(std::string number, operand(one.getCaseValue()));
      out_ += "  if (" + value + " == " + number + ") { " + jump(block, *one.getCaseSuccessor()) +
              " }\n";
    }
    out_ += "  " + jump(block, *choice->getDefaultDest()) + "\n";
    return jumpError_;
  }
  return unsupported(terminator, "such control flow");
}

Status FunctionWriter::writeInstruction(const llvm::Instruction& instruction) {
  if (instruction.isTerminator()) return writeTerminator(instruction);
  if (instruction.isDebugOrPseudoInst() || instruction.isLifetimeStartOrEnd()) return {};
  if (llvm::isa<llvm::AllocaInst>(instruction)) return {};
  if (llvm::isa<llvm::PHINode>(instruction)) {
    out_ += "  " + names_[&instruction] + " = " + names_[&instruction] + "_in;\n";
    return {};
  }
  if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) return writeStore(*store);
  if (auto* op = llvm::dyn_cast<llvm::CallInst>(&instruction); op && op->getType()->isVoidTy()) {
    ISTHMUS_ASSIGN_OR_RETURN(std::string text, call(*op));
    out_ += "  " + text + ";\n";
    return {};
  }
  ISTHMUS_ASSIGN_OR_RETURN(std::string text, expression(instruction));
  out_ += "  " + names_[&instruction] + " = " + text + ";\n";
  return {};
}

// The arrays that the group's work-items share: OpenCL C declares them in the kernel.
Status FunctionWriter::declareGroupMemory() {
  for (const llvm::GlobalVariable& memory : function_.getParent()->globals()) {
    if (memory.getAddressSpace() != codegen::kGroupMemorySpace) continue;
    bool isUsed = llvm::any_of(llvm::instructions(function_), [&](const auto& instruction) {
      return llvm::any_of(instruction.operands(), [&](const llvm::Value* operand) {
        return operand->stripInBoundsOffsets() == &memory;
      });
    });
    if (!isUsed) continue;
    uint64_t words = (layout_.getTypeAllocSize(memory.getValueType()).getFixedValue() + 7) / 8;
    std::string name = "g" + std::to_string(groupArrays_++);
    names_[&memory] = name;
    // Longs, for their alignment.
    out_ += "  local ulong " + name + "_memory[" + std::to_string(words) + "];\n";
    out_ += "  local uchar* " + name + " = (local uchar*)" + name + "_memory;\n";
  }
  return {};
}

Status FunctionWriter::declare() {
  for (const llvm::BasicBlock& block : function_) {
    labels_[&block] = "b" + std::to_string(labels_.size());
  }
  ISTHMUS_RETURN_IF_ERROR(declareGroupMemory());
  int number = 0;
  for (const llvm::Instruction& instruction : llvm::instructions(function_)) {
    if (instruction.getType()->isVoidTy()) continue;
    std::string name = "v" + std::to_string(number++);
    names_[&instruction] = name;
    const llvm::Type* valueType = instruction.getType();
    if (auto* op = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
      valueType = op->getCompareOperand()->getType();
    }
    ISTHMUS_ASSIGN_OR_RETURN(std::string type, typeName(valueType));
    if (instruction.getType()->isPointerTy() && tableOf(&instruction)) type = "constant uchar*";
    if (auto* memory = llvm::dyn_cast<llvm::AllocaInst>(&instruction)) {
      std::optional<llvm::TypeSize> bytes = memory->getAllocationSize(layout_);
      if (!bytes || bytes->isScalable()) return unsupported(instruction, "such memory");
      // Longs, for their alignment.
      uint64_t words = (bytes->getFixedValue() + 7) / 8;
      out_ +=
          "  ulong " + name + "_memory[" + std::to_string(std::max<uint64_t>(words, 1)) + "];\n";
      out_ += "  " + type + " " + name + " = (" + type + ")" + name + "_memory;\n";
      continue;
    }
    out_ += "  " + type + " " + name + ";\n";
    if (llvm::isa<llvm::PHINode>(instruction)) out_ += "  " + type + " " + name + "_in;\n";
  }
  return {};
}

Status FunctionWriter::writeBlock(const llvm::BasicBlock& block) {
  out_ += labels_[&block] + ":;\n";
  for (const llvm::Instruction& instruction : block) {
    ISTHMUS_RETURN_IF_ERROR(writeInstruction(instruction));
  }
  return {};
}

StatusOr<std::string> FunctionWriter::write() {
  out_ = "kernel void " + function_.getName().str() + "(";
  for (const llvm::Argument& argument : function_.args()) {
    ISTHMUS_ASSIGN_OR_RETURN(std::string type, typeName(argument.getType()));
    std::string name = "a" + std::to_string(argument.getArgNo());
    names_[&argument] = name;
    out_ += (argument.getArgNo() > 0 ? ", " : "") + type + " " + name;
  }
  out_ += ") {\n";
  ISTHMUS_RETURN_IF_ERROR(declare());
  for (const llvm::BasicBlock& block : function_) ISTHMUS_RETURN_IF_ERROR(writeBlock(block));
  out_ += "}\n";
  return std::move(out_);
}

bool usesDoubles(const llvm::Module& module) {
  for (const llvm::Function& function : module) {
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
      if (instruction.getType()->isDoubleTy()) return true;
      for (const llvm::Value* operand : instruction.operands()) {
        if (operand->getType()->isDoubleTy()) return true;
      }
    }
  }
  return false;
}

// Whether integers of 64 bits are updated by several work-items at once.
bool exchangesLongs(const llvm::Module& module) {
  for (const llvm::Function& function : module) {
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
      if (!instruction.isAtomic()) continue;
      auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction);
      auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction);
      const llvm::Value* value = update     ? update->getValOperand()
                                 : exchange ? exchange->getNewValOperand()
                                            : nullptr;
      if (value && value->getType()->isIntegerTy(64)) return true;
    }
  }
  return false;
}

}  // namespace

StatusOr<std::string> writeOpenclC(const llvm::Module& module) {
  std::string text = "#pragma OPENCL FP_CONTRACT OFF\n";
  // In LLVM IR memory has no types: a float may be moved as an integer.
  for (const char* type : {"uchar", "ushort", "uint", "ulong", "float"}) {
    text += std::string("typedef ") + type + " __attribute__((may_alias)) any_" + type + ";\n";
  }
  if (usesDoubles(module)) {
    text +=
        "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
        "typedef double __attribute__((may_alias)) any_double;\n";
  }
  if (exchangesLongs(module)) {
    text +=
        "#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n"
        "#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable\n";
  }
  llvm::DenseMap<const llvm::Value*, std::string> tables;
  for (const llvm::GlobalVariable& table : module.globals()) {
    if (!tableOf(&table)) continue;
    std::string name = "t" + std::to_string(tables.size());
    ISTHMUS_ASSIGN_OR_RETURN(std::string array, writeTable(table, name));
    text += array;
    tables[&table] = "((constant uchar*)" + name + ")";
  }
  for (const llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    ISTHMUS_ASSIGN_OR_RETURN(std::string kernel, FunctionWriter(function, tables).write());
    text += kernel;
  }
  return text;
}

}  // namespace isthmus::opencl

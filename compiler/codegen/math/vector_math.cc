// The language of vector_math.h: operators and the simplest functions.
#include "compiler/codegen/math/vector_math.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "compiler/codegen/target/target_instructions.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/Module.h"

namespace isthmus::codegen {
namespace {

V unary(llvm::Intrinsic::ID id, V a) { return {a.c, a.c->b.CreateUnaryIntrinsic(id, a.v)}; }

}  // namespace

V V::asInt() const {
  return {c, c->b.CreateBitCast(v, v->getType()->getWithNewType(c->b.getIntNTy(bits())))};
}
V V::asFloat() const {
  llvm::Type* type = bits() == 64 ? c->b.getDoubleTy() : c->b.getFloatTy();
  return {c, c->b.CreateBitCast(v, v->getType()->getWithNewType(type))};
}

V operator+(V a, V b) {
  return {a.c, a.isFloat() ? a.c->b.CreateFAdd(a.v, b.v) : a.c->b.CreateAdd(a.v, b.v)};
}
V operator-(V a, V b) {
  return {a.c, a.isFloat() ? a.c->b.CreateFSub(a.v, b.v) : a.c->b.CreateSub(a.v, b.v)};
}
V operator*(V a, V b) {
  return {a.c, a.isFloat() ? a.c->b.CreateFMul(a.v, b.v) : a.c->b.CreateMul(a.v, b.v)};
}
V operator/(V a, V b) {
  const TargetInstructions& target = instructionsOf(a.c->target);
  const bool isApproximate = target.approximatesQuotient(a.v->getType());
  return {a.c, isApproximate ? target.quotient(a.c->b, a.v, b.v) : a.c->b.CreateFDiv(a.v, b.v)};
}
V operator-(V a) { return {a.c, a.isFloat() ? a.c->b.CreateFNeg(a.v) : a.c->b.CreateNeg(a.v)}; }
V operator&(V a, V b) { return {a.c, a.c->b.CreateAnd(a.v, b.v)}; }
V operator|(V a, V b) { return {a.c, a.c->b.CreateOr(a.v, b.v)}; }
V operator^(V a, V b) { return {a.c, a.c->b.CreateXor(a.v, b.v)}; }
V operator~(V a) { return {a.c, a.c->b.CreateNot(a.v)}; }
V operator<<(V a, int bits) { return {a.c, a.c->b.CreateShl(a.v, bits)}; }
V shiftRight(V a, int bits) { return {a.c, a.c->b.CreateLShr(a.v, bits)}; }
V shiftRightSigned(V a, int bits) { return {a.c, a.c->b.CreateAShr(a.v, bits)}; }

#define ISTHMUS_COMPARISON(symbol, floats, integers)                                 \
  V operator symbol(V a, V b) {                                                      \
    return {a.c, a.isFloat() ? a.c->b.floats(a.v, b.v) : a.c->b.integers(a.v, b.v)}; \
  }
ISTHMUS_COMPARISON(<, CreateFCmpOLT, CreateICmpSLT)
ISTHMUS_COMPARISON(>, CreateFCmpOGT, CreateICmpSGT)
ISTHMUS_COMPARISON(<=, CreateFCmpOLE, CreateICmpSLE)
ISTHMUS_COMPARISON(>=, CreateFCmpOGE, CreateICmpSGE)
ISTHMUS_COMPARISON(==, CreateFCmpOEQ, CreateICmpEQ)
ISTHMUS_COMPARISON(!=, CreateFCmpUNE, CreateICmpNE)
#undef ISTHMUS_COMPARISON

V isNan(V a) { return {a.c, a.c->b.CreateFCmpUNO(a.v, a.v)}; }
V select(V condition, V a, V b) { return {a.c, a.c->b.CreateSelect(condition.v, a.v, b.v)}; }

V fma(V a, V b, V c) {
  if (!a.c->target.fma) return a * b + c;
  return {a.c, a.c->b.CreateIntrinsic(llvm::Intrinsic::fma, {a.v->getType()}, {a.v, b.v, c.v})};
}

namespace {

// Of a divisor whose reciprocal is the sum of two normal numbers.
int largestExponent(V x) { return x.isF64() ? 500 : 64; }

}  // namespace

V divide(V a, V b) {
  auto* constant = llvm::dyn_cast<llvm::Constant>(b.v);
  if (constant && constant->getType()->isVectorTy()) constant = constant->getSplatValue();
  auto* number = llvm::dyn_cast_or_null<llvm::ConstantFP>(constant);
  if (!number || !a.c->target.fma || !number->getValueAPF().isNormal()) return a / b;
  const double divisor = number->getValueAPF().convertToDouble();
  if (std::abs(std::ilogb(divisor)) > largestExponent(a)) return a / b;
  llvm::APFloat inverse(0.0);
  if (number->getValueAPF().getExactInverse(&inverse)) return a * (1 / divisor);
  // The reciprocal as the sum of two numbers of one sign, so that zeros keep theirs and no
  // infinities of different signs meet (Brisebarre, Muller and Raina, "Accelerating Correctly
  // Rounded Floating-Point Division when the Divisor Is Known in Advance", 2004).
  double high = a.isF64() ? 1 / divisor : static_cast<float>(1 / divisor);
  // A single rounding more does no harm where the result has few bits.
  if (a.c->resultBits <= kFewBits) return a * high;
  auto rest = [&] { return std::fma(-high, divisor, 1.0) / divisor; };
  if (rest() * high < 0) {
    high = a.isF64() ? std::nextafter(high, 0.0) : std::nextafter(static_cast<float>(high), 0.0f);
  }
  return fma(a, high, a * rest());
}

Divisor divisorOf(V value) {
  // What makes both parts of the reciprocal normal numbers.
  const double most = std::ldexp(1.0, largestExponent(value));
  V magnitude = abs(value);
  V scale = select(magnitude < 1 / most, most, value.k(1.0));
  scale = select(magnitude > most, 1 / most, scale);
  V scaled = value * scale;
  // One part rounded towards zero, so that the other has its sign and is not zero: see above.
  V nearest{value.c, value.c->b.CreateFDiv(value.k(1.0).v, scaled.v)};
  V excess = fma(-nearest, scaled, nearest.k(1.0));
  V below = (nearest.asInt() - nearest.asInt().ki(1)).asFloat();
  V high = select(excess <= 0.0, below, nearest);
  V low = fma(-high, scaled, high.k(1.0)) * high;
  // Zero, infinity and NaN have no excess: their reciprocal is both parts.
  return {scale, high, select(isNan(excess), nearest, low)};
}

V divide(V a, const Divisor& b) {
  a = a * b.scale;
  return a.c->resultBits <= kFewBits ? a * b.high : fma(a, b.high, a * b.low);
}

V abs(V a) { return unary(llvm::Intrinsic::fabs, a); }
V sqrt(V a) { return unary(llvm::Intrinsic::sqrt, a); }
V floor(V a) { return unary(llvm::Intrinsic::floor, a); }
V ceil(V a) { return unary(llvm::Intrinsic::ceil, a); }
V roundEven(V a) { return unary(llvm::Intrinsic::roundeven, a); }
V trunc(V a) { return unary(llvm::Intrinsic::trunc, a); }
V copySign(V magnitude, V sign) {
  V bits = sign.asInt();
  V mask = bits.ki(sign.isF64() ? std::numeric_limits<int64_t>::min()
                                : std::numeric_limits<int32_t>::min());
  return ((magnitude.asInt() & ~mask) | (bits & mask)).asFloat();
}

V roundAway(V a) {
  // The half is added to the magnitude's truncation only where the rest is at least a half, since
  // adding it to the number itself rounds 0.49999997 up.
  V magnitude = abs(a);
  V whole = trunc(magnitude);
  V up = magnitude - whole >= a.k(0.5);
  return copySign(select(up, whole + a.k(1), whole), a);
}

V toInt(V a) { return {a.c, a.c->b.CreateFPToSI(a.v, a.asInt().v->getType())}; }
V toFloat(V a) {
  llvm::Type* type = a.bits() == 64 ? a.c->b.getDoubleTy() : a.c->b.getFloatTy();
  return {a.c, a.c->b.CreateSIToFP(a.v, a.v->getType()->getWithNewType(type))};
}

V polynomial(V x, llvm::ArrayRef<double> coefficients) {
  size_t i = coefficients.size() - 1;
  V sum = x.k(coefficients[i]);
  if (coefficients[i] == 1 && i > 0) sum = x + coefficients[--i];
  while (i-- > 0) sum = fma(sum, x, coefficients[i]);
  return sum;
}

V polynomialEstrin(V x, llvm::ArrayRef<double> coefficients) {
  llvm::SmallVector<V, 8> terms;
  for (size_t i = 0; i + 1 < coefficients.size(); i += 2) {
    terms.push_back(fma(x, coefficients[i + 1], x.k(coefficients[i])));
  }
  if (coefficients.size() % 2) terms.push_back(x.k(coefficients.back()));
  V power = x;
  while (terms.size() > 1) {
    power = power * power;
    llvm::SmallVector<V, 8> next;
    for (size_t i = 0; i + 1 < terms.size(); i += 2) {
      next.push_back(fma(terms[i + 1], power, terms[i]));
    }
    if (terms.size() % 2) next.push_back(terms.back());
    terms = next;
  }
  return terms[0];
}

V rsqrt(V x) { return x.k(1.0) / sqrt(x); }

V sign(V x) {
  V one = copySign(x.k(1.0), x);
  return select(abs(x) > x.k(0.0), one, x);
}

// For a constant, but NaN and zeros: one instruction, whose second operand comes out for NaNs.
static bool isPlainConstant(V x) {
  auto* constant = llvm::dyn_cast<llvm::Constant>(x.v);
  if (!constant) return false;
  if (constant->getType()->isVectorTy()) constant = constant->getSplatValue();
  auto* number = llvm::dyn_cast_or_null<llvm::ConstantFP>(constant);
  return number && !number->isZero() && !number->isNaN();
}

static bool isPositiveZero(V x) {
  auto* constant = llvm::dyn_cast<llvm::Constant>(x.v);
  if (!constant) return false;
  return constant->isNullValue();
}

// The infinity that no number is beyond: whatever it is compared with comes out, NaN included.
static bool isInfinite(V x, bool isNegative) {
  if (!isPlainConstant(x)) return false;
  auto* constant = llvm::cast<llvm::Constant>(x.v);
  if (constant->getType()->isVectorTy()) constant = constant->getSplatValue();
  auto* number = llvm::cast<llvm::ConstantFP>(constant);
  return number->isInfinity() && number->isNegative() == isNegative;
}

static V nanUnlessOrdered(V x, V y, V result) {
  V unordered{x.c, x.c->b.CreateFCmpUNO(x.v, y.v)};
  return select(unordered, {x.c, llvm::ConstantFP::getNaN(x.v->getType())}, result);
}

// By the target's instruction for it, which takes no heed of NaN: nothing where there is none.
static std::optional<V> extremumByInstruction(V x, V y, bool isMaximum) {
  const TargetInstructions& instructions = instructionsOf(x.c->target);
  if (!instructions.computesInType(x.v->getType())) return std::nullopt;
  V result{x.c, instructions.extremum(x.c->b, x.v, y.v, isMaximum)};
  return nanUnlessOrdered(x, y, result);
}

V maximum(V x, V y) {
  if (isPlainConstant(x) || isPositiveZero(x)) std::swap(x, y);
  if (isInfinite(y, /*isNegative=*/true)) return x;
  if (instructionsOf(x.c->target).ordersNumbers(x.v->getType())) {
    return {x.c, x.c->b.CreateMaximum(x.v, y.v)};
  }
  // max(x, +0): adding +0 turns -0 into +0 and changes nothing else.
  if (isPositiveZero(y)) x = x + y;
  if (isPlainConstant(y) || isPositiveZero(y)) return select(y > x, y, x);
  if (std::optional<V> result = extremumByInstruction(x, y, /*isMaximum=*/true)) return *result;
  // Which of two zeros a comparison leaves depends on their order: +0 unless both are -0.
  V larger = (select(x > y, x, y).asInt() & select(y > x, y, x).asInt()).asFloat();
  return nanUnlessOrdered(x, y, larger);
}

V minimum(V x, V y) {
  if (isPlainConstant(x)) std::swap(x, y);
  if (isInfinite(y, /*isNegative=*/false)) return x;
  if (instructionsOf(x.c->target).ordersNumbers(x.v->getType())) {
    return {x.c, x.c->b.CreateMinimum(x.v, y.v)};
  }
  if (isPlainConstant(y)) return select(y < x, y, x);
  if (std::optional<V> result = extremumByInstruction(x, y, /*isMaximum=*/false)) return *result;
  V smaller = (select(x < y, x, y).asInt() | select(y < x, y, x).asInt()).asFloat();
  return nanUnlessOrdered(x, y, smaller);
}

namespace {

// The C library's function of this name in the module.
llvm::FunctionCallee libraryFunction(const char* name, llvm::ArrayRef<V> operands) {
  llvm::Type* scalar = operands[0].v->getType()->getScalarType();
  std::string symbol = std::string(name) + (scalar->isFloatTy() ? "f" : "");
  llvm::SmallVector<llvm::Type*, 2> types(operands.size(), scalar);
  llvm::Module* module = operands[0].c->b.GetInsertBlock()->getModule();
  return module->getOrInsertFunction(symbol, llvm::FunctionType::get(scalar, types, false));
}

llvm::Value* callOnce(llvm::IRBuilder<>& b, llvm::FunctionCallee callee,
                      llvm::ArrayRef<llvm::Value*> arguments) {
  llvm::CallInst* call = b.CreateCall(callee, arguments);
  call->setDoesNotThrow();
  call->setDoesNotAccessMemory();
  return call;
}

llvm::Value* callForEachLane(llvm::IRBuilder<>& b, llvm::FunctionCallee callee,
                             llvm::ArrayRef<llvm::Value*> vectors) {
  auto* type = llvm::cast<llvm::FixedVectorType>(vectors[0]->getType());
  llvm::Value* result = llvm::PoisonValue::get(type);
  for (unsigned lane = 0; lane < type->getNumElements(); ++lane) {
    llvm::SmallVector<llvm::Value*, 2> arguments;
    for (llvm::Value* vector : vectors) arguments.push_back(b.CreateExtractElement(vector, lane));
    result = b.CreateInsertElement(result, callOnce(b, callee, arguments), lane);
  }
  return result;
}

// The module's function that calls `callee` for each lane of vectors of this type.
llvm::Function* functionOfVectors(llvm::Module& module, llvm::FunctionCallee callee,
                                  llvm::FixedVectorType* type) {
  std::string name =
      (callee.getCallee()->getName() + "_of_" + llvm::Twine(type->getNumElements())).str();
  if (llvm::Function* known = module.getFunction(name)) return known;
  llvm::SmallVector<llvm::Type*, 2> types(callee.getFunctionType()->getNumParams(), type);
  auto* function = llvm::Function::Create(llvm::FunctionType::get(type, types, false),
                                          llvm::GlobalValue::InternalLinkage, name, module);
  function->addFnAttr(llvm::Attribute::NoInline);
  function->setDoesNotThrow();
  function->setDoesNotAccessMemory();
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(module.getContext(), "entry", function));
  llvm::SmallVector<llvm::Value*, 2> vectors;
  for (llvm::Argument& argument : function->args()) vectors.push_back(&argument);
  b.CreateRet(callForEachLane(b, callee, vectors));
  return function;
}

}  // namespace

V callPerLane(const char* name, llvm::ArrayRef<V> operands) {
  llvm::IRBuilder<>& b = operands[0].c->b;
  llvm::FunctionCallee callee = libraryFunction(name, operands);
  llvm::SmallVector<llvm::Value*, 2> values;
  for (V operand : operands) values.push_back(operand.v);
  const bool isVector = values[0]->getType()->isVectorTy();
  return {operands[0].c,
          isVector ? callForEachLane(b, callee, values) : callOnce(b, callee, values)};
}

V callSeldom(const char* name, llvm::ArrayRef<V> operands) {
  auto* type = llvm::dyn_cast<llvm::FixedVectorType>(operands[0].v->getType());
  if (!type) return callPerLane(name, operands);
  llvm::IRBuilder<>& b = operands[0].c->b;
  llvm::Function* function =
      functionOfVectors(*b.GetInsertBlock()->getModule(), libraryFunction(name, operands), type);
  llvm::SmallVector<llvm::Value*, 2> values;
  for (V operand : operands) values.push_back(operand.v);
  return {operands[0].c, callOnce(b, function, values)};
}

}  // namespace isthmus::codegen

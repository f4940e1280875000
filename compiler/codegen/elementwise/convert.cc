// Conversions: between element types, and between memory's and registers' formats of one type.
#include <cmath>

#include "compiler/codegen/elementwise/elementwise.h"
#include "compiler/codegen/evaluator.h"
#include "compiler/codegen/target/target_instructions.h"

namespace isthmus::codegen {
namespace {

llvm::Type* like(llvm::Value* value, llvm::Type* scalar) {
  return value->getType()->getWithNewType(scalar);
}

FloatFormat formatOf(const ElementKind& kind) {
  return kind.isF16 ? *floatFormatOf(ElementType::kF16) : *kind.format;
}

// The largest finite value.
double largestOf(const FloatFormat& f) {
  int top = (1 << f.exponentBits) - 1 - f.bias;
  double ulp = std::ldexp(1.0, -f.mantissaBits);
  if (f.hasInfinity()) return std::ldexp(2 - ulp, top - 1);
  if (f.hasNegativeZero() && f.hasNan()) return std::ldexp(2 - 2 * ulp, top);
  return std::ldexp(2 - ulp, top);
}

bool isPowersOnly(const FloatFormat& f) { return f.mantissaBits == 0; }

bool hasPowersOnly(const ElementKind& kind) { return kind.format && isPowersOnly(*kind.format); }

// The least of these powers, which is subnormal in f32: conversions between f32 and f64 may take it
// for zero.
constexpr double kLeastPower = 0x1p-127;
constexpr int32_t kLeastPowerBits = 0x400000;

// f32 to the nearest value of the format, ties to even.
V roundToFormat(V x, const FloatFormat& f) {
  double nan = std::nan("");
  V magnitude = abs(x);
  if (isPowersOnly(f)) {
    // Powers of two from 2^-127 to 2^127: the mantissa rounds to a carry or to nothing. The digit
    // before it is always 1, so that ties go up. Everything that is not positive has no nearest
    // value.
    V bits = magnitude.asInt();
    V rounded = ((bits + bits.ki(0x400000)) & bits.ki(0x7f800000)).asFloat();
    // Subnormal in f32, where kLeastPowerBits is the least.
    rounded = select(bits < bits.ki(0x600000), rounded.k(kLeastPower), rounded);
    // By its bits: instructions may take subnormals for zero.
    V bad = (x.asInt() < bits.ki(1)) | isNan(x) | (rounded > rounded.k(std::ldexp(1.0, 127)));
    return select(bad, nan, rounded);
  }
  int drop = 23 - f.mantissaBits;
  V bits = magnitude.asInt();
  V rounded = ((bits + bits.ki((1 << (drop - 1)) - 1) + (shiftRight(bits, drop) & bits.ki(1))) &
               bits.ki(-(1 << drop)))
                  .asFloat();
  // Below the smallest normal number the spacing stays that of the subnormals.
  double quantum = std::ldexp(1.0, 1 - f.bias - f.mantissaBits);
  V magic = x.k(std::ldexp(quantum, 23));
  V subnormal = (magnitude + magic) - magic;
  rounded = select(magnitude < x.k(std::ldexp(1.0, 1 - f.bias)), subnormal, rounded);
  double largest = largestOf(f);
  double beyond = f.hasInfinity() ? std::numeric_limits<double>::infinity()
                  : f.hasNan()    ? nan
                                  : largest;
  rounded = select(rounded > x.k(largest), beyond, rounded);
  rounded = copySign(rounded, x);
  if (!f.hasNegativeZero()) rounded = rounded + x.k(0.0);  // -0 becomes +0
  // Without a NaN of its own, NaN becomes -0.
  return select(isNan(x), f.hasNan() ? x : x.k(-0.0), rounded);
}

// The code of an f32 that the format has exactly, as i32.
V packFormat(V x, const FloatFormat& f) {
  V bits = x.asInt();
  V magnitude = bits & bits.ki(0x7fffffff);
  if (isPowersOnly(f)) {
    V code = shiftRight(magnitude, 23);
    return select(isNan(x), code.ki(0xff), code);
  }
  int drop = 23 - f.mantissaBits;
  V normal = shiftRight(magnitude, drop) - magnitude.ki((127 - f.bias) << f.mantissaBits);
  V subnormal = toInt(abs(x) * x.k(std::ldexp(1.0, f.bias + f.mantissaBits - 1)));
  V code = select(abs(x) < x.k(std::ldexp(1.0, 1 - f.bias)), subnormal, normal);
  int signShift = 31 - (f.exponentBits + f.mantissaBits);
  V sign = shiftRight(bits, signShift) & bits.ki(1 << (f.exponentBits + f.mantissaBits));
  int top = ((1 << f.exponentBits) - 1) << f.mantissaBits;
  if (f.hasInfinity()) {
    code = select(abs(x) > x.k(largestOf(f)), code.ki(top), code);
    // NaN keeps what fits of its payload, so that moving data does not change it.
    V payload = shiftRight(bits, drop) & bits.ki((1 << f.mantissaBits) - 1);
    payload = select(payload == payload.ki(0), payload.ki(1 << (f.mantissaBits - 1)), payload);
    code = select(isNan(x), payload | payload.ki(top), code);
  } else if (f.hasNan() && f.hasNegativeZero()) {
    code = select(isNan(x), code.ki(top | ((1 << f.mantissaBits) - 1)), code);
  }
  code = code | sign;
  if (f.hasNan() && !f.hasNegativeZero()) {
    code = select(isNan(x), code.ki(1 << (f.exponentBits + f.mantissaBits)), code);
  }
  return code;
}

V unpackFormat(V code, const FloatFormat& f) {
  if (isPowersOnly(f)) {
    V exponent = code & code.ki(0xff);
    V value = (exponent << 23).asFloat();
    value = select(exponent == code.ki(0), value.k(kLeastPower), value);
    return select(exponent == code.ki(0xff), value.k(std::nan("")), value);
  }
  int width = f.exponentBits + f.mantissaBits;
  V magnitude = code & code.ki((1 << width) - 1);
  V normal = ((magnitude << (23 - f.mantissaBits)) + code.ki((127 - f.bias) << 23)).asFloat();
  V subnormal = toFloat(magnitude) * normal.k(std::ldexp(1.0, 1 - f.bias - f.mantissaBits));
  V value = select(magnitude < code.ki(1 << f.mantissaBits), subnormal, normal);
  V nan = value.k(std::nan(""));
  int top = ((1 << f.exponentBits) - 1) << f.mantissaBits;
  if (f.hasInfinity()) {
    value =
        select(magnitude == code.ki(top), value.k(std::numeric_limits<double>::infinity()), value);
    V payload = (magnitude << (23 - f.mantissaBits)) & magnitude.ki(0x7fffff);
    value = select(magnitude > code.ki(top), (payload | payload.ki(0x7f800000)).asFloat(), value);
  } else if (f.hasNan() && f.hasNegativeZero()) {
    value = select(magnitude == code.ki(top | ((1 << f.mantissaBits) - 1)), nan, value);
  }
  V sign = (code & code.ki(1 << width)) << (31 - width);
  V result = (value.asInt() | sign).asFloat();
  if (f.hasNan() && !f.hasNegativeZero()) {
    result = select((code & code.ki((2 << width) - 1)) == code.ki(1 << width), nan, result);
  }
  return result;
}

// The power of two next to an f64, given `narrow`, which is right from the least normal f32 on.
V roundToLeastPowers(V x, V narrow) {
  V least = select(x < x.k(1.5 * kLeastPower), kLeastPower, narrow.k(2 * kLeastPower));
  return select((x > x.k(0)) & (x < x.k(2 * kLeastPower)), least, narrow);
}

// f64 to f32, where an inexact result gets an odd last bit: rounding it once more, to a narrower
// format, then gives what rounding the f64 directly would.
V toF32RoundingToOdd(V x) {
  llvm::IRBuilder<>& b = x.c->b;
  llvm::Type* f32 = like(x.v, b.getFloatTy());
  V narrow(x.c, b.CreateFPTrunc(x.v, f32));
  V back(x.c, b.CreateFPExt(narrow.v, x.v->getType()));
  llvm::Value* inexact = b.CreateFCmpONE(back.v, x.v);
  llvm::Value* above = b.CreateFCmpOGT(abs(back).v, abs(x).v);
  V bits = narrow.asInt();
  V truncated = bits - V(x.c, b.CreateZExt(above, bits.v->getType()));
  V odd = truncated | bits.ki(1);
  // An overflow to infinity stays (every narrower format overflows too).
  llvm::Value* finite =
      b.CreateFCmpONE(abs(narrow).v, narrow.k(std::numeric_limits<double>::infinity()).v);
  return select(V(x.c, b.CreateAnd(inexact, finite)), odd, bits).asFloat();
}

}  // namespace

llvm::Value* wrapInteger(llvm::IRBuilder<>& b, llvm::Value* value, const ElementKind& kind) {
  if (!kind.isSubByte()) return value;
  if (!kind.isSigned) {
    return b.CreateAnd(value, llvm::ConstantInt::get(value->getType(), (1 << kind.bits) - 1));
  }
  return b.CreateAShr(b.CreateShl(value, 8 - kind.bits), 8 - kind.bits);
}

llvm::Value* roundToKind(llvm::IRBuilder<>& b, const TargetModel& target, llvm::Value* value,
                         const ElementKind& kind, Rounded what) {
  if (!kind.small) return value;
  MathContext math{b, target};
  V x(&math, value);
  if (kind.isBf16) {
    // One instruction, which takes subnormals for zero on CPUs; lanes only there, for a scalar has
    // to be moved. On GPUs it is exact, and NaN has no payload.
    const bool isGpu = target.device == DeviceKind::kGpu;
    const bool hasInstruction = target.roundsToBf16 && (value->getType()->isVectorTy() || isGpu);
    const bool isNeverSubnormal = what == Rounded::kArithmetic ||
                                  what == Rounded::kWideArithmetic || what == Rounded::kInteger;
    if (hasInstruction && (isNeverSubnormal || isGpu)) {
      llvm::Value* narrow = b.CreateFPTrunc(value, like(value, b.getBFloatTy()));
      llvm::Value* bits = b.CreateBitCast(narrow, like(value, b.getInt16Ty()));
      return bitsToFloat(b, target, bits, kind);
    }
    // NaN has the payload of an operand, a bf16, or none: adding does not carry into its sign.
    const bool isArithmetic =
        what == Rounded::kInteger || (instructionsOf(target).keepsNanPayloads() &&
                                      (what == Rounded::kArithmetic || what == Rounded::kOperand));
    V bits = x.asInt();
    const V kept = bits.ki(static_cast<int32_t>(0xffff0000));
    // In its place, since there and back takes twice as long as these short instructions: a mask
    // and an addition under it.
    if (isArithmetic && hasInstruction) {
      V isOdd = (bits & bits.ki(0x10000)) != bits.ki(0);
      V rounded = select(isOdd, bits + bits.ki(0x8000), bits + bits.ki(0x7fff));
      return (rounded & kept).asFloat().v;
    }
    V rounded = (bits + bits.ki(0x7fff) + (shiftRight(bits, 16) & bits.ki(1))) & kept;
    if (isArithmetic) return rounded.asFloat().v;
    V quiet = (bits | bits.ki(0x400000)) & kept;
    return select(isNan(x), quiet, rounded).asFloat().v;
  }
  if (kind.isF16 && target.convertsF16) {
    llvm::Type* half = like(value, b.getHalfTy());
    return b.CreateFPExt(b.CreateFPTrunc(value, half), value->getType());
  }
  return roundToFormat(x, formatOf(kind)).v;
}

llvm::Value* floatToBits(llvm::IRBuilder<>& b, const TargetModel& target, llvm::Value* value,
                         const ElementKind& kind) {
  MathContext math{b, target};
  V x(&math, value);
  if (kind.isBf16) {
    return b.CreateTrunc(shiftRight(x.asInt(), 16).v, like(value, b.getInt16Ty()));
  }
  if (kind.isF16 && target.convertsF16) return b.CreateFPTrunc(value, like(value, b.getHalfTy()));
  V code = packFormat(x, formatOf(kind));
  if (kind.isF16) {
    return b.CreateBitCast(b.CreateTrunc(code.v, like(value, b.getInt16Ty())),
                           like(value, b.getHalfTy()));
  }
  return b.CreateTrunc(code.v, like(value, b.getInt8Ty()));
}

llvm::Value* bitsToFloat(llvm::IRBuilder<>& b, const TargetModel& target, llvm::Value* bits,
                         const ElementKind& kind) {
  MathContext math{b, target};
  llvm::Type* f32 = like(bits, b.getFloatTy());
  llvm::Type* i32 = like(bits, b.getInt32Ty());
  if (kind.isBf16) {
    return b.CreateBitCast(b.CreateShl(b.CreateZExt(bits, i32), 16), f32);
  }
  if (kind.isF16 && target.convertsF16) return b.CreateFPExt(bits, f32);
  if (kind.isF16) bits = b.CreateBitCast(bits, like(bits, b.getInt16Ty()));
  return unpackFormat(V(&math, b.CreateZExt(bits, i32)), formatOf(kind)).v;
}

// Bits of an integer beside its sign, and of a register's float with the digit that is implied.
static int valueBitsOf(const ElementKind& to) {
  return static_cast<int>(to.bits) - (to.isSigned ? 1 : 0);
}
static int precisionOf(V x) { return x.v->getType()->getScalarType()->isDoubleTy() ? 53 : 24; }

// `x` where it converts to `to` towards zero, else the nearest such number; 0 for NaN.
static V clampToInteger(V x, const ElementKind& to) {
  const double bound = std::ldexp(1.0, valueBitsOf(to));
  const double lowest = to.isSigned ? -bound : 0;
  const double highest = bound - std::ldexp(1.0, valueBitsOf(to) - precisionOf(x));
  x = select(x < x.k(lowest), lowest, x);
  x = select(x > x.k(highest), highest, x);
  return select(isNan(x), 0.0, x);
}

// To integers of 32 or 64 bits, in whole vectors: LLVM's saturating conversion to x86 is of one
// element after the other.
static llvm::Value* saturatingVector(llvm::IRBuilder<>& b, V x, llvm::Type* wanted,
                                     const ElementKind& to) {
  const V inside = clampToInteger(x, to);
  llvm::Value* result =
      to.isSigned ? b.CreateFPToSI(inside.v, wanted) : b.CreateFPToUI(inside.v, wanted);
  if (precisionOf(x) >= valueBitsOf(to)) return result;
  // The float next below the bound is not the largest integer.
  const V bound = x.k(std::ldexp(1.0, valueBitsOf(to)));
  const llvm::APInt largest =
      to.isSigned ? llvm::APInt::getSignedMaxValue(to.bits) : llvm::APInt::getMaxValue(to.bits);
  return b.CreateSelect((x >= bound).v, llvm::ConstantInt::get(wanted, largest), result);
}

// An integer that `precision` bits hold: itself, or of the two next to it the one that is odd in
// the last of these bits, so that rounding it once more, to fewer bits, gives what rounding the
// integer directly would.
static llvm::Value* toBitsRoundingToOdd(llvm::IRBuilder<>& b, llvm::Value* value, bool isSigned,
                                        unsigned precision) {
  llvm::Type* type = value->getType();
  auto constant = [&](const llvm::APInt& number) { return llvm::ConstantInt::get(type, number); };
  const unsigned bits = type->getScalarSizeInBits();
  const unsigned dropped = bits - precision;
  llvm::Value* low = constant(llvm::APInt::getLowBitsSet(bits, dropped));
  llvm::Value* last = constant(llvm::APInt::getOneBitSet(bits, dropped));
  llvm::Value* isInexact = b.CreateAnd(b.CreateAdd(b.CreateAnd(value, low), low), last);
  llvm::Value* odd = b.CreateOr(b.CreateAnd(value, b.CreateNot(low)), isInexact);
  // Whether it has more bits than that; the magnitude of negative numbers in two's complement.
  const llvm::APInt bound = llvm::APInt::getOneBitSet(bits, precision);
  llvm::Value* fits =
      isSigned ? b.CreateICmpULT(b.CreateAdd(value, constant(bound)), constant(bound.shl(1)))
               : b.CreateICmpULT(value, constant(bound));
  return b.CreateSelect(fits, value, odd);
}

static llvm::Value* convertPart(llvm::IRBuilder<>& b, const TargetModel& target, llvm::Value* value,
                                const ElementKind& from, const ElementKind& to, Rounded what) {
  llvm::Type* wanted = like(value, to.computeType(b.getContext()));
  bool fromFloat = from.isFloat() || from.isComplex();
  bool toFloat = to.isFloat() || to.isComplex();
  MathContext math{b, target};
  if (to.isBool()) {
    if (from.isBool()) return value;
    if (fromFloat) return b.CreateFCmpUNE(value, llvm::Constant::getNullValue(value->getType()));
    return b.CreateICmpNE(value, llvm::Constant::getNullValue(value->getType()));
  }
  bool fromSigned = from.isSigned && !from.isBool();
  if (!fromFloat && !toFloat) {
    llvm::Value* result =
        fromSigned ? b.CreateSExtOrTrunc(value, wanted) : b.CreateZExtOrTrunc(value, wanted);
    return wrapInteger(b, result, to);
  }
  if (!fromFloat) {
    // To a narrow float by way of f32, and of f64 from integers that f32 has no bits for.
    const bool isWide = to.small && from.bits > 32;
    if (to.small && from.bits > 16)
      value = toBitsRoundingToOdd(b, value, fromSigned, isWide ? 53 : 24);
    llvm::Type* through = isWide ? like(value, b.getDoubleTy()) : wanted;
    llvm::Value* number =
        fromSigned ? b.CreateSIToFP(value, through) : b.CreateUIToFP(value, through);
    if (isWide) number = toF32RoundingToOdd(V(&math, number)).v;
    return roundToKind(b, target, number, to, Rounded::kInteger);
  }
  if (toFloat) {
    if (from.bits == 64 && to.small) {
      const V wide(&math, value);
      const V narrow(&math, roundToKind(b, target, toF32RoundingToOdd(wide).v, to));
      return hasPowersOnly(to) ? roundToLeastPowers(wide, narrow).v : narrow.v;
    }
    llvm::Value* number = b.CreateFPCast(value, wanted);
    if (hasPowersOnly(from) && to.bits == 64) {
      const V bits = V(&math, value).asInt();
      const V wide(&math, number);
      return select(bits == bits.ki(kLeastPowerBits), wide.k(kLeastPower), wide).v;
    }
    if (from.isFloat() && from.small && to.bits >= 32) return number;
    return roundToKind(b, target, number, to, from.bits == 32 ? what : Rounded::kAnything);
  }
  // Towards zero; what does not fit becomes the nearest integer that does, NaN becomes 0.
  if (to.bits <= 16) {
    // By way of i32, which vectors convert to; LLVM would convert elements one by one.
    const V x = clampToInteger(V(&math, value), to);
    return b.CreateTrunc(b.CreateFPToSI(x.v, like(value, b.getInt32Ty())), wanted);
  }
  if (value->getType()->isVectorTy() && target.intrinsics == Intrinsics::kX86) {
    return saturatingVector(b, V(&math, value), wanted, to);
  }
  auto id = to.isSigned ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
  return b.CreateIntrinsic(id, {wanted, value->getType()}, {value});
}

Val convertValue(llvm::IRBuilder<>& b, const TargetModel& target, Val operand,
                 const ElementKind& from, const ElementKind& to, Rounded what) {
  Val result = operand;
  result.im = nullptr;
  result.re = convertPart(b, target, operand.re, from, to, what);
  if (to.isComplex()) {
    result.im = from.isComplex() ? convertPart(b, target, operand.im, from, to, what)
                                 : llvm::Constant::getNullValue(result.re->getType());
  }
  return result;
}

Val Evaluator::bitcastAt(mlir::Operation* op, const MultiIndex& index) {
  ElementKind from = kindOf(op->getOperand(0));
  ElementKind to = kindOf(op->getResult(0));
  auto fromType = mlir::cast<mlir::RankedTensorType>(op->getOperand(0).getType());
  auto toType = mlir::cast<mlir::RankedTensorType>(op->getResult(0).getType());
  if (fromType == toType) return get(op->getOperand(0), index);
  if (from.isComplex() || to.isComplex()) return fail(op, "bitcast between these types");
  // As integers of `bits` bits: a register's value to its bits and back.
  auto toBits = [&](llvm::IRBuilder<>& b, llvm::Value* value, const ElementKind& kind) {
    llvm::Value* bits = value;
    if (kind.isBool()) return b.CreateZExt(bits, like(bits, b.getInt8Ty()));
    if (kind.isFloat()) {
      if (kind.small) bits = floatToBits(b, loops_.target(), value, kind);
      unsigned width = bits->getType()->getScalarSizeInBits();
      bits = b.CreateBitCast(bits, like(bits, b.getIntNTy(width)));
    }
    if (kind.bits < 8) {
      bits = b.CreateAnd(bits, llvm::ConstantInt::get(bits->getType(), (1 << kind.bits) - 1));
    }
    return bits;
  };
  auto fromBits = [&](llvm::IRBuilder<>& b, llvm::Value* bits, const ElementKind& kind) {
    if (kind.isBool()) return b.CreateTrunc(bits, like(bits, b.getInt1Ty()));
    if (!kind.isFloat()) return wrapInteger(b, bits, kind);
    if (!kind.small) return b.CreateBitCast(bits, like(bits, kind.computeType(b.getContext())));
    if (kind.isF16) bits = b.CreateBitCast(bits, like(bits, b.getHalfTy()));
    return bitsToFloat(b, loops_.target(), bits, kind);
  };
  if (from.bits == to.bits) {
    Val value = get(op->getOperand(0), index);
    llvm::IRBuilder<>& b = loops_.at(value.level);
    value.re = fromBits(b, toBits(b, value.re, from), to);
    return value;
  }
  MultiIndex apart = normalize(index, toType.getShape());
  if (from.bits > to.bits) {
    // The result has one more dimension: which piece of the operand's element.
    IndexExpr piece = apart.dims.pop_back_val();
    Val value = get(op->getOperand(0), apart);
    unsigned lanes = std::max(value.lanes(), piece.isUniform() ? 1u : lanes_);
    Level* level = nullptr;
    llvm::Value* index = loops_.laneValues(piece, lanes, &level);
    value = splat(value, lanes);
    level = LoopBuilder::deeper(level, value.level);
    llvm::IRBuilder<>& b = loops_.at(level);
    llvm::Value* bits = toBits(b, value.re, from);
    llvm::Value* amount = b.CreateMul(b.CreateZExtOrTrunc(index, bits->getType()),
                                      llvm::ConstantInt::get(bits->getType(), to.bits));
    llvm::Value* shifted = b.CreateLShr(bits, amount);
    unsigned width = to.bits < 8 ? 8 : to.bits;
    llvm::Value* part = b.CreateTrunc(shifted, like(shifted, b.getIntNTy(width)));
    if (to.bits < 8) {
      part = b.CreateAnd(part, llvm::ConstantInt::get(part->getType(), (1 << to.bits) - 1));
    }
    return {fromBits(b, part, to), nullptr, level};
  }
  // The operand's last dimension holds the pieces of one element.
  int64_t pieces = fromType.getDimSize(fromType.getRank() - 1);
  llvm::Value* whole = nullptr;
  Level* level = loops_.entry();
  llvm::SmallVector<Val, 8> parts;
  unsigned lanes = 1;
  for (int64_t i = 0; i < pieces; ++i) {
    MultiIndex at = apart;
    at.dims.push_back(IndexExpr(i));
    parts.push_back(get(op->getOperand(0), at));
    level = LoopBuilder::deeper(level, parts.back().level);
    lanes = std::max(lanes, parts.back().lanes());
  }
  for (int64_t i = 0; i < pieces; ++i) {
    Val part = splat(parts[i], lanes);
    llvm::IRBuilder<>& b = loops_.at(level);
    llvm::Value* bits = toBits(b, part.re, from);
    unsigned width = to.bits < 8 ? 8 : to.bits;
    bits = b.CreateZExt(bits, like(bits, b.getIntNTy(width)));
    bits = b.CreateShl(bits, i * from.bits);
    whole = whole ? b.CreateOr(whole, bits) : bits;
  }
  llvm::IRBuilder<>& b = loops_.at(level);
  return {fromBits(b, whole, to), nullptr, level};
}

}  // namespace isthmus::codegen

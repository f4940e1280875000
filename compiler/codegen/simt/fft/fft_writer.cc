#include "compiler/codegen/simt/fft/fft_writer.h"

#include <cmath>
#include <numbers>

#include "llvm/Support/MathExtras.h"

namespace isthmus::codegen {
namespace {

// Roots of unity up to this many are in one table; beyond, products of two.
constexpr int64_t kMaxRoots = 4096;

}  // namespace

Val FftWriter::times(const Val& x, const Val& y) {
  Val product;
  product.re = b_.CreateFSub(b_.CreateFMul(x.re, y.re), b_.CreateFMul(x.im, y.im));
  product.im = b_.CreateFAdd(b_.CreateFMul(x.re, y.im), b_.CreateFMul(x.im, y.re));
  return product;
}

llvm::Value* FftWriter::indexOf(const FftSide& side, const Line& line, llvm::Value* at) {
  llvm::Value* place = w_.plus(w_.times(line.row, side.size), at);
  return w_.plus(w_.times(place, p_.inner), line.inner);
}

llvm::Value* FftWriter::baseOf(const FftSide& side) {
  llvm::Value* base = w_.buffer(side.buffer);
  if (side.offset == 0) return base;
  return b_.CreateConstGEP1_64(b_.getInt8Ty(), base, static_cast<uint64_t>(side.offset));
}

Val FftWriter::load(const Line& line, llvm::Value* at) {
  const FftSide& side = p_.from;
  auto read = [&](llvm::Value* place) {
    return w_.load(baseOf(side), indexOf(side, line, place), side.kind);
  };
  if (!side.kind.isComplex()) {
    Val value = read(at);
    value.im = number(0);
    return value;
  }
  if (!side.isHalf) return read(at);
  // Of the first number, and the one in the middle, the imaginary part does not count.
  llvm::Value* isMirrored = b_.CreateICmpUGE(at, w_.i64(side.size));
  Val value = read(b_.CreateSelect(isMirrored, b_.CreateSub(w_.i64(p_.size), at), at));
  llvm::Value* isReal = b_.CreateOr(b_.CreateICmpEQ(at, w_.i64(0)),
                                    b_.CreateICmpEQ(b_.CreateShl(at, 1), w_.i64(p_.size)));
  value.im = b_.CreateSelect(isMirrored, b_.CreateFNeg(value.im), value.im);
  value.im = b_.CreateSelect(isReal, number(0), value.im);
  return value;
}

void FftWriter::store(const Line& line, llvm::Value* at, Val value) {
  const FftSide& side = p_.to;
  if (p_.scale != 1) {
    value.re = b_.CreateFMul(value.re, number(p_.scale));
    value.im = b_.CreateFMul(value.im, number(p_.scale));
  }
  auto write = [&] { w_.store(baseOf(side), indexOf(side, line, at), side.kind, value); };
  if (side.isHalf) {
    // The second half is the first one's conjugate in reverse, and not stored.
    w_.branch(b_.CreateICmpULT(at, w_.i64(side.size)), write);
  } else {
    write();
  }
}

Val FftWriter::root(llvm::Value* turn) {
  if (p_.size <= kMaxRoots) return fromTable(turn, 1, p_.size);
  // About the square root of the size, so that both tables are short.
  int64_t low = int64_t{1} << llvm::Log2_64_Ceil(static_cast<uint64_t>(p_.size)) / 2;
  auto [quotient, remainder] = w_.divide(turn, low);
  return times(fromTable(quotient, low, p_.size / low + 1), fromTable(remainder, 1, low));
}

// Those of high powers are products of two that are loaded: fewer loads, and hardly less exact.
FftWriter::Points FftWriter::powersOfRoot(llvm::Value* turn, int64_t count) {
  constexpr int64_t kLoaded = 4;
  Points powers;
  for (int64_t power = 0; power < count; ++power) {
    if (power == 0) {
      powers.push_back({number(1), number(0)});
    } else if (power < kLoaded || power % kLoaded == 0) {
      powers.push_back(root(w_.times(turn, power)));
    } else {
      const auto rest = static_cast<size_t>(power % kLoaded);
      powers.push_back(times(powers[static_cast<size_t>(power) - rest], powers[rest]));
    }
  }
  return powers;
}

Val FftWriter::fromTable(llvm::Value* index, int64_t step, int64_t count) {
  std::string name = "roots_" + std::to_string(p_.size) + "_" + std::to_string(step) +
                     (type()->isFloatTy() ? "_f32" : "_f64") + (p_.isInverse ? "_inverse" : "");
  llvm::GlobalVariable* table = module_.getGlobalVariable(name, /*AllowInternal=*/true);
  if (!table) {
    llvm::SmallVector<llvm::Constant*> elements;
    for (int64_t k = 0; k < count; ++k) {
      auto [re, im] = unit(k * step, p_.size);
      elements.push_back(llvm::ConstantFP::get(type(), re));
      elements.push_back(llvm::ConstantFP::get(type(), im));
    }
    auto* array = llvm::ArrayType::get(type(), elements.size());
    table = new llvm::GlobalVariable(module_, array, /*isConstant=*/true,
                                     llvm::GlobalValue::PrivateLinkage,
                                     llvm::ConstantArray::get(array, elements), name);
    table->setAlignment(llvm::Align(64));
  }
  auto part = [&](int64_t offset) {
    llvm::Value* at = w_.plus(w_.times(index, 2), w_.i64(offset));
    return b_.CreateLoad(type(), b_.CreateGEP(type(), table, at));
  };
  Val value;
  value.re = part(0);
  value.im = part(1);
  return value;
}

std::pair<double, double> FftWriter::unit(int64_t turn, int64_t size) const {
  // Exact where it can be, and small angles elsewhere.
  int64_t eighths = 8 * (turn % size);
  double angle =
      2 * std::numbers::pi * static_cast<double>(turn % size) / static_cast<double>(size);
  double re = std::cos(angle), im = std::sin(angle);
  if (eighths % (2 * size) == 0) {
    re = std::round(re);
    im = std::round(im);
  }
  return {re, p_.isInverse ? im : -im};
}

Val FftWriter::timesUnit(const Val& x, int64_t turn, int64_t size) {
  auto [re, im] = unit(turn, size);
  auto negated = [&](llvm::Value* value, bool isNegated) {
    return isNegated ? b_.CreateFNeg(value) : value;
  };
  // Half and quarter turns are exact, and take no multiplication.
  if (im == 0) return re == 1 ? x : Val{b_.CreateFNeg(x.re), b_.CreateFNeg(x.im)};
  if (re == 0) return {negated(x.im, im > 0), negated(x.re, im < 0)};
  return times(x, {number(re), number(im)});
}

FftWriter::Points FftWriter::sums(llvm::ArrayRef<Val> points) {
  const auto count = static_cast<int64_t>(points.size());
  Points results;
  for (int64_t k = 0; k < count; ++k) {
    Val sum = points[0];
    for (int64_t q = 1; q < count; ++q) {
      sum = plus(sum, timesUnit(points[static_cast<size_t>(q)], q * k, count));
    }
    results.push_back(sum);
  }
  return results;
}

// By Cooley and Tukey's algorithm where there are factors.
FftWriter::Points FftWriter::transform(llvm::ArrayRef<Val> points) {
  const size_t count = points.size();
  size_t rows = count % 4 == 0 && count > 4 ? 4 : 2;
  while (rows < count && count % rows != 0) ++rows;
  if (rows >= count) return sums(points);
  const size_t columns = count / rows;
  Points results(count), between(count);
  for (size_t column = 0; column < columns; ++column) {
    Points line;
    for (size_t row = 0; row < rows; ++row) line.push_back(points[row * columns + column]);
    line = transform(line);
    for (size_t row = 0; row < rows; ++row) {
      between[row * columns + column] =
          timesUnit(line[row], static_cast<int64_t>(row * column), static_cast<int64_t>(count));
    }
  }
  for (size_t row = 0; row < rows; ++row) {
    Points line = transform(llvm::ArrayRef(between).slice(row * columns, columns));
    for (size_t column = 0; column < columns; ++column) {
      results[column * rows + row] = line[column];
    }
  }
  return results;
}

}  // namespace isthmus::codegen

// Vectors whose elements lie apart in memory: whole vectors are read and written, and columns are
// taken out of them, or interleaved into them, in registers.
#include "compiler/codegen/access/shuffles.h"
#include "compiler/codegen/evaluator.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MathExtras.h"

namespace isthmus::codegen {
namespace {

// Elements `offsets[lane]` of what the vectors hold one after the other.
llvm::Value* pick(llvm::IRBuilder<>& b, const TargetModel& target,
                  llvm::ArrayRef<llvm::Value*> vectors, llvm::ArrayRef<int64_t> offsets) {
  int lanes = static_cast<int>(offsets.size());
  llvm::Value* result = nullptr;
  for (auto [k, vector] : llvm::enumerate(vectors)) {
    int64_t begin = static_cast<int64_t>(k) * lanes;
    llvm::SmallVector<int, 16> mask;
    bool isUsed = false;
    for (int lane = 0; lane < lanes; ++lane) {
      int64_t at = offsets[lane] - begin;
      bool isHere = at >= 0 && at < lanes;
      isUsed |= isHere;
      // Lanes that were found before stay; those that come later are undefined so far.
      mask.push_back(isHere ? lanes + static_cast<int>(at) : at < 0 ? lane : -1);
    }
    if (!isUsed) continue;
    llvm::Value* before = result ? result : vector;
    result = shuffle(b, target, before, vector, mask);
  }
  return result;
}

// Names a block of memory that is read once, from which columns are then taken.
std::string blockKey(llvm::StringRef kind, llvm::Value* base, llvm::Type* type,
                     llvm::ArrayRef<IndexExpr::Term> terms, llvm::ArrayRef<int64_t> shape) {
  std::string key = kind.str();
  auto put = [&](auto x) { key.append(reinterpret_cast<const char*>(&x), sizeof(x)); };
  put(base);
  put(type);
  for (int64_t x : shape) put(x);
  for (const IndexExpr::Term& term : terms) {
    put(term.symbol);
    put(term.coefficient);
  }
  return key;
}

}  // namespace

llvm::Value* Evaluator::transposedLoad(llvm::Value* base, llvm::Type* type, const IndexExpr& linear,
                                       Level* level) {
  if (!transposition_.symbol || linear.lanes || lanes_ != transposition_.size) return nullptr;
  bool isContiguous = false;
  for (const IndexExpr::Term& term : linear.terms) {
    isContiguous |= term.symbol == transposition_.symbol && term.coefficient == 1;
  }
  if (!isContiguous) return nullptr;
  // The block's rows run along the symbol, one row per lane. All of the block is read at once, the
  // other columns are remembered.
  int64_t first = linear.constant - transposition_.step;
  // Every step of the unrolled block asks with a constant that differs by its step: less that, all
  // of them name the same block.
  std::string key = blockKey("transposed", base, type, linear.terms, {first, linear.laneStride});
  auto columnKey = [&](unsigned column) { return key + "#" + std::to_string(column); };
  if (auto it = level->scalars.find(columnKey(transposition_.step)); it != level->scalars.end()) {
    return it->second;
  }
  unsigned size = lanes_;
  llvm::Value* pointer = loops_.address(base, type, linear);
  llvm::IRBuilder<>& b = loops_.at(level);
  llvm::Align align(loops_.function()->getParent()->getDataLayout().getTypeStoreSize(type));
  llvm::SmallVector<llvm::Value*, 16> rows;
  for (unsigned lane = 0; lane < size; ++lane) {
    int64_t offset = first + linear.laneStride * static_cast<int64_t>(lane);
    llvm::Value* from = b.CreateConstInBoundsGEP1_64(type, pointer, offset);
    rows.push_back(b.CreateAlignedLoad(llvm::FixedVectorType::get(type, size), from, align));
  }
  transposeSquare(b, loops_.target(), rows);
  for (unsigned column = 0; column < size; ++column) {
    level->scalars[columnKey(column)] = rows[column];
  }
  return rows[transposition_.step];
}

llvm::Value* Evaluator::interleavedLoad(llvm::Value* base, llvm::Type* type,
                                        const IndexExpr& linear, Level* level, int64_t count) {
  int64_t stride = std::abs(linear.laneStride);
  int64_t lanes = lanes_;
  if (linear.lanes || lanes < 4 || stride < 2 || stride > loops_.target().maxInterleave) {
    return nullptr;
  }
  // Columns next to each other read the same block if it begins at a multiple of the stride.
  int64_t first = linear.constant + std::min<int64_t>(0, linear.laneStride * (lanes - 1));
  int64_t begin = llvm::divideFloorSigned(first, stride) * stride;
  IndexExpr uniform = linear;
  uniform.constant = begin;
  uniform.laneStride = 0;
  Range range = rangeOf(uniform, 1);
  // The block is wider than what is asked for, and must not reach past the array: where it would,
  // no vector goes beyond the last element that is asked for.
  if (range.lo < 0) return nullptr;
  int64_t end = stride * lanes;
  if (range.hi + end > count) end = first - begin + stride * (lanes - 1) + 1;
  if (range.hi + end > count) return nullptr;
  // By how much vector k begins before its place in the block. Where columns are farther apart than
  // a vector is long, that concerns more vectors than the last.
  auto back = [&](int64_t k) { return std::max<int64_t>(0, (k + 1) * lanes - end); };

  std::string key = blockKey("interleaved", base, type, linear.terms, {begin, stride, lanes, end});
  llvm::Value* pointer = loops_.address(base, type, linear);
  llvm::IRBuilder<>& b = loops_.at(level);
  llvm::Align align(loops_.function()->getParent()->getDataLayout().getTypeStoreSize(type));
  llvm::SmallVector<llvm::Value*, 16> vectors;
  for (int64_t k = 0; k < stride; ++k) {
    llvm::Value*& vector = level->scalars[key + "#" + std::to_string(k)];
    if (!vector) {
      int64_t at = begin + k * lanes - back(k);
      llvm::Value* from = b.CreateConstInBoundsGEP1_64(type, pointer, at);
      vector = b.CreateAlignedLoad(llvm::FixedVectorType::get(type, lanes_), from, align);
    }
    vectors.push_back(vector);
  }
  // As many columns as lanes: one transposition gives all of them, and the neighbours will be asked
  // for.
  if (stride == lanes && linear.laneStride > 0 && end == stride * lanes) {
    auto columnKey = [&](int64_t column) { return key + "|" + std::to_string(column); };
    int64_t column = linear.constant - begin;
    if (auto it = level->scalars.find(columnKey(column)); it != level->scalars.end()) {
      return it->second;
    }
    transposeSquare(b, loops_.target(), vectors);
    for (int64_t c = 0; c < stride; ++c) level->scalars[columnKey(c)] = vectors[c];
    return vectors[column];
  }
  auto offsetsOf = [&](int64_t column) {
    Offsets offsets;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      int64_t row = linear.laneStride < 0 ? lanes - 1 - lane : lane;
      int64_t offset = column + row * stride;
      offsets.push_back(offset + back(offset / lanes));
    }
    return offsets;
  };
  int64_t column = first - begin;
  if (!hasAnyShuffle(loops_.target(), type, lanes_)) {
    return pick(b, loops_.target(), vectors, offsetsOf(column));
  }
  // The neighbours will be asked for; shuffles that are for others alone go if they are not. What
  // lies behind the last vector's end nobody can ask for.
  auto columnKey = [&](int64_t c) {
    return key + (linear.laneStride < 0 ? "<" : "|") + std::to_string(c);
  };
  if (auto it = level->scalars.find(columnKey(column)); it != level->scalars.end()) {
    return it->second;
  }
  llvm::SmallVector<Offsets, 16> wanted;
  for (int64_t c = 0; c < stride - back(stride - 1); ++c) wanted.push_back(offsetsOf(c));
  for (auto [c, value] : llvm::enumerate(pickAll(b, loops_.target(), vectors, wanted))) {
    level->scalars[columnKey(static_cast<int64_t>(c))] = value;
  }
  return level->scalars[columnKey(column)];
}

void Evaluator::storeInterleaved(llvm::Value* base, const ElementKind& kind,
                                 const IndexExpr& linear, llvm::ArrayRef<Val> columns) {
  llvm::Type* type = kind.storageType(loops_.context());
  IndexExpr first = kind.isComplex() ? scaleIndex(linear, 2) : linear;
  llvm::SmallVector<llvm::Value*, 16> parts;
  for (Val column : columns) {
    column = splat(column, lanes_);
    if (kind.isComplex()) {
      parts.append({column.re, column.im});
    } else {
      parts.push_back(toStorage(column.re, kind));
    }
  }
  int64_t lanes = lanes_, width = static_cast<int64_t>(parts.size());
  llvm::Value* pointer = loops_.address(base, type, first);
  llvm::IRBuilder<>& b = loops_.here();
  llvm::Align align(loops_.function()->getParent()->getDataLayout().getTypeStoreSize(type));
  bool isSquare = width == lanes;
  if (!isSquare && width > 1 && hasAnyShuffle(loops_.target(), type, lanes_)) {
    // Element e of the block is lane e / width of column e % width.
    llvm::SmallVector<Offsets, 16> wanted(width);
    for (int64_t e = 0; e < width * lanes; ++e) {
      wanted[e / lanes].push_back(e % width * lanes + e / width);
    }
    for (auto [k, vector] : llvm::enumerate(pickAll(b, loops_.target(), parts, wanted))) {
      int64_t at = first.constant + static_cast<int64_t>(k) * lanes;
      b.CreateAlignedStore(vector, b.CreateConstInBoundsGEP1_64(type, pointer, at), align);
    }
    return;
  }
  // log2(lanes) shuffles a vector, where picking takes up to width.
  if (width > lanes / 2 && width <= lanes && llvm::isPowerOf2_64(lanes)) {
    parts.resize(lanes, llvm::PoisonValue::get(parts[0]->getType()));
    transposeSquare(b, loops_.target(), parts);
  }
  if (!isSquare && static_cast<int64_t>(parts.size()) == lanes) {
    // What a vector has behind its row is written over by the next one. The last ends with its row.
    llvm::SmallVector<int, 16> lastTwo;
    for (int64_t e = 2 * width - lanes; e < 2 * width; ++e) {
      lastTwo.push_back(static_cast<int>(e < width ? e : lanes + e - width));
    }
    parts.back() = b.CreateShuffleVector(parts[lanes - 2], parts.back(), lastTwo);
    for (int64_t row = 0; row < lanes; ++row) {
      int64_t at = row + 1 < lanes ? row * width : (row + 1) * width - lanes;
      llvm::Value* to = b.CreateConstInBoundsGEP1_64(type, pointer, first.constant + at);
      b.CreateAlignedStore(parts[row], to, align);
    }
    return;
  }
  // Element e of the block is lane e / width of column e % width.
  auto interleaved = [&](int64_t vector) {
    llvm::SmallVector<int64_t, 16> offsets;
    for (int64_t e = vector * lanes; e < (vector + 1) * lanes; ++e) {
      offsets.push_back(e % width * lanes + e / width);
    }
    return pick(b, loops_.target(), parts, offsets);
  };
  for (int64_t k = 0; k < width; ++k) {
    llvm::Value* to = b.CreateConstInBoundsGEP1_64(type, pointer, first.constant + k * lanes);
    b.CreateAlignedStore(isSquare ? parts[k] : interleaved(k), to, align);
  }
}

}  // namespace isthmus::codegen

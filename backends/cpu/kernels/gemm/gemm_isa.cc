// The inner kernels of matrix multiplication, in vector code; compiled once per instruction set.
#include "backends/cpu/kernels/block_transpose.h"
#include "backends/cpu/kernels/element_access.h"
#include "backends/cpu/kernels/gemm/gemm_kernels.h"
#include "backends/cpu/kernels/gemm/gemm_pack_narrow.h"
#include "backends/cpu/kernels/gemm/gemm_tile.h"
#include "backends/cpu/kernels/gemm/lane_sums.h"

#ifndef ISTHMUS_ISA
#error "compile this file with ISTHMUS_ISA set to v2, v3 or v4"
#endif

namespace isthmus::cpu::ISTHMUS_ISA {
namespace {

// Each 32-bit element is a pair of 16-bit integers: adds both products.
struct PairMultiplyAdd {
  template <typename T>
  static inline __attribute__((always_inline)) Vec<T> apply(Vec<T> sum, T a, Vec<T> b) {
    // A scalar and a vector of integers make a vector; there is no broadcast to write.
    const Vec<T> pair = a - Vec<T>{};
    return sum + products(pair, b);
  }

 private:
  template <int bytes>
  using Shorts = typename VectorOf<short, bytes>::Type;

  static inline __attribute__((always_inline)) Vec<uint32_t> products(Vec<uint32_t> a,
                                                                      Vec<uint32_t> b) {
#if defined(__AVX512F__) && defined(__AVX512BW__)
    return reinterpret_cast<Vec<uint32_t>>(__builtin_ia32_pmaddwd512(
        reinterpret_cast<Shorts<64>>(a), reinterpret_cast<Shorts<64>>(b)));
#elif defined(__AVX512F__)
    typedef uint32_t Half __attribute__((vector_size(32)));
    auto low = [](Vec<uint32_t> v) {
      return reinterpret_cast<Shorts<32>>(__builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7));
    };
    auto high = [](Vec<uint32_t> v) {
      return reinterpret_cast<Shorts<32>>(
          __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15));
    };
    Half x = reinterpret_cast<Half>(__builtin_ia32_pmaddwd256(low(a), low(b)));
    Half y = reinterpret_cast<Half>(__builtin_ia32_pmaddwd256(high(a), high(b)));
    return __builtin_shufflevector(x, y, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
#elif defined(__AVX2__)
    return reinterpret_cast<Vec<uint32_t>>(__builtin_ia32_pmaddwd256(
        reinterpret_cast<Shorts<32>>(a), reinterpret_cast<Shorts<32>>(b)));
#else
    return reinterpret_cast<Vec<uint32_t>>(__builtin_ia32_pmaddwd128(
        reinterpret_cast<Shorts<16>>(a), reinterpret_cast<Shorts<16>>(b)));
#endif
  }
};

void pairTile(int64_t kc, const void* a, const void* b, void* c, int64_t ldc, int rows, int cols,
              bool accumulate) {
  packedTile<uint32_t, uint32_t, PairMultiplyAdd>((kc + 1) / 2, a, b, c, ldc, rows, cols,
                                                  accumulate);
}

// Complex: one vector of real and one of imaginary parts per row.
constexpr int kComplexRows = 6;

template <typename T, int rows>
void complexTileOf(int64_t kc, const T* a, const T* b, T* c, int64_t ldc, int cols,
                   bool accumulate) {
  constexpr int lanes = kLanes<T>;
  Vec<T> re[rows] = {}, im[rows] = {};
  for (int64_t k = 0; k < kc; ++k) {
    Vec<T> bRe = load(b), bIm = load(b + lanes);
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; ++r) {
      // Real and imaginary parts of the panels lie apart, so that no lane is shuffled here.
      T aRe = a[r], aIm = a[kComplexRows + r];
      re[r] += aRe * bRe;
      re[r] -= aIm * bIm;
      im[r] += aRe * bIm;
      im[r] += aIm * bRe;
    }
    a += 2 * kComplexRows;
    b += 2 * lanes;
  }
  alignas(64) T parts[2][lanes];
#pragma clang loop unroll(full)
  for (int r = 0; r < rows; ++r) {
    store(parts[0], re[r]);
    store(parts[1], im[r]);
    T* p = c + r * ldc * 2;
    for (int j = 0; j < cols; ++j) {
      p[2 * j] = accumulate ? p[2 * j] + parts[0][j] : parts[0][j];
      p[2 * j + 1] = accumulate ? p[2 * j + 1] + parts[1][j] : parts[1][j];
    }
  }
}

template <typename T, int... rows>
void complexTileDispatch(Sequence<rows...>, int64_t kc, const T* a, const T* b, T* c, int64_t ldc,
                         int count, int cols, bool accumulate) {
  using Function = void (*)(int64_t, const T*, const T*, T*, int64_t, int, bool);
  static constexpr Function table[] = {complexTileOf<T, rows>...};
  table[count - 1](kc, a, b, c, ldc, cols, accumulate);
}

template <typename T>
void complexTile(int64_t kc, const void* a, const void* b, void* c, int64_t ldc, int rows, int cols,
                 bool accumulate) {
  complexTileDispatch<T>(typename MakeSequence<kComplexRows>::Type(), kc, static_cast<const T*>(a),
                         static_cast<const T*>(b), static_cast<T*>(c), ldc, rows, cols, accumulate);
}

// ---- Skinny shapes: bound by reading the large operand once -------------------------------------

// Reads `steps` rows of b as parallel streams.
template <typename T, int steps>
void rowBlock(const T* x, int64_t xStride, const T* b, int64_t ldb, T* c, int64_t n,
              bool accumulate) {
  constexpr int lanes = kLanes<T>;
  T xs[steps];
  for (int i = 0; i < steps; ++i) xs[i] = x[i * xStride];
  int64_t j = 0;
  for (; j + 2 * lanes <= n; j += 2 * lanes) {
    Vec<T> s0 = {}, s1 = {};
    if (accumulate) s0 = load(c + j), s1 = load(c + j + lanes);
#pragma clang loop unroll(full)
    for (int i = 0; i < steps; ++i) {
      s0 += xs[i] * load(b + i * ldb + j);
      s1 += xs[i] * load(b + i * ldb + j + lanes);
    }
    store(c + j, s0);
    store(c + j + lanes, s1);
  }
  for (; j < n; ++j) {
    T s = accumulate ? c[j] : T(0);
    for (int i = 0; i < steps; ++i) s += xs[i] * b[i * ldb + j];
    c[j] = s;
  }
}

// Some vectors of columns, with all steps' sums in registers: in several chains where the vectors
// are few, for the latency of multiply-adds.
template <typename T, int vectors>
void columnBlock(int64_t kc, const T* x, int64_t xStride, const T* b, int64_t ldb, T* c) {
  constexpr int lanes = kLanes<T>;
  constexpr int ways = vectors <= 2 ? 4 : vectors <= 4 ? 2 : 1;
  Vec<T> sum[ways][vectors] = {};
  auto add = [&](Vec<T>* to) __attribute__((always_inline)) {
#pragma clang loop unroll(full)
    for (int v = 0; v < vectors; ++v) to[v] += *x * load(b + v * lanes);
    x += xStride, b += ldb;
  };
  int64_t k = 0;
  for (; k + ways <= kc; k += ways) {
#pragma clang loop unroll(full)
    for (int w = 0; w < ways; ++w) add(sum[w]);
  }
  if constexpr (ways > 1) {
    for (; k < kc; ++k) add(sum[0]);
  }
#pragma clang loop unroll(full)
  for (int v = 0; v < vectors; ++v) {
#pragma clang loop unroll(full)
    for (int w = 1; w < ways; ++w) sum[0][v] += sum[w][v];
    store(c + v * lanes, sum[0][v]);
  }
}

// Of a matrix that stays near. Long pieces of its rows are read, as far as there are registers.
template <typename T>
void rowTimesNearMatrix(int64_t kc, const T* x, int64_t xStride, const T* b, int64_t ldb, T* c,
                        int64_t n) {
  constexpr int lanes = kLanes<T>;
  int64_t j = 0;
  auto blocks = [&]<int vectors>() {
    for (; j + vectors * lanes <= n; j += vectors * lanes) {
      columnBlock<T, vectors>(kc, x, xStride, b + j, ldb, c + j);
    }
  };
#if defined(__AVX512F__)
  blocks.template operator()<16>();
#endif
  blocks.template operator()<8>();
  blocks.template operator()<4>();
  blocks.template operator()<2>();
  blocks.template operator()<1>();
  // The last vector ends with the row.
  if (j < n) columnBlock<T, 1>(kc, x, xStride, b + n - lanes, ldb, c + n - lanes);
}

template <typename T>
void rowTimesMatrix(int64_t kc, const void* xPtr, int64_t xStride, const void* bPtr, int64_t ldb,
                    void* cPtr, int64_t n) {
  const T* x = static_cast<const T*>(xPtr);
  const T* b = static_cast<const T*>(bPtr);
  T* c = static_cast<T*>(cPtr);
  if (isNearMatrix(kc, ldb * static_cast<int64_t>(sizeof(T)))) {
    return rowTimesNearMatrix(kc, x, xStride, b, ldb, c, n);
  }
  bool accumulate = false;
  int64_t k = 0;
  for (; k + 8 <= kc; k += 8) {
    rowBlock<T, 8>(x + k * xStride, xStride, b + k * ldb, ldb, c, n, accumulate);
    accumulate = true;
  }
  for (; k < kc; ++k) {
    rowBlock<T, 1>(x + k * xStride, xStride, b + k * ldb, ldb, c, n, accumulate);
    accumulate = true;
  }
}

// Adds the last `rest` of `kc` steps, fewer than a vector has: the vectors that end with the rows,
// without what was added before.
template <typename T, int rows, int cols>
inline __attribute__((always_inline)) void addTail(Vec<T> (&sum)[rows][cols], int64_t kc,
                                                   int64_t rest, const T* a, int64_t lda,
                                                   const T* b, int64_t ldb) {
  constexpr int lanes = kLanes<T>;
  Vec<T> lane;
#pragma clang loop unroll(full)
  for (int i = 0; i < lanes; ++i) lane[i] = static_cast<T>(i);
  const auto isNew = lane >= static_cast<T>(lanes - rest);
  auto last = [&](const T* p) __attribute__((always_inline)) {
    return isNew ? load(p + kc - lanes) : Vec<T>{};
  };
  Vec<T> av[rows];
#pragma clang loop unroll(full)
  for (int i = 0; i < rows; ++i) av[i] = last(a + i * lda);
#pragma clang loop unroll(full)
  for (int j = 0; j < cols; ++j) {
    const Vec<T> bv = last(b + j * ldb);
#pragma clang loop unroll(full)
    for (int i = 0; i < rows; ++i) sum[i][j] += av[i] * bv;
  }
}

// kc is at least a vector's lanes.
template <typename T, int rows, int cols>
inline __attribute__((always_inline)) void dotBlock(int64_t kc, const T* a, int64_t lda, const T* b,
                                                    int64_t ldb, T* c, int64_t cRow, int64_t cCol) {
  constexpr int lanes = kLanes<T>;
  // Two sums each where registers allow, for the latency of multiply-adds.
  constexpr int ways = rows * cols <= 4 ? 2 : 1;
  Vec<T> sum[ways][rows][cols] = {};
  int64_t k = 0;
  for (; k + ways * lanes <= kc; k += ways * lanes) {
#pragma clang loop unroll(full)
    for (int w = 0; w < ways; ++w) {
      Vec<T> av[rows];
#pragma clang loop unroll(full)
      for (int i = 0; i < rows; ++i) av[i] = load(a + i * lda + k + w * lanes);
#pragma clang loop unroll(full)
      for (int j = 0; j < cols; ++j) {
        Vec<T> bv = load(b + j * ldb + k + w * lanes);
#pragma clang loop unroll(full)
        for (int i = 0; i < rows; ++i) sum[w][i][j] += av[i] * bv;
      }
    }
  }
  if constexpr (ways == 2) {
    if (k + lanes <= kc) {
#pragma clang loop unroll(full)
      for (int i = 0; i < rows; ++i) {
        const Vec<T> av = load(a + i * lda + k);
#pragma clang loop unroll(full)
        for (int j = 0; j < cols; ++j) sum[0][i][j] += av * load(b + j * ldb + k);
      }
      k += lanes;
    }
  }
  if (k < kc) addTail<T, rows, cols>(sum[0], kc, kc - k, a, lda, b, ldb);
#pragma clang loop unroll(full)
  for (int i = 0; i < rows; ++i) {
    if constexpr (ways == 2) {
#pragma clang loop unroll(full)
      for (int j = 0; j < cols; ++j) sum[0][i][j] += sum[1][i][j];
    }
    sumLanes<T, cols>(sum[0][i]);
    if (cCol == 1) {
      __builtin_memcpy(c + i * cRow, &sum[0][i][0], cols * sizeof(T));
      continue;
    }
#pragma clang loop unroll(full)
    for (int j = 0; j < cols; ++j) c[i * cRow + j * cCol] = sum[0][i][j / lanes][j % lanes];
  }
}

constexpr int64_t kShortRowBytes = 512;

template <typename T, int rows>
void dotRows(int64_t kc, const T* a, int64_t lda, const T* b, int64_t ldb, int64_t cols, T* c,
             int64_t cRow, int64_t cCol) {
  int64_t j = 0;
  if constexpr (rows == 1) {
    // Of short rows, folding lanes is most of the work: sixteen rows are folded by half the
    // shuffles a row that one takes.
    if (kLanes<T> == 16 && kc * static_cast<int64_t>(sizeof(T)) <= kShortRowBytes) {
      for (; j + 16 <= cols; j += 16) {
        dotBlock<T, 1, 16>(kc, a, lda, b + j * ldb, ldb, c + j * cCol, cRow, cCol);
      }
    }
    // Eight streams read memory faster than four.
    for (; j + 8 <= cols; j += 8) {
      dotBlock<T, 1, 8>(kc, a, lda, b + j * ldb, ldb, c + j * cCol, cRow, cCol);
    }
  }
  for (; j + 4 <= cols; j += 4) {
    if constexpr (rows <= 3 || kRows > 6) {  // as many sums as there are registers for
      dotBlock<T, rows, 4>(kc, a, lda, b + j * ldb, ldb, c + j * cCol, cRow, cCol);
    } else {
      dotBlock<T, rows, 2>(kc, a, lda, b + j * ldb, ldb, c + j * cCol, cRow, cCol);
      dotBlock<T, rows, 2>(kc, a, lda, b + (j + 2) * ldb, ldb, c + (j + 2) * cCol, cRow, cCol);
    }
  }
  for (; j < cols; ++j) {
    dotBlock<T, rows, 1>(kc, a, lda, b + j * ldb, ldb, c + j * cCol, cRow, cCol);
  }
}

template <typename T>
void dotProducts(int64_t kc, const void* aPtr, int64_t lda, int rows, const void* bPtr, int64_t ldb,
                 int64_t cols, void* cPtr, int64_t cRow, int64_t cCol) {
  const T* a = static_cast<const T*>(aPtr);
  const T* b = static_cast<const T*>(bPtr);
  T* c = static_cast<T*>(cPtr);
  withFewRows(rows,
              [&]<int count>() { dotRows<T, count>(kc, a, lda, b, ldb, cols, c, cRow, cCol); });
}

// ---- Packing
// -------------------------------------------------------------------------------------

struct Bf16 {
  uint16_t bits;
};

// Blocks of this many bytes are transposed in registers.
template <typename T>
inline constexpr int kBlock = 32 / sizeof(T);
template <typename T>
using BlockVec = typename VectorOf<T, 32>::Type;
template <typename T>
using BlockLoose = typename VectorOf<T, 32>::Loose;

// kBlock<T> elements of type S from p, as T.
template <typename T, typename S>
inline __attribute__((always_inline)) BlockVec<T> loadBlock(const S* p) {
  if constexpr (sizeof(T) == sizeof(S)) {
    return *reinterpret_cast<const BlockLoose<T>*>(p);
  } else if constexpr (__is_same(S, Bf16)) {
    typedef uint16_t Half __attribute__((vector_size(16), aligned(1), may_alias));
    BlockVec<uint32_t> wide =
        __builtin_convertvector(*reinterpret_cast<const Half*>(p), BlockVec<uint32_t>) << 16;
    return reinterpret_cast<BlockVec<T>>(wide);
  } else {
    typedef S Narrow __attribute__((vector_size(kBlock<T> * sizeof(S)), aligned(1), may_alias));
    return __builtin_convertvector(*reinterpret_cast<const Narrow*>(p), BlockVec<T>);
  }
}

template <typename T, typename S>
inline __attribute__((always_inline)) T convert(S value) {
  if constexpr (__is_same(S, Bf16)) {
    return bfloat16ToFloat(value.bits);
  } else {
    return static_cast<T>(value);
  }
}

// A whole panel of lanes far apart, steps contiguous: two blocks of steps at a time, which are what
// a lane has in a line of the cache. The lines of all lanes may share a set of it, which holds
// fewer than the panel has lanes. The last group of lanes ends with the panel. `count` steps, a
// multiple of two blocks.
template <typename T, typename S, int width>
void packTransposedWhole(T* out, const S* data, const PanelSource& s, int64_t kBegin,
                         int64_t count) {
  constexpr int block = kBlock<T>;
  constexpr int groups = (width + block - 1) / block;
  const S* rows[width];
  for (int i = 0; i < width; ++i) rows[i] = data + s.laneOffsets[i];
  for (int64_t k = kBegin; k < kBegin + count; k += 2 * block) {
    const int64_t offset = s.kOffsets[k];
#pragma clang loop unroll(full)
    for (int g = 0; g < groups; ++g) {
      const int first = g * block + block <= width ? g * block : width - block;
      BlockVec<T> r[2][block];
#pragma clang loop unroll(full)
      for (int i = 0; i < block; ++i) {
        r[0][i] = loadBlock<T, S>(rows[first + i] + offset);
        r[1][i] = loadBlock<T, S>(rows[first + i] + offset + block);
      }
#pragma clang loop unroll(full)
      for (int half = 0; half < 2; ++half) {
        transposeBlock<BlockVec<T>, block>(r[half]);
#pragma clang loop unroll(full)
        for (int i = 0; i < block; ++i) {
          *reinterpret_cast<BlockLoose<T>*>(out + (k + half * block + i) * width + first) =
              r[half][i];
        }
      }
    }
  }
}

// Lanes far apart, steps contiguous: transposes blocks. `count` steps, a multiple of the block;
// lanes are padded to whole blocks, whose excess the next step or the slack takes.
template <typename T, typename S, int width>
void packTransposed(T* out, const S* data, const PanelSource& s, int64_t kBegin, int64_t count) {
  constexpr int block = kBlock<T>;
  constexpr int groups = (width + block - 1) / block;
  const S* rows[groups * block];
  bool present[groups * block];
  for (int i = 0; i < groups * block; ++i) {
    present[i] = i < s.lanes && s.laneOffsets[i] != kZeroLane;
    rows[i] = present[i] ? data + s.laneOffsets[i] : nullptr;
  }
  for (int64_t k = kBegin; k < kBegin + count; k += block) {
    BlockVec<T> r[groups][block];
    int64_t offset = s.kOffsets[k];
#pragma clang loop unroll(full)
    for (int g = 0; g < groups; ++g) {
#pragma clang loop unroll(full)
      for (int i = 0; i < block; ++i) {
        int lane = g * block + i;
        r[g][i] =
            lane < width && present[lane] ? loadBlock<T, S>(rows[lane] + offset) : BlockVec<T>{};
      }
      transposeBlock<BlockVec<T>, block>(r[g]);
    }
#pragma clang loop unroll(full)
    for (int i = 0; i < block; ++i) {
#pragma clang loop unroll(full)
      for (int g = 0; g < groups; ++g) {
        *reinterpret_cast<BlockLoose<T>*>(out + (k + i) * width + g * block) = r[g][i];
      }
    }
  }
}

// Whether a panel of `width` lanes is none of padding.
inline bool hasAllLanes(const PanelSource& s, int width) {
  if (s.lanes != width) return false;
  for (int i = 0; i < width; ++i) {
    if (s.laneOffsets[i] == kZeroLane) return false;
  }
  return true;
}

template <typename T, typename S, int width>
void packElements(T* out, const S* data, const PanelSource& s, int64_t kBegin, int64_t kEnd) {
  for (int64_t k = kBegin; k < kEnd; ++k) {
    int64_t offset = s.kOffsets[k];
    for (int i = 0; i < s.lanes; ++i) {
      out[k * width + i] =
          s.laneOffsets[i] == kZeroLane ? T(0) : convert<T, S>(data[s.laneOffsets[i] + offset]);
    }
    // Tiles multiply all lanes and drop what is behind the last. It is not left to what the memory
    // had before: subnormal numbers are slow.
    for (int i = s.lanes; i < width; ++i) out[k * width + i] = T(0);
  }
}

template <typename T, typename S, int width>
void packFrom(T* out, const PanelSource& s) {
  const S* data = static_cast<const S*>(s.data);
  constexpr int block = kBlock<T>;
  if (s.lanesContiguous && s.lanes == width) {
    const S* row = data + s.laneOffsets[0];
    for (int64_t k = 0; k < s.kc; ++k) {
      const S* p = row + s.kOffsets[k];
      T* q = out + k * width;
      // Rows far apart are no stream that the processor would see; the next panel's are there.
      __builtin_prefetch(p + width);
      __builtin_prefetch(p + 2 * width - 1);
      if constexpr (__is_same(T, S)) {
        __builtin_memcpy(q, p, width * sizeof(T));
        continue;
      }
      constexpr int whole = width / block * block;
#pragma clang loop unroll(full)
      for (int i = 0; i < whole; i += block) {
        *reinterpret_cast<BlockLoose<T>*>(q + i) = loadBlock<T, S>(p + i);
      }
#pragma clang loop unroll(full)
      for (int i = whole; i < width; ++i) q[i] = convert<T, S>(p[i]);
    }
    return;
  }
  if (s.kRun >= block && !s.lanesContiguous) {
    const bool isWhole = hasAllLanes(s, width);
    // Steps are contiguous within a run only, of which the panel may begin in the middle.
    int64_t k = 0;
    int64_t left = s.kRun - s.kPhase;
    while (k < s.kc) {
      int64_t run = left < s.kc - k ? left : s.kc - k;
      left = s.kRun;
      int64_t done = 0;
      if constexpr (width >= block) {
        if (isWhole) {
          done = run / (2 * block) * (2 * block);
          packTransposedWhole<T, S, width>(out, data, s, k, done);
        }
      }
      int64_t whole = run / block * block;
      packTransposed<T, S, width>(out, data, s, k + done, whole - done);
      packElements<T, S, width>(out, data, s, k + whole, k + run);
      k += run;
    }
    return;
  }
  packElements<T, S, width>(out, data, s, 0, s.kc);
}

// Types that are rare enough to be read one by one through a function.
template <typename T, int width>
void packAny(T* out, const PanelSource& s) {
  for (int64_t k = 0; k < s.kc; ++k) {
    for (int i = 0; i < width; ++i) {
      bool present = i < s.lanes && s.laneOffsets[i] != kZeroLane;
      out[k * width + i] =
          present ? loadElement<T>(s.data, s.type, s.laneOffsets[i] + s.kOffsets[k]) : T(0);
    }
  }
}

template <typename T, int width>
void packWidth(T* out, const PanelSource& s) {
  using E = ElementType;
  if constexpr (__is_same(T, float)) {
    if (s.type == E::kF32) return packFrom<T, float, width>(out, s);
    if (s.type == E::kBF16) return packFrom<T, Bf16, width>(out, s);
#if defined(__F16C__)
    if (s.type == E::kF16) return packFrom<T, _Float16, width>(out, s);
#endif
  } else if constexpr (__is_same(T, double)) {
    if (s.type == E::kF64) return packFrom<T, double, width>(out, s);
    if (s.type == E::kF32) return packFrom<T, float, width>(out, s);
  } else if constexpr (__is_same(T, uint32_t)) {
    if (s.type == E::kS32 || s.type == E::kU32) return packFrom<T, uint32_t, width>(out, s);
    if (s.type == E::kS8) return packFrom<T, int8_t, width>(out, s);
    if (s.type == E::kU8) return packFrom<T, uint8_t, width>(out, s);
    if (s.type == E::kS16) return packFrom<T, int16_t, width>(out, s);
  } else {
    if (s.type == E::kS64 || s.type == E::kU64) return packFrom<T, uint64_t, width>(out, s);
    if (s.type == E::kS32) return packFrom<T, int32_t, width>(out, s);
  }
  packAny<T, width>(out, s);
}

template <typename T>
void packReal(void* panel, int width, const PanelSource& s) {
  if (width == kRows) {
    packWidth<T, kRows>(static_cast<T*>(panel), s);
  } else {
    packWidth<T, 2 * kLanes<T>>(static_cast<T*>(panel), s);
  }
}

template <int width>
void packPairsWidth(uint32_t* out, const PanelSource& s) {
  if (storageBytes(s.type) == sizeof(uint16_t))
    return NarrowPacker<uint16_t, width, 0>::pack(out, s);
  if (elementClass(s.type) == ElementClass::kSigned) {
    return NarrowPacker<uint16_t, width, 0, int8_t>::pack(out, s);
  }
  NarrowPacker<uint16_t, width, 0, uint8_t>::pack(out, s);
}

void packPairs(void* panel, int width, const PanelSource& s) {
  if (width == kRows) {
    packPairsWidth<kRows>(static_cast<uint32_t*>(panel), s);
  } else {
    packPairsWidth<2 * kLanes<uint32_t>>(static_cast<uint32_t*>(panel), s);
  }
}

// ---- Results
// -------------------------------------------------------------------------------------

#if defined(__F16C__)
void storeHalves(const float* sums, int64_t count, uint16_t* result) {
  typedef float Wide __attribute__((vector_size(32), aligned(1), may_alias));
  typedef _Float16 Half __attribute__((vector_size(16), aligned(1), may_alias));
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    *reinterpret_cast<Half*>(result + i) =
        __builtin_convertvector(*reinterpret_cast<const Wide*>(sums + i), Half);
  }
  for (; i < count; ++i) {
    _Float16 half = static_cast<_Float16>(sums[i]);
    __builtin_memcpy(result + i, &half, sizeof(half));
  }
}
#endif

// Elements of the type itself, all there: real parts, then imaginary ones.
template <typename T, typename C, int width>
void packComplexWhole(T* out, const PanelSource& s) {
  const C* data = static_cast<const C*>(s.data);
  if (s.lanesContiguous) {
    for (int64_t k = 0; k < s.kc; ++k, out += 2 * width) {
      const C* p = data + s.laneOffsets[0] + s.kOffsets[k];
      for (int i = 0; i < width; ++i) {
        out[i] = p[i].re;
        out[width + i] = p[i].im;
      }
    }
    return;
  }
  // A line of the cache from each lane at a time.
  constexpr int64_t block = kCacheLineBytes / sizeof(C);
  for (int64_t begin = 0; begin < s.kc; begin += block) {
    const int64_t end = begin + block < s.kc ? begin + block : s.kc;
    for (int i = 0; i < width; ++i) {
      const C* lane = data + s.laneOffsets[i];
      for (int64_t k = begin; k < end; ++k) {
        const C value = lane[s.kOffsets[k]];
        out[k * 2 * width + i] = value.re;
        out[k * 2 * width + width + i] = value.im;
      }
    }
  }
}

template <typename T, typename C, ElementType native, int width>
void packComplexWidth(T* out, const PanelSource& s) {
  if (s.type == native && hasAllLanes(s, width)) return packComplexWhole<T, C, width>(out, s);
  const C* data = static_cast<const C*>(s.data);
  for (int64_t k = 0; k < s.kc; ++k) {
    int64_t offset = s.kOffsets[k];
    for (int i = 0; i < width; ++i) {
      C value = {0, 0};
      if (i < s.lanes && s.laneOffsets[i] != kZeroLane) {
        int64_t index = s.laneOffsets[i] + offset;
        value = s.type == native ? data[index] : loadElement<C>(s.data, s.type, index);
      }
      out[k * 2 * width + i] = value.re;
      out[k * 2 * width + width + i] = value.im;
    }
  }
}

template <typename T, typename C, ElementType native>
void packComplex(void* panel, int width, const PanelSource& s) {
  if (width == kComplexRows) {
    packComplexWidth<T, C, native, kComplexRows>(static_cast<T*>(panel), s);
  } else {
    packComplexWidth<T, C, native, kLanes<T>>(static_cast<T*>(panel), s);
  }
}

template <typename T>
constexpr GemmKernels realKernels() {
  GemmKernels kernels{};
  kernels.mr = kRows;
  kernels.nr = 2 * kLanes<T>;
  kernels.vectorLanes = kLanes<T>;
  kernels.elementBytes = sizeof(T);
  // Most cores without AVX-512 have 32 KiB of first-level cache: a panel of the right operand
  // leaves room for rows of the left one, and has as many steps as one of AVX-512 has in 48 KiB.
  kernels.maxPanelElements = 384;
  kernels.pack = packReal<T>;
  kernels.tile = packedTile<T, T, MultiplyAdd>;
#if defined(__F16C__)
  if constexpr (__is_same(T, float)) kernels.storeHalves = storeHalves;
#endif
  if constexpr (__is_same(T, float) || __is_same(T, double)) {
    kernels.runTile = runTile<SumsOf<T, T, MultiplyAdd>>;
#if !defined(__AVX512F__)
    kernels.runWideTile = runWideTile<SumsOf<T, T, MultiplyAdd>>;
#endif
    kernels.rowTimesMatrix = rowTimesMatrix<T>;
    kernels.dotProducts = dotProducts<T>;
  }
  return kernels;
}

template <typename T, typename C, ElementType native>
constexpr GemmKernels complexKernels() {
  GemmKernels kernels{};
  kernels.mr = kComplexRows;
  kernels.nr = kLanes<T>;
  kernels.vectorLanes = kLanes<T>;
  kernels.elementBytes = sizeof(C);
  kernels.pack = packComplex<T, C, native>;
  kernels.tile = complexTile<T>;
  return kernels;
}

constexpr GemmKernels pairKernels() {
  GemmKernels kernels{};
  kernels.mr = kRows;
  kernels.nr = 2 * kLanes<uint32_t>;
  kernels.vectorLanes = kLanes<uint32_t>;
  kernels.elementBytes = sizeof(uint32_t);
  kernels.stepsPerElement = 2;
  kernels.pack = packPairs;
  kernels.tile = pairTile;
  return kernels;
}

constexpr GemmKernels kTable[kNumGemmDomains] = {
    realKernels<float>(),
    realKernels<double>(),
    realKernels<uint32_t>(),
    realKernels<uint64_t>(),
    complexKernels<float, Complex64, ElementType::kC64>(),
    complexKernels<double, Complex128, ElementType::kC128>(),
    pairKernels(),
};

}  // namespace

const GemmKernels* gemmKernelTable() { return kTable; }

}  // namespace isthmus::cpu::ISTHMUS_ISA

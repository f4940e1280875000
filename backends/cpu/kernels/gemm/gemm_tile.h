// The tile of a product in registers that is computed from packed panels: what the inner kernels of
// every instruction set share.
#pragma once

#include <bit>
#include <cstdint>

#include "backends/cpu/kernels/gemm/gemm_kernels.h"
#include "backends/cpu/kernels/vectors.h"

namespace isthmus::cpu::ISTHMUS_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int kRows = 14;
#else
constexpr int kRows = 6;
#endif

// ---- Multiplying
// ---------------------------------------------------------------------------------

struct MultiplyAdd {
  template <typename T>
  static inline __attribute__((always_inline)) Vec<T> apply(Vec<T> sum, T a, Vec<T> b) {
    return sum + a * b;
  }
};

// Of fewer than `elements`, the first piece that copyPieces copies.
constexpr int firstPiece(int elements) {
  return static_cast<int>(std::bit_floor(static_cast<unsigned>(elements - 1)));
}

// Copies `count` < 2 * `piece` elements in pieces of powers of two.
template <int piece, typename T>
inline __attribute__((always_inline)) void copyPieces(T* to, const T* from, int count) {
  if (count & piece) {
    __builtin_memcpy(to, from, piece * sizeof(T));
    to += piece, from += piece;
  }
  if constexpr (piece > 1) copyPieces<piece / 2>(to, from, count);
}

// The sums of a tile go to memory; `cols` may be less than the vectors hold.
template <typename T, int rows, int vectors>
inline __attribute__((always_inline)) void storeTile(const Vec<T> (&sum)[rows][vectors], T* c,
                                                     int64_t ldc, int cols, bool accumulate) {
  constexpr int lanes = kLanes<T>;
  if (cols == vectors * lanes) {
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; ++r) {
#pragma clang loop unroll(full)
      for (int v = 0; v < vectors; ++v) {
        T* p = c + r * ldc + v * lanes;
        store(p, accumulate ? load(p) + sum[r][v] : sum[r][v]);
      }
    }
    return;
  }
  alignas(64) T edge[vectors * lanes] = {};
#pragma clang loop unroll(full)
  for (int r = 0; r < rows; ++r) {
    T* p = c + r * ldc;
    if (accumulate) copyPieces<firstPiece(vectors * lanes)>(edge, p, cols);
#pragma clang loop unroll(full)
    for (int v = 0; v < vectors; ++v) {
      T* at = edge + v * lanes;
      store(at, accumulate ? load(at) + sum[r][v] : sum[r][v]);
    }
    copyPieces<firstPiece(vectors * lanes)>(p, edge, cols);
  }
}

// A panel of b comes from the second-level cache to its first tile: how many steps ahead it is
// asked for.
constexpr int kStepsAhead = 16;

// One tile of `rows` x (vectors * lanes) in registers, from packed panels. Their strides are
// constants, so that their addresses cost nothing. Sums are of type T, elements of panels of P, as
// wide; Op says what an element of either panel adds to a sum.
template <typename T, typename P, typename Op, int rows, int vectors>
void packedTileOf(int64_t kc, const P* a, const P* b, T* c, int64_t ldc, int cols,
                  bool accumulate) {
  constexpr int lanes = kLanes<T>;
  constexpr int ldb = 2 * lanes;
  for (int r = 0; r < rows; ++r) __builtin_prefetch(c + r * ldc, 1);
  Vec<T> sum[rows][vectors] = {};
#pragma clang loop unroll_count(4)
  for (int64_t k = 0; k < kc; ++k) {
    Vec<P> bv[vectors];
#pragma clang loop unroll(full)
    for (int v = 0; v < vectors; ++v) {
      bv[v] = load(b + v * lanes);
      __builtin_prefetch(b + ldb * kStepsAhead + v * lanes);
    }
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; ++r) {
      P av = a[r];
#pragma clang loop unroll(full)
      for (int v = 0; v < vectors; ++v) sum[r][v] = Op::apply(sum[r][v], av, bv[v]);
    }
    a += kRows;
    b += ldb;
  }
  storeTile<T, rows, vectors>(sum, c, ldc, cols, accumulate);
}

template <int... values>
struct Sequence {};
template <int n, int... values>
struct MakeSequence : MakeSequence<n - 1, n, values...> {};
template <int... values>
struct MakeSequence<0, values...> {
  using Type = Sequence<values...>;
};

// Calls function.operator()<rows>() for 1 to 4 rows.
template <typename Function>
inline __attribute__((always_inline)) void withFewRows(int rows, Function function) {
  switch (rows) {
    case 1:
      return function.template operator()<1>();
    case 2:
      return function.template operator()<2>();
    case 3:
      return function.template operator()<3>();
    default:
      return function.template operator()<4>();
  }
}

template <typename T, typename P, typename Op, int... rows>
void packedTileDispatch(Sequence<rows...>, int64_t kc, const P* a, const P* b, T* c, int64_t ldc,
                        int count, int cols, bool accumulate) {
  using Function = void (*)(int64_t, const P*, const P*, T*, int64_t, int, bool);
  static constexpr Function table[][2] = {
      {packedTileOf<T, P, Op, rows, 1>, packedTileOf<T, P, Op, rows, 2>}...};
  table[count - 1][cols > kLanes<T>](kc, a, b, c, ldc, cols, accumulate);
}

template <typename T, typename P, typename Op>
void packedTile(int64_t kc, const void* a, const void* b, void* c, int64_t ldc, int rows, int cols,
                bool accumulate) {
  packedTileDispatch<T, P, Op>(typename MakeSequence<kRows>::Type(), kc, static_cast<const P*>(a),
                               static_cast<const P*>(b), static_cast<T*>(c), ldc, rows, cols,
                               accumulate);
}

// ---- Operands in place
// ---------------------------------------------------------------------------

// What a tile of runTile computes with: sums of type S, operands of type P, which is as wide and of
// which each is one or two steps, an operation, and results in memory, here sums as they are.
template <typename S, typename P, typename O, int stepsPerOperand = 1>
struct SumsOf {
  using Sum = S;
  using Operand = P;
  using Result = S;
  using Op = O;
  static constexpr int kSteps = stepsPerOperand;

  template <int rows, int vectors>
  static inline __attribute__((always_inline)) void store(const Vec<S> (&sum)[rows][vectors], S* c,
                                                          int64_t ldc, int cols, bool accumulate) {
    storeTile<S, rows, vectors>(sum, c, ldc, cols, accumulate);
  }
};

// The type of a step that lies beside others in an operand.
template <typename P, int steps>
struct StepOf {
  using Type = P;
};
template <>
struct StepOf<uint32_t, 2> {
  using Type = uint16_t;
};

// The same as packedTileOf from operands in place, for several runs of steps. A stride of 0 here is
// not a constant. Its parameters are runTile's, which jumps here: a copy of those on the stack
// would be one of vectors, which the processor cannot read before all that was stored until then,
// the last tile's results, is written.
template <typename Tile, int rows, int vectors, int stepStrideIf>
void runTileOf(const GemmRun* runs, int64_t count, const void* aData, int64_t rowStride,
               int64_t stepStride, const void* bData, int64_t ldb, void* cData, int64_t ldc,
               int /*rows*/, int cols, bool accumulate) {
  using Sum = typename Tile::Sum;
  using Operand = typename Tile::Operand;
  using Step = typename StepOf<Operand, Tile::kSteps>::Type;
  typedef Operand LooseOperand __attribute__((may_alias, aligned(sizeof(Step))));
  constexpr int lanes = kLanes<Sum>;
  const auto* a = static_cast<const Step*>(aData);
  const auto* b = static_cast<const Operand*>(bData);
  auto* c = static_cast<typename Tile::Result*>(cData);
  if constexpr (stepStrideIf != 0) stepStride = stepStrideIf;
  Vec<Sum> sum[rows][vectors] = {};
  for (int r = 0; r < rows; ++r) __builtin_prefetch(c + r * ldc, 1);
  const int64_t stride3 = 3 * rowStride;
  for (int64_t i = 0; i < count; ++i) {
    const char* ahead = runs[i].ahead;
    for (int64_t pairs = runs[i].aheadCount; pairs > 0; --pairs) {
      __builtin_prefetch(ahead, 0, 2);
      __builtin_prefetch(ahead + kCacheLineBytes, 0, 2);
      ahead += ldb * static_cast<int64_t>(sizeof(Operand));
    }
    // Pointers to every fifth row: the processor's address modes reach those between.
    const Step* p0 = a + runs[i].a;
    const Step* p5 = p0 + 5 * rowStride;
    const Step* p10 = p5 + 5 * rowStride;
    const auto* br = b + runs[i].b;
    auto at = [&](int r) __attribute__((always_inline)) {
      const Step* p = r < 5 ? p0 : r < 10 ? p5 : p10;
      const int rest = r % 5;
      return rest == 3 ? p + stride3 : p + rest * rowStride;
    };
#pragma clang loop unroll(disable)
    for (int64_t k = runs[i].length / Tile::kSteps; k > 0; --k) {
      if constexpr (vectors > 2) {
        // Sums leave registers for an element of each row and one vector of columns.
        Operand av[rows];
#pragma clang loop unroll(full)
        for (int r = 0; r < rows; ++r) av[r] = *reinterpret_cast<const LooseOperand*>(at(r));
#pragma clang loop unroll(full)
        for (int v = 0; v < vectors; ++v) {
          const Vec<Operand> bv = load(br + v * lanes);
#pragma clang loop unroll(full)
          for (int r = 0; r < rows; ++r) sum[r][v] = Tile::Op::apply(sum[r][v], av[r], bv);
        }
      } else {
        Vec<Operand> bv[vectors];
#pragma clang loop unroll(full)
        for (int v = 0; v < vectors; ++v) bv[v] = load(br + v * lanes);
#pragma clang loop unroll(full)
        for (int r = 0; r < rows; ++r) {
          const Operand av = *reinterpret_cast<const LooseOperand*>(at(r));
#pragma clang loop unroll(full)
          for (int v = 0; v < vectors; ++v) sum[r][v] = Tile::Op::apply(sum[r][v], av, bv[v]);
        }
      }
      p0 += stepStride, p5 += stepStride, p10 += stepStride;
      br += ldb;
    }
    if constexpr (Tile::kSteps == 2) {
      // What follows a last odd step may be anything, even no number: it is not read.
      if (runs[i].length % 2 == 0) continue;
#pragma clang loop unroll(full)
      for (int r = 0; r < rows; ++r) {
        const Operand av = *at(r);
#pragma clang loop unroll(full)
        for (int v = 0; v < vectors; ++v) {
          sum[r][v] = Tile::Op::apply(sum[r][v], av, load(br + v * lanes));
        }
      }
    }
  }
  Tile::template store<rows, vectors>(sum, c, ldc, cols, accumulate);
}

template <typename Tile, int stepStride, int... rows>
RunTile runTileFor(Sequence<rows...>, int count, int cols) {
  static constexpr RunTile table[][2] = {
      {runTileOf<Tile, rows, 1, stepStride>, runTileOf<Tile, rows, 2, stepStride>}...};
  return table[count - 1][cols > kLanes<typename Tile::Sum>];
}

// Tiles of fewer rows and more vectors, with as many sums: each element of the rows is read once
// for all of their columns.
template <typename Tile, int... rows>
RunTile wideTileFor(Sequence<rows...>, int count, int cols) {
  constexpr int lanes = kLanes<typename Tile::Sum>;
  static constexpr RunTile table[][2] = {
      {runTileOf<Tile, rows, 3, Tile::kSteps>, runTileOf<Tile, rows, 4, Tile::kSteps>}...};
  return table[count - 1][cols > 3 * lanes];
}

template <typename Tile>
void runWideTile(const GemmRun* runs, int64_t count, const void* a, int64_t rowStride,
                 int64_t stepStride, const void* b, int64_t ldb, void* c, int64_t ldc, int rows,
                 int cols, bool accumulate) {
  const RunTile run = wideTileFor<Tile>(typename MakeSequence<kRows / 2>::Type(), rows, cols);
  [[clang::musttail]] return run(runs, count, a, rowStride, stepStride, b, ldb, c, ldc, rows, cols,
                                 accumulate);
}

template <typename Tile>
void runTile(const GemmRun* runs, int64_t count, const void* a, int64_t rowStride,
             int64_t stepStride, const void* b, int64_t ldb, void* c, int64_t ldc, int rows,
             int cols, bool accumulate) {
  typename MakeSequence<kRows>::Type all;
  constexpr int dense = Tile::kSteps;
  const RunTile run = stepStride == dense ? runTileFor<Tile, dense>(all, rows, cols)
                                          : runTileFor<Tile, 0>(all, rows, cols);
  [[clang::musttail]] return run(runs, count, a, rowStride, stepStride, b, ldb, c, ldc, rows, cols,
                                 accumulate);
}

}  // namespace
}  // namespace isthmus::cpu::ISTHMUS_ISA

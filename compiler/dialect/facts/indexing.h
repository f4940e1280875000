// How operations index: which elements of each operand an element of a result is computed from.
//
// The maps are data, made of an operation's attributes and types: affine expressions over the
// result's dimensions and over symbols for what a result's element sees of an operand besides
// (reduced dimensions, windows, indices known at run time only). They may cover more than is read,
// never less. Fusion, schedules, sharding rules, padding of bounded arrays and sharing of memory
// ask them instead of each operation. Not asked: what maps do not say, which is the reducers'
// meaning, how devices exchange rows (collectives, reversed and rotated dimensions), what custom
// calls say of themselves, and where a block begins that indices address (gather, scatter, dynamic
// slices). docs/adr/0011-indexing-maps.md says why they are as they are.
#pragma once

#include <cstdint>
#include <optional>

#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace isthmus {

enum class SymbolKind : uint8_t {
  kReduced,   // every value is read and combined: reduced, contracted and window dimensions
  kSelected,  // some values, which other operands decide at run time
  kWhole,     // every value, in ways that the map does not tell
};

struct IndexSymbol {
  SymbolKind kind;
  int64_t size;  // values are 0 to size - 1
};

// An index along one dimension of an operand, computed from at most one dimension of the result:
// floor((stride * index along `dim` + offset + the sum of coefficient * symbol) / divisor).
struct DimIndex {
  struct Term {
    unsigned symbol;
    int64_t coefficient;
    SymbolKind kind;
    int64_t size;
  };
  std::optional<int64_t> dim;  // without one, `stride` is 0
  int64_t stride = 0;
  int64_t offset = 0;
  int64_t divisor = 1;  // above 1 between dilated elements: see `IndexingMap::zeros`
  llvm::SmallVector<Term, 1> terms;

  // Whether it is an index of the result, moved by an offset: `dim` alone and each of its elements.
  bool isShift() const { return dim && stride == 1 && divisor == 1 && terms.empty(); }
  // Whether it is an index of the result.
  bool isDim() const { return isShift() && offset == 0; }
  // How far the symbols lead from where they are all 0: at most so many rows ahead.
  int64_t reach() const;
  // Whether no index of `resultSize` leads outside of `operandSize`, whatever the symbols are.
  bool isInside(int64_t resultSize, int64_t operandSize) const;
};

// One operand's. Indices that lie outside of the operand are not read (padding), nor those for
// which an expression of `zeros` is not 0 (between dilated elements).
struct IndexingMap {
  mlir::AffineMap map;  // null: the result does not depend on the operand
  llvm::SmallVector<mlir::AffineExpr, 1> zeros;

  // The dimension of the result that alone is the index along the operand's dimension `d`, unless
  // it is computed otherwise.
  std::optional<int64_t> resultDim(int64_t d) const;
  // Whether the operand is read at the result's own index.
  bool isIdentity() const;
};

struct IndexingMaps {
  llvm::SmallVector<IndexSymbol, 2> symbols;  // of all operands' maps together
  llvm::SmallVector<IndexingMap, 3> operands;

  // The index along dimension `d` of an operand that has a map, unless several dimensions of the
  // result decide it, as in a reshape.
  std::optional<DimIndex> index(unsigned operand, int64_t d) const;
  // Whether results at different places along their dimension `resultDim` may read different places
  // along dimension `d` of an operand that has a map.
  bool varies(unsigned operand, int64_t d, int64_t resultDim) const;
};

// How result `result` of `op` indexes the operands. The types must be ranked and static. Operations
// that the op table knows no way of indexing for read every operand whole.
IndexingMaps indexingMaps(mlir::Operation* op, unsigned result = 0);
// Whether the op table knows more than that every operand is read whole.
bool hasIndexingMaps(mlir::Operation* op);

// Whether operand `operand` is read at the index of the result alone: indexingMaps() says the same,
// this says it faster.
bool readsSameIndex(mlir::Operation* op, unsigned operand, unsigned result = 0);

// Groups of dimensions of two shapes whose products are equal, in order, as short as possible: how
// a reshape's dimensions split and join. Dimensions of size 1 go with the group before them. Empty
// if there are no elements.
struct ReshapeGroups {
  using Range = std::pair<int64_t, int64_t>;         // [begin, end)
  llvm::SmallVector<Range, 4> from, to;              // of each group
  llvm::SmallVector<int64_t, 8> fromGroup, toGroup;  // of each dimension
};
ReshapeGroups reshapeGroups(llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> to);

}  // namespace isthmus

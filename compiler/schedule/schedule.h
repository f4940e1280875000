// How one kernel runs over its elements, as data: chosen once, printed in dumps, obeyed by
// emission.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "isthmus/status.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace isthmus {

// One loop: neighbouring dimensions of the iteration space that one index runs over. The space is
// the results' shape without its dimensions of size 1.
struct LoopDim {
  int64_t first = 0;
  int64_t last = -1;  // less than `first` for a number, which has no dimensions
  int64_t size = 1;

  bool operator==(const LoopDim&) const = default;
};

// Where a loop but the last is cut: pads and concatenations along it are decided outside of the
// loops within it.
struct OuterCuts {
  int64_t loop = 0;
  llvm::SmallVector<int64_t, 4> at;  // rising, without 0 and the loop's size

  bool operator==(const OuterCuts&) const = default;
};

// Which elements of the results lanes and inner loops run over.
enum class LoopOrder {
  kRows,         // lanes run along the last loop
  kTransposed,   // blocks of unrolled rows along `orderDim`, whose operands are read as blocks
  kInterleaved,  // lanes run along `orderDim`; the elements of its short rows are unrolled
  kRowBlocks,    // reductions of `blockRows` rows along `orderDim` first, then those rows' results
};

// What computes the elements of a row that fill no vector.
enum class RowTail {
  kElements,  // one by one
  kNarrow,    // narrower vectors
  kOverlap,   // one more vector, of which some elements are computed and stored a second time
};

// Who adds up what one result of a reduction is made of.
enum class ReductionStrategy {
  kLane,        // each lane (on a GPU: each thread) reduces for itself
  kRow,         // lanes share the work along the innermost reduced dimension
  kAccumulate,  // row by row, into accumulators side by side in memory
  kGroup,       // the threads of a group share the work
};

// Ops and values are meant by the op's number in the fusion's block.
struct ReductionSchedule {
  unsigned op = 0;
  ReductionStrategy strategy = ReductionStrategy::kLane;
  unsigned lanes = 1;  // (threads) along the innermost reduced dimension, if they share it
  // Independent accumulators; rows at a time for kAccumulate; neighbours of a thread for kGroup.
  unsigned interleave = 1;
  // kLane: lanes along the row and accumulators where one result is computed by itself, as of what
  // is left of a vector of results.
  unsigned restLanes = 1;
  unsigned restInterleave = 1;
  // kRow: what each accumulator sums up before that is added, with compensation, to what was before
  // it, so that rounding errors do not grow with the row; rows as well, where there are several.
  // kAccumulate: rows that are summed up before that is added. 0: all at once.
  unsigned block = 0;

  bool operator==(const ReductionSchedule&) const = default;
};

// A row of values that is computed while the reduction `writer` runs over it, and read afterwards.
struct KeptRow {
  unsigned value = 0;
  unsigned writer = 0;

  bool operator==(const KeptRow&) const = default;
};

// What a stage computes, and which record (below) says how.
enum class StageKind {
  kLoop,
  kCopy,  // of an operand that the next stage updates; nothing where they are the same memory
  kFill,  // with the initial value of a select_and_scatter
  kScan,
  kScatter,
  kUpdateSlice,
  kSelectAndScatter,
  kDot,        // a product, and on its sums what the fusion computes of them
  kAttention,  // rows of a product, a fusion of them, and their product, some at a time
  // Of devices. Where threads of a group share the work, `groupThreads` is more than 1.
  kSort,  // tiles of rows are sorted, then merged two by two in rounds
  kTopK,  // the largest elements of rows, or of parts whose largest are rows of the next stage
  kFft,   // one dimension's Fourier transform, or of work-items one factor of it
};

// Who computes a product.
enum class ProductForm {
  kNone,      // the backend's own function (CPUs), of whose sums the schedule says what becomes
  kLibrary,   // a library of the device
  kTensors,   // groups, whose warps multiply by tensor cores what they share
  kMatrices,  // groups, whose sub-groups multiply by the device's matrix instruction
  kGroups,    // groups of threads, by tiles in their memory
  kLines,     // groups whose threads share the terms of few lines
  kVectors,   // work-items with vectors, by tiles in registers
  kItems,     // work-items of a few elements each
};

// How a product or a convolution is computed by kernels. Lines are rows or columns of the result,
// terms what is summed for each element.
struct ProductSchedule {
  ProductForm form = ProductForm::kNone;
  // kTensors, kMatrices, kGroups: rows, columns and terms of a group's tile. kLines: lines of the
  // larger operand and terms of a group; `tileColumns` is 1.
  int64_t tileRows = 0, tileColumns = 0, tileTerms = 0;
  // kTensors: rows and columns of a warp. kMatrices: results of the instruction that a sub-group
  // computes. kGroups, kItems: rows and columns of a thread. kVectors: rows and vectors of a tile
  // (single columns where vectors lie along the terms).
  int64_t rows = 1, columns = 1;
  int64_t splits = 1;              // groups that share the terms of a line (kLines)
  bool isSwapped = false;          // what is said of columns is of the lhs's lines
  bool vectorsAlongTerms = false;  // kVectors: else along columns
  bool mixesRows = false;  // kVectors: the rows of a tile are of all dimensions, not of the last
  bool inFloats = false;   // kVectors: integers as f32, as many terms as sums are exact of
  // Put in order before, in the type of the sums: the columns' operand, and the other one.
  bool copiesColumns = false, copiesRows = false;

  bool operator==(const ProductSchedule&) const = default;
};

// How the backend's own function (CPUs) computes a product or a convolution. Which forms there are
// only the backend knows, which verifies what is said.
struct FunctionForm {
  std::string name;        // empty: the backend decides when it emits the call
  bool isSwapped = false;  // the operands change places

  bool operator==(const FunctionForm&) const = default;
};

// Which part of a scan a stage is. A line is all elements along the scanned dimension; a tile of
// the parts is a block of one, of `chunk` elements, whose `groupThreads` threads take `grain`
// neighbours each at a time.
enum class ScanPart {
  kNone,     // all lines, with lanes along the innermost dimension (CPUs)
  kWhole,    // a line is one block
  kBlocks,   // what each block gives by itself, in place of its last element
  kTotals,   // the last elements of a line's blocks
  kOffsets,  // all other elements of each block, from what comes before it
};

// What the tiles of a stage that is no loop over results are parts of.
enum class TileSpace { kNone, kIndices, kWindow };

// What stages of all kinds have.
struct StageBase {
  StageKind kind = StageKind::kLoop;
  llvm::SmallVector<unsigned, 2> results;  // which of the fusion's or the operation's it writes
  unsigned lanes = 1;
  double ns = 1;              // estimate of the whole, on one thread of a CPU or a whole GPU
  unsigned groupThreads = 1;  // that share a tile (GPUs)

  bool operator==(const StageBase&) const = default;

 protected:
  explicit StageBase(StageKind of) : kind(of) {}
};

// Of fusions, whose elements are computed in loops.
struct FusedStage : StageBase {
  // Tiles that a CPU's thread takes at a time; 0: one thread computes all.
  int64_t share = 0;
  llvm::SmallVector<ReductionSchedule, 2> reductions;
  llvm::SmallVector<unsigned, 2> unrolled;  // windows that are computed without loops

  const ReductionSchedule* reductionOf(unsigned op) const;
  bool operator==(const FusedStage&) const = default;

 protected:
  using StageBase::StageBase;
};

// A loop over results, a copy or a fill.
struct LoopStage : FusedStage {
  explicit LoopStage(StageKind kind = StageKind::kLoop) : FusedStage(kind) {}

  llvm::SmallVector<LoopDim, 4> dims;  // outermost first
  LoopOrder order = LoopOrder::kRows;
  int64_t orderDim = -1;
  int64_t blockRows = 1;                      // kRowBlocks: as many as the reductions have lanes
  llvm::SmallVector<int64_t, 4> cuts;         // of the innermost loop, its ends included
  llvm::SmallVector<OuterCuts, 1> outerCuts;  // kRows: of other loops, outermost first
  RowTail tail = RowTail::kElements;
  int64_t tiledDims = 0;  // so many outer loops are cut into tiles of one index
  // Of the next loop to be cut (other orders than kRows: of `orderDim`). kRowBlocks: rows of a
  // tile; 1: blocks are of the rows that a call has, from the first on.
  int64_t chunk = 1;
  int64_t grain = 1;  // so many of those pieces are one tile
  llvm::SmallVector<KeptRow, 2> kept;
  // Results with an element for each row of the last loop, written after the row: what reductions
  // of the row give is there then, and need not be computed by a stage of their own.
  llvm::SmallVector<unsigned, 2> rowResults;

  // Whether all cuts lie between vectors of so many elements.
  bool cutsBetween(int64_t lanes) const {
    return llvm::all_of(cuts, [&](int64_t cut) { return cut % lanes == 0; });
  }
  // Pieces before `grain` joins them.
  int64_t pieces() const;
  int64_t tiles() const;
  bool operator==(const LoopStage&) const = default;
};

// Of an operation that is computed with all its results.
struct WholeStage : FusedStage {
  TileSpace tileSpace = TileSpace::kNone;
  int64_t tileDim = -1;
  int64_t tileUnit = 1;  // elements of that dimension in a tile
  int64_t tileCount = 1;

  bool operator==(const WholeStage&) const = default;

 protected:
  using FusedStage::FusedStage;
};

// Running sums along one dimension of the result, or of any other combination.
struct ScanStage : WholeStage {
  ScanStage() : WholeStage(StageKind::kScan) {}

  int64_t scanDim = -1;  // of the result, along which it runs
  bool isScanFromEnd = false;
  ScanPart scanPart = ScanPart::kNone;
  // Of a part: elements of a block. kNone: elements, and again blocks, that are combined by
  // themselves before what comes before them, so that few roundings lie one after the other; 1:
  // all elements are combined one after the other.
  int64_t chunk = 1;
  int64_t grain = 1;  // neighbours that a thread of a group takes at a time

  bool operator==(const ScanStage&) const = default;
};

// A scatter, a dynamic_update_slice or a select_and_scatter.
struct UpdateStage : WholeStage {
  explicit UpdateStage(StageKind kind) : WholeStage(kind) {}

  bool operator==(const UpdateStage&) const = default;
};

// A product, and what a fusion computes of its sums.
struct DotStage : StageBase {
  DotStage() : StageBase(StageKind::kDot) {}

  int contraction = -1;     // the dot_general; 0 where there is no fusion
  int sums = -1;            // which of the fusion's results has room for sums meanwhile; -1: none
  FunctionForm function;    // of CPUs, whose functions multiply
  ProductSchedule product;  // of devices whose kernels do
  int64_t grain = 1;        // kVectors: tiles of a work-item

  bool operator==(const DotStage&) const = default;
};

// Attention or its gradient, whose scores are never stored as a whole.
struct AttentionStage : StageBase {
  AttentionStage() : StageBase(StageKind::kAttention) {}

  bool isOfLibrary = false;            // all of it is one's
  int64_t rows = 1;                    // of a tile, or of scores that a CPU computes at a time
  int64_t keys = 1;                    // at a time, of groups
  llvm::SmallVector<LoopDim, 2> dims;  // of groups: batch items, and their rows
  int64_t tiledDims = 0;               // of these, batch items

  int64_t tiles() const;
  bool operator==(const AttentionStage&) const = default;
};

// A sort by groups of threads (devices). Elements are those of a row, for all operands together.
struct SortStage : StageBase {
  SortStage() : StageBase(StageKind::kSort) {}

  int64_t chunk = 1;  // elements of a row that are sorted before the rounds
  int64_t grain = 1;  // elements that a thread makes of two runs
  int64_t run = 1;    // neighbours that a thread sorts by itself, before runs are merged
  int64_t lines = 1;  // rows of a group

  bool operator==(const SortStage&) const = default;
};

// A top_k by groups of threads (devices).
struct TopKStage : StageBase {
  TopKStage() : StageBase(StageKind::kTopK) {}

  int64_t chunk = 1;  // elements of a row for a group
  int64_t grain = 1;  // times that a thread loads `lanes` elements before it compares them

  bool operator==(const TopKStage&) const = default;
};

// A Fourier transform along one dimension (devices): by a group whose memory has whole lines, or by
// work-items, a stage for each factor of the dimension's size.
struct FftStage : StageBase {
  FftStage() : StageBase(StageKind::kFft) {}

  int64_t dim = -1;                       // of the operand, along which it transforms
  llvm::SmallVector<int64_t, 4> factors;  // of the dimension's size, in turn
  int64_t lines = 1;                      // of a group

  bool operator==(const FftStage&) const = default;
};

// One generated function. Its work is cut into tiles, which are independent of each other.
class StageSchedule {
 public:
  StageSchedule() = default;  // a loop
  // Of its kind's record.
  template <typename Stage>
    requires std::derived_from<std::remove_cvref_t<Stage>, StageBase>
  StageSchedule(Stage&& stage) : of_(std::forward<Stage>(stage)) {}  // NOLINT: as variants do
  // With all fields at their defaults.
  static StageSchedule ofKind(StageKind kind);

  // What the stage has of any kind.
  StageBase& base();
  const StageBase& base() const { return const_cast<StageSchedule*>(this)->base(); }
  StageKind kind() const { return base().kind; }
  // Its record, if it is of this type (or derived from it), else null.
  template <typename Stage>
  Stage* as() {
    return std::visit(
        [](auto& stage) -> Stage* {
          if constexpr (std::derived_from<std::remove_reference_t<decltype(stage)>, Stage>) {
            return &stage;
          } else {
            return nullptr;
          }
        },
        of_);
  }
  template <typename Stage>
  const Stage* as() const {
    return const_cast<StageSchedule*>(this)->as<Stage>();
  }
  template <typename Visitor>
  decltype(auto) visit(Visitor&& visitor) {
    return std::visit(std::forward<Visitor>(visitor), of_);
  }
  template <typename Visitor>
  decltype(auto) visit(Visitor&& visitor) const {
    return std::visit(std::forward<Visitor>(visitor), of_);
  }

  int64_t tiles() const;

  bool operator==(const StageSchedule&) const = default;

 private:
  std::variant<LoopStage, ScanStage, UpdateStage, DotStage, AttentionStage, SortStage, TopKStage,
               FftStage>
      of_;
};

struct KernelSchedule {
  llvm::SmallVector<StageSchedule, 1> stages;  // run one after the other

  // The records of all stages; empty if some are of another kind.
  template <typename Stage>
  llvm::SmallVector<Stage, 2> all() const {
    llvm::SmallVector<Stage, 2> records;
    for (const StageSchedule& stage : stages) {
      const auto* record = stage.as<Stage>();
      if (!record) return {};
      records.push_back(*record);
    }
    return records;
  }
  // The record of the only stage, if it is of this kind, else null.
  template <typename Stage>
  Stage* only() {
    return stages.size() == 1 ? stages[0].as<Stage>() : nullptr;
  }
  template <typename Stage>
  const Stage* only() const {
    return stages.size() == 1 ? stages[0].as<Stage>() : nullptr;
  }

  bool operator==(const KernelSchedule&) const = default;
};

std::string_view nameOf(ProductForm form);

// "loop results=0 dims=0-1:4096,2:128 lanes=16 …": fields at their defaults are left out. Parsing
// is the exact inverse; kInvalidArgument names the field that a stage of this kind does not have,
// or whose value is not understood.
std::string toString(const StageSchedule& stage);
StatusOr<StageSchedule> parseStageSchedule(std::string_view text);

}  // namespace isthmus

// The text of schedules, and what follows from their numbers.
#include "compiler/schedule/schedule.h"

#include <array>
#include <charconv>
#include <cstdio>
#include <utility>

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

namespace isthmus {
namespace {

template <typename E, size_t N>
using Names = std::array<std::pair<E, llvm::StringLiteral>, N>;

constexpr Names<StageKind, 12> kStageKinds = {{{StageKind::kLoop, "loop"},
                                               {StageKind::kCopy, "copy"},
                                               {StageKind::kFill, "fill"},
                                               {StageKind::kScan, "scan"},
                                               {StageKind::kScatter, "scatter"},
                                               {StageKind::kUpdateSlice, "update_slice"},
                                               {StageKind::kSelectAndScatter, "select_and_scatter"},
                                               {StageKind::kDot, "dot"},
                                               {StageKind::kAttention, "attention"},
                                               {StageKind::kSort, "sort"},
                                               {StageKind::kTopK, "top_k"},
                                               {StageKind::kFft, "fft"}}};
constexpr Names<LoopOrder, 4> kOrders = {{{LoopOrder::kRows, "rows"},
                                          {LoopOrder::kTransposed, "transposed"},
                                          {LoopOrder::kInterleaved, "interleaved"},
                                          {LoopOrder::kRowBlocks, "blocks"}}};
constexpr Names<RowTail, 3> kTails = {{{RowTail::kElements, "elements"},
                                       {RowTail::kNarrow, "narrow"},
                                       {RowTail::kOverlap, "overlap"}}};
constexpr Names<ReductionStrategy, 4> kStrategies = {
    {{ReductionStrategy::kLane, "lane"},
     {ReductionStrategy::kRow, "row"},
     {ReductionStrategy::kAccumulate, "accumulate"},
     {ReductionStrategy::kGroup, "group"}}};
constexpr Names<TileSpace, 3> kTileSpaces = {
    {{TileSpace::kNone, "none"}, {TileSpace::kIndices, "indices"}, {TileSpace::kWindow, "window"}}};

constexpr Names<ProductForm, 8> kForms = {{{ProductForm::kNone, "none"},
                                           {ProductForm::kLibrary, "library"},
                                           {ProductForm::kTensors, "tensors"},
                                           {ProductForm::kMatrices, "matrices"},
                                           {ProductForm::kGroups, "groups"},
                                           {ProductForm::kLines, "lines"},
                                           {ProductForm::kVectors, "vectors"},
                                           {ProductForm::kItems, "items"}}};

constexpr Names<ScanPart, 5> kScanParts = {{{ScanPart::kNone, "none"},
                                            {ScanPart::kWhole, "whole"},
                                            {ScanPart::kBlocks, "blocks"},
                                            {ScanPart::kTotals, "totals"},
                                            {ScanPart::kOffsets, "offsets"}}};

template <typename E, size_t N>
llvm::StringRef nameOf(const Names<E, N>& names, E value) {
  for (auto [each, name] : names) {
    if (each == value) return name;
  }
  return "?";
}

template <typename E, size_t N>
bool valueOf(const Names<E, N>& names, llvm::StringRef text, E* value) {
  for (auto [each, name] : names) {
    if (name == text) return *value = each, true;
  }
  return false;
}

template <typename T>
bool parseNumber(llvm::StringRef text, T* value) {
  auto [end, error] = std::from_chars(text.begin(), text.end(), *value);
  return error == std::errc() && end == text.end();
}

// "0-1:4096"; "2:128" for one dimension; ":1" for a number's loop.
std::string textOf(const LoopDim& dim) {
  std::string text;
  if (dim.last >= dim.first) text += std::to_string(dim.first);
  if (dim.last > dim.first) text += "-" + std::to_string(dim.last);
  return text + ":" + std::to_string(dim.size);
}

bool parse(llvm::StringRef text, LoopDim* dim) {
  auto [range, size] = text.split(':');
  if (!parseNumber(size, &dim->size)) return false;
  *dim = {0, -1, dim->size};
  if (range.empty()) return true;
  auto [first, last] = range.split('-');
  return parseNumber(first, &dim->first) && parseNumber(last.empty() ? first : last, &dim->last) &&
         dim->last >= dim->first;
}

// "1@8/56": loop 1, cut at 8 and 56.
std::string textOf(const OuterCuts& cuts) {
  std::string text = std::to_string(cuts.loop);
  for (auto [number, at] : llvm::enumerate(cuts.at)) {
    text += (number == 0 ? "@" : "/") + std::to_string(at);
  }
  return text;
}

bool parse(llvm::StringRef text, OuterCuts* cuts) {
  auto [loop, list] = text.split('@');
  llvm::SmallVector<llvm::StringRef, 8> parts;
  list.split(parts, '/');
  return parseNumber(loop, &cuts->loop) && llvm::all_of(parts, [&](llvm::StringRef part) {
           return parseNumber(part, &cuts->at.emplace_back());
         });
}

// "5:row:16x4"; "5:row:16x4/64" in blocks; "5:lane:1x10:16x4" where what is left of a vector has
// lanes along rows.
std::string textOf(const ReductionSchedule& reduction) {
  std::string text =
      std::to_string(reduction.op) + ":" + nameOf(kStrategies, reduction.strategy).str();
  const bool hasRest = reduction.restLanes != 1 || reduction.restInterleave != 1;
  if (reduction.lanes == 1 && reduction.interleave == 1 && !hasRest && reduction.block == 0) {
    return text;
  }
  auto add = [&](unsigned lanes, unsigned interleave) {
    text += ":" + std::to_string(lanes) + "x" + std::to_string(interleave);
  };
  add(reduction.lanes, reduction.interleave);
  if (reduction.block != 0) text += "/" + std::to_string(reduction.block);
  if (hasRest) add(reduction.restLanes, reduction.restInterleave);
  return text;
}

bool parse(llvm::StringRef text, ReductionSchedule* reduction) {
  llvm::SmallVector<llvm::StringRef, 4> parts;
  text.split(parts, ':');
  if (parts.size() < 2 || parts.size() > 4) return false;
  if (!parseNumber(parts[0], &reduction->op)) return false;
  if (!valueOf(kStrategies, parts[1], &reduction->strategy)) return false;
  if (parts.size() > 2) {
    auto [sizes, block] = parts[2].split('/');
    if (sizes != parts[2] && !parseNumber(block, &reduction->block)) return false;
    parts[2] = sizes;
  }
  auto parseSizes = [](llvm::StringRef sizes, unsigned* lanes, unsigned* interleave) {
    auto [first, second] = sizes.split('x');
    return parseNumber(first, lanes) && parseNumber(second, interleave);
  };
  if (parts.size() > 2 && !parseSizes(parts[2], &reduction->lanes, &reduction->interleave)) {
    return false;
  }
  return parts.size() < 4 ||
         parseSizes(parts[3], &reduction->restLanes, &reduction->restInterleave);
}

// "3@5": value 3, written by the reduction 5.
bool parse(llvm::StringRef text, KeptRow* row) {
  auto [value, writer] = text.split('@');
  return parseNumber(value, &row->value) && parseNumber(writer, &row->writer);
}

template <typename T>
  requires std::is_arithmetic_v<T>
bool parse(llvm::StringRef text, T* value) {
  return parseNumber(text, value);
}

template <std::integral T>
std::string textOf(T number) {
  return std::to_string(number);
}

// To four digits: what an estimate is worth, and the same text on every machine.
std::string textOf(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", number);
  return text;
}

std::string textOf(const KeptRow& row) {
  return std::to_string(row.value) + "@" + std::to_string(row.writer);
}

template <typename T, unsigned N>
std::string textOf(const llvm::SmallVector<T, N>& list) {
  return llvm::join(llvm::map_range(list, [](const T& element) { return textOf(element); }), ",");
}

template <typename T, unsigned N>
bool parse(llvm::StringRef text, llvm::SmallVector<T, N>* list) {
  list->clear();
  llvm::SmallVector<llvm::StringRef, 8> parts;
  text.split(parts, ',');
  return llvm::all_of(parts,
                      [&](llvm::StringRef part) { return parse(part, &list->emplace_back()); });
}

std::string textOf(RowTail tail) { return nameOf(kTails, tail).str(); }
bool parse(llvm::StringRef text, RowTail* tail) { return valueOf(kTails, text, tail); }
std::string textOf(ScanPart part) { return nameOf(kScanParts, part).str(); }
bool parse(llvm::StringRef text, ScanPart* part) { return valueOf(kScanParts, text, part); }
std::string textOf(ProductForm form) { return nameOf(kForms, form).str(); }
bool parse(llvm::StringRef text, ProductForm* form) { return valueOf(kForms, text, form); }

// "blocked"; "direct:swapped".
std::string textOf(const FunctionForm& form) {
  return form.name + (form.isSwapped ? ":swapped" : "");
}
bool parse(llvm::StringRef text, FunctionForm* form) {
  auto [name, order] = text.split(':');
  *form = {name.str(), order == "swapped"};
  return !name.empty() && (order.empty() || form->isSwapped);
}

// "interleaved@1".
struct OrderField {
  LoopOrder& order;
  int64_t& dim;
};
std::string textOf(const OrderField& field) {
  return nameOf(kOrders, field.order).str() + "@" + textOf(field.dim);
}
bool parse(llvm::StringRef text, OrderField* field) {
  auto [order, dim] = text.split('@');
  return valueOf(kOrders, order, &field->order) && (dim.empty() || parseNumber(dim, &field->dim));
}

// "1"; "1:reversed".
struct DirectionField {
  int64_t& dim;
  bool& isFromEnd;
};
std::string textOf(const DirectionField& field) {
  return textOf(field.dim) + (field.isFromEnd ? ":reversed" : "");
}
bool parse(llvm::StringRef text, DirectionField* field) {
  auto [dim, direction] = text.split(':');
  field->isFromEnd = direction == "reversed";
  return (direction.empty() || field->isFromEnd) && parseNumber(dim, &field->dim);
}

// "indices@0:64x8".
struct TilesField {
  WholeStage& stage;
};
std::string textOf(const TilesField& field) {
  const WholeStage& stage = field.stage;
  return nameOf(kTileSpaces, stage.tileSpace).str() + "@" + textOf(stage.tileDim) + ":" +
         textOf(stage.tileCount) + "x" + textOf(stage.tileUnit);
}
bool parse(llvm::StringRef text, TilesField* field) {
  WholeStage& stage = field->stage;
  auto [space, rest] = text.split('@');
  auto [dim, size] = rest.split(':');
  auto [count, unit] = size.split('x');
  return valueOf(kTileSpaces, space, &stage.tileSpace) && parseNumber(dim, &stage.tileDim) &&
         parseNumber(count, &stage.tileCount) && parseNumber(unit, &stage.tileUnit);
}

// "128x64x16": as many numbers as there are.
struct SizesField {
  llvm::SmallVector<int64_t*, 3> sizes;
};
std::string textOf(const SizesField& field) {
  return llvm::join(llvm::map_range(field.sizes, [](int64_t* size) { return textOf(*size); }), "x");
}
bool parse(llvm::StringRef text, SizesField* field) {
  llvm::SmallVector<llvm::StringRef, 3> parts;
  text.split(parts, 'x');
  return parts.size() == field->sizes.size() &&
         llvm::all_of(llvm::zip(parts, field->sizes),
                      [](auto pair) { return parseNumber(std::get<0>(pair), std::get<1>(pair)); });
}

// "rows,columns": the names of the flags that are set.
struct FlagsField {
  llvm::SmallVector<std::pair<llvm::StringRef, bool*>, 4> flags;

  bool isAnySet() const {
    return llvm::any_of(flags, [](auto flag) { return *flag.second; });
  }
};
std::string textOf(const FlagsField& field) {
  std::string text;
  for (auto [name, flag] : field.flags) {
    if (*flag) text += (text.empty() ? "" : ",") + name.str();
  }
  return text;
}
bool parse(llvm::StringRef text, FlagsField* field) {
  llvm::SmallVector<llvm::StringRef, 2> parts;
  text.split(parts, ',');
  return llvm::all_of(parts, [&](llvm::StringRef part) {
    for (auto [name, flag] : field->flags) {
      if (part == name) return *flag = true;
    }
    return false;
  });
}

// The fields of each kind's record, in the order of the text: `visit(key, field, isPrinted)`.

template <typename Visit>
void fieldsOf(ProductSchedule& product, Visit& visit) {
  const bool isThere = product.form != ProductForm::kNone;
  FlagsField with{{{"swapped", &product.isSwapped},
                   {"terms", &product.vectorsAlongTerms},
                   {"mixed", &product.mixesRows},
                   {"floats", &product.inFloats}}};
  FlagsField copies{{{"rows", &product.copiesRows}, {"columns", &product.copiesColumns}}};
  visit("form", product.form, isThere);
  visit("tile", SizesField{{&product.tileRows, &product.tileColumns, &product.tileTerms}},
        isThere && product.tileRows > 0);
  visit("each", SizesField{{&product.rows, &product.columns}},
        isThere && (product.rows != 1 || product.columns != 1));
  visit("splits", product.splits, isThere && product.splits != 1);
  visit("with", with, isThere && with.isAnySet());
  visit("copies", copies, isThere && copies.isAnySet());
}

// What is said last of all stages of fusions.
template <typename Visit>
void endOf(FusedStage& stage, Visit& visit) {
  visit("share", stage.share, stage.share != 0);
  visit("ns", stage.ns, true);
}

template <typename Visit>
void fieldsOf(LoopStage& stage, Visit& visit) {
  const LoopStage none;
  visit("results", stage.results, true);
  visit("rows", stage.rowResults, !stage.rowResults.empty());
  visit("dims", stage.dims, !stage.dims.empty());
  visit("order", OrderField{stage.order, stage.orderDim}, stage.order != none.order);
  visit("block", stage.blockRows, stage.blockRows != none.blockRows);
  visit("lanes", stage.lanes, stage.lanes != none.lanes);
  visit("cuts", stage.cuts, !stage.cuts.empty());
  visit("outer", stage.outerCuts, !stage.outerCuts.empty());
  visit("tails", stage.tail, stage.tail != none.tail);
  visit("tiled", stage.tiledDims, stage.tiledDims != none.tiledDims);
  visit("chunk", stage.chunk, stage.chunk != none.chunk);
  visit("grain", stage.grain, stage.grain != none.grain);
  visit("threads", stage.groupThreads, stage.groupThreads != none.groupThreads);
  visit("reduce", stage.reductions, !stage.reductions.empty());
  visit("kept", stage.kept, !stage.kept.empty());
  visit("unroll", stage.unrolled, !stage.unrolled.empty());
  endOf(stage, visit);
}

template <typename Visit>
void insideAndTilesOf(WholeStage& stage, Visit& visit) {
  visit("reduce", stage.reductions, !stage.reductions.empty());
  visit("unroll", stage.unrolled, !stage.unrolled.empty());
  visit("tiles", TilesField{stage}, stage.tileSpace != TileSpace::kNone);
  endOf(stage, visit);
}

template <typename Visit>
void fieldsOf(ScanStage& stage, Visit& visit) {
  const ScanStage none;
  visit("results", stage.results, true);
  visit("along", DirectionField{stage.scanDim, stage.isScanFromEnd}, stage.scanDim >= 0);
  visit("part", stage.scanPart, stage.scanPart != none.scanPart);
  visit("lanes", stage.lanes, stage.lanes != none.lanes);
  visit("chunk", stage.chunk, stage.chunk != none.chunk);
  visit("grain", stage.grain, stage.grain != none.grain);
  visit("threads", stage.groupThreads, stage.groupThreads != none.groupThreads);
  insideAndTilesOf(stage, visit);
}

template <typename Visit>
void fieldsOf(UpdateStage& stage, Visit& visit) {
  visit("results", stage.results, true);
  visit("lanes", stage.lanes, stage.lanes != 1);
  visit("threads", stage.groupThreads, stage.groupThreads != 1);
  insideAndTilesOf(stage, visit);
}

template <typename Visit>
void fieldsOf(DotStage& stage, Visit& visit) {
  const DotStage none;
  visit("results", stage.results, true);
  visit("of", stage.contraction, stage.contraction >= 0);
  visit("sums", stage.sums, stage.sums >= 0);
  visit("function", stage.function, !stage.function.name.empty());
  fieldsOf(stage.product, visit);
  visit("lanes", stage.lanes, stage.lanes != none.lanes);
  visit("grain", stage.grain, stage.grain != none.grain);
  visit("threads", stage.groupThreads, stage.groupThreads != none.groupThreads);
  visit("ns", stage.ns, true);
}

template <typename Visit>
void fieldsOf(AttentionStage& stage, Visit& visit) {
  const AttentionStage none;
  FlagsField form{{{nameOf(kForms, ProductForm::kLibrary), &stage.isOfLibrary}}};
  visit("results", stage.results, true);
  visit("form", form, stage.isOfLibrary);
  visit("dims", stage.dims, !stage.dims.empty());
  visit("block", stage.keys, stage.keys != none.keys);
  visit("tiled", stage.tiledDims, stage.tiledDims != none.tiledDims);
  visit("chunk", stage.rows, stage.rows != none.rows);
  visit("threads", stage.groupThreads, stage.groupThreads != none.groupThreads);
  visit("ns", stage.ns, true);
}

template <typename Visit>
void fieldsOf(SortStage& stage, Visit& visit) {
  const SortStage none;
  visit("results", stage.results, true);
  visit("chunk", stage.chunk, stage.chunk != none.chunk);
  visit("grain", stage.grain, stage.grain != none.grain);
  visit("run", stage.run, stage.run != none.run);
  visit("lines", stage.lines, stage.lines != none.lines);
  visit("threads", stage.groupThreads, stage.groupThreads != none.groupThreads);
  visit("ns", stage.ns, true);
}

template <typename Visit>
void fieldsOf(TopKStage& stage, Visit& visit) {
  const TopKStage none;
  visit("results", stage.results, true);
  visit("lanes", stage.lanes, stage.lanes != none.lanes);
  visit("chunk", stage.chunk, stage.chunk != none.chunk);
  visit("grain", stage.grain, stage.grain != none.grain);
  visit("threads", stage.groupThreads, stage.groupThreads != none.groupThreads);
  visit("ns", stage.ns, true);
}

template <typename Visit>
void fieldsOf(FftStage& stage, Visit& visit) {
  const FftStage none;
  visit("results", stage.results, true);
  visit("along", stage.dim, stage.dim >= 0);
  visit("factors", stage.factors, !stage.factors.empty());
  visit("lines", stage.lines, stage.lines != none.lines);
  visit("threads", stage.groupThreads, stage.groupThreads != none.groupThreads);
  visit("ns", stage.ns, true);
}

class FieldPrinter {
 public:
  explicit FieldPrinter(std::string* text) : text_(*text) {}

  template <typename Field>
  void operator()(const char* key, const Field& field, bool isPrinted) {
    if (isPrinted) text_ += std::string(" ") + key + "=" + textOf(field);
  }

 private:
  std::string& text_;
};

// Reads one field, if the record has it.
class FieldReader {
 public:
  FieldReader(llvm::StringRef key, llvm::StringRef value) : key_(key), value_(value) {}

  template <typename Field>
  void operator()(const char* key, Field&& field, bool) {
    if (key_ != key) return;
    isThere_ = true;
    isRead_ = parse(value_, &field);
  }
  bool isThere() const { return isThere_; }
  bool isRead() const { return isRead_; }

 private:
  llvm::StringRef key_, value_;
  bool isThere_ = false, isRead_ = false;
};

}  // namespace

std::string_view nameOf(ProductForm form) {
  llvm::StringRef name = nameOf(kForms, form);
  return {name.data(), name.size()};
}

int64_t LoopStage::pieces() const {
  if (dims.empty()) return 1;
  int64_t count = 1;
  if (order == LoopOrder::kRows) {
    for (int64_t d = 0; d < tiledDims; ++d) count *= dims[d].size;
    if (tiledDims < static_cast<int64_t>(dims.size())) {
      count *= (dims.back().size + chunk - 1) / chunk;
    }
    return count;
  }
  // A piece covers whole rows behind orderDim, or (transposed) along the last loop.
  size_t end = order == LoopOrder::kTransposed ? dims.size() - 1 : static_cast<size_t>(orderDim);
  for (size_t d = 0; d < end; ++d) {
    if (static_cast<int64_t>(d) != orderDim) count *= dims[d].size;
  }
  // Groups have squares.
  if (order == LoopOrder::kTransposed && groupThreads > 1) {
    count *= (dims.back().size + chunk - 1) / chunk;
  }
  return count * ((dims[orderDim].size + chunk - 1) / chunk);
}

int64_t LoopStage::tiles() const { return std::max<int64_t>(1, (pieces() + grain - 1) / grain); }

int64_t AttentionStage::tiles() const {
  if (dims.empty()) return 1;
  int64_t count = (dims.back().size + rows - 1) / rows;
  for (int64_t d = 0; d < tiledDims; ++d) count *= dims[static_cast<size_t>(d)].size;
  return count;
}

StageSchedule StageSchedule::ofKind(StageKind kind) {
  switch (kind) {
    case StageKind::kLoop:
    case StageKind::kCopy:
    case StageKind::kFill:
      return LoopStage(kind);
    case StageKind::kScan:
      return ScanStage();
    case StageKind::kScatter:
    case StageKind::kUpdateSlice:
    case StageKind::kSelectAndScatter:
      return UpdateStage(kind);
    case StageKind::kDot:
      return DotStage();
    case StageKind::kAttention:
      return AttentionStage();
    case StageKind::kSort:
      return SortStage();
    case StageKind::kTopK:
      return TopKStage();
    case StageKind::kFft:
      return FftStage();
  }
  return LoopStage();
}

StageBase& StageSchedule::base() {
  return std::visit([](StageBase& stage) -> StageBase& { return stage; }, of_);
}

int64_t StageSchedule::tiles() const {
  if (const auto* loop = as<LoopStage>()) return loop->tiles();
  if (const auto* attention = as<AttentionStage>()) return attention->tiles();
  const auto* whole = as<WholeStage>();
  return whole && whole->tileSpace != TileSpace::kNone ? whole->tileCount : 1;
}

const ReductionSchedule* FusedStage::reductionOf(unsigned op) const {
  for (const ReductionSchedule& reduction : reductions) {
    if (reduction.op == op) return &reduction;
  }
  return nullptr;
}

std::string toString(const StageSchedule& stage) {
  std::string text = nameOf(kStageKinds, stage.kind()).str();
  FieldPrinter print(&text);
  StageSchedule copy = stage;
  copy.visit([&](auto& of) { fieldsOf(of, print); });
  return text;
}

StatusOr<StageSchedule> parseStageSchedule(std::string_view given) {
  StageKind kind;
  llvm::SmallVector<llvm::StringRef, 16> words;
  llvm::StringRef(given.data(), given.size()).split(words, ' ', -1, /*KeepEmpty=*/false);
  if (words.empty() || !valueOf(kStageKinds, words[0], &kind)) {
    return invalidArgument("schedule '", given, "' does not begin with a kind of stage");
  }
  StageSchedule stage = StageSchedule::ofKind(kind);
  for (llvm::StringRef word : llvm::drop_begin(words)) {
    auto [key, value] = word.split('=');
    FieldReader read(key, value);
    stage.visit([&](auto& of) { fieldsOf(of, read); });
    if (!read.isThere()) {
      return invalidArgument("schedule field '", word.str(), "': a stage of the kind ",
                             words[0].str(), " has no such field");
    }
    if (!read.isRead()) {
      return invalidArgument("schedule field '", word.str(), "' is not understood");
    }
  }
  return stage;
}

}  // namespace isthmus

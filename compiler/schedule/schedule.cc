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

// Elements separated by commas, each read by `parse`.
template <typename List, typename Parse>
bool parseList(llvm::StringRef text, List* list, Parse parse) {
  list->clear();
  llvm::SmallVector<llvm::StringRef, 8> parts;
  text.split(parts, ',');
  for (llvm::StringRef part : parts) {
    if (!parse(part, &list->emplace_back())) return false;
  }
  return true;
}

template <typename List, typename Print>
std::string listOf(const List& list, Print print) {
  return llvm::join(llvm::map_range(list, print), ",");
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

// "5:row:16x4"; "5:lane:1x10:16x4" where what is left of a vector has lanes along rows.
std::string textOf(const ReductionSchedule& reduction) {
  std::string text =
      std::to_string(reduction.op) + ":" + nameOf(kStrategies, reduction.strategy).str();
  const bool hasRest = reduction.restLanes != 1 || reduction.restInterleave != 1;
  if (reduction.lanes == 1 && reduction.interleave == 1 && !hasRest) return text;
  auto add = [&](unsigned lanes, unsigned interleave) {
    text += ":" + std::to_string(lanes) + "x" + std::to_string(interleave);
  };
  add(reduction.lanes, reduction.interleave);
  if (hasRest) add(reduction.restLanes, reduction.restInterleave);
  return text;
}

bool parse(llvm::StringRef text, ReductionSchedule* reduction) {
  llvm::SmallVector<llvm::StringRef, 4> parts;
  text.split(parts, ':');
  if (parts.size() < 2 || parts.size() > 4) return false;
  if (!parseNumber(parts[0], &reduction->op)) return false;
  if (!valueOf(kStrategies, parts[1], &reduction->strategy)) return false;
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

// "128x64x16": as many numbers as there are places.
bool parseSizes(llvm::StringRef text, std::initializer_list<int64_t*> sizes) {
  llvm::SmallVector<llvm::StringRef, 3> parts;
  text.split(parts, 'x');
  return parts.size() == sizes.size() && llvm::all_of(llvm::zip(parts, sizes), [](auto pair) {
           return parseNumber(std::get<0>(pair), std::get<1>(pair));
         });
}

// "rows,columns": each name of `text` sets a flag.
bool parseFlags(llvm::StringRef text, llvm::ArrayRef<std::pair<llvm::StringRef, bool*>> flags) {
  llvm::SmallVector<llvm::StringRef, 2> parts;
  text.split(parts, ',');
  return llvm::all_of(parts, [&](llvm::StringRef part) {
    for (auto [name, flag] : flags) {
      if (part == name) return *flag = true;
    }
    return false;
  });
}

bool parseField(llvm::StringRef key, llvm::StringRef text, ProductSchedule* product) {
  if (key == "form") return valueOf(kForms, text, &product->form);
  if (key == "tile") {
    return parseSizes(text, {&product->tileRows, &product->tileColumns, &product->tileTerms});
  }
  if (key == "each") return parseSizes(text, {&product->rows, &product->columns});
  if (key == "splits") return parseNumber(text, &product->splits);
  if (key == "with") {
    return parseFlags(text, {{"swapped", &product->isSwapped},
                             {"terms", &product->vectorsAlongTerms},
                             {"mixed", &product->mixesRows},
                             {"floats", &product->inFloats}});
  }
  if (key == "copies") {
    return parseFlags(text, {{"rows", &product->copiesRows}, {"columns", &product->copiesColumns}});
  }
  return false;
}

bool parseField(llvm::StringRef key, llvm::StringRef text, StageSchedule* stage) {
  auto number = [](llvm::StringRef part, auto* value) { return parseNumber(part, value); };
  auto element = [](llvm::StringRef part, auto* value) { return parse(part, value); };
  if (key == "results") return parseList(text, &stage->results, number);
  if (key == "rows") return parseList(text, &stage->rowResults, number);
  if (key == "of") return parseNumber(text, &stage->contraction);
  if (key == "sums") return parseNumber(text, &stage->sums);
  if (key == "function") {  // "blocked"; "direct:swapped"
    auto [name, order] = text.split(':');
    stage->function = {name.str(), order == "swapped"};
    return !name.empty() && (order.empty() || stage->function.isSwapped);
  }
  if (key == "along") {  // "1"; "1:reversed"
    auto [dim, direction] = text.split(':');
    stage->isScanFromEnd = direction == "reversed";
    return (direction.empty() || stage->isScanFromEnd) && parseNumber(dim, &stage->scanDim);
  }
  if (key == "part") return valueOf(kScanParts, text, &stage->scanPart);
  if (key == "lanes") return parseNumber(text, &stage->lanes);
  if (key == "share") return parseNumber(text, &stage->share);
  if (key == "ns") return parseNumber(text, &stage->ns);
  if (key == "dims") return parseList(text, &stage->dims, element);
  if (key == "order") {
    auto [order, dim] = text.split('@');
    return valueOf(kOrders, order, &stage->order) &&
           (dim.empty() || parseNumber(dim, &stage->orderDim));
  }
  if (key == "block") return parseNumber(text, &stage->blockRows);
  if (key == "cuts") return parseList(text, &stage->cuts, number);
  if (key == "tails") return valueOf(kTails, text, &stage->tail);
  if (key == "tiled") return parseNumber(text, &stage->tiledDims);
  if (key == "chunk") return parseNumber(text, &stage->chunk);
  if (key == "grain") return parseNumber(text, &stage->grain);
  if (key == "threads") return parseNumber(text, &stage->groupThreads);
  if (key == "lines") return parseNumber(text, &stage->lines);
  if (key == "run") return parseNumber(text, &stage->run);
  if (key == "factors") return parseList(text, &stage->factors, number);
  if (key == "reduce") return parseList(text, &stage->reductions, element);
  if (key == "kept") return parseList(text, &stage->kept, element);
  if (key == "unroll") return parseList(text, &stage->unrolled, number);
  if (key == "tiles") {  // "indices@0:64x8"
    auto [space, rest] = text.split('@');
    auto [dim, size] = rest.split(':');
    auto [count, unit] = size.split('x');
    return valueOf(kTileSpaces, space, &stage->tileSpace) && parseNumber(dim, &stage->tileDim) &&
           parseNumber(count, &stage->tileCount) && parseNumber(unit, &stage->tileUnit);
  }
  return parseField(key, text, &stage->product);
}

// To four digits: what an estimate is worth, and the same text on every machine.
std::string textOf(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", number);
  return text;
}

using Field = llvm::function_ref<void(const char* key, const std::string& value)>;

void printProduct(const ProductSchedule& product, Field field) {
  if (product.form == ProductForm::kNone) return;
  auto number = [](int64_t value) { return std::to_string(value); };
  auto flags = [](llvm::ArrayRef<std::pair<const char*, bool>> all) {
    llvm::SmallVector<std::string, 3> names;
    for (auto [name, isSet] : all) {
      if (isSet) names.push_back(name);
    }
    return llvm::join(names, ",");
  };
  field("form", nameOf(kForms, product.form).str());
  if (product.tileRows > 0) {
    field("tile", number(product.tileRows) + "x" + number(product.tileColumns) + "x" +
                      number(product.tileTerms));
  }
  if (product.rows != 1 || product.columns != 1) {
    field("each", number(product.rows) + "x" + number(product.columns));
  }
  if (product.splits != 1) field("splits", number(product.splits));
  std::string with = flags({{"swapped", product.isSwapped},
                            {"terms", product.vectorsAlongTerms},
                            {"mixed", product.mixesRows},
                            {"floats", product.inFloats}});
  if (!with.empty()) field("with", with);
  std::string copies = flags({{"rows", product.copiesRows}, {"columns", product.copiesColumns}});
  if (!copies.empty()) field("copies", copies);
}

}  // namespace

std::string_view nameOf(ProductForm form) {
  llvm::StringRef name = nameOf(kForms, form);
  return {name.data(), name.size()};
}

int64_t StageSchedule::pieces() const {
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

int64_t StageSchedule::tiles() const {
  if (tileSpace != TileSpace::kNone) return tileCount;
  return std::max<int64_t>(1, (pieces() + grain - 1) / grain);
}

const ReductionSchedule* StageSchedule::reductionOf(unsigned op) const {
  for (const ReductionSchedule& reduction : reductions) {
    if (reduction.op == op) return &reduction;
  }
  return nullptr;
}

std::string toString(const StageSchedule& stage) {
  const StageSchedule none;
  std::string text = nameOf(kStageKinds, stage.kind).str();
  auto field = [&](const char* key, const std::string& value) {
    text += std::string(" ") + key + "=" + value;
  };
  auto number = [](int64_t value) { return std::to_string(value); };
  field("results", listOf(stage.results, number));
  if (!stage.rowResults.empty()) field("rows", listOf(stage.rowResults, number));
  if (stage.contraction >= 0) field("of", number(stage.contraction));
  if (stage.sums >= 0) field("sums", number(stage.sums));
  if (!stage.function.name.empty()) {
    field("function", stage.function.name + (stage.function.isSwapped ? ":swapped" : ""));
  }
  printProduct(stage.product, field);
  if (stage.scanDim >= 0) {
    field("along", number(stage.scanDim) + (stage.isScanFromEnd ? ":reversed" : ""));
  }
  if (stage.scanPart != none.scanPart) field("part", nameOf(kScanParts, stage.scanPart).str());
  if (!stage.factors.empty()) field("factors", listOf(stage.factors, number));
  if (!stage.dims.empty()) field("dims", listOf(stage.dims, [](auto& dim) { return textOf(dim); }));
  if (stage.order != none.order) {
    field("order", nameOf(kOrders, stage.order).str() + "@" + number(stage.orderDim));
  }
  if (stage.blockRows != none.blockRows) field("block", number(stage.blockRows));
  if (stage.lanes != none.lanes) field("lanes", number(stage.lanes));
  if (!stage.cuts.empty()) field("cuts", listOf(stage.cuts, number));
  if (stage.tail != none.tail) field("tails", nameOf(kTails, stage.tail).str());
  if (stage.tiledDims != none.tiledDims) field("tiled", number(stage.tiledDims));
  if (stage.chunk != none.chunk) field("chunk", number(stage.chunk));
  if (stage.grain != none.grain) field("grain", number(stage.grain));
  if (stage.run != none.run) field("run", number(stage.run));
  if (stage.lines != none.lines) field("lines", number(stage.lines));
  if (stage.groupThreads != none.groupThreads) field("threads", number(stage.groupThreads));
  if (!stage.reductions.empty()) {
    field("reduce", listOf(stage.reductions, [](auto& reduction) { return textOf(reduction); }));
  }
  if (!stage.kept.empty()) {
    field("kept", listOf(stage.kept,
                         [&](auto& row) { return number(row.value) + "@" + number(row.writer); }));
  }
  if (!stage.unrolled.empty()) field("unroll", listOf(stage.unrolled, number));
  if (stage.tileSpace != none.tileSpace) {
    field("tiles", nameOf(kTileSpaces, stage.tileSpace).str() + "@" + number(stage.tileDim) + ":" +
                       number(stage.tileCount) + "x" + number(stage.tileUnit));
  }
  if (stage.share != none.share) field("share", number(stage.share));
  field("ns", textOf(stage.ns));
  return text;
}

StatusOr<StageSchedule> parseStageSchedule(std::string_view given) {
  StageSchedule stage;
  llvm::SmallVector<llvm::StringRef, 16> words;
  llvm::StringRef(given.data(), given.size()).split(words, ' ', -1, /*KeepEmpty=*/false);
  if (words.empty() || !valueOf(kStageKinds, words[0], &stage.kind)) {
    return invalidArgument("schedule '", given, "' does not begin with a kind of stage");
  }
  for (llvm::StringRef word : llvm::drop_begin(words)) {
    auto [key, value] = word.split('=');
    if (!parseField(key, value, &stage)) {
      return invalidArgument("schedule field '", word.str(), "' is not understood");
    }
  }
  return stage;
}

}  // namespace isthmus

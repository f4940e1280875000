#include "compiler/schedule/products/product_scheduler.h"

#include <algorithm>

#include "compiler/cost/library_time.h"
#include "compiler/cost/time.h"
#include "compiler/cost/work.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/schedule/op_schedule.h"
#include "compiler/schedule/products/tensor_product.h"
#include "compiler/schedule/products/vector_product.h"
#include "llvm/Support/MathExtras.h"

namespace isthmus {
namespace {

constexpr unsigned kSquareThreads = kProductSide * kProductSide;
// Of a group that shares the terms of few lines: threads of a line that is read along the terms,
// and lines side by side that are read across.
constexpr int64_t kThreadsAlong = 32, kLinesAcross = 32;
constexpr int64_t kMaxGroups = int64_t{1} << 30;

int64_t tilesOf(int64_t size, int64_t tile) { return llvm::divideCeilSigned(size, tile); }

// One operation, as the forms look at it.
class ProductScheduler {
 public:
  ProductScheduler(mlir::Operation* op, const TargetModel& target)
      : op_(op), target_(target), model_(target.products), kinds_(productKindsOf(op)) {
    if (!kinds_) return;
    if (auto dot = llvm::dyn_cast<shlo::DotGeneralOp>(op)) {
      dot_ = dotRolesOf(dot);
      shape_ = shapeOf(*dot_);
    } else if (auto conv = llvm::dyn_cast<shlo::ConvolutionOp>(op)) {
      conv_ = convRolesOf(conv);
      shape_ = shapeOf(*conv_);
    }
  }

  void choose(const IsOfLibrary& isOfLibrary, DotStage* stage, std::string* reason) const {
    *stage = base(*stage);
    std::string why;
    auto note = [&](const char* form, const std::string& refusal) {
      if (!refusal.empty()) why += std::string(why.empty() ? "" : "; ") + form + ": " + refusal;
      return refusal.empty();
    };
    if (isOfLibrary && isOfLibrary(op_)) {
      stage->product.form = ProductForm::kLibrary;
      note("library", "it computes such products");
    } else if (isEmpty()) {
      stage->product.form = ProductForm::kItems;
      note("items", "there is nothing to compute");
    } else if (kinds_) {
      using Choose = std::string (ProductScheduler::*)(DotStage*, std::string*) const;
      constexpr std::pair<const char*, Choose> kOrder[] = {
          {"tensors", &ProductScheduler::chooseTensors},
          {"matrices", &ProductScheduler::chooseMatrices},
          {"groups", &ProductScheduler::chooseGroups},
          {"lines", &ProductScheduler::chooseLines},
          {"vectors", &ProductScheduler::chooseVectorTiles}};
      std::string remark;
      bool isChosen = false;
      for (auto [form, choose] : kOrder) {
        DotStage tried = base(*stage);
        isChosen = note(form, (this->*choose)(&tried, &remark));
        if (!isChosen) continue;
        *stage = std::move(tried);
        break;
      }
      if (!isChosen) chooseItems(stage);
      if (!remark.empty()) why += (why.empty() ? "" : "; ") + remark;
    }
    if (reason) *reason = why;
  }

  std::string refusal(const DotStage& stage) const;

 private:
  bool isEmpty() const { return elementCount(op_->getResult(0)) == 0; }
  // What no form has chosen yet.
  DotStage base(const DotStage& stage) const {
    DotStage none = stage;
    none.product = {};
    none.lanes = 1;
    none.grain = 1;
    none.groupThreads = 1;
    return none;
  }

  bool hasGroupsOf(unsigned threads) const {
    return target_.hasGroups() && target_.groupSize >= threads;
  }

  std::string tensorRefusal() const {
    if (model_.unit != ProductUnit::kWarps) return "the device has none";
    std::optional<TensorType> type = tensorTypeOf(*kinds_);
    if (!type) return "they do not multiply these types as exactly";
    std::optional<MatrixProduct> product = matrixProductOf(op_);
    if (!product) return "it is no product of matrices that lie in memory as such";
    const int64_t least = model_.minInstructionSize;
    if (product->rows < least || product->columns < least || product->contracting < least) {
      return "it is too small";
    }
    if (tensorGroupsOf(*product, tensorTile({}, model_.smallBlockRows, model_.smallBlockColumns)) >
        kMaxGroups / product->batches()) {
      return "it has more groups than can be counted";
    }
    return isInChunks(*product, *type, chunkBytes())
               ? ""
               : "operands cannot be read by " + std::to_string(chunkBytes()) + " bytes";
  }

  // What a thread copies to the group's memory at once.
  int64_t chunkBytes() const { return target_.threadBits / 8; }
  // Along the terms of a tile.
  int64_t tensorTermBytes() const { return model_.tileSteps * model_.instructionBytes; }

  // So many results of the instruction for each warp.
  DotStage tensorTile(DotStage stage, int64_t blockRows, int64_t blockColumns) const {
    ProductSchedule& product = stage.product;
    product.form = ProductForm::kTensors;
    product.rows = blockRows * model_.instructionRows;
    product.columns = blockColumns * model_.instructionColumns;
    product.tileRows = model_.subgroupsDown * product.rows;
    product.tileColumns = model_.subgroupsAcross * product.columns;
    product.tileTerms = tensorTermBytes() / bytesOf(*tensorTypeOf(*kinds_));
    stage.groupThreads =
        static_cast<unsigned>(model_.subgroupsDown * model_.subgroupsAcross) * target_.subgroupSize;
    return stage;
  }
  // For each batch item.
  static int64_t tensorGroupsOf(const MatrixProduct& product, const DotStage& stage) {
    return tilesOf(product.rows, stage.product.tileRows) *
           tilesOf(product.columns, stage.product.tileColumns);
  }

  // "large tiles, 64 of them", or why they are small.
  std::string sizeRemark(bool isLarge, int64_t groups, const char* otherwise = nullptr) const {
    if (otherwise) return std::string("small tiles, since ") + otherwise;
    return std::string(isLarge ? "large tiles, of which there are "
                               : "small tiles, since of large ones there were ") +
           std::to_string(groups) + (isLarge ? ", at least " : " of ") +
           std::to_string(model_.enoughGroups);
  }

  std::string chooseTensors(DotStage* stage, std::string* remark) const {
    std::string why = tensorRefusal();
    if (!why.empty()) return why;
    MatrixProduct product = *matrixProductOf(op_);
    // Large tiles read each operand less often, if there are enough of them to go round.
    const DotStage large = tensorTile(*stage, model_.largeBlockRows, model_.largeBlockColumns);
    const int64_t groups = tensorGroupsOf(product, large) * product.batches();
    const bool isLarge = groups >= model_.enoughGroups;
    *stage = isLarge ? large : tensorTile(*stage, model_.smallBlockRows, model_.smallBlockColumns);
    *remark = sizeRemark(isLarge, groups);
    return "";
  }

  // Bytes of an element that the instruction multiplies; 0 if it is of another type.
  int64_t instructionBytes() const {
    const ElementKind &lhs = kinds_->lhs, &rhs = kinds_->rhs, &sum = kinds_->sum;
    if (sum.isFloat() && sum.bits == 32) {
      return (lhs.isBf16 && rhs.isBf16) || (lhs.isF16 && rhs.isF16) ? 2 : 0;
    }
    auto isByte = [](const ElementKind& kind) {
      return kind.isInteger() && kind.bits == 8 && kind.isSigned;
    };
    return isByte(lhs) && isByte(rhs) && sum.isInteger() && sum.bits == 32 ? 1 : 0;
  }

  std::string matrixRefusal() const {
    if (model_.unit != ProductUnit::kSubgroups) return "the device has no instruction for them";
    if (instructionBytes() == 0) return "the instruction does not multiply these types";
    if (!shape_) return "it is summed over several dimensions";
    const int64_t least = model_.minInstructionSize;
    if (shape_->rows < least || shape_->columns < least || shape_->contracting < least) {
      return "it is too small";
    }
    return target_.groupSize < matrixThreads() ? "groups have too few threads" : "";
  }

  int64_t matrixThreads() const {
    return model_.subgroupsDown * model_.subgroupsAcross * model_.instructionColumns;
  }

  void setMatrixBlocks(DotStage* stage, int64_t rows, int64_t columns) const {
    ProductSchedule& product = stage->product;
    product.form = ProductForm::kMatrices;
    product.rows = rows;
    product.columns = columns;
    product.tileRows = model_.subgroupsDown * rows * model_.instructionRows;
    product.tileColumns = model_.subgroupsAcross * columns * model_.instructionColumns;
    product.tileTerms = model_.tileSteps * model_.instructionBytes / instructionBytes();
    stage->groupThreads = static_cast<unsigned>(matrixThreads());
  }

  int64_t groupsOf(const ProductSchedule& product) const {
    return tilesOf(shape_->rows, product.tileRows) * tilesOf(shape_->columns, product.tileColumns) *
           shape_->batches;
  }

  std::string chooseMatrices(DotStage* stage, std::string* remark) const {
    std::string why = matrixRefusal();
    if (!why.empty()) return why;
    setMatrixBlocks(stage, model_.largeBlockRows, model_.largeBlockColumns);
    const int64_t groups = groupsOf(stage->product);
    const bool isLarge = groups >= model_.enoughGroups;
    if (!isLarge) setMatrixBlocks(stage, model_.smallBlockRows, model_.smallBlockColumns);
    *remark = sizeRemark(isLarge, groups);
    return "";
  }

  std::string groupRefusal() const {
    if (!hasGroupsOf(kSquareThreads)) return "the device has no groups of 256 threads";
    if (!shape_) return "it is summed over several dimensions";
    if (kinds_->sum.isComplex()) return "it is of complex numbers";
    if (shape_->rows < model_.minTileLines || shape_->columns < model_.minTileLines) {
      return "tiles would be mostly empty";
    }
    return shape_->contracting < model_.tileTerms ? "it has too few terms" : "";
  }

  void setGroupTile(DotStage* stage, int64_t lines) const {
    ProductSchedule& product = stage->product;
    product.form = ProductForm::kGroups;
    product.rows = product.columns = lines;
    product.tileRows = product.tileColumns = lines * kProductSide;
    product.tileTerms = model_.tileTerms;
    stage->groupThreads = kSquareThreads;
  }

  int64_t groupBytes(const ProductSchedule& product) const {
    return product.tileTerms * (product.tileRows + product.tileColumns + 2 * model_.tilePadding) *
           std::max<int64_t>(1, kinds_->sum.computeBits() / 8);
  }

  std::string chooseGroups(DotStage* stage, std::string* remark) const {
    std::string why = groupRefusal();
    if (!why.empty()) return why;
    setGroupTile(stage, model_.largeThreadLines);
    const int64_t groups = groupsOf(stage->product);
    const bool isNarrow = kinds_->sum.computeBits() <= 32;
    const bool fits = groupBytes(stage->product) <= target_.localBytes;
    const bool isLarge = groups >= model_.enoughGroups && isNarrow && fits;
    if (!isLarge) setGroupTile(stage, model_.smallThreadLines);
    *remark = sizeRemark(isLarge, groups,
                         !isNarrow ? "sums are of 64 bits"
                         : !fits   ? "large ones do not fit a group's memory"
                                   : nullptr);
    return groupBytes(stage->product) > target_.localBytes ? "a tile does not fit a group's memory"
                                                           : "";
  }

  std::string lineRefusal() const {
    if (!dot_) return "it is a convolution";
    if (!hasGroupsOf(kSquareThreads)) return "the device has no groups of 256 threads";
    if (!shape_) return "it is summed over several dimensions";
    if (kinds_->sum.isComplex()) return "it is of complex numbers";
    if (std::min(shape_->rows, shape_->columns) > model_.maxFewLines) {
      return "neither operand has few lines";
    }
    if (shape_->contracting < model_.minSharedTerms) return "it has too few terms to share";
    const int64_t bytes = std::max<int64_t>(1, kinds_->sum.computeBits() / 8);
    return kSquareThreads * std::min(shape_->rows, shape_->columns) * bytes > target_.localBytes
               ? "sums do not fit a group's memory"
               : "";
  }

  // Where lines of both operands begin at whole vectors, and sums are whole vectors.
  unsigned lineVector() const {
    const unsigned lanes = std::min(target_.neighboursOf(kinds_->lhs.storageBytes),
                                    target_.neighboursOf(kinds_->rhs.storageBytes));
    bool isWhole =
        shape_->lhsStride == 1 && shape_->rhsStride == 1 && shape_->contracting % lanes == 0;
    for (const DotDimensions* dims : {&dot_->batch, &dot_->rows, &dot_->columns}) {
      for (const DotDimension& d : *dims) {
        isWhole = isWhole && d.lhsStride % lanes == 0 && d.rhsStride % lanes == 0;
      }
    }
    const bool isNumber = !kinds_->lhs.isBool() && !kinds_->rhs.isBool() &&
                          !kinds_->lhs.isSubByte() && !kinds_->rhs.isSubByte();
    return isWhole && isNumber ? lanes : 1;
  }

  bool isAlongTerms(bool isSwapped) const {
    return (isSwapped ? shape_->lhsStride : shape_->rhsStride) == 1;
  }

  std::string chooseLines(DotStage* stage, std::string* remark) const {
    std::string why = lineRefusal();
    if (!why.empty()) return why;
    ProductSchedule& product = stage->product;
    product.form = ProductForm::kLines;
    product.isSwapped = shape_->columns < shape_->rows;
    const int64_t many = std::max(shape_->rows, shape_->columns);
    const bool alongTerms = isAlongTerms(product.isSwapped);
    if (!alongTerms && many * shape_->batches >= target_.enoughColumns) {
      return "threads side by side with a line each are enough, and read neighbours";
    }
    product.tileRows = alongTerms ? kSquareThreads / kThreadsAlong : kLinesAcross;
    product.tileColumns = 1;
    stage->groupThreads = kSquareThreads;
    if (alongTerms) stage->lanes = lineVector();
    const int64_t step = kSquareThreads / product.tileRows * stage->lanes;
    const int64_t most = std::max<int64_t>(1, shape_->contracting / model_.minGroupTerms);
    const int64_t groups = tilesOf(many, product.tileRows) * shape_->batches;
    const int64_t splits =
        std::clamp<int64_t>(model_.enoughReadingGroups / std::max<int64_t>(1, groups), 1, most);
    product.tileTerms = tilesOf(tilesOf(shape_->contracting, splits), step) * step;
    product.splits = tilesOf(shape_->contracting, product.tileTerms);
    *remark = std::to_string(groups) + " groups of lines, of " +
              std::to_string(model_.enoughReadingGroups) + " that keep the device reading";
    return "";
  }

  // The roles of a dot's operands, or those of a convolution, if vectors can have them.
  std::optional<VectorContraction> contraction(bool isSwapped) const {
    if (dot_) {
      VectorContraction all = contractionOf(*dot_, *kinds_);
      if (sizeOf(dot_->contracting) == 0) return std::nullopt;
      return isSwapped ? swapped(std::move(all)) : all;
    }
    if (isSwapped || !conv_) return std::nullopt;
    std::optional<PaddedInput> input = paddedInputOf(*conv_, *kinds_);
    if (!input) return std::nullopt;
    return contractionOf(*conv_, *kinds_, *input);
  }

  std::string chooseVectorTiles(DotStage* stage, std::string*) const {
    if (target_.device != DeviceKind::kCpu) return "threads are the lanes";
    for (bool isSwapped : {false, true}) {
      std::optional<VectorContraction> problem = contraction(isSwapped);
      if (!problem || !chooseVectors(*problem, target_, stage)) continue;
      stage->product.isSwapped = isSwapped;
      return "";
    }
    return "it has hardly any columns or terms to make vectors of";
  }

  void chooseItems(DotStage* stage) const {
    ProductSchedule& product = stage->product;
    product = {.form = ProductForm::kItems};
    if (conv_) {
      int64_t positions = conv_->batch / conv_->batchGroups;
      for (const ConvSpatialRole& s : conv_->spatial) positions *= s.outputSize;
      product.isSwapped = conv_->outputFeatures < model_.minItemColumns;
      if (!product.isSwapped) {
        product.rows = std::clamp<int64_t>(positions, 1, model_.itemRows);
      }
      return;
    }
    int64_t rows = sizeOf(dot_->rows), columns = sizeOf(dot_->columns);
    product.isSwapped = columns < model_.minItemColumns && rows > columns;
    if (product.isSwapped) std::swap(rows, columns);
    product.rows = std::clamp<int64_t>(rows, 1, model_.itemRows);
    product.columns = columns >= model_.manyColumns ? model_.itemColumns : 1;
    const DotDimensions& side = product.isSwapped ? dot_->rows : dot_->columns;
    if (side.empty() || dot_->contracting.empty()) return;
    const int64_t stride = product.isSwapped ? side.back().lhsStride : side.back().rhsStride;
    product.copiesColumns = stride != 1 && rows >= model_.minRowsToOrder &&
                            columns >= model_.minItemColumns && sizeOf(dot_->contracting) > 1;
  }

  std::string tensorTileRefusal(const DotStage& stage) const;
  std::string matrixTileRefusal(const DotStage& stage) const;
  std::string groupTileRefusal(const DotStage& stage) const;
  std::string lineTileRefusal(const DotStage& stage) const;
  std::string vectorTileRefusal(const DotStage& stage) const;
  std::string itemRefusal(const DotStage& stage) const;

  mlir::Operation* op_;
  const TargetModel& target_;
  const ProductModel& model_;
  std::optional<ProductKinds> kinds_;
  std::optional<DotRoles> dot_;
  std::optional<ConvRoles> conv_;
  std::optional<ProductShape> shape_;
};

// ---- What an edited schedule may say ------------------------------------------------------------

std::string ProductScheduler::tensorTileRefusal(const DotStage& stage) const {
  if (std::string why = tensorRefusal(); !why.empty()) return why;
  const ProductSchedule& product = stage.product;
  const int64_t terms = tensorTermBytes() / bytesOf(*tensorTypeOf(*kinds_));
  if (product.tileTerms != terms) return "a tile has " + std::to_string(terms) + " terms";
  auto isCut = [](int64_t tile, int64_t warp, int64_t unit) {
    return tile > 0 && tile <= 256 && warp > 0 && tile % warp == 0 && warp % unit == 0;
  };
  // Columns are loaded for two instructions at a time.
  const int64_t unitRows = model_.instructionRows, unitColumns = 2 * model_.instructionColumns;
  if (!isCut(product.tileRows, product.rows, unitRows) ||
      !isCut(product.tileColumns, product.columns, unitColumns)) {
    return "warps must have whole blocks of " + std::to_string(unitRows) + " rows and " +
           std::to_string(unitColumns) + " columns of a tile";
  }
  const int64_t warps = product.tileRows / product.rows * (product.tileColumns / product.columns);
  if (stage.groupThreads != warps * target_.subgroupSize)
    return "there are as many threads as in its warps";
  const int64_t chunks = tensorTermBytes() / chunkBytes();
  if (product.tileRows * chunks % stage.groupThreads != 0 ||
      product.tileColumns * chunks % stage.groupThreads != 0) {
    return "threads must copy as many chunks each";
  }
  if (product.rows * product.columns / target_.subgroupSize > model_.maxInstructionSums) {
    return "sums do not fit a thread's registers";
  }
  return model_.tilesAtOnce * (product.tileRows + product.tileColumns) * tensorTermBytes() >
                 target_.localBytes
             ? "tiles do not fit a group's memory"
             : "";
}

std::string ProductScheduler::matrixTileRefusal(const DotStage& stage) const {
  if (std::string why = matrixRefusal(); !why.empty()) return why;
  const ProductSchedule& product = stage.product;
  if (product.rows < 1 || product.columns < 1 ||
      product.rows * product.columns * model_.instructionRows > model_.maxThreadSums) {
    return "sums do not fit a thread's registers";
  }
  DotStage expected = stage;
  setMatrixBlocks(&expected, product.rows, product.columns);
  return expected == stage ? "" : "the tile follows from what each sub-group computes";
}

std::string ProductScheduler::groupTileRefusal(const DotStage& stage) const {
  if (std::string why = groupRefusal(); !why.empty()) return why;
  const ProductSchedule& product = stage.product;
  if (product.rows < 1 || product.columns < 1 ||
      product.rows * product.columns > model_.maxThreadSums) {
    return "sums do not fit a thread's registers";
  }
  if (stage.groupThreads != kSquareThreads || product.tileRows != product.rows * kProductSide ||
      product.tileColumns != product.columns * kProductSide) {
    return "a tile is of 16 x 16 threads";
  }
  if (!llvm::isPowerOf2_64(static_cast<uint64_t>(product.tileTerms)) || product.tileTerms > 64 ||
      product.tileRows * product.tileTerms % kSquareThreads != 0 ||
      product.tileColumns * product.tileTerms % kSquareThreads != 0) {
    return "the terms of a tile must be a power of two, of which threads copy as many each";
  }
  return groupBytes(product) > target_.localBytes ? "a tile does not fit a group's memory" : "";
}

std::string ProductScheduler::lineTileRefusal(const DotStage& stage) const {
  if (std::string why = lineRefusal(); !why.empty()) return why;
  const ProductSchedule& product = stage.product;
  if (product.isSwapped != (shape_->columns < shape_->rows)) return "the few lines are the others";
  if (stage.groupThreads != kSquareThreads || product.tileRows < 1 ||
      product.tileRows > kSquareThreads ||
      !llvm::isPowerOf2_64(static_cast<uint64_t>(product.tileRows)) || product.tileColumns != 1) {
    return "lines of a group must be a power of two, for 256 threads";
  }
  if (stage.lanes != 1 && (!isAlongTerms(product.isSwapped) || stage.lanes != lineVector())) {
    return "terms do not lie together in such vectors";
  }
  const int64_t step = kSquareThreads / product.tileRows * stage.lanes;
  if (product.tileTerms < step || product.tileTerms % step != 0 ||
      product.splits != tilesOf(shape_->contracting, product.tileTerms)) {
    return "splits must share all terms, in whole steps of the threads";
  }
  return "";
}

std::string ProductScheduler::vectorTileRefusal(const DotStage& stage) const {
  if (target_.device != DeviceKind::kCpu) return "threads are the lanes";
  DotStage own;
  std::optional<VectorContraction> problem = contraction(stage.product.isSwapped);
  if (!problem || !chooseVectors(*problem, target_, &own)) {
    return "it has hardly any columns or terms to make vectors of";
  }
  own.product.isSwapped = stage.product.isSwapped;
  const char* why = vectorsRefusal(*problem, stage, own);
  return why ? why : "";
}

std::string ProductScheduler::itemRefusal(const DotStage& stage) const {
  DotStage chosen = base(stage);
  chooseItems(&chosen);
  const ProductSchedule& product = stage.product;
  if (product.isSwapped != chosen.product.isSwapped) return "neighbours are of the other operand";
  if (product.copiesColumns && !chosen.product.copiesColumns) return "columns lie in order already";
  const bool isOfPositions = conv_.has_value();
  if (product.rows < 1 || product.columns < 1 ||
      product.rows * product.columns > model_.maxThreadSums ||
      (isOfPositions && (product.columns != 1 || (product.isSwapped && product.rows != 1)))) {
    return "sums do not fit an item's registers";
  }
  return "";
}

std::string ProductScheduler::refusal(const DotStage& stage) const {
  if (!kinds_) return "there is no arithmetic of these types";
  if (isEmpty()) return "";
  switch (stage.product.form) {
    case ProductForm::kNone:
      return "it does not say who multiplies";
    case ProductForm::kLibrary:
      return "";  // which the backend knows
    case ProductForm::kTensors:
      return tensorTileRefusal(stage);
    case ProductForm::kMatrices:
      return matrixTileRefusal(stage);
    case ProductForm::kGroups:
      return groupTileRefusal(stage);
    case ProductForm::kLines:
      return lineTileRefusal(stage);
    case ProductForm::kVectors:
      return vectorTileRefusal(stage);
    case ProductForm::kItems:
      return itemRefusal(stage);
  }
  return "";
}

}  // namespace

void scheduleProduct(mlir::Operation* op, const TargetModel& target, const IsOfLibrary& isOfLibrary,
                     DotStage* stage, std::string* reason) {
  ProductScheduler(op, target).choose(isOfLibrary, stage, reason);
}

std::string productRefusal(mlir::Operation* op, const DotStage& stage, const TargetModel& target) {
  return ProductScheduler(op, target).refusal(stage);
}

DotStage chooseProduct(mlir::Operation* op, const TargetModel& target,
                       const IsOfLibrary& isOfLibrary, std::string* reason) {
  DotStage stage;
  stage.results = {0};
  stage.contraction = 0;
  stage.ns = std::max(1.0, workNs(target, workOf(op)));
  scheduleProduct(op, target, isOfLibrary, &stage, reason);
  return stage;
}

StatusOr<DotStage> productScheduleOf(mlir::Operation* op, const TargetModel& target) {
  ISTHMUS_ASSIGN_OR_RETURN(std::optional<KernelSchedule> carried, carriedSchedule(op));
  if (!carried) return chooseProduct(op, target);
  if (carried->stages.size() != 1) return invalidArgument("the schedule of a product is one text");
  const auto* given = carried->stages[0].as<DotStage>();
  const bool isOfOp = given && given->contraction == 0 && given->sums < 0 &&
                      given->results == llvm::SmallVector<unsigned, 2>{0};
  std::string why = isOfOp ? productRefusal(op, *given, target) : "the product is another";
  if (isOfOp && given->function != FunctionForm()) why = "no function of the backend computes it";
  if (!why.empty()) return invalidArgument("schedule '", toString(carried->stages[0]), "': ", why);
  return *given;
}

DotStage functionCallOf(mlir::Operation* op, const TargetModel& target,
                        const FunctionFormOf& formOf, std::string* reason) {
  DotStage stage;
  stage.results = {0};
  stage.contraction = 0;
  stage.ns = libraryNs(target, op);
  stage.function = formOf(op, stage, reason);
  return stage;
}

StatusOr<FunctionForm> functionFormCarriedBy(mlir::Operation* op) {
  ISTHMUS_ASSIGN_OR_RETURN(std::optional<KernelSchedule> carried, carriedSchedule(op));
  if (!carried) return FunctionForm();
  if (carried->stages.size() != 1) return invalidArgument("the schedule of a product is one text");
  const auto* given = carried->stages[0].as<DotStage>();
  DotStage call;
  call.results = {0};
  call.contraction = 0;
  if (given) {
    call.function = given->function;
    call.ns = given->ns;
  }
  if (!given || *given != call) {
    return invalidArgument("schedule '", toString(carried->stages[0]),
                           "': of a product that a function computes, only its form can be said");
  }
  return given->function;
}

}  // namespace isthmus

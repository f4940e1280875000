// Each work-item computes one feature of some neighbouring positions of the result.
#include "compiler/codegen/simt/products/item_products.h"
#include "llvm/IR/Module.h"

namespace isthmus::codegen {
namespace {

class ConvKernel {
 public:
  ConvKernel(const ConvRoles& roles, const ProductKinds& kinds, ProductWriter& writer)
      : d_(roles), lhs_(kinds.lhs), rhs_(kinds.rhs), sum_(kinds.sum), w_(writer) {}

  // `positions` of the result from number `first` on, out of `numPositions`, at `feature`.
  void emit(llvm::Value* feature, llvm::Value* first, int64_t positions, int64_t numPositions);

 private:
  struct Position {
    llvm::Value* number;
    llvm::SmallVector<llvm::Value*, 3> spatial;
    llvm::Value* input;   // offset of the batch, and of the feature's groups
    llvm::Value* output;  // offset in the result
    // While the window is run over: where it is in the input, and whether that is inside.
    llvm::Value* place = nullptr;
    llvm::Value* isInside = nullptr;
  };
  using Sums = KernelWriter::Elements;

  Position locate(llvm::Value* number, llvm::Value* feature, int64_t numPositions);
  void moveWindow(Position& position, size_t dimension, llvm::Value* window);
  Sums sumOverWindow(size_t dimension, llvm::ArrayRef<Position> positions, llvm::Value* kernel,
                     Sums sums);
  Sums sumOverFeatures(llvm::ArrayRef<Position> positions, llvm::Value* kernel, Sums sums);

  const ConvRoles& d_;
  const ElementKind &lhs_, &rhs_, &sum_;
  ProductWriter& w_;
};

ConvKernel::Position ConvKernel::locate(llvm::Value* number, llvm::Value* feature,
                                        int64_t numPositions) {
  Position position;
  position.number = number;
  llvm::Value* rest =
      w_.b().CreateBinaryIntrinsic(llvm::Intrinsic::umin, number, w_.i64(numPositions - 1));
  position.spatial.resize(d_.spatial.size());
  position.output = w_.times(feature, d_.outputFeatureStride);
  for (size_t s = d_.spatial.size(); s-- > 0;) {
    std::tie(rest, position.spatial[s]) = w_.divide(rest, d_.spatial[s].outputSize);
    position.output =
        w_.plus(position.output, w_.times(position.spatial[s], d_.spatial[s].outputStride));
  }
  position.output = w_.plus(position.output, w_.times(rest, d_.outputBatchStride));
  position.input = w_.times(rest, d_.inputBatchStride);
  if (d_.batchGroups > 1) {
    llvm::Value* group = w_.divide(feature, d_.outputFeatures / d_.batchGroups).first;
    int64_t stride = d_.batch / d_.batchGroups * d_.inputBatchStride;
    position.input = w_.plus(position.input, w_.times(group, stride));
  }
  if (d_.featureGroups > 1) {
    llvm::Value* group = w_.divide(feature, d_.outputFeatures / d_.featureGroups).first;
    int64_t stride = d_.inputFeatures / d_.featureGroups * d_.inputFeatureStride;
    position.input = w_.plus(position.input, w_.times(group, stride));
  }
  position.place = position.input;
  position.isInside = w_.b().getTrue();
  return position;
}

void ConvKernel::moveWindow(Position& position, size_t dimension, llvm::Value* window) {
  const ConvSpatialRole& s = d_.spatial[dimension];
  llvm::IRBuilder<>& b = w_.b();
  llvm::Value* at = b.CreateSub(w_.plus(w_.times(position.spatial[dimension], s.windowStride),
                                        w_.times(window, s.rhsDilation)),
                                w_.i64(s.padLow));
  // Below zero is far beyond the end, as an unsigned number.
  llvm::Value* inside = b.CreateICmpULT(at, w_.i64((s.inputSize - 1) * s.lhsDilation + 1));
  if (s.lhsDilation > 1) {
    auto [quotient, remainder] = w_.divide(at, s.lhsDilation);
    inside = b.CreateAnd(inside, b.CreateICmpEQ(remainder, w_.i64(0)));
    at = quotient;
  }
  position.isInside = b.CreateAnd(position.isInside, inside);
  position.place = b.CreateAdd(position.place, b.CreateMul(at, w_.i64(s.inputStride)));
}

ConvKernel::Sums ConvKernel::sumOverFeatures(llvm::ArrayRef<Position> positions,
                                             llvm::Value* kernel, Sums sums) {
  llvm::SmallVector<llvm::Value*, 8> places;
  for (const Position& position : positions) {
    // Outside, an element that is there is read and not used.
    places.push_back(w_.b().CreateSelect(position.isInside, position.place, w_.i64(0)));
  }
  return w_.loop(d_.inputFeatures / d_.featureGroups, sums,
                 [&](llvm::Value* i, const Sums& carried) {
                   Sums next = carried;
                   llvm::Value* at = w_.plus(kernel, w_.times(i, d_.kernelInputStride));
                   Val weight = w_.convert(w_.load(w_.rhs(), at, rhs_), rhs_, sum_);
                   for (size_t p = 0; p < positions.size(); ++p) {
                     llvm::Value* from = w_.plus(places[p], w_.times(i, d_.inputFeatureStride));
                     Val value = w_.convert(w_.load(w_.lhs(), from, lhs_), lhs_, sum_);
                     value = w_.select(positions[p].isInside, value, w_.zero(sum_));
                     next[p] = w_.multiplyAdd(value, weight, next[p], sum_);
                   }
                   return next;
                 });
}

ConvKernel::Sums ConvKernel::sumOverWindow(size_t dimension, llvm::ArrayRef<Position> positions,
                                           llvm::Value* kernel, Sums sums) {
  if (dimension == d_.spatial.size()) {
    return sumOverFeatures(positions, kernel, sums);
  }
  const ConvSpatialRole& s = d_.spatial[dimension];
  return w_.loop(s.kernelSize, sums, [&](llvm::Value* window, const Sums& carried) {
    llvm::SmallVector<Position, 8> moved(positions);
    for (Position& position : moved) moveWindow(position, dimension, window);
    llvm::Value* element =
        s.isReversed ? w_.b().CreateSub(w_.i64(s.kernelSize - 1), window) : window;
    llvm::Value* inner = w_.plus(kernel, w_.times(element, s.kernelStride));
    return sumOverWindow(dimension + 1, moved, inner, carried);
  });
}

void ConvKernel::emit(llvm::Value* feature, llvm::Value* first, int64_t positions,
                      int64_t numPositions) {
  llvm::SmallVector<Position, 8> all;
  Sums sums;
  for (int64_t p = 0; p < positions; ++p) {
    all.push_back(locate(w_.plus(first, w_.i64(p)), feature, numPositions));
    sums.push_back(w_.zero(sum_));
  }
  bool isEmpty = d_.inputFeatures == 0 || d_.batch == 0;
  for (const ConvSpatialRole& s : d_.spatial) isEmpty |= s.inputSize == 0;
  if (!isEmpty) {
    sums = sumOverWindow(0, all, w_.times(feature, d_.kernelOutputStride), sums);
  }
  for (int64_t p = 0; p < positions; ++p) {
    llvm::Value* isInside = numPositions % positions == 0
                                ? nullptr
                                : w_.b().CreateICmpULT(all[p].number, w_.i64(numPositions));
    w_.storeSum({nullptr, nullptr, all[p].output, isInside}, sums[p]);
  }
}

}  // namespace

StatusOr<OpKernels> emitItemConvolution(const ConvRoles& roles, const ProductTask& task,
                                        llvm::Module& module, const WorkItemForm& form,
                                        const std::string& symbol) {
  int64_t positions = roles.batch / roles.batchGroups;
  for (const ConvSpatialRole& s : roles.spatial) positions *= s.outputSize;
  const bool lanesAreFeatures = !task.product().isSwapped;
  const int64_t features = roles.outputFeatures, perItem = task.product().rows;
  int64_t blocks = (positions + perItem - 1) / perItem;
  Items items = lanesAreFeatures ? Items{features, blocks, 1} : Items{blocks, features, 1};
  ProductWriter writer(module, form, symbol, task, items, 1, false);
  llvm::Value* feature = writer.item(lanesAreFeatures ? 0 : 1);
  llvm::Value* first = writer.times(writer.item(lanesAreFeatures ? 1 : 0), perItem);
  ConvKernel(roles, task.kinds, writer).emit(feature, first, perItem, positions);
  ISTHMUS_RETURN_IF_ERROR(writer.finish());
  OpKernels kernels;
  kernels.stages.push_back({symbol, items});
  return kernels;
}

}  // namespace isthmus::codegen

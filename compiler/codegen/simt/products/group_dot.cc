// 256 threads share a square tile of the result, each with elements that lie apart by 16, so that
// neighbours read and write neighbours. In the group's memory a tile's lines lie side by side,
// whichever way they lie in the operand.
#include "compiler/codegen/simt/products/group_dot.h"

#include <algorithm>

#include "compiler/codegen/target/group_threads.h"
#include "compiler/schedule/products/product_scheduler.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MathExtras.h"

namespace isthmus::codegen {
namespace {

constexpr int64_t kSide = kProductSide;  // threads along the rows, and along the columns
constexpr unsigned kTileThreads = kSide * kSide;

class GroupDotKernel {
 public:
  GroupDotKernel(const ProductProblem& problem, const ProductTask& task, llvm::Module& module,
                 const WorkItemForm& form, ProductWriter& writer)
      : problem_(problem),
        kinds_(task.kinds),
        product_(task.product()),
        module_(module),
        form_(form),
        w_(writer) {}

  void emit() {
    thread_ = form_.threadInGroup(w_.b());
    std::tie(threadRow_, threadColumn_) = w_.divide(thread_, kSide);
    Operand lhs = operand(true), rhs = operand(false);
    Elements zeros(static_cast<size_t>(product_.rows * product_.columns), w_.zero(kinds_.sum));
    store(sumOverWindow(lhs, rhs, {}, zeros));
  }

 private:
  using Elements = KernelWriter::Elements;
  using Values = KernelWriter::Values;
  using Line = ProductProblem::Line;

  struct Operand {
    bool isLhs = false;
    ElementKind kind;
    llvm::Value* buffer = nullptr;
    llvm::GlobalVariable* memory = nullptr;
    int64_t tile = 0;               // lines
    int64_t stride = 0;             // from term to term
    bool alongContracting = false;  // threads side by side read along it, else along the lines
    // Of each element that this thread copies: its line and sum in the tile, and whether there is
    // such a line; of the window's element at hand, where the line begins.
    llvm::SmallVector<llvm::Value*, 8> lines, sums, isLine;
    llvm::SmallVector<Line, 8> places;
  };

  // A place in the group's memory: lines are side by side.
  llvm::Value* slot(const Operand& o, llvm::Value* sum, llvm::Value* line) {
    llvm::Value* index = w_.plus(w_.times(sum, o.tile + padding()), line);
    return w_.b().CreateInBoundsGEP(memoryType(), o.memory, index);
  }
  int64_t padding() const { return form_.target.products.tilePadding; }
  llvm::Type* memoryType() {
    llvm::Type* type = kinds_.sum.computeType(module_.getContext());
    return type->isIntegerTy(1) ? llvm::Type::getInt8Ty(module_.getContext()) : type;
  }
  int64_t tileOf(bool isLhs) const { return isLhs ? product_.tileRows : product_.tileColumns; }
  llvm::Value* firstLine(bool isLhs) { return w_.times(w_.item(isLhs ? 1 : 0), tileOf(isLhs)); }

  Operand operand(bool isLhs) {
    Operand o;
    o.isLhs = isLhs;
    o.kind = isLhs ? kinds_.lhs : kinds_.rhs;
    o.buffer = isLhs ? w_.lhs() : w_.rhs();
    o.tile = tileOf(isLhs);
    o.memory = makeGroupMemory(module_, memoryType(), product_.tileTerms * (o.tile + padding()),
                               isLhs ? "lhs" : "rhs");
    o.stride = isLhs ? problem_.lhsStride : problem_.rhsStride;
    o.alongContracting = o.stride == 1;
    const int64_t lines = isLhs ? problem_.rows : problem_.columns;
    for (int64_t i = 0; i < o.tile * product_.tileTerms / kTileThreads; ++i) {
      llvm::Value* index = w_.plus(thread_, w_.i64(i * kTileThreads));
      auto [quotient, remainder] =
          w_.divide(index, o.alongContracting ? product_.tileTerms : o.tile);
      o.lines.push_back(o.alongContracting ? quotient : remainder);
      o.sums.push_back(o.alongContracting ? remainder : quotient);
      llvm::Value* line = w_.plus(firstLine(isLhs), o.lines.back());
      o.isLine.push_back(w_.b().CreateICmpULT(line, w_.i64(lines)));
    }
    return o;
  }

  void findLines(Operand& o, const Values& window) {
    o.places.clear();
    for (auto [line, isLine] : llvm::zip(o.lines, o.isLine)) {
      llvm::Value* at = w_.plus(firstLine(o.isLhs), line);
      // Of a line that does not exist, another one is located and not used.
      at = w_.b().CreateSelect(isLine, at, w_.i64(0));
      Line place = (o.isLhs ? problem_.lhs : problem_.rhs)(w_, w_.item(2), at, window);
      place.isInside = place.isInside ? w_.b().CreateAnd(place.isInside, isLine) : isLine;
      o.places.push_back(place);
    }
  }

  Elements sumOverWindow(Operand& lhs, Operand& rhs, const Values& at, const Elements& sums) {
    if (at.size() < problem_.window.size()) {
      return w_.loop(problem_.window[at.size()], sums,
                     [&](llvm::Value* element, const Elements& carried) {
                       Values inner = at;
                       inner.push_back(element);
                       return sumOverWindow(lhs, rhs, inner, carried);
                     });
    }
    findLines(lhs, at);
    findLines(rhs, at);
    return w_.loop(llvm::divideCeilSigned(problem_.contracting, product_.tileTerms), sums,
                   [&](llvm::Value* number, const Elements& carried) {
                     llvm::Value* first = w_.times(number, product_.tileTerms);
                     // What is in the group's memory is still read by others.
                     form_.barrier(w_.b());
                     copyTile(lhs, first);
                     copyTile(rhs, first);
                     form_.barrier(w_.b());
                     return w_.loop(product_.tileTerms, carried,
                                    [&](llvm::Value* k, const Elements& partial) {
                                      return addProducts(lhs, rhs, k, partial);
                                    });
                   });
  }

  void copyTile(const Operand& o, llvm::Value* first) {
    llvm::SmallVector<llvm::Value*, 8> values;
    for (size_t i = 0; i < o.places.size(); ++i) {
      llvm::Value* term = w_.plus(first, o.sums[i]);
      llvm::Value* inside = o.places[i].isInside;
      if (problem_.contracting % product_.tileTerms) {
        inside = w_.b().CreateAnd(inside, w_.b().CreateICmpULT(term, w_.i64(problem_.contracting)));
      }
      // Outside, an element that is there is read and not used.
      llvm::Value* place = w_.plus(o.places[i].place, w_.times(term, o.stride));
      place = w_.b().CreateSelect(inside, place, w_.i64(0));
      Val value = w_.convert(w_.load(o.buffer, place, o.kind), o.kind, kinds_.sum);
      value = w_.select(inside, value, w_.zero(kinds_.sum));
      values.push_back(w_.b().CreateZExtOrBitCast(value.re, memoryType()));
    }
    for (size_t i = 0; i < o.places.size(); ++i) {
      w_.b().CreateStore(values[i], slot(o, o.sums[i], o.lines[i]));
    }
  }

  Elements addProducts(const Operand& lhs, const Operand& rhs, llvm::Value* k,
                       const Elements& partial) {
    auto load = [&](const Operand& o, llvm::Value* thread, int64_t i) {
      llvm::Value* line = w_.plus(thread, w_.i64(i * kSide));
      llvm::Value* loaded = w_.b().CreateLoad(memoryType(), slot(o, k, line));
      return Val{w_.b().CreateTruncOrBitCast(loaded, kinds_.sum.computeType(module_.getContext()))};
    };
    Elements next = partial;
    llvm::SmallVector<Val, 8> columns;
    for (int64_t j = 0; j < product_.columns; ++j) columns.push_back(load(rhs, threadColumn_, j));
    for (int64_t i = 0; i < product_.rows; ++i) {
      Val row = load(lhs, threadRow_, i);
      for (int64_t j = 0; j < product_.columns; ++j) {
        Val& sum = next[static_cast<size_t>(i * product_.columns + j)];
        sum = w_.multiplyAdd(row, columns[static_cast<size_t>(j)], sum, kinds_.sum);
      }
    }
    return next;
  }

  void store(const Elements& all) {
    w_.storeSums(all, [&](llvm::Value* number) {
      auto [i, j] = w_.divide(number, product_.columns);
      llvm::Value* row = w_.plus(firstLine(true), w_.plus(threadRow_, w_.times(i, kSide)));
      llvm::Value* column = w_.plus(firstLine(false), w_.plus(threadColumn_, w_.times(j, kSide)));
      llvm::Value* isInside =
          w_.b().CreateAnd(w_.b().CreateICmpULT(row, w_.i64(problem_.rows)),
                           w_.b().CreateICmpULT(column, w_.i64(problem_.columns)));
      return problem_.site(w_, w_.item(2), row, column, isInside);
    });
  }

  const ProductProblem& problem_;
  const ProductKinds& kinds_;
  const ProductSchedule& product_;
  llvm::Module& module_;
  const WorkItemForm& form_;
  ProductWriter& w_;
  llvm::Value* thread_ = nullptr;
  llvm::Value* threadRow_ = nullptr;
  llvm::Value* threadColumn_ = nullptr;
};

}  // namespace

StatusOr<OpKernel> emitGroupProduct(const ProductProblem& problem, const ProductTask& task,
                                    llvm::Module& module, const WorkItemForm& form,
                                    const std::string& symbol) {
  const ProductSchedule& product = task.product();
  Items items{llvm::divideCeilSigned(problem.columns, product.tileColumns),
              llvm::divideCeilSigned(problem.rows, product.tileRows), problem.batches};
  ProductWriter writer(module, form, symbol, task, items, kTileThreads, false);
  GroupDotKernel(problem, task, module, form, writer).emit();
  ISTHMUS_RETURN_IF_ERROR(writer.finish());
  return OpKernel{symbol, items, kTileThreads};
}

}  // namespace isthmus::codegen

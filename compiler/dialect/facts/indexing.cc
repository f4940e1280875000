// The maps of every operation by the rule that its record names, and what is asked of them.
#include "compiler/dialect/facts/indexing.h"

#include <algorithm>

#include "compiler/dialect/facts/indexing_rules.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/dialect/types/array_shape.h"

namespace isthmus {
namespace {

// Adds `factor` times the expression to `index`; false if it is no sum of multiples, or of several
// dimensions.
bool addTerms(mlir::AffineExpr expr, int64_t factor, llvm::ArrayRef<IndexSymbol> symbols,
              DimIndex& index) {
  if (auto constant = llvm::dyn_cast<mlir::AffineConstantExpr>(expr)) {
    index.offset += factor * constant.getValue();
    return true;
  }
  if (auto dim = llvm::dyn_cast<mlir::AffineDimExpr>(expr)) {
    if (index.dim && *index.dim != dim.getPosition()) return false;
    index.dim = dim.getPosition();
    index.stride += factor;
    return true;
  }
  if (auto symbol = llvm::dyn_cast<mlir::AffineSymbolExpr>(expr)) {
    const unsigned position = symbol.getPosition();
    index.terms.push_back({position, factor, symbols[position].kind, symbols[position].size});
    return true;
  }
  auto binary = llvm::cast<mlir::AffineBinaryOpExpr>(expr);
  if (expr.getKind() == mlir::AffineExprKind::Add) {
    return addTerms(binary.getLHS(), factor, symbols, index) &&
           addTerms(binary.getRHS(), factor, symbols, index);
  }
  auto scale = llvm::dyn_cast<mlir::AffineConstantExpr>(binary.getRHS());
  return expr.getKind() == mlir::AffineExprKind::Mul && scale &&
         addTerms(binary.getLHS(), factor * scale.getValue(), symbols, index);
}

}  // namespace

int64_t DimIndex::reach() const {
  int64_t rows = 0;
  for (const Term& term : terms) rows += std::max<int64_t>(0, term.coefficient * (term.size - 1));
  return rows;
}

bool DimIndex::isInside(int64_t resultSize, int64_t operandSize) const {
  if (resultSize == 0) return true;
  int64_t least = offset, most = offset + reach();
  for (const Term& term : terms) least += std::min<int64_t>(0, term.coefficient * (term.size - 1));
  (stride > 0 ? most : least) += stride * (resultSize - 1);
  return least >= 0 && most / divisor < operandSize;
}

std::optional<DimIndex> IndexingMaps::index(unsigned operand, int64_t d) const {
  mlir::AffineExpr expr = operands[operand].map.getResult(d);
  DimIndex index;
  if (expr.getKind() == mlir::AffineExprKind::FloorDiv) {
    auto division = llvm::cast<mlir::AffineBinaryOpExpr>(expr);
    auto divisor = llvm::dyn_cast<mlir::AffineConstantExpr>(division.getRHS());
    if (!divisor) return std::nullopt;
    index.divisor = divisor.getValue();
    expr = division.getLHS();
  }
  if (!addTerms(expr, 1, symbols, index)) return std::nullopt;
  return index;
}

bool IndexingMaps::varies(unsigned operand, int64_t d, int64_t resultDim) const {
  mlir::AffineExpr expr = operands[operand].map.getResult(d);
  if (expr.isFunctionOfDim(resultDim)) return true;
  for (auto [position, symbol] : llvm::enumerate(symbols)) {
    if (symbol.kind != SymbolKind::kReduced && expr.isFunctionOfSymbol(position)) return true;
  }
  return false;
}

std::optional<int64_t> IndexingMap::resultDim(int64_t d) const {
  auto expr = llvm::dyn_cast<mlir::AffineDimExpr>(map.getResult(d));
  if (!expr) return std::nullopt;
  return expr.getPosition();
}

bool IndexingMap::isIdentity() const { return map && zeros.empty() && map.isIdentity(); }

IndexingBuilder::IndexingBuilder(mlir::Operation* op, unsigned result)
    : op_(op),
      result_(result),
      context_(op->getContext()),
      resultShape_(isthmus::shapeOf(op->getResult(result))),
      operands_(op->getNumOperands()) {}

llvm::ArrayRef<int64_t> IndexingBuilder::shapeOf(unsigned operand) const {
  return isthmus::shapeOf(op_->getOperand(operand));
}

mlir::AffineExpr IndexingBuilder::symbol(SymbolKind kind, int64_t size) {
  symbols_.push_back({kind, size});
  return mlir::getAffineSymbolExpr(symbols_.size() - 1, context_);
}

llvm::SmallVector<mlir::AffineExpr, 6> IndexingBuilder::identity() const {
  llvm::SmallVector<mlir::AffineExpr, 6> exprs;
  for (size_t d = 0; d < resultShape_.size(); ++d) exprs.push_back(dim(d));
  return exprs;
}

void IndexingBuilder::set(unsigned operand, llvm::ArrayRef<mlir::AffineExpr> indices,
                          llvm::ArrayRef<mlir::AffineExpr> zeros) {
  operands_[operand].state = State::kSet;
  operands_[operand].exprs.assign(indices.begin(), indices.end());
  operands_[operand].zeros.assign(zeros.begin(), zeros.end());
}

void IndexingBuilder::setWhole(unsigned operand) {
  llvm::SmallVector<mlir::AffineExpr, 6> indices;
  for (int64_t size : shapeOf(operand)) {
    indices.push_back(size == 1 ? constant(0) : symbol(SymbolKind::kWhole, size));
  }
  set(operand, indices);
}

IndexingMaps IndexingBuilder::take() && {
  for (unsigned i = 0; i < operands_.size(); ++i) {
    if (operands_[i].state == State::kWhole) setWhole(i);
  }
  IndexingMaps maps;
  maps.symbols = std::move(symbols_);
  for (Indices& operand : operands_) {
    if (operand.state == State::kUnread) {
      maps.operands.emplace_back();
      continue;
    }
    maps.operands.push_back(
        {mlir::AffineMap::get(resultShape_.size(), maps.symbols.size(), operand.exprs, context_),
         std::move(operand.zeros)});
  }
  return maps;
}

void indexWhole(IndexingBuilder&) {}

IndexingMaps indexingMaps(mlir::Operation* op, unsigned result) {
  IndexingBuilder builder(op, result);
  if (const OpFacts* facts = findOpFacts(op)) facts->indexing(builder);
  return std::move(builder).take();
}

bool hasIndexingMaps(mlir::Operation* op) {
  const OpFacts* facts = findOpFacts(op);
  return facts && facts->indexing != indexWhole;
}

bool readsSameIndex(mlir::Operation* op, unsigned operand, unsigned result) {
  const OpFacts* facts = findOpFacts(op);
  if (!facts || facts->indexing == indexWhole) return false;
  if (facts->indexing == indexElementwise) {
    return shapeOf(op->getOperand(operand)) == shapeOf(op->getResult(result));
  }
  return indexingMaps(op, result).operands[operand].isIdentity();
}

ReshapeGroups reshapeGroups(llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> to) {
  ReshapeGroups groups;
  if (llvm::is_contained(from, 0) || llvm::is_contained(to, 0)) return groups;
  const auto fromRank = static_cast<int64_t>(from.size()), toRank = static_cast<int64_t>(to.size());
  int64_t f = 0, t = 0;
  while (f < fromRank || t < toRank) {
    int64_t fromBegin = f, toBegin = t;
    int64_t fromProduct = f < fromRank ? from[f++] : 1;
    int64_t toProduct = t < toRank ? to[t++] : 1;
    while (fromProduct != toProduct) {
      if (fromProduct < toProduct) {
        fromProduct *= from[f++];
      } else {
        toProduct *= to[t++];
      }
    }
    while (t < toRank && to[t] == 1) ++t;
    while (f < fromRank && from[f] == 1) ++f;
    groups.fromGroup.append(f - fromBegin, static_cast<int64_t>(groups.from.size()));
    groups.toGroup.append(t - toBegin, static_cast<int64_t>(groups.to.size()));
    groups.from.push_back({fromBegin, f});
    groups.to.push_back({toBegin, t});
  }
  return groups;
}

}  // namespace isthmus

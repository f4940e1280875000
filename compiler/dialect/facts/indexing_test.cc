// Indexing maps against the reference evaluator: changing one element of an operand may change only
// those elements of the results whose maps say that they read it, and, where the maps leave nothing
// open, changes all of them.
#include "compiler/dialect/facts/indexing.h"

#include <functional>
#include <map>
#include <set>

#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/dialect/types/type_conversion.h"
#include "compiler/reference/interpreter.h"
#include "gtest/gtest.h"
#include "llvm/Support/MathExtras.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/Parser/Parser.h"

namespace isthmus {
namespace {

using reference::Dims;
using reference::Index;
using reference::Tensor;

int64_t evaluate(mlir::AffineExpr expr, llvm::ArrayRef<int64_t> dims,
                 llvm::ArrayRef<int64_t> symbols) {
  if (auto constant = llvm::dyn_cast<mlir::AffineConstantExpr>(expr)) return constant.getValue();
  if (auto dim = llvm::dyn_cast<mlir::AffineDimExpr>(expr)) return dims[dim.getPosition()];
  if (auto symbol = llvm::dyn_cast<mlir::AffineSymbolExpr>(expr)) {
    return symbols[symbol.getPosition()];
  }
  auto binary = llvm::cast<mlir::AffineBinaryOpExpr>(expr);
  int64_t a = evaluate(binary.getLHS(), dims, symbols);
  int64_t b = evaluate(binary.getRHS(), dims, symbols);
  int64_t quotient =
      binary.getKind() == mlir::AffineExprKind::Mul || binary.getKind() == mlir::AffineExprKind::Add
          ? 0
          : a / b - (a % b < 0 ? 1 : 0);
  switch (binary.getKind()) {
    case mlir::AffineExprKind::Add:
      return a + b;
    case mlir::AffineExprKind::Mul:
      return a * b;
    case mlir::AffineExprKind::FloorDiv:
      return quotient;
    case mlir::AffineExprKind::Mod:
      return a - quotient * b;
    default:
      ADD_FAILURE() << "an expression that no rule makes";
      return 0;
  }
}

void forEach(const Dims& sizes, const std::function<void(const Index&)>& body) {
  ASSERT_TRUE(reference::forEachIndex(sizes, [&](const Index& index, int64_t) {
                body(index);
                return Status();
              }).ok());
}

// For each element of the result, the elements of operand `operand` that its map says it reads.
std::vector<std::set<int64_t>> predicted(const IndexingMaps& maps, unsigned operand,
                                         const Dims& result, const Dims& shape) {
  std::vector<std::set<int64_t>> reads;
  Dims symbolSizes;
  for (const IndexSymbol& symbol : maps.symbols) symbolSizes.push_back(symbol.size);
  const IndexingMap& own = maps.operands[operand];
  forEach(result, [&](const Index& at) {
    std::set<int64_t>& read = reads.emplace_back();
    if (!own.map) return;
    forEach(symbolSizes, [&](const Index& symbols) {
      for (mlir::AffineExpr zero : own.zeros) {
        if (evaluate(zero, at, symbols) != 0) return;
      }
      Index index;
      for (mlir::AffineExpr expr : own.map.getResults()) {
        index.push_back(evaluate(expr, at, symbols));
      }
      if (reference::isInside(shape, index)) read.insert(reference::positionOf(shape, index));
    });
  });
  return reads;
}

// What index(), isInside() and varies() say of an operand, against its map at every place.
void expectIndices(const IndexingMaps& maps, unsigned operand, const Dims& result,
                   const Dims& shape) {
  Dims symbolSizes;
  for (const IndexSymbol& symbol : maps.symbols) symbolSizes.push_back(symbol.size);
  for (int64_t d = 0; d < static_cast<int64_t>(shape.size()); ++d) {
    mlir::AffineExpr expr = maps.operands[operand].map.getResult(d);
    std::optional<DimIndex> index = maps.index(operand, d);
    // By the index along each dimension of the result alone: all values that were met.
    std::vector<std::map<int64_t, std::set<int64_t>>> met(result.size());
    bool isInside = true, isChosen = false;
    for (auto [position, symbol] : llvm::enumerate(maps.symbols)) {
      isChosen |= symbol.kind != SymbolKind::kReduced && expr.isFunctionOfSymbol(position);
    }
    forEach(result, [&](const Index& at) {
      forEach(symbolSizes, [&](const Index& symbols) {
        const int64_t value = evaluate(expr, at, symbols);
        isInside &= value >= 0 && value < shape[d];
        for (size_t r = 0; r < result.size(); ++r) met[r][at[r]].insert(value);
        if (!index) return;
        int64_t sum = index->offset + (index->dim ? index->stride * at[*index->dim] : 0);
        for (const DimIndex::Term& term : index->terms) {
          sum += term.coefficient * symbols[term.symbol];
        }
        EXPECT_EQ(llvm::divideFloorSigned(sum, index->divisor), value) << "dimension " << d;
      });
    });
    if (index) {
      EXPECT_EQ(index->isInside(index->dim ? result[*index->dim] : 1, shape[d]), isInside)
          << "dimension " << d << " of operand " << operand;
    }
    for (size_t r = 0; r < result.size(); ++r) {
      bool differs = llvm::any_of(
          met[r], [&](const auto& entry) { return entry.second != met[r].begin()->second; });
      EXPECT_TRUE(maps.varies(operand, d, static_cast<int64_t>(r)) || !differs)
          << "dimension " << d << " of operand " << operand << " along " << r;
      EXPECT_EQ(maps.varies(operand, d, static_cast<int64_t>(r)),
                isChosen || expr.isFunctionOfDim(static_cast<unsigned>(r)));
    }
  }
}

struct Case {
  const char* name;
  const char* text;  // @main with the operation first in it
  // Operands that decide where others are read are given; the rest is made up.
  std::vector<std::pair<unsigned, int64_t>> integers = {};
  // An operand that is read less than its map says, by what another operand's map leaves out.
  std::optional<unsigned> covered = {};
};

class Indexing : public testing::TestWithParam<Case> {
 protected:
  Indexing() { loadAllDialects(context_); }

  static Tensor operandOf(mlir::Value value, int seed) {
    ArrayType type = *toArrayType(value.getType());
    Tensor tensor = *Tensor::make(type);
    for (int64_t i = 0; i < tensor.size(); ++i) {
      auto number = static_cast<double>((i * 7 + seed * 13) % 101 + 1);
      tensor.set(i, {.bits = static_cast<uint64_t>(number), .re = number});
    }
    return tensor;
  }

  std::vector<Tensor> run(mlir::Operation* op, const std::vector<Tensor>& operands) {
    reference::Interpreter interpreter(*module_);
    std::vector<reference::Value> values(operands.begin(), operands.end());
    auto results = interpreter.evaluate(op, values);
    EXPECT_TRUE(results.ok()) << results.status().message();
    std::vector<Tensor> tensors;
    if (!results.ok()) return tensors;
    for (const reference::Value& result : *results) tensors.push_back(result.tensor);
    return tensors;
  }

  mlir::MLIRContext context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
};

TEST_P(Indexing, CoversWhatIsRead) {
  module_ = mlir::parseSourceString<mlir::ModuleOp>(GetParam().text, &context_);
  ASSERT_TRUE(module_);
  auto main = *module_->getOps<mlir::func::FuncOp>().begin();
  mlir::Operation* op = &main.getBody().front().front();
  std::vector<Tensor> operands;
  for (mlir::Value value : op->getOperands()) {
    operands.push_back(operandOf(value, static_cast<int>(operands.size())));
  }
  for (auto [operand, value] : GetParam().integers) {
    for (int64_t i = 0; i < operands[operand].size(); ++i) {
      operands[operand].set(i, {.bits = static_cast<uint64_t>(value), .re = double(value)});
    }
  }
  std::vector<Tensor> before = run(op, operands);
  for (unsigned r = 0; r < op->getNumResults(); ++r) {
    IndexingMaps maps = indexingMaps(op, r);
    bool isExact = GetParam().integers.empty();
    for (const IndexSymbol& symbol : maps.symbols) isExact &= symbol.kind == SymbolKind::kReduced;
    for (unsigned o = 0; o < op->getNumOperands(); ++o) {
      bool isGiven = false;
      for (auto given : GetParam().integers) isGiven |= given.first == o;
      if (maps.operands[o].map) {
        expectIndices(maps, o, before[r].dims(), operands[o].dims());
      }
      if (isGiven) continue;
      auto reads = predicted(maps, o, before[r].dims(), operands[o].dims());
      for (int64_t e = 0; e < operands[o].size(); ++e) {
        std::vector<Tensor> changed = operands;
        ArrayType type = changed[o].type();
        changed[o] = *Tensor::make(type);
        for (int64_t i = 0; i < operands[o].size(); ++i) changed[o].copyElement(i, operands[o], i);
        changed[o].set(e, {.bits = ~operands[o].get(e).bits, .re = 977});
        std::vector<Tensor> after = run(op, changed);
        for (int64_t i = 0; i < before[r].size(); ++i) {
          auto old = before[r].get(i), now = after[r].get(i);
          bool differs = old.bits != now.bits || old.re != now.re || old.im != now.im;
          bool isRead = reads[i].count(e) != 0;
          EXPECT_TRUE(isRead || !differs) << "element " << i << " of result " << r
                                          << " reads element " << e << " of operand " << o;
          // A scalar beside arrays (padding, initial values) is read where it matters only.
          if (isExact && !operands[o].dims().empty() && GetParam().covered != o) {
            EXPECT_TRUE(differs || !isRead)
                << "element " << i << " of result " << r << " does not read element " << e
                << " of operand " << o;
          }
        }
      }
      EXPECT_EQ(readsSameIndex(op, o, r), maps.operands[o].isIdentity()) << "operand " << o;
    }
  }
}

const Case kCases[] = {
    {"add",
     "func.func @main(%a: tensor<2x3xf64>) -> tensor<2x3xf64> { %0 = stablehlo.add %a, %a : "
     "tensor<2x3xf64> return %0 : tensor<2x3xf64> }"},
    {"select",
     "func.func @main(%p: tensor<i1>, %a: tensor<4xi64>, %b: tensor<4xi64>) -> "
     "tensor<4xi64> { %0 = stablehlo.select %p, %a, %b : tensor<i1>, tensor<4xi64> "
     "return %0 : tensor<4xi64> }",
     {{0, 1}}},
    {"barrier",
     "func.func @main(%a: tensor<2xi64>, %b: tensor<3xi64>) -> (tensor<2xi64>, tensor<3xi64>) { "
     "%0:2 = stablehlo.optimization_barrier %a, %b : tensor<2xi64>, tensor<3xi64> "
     "return %0#0, %0#1 : tensor<2xi64>, tensor<3xi64> }"},
    {"bitcast_narrower",
     "func.func @main(%a: tensor<2x3xui32>) -> tensor<2x3x2xui16> { %0 = "
     "stablehlo.bitcast_convert "
     "%a : (tensor<2x3xui32>) -> tensor<2x3x2xui16> return %0 : tensor<2x3x2xui16> }"},
    {"bitcast_wider",
     "func.func @main(%a: tensor<3x2xui16>) -> tensor<3xui32> { %0 = stablehlo.bitcast_convert "
     "%a : (tensor<3x2xui16>) -> tensor<3xui32> return %0 : tensor<3xui32> }"},
    {"broadcast_in_dim",
     "func.func @main(%a: tensor<1x3xi64>) -> tensor<3x2x4xi64> { %0 = stablehlo.broadcast_in_dim "
     "%a, dims = [2, 0] : (tensor<1x3xi64>) -> tensor<3x2x4xi64> return %0 : tensor<3x2x4xi64> }"},
    {"concatenate",
     "func.func @main(%a: tensor<2x3xi64>, %b: tensor<2x1xi64>) -> tensor<2x4xi64> { %0 = "
     "stablehlo.concatenate %a, %b, dim = 1 : (tensor<2x3xi64>, tensor<2x1xi64>) -> "
     "tensor<2x4xi64> return %0 : tensor<2x4xi64> }"},
    {"dynamic_slice",
     "func.func @main(%a: tensor<4x3xi64>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<2x3xi64> { "
     "%0 = stablehlo.dynamic_slice %a, %i, %j, sizes = [2, 3] : (tensor<4x3xi64>, tensor<i32>, "
     "tensor<i32>) -> tensor<2x3xi64> return %0 : tensor<2x3xi64> }",
     {{1, 1}, {2, 5}}},
    {"dynamic_update_slice",
     "func.func @main(%a: tensor<4x3xi64>, %u: tensor<2x3xi64>, %i: tensor<i32>, %j: tensor<i32>) "
     "-> tensor<4x3xi64> { %0 = stablehlo.dynamic_update_slice %a, %u, %i, %j : (tensor<4x3xi64>, "
     "tensor<2x3xi64>, tensor<i32>, tensor<i32>) -> tensor<4x3xi64> return %0 : tensor<4x3xi64> }",
     {{2, 1}, {3, 5}}},
    {"gather",
     "func.func @main(%a: tensor<4x3x2xi64>, %i: tensor<2x3x2xi32>) -> tensor<2x3x2xi64> { %0 = "
     "\"stablehlo.gather\"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], "
     "collapsed_slice_dims = [0, 1], start_index_map = [1, 0], index_vector_dim = 2>, slice_sizes "
     "= array<i64: 1, 1, 2>}> : (tensor<4x3x2xi64>, tensor<2x3x2xi32>) -> tensor<2x3x2xi64> "
     "return %0 : tensor<2x3x2xi64> }"},
    {"gather_batched",
     "func.func @main(%a: tensor<3x4x5xi64>, %i: tensor<2x3xi32>) -> tensor<2x3x2xi64> { %0 = "
     "\"stablehlo.gather\"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], "
     "collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [1], "
     "start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 2>}> : "
     "(tensor<3x4x5xi64>, tensor<2x3xi32>) -> tensor<2x3x2xi64> return %0 : tensor<2x3x2xi64> }"},
    {"pad",
     "func.func @main(%a: tensor<3x2xi64>, %p: tensor<i64>) -> tensor<4x6xi64> { %0 = "
     "stablehlo.pad %a, %p, low = [-1, 1], high = [2, 0], interior = [0, 3] : "
     "(tensor<3x2xi64>, tensor<i64>) -> tensor<4x6xi64> return %0 : tensor<4x6xi64> }"},
    {"reshape",
     "func.func @main(%a: tensor<4x1x3x2xi64>) -> tensor<2x2x6x1xi64> { %0 = stablehlo.reshape %a "
     ": (tensor<4x1x3x2xi64>) -> tensor<2x2x6x1xi64> return %0 : tensor<2x2x6x1xi64> }"},
    {"reshape_mixed",
     "func.func @main(%a: tensor<4x3x5xi64>) -> tensor<6x10xi64> { %0 = stablehlo.reshape %a : "
     "(tensor<4x3x5xi64>) -> tensor<6x10xi64> return %0 : tensor<6x10xi64> }"},
    {"reshape_scalar",
     "func.func @main(%a: tensor<1x1xi64>) -> tensor<i64> { %0 = "
     "stablehlo.reshape %a : (tensor<1x1xi64>) -> tensor<i64> return %0 : "
     "tensor<i64> }"},
    {"reverse",
     "func.func @main(%a: tensor<2x3xi64>) -> tensor<2x3xi64> { %0 = stablehlo.reverse "
     "%a, dims = [1] : tensor<2x3xi64> return %0 : tensor<2x3xi64> }"},
    {"slice",
     "func.func @main(%a: tensor<5x7xi64>) -> tensor<2x3xi64> { %0 = stablehlo.slice %a "
     "[1:3, 0:6:2] : (tensor<5x7xi64>) -> tensor<2x3xi64> return %0 : tensor<2x3xi64> }"},
    {"transpose",
     "func.func @main(%a: tensor<2x3x4xi64>) -> tensor<4x2x3xi64> { %0 = stablehlo.transpose %a, "
     "dims = [2, 0, 1] : (tensor<2x3x4xi64>) -> tensor<4x2x3xi64> return %0 : tensor<4x2x3xi64> "
     "}"},
    {"reduce",
     "func.func @main(%a: tensor<2x3x4xi64>, %b: tensor<2x3x4xi64>, %z: tensor<i64>) -> "
     "(tensor<3xi64>, tensor<3xi64>) { %0:2 = \"stablehlo.reduce\"(%a, %b, %z, %z) <{dimensions = "
     "array<i64: 0, 2>}> ({ ^bb0(%p: tensor<i64>, %q: tensor<i64>, %r: tensor<i64>, %s: "
     "tensor<i64>): %1 = stablehlo.add %p, %r : tensor<i64> %2 = stablehlo.add %q, %s : "
     "tensor<i64> "
     "%3 = stablehlo.add %1, %2 : tensor<i64> stablehlo.return %3, %3 : tensor<i64>, tensor<i64> "
     "}) : (tensor<2x3x4xi64>, tensor<2x3x4xi64>, tensor<i64>, tensor<i64>) -> (tensor<3xi64>, "
     "tensor<3xi64>) return %0#0, %0#1 : tensor<3xi64>, tensor<3xi64> }"},
    {"reduce_window",
     "func.func @main(%a: tensor<2x5xi64>, %z: tensor<i64>) -> tensor<2x5xi64> { %0 = "
     "\"stablehlo.reduce_window\"(%a, %z) <{window_dimensions = array<i64: 1, 3>, window_strides "
     "= "
     "array<i64: 1, 2>, base_dilations = array<i64: 1, 2>, window_dilations = array<i64: 1, 2>, "
     "padding = dense<[[0, 0], [3, 1]]> : tensor<2x2xi64>}> ({ ^bb0(%p: tensor<i64>, %q: "
     "tensor<i64>): %1 = stablehlo.add %p, %q : tensor<i64> stablehlo.return %1 : tensor<i64> }) "
     ": "
     "(tensor<2x5xi64>, tensor<i64>) -> tensor<2x5xi64> return %0 : tensor<2x5xi64> }"},
    {"dot_general",
     "func.func @main(%a: tensor<2x3x4xi64>, %b: tensor<4x2x5xi64>) -> tensor<2x3x5xi64> { %0 = "
     "stablehlo.dot_general %a, %b, batching_dims = [0] x [1], contracting_dims = [2] x [0] : "
     "(tensor<2x3x4xi64>, tensor<4x2x5xi64>) -> tensor<2x3x5xi64> return %0 : tensor<2x3x5xi64> "
     "}"},
    {"convolution",
     "func.func @main(%a: tensor<2x5x4xi64>, %k: tensor<3x2x6xi64>) -> tensor<2x6x6xi64> { %0 = "
     "stablehlo.convolution(%a, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = "
     "{stride "
     "= [2], pad = [[3, 4]], lhs_dilate = [2], rhs_dilate = [2], reverse = [true]} "
     "{batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<2x5x4xi64>, "
     "tensor<3x2x6xi64>) -> tensor<2x6x6xi64> return %0 : tensor<2x6x6xi64> }",
     {},
     1},
    {"convolution_of_batch_groups",
     "func.func @main(%a: tensor<4x5x2xi64>, %k: tensor<3x2x6xi64>) -> tensor<2x3x6xi64> { "
     "%0 = "
     "stablehlo.convolution(%a, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = "
     "{} "
     "{batch_group_count = 2 : i64, feature_group_count = 1 : i64} : (tensor<4x5x2xi64>, "
     "tensor<3x2x6xi64>) -> tensor<2x3x6xi64> return %0 : tensor<2x3x6xi64> }"},
    {"sort",
     "func.func @main(%a: tensor<2x4xi64>) -> tensor<2x4xi64> { %0 = \"stablehlo.sort\"(%a) "
     "<{dimension = 1 : i64, is_stable = true}> ({ ^bb0(%p: tensor<i64>, %q: tensor<i64>): "
     "%1 = "
     "stablehlo.compare LT, %p, %q : (tensor<i64>, tensor<i64>) -> tensor<i1> "
     "stablehlo.return %1 "
     ": tensor<i1> }) : (tensor<2x4xi64>) -> tensor<2x4xi64> return %0 : tensor<2x4xi64> }"},
    {"scatter",
     "func.func @main(%a: tensor<4x3xi64>, %i: tensor<2x1xi32>, %u: tensor<2x3xi64>) -> "
     "tensor<4x3xi64> { %0 = \"stablehlo.scatter\"(%a, %i, %u) <{scatter_dimension_numbers "
     "= "
     "#stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], "
     "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({ ^bb0(%p: tensor<i64>, "
     "%q: "
     "tensor<i64>): %1 = stablehlo.add %p, %q : tensor<i64> stablehlo.return %1 : "
     "tensor<i64> }) : "
     "(tensor<4x3xi64>, tensor<2x1xi32>, tensor<2x3xi64>) -> tensor<4x3xi64> return %0 : "
     "tensor<4x3xi64> }",
     {{1, 2}}},
    {"scatter_of_parts",
     "func.func @main(%a: tensor<3x5xi64>, %i: tensor<3x2xi32>, %u: tensor<3x2x3xi64>) -> "
     "tensor<3x5xi64> { %0 = \"stablehlo.scatter\"(%a, %i, %u) <{scatter_dimension_numbers "
     "= "
     "#stablehlo.scatter<update_window_dims = [2], input_batching_dims = [0], "
     "scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], "
     "index_vector_dim = "
     "2>}> ({ ^bb0(%p: tensor<i64>, %q: tensor<i64>): %1 = stablehlo.add %p, %q : "
     "tensor<i64> "
     "stablehlo.return %1 : tensor<i64> }) : (tensor<3x5xi64>, tensor<3x2xi32>, "
     "tensor<3x2x3xi64>) "
     "-> tensor<3x5xi64> return %0 : tensor<3x5xi64> }",
     {{1, 1}}},
    {"select_and_scatter",
     "func.func @main(%a: tensor<2x4xi64>, %s: tensor<2x2xi64>, %z: tensor<i64>) -> "
     "tensor<2x4xi64> { %0 = \"stablehlo.select_and_scatter\"(%a, %s, %z) "
     "<{window_dimensions = "
     "array<i64: 1, 2>, window_strides = array<i64: 1, 2>}> ({ ^bb0(%p: tensor<i64>, %q: "
     "tensor<i64>): %1 = stablehlo.compare GE, %p, %q : (tensor<i64>, tensor<i64>) -> "
     "tensor<i1> "
     "stablehlo.return %1 : tensor<i1> }, { ^bb0(%p: tensor<i64>, %q: tensor<i64>): %1 = "
     "stablehlo.add %p, %q : tensor<i64> stablehlo.return %1 : tensor<i64> }) : "
     "(tensor<2x4xi64>, "
     "tensor<2x2xi64>, tensor<i64>) -> tensor<2x4xi64> return %0 : tensor<2x4xi64> }"},
    {"triangular_solve",
     "func.func @main(%a: tensor<2x2x2xf64>, %b: tensor<2x2x3xf64>) -> tensor<2x2x3xf64> { "
     "%0 = "
     "\"stablehlo.triangular_solve\"(%a, %b) <{left_side = true, lower = true, "
     "unit_diagonal = "
     "false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<2x2x2xf64>, "
     "tensor<2x2x3xf64>) -> tensor<2x2x3xf64> return %0 : tensor<2x2x3xf64> }"},
    {"fft",
     "func.func @main(%a: tensor<3x4xcomplex<f64>>) -> tensor<3x4xcomplex<f64>> { %0 = "
     "stablehlo.fft %a, type = FFT, length = [4] : (tensor<3x4xcomplex<f64>>) -> "
     "tensor<3x4xcomplex<f64>> return %0 : tensor<3x4xcomplex<f64>> }"},
    {"map",
     "func.func @main(%a: tensor<3xi64>) -> tensor<3xi64> { %0 = \"stablehlo.map\"(%a) "
     "<{dimensions = array<i64: 0>}> ({ ^bb0(%p: tensor<i64>): %1 = stablehlo.add %p, %p : "
     "tensor<i64> stablehlo.return %1 : tensor<i64> }) : (tensor<3xi64>) -> tensor<3xi64> "
     "return %0 : tensor<3xi64> }"},
};

INSTANTIATE_TEST_SUITE_P(Operations, Indexing, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

// Every rule of the op table is run above: whoever adds one adds a case.
TEST(IndexingRules, AreAllTested) {
  std::set<void (*)(IndexingBuilder&)> tested;
  for (const Case& each : kCases) {
    std::string text = each.text;
    size_t begin = text.find("stablehlo.");
    size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", begin + 10);
    tested.insert(findOpFacts(text.substr(begin, end - begin))->indexing);
  }
  for (const OpFacts& facts : allOpFacts()) {
    if (facts.indexing == findOpFacts("stablehlo.while")->indexing) continue;  // reads all whole
    EXPECT_TRUE(tested.count(facts.indexing)) << facts.name;
  }
}

}  // namespace
}  // namespace isthmus

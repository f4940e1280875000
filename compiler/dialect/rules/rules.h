// What the rules of the specification are checked with.
//
// A rule has the specification's label: (C2) of transpose is "transpose_c2". Sizes that are not
// known statically agree with everything; sizes are combined without overflow.
#pragma once

#include <optional>
#include <string>

#include "compiler/dialect/dialect.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace isthmus::shlo {

using Dims = llvm::ArrayRef<int64_t>;
using Types = llvm::SmallVectorImpl<mlir::Type>;

// Reports violations of the rules of one operation, at its place in the user's program.
class Rules {
 public:
  Rules(std::optional<mlir::Location> location, llvm::StringRef op)
      : location_(location), op_(op) {}
  explicit Rules(mlir::Operation* op)
      : location_(op->getLoc()), op_(op->getName().stripDialect()) {}

  std::optional<mlir::Location> location() const { return location_; }

  // Always fails. The message names the operation and the rule; `parts` say what was got and what
  // was expected.
  template <typename... Parts>
  mlir::LogicalResult violates(llvm::StringRef rule, Parts&&... parts) const {
    return mlir::emitOptionalError(location_, "'stablehlo.", op_, "' op ", op_, "_", rule, ": ",
                                   std::forward<Parts>(parts)...);
  }

  // Each fails with the rule's label unless the condition in its name holds.
  mlir::LogicalResult inRange(llvm::StringRef rule, llvm::StringRef name, int64_t value,
                              int64_t low, int64_t high) const;  // low <= value < high
  mlir::LogicalResult allInRange(llvm::StringRef rule, llvm::StringRef name, Dims values,
                                 int64_t low, int64_t high) const;
  mlir::LogicalResult unique(llvm::StringRef rule, llvm::StringRef name, Dims values) const;
  mlir::LogicalResult sorted(llvm::StringRef rule, llvm::StringRef name, Dims values) const;
  mlir::LogicalResult size(llvm::StringRef rule, llvm::StringRef name, size_t got,
                           size_t expected) const;
  // All are at least one.
  mlir::LogicalResult positive(llvm::StringRef rule, llvm::StringRef name, Dims values) const;
  mlir::LogicalResult sameShapes(llvm::StringRef rule, mlir::TypeRange types) const;

 private:
  std::optional<mlir::Location> location_;
  llvm::StringRef op_;
};

// "[1, 2, ?]"
std::string text(Dims dims);

inline bool isDynamic(int64_t size) { return mlir::ShapedType::isDynamic(size); }
// Whether two sizes may be equal.
inline bool agree(int64_t a, int64_t b) { return isDynamic(a) || isDynamic(b) || a == b; }
bool agree(Dims a, Dims b);

inline mlir::RankedTensorType tensorType(mlir::Type type) {
  return llvm::cast<mlir::RankedTensorType>(type);
}
inline mlir::RankedTensorType tensorType(mlir::Value value) { return tensorType(value.getType()); }

// The bounds of a tensor type: empty, or one for each dimension.
Dims boundsOf(mlir::RankedTensorType type);
// A tensor type with these bounds, if any is known.
mlir::RankedTensorType boundedType(Dims sizes, mlir::Type elementType, Dims bounds);

// Whether a reduction may compute in `to` what it reads as `from`.
bool isPromotable(mlir::Type from, mlir::Type to);
// The same quantized storage and expressed types, or equal types.
bool sameBaseline(mlir::Type a, mlir::Type b);
// The expressed type of a quantized element type, or the type itself.
mlir::Type expressedType(mlir::Type elementType);
// The type of a complex number's parts, or the type itself.
mlir::Type realPart(mlir::Type elementType);
// The type of whether something holds, whatever it is asked of.
mlir::Type truthValue(mlir::Type elementType);
// Checks the accuracy that a caller asks for, if any.
mlir::LogicalResult verifyAccuracy(mlir::Operation* op, ResultAccuracyAttr accuracy);
bool isQuantized(mlir::Type elementType);
bool isPerAxisQuantized(mlir::Type elementType);
// Fails unless quantized types have the same parameters: scales and zero points, or, of types
// quantized per axis where `perAxisMayDiffer`, none. Other types and shapes are not compared.
mlir::LogicalResult verifySameScales(const Rules& rules, llvm::StringRef rule,
                                     mlir::RankedTensorType from, mlir::RankedTensorType to,
                                     bool perAxisMayDiffer = false);
// The product of sizes; kDynamic if one is, nothing if it overflows.
std::optional<int64_t> product(Dims sizes);

// The operation that ends a region's only block, or null.
ReturnOp returnOf(mlir::Region& region);

// Checks that a region is a function of 2N scalars, N elements and N accumulators, that gives N
// scalars of the accumulators' types, into which `inputs` and `inits` (element types) promote.
mlir::LogicalResult verifyReducer(const Rules& rules, llvm::StringRef rule, mlir::Region& region,
                                  mlir::TypeRange inputs, mlir::TypeRange inits);
// The element types that a verified reducer gives.
llvm::SmallVector<mlir::Type> reducerElementTypes(mlir::Region& region);

// One dimension of a window that is moved over an input.
struct Window {
  int64_t size = 1;
  int64_t stride = 1;
  int64_t low = 0;
  int64_t high = 0;
  int64_t baseDilation = 1;
  int64_t windowDilation = 1;
};

// The labels of the rules about windows in one operation, which number them differently.
struct WindowRules {
  llvm::StringRef size, positiveSize, strides, positiveStrides, baseDilations,
      positiveBaseDilations, windowDilations, positiveWindowDilations, padding, shape;
};

// Makes windows of an operation's attributes, of which all but the sizes may be absent (empty).
mlir::FailureOr<llvm::SmallVector<Window>> makeWindows(
    const Rules& rules, const WindowRules& labels, Dims sizes, Dims strides,
    std::optional<mlir::DenseIntElementsAttr> padding, Dims baseDilations, Dims windowDilations);

// The number of places of a window, for an input of this size; kDynamic if either is.
mlir::FailureOr<int64_t> numWindows(const Rules& rules, llvm::StringRef rule, int64_t input,
                                    const Window& window);

// The rules of reshape and of dynamic_reshape about types alone.
mlir::LogicalResult verifyReshape(const Rules& rules, mlir::RankedTensorType from,
                                  mlir::RankedTensorType to);
// The rule c6 of broadcasts along `dims`: the quantization dimension and its scales follow.
mlir::LogicalResult verifyBroadcastScales(const Rules& rules, mlir::RankedTensorType operand,
                                          mlir::RankedTensorType result, Dims dims);

// Checks pairs of source and target ids: shape Nx2, sources and targets unique and not negative.
mlir::LogicalResult verifySourceTargetPairs(const Rules& rules,
                                            std::optional<mlir::DenseIntElementsAttr> pairs);

}  // namespace isthmus::shlo

// Defines Op::inferReturnTypes by a body that sees `op` (an adaptor), `rules` and `types`, to which
// it adds the types.
#define ISTHMUS_INFER(Op, name)                                                                 \
  static mlir::LogicalResult infer##Op(Op::Adaptor op, const Rules& rules,                      \
                                       mlir::MLIRContext* context, Types& types);               \
  mlir::LogicalResult Op::inferReturnTypes(                                                     \
      mlir::MLIRContext* context, std::optional<mlir::Location> location,                       \
      mlir::ValueRange operands, mlir::DictionaryAttr attributes,                               \
      mlir::OpaqueProperties properties, mlir::RegionRange regions, Types& types) {             \
    return infer##Op(Adaptor(operands, attributes, properties, regions), Rules(location, name), \
                     context, types);                                                           \
  }                                                                                             \
  static mlir::LogicalResult infer##Op(Op::Adaptor op, const Rules& rules,                      \
                                       mlir::MLIRContext* context, Types& types)

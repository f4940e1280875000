// Text and rules of the sdy dialect.
#include "compiler/dialect/sdy.h"

#include "compiler/dialect/inliner.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"

#include "ops/sdy_dialect.cc.inc"
#include "ops/sdy_enums.cc.inc"

namespace isthmus::sdy {
namespace {

using mlir::AsmParser;
using mlir::AsmPrinter;
using mlir::failed;
using mlir::failure;
using mlir::LogicalResult;
using mlir::ParseResult;
using mlir::succeeded;
using mlir::success;

// ---- Text of pieces -----------------------------------------------------------------------------

// `{"a", "b":(2)4}`
ParseResult parseAxes(AsmParser& parser, llvm::SmallVector<AxisRefAttr>& axes) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, [&]() -> ParseResult {
    auto axis = llvm::dyn_cast_or_null<AxisRefAttr>(AxisRefAttr::parse(parser, {}));
    if (axis) axes.push_back(axis);
    return ParseResult(failure(!axis));
  });
}

void printAxes(AsmPrinter& printer, llvm::ArrayRef<AxisRefAttr> axes) {
  printer << '{';
  printer.printStrippedAttrOrType(axes);
  printer << '}';
}

ParseResult parseMeshOrRef(AsmParser& parser, mlir::Attribute& mesh) {
  if (succeeded(parser.parseOptionalKeyword("mesh"))) {
    mesh = MeshAttr::parse(parser, {});
    return ParseResult(failure(!mesh));
  }
  mlir::FlatSymbolRefAttr name;
  if (parser.parseAttribute(name)) return failure();
  mesh = name;
  return success();
}

void printMeshOrRef(AsmPrinter& printer, mlir::Attribute mesh) {
  if (auto inlined = llvm::dyn_cast<MeshAttr>(mesh)) {
    printer << "mesh";
    printer.printStrippedAttrOrType(inlined);
  } else {
    printer << mesh;
  }
}

// `, replicated={"a"}, unreduced=max{"b"}`
ParseResult parseReplicatedAndUnreducedAxes(AsmParser& parser,
                                            llvm::SmallVector<AxisRefAttr>& replicated,
                                            llvm::SmallVector<AxisRefAttr>& unreduced,
                                            ReductionOp& reduction) {
  reduction = ReductionOp::SUM;
  while (succeeded(parser.parseOptionalComma())) {
    llvm::SMLoc loc = parser.getCurrentLocation();
    llvm::StringRef name;
    if (parser.parseKeyword(&name)) return failure();
    if (name == "replicated" && replicated.empty()) {
      if (parser.parseEqual() || parseAxes(parser, replicated)) return failure();
    } else if (name == "unreduced" && unreduced.empty()) {
      // Older text has no `=`.
      llvm::StringRef kind;
      (void)parser.parseOptionalEqual();
      if (succeeded(parser.parseOptionalKeyword(&kind, {"sum", "max", "min"}))) {
        reduction = *symbolizeReductionOp(kind);
      }
      if (parseAxes(parser, unreduced)) return failure();
    } else {
      return parser.emitError(loc) << "expected replicated or unreduced once, got " << name;
    }
  }
  return success();
}

void printReplicatedAndUnreducedAxes(AsmPrinter& printer, llvm::ArrayRef<AxisRefAttr> replicated,
                                     llvm::ArrayRef<AxisRefAttr> unreduced, ReductionOp reduction) {
  if (!replicated.empty()) {
    printer << ", replicated=";
    printAxes(printer, replicated);
  }
  if (!unreduced.empty()) {
    printer << ", unreduced=";
    if (reduction != ReductionOp::SUM) printer << stringifyReductionOp(reduction);
    printAxes(printer, unreduced);
  }
}

// Factors are named i, j, .. z, and then z_1, z_2, ..
constexpr int64_t kLastLetter = 'z' - 'i';

void printFactor(AsmPrinter& printer, int64_t factor) {
  if (factor <= kLastLetter) {
    printer << llvm::StringRef("ijklmnopqrstuvwxyz").substr(factor, 1);
  } else {
    printer << "z_" << factor - kLastLetter;
  }
}

// Takes the first factor off `names`.
ParseResult takeFactor(AsmParser& parser, llvm::StringRef& names, int64_t& factor) {
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (names.consume_front("z_")) {
    if (names.starts_with("0") || names.consumeInteger(10, factor) || factor < 1) {
      return parser.emitError(loc) << "expected a factor such as z_1";
    }
    factor += kLastLetter;
    return success();
  }
  if (names.empty() || names[0] < 'i' || names[0] > 'z') {
    return parser.emitError(loc) << "expected factors from i to z, got '" << names << "'";
  }
  factor = names[0] - 'i';
  names = names.drop_front();
  return success();
}

// ` {i=2, j=4}`
ParseResult parseFactorSizes(AsmParser& parser, llvm::SmallVector<int64_t>& sizes) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::OptionalBraces, [&]() -> ParseResult {
    llvm::SMLoc loc = parser.getCurrentLocation();
    llvm::StringRef name;
    int64_t factor;
    if (parser.parseKeyword(&name) || takeFactor(parser, name, factor)) return failure();
    if (!name.empty() || factor != static_cast<int64_t>(sizes.size())) {
      return parser.emitError(loc) << "expected the factors i, j, .. in order";
    }
    return ParseResult(failure(parser.parseEqual() || parser.parseInteger(sizes.emplace_back())));
  });
}

void printFactorSizes(AsmPrinter& printer, llvm::ArrayRef<int64_t> sizes) {
  if (sizes.empty()) return;
  printer << " {";
  llvm::interleaveComma(llvm::enumerate(sizes), printer, [&](auto entry) {
    printFactor(printer, entry.index());
    printer << '=' << entry.value();
  });
  printer << '}';
}

// ` reduction={k, l}`
ParseResult parseFactorsWithType(AsmParser& parser, llvm::SmallVector<int64_t>& factors,
                                 llvm::StringRef kind) {
  if (failed(parser.parseOptionalKeyword(kind))) return success();
  if (parser.parseEqual()) return failure();
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, [&]() -> ParseResult {
    llvm::StringRef name;
    return ParseResult(
        failure(parser.parseKeyword(&name) || takeFactor(parser, name, factors.emplace_back())));
  });
}

void printFactorsWithType(AsmPrinter& printer, llvm::ArrayRef<int64_t> factors,
                          llvm::StringRef kind) {
  if (factors.empty()) return;
  printer << ' ' << kind << "={";
  llvm::interleaveComma(factors, printer, [&](int64_t factor) { printFactor(printer, factor); });
  printer << '}';
}

ParseResult parseIsCustomRule(AsmParser& parser, bool& isCustom) {
  isCustom = succeeded(parser.parseOptionalComma());
  return isCustom ? parser.parseKeyword("custom") : ParseResult(success());
}

void printIsCustomRule(AsmPrinter& printer, bool isCustom) {
  if (isCustom) printer << ", custom";
}

ParseResult parseStrippedTensorShardingPerValueAttr(AsmParser& parser,
                                                    TensorShardingPerValueAttr& attribute) {
  llvm::SmallVector<TensorShardingAttr> shardings;
  auto parseOne = [&]() -> ParseResult {
    auto sharding =
        llvm::dyn_cast_or_null<TensorShardingAttr>(TensorShardingAttr::parse(parser, {}));
    if (sharding) shardings.push_back(sharding);
    return ParseResult(failure(!sharding));
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne)) return failure();
  attribute = TensorShardingPerValueAttr::get(parser.getContext(), shardings);
  return success();
}

void printStrippedTensorShardingPerValueAttr(AsmPrinter& printer, mlir::Operation*,
                                             TensorShardingPerValueAttr attribute) {
  printer << '[';
  printer.printStrippedAttrOrType(attribute.getShardings());
  printer << ']';
}

ParseResult parseSingleBlockRegionNoBlockId(mlir::OpAsmParser& parser, mlir::Region& region) {
  llvm::SmallVector<mlir::OpAsmParser::Argument> arguments;
  return ParseResult(failure(parser.parseArgumentList(arguments, AsmParser::Delimiter::Paren,
                                                      /*allowType=*/true, /*allowAttrs=*/true) ||
                             parser.parseRegion(region, arguments)));
}

void printSingleBlockRegionNoBlockId(mlir::OpAsmPrinter& printer, mlir::Operation*,
                                     mlir::Region& region) {
  printer << '(';
  llvm::interleaveComma(region.getArguments(), printer, [&](mlir::BlockArgument argument) {
    printer.printRegionArgument(argument);
  });
  printer << ") ";
  printer.printRegion(region, /*printEntryBlockArgs=*/false, /*printBlockTerminators=*/true);
}

}  // namespace
}  // namespace isthmus::sdy

#define GET_ATTRDEF_CLASSES
#include "ops/sdy_attributes.cc.inc"

#define GET_OP_CLASSES
#include "ops/sdy.cc.inc"

namespace isthmus::sdy {

void SdyDialect::initialize() {
  addInterfaces<UnrestrictedInliner>();
  addOperations<
#define GET_OP_LIST
#include "ops/sdy.cc.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ops/sdy_attributes.cc.inc"
      >();
}

// ---- Attributes ---------------------------------------------------------------------------------

LogicalResult MeshAxisAttr::verify(mlir::function_ref<mlir::InFlightDiagnostic()> emitError,
                                   llvm::StringRef name, int64_t size) {
  if (size >= 1) return success();
  return emitError() << "mesh axis \"" << name << "\" has size " << size << ", expected 1 or more";
}

LogicalResult MeshAttr::verify(mlir::function_ref<mlir::InFlightDiagnostic()> emitError,
                               llvm::ArrayRef<MeshAxisAttr> axes, llvm::ArrayRef<int64_t> ids) {
  if (llvm::any_of(ids, [](int64_t id) { return id < 0; })) {
    return emitError() << "a mesh has a negative device id";
  }
  if (axes.empty()) {
    if (ids.size() <= 1) return success();
    return emitError() << "a mesh without axes has " << ids.size()
                       << " device ids, expected one at most";
  }
  int64_t total = 1;
  for (auto [i, axis] : llvm::enumerate(axes)) {
    for (MeshAxisAttr other : axes.take_front(i)) {
      if (other.getName() == axis.getName()) {
        return emitError() << "a mesh has the axis \"" << axis.getName() << "\" twice";
      }
    }
    if (llvm::MulOverflow(total, axis.getSize(), total)) {
      return emitError() << "the size of a mesh overflows";
    }
  }
  if (ids.empty()) return success();
  llvm::SmallVector<int64_t> sorted(ids);
  llvm::sort(sorted);
  if (llvm::equal(sorted, llvm::seq<int64_t>(0, total))) return success();
  return emitError() << "the device ids of a mesh of " << total
                     << " devices are no permutation of 0 to " << total - 1;
}

int64_t MeshAttr::getAxisSize(llvm::StringRef name) const {
  for (MeshAxisAttr axis : getAxes()) {
    if (axis.getName() == name) return axis.getSize();
  }
  return 0;
}

int64_t MeshAttr::getTotalSize() const {
  int64_t total = 1;
  for (MeshAxisAttr axis : getAxes()) total *= axis.getSize();
  return total;
}

int64_t AxisRefAttr::getSize(MeshAttr mesh) const {
  return getSubAxisInfo() ? getSubAxisInfo().getSize() : mesh.getAxisSize(getName());
}

int64_t DimensionShardingAttr::getShardedSize(MeshAttr mesh) const {
  int64_t size = 1;
  for (AxisRefAttr axis : getAxes()) size *= axis.getSize(mesh);
  return size;
}

mlir::Attribute DimensionShardingAttr::parse(AsmParser& parser, mlir::Type) {
  llvm::SmallVector<AxisRefAttr> axes;
  bool isClosed = true;
  if (parser.parseLBrace()) return {};
  while (failed(parser.parseOptionalRBrace())) {
    if (!axes.empty() && parser.parseComma()) return {};
    if (succeeded(parser.parseOptionalQuestion())) {
      isClosed = false;
      if (parser.parseRBrace()) return {};
      break;
    }
    auto axis = llvm::dyn_cast_or_null<AxisRefAttr>(AxisRefAttr::parse(parser, {}));
    if (!axis) return {};
    axes.push_back(axis);
  }
  llvm::SMLoc loc = parser.getCurrentLocation();
  llvm::StringRef word;
  std::optional<int64_t> priority;
  if (succeeded(parser.parseOptionalKeyword(&word))) {
    int64_t value;
    llvm::StringRef digits = word;
    if (!digits.consume_front("p") || (digits.size() > 1 && digits.starts_with("0")) ||
        digits.getAsInteger(10, value) || value < 0) {
      parser.emitError(loc) << "expected a priority such as p1, got " << word;
      return {};
    }
    priority = value;
  }
  return get(parser.getContext(), axes, isClosed, priority);
}

void DimensionShardingAttr::print(AsmPrinter& printer) const {
  printer << '{';
  printer.printStrippedAttrOrType(getAxes());
  if (!getIsClosed()) printer << (getAxes().empty() ? "?" : ", ?");
  printer << '}';
  if (getPriority()) printer << 'p' << *getPriority();
}

mlir::Attribute DimMappingAttr::parse(AsmParser& parser, mlir::Type) {
  llvm::SmallVector<int64_t> factors;
  llvm::StringRef names;
  if (succeeded(parser.parseOptionalKeyword(&names))) {
    while (!names.empty()) {
      if (takeFactor(parser, names, factors.emplace_back())) return {};
    }
  }
  return get(parser.getContext(), factors);
}

void DimMappingAttr::print(AsmPrinter& printer) const {
  for (int64_t factor : getFactorIndices()) printFactor(printer, factor);
}

MeshAttr TensorShardingAttr::getMesh(mlir::Operation* op) const {
  if (auto mesh = llvm::dyn_cast<MeshAttr>(getMeshOrRef())) return mesh;
  auto name = llvm::cast<mlir::FlatSymbolRefAttr>(getMeshOrRef());
  auto mesh = mlir::SymbolTable::lookupNearestSymbolFrom<MeshOp>(op, name);
  return mesh ? mesh.getMesh() : MeshAttr();
}

// ---- Operations ---------------------------------------------------------------------------------

namespace {

// The mesh exists and has the axes, each used once, and there is a sharding for each dimension.
LogicalResult verifySharding(mlir::Operation* op, mlir::SymbolTableCollection& symbols,
                             TensorShardingAttr sharding, mlir::Type type) {
  auto mesh = llvm::dyn_cast<MeshAttr>(sharding.getMeshOrRef());
  if (!mesh) {
    auto name = llvm::cast<mlir::FlatSymbolRefAttr>(sharding.getMeshOrRef());
    auto named = symbols.lookupNearestSymbolFrom<MeshOp>(op, name);
    if (!named) return op->emitOpError("refers to the unknown mesh ") << name;
    mesh = named.getMesh();
  }
  auto tensor = llvm::dyn_cast<mlir::ShapedType>(type);
  if (tensor && tensor.hasRank() && !mesh.isMaximal() && tensor.getRank() != sharding.getRank()) {
    return op->emitOpError("has a sharding of rank ") << sharding.getRank() << " for " << type;
  }
  llvm::SmallVector<AxisRefAttr> axes;
  for (DimensionShardingAttr dim : sharding.getDimShardings())
    llvm::append_range(axes, dim.getAxes());
  llvm::append_range(axes, sharding.getReplicatedAxes());
  llvm::append_range(axes, sharding.getUnreducedAxes());
  for (auto [i, axis] : llvm::enumerate(axes)) {
    int64_t size = mesh.getAxisSize(axis.getName());
    if (size == 0) {
      return op->emitOpError("has a sharding along the unknown axis \"") << axis.getName() << '"';
    }
    SubAxisInfoAttr part = axis.getSubAxisInfo();
    if (part && (part.getPreSize() < 1 || part.getSize() < 2 || size % part.getPreSize() != 0 ||
                 (size / part.getPreSize()) % part.getSize() != 0)) {
      return op->emitOpError("has a sharding along a part of axis \"")
             << axis.getName() << "\" that does not divide its size " << size;
    }
    if (llvm::is_contained(llvm::ArrayRef(axes).take_front(i), axis)) {
      return op->emitOpError("has a sharding along the axis \"") << axis.getName() << "\" twice";
    }
  }
  return success();
}

// Values and shardings one to one.
LogicalResult verifyShardings(mlir::Operation* op, mlir::SymbolTableCollection& symbols,
                              llvm::StringRef name, TensorShardingPerValueAttr shardings,
                              mlir::TypeRange types) {
  if (shardings.getShardings().size() != types.size()) {
    return op->emitOpError("has ") << shardings.getShardings().size() << ' ' << name << " for "
                                   << types.size() << " values";
  }
  for (auto [sharding, type] : llvm::zip(shardings.getShardings(), types)) {
    if (failed(verifySharding(op, symbols, sharding, type))) return failure();
  }
  return success();
}

}  // namespace

LogicalResult ShardingConstraintOp::verifySymbolUses(mlir::SymbolTableCollection& symbols) {
  return verifySharding(*this, symbols, getSharding(), getType());
}

LogicalResult ReshardOp::verifySymbolUses(mlir::SymbolTableCollection& symbols) {
  return verifySharding(*this, symbols, getSharding(), getType());
}

LogicalResult ManualComputationOp::verifySymbolUses(mlir::SymbolTableCollection& symbols) {
  if (failed(
          verifyShardings(*this, symbols, "in_shardings", getInShardings(), getOperandTypes()))) {
    return failure();
  }
  return verifyShardings(*this, symbols, "out_shardings", getOutShardings(), getResultTypes());
}

LogicalResult ManualComputationOp::verify() {
  mlir::Block& block = getBody().front();
  if (block.getNumArguments() != getNumOperands()) {
    return emitOpError("has ") << getNumOperands() << " operands but its region takes "
                               << block.getNumArguments();
  }
  if (block.empty() || block.back().getNumOperands() != getNumResults()) {
    return emitOpError("has ") << getNumResults() << " results but its region gives another number";
  }
  return success();
}

LogicalResult NamedComputationOp::verify() {
  mlir::Block& block = getBody().front();
  if (mlir::TypeRange(block.getArgumentTypes()) != mlir::TypeRange(getOperandTypes())) {
    return emitOpError("has operands ")
           << getOperandTypes() << " but its region takes " << block.getArgumentTypes();
  }
  if (block.empty() || block.back().getOperandTypes() != getResultTypes()) {
    return emitOpError("has result types that its region does not give");
  }
  return success();
}

#define ISTHMUS_VERIFY_COLLECTIVE(Op)                                        \
  LogicalResult Op::verifySymbolUses(mlir::SymbolTableCollection& symbols) { \
    return verifySharding(*this, symbols, getOutSharding(), getType());      \
  }
ISTHMUS_VERIFY_COLLECTIVE(AllGatherOp)
ISTHMUS_VERIFY_COLLECTIVE(AllSliceOp)
ISTHMUS_VERIFY_COLLECTIVE(AllToAllOp)
ISTHMUS_VERIFY_COLLECTIVE(CollectivePermuteOp)
ISTHMUS_VERIFY_COLLECTIVE(AllReduceOp)
ISTHMUS_VERIFY_COLLECTIVE(ReduceScatterOp)
ISTHMUS_VERIFY_COLLECTIVE(ShardedToUnreducedOp)
ISTHMUS_VERIFY_COLLECTIVE(ReplicatedToUnreducedOp)
#undef ISTHMUS_VERIFY_COLLECTIVE

ParseResult ConstantOp::parse(mlir::OpAsmParser& parser, mlir::OperationState& result) {
  mlir::ElementsAttr value;
  if (parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseCustomAttributeWithFallback(value, mlir::Type{}, "value", result.attributes)) {
    return failure();
  }
  result.addTypes(value.getType());
  return success();
}

void ConstantOp::print(mlir::OpAsmPrinter& printer) {
  printer.printOptionalAttrDict((*this)->getAttrs(), {"value"});
  printer << ' ';
  printer.printStrippedAttrOrType(getValue());
}

}  // namespace isthmus::sdy

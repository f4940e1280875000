// Reads the operations of a bytecode file, upgrading those of VHLO to StableHLO on the way.
#include "compiler/import/bytecode/operation_reader.h"

#include <string>

#include "compiler/import/diagnostics.h"
#include "compiler/import/vhlo/vhlo_ops.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Operation.h"

namespace isthmus::importer {
namespace {

// Which parts follow an operation's name.
enum OperationPart : uint8_t {
  kHasAttributes = 1 << 0,
  kHasResults = 1 << 1,
  kHasOperands = 1 << 2,
  kHasSuccessors = 1 << 3,
  kHasRegions = 1 << 4,
  kHasUseListOrders = 1 << 5,
  kHasProperties = 1 << 6,
};

constexpr int kMaxRegionDepth = 256;

// The values that operations of one region isolated from above can name.
struct Scope {
  std::vector<mlir::Value> values;
  size_t next = 0;  // the number that the next value gets
};

class Reader {
 public:
  explicit Reader(AttributeDecoder& decoder)
      : decoder_(decoder), file_(decoder.file()), opNames_(decoder.file().opNames.size()) {}

  mlir::OwningOpRef<mlir::ModuleOp> read();

 private:
  // What the file calls an operation, resolved at its first use.
  struct OpName {
    const VhloOp* vhlo = nullptr;
    std::optional<mlir::RegisteredOperationName> registered;  // if it is not VHLO's
    std::optional<mlir::RegisteredOperationName> upgraded;    // of VHLO's, outside of functions
    std::optional<mlir::RegisteredOperationName> inFunction;  // of VHLO's, directly in a function
  };

  mlir::MLIRContext* context() const { return decoder_.context(); }

  bool fail(mlir::Location location, StatusCode code, const std::string& message) {
    const std::string where = describeLocation(location);
    return decoder_.sink().fail(code, where.empty() ? message : where + ": " + message);
  }

  bool readBlock(Cursor& cursor, mlir::Block& block, Scope& scope, int depth);
  bool readBlockArguments(Cursor& cursor, mlir::Block& block, Scope& scope);
  bool readRegions(Cursor& cursor, mlir::Operation* op, bool isIsolated, Scope& scope, int depth);
  bool readRegion(Cursor& cursor, mlir::Region& region, Scope& scope, int depth);
  bool readOperation(Cursor& cursor, mlir::Block& block, Scope& scope, int depth);
  bool readName(uint64_t index, bool isInFunction, mlir::OperationState& state,
                const VhloOp*& vhlo);
  bool readProperties(Cursor& cursor, const EncodedOpName& name, const VhloOp* vhlo,
                      mlir::OperationState& state);
  bool readOperands(Cursor& cursor, const Scope& scope, mlir::OperationState& state);
  bool checkAttributes(mlir::Operation* op, const VhloOp* vhlo,
                       const mlir::NamedAttrList& attributes);
  bool skipUseListOrders(Cursor& cursor, uint64_t numValues);
  bool define(Cursor& cursor, mlir::ValueRange values, Scope& scope);
  std::optional<mlir::RegisteredOperationName> lookUp(const std::string& name,
                                                      mlir::Location location);

  AttributeDecoder& decoder_;
  const Container& file_;
  std::vector<OpName> opNames_;
  // The number of values that all regions together say they have. Each takes a byte at least, so
  // that more of them than bytes are a lie that must not cost memory or time.
  uint64_t numDeclaredValues_ = 0;
};

std::optional<mlir::RegisteredOperationName> Reader::lookUp(const std::string& name,
                                                            mlir::Location location) {
  auto found = mlir::RegisteredOperationName::lookup(name, context());
  if (!found) {
    fail(location, StatusCode::kUnimplemented,
         internal::concatenate("operation '", name, "' is not known (program by ",
                               std::string_view(file_.producer), ")"));
  }
  return found;
}

bool Reader::readName(uint64_t index, bool isInFunction, mlir::OperationState& state,
                      const VhloOp*& vhlo) {
  OpName& known = opNames_[index];
  const EncodedOpName& encoded = file_.opNames[index];
  if (!known.vhlo && !known.registered) {
    if (encoded.dialect == "vhlo") known.vhlo = findVhloOp(encoded.name);
    if (!known.vhlo) {
      known.registered = lookUp((encoded.dialect + "." + encoded.name).str(), state.location);
      if (!known.registered) return false;
    }
  }
  vhlo = known.vhlo;
  if (!vhlo) {
    state.name = *known.registered;
    return true;
  }
  auto& name = isInFunction ? known.inFunction : known.upgraded;
  if (!name) {
    name = lookUp(upgradedName(*vhlo, isInFunction), state.location);
    if (!name) return false;
  }
  state.name = *name;
  return true;
}

bool Reader::readProperties(Cursor& cursor, const EncodedOpName& name, const VhloOp* vhlo,
                            mlir::OperationState& state) {
  if (file_.version < kProperties) return cursor.fail("has properties before they existed");
  uint64_t index;
  if (!cursor.varInt(index)) return false;
  if (!name.wasRegistered) {
    mlir::DictionaryAttr properties;
    if (!decoder_.attribute(index, properties)) return false;
    state.attributes.append(properties.getValue());
    return true;
  }
  if (index >= file_.properties.size()) {
    return cursor.fail("refers to properties that do not exist");
  }
  DecodeStream in(file_.properties[index], decoder_);
  if (vhlo) return readVhloProperties(*vhlo, in, state.attributes);
  const auto* interface = state.name.getInterface<mlir::BytecodeOpInterface>();
  if (interface == nullptr) {
    return fail(state.location, StatusCode::kInvalidArgument,
                "operation '" + state.name.getStringRef().str() + "' has no properties");
  }
  if (mlir::failed(interface->readProperties(in, state))) {
    return in.cursor().fail("has malformed properties");
  }
  return in.cursor().atEnd() || in.cursor().fail("has bytes after an operation's properties");
}

bool Reader::readOperands(Cursor& cursor, const Scope& scope, mlir::OperationState& state) {
  uint64_t count;
  if (!cursor.count(count)) return false;
  state.operands.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t value;
    if (!cursor.varInt(value)) return false;
    // Regions of one block have no legitimate use of a value before its definition.
    if (value >= scope.values.size() || !scope.values[value]) {
      return cursor.fail("uses a value that is not defined");
    }
    state.operands.push_back(scope.values[value]);
  }
  return true;
}

// The order of uses has no meaning for us.
bool Reader::skipUseListOrders(Cursor& cursor, uint64_t numValues) {
  uint64_t count = 1;
  if (numValues > 1 && !cursor.count(count)) return false;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t value, numIndices, index;
    bool isPairs;
    if ((numValues > 1 && !cursor.varInt(value)) || !cursor.varIntWithFlag(numIndices, isPairs)) {
      return false;
    }
    if (numIndices > cursor.remaining()) return cursor.fail("has too long an order of uses");
    for (uint64_t k = 0; k < numIndices; ++k) {
      if (!cursor.varInt(index)) return false;
    }
  }
  return true;
}

bool Reader::define(Cursor& cursor, mlir::ValueRange values, Scope& scope) {
  if (values.size() > scope.values.size() - scope.next) {
    return cursor.fail("defines more values than its region has");
  }
  for (mlir::Value value : values) scope.values[scope.next++] = value;
  return true;
}

// An attribute of a kind that the operation does not take has been dropped without a word.
bool Reader::checkAttributes(mlir::Operation* op, const VhloOp* vhlo,
                             const mlir::NamedAttrList& attributes) {
  for (const mlir::NamedAttribute& attribute : attributes) {
    const auto inherent = op->getInherentAttr(attribute.getName());
    if (!inherent) continue;
    if (*inherent != attribute.getValue()) {
      return fail(
          op->getLoc(), StatusCode::kInvalidArgument,
          internal::concatenate("operation '", op->getName().getStringRef().str(), "': attribute '",
                                attribute.getName().str(), "' is of the wrong kind"));
    }
  }
  if (vhlo == nullptr) return true;
  for (const VhloAttribute& attribute : vhlo->attributes) {
    if (op->getDiscardableAttr(attribute.name)) {
      return fail(op->getLoc(), StatusCode::kUnimplemented,
                  internal::concatenate("operation '", op->getName().getStringRef().str(),
                                        "': attribute '", attribute.name.str(), "' is not known"));
    }
  }
  return true;
}

bool Reader::readOperation(Cursor& cursor, mlir::Block& block, Scope& scope, int depth) {
  uint64_t nameIndex, locationIndex;
  uint8_t parts;
  if (!cursor.varInt(nameIndex) || !cursor.byte(parts) || !cursor.varInt(locationIndex)) {
    return false;
  }
  if (nameIndex >= opNames_.size()) {
    return cursor.fail("has an operation whose name does not exist");
  }
  mlir::LocationAttr location;
  if (!decoder_.attribute(locationIndex, location)) return false;
  const bool isInFunction = mlir::isa_and_nonnull<mlir::func::FuncOp>(block.getParentOp());
  // The name is replaced by the real one.
  mlir::OperationState state(location, mlir::ModuleOp::getOperationName());
  const VhloOp* vhlo = nullptr;
  if (!readName(nameIndex, isInFunction, state, vhlo)) return false;

  uint64_t index;
  if (parts & kHasAttributes) {
    mlir::DictionaryAttr attributes;
    if (!cursor.varInt(index) || !decoder_.attribute(index, attributes)) return false;
    state.attributes = attributes;
  }
  if ((parts & kHasProperties) && !readProperties(cursor, file_.opNames[nameIndex], vhlo, state)) {
    return false;
  }
  if (vhlo && !upgradeAttributes(*vhlo, context(), state.attributes, decoder_.sink())) return false;
  if (auto duplicate = state.attributes.findDuplicate()) {
    return cursor.fail("has the same attribute twice on an operation");
  }

  if (parts & kHasResults) {
    uint64_t count;
    if (!cursor.count(count)) return false;
    state.types.resize(count);
    for (mlir::Type& type : state.types) {
      if (!cursor.varInt(index) || !decoder_.type(index, type)) return false;
    }
  }
  if ((parts & kHasOperands) && !readOperands(cursor, scope, state)) return false;
  if (parts & kHasSuccessors) {
    return fail(location, StatusCode::kUnimplemented, "branches between blocks are not supported");
  }
  if ((parts & kHasUseListOrders) && file_.version >= kUseListOrders &&
      !skipUseListOrders(cursor, state.types.size())) {
    return false;
  }
  uint64_t numRegions = 0;
  bool isIsolated = false;
  if (parts & kHasRegions) {
    if (!cursor.varIntWithFlag(numRegions, isIsolated)) return false;
    if (numRegions > cursor.remaining()) return cursor.fail("has too many regions");
  }

  const bool isCast =
      state.name.getStringRef() == mlir::UnrealizedConversionCastOp::getOperationName();
  if (isCast && numRegions == 0 &&
      mlir::ValueRange(state.operands).getTypes() == mlir::TypeRange(state.types)) {
    return define(cursor, state.operands, scope);
  }

  for (uint64_t i = 0; i < numRegions; ++i) state.addRegion();
  mlir::Operation* op = mlir::Operation::create(state);
  block.push_back(op);
  return checkAttributes(op, vhlo, state.attributes) && define(cursor, op->getResults(), scope) &&
         (numRegions == 0 || readRegions(cursor, op, isIsolated, scope, depth));
}

bool Reader::readRegions(Cursor& cursor, mlir::Operation* op, bool isIsolated, Scope& scope,
                         int depth) {
  if (depth == kMaxRegionDepth) {
    return fail(op->getLoc(), StatusCode::kInvalidArgument,
                internal::concatenate("regions nest deeper than ", kMaxRegionDepth));
  }
  auto readAll = [&](Cursor& from, Scope& in) {
    for (mlir::Region& region : op->getRegions()) {
      if (!readRegion(from, region, in, depth + 1)) return false;
    }
    return true;
  };
  if (!isIsolated) return readAll(cursor, scope);
  Scope inner;
  if (file_.version < kIsolatedRegionSections) return readAll(cursor, inner);
  uint8_t kind;
  llvm::ArrayRef<uint8_t> contents;
  if (!cursor.section(kind, contents)) return false;
  if (kind != kIrSection) return cursor.fail("lacks the section of a region");
  Cursor nested(contents, file_.base, decoder_.sink());
  return readAll(nested, inner) &&
         (nested.atEnd() || nested.fail("has bytes after the regions of an operation"));
}

bool Reader::readRegion(Cursor& cursor, mlir::Region& region, Scope& scope, int depth) {
  uint64_t numBlocks, numValues;
  if (!cursor.varInt(numBlocks)) return false;
  if (numBlocks == 0) return true;
  if (numBlocks > 1) {
    return fail(region.getLoc(), StatusCode::kUnimplemented,
                "regions of several blocks are not supported");
  }
  if (!cursor.count(numValues)) return false;
  numDeclaredValues_ += numValues;
  if (numDeclaredValues_ > file_.ir.size()) return cursor.fail("has too many values");

  mlir::Block& block = region.emplaceBlock();
  const size_t outerSize = scope.values.size();
  const size_t outerNext = std::exchange(scope.next, outerSize);
  scope.values.resize(outerSize + numValues);
  if (!readBlock(cursor, block, scope, depth)) return false;
  scope.values.resize(outerSize);
  scope.next = outerNext;
  return true;
}

bool Reader::readBlockArguments(Cursor& cursor, mlir::Block& block, Scope& scope) {
  uint64_t count;
  if (!cursor.count(count)) return false;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t typeIndex, locationIndex;
    bool hasLocation = true;
    if (file_.version >= kOptionalArgumentLocations ? !cursor.varIntWithFlag(typeIndex, hasLocation)
                                                    : !cursor.varInt(typeIndex)) {
      return false;
    }
    mlir::Type type;
    mlir::LocationAttr location = mlir::UnknownLoc::get(context());
    if (!decoder_.type(typeIndex, type)) return false;
    if (hasLocation &&
        (!cursor.varInt(locationIndex) || !decoder_.attribute(locationIndex, location))) {
      return false;
    }
    block.addArgument(type, location);
  }
  return define(cursor, block.getArguments(), scope);
}

bool Reader::readBlock(Cursor& cursor, mlir::Block& block, Scope& scope, int depth) {
  uint64_t numOps;
  bool hasArguments;
  if (!cursor.varIntWithFlag(numOps, hasArguments)) return false;
  if (hasArguments) {
    uint8_t hasUseListOrders = 0;
    if (!readBlockArguments(cursor, block, scope)) return false;
    if (file_.version >= kUseListOrders && !cursor.byte(hasUseListOrders)) return false;
    if (hasUseListOrders && !skipUseListOrders(cursor, block.getNumArguments())) return false;
  }
  for (uint64_t i = 0; i < numOps; ++i) {
    if (!readOperation(cursor, block, scope, depth)) return false;
  }
  return true;
}

mlir::OwningOpRef<mlir::ModuleOp> Reader::read() {
  Cursor cursor(file_.ir, file_.base, decoder_.sink());
  // The file is one block without arguments, which has the module. A region owns the block while it
  // is incomplete, and drops uses before definitions when it is thrown away.
  mlir::OwningOpRef<mlir::ModuleOp> outer =
      mlir::ModuleOp::create(mlir::UnknownLoc::get(context()));
  mlir::Block& block = *outer->getBody();
  Scope scope;
  if (!readBlock(cursor, block, scope, /*depth=*/0)) return {};
  auto module = block.empty() ? nullptr : mlir::dyn_cast<mlir::ModuleOp>(block.front());
  if (!module || !llvm::hasSingleElement(block) || !cursor.atEnd()) {
    cursor.fail("is not one module");
    return {};
  }
  module->remove();
  return module;
}

}  // namespace

mlir::OwningOpRef<mlir::ModuleOp> readModule(AttributeDecoder& decoder) {
  return Reader(decoder).read();
}

}  // namespace isthmus::importer

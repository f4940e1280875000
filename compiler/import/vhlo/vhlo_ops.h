// The operations of every released VHLO version, and how each becomes an operation of ours.
#pragma once

#include "compiler/import/bytecode/attribute_decoder.h"
#include "mlir/IR/OperationSupport.h"

namespace isthmus::importer {

// How the attribute of a VHLO operation becomes one of ours.
struct VhloAttribute {
  enum class Kind {
    kAsIs,
    kI64Array,   // dense i64 tensor -> array<i64>
    kBoolArray,  // dense i1 tensor -> array<i1>
    kSymbol,     // string -> @symbol
    kSymbols,    // array of strings -> array of @symbols
    kUnit,       // true -> unit, false -> absent
    kChannel,    // channel_id -> channel_handle; 0 -> absent
    kDropped,
  };
  llvm::StringRef name;
  Kind kind = Kind::kAsIs;
  // The value that means the same as the attribute's absence; empty if there is none.
  llvm::StringRef defaultValue;
};

struct VhloOp {
  llvm::StringRef name;                         // "dot_general_v2"
  llvm::StringRef baseName;                     // "dot_general"
  llvm::SmallVector<VhloAttribute> attributes;  // alphabetical: the order of their encoding
};

// Null if no released version has this operation.
const VhloOp* findVhloOp(llvm::StringRef name);

// Reads the attributes of an operation whose properties are encoded natively.
bool readVhloProperties(const VhloOp& op, DecodeStream& in, mlir::NamedAttrList& attributes);

// The name of our operation. `return` depends on the parent.
std::string upgradedName(const VhloOp& op, bool isInFunction);

// Turns the operation's own attributes into those of our operation; discardable ones stay.
bool upgradeAttributes(const VhloOp& op, mlir::MLIRContext* context,
                       mlir::NamedAttrList& attributes, ErrorSink& sink);

}  // namespace isthmus::importer

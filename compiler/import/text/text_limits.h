// Bounds on the text of a program, before MLIR's parser sees it: the parser calls itself for each
// bracket, and what comes after it follows the graph of aliases, wherever that leads.
#pragma once

#include "compiler/import/bytecode/cursor.h"
#include "llvm/ADT/StringRef.h"

namespace isthmus::importer {

// What attributes and types may be, in either format. Both count entries of the graph that they
// make: how deep one nests, and how many there would be if none were shared.
inline constexpr int64_t kMaxGraphDepth = 1024;
inline constexpr int64_t kMaxExpandedAttribute = int64_t{1} << 20;
inline constexpr int64_t kMaxExpandedType = int64_t{1} << 16;
// The sum over the uses of attributes and types by operations. Locations are not counted: nothing
// visits them all.
inline constexpr int64_t kMaxExpandedProgram = int64_t{1} << 24;

// The place of an attribute or a type in that graph.
struct GraphCost {
  int64_t depth = 1;
  int64_t size = 1;  // saturates at kMaxExpandedProgram

  // As part of something that nests `nesting` deeper.
  void add(const GraphCost& part, int64_t nesting = 1);
};

// False, with kInvalidArgument in the sink, if `text` nests or expands too much.
bool checkTextLimits(llvm::StringRef text, ErrorSink& sink);

}  // namespace isthmus::importer

// The table of evaluators, from the op table.
#include "compiler/reference/evaluators/evaluators.h"

#include "llvm/ADT/StringMap.h"

namespace isthmus::reference {
namespace {

using namespace scalars;

#define GET_ChloEvaluators_IMPL
#define GET_StablehloEvaluators_IMPL
#include "ops/evaluators.inc"

using Table = llvm::StringMap<EvaluatorEntry>;

Table makeTable() {
  Table table;
  for (const EvaluatorEntry& entry : StablehloEvaluators) {
    table.try_emplace(std::string("stablehlo.") + entry.name, entry);
  }
  for (const EvaluatorEntry& entry : ChloEvaluators) {
    table.try_emplace(std::string("chlo.") + entry.name, entry);
  }
  table.try_emplace("func.call", EvaluatorEntry{"call", evaluateCall, false});
  return table;
}

}  // namespace

const EvaluatorEntry* findEvaluator(llvm::StringRef name) {
  static const Table& table = *new Table(makeTable());
  auto it = table.find(name);
  return it == table.end() || !it->second.evaluate ? nullptr : &it->second;
}

}  // namespace isthmus::reference

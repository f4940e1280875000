// Turns groups of arrays into locations, and control flow into moves.
#include "compiler/plan/memory_plan.h"

#include <limits>
#include <map>

#include "compiler/dialect/diagnostics/source_location.h"
#include "compiler/dialect/facts/byte_size.h"
#include "compiler/plan/arena.h"
#include "compiler/plan/coalesce.h"
#include "compiler/plan/op_error.h"
#include "llvm/Support/raw_ostream.h"

namespace isthmus {
namespace {

// Arrays this small that a loop touches go to the stack, where the optimizer can keep them in
// registers: a few scalars of any type, on any machine. Longer ones are indexed, which keeps them
// in memory.
constexpr int64_t kMaxStackSlotBytes = 32;

// The memory of results, which is free until they are computed there, or moved there at the end;
// `lent` is filled with where each is.
std::vector<Room> lentResults(llvm::ArrayRef<Location> results, const Grouping& grouping,
                              llvm::ArrayRef<Location> places, int64_t endTime,
                              const PlanOptions& options, std::vector<Location>& lent) {
  std::map<Location::Place, std::vector<size_t>> groupsAt;
  for (size_t g = 0; g < places.size(); ++g) {
    if (places[g].space == Location::Space::kResult) groupsAt[places[g].place()].push_back(g);
  }
  std::vector<Room> rooms;
  for (auto [index, result] : llvm::enumerate(results)) {
    if (result.space != Location::Space::kResult) continue;
    if (options.lendsResult && !options.lendsResult(static_cast<unsigned>(index))) continue;
    Room room{result.bytes, {{2 * endTime, std::numeric_limits<int64_t>::max()}}};
    if (auto found = groupsAt.find(result.place()); found != groupsAt.end()) {
      for (size_t g : found->second) room.taken.push_back(grouping.groups[g].extent);
    }
    rooms.push_back(std::move(room));
    lent.push_back(result);
  }
  return rooms;
}

}  // namespace

StatusOr<MemoryPlan> planMemory(mlir::func::FuncOp main, const PlanOptions& options) {
  unsigned numParameters = main.getNumArguments();
  unsigned numResults = main.getNumResults();
  if (options.parameters.size() != numParameters) {
    return internalError("memory plan: ", options.parameters.size(), " parameter uses, expected ",
                         numParameters);
  }
  std::vector<int> aliasOf(numResults, -1);
  for (unsigned p = 0; p < numParameters; ++p) {
    int result = options.parameters[p].aliasedResult;
    if (result < 0) continue;
    if (result >= static_cast<int>(numResults) || aliasOf[result] >= 0) {
      return invalidArgument("parameter ", p, " aliases result ", result,
                             ", which does not exist or is aliased already");
    }
    ISTHMUS_ASSIGN_OR_RETURN(int64_t from, byteSize(main.getArgumentTypes()[p]));
    ISTHMUS_ASSIGN_OR_RETURN(int64_t to, byteSize(main.getResultTypes()[result]));
    if (from != to) {
      return invalidArgument("parameter ", p, " of ", from, " bytes aliases result ", result,
                             " of ", to, " bytes");
    }
    aliasOf[result] = static_cast<int>(p);
  }

  ISTHMUS_ASSIGN_OR_RETURN(Liveness liveness, Liveness::compute(main));
  Grouping grouping = groupArrays(main, liveness, options);
  MemoryPlan plan(std::move(liveness));
  const std::vector<LiveArray>& arrays = plan.liveness_.arrays();

  std::vector<Location> places(grouping.groups.size());
  for (size_t g = 0; g < places.size(); ++g) {
    const ArrayGroup& group = grouping.groups[g];
    if (group.members.empty()) continue;
    Location& place = places[g];
    place.bytes = group.bytes;
    const LiveArray& first = arrays[group.members.front()];
    if (group.parameter >= 0) {
      place.space = Location::Space::kParameter;
      place.index = group.parameter;
    } else if (first.origin == LiveArray::Origin::kConstant) {
      place.space = Location::Space::kConstant;
      place.index = static_cast<int>(plan.constants_.size());
      plan.constants_.push_back(first.definition);
    } else if (group.bytes <= kMaxStackSlotBytes && group.touchesLoop) {
      place.space = Location::Space::kStack;
      place.index = static_cast<int>(plan.stackSlots_.size());
      plan.stackSlots_.push_back(group.bytes);
    }
  }

  // Compute results where the caller wants them.
  mlir::Operation* terminator = main.getBody().front().getTerminator();
  for (unsigned r = 0; r < numResults; ++r) {
    int array = plan.liveness_.arrayOf(terminator->getOperand(r));
    if (array < 0) {
      plan.results_.push_back({});
      continue;
    }
    Location result{aliasOf[r] >= 0 ? Location::Space::kParameter : Location::Space::kResult,
                    aliasOf[r] >= 0 ? aliasOf[r] : static_cast<int>(r), 0, arrays[array].bytes};
    Location& place = places[grouping.groupOf[array]];
    if (place.space == Location::Space::kNone && aliasOf[r] < 0) place = result;
    plan.results_.push_back(result);
  }

  std::vector<ArenaBlock> blocks;
  std::vector<size_t> owners;
  for (size_t g = 0; g < places.size(); ++g) {
    const ArrayGroup& group = grouping.groups[g];
    if (group.members.empty() || places[g].space != Location::Space::kNone) continue;
    blocks.push_back({group.extent, group.bytes});
    owners.push_back(g);
  }
  std::vector<mlir::Operation*> scratchOwners;
  for (mlir::Operation* op : plan.liveness_.operations()) {
    int64_t bytes =
        options.scratchBytes && roleOf(op) == OpRole::kCompute ? options.scratchBytes(op) : 0;
    if (bytes <= 0) continue;
    int64_t time = 2 * plan.liveness_.timeOf(op);
    blocks.push_back({{time, time + 1}, bytes});
    scratchOwners.push_back(op);
  }
  std::vector<Location> lent;
  std::vector<Room> rooms = lentResults(plan.results_, grouping, places,
                                        plan.liveness_.timeOf(terminator), options, lent);
  plan.arenaBytes_ = placeBlocks(blocks, rooms);
  auto placeOf = [&](const ArenaBlock& block) {
    if (block.room < 0) return Location{Location::Space::kArena, 0, block.offset, block.bytes};
    Location place = lent[block.room];
    place.bytes = block.bytes;
    return place;
  };
  for (size_t i = 0; i < scratchOwners.size(); ++i) {
    plan.scratch_[scratchOwners[i]] = placeOf(blocks[owners.size() + i]);
  }
  for (size_t b = 0; b < owners.size(); ++b) places[owners[b]] = placeOf(blocks[b]);
  for (int group : grouping.groupOf) plan.locations_.push_back(places[group]);
  return plan;
}

Location MemoryPlan::locate(mlir::Value value) const {
  int array = liveness_.arrayOf(value);
  return array < 0 ? Location{} : locations_[array];
}

std::vector<Move> MemoryPlan::movesInto(mlir::Operation* whileOp) const {
  std::vector<Move> moves;
  for (unsigned i = 0; i < whileOp->getNumOperands(); ++i) {
    if (liveness_.isPassedThrough(whileOp, i)) continue;
    moves.push_back({locate(whileOp->getResult(i)), locate(whileOp->getOperand(i))});
  }
  return orderMoves(std::move(moves));
}

// Whether a round computes the carried value in a place that nothing else is in when it ends: then
// nobody reads that place afterwards.
bool MemoryPlan::isOnlyOfRound(mlir::Operation* terminator, unsigned carried,
                               const std::map<Location::Place, int>& uses) const {
  const int array = liveness_.arrayOf(terminator->getOperand(carried));
  if (array < 0) return false;
  const LiveArray& computed = liveness_.arrays()[array];
  if (!computed.definition || computed.origin == LiveArray::Origin::kConstant) return false;
  return terminator->getParentOp()->isProperAncestor(computed.definition) &&
         uses.at(locations_[array].place()) == 1;
}

std::vector<Move> MemoryPlan::movesAt(mlir::Operation* terminator) const {
  mlir::Operation* parent = terminator->getParentOp();
  std::vector<Move> moves;
  switch (roleOf(parent)) {
    case OpRole::kWhile: {
      if (terminator->getParentRegion() != &parent->getRegion(kBodyRegion)) return {};
      std::map<Location::Place, int> uses;
      for (mlir::Value operand : terminator->getOperands()) ++uses[locate(operand).place()];
      for (unsigned i = 0; i < terminator->getNumOperands(); ++i) {
        if (liveness_.isPassedThrough(parent, i)) continue;
        moves.push_back({.to = locate(parent->getResult(i)),
                         .from = locate(terminator->getOperand(i)),
                         .isLast = isOnlyOfRound(terminator, i, uses)});
      }
      break;
    }
    case OpRole::kBranch:
      for (unsigned i = 0; i < terminator->getNumOperands(); ++i) {
        moves.push_back({locate(parent->getResult(i)), locate(terminator->getOperand(i))});
      }
      break;
    default:
      for (unsigned i = 0; i < terminator->getNumOperands(); ++i) {
        moves.push_back({results_[i], locate(terminator->getOperand(i))});
      }
  }
  return orderMoves(std::move(moves));
}

std::string MemoryPlan::toString() const {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "arena: " << arenaBytes_ << " bytes, stack slots: " << stackSlots_.size()
      << ", constants: " << constants_.size() << "\n";
  const std::vector<LiveArray>& arrays = liveness_.arrays();
  for (size_t i = 0; i < arrays.size(); ++i) {
    const LiveArray& array = arrays[i];
    out << "  " << locations_[i].toString() << ": ";
    switch (array.origin) {
      case LiveArray::Origin::kParameter:
        out << "parameter " << array.index;
        break;
      case LiveArray::Origin::kConstant:
        out << "constant";
        break;
      case LiveArray::Origin::kComputed:
      case LiveArray::Origin::kSelected:
        out << array.definition->getName().getStringRef() << " result " << array.index;
        break;
      case LiveArray::Origin::kCarried:
        out << array.definition->getName().getStringRef() << " carried " << array.index;
        break;
    }
    out << " " << array.value.getType() << ", alive";
    for (Lifetime lifetime : array.lifetimes) {
      out << " [" << lifetime.begin << "," << lifetime.end << "]";
    }
    if (array.definition) {
      if (std::string position = sourcePosition(array.definition->getLoc()); !position.empty()) {
        out << " " << position;
      }
    }
    out << "\n";
  }
  for (size_t r = 0; r < results_.size(); ++r) {
    out << "  result " << r << " is " << results_[r].toString() << "\n";
  }
  return text;
}

}  // namespace isthmus

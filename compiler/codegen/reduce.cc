// Reductions at an index of their result: loops of their own around the reducer.
//
// If the result's index differs between lanes, each lane reduces for itself (columns). Otherwise
// the lanes share the work along the innermost reduced dimension (rows): several vector
// accumulators, folded into one vector, then halved down to one lane.
#include <limits>

#include "compiler/codegen/evaluator.h"
#include "compiler/codegen/iteration.h"
#include "compiler/dialect/combiner.h"
#include "compiler/dialect/dialect.h"
#include "llvm/ADT/ScopeExit.h"

namespace isthmus::codegen {
namespace {

using Values = LoopBuilder::Values;

// What `body` leaves unchanged, if it is one op with such a value: then accumulators can start
// from it, and the initial value comes in once at the end.
std::optional<Val> identityOf(mlir::Region& body, const ElementKind& kind, LoopBuilder& loops) {
  mlir::Operation* op = soleOperation(body);
  if (!op || kind.isComplex()) return std::nullopt;
  llvm::Type* type = kind.computeType(loops.context());
  llvm::StringRef name = op->getName().getStringRef();
  auto value = [&](llvm::Constant* constant) { return Val{constant, nullptr, loops.entry()}; };
  if (kind.isFloat()) {
    double infinity = std::numeric_limits<double>::infinity();
    // Not 0: that would turn a sum of -0 into +0.
    if (name == "stablehlo.add") return value(llvm::ConstantFP::get(type, -0.0));
    if (name == "stablehlo.multiply") return value(llvm::ConstantFP::get(type, 1.0));
    if (name == "stablehlo.maximum") return value(llvm::ConstantFP::get(type, -infinity));
    if (name == "stablehlo.minimum") return value(llvm::ConstantFP::get(type, infinity));
    return std::nullopt;
  }
  unsigned width = type->getIntegerBitWidth();
  auto integer = [&](llvm::APInt x) { return value(llvm::ConstantInt::get(type, x)); };
  llvm::APInt zero = llvm::APInt::getZero(width);
  llvm::APInt ones = llvm::APInt::getAllOnes(width);
  bool isSigned = kind.isSigned && !kind.isBool();
  if (kind.isSubByte()) {
    // Limits of the narrow type, extended.
    llvm::APInt lowest = isSigned ? llvm::APInt::getSignedMinValue(kind.bits).sext(width) : zero;
    llvm::APInt highest = isSigned ? llvm::APInt::getSignedMaxValue(kind.bits).sext(width)
                                   : llvm::APInt::getAllOnes(kind.bits).zext(width);
    if (name == "stablehlo.maximum") return integer(lowest);
    if (name == "stablehlo.minimum") return integer(highest);
    if (name == "stablehlo.and") return integer(isSigned ? ones : highest);
  }
  if (name == "stablehlo.or" || name == "stablehlo.xor") return integer(zero);
  if (name == "stablehlo.and") return integer(ones);
  if (name == "stablehlo.add") return integer(zero);
  if (name == "stablehlo.multiply") return integer(llvm::APInt(width, 1));
  if (name == "stablehlo.maximum") {
    return integer(isSigned ? llvm::APInt::getSignedMinValue(width) : zero);
  }
  if (name == "stablehlo.minimum") {
    return integer(isSigned ? llvm::APInt::getSignedMaxValue(width) : ones);
  }
  return std::nullopt;
}

// Registers of several values as one list for a loop to carry, and back.
Values flatten(llvm::ArrayRef<Val> values) {
  Values flat;
  for (const Val& value : values) {
    flat.push_back(value.re);
    if (value.im) flat.push_back(value.im);
  }
  return flat;
}

llvm::SmallVector<Val, 2> unflatten(const Values& flat, llvm::ArrayRef<Val> shape, Level* level) {
  llvm::SmallVector<Val, 2> values;
  size_t next = 0;
  for (const Val& value : shape) {
    Val result{flat[next++], nullptr, level};
    if (value.im) result.im = flat[next++];
    values.push_back(result);
  }
  return values;
}

}  // namespace

Place Evaluator::reducedPlace(mlir::Operation* op, const Place& given) {
  auto reduce = mlir::cast<shlo::ReduceOp>(op);
  int64_t rank = mlir::cast<mlir::RankedTensorType>(reduce.getInputs()[0].getType()).getRank();
  auto resultType = mlir::cast<mlir::RankedTensorType>(op->getResult(0).getType());
  llvm::SmallVector<int64_t> kept;
  for (int64_t d = 0; d < rank; ++d) {
    if (!llvm::is_contained(reduce.getDimensions(), d)) kept.push_back(d);
  }
  Place place = given;
  uint64_t merged = 0;
  for (size_t d = 0; d + 1 < kept.size(); ++d) {
    if (!(place.merged >> d & 1)) continue;
    if (kept[d + 1] == kept[d] + 1) {
      merged |= uint64_t{1} << kept[d];
    } else {
      place = normalize(given, resultType.getShape());
      merged = 0;
      break;
    }
  }
  Place base;
  base.dims.resize(rank);
  base.merged = merged;
  for (size_t d = 0; d < kept.size(); ++d) base.dims[kept[d]] = place.dims[d];
  return base;
}

llvm::SmallVector<Evaluator::ReducedAxis, 4> Evaluator::reducedAxes(mlir::Operation* op,
                                                                    Place* base) {
  auto reduce = mlir::cast<shlo::ReduceOp>(op);
  auto type = mlir::cast<mlir::RankedTensorType>(reduce.getInputs()[0].getType());
  llvm::SmallVector<ReducedAxis, 4> axes;
  for (int64_t d = 0; d < type.getRank(); ++d) {
    if (!llvm::is_contained(reduce.getDimensions(), d)) continue;
    // Neighbours in one loop where nothing inside minds.
    bool joins = !axes.empty() && axes.back().dim == d - 1;
    for (mlir::Value input : reduce.getInputs()) {
      joins = joins && canMerge(input, static_cast<unsigned>(d - 1));
    }
    if (joins) {
      base->merged |= uint64_t{1} << (d - 1);
      axes.back() = {d, axes.back().size * type.getDimSize(d)};
    } else {
      axes.push_back({d, type.getDimSize(d)});
    }
  }
  return axes;
}

void Evaluator::accumulateColumns(
    mlir::Operation* op, const std::function<Place(const IndexExpr&)>& placeAt,
    const std::function<void(const std::function<void(const IndexExpr&)>&)>& forColumns) {
  auto reduce = mlir::cast<shlo::ReduceOp>(op);
  const ColumnBuffers& buffers = columnBuffers[op];
  auto resultType = mlir::cast<mlir::RankedTensorType>(op->getResult(0).getType());
  auto positionOf = [&](const Place& place) {
    return addIndex(linearize(place, resultType), scaleIndex(buffers.origin, -1));
  };
  auto storeAll = [&](const IndexExpr& position, llvm::ArrayRef<Val> values) {
    for (auto [i, value] : llvm::enumerate(values)) {
      store(buffers.bases[i], kindOf(op->getResult(i)), position, value);
    }
  };
  llvm::SmallVector<Val, 2> initial;
  for (mlir::Value value : reduce.getInitValues()) initial.push_back(get(value, Place()));
  forColumns([&](const IndexExpr& j) { storeAll(positionOf(placeAt(j)), initial); });

  Place shape;
  llvm::SmallVector<ReducedAxis, 4> axes = reducedAxes(op, &shape);
  constexpr int64_t kRows = 4;
  // `rows` neighbours along the last axis are added to each accumulator while it is in a register.
  auto addRows = [&](llvm::ArrayRef<IndexExpr> at, int64_t rows) {
    forColumns([&](const IndexExpr& j) {
      Place place = placeAt(j);
      IndexExpr position = positionOf(place);
      llvm::SmallVector<Val, 2> sums;
      for (auto [i, base] : llvm::enumerate(buffers.bases)) {
        sums.push_back(load(base, kindOf(op->getResult(i)), position, loops_.current()));
      }
      Place from = reducedPlace(op, place);
      from.merged |= shape.merged;
      for (size_t a = 0; a < axes.size(); ++a) from.dims[axes[a].dim] = at[a];
      for (int64_t r = 0; r < rows; ++r) {
        llvm::SmallVector<Val, 4> arguments(sums.begin(), sums.end());
        for (mlir::Value input : reduce.getInputs()) arguments.push_back(get(input, from));
        for (Val& value : arguments) value = splat(value, lanes_);
        llvm::SmallVector<Val, 2> next = evaluateRegion(reduce.getBody(), arguments);
        if (next.size() != sums.size()) return;
        sums = next;
        from.dims[axes.back().dim] = add(from.dims[axes.back().dim], IndexExpr(1));
      }
      storeAll(position, sums);
    });
  };
  std::function<void(llvm::SmallVector<IndexExpr, 4>)> nest =
      [&](llvm::SmallVector<IndexExpr, 4> at) {
        size_t a = at.size();
        bool isLast = a + 1 == axes.size();
        int64_t step = isLast ? std::min(kRows, std::max<int64_t>(1, axes[a].size)) : 1;
        int64_t end = axes[a].size / step * step;
        auto run = [&](int64_t from, int64_t to, int64_t by) {
          loops_.loop(from, to, by, {}, [&](const IndexExpr& i, const LoopBuilder::Values&) {
            llvm::SmallVector<IndexExpr, 4> inner = at;
            inner.push_back(i);
            if (isLast) {
              addRows(inner, by);
            } else {
              nest(inner);
            }
            return LoopBuilder::Values();
          });
        };
        run(0, end, step);
        run(end, axes[a].size, 1);
      };
  if (!axes.empty()) nest({});
}

llvm::SmallVector<Val, 2> Evaluator::reduceAt(mlir::Operation* op, const Place& given) {
  auto reduce = mlir::cast<shlo::ReduceOp>(op);
  if (auto it = columnBuffers.find(op); it != columnBuffers.end()) {
    auto resultType = mlir::cast<mlir::RankedTensorType>(op->getResult(0).getType());
    IndexExpr position = addIndex(linearize(given, resultType), scaleIndex(it->second.origin, -1));
    llvm::SmallVector<Val, 2> values;
    for (auto [i, base] : llvm::enumerate(it->second.bases)) {
      values.push_back(load(base, kindOf(op->getResult(i)), position, loops_.current()));
    }
    return values;
  }
  mlir::Operation* outerReduce = activeReduce_;
  activeReduce_ = op;
  auto restore = llvm::scope_exit([&] { activeReduce_ = outerReduce; });
  mlir::Region& body = reduce.getBody();
  llvm::SmallVector<mlir::Value, 2> inputs(reduce.getInputs());
  llvm::SmallVector<Val, 2> initial;
  for (mlir::Value value : reduce.getInitValues()) initial.push_back(get(value, Place()));

  Place base = reducedPlace(op, given);
  llvm::SmallVector<ReducedAxis, 4> axes = reducedAxes(op, &base);
  if (llvm::any_of(axes, [](const ReducedAxis& axis) { return axis.size == 0; })) return initial;

  auto inputsAt = [&](const Place& at) {
    llvm::SmallVector<Val, 2> values;
    for (mlir::Value input : inputs) values.push_back(get(input, at));
    return values;
  };
  auto combine = [&](llvm::ArrayRef<Val> a, llvm::ArrayRef<Val> b) {
    llvm::SmallVector<Val, 4> arguments(a.begin(), a.end());
    arguments.append(b.begin(), b.end());
    return evaluateRegion(body, arguments);
  };
  if (axes.empty()) return combine(initial, inputsAt(base));

  bool laneDependent = !given.isUniform();
  unsigned savedLanes = lanes_;
  Level* outside = loops_.current();

  if (laneDependent) {
    llvm::SmallVector<Val, 2> start;
    for (const Val& value : initial) start.push_back(splat(value, lanes_));
    // A few steps read columns that lie together, and compute what others need as well.
    int64_t limit = maxInterleaving(loops_.target()), steps = 1;
    for (const ReducedAxis& axis : axes) steps = std::min(steps, limit + 1) * axis.size;
    bool unrolls = lanes_ > 1 && steps <= limit;
    std::function<Values(size_t, Place, const Values&)> nest =
        [&](size_t axis, Place at, const Values& carried) -> Values {
      if (axis == axes.size()) {
        llvm::SmallVector<Val, 2> next =
            combine(unflatten(carried, start, loops_.current()), inputsAt(at));
        for (Val& value : next) value = splat(value, lanes_);
        return flatten(next);
      }
      auto step = [&](const IndexExpr& i, const Values& values) {
        Place inner = at;
        inner.dims[axes[axis].dim] = i;
        return nest(axis + 1, inner, values);
      };
      if (!unrolls) return loops_.loop(0, axes[axis].size, 1, carried, step);
      Values values = carried;
      for (int64_t i = 0; i < axes[axis].size; ++i) values = step(IndexExpr(i), values);
      return values;
    };
    Values result = nest(0, base, flatten(start));
    return unflatten(result, start, loops_.current());
  }

  // Along the last axis the lanes share the work.
  ReducedAxis last = axes.pop_back_val();
  unsigned widest = 8;
  llvm::SmallVector<ElementKind, 2> kinds;
  for (mlir::Value input : inputs) {
    kinds.push_back(kindOf(input));
    widest = std::max(widest, kinds.back().computeBits());
  }
  unsigned lanes = loops_.target().vectorBits / widest;
  while (lanes > last.size) lanes /= 2;
  if (lanes == 0) lanes = 1;
  std::optional<Val> identity;
  if (inputs.size() == 1) identity = identityOf(body, kinds[0], loops_);
  int64_t accumulators = identity ? 4 : 1;
  while (accumulators > 1 && last.size < 2 * accumulators * lanes) accumulators /= 2;
  int64_t step = accumulators * lanes;
  int64_t mainEnd = last.size / step * step;
  int64_t vectorEnd = last.size / lanes * lanes;

  auto atLast = [&](Place at, const IndexExpr& i, int64_t offset, bool isVector) {
    IndexExpr expr = add(i, IndexExpr(offset));
    if (isVector) expr.laneStride = 1;
    at.dims[last.dim] = expr;
    return at;
  };
  auto splatAll = [&](llvm::SmallVector<Val, 2> values, unsigned n) {
    for (Val& value : values) value = splat(value, n);
    return values;
  };
  using Group = llvm::SmallVector<Val, 2>;
  auto flattenGroups = [&](llvm::ArrayRef<Group> groups) {
    Values flat;
    for (const Group& group : groups) flat.append(flatten(group));
    return flat;
  };
  auto unflattenGroups = [&](const Values& flat, llvm::ArrayRef<Group> shape) {
    llvm::SmallVector<Group, 4> groups;
    size_t next = 0;
    for (const Group& group : shape) {
      size_t width = flatten(group).size();
      Values part(flat.begin() + next, flat.begin() + next + width);
      next += width;
      groups.push_back(unflatten(part, group, loops_.current()));
    }
    return groups;
  };
  // All but the last, scalar, elements of one row.
  auto vectorPart = [&](const Place& at, llvm::SmallVector<Group, 4> groups, int64_t begin) {
    lanes_ = lanes;
    Values flat = loops_.loop(
        begin, mainEnd, step, flattenGroups(groups),
        [&](const IndexExpr& i, const Values& carried) {
          llvm::SmallVector<Group, 4> current = unflattenGroups(carried, groups);
          for (int64_t u = 0; u < accumulators; ++u) {
            current[u] = splatAll(
                combine(current[u], splatAll(inputsAt(atLast(at, i, u * lanes, lanes > 1)), lanes)),
                lanes);
          }
          return flattenGroups(current);
        });
    groups = unflattenGroups(flat, groups);
    int64_t restBegin = std::max(begin, mainEnd);
    if (restBegin < vectorEnd) {
      Values rest = loops_.loop(
          restBegin, vectorEnd, lanes, flatten(groups[0]),
          [&](const IndexExpr& i, const Values& carried) {
            Group current = unflatten(carried, groups[0], loops_.current());
            return flatten(splatAll(
                combine(current, splatAll(inputsAt(atLast(at, i, 0, lanes > 1)), lanes)), lanes));
          });
      groups[0] = unflatten(rest, groups[0], loops_.current());
    }
    lanes_ = savedLanes;
    return groups;
  };
  auto fold = [&](llvm::SmallVector<Group, 4> groups) {
    for (size_t width = groups.size(); width > 1; width = (width + 1) / 2) {
      for (size_t i = 0; i + (width + 1) / 2 < width; ++i) {
        groups[i] = combine(groups[i], groups[i + (width + 1) / 2]);
      }
    }
    Group group = groups[0];
    for (unsigned width = lanes; width > 1; width /= 2) {
      llvm::SmallVector<int, 16> low, high;
      for (unsigned i = 0; i < width / 2; ++i) {
        low.push_back(i);
        high.push_back(i + width / 2);
      }
      Group a, b;
      for (Val& value : group) {
        llvm::IRBuilder<>& builder = loops_.at(loops_.deeper(value.level, loops_.current()));
        auto part = [&](llvm::Value* x, llvm::ArrayRef<int> mask) -> llvm::Value* {
          if (!x) return nullptr;
          if (mask.size() == 1) return builder.CreateExtractElement(x, mask[0]);
          return builder.CreateShuffleVector(x, mask);
        };
        Level* level = loops_.current();
        a.push_back({part(value.re, low), part(value.im, low), level});
        b.push_back({part(value.re, high), part(value.im, high), level});
      }
      group = combine(a, b);
    }
    return group;
  };
  auto tail = [&](const Place& at, Group start) {
    if (vectorEnd == last.size) return start;
    lanes_ = 1;
    Values flat = loops_.loop(vectorEnd, last.size, 1, flatten(start),
                              [&](const IndexExpr& i, const Values& carried) {
                                return flatten(combine(unflatten(carried, start, loops_.current()),
                                                       inputsAt(atLast(at, i, 0, false))));
                              });
    lanes_ = savedLanes;
    return unflatten(flat, start, loops_.current());
  };
  auto overOuter = [&](const Values& start,
                       const std::function<Values(const Place&, const Values&)>& inner) {
    std::function<Values(size_t, Place, const Values&)> nest =
        [&](size_t axis, Place at, const Values& carried) -> Values {
      if (axis == axes.size()) return inner(at, carried);
      return loops_.loop(0, axes[axis].size, 1, carried,
                         [&](const IndexExpr& i, const Values& values) {
                           Place next = at;
                           next.dims[axes[axis].dim] = i;
                           return nest(axis + 1, next, values);
                         });
    };
    return nest(0, base, start);
  };

  Group result;
  if (identity) {
    llvm::SmallVector<Group, 4> groups(accumulators, splatAll({*identity}, lanes));
    Group scalar = {*identity};
    bool hasTail = vectorEnd != last.size;
    llvm::SmallVector<Group, 4> all = groups;
    if (hasTail) all.push_back(scalar);
    Values flat =
        overOuter(flattenGroups(all), [&](const Place& at, const Values& carried) -> Values {
          llvm::SmallVector<Group, 4> current = unflattenGroups(carried, all);
          Group rest;
          if (hasTail) rest = current.pop_back_val();
          current = vectorPart(at, current, 0);
          if (hasTail) current.push_back(tail(at, rest));
          return flattenGroups(current);
        });
    all = unflattenGroups(flat, all);
    if (hasTail) {
      scalar = all.pop_back_val();
      result = combine(fold(all), scalar);
    } else {
      result = fold(all);
    }
    bool startsNeutral = initial[0].re == identity->re;
    if (auto* constant = llvm::dyn_cast<llvm::ConstantFP>(initial[0].re)) {
      // 0 + x is x but for x = -0, where it is what a sum that starts from 0 gives.
      startsNeutral =
          constant->isExactlyValue(llvm::dyn_cast<llvm::ConstantFP>(identity->re)->getValueAPF());
    }
    if (!startsNeutral) result = combine(initial, result);
  } else {
    // The reducer has no neutral value that we know: accumulators start from the first elements.
    Values flat =
        overOuter(flatten(initial), [&](const Place& at, const Values& carried) -> Values {
          lanes_ = lanes;
          Group first = splatAll(inputsAt(atLast(at, IndexExpr(0), 0, lanes > 1)), lanes);
          lanes_ = savedLanes;
          llvm::SmallVector<Group, 4> groups = {first};
          Group row = tail(at, fold(vectorPart(at, groups, lanes)));
          return flatten(combine(unflatten(carried, initial, loops_.current()), row));
        });
    result = unflatten(flat, initial, loops_.current());
  }
  for (Val& value : result) value.level = outside;
  return result;
}

}  // namespace isthmus::codegen

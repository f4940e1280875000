#include "compiler/partition/split/moved_rows.h"

#include <algorithm>
#include <map>

#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/combiner.h"
#include "compiler/dialect/types/array_shape.h"
#include "llvm/ADT/STLExtras.h"

namespace isthmus {
namespace {

using mlir::RankedTensorType;
using mlir::Value;
using Dims = llvm::SmallVector<int64_t>;

bool isLocal(const std::vector<RowMove>& round) { return round.front().from == round.front().to; }

// Whether every block's rows lie alike around it: then blocks that lie equally far send the same
// part.
bool isUniform(llvm::ArrayRef<RowSource> sources, const RowRequest& request) {
  if (sources.size() != 1 || sources[0].isWhole) return false;
  const auto shards = static_cast<int64_t>(request.starts.size());
  const int64_t rows = blockRows(sources[0].rows, shards);
  for (int64_t b = 0; b < shards; ++b) {
    if (request.starts[b] != request.starts[0] + b * rows) return false;
  }
  return true;
}

class Emitter {
 public:
  Emitter(const RowRequest& request, int64_t d, const MeshSharding& sharding,
          mlir::OpBuilder& builder, SpmdBuilder& spmd, mlir::Location location)
      : request_(request),
        d_(d),
        sharding_(sharding),
        groups_(sharding.groups(sharding.dims[d])),
        builder_(builder),
        spmd_(spmd),
        location_(location) {}

  // The parts of neighbouring blocks, one after the other.
  Value uniform(const RowSource& source, Value block, const RowRounds& rounds, Value fill) {
    struct Part {
      int64_t start, count;
      const std::vector<RowMove>* round;
    };
    std::map<int64_t, Part> parts;  // by place
    for (const std::vector<RowMove>& round : rounds) {
      const RowMove& move = round.front();
      parts[move.place] = {move.start, move.count, &round};
    }
    llvm::SmallVector<Value> values;
    int64_t end = 0;
    auto skipTo = [&](int64_t place) {
      if (place > end) values.push_back(zeros(block, place - end));
    };
    for (const auto& [place, part] : parts) {
      skipTo(place);
      Value rows = slice(block, part.start, part.count);
      values.push_back(isLocal(*part.round) ? rows : send(rows, *part.round));
      end = place + part.count;
    }
    skipTo(request_.count);
    Value all = values.front();
    if (values.size() > 1) {
      all = shlo::ConcatenateOp::create(builder_, location_, blockType(block, request_.count),
                                        values, static_cast<uint64_t>(d_));
    }
    bool isInside = request_.starts.front() >= source.offset &&
                    request_.starts.back() + request_.count <= source.offset + source.rows;
    // What nobody sends is zero, but for padding.
    const bool isPadded = source.rows % static_cast<int64_t>(request_.starts.size()) != 0;
    if (isInside || ((!fill || isZero(fill)) && !isPadded)) return all;
    Dims first, last;
    for (int64_t start : request_.starts) {
      first.push_back(std::max<int64_t>(source.offset - start, 0));
      last.push_back(std::min(source.offset + source.rows - start, request_.count));
    }
    Value outside = fill ? spread(fill, tensorTypeOf(all)) : zeros(all, request_.count);
    return select(all, outside, first, last);
  }

  // Each round's rows, put at their places.
  Value rounds(mlir::ValueRange blocks, const RowRounds& rounds, Value fill) {
    RankedTensorType type = blockType(blocks.front(), request_.count);
    Value all = fill ? spread(fill, type) : zeros(blocks.front(), request_.count);
    for (const std::vector<RowMove>& round : rounds) {
      Value block = blocks[round.front().source];
      const int64_t rows = tensorTypeOf(block).getShape()[d_];
      int64_t most = rows;
      Dims starts(request_.starts.size()), places = starts, firsts = starts, lasts = starts;
      if (!isLocal(round)) {
        most = 0;
        for (const RowMove& move : round) most = std::max(most, move.count);
        for (const RowMove& move : round) starts[move.from] = std::min(move.start, rows - most);
        block = send(dynamicSlice(block, starts, most), round);
      }
      for (const RowMove& move : round) {
        // More may have come than was asked for.
        places[move.to] = move.place - (move.start - starts[move.from]);
        firsts[move.to] = move.place;
        lasts[move.to] = move.place + move.count;
      }
      Dims low(type.getRank()), high = low, interior = low, shape(type.getShape()), from;
      low[d_] = high[d_] = request_.count;
      shape[d_] = most + 2 * request_.count;
      Value wide = shlo::PadOp::create(
          builder_, location_, RankedTensorType::get(shape, type.getElementType()), block,
          spmd_.zero(type.getElementType(), location_), low, high, interior);
      for (int64_t place : places) from.push_back(request_.count - place);
      all = select(dynamicSlice(wide, from, request_.count), all, firsts, lasts);
    }
    return all;
  }

 private:
  RankedTensorType blockType(Value block, int64_t rows) const {
    Dims shape(tensorTypeOf(block).getShape());
    shape[d_] = rows;
    return RankedTensorType::get(shape, tensorTypeOf(block).getElementType());
  }

  Value spread(Value scalar, RankedTensorType type) {
    return shlo::BroadcastInDimOp::create(builder_, location_, type, scalar,
                                          llvm::ArrayRef<int64_t>());
  }

  Value zeros(Value block, int64_t rows) {
    RankedTensorType type = blockType(block, rows);
    return spread(spmd_.zero(type.getElementType(), location_), type);
  }

  Value slice(Value block, int64_t start, int64_t count) {
    Dims starts(tensorTypeOf(block).getRank()), limits(tensorTypeOf(block).getShape());
    if (count == limits[d_]) return block;
    starts[d_] = start;
    limits[d_] = start + count;
    return shlo::SliceOp::create(builder_, location_, block, starts, limits,
                                 Dims(starts.size(), 1));
  }

  // On the device of block b, `count` rows from `starts[b]` on.
  Value dynamicSlice(Value block, llvm::ArrayRef<int64_t> starts, int64_t count) {
    if (llvm::all_equal(starts)) return slice(block, starts.front(), count);
    RankedTensorType type = blockType(block, count);
    llvm::SmallVector<Value> indices(type.getRank(), perBlock(Dims(starts.size(), 0)));
    indices[d_] = perBlock(starts);
    return shlo::DynamicSliceOp::create(builder_, location_, type, block, indices, type.getShape());
  }

  Value send(Value rows, const std::vector<RowMove>& round) {
    std::vector<std::vector<int64_t>> pairs;
    for (const std::vector<int64_t>& group : groups_) {
      for (const RowMove& move : round) pairs.push_back({group[move.from], group[move.to]});
    }
    return spmd_.permute(rows, pairs, location_);
  }

  Value perBlock(llvm::ArrayRef<int64_t> values) {
    Dims all;
    for (int64_t p = 0; p < sharding_.numPartitions; ++p) {
      all.push_back(values[sharding_.shardIndex(d_, p)]);
    }
    return spmd_.perPartition(all, location_);
  }

  // Rows [first, last) of `inside`, all others of `outside`.
  Value select(Value inside, Value outside, llvm::ArrayRef<int64_t> first,
               llvm::ArrayRef<int64_t> last) {
    RankedTensorType type = tensorTypeOf(inside);
    if (llvm::all_of(first, [](int64_t row) { return row == 0; }) &&
        llvm::all_of(last, [&](int64_t row) { return row == request_.count; })) {
      return inside;
    }
    auto counters = RankedTensorType::get(type.getShape(), builder_.getI64Type());
    Value row = shlo::IotaOp::create(builder_, location_, counters, static_cast<uint64_t>(d_));
    auto compare = [&](llvm::ArrayRef<int64_t> with, shlo::ComparisonDirection how) -> Value {
      return shlo::CompareOp::create(builder_, location_, row, spread(perBlock(with), counters),
                                     how);
    };
    Value isInside =
        shlo::AndOp::create(builder_, location_, compare(first, shlo::ComparisonDirection::GE),
                            compare(last, shlo::ComparisonDirection::LT));
    return shlo::SelectOp::create(builder_, location_, type, isInside, inside, outside);
  }

  const RowRequest& request_;
  int64_t d_;
  const MeshSharding& sharding_;
  std::vector<std::vector<int64_t>> groups_;
  mlir::OpBuilder& builder_;
  SpmdBuilder& spmd_;
  mlir::Location location_;
};

}  // namespace

RowRounds planRows(llvm::ArrayRef<RowSource> sources, const RowRequest& request) {
  const auto shards = static_cast<int64_t>(request.starts.size());
  const bool byDistance = isUniform(sources, request);
  std::map<std::pair<size_t, int64_t>, std::vector<RowMove>> moves;
  RowRounds rounds;
  for (auto [k, source] : llvm::enumerate(sources)) {
    const int64_t rows = blockRows(source.rows, shards);
    // Blocks that lie alike send alike, padding too.
    const int64_t numRows = byDistance ? rows * shards : source.rows;
    RowRounds own;
    // The local round comes first.
    std::vector<RowMove> local;
    auto place = [&](const RowMove& move) {
      auto fits = [&](const std::vector<RowMove>& round) {
        return llvm::none_of(round, [&](const RowMove& other) {
          bool isOtherDistance = byDistance && other.from - other.to != move.from - move.to;
          return isOtherDistance || other.from == move.from || other.to == move.to;
        });
      };
      auto round = llvm::find_if(own, fits);
      if (round == own.end()) round = own.insert(own.end(), {{}}), round->clear();
      round->push_back(move);
    };
    for (int64_t to = 0; to < shards; ++to) {
      const int64_t begin = std::max<int64_t>(request.starts[to] - source.offset, 0);
      const int64_t end = std::min(request.starts[to] + request.count - source.offset, numRows);
      if (source.isWhole) {
        const int64_t place = begin + source.offset - request.starts[to];
        if (begin < end) local.push_back({k, to, to, begin, place, end - begin});
        continue;
      }
      for (int64_t row = begin; row < end;) {
        const int64_t from = row / rows, next = std::min((from + 1) * rows, end);
        RowMove move{
            k, from, to, row - from * rows, row + source.offset - request.starts[to], next - row};
        if (from == to) {
          local.push_back(move);
        } else {
          place(move);
        }
        row = next;
      }
    }
    if (!local.empty()) rounds.push_back(std::move(local));
    llvm::append_range(rounds, own);
  }
  return rounds;
}

int64_t rowsSent(const RowRounds& rounds) {
  int64_t sent = 0;
  for (const std::vector<RowMove>& round : rounds) {
    if (isLocal(round)) continue;
    int64_t most = 0;
    for (const RowMove& move : round) most = std::max(most, move.count);
    sent += most;
  }
  return sent;
}

Value moveRows(llvm::ArrayRef<RowSource> sources, const RowRequest& request,
               mlir::ValueRange blocks, Value fill, int64_t d, const MeshSharding& sharding,
               mlir::OpBuilder& builder, SpmdBuilder& spmd, mlir::Location location) {
  RowRounds rounds = planRows(sources, request);
  Emitter emitter(request, d, sharding, builder, spmd, location);
  return isUniform(sources, request) ? emitter.uniform(sources[0], blocks[0], rounds, fill)
                                     : emitter.rounds(blocks, rounds, fill);
}

Value placeRows(const RowSource& source, const RowRequest& request, Value block, int64_t d,
                const MeshSharding& sharding, mlir::OpBuilder& builder, SpmdBuilder& spmd,
                mlir::Location location) {
  // Each device that has some of the rows receives from itself alone.
  RowRounds rounds = {{}};
  const int64_t rows = blockRows(source.rows, static_cast<int64_t>(request.starts.size()));
  for (auto [b, start] : llvm::enumerate(request.starts)) {
    const auto block = static_cast<int64_t>(b);
    const int64_t begin = std::max(start - source.offset, block * rows);
    const int64_t end =
        std::min({start + request.count - source.offset, (block + 1) * rows, source.rows});
    if (begin >= end) continue;
    rounds[0].push_back(
        {0, block, block, begin - block * rows, begin + source.offset - start, end - begin});
  }
  return Emitter(request, d, sharding, builder, spmd, location).rounds(block, rounds, nullptr);
}

}  // namespace isthmus

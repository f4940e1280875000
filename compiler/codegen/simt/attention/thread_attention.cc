// 256 threads share a tile of rows. Queries stay in the group's memory; keys, weights and values of
// a block come one after the other. A thread has scores that lie apart by 16, and elements of the
// result in vectors that do.
#include "compiler/codegen/simt/attention/attention_forms.h"
#include "compiler/codegen/simt/attention/group_lines.h"
#include "compiler/codegen/target/group_threads.h"
#include "compiler/schedule/attention/group_attention.h"
#include "llvm/Support/MathExtras.h"

namespace isthmus::codegen {
namespace {

constexpr auto kVector = static_cast<unsigned>(kAttentionVector);

int64_t whole(int64_t size, int64_t unit) {
  return static_cast<int64_t>(llvm::alignTo(size, static_cast<uint64_t>(unit)));
}

class ThreadAttention {
 public:
  explicit ThreadAttention(OnlineRows& rows)
      : rows_(rows),
        loops_(rows.loops),
        numRows_(static_cast<size_t>(rows.stage.rows / kAttentionSide)),
        numKeys_(static_cast<size_t>(rows.stage.keys / kAttentionSide)),
        sumsWidth_(whole(rows.shape.numSums(), kAttentionVector)),
        featuresWidth_(whole(rows.shape.numFeatures(), kAttentionSide)),
        ofThread_(static_cast<unsigned>(featuresWidth_ / kAttentionSide)),
        queries_(loops_, "queries", rows.stage.rows, sumsWidth_ + kAttentionVector),
        weights_(loops_, "weights", rows.stage.rows, rows.stage.keys + kAttentionVector),
        // Of keys and of values, which are never there together.
        block_(loops_, "block", rows.stage.keys,
               std::max(sumsWidth_, featuresWidth_) + kAttentionVector) {
    vector_ = ofThread_ % kVector == 0 ? kVector : ofThread_ % 2 == 0 ? 2 : 1;
    if (!loops_.target().shufflesInSubgroup) {
      partial_.emplace(loops_, "partial", rows.stage.rows, kAttentionSide);
    }
  }

  void emit() {
    const Symbol* thread = loops_.makeSymbol(threadInGroup(loops_), loops_.entry(),
                                             {0, kAttentionSide * kAttentionSide - 1});
    rows_.evaluator.divideIndex(IndexExpr::of(thread), kAttentionSide, &row_, &column_);
    llvm::SmallVector<IndexExpr, 8> ofThread;
    for (size_t r = 0; r < numRows_; ++r) ofThread.push_back(rowOf(r));
    rows_.setRows(ofThread);
    // What the tile before left may still be read.
    groupBarrier(loops_);
    copyLines(rows_, {rows_.query(), &AttentionDim::query, rows_.shape.rows, rows_.shape.sums},
              rows_.number(rows_.firstRow), rows_.stage.rows, sumsWidth_, queries_);
    Carried last = unpack(loops_.loop(0, rows_.blocks(), 1, pack(start()),
                                      [&](const IndexExpr& block, const Registers& carried) {
                                        return pack(addBlock(block, unpack(carried)));
                                      }));
    store(last);
  }

 private:
  struct Carried {
    OnlineRows::State state;
    Registers results;  // row by row
  };

  llvm::IRBuilder<>& b() { return loops_.here(); }
  IndexExpr rowOf(size_t r) const {
    return add(row_, IndexExpr(static_cast<int64_t>(r) * kAttentionSide));
  }
  llvm::Value* slotOf(GroupLines& lines, const IndexExpr& line, const IndexExpr& element) {
    return lines.slot(rows_.number(line), rows_.number(element));
  }

  Carried start() { return {rows_.initial(), Registers(numRows_ * ofThread_, rows_.f32(0))}; }
  Registers pack(const Carried& carried) {
    Registers all = carried.state.maxima;
    all.append(carried.state.sums);
    all.append(carried.results);
    return all;
  }
  Carried unpack(const Registers& all) const {
    auto from = all.begin();
    auto take = [&](size_t count) {
      Registers part(from, from + static_cast<std::ptrdiff_t>(count));
      from += static_cast<std::ptrdiff_t>(count);
      return part;
    };
    Carried carried;
    carried.state.maxima = take(numRows_);
    carried.state.sums = take(numRows_);
    carried.results = take(numRows_ * ofThread_);
    return carried;
  }

  Carried addBlock(const IndexExpr& block, const Carried& before) {
    const IndexExpr firstKey = scale(block, rows_.stage.keys);
    const AttentionDims keys{rows_.shape.keys};
    groupBarrier(loops_);
    copyLines(rows_, {rows_.key(), &AttentionDim::key, keys, rows_.shape.sums},
              rows_.number(firstKey), rows_.stage.keys, sumsWidth_, block_);
    groupBarrier(loops_);
    Registers scores = multiplyKeys();
    llvm::SmallVector<IndexExpr, 4> columns;
    for (size_t k = 0; k < numKeys_; ++k) columns.push_back(add(firstKey, keyOf(k)));
    OnlineRows::Weights weights =
        rows_.weightsOf(scores, columns, before.state,
                        [&](const Registers& own, const OnlineRows::Combine& combine) {
                          return acrossRow(own, combine);
                        });
    for (size_t r = 0; r < numRows_; ++r) {
      for (size_t k = 0; k < numKeys_; ++k) {
        weights_.store(slotOf(weights_, rowOf(r), keyOf(k)), {weights.elements[r * numKeys_ + k]});
      }
    }
    groupBarrier(loops_);
    copyLines(rows_, {rows_.values(), &AttentionDim::value, keys, rows_.shape.features},
              rows_.number(firstKey), rows_.stage.keys, featuresWidth_, block_);
    groupBarrier(loops_);
    Carried after{weights.state, before.results};
    for (auto [i, result] : llvm::enumerate(after.results)) {
      result = b().CreateFMul(result, weights.scales[i / ofThread_]);
    }
    after.results = multiplyValues(after.results);
    return after;
  }

  IndexExpr keyOf(size_t k) const {
    return add(column_, IndexExpr(static_cast<int64_t>(k) * kAttentionSide));
  }

  llvm::Value* multiplyAdd(llvm::Value* x, llvm::Value* y, llvm::Value* sum) {
    return b().CreateIntrinsic(llvm::Intrinsic::fma, {sum->getType()}, {x, y, sum});
  }

  // All of a thread's scores, row by row.
  Registers multiplyKeys() {
    Registers zeros(numRows_ * numKeys_, rows_.f32(0));
    return loops_.loop(
        0, sumsWidth_, kVector, zeros, [&](const IndexExpr& at, const Registers& carried) {
          llvm::SmallVector<Registers, 4> queries, keys;
          for (size_t r = 0; r < numRows_; ++r) {
            queries.push_back(queries_.load(slotOf(queries_, rowOf(r), at), kVector));
          }
          for (size_t k = 0; k < numKeys_; ++k) {
            keys.push_back(block_.load(slotOf(block_, keyOf(k), at), kVector));
          }
          Registers next = carried;
          for (unsigned e = 0; e < kVector; ++e) {
            for (size_t i = 0; i < next.size(); ++i) {
              next[i] = multiplyAdd(queries[i / numKeys_][e], keys[i % numKeys_][e], next[i]);
            }
          }
          return next;
        });
  }

  // Of the thread's elements of a row, those from number `i` on that are a vector.
  IndexExpr featureOf(unsigned i) const {
    return add(scale(column_, vector_), IndexExpr(int64_t{i} * kAttentionSide));
  }

  Registers multiplyValues(const Registers& results) {
    return loops_.loop(
        0, rows_.stage.keys, kVector, results, [&](const IndexExpr& at, const Registers& carried) {
          llvm::SmallVector<Registers, 4> weights;
          for (size_t r = 0; r < numRows_; ++r) {
            weights.push_back(weights_.load(slotOf(weights_, rowOf(r), at), kVector));
          }
          Registers next = carried;
          for (unsigned e = 0; e < kVector; ++e) {
            const IndexExpr key = add(at, IndexExpr(e));
            for (unsigned f = 0; f < ofThread_; f += vector_) {
              Registers values = block_.load(slotOf(block_, key, featureOf(f)), vector_);
              for (size_t r = 0; r < numRows_; ++r) {
                for (unsigned i = 0; i < vector_; ++i) {
                  llvm::Value*& sum = next[r * ofThread_ + f + i];
                  sum = multiplyAdd(weights[r][e], values[i], sum);
                }
              }
            }
          }
          return next;
        });
  }

  Registers acrossRow(Registers own, const OnlineRows::Combine& combine) {
    if (!partial_) {
      for (llvm::Value*& value : own) {
        for (auto distance = static_cast<unsigned>(kAttentionSide / 2); distance > 0;
             distance /= 2) {
          value = combine(value, subgroupShuffle(loops_, value, distance));
        }
      }
      return own;
    }
    // Other barriers stand between two calls: what one leaves is read before the next overwrites.
    for (auto [r, value] : llvm::enumerate(own)) {
      partial_->store(slotOf(*partial_, rowOf(r), column_), {value});
    }
    groupBarrier(loops_);
    for (auto [r, value] : llvm::enumerate(own)) {
      Registers all = partial_->load(slotOf(*partial_, rowOf(r), IndexExpr(0)), 1);
      for (int64_t c = 1; c < kAttentionSide; ++c) {
        all[0] = combine(all[0], partial_->load(slotOf(*partial_, rowOf(r), IndexExpr(c)), 1)[0]);
      }
      value = all[0];
    }
    return own;
  }

  void store(const Carried& last) {
    Registers scales = rows_.finalScales(
        last.state, [&](const Registers& own, const OnlineRows::Combine& combine) {
          return acrossRow(own, combine);
        });
    for (size_t r = 0; r < numRows_; ++r) {
      for (unsigned f = 0; f < ofThread_; ++f) {
        llvm::Value* scaled = b().CreateFMul(last.results[r * ofThread_ + f], scales[r]);
        llvm::Value* feature =
            rows_.number(add(featureOf(f / vector_ * vector_), IndexExpr(f % vector_)));
        rows_.store(r, feature, {scaled},
                    rows_.isBelow(feature, rows_.shape.numFeatures(), featuresWidth_ - 1));
      }
    }
  }

  OnlineRows& rows_;
  LoopBuilder& loops_;
  size_t numRows_, numKeys_;  // of a thread
  int64_t sumsWidth_, featuresWidth_;
  unsigned ofThread_;  // elements of a row of the result, in vectors of `vector_`
  unsigned vector_ = 1;
  GroupLines queries_, weights_, block_;
  std::optional<GroupLines> partial_;
  IndexExpr row_, column_;
};

}  // namespace

void emitThreadAttention(OnlineRows& rows) { ThreadAttention(rows).emit(); }

}  // namespace isthmus::codegen

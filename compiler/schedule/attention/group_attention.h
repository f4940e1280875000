// Attention by the groups of a GPU: each has some rows of queries, goes over blocks of keys and
// values in its memory, and keeps a running maximum and sum of each row (online_softmax.h).
#pragma once

#include <cstdint>

#include "compiler/schedule/attention/attention_shape.h"
#include "compiler/schedule/schedule.h"
#include "compiler/target/target_model.h"

namespace isthmus {

// Threads lie side by side in a square of so many along each side, and those of a row are
// neighbours; everything in the group's memory is of f32.
inline constexpr int64_t kAttentionSide = 16;
// Sums that a thread reads at once; between the rows of an array there are as many unused elements,
// so that neighbours down a column lie in different banks.
inline constexpr int64_t kAttentionVector = 4;

// How a stage of kind kAttention is cut: `chunk` rows of one batch item are a tile, `blockRows`
// keys a block. Fills in all but the kind and the results of `stage`.
void scheduleGroupAttention(ir::FusionOp fusion, const TargetModel& target, AttentionStage* stage);

// Why no group of the device computes it; null if one does. A part of a sentence.
const char* groupAttentionRefusal(Attention attention, const TargetModel& target);
// The same of an attention that is cut as `stage` says.
const char* tileRefusal(ir::FusionOp fusion, const AttentionStage& stage,
                        const TargetModel& target);

}  // namespace isthmus

// The part of a collective that goes between processes, done by one device for all of its process.
//
// Everybody sends straight to everybody who needs it: with P processes a reduction takes two steps,
// each of which moves (P-1)/P of the data, where a ring takes 2(P-1) steps for the same amount. The
// order of reductions is that of the ranks or of the processes, never that of arrival, so all
// processes compute the same bits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "isthmus/run_services.h"
#include "isthmus/status.h"
#include "runtime/bootstrap/job.h"

namespace isthmus {

// What a device brings to a collective.
struct CollectivePart {
  const char* operation = nullptr;
  size_t bytes = 0;  // of one block, equal for all
  const void* input = nullptr;
  void* output = nullptr;
};

// One rendezvous of a group that spans processes, when all its devices of this process are there.
class WireCollective {
 public:
  // `parts` is by rank, and empty for devices of other processes. `tag` is the same for all that
  // take part, and for no other collective.
  WireCollective(Job& job, const CollectiveCall& call, std::span<const CollectivePart> parts,
                 uint64_t tag);

  // Rank r's block lands at r * bytes in the output of the first rank of this process.
  Status allGather(size_t bytes);
  // Block j of rank i lands at i * bytes in j's output, for i or j of another process.
  Status allToAll(size_t bytes);
  // Rank j's output becomes the input of rank sources[j], if that is of another process.
  Status permute(std::span<const int64_t> sources, size_t bytes);

  // Small reductions gather all inputs and reduce them by rank, as a single process does.
  static bool isSmallReduction(size_t bytes, size_t ranks);
  // The reduction of all inputs lands in the output of the first rank of this process. `partial` is
  // the reduction of this process's inputs, not needed for a small one.
  Status allReduce(ReductionKind kind, ElementType type, int64_t elements, const void* partial);
  // The reduction of block r lands in r's output. `partial` has all blocks.
  Status reduceScatter(ReductionKind kind, ElementType type, int64_t elements, const void* partial);

 private:
  bool isLocal(size_t rank) const { return parts_[rank].operation != nullptr; }
  void send(size_t process, uint64_t what, const void* data, size_t bytes);
  void receive(size_t process, uint64_t what, void* data, size_t bytes);
  // Carries out what was said since the last time.
  Status exchange();

  Status gatherAndReduce(ReductionKind kind, ElementType type, int64_t elements);
  Status exchangeAndReduce(ReductionKind kind, ElementType type, int64_t elements);

  Job& job_;
  const CollectiveCall& call_;
  std::span<const CollectivePart> parts_;
  const uint64_t tag_;
  std::vector<int> processes_;         // of the group, in the order of their first ranks
  std::vector<size_t> processOfRank_;  // indices into it
  size_t own_ = 0;                     // this process's index in it
  size_t first_ = 0;                   // its first rank
  std::vector<OutgoingMessage> outgoing_;
  std::vector<IncomingMessage> incoming_;
};

}  // namespace isthmus

// What a kernel whose tiles are shared by a group of threads asks of its device.
//
// The kernel calls functions that the module only declares; the backend that makes device code of
// the module gives them their meaning:
//
//   i64  isthmus_thread_in_group()   the number of the calling thread in its group, from 0
//   void isthmus_group_barrier()     waits for the group's threads, and makes their stores to the
//                                    group's memory seen by all of them
//   i32  isthmus_subgroup_shuffle(i32 value, i32 distance)
//                                    the value of the thread whose number differs by the one bit
//                                    `distance`, of a device whose threads read each other's
//                                    registers (TargetModel::shufflesInSubgroup)
//
// Memory of the group is global variables in the address space kGroupMemorySpace.
#pragma once

#include <cstdint>

#include "compiler/codegen/loop/level.h"

namespace isthmus::codegen {

inline constexpr char kThreadInGroupSymbol[] = "isthmus_thread_in_group";
inline constexpr char kGroupBarrierSymbol[] = "isthmus_group_barrier";
inline constexpr char kSubgroupShuffleSymbol[] = "isthmus_subgroup_shuffle";
inline constexpr unsigned kGroupMemorySpace = 3;

// An i64, computed once at the kernel's entry.
llvm::Value* threadInGroup(LoopBuilder& loops);

// At the current level. All threads of the group must come here.
void groupBarrier(LoopBuilder& loops);

// At the current level: `value`, a number of 1 to 64 bits, of the thread whose number differs by
// the bit `distance`, which is less than the target's sub-groups have threads. All threads come
// here.
llvm::Value* subgroupShuffle(LoopBuilder& loops, llvm::Value* value, unsigned distance);

// An array of `count` elements that the threads of a group share, aligned to so many bytes.
llvm::GlobalVariable* makeGroupMemory(llvm::Module& module, llvm::Type* element, int64_t count,
                                      const llvm::Twine& name, uint64_t alignment = 16);

// The same, whose elements are loaded and stored where a kernel of tiles is.
class GroupMemory {
 public:
  GroupMemory(LoopBuilder& loops, llvm::Type* element, uint64_t count);

  llvm::Value* load(llvm::Value* index) const;
  void store(llvm::Value* index, llvm::Value* value) const;
  // Where element 0 is.
  llvm::Value* base() const { return memory_; }

 private:
  llvm::Value* address(llvm::Value* index) const;

  LoopBuilder& loops_;
  llvm::Type* value_;    // in a register
  llvm::Type* element_;  // in memory
  llvm::GlobalVariable* memory_;
};

}  // namespace isthmus::codegen

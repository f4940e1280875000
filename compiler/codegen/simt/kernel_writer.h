// A kernel of a device under construction: parameters, work-item numbers, loops and elements.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>

#include "compiler/codegen/loop/level.h"
#include "compiler/codegen/simt/work_item_kernel.h"
#include "compiler/target/element_kind.h"
#include "llvm/IR/IRBuilder.h"

namespace isthmus::codegen {

class KernelWriter {
 public:
  // Adds a kernel with `buffers` parameters in global memory to `module`. Work-items beyond `items`
  // do nothing. If `groupThreads` is not 1, items are groups of so many threads, in one dimension,
  // and launches have no more of them.
  // `form` outlives the writer.
  KernelWriter(llvm::Module& module, const WorkItemForm& form, const std::string& name,
               unsigned buffers, const Items& items, unsigned groupThreads = 1);

  llvm::IRBuilder<>& b() { return builder_; }
  llvm::Function& function() { return *function_; }
  llvm::Value* i64(int64_t value) { return builder_.getInt64(static_cast<uint64_t>(value)); }
  llvm::Value* buffer(unsigned index) { return function_->getArg(index); }
  // The number of the work-item along a dimension, an i64.
  llvm::Value* item(unsigned dimension) { return items_[dimension]; }

  using Values = llvm::SmallVector<llvm::Value*, 16>;
  using Elements = llvm::SmallVector<Val, 16>;
  // for (i = 0; i < count; ++i): `body` gets i and the carried values, and returns their next ones.
  Values loop(int64_t count, const Values& initial,
              const std::function<Values(llvm::Value*, const Values&)>& body);
  // The same for elements, all of which are complex or none.
  Elements loop(int64_t count, const Elements& initial,
                const std::function<Elements(llvm::Value*, const Elements&)>& body);
  void branch(llvm::Value* condition, const std::function<void()>& then);

  // i / size and i % size; none of it where that is known.
  std::pair<llvm::Value*, llvm::Value*> divide(llvm::Value* index, int64_t size);
  llvm::Value* times(llvm::Value* index, int64_t factor);
  llvm::Value* plus(llvm::Value* a, llvm::Value* b);

  // Element number `index` of an array of `kind`, or so many from there on as a vector (not of
  // complex numbers).
  // `isAligned`: the vector begins at a multiple of its size.
  Val load(llvm::Value* base, llvm::Value* index, const ElementKind& kind, unsigned lanes = 1,
           bool isAligned = false);
  void store(llvm::Value* base, llvm::Value* index, const ElementKind& kind, const Val& value);
  // What a part of an element, or a vector of them, is whose bits in memory are `stored`.
  llvm::Value* fromStorage(llvm::Value* stored, const ElementKind& kind);
  Val convert(const Val& value, const ElementKind& from, const ElementKind& to);
  Val zero(const ElementKind& kind);
  // In the arithmetic of `kind`, which is not complex; of bools, a or b.
  Val add(const Val& a, const Val& b, const ElementKind& kind);
  // sum + x * y in the arithmetic of `kind`; of bools, sum or (x and y).
  Val multiplyAdd(const Val& x, const Val& y, const Val& sum, const ElementKind& kind);
  Val select(llvm::Value* condition, const Val& a, const Val& b);
  // The sum of a vector's elements, by halves, in the arithmetic of `kind`.
  llvm::Value* sumOfLanes(llvm::Value* vector, const ElementKind& kind);

  void finish();

 private:
  llvm::BasicBlock* newBlock(const char* name);
  std::array<llvm::Value*, 3> groupIndices(const WorkItemForm& form, const Items& items);
  llvm::Value* address(llvm::Value* base, llvm::Value* index, llvm::Type* type, unsigned parts);

  const TargetModel& target_;
  llvm::IRBuilder<> builder_;
  llvm::Function* function_;
  llvm::BasicBlock* exit_;
  std::array<llvm::Value*, 3> items_{};
};

}  // namespace isthmus::codegen

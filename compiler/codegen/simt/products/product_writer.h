// A kernel of a product under construction: its arrays by their roles, and what becomes of sums.
#pragma once

#include <functional>
#include <string>

#include "compiler/codegen/simt/kernel_writer.h"
#include "compiler/codegen/simt/op_kernels.h"
#include "compiler/schedule/products/product_shape.h"
#include "compiler/schedule/schedule.h"

namespace isthmus::codegen {

// What an emitter of products is given.
struct ProductTask {
  ProductKinds kinds;
  DotStage stage;
  // Parameters of the kernels: lhs, rhs, and the result if there is no epilogue. Scratch memory, if
  // there is any, is behind all of them.
  unsigned lhs = 0, rhs = 1, result = 2, parameters = 3;
  // What is done with sums: a function of (an array of the parameters' addresses, the row twice,
  // the column, as many sums along the columns as `epilogueLanes`), for rows of all batches. Null:
  // they are converted and stored.
  llvm::Function* epilogue = nullptr;
  unsigned epilogueLanes = 1;

  const ProductSchedule& product() const { return stage.product; }
};

class ProductWriter : public KernelWriter {
 public:
  // As KernelWriter; the task outlives this object.
  ProductWriter(llvm::Module& module, const WorkItemForm& form, const std::string& name,
                const ProductTask& task, const Items& items, unsigned groupThreads,
                bool hasScratch);

  llvm::Value* lhs() { return parameter(task_.lhs); }
  llvm::Value* rhs() { return parameter(task_.rhs); }
  bool hasEpilogue() const { return task_.epilogue != nullptr; }
  llvm::Value* scratch() { return parameter(task_.parameters); }

  // An element of the result, or as many neighbours along the columns as a sum has lanes.
  struct Site {
    llvm::Value* row;  // of all batches
    llvm::Value* column;
    llvm::Value* place;               // in the result; computed only where there is no epilogue
    llvm::Value* isInside = nullptr;  // null: it is
  };
  // Disposes of sums: number i is at siteOf(i), whose numbers follow from an i64 that may be known.
  void storeSums(const Elements& sums, const std::function<Site(llvm::Value* number)>& siteOf);
  void storeSum(const Site& site, const Val& sum);

  // Numbers that are asked for by a number in a loop: in memory of the thread.
  llvm::Value* keep(llvm::ArrayRef<llvm::Value*> numbers);
  llvm::Value* kept(llvm::Value* memory, llvm::Value* number);

  // As KernelWriter's; puts the epilogue in place of its calls. kInternal if that fails.
  Status finish();

 private:
  llvm::Value* parameter(unsigned number) { return KernelWriter::buffer(number); }
  llvm::Value* table();

  const ProductTask& task_;
  llvm::Value* table_ = nullptr;
};

// For kernels that are written otherwise: the array of addresses of a kernel's parameters, made in
// its entry block; and the end of such a kernel, as above.
llvm::Value* makeParameterTable(llvm::Function& kernel, unsigned parameters);
Status inlineEpilogue(llvm::Function& kernel, llvm::Function* epilogue);
// Emits `place`, which calls the epilogue, for each sum and its number (an i64): one after the
// other, or if that were much code, in a loop over sums in memory of the thread.
void forEachSum(llvm::IRBuilder<>& b, const llvm::Function& epilogue,
                llvm::ArrayRef<llvm::Value*> sums,
                llvm::function_ref<void(llvm::Value* sum, llvm::Value* number)> place);

}  // namespace isthmus::codegen

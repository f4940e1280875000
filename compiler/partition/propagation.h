// How the values of a program for many devices had best be split.
#pragma once

#include "compiler/dialect/dialect.h"
#include "compiler/partition/mesh_sharding.h"
#include "llvm/ADT/DenseMap.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace isthmus {

// What is said of some values (parameters, results, constraints, manual computations), carried
// along operations that have a split rule, from operands to results and back, and around loops.
// A value's first sharding stays. These are wishes: any of them may be refused.
class Propagation {
 public:
  // Errors: shardings that do not fit the program's meshes.
  static StatusOr<Propagation> run(mlir::func::FuncOp main, mlir::ModuleOp module,
                                   int64_t numPartitions);

  // Replicated where nothing is wished; always settled.
  MeshSharding of(mlir::Value value) const;

  // Whether every user of `value` works on blocks of it, if it is split so.
  bool usersKeep(mlir::Value value, const MeshSharding& sharding) const;

 private:
  Propagation(mlir::ModuleOp module, int64_t numPartitions)
      : module_(module), numPartitions_(numPartitions) {}

  Status seed(mlir::func::FuncOp main);
  Status seedValue(mlir::Value value, sdy::TensorShardingAttr sharding,
                   const std::vector<std::string>* onlyAxes = nullptr);
  Status seedBlock(mlir::Block& block);
  Status seedBoundary(mlir::Value value, mlir::DictionaryAttr attributes);
  void say(mlir::Value value, const MeshSharding& sharding);
  void assign(mlir::Value value, const MeshSharding& sharding);
  void unite(llvm::ArrayRef<mlir::Value> values);
  void transfer(mlir::Operation& op);
  void visit(mlir::Operation& op, bool isForward);
  void visitBlock(mlir::Block& block, bool isForward);
  void visitLoop(shlo::WhileOp op, bool isForward);
  void visitBranches(mlir::Operation& op, bool isForward);

  mlir::ModuleOp module_;
  int64_t numPartitions_;
  llvm::DenseMap<mlir::Value, MeshSharding> shardings_;
  llvm::DenseSet<mlir::Value> said_;  // which are not refined
  bool hasChanged_ = false;
};

}  // namespace isthmus

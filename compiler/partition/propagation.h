// How the values of a program for many devices had best be split.
#pragma once

#include <map>
#include <optional>

#include "compiler/dialect/dialect.h"
#include "compiler/partition/sharding/mesh_sharding.h"
#include "llvm/ADT/DenseMap.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace isthmus {

// What is said of some values (parameters, results, constraints, manual computations), carried
// along operations that have a split rule, from operands to results and back, and around loops.
// A value's first sharding stays. These are preferences: any of them may be refused.
class Propagation {
 public:
  // Errors: shardings that do not fit the program's meshes.
  static StatusOr<Propagation> run(mlir::func::FuncOp main, mlir::ModuleOp module,
                                   int64_t numPartitions);

  // Replicated where nothing is preferred; never with partial sums.
  MeshSharding of(mlir::Value value) const;

  // Whether every user of `value` works on blocks of it, if it is split so. If it is what a loop
  // only reads, `rounds` says how often, if known.
  bool usersKeep(mlir::Value value, const MeshSharding& sharding,
                 std::optional<int64_t> rounds = std::nullopt) const;

 private:
  Propagation(mlir::ModuleOp module, int64_t numPartitions)
      : module_(module), numPartitions_(numPartitions) {}

  Status seed(mlir::func::FuncOp main);
  Status seedValue(mlir::Value value, sdy::TensorShardingAttr sharding,
                   const std::vector<std::string>* onlyAxes = nullptr);
  Status seedBlock(mlir::Block& block);
  Status seedManual(sdy::ManualComputationOp op);
  Status seedBoundary(mlir::Value value, mlir::DictionaryAttr attributes);
  void say(mlir::Value value, const MeshSharding& sharding);
  void assign(mlir::Value value, const MeshSharding& sharding);
  void refine(mlir::Value value, const MeshSharding& before, const MeshSharding& finer);
  void unite(llvm::ArrayRef<mlir::Value> values);
  void transfer(mlir::Operation& op);
  void visit(mlir::Operation& op, bool isForward);
  void visitBlock(mlir::Block& block, bool isForward);
  void visitManual(sdy::ManualComputationOp op, bool isForward);
  void visitLoop(shlo::WhileOp op, bool isForward);
  void visitBranches(mlir::Operation& op, bool isForward);

  // Of a manual computation: its axes, and how it cuts operands and results along them.
  struct ManualShardings {
    std::vector<AxisPart> axes;
    std::vector<MeshSharding> operands, results;
  };

  mlir::ModuleOp module_;
  int64_t numPartitions_;
  llvm::DenseMap<mlir::Value, MeshSharding> shardings_;
  llvm::DenseMap<mlir::Operation*, ManualShardings> manualShardings_;
  llvm::DenseSet<mlir::Value> said_;  // which are not refined
  // By the ids of sharding groups: what is to be split alike.
  std::map<uint64_t, llvm::SmallVector<mlir::Value>> groups_;
  bool hasChanged_ = false;
  int pass_ = 0;
};

}  // namespace isthmus

// GSPMD's shardings: the text of mhlo.sharding attributes, and the custom calls that carry them.
#pragma once

#include <optional>

#include "compiler/dialect/dialect.h"
#include "compiler/partition/sharding/mesh_sharding.h"
#include "isthmus/status.h"

namespace isthmus {

inline constexpr llvm::StringLiteral kGspmdSharding = "mhlo.sharding";

// The custom calls of programs that were made for GSPMD: a constraint, and the two boundaries of
// code that is written for one device.
inline constexpr llvm::StringLiteral kGspmdConstraint = "Sharding";
inline constexpr llvm::StringLiteral kGspmdToBlocks = "SPMDFullToShardShape";
inline constexpr llvm::StringLiteral kGspmdToWhole = "SPMDShardToFullShape";

// What `text` asks of an array of rank `rank`. Nothing if it leaves the array alone, as "{manual}",
// "{maximal device=0}" and "{unknown}" do, or if there is but one device. Errors: text that is no
// sharding, or one of another rank or of another number of devices.
StatusOr<std::optional<MeshSharding>> readGspmdSharding(llvm::StringRef text, int64_t rank,
                                                        int64_t numPartitions);

// What the mhlo.sharding attribute of a constraint or a boundary asks of `call`'s result.
StatusOr<std::optional<MeshSharding>> gspmdShardingOf(shlo::CustomCallOp call,
                                                      int64_t numPartitions);

// The sharding of a parameter or result by its attributes, Shardy's or GSPMD's, if there is one.
StatusOr<std::optional<MeshSharding>> interfaceSharding(mlir::DictionaryAttr attributes,
                                                        mlir::Value value, int64_t numPartitions,
                                                        mlir::ModuleOp module);

// The boundary or constraint that `op` is, with one operand and one result; null if it is none.
shlo::CustomCallOp gspmdCall(mlir::Operation* op, llvm::StringRef target);

// INVALID_ARGUMENT if a constraint in `module`, or an inspection, gives another type than its
// operand's, or a boundary another rank or element type: what is said of one is said of the other.
Status checkGspmdCalls(mlir::ModuleOp module);

}  // namespace isthmus

// The schedules of operations that move data, or transform it, by kernels of a device.
#pragma once

#include <string>

#include "compiler/dialect/dialect.h"
#include "compiler/schedule/schedule.h"
#include "compiler/target/target_model.h"

namespace isthmus {

// Whether sorts and Fourier transforms have kernels. Where work-items are vectors of a CPU its host
// sorts by digits and transforms in whole vectors, faster than these kernels do there, copies
// included.
inline bool hasSortsAndTransforms(DeviceKind device) { return device == DeviceKind::kGpu; }

// Whether `op` is a sort, a chlo.top_k or an fft that the target has kernels for, if it has any for
// its types and sizes.
bool isDataOp(mlir::Operation* op, const TargetModel& target);

// The stages of an operation that isDataOp; none if there is nothing to compute. kUnimplemented of
// types and sizes without a kernel. `reason`, if not null: why it is not done otherwise.
StatusOr<KernelSchedule> chooseDataSchedule(mlir::Operation* op, const TargetModel& target,
                                            std::string* reason = nullptr);
// What the operation carries, verified, or else what is chosen. kInvalidArgument says what is
// wrong.
StatusOr<KernelSchedule> dataScheduleOf(mlir::Operation* op, const TargetModel& target);

}  // namespace isthmus

// What the compiler is told of devices whose kernels are made of work-items: the same for those
// that a driver describes and those that a DeviceCompiler does.
#pragma once

#include <string>

#include "compiler/pipeline/pipeline.h"
#include "compiler/target/target_model.h"
#include "isthmus/device_optional.h"

namespace isthmus {

// A device of many threads, of an element each, that takes what LLVM writes for `triple`. Groups
// whose memory or threads are too few for any kernel are taken for none.
TargetModel groupTarget(std::string triple, const DeviceGroups& groups);

// Whose instructions kernels may use, of what LLVM compiles for `triple`.
Intrinsics intrinsicsOf(const std::string& triple);

// How the stages are to treat programs for the target, whether it has vectors, groups or neither.
void configureStages(const TargetModel& target, PipelineOptions& options);

}  // namespace isthmus

// The protobuf messages that describe a compilation: read into the runtime's structures, written
// for callers. Field numbers are in proto/compile_options.proto.
#pragma once

#include <string>
#include <string_view>

#include "isthmus/backend.h"
#include "isthmus/status.h"

namespace isthmus::pjrt {

// Reads a CompileOptionsProto. kInvalidArgument if it is malformed or if the device assignment is
// not one of num_replicas × num_partitions devices. Counts that are absent are 1.
StatusOr<CompileOptions> parseCompileOptions(std::string_view serialized);

// Reads a DeviceAssignmentProto.
StatusOr<DeviceAssignment> parseDeviceAssignment(std::string_view serialized);

// A DeviceAssignmentProto; empty for an empty assignment (a portable executable).
std::string serializeDeviceAssignment(const DeviceAssignment& assignment);

// An xla.ShapeProto with the layout of `type`.
std::string serializeShape(const ArrayType& type);

}  // namespace isthmus::pjrt

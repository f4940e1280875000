// The messages of compilation, compared with what protobuf makes of the same schema.
#include "pjrt/compile/compile_options.h"

#include <gtest/gtest.h>

#include "compile_options.pb.h"

namespace isthmus::pjrt {
namespace {

proto::DeviceAssignmentProto makeAssignment() {
  // 2 replicas × 3 partitions; device = 10 * partition + replica.
  proto::DeviceAssignmentProto message;
  message.set_replica_count(2);
  message.set_computation_count(3);
  for (int partition = 0; partition < 3; ++partition) {
    auto* computation = message.add_computation_devices();
    computation->add_replica_device_ids(10 * partition);
    computation->add_replica_device_ids(10 * partition + 1);
  }
  return message;
}

TEST(CompileOptions, ReadsEveryField) {
  proto::CompileOptionsProto message;
  message.add_argument_layouts();  // a scalar
  proto::ShapeProto& shape = *message.add_argument_layouts();
  shape.set_element_type(11);
  shape.add_dimensions(300);
  shape.add_dimensions(0);
  message.set_parameter_is_tupled_arguments(true);
  message.set_compile_portable_executable(true);
  auto& overrides = *message.mutable_env_option_overrides();
  overrides["xla_text"].set_string_field("value");
  overrides["xla_yes"].set_bool_field(true);
  overrides["xla_minus"].set_int_field(-5);
  overrides["xla_half"].set_double_field(0.5);
  auto& build = *message.mutable_executable_build_options();
  build.set_device_ordinal(-1);
  build.set_num_replicas(2);
  build.set_num_partitions(3);
  build.set_use_spmd_partitioning(true);
  build.set_use_shardy_partitioner(true);
  *build.mutable_device_assignment() = makeAssignment();
  for (bool value : {true, false, true}) {
    build.add_allow_spmd_sharding_propagation_to_output(value);
  }
  build.add_allow_spmd_sharding_propagation_to_parameters(true);

  std::string serialized = message.SerializeAsString();
  StatusOr<CompileOptions> options = parseCompileOptions(serialized);
  ASSERT_TRUE(options.ok()) << options.status().message();
  EXPECT_EQ(options->argumentShapes, (std::vector<std::vector<int64_t>>{{}, {300, 0}}));
  EXPECT_TRUE(options->parameterIsTupled);
  EXPECT_TRUE(options->compilePortableExecutable);
  EXPECT_EQ(options->overrides, (AttributeMap{{"xla_text", std::string("value")},
                                              {"xla_yes", true},
                                              {"xla_minus", int64_t{-5}},
                                              {"xla_half", 0.5f}}));
  EXPECT_EQ(options->deviceOrdinal, -1);
  EXPECT_EQ(options->numReplicas, 2);
  EXPECT_EQ(options->numPartitions, 3);
  EXPECT_TRUE(options->useSpmdPartitioning);
  EXPECT_TRUE(options->useShardyPartitioner);
  EXPECT_EQ(options->allowSpmdShardingPropagationToOutput, (std::vector{true, false, true}));
  EXPECT_EQ(options->allowSpmdShardingPropagationToParameters, (std::vector{true}));
  EXPECT_EQ(options->serialized, serialized);
  ASSERT_TRUE(options->deviceAssignment.has_value());
  EXPECT_EQ(options->deviceAssignment->deviceIds, (std::vector{0, 10, 20, 1, 11, 21}));
}

TEST(CompileOptions, AbsentCountsAreOne) {
  StatusOr<CompileOptions> options = parseCompileOptions("");
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->numReplicas, 1);
  EXPECT_EQ(options->numPartitions, 1);
  EXPECT_EQ(options->deviceOrdinal, -1);
  EXPECT_FALSE(options->deviceAssignment.has_value());
}

TEST(CompileOptions, SkipsFieldsOfNewerVersions) {
  std::string serialized;
  proto::CompileOptionsProto message;
  message.mutable_executable_build_options()->set_num_replicas(4);
  message.SerializeToString(&serialized);
  serialized += std::string("\xf8\x3f\x01", 3);          // field 1023, a varint
  serialized += std::string("\xa2\x06\x03", 3) + "abc";  // field 100, bytes
  StatusOr<CompileOptions> options = parseCompileOptions(serialized);
  ASSERT_TRUE(options.ok()) << options.status().message();
  EXPECT_EQ(options->numReplicas, 4);
}

TEST(CompileOptions, RefusesEveryTruncation) {
  proto::CompileOptionsProto message;
  message.mutable_executable_build_options()->set_num_replicas(2);
  message.mutable_executable_build_options()->set_num_partitions(3);
  *message.mutable_executable_build_options()->mutable_device_assignment() = makeAssignment();
  std::string serialized = message.SerializeAsString();
  ASSERT_TRUE(parseCompileOptions(serialized).ok());
  for (size_t size = 1; size < serialized.size(); ++size) {
    EXPECT_FALSE(parseCompileOptions(serialized.substr(0, size)).ok()) << size;
  }
}

TEST(CompileOptions, ChecksTheOptionsThatCallersName) {
  auto parse = [](const char* name, const char* text) {
    proto::CompileOptionsProto message;
    (*message.mutable_env_option_overrides())[name].set_string_field(text);
    return parseCompileOptions(message.SerializeAsString());
  };
  EXPECT_EQ(parse("invalid_key", "x").status().message(), "No such compile option: 'invalid_key'");
  EXPECT_EQ(parse("xla_embed_ir_in_executable", "maybe").status().message(),
            "While setting option xla_embed_ir_in_executable, 'maybe' is not a valid bool value.");
  EXPECT_EQ(parse("xla_backend_optimization_level", "2x").status().code(),
            StatusCode::kInvalidArgument);
  StatusOr<CompileOptions> options = parse("optimization_level", "2");
  ASSERT_TRUE(options.ok()) << options.status().message();
  EXPECT_EQ(options->overrides.at("optimization_level"), AttributeValue(int64_t{2}));
  options = parse("isthmus_optimization", "0");
  ASSERT_TRUE(options.ok()) << options.status().message();
  EXPECT_EQ(options->overrides.at("isthmus_optimization"), AttributeValue(int64_t{0}));
  EXPECT_TRUE(parse("xla_of_a_later_version", "anything").ok());
}

TEST(CompileOptions, RefusesAbsurdCounts) {
  for (int64_t count : {int64_t{-1}, int64_t{1} << 40, int64_t{1} << 31}) {
    proto::CompileOptionsProto message;
    message.mutable_executable_build_options()->set_num_replicas(count);
    EXPECT_FALSE(parseCompileOptions(message.SerializeAsString()).ok()) << count;
  }
}

TEST(CompileOptions, RefusesMoreDevicesThanThereAreMachines) {
  proto::CompileOptionsProto message;
  auto& options = *message.mutable_executable_build_options();
  options.set_num_replicas(1 << 12);
  options.set_num_partitions(1 << 8);
  EXPECT_TRUE(parseCompileOptions(message.SerializeAsString()).ok());
  // Each count is fine, their product is not.
  options.set_num_partitions(1 << 12);
  EXPECT_EQ(parseCompileOptions(message.SerializeAsString()).status().code(),
            StatusCode::kInvalidArgument);
}

TEST(CompileOptions, RefusesAnAssignmentOfAnotherSize) {
  proto::CompileOptionsProto message;
  message.mutable_executable_build_options()->set_num_replicas(2);
  *message.mutable_executable_build_options()->mutable_device_assignment() = makeAssignment();
  EXPECT_EQ(parseCompileOptions(message.SerializeAsString()).status().code(),
            StatusCode::kInvalidArgument);
}

TEST(DeviceAssignmentProto, RefusesMissingDevices) {
  proto::DeviceAssignmentProto message = makeAssignment();
  message.mutable_computation_devices(1)->mutable_replica_device_ids()->RemoveLast();
  EXPECT_FALSE(parseDeviceAssignment(message.SerializeAsString()).ok());
  message = makeAssignment();
  message.set_computation_count(4);
  EXPECT_FALSE(parseDeviceAssignment(message.SerializeAsString()).ok());
}

TEST(DeviceAssignmentProto, IsWrittenAsProtobufWritesIt) {
  DeviceAssignment assignment{2, 3, {0, 10, 20, 1, 11, 21}};
  EXPECT_EQ(serializeDeviceAssignment(assignment), makeAssignment().SerializeAsString());
  EXPECT_EQ(serializeDeviceAssignment({1, 1, {}}), "");
}

TEST(ShapeProto, IsWrittenAsProtobufWritesIt) {
  proto::ShapeProto shape;
  shape.set_element_type(16);  // PrimitiveType BF16
  for (int64_t dim : {2, 300, 0}) shape.add_dimensions(dim);
  for (int64_t dim : {2, 1, 0}) shape.mutable_layout()->add_minor_to_major(dim);
  for (int i = 0; i < 3; ++i) shape.add_is_dynamic_dimension(false);
  EXPECT_EQ(serializeShape({ElementType::kBF16, {2, 300, 0}}), shape.SerializeAsString());
}

}  // namespace
}  // namespace isthmus::pjrt

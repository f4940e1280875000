// The parts of XLA's HLO protos that a program's meaning needs, as plain data.
//
// Read from the wire format directly: the messages are few, and a protobuf library inside the
// plugin would be one more thing to clash with the process that loads it. Fields that are not here
// are skipped.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace isthmus::hlo {

struct Layout {
  std::vector<int64_t> minor_to_major;
};

struct Shape {
  int32_t element_type = 0;
  std::vector<int64_t> dimensions;
  std::vector<Shape> tuple_shapes;
  Layout layout;
  std::vector<uint8_t> is_dynamic_dimension;
};

struct ProgramShape {
  std::vector<Shape> parameters;
  Shape result;
};

struct Metadata {
  std::string op_type;
  std::string op_name;
  std::string source_file;
  int32_t source_line = 0;
};

// The elements of an array in the order of its shape's layout. Types of a byte or less, and floats,
// are their bytes in memory.
struct Literal {
  Shape shape;
  std::vector<uint8_t> preds;
  std::string u8s;
  std::vector<int32_t> s32s;
  std::vector<int64_t> s64s;
  std::vector<uint32_t> u32s;
  std::vector<uint64_t> u64s;
  std::string f32s;
  std::string f64s;
  std::vector<Literal> tuple_literals;
  std::string f16s;
  std::string c64s;
  std::string bf16s;
  std::string s8s;
  std::string u16s;
  std::string s16s;
  std::string c128s;
  std::string f8e5m2s;
  std::string f8e4m3fns;
  std::string s4s;
  std::string u4s;
  std::string f8e4m3b11fnuzs;
  std::string f8e5m2fnuzs;
  std::string f8e4m3fnuzs;
  std::string s2s;
  std::string u2s;
  std::string f8e4m3s;
  std::string f8e3m4s;
  std::string f4e2m1fns;
  std::string f8e8m0fnus;
};

struct WindowDimension {
  int64_t size = 0;
  int64_t stride = 0;
  int64_t padding_low = 0;
  int64_t padding_high = 0;
  int64_t window_dilation = 0;
  int64_t base_dilation = 0;
  bool window_reversal = false;
};

struct Window {
  std::vector<WindowDimension> dimensions;
};

struct GatherDimensionNumbers {
  std::vector<int64_t> offset_dims;
  std::vector<int64_t> collapsed_slice_dims;
  std::vector<int64_t> start_index_map;
  int64_t index_vector_dim = 0;
  std::vector<int64_t> operand_batching_dims;
  std::vector<int64_t> start_indices_batching_dims;
};

struct ScatterDimensionNumbers {
  std::vector<int64_t> update_window_dims;
  std::vector<int64_t> inserted_window_dims;
  std::vector<int64_t> scatter_dims_to_operand_dims;
  int64_t index_vector_dim = 0;
  std::vector<int64_t> input_batching_dims;
  std::vector<int64_t> scatter_indices_batching_dims;
};

struct ConvolutionDimensionNumbers {
  int64_t kernel_input_feature_dimension = 0;
  int64_t kernel_output_feature_dimension = 0;
  std::vector<int64_t> kernel_spatial_dimensions;
  int64_t input_batch_dimension = 0;
  int64_t input_feature_dimension = 0;
  int64_t output_batch_dimension = 0;
  int64_t output_feature_dimension = 0;
  std::vector<int64_t> input_spatial_dimensions;
  std::vector<int64_t> output_spatial_dimensions;
};

struct DotDimensionNumbers {
  std::vector<int64_t> lhs_contracting_dimensions;
  std::vector<int64_t> rhs_contracting_dimensions;
  std::vector<int64_t> lhs_batch_dimensions;
  std::vector<int64_t> rhs_batch_dimensions;
};

struct PaddingConfig {
  struct Dimension {
    int64_t edge_padding_low = 0;
    int64_t edge_padding_high = 0;
    int64_t interior_padding = 0;
  };

  std::vector<Dimension> dimensions;
};

struct TriangularSolveOptions {
  bool left_side = false;
  bool lower = false;
  bool unit_diagonal = false;
  int32_t transpose_a = 0;
};

struct CholeskyOptions {
  bool lower = false;
};

struct PrecisionConfig {
  std::vector<int32_t> operand_precision;
};

struct FrontendAttributes {
  struct Entry {
    std::string key;
    std::string value;
  };

  std::vector<Entry> map;
};

// OpSharding.
struct Sharding {
  int32_t type = -1;  // not there
  std::vector<int64_t> tile_assignment_dimensions;
  std::vector<int64_t> tile_assignment_devices;
  std::vector<Sharding> tuple_shardings;
  bool replicate_on_last_tile_dim = false;
  std::vector<int32_t> last_tile_dims;
  std::vector<int64_t> iota_reshape_dims;
  std::vector<int32_t> iota_transpose_perm;
};

struct ReplicaGroup {
  std::vector<int64_t> replica_ids;
};

struct IotaReplicaGroupList {
  int64_t num_replica_groups = 0;
  int64_t num_devices_per_group = 0;
  std::vector<int64_t> iota_reshape_dims;
  std::vector<int32_t> iota_transpose_perm;
};

struct CollectiveDeviceList {
  std::vector<ReplicaGroup> replica_groups;
  IotaReplicaGroupList iota_replica_group_list;
};

struct SourceTarget {
  int64_t source = 0;
  int64_t target = 0;
};

struct SliceDimensions {
  int64_t start = 0;
  int64_t limit = 0;
  int64_t stride = 0;
};

struct OutputOperandAliasing {
  std::vector<int64_t> output_shape_index;
  int64_t operand_index = 0;
  std::vector<int64_t> operand_shape_index;
};

// Ids are unique in their computation. Newer versions of XLA write the computation's id into the
// upper half of them, of instructions, roots and operands, though not of all operands: only the
// lower half is kept.
struct Instruction {
  std::string name;
  std::string opcode;
  Shape shape;
  Metadata metadata;
  Literal literal;
  int64_t parameter_number = 0;
  int64_t tuple_index = 0;
  std::vector<int64_t> dimensions;
  Window window;
  ConvolutionDimensionNumbers convolution_dimension_numbers;
  std::vector<SliceDimensions> slice_dimensions;
  int32_t exponent_bits = 0;
  int32_t mantissa_bits = 0;
  std::vector<int64_t> dynamic_slice_sizes;
  PaddingConfig padding_config;
  int32_t distribution = 0;
  float epsilon = 0;
  int64_t feature_index = 0;
  int64_t channel_id = 0;
  std::string custom_call_target;
  DotDimensionNumbers dot_dimension_numbers;
  int32_t fft_type = 0;
  std::vector<int64_t> fft_length;
  GatherDimensionNumbers gather_dimension_numbers;
  std::vector<int64_t> gather_slice_sizes;
  int64_t id = 0;
  std::vector<int64_t> operand_ids;
  std::vector<int64_t> called_computation_ids;
  Sharding sharding;
  std::string backend_config;
  ScatterDimensionNumbers scatter_dimension_numbers;
  std::vector<ReplicaGroup> replica_groups;
  int64_t feature_group_count = 0;
  PrecisionConfig precision_config;
  std::vector<SourceTarget> source_target_pairs;
  int64_t batch_group_count = 0;
  TriangularSolveOptions triangular_solve_options;
  bool is_stable = false;
  CholeskyOptions cholesky_options;
  std::string comparison_direction;
  bool custom_call_has_side_effect = false;
  bool indices_are_sorted = false;
  FrontendAttributes frontend_attributes;
  bool unique_indices = false;
  int32_t rng_algorithm = 0;
  bool use_global_device_ids = false;
  std::string comparison_type;
  std::vector<OutputOperandAliasing> output_operand_aliasing;
  int32_t custom_call_api_version = 0;
  int64_t k = 0;
  bool largest = false;
  CollectiveDeviceList collective_device_list;
};

struct Computation {
  std::string name;
  std::vector<Instruction> instructions;
  ProgramShape program_shape;
  int64_t id = 0;
  int64_t root_id = 0;
};

struct InputOutputAlias {
  struct Entry {
    std::vector<int64_t> output_shape_index;
    int64_t parameter_number = 0;
    std::vector<int64_t> parameter_shape_index;
    int32_t kind = 0;
  };

  std::vector<Entry> entries;
};

struct BufferDonor {
  struct Entry {
    int64_t parameter_number = 0;
    std::vector<int64_t> parameter_shape_index;
  };

  std::vector<Entry> entries;
};

// HloModuleProto.
struct Module {
  std::string name;
  std::vector<Computation> computations;
  int64_t entry_computation_id = 0;
  InputOutputAlias input_output_alias;
  BufferDonor buffer_donor;
};

// HloModuleProtoWithConfig, of which only the module matters.
struct ModuleWithConfig {
  Module hlo_module;
};

// False if the bytes are not such a message, or nest too deeply. Memory stays within a fixed
// multiple of the bytes.
bool parse(std::string_view bytes, Module& module);
bool parse(std::string_view bytes, ModuleWithConfig& module);
bool parse(std::string_view bytes, Sharding& sharding);

}  // namespace isthmus::hlo

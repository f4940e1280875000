// Reads the messages of HLO programs from the wire format: of each message, its fields by number.
#include "compiler/import/hlo/messages.h"

#include <concepts>

#include "compiler/import/hlo/wire_reader.h"

namespace isthmus::hlo {
namespace {

bool read(WireReader in, Layout& to);
bool read(WireReader in, Shape& to);
bool read(WireReader in, ProgramShape& to);
bool read(WireReader in, Metadata& to);
bool read(WireReader in, Literal& to);
bool read(WireReader in, WindowDimension& to);
bool read(WireReader in, Window& to);
bool read(WireReader in, GatherDimensionNumbers& to);
bool read(WireReader in, ScatterDimensionNumbers& to);
bool read(WireReader in, ConvolutionDimensionNumbers& to);
bool read(WireReader in, DotDimensionNumbers& to);
bool read(WireReader in, PaddingConfig::Dimension& to);
bool read(WireReader in, PaddingConfig& to);
bool read(WireReader in, TriangularSolveOptions& to);
bool read(WireReader in, CholeskyOptions& to);
bool read(WireReader in, PrecisionConfig& to);
bool read(WireReader in, FrontendAttributes::Entry& to);
bool read(WireReader in, FrontendAttributes& to);
bool read(WireReader in, Sharding& to);
bool read(WireReader in, ReplicaGroup& to);
bool read(WireReader in, IotaReplicaGroupList& to);
bool read(WireReader in, CollectiveDeviceList& to);
bool read(WireReader in, SourceTarget& to);
bool read(WireReader in, SliceDimensions& to);
bool read(WireReader in, OutputOperandAliasing& to);
bool read(WireReader in, Instruction& to);
bool read(WireReader in, Computation& to);
bool read(WireReader in, InputOutputAlias::Entry& to);
bool read(WireReader in, InputOutputAlias& to);
bool read(WireReader in, BufferDonor::Entry& to);
bool read(WireReader in, BufferDonor& to);
bool read(WireReader in, Module& to);
bool read(WireReader in, ModuleWithConfig& to);

// The field of a number, and where its value goes.
template <uint32_t fieldNumber, typename T>
struct Field {
  static constexpr uint32_t number = fieldNumber;
  T& to;
};

// Floating-point numbers of `Element`'s size, as bytes.
template <uint32_t fieldNumber, typename Element>
struct Packed {
  static constexpr uint32_t number = fieldNumber;
  std::string& to;
};

template <uint32_t number, typename T>
Field<number, T> field(T& to) {
  return {to};
}

template <uint32_t number, typename Element>
Packed<number, Element> packed(std::string& to) {
  return {to};
}

bool value(WireReader& in, std::integral auto& to) { return in.integer(to); }
bool value(WireReader& in, float& to) { return in.number(to); }
bool value(WireReader& in, std::string& to) { return in.bytes(to); }
bool value(WireReader& in, std::vector<uint8_t>& to) { return in.booleans(to); }
template <typename T>
bool value(WireReader& in, T& message) {
  return in.message() && read(in.nested(), message);
}
template <std::integral T>
bool value(WireReader& in, std::vector<T>& to) {
  return in.integers(to);
}
template <typename T>
bool value(WireReader& in, std::vector<T>& messages) {
  return in.message() && read(in.nested(), in.append(messages));
}

template <uint32_t number, typename T>
void readField(WireReader& in, Field<number, T> field) {
  in.check(value(in, field.to));
}
template <uint32_t number, typename Element>
void readField(WireReader& in, Packed<number, Element> field) {
  in.check(in.packed(field.to, sizeof(Element)));
}

// Reads those of the message's fields that are asked for.
template <typename... Fields>
bool readFields(WireReader& in, Fields... fields) {
  while (in.next()) (void)((in.field() == Fields::number && (readField(in, fields), true)) || ...);
  return in.ok();
}

bool read(WireReader in, Layout& to) { return readFields(in, field<1>(to.minor_to_major)); }

bool read(WireReader in, Shape& to) {
  return readFields(in, field<2>(to.element_type), field<3>(to.dimensions),
                    field<4>(to.tuple_shapes), field<5>(to.layout),
                    field<6>(to.is_dynamic_dimension));
}

bool read(WireReader in, ProgramShape& to) {
  return readFields(in, field<1>(to.parameters), field<2>(to.result));
}

bool read(WireReader in, Metadata& to) {
  return readFields(in, field<1>(to.op_type), field<2>(to.op_name), field<3>(to.source_file),
                    field<4>(to.source_line));
}

bool read(WireReader in, Literal& to) {
  return readFields(in, field<1>(to.shape), field<2>(to.preds), field<3>(to.u8s), field<4>(to.s32s),
                    field<5>(to.s64s), field<6>(to.u32s), field<7>(to.u64s),
                    packed<8, float>(to.f32s), packed<9, double>(to.f64s),
                    field<10>(to.tuple_literals), field<11>(to.f16s), packed<12, float>(to.c64s),
                    field<13>(to.bf16s), field<15>(to.s8s), field<16>(to.u16s), field<17>(to.s16s),
                    packed<18, double>(to.c128s), field<19>(to.f8e5m2s), field<20>(to.f8e4m3fns),
                    field<21>(to.s4s), field<22>(to.u4s), field<23>(to.f8e4m3b11fnuzs),
                    field<24>(to.f8e5m2fnuzs), field<25>(to.f8e4m3fnuzs), field<26>(to.s2s),
                    field<27>(to.u2s), field<28>(to.f8e4m3s), field<29>(to.f8e3m4s),
                    field<32>(to.f4e2m1fns), field<33>(to.f8e8m0fnus));
}

bool read(WireReader in, WindowDimension& to) {
  return readFields(in, field<1>(to.size), field<2>(to.stride), field<3>(to.padding_low),
                    field<4>(to.padding_high), field<5>(to.window_dilation),
                    field<6>(to.base_dilation), field<7>(to.window_reversal));
}

bool read(WireReader in, Window& to) { return readFields(in, field<1>(to.dimensions)); }

bool read(WireReader in, GatherDimensionNumbers& to) {
  return readFields(in, field<1>(to.offset_dims), field<2>(to.collapsed_slice_dims),
                    field<3>(to.start_index_map), field<4>(to.index_vector_dim),
                    field<5>(to.operand_batching_dims), field<6>(to.start_indices_batching_dims));
}

bool read(WireReader in, ScatterDimensionNumbers& to) {
  return readFields(in, field<1>(to.update_window_dims), field<2>(to.inserted_window_dims),
                    field<3>(to.scatter_dims_to_operand_dims), field<4>(to.index_vector_dim),
                    field<5>(to.input_batching_dims), field<6>(to.scatter_indices_batching_dims));
}

bool read(WireReader in, ConvolutionDimensionNumbers& to) {
  return readFields(in, field<3>(to.kernel_input_feature_dimension),
                    field<4>(to.kernel_output_feature_dimension),
                    field<6>(to.kernel_spatial_dimensions), field<7>(to.input_batch_dimension),
                    field<8>(to.input_feature_dimension), field<9>(to.output_batch_dimension),
                    field<10>(to.output_feature_dimension), field<11>(to.input_spatial_dimensions),
                    field<12>(to.output_spatial_dimensions));
}

bool read(WireReader in, DotDimensionNumbers& to) {
  return readFields(in, field<1>(to.lhs_contracting_dimensions),
                    field<2>(to.rhs_contracting_dimensions), field<3>(to.lhs_batch_dimensions),
                    field<4>(to.rhs_batch_dimensions));
}

bool read(WireReader in, PaddingConfig::Dimension& to) {
  return readFields(in, field<1>(to.edge_padding_low), field<2>(to.edge_padding_high),
                    field<3>(to.interior_padding));
}

bool read(WireReader in, PaddingConfig& to) { return readFields(in, field<1>(to.dimensions)); }

bool read(WireReader in, TriangularSolveOptions& to) {
  return readFields(in, field<1>(to.left_side), field<2>(to.lower), field<3>(to.unit_diagonal),
                    field<4>(to.transpose_a));
}

bool read(WireReader in, CholeskyOptions& to) { return readFields(in, field<1>(to.lower)); }

bool read(WireReader in, PrecisionConfig& to) {
  return readFields(in, field<1>(to.operand_precision));
}

bool read(WireReader in, FrontendAttributes::Entry& to) {
  return readFields(in, field<1>(to.key), field<2>(to.value));
}

bool read(WireReader in, FrontendAttributes& to) { return readFields(in, field<1>(to.map)); }

bool read(WireReader in, Sharding& to) {
  to.type = 0;  // the default, which is not written
  return readFields(in, field<1>(to.type), field<3>(to.tile_assignment_dimensions),
                    field<4>(to.tile_assignment_devices), field<5>(to.tuple_shardings),
                    field<6>(to.replicate_on_last_tile_dim), field<8>(to.last_tile_dims),
                    field<9>(to.iota_reshape_dims), field<10>(to.iota_transpose_perm));
}

bool read(WireReader in, ReplicaGroup& to) { return readFields(in, field<1>(to.replica_ids)); }

bool read(WireReader in, IotaReplicaGroupList& to) {
  return readFields(in, field<1>(to.num_replica_groups), field<2>(to.num_devices_per_group),
                    field<3>(to.iota_reshape_dims), field<4>(to.iota_transpose_perm));
}

bool read(WireReader in, CollectiveDeviceList& to) {
  return readFields(in, field<1>(to.replica_groups), field<2>(to.iota_replica_group_list));
}

bool read(WireReader in, SourceTarget& to) {
  return readFields(in, field<1>(to.source), field<2>(to.target));
}

bool read(WireReader in, SliceDimensions& to) {
  return readFields(in, field<1>(to.start), field<2>(to.limit), field<3>(to.stride));
}

bool read(WireReader in, OutputOperandAliasing& to) {
  return readFields(in, field<1>(to.output_shape_index), field<2>(to.operand_index),
                    field<3>(to.operand_shape_index));
}

constexpr int64_t kLocalId = 0xffff'ffff;

bool read(WireReader in, Instruction& to) {
  const bool ok = readFields(
      in, field<1>(to.name), field<2>(to.opcode), field<3>(to.shape), field<7>(to.metadata),
      field<8>(to.literal), field<9>(to.parameter_number), field<13>(to.tuple_index),
      field<14>(to.dimensions), field<15>(to.window), field<16>(to.convolution_dimension_numbers),
      field<17>(to.slice_dimensions), field<18>(to.exponent_bits), field<19>(to.mantissa_bits),
      field<20>(to.dynamic_slice_sizes), field<21>(to.padding_config), field<23>(to.distribution),
      field<24>(to.epsilon), field<25>(to.feature_index), field<26>(to.channel_id),
      field<28>(to.custom_call_target), field<30>(to.dot_dimension_numbers), field<31>(to.fft_type),
      field<32>(to.fft_length), field<33>(to.gather_dimension_numbers),
      field<34>(to.gather_slice_sizes), field<35>(to.id), field<36>(to.operand_ids),
      field<38>(to.called_computation_ids), field<40>(to.sharding), field<43>(to.backend_config),
      field<48>(to.scatter_dimension_numbers), field<49>(to.replica_groups),
      field<50>(to.feature_group_count), field<51>(to.precision_config),
      field<52>(to.source_target_pairs), field<58>(to.batch_group_count),
      field<59>(to.triangular_solve_options), field<60>(to.is_stable),
      field<62>(to.cholesky_options), field<63>(to.comparison_direction),
      field<65>(to.custom_call_has_side_effect), field<67>(to.indices_are_sorted),
      field<68>(to.frontend_attributes), field<69>(to.unique_indices), field<70>(to.rng_algorithm),
      field<71>(to.use_global_device_ids), field<72>(to.comparison_type),
      field<74>(to.output_operand_aliasing), field<77>(to.custom_call_api_version), field<81>(to.k),
      field<85>(to.largest), field<87>(to.collective_device_list));
  to.id &= kLocalId;
  for (int64_t& id : to.operand_ids) id &= kLocalId;
  return ok;
}

bool read(WireReader in, Computation& to) {
  const bool ok = readFields(in, field<1>(to.name), field<2>(to.instructions),
                             field<4>(to.program_shape), field<5>(to.id), field<6>(to.root_id));
  to.root_id &= kLocalId;
  return ok;
}

bool read(WireReader in, InputOutputAlias::Entry& to) {
  return readFields(in, field<1>(to.output_shape_index), field<2>(to.parameter_number),
                    field<3>(to.parameter_shape_index), field<4>(to.kind));
}

bool read(WireReader in, InputOutputAlias& to) { return readFields(in, field<1>(to.entries)); }

bool read(WireReader in, BufferDonor::Entry& to) {
  return readFields(in, field<1>(to.parameter_number), field<2>(to.parameter_shape_index));
}

bool read(WireReader in, BufferDonor& to) { return readFields(in, field<1>(to.entries)); }

bool read(WireReader in, Module& to) {
  return readFields(in, field<1>(to.name), field<3>(to.computations),
                    field<6>(to.entry_computation_id), field<8>(to.input_output_alias),
                    field<18>(to.buffer_donor));
}

bool read(WireReader in, ModuleWithConfig& to) { return readFields(in, field<1>(to.hlo_module)); }

}  // namespace

bool parse(std::string_view bytes, Sharding& sharding) { return read(WireReader(bytes), sharding); }

bool parse(std::string_view bytes, Module& module) { return read(WireReader(bytes), module); }

bool parse(std::string_view bytes, ModuleWithConfig& module) {
  return read(WireReader(bytes), module);
}

}  // namespace isthmus::hlo

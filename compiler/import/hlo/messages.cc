// Reads the messages of HLO programs from the wire format. Each case is a field's number.
#include "compiler/import/hlo/messages.h"

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

bool read(WireReader in, Layout& to) {
  while (in.next()) {
    switch (in.field()) {
      case 1:
        in.check(in.integers(to.minor_to_major));
        break;
      default:
        break;
    }
  }
  return in.ok();
}

bool read(WireReader in, Shape& to) {
  while (in.next()) {
    switch (in.field()) {
      case 2:
        in.check(in.integer(to.element_type));
        break;
      case 3:
        in.check(in.integers(to.dimensions));
        break;
      case 4:
        in.check(in.message() && read(in.nested(), in.append(to.tuple_shapes)));
        break;
      case 5:
        in.check(in.message() && read(in.nested(), to.layout));
        break;
      case 6:
        in.check(in.integers(to.is_dynamic_dimension));
        break;
      default:
        break;
    }
  }
  return in.ok();
}

bool read(WireReader in, ProgramShape& to) {
  while (in.next()) {
    switch (in.field()) {
      case 1:
        in.check(in.message() && read(in.nested(), in.append(to.parameters)));
        break;
      case 2:
        in.check(in.message() && read(in.nested(), to.result));
        break;
      default:
        break;
    }
  }
  return in.ok();
}

bool read(WireReader in, Metadata& to) {
  while (in.next()) {
    switch (in.field()) {
      case 1:
        in.check(in.bytes(to.op_type));
        break;
      case 2:
        in.check(in.bytes(to.op_name));
        break;
      case 3:
        in.check(in.bytes(to.source_file));
        break;
      case 4:
        in.check(in.integer(to.source_line));
        break;
      default:
        break;
    }
  }
  return in.ok();
}

bool read(WireReader in, Literal& to) {
  while (in.next()) {
    switch (in.field()) {
      case 1:
        in.check(in.message() && read(in.nested(), to.shape));
        break;
      case 2:
        in.check(in.booleans(to.preds));
        break;
      case 3:
        in.check(in.bytes(to.u8s));
        break;
      case 4:
        in.check(in.integers(to.s32s));
        break;
      case 5:
        in.check(in.integers(to.s64s));
        break;
      case 6:
        in.check(in.integers(to.u32s));
        break;
      case 7:
        in.check(in.integers(to.u64s));
        break;
      case 8:
        in.check(in.packed(to.f32s, sizeof(float)));
        break;
      case 9:
        in.check(in.packed(to.f64s, sizeof(double)));
        break;
      case 10:
        in.check(in.message() && read(in.nested(), in.append(to.tuple_literals)));
        break;
      case 11:
        in.check(in.bytes(to.f16s));
        break;
      case 12:
        in.check(in.packed(to.c64s, sizeof(float)));
        break;
      case 13:
        in.check(in.bytes(to.bf16s));
        break;
      case 15:
        in.check(in.bytes(to.s8s));
        break;
      case 16:
        in.check(in.bytes(to.u16s));
        break;
      case 17:
        in.check(in.bytes(to.s16s));
        break;
      case 18:
        in.check(in.packed(to.c128s, sizeof(double)));
        break;
      case 19:
        in.check(in.bytes(to.f8e5m2s));
        break;
      case 20:
        in.check(in.bytes(to.f8e4m3fns));
        break;
      case 21:
        in.check(in.bytes(to.s4s));
        break;
      case 22:
        in.check(in.bytes(to.u4s));
        break;
      case 23:
        in.check(in.bytes(to.f8e4m3b11fnuzs));
        break;
      case 24:
        in.check(in.bytes(to.f8e5m2fnuzs));
        break;
      case 25:
        in.check(in.bytes(to.f8e4m3fnuzs));
        break;
      case 26:
        in.check(in.bytes(to.s2s));
        break;
      case 27:
        in.check(in.bytes(to.u2s));
        break;
      case 28:
        in.check(in.bytes(to.f8e4m3s));
        break;
      case 29:
        in.check(in.bytes(to.f8e3m4s));
        break;
      case 32:
        in.check(in.bytes(to.f4e2m1fns));
        break;
      case 33:
        in.check(in.bytes(to.f8e8m0fnus));
        break;
      default:
        break;
    }
  }
  return in.ok();
}

bool read(WireReader in, WindowDimension& to) {
  while (in.next()) {
    switch (in.field()) {
      case 1:
        in.check(in.integer(to.size));
        break;
      case 2:
        in.check(in.integer(to.stride));
        break;
      case 3:
        in.check(in.integer(to.padding_low));
        break;
      case 4:
        in.check(in.integer(to.padding_high));
        break;
      case 5:
        in.check(in.integer(to.window_dilation));
        break;
      case 6:
        in.check(in.integer(to.base_dilation));
        break;
      case 7:
        in.check(in.integer(to.window_reversal));
        break;
      default:
        break;
    }
  }
  return in.ok();
}

bool read(WireReader in, Window& to) {
  while (in.next()) {
    switch (in.field()) {
      case 1:
        in.check(in.message() && read(in.nested(), in.append(to.dimensions)));
        break;
      default:
        break;
    }
  }
  return in.ok();
}

bool read(WireReader in, GatherDimensionNumbers& to) {
  while (in.next()) {
    switch (in.field()) {
      case 1:
        in.check(in.integers(to.offset_dims));
        break;
      case 2:
        in.check(in.integers(to.collapsed_slice_dims));
        break;
      case 3:
        in.check(in.integers(to.start_index_map));
        break;
      case 4:
        in.check(in.integer(to.index_vector_dim));
        break;
      case 5:
        in.check(in.integers(to.operand_batching_dims));
        break;
      case 6:
        in.check(in.integers(to.start_indices_batching_dims));
        break;
      default:
        break;
    }
  }
  return in.ok();
}

bool read(WireReader in, ScatterDimensionNumbers& to) {
  while (in.next()) {
    switch (in.field()) {
      case 1:
        in.check(in.integers(to.update_window_dims));
        break;
      case 2:
        in.check(in.integers(to.inserted_window_dims));
        break;
      case 3:
        in.check(in.integers(to.scatter_dims_to_operand_dims));
        break;
      case 4:
        in.check(in.integer(to.index_vector_dim));
        break;
      case 5:
        in.check(in.integers(to.input_batching_dims));
        break;
      case 6:
        in.check(in.integers(to.scatter_indices_batching_dims));
        break;
      default:
        break;
    }
  }
  return in.ok();
}

bool read(WireReader in, ConvolutionDimensionNumbers& to) {
  while (in.next()) {
    switch (in.field()) {
      case 3:
        in.check(in.integer(to.kernel_input_feature_dimension));
        break;
      case 4:
        in.check(in.integer(to.kernel_output_feature_dimension));
        break;
      case 6:
        in.check(in.integers(to.kernel_spatial_dimensions));
        break;
      case 7:
        in.check(in.integer(to.input_batch_dimension));
        break;
      case 8:
        in.check(in.integer(to.input_feature_dimension));
        break;
      case 9:
        in.check(in.integer(to.output_batch_dimension));
        break;
      case 10:
        in.check(in.integer(to.output_feature_dimension));
        break;
      case 11:
        in.check(in.integers(to.input_spatial_dimensions));
        break;
      case 12:
        in.check(in.integers(to.output_spatial_dimensions));
        break;
      default:
        break;
    }
  }
  return in.ok();
}

bool read(WireReader in, DotDimensionNumbers& to) {
  while (in.next()) {
    switch (in.field()) {
      case 1:
        in.check(in.integers(to.lhs_contracting_dimensions));
        break;
      case 2:
        in.check(in.integers(to.rhs_contracting_dimensions));
        break;
      case 3:
        in.check(in.integers(to.lhs_batch_dimensions));
        break;
      case 4:
        in.check(in.integers(to.rhs_batch_dimensions));
        break;
      default:
        break;
    }
  }
  return in.ok();
}

bool read(WireReader in, PaddingConfig::Dimension& to) {
  while (in.next()) {
    switch (in.field()) {
      case 1:
        in.check(in.integer(to.edge_padding_low));
        break;
      case 2:
        in.check(in.integer(to.edge_padding_high));
        break;
      case 3:
        in.check(in.integer(to.interior_padding));
        break;
      default:
        break;
    }
  }
  return in.ok();
}

bool read(WireReader in, PaddingConfig& to) {
  while (in.next()) {
    switch (in.field()) {
      case 1:
        in.check(in.message() && read(in.nested(), in.append(to.dimensions)));
        break;
      default:
        break;
    }
  }
  return in.ok();
}

bool read(WireReader in, TriangularSolveOptions& to) {
  while (in.next()) {
    switch (in.field()) {
      case 1:
        in.check(in.integer(to.left_side));
        break;
      case 2:
        in.check(in.integer(to.lower));
        break;
      case 3:
        in.check(in.integer(to.unit_diagonal));
        break;
      case 4:
        in.check(in.integer(to.transpose_a));
        break;
      default:
        break;
    }
  }
  return in.ok();
}

bool read(WireReader in, CholeskyOptions& to) {
  while (in.next()) {
    switch (in.field()) {
      case 1:
        in.check(in.integer(to.lower));
        break;
      default:
        break;
    }
  }
  return in.ok();
}

bool read(WireReader in, PrecisionConfig& to) {
  while (in.next()) {
    switch (in.field()) {
      case 1:
        in.check(in.integers(to.operand_precision));
        break;
      default:
        break;
    }
  }
  return in.ok();
}

bool read(WireReader in, FrontendAttributes::Entry& to) {
  while (in.next()) {
    switch (in.field()) {
      case 1:
        in.check(in.bytes(to.key));
        break;
      case 2:
        in.check(in.bytes(to.value));
        break;
      default:
        break;
    }
  }
  return in.ok();
}

bool read(WireReader in, FrontendAttributes& to) {
  while (in.next()) {
    switch (in.field()) {
      case 1:
        in.check(in.message() && read(in.nested(), in.append(to.map)));
        break;
      default:
        break;
    }
  }
  return in.ok();
}

bool read(WireReader in, Sharding& to) {
  while (in.next()) {
    switch (in.field()) {
      case 1:
        in.check(in.integer(to.type));
        break;
      case 5:
        in.check(in.message() && read(in.nested(), in.append(to.tuple_shardings)));
        break;
      default:
        break;
    }
  }
  return in.ok();
}

bool read(WireReader in, ReplicaGroup& to) {
  while (in.next()) {
    switch (in.field()) {
      case 1:
        in.check(in.integers(to.replica_ids));
        break;
      default:
        break;
    }
  }
  return in.ok();
}

bool read(WireReader in, IotaReplicaGroupList& to) {
  while (in.next()) {
    switch (in.field()) {
      case 1:
        in.check(in.integer(to.num_replica_groups));
        break;
      case 2:
        in.check(in.integer(to.num_devices_per_group));
        break;
      case 3:
        in.check(in.integers(to.iota_reshape_dims));
        break;
      case 4:
        in.check(in.integers(to.iota_transpose_perm));
        break;
      default:
        break;
    }
  }
  return in.ok();
}

bool read(WireReader in, CollectiveDeviceList& to) {
  while (in.next()) {
    switch (in.field()) {
      case 1:
        in.check(in.message() && read(in.nested(), in.append(to.replica_groups)));
        break;
      case 2:
        in.check(in.message() && read(in.nested(), to.iota_replica_group_list));
        break;
      default:
        break;
    }
  }
  return in.ok();
}

bool read(WireReader in, SourceTarget& to) {
  while (in.next()) {
    switch (in.field()) {
      case 1:
        in.check(in.integer(to.source));
        break;
      case 2:
        in.check(in.integer(to.target));
        break;
      default:
        break;
    }
  }
  return in.ok();
}

bool read(WireReader in, SliceDimensions& to) {
  while (in.next()) {
    switch (in.field()) {
      case 1:
        in.check(in.integer(to.start));
        break;
      case 2:
        in.check(in.integer(to.limit));
        break;
      case 3:
        in.check(in.integer(to.stride));
        break;
      default:
        break;
    }
  }
  return in.ok();
}

bool read(WireReader in, OutputOperandAliasing& to) {
  while (in.next()) {
    switch (in.field()) {
      case 1:
        in.check(in.integers(to.output_shape_index));
        break;
      case 2:
        in.check(in.integer(to.operand_index));
        break;
      case 3:
        in.check(in.integers(to.operand_shape_index));
        break;
      default:
        break;
    }
  }
  return in.ok();
}

bool read(WireReader in, Instruction& to) {
  while (in.next()) {
    switch (in.field()) {
      case 1:
        in.check(in.bytes(to.name));
        break;
      case 2:
        in.check(in.bytes(to.opcode));
        break;
      case 3:
        in.check(in.message() && read(in.nested(), to.shape));
        break;
      case 7:
        in.check(in.message() && read(in.nested(), to.metadata));
        break;
      case 8:
        in.check(in.message() && read(in.nested(), to.literal));
        break;
      case 9:
        in.check(in.integer(to.parameter_number));
        break;
      case 13:
        in.check(in.integer(to.tuple_index));
        break;
      case 14:
        in.check(in.integers(to.dimensions));
        break;
      case 15:
        in.check(in.message() && read(in.nested(), to.window));
        break;
      case 16:
        in.check(in.message() && read(in.nested(), to.convolution_dimension_numbers));
        break;
      case 17:
        in.check(in.message() && read(in.nested(), in.append(to.slice_dimensions)));
        break;
      case 18:
        in.check(in.integer(to.exponent_bits));
        break;
      case 19:
        in.check(in.integer(to.mantissa_bits));
        break;
      case 20:
        in.check(in.integers(to.dynamic_slice_sizes));
        break;
      case 21:
        in.check(in.message() && read(in.nested(), to.padding_config));
        break;
      case 23:
        in.check(in.integer(to.distribution));
        break;
      case 24:
        in.check(in.number(to.epsilon));
        break;
      case 25:
        in.check(in.integer(to.feature_index));
        break;
      case 26:
        in.check(in.integer(to.channel_id));
        break;
      case 28:
        in.check(in.bytes(to.custom_call_target));
        break;
      case 30:
        in.check(in.message() && read(in.nested(), to.dot_dimension_numbers));
        break;
      case 31:
        in.check(in.integer(to.fft_type));
        break;
      case 32:
        in.check(in.integers(to.fft_length));
        break;
      case 33:
        in.check(in.message() && read(in.nested(), to.gather_dimension_numbers));
        break;
      case 34:
        in.check(in.integers(to.gather_slice_sizes));
        break;
      case 35:
        in.check(in.integer(to.id));
        break;
      case 36:
        in.check(in.integers(to.operand_ids));
        break;
      case 38:
        in.check(in.integers(to.called_computation_ids));
        break;
      case 40:
        in.check(in.message() && read(in.nested(), to.sharding));
        break;
      case 43:
        in.check(in.bytes(to.backend_config));
        break;
      case 48:
        in.check(in.message() && read(in.nested(), to.scatter_dimension_numbers));
        break;
      case 49:
        in.check(in.message() && read(in.nested(), in.append(to.replica_groups)));
        break;
      case 50:
        in.check(in.integer(to.feature_group_count));
        break;
      case 51:
        in.check(in.message() && read(in.nested(), to.precision_config));
        break;
      case 52:
        in.check(in.message() && read(in.nested(), in.append(to.source_target_pairs)));
        break;
      case 58:
        in.check(in.integer(to.batch_group_count));
        break;
      case 59:
        in.check(in.message() && read(in.nested(), to.triangular_solve_options));
        break;
      case 60:
        in.check(in.integer(to.is_stable));
        break;
      case 62:
        in.check(in.message() && read(in.nested(), to.cholesky_options));
        break;
      case 63:
        in.check(in.bytes(to.comparison_direction));
        break;
      case 65:
        in.check(in.integer(to.custom_call_has_side_effect));
        break;
      case 67:
        in.check(in.integer(to.indices_are_sorted));
        break;
      case 68:
        in.check(in.message() && read(in.nested(), to.frontend_attributes));
        break;
      case 69:
        in.check(in.integer(to.unique_indices));
        break;
      case 70:
        in.check(in.integer(to.rng_algorithm));
        break;
      case 71:
        in.check(in.integer(to.use_global_device_ids));
        break;
      case 72:
        in.check(in.bytes(to.comparison_type));
        break;
      case 74:
        in.check(in.message() && read(in.nested(), in.append(to.output_operand_aliasing)));
        break;
      case 77:
        in.check(in.integer(to.custom_call_api_version));
        break;
      case 81:
        in.check(in.integer(to.k));
        break;
      case 85:
        in.check(in.integer(to.largest));
        break;
      case 87:
        in.check(in.message() && read(in.nested(), to.collective_device_list));
        break;
      default:
        break;
    }
  }
  return in.ok();
}

bool read(WireReader in, Computation& to) {
  while (in.next()) {
    switch (in.field()) {
      case 1:
        in.check(in.bytes(to.name));
        break;
      case 2:
        in.check(in.message() && read(in.nested(), in.append(to.instructions)));
        break;
      case 4:
        in.check(in.message() && read(in.nested(), to.program_shape));
        break;
      case 5:
        in.check(in.integer(to.id));
        break;
      case 6:
        in.check(in.integer(to.root_id));
        break;
      default:
        break;
    }
  }
  return in.ok();
}

bool read(WireReader in, InputOutputAlias::Entry& to) {
  while (in.next()) {
    switch (in.field()) {
      case 1:
        in.check(in.integers(to.output_shape_index));
        break;
      case 2:
        in.check(in.integer(to.parameter_number));
        break;
      case 3:
        in.check(in.integers(to.parameter_shape_index));
        break;
      case 4:
        in.check(in.integer(to.kind));
        break;
      default:
        break;
    }
  }
  return in.ok();
}

bool read(WireReader in, InputOutputAlias& to) {
  while (in.next()) {
    switch (in.field()) {
      case 1:
        in.check(in.message() && read(in.nested(), in.append(to.entries)));
        break;
      default:
        break;
    }
  }
  return in.ok();
}

bool read(WireReader in, BufferDonor::Entry& to) {
  while (in.next()) {
    switch (in.field()) {
      case 1:
        in.check(in.integer(to.parameter_number));
        break;
      case 2:
        in.check(in.integers(to.parameter_shape_index));
        break;
      default:
        break;
    }
  }
  return in.ok();
}

bool read(WireReader in, BufferDonor& to) {
  while (in.next()) {
    switch (in.field()) {
      case 1:
        in.check(in.message() && read(in.nested(), in.append(to.entries)));
        break;
      default:
        break;
    }
  }
  return in.ok();
}

bool read(WireReader in, Module& to) {
  while (in.next()) {
    switch (in.field()) {
      case 1:
        in.check(in.bytes(to.name));
        break;
      case 3:
        in.check(in.message() && read(in.nested(), in.append(to.computations)));
        break;
      case 6:
        in.check(in.integer(to.entry_computation_id));
        break;
      case 8:
        in.check(in.message() && read(in.nested(), to.input_output_alias));
        break;
      case 18:
        in.check(in.message() && read(in.nested(), to.buffer_donor));
        break;
      default:
        break;
    }
  }
  return in.ok();
}

bool read(WireReader in, ModuleWithConfig& to) {
  while (in.next()) {
    switch (in.field()) {
      case 1:
        in.check(in.message() && read(in.nested(), to.hlo_module));
        break;
      default:
        break;
    }
  }
  return in.ok();
}

}  // namespace

bool parse(std::string_view bytes, Module& module) { return read(WireReader(bytes), module); }

bool parse(std::string_view bytes, ModuleWithConfig& module) {
  return read(WireReader(bytes), module);
}

}  // namespace isthmus::hlo

// The operations of every released VHLO version: one row each.
//
// A row has the operation's name and its attributes in alphabetical order, which is the order in
// which they are encoded. `name:kind` says how the attribute becomes one of StableHLO
// (VhloAttribute::Kind), `name?value` that an attribute of that value is left out, because VHLO
// writes defaults out and StableHLO does not. The names of the operations are those of StableHLO.
// Elementwise operations without attributes are not listed: the op table has them.
#include "compiler/import/vhlo/vhlo_op_table.h"

namespace isthmus::importer {

// clang-format off
const VhloOpRow kVhloOps[] = {
    {"after_all_v1", ""},
    {"all_gather_v1",
     "all_gather_dim channel_id:channel replica_groups use_global_device_ids:unit"},
    {"all_gather_v2",
     "all_gather_dim channel_id:channel replica_groups use_global_device_ids:unit"},
    {"all_reduce_v1", "channel_id:channel replica_groups use_global_device_ids:unit"},
    {"all_reduce_v2", "channel_id:channel replica_groups use_global_device_ids:unit"},
    {"all_to_all_v1",
     "channel_id:channel concat_dimension replica_groups split_count split_dimension"},
    {"all_to_all_v2",
     "channel_id:channel concat_dimension replica_groups split_count split_dimension"},
    {"async_done_v1", ""},
    {"async_start_v1", ""},
    {"batch_norm_grad_v1", "epsilon feature_index"},
    {"batch_norm_inference_v1", "epsilon feature_index"},
    {"batch_norm_training_v1", "epsilon feature_index"},
    {"bitcast_convert_v1", ""},
    {"broadcast_in_dim_v1", "broadcast_dimensions:i64s"},
    {"broadcast_v1", "broadcast_sizes:i64s"},
    {"call_v1", "callee:symbol"},
    {"case_v1", ""},
    {"cbrt_v2", "result_accuracy?default"},
    {"cholesky_v1", "lower?false"},
    {"collective_broadcast_v1", "channel_id:channel replica_groups"},
    {"collective_broadcast_v2", "channel_id:channel has_dynamic_root:unit replica_groups"},
    {"collective_permute_v1", "channel_id:channel source_target_pairs"},
    {"collective_reduce_v1",
     "channel_id:channel has_dynamic_root:unit replica_groups use_global_device_ids:unit"},
    {"compare_v1", "compare_type?NOTYPE comparison_direction"},
    {"composite_v1", "composite_attributes?empty decomposition:symbol name version?0"},
    {"composite_v2", "composite_attributes?empty decomposition:symbol name version?0"},
    {"concatenate_v1", "dimension"},
    {"constant_v1", "value"},
    {"convolution_v1",
     "batch_group_count feature_group_count input_batch_dimension input_feature_dimension "
     "input_spatial_dimensions kernel_input_feature_dimension "
     "kernel_output_feature_dimension kernel_spatial_dimensions lhs_dilation:i64s?1s "
     "output_batch_dimension output_feature_dimension output_spatial_dimensions padding?0s "
     "precision_config?default rhs_dilation:i64s?1s window_reversal:bools?0s "
     "window_strides:i64s?1s"},
    {"cosine_v2", "result_accuracy?default"},
    {"create_token_v1", ""},
    {"cross-replica-sum_v1", "replica_groups"},
    {"custom_call_v1",
     "api_version?API_VERSION_ORIGINAL backend_config?empty call_target_name "
     "called_computations:symbols?empty has_side_effect?false operand_layouts "
     "output_operand_aliases?empty result_layouts"},
    {"custom_call_v2",
     "api_version?API_VERSION_ORIGINAL backend_config?empty call_target_name "
     "called_computations:symbols?empty has_side_effect?false operand_layouts "
     "output_operand_aliases?empty result_layouts result_tilings?empty"},
    {"dot_general_v1",
     "lhs_batching_dimensions lhs_contracting_dimensions precision_config?default "
     "rhs_batching_dimensions rhs_contracting_dimensions"},
    {"dot_general_v2",
     "accumulation_type allow_imprecise_accumulation lhs_batching_dimensions "
     "lhs_component_count lhs_contracting_dimensions lhs_precision_type "
     "num_primitive_operations precision_config?default rhs_batching_dimensions "
     "rhs_component_count rhs_contracting_dimensions rhs_precision_type"},
    {"dot_v1", "precision_config?default"},
    {"dynamic_broadcast_in_dim_v1",
     "broadcast_dimensions:i64s known_expanding_dimensions:i64s?empty "
     "known_nonexpanding_dimensions:i64s?empty"},
    {"dynamic_conv_v1",
     "batch_group_count feature_group_count input_batch_dimension input_feature_dimension "
     "input_spatial_dimensions kernel_input_feature_dimension "
     "kernel_output_feature_dimension kernel_spatial_dimensions lhs_dilation:i64s?1s "
     "output_batch_dimension output_feature_dimension output_spatial_dimensions "
     "padding:drop precision_config?default rhs_dilation:i64s?1s window_reversal:bools?0s "
     "window_strides:i64s?1s"},
    {"dynamic_conv_v2",
     "batch_group_count feature_group_count input_batch_dimension input_feature_dimension "
     "input_spatial_dimensions kernel_input_feature_dimension "
     "kernel_output_feature_dimension kernel_spatial_dimensions lhs_dilation:i64s?1s "
     "output_batch_dimension output_feature_dimension output_spatial_dimensions "
     "precision_config?default rhs_dilation:i64s?1s window_reversal:bools?0s "
     "window_strides:i64s?1s"},
    {"dynamic_gather_v1",
     "collapsed_slice_dims index_vector_dim indices_are_sorted?false offset_dims "
     "start_index_map"},
    {"dynamic_gather_v2",
     "collapsed_slice_dims index_vector_dim indices_are_sorted?false offset_dims "
     "operand_batching_dims start_index_map start_indices_batching_dims"},
    {"dynamic_iota_v1", "iota_dimension"},
    {"dynamic_pad_v1", ""},
    {"dynamic_reshape_v1", ""},
    {"dynamic_slice_v1", "slice_sizes:i64s"},
    {"dynamic_update_slice_v1", ""},
    {"einsum_v1", "einsum_config"},
    {"exponential_minus_one_v2", "result_accuracy?default"},
    {"exponential_v2", "result_accuracy?default"},
    {"fft_v1", "fft_length:i64s fft_type"},
    {"func_v1", "arg_attrs?empty function_type res_attrs?empty sym_name sym_visibility?empty"},
    {"gather_v1",
     "collapsed_slice_dims index_vector_dim indices_are_sorted?false offset_dims "
     "slice_sizes:i64s start_index_map"},
    {"gather_v2",
     "collapsed_slice_dims index_vector_dim indices_are_sorted?false offset_dims "
     "operand_batching_dims slice_sizes:i64s start_index_map start_indices_batching_dims"},
    {"get_dimension_size_v1", "dimension"},
    {"get_tuple_element_v1", "index"},
    {"if_v1", ""},
    {"infeed_v1", "infeed_config?empty layout?empty"},
    {"iota_v1", "iota_dimension"},
    {"log_plus_one_v2", "result_accuracy?default"},
    {"log_v2", "result_accuracy?default"},
    {"logistic_v2", "result_accuracy?default"},
    {"map_v1", "dimensions:i64s"},
    {"optimization_barrier_v1", ""},
    {"outfeed_v1", "outfeed_config?empty"},
    {"pad_v1", "edge_padding_high:i64s edge_padding_low:i64s interior_padding:i64s"},
    {"partition_id_v1", ""},
    {"real_dynamic_slice_v1", ""},
    {"recv_v1", "channel_id channel_type is_host_transfer?false"},
    {"recv_v2", "channel_id channel_type is_host_transfer?false source_target_pairs?empty"},
    {"reduce_precision_v1", "exponent_bits mantissa_bits"},
    {"reduce_scatter_v1",
     "channel_id:channel replica_groups scatter_dimension use_global_device_ids:unit"},
    {"reduce_v1", "dimensions:i64s"},
    {"reduce_window_v1",
     "base_dilations:i64s?1s padding?0s window_dilations:i64s?1s window_dimensions:i64s "
     "window_strides:i64s?1s"},
    {"replica_id_v1", ""},
    {"reshape_v1", ""},
    {"return_v1", ""},
    {"reverse_v1", "dimensions:i64s"},
    {"rng_bit_generator_v1", "rng_algorithm"},
    {"rng_v1", "rng_distribution"},
    {"rsqrt_v2", "result_accuracy?default"},
    {"scatter_v1",
     "index_vector_dim indices_are_sorted?false inserted_window_dims "
     "scatter_dims_to_operand_dims unique_indices?false update_window_dims"},
    {"scatter_v2",
     "index_vector_dim indices_are_sorted?false input_batching_dims inserted_window_dims "
     "scatter_dims_to_operand_dims scatter_indices_batching_dims unique_indices?false "
     "update_window_dims"},
    {"select_and_scatter_v1", "padding?0s window_dimensions:i64s window_strides:i64s?1s"},
    {"send_v1", "channel_id channel_type is_host_transfer?false"},
    {"send_v2", "channel_id channel_type is_host_transfer?false source_target_pairs?empty"},
    {"set_dimension_size_v1", "dimension"},
    {"sine_v2", "result_accuracy?default"},
    {"slice_v1", "limit_indices:i64s start_indices:i64s strides:i64s"},
    {"sort_v1", "dimension?-1 is_stable?false"},
    {"sqrt_v2", "result_accuracy?default"},
    {"tan_v2", "result_accuracy?default"},
    {"tanh_v2", "result_accuracy?default"},
    {"torch_index_select_v1", "batch_dims dim"},
    {"transpose_v1", "permutation:i64s"},
    {"triangular_solve_v1", "left_side lower transpose_a unit_diagonal"},
    {"tuple_v1", ""},
    {"unary_einsum_v1", "einsum_config"},
    {"uniform_dequantize_v1", ""},
    {"uniform_quantize_v1", ""},
    {"while_v1", ""},
};
// clang-format on

const size_t kNumVhloOps = std::size(kVhloOps);

}  // namespace isthmus::importer

// The HLO instructions that have attributes of their own: data movement, reductions, contractions,
// collectives.
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/import/hlo/instruction_reader.h"
#include "llvm/ADT/STLExtras.h"

namespace isthmus::importer {
namespace {

template <typename Repeated>
llvm::SmallVector<int64_t> toVector(const Repeated& values) {
  return llvm::SmallVector<int64_t>(values.begin(), values.end());
}

// One member of every dimension of a window.
template <typename Member>
llvm::SmallVector<int64_t> windowMember(const hlo::Window& window, Member member) {
  llvm::SmallVector<int64_t> result;
  for (const hlo::WindowDimension& dimension : window.dimensions) {
    result.push_back(dimension.*member);
  }
  return result;
}

constexpr int64_t kMaxReplicaIds = 1 << 20;

mlir::Attribute makeMatrix(mlir::OpBuilder& builder, llvm::ArrayRef<int64_t> values, int64_t rows,
                           int64_t columns) {
  return mlir::DenseIntElementsAttr::get(
      mlir::RankedTensorType::get({rows, columns}, builder.getI64Type()), values);
}

}  // namespace

bool InstructionReader::readShaped() {
  const std::string& opcode = hlo_.opcode;
  llvm::SmallVector<mlir::Value> operands;
  if (!leaves(operands)) return false;
  if (opcode == "broadcast") {
    setI64s("broadcast_dimensions", hlo_.dimensions);
    return emit("stablehlo.broadcast_in_dim", operands);
  }
  if (opcode == "transpose") {
    setI64s("permutation", hlo_.dimensions);
  } else if (opcode == "reverse") {
    setI64s("dimensions", hlo_.dimensions);
  } else if (opcode == "slice") {
    llvm::SmallVector<int64_t> starts, limits, strides;
    for (const hlo::SliceDimensions& slice : hlo_.slice_dimensions) {
      starts.push_back(slice.start);
      limits.push_back(slice.limit);
      strides.push_back(slice.stride);
    }
    setI64s("start_indices", starts);
    setI64s("limit_indices", limits);
    setI64s("strides", strides);
  } else {
    int64_t dimension;
    if (!firstDimension(dimension)) return false;
    setI64(opcode == "iota" ? "iota_dimension" : "dimension", dimension);
  }
  return emit("stablehlo." + opcode, operands);
}

// The older form has the starts in one vector, from operand `first` on.
bool InstructionReader::splitStarts(llvm::SmallVectorImpl<mlir::Value>& operands, size_t first) {
  if (operands.size() != first + 1) return true;
  auto type = mlir::dyn_cast<mlir::RankedTensorType>(operands[first].getType());
  if (!type || type.getRank() != 1 || !type.hasStaticShape()) return true;
  auto array = mlir::dyn_cast<mlir::RankedTensorType>(operands[0].getType());
  if (!array || array.getRank() != type.getDimSize(0)) {
    return fail("has not one start for each dimension");
  }
  const mlir::Value starts = operands.pop_back_val();
  mlir::Type one = mlir::RankedTensorType::get({1}, type.getElementType());
  mlir::Type scalar = mlir::RankedTensorType::get({}, type.getElementType());
  for (int64_t i = 0; i < type.getDimSize(0); ++i) {
    mlir::OperationState slice(location_, shlo::SliceOp::getOperationName());
    slice.addOperands(starts);
    slice.addTypes(one);
    slice.addAttribute("start_indices", builder_.getDenseI64ArrayAttr({i}));
    slice.addAttribute("limit_indices", builder_.getDenseI64ArrayAttr({i + 1}));
    slice.addAttribute("strides", builder_.getDenseI64ArrayAttr({1}));
    operands.push_back(
        shlo::ReshapeOp::create(builder_, location_, scalar, builder_.create(slice)->getResult(0)));
  }
  return true;
}

bool InstructionReader::readDynamicSlice() {
  llvm::SmallVector<mlir::Value> operands;
  if (!leaves(operands) || !splitStarts(operands, 1)) return false;
  setI64s("slice_sizes", hlo_.dynamic_slice_sizes);
  return emit("stablehlo.dynamic_slice", operands);
}

bool InstructionReader::readDynamicUpdateSlice() {
  llvm::SmallVector<mlir::Value> operands;
  return leaves(operands) && splitStarts(operands, 2) &&
         emit("stablehlo.dynamic_update_slice", operands);
}

bool InstructionReader::readPad() {
  llvm::SmallVector<int64_t> low, high, interior;
  for (const hlo::PaddingConfig::Dimension& dimension : hlo_.padding_config.dimensions) {
    low.push_back(dimension.edge_padding_low);
    high.push_back(dimension.edge_padding_high);
    interior.push_back(dimension.interior_padding);
  }
  setI64s("edge_padding_low", low);
  setI64s("edge_padding_high", high);
  setI64s("interior_padding", interior);
  llvm::SmallVector<mlir::Value> operands;
  return leaves(operands) && emit("stablehlo.pad", operands);
}

bool InstructionReader::readGather() {
  const hlo::GatherDimensionNumbers& numbers = hlo_.gather_dimension_numbers;
  set("dimension_numbers",
      shlo::GatherDimensionNumbersAttr::get(
          builder_.getContext(), toVector(numbers.offset_dims),
          toVector(numbers.collapsed_slice_dims), toVector(numbers.operand_batching_dims),
          toVector(numbers.start_indices_batching_dims), toVector(numbers.start_index_map),
          numbers.index_vector_dim));
  setI64s("slice_sizes", hlo_.gather_slice_sizes);
  if (hlo_.indices_are_sorted) set("indices_are_sorted", true);
  llvm::SmallVector<mlir::Value> operands;
  return leaves(operands) && emit("stablehlo.gather", operands);
}

bool InstructionReader::readScatter() {
  const hlo::ScatterDimensionNumbers& numbers = hlo_.scatter_dimension_numbers;
  set("scatter_dimension_numbers",
      shlo::ScatterDimensionNumbersAttr::get(
          builder_.getContext(), toVector(numbers.update_window_dims),
          toVector(numbers.inserted_window_dims), toVector(numbers.input_batching_dims),
          toVector(numbers.scatter_indices_batching_dims),
          toVector(numbers.scatter_dims_to_operand_dims), numbers.index_vector_dim));
  if (hlo_.indices_are_sorted) set("indices_are_sorted", true);
  if (hlo_.unique_indices) set("unique_indices", true);
  llvm::SmallVector<mlir::Value> operands;
  return leaves(operands) &&
         emit("stablehlo.scatter", operands, toVector(hlo_.called_computation_ids));
}

bool InstructionReader::readReduction() {
  setI64s("dimensions", hlo_.dimensions);
  llvm::SmallVector<mlir::Value> operands;
  return leaves(operands) &&
         emit("stablehlo." + hlo_.opcode, operands, toVector(hlo_.called_computation_ids));
}

void InstructionReader::setPadding() {
  llvm::SmallVector<int64_t> padding;
  for (const hlo::WindowDimension& dimension : hlo_.window.dimensions) {
    padding.push_back(dimension.padding_low);
    padding.push_back(dimension.padding_high);
  }
  if (llvm::all_of(padding, [](int64_t size) { return size == 0; })) return;
  set("padding", makeMatrix(builder_, padding, hlo_.window.dimensions.size(), 2));
}

bool InstructionReader::readWindowed() {
  const hlo::Window& window = hlo_.window;
  using Dimension = hlo::WindowDimension;
  setI64s("window_dimensions", windowMember(window, &Dimension::size));
  setI64s("window_strides", windowMember(window, &Dimension::stride));
  setPadding();
  const auto baseDilations = windowMember(window, &Dimension::base_dilation);
  const auto windowDilations = windowMember(window, &Dimension::window_dilation);
  if (llvm::any_of(window.dimensions, [](const Dimension& d) { return d.window_reversal; })) {
    return unsupported("windows that are reversed are not supported here");
  }
  llvm::SmallVector<mlir::Value> operands;
  if (!leaves(operands)) return false;
  const llvm::SmallVector<int64_t> computations = toVector(hlo_.called_computation_ids);
  if (hlo_.opcode == "reduce-window") {
    setI64s("base_dilations", baseDilations);
    setI64s("window_dilations", windowDilations);
    return emit("stablehlo.reduce_window", operands, computations);
  }
  auto isOne = [](int64_t dilation) { return dilation == 1; };
  if (!llvm::all_of(baseDilations, isOne) || !llvm::all_of(windowDilations, isOne)) {
    return unsupported("windows that are dilated are not supported here");
  }
  return emit("stablehlo.select_and_scatter", operands, computations);
}

bool InstructionReader::readSort() {
  int64_t dimension;
  if (!firstDimension(dimension)) return false;
  setI64("dimension", dimension);
  set("is_stable", hlo_.is_stable);
  llvm::SmallVector<mlir::Value> operands;
  return leaves(operands) &&
         emit("stablehlo.sort", operands, toVector(hlo_.called_computation_ids));
}

// The first k of the elements of the last dimension, sorted, and where they were.
bool InstructionReader::readTopK() {
  llvm::SmallVector<mlir::Value> operands;
  if (!leaves(operands)) return false;
  auto type = operands.size() == 1 ? mlir::dyn_cast<mlir::RankedTensorType>(operands[0].getType())
                                   : mlir::RankedTensorType();
  if (!type || type.getRank() == 0) return fail("does not have one array");
  const int64_t last = type.getRank() - 1;
  const int64_t k = hlo_.k;
  if (k < 0 || k > type.getDimSize(last)) return fail("wants more elements than there are");
  mlir::MLIRContext* context = builder_.getContext();
  auto indexType = mlir::RankedTensorType::get(type.getShape(), builder_.getI32Type());
  mlir::Value iota = shlo::IotaOp::create(builder_, location_, indexType, last);

  mlir::OperationState state(location_, shlo::SortOp::getOperationName());
  state.addOperands({operands[0], iota});
  state.addTypes({type, indexType});
  state.addAttribute("dimension", builder_.getI64IntegerAttr(last));
  state.addAttribute("is_stable", builder_.getBoolAttr(true));
  mlir::Block& comparator = state.addRegion()->emplaceBlock();
  const auto scalar = mlir::RankedTensorType::get({}, type.getElementType());
  const auto scalarIndex = mlir::RankedTensorType::get({}, builder_.getI32Type());
  comparator.addArguments({scalar, scalar, scalarIndex, scalarIndex},
                          llvm::SmallVector<mlir::Location>(4, location_));
  {
    mlir::OpBuilder::InsertionGuard guard(builder_);
    builder_.setInsertionPointToEnd(&comparator);
    mlir::OperationState compare(location_, shlo::CompareOp::getOperationName());
    compare.addOperands({comparator.getArgument(0), comparator.getArgument(1)});
    compare.addTypes(mlir::RankedTensorType::get({}, builder_.getI1Type()));
    compare.addAttribute(
        "comparison_direction",
        shlo::ComparisonDirectionAttr::get(
            context, hlo_.largest ? shlo::ComparisonDirection::GT : shlo::ComparisonDirection::LT));
    if (mlir::isa<mlir::FloatType>(type.getElementType())) {
      compare.addAttribute(
          "compare_type", shlo::ComparisonTypeAttr::get(context, shlo::ComparisonType::TOTALORDER));
    }
    mlir::OperationState end(location_, "stablehlo.return");
    end.addOperands(builder_.create(compare)->getResults());
    builder_.create(end);
  }
  llvm::SmallVector<int64_t> limits(type.getShape());
  limits[last] = k;
  for (mlir::Value sorted : builder_.create(state)->getResults()) {
    mlir::OperationState slice(location_, shlo::SliceOp::getOperationName());
    slice.addOperands(sorted);
    slice.addTypes(mlir::RankedTensorType::get(
        limits, mlir::cast<mlir::RankedTensorType>(sorted.getType()).getElementType()));
    const llvm::SmallVector<int64_t> zeros(limits.size(), 0), ones(limits.size(), 1);
    slice.addAttribute("start_indices", builder_.getDenseI64ArrayAttr(zeros));
    slice.addAttribute("limit_indices", builder_.getDenseI64ArrayAttr(limits));
    slice.addAttribute("strides", builder_.getDenseI64ArrayAttr(ones));
    results_.push_back(builder_.create(slice)->getResult(0));
  }
  return true;
}

void InstructionReader::setPrecision() {
  llvm::SmallVector<mlir::Attribute> precisions;
  bool isDefault = true;
  for (int32_t value : hlo_.precision_config.operand_precision) {
    const auto precision = shlo::symbolizePrecision(static_cast<uint32_t>(value));
    if (!precision) continue;
    isDefault = isDefault && *precision == shlo::Precision::DEFAULT;
    precisions.push_back(shlo::PrecisionAttr::get(builder_.getContext(), *precision));
  }
  if (!isDefault && precisions.size() == 2) {
    set("precision_config", builder_.getArrayAttr(precisions));
  }
}

bool InstructionReader::readDot() {
  const hlo::DotDimensionNumbers& numbers = hlo_.dot_dimension_numbers;
  set("dot_dimension_numbers",
      shlo::DotDimensionNumbersAttr::get(
          builder_.getContext(), toVector(numbers.lhs_batch_dimensions),
          toVector(numbers.rhs_batch_dimensions), toVector(numbers.lhs_contracting_dimensions),
          toVector(numbers.rhs_contracting_dimensions)));
  setPrecision();
  llvm::SmallVector<mlir::Value> operands;
  return leaves(operands) && emit("stablehlo.dot_general", operands);
}

bool InstructionReader::readConvolution() {
  const hlo::ConvolutionDimensionNumbers& numbers = hlo_.convolution_dimension_numbers;
  const hlo::Window& window = hlo_.window;
  using Dimension = hlo::WindowDimension;
  set("dimension_numbers",
      shlo::ConvDimensionNumbersAttr::get(
          builder_.getContext(), numbers.input_batch_dimension, numbers.input_feature_dimension,
          toVector(numbers.input_spatial_dimensions), numbers.kernel_input_feature_dimension,
          numbers.kernel_output_feature_dimension, toVector(numbers.kernel_spatial_dimensions),
          numbers.output_batch_dimension, numbers.output_feature_dimension,
          toVector(numbers.output_spatial_dimensions)));
  setI64s("window_strides", windowMember(window, &Dimension::stride));
  setI64s("lhs_dilation", windowMember(window, &Dimension::base_dilation));
  setI64s("rhs_dilation", windowMember(window, &Dimension::window_dilation));
  setPadding();
  llvm::SmallVector<bool> reversal;
  for (const Dimension& dimension : window.dimensions) {
    reversal.push_back(dimension.window_reversal);
  }
  if (llvm::is_contained(reversal, true)) {
    set("window_reversal", builder_.getDenseBoolArrayAttr(reversal));
  }
  // Absent means 1.
  setI64("feature_group_count", std::max<int64_t>(1, hlo_.feature_group_count));
  setI64("batch_group_count", std::max<int64_t>(1, hlo_.batch_group_count));
  setPrecision();
  llvm::SmallVector<mlir::Value> operands;
  return leaves(operands) && emit("stablehlo.convolution", operands);
}

bool InstructionReader::readLinearAlgebra() {
  llvm::SmallVector<mlir::Value> operands;
  if (!leaves(operands)) return false;
  if (hlo_.opcode == "cholesky") {
    set("lower", hlo_.cholesky_options.lower);
    return emit("stablehlo.cholesky", operands);
  }
  const hlo::TriangularSolveOptions& options = hlo_.triangular_solve_options;
  const auto transpose = shlo::symbolizeTranspose(static_cast<uint32_t>(options.transpose_a));
  if (!transpose) return fail("has an unknown transposition");
  set("left_side", options.left_side);
  set("lower", options.lower);
  set("unit_diagonal", options.unit_diagonal);
  set("transpose_a", shlo::TransposeAttr::get(builder_.getContext(), *transpose));
  return emit("stablehlo.triangular_solve", operands);
}

bool InstructionReader::readBatchNorm() {
  set("epsilon", builder_.getF32FloatAttr(hlo_.epsilon));
  setI64("feature_index", hlo_.feature_index);
  std::string name = hlo_.opcode;
  std::replace(name.begin(), name.end(), '-', '_');
  llvm::SmallVector<mlir::Value> operands;
  return leaves(operands) && emit("stablehlo." + name, operands);
}

bool InstructionReader::readRandom() {
  mlir::MLIRContext* context = builder_.getContext();
  llvm::SmallVector<mlir::Value> operands;
  if (!leaves(operands)) return false;
  if (hlo_.opcode == "rng-bit-generator") {
    const auto algorithm = shlo::symbolizeRngAlgorithm(static_cast<uint32_t>(hlo_.rng_algorithm));
    if (!algorithm) return fail("has an unknown algorithm");
    set("rng_algorithm", shlo::RngAlgorithmAttr::get(context, *algorithm));
    return emit("stablehlo.rng_bit_generator", operands);
  }
  const auto distribution =
      shlo::symbolizeRngDistribution(static_cast<uint32_t>(hlo_.distribution));
  if (!distribution) return fail("has an unknown distribution");
  // StableHLO takes the shape of the result as an operand.
  const llvm::SmallVector<int64_t> shape = toVector(hlo_.shape.dimensions);
  auto type =
      mlir::RankedTensorType::get({static_cast<int64_t>(shape.size())}, builder_.getI64Type());
  mlir::OperationState constant(location_, "stablehlo.constant");
  constant.addAttribute("value", mlir::DenseIntElementsAttr::get(type, shape));
  constant.addTypes(type);
  operands.push_back(builder_.create(constant)->getResult(0));
  set("rng_distribution", shlo::RngDistributionAttr::get(context, *distribution));
  return emit("stablehlo.rng", operands);
}

bool InstructionReader::readFft() {
  const auto type = shlo::symbolizeFftType(static_cast<uint32_t>(hlo_.fft_type));
  if (!type) return fail("has an unknown type");
  set("fft_type", shlo::FftTypeAttr::get(builder_.getContext(), *type));
  setI64s("fft_length", hlo_.fft_length);
  llvm::SmallVector<mlir::Value> operands;
  return leaves(operands) && emit("stablehlo.fft", operands);
}

bool InstructionReader::readPrecision() {
  set("exponent_bits", builder_.getI32IntegerAttr(hlo_.exponent_bits));
  set("mantissa_bits", builder_.getI32IntegerAttr(hlo_.mantissa_bits));
  llvm::SmallVector<mlir::Value> operands;
  return leaves(operands) && emit("stablehlo.reduce_precision", operands);
}

bool InstructionReader::readDimensionSize() {
  int64_t dimension;
  if (!firstDimension(dimension)) return false;
  setI64("dimension", dimension);
  llvm::SmallVector<mlir::Value> operands;
  return leaves(operands) &&
         emit(hlo_.opcode == "get-dimension-size" ? "stablehlo.get_dimension_size"
                                                  : "stablehlo.set_dimension_size",
              operands);
}

// Groups of one size, whose ids are 0, 1, 2, … of a shape, transposed.
bool InstructionReader::setIotaReplicaGroups(const hlo::IotaReplicaGroupList& list) {
  const llvm::SmallVector<int64_t> shape = toVector(list.iota_reshape_dims);
  llvm::SmallVector<int64_t> order = toVector(list.iota_transpose_perm);
  if (order.empty()) order = llvm::to_vector(llvm::seq<int64_t>(0, shape.size()));
  int64_t count = 1;
  for (int64_t size : shape) {
    if (size < 1 || size > kMaxReplicaIds / count) return fail("has replica groups of a bad shape");
    count *= size;
  }
  llvm::SmallVector<int64_t> sorted(order);
  llvm::sort(sorted);
  if (sorted != llvm::to_vector(llvm::seq<int64_t>(0, shape.size())) ||
      list.num_replica_groups < 1 || count % list.num_replica_groups != 0 ||
      count / list.num_replica_groups != list.num_devices_per_group) {
    return fail("has replica groups of a bad shape");
  }
  const auto strides = stridesOf(shape);
  llvm::SmallVector<int64_t> ids(count);
  for (int64_t place = 0; place < count; ++place) {
    int64_t rest = place;
    for (int64_t d : llvm::reverse(order)) {
      ids[place] += rest % shape[d] * strides[d];
      rest /= shape[d];
    }
  }
  set("replica_groups",
      makeMatrix(builder_, ids, list.num_replica_groups, list.num_devices_per_group));
  return true;
}

bool InstructionReader::setReplicaGroups() {
  const hlo::IotaReplicaGroupList& iota = hlo_.collective_device_list.iota_replica_group_list;
  if (iota.num_replica_groups != 0) return setIotaReplicaGroups(iota);
  const auto& groups = hlo_.collective_device_list.replica_groups.empty()
                           ? hlo_.replica_groups
                           : hlo_.collective_device_list.replica_groups;
  size_t columns = 0;
  for (const hlo::ReplicaGroup& group : groups) {
    columns = std::max(columns, group.replica_ids.size());
  }
  // Shorter groups are filled up with -1. None at all is one group of everybody.
  if (static_cast<int64_t>(columns * groups.size()) > kMaxReplicaIds) {
    return fail("has too many replica groups");
  }
  llvm::SmallVector<int64_t> ids(columns * groups.size(), -1);
  for (size_t row = 0; row < groups.size(); ++row) {
    llvm::copy(groups[row].replica_ids, ids.begin() + row * columns);
  }
  set("replica_groups", makeMatrix(builder_, ids, groups.size(), columns));
  return true;
}

// Operand i goes to device i of the group, result i comes from it. StableHLO has one array with a
// dimension for them.
bool InstructionReader::readTupleAllToAll(mlir::ValueRange operands) {
  auto groups = mlir::cast<mlir::DenseIntElementsAttr>(attributes_.get("replica_groups"));
  const auto count = static_cast<int64_t>(operands.size());
  auto type = operands.empty() ? mlir::RankedTensorType()
                               : mlir::dyn_cast<mlir::RankedTensorType>(operands[0].getType());
  auto isOfType = [&](mlir::Value operand) { return operand.getType() == type; };
  if (!type || !llvm::all_of(operands, isOfType)) return fail("has operands of different types");
  if (groups.getNumElements() == 0) {
    // One group of everybody, who are as many as there are operands.
    set("replica_groups",
        makeMatrix(builder_, llvm::to_vector(llvm::seq<int64_t>(0, count)), 1, count));
  } else if (groups.getType().getDimSize(1) != count) {
    return fail("has not one operand for each device of a group");
  }
  llvm::SmallVector<int64_t> shape(type.getShape());
  shape.insert(shape.begin(), 1);
  llvm::SmallVector<mlir::Value> rows;
  for (mlir::Value operand : operands) {
    rows.push_back(shlo::ReshapeOp::create(builder_, location_, type.clone(shape), operand));
  }
  shape[0] = count;
  mlir::OperationState joined(location_, shlo::ConcatenateOp::getOperationName());
  joined.addOperands(rows);
  joined.addTypes(type.clone(shape));
  joined.addAttribute("dimension", builder_.getI64IntegerAttr(0));
  mlir::OperationState exchange(location_, "stablehlo.all_to_all");
  exchange.addOperands(builder_.create(joined)->getResults());
  exchange.addTypes(type.clone(shape));
  attributes_.set("split_dimension", builder_.getI64IntegerAttr(0));
  attributes_.set("concat_dimension", builder_.getI64IntegerAttr(0));
  attributes_.set("split_count", builder_.getI64IntegerAttr(count));
  exchange.attributes = attributes_;
  const mlir::Value exchanged = builder_.create(exchange)->getResult(0);
  llvm::SmallVector<int64_t> starts(shape.size(), 0), limits(shape), strides(shape.size(), 1);
  shape[0] = 1;
  for (int64_t i = 0; i < count; ++i) {
    starts[0] = i;
    limits[0] = i + 1;
    mlir::OperationState slice(location_, shlo::SliceOp::getOperationName());
    slice.addOperands(exchanged);
    slice.addTypes(type.clone(shape));
    slice.addAttribute("start_indices", builder_.getDenseI64ArrayAttr(starts));
    slice.addAttribute("limit_indices", builder_.getDenseI64ArrayAttr(limits));
    slice.addAttribute("strides", builder_.getDenseI64ArrayAttr(strides));
    results_.push_back(
        shlo::ReshapeOp::create(builder_, location_, type, builder_.create(slice)->getResult(0)));
  }
  return true;
}

bool InstructionReader::readCollective() {
  const std::string& opcode = hlo_.opcode;
  if (hlo_.channel_id > 0) {
    set("channel_handle", shlo::ChannelHandleAttr::get(builder_.getContext(), hlo_.channel_id,
                                                       /*channelType=*/0));
  }
  llvm::SmallVector<mlir::Value> operands;
  if (!leaves(operands)) return false;
  if (opcode == "collective-permute") {
    llvm::SmallVector<int64_t> pairs;
    for (const hlo::SourceTarget& pair : hlo_.source_target_pairs) {
      pairs.push_back(pair.source);
      pairs.push_back(pair.target);
    }
    set("source_target_pairs", makeMatrix(builder_, pairs, hlo_.source_target_pairs.size(), 2));
    return emit("stablehlo.collective_permute", operands);
  }
  if (!setReplicaGroups()) return false;
  const llvm::SmallVector<int64_t> computations = toVector(hlo_.called_computation_ids);
  if (opcode == "collective-broadcast") return emit("stablehlo.collective_broadcast", operands);
  if (opcode == "all-to-all") {
    int64_t dimension;
    if (hlo_.dimensions.empty()) return readTupleAllToAll(operands);
    if (!firstDimension(dimension) || operands.size() != 1) return fail("has several operands");
    auto groups = mlir::cast<mlir::DenseIntElementsAttr>(attributes_.get("replica_groups"));
    const int64_t groupSize = groups.getType().getDimSize(1);
    if (groupSize == 0) return unsupported("a group of everybody is not supported");
    setI64("split_dimension", dimension);
    setI64("concat_dimension", dimension);
    setI64("split_count", groupSize);
    return emit("stablehlo.all_to_all", operands);
  }
  if (hlo_.use_global_device_ids) set("use_global_device_ids", builder_.getUnitAttr());
  if (opcode == "all-reduce") return emit("stablehlo.all_reduce", operands, computations);
  int64_t dimension;
  if (!firstDimension(dimension)) return false;
  setI64(opcode == "all-gather" ? "all_gather_dim" : "scatter_dimension", dimension);
  if (opcode == "all-gather") return emit("stablehlo.all_gather", operands);
  return emit("stablehlo.reduce_scatter", operands, computations);
}

}  // namespace isthmus::importer

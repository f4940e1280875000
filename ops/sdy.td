// Shardy: how values are spread over a mesh of devices, as JAX says it.
//
// Names and text are those of openxla/shardy; what partitions programs is compiler/partition.
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

def Sdy_Dialect : Dialect {
  let name = "sdy";
  let cppNamespace = "::isthmus::sdy";
  let summary = "Meshes and shardings.";
  let useDefaultAttributePrinterParser = 1;
}

// ---- Enumerations -------------------------------------------------------------------------------

def Sdy_PropagationDirection : I32EnumAttr<"PropagationDirection", "where shardings may flow", [
    I32EnumAttrCase<"NONE", 0>, I32EnumAttrCase<"FORWARD", 1>, I32EnumAttrCase<"BACKWARD", 2>,
    I32EnumAttrCase<"BOTH", 3>]> {
  let cppNamespace = "::isthmus::sdy";
}
def Sdy_ReductionOp : I32EnumAttr<"ReductionOp", "how partial values are combined", [
    I32EnumAttrCase<"SUM", 0, "sum">, I32EnumAttrCase<"MAX", 1, "max">,
    I32EnumAttrCase<"MIN", 2, "min">]> {
  let cppNamespace = "::isthmus::sdy";
}

// ---- Attributes ---------------------------------------------------------------------------------

class Sdy_Attr<string name, string text> : AttrDef<Sdy_Dialect, name> { let mnemonic = text; }

def Sdy_ManualAxes : ArrayOfAttr<Sdy_Dialect, "ManualAxes", "manual_axes", "::mlir::StringAttr"> {
  let assemblyFormat = "`{` (`}`) : ($value^ `` `}`)?";
}

def Sdy_MeshAxis : Sdy_Attr<"MeshAxis", "mesh_axis"> {
  let summary = "an axis of a mesh";
  let parameters = (ins StringRefParameter<"name">:$name, "int64_t":$size);
  let assemblyFormat = "`` $name `` `=` `` $size";
  let genVerifyDecl = 1;
}

def Sdy_Mesh : Sdy_Attr<"Mesh", "mesh"> {
  let summary = "named axes over devices, in order unless ids are given";
  let parameters = (ins OptionalArrayRefParameter<"MeshAxisAttr">:$axes,
      OptionalArrayRefParameter<"int64_t">:$device_ids);
  let assemblyFormat = [{
    `<` `[` (`]`) : ($axes^ `]`)? (`,` `device_ids` `` `=` `` `[` $device_ids^ `]`)? `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    // The size of an axis, or 0 if there is none of this name.
    int64_t getAxisSize(::llvm::StringRef name) const;
    bool hasAxis(::llvm::StringRef name) const { return getAxisSize(name) != 0; }
    // The number of devices; 1 for a mesh of one given device.
    int64_t getTotalSize() const;
    // A mesh without axes that names one device.
    bool isMaximal() const { return getAxes().empty() && getDeviceIds().size() == 1; }
  }];
}

def Sdy_SubAxisInfo : Sdy_Attr<"SubAxisInfo", "sub_axis_info"> {
  let summary = "a part of an axis: what is to its left, and its size";
  let parameters = (ins "int64_t":$pre_size, "int64_t":$size);
  let assemblyFormat = "`(` $pre_size `)` `` $size";
}

def Sdy_AxisRef : Sdy_Attr<"AxisRef", "axis_ref"> {
  let summary = "an axis, or a part of one";
  let parameters = (ins StringRefParameter<"name">:$name,
      OptionalParameter<"SubAxisInfoAttr">:$sub_axis_info);
  let assemblyFormat = "`` $name (`` `:` `` $sub_axis_info^)?";
  let builders = [AttrBuilder<(ins "::llvm::StringRef":$name), [{
    return $_get($_ctxt, name, SubAxisInfoAttr());
  }]>];
  let extraClassDeclaration = [{
    // Into how many parts this cuts a dimension.
    int64_t getSize(MeshAttr mesh) const;
  }];
}

def Sdy_AxisRefs : OptionalArrayRefParameter<"AxisRefAttr">;

def Sdy_DimensionSharding : Sdy_Attr<"DimensionSharding", "dimension_sharding"> {
  let summary = "the axes over which a dimension is cut, from major to minor";
  let parameters = (ins Sdy_AxisRefs:$axes, "bool":$is_closed,
      OptionalParameter<"std::optional<int64_t>">:$priority);
  let builders = [AttrBuilder<(ins "::llvm::ArrayRef<AxisRefAttr>":$axes, "bool":$is_closed), [{
    return $_get($_ctxt, axes, is_closed, std::nullopt);
  }]>];
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    // Into how many parts the dimension is cut.
    int64_t getShardedSize(MeshAttr mesh) const;
  }];
}

def Sdy_TensorSharding : Sdy_Attr<"TensorSharding", "sharding"> {
  let summary = "how a tensor is spread over a mesh";
  let parameters = (ins "::mlir::Attribute":$mesh_or_ref,
      OptionalArrayRefParameter<"DimensionShardingAttr">:$dim_shardings,
      Sdy_AxisRefs:$replicated_axes, Sdy_AxisRefs:$unreduced_axes,
      EnumParameter<Sdy_ReductionOp>:$reduction_op);
  let assemblyFormat = [{
    `<` custom<MeshOrRef>($mesh_or_ref) `,` `[` (`]`) : ($dim_shardings^ `]`)? ``
        custom<ReplicatedAndUnreducedAxes>($replicated_axes, $unreduced_axes, $reduction_op) `>`
  }];
  let builders = [AttrBuilder<(ins "::mlir::Attribute":$mesh_or_ref,
      "::llvm::ArrayRef<DimensionShardingAttr>":$dim_shardings,
      CArg<"::llvm::ArrayRef<AxisRefAttr>", "{}">:$replicated_axes,
      CArg<"::llvm::ArrayRef<AxisRefAttr>", "{}">:$unreduced_axes), [{
    return $_get($_ctxt, mesh_or_ref, dim_shardings, replicated_axes, unreduced_axes,
                 ReductionOp::SUM);
  }]>];
  let extraClassDeclaration = [{
    int64_t getRank() const { return getDimShardings().size(); }
    // The mesh itself, or the one of this name that `op` sees; null if there is none.
    MeshAttr getMesh(::mlir::Operation* op) const;
  }];
}

def Sdy_TensorShardingPerValue : Sdy_Attr<"TensorShardingPerValue", "sharding_per_value"> {
  let summary = "one sharding for each operand or result";
  let parameters = (ins OptionalArrayRefParameter<"TensorShardingAttr">:$shardings);
  let assemblyFormat = "`<` `[` (`]`) : ($shardings^ `]`)? `>`";
}

def Sdy_DimMapping : Sdy_Attr<"DimMapping", "dim_mapping"> {
  let summary = "the factors that a dimension is made of, from major to minor";
  let parameters = (ins OptionalArrayRefParameter<"int64_t">:$factor_indices);
  let hasCustomAssemblyFormat = 1;
}
def Sdy_TensorMapping : Sdy_Attr<"TensorMapping", "tensor_mapping"> {
  let summary = "the factors of each dimension of a tensor";
  let parameters = (ins OptionalArrayRefParameter<"DimMappingAttr">:$dim_mappings);
  let assemblyFormat = "`` `[` (`]`) : ($dim_mappings^ `]`)? ``";
}
def Sdy_OpShardingRule : Sdy_Attr<"OpShardingRule", "op_sharding_rule"> {
  let summary = "how shardings of an operation's operands and results go together";
  let parameters = (ins OptionalArrayRefParameter<"int64_t">:$factor_sizes,
      OptionalArrayRefParameter<"TensorMappingAttr">:$operand_mappings,
      OptionalArrayRefParameter<"TensorMappingAttr">:$result_mappings,
      OptionalArrayRefParameter<"int64_t">:$reduction_factors,
      OptionalArrayRefParameter<"int64_t">:$need_replication_factors,
      OptionalArrayRefParameter<"int64_t">:$permutation_factors,
      OptionalArrayRefParameter<"int64_t">:$blocked_propagation_factors,
      DefaultValuedParameter<"bool", "false">:$is_custom_rule);
  let assemblyFormat = [{
    `<` `(` $operand_mappings `)` `` `->` `` `(` $result_mappings `)` ``
        custom<FactorSizes>($factor_sizes) ``
        custom<FactorsWithType>($reduction_factors, "\"reduction\"") ``
        custom<FactorsWithType>($need_replication_factors, "\"need_replication\"") ``
        custom<FactorsWithType>($permutation_factors, "\"permutation\"") ``
        custom<FactorsWithType>($blocked_propagation_factors, "\"blocked_propagation\"") ``
        custom<IsCustomRule>($is_custom_rule) `>`
  }];
}

def Sdy_AxisRefList : ArrayOfAttr<Sdy_Dialect, "AxisRefList", "axis_ref_list", "AxisRefAttr"> {
  let assemblyFormat = "`{` (`}`) : ($value^ `` `}`)?";
}
def Sdy_ListOfAxisRefLists : ArrayOfAttr<Sdy_Dialect, "ListOfAxisRefLists",
                                         "list_of_axis_ref_lists", "AxisRefListAttr">;
def Sdy_AllToAllParam : Sdy_Attr<"AllToAllParam", "all_to_all_param"> {
  let summary = "axes that move from one dimension to another";
  let parameters = (ins ArrayRefParameter<"AxisRefAttr">:$axes, "int64_t":$src_dim,
      "int64_t":$tgt_dim);
  let assemblyFormat = "`` `{` $axes `}` `` `:` $src_dim `` `->` `` $tgt_dim";
}
def Sdy_AllToAllParamList : ArrayOfAttr<Sdy_Dialect, "AllToAllParamList", "all_to_all_param_list",
                                        "AllToAllParamAttr">;

// ---- Operations ---------------------------------------------------------------------------------

class Sdy_Op<string mnemonic, list<Trait> traits = []> : Op<Sdy_Dialect, mnemonic, traits>;

def Sdy_MeshOp : Sdy_Op<"mesh", [Symbol]> {
  let summary = "names a mesh";
  let arguments = (ins SymbolNameAttr:$sym_name, Sdy_Mesh:$mesh);
  let assemblyFormat = "$sym_name `=` $mesh attr-dict";
}

// The operand, spread as the sharding says.
class Sdy_ShardingOp<string mnemonic, list<Trait> traits = []>
    : Sdy_Op<mnemonic, !listconcat(traits, [SameOperandsAndResultType,
          DeclareOpInterfaceMethods<SymbolUserOpInterface>])> {
  let arguments = (ins AnyType:$input, Sdy_TensorSharding:$sharding);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$input $sharding attr-dict `:` type($result)";
}
def Sdy_ShardingConstraintOp : Sdy_ShardingOp<"sharding_constraint"> {
  let summary = "the operand, whose sharding must be this one";
}
def Sdy_ReshardOp : Sdy_ShardingOp<"reshard", [Pure]> {
  let summary = "the operand, moved to this sharding";
}

def Sdy_ReturnOp : Sdy_Op<"return", [Pure, ReturnLike, Terminator]> {
  let summary = "gives the results of a region";
  let arguments = (ins Variadic<AnyType>:$results);
  let assemblyFormat = "attr-dict ($results^ `:` type($results))?";
}
def Sdy_ManualComputationOp : Sdy_Op<"manual_computation", [RecursiveMemoryEffects,
    SingleBlockImplicitTerminator<"ReturnOp">, IsolatedFromAbove,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a region that computes with the part of each value that a device has";
  let arguments = (ins Variadic<AnyType>:$tensors, Sdy_TensorShardingPerValue:$in_shardings,
      Sdy_TensorShardingPerValue:$out_shardings, Sdy_ManualAxes:$manual_axes);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasVerifier = 1;
  let assemblyFormat = [{
    `(` operands `)`
    `in_shardings` `` `=` `` custom<StrippedTensorShardingPerValueAttr>($in_shardings)
    `out_shardings` `` `=` `` custom<StrippedTensorShardingPerValueAttr>($out_shardings)
    `manual_axes` `` `=` `` $manual_axes custom<SingleBlockRegionNoBlockId>($body) attr-dict
    `:` functional-type(operands, results)
  }];
}
def Sdy_NamedComputationOp : Sdy_Op<"named_computation", [RecursiveMemoryEffects,
    RecursivelySpeculatable, SingleBlockImplicitTerminator<"ReturnOp">, IsolatedFromAbove]> {
  let summary = "a region with a name";
  let arguments = (ins StrAttr:$name, Variadic<AnyType>:$operands,
      OptionalAttr<Sdy_TensorShardingPerValue>:$in_shardings,
      OptionalAttr<Sdy_TensorShardingPerValue>:$out_shardings);
  let results = (outs Variadic<AnyType>);
  let regions = (region SizedRegion<1>:$body);
  let hasVerifier = 1;
  let assemblyFormat = [{
    `<` $name `>` `` `(` $operands `)`
    (`in_shardings` `` `=` `` custom<StrippedTensorShardingPerValueAttr>($in_shardings)^)?
    (`out_shardings` `` `=` `` custom<StrippedTensorShardingPerValueAttr>($out_shardings)^)?
    custom<SingleBlockRegionNoBlockId>($body) attr-dict `:` functional-type($operands, results)
  }];
}
def Sdy_ShardingGroupOp : Sdy_Op<"sharding_group"> {
  let summary = "all values of a group are spread alike";
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$group_id);
  let assemblyFormat = "$input `group_id` `` `=` `` $group_id attr-dict `:` type($input)";
}
def Sdy_ConstantOp : Sdy_Op<"constant", [Pure]> {
  let summary = "a constant that is not shared, so that each use has a sharding of its own";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs AnyStaticShapeTensor:$output);
  let hasCustomAssemblyFormat = 1;
}
def Sdy_DataFlowEdgeOp : Sdy_Op<"data_flow_edge", [SameOperandsAndResultType]> {
  let summary = "a place between a region's inside and outside that has a sharding";
  let arguments = (ins AnyShaped:$input, OptionalAttr<Sdy_TensorSharding>:$sharding);
  let results = (outs AnyShaped:$result);
  let assemblyFormat = "$input (`sharding` `` `=` `` $sharding^)? attr-dict `:` type($result)";
}
def Sdy_FuncDataFlowEdgeOp : Sdy_Op<"func_data_flow_edge", [SameOperandsAndResultType]> {
  let summary = "the same at a function's argument or result";
  let arguments = (ins AnyShaped:$operand);
  let results = (outs AnyShaped:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
}
def Sdy_PropagationBarrierOp : Sdy_Op<"propagation_barrier", [Pure, SameOperandsAndResultType]> {
  let summary = "the operand, past which shardings flow in one direction only";
  let arguments = (ins AnyRankedTensor:$input, Sdy_PropagationDirection:$allowed_direction);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $input `allowed_direction` `` `=` `` $allowed_direction attr-dict `:` type($input)
  }];
}

// Communication that takes a value from one sharding to another.
class Sdy_CollectiveOp<string mnemonic, dag attributes, string before>
    : Sdy_Op<mnemonic, [SameOperandsAndResultType,
          DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let arguments = !con((ins AnyShaped:$tensor), attributes,
                       (ins Sdy_TensorSharding:$out_sharding));
  let results = (outs AnyShaped:$result);
  let assemblyFormat = before #
      " $tensor `out_sharding` `` `=` `` $out_sharding attr-dict `:` type($result)";
}
def Sdy_AllGatherOp : Sdy_CollectiveOp<"all_gather",
    (ins Sdy_ListOfAxisRefLists:$gathering_axes), "$gathering_axes"> {
  let summary = "gathers dimensions along axes";
}
def Sdy_AllSliceOp : Sdy_CollectiveOp<"all_slice",
    (ins Sdy_ListOfAxisRefLists:$slicing_axes), "$slicing_axes"> {
  let summary = "cuts dimensions along axes";
}
def Sdy_AllToAllOp : Sdy_CollectiveOp<"all_to_all", (ins Sdy_AllToAllParamList:$params),
    "$params"> {
  let summary = "moves axes between dimensions";
}
def Sdy_CollectivePermuteOp : Sdy_CollectiveOp<"collective_permute", (ins), ""> {
  let summary = "sends each part elsewhere";
}
def Sdy_AllReduceOp : Sdy_CollectiveOp<"all_reduce", (ins Sdy_AxisRefList:$reduction_axes,
    DefaultValuedAttr<Sdy_ReductionOp, "::isthmus::sdy::ReductionOp::SUM">:$reduction_op),
    "($reduction_op^)? $reduction_axes"> {
  let summary = "combines partial values along axes";
}
def Sdy_ReduceScatterOp : Sdy_CollectiveOp<"reduce_scatter",
    (ins Sdy_ListOfAxisRefLists:$reduce_scatter_axes,
     DefaultValuedAttr<Sdy_ReductionOp, "::isthmus::sdy::ReductionOp::SUM">:$reduction_op),
    "($reduction_op^)? $reduce_scatter_axes"> {
  let summary = "combines partial values along axes and cuts dimensions along them";
}
def Sdy_ShardedToUnreducedOp : Sdy_CollectiveOp<"sharded_to_unreduced",
    (ins Sdy_ListOfAxisRefLists:$axes), "$axes"> {
  let summary = "makes parts partial values";
}
def Sdy_ReplicatedToUnreducedOp : Sdy_CollectiveOp<"replicated_to_unreduced",
    (ins Sdy_AxisRefList:$axes), "$axes"> {
  let summary = "makes copies partial values";
}

// The attributes and types of the StableHLO dialect.
#ifndef ISTHMUS_OPS_ATTRIBUTES_TD
#define ISTHMUS_OPS_ATTRIBUTES_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/TensorEncoding.td"
include "ops/enums.td"

// ---- Types --------------------------------------------------------------------------------------

class Shlo_Type<string name, string text> : TypeDef<Shlo_Dialect, name> { let mnemonic = text; }

def Shlo_Token : Shlo_Type<"Token", "token"> {
  let summary = "orders operations that have effects";
}

def Shlo_Future : Shlo_Type<"Future", "future"> {
  let summary = "values that an asynchronous operation will give";
  let parameters = (ins ArrayRefParameter<"::mlir::Type">:$types);
  let assemblyFormat = "`<` $types `>`";
}

// ---- Attributes ---------------------------------------------------------------------------------

class Shlo_Attr<string name, string text, list<Trait> traits = []>
    : AttrDef<Shlo_Dialect, name, traits> { let mnemonic = text; }

// Written `[0, 1]`; an unknown size is `?`.
def Shlo_Dims : ArrayRefParameter<"int64_t", "dimensions"> {
  let parser = "::isthmus::shlo::parseDimSizes($_parser)";
  let printer = "::isthmus::shlo::printDimSizes($_printer, $_self)";
}

def Shlo_ScatterDimensionNumbers : Shlo_Attr<"ScatterDimensionNumbers", "scatter"> {
  let summary = "which dimensions of scatter's operands mean what";
  let parameters = (ins Shlo_Dims:$updateWindowDims, Shlo_Dims:$insertedWindowDims,
      Shlo_Dims:$inputBatchingDims, Shlo_Dims:$scatterIndicesBatchingDims,
      Shlo_Dims:$scatterDimsToOperandDims, "int64_t":$indexVectorDim);
  let hasCustomAssemblyFormat = 1;
}

def Shlo_GatherDimensionNumbers : Shlo_Attr<"GatherDimensionNumbers", "gather"> {
  let summary = "which dimensions of gather's operands mean what";
  let parameters = (ins Shlo_Dims:$offsetDims, Shlo_Dims:$collapsedSliceDims,
      Shlo_Dims:$operandBatchingDims, Shlo_Dims:$startIndicesBatchingDims,
      Shlo_Dims:$startIndexMap, "int64_t":$indexVectorDim);
  let hasCustomAssemblyFormat = 1;
}

def Shlo_DotDimensionNumbers : Shlo_Attr<"DotDimensionNumbers", "dot"> {
  let summary = "which dimensions a contraction batches over and which it sums over";
  let parameters = (ins Shlo_Dims:$lhsBatchingDimensions, Shlo_Dims:$rhsBatchingDimensions,
      Shlo_Dims:$lhsContractingDimensions, Shlo_Dims:$rhsContractingDimensions);
  let hasCustomAssemblyFormat = 1;
}

def Shlo_DotAlgorithm : Shlo_Attr<"DotAlgorithm", "dot_algorithm"> {
  let summary = "with which types and in how many steps a contraction is computed";
  let parameters = (ins "::mlir::Type":$lhsPrecisionType, "::mlir::Type":$rhsPrecisionType,
      "::mlir::Type":$accumulationType, "int64_t":$lhsComponentCount,
      "int64_t":$rhsComponentCount, "int64_t":$numPrimitiveOperations,
      "bool":$allowImpreciseAccumulation);
  let assemblyFormat = [{
    `<` `lhs_precision_type` `=` $lhsPrecisionType `,`
        `rhs_precision_type` `=` $rhsPrecisionType `,`
        `accumulation_type` `=` $accumulationType `,`
        `lhs_component_count` `=` $lhsComponentCount `,`
        `rhs_component_count` `=` $rhsComponentCount `,`
        `num_primitive_operations` `=` $numPrimitiveOperations `,`
        `allow_imprecise_accumulation` `=` $allowImpreciseAccumulation `>`
  }];
  let genVerifyDecl = 1;
}

def Shlo_OutputOperandAlias : Shlo_Attr<"OutputOperandAlias", "output_operand_alias"> {
  let summary = "an output of a custom call that is written into the memory of an operand";
  let parameters = (ins Shlo_Dims:$outputTupleIndices, "int64_t":$operandIndex,
      Shlo_Dims:$operandTupleIndices);
  let assemblyFormat = [{
    `<` `output_tuple_indices` `=` $outputTupleIndices `,` `operand_index` `=` $operandIndex `,`
        `operand_tuple_indices` `=` $operandTupleIndices `>`
  }];
}

def Shlo_ChannelHandle : Shlo_Attr<"ChannelHandle", "channel_handle"> {
  let summary = "names a communication channel; a handle that is not positive names none";
  let parameters = (ins "int64_t":$handle, "int64_t":$type);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Shlo_TypeExtensions : Shlo_Attr<"TypeExtensions", "type_extensions",
    [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "upper bounds of the dynamic dimensions of a tensor type";
  let description = [{
    One bound for each dimension, in the type's encoding. The bound of a static dimension, and a
    bound that is not known, is `ShapedType::kDynamic`, written `?`.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$bounds);
  let hasCustomAssemblyFormat = 1;
}

def Shlo_ConvDimensionNumbers : Shlo_Attr<"ConvDimensionNumbers", "conv"> {
  let summary = "which dimensions of a convolution's operands and result mean what";
  let parameters = (ins "int64_t":$inputBatchDimension, "int64_t":$inputFeatureDimension,
      Shlo_Dims:$inputSpatialDimensions, "int64_t":$kernelInputFeatureDimension,
      "int64_t":$kernelOutputFeatureDimension, Shlo_Dims:$kernelSpatialDimensions,
      "int64_t":$outputBatchDimension, "int64_t":$outputFeatureDimension,
      Shlo_Dims:$outputSpatialDimensions);
  let hasCustomAssemblyFormat = 1;
}

def Shlo_ResultAccuracyAttr : Shlo_Attr<"ResultAccuracy", "result_accuracy"> {
  let summary = "the accuracy asked of a transcendental function";
  let parameters = (ins "::llvm::APFloat":$atol, "::llvm::APFloat":$rtol, "int64_t":$ulps,
      Shlo_ResultAccuracyModeAttr:$mode);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let constBuilderCall = "::isthmus::shlo::ResultAccuracyAttr::get($_builder.getContext(), $0)";
  let builders = [
    AttrBuilder<(ins CArg<"::isthmus::shlo::ResultAccuracyMode",
                          "::isthmus::shlo::ResultAccuracyMode::DEFAULT">:$mode)>,
    AttrBuilder<(ins "::llvm::APFloat":$atol, "::llvm::APFloat":$rtol, "int64_t":$ulps)>];
}

// ---- Meshes, in which newer programs say their replica groups ------------------------------------

def Shlo_SubAxisInfo : Shlo_Attr<"SubAxisInfo", "sub_axis_info"> {
  let summary = "which part of a mesh axis";
  let parameters = (ins "int64_t":$pre_size, "int64_t":$size);
  let assemblyFormat = "`(` $pre_size `)` `` $size";
}

def Shlo_AxisRef : Shlo_Attr<"AxisRef", "axis_ref"> {
  let summary = "a mesh axis, or a part of one";
  let parameters = (ins StringRefParameter<"axis">:$name,
      OptionalParameter<"SubAxisInfoAttr">:$sub_axis_info);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Shlo_MeshAxis : Shlo_Attr<"MeshAxis", "mesh_axis"> {
  let summary = "one axis of a mesh";
  let parameters = (ins StringRefParameter<"name">:$name, "int64_t":$size);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Shlo_Mesh : Shlo_Attr<"Mesh", "mesh"> {
  let summary = "a mesh of devices";
  let parameters = (ins ArrayRefParameter<"MeshAxisAttr">:$axes,
      OptionalParameter<"::mlir::DenseIntElementsAttr">:$device_ids);
  let assemblyFormat = [{
    `<` `axes` `` `=` `` `[` $axes `]` (`,` `device_ids` `` `=` `` $device_ids^)? `>`
  }];
}

def Shlo_ReplicaGroupMeshAxes : Shlo_Attr<"ReplicaGroupMeshAxes", "replica_group_mesh_axes"> {
  let summary = "replica groups said by the axes of a mesh";
  let parameters = (ins "::mlir::Attribute":$mesh, "::mlir::ArrayAttr":$axes);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

// A dense table of ids, one row per group, or axes of a mesh.
def Shlo_ReplicaGroups : AnyAttrOf<[I64ElementsAttr, Shlo_ReplicaGroupMeshAxes]>;

// ---- Constraints on builtin attributes ----------------------------------------------------------

def Shlo_LayoutAttr : Attr<CPred<"::isthmus::shlo::isIndexVector($_self)">,
                           "1-dimensional tensor of index values"> {
  let storageType = "::mlir::DenseIntElementsAttr";
  let returnType = "::mlir::DenseIntElementsAttr";
  let convertFromStorage = "$_self";
}
def Shlo_ArrayOfLayoutAttr : TypedArrayAttrBase<Shlo_LayoutAttr, "array of layouts">;
def Shlo_TilingAttr : TypedArrayAttrBase<Shlo_LayoutAttr, "array of tiles">;
def Shlo_ArrayOfTilingAttr : TypedArrayAttrBase<Shlo_TilingAttr, "array of tilings">;
def Shlo_SymbolArrayAttr : TypedArrayAttrBase<FlatSymbolRefAttr, "array of flat symbols"> {
  let constBuilderCall = "::mlir::ArrayAttr::get($_builder.getContext(), $0)";
}
def Shlo_AliasArrayAttr
    : TypedArrayAttrBase<Shlo_OutputOperandAlias, "array of output-operand aliases">;

#endif

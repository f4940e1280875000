// Communication between the devices that run a program, and with the host.
include "ops/base.td"

class Shlo_ResourceOf<string name> : Resource<"::isthmus::shlo::" # name # "Resource">;
def Shlo_InfeedResource : Shlo_ResourceOf<"Infeed">;
def Shlo_OutfeedResource : Shlo_ResourceOf<"Outfeed">;
def Shlo_SendResource : Shlo_ResourceOf<"Send">;
def Shlo_RecvResource : Shlo_ResourceOf<"Recv">;

// ---- Tokens and transfers -----------------------------------------------------------------------

def Shlo_AfterAllOp : Shlo_Op<"after_all", [Pure, Shlo_Infers]> {
  let summary = "a token that comes after all of the given ones";
  let evaluator = [{evaluateToken}];
  let lowering = "token";
  let arguments = (ins Variadic<Shlo_TokenValue>:$inputs);
  let results = (outs Shlo_TokenValue:$result);
  let assemblyFormat = [{
    $inputs attr-dict
      `:` custom<VariadicSameOperandsAndResultType>(ref($inputs), type($inputs), type($result))
  }];
}
def Shlo_CreateTokenOp : Shlo_Op<"create_token", [Pure, Shlo_Infers]> {
  let summary = "a first token (legacy)";
  let evaluator = [{evaluateToken}];
  let lowering = "token";
  let results = (outs Shlo_TokenValue:$output);
  let assemblyFormat = "attr-dict `:` type(results)";
}
def Shlo_InfeedOp : Shlo_Op<"infeed",
    [MemoryEffects<[MemRead<Shlo_InfeedResource>, MemWrite<Shlo_InfeedResource>]>]> {
  let summary = "values from the infeed";
  let evaluator = [{evaluateInfeed}];
  let lowering = "transfer";
  let rules = [
    "c1: there is a result",
    "c2: all results but the last are tensors",
    "c3: the last result is a token",
    "i2: there is a layout for each tensor"];
  let arguments = (ins Shlo_TokenValue:$token, DefaultValuedStrAttr<StrAttr, "">:$infeed_config,
      OptionalAttr<ArrayAttr>:$layout);
  let results = (outs Variadic<Shlo_StaticTensorOrToken>);
  let hasVerifier = 1;
}
def Shlo_OutfeedOp : Shlo_Op<"outfeed", [Shlo_Infers,
    MemoryEffects<[MemRead<Shlo_OutfeedResource>, MemWrite<Shlo_OutfeedResource>]>]> {
  let summary = "values to the outfeed";
  let evaluator = [{evaluateOutfeed}];
  let lowering = "transfer";
  let arguments = (ins Variadic<Shlo_TensorOrPerAxis>:$inputs, Shlo_TokenValue:$token,
      DefaultValuedStrAttr<StrAttr, "">:$outfeed_config);
  let results = (outs Shlo_TokenValue:$result);
}
def Shlo_SendOp : Shlo_Op<"send", [Shlo_Infers,
    MemoryEffects<[MemRead<Shlo_SendResource>, MemWrite<Shlo_SendResource>]>]> {
  let summary = "values to a channel";
  let evaluator = [{evaluateSend}];
  let lowering = "transfer";
  let rules = [
    "c1: source_target_pairs are pairs",
    "c2: sources are unique",
    "c3: targets are unique",
    "c4: ids are not negative",
    "c5: the channel goes to a device, or to the host"];
  let arguments = (ins Variadic<Shlo_TensorOrPerAxis>:$inputs, Shlo_TokenValue:$token,
      Shlo_ChannelHandle:$channel_handle,
      DefaultValuedOptionalAttr<BoolAttr, "false">:$is_host_transfer,
      OptionalAttr<I64ElementsAttr>:$source_target_pairs);
  let results = (outs Shlo_TokenValue:$result);
}
def Shlo_RecvOp : Shlo_Op<"recv",
    [MemoryEffects<[MemRead<Shlo_RecvResource>, MemWrite<Shlo_RecvResource>]>]> {
  let summary = "values from a channel";
  let evaluator = [{evaluateRecv}];
  let lowering = "transfer";
  let rules = [
    "c1: source_target_pairs are pairs",
    "c2: sources are unique",
    "c3: targets are unique",
    "c4: ids are not negative",
    "c5: the channel comes from a device, or from the host"];
  let arguments = (ins Shlo_TokenValue:$token, Shlo_ChannelHandle:$channel_handle,
      DefaultValuedOptionalAttr<BoolAttr, "false">:$is_host_transfer,
      OptionalAttr<I64ElementsAttr>:$source_target_pairs);
  let results = (outs Variadic<Shlo_StaticTensorOrToken>);
  let hasVerifier = 1;
}

// ---- The process grid ---------------------------------------------------------------------------

def Shlo_PartitionIdOp : Shlo_Op<"partition_id", [Pure, Shlo_Infers]> {
  let summary = "number of the partition that runs";
  let evaluator = [{evaluatePartitionId}];
  let lowering = "library";
  let results = (outs Shlo_UI32Tensor:$result);
  let assemblyFormat = "attr-dict `:` type(results)";
}
def Shlo_ReplicaIdOp : Shlo_Op<"replica_id", [Pure, Shlo_Infers]> {
  let summary = "number of the replica that runs";
  let evaluator = [{evaluateReplicaId}];
  let lowering = "library";
  let results = (outs Shlo_UI32Tensor:$result);
  let assemblyFormat = "attr-dict `:` type(results)";
}

// Replica groups may name a mesh of the module, which must be there.
def Shlo_NamesMesh : TraitList<[DeclareOpInterfaceMethods<SymbolUserOpInterface>]>;

// ---- Collectives. None is Pure: all devices of a group must reach each of them. ------------------

def Shlo_AllGatherOp : Shlo_Op<"all_gather", [Shlo_PairwiseElementType, Shlo_NamesMesh]> {
  let summary = "the group's operands concatenated along a dimension";
  let evaluator = [{evaluateAllGather}];
  let lowering = "collective";
  let sharding = [{rule<collectiveRule>}];
  let rules = [
    "c1: all_gather_dim is a dimension of the operands",
    "c2: ids are unique",
    "c4: ids are 0 to n - 1",
    "c5: global ids need a channel",
    "c6: results differ along all_gather_dim alone, by a factor",
    "i3: replica_groups are a table"];
  let arguments = (ins Variadic<Shlo_Tensor>:$operands,
      ConfinedAttr<I64Attr, [IntNonNegative]>:$all_gather_dim,
      Shlo_ReplicaGroups:$replica_groups, OptionalAttr<Shlo_ChannelHandle>:$channel_handle,
      UnitAttr:$use_global_device_ids);
  let results = (outs Variadic<Shlo_Tensor>);
  let hasVerifier = 1;
}
def Shlo_AllReduceOp : Shlo_Op<"all_reduce",
    [SingleBlockImplicitTerminator<"ReturnOp">, Shlo_Infers, Shlo_NamesMesh]> {
  let summary = "the group's operands combined element by element";
  let evaluator = [{evaluateAllReduce}];
  let inPlace = "pairwise";
  let lowering = "collective";
  let sharding = [{rule<collectiveRule>}];
  let rules = [
    "c1: ids are unique",
    "c3: ids are 0 to n - 1, or -1 to fill up",
    "c4: global ids need a channel",
    "c5: the region takes two scalars and gives one",
    "c6: results have the operands' shapes",
    "c7: results have the region's element type",
    "i1: there is an operand",
    "i2: replica_groups are a table"];
  let resultRules = ["c6", "c7"];
  let arguments = (ins Variadic<Shlo_Tensor>:$operands, Shlo_ReplicaGroups:$replica_groups,
      OptionalAttr<Shlo_ChannelHandle>:$channel_handle, UnitAttr:$use_global_device_ids);
  let regions = (region SizedRegion<1>:$computation);
  let results = (outs Variadic<Shlo_Tensor>);
  let hasVerifier = 1;
}
def Shlo_AllToAllOp : Shlo_Op<"all_to_all",
    [Shlo_PairwiseElementType, Shlo_Infers, Shlo_NamesMesh]> {
  let summary = "parts of the operands exchanged between all members of the group";
  let evaluator = [{evaluateAllToAll}];
  let lowering = "collective";
  let sharding = [{rule<collectiveRule>}];
  let rules = [
    "c1: split_dimension is a dimension of the operands",
    "c2: split_count divides the split dimension",
    "c3: concat_dimension is a dimension of the operands",
    "c4: split_count is positive",
    "c5: ids are unique",
    "c7: ids are 0 to n - 1",
    "c8: groups have split_count members",
    "c9: the split dimension shrinks and the concat dimension grows by split_count"];
  let resultRules = ["c9"];
  let arguments = (ins Variadic<Shlo_Tensor>:$operands,
      ConfinedAttr<I64Attr, [IntNonNegative]>:$split_dimension,
      ConfinedAttr<I64Attr, [IntNonNegative]>:$concat_dimension,
      ConfinedAttr<I64Attr, [IntPositive]>:$split_count, Shlo_ReplicaGroups:$replica_groups,
      OptionalAttr<Shlo_ChannelHandle>:$channel_handle);
  let results = (outs Variadic<Shlo_Tensor>);
}
def Shlo_CollectiveBroadcastOp : Shlo_Op<"collective_broadcast", [Shlo_Infers, Shlo_NamesMesh]> {
  let summary = "the operands of one member of the group, on all of them";
  let evaluator = [{evaluateCollectiveBroadcast}];
  let lowering = "collective";
  let sharding = [{rule<collectiveRule>}];
  let since = "0.16.0";
  let rules = [
    "c1: ids are unique",
    "c2: ids are not negative",
    "c3: there is an operand",
    "c4: a dynamic root comes after the operands",
    "i2: replica_groups are a table"];
  let arguments = (ins Variadic<Shlo_Tensor>:$operands, Shlo_ReplicaGroups:$replica_groups,
      OptionalAttr<Shlo_ChannelHandle>:$channel_handle, UnitAttr:$has_dynamic_root);
  let results = (outs Variadic<Shlo_Tensor>);
  let hasVerifier = 1;
}
def Shlo_CollectivePermuteOp : Shlo_Op<"collective_permute",
    [SameOperandsAndResultElementType, Shlo_Infers]> {
  let summary = "the operand sent from sources to targets";
  let evaluator = [{evaluateCollectivePermute}];
  let lowering = "collective";
  let sharding = [{rule<collectiveRule>}];
  let rules = [
    "c1: source_target_pairs are pairs",
    "c2: sources are unique",
    "c3: targets are unique",
    "c4: ids are not negative"];
  let arguments = (ins Shlo_Tensor:$operand, I64ElementsAttr:$source_target_pairs,
      OptionalAttr<Shlo_ChannelHandle>:$channel_handle);
  let results = (outs Shlo_Tensor:$result);
  let hasVerifier = 1;
}
def Shlo_CollectiveReduceOp : Shlo_Op<"collective_reduce",
    [SingleBlockImplicitTerminator<"ReturnOp">, Shlo_Infers, Shlo_NamesMesh]> {
  let summary = "the group's operands combined, on one member of it";
  let evaluator = [{evaluateCollectiveReduce}];
  let lowering = "collective";
  let since = "1.19.0";
  let rules = [
    "c1: ids are unique",
    "c2: ids are 0 to n - 1, or -1 to fill up",
    "c3: a dynamic root comes after the operands",
    "c4: the region takes two scalars and gives one",
    "i2: replica_groups are a table",
    "i4: global ids need a channel"];
  let arguments = (ins Variadic<Shlo_Tensor>:$operands, Shlo_ReplicaGroups:$replica_groups,
      OptionalAttr<Shlo_ChannelHandle>:$channel_handle, UnitAttr:$use_global_device_ids,
      UnitAttr:$has_dynamic_root);
  let regions = (region SizedRegion<1>:$computation);
  let results = (outs Variadic<Shlo_Tensor>);
  let hasVerifier = 1;
}
def Shlo_CrossReplicaSumOp : Shlo_Op<"cross-replica-sum", [Pure, Shlo_SameType]> {
  let summary = "the sum over replicas (legacy)";
  let evaluator = [{evaluateCrossReplicaSum}];
  let lowering = "collective";
  let arguments = (ins Shlo_Tensor:$operand, I64ElementsAttr:$replica_groups);
  let results = (outs Shlo_Tensor:$result);
}
def Shlo_ReduceScatterOp : Shlo_Op<"reduce_scatter", [Shlo_NamesMesh]> {
  let summary = "the group's operands combined, a part of the result on each member";
  let evaluator = [{evaluateReduceScatter}];
  let lowering = "collective";
  let sharding = [{rule<collectiveRule>}];
  let rules = [
    "c2: scatter_dimension is a dimension of the operand",
    "c3: ids are unique",
    "c5: ids are 0 to n - 1",
    "c6: global ids need a channel",
    "c7: the region takes two scalars and gives one",
    "c8: the result differs along scatter_dimension alone, which it divides",
    "c9: the result has the region's element type",
    "i3: replica_groups are a table"];
  let arguments = (ins Shlo_Tensor:$operand,
      ConfinedAttr<I64Attr, [IntNonNegative]>:$scatter_dimension,
      Shlo_ReplicaGroups:$replica_groups, OptionalAttr<Shlo_ChannelHandle>:$channel_handle,
      UnitAttr:$use_global_device_ids);
  let regions = (region SizedRegion<1>:$computation);
  let results = (outs Shlo_Tensor:$result);
  let hasVerifier = 1;
}

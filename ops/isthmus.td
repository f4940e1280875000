// What the compiler's middle makes of StableHLO: regions that become one kernel each.
#ifndef ISTHMUS_OPS_ISTHMUS_TD
#define ISTHMUS_OPS_ISTHMUS_TD

include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Isthmus_Dialect : Dialect {
  let name = "isthmus";
  let cppNamespace = "::isthmus::ir";
  let summary = "Fused regions.";
  let useDefaultAttributePrinterParser = 1;
}

class Isthmus_Case<string name, int value, string text> : I32EnumAttrCase<name, value, text>;

def Isthmus_FusionKind : I32EnumAttr<"FusionKind", "how a fused region is turned into a kernel", [
    Isthmus_Case<"kLoop", 0, "loop">, Isthmus_Case<"kReduce", 1, "reduce">,
    Isthmus_Case<"kRow", 2, "row">, Isthmus_Case<"kTranspose", 3, "transpose">,
    Isthmus_Case<"kScatter", 4, "scatter">, Isthmus_Case<"kUpdateSlice", 5, "update_slice">,
    Isthmus_Case<"kDot", 6, "dot">, Isthmus_Case<"kConv", 7, "conv">]> {
  let genSpecializedAttr = 0;
  let cppNamespace = "::isthmus::ir";
}
def Isthmus_FusionKindAttr : EnumAttr<Isthmus_Dialect, Isthmus_FusionKind, "fusion_kind"> {
  let assemblyFormat = "`<` $value `>`";
}

class Isthmus_Op<string mnemonic, list<Trait> traits = []>
    : Op<Isthmus_Dialect, mnemonic, traits>;

def Isthmus_FusionOp : Isthmus_Op<"fusion", [IsolatedFromAbove, RecursiveMemoryEffects,
    RecursivelySpeculatable, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "a region that becomes one kernel";
  let description = [{
    The block's arguments are the operands one to one, in type too; what isthmus.yield gives is the
    results. The region computes with StableHLO operations.

    | kind | its kernel |
    | --- | --- |
    | loop | one loop over the results' common iteration space |
    | reduce | a reduction with what is computed before and after it |
    | row | several passes over one row that stays in cache |
    | transpose | a blocked transposition |
    | scatter | a scatter into its first operands |
    | update_slice | a dynamic_update_slice in place |
    | dot, conv | a contraction with what is computed before and after it |
  }];
  let arguments = (ins Variadic<AnyType>:$operands, Isthmus_FusionKindAttr:$kind);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<AnyType>:$results);
  let hasVerifier = 1;
}

def Isthmus_YieldOp : Isthmus_Op<"yield", [Pure, Terminator, HasParent<"FusionOp">]> {
  let summary = "gives the results of a fusion";
  let arguments = (ins Variadic<AnyType>:$operands);
  let assemblyFormat = "attr-dict ($operands^ `:` type($operands))?";
}

#endif

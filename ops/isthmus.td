// What the compiler's middle makes of StableHLO: regions that become one kernel each.
#ifndef ISTHMUS_OPS_ISTHMUS_TD
#define ISTHMUS_OPS_ISTHMUS_TD

include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Isthmus_Dialect : Dialect {
  let name = "isthmus";
  let cppNamespace = "::isthmus::ir";
  let summary = "Fused regions.";
}

class Isthmus_Op<string mnemonic, list<Trait> traits = []>
    : Op<Isthmus_Dialect, mnemonic, traits>;

def Isthmus_FusionOp : Isthmus_Op<"fusion", [IsolatedFromAbove, RecursiveMemoryEffects,
    RecursivelySpeculatable, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "a region that becomes one kernel";
  let description = [{
    The block's arguments are the operands one to one, in type too; what isthmus.yield gives is the
    results. The region computes with StableHLO operations. A scatter or a dynamic_update_slice that
    is yielded is done in place of its operand where memory allows.

    `schedule` says how the kernel runs over its elements, a text for each stage
    (compiler/schedule/schedule.h). Without one, code generation chooses it.
  }];
  let arguments = (ins Variadic<AnyType>:$operands, OptionalAttr<StrArrayAttr>:$schedule);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<AnyType>:$results);
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    // Whether some result is an operand with parts of it overwritten.
    bool updatesInPlace();
  }];
}

def Isthmus_YieldOp : Isthmus_Op<"yield", [Pure, Terminator, HasParent<"FusionOp">]> {
  let summary = "gives the results of a fusion";
  let arguments = (ins Variadic<AnyType>:$operands);
  let assemblyFormat = "attr-dict ($operands^ `:` type($operands))?";
}

def Isthmus_AwaitOp : Isthmus_Op<"await"> {
  let summary = "waits for a collective that has set out";
  let description = [{
    The operands are those of the collective and its results: until here, their memory belongs to
    it. `number` is its `isthmus.started_as`.
  }];
  let arguments = (ins Variadic<AnyType>:$operands, I64Attr:$number);
  let assemblyFormat = "$number `:` $operands attr-dict `:` type($operands)";
}

#endif

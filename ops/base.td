// The base of every record of the op table, and traits that several operations have.
#ifndef ISTHMUS_OPS_BASE_TD
#define ISTHMUS_OPS_BASE_TD

include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "ops/attributes.td"
include "ops/facts.td"
include "ops/types.td"

class Shlo_NativeTrait<string name> : NativeOpTrait<name> {
  let cppNamespace = "::isthmus::shlo";
}

// The operation infers its result types by a function of compiler/dialect/rules/rules_*.cc.
def Shlo_Infers : TraitList<[DeclareOpInterfaceMethods<InferTypeOpInterface>]>;

// Operands and result have types that differ at most in what is not known statically.
def Shlo_SameType : TraitList<[
    Elementwise, InferTypeOpInterface, Shlo_NativeTrait<"CompatibleOperandsAndResultType">]>;
def Shlo_SameElementType : Shlo_NativeTrait<"CompatibleOperandsAndResultElementType">;
def Shlo_SameOperandElementType : Shlo_NativeTrait<"CompatibleOperandsElementType">;
// The i-th result has the type, or the element type, of the i-th operand.
def Shlo_PairwiseType : Shlo_NativeTrait<"PairwiseSameOperandAndResultType">;
def Shlo_PairwiseElementType : Shlo_NativeTrait<"PairwiseSameOperandAndResultElementType">;

// Regions that end in stablehlo.return and do not decide whether the operation has effects.
def Shlo_Body : TraitList<[
    RecursiveMemoryEffects, RecursivelySpeculatable, SingleBlockImplicitTerminator<"ReturnOp">]>;

// An operation of StableHLO. Beyond what MLIR asks of it, the record says:
class Shlo_Op<string mnemonic, list<Trait> traits = []>
    : Op<Shlo_Dialect, mnemonic, traits>, OpFacts {
  // The version of StableHLO that has it first; all older ones are "0.9.0".
  string since = "0.9.0";
  // The C++ function of compiler/reference that gives it its meaning.
  code evaluator = "";
  // Whether, of quantized operands, it computes with the real numbers that they stand for; else it
  // moves what is stored.
  bit computesWithReals = !eq(lowering, "elementwise");
  // The specification's rules, "c2: ...", and of its inputs, "i2: ...". What the specification
  // says in types and traits of the record itself is not repeated.
  list<string> rules = [];
  // The labels of the rules that say what the result types are, where they are inferred: about
  // shapes and, where that is another one, about element types. Inference tells their violation.
  list<string> resultRules = [];
  let extraClassDeclaration = !if(!empty(resultRules), "", [{
    static ::llvm::LogicalResult refineReturnTypes(
        ::mlir::MLIRContext* context, std::optional<::mlir::Location> location,
        ::mlir::ValueRange operands, ::mlir::DictionaryAttr attributes,
        ::mlir::OpaqueProperties properties, ::mlir::RegionRange regions,
        ::llvm::SmallVectorImpl<::mlir::Type>& types) {
      ::llvm::SmallVector<::mlir::Type> inferred;
      if (::mlir::failed(inferReturnTypes(context, location, operands, attributes, properties,
                                          regions, inferred))) {
        return ::mlir::failure();
      }
      return ::isthmus::shlo::verifyResults(location, getOperationName(), {"}] #
      !interleave(resultRules, "\", \"") # [{"}, inferred, types);
    }
  }]) # [{
    // Whether inferred result types agree with stated ones, up to what is dynamic.
    static bool isCompatibleReturnTypes(::mlir::TypeRange inferred, ::mlir::TypeRange stated) {
      return ::isthmus::shlo::areCompatible(inferred, stated);
    }
  }];
}

#endif

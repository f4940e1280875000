// The StableHLO dialect and the record that describes one of its operations.
#ifndef ISTHMUS_OPS_DIALECT_TD
#define ISTHMUS_OPS_DIALECT_TD

include "mlir/IR/OpBase.td"

def Shlo_Dialect : Dialect {
  let name = "stablehlo";
  let cppNamespace = "::isthmus::shlo";
  let summary = "The operations of OpenXLA's StableHLO specification, version 1.20.";
  // `#stablehlo.bounds<...>` does not follow MLIR's scheme.
  let useDefaultAttributePrinterParser = 0;
  let useDefaultTypePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let extraClassDeclaration = [{
    // Each family of operations registers itself from its own translation unit.
    template <typename... Ops>
    void addFamily() { addOperations<Ops...>(); }

    ::mlir::Attribute parseAttribute(::mlir::DialectAsmParser& parser,
                                     ::mlir::Type type) const override;
    void printAttribute(::mlir::Attribute attribute,
                        ::mlir::DialectAsmPrinter& printer) const override;

   private:
    void registerAttributes();
    void registerTypes();
   public:
  }];
}

#endif

// Turns one HLO instruction into StableHLO operations.
#pragma once

#include "compiler/import/hlo/computation_reader.h"

namespace isthmus::importer {

class InstructionReader {
 public:
  InstructionReader(ComputationReader& parent, const hlo::Instruction& instruction,
                    const ComputationReader::Values& values, mlir::Location location)
      : parent_(parent),
        builder_(parent.builder_),
        hlo_(instruction),
        values_(values),
        location_(location) {}

  // Adds the operations at the parent's insertion point and returns the leaves of their result.
  bool read(llvm::SmallVectorImpl<mlir::Value>& results);

 private:
  using Handler = bool (InstructionReader::*)();
  static Handler handlerOf(llvm::StringRef opcode);

  // Families of opcodes. Each fills results_.
  bool readSimple();  // the same operation without attributes
  bool readChlo();
  bool readTuple();
  bool readGetTupleElement();
  bool readFirstOperand();  // identities
  bool readConstant();
  bool readCompare();
  bool readShaped();  // data movement with dimensions
  bool readDynamicSlice();
  bool readDynamicUpdateSlice();
  bool readPad();
  bool readGather();
  bool readScatter();
  bool readReduction();
  bool readWindowed();
  bool readSort();
  bool readTopK();
  bool readControlFlow();
  bool readCall();
  bool readDot();
  bool readConvolution();
  bool readLinearAlgebra();
  bool readBatchNorm();
  bool readRandom();
  bool readFft();
  bool readPrecision();
  bool readDimensionSize();
  bool readCollective();
  bool readTupleAllToAll(mlir::ValueRange operands);
  bool readCustomCall();

  bool fail(const std::string& what) { return parent_.malformed(hlo_, what); }
  bool unsupported(const std::string& what);

  // Operands.
  const HloValue* operand(int index);
  // All leaves of all operands from `begin` to before `end` (all of them if negative).
  bool leaves(llvm::SmallVectorImpl<mlir::Value>& result, int begin = 0, int end = -1);

  bool splitStarts(llvm::SmallVectorImpl<mlir::Value>& operands, size_t first);
  // Puts a constraint after an operation whose results have shardings.
  bool constrainResults();

  // Attributes.
  void set(llvm::StringRef name, mlir::Attribute value) { attributes_.set(name, value); }
  void set(llvm::StringRef name, bool value) { set(name, builder_.getBoolAttr(value)); }
  void setI64(llvm::StringRef name, int64_t value) { set(name, builder_.getI64IntegerAttr(value)); }
  template <typename Repeated>
  void setI64s(llvm::StringRef name, const Repeated& values) {
    set(name,
        builder_.getDenseI64ArrayAttr(llvm::SmallVector<int64_t>(values.begin(), values.end())));
  }
  bool firstDimension(int64_t& dimension);
  void setPadding();  // from the window
  bool setReplicaGroups();
  bool setIotaReplicaGroups(const hlo::IotaReplicaGroupList& list);
  void setPrecision();

  // Adds the operation with the given regions, its results the leaves of the instruction's shape.
  bool emit(llvm::StringRef name, mlir::ValueRange operands,
            llvm::ArrayRef<int64_t> computations = {});

  ComputationReader& parent_;
  mlir::OpBuilder& builder_;
  const hlo::Instruction& hlo_;
  const ComputationReader::Values& values_;
  mlir::Location location_;
  mlir::NamedAttrList attributes_;
  llvm::SmallVector<mlir::Value> results_;
};

}  // namespace isthmus::importer

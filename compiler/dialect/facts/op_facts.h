// What the op table says of an operation apart from its meaning: how it is lowered, what it costs,
// what it does with memory. Every list of operations by such a property is a column of ops/*.td.
#pragma once

#include <cstdint>

#include "llvm/ADT/StringRef.h"
#include "mlir/IR/Operation.h"

namespace isthmus {

class IndexingBuilder;

// Each operation of StableHLO and CHLO by the name of its record, such as Shlo_AddOp.
#define GET_OpCode_DECL
#include "ops/op_facts.inc"

enum class FusionClass : uint8_t {
  // Element i of the result depends on element i of each operand (scalar operands of clamp and
  // select count as such).
  kElementwise,
  // Elements of the result are elements of the operands, found by index arithmetic: broadcast,
  // transpose, slice, pad, gather, ….
  kIndexed,
  // Same elements in the same row-major order: no work outside a kernel.
  kView,
  kReduce,
  // A window or a search per element of the result; consumers may join it, producers rarely.
  kWindow,
  kUpdateSlice,
  kScatter,
  kConstant,
  // Everything else: library functions, control flow, communication.
  kOpaque,
};

// What an operation means to the memory plan and to the program function.
enum class OpRole : uint8_t {
  kCompute,   // reads its operands, writes all of its results
  kConstant,  // its result is read-only data of the program
  kView,      // result i is operand i's memory, seen with another type
  kWhile,     // regions: condition, body
  kBranch,    // case and if: one region runs
  kNothing,   // computes no array: tokens, and calls that only use their operands
  kTerminator,
};

// What an element of the result counts as in a cost analysis.
enum class OpWork : uint8_t { kNone, kFlop, kTranscendental };

// Which operand's memory a result may take over: nobody's, that of the operand of its number, or
// the only result that of the first or second operand.
enum class InPlace : uint8_t { kNone, kPairwise, kFirst, kSecond };

// The number that leaves all others as they are when they are combined with it; of floats, the
// lowest and highest are infinite and zero is -0.
enum class Neutral : uint8_t { kNone, kZero, kOne, kLowest, kHighest, kAllOnes };

// Which devices other than CPUs compute an operation by kernels of ours. The host computes it for
// the others, but for what is never done there.
enum class KernelDevices : uint8_t { kNever, kNone, kGpus, kAll };

struct OpFacts {
  const char* name;  // without the dialect
  OpCode code;
  FusionClass fusionClass;  // of static shapes
  OpRole role;
  OpWork work;
  InPlace inPlace;
  uint8_t cost;  // vector instructions for each 4-byte element of the result, about
  uint8_t integerCost;
  bool isLibrary;     // a function of the backend's library, collectives among them
  bool isCollective;  // devices meet in it
  Neutral neutral;    // of an operation on two numbers
  bool isIdempotent;  // whether a number combined with itself by it is that number
  bool isContraction;
  bool readsPart;  // of its first operand, as many elements as its result has
  bool isDynamic;  // sizes of operands or of the result are computed by the program
  KernelDevices kernels;
  void (*indexing)(IndexingBuilder&);  // see indexing.h
};

// The row of the op table; null for operations of other dialects. Thread-safe.
const OpFacts* findOpFacts(mlir::Operation* op);
// By full name, "stablehlo.add".
const OpFacts* findOpFacts(llvm::StringRef name);
// The rows of StableHLO's operations, by name.
llvm::ArrayRef<OpFacts> allOpFacts();

FusionClass fusionClass(mlir::Operation* op);
OpRole roleOf(mlir::Operation* op);

// A loop or a branch, whose regions are run by a condition.
bool isControlFlow(mlir::Operation* op);
// dot_general and convolution; what is expanded into them is none.
bool isContraction(mlir::Operation* op);

// Whether the operation is computed by kernels that fusion makes: neither a library's, nor a view,
// nor a constant.
bool isKernel(mlir::Operation* op);

// Whether a kernel that computes `op` needs this operand as an array in memory, because it updates
// it in place or reads it wherever it likes.
bool needsMemory(mlir::Operation* op, unsigned operand);

// Whether result `result` may be written where operand `operand` is, once that has been read.
bool mayUpdateInPlace(mlir::Operation* op, unsigned operand, unsigned result);

}  // namespace isthmus

// What compilers ask of an operation whatever it means: how it is lowered, what it costs, what it
// does with memory. Both StableHLO's and CHLO's records have these fields; compiler/dialect/facts/op_facts.h
// is where the compiler reads them.
#ifndef ISTHMUS_OPS_FACTS_TD
#define ISTHMUS_OPS_FACTS_TD

class OpFacts {
  // How it gets to the machine, which decides how it fuses:
  //   elementwise   element i of the result is computed from element i of each operand
  //   indexed       elements of the result are elements of the operands, found by index arithmetic
  //   view          the operands' bytes under other types
  //   reduce        kernels with an accumulator for each element of the result
  //   window        kernels that look at a window of the operand for each element of the result
  //   update_slice  kernels that overwrite a block of their first operand
  //   scatter       kernels that combine values into their first operands
  //   constant      data of the program
  //   library       a function of the backend's library; the backend says which
  //   collective    a library function by which devices meet
  //   loop, branch  regions that run as often as a condition says, or one of them
  //   terminator    the end of a region
  //   transfer      infeed, outfeed, send and receive
  //   token         orders other operations, computes nothing
  //   expand        passes put other operations in its place; what is left of it is not implemented
  string lowering = "";
  // Vector instructions for each element of four bytes of the result, about; loads not counted.
  bits<8> cost = !if(!or(!eq(lowering, "view"), !eq(lowering, "constant")), 0, 1);
  bits<8> integerCost = cost;  // the same of integers
  // What an element of the result counts as in a cost analysis: "", flop or transcendental.
  string work = "";
  // Whose memory a result may take over although it is read by then: "" nobody's, "pairwise" result
  // i that of operand i, "first" or "second" the only result that of this operand. Kernels decide
  // more finely, by how they index.
  string inPlace = "";
  // Of two numbers combined in any order: "zero", "one", "lowest", "highest" or "all_ones", whichever
  // leaves all others as they are, and whether a number combined with itself is that number.
  string neutral = "";
  bit isIdempotent = 0;
  // Whether it sums products over dimensions of both operands.
  bit isContraction = 0;
  // Whether it reads but a part of its first operand, as large as its result.
  bit readsPart = 0;
  // Whether sizes of its operands or result are computed by the program.
  bit isDynamic = 0;
  // Which devices other than CPUs compute it by kernels of ours: "all", "gpu" for GPUs alone, "none"
  // that leave it to the host, or "never" where the host does not do it either.
  string kernels = !cond(
      !or(!eq(lowering, "library"), !eq(lowering, "collective")): "none",
      !eq(lowering, "transfer"): "never",
      true: "all");
  // The C++ rule (compiler/dialect/facts/indexing_rules.h) that says which elements of the operands an
  // element of a result is computed from.
  code indexing = !if(!eq(lowering, "elementwise"), "indexElementwise", "indexWhole");
  // The C++ rule (compiler/partition/rules/factor_rules.h) that says how shardings of its operands
  // and results go together. Without one, partitioning knows the operation itself or replicates it.
  code sharding = !if(!eq(lowering, "elementwise"), "rule<mappedRule>", "nullptr");

  // The C++ of the above.
  code opCode = "OpCode::" # NAME;
  code fusionClass = "FusionClass::" # !cond(
      !eq(lowering, "elementwise"): "kElementwise",
      !eq(lowering, "indexed"): "kIndexed",
      !eq(lowering, "view"): "kView",
      !eq(lowering, "reduce"): "kReduce",
      !eq(lowering, "window"): "kWindow",
      !eq(lowering, "update_slice"): "kUpdateSlice",
      !eq(lowering, "scatter"): "kScatter",
      !eq(lowering, "constant"): "kConstant",
      true: "kOpaque");
  code memoryRole = "OpRole::" # !cond(
      !eq(lowering, "view"): "kView",
      !eq(lowering, "constant"): "kConstant",
      !eq(lowering, "token"): "kNothing",
      !eq(lowering, "loop"): "kWhile",
      !eq(lowering, "branch"): "kBranch",
      !eq(lowering, "terminator"): "kTerminator",
      true: "kCompute");
  code workClass = "OpWork::" # !cond(
      !eq(work, "flop"): "kFlop",
      !eq(work, "transcendental"): "kTranscendental",
      true: "kNone");
  code inPlaceOperand = "InPlace::" # !cond(
      !eq(inPlace, "pairwise"): "kPairwise",
      !eq(inPlace, "first"): "kFirst",
      !eq(inPlace, "second"): "kSecond",
      true: "kNone");
  code neutralValue = "Neutral::" # !cond(
      !eq(neutral, "zero"): "kZero",
      !eq(neutral, "one"): "kOne",
      !eq(neutral, "lowest"): "kLowest",
      !eq(neutral, "highest"): "kHighest",
      !eq(neutral, "all_ones"): "kAllOnes",
      true: "kNone");
  code kernelDevices = "KernelDevices::" # !cond(
      !eq(kernels, "all"): "kAll",
      !eq(kernels, "gpu"): "kGpus",
      !eq(kernels, "none"): "kNone",
      true: "kNever");
  bit isCollective = !eq(lowering, "collective");
  bit isLibrary = !or(!eq(lowering, "library"), !eq(lowering, "collective"));
}

#endif

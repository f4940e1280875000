// What drivers' compilers are told about loops.
#pragma once

namespace llvm {
class Module;
}  // namespace llvm

namespace isthmus::opencl {

// Forbids to unroll the loops of known length that would become long code. Intel's compiler for
// CPUs unrolls those of 64 steps and more, and compares each two accesses to memory in the loop
// around them: ten seconds for four that copy rows.
void limitUnrolling(llvm::Module& module);

}  // namespace isthmus::opencl

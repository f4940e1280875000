// Ways around defects of the LLVM version that is built in.
#pragma once

namespace llvm {
class Module;
}

namespace isthmus::cpu {

// Keeps AVX-512's instruction selection from merging a mask into a select of bits,
//
//     mask ? x : (x & bits) | (y & ~bits)
//
// which becomes one VPTERNLOG with a mask. Where one operand lies in memory LLVM permutes the
// instruction's truth table in the wrong direction (llvm-project issue 157929, there up to LLVM
// 22), and magnitudes are lost. An arithmetic fence between the two leaves VPTERNLOG and a blend.
// For targets with AVX-512, after the last pass on IR.
void separateSelectsOfBits(llvm::Module& module);

}  // namespace isthmus::cpu

// The few optimizations that programs get.
#pragma once

namespace llvm {
class Module;
}

namespace isthmus::cpu {

// Marks functions besides `isthmus_main` that the optimizer should work on.
inline constexpr char kOptimizeAttribute[] = "isthmus-optimize";

// Inlines what is marked alwaysinline, and in `isthmus_main` and functions with kOptimizeAttribute
// keeps small values in registers and moves invariants out of loops. Other functions stay as they
// are.
void optimizeProgram(llvm::Module& module);

}  // namespace isthmus::cpu

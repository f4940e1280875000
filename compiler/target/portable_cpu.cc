#include "compiler/target/portable_cpu.h"

#include <utility>

namespace isthmus {

TargetModel portableCpuTarget(std::string triple, unsigned vectorBits) {
  TargetModel target;
  target.triple = std::move(triple);
  target.vectorBits = vectorBits;
  target.fma = true;
  target.maxVectorElements = maxVectorElementsOf(target.triple);
  target.masksAsIntegers = !target.triple.starts_with("spirv");
  // As of a CPU that is known: registers of 512 bits come with shuffles of any two of them.
  target.maxInterleave = vectorBits >= 512 ? 16 : 4;
  target.joinsByCopies = false;
  limitParameters(target, kFewestParameters);
  // A launch.
  target.kernelNs = 1'250;
  // A driver takes more than linear time from some 4,000 instructions on: a kernel of 100 sines 0.7
  // s, one of 300 sines 3.4 s.
  target.maxKernelAdditions = 4'000;
  target.productFlopsPerElementOp = 2;
  // Attention of fewer scores is not worth waiting for the host.
  target.minScoreBytes = 1 << 20;
  target.products.unit = ProductUnit::kThreads;
  target.products.hasFastFloats = true;
  // Of 32 registers and of 16.
  target.products.sumRegisters = vectorBits >= 512 ? 28 : 12;
  return target;
}

}  // namespace isthmus

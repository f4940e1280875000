// Compiles the fusion of a text file and runs it on raw files, for tests written in Python.
//
// Usage: run_kernel [--dump] [--time N] [--split N] [--avx2] fusion.mlir input... -- output...
// An output's size is that of its type. With --time, prints the best of N runs in microseconds;
// with --avx2, the kernel is what a CPU without AVX-512 gets.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

#include "backends/cpu/testing/kernel_harness.h"
#include "compiler/target/element_kind.h"
#include "mlir/IR/BuiltinTypes.h"
#include "runtime/memory/guarded_blocks.h"

namespace {

std::string readFile(const char* path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// A kernel that reaches past it faults.
void* guardedCopy(const std::string& bytes) {
  void* memory = isthmus::guardedAllocate(bytes.size());
  std::memcpy(memory, bytes.data(), bytes.size());
  return memory;
}

isthmus::TargetModel avx2Target() {
  isthmus::TargetModel target = isthmus::cpu::hostTarget();
  if (!target.avx512) return target;
  target.cpu = "haswell";
  target.features = "+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+popcnt";
  target.vectorBits = 256;
  target.avx512 = target.avx512Vbmi = target.gathers = target.roundsToBf16 = false;
  target.maxInterleave = 4;
  return target;
}

}  // namespace

int main(int argc, char** argv) {
  bool dump = false, isAvx2 = false;
  int runs = 0, split = 1, next = 1;
  for (; next < argc && argv[next][0] == '-' && argv[next][1] == '-'; ++next) {
    if (!std::strcmp(argv[next], "--dump")) dump = true;
    if (!std::strcmp(argv[next], "--avx2")) isAvx2 = true;
    if (!std::strcmp(argv[next], "--time")) runs = std::atoi(argv[++next]);
    if (!std::strcmp(argv[next], "--split")) split = std::atoi(argv[++next]);
  }
  if (next >= argc) return 2;
  isthmus::cpu::CodegenOptions options;
  options.verify = dump || runs == 0;
  auto kernel = isthmus::codegen::TestKernel::compile(
      readFile(argv[next++]), options, isAvx2 ? avx2Target() : isthmus::cpu::hostTarget());
  if (!kernel.ok()) {
    std::fprintf(stderr, "%s\n", std::string(kernel.status().message()).c_str());
    return 1;
  }
  if (dump) {
    std::printf("%s\n%s\n", (*kernel)->llvmIr().c_str(), (*kernel)->assembly().c_str());
  }
  std::vector<void*> buffers;
  for (; next < argc && std::strcmp(argv[next], "--"); ++next) {
    buffers.push_back(guardedCopy(readFile(argv[next])));
  }
  ++next;
  std::vector<size_t> sizes;
  size_t firstOutput = buffers.size();
  for (mlir::Type type : (*kernel)->fusion()->getResultTypes()) {
    auto array = mlir::cast<mlir::RankedTensorType>(type);
    size_t size =
        array.getNumElements() * isthmus::elementKind(array.getElementType())->storageBytes;
    sizes.push_back(size);
    buffers.push_back(guardedCopy(std::string(size, '\xee')));
  }
  (*kernel)->run(buffers, split);
  double best = 1e30;
  for (int i = 0; i < runs; ++i) {
    auto start = std::chrono::steady_clock::now();
    (*kernel)->run(buffers);
    best = std::min(
        best, std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
                  .count());
  }
  if (runs) {
    std::printf("run_us %.2f emit_ms %.3f codegen_ms %.3f stages %zu tiles %ld ns_per_tile %.0f\n",
                best, (*kernel)->emitMs(), (*kernel)->codegenMs(),
                (*kernel)->kernel().stages.size(), long((*kernel)->kernel().stages[0].tiles),
                (*kernel)->kernel().stages[0].nsPerTile);
  }
  for (size_t i = 0; next < argc && i < sizes.size(); ++i, ++next) {
    std::ofstream(argv[next], std::ios::binary)
        .write(static_cast<char*>(buffers[firstOutput + i]), sizes[i]);
  }
  return 0;
}

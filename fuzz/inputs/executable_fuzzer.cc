// Bodies of serialised executables, behind a header whose digest is right: read and loaded, and
// written again. They are never run, for their code cannot be checked.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "backends/cpu/load/executable.h"
#include "backends/cpu/load/serialization.h"
#include "backends/shared/serialization/sealed_bytes.h"
#include "base/byte_stream.h"
#include "fuzz/inputs/body_mutator.h"
#include "fuzz/inputs/guarded_bytes.h"
#include "isthmus/backend.h"
#include "runtime/executable/compile.h"

namespace {

using namespace isthmus;

constexpr const char* kPrograms[] = {
    "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
    "%0 = stablehlo.sine %x : tensor<4xf32>\nreturn %0 : tensor<4xf32>\n}",
    "func.func @main(%x: tensor<8x8xf32> {tf.aliasing_output = 0 : i32}) -> (tensor<8x8xf32>, "
    "tensor<f32>) {\n"
    "%c = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "%0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : "
    "(tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>\n"
    "%1 = stablehlo.reduce(%0 init: %c) applies stablehlo.add across dimensions = [0, 1] : "
    "(tensor<8x8xf32>, tensor<f32>) -> tensor<f32>\nreturn %0, %1 : tensor<8x8xf32>, "
    "tensor<f32>\n}",
    "func.func @main(%x: tensor<i32>) -> tensor<i32> {\n%0 = stablehlo.while(%i = %x) : "
    "tensor<i32>\n"
    "cond {\n%c = stablehlo.constant dense<9> : tensor<i32>\n"
    "%1 = stablehlo.compare LT, %i, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
    "stablehlo.return %1 : tensor<i1>\n} do {\n%1 = stablehlo.add %i, %i : tensor<i32>\n"
    "stablehlo.return %1 : tensor<i32>\n}\nreturn %0 : tensor<i32>\n}",
};

std::string magic, features;
std::vector<std::string> seeds;

void makeSeeds() {
  for (const char* program : kPrograms) {
    auto executable =
        compileProgram(linkedBackend(), {.code = program, .format = "mlir", .options = {}});
    if (!executable.ok()) {
      std::fprintf(stderr, "%s\n", std::string(executable.status().message()).c_str());
      std::abort();
    }
    auto bytes = (*executable)->serialize();
    if (!bytes.ok()) std::abort();
    magic = ByteReader(*bytes).readString();
    auto unsealed = unsealBytes(*bytes, magic, "CPU", "");
    if (!unsealed.ok()) std::abort();
    features = unsealed->device;
    seeds.emplace_back(unsealed->body);
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  makeSeeds();
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t maxSize,
                                          unsigned seed) {
  return fuzz::mutateBody(seeds, data, size, maxSize, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes =
      sealBytes(magic, features, {reinterpret_cast<const char*>(data), size}, "");
  auto image = cpu::deserializeImage(fuzz::guardEnd(bytes));
  if (!image.ok()) {
    if (image.status().message().empty()) std::abort();
    return 0;
  }
  auto executable = cpu::CpuExecutable::load(*std::move(image));
  if (!executable.ok()) return 0;
  if (!(*executable)->serialize().ok()) std::abort();
  (void)(*executable)->isCheap();
  return 0;
}

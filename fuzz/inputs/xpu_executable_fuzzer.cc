// Bodies of serialised executables of platform xpu, behind a header whose digest is right: read,
// and written again as they were read. No driver is asked: what it gets is an opaque part of them.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "backends/opencl/serialization.h"
#include "backends/shared/serialization/sealed_bytes.h"
#include "base/byte_stream.h"
#include "fuzz/inputs/body_mutator.h"
#include "fuzz/inputs/guarded_bytes.h"

namespace {

using namespace isthmus;
using Space = Location::Space;

constexpr const char* kDevice = "a device";
std::string magic;
std::vector<std::string> seeds;

// Each kind of step, within each other, over each kind of place.
opencl::ProgramImage makeImage(bool hasHost) {
  opencl::ProgramImage image;
  image.info.name = "f";
  ParameterSpec parameter;
  parameter.type = {ElementType::kF32, {4}};
  image.info.parameters = {parameter};
  image.info.outputs = {parameter};
  image.kernels = {{.name = "kernel0", .items = {7, 2, 1}, .description = "add"},
                   {.name = "kernel1", .groupThreads = 64, .isVector = true, .description = ""}};
  image.constants = std::string(24, 'c');
  image.constantOffsets = {0, 16};
  image.arenaBytes = 128;
  image.slotOffsets = {128};
  image.scratchBytes = 192;
  image.profile.texts = {"add", "train.py:12"};
  image.profile.steps = {{.name = 0, .source = 1, .flops = 4}};
  image.spirv = std::string("\x03\x02\x23\x07\0", 5);
  image.binaries = {"binary one", "two"};

  const Location in{Space::kParameter, 0, 0, 16};
  const Location out{Space::kResult, 0, 0, 16};
  const Location arena{Space::kArena, 0, 64, 16};
  const Location flag{Space::kStack, 0, 0, 1};
  Loop loop;
  loop.condition = {{KernelLaunch{0, 1, {in, flag}, 0, false}}};
  loop.predicate = flag;
  loop.body = {{Move{out, arena, true}}};
  Branch branch;
  branch.index = {Space::kArena, 0, 124, 4};
  branch.branches = {{{KernelLaunch{1, 1, {{Space::kConstant, 1, 0, 8}, arena}, 0, true}}},
                     {{loop}}};
  image.steps = {{loop}, {branch}};
  if (!hasHost) return image;
  image.steps.push_back({HostCall{0, {in}, {out}, 0}});
  image.host.functions = {{"isthmus_rt_cholesky", "data", {"callback"}, 48, "cholesky"}};
  image.host.objects = {std::string("\0elf", 4)};
  return image;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  for (bool hasHost : {false, true}) {
    const std::string bytes = opencl::serializeImage(makeImage(hasHost), kDevice);
    ByteReader in(bytes);
    magic = in.readString();
    auto unsealed = unsealBytes(bytes, magic, "xpu", "");
    if (!unsealed.ok() || !opencl::deserializeImage(fuzz::guardEnd(bytes), kDevice).ok())
      std::abort();
    seeds.emplace_back(unsealed->body);
  }
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t maxSize,
                                          unsigned seed) {
  return fuzz::mutateBody(seeds, data, size, maxSize, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes =
      sealBytes(magic, kDevice, {reinterpret_cast<const char*>(data), size}, "");
  auto image = opencl::deserializeImage(fuzz::guardEnd(bytes), kDevice);
  if (!image.ok()) {
    if (image.status().message().empty()) std::abort();
    return 0;
  }
  // Flags may have been bytes other than 0 and 1, once.
  const std::string written = opencl::serializeImage(*image, kDevice);
  auto again = opencl::deserializeImage(written, kDevice);
  if (!again.ok() || opencl::serializeImage(*again, kDevice) != written) std::abort();
  return 0;
}

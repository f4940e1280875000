// For tests: hand-written PTX, run over arrays of the host.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include "backends/cuda/driver/fake/ptx/machine.h"

namespace isthmus::ptx {

inline std::unique_ptr<Program> parsed(const std::string& text) {
  std::string error;
  std::unique_ptr<Program> program =
      parse(".version 8.0\n.target sm_90\n.address_size 64\n" + text, error);
  EXPECT_TRUE(program) << error << "\n" << text;
  return program;
}

inline std::string errorOf(const std::string& text) {
  std::string error;
  parse(".version 8.0\n.target sm_90\n.address_size 64\n" + text, error);
  return error;
}

// Launches `kernel` with the addresses of `arrays`, which are all the memory that there is.
inline Fault launch(const Program& program, const std::string& kernel, unsigned blocks,
                    unsigned threads, std::vector<std::vector<char>*> arrays) {
  std::vector<uint64_t> parameters;
  for (std::vector<char>* array : arrays) {
    parameters.push_back(reinterpret_cast<uintptr_t>(array->data()));
  }
  Launch launch;
  launch.program = &program;
  launch.entry = &program.entries.at(kernel);
  launch.blocks[0] = blocks;
  launch.threads[0] = threads;
  launch.parameters = reinterpret_cast<const char*>(parameters.data());
  launch.find = [&](uint64_t address, Range& range) {
    for (std::vector<char>* array : arrays) {
      range = {reinterpret_cast<uintptr_t>(array->data()), array->size(), false};
      if (address - range.begin < range.bytes) return true;
    }
    return false;
  };
  return run(launch);
}

// A kernel of `threads` threads around `body`, which finds 64-bit inputs of its thread in %a, %b
// and %c, their lower halves in %x, %y and %z (and 16 bits in %h, %i and %j), the thread in %t, and
// leaves the result in %d, %r or %k.
inline std::string kernelOf(const std::string& body, const std::string& result) {
  std::string store = result == "%d"   ? "st.global.b64 [%out], %d;"
                      : result == "%r" ? "cvt.u64.u32 %d, %r; st.global.b64 [%out], %d;"
                                       : "cvt.u64.u16 %d, %k; st.global.b64 [%out], %d;";
  return R"(
.visible .entry kernel(.param .u64 in, .param .u64 out)
{
  .reg .b64 %a, %b, %c, %d, %in, %out, %w;
  .reg .b32 %x, %y, %z, %r, %t, %u, %v;
  .reg .b16 %h, %i, %j, %k;
  .reg .pred %p, %q;
  mov.u32 %t, %tid.x;
  ld.param.u64 %in, [in];
  ld.param.u64 %out, [out];
  mad.wide.u32 %in, %t, 24, %in;
  mad.wide.u32 %out, %t, 8, %out;
  ld.global.b64 %a, [%in];
  ld.global.b64 %b, [%in+8];
  ld.global.b64 %c, [%in+16];
  cvt.u32.u64 %x, %a;
  cvt.u32.u64 %y, %b;
  cvt.u32.u64 %z, %c;
  cvt.u16.u64 %h, %a;
  cvt.u16.u64 %i, %b;
  cvt.u16.u64 %j, %c;
)" + body +
         "\n" + store + "\nret;\n}\n";
}

struct Inputs {
  uint64_t a = 0, b = 0, c = 0;
};

inline std::vector<uint64_t> computeAll(const std::string& body, const std::string& result,
                                        const std::vector<Inputs>& inputs) {
  std::unique_ptr<Program> program = parsed(kernelOf(body, result));
  std::vector<char> in(inputs.size() * sizeof(Inputs)), out(inputs.size() * 8);
  std::memcpy(in.data(), inputs.data(), in.size());
  if (program) {
    Fault fault = launch(*program, "kernel", 1, static_cast<unsigned>(inputs.size()), {&in, &out});
    EXPECT_EQ(fault.text, "");
  }
  std::vector<uint64_t> results(inputs.size());
  std::memcpy(results.data(), out.data(), out.size());
  return results;
}

// Of one thread: the result in 64, 32 or 16 bits.
inline uint64_t wide(const std::string& body, uint64_t a = 0, uint64_t b = 0, uint64_t c = 0) {
  return computeAll(body, "%d", {{a, b, c}})[0];
}
inline uint32_t narrow(const std::string& body, uint32_t x = 0, uint32_t y = 0, uint32_t z = 0) {
  return static_cast<uint32_t>(computeAll(body, "%r", {{x, y, z}})[0]);
}
inline uint16_t half(const std::string& body, uint16_t h = 0, uint16_t i = 0, uint16_t j = 0) {
  return static_cast<uint16_t>(computeAll(body, "%k", {{h, i, j}})[0]);
}
inline uint32_t bitsOf(float value) { return std::bit_cast<uint32_t>(value); }
inline uint64_t bitsOf(double value) { return std::bit_cast<uint64_t>(value); }

}  // namespace isthmus::ptx

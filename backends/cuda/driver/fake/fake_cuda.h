// What tests ask of the fake driver, by dlsym.
#pragma once

#include <cstdint>

extern "C" {
// Forgets all memory, streams and records, and sets up `devices` devices of compute capability
// `capability` (times ten) with so much memory each.
void fake_cuda_reset(int devices, int capability, uint64_t memoryBytes);
// What was called, a line each, such as "launch kernel0 4x256 on stream 2"; valid until the next
// call.
const char* fake_cuda_log();
// What a kernel does from now on, given its arguments; without one, its PTX is interpreted.
typedef void (*FakeKernel)(void* const* arguments, unsigned blocks, unsigned threads);
void fake_cuda_kernel(const char* name, FakeKernel kernel);
// The kernel of this name faults: what waits for it fails, and so does everything after.
void fake_cuda_fault(const char* name);
// From a kernel, or other work of a device: it takes so much longer. The devices' clock is moved by
// their work alone, whatever it takes here.
void fake_cuda_take(int64_t ns);
// Live allocations of all devices.
int fake_cuda_allocations();
// While it is held, nothing is done because somebody asks whether it is: only waiting helps.
void fake_cuda_hold(int isHeld);
// The next `times` calls of the function of CUDA fail with `code` and do nothing.
void fake_cuda_fail(const char* function, int code, int times);
// How often some of CUDA's functions were called.
int fake_cuda_count(const char* name);
}

// All that touches the device. Here the device is a part of this process's memory, which it keeps
// to itself; put your driver's calls in the place of these functions' bodies.
//
// Any thread may call them at any time. They return when what they do is done. A lost device is
// kUnavailable, of this and all later calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "isthmus/status.h"

namespace isthmus::skeleton {

// How many devices there are, at least 1. kNotFound if there are none, with the reason: that no
// driver is installed (and what dlerror() says), or that it finds no device.
StatusOr<int> countDevices();
std::string deviceName(int device);
int64_t memoryBytes(int device);

// Memory of at least one byte, aligned to kBufferAlignment: an address or a handle.
// kResourceExhausted if there is no more.
StatusOr<void*> allocate(int device, size_t bytes);
void release(int device, void* data);

// Copies of `bytes` bytes, which may be 0.
Status copyToDevice(int device, void* to, size_t offset, const void* host, size_t bytes);
Status copyToHost(int device, const void* from, size_t offset, void* host, size_t bytes);
Status copyOnDevices(int toDevice, void* to, int fromDevice, const void* from, size_t bytes);

}  // namespace isthmus::skeleton

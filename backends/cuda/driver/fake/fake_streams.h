// For other fake libraries over the fake driver.
#pragma once

#include <functional>
#include <string>

#include "backends/cuda/driver/api.h"

// Puts work on a stream, recorded as `what`.
void fake_cuda_enqueue(isthmus::cuda::CUstream stream, const std::string& what,
                       std::function<void()> work);

// A handler of XLA's foreign function interface: rows of a matrix divided by their Euclidean
// length.
#include <cmath>
#include <cstddef>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

static ffi::Error normalizeRows(float epsilon, ffi::Buffer<ffi::F32> x,
                                ffi::ResultBuffer<ffi::F32> y) {
  if (x.dimensions().size() != 2) return ffi::Error::InvalidArgument("expected a matrix");
  auto columns = static_cast<size_t>(x.dimensions()[1]);
  for (size_t start = 0; start < x.element_count(); start += columns) {
    const float* row = x.typed_data() + start;
    float sum = epsilon;
    for (size_t i = 0; i < columns; ++i) sum += row[i] * row[i];
    for (size_t i = 0; i < columns; ++i) y->typed_data()[start + i] = row[i] / std::sqrt(sum);
  }
  return ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(NormalizeRows, normalizeRows,
                              ffi::Ffi::Bind()
                                  .Attr<float>("epsilon")
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Ret<ffi::Buffer<ffi::F32>>());

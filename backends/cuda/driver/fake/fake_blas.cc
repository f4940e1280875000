// cuBLASLt's functions over the fake driver: products of f32 as its manual describes them.
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>

#include "backends/cuda/driver/api.h"
#include "backends/cuda/driver/fake/fake_streams.h"

using isthmus::cuda::CUstream;

namespace {

struct Layout {
  int type;
  uint64_t rows, columns;
  int64_t stride;
  int32_t batch = 1;
  int64_t batchOffset = 0;
  // Column-major.
  size_t at(int64_t b, uint64_t row, uint64_t column) const {
    return static_cast<size_t>(b * batchOffset + static_cast<int64_t>(column) * stride +
                               static_cast<int64_t>(row));
  }
};

struct Operation {
  int compute, scale;
  int32_t transposeA = 0, transposeB = 0;
};

struct Preference {
  uint64_t workspaceBytes = 0;
  uint32_t reductionSchemes = 7;  // all
  uint32_t alignments[4] = {256, 256, 256, 256};
};

constexpr int kOk = 0, kInvalidValue = 7, kNotSupported = 15;

}  // namespace

extern "C" {

int cublasLtCreate(void** handle) {
  static int one;
  *handle = &one;
  return kOk;
}
int cublasLtMatmulDescCreate(void** operation, int compute, int scale) {
  *operation = new Operation{compute, scale};
  return kOk;
}
int cublasLtMatmulDescSetAttribute(void* operation, int attribute, const void* value, size_t size) {
  auto* one = static_cast<Operation*>(operation);
  if (size != 4 || (attribute != 3 && attribute != 4)) return kInvalidValue;
  std::memcpy(attribute == 3 ? &one->transposeA : &one->transposeB, value, size);
  return kOk;
}
int cublasLtMatmulDescDestroy(void* operation) {
  delete static_cast<Operation*>(operation);
  return kOk;
}
int cublasLtMatrixLayoutCreate(void** layout, int type, uint64_t rows, uint64_t columns,
                               int64_t stride) {
  if (stride < static_cast<int64_t>(rows)) return kInvalidValue;
  *layout = new Layout{type, rows, columns, stride};
  return kOk;
}
int cublasLtMatrixLayoutSetAttribute(void* layout, int attribute, const void* value, size_t size) {
  auto* one = static_cast<Layout*>(layout);
  if (attribute == 5 && size == 4) {
    std::memcpy(&one->batch, value, size);
  } else if (attribute == 6 && size == 8) {
    std::memcpy(&one->batchOffset, value, size);
  } else {
    return kInvalidValue;
  }
  return kOk;
}
int cublasLtMatrixLayoutDestroy(void* layout) {
  delete static_cast<Layout*>(layout);
  return kOk;
}
int cublasLtMatmulPreferenceCreate(void** preference) {
  *preference = new Preference;
  return kOk;
}
int cublasLtMatmulPreferenceSetAttribute(void* preference, int attribute, const void* value,
                                         size_t size) {
  auto* one = static_cast<Preference*>(preference);
  if (attribute == 1 && size == 8) {
    std::memcpy(&one->workspaceBytes, value, size);
  } else if (attribute == 3 && size == 4) {
    std::memcpy(&one->reductionSchemes, value, size);
  } else if (attribute >= 5 && attribute <= 8 && size == 4) {
    std::memcpy(&one->alignments[attribute - 5], value, size);
  } else {
    return kInvalidValue;
  }
  return kOk;
}
int cublasLtMatmulPreferenceDestroy(void* preference) {
  delete static_cast<Preference*>(preference);
  return kOk;
}

// Has algorithms for f32 alone.
int cublasLtMatmulAlgoGetHeuristic(void*, void* operation, void* a, void* b, void* c, void* d,
                                   void* preference, int wanted, void* results, int* found) {
  struct Result {
    uint64_t algorithm[8];
    size_t workspaceBytes;
    int state;
    float waves;
    int reserved[4];
  };
  int compute = static_cast<Operation*>(operation)->compute;
  bool isF32 = (compute == 68 || compute == 77) && c == d;
  for (void* layout : {a, b, d}) isF32 &= static_cast<Layout*>(layout)->type == 0;
  // What is in an arena is aligned to no more than 64 bytes.
  for (uint32_t alignment : static_cast<Preference*>(preference)->alignments) {
    isF32 &= alignment <= 64;
  }
  // Sums in the type of the compute, and in no other.
  isF32 &= static_cast<Preference*>(preference)->reductionSchemes == 2;
  *found = isF32 && wanted > 0 ? 1 : 0;
  if (*found) static_cast<Result*>(results)[0] = Result{};
  return *found ? kOk : kNotSupported;
}

int cublasLtMatmul(void*, void* operation, const void* alpha, const void* a, void* aLayout,
                   const void* b, void* bLayout, const void* beta, const void*, void*, void* d,
                   void* dLayout, const uint64_t*, void* workspace, size_t, CUstream stream) {
  float one, zero;
  std::memcpy(&one, alpha, 4);
  std::memcpy(&zero, beta, 4);
  if (one != 1 || zero != 0 || !workspace) return kInvalidValue;
  if (reinterpret_cast<uintptr_t>(workspace) % 256 != 0) return kInvalidValue;
  Operation op = *static_cast<Operation*>(operation);
  Layout la = *static_cast<Layout*>(aLayout), lb = *static_cast<Layout*>(bLayout),
         ld = *static_cast<Layout*>(dLayout);
  uint64_t sums = op.transposeA ? la.rows : la.columns;
  if (sums != (op.transposeB ? lb.columns : lb.rows)) return kInvalidValue;
  fake_cuda_enqueue(stream, op.compute == 77 ? "matmul of tf32" : "matmul", [=] {
    auto* x = static_cast<const float*>(a);
    auto* y = static_cast<const float*>(b);
    for (int64_t z = 0; z < ld.batch; ++z) {
      for (uint64_t column = 0; column < ld.columns; ++column) {
        for (uint64_t row = 0; row < ld.rows; ++row) {
          float sum = 0;
          for (uint64_t s = 0; s < sums; ++s) {
            sum += x[op.transposeA ? la.at(z, s, row) : la.at(z, row, s)] *
                   y[op.transposeB ? lb.at(z, column, s) : lb.at(z, s, column)];
          }
          static_cast<float*>(d)[ld.at(z, row, column)] = sum;
        }
      }
    }
  });
  return kOk;
}

}  // extern "C"

// cuBLASLt's functions over the fake driver: products of f32 and of bf16 as its manual describes
// them.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>

#include "backends/cuda/driver/api.h"
#include "backends/cuda/driver/fake/fake_blas.h"
#include "backends/cuda/driver/fake/fake_cuda.h"
#include "backends/cuda/driver/fake/fake_numbers.h"
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
  uint32_t epilogue = 1;
  const void* bias = nullptr;
};

// Bits of an epilogue.
constexpr uint32_t kRelu = 2, kBias = 4, kGelu = 32;

// What is done with the sums of row `row`, as result^T has it.
float finished(const Operation& op, FakeType result, int64_t row, float x) {
  if (op.epilogue & kBias) x += readFake(result, op.bias, row);
  if (op.epilogue & kRelu) return std::max(x, 0.0f);
  if (!(op.epilogue & kGelu)) return x;
  double wide = x;
  return static_cast<float>(
      wide / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (wide + 0.044715 * std::pow(wide, 3)))));
}

std::string nameOf(const Operation& op) {
  std::string name = op.compute == 77 ? "matmul of tf32" : "matmul";
  if (op.epilogue & kBias) name += ", bias";
  if (op.epilogue & kRelu) name += ", relu";
  if (op.epilogue & kGelu) name += ", gelu";
  return name;
}

struct Preference {
  uint64_t workspaceBytes = 0;
  uint32_t reductionSchemes = 7;  // all
  uint32_t alignments[4] = {256, 256, 256, 256};
};

std::atomic<int> questions;
std::atomic<bool> refusesHandles;
std::atomic<int> failure, failingHandles, failingQuestions;

constexpr int kBf16 = 14, kI8 = 3, kI32 = 10;  // of cudaDataType
constexpr int kComputeI32 = 72;                // of cublasComputeType_t
constexpr int kOk = 0, kNotInitialized = 1, kInvalidValue = 7, kNotSupported = 15;

// op(A) op(B), of elements that `x` and `y` read; `write` gets each sum with its batch, row and
// column.
template <typename Sum, typename X, typename Y, typename Write>
void multiply(const Operation& op, const Layout& la, const Layout& lb, const Layout& ld, const X& x,
              const Y& y, const Write& write) {
  const uint64_t sums = op.transposeA ? la.rows : la.columns;
  for (int64_t z = 0; z < ld.batch; ++z) {
    for (uint64_t column = 0; column < ld.columns; ++column) {
      for (uint64_t row = 0; row < ld.rows; ++row) {
        Sum sum = 0;
        for (uint64_t s = 0; s < sums; ++s) {
          sum += x(op.transposeA ? la.at(z, s, row) : la.at(z, row, s)) *
                 y(op.transposeB ? lb.at(z, column, s) : lb.at(z, s, column));
        }
        write(z, row, column, sum);
      }
    }
  }
}

}  // namespace

extern "C" {

int fake_blas_questions() { return questions; }
void fake_blas_refuse(int isRefused) { refusesHandles = isRefused != 0; }
void fake_blas_fail(int status, int handles, int questions) {
  failure = status;
  failingHandles = handles;
  failingQuestions = questions;
}

int cublasLtCreate(void** handle) {
  static int one;
  if (refusesHandles) return kNotInitialized;
  if (failingHandles > 0) return --failingHandles, failure;
  *handle = &one;
  return kOk;
}
int cublasLtMatmulDescCreate(void** operation, int compute, int scale) {
  *operation = new Operation{compute, scale};
  return kOk;
}
int cublasLtMatmulDescSetAttribute(void* operation, int attribute, const void* value, size_t size) {
  auto* one = static_cast<Operation*>(operation);
  void* place = attribute == 3   ? static_cast<void*>(&one->transposeA)
                : attribute == 4 ? static_cast<void*>(&one->transposeB)
                : attribute == 7 ? static_cast<void*>(&one->epilogue)
                : attribute == 8 ? static_cast<void*>(&one->bias)
                                 : nullptr;
  if (!place || size != (attribute == 8 ? sizeof(void*) : 4)) return kInvalidValue;
  std::memcpy(place, value, size);
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

// Whether it is a product of i8 as the manual's table has it: along the sums, of lines of four.
static bool isOfIntegers(const Operation& op, void* a, void* b, void* d) {
  const auto &la = *static_cast<Layout*>(a), &lb = *static_cast<Layout*>(b);
  return op.scale == kI32 && op.transposeA && !op.transposeB && op.epilogue == 1 &&
         la.type == kI8 && lb.type == kI8 && static_cast<Layout*>(d)->type == kI32 &&
         la.rows % 4 == 0 && la.columns % 4 == 0 && la.stride % 4 == 0 && lb.stride % 4 == 0;
}

// Has algorithms for f32, for i8, and with an epilogue for bf16: all but number 1 are slow, and the
// last has failed.
int cublasLtMatmulAlgoGetHeuristic(void*, void* operation, void* a, void* b, void* c, void* d,
                                   void* preference, int wanted, void* results, int* found) {
  if (failingQuestions > 0) return --failingQuestions, failure;
  struct Result {
    uint64_t algorithm[8];
    size_t workspaceBytes;
    int state;
    float waves;
    int reserved[4];
  };
  ++questions;
  const Operation& op = *static_cast<Operation*>(operation);
  bool isKnown = (op.compute == 68 || op.compute == 77) && c == d;
  for (void* layout : {a, b, d}) {
    int type = static_cast<Layout*>(layout)->type;
    isKnown &= type == 0 || (type == kBf16 && op.epilogue != 1);
  }
  if (op.compute == kComputeI32) isKnown = isOfIntegers(op, a, b, d);
  // What is in an arena is aligned to no more than 64 bytes.
  for (uint32_t alignment : static_cast<Preference*>(preference)->alignments) {
    isKnown &= alignment <= 64;
  }
  // A bias is expected to be aligned as this one.
  if (op.epilogue & kBias) isKnown &= op.bias && reinterpret_cast<uintptr_t>(op.bias) % 128 == 64;
  // Sums in the type of the compute, and in no other.
  isKnown &= static_cast<Preference*>(preference)->reductionSchemes == 2;
  *found = isKnown ? std::min(wanted, 4) : 0;
  for (int i = 0; i < *found; ++i) {
    static_cast<Result*>(results)[i] = Result{};
    static_cast<Result*>(results)[i].algorithm[0] = static_cast<uint64_t>(i);
    if (i == 3) static_cast<Result*>(results)[i].state = kNotSupported;
  }
  return *found ? kOk : kNotSupported;
}

int cublasLtMatmul(void*, void* operation, const void* alpha, const void* a, void* aLayout,
                   const void* b, void* bLayout, const void* beta, const void*, void*, void* d,
                   void* dLayout, const uint64_t* algorithm, void* workspace, size_t,
                   CUstream stream) {
  float one, zero;
  int32_t whole;
  std::memcpy(&one, alpha, 4);
  std::memcpy(&whole, alpha, 4);
  std::memcpy(&zero, beta, 4);
  const bool isWhole = static_cast<Operation*>(operation)->compute == kComputeI32;
  if (zero != 0 || !workspace || (isWhole ? whole != 1 : one != 1)) return kInvalidValue;
  if (reinterpret_cast<uintptr_t>(workspace) % 256 != 0) return kInvalidValue;
  Operation op = *static_cast<Operation*>(operation);
  Layout la = *static_cast<Layout*>(aLayout), lb = *static_cast<Layout*>(bLayout),
         ld = *static_cast<Layout*>(dLayout);
  uint64_t sums = op.transposeA ? la.rows : la.columns;
  if (sums != (op.transposeB ? lb.columns : lb.rows)) return kInvalidValue;
  const uint64_t number = algorithm[0];
  if (number > 2) return kInvalidValue;
  const std::string suffix = number == 0 ? "" : " by algorithm " + std::to_string(number);
  fake_cuda_enqueue(stream, nameOf(op) + suffix, [=] {
    fake_cuda_take(number == 1 ? 1'000'000 : 3'000'000);
    if (op.compute == kComputeI32) {
      auto of = [](const void* array) {
        return [array](size_t at) { return static_cast<const int8_t*>(array)[at]; };
      };
      return multiply<int32_t>(op, la, lb, ld, of(a), of(b),
                               [&](int64_t z, uint64_t row, uint64_t column, int32_t sum) {
                                 static_cast<int32_t*>(d)[ld.at(z, row, column)] = sum;
                               });
    }
    auto typeOf = [](const Layout& layout) {
      return layout.type == kBf16 ? FakeType::kBf16 : FakeType::kF32;
    };
    auto x = [&](size_t at) { return readFake(typeOf(la), a, static_cast<int64_t>(at)); };
    auto y = [&](size_t at) { return readFake(typeOf(lb), b, static_cast<int64_t>(at)); };
    multiply<float>(op, la, lb, ld, x, y, [&](int64_t z, uint64_t row, uint64_t column, float sum) {
      writeFake(typeOf(ld), d, static_cast<int64_t>(ld.at(z, row, column)),
                finished(op, typeOf(ld), static_cast<int64_t>(row), sum));
    });
  });
  return kOk;
}

}  // extern "C"

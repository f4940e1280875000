// A dot_general call, decoded: shared by the ways of computing it.
#pragma once

#include <span>

#include "backends/cpu/kernels/element_access.h"
#include "backends/cpu/kernels/gemm/dot.h"
#include "backends/cpu/kernels/gemm/gemm.h"
#include "backends/cpu/kernels/refusals.h"

namespace isthmus::cpu {

struct DotProblem {
  const DotDescriptor& dot;
  const void* lhs;
  const void* rhs;
  void* result;  // null if there is an epilogue but no memory for sums
  std::span<const DotDimension> batch, m, n, k;
  int64_t batches, rows, cols, contracting;
  SumsEpilogue epilogue;
  void* const* buffers;
};

struct DotOffsets {
  int64_t lhs;
  int64_t rhs;
};

// Number of positions in a group of dimensions.
int64_t groupSize(std::span<const DotDimension> dims);

// Offsets of the position with this row-major index.
DotOffsets groupOffset(std::span<const DotDimension> dims, int64_t index);

// Offsets of all positions, in row-major order; either table may be null.
void fillOffsets(std::span<const DotDimension> dims, int64_t* lhs, int64_t* rhs);

// How many positions in a row have consecutive offsets in the operand whose stride is given; at
// least 1, so that dividing by it is safe.
int64_t innerRun(std::span<const DotDimension> dims, int64_t DotDimension::* stride);

// What a descriptor says of its form.
struct DotChoice {
  DotForm form;
  bool isSwapped;
  bool isNear;
};

// Whether it is a matrix times a vector of f32 or f64, and so little work that decoding the
// descriptor would be most of it.
bool isNearVectorDot(const DotDescriptor& dot, DotForm form, GemmDomain domain);
// Computes it. False if its sums have no room; then nothing was written.
bool runNearVectorDot(const DotDescriptor& dot, DotForm form, void* const* buffers,
                      GemmDomain domain);

// Which form suits matrix-vector products and small or narrow matrices of f32 and f64, in place,
// without packing both operands; kBlocked if the problem is none of these.
DotChoice skinnyFormOf(const DotProblem& problem, GemmDomain domain, int64_t l2Bytes,
                       const Refusals& refusals);
// Why a product cannot be computed in such a form, whether it suits or not; null if it can.
const char* skinnyFormRefusal(const DotProblem& problem, DotForm form, bool isSwapped,
                              GemmDomain domain);
// Computes a product in one of these forms. False if its sums have no room; then nothing was
// written.
bool runSkinnyDot(RunServices& services, const DotProblem& problem, const DotChoice& choice,
                  GemmDomain domain);

}  // namespace isthmus::cpu

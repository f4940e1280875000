// The element-wise reduction behind all-reduce and reduce-scatter.
#pragma once

#include <cstdint>
#include <span>

#include "isthmus/run_services.h"
#include "isthmus/status.h"

namespace isthmus {

// OK if elements of `type` can be reduced by `kind`; else kUnimplemented or kInvalidArgument.
Status checkReduction(ReductionKind kind, ElementType type);

// output[i] = inputs[0][i] op inputs[1][i] op …, in this order, for i in [0, elements). Floating
// types narrower than 32 bits are accumulated in float and rounded once. Sums and products of i1
// are "or" and "and"; minimum and maximum of floating types return NaN if any element is one.
// `checkReduction` must have passed. The output may be one of the inputs.
void reduceElements(ReductionKind kind, ElementType type, std::span<const void* const> inputs,
                    void* output, int64_t elements);

}  // namespace isthmus

// dot_general and convolution by the roles of their dimensions, with strides in dense operands.
#pragma once

#include <cstdint>

#include "base/program/conv_roles.h"
#include "base/program/dot_roles.h"
#include "compiler/dialect/dialect.h"
#include "llvm/ADT/ArrayRef.h"

namespace isthmus {

DotRoles dotRolesOf(shlo::DotGeneralOp op);

int64_t sizeOf(llvm::ArrayRef<DotDimension> dims);

// The attributes of a convolution; valid as long as its context.
ConvNumbers convNumbersOf(shlo::ConvolutionOp op);
ConvRoles convRolesOf(shlo::ConvolutionOp op);

}  // namespace isthmus

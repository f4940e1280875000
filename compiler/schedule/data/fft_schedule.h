// How kernels of a device transform: dimension by dimension, each by groups of threads that have
// whole lines in their memory, or a kernel of work-items for each factor of its size.
#pragma once

#include <string>

#include "compiler/dialect/dialect.h"
#include "compiler/schedule/schedule.h"
#include "compiler/target/element_kind.h"
#include "compiler/target/target_model.h"

namespace isthmus {

// One dimension, of an array as it is when its turn comes.
struct FftDim {
  int64_t dim = 0;               // of the operand
  int64_t size = 1;              // complex points
  int64_t outer = 1, inner = 1;  // elements of the other dimensions, before and behind
  bool fromReal = false;         // reads real numbers, and writes the first half of the points
  bool toReal = false;           // reads the first half of the points, and writes real numbers

  int64_t lines() const { return inner == 1 ? outer : inner; }
};

struct FftShape {
  llvm::SmallVector<FftDim, 3> dims;  // in their order
  ElementKind real, complex;          // `real` where there are real numbers
  int64_t largest = 0;                // elements of the operand or of the result
  bool isInverse = false;
};

// kUnimplemented of what no kernel transforms.
StatusOr<FftShape> fftShapeOf(shlo::FftOp op);

// Points that a thread transforms in registers.
inline constexpr int64_t kMaxFftPoints = 16;
// After so many points in a group's memory one is left out: those that lie apart by a power of two
// are then in different banks.
inline constexpr int64_t kFftBanks = 16;
inline int64_t fftPlacesOf(int64_t points) { return points + points / kFftBanks; }

// The stages, each of which begins as `base`. kUnimplemented of sizes with large prime factors.
// `reason`, if not null: why groups do not transform a dimension.
StatusOr<KernelSchedule> scheduleFft(const FftShape& shape, const TargetModel& target,
                                     const FftStage& base, std::string* reason = nullptr);
// Why it cannot be done so; empty if it can. A part of a sentence.
std::string fftRefusal(const FftShape& shape, llvm::ArrayRef<FftStage> stages,
                       const TargetModel& target);

}  // namespace isthmus

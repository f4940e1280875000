// Fourier transforms by Stockham's algorithm, dimension by dimension, from one copy of the array to
// another: by groups of threads that have whole lines in their memory, else a kernel for each
// factor of the dimension's size. Real transforms compute with complex numbers whose imaginary
// parts are 0, or whose second half mirrors the first.
#include "compiler/codegen/simt/data_kernels.h"
#include "compiler/codegen/simt/fft/fft_writer.h"
#include "compiler/schedule/data/data_scheduler.h"
#include "compiler/schedule/data/fft_schedule.h"
#include "llvm/Support/MathExtras.h"

namespace isthmus::codegen {
namespace {

// The whole of one dimension.
FftPass passOf(const FftShape& shape, const FftDim& dim) {
  FftPass pass;
  pass.size = dim.size;
  pass.outer = dim.outer;
  pass.inner = dim.inner;
  pass.isInverse = shape.isInverse;
  if (shape.isInverse) pass.scale = 1 / static_cast<double>(dim.size);
  const FftSide whole{0, 0, shape.complex, dim.size};
  const FftSide half{0, 0, shape.complex, dim.size / 2 + 1, true};
  const FftSide real{0, 0, shape.real, dim.size};
  pass.from = dim.fromReal ? real : dim.toReal ? half : whole;
  pass.to = dim.fromReal ? half : dim.toReal ? real : whole;
  return pass;
}

// As the stages of one dimension say.
void addPasses(const FftPass& whole, const FftShape& shape, llvm::ArrayRef<FftStage> stages,
               std::vector<FftPass>& passes) {
  const FftSide between{0, 0, shape.complex, whole.size};
  int64_t done = 1;
  for (auto [i, stage] : llvm::enumerate(stages)) {
    FftPass one = whole;
    one.factors.assign(stage.factors.begin(), stage.factors.end());
    one.done = done;
    one.lines = stage.lines;
    one.groupThreads = stage.groupThreads;
    if (i > 0) one.from = between;
    if (i + 1 < stages.size()) {
      one.to = between;
      one.scale = 1;
    }
    passes.push_back(one);
    for (int64_t factor : stage.factors) done *= factor;
  }
}

}  // namespace

StatusOr<OpKernels> emitFft(shlo::FftOp op, llvm::Module& module, const WorkItemForm& form,
                            const std::string& symbol) {
  ISTHMUS_ASSIGN_OR_RETURN(KernelSchedule schedule, dataScheduleOf(op, form.target));
  ISTHMUS_ASSIGN_OR_RETURN(FftShape shape, fftShapeOf(op));
  std::vector<FftPass> passes;
  const llvm::SmallVector<FftStage, 2> all = schedule.all<FftStage>();
  llvm::ArrayRef<FftStage> stages = all;
  for (const FftDim& dim : shape.dims) {
    auto ofDim = stages.take_while([&](const FftStage& stage) { return stage.dim == dim.dim; });
    addPasses(passOf(shape, dim), shape, ofDim, passes);
    stages = stages.drop_front(ofDim.size());
  }

  // From the operand through two halves of the scratch memory to the result.
  int64_t halfBytes = static_cast<int64_t>(
      llvm::alignTo(static_cast<uint64_t>(shape.largest) * shape.complex.storageBytes, 64));
  for (size_t i = 0; i + 1 < passes.size(); ++i) {
    passes[i].to.buffer = passes[i + 1].from.buffer = 2;
    passes[i].to.offset = passes[i + 1].from.offset = i % 2 == 0 ? 0 : halfBytes;
  }
  passes.back().to.buffer = 1;
  OpKernels kernels;
  kernels.scratchBytes = passes.size() == 1 ? 0 : passes.size() == 2 ? halfBytes : 2 * halfBytes;
  unsigned buffers = kernels.scratchBytes > 0 ? 3 : 2;
  for (auto [i, pass] : llvm::enumerate(passes)) {
    const std::string name = symbol + (i == 0 ? "" : "_" + std::to_string(i));
    const auto emit = pass.groupThreads > 1 ? emitGroupFft : emitItemFft;
    kernels.stages.push_back(emit(pass, module, form, name, buffers));
  }
  return kernels;
}

}  // namespace isthmus::codegen

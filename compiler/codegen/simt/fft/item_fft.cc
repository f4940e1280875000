// One factor of a Fourier transform, whose points a work-item each has in registers; of a large
// prime, each point is a sum of its own.
#include "compiler/codegen/simt/fft/fft_writer.h"

namespace isthmus::codegen {
namespace {

class ItemFft : public FftWriter {
 public:
  ItemFft(const FftPass& pass, llvm::Module& module, KernelWriter& writer)
      : FftWriter(pass, module, writer), factor_(pass.factors.front()) {}

  void emit() {
    auto [number, inner] = w_.divide(w_.item(0), p_.inner);
    line_ = {w_.item(1), inner};
    factor_ > kMaxFftPoints ? emitPoint(number) : emitPoints(number);
  }

 private:
  void emitPoints(llvm::Value* number) {
    int64_t stride = p_.size / factor_;
    auto [block, within] = w_.divide(number, p_.done);
    Points points;
    for (int64_t q = 0; q < factor_; ++q) {
      points.push_back(load(line_, w_.plus(number, w_.i64(q * stride))));
    }
    if (p_.done > 1) {
      Points roots = powersOfRoot(w_.times(within, stride / p_.done), factor_);
      for (size_t q = 1; q < points.size(); ++q) points[q] = times(points[q], roots[q]);
    }
    llvm::Value* first = w_.plus(w_.times(block, p_.done * factor_), within);
    for (auto [k, point] : llvm::enumerate(transform(points))) {
      store(line_, w_.plus(first, w_.i64(static_cast<int64_t>(k) * p_.done)), point);
    }
  }

  // Number `at` of the pass's results.
  void emitPoint(llvm::Value* at) {
    int64_t together = p_.done * factor_;
    int64_t stride = p_.size / factor_;
    auto [block, turns] = w_.divide(at, together);
    llvm::Value* first = w_.plus(w_.times(block, p_.done), w_.divide(turns, p_.done).second);
    auto add = [&, turns = turns](llvm::Value* q, const KernelWriter::Elements& carried) {
      Val point = load(line_, w_.plus(first, w_.times(q, stride)));
      llvm::Value* turn = w_.times(b_.CreateMul(q, turns), stride / p_.done);
      Val turned = times(point, root(w_.divide(turn, p_.size).second));
      return KernelWriter::Elements{plus(carried[0], turned)};
    };
    store(line_, at, w_.loop(factor_, KernelWriter::Elements{zero()}, add)[0]);
  }

  int64_t factor_;
  Line line_{};
};

}  // namespace

OpKernel emitItemFft(const FftPass& pass, llvm::Module& module, const WorkItemForm& form,
                     const std::string& name, unsigned buffers) {
  const int64_t factor = pass.factors.front();
  const int64_t points = factor > kMaxFftPoints ? 1 : factor;
  OpKernel kernel{name, {pass.size / points * pass.inner, pass.outer, 1}};
  KernelWriter writer(module, form, name, buffers, kernel.items);
  ItemFft(pass, module, writer).emit();
  writer.finish();
  return kernel;
}

}  // namespace isthmus::codegen

// Contexts wait in a list, the one used last at its end.
#include "compiler/pipeline/context_pool.h"

#include "compiler/pipeline/pipeline.h"

namespace isthmus {

ContextPool::Lease::~Lease() {
  // Thrown through MLIR, which has no clean-up: it may stand half changed, and hold its own locks.
  if (std::uncaught_exceptions() > exceptions_) {
    (void)context_.release();
    return;
  }
  if (!pool_ || !context_ || programs_ >= kMaxPrograms) return;
  std::lock_guard lock(pool_->mutex_);
  if (pool_->idle_.size() < kMaxIdle) pool_->idle_.push_back({std::move(context_), programs_});
}

ContextPool::Lease ContextPool::take(size_t programBytes) {
  Lease lease;
  if (programBytes <= kMaxProgramBytes) {
    lease.pool_ = this;
    std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      lease.context_ = std::move(idle_.back().context);
      lease.programs_ = idle_.back().programs;
      idle_.pop_back();
    }
  }
  if (!lease.context_) lease.context_ = makeContext();
  ++lease.programs_;
  return lease;
}

ContextPool& contextPool() {
  // Never destroyed: threads may compile while the process ends.
  static auto* pool = new ContextPool;
  return *pool;
}

}  // namespace isthmus

// MLIR contexts that are used again: loading the dialects takes as long as a small program's
// stages.
#pragma once

#include <exception>
#include <memory>
#include <mutex>
#include <vector>

#include "mlir/IR/MLIRContext.h"

namespace isthmus {

// Contexts that no thread uses at the moment. Thread-safe; the contexts are not, each has one
// borrower.
class ContextPool {
 public:
  // What a context keeps of each program (types, attributes, locations, names) stays in it, so it
  // is used for so many programs, and only for programs of up to so many bytes.
  static constexpr int kMaxPrograms = 64;
  static constexpr size_t kMaxProgramBytes = 32 << 10;
  static constexpr size_t kMaxIdle = 4;

  // A context with all dialects loaded, which goes back when this is destroyed. No IR of it may
  // outlive this.
  class Lease {
   public:
    Lease(Lease&&) noexcept = default;
    Lease& operator=(Lease&&) = delete;
    ~Lease();
    mlir::MLIRContext& operator*() const { return *context_; }

   private:
    friend class ContextPool;
    Lease() = default;
    ContextPool* pool_ = nullptr;  // null: the context is not used again
    std::unique_ptr<mlir::MLIRContext> context_;
    int programs_ = 0;
    int exceptions_ = std::uncaught_exceptions();
  };

  // For a program of that many bytes.
  Lease take(size_t programBytes);

 private:
  struct Idle {
    std::unique_ptr<mlir::MLIRContext> context;
    int programs;
  };
  std::mutex mutex_;
  std::vector<Idle> idle_;
};

// The process's.
ContextPool& contextPool();

}  // namespace isthmus

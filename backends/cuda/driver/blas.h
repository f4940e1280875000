// cuBLASLt, in a library that is loaded where it is there.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "backends/cuda/driver/driver.h"
#include "backends/cuda/driver/plan_cache.h"
#include "backends/cuda/libraries/matrix_product.h"
#include "isthmus/status.h"

namespace isthmus::cuda {

// Memory that every multiplication gets: what cuBLASLt asks for on its largest devices.
inline constexpr int64_t kBlasWorkspaceBytes = int64_t{32} << 20;
// It begins at a multiple of this, which places of an arena need not.
inline constexpr int64_t kBlasWorkspaceAlignment = 256;
// What holds such a workspace wherever it begins.
inline constexpr int64_t kBlasScratchBytes = kBlasWorkspaceBytes + kBlasWorkspaceAlignment;

struct BlasFunctions;

// A product with the algorithm that was chosen for a device, of those that cuBLASLt's heuristics
// named.
class BlasPlan;

class Blas {
 public:
  // Loads `path`; for "libcublasLt.so" also its versions 13 and 12. kNotFound if there is none.
  static StatusOr<std::unique_ptr<Blas>> load(const std::string& path, Driver& driver);
  ~Blas();

  // kUnimplemented if cuBLASLt has no algorithm. It is asked once for each device and product.
  StatusOr<std::shared_ptr<const BlasPlan>> plan(int device, const BlasProduct& product);
  // With the algorithm that is the fastest of a few, for large products: timed once for each device
  // and product.
  StatusOr<std::shared_ptr<const BlasPlan>> tunedPlan(int device, const BlasProduct& product);
  // Enqueued on `queue`; `scratch` has kBlasScratchBytes; `bias` is null where the plan's product
  // has none. Nothing may overlap the result.
  Status multiply(int device, Queue queue, const BlasPlan& plan, const void* lhs, const void* rhs,
                  const void* bias, void* result, void* scratch);

 private:
  Blas(std::unique_ptr<BlasFunctions> functions, Driver& driver);
  StatusOr<void*> handleOf(int device);
  StatusOr<std::shared_ptr<BlasPlan>> makePlan(int device, const BlasProduct& product,
                                               size_t maxAlgorithms);
  StatusOr<std::shared_ptr<const BlasPlan>> tune(int device, const BlasProduct& product);
  // By one of the plan's algorithms.
  Status multiply(int device, Queue queue, const BlasPlan& plan, size_t algorithm, const void* lhs,
                  const void* rhs, const void* bias, void* result, void* scratch);

  std::unique_ptr<BlasFunctions> functions_;
  Driver& driver_;
  PlanCache<std::pair<int, BlasProduct>, BlasPlan> plans_, tuned_;
  std::mutex mutex_;
  // By device; they live as long as the process. What failed to make one is not tried again.
  std::vector<void*> handles_;
  std::vector<Status> failures_;
};

}  // namespace isthmus::cuda

// cuBLASLt, in a library that is loaded where it is there. Never run on a GPU yet.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backends/cuda/driver/driver.h"
#include "backends/cuda/matrix_product.h"
#include "isthmus/status.h"

namespace isthmus::cuda {

// Memory that every multiplication gets: what cuBLASLt asks for on its largest devices.
inline constexpr int64_t kBlasWorkspaceBytes = int64_t{32} << 20;
// It begins at a multiple of this, which places of an arena need not.
inline constexpr int64_t kBlasWorkspaceAlignment = 256;
// What holds such a workspace wherever it begins.
inline constexpr int64_t kBlasScratchBytes = kBlasWorkspaceBytes + kBlasWorkspaceAlignment;

struct BlasFunctions;

// A product with the algorithm that cuBLASLt's heuristics chose for a device.
class BlasPlan;

class Blas {
 public:
  // Loads `path`; for "libcublasLt.so" also its versions 13 and 12. kNotFound if there is none.
  static StatusOr<std::unique_ptr<Blas>> load(const std::string& path, Driver& driver);
  ~Blas();

  // kUnimplemented if cuBLASLt has no algorithm.
  StatusOr<std::shared_ptr<const BlasPlan>> plan(int device, const BlasProduct& product);
  // Enqueued on `queue`; `scratch` has kBlasScratchBytes. Nothing may overlap the result.
  Status multiply(int device, Queue queue, const BlasPlan& plan, const void* lhs, const void* rhs,
                  void* result, void* scratch);

 private:
  Blas(std::unique_ptr<BlasFunctions> functions, Driver& driver);
  StatusOr<void*> handleOf(int device);

  std::unique_ptr<BlasFunctions> functions_;
  Driver& driver_;
  std::mutex mutex_;
  std::vector<void*> handles_;  // by device; they live as long as the process
};

}  // namespace isthmus::cuda

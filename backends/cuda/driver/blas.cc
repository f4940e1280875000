// Everything is row-major here and column-major there: a row-major matrix is its transpose in
// cuBLASLt's eyes. So result^T = rhs^T lhs^T is what it is asked for: its A is our rhs.
#include "backends/cuda/driver/blas.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>

#include "backends/cuda/driver/autotune.h"
#include "base/shared_library.h"
#include "isthmus/backend.h"
#include "isthmus/log.h"

namespace isthmus::cuda {

// Values of cuBLASLt's enumerations.
namespace {

constexpr int kSuccess = 0, kNotInitialized = 1, kAllocFailed = 3, kInvalidValue = 7;
constexpr int kArchMismatch = 8, kNotSupported = 15;
constexpr int kComputeF32 = 68, kComputeF64 = 70, kComputeI32 = 72, kComputeTf32 = 77;
constexpr int kDescTransA = 3, kDescTransB = 4, kDescEpilogue = 7, kDescBiasPointer = 8;
constexpr int kLayoutBatchCount = 5, kLayoutBatchOffset = 6;
constexpr int kPreferenceWorkspaceBytes = 1, kPreferenceReductionSchemes = 3;
constexpr uint32_t kReductionComputeType = 2;  // where the sums of one element are split
// Of A, B, C and D in memory; 256 bytes unless something else is said.
constexpr int kPreferenceAlignments[] = {5, 6, 7, 8};
constexpr int kOpN = 0, kOpT = 1;

// cublasLtMatmulHeuristicResult_t.
struct Heuristic {
  uint64_t algorithm[8];
  size_t workspaceBytes;
  int state;
  float waves;
  int reserved[4];
};
static_assert(sizeof(Heuristic) == 96);

using Handle = void*;
using Opaque = void*;

}  // namespace

// X(member, symbol, parameters)
#define ISTHMUS_BLAS_FUNCTIONS(X)                                                              \
  X(Create, "cublasLtCreate", (Handle*))                                                       \
  X(DescCreate, "cublasLtMatmulDescCreate", (Opaque*, int, int))                               \
  X(DescSet, "cublasLtMatmulDescSetAttribute", (Opaque, int, const void*, size_t))             \
  X(DescDestroy, "cublasLtMatmulDescDestroy", (Opaque))                                        \
  X(LayoutCreate, "cublasLtMatrixLayoutCreate", (Opaque*, int, uint64_t, uint64_t, int64_t))   \
  X(LayoutSet, "cublasLtMatrixLayoutSetAttribute", (Opaque, int, const void*, size_t))         \
  X(LayoutDestroy, "cublasLtMatrixLayoutDestroy", (Opaque))                                    \
  X(PreferenceCreate, "cublasLtMatmulPreferenceCreate", (Opaque*))                             \
  X(PreferenceSet, "cublasLtMatmulPreferenceSetAttribute", (Opaque, int, const void*, size_t)) \
  X(PreferenceDestroy, "cublasLtMatmulPreferenceDestroy", (Opaque))                            \
  X(Heuristics, "cublasLtMatmulAlgoGetHeuristic",                                              \
    (Handle, Opaque, Opaque, Opaque, Opaque, Opaque, Opaque, int, Heuristic*, int*))           \
  X(Matmul, "cublasLtMatmul",                                                                  \
    (Handle, Opaque, const void*, const void*, Opaque, const void*, Opaque, const void*,       \
     const void*, Opaque, void*, Opaque, const uint64_t*, void*, size_t, CUstream))

struct BlasFunctions {
#define ISTHMUS_BLAS_MEMBER(name, symbol, parameters) int(*name) parameters = nullptr;
  ISTHMUS_BLAS_FUNCTIONS(ISTHMUS_BLAS_MEMBER)
#undef ISTHMUS_BLAS_MEMBER
};

class BlasPlan {
 public:
  explicit BlasPlan(const BlasFunctions& functions) : functions_(functions) {}
  ~BlasPlan() {
    if (preference) functions_.PreferenceDestroy(preference);
    for (Opaque layout : {a, b, d}) {
      if (layout) functions_.LayoutDestroy(layout);
    }
    if (operation) functions_.DescDestroy(operation);
  }
  BlasPlan(const BlasPlan&) = delete;
  BlasPlan& operator=(const BlasPlan&) = delete;

  Opaque operation = nullptr, a = nullptr, b = nullptr, d = nullptr, preference = nullptr;
  // The first is chosen.
  std::vector<Heuristic> algorithms;
  BlasProduct product;
  // Of the bias that `operation` names, which is another one for each call.
  mutable std::mutex mutex;
  // One and zero in the type of the sums: at most a complex number of f64s.
  std::array<double, 2> one{}, zero{};

 private:
  const BlasFunctions& functions_;
};

namespace {

Status check(int code, const char* call) {
  if (code == kSuccess) return {};
  if (code == kAllocFailed) return resourceExhausted(call, " failed for want of memory");
  return internalError(call, " failed with status ", code);
}

bool isWide(BlasType type) { return type == BlasType::kF64 || type == BlasType::kC128; }

// What alpha and beta are, by cudaDataType.
BlasType scaleType(BlasType operands) {
  if (operands == BlasType::kI8) return BlasType::kI32;
  bool isNarrow = operands == BlasType::kF16 || operands == BlasType::kBf16;
  return isNarrow ? BlasType::kF32 : operands;
}

Status makeLayout(const BlasFunctions& f, Opaque* layout, BlasType type, int64_t rows,
                  int64_t columns, int64_t stride, int64_t batch, int64_t batchStride) {
  ISTHMUS_RETURN_IF_ERROR(
      check(f.LayoutCreate(layout, static_cast<int>(type), static_cast<uint64_t>(rows),
                           static_cast<uint64_t>(columns), stride),
            "cublasLtMatrixLayoutCreate"));
  auto count = static_cast<int32_t>(batch);
  ISTHMUS_RETURN_IF_ERROR(check(f.LayoutSet(*layout, kLayoutBatchCount, &count, sizeof(count)),
                                "cublasLtMatrixLayoutSetAttribute"));
  return check(f.LayoutSet(*layout, kLayoutBatchOffset, &batchStride, sizeof(batchStride)),
               "cublasLtMatrixLayoutSetAttribute");
}

Status setBias(const BlasFunctions& f, const BlasPlan& plan, const void* bias) {
  return check(f.DescSet(plan.operation, kDescBiasPointer, &bias, sizeof(bias)),
               "cublasLtMatmulDescSetAttribute");
}

Status describeEpilogue(const BlasFunctions& f, const BlasProduct& p, BlasPlan& plan) {
  if (p.epilogue == BlasEpilogue::kNone) return {};
  auto epilogue = static_cast<uint32_t>(p.epilogue);
  ISTHMUS_RETURN_IF_ERROR(
      check(f.DescSet(plan.operation, kDescEpilogue, &epilogue, sizeof(epilogue)),
            "cublasLtMatmulDescSetAttribute"));
  // Heuristics take the address for that of every bias to come: no more aligned than those are.
  return p.hasBias() ? setBias(f, plan, reinterpret_cast<const void*>(kBufferAlignment)) : Status();
}

// What is known of the addresses of an array that has so many bytes for each outer batch. Places of
// an arena are aligned to kBufferAlignment.
uint32_t alignmentOf(const BlasProduct& p, int64_t outerBytes) {
  auto alignment = static_cast<int64_t>(kBufferAlignment);
  while (p.outer > 1 && outerBytes % alignment != 0) alignment /= 2;
  return static_cast<uint32_t>(alignment);
}

// Elements from an operand's first to its last.
int64_t extentOf(const BlasProduct& p, const MatrixOperand& operand, int64_t lines) {
  return (p.outer - 1) * operand.outerStride + (p.batch - 1) * operand.batchStride +
         ((operand.alongContracting ? lines : p.contracting) - 1) * operand.stride +
         (operand.alongContracting ? p.contracting : lines);
}

int64_t outerResultBytes(const BlasProduct& p) {
  return p.batch * p.rows * p.columns * bytesOf(p.result);
}

Status describe(const BlasFunctions& f, const BlasProduct& p, BlasPlan& plan) {
  const bool isInteger = p.operands == BlasType::kI8;
  int compute = isInteger            ? kComputeI32
                : isWide(p.operands) ? kComputeF64
                : p.isTf32           ? kComputeTf32
                                     : kComputeF32;
  ISTHMUS_RETURN_IF_ERROR(
      check(f.DescCreate(&plan.operation, compute, static_cast<int>(scaleType(p.operands))),
            "cublasLtMatmulDescCreate"));
  // In memory a rhs along its columns is what A is: columns by sums, column-major.
  int32_t transposeA = p.rhs.alongContracting ? kOpT : kOpN;
  int32_t transposeB = p.lhs.alongContracting ? kOpN : kOpT;
  ISTHMUS_RETURN_IF_ERROR(
      check(f.DescSet(plan.operation, kDescTransA, &transposeA, sizeof(transposeA)),
            "cublasLtMatmulDescSetAttribute"));
  ISTHMUS_RETURN_IF_ERROR(
      check(f.DescSet(plan.operation, kDescTransB, &transposeB, sizeof(transposeB)),
            "cublasLtMatmulDescSetAttribute"));
  ISTHMUS_RETURN_IF_ERROR(describeEpilogue(f, p, plan));
  auto layout = [&](Opaque* made, const MatrixOperand& operand, int64_t lines) {
    return makeLayout(f, made, p.operands, operand.alongContracting ? p.contracting : lines,
                      operand.alongContracting ? lines : p.contracting, operand.stride, p.batch,
                      operand.batchStride);
  };
  ISTHMUS_RETURN_IF_ERROR(layout(&plan.a, p.rhs, p.columns));
  ISTHMUS_RETURN_IF_ERROR(layout(&plan.b, p.lhs, p.rows));
  ISTHMUS_RETURN_IF_ERROR(
      makeLayout(f, &plan.d, p.result, p.columns, p.rows, p.columns, p.batch, p.rows * p.columns));
  plan.one[0] = 1;
  if (!isWide(p.operands)) {
    constexpr float kOne = 1;
    constexpr int32_t kWhole = 1;
    plan.one[0] = 0;
    std::memcpy(plan.one.data(), isInteger ? static_cast<const void*>(&kWhole) : &kOne, 4);
  }
  uint64_t bytes = kBlasWorkspaceBytes;
  ISTHMUS_RETURN_IF_ERROR(
      check(f.PreferenceCreate(&plan.preference), "cublasLtMatmulPreferenceCreate"));
  ISTHMUS_RETURN_IF_ERROR(
      check(f.PreferenceSet(plan.preference, kPreferenceWorkspaceBytes, &bytes, sizeof(bytes)),
            "cublasLtMatmulPreferenceSetAttribute"));
  // Partial sums are rounded to the result's type (bf16) once, at the end.
  uint32_t schemes = kReductionComputeType;
  ISTHMUS_RETURN_IF_ERROR(check(
      f.PreferenceSet(plan.preference, kPreferenceReductionSchemes, &schemes, sizeof(schemes)),
      "cublasLtMatmulPreferenceSetAttribute"));
  const uint32_t ofResult = alignmentOf(p, outerResultBytes(p));
  const int64_t bytesOfOperand = bytesOf(p.operands);
  const uint32_t alignments[] = {alignmentOf(p, p.rhs.outerStride * bytesOfOperand),
                                 alignmentOf(p, p.lhs.outerStride * bytesOfOperand), ofResult,
                                 ofResult};
  for (size_t i = 0; i < std::size(alignments); ++i) {
    ISTHMUS_RETURN_IF_ERROR(check(f.PreferenceSet(plan.preference, kPreferenceAlignments[i],
                                                  &alignments[i], sizeof(alignments[i])),
                                  "cublasLtMatmulPreferenceSetAttribute"));
  }
  return {};
}

}  // namespace

Blas::Blas(std::unique_ptr<BlasFunctions> functions, Driver& driver)
    : functions_(std::move(functions)),
      driver_(driver),
      handles_(static_cast<size_t>(driver.numDevices()), nullptr),
      failures_(handles_.size()) {}

Blas::~Blas() = default;

StatusOr<std::unique_ptr<Blas>> Blas::load(const std::string& path, Driver& driver) {
  std::vector<std::string> names = {path};
  if (path == "libcublasLt.so") names.insert(names.end(), {path + ".13", path + ".12"});
  ISTHMUS_ASSIGN_OR_RETURN(SharedLibrary library, SharedLibrary::open("cuBLASLt", names));
  auto functions = std::make_unique<BlasFunctions>();
#define ISTHMUS_BLAS_FIND(name, symbol, parameters) \
  ISTHMUS_RETURN_IF_ERROR(library.find(symbol, functions->name));
  ISTHMUS_BLAS_FUNCTIONS(ISTHMUS_BLAS_FIND)
#undef ISTHMUS_BLAS_FIND
  return std::unique_ptr<Blas>(new Blas(std::move(functions), driver));
}

StatusOr<void*> Blas::handleOf(int device) {
  std::lock_guard lock(mutex_);
  void*& handle = handles_[static_cast<size_t>(device)];
  Status& failure = failures_[static_cast<size_t>(device)];
  if (handle) return handle;
  if (!failure.ok()) return failure;
  int code = functions_->Create(&handle);
  // It says little of what it lacks.
  if (code != kSuccess && driver_.makeRoom(device).ok()) code = functions_->Create(&handle);
  const Status status = check(code, "cublasLtCreate");
  if (status.ok()) return handle;
  handle = nullptr;
  if (code != kNotInitialized && code != kArchMismatch && code != kNotSupported) return status;
  // Such as a version that the driver is too old for. Programs that need it fail, others do
  // without.
  failure = status;
  log(LogLevel::kWarning, "cuda: ", failure.message(), "; own kernels multiply");
  return failure;
}

StatusOr<std::shared_ptr<const BlasPlan>> Blas::plan(int device, const BlasProduct& product) {
  return plans_.find({device, product}, [&]() -> StatusOr<std::shared_ptr<const BlasPlan>> {
    ISTHMUS_ASSIGN_OR_RETURN(std::shared_ptr<BlasPlan> plan, makePlan(device, product, 1));
    return std::shared_ptr<const BlasPlan>(std::move(plan));
  });
}

StatusOr<std::shared_ptr<const BlasPlan>> Blas::tunedPlan(int device, const BlasProduct& product) {
  const double bytes = static_cast<double>(product.batches()) *
                       static_cast<double>(product.rows + product.columns) *
                       static_cast<double>(product.contracting * bytesOf(product.operands));
  if (maxCandidates() == 1 || !isWorthTiming(product.products(), bytes)) {
    return plan(device, product);
  }
  return tuned_.find({device, product}, [&] { return tune(device, product); });
}

StatusOr<std::shared_ptr<const BlasPlan>> Blas::tune(int device, const BlasProduct& product) {
  ISTHMUS_ASSIGN_OR_RETURN(std::shared_ptr<BlasPlan> plan,
                           makePlan(device, product, maxCandidates()));
  const int64_t ofOperand = bytesOf(product.operands), ofResult = bytesOf(product.result);
  Candidates candidates;
  candidates.count = plan->algorithms.size();
  for (int64_t bytes : {extentOf(product, product.lhs, product.rows) * ofOperand,
                        extentOf(product, product.rhs, product.columns) * ofOperand,
                        product.hasBias() ? product.columns * ofResult : 1,
                        product.outer * outerResultBytes(product), kBlasScratchBytes}) {
    candidates.bytes.push_back(static_cast<size_t>(bytes));
  }
  candidates.run = [&](size_t candidate, std::span<void* const> buffers) {
    return multiply(device, Queue::kCompute, *plan, candidate, buffers[0], buffers[1], buffers[2],
                    buffers[3], buffers[4]);
  };
  ISTHMUS_ASSIGN_OR_RETURN(size_t fastest, fastestOf(driver_, device, candidates));
  std::swap(plan->algorithms[0], plan->algorithms[fastest]);
  log(LogLevel::kInfo, "cuda: of ", candidates.count, " algorithms for a product of ", product.rows,
      " by ", product.contracting, " by ", product.columns, ", number ", fastest,
      " is the fastest");
  return std::shared_ptr<const BlasPlan>(std::move(plan));
}

StatusOr<std::shared_ptr<BlasPlan>> Blas::makePlan(int device, const BlasProduct& product,
                                                   size_t maxAlgorithms) {
  ISTHMUS_ASSIGN_OR_RETURN(ContextScope scope, driver_.enter(device));
  ISTHMUS_ASSIGN_OR_RETURN(void* handle, handleOf(device));
  auto plan = std::make_shared<BlasPlan>(*functions_);
  plan->product = product;
  ISTHMUS_RETURN_IF_ERROR(describe(*functions_, product, *plan));
  int found = 0;
  plan->algorithms.resize(maxAlgorithms);
  auto ask = [&] {
    return functions_->Heuristics(handle, plan->operation, plan->a, plan->b, plan->d, plan->d,
                                  plan->preference, static_cast<int>(maxAlgorithms),
                                  plan->algorithms.data(), &found);
  };
  int code = ask();
  if (code == kAllocFailed && driver_.makeRoom(device).ok()) code = ask();
  // The library says in this way, too, that it does not compute such a product.
  const bool isRefused = code == kInvalidValue || code == kArchMismatch || code == kNotSupported;
  if (isRefused) found = 0;
  if (!isRefused) ISTHMUS_RETURN_IF_ERROR(check(code, "cublasLtMatmulAlgoGetHeuristic"));
  plan->algorithms.resize(std::min(static_cast<size_t>(std::max(found, 0)), maxAlgorithms));
  std::erase_if(plan->algorithms, [](const Heuristic& one) { return one.state != kSuccess; });
  if (plan->algorithms.empty()) {
    return unimplemented("cuBLASLt has no algorithm for a product of ", product.rows, " by ",
                         product.contracting, " by ", product.columns);
  }
  return plan;
}

Status Blas::multiply(int device, Queue queue, const BlasPlan& plan, const void* lhs,
                      const void* rhs, const void* bias, void* result, void* scratch) {
  return multiply(device, queue, plan, 0, lhs, rhs, bias, result, scratch);
}

Status Blas::multiply(int device, Queue queue, const BlasPlan& plan, size_t algorithm,
                      const void* lhs, const void* rhs, const void* bias, void* result,
                      void* scratch) {
  ISTHMUS_ASSIGN_OR_RETURN(ContextScope scope, driver_.enter(device));
  ISTHMUS_ASSIGN_OR_RETURN(void* handle, handleOf(device));
  void* workspace = scratch;
  auto bytes = static_cast<size_t>(kBlasScratchBytes);
  std::align(kBlasWorkspaceAlignment, kBlasWorkspaceBytes, workspace, bytes);
  std::unique_lock lock(plan.mutex, std::defer_lock);
  const BlasProduct& p = plan.product;
  if (p.hasBias()) {
    lock.lock();
    ISTHMUS_RETURN_IF_ERROR(setBias(*functions_, plan, bias));
  }
  const int64_t bytesOfOperand = bytesOf(p.operands);
  for (int64_t outer = 0; outer < p.outer; ++outer) {
    const void* a = static_cast<const char*>(rhs) + outer * p.rhs.outerStride * bytesOfOperand;
    const void* b = static_cast<const char*>(lhs) + outer * p.lhs.outerStride * bytesOfOperand;
    void* d = static_cast<char*>(result) + outer * outerResultBytes(p);
    ISTHMUS_RETURN_IF_ERROR(check(
        functions_->Matmul(handle, plan.operation, plan.one.data(), a, plan.a, b, plan.b,
                           plan.zero.data(), d, plan.d, d, plan.d,
                           plan.algorithms[algorithm].algorithm, workspace,
                           static_cast<size_t>(kBlasWorkspaceBytes), driver_.stream(device, queue)),
        "cublasLtMatmul"));
  }
  return {};
}

}  // namespace isthmus::cuda

// jaxlib's calls of LAPACK, where jaxlib's own handlers are not registered, as library calls: what
// jax.export writes for platform cpu runs without JAX. Small triangular solves are so everywhere.
#include <algorithm>

#include "backends/cpu/kernels/linalg/decompositions.h"
#include "backends/cpu/kernels/linalg/linalg.h"
#include "backends/cpu/lower/library_ops.h"
#include "compiler/cost/library_time.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/types/type_conversion.h"
#include "compiler/plan/op_error.h"
#include "compiler/program/custom_calls.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

namespace isthmus::cpu {
namespace {

enum class Routine { kPotrf, kTrsm, kGetrf, kGeqrf, kOrgqr, kSyevd, kGesdd };

struct Target {
  Routine routine;
  ElementType type;
};

// Of "lapack_dgetrf_ffi".
std::optional<Target> targetOf(llvm::StringRef name) {
  if (!name.consume_front("lapack_") || !name.consume_back("_ffi") || name.empty()) {
    return std::nullopt;
  }
  const auto type = llvm::StringSwitch<ElementType>(name.take_front())
                        .Case("s", ElementType::kF32)
                        .Case("d", ElementType::kF64)
                        .Case("c", ElementType::kC64)
                        .Case("z", ElementType::kC128)
                        .Default(ElementType::kInvalid);
  if (type == ElementType::kInvalid) return std::nullopt;
  const bool isComplex = type == ElementType::kC64 || type == ElementType::kC128;
  name = name.drop_front();
  // Routines of real and of complex numbers that differ in more than their first letter.
  if (isComplex ? name == "orgqr" || name == "syevd" : name == "ungqr" || name == "heevd") {
    return std::nullopt;
  }
  const auto routine = llvm::StringSwitch<std::optional<Routine>>(name)
                           .Case("potrf", Routine::kPotrf)
                           .Case("trsm", Routine::kTrsm)
                           .Case("getrf", Routine::kGetrf)
                           .Case("geqrf", Routine::kGeqrf)
                           .Cases({"orgqr", "ungqr"}, Routine::kOrgqr)
                           .Cases({"syevd", "heevd"}, Routine::kSyevd)
                           .Case("gesdd", Routine::kGesdd)
                           .Default(std::nullopt);
  if (!routine) return std::nullopt;
  return Target{*routine, type};
}

// Whether a matrix of each batch lies in columns, and other arrays in the order of their
// dimensions.
bool liesAsLapackReads(const ArrayType& type, bool isMatrix, mlir::Attribute layout) {
  const auto rank = static_cast<int64_t>(type.dims.size());
  auto minorToMajor = llvm::dyn_cast_or_null<mlir::DenseIntElementsAttr>(layout);
  // Without one, the dimensions are in order.
  if (!minorToMajor) return !isMatrix;
  if (minorToMajor.getNumElements() != rank) return false;
  llvm::SmallVector<int64_t> wanted;
  for (int64_t dim = rank; dim-- > 0;) wanted.push_back(dim);
  if (isMatrix) std::swap(wanted[0], wanted[1]);
  return llvm::equal(minorToMajor.getValues<llvm::APInt>(), wanted,
                     [](const llvm::APInt& x, int64_t y) { return x.getSExtValue() == y; });
}

// One call, of which everything is checked before anything is made of it.
class LapackCall {
 public:
  LapackCall(mlir::Operation* op, Target target, const TargetModel& model)
      : op_(op), target_(target), model_(model) {}

  StatusOr<OperationCode> lower() {
    ISTHMUS_ASSIGN_OR_RETURN(call_, describeCustomCall(op_));
    if (call_.version != ffi::CallVersion::kTyped) return refuse("the call is not a typed one");
    if (call_.operands.empty() || matrix().dims.size() < 2) return wrongTypes();
    batch_ = 1;
    for (size_t i = 0; i + 2 < matrix().dims.size(); ++i) batch_ *= matrix().dims[i];
    m_ = matrix().dims[matrix().dims.size() - 2];
    n_ = matrix().dims.back();
    k_ = std::min(m_, n_);
    switch (target_.routine) {
      case Routine::kPotrf:
        return lowerPotrf();
      case Routine::kTrsm:
        return lowerTrsm();
      case Routine::kGetrf:
        return lowerGetrf();
      case Routine::kGeqrf:
        return lowerGeqrf();
      case Routine::kOrgqr:
        return lowerOrgqr();
      case Routine::kSyevd:
        return lowerSyevd();
      case Routine::kGesdd:
        return lowerGesdd();
    }
    return wrongTypes();
  }

 private:
  const ArrayType& matrix() const { return call_.operands.front(); }

  // An array of the batch's dimensions and `inner` ones.
  ArrayType array(ElementType type, std::vector<int64_t> inner) const {
    ArrayType result{type, {matrix().dims.begin(), matrix().dims.end() - 2}};
    result.dims.insert(result.dims.end(), inner.begin(), inner.end());
    return result;
  }
  ArrayType matrixOf(int64_t rows, int64_t columns) const {
    return array(target_.type, {rows, columns});
  }
  ArrayType info() const { return array(ElementType::kS32, {}); }

  Status refuse(const std::string& reason) const { return unsupportedOp(op_, reason); }
  Status wrongTypes() const {
    return invalidArgument("operands and results do not have the types of this routine");
  }

  // Operands and results must be these, matrices in columns.
  Status expect(const std::vector<ArrayType>& operands,
                const std::vector<ArrayType>& results) const {
    if (call_.operands != operands || call_.results != results) return wrongTypes();
    auto custom = llvm::cast<shlo::CustomCallOp>(op_);
    auto lies = [&](const std::vector<ArrayType>& types, std::optional<mlir::ArrayAttr> layouts) {
      for (size_t i = 0; i < types.size(); ++i) {
        const bool isMatrix = types[i].dims.size() == matrix().dims.size();
        mlir::Attribute layout = layouts && i < layouts->size() ? (*layouts)[i] : mlir::Attribute();
        if (!liesAsLapackReads(types[i], isMatrix, layout)) return false;
      }
      return true;
    };
    if (lies(operands, custom.getOperandLayouts()) && lies(results, custom.getResultLayouts())) {
      return {};
    }
    return refuse("LAPACK's matrices lie in columns, those of this call do not");
  }

  // The letter that LAPACK's own argument of this name has; one of `letters`.
  StatusOr<char> letter(const char* name, llvm::StringRef letters) const {
    for (const ffi::Attribute& attribute : call_.attributes) {
      if (attribute.name != name) continue;
      const bool isByte = attribute.kind == ffi::Attribute::Kind::kScalar &&
                          attribute.type == ElementType::kU8 && attribute.bytes.size() == 1;
      if (isByte && letters.contains(attribute.bytes[0])) return attribute.bytes[0];
    }
    return invalidArgument("attribute ", name, " is not a ui8, one of ", letters.str());
  }

  template <typename Descriptor>
  OperationCode code(const char* function, const Descriptor& descriptor, double flops) const {
    OperationCode result;
    result.libraryFunction = function;
    result.descriptor = descriptorBytes(descriptor);
    result.estimatedNs = decompositionNs(model_, flops * static_cast<double>(batch_));
    return result;
  }

  OperationCode decomposition(Decomposition kind, double flopsPerElement,
                              DecompositionDescriptor d = {}) const {
    d.kind = kind;
    d.type = target_.type;
    d.lapack = 1;
    d.batch = batch_;
    d.m = m_;
    d.n = n_;
    d.k = k_;
    return code("isthmus_rt_decompose", d,
                flopsPerElement * static_cast<double>(m_) * static_cast<double>(n_) *
                    static_cast<double>(std::max<int64_t>(k_, 1)));
  }

  StatusOr<OperationCode> lowerPotrf() {
    const ArrayType a = matrixOf(n_, n_);
    ISTHMUS_RETURN_IF_ERROR(expect({a}, {a, info()}));
    ISTHMUS_ASSIGN_OR_RETURN(char uplo, letter("uplo", "LU"));
    CholeskyDescriptor d{};
    d.type = target_.type;
    d.lower = uplo == 'L';
    d.batch = batch_;
    d.n = n_;
    d.lapack = 1;
    const auto n = static_cast<double>(n_);
    return code("isthmus_rt_cholesky", d, n * n * n / 3);
  }

  // Columns are the rows of the transpose: op(a) x = b is x^T op(a)^T = b^T.
  StatusOr<OperationCode> lowerTrsm() {
    if (call_.operands.size() != 2 || call_.operands[1].dims.size() < 2) return wrongTypes();
    const ArrayType& right = call_.operands[1];
    const int64_t rows = right.dims[right.dims.size() - 2], columns = right.dims.back();
    ISTHMUS_ASSIGN_OR_RETURN(char side, letter("side", "LR"));
    ISTHMUS_ASSIGN_OR_RETURN(char uplo, letter("uplo", "LU"));
    ISTHMUS_ASSIGN_OR_RETURN(char trans, letter("trans_x", "NTC"));
    ISTHMUS_ASSIGN_OR_RETURN(char diag, letter("diag", "NU"));
    const int64_t size = side == 'L' ? rows : columns;
    const ArrayType b = matrixOf(rows, columns);
    ISTHMUS_RETURN_IF_ERROR(expect({matrixOf(size, size), b}, {b}));
    TriangularSolveDescriptor d{};
    d.type = target_.type;
    d.leftSide = side == 'R';
    d.lower = uplo == 'U';
    d.unitDiagonal = diag == 'U';
    d.transpose = trans == 'N'   ? TriangularTranspose::kNone
                  : trans == 'T' ? TriangularTranspose::kTranspose
                                 : TriangularTranspose::kAdjoint;
    d.batch = batch_;
    d.rows = columns;
    d.cols = rows;
    return code(
        "isthmus_rt_triangular_solve", d,
        static_cast<double>(size) * static_cast<double>(rows) * static_cast<double>(columns));
  }

  StatusOr<OperationCode> lowerGetrf() {
    const ArrayType a = matrixOf(m_, n_);
    ISTHMUS_RETURN_IF_ERROR(expect({a}, {a, array(ElementType::kS32, {k_}), info()}));
    return decomposition(Decomposition::kLu, 2);
  }

  StatusOr<OperationCode> lowerGeqrf() {
    const ArrayType a = matrixOf(m_, n_);
    ISTHMUS_RETURN_IF_ERROR(expect({a}, {a, array(target_.type, {k_})}));
    return decomposition(Decomposition::kQr, 2);
  }

  StatusOr<OperationCode> lowerOrgqr() {
    if (call_.operands.size() != 2 || call_.operands[1].dims.empty()) return wrongTypes();
    k_ = call_.operands[1].dims.back();
    if (k_ > n_ || n_ > m_) return wrongTypes();
    const ArrayType a = matrixOf(m_, n_);
    ISTHMUS_RETURN_IF_ERROR(expect({a, array(target_.type, {k_})}, {a}));
    return decomposition(Decomposition::kHouseholderProduct, 2);
  }

  // Without vectors ("N"), what is left of the matrix is not defined.
  StatusOr<OperationCode> lowerSyevd() {
    const ArrayType a = matrixOf(n_, n_);
    ISTHMUS_RETURN_IF_ERROR(expect({a}, {a, array(realTypeOf(target_.type), {n_}), info()}));
    ISTHMUS_RETURN_IF_ERROR(letter("mode", "NV").status());
    ISTHMUS_ASSIGN_OR_RETURN(char uplo, letter("uplo", "LU"));
    DecompositionDescriptor d{};
    d.lower = uplo == 'L';
    return decomposition(Decomposition::kEigh, 9, d);
  }

  // Without vectors ("N") their arrays are not defined, and may have either size.
  StatusOr<OperationCode> lowerGesdd() {
    ISTHMUS_ASSIGN_OR_RETURN(char mode, letter("mode", "ASN"));
    if (call_.results.size() != 5) return wrongTypes();
    const ArrayType &u = call_.results[2], &vt = call_.results[3];
    if (u.dims.size() < 2 || vt.dims.size() < 2) return wrongTypes();
    DecompositionDescriptor d{};
    d.columns = u.dims.back();
    d.rows = vt.dims[vt.dims.size() - 2];
    d.vectors = mode != 'N';
    auto isSize = [&](int64_t size, int64_t all) {
      return (mode != 'S' && size == all) || (mode != 'A' && size == k_);
    };
    if (!isSize(d.columns, m_) || !isSize(d.rows, n_)) return wrongTypes();
    const ArrayType a = matrixOf(m_, n_);
    ISTHMUS_RETURN_IF_ERROR(expect({a}, {a, array(realTypeOf(target_.type), {k_}),
                                         matrixOf(m_, d.columns), matrixOf(d.rows, n_), info()}));
    return decomposition(Decomposition::kSvd, 60, d);
  }

  mlir::Operation* op_;
  Target target_;
  const TargetModel& model_;
  ffi::CallSpec call_;
  int64_t batch_ = 1, m_ = 0, n_ = 0, k_ = 0;
};

}  // namespace

bool isLapackCall(std::string_view target) { return targetOf(target).has_value(); }

bool isSmallTriangularSolve(mlir::Operation* op) {
  // Larger ones are faster by OpenBLAS if nobody else calls it.
  constexpr int64_t kLargest = 64;
  auto call = llvm::dyn_cast<shlo::CustomCallOp>(op);
  if (!call || call->getNumOperands() == 0) return false;
  std::optional<Target> target = targetOf(call.getCallTargetName());
  if (!target || target->routine != Routine::kTrsm) return false;
  auto matrix = llvm::dyn_cast<mlir::RankedTensorType>(call->getOperand(0).getType());
  return matrix && matrix.getRank() >= 2 && matrix.getDimSize(matrix.getRank() - 1) <= kLargest;
}

StatusOr<OperationCode> lowerLapackCall(mlir::Operation* op, LibraryContext& context) {
  Target target = *targetOf(llvm::cast<shlo::CustomCallOp>(op).getCallTargetName());
  return LapackCall(op, target, context.target).lower();
}

}  // namespace isthmus::cpu

// Assertions, grids and probes.
#include "compiler/reference/test_ops.h"

#include <cmath>
#include <limits>

#include "compiler/dialect/test_dialects/check.h"
#include "compiler/dialect/test_dialects/interpreter.h"
#include "compiler/dialect/types/type_conversion.h"
#include "compiler/reference/call.h"
#include "compiler/reference/process_grid.h"
#include "compiler/reference/scalar/scalar.h"
#include "llvm/Support/raw_ostream.h"

namespace isthmus::reference {
namespace {

constexpr uint64_t kFar = std::numeric_limits<uint64_t>::max();

// How many numbers of the type lie between two; kFar unless both are finite, or equal, or NaN.
uint64_t ulpsBetween(double a, double b, ElementType type) {
  uint64_t x = encodeFloat(a, type), y = encodeFloat(b, type);
  if (x == y || (std::isnan(a) && std::isnan(b))) return 0;
  if (!std::isfinite(a) || !std::isfinite(b)) return kFar;
  uint64_t sign = uint64_t{1} << (bitWidth(type) - 1);
  uint64_t p = x & ~sign, q = y & ~sign;
  if ((x & sign) != (y & sign)) return p + q;
  return p > q ? p - q : q - p;
}

bool isNear(double a, double b, ElementType type, const Tolerance& tolerance) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return true;
  if (tolerance.ulps != 0) return ulpsBetween(a, b, type) <= tolerance.ulps;
  if (!std::isfinite(a) || !std::isfinite(b)) return false;
  return std::fabs(a - b) <= tolerance.absolute + tolerance.relative * std::fabs(b);
}

bool isNear(const Scalar& a, const Scalar& b, ElementType type, const Tolerance& tolerance) {
  if (!isFloat(type) && !isComplex(type)) return a.bits == b.bits;
  ElementType part = partType(type);
  return isNear(a.re, b.re, part, tolerance) &&
         (!isComplex(type) || isNear(a.im, b.im, part, tolerance));
}

double numberOf(mlir::Operation* op, llvm::StringRef name, double otherwise) {
  mlir::Attribute value = op->getAttr(name);
  if (auto number = llvm::dyn_cast_or_null<mlir::FloatAttr>(value))
    return number.getValueAsDouble();
  if (auto number = llvm::dyn_cast_or_null<mlir::IntegerAttr>(value)) {
    return static_cast<double>(number.getValue().getZExtValue());
  }
  double parsed = otherwise;
  if (auto text = llvm::dyn_cast_or_null<mlir::StringAttr>(value)) {
    if (text.getValue().getAsDouble(parsed)) return otherwise;
  }
  return parsed;
}

// "expect_eq" of check.expect_eq or of a call of @check.expect_eq; empty for others.
llvm::StringRef checkName(mlir::Operation* op) {
  llvm::StringRef name = op->getName().getStringRef();
  if (auto call = llvm::dyn_cast<shlo::CustomCallOp>(op)) name = call.getCallTargetName();
  return name.consume_front("check.") ? name : llvm::StringRef();
}

Status checkUlps(mlir::Operation* op, const Tensor& actual, const Tensor& expected) {
  ElementType type = actual.elementType();
  if (!isFloat(type) && !isComplex(type)) return invalidArgument("expect_close is for floats");
  auto most = static_cast<uint64_t>(numberOf(op, "max_ulp_difference", 3));
  auto least = static_cast<uint64_t>(numberOf(op, "min_ulp_difference", 0));
  ElementType part = partType(type);
  for (int64_t i = 0; i < actual.size(); ++i) {
    Scalar a = actual.get(i), b = expected.get(i);
    uint64_t ulps = std::max(ulpsBetween(a.re, b.re, part),
                             isComplex(type) ? ulpsBetween(a.im, b.im, part) : 0);
    if (ulps <= most && ulps >= least) continue;
    return failedPrecondition("element ", i, " is ", toString(a, type), ", expected ",
                              toString(b, type), ": ", ulps, " ulps, expected ", least, " to ",
                              most);
  }
  return {};
}

StatusOr<std::vector<Value>> runParallel(Call& call, interpreter::RunParallelOp op) {
  mlir::ModuleOp module = call.interpreter.module();
  auto numReplicas = static_cast<uint32_t>(op.getPrograms().size());
  uint32_t numPartitions = 0;
  std::vector<ProcessGrid::Program> programs;
  size_t next = 0;
  for (mlir::Attribute row : op.getPrograms()) {
    auto names = llvm::cast<mlir::ArrayAttr>(row);
    numPartitions = static_cast<uint32_t>(names.size());
    for (auto name : names.getAsRange<mlir::FlatSymbolRefAttr>()) {
      auto function = module.lookupSymbol<mlir::func::FuncOp>(name.getValue());
      if (!function) return invalidArgument("there is no function ", name.getValue().str());
      std::vector<Value> arguments;
      for (unsigned i = 0; i < function.getNumArguments(); ++i) {
        if (next == call.operands.size()) return invalidArgument("there are too few inputs");
        arguments.push_back(call.operands[next++]);
      }
      programs.push_back({function, std::move(arguments)});
    }
  }
  ProcessGrid grid(numReplicas, numPartitions);
  std::deque<std::string> infeed;
  if (auto names = op.getInfeed()) {
    for (auto name : names->getAsRange<mlir::FlatSymbolRefAttr>()) {
      infeed.push_back(name.getValue().str());
    }
  }
  grid.setInfeed(std::move(infeed));
  ISTHMUS_ASSIGN_OR_RETURN(auto results,
                           grid.run(module, call.interpreter.options(), std::move(programs)));
  std::vector<Value> all;
  for (std::vector<Value>& values : results) {
    for (Value& value : values) all.push_back(std::move(value));
  }
  return all;
}

}  // namespace

bool isCheck(mlir::Operation* op) { return !checkName(op).empty(); }

Status compareTensors(const Tensor& actual, const Tensor& expected, const Tolerance& tolerance) {
  if (actual.type() != expected.type()) {
    return failedPrecondition("got ", actual.type().toString(), ", expected ",
                              expected.type().toString());
  }
  ElementType type = actual.elementType();
  int64_t first = -1, count = 0;
  for (int64_t i = 0; i < actual.size(); ++i) {
    if (isNear(actual.get(i), expected.get(i), type, tolerance)) continue;
    if (count++ == 0) first = i;
  }
  if (count == 0) return {};
  return failedPrecondition("element ", first, " is ", toString(actual.get(first), type),
                            ", expected ", toString(expected.get(first), type), " (", count, " of ",
                            actual.size(), " differ)");
}

Status checkOperands(mlir::Operation* op, llvm::ArrayRef<Tensor> operands) {
  llvm::StringRef name = checkName(op);
  std::vector<Tensor> both(operands.begin(), operands.end());
  if (name.consume_back("_const")) {
    ISTHMUS_ASSIGN_OR_RETURN(Tensor value, tensorOf(op->getAttr("value")));
    both.push_back(std::move(value));
  }
  if (both.size() != 2) return invalidArgument("an assertion about ", both.size(), " values");
  if (name == "eq") {
    bool isExact = isInteger(both[0].elementType()) || isBool(both[0].elementType());
    return compareTensors(both[0], both[1], {isExact ? 0 : 1e-4, 0, 0});
  }
  if (name == "expect_eq") return compareTensors(both[0], both[1], {});
  if (name == "expect_almost_eq") {
    // The tolerance of custom calls, which cannot say theirs, is StableHLO's.
    double otherwise = llvm::isa<shlo::CustomCallOp>(op) ? 1e-3 : 1e-4;
    return compareTensors(both[0], both[1], {numberOf(op, "tolerance", otherwise), 0, 0});
  }
  if (name == "expect_close") return checkUlps(op, both[0], both[1]);
  return unimplemented("check.", name.str());
}

StatusOr<bool> TestOps::operator()(Call& call) {
  if (auto probe = llvm::dyn_cast<interpreter::ProbeOp>(call.op)) {
    state_->probes[probe.getProbeId().str()].push_back(call.tensor(0));
    call.results.push_back(call.operands[0]);
    return true;
  }
  if (llvm::isa<interpreter::PrintOp>(call.op)) {
    llvm::outs() << call.tensor(0).toString() << "\n";
    return true;
  }
  if (auto parallel = llvm::dyn_cast<interpreter::RunParallelOp>(call.op)) {
    ISTHMUS_ASSIGN_OR_RETURN(call.results, runParallel(call, parallel));
    return true;
  }
  if (!isCheck(call.op)) return false;
  if (auto serialized = llvm::dyn_cast<check::ExpectSerializedEqOp>(call.op)) {
    const std::vector<Tensor>& kept = state_->probes[serialized.getProbeId().str()];
    if (serialized.getIteration() >= kept.size()) {
      return failedPrecondition("the probe was not reached so often");
    }
    ISTHMUS_RETURN_IF_ERROR(compareTensors(kept[serialized.getIteration()], call.tensor(0), {}));
    return true;
  }
  std::vector<Tensor> operands;
  for (const Value& value : call.operands) operands.push_back(value.tensor);
  ISTHMUS_RETURN_IF_ERROR(checkOperands(call.op, operands));
  // A call of @check.eq gives whether it holds, of which a program that goes on can be sure.
  for (mlir::Type type : call.resultTypes) {
    ISTHMUS_ASSIGN_OR_RETURN(Tensor holds,
                             call.scalar(scalars::makeBool(true), toElementType(type)));
    call.results.push_back(std::move(holds));
  }
  return true;
}

}  // namespace isthmus::reference

// What StableHLO's own tests say beside StableHLO: assertions (dialect check, and custom calls of
// check.*), programs on several devices and probes (dialect interpreter).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/reference/interpreter.h"

namespace isthmus::reference {

// An InterpreterOptions::extension. Copies share the probes. A failed assertion is
// kFailedPrecondition and says which element differs.
class TestOps {
 public:
  TestOps() : state_(std::make_shared<State>()) {}

  StatusOr<bool> operator()(Call& call);

 private:
  struct State {
    std::map<std::string, std::vector<Tensor>> probes;
  };
  std::shared_ptr<State> state_;
};

// Whether `op` is an assertion about its operands.
bool isCheck(mlir::Operation* op);

// Makes the assertion `op` about these operands (all of them, as tensors).
Status checkOperands(mlir::Operation* op, llvm::ArrayRef<Tensor> operands);

// How two arrays may differ.
struct Tolerance {
  double absolute = 0;
  double relative = 0;
  uint64_t ulps = 0;  // in the elements' own format; all ones for no bound
};

// OK if every element of `actual` is within all the bounds that are given of `expected`, or equal.
// NaN equals NaN. Otherwise kFailedPrecondition with the first difference and the number of them.
Status compareTensors(const Tensor& actual, const Tensor& expected, const Tolerance& tolerance);

}  // namespace isthmus::reference

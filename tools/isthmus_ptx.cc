// isthmus-ptx: compiles programs to PTX for NVIDIA GPUs, without one.
//
//   isthmus-ptx --output DIR [--sm 80,90] [--libdevice FILE] CASES ...
//
// CASES are files as write-op-cases writes them: "case OP TYPE TOLERANCE NAME", "program N", N
// bytes, and more lines that are skipped. For each program and each capability a line goes to
// stdout, its fields apart by tabs: OP, TYPE, NAME, capability, number of kernels, operations on
// the host (apart by ";"), file name of the PTX (or "-"), error (or "-"). Exit status: 0, or 2 for
// wrong usage; programs that cannot be compiled are errors in their lines.
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "backends/cuda/code_generator.h"
#include "compiler/driver/driver.h"
#include "isthmus/flags.h"
#include "tools/op_cases.h"
#include "tools/unloaded_program.h"

namespace isthmus {
namespace {

using Unloaded = UnloadedProgram<cuda::ProgramImage>;

void compileCase(const OpCase& one, int capability, const std::string& libdevice,
                 const std::string& file) {
  std::cout << one.op << "\t" << one.type << "\t" << one.name << "\t" << capability << "\t";
  cuda::CompileTarget target;
  target.capability = capability;
  target.device = "none";
  target.libdevice = libdevice;
  cuda::CudaCodeGenerator generator(target, Unloaded::keep);
  CompileRequest request;
  request.code = one.program;
  request.format = "mlir";
  StatusOr<std::shared_ptr<const Executable>> compiled = compileProgram(generator, request);
  if (!compiled.ok()) {
    std::cout << "0\t-\t-\t" << oneLine(std::string(compiled.status().message())) << std::endl;
    return;
  }
  const cuda::ProgramImage& image = static_cast<const Unloaded&>(**compiled).image();
  std::string onHost;
  for (const HostFunction& function : image.host.functions) {
    onHost += (onHost.empty() ? "" : ";") + function.description;
  }
  std::string error = "-";
  if (!image.ptx.empty() && !(std::ofstream(file, std::ios::binary) << image.ptx)) {
    error = "cannot write " + file;
  }
  std::cout << image.kernels.size() << "\t" << (onHost.empty() ? "-" : oneLine(onHost)) << "\t"
            << (image.ptx.empty() ? "-" : file) << "\t" << error << std::endl;
}

}  // namespace
}  // namespace isthmus

int main(int argc, char** argv) {
  std::string output, libdevice;
  std::vector<int> capabilities = {80, 90};
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument == "--output" && i + 1 < argc) {
      output = argv[++i];
    } else if (argument == "--libdevice" && i + 1 < argc) {
      libdevice = argv[++i];
    } else if (argument == "--sm" && i + 1 < argc) {
      capabilities.clear();
      std::istringstream list(argv[++i]);
      for (std::string one; std::getline(list, one, ',');) capabilities.push_back(std::stoi(one));
    } else {
      files.push_back(argument);
    }
  }
  if (output.empty() || files.empty()) {
    std::cerr << "usage: isthmus-ptx --output DIR [--sm 80,90] [--libdevice FILE] CASES ...\n";
    return 2;
  }
  // What is constant is computed on the device too.
  isthmus::setFlagForTest("ISTHMUS_FOLD_BYTES", "0");
  size_t number = 0;
  for (const std::string& path : files) {
    for (const isthmus::OpCase& one : isthmus::readOpCases(path)) {
      for (int capability : capabilities) {
        isthmus::compileCase(
            one, capability, libdevice,
            output + "/" + std::to_string(number) + ".sm_" + std::to_string(capability) + ".ptx");
      }
      ++number;
    }
  }
  return 0;
}

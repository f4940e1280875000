// isthmus-spirv: compiles programs to SPIR-V for OpenCL devices, without one.
//
//   isthmus-spirv --output DIR [--forms vectors,elements,groups,matrices] CASES ...
//
// CASES are files as write-op-cases writes them. For each program and each form of kernels a line
// goes to stdout, its fields apart by tabs: OP, TYPE, NAME, form, number of kernels, file name of
// the SPIR-V (or "-"), error (or "-"). `matrices` are groups on a device with Intel's matrix
// instruction. Exit status: 0, or 2 for wrong usage; programs that cannot be compiled are errors in
// their lines.
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "backends/opencl/code_generator.h"
#include "compiler/driver/driver.h"
#include "isthmus/flags.h"
#include "tools/op_cases.h"
#include "tools/unloaded_program.h"

namespace isthmus {
namespace {

using Unloaded = UnloadedProgram<opencl::ProgramImage>;

// A device that has all that kernels may use.
opencl::DeviceFacts factsFor(const std::string& form) {
  opencl::DeviceFacts facts;
  facts.isCpu = form == "vectors" || form == "elements";
  facts.takesSpirv = facts.hasDoubles = facts.hasLongAtomics = facts.hasUsm = true;
  facts.hasMatrices = form == "matrices";
  facts.memoryBytes = uint64_t{1} << 34;
  facts.localBytes = 64 << 10;
  facts.maxWorkGroupItems = 1024;
  facts.computeUnits = 64;
  facts.vectorBits = 256;
  return facts;
}

void compileCase(const OpCase& one, const std::string& form, const std::string& file) {
  std::cout << one.op << "\t" << one.type << "\t" << one.name << "\t" << form << "\t";
  setFlagForTest("ISTHMUS_OPENCL_KERNELS", form == "matrices" ? "groups" : form.c_str());
  opencl::OpenclCodeGenerator generator(factsFor(form), "none", Unloaded::keep);
  CompileRequest request;
  request.code = one.program;
  request.format = "mlir";
  StatusOr<std::shared_ptr<const Executable>> compiled = compileProgram(generator, request);
  if (!compiled.ok()) {
    std::cout << "0\t-\t" << oneLine(std::string(compiled.status().message())) << std::endl;
    return;
  }
  const opencl::ProgramImage& image = static_cast<const Unloaded&>(**compiled).image();
  std::string error = "-";
  if (!image.spirv.empty() && !(std::ofstream(file, std::ios::binary) << image.spirv)) {
    error = "cannot write " + file;
  }
  std::cout << image.kernels.size() << "\t" << (image.spirv.empty() ? "-" : file) << "\t" << error
            << std::endl;
}

}  // namespace
}  // namespace isthmus

int main(int argc, char** argv) {
  std::string output;
  std::vector<std::string> forms = {"vectors", "elements", "groups", "matrices"};
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument == "--output" && i + 1 < argc) {
      output = argv[++i];
    } else if (argument == "--forms" && i + 1 < argc) {
      forms.clear();
      std::istringstream list(argv[++i]);
      for (std::string one; std::getline(list, one, ',');) forms.push_back(one);
    } else {
      files.push_back(argument);
    }
  }
  if (output.empty() || files.empty()) {
    std::cerr << "usage: isthmus-spirv --output DIR [--forms vectors,…] CASES ...\n";
    return 2;
  }
  // What is constant is computed on the device too.
  isthmus::setFlagForTest("ISTHMUS_FOLD_BYTES", "0");
  size_t number = 0;
  for (const std::string& path : files) {
    for (const isthmus::OpCase& one : isthmus::readOpCases(path)) {
      for (const std::string& form : forms) {
        isthmus::compileCase(one, form,
                             output + "/" + std::to_string(number) + "." + form + ".spv");
      }
      ++number;
    }
  }
  return 0;
}

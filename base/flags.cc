// The table of environment variables, and the only place that reads them.
#include "isthmus/flags.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <deque>
#include <string>

#include "isthmus/log.h"

namespace isthmus {
namespace {

constexpr FlagInfo kFlags[] = {
    {"ISTHMUS_NUM_DEVICES", FlagType::kInt, "",
     "Number of devices of a client; overrides the client option num_devices."},
    {"ISTHMUS_NUM_THREADS", FlagType::kInt, "",
     "Compute threads of the process, the calling one included; default: the CPUs we may use."},
    {"OMP_NUM_THREADS", FlagType::kString, "",
     "Used where ISTHMUS_NUM_THREADS is not set; the first number of a list counts."},
    {"ISTHMUS_MAX_IN_FLIGHT", FlagType::kInt, "32",
     "Launches that may wait on a device before the next one blocks its caller; 0: any number."},
    {"ISTHMUS_HOST_CACHE_BYTES", FlagType::kInt, "",
     "Bound on freed host memory that stays mapped; default: an eighth of the memory."},
    {"ISTHMUS_ZERO_COPY", FlagType::kBool, "1",
     "Buffers alias large host arrays whose owner promises not to change them."},
    {"ISTHMUS_MEMORY_PERCENT", FlagType::kInt, "100",
     "Of the memory of a device that is not the host's, so much may be used, 1 to 100; the client "
     "option memory_fraction overrides it."},
    {"ISTHMUS_MEMORY_LIMIT_BYTES", FlagType::kInt, "0",
     "Of the memory of a device that is not the host's, at most so many bytes are used; 0: no such "
     "limit; the client option memory_limit_bytes overrides it."},
    {"ISTHMUS_DEVICE_TIMEOUT_SECONDS", FlagType::kInt, "0",
     "A device that works longer on one program, or copy, is given up; a loop whose rounds the "
     "host counts fails; 0: never."},
    {"ISTHMUS_COLLECTIVE_WARN_SECONDS", FlagType::kInt, "20",
     "A collective that waits longer for a device says so on stderr; 0: never."},
    {"ISTHMUS_COLLECTIVE_TIMEOUT_SECONDS", FlagType::kInt, "600",
     "A collective that waits longer for a device fails; 0: it waits for ever."},
    {"ISTHMUS_CACHE_KEY_FILE", FlagType::kString, "",
     "File of a secret of at least 32 bytes: serialized executables are signed with it, and others "
     "are not loaded."},
    {"ISTHMUS_LOG", FlagType::kString, "warning",
     "What is logged to stderr: debug, info, warning, error or off; compile: warnings and what "
     "each kernel is, and why no more is fused into it."},
    {"ISTHMUS_MAX_ISA", FlagType::kString, "",
     "Instruction set that the CPU's code may use at most, though the machine has more: v2 "
     "(SSE4.2), "
     "v3 (AVX2), v4 (AVX-512), vnni, bf16 or amx."},
    {"ISTHMUS_COMPARE", FlagType::kBool, "0",
     "Each run is compared with the reference evaluator's; one that differs fails and says which "
     "operation is wrong. Slow."},
    {"ISTHMUS_CUDA_LIBRARY", FlagType::kString, "libcuda.so.1", "Driver library of platform cuda."},
    {"ISTHMUS_CUDA_LIBDEVICE", FlagType::kString, "",
     "File libdevice.10.bc of platform cuda; default: where CUDA is installed."},
    {"ISTHMUS_CUDA_AUTOTUNE", FlagType::kInt, "12",
     "Of the ways that cuBLASLt and cuDNN name for a large product or convolution, so many are "
     "timed "
     "on platform cuda, and the fastest is taken; 1: the first is, always the same."},
    {"ISTHMUS_CUDA_BLAS", FlagType::kLibrary, "libcublasLt.so",
     "Library of matrix products of platform cuda; empty: none, and kernels of its own."},
    {"ISTHMUS_CUDA_DNN", FlagType::kLibrary, "libcudnn.so",
     "Library of convolutions of platform cuda; empty: none, and kernels of its own."},
    {"ISTHMUS_CUDA_DNN_BYTES", FlagType::kInt, "536870912",
     "Scratch memory that a convolution by cuDNN may have on platform cuda, in bytes."},
    {"ISTHMUS_CUDA_GRAPHS", FlagType::kBool, "1",
     "Programs of platform cuda without control flow are recorded as graphs and launched whole, if "
     "their first runs show that it is faster."},
    {"ISTHMUS_CUDA_MARK_KERNELS", FlagType::kBool, "0",
     "Devices of platform cuda note where in a program they are, so that the error after a fault "
     "names the kernel. Slower: nothing is launched as a graph."},
    {"ISTHMUS_CUDA_NCCL", FlagType::kLibrary, "libnccl.so.2",
     "Library of collectives of platform cuda; empty: none, and the host carries them out."},
    {"ISTHMUS_CUDA_TF32", FlagType::kBool, "0",
     "Products of f32 with DEFAULT precision may use TF32 on platform cuda, by cuBLASLt and "
     "cuDNN."},
    {"ISTHMUS_DUMP", FlagType::kString, "",
     "Folder that the program is written to after each stage of the compiler."},
    {"ISTHMUS_FALLBACK", FlagType::kString, "",
     "cpu: an operation for which a device has no code runs on the CPU, over copies, with a line "
     "in "
     "the log; default: its program is refused."},
    {"ISTHMUS_FOLD_BYTES", FlagType::kInt, "4096",
     "Operations on constants are computed by the compiler if their results are no larger; 0: "
     "never."},
    {"ISTHMUS_GUARD_MEMORY", FlagType::kBool, "0",
     "Every block of the host's memory ends at a page that nobody may touch and is unmapped once "
     "freed: who reaches past an array faults there. Slow; the CPU's buffers and scratch only."},
    {"ISTHMUS_OPENCL_LIBRARY", FlagType::kString, "libOpenCL.so.1",
     "OpenCL library of platform xpu: the loader of installable drivers, or a driver itself."},
    {"ISTHMUS_OPENCL_KERNELS", FlagType::kString, "",
     "How work-items of platform xpu compute: vectors, groups or elements; empty: as suits the "
     "device. emulated-matrices: groups, as on a device that multiplies matrices."},
    {"ISTHMUS_OPENCL_DEVICE", FlagType::kString, "",
     "Part of the name of the OpenCL platform or device of platform xpu; default: GPUs before "
     "CPUs."},
    {"ISTHMUS_OPTIMIZATION", FlagType::kInt, "2",
     "How far programs are optimised: 0 not at all, 1 simplified but not fused, 2 all. The "
     "compiler option isthmus_optimization of a program overrides it."},
    {"ISTHMUS_OVERRIDE", FlagType::kString, "",
     "Folder of edited dumps that replace the program after their stage: programs (NN-STAGE.mlir), "
     "LLVM IR (*.ll) and PTX (kernels.ptx)."},
};

struct Flag {
  const FlagInfo* info = nullptr;
  std::string text;
  // A test may set a number while a device's threads read it.
  std::atomic<int64_t> number = 0;
  bool isSet = false;
};

// Parses `text` by the flag's type; false if it is malformed.
bool parse(Flag& flag, std::string_view text) {
  int64_t number = 0;
  if (flag.info->type == FlagType::kInt) {
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return false;
  } else if (flag.info->type == FlagType::kBool) {
    if (text == "1" || text == "true" || text == "on" || text == "yes") {
      number = 1;
    } else if (text != "0" && text != "false" && text != "off" && text != "no") {
      return false;
    }
  }
  flag.number = number;
  flag.text = text;
  return true;
}

std::deque<Flag> readAll() {
  std::deque<Flag> flags;
  for (const FlagInfo& info : kFlags) {
    Flag& flag = flags.emplace_back();
    flag.info = &info;
    if (!info.defaultValue.empty()) parse(flag, info.defaultValue);
    // Who runs a program with another user's rights must not choose our folders.
    const char* value = secure_getenv(std::string(info.name).c_str());
    if (value == nullptr || (*value == 0 && info.type != FlagType::kLibrary)) continue;
    flag.isSet = parse(flag, value);
    if (!flag.isSet) {
      logLine(LogLevel::kWarning,
              std::string(info.name) + "=" + value + " is malformed and ignored");
    }
  }
  return flags;
}

std::deque<Flag>& flags() {
  static std::deque<Flag>& all = *new std::deque<Flag>(readAll());
  return all;
}

Flag& find(std::string_view name) {
  for (Flag& flag : flags()) {
    if (flag.info->name == name) return flag;
  }
  static Flag& none = *new Flag;
  return none;
}

}  // namespace

std::span<const FlagInfo> allFlags() { return kFlags; }

bool flagBool(std::string_view name) { return find(name).number != 0; }
int64_t flagInt(std::string_view name) { return find(name).number; }
const std::string& flagString(std::string_view name) { return find(name).text; }
bool flagIsSet(std::string_view name) { return find(name).isSet; }

void setFlagForTest(std::string_view name, std::string_view value) {
  Flag& flag = find(name);
  if (flag.info != nullptr) flag.isSet = parse(flag, value);
}

}  // namespace isthmus

// The handles of executables.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "isthmus/backend.h"
#include "isthmus/pjrt_c_api.h"
#include "pjrt/named_value.h"
#include "runtime/executable/loaded_executable.h"

// A compiled program, loaded or not, with the lists that callers point into.
struct PJRT_Executable {
  explicit PJRT_Executable(std::shared_ptr<const isthmus::Executable> executable);
  PJRT_Executable(const PJRT_Executable&) = delete;

  // Strings that are handed out as parallel lists of addresses and lengths.
  struct StringList {
    std::vector<const char*> data;
    std::vector<size_t> sizes;
    void add(const std::string& text) {
      data.push_back(text.data());
      sizes.push_back(text.size());
    }
  };

  const std::shared_ptr<const isthmus::Executable> executable;
  const isthmus::ProgramInfo& info;
  std::vector<PJRT_Buffer_Type> outputTypes;
  std::vector<int64_t> outputDims;  // of all outputs, one after another
  std::vector<size_t> outputRanks;
  StringList outputMemoryKinds;
  StringList parameterMemoryKinds;
  StringList outputShardings;  // serialized xla.OpSharding; empty if any is unknown
  StringList parameterShardings;
  std::vector<PJRT_Layouts_MemoryLayout*> outputLayouts;
  std::vector<PJRT_Layouts_MemoryLayout*> parameterLayouts;
  isthmus::pjrt::NamedValueList costs;

  std::mutex optimizedProgramMutex;
  std::string optimizedProgram;  // once somebody has asked for it
};

namespace isthmus::pjrt {

// A handle that the caller destroys with PJRT_Executable_Destroy.
PJRT_Executable* newExecutableHandle(std::shared_ptr<const Executable> executable);
std::shared_ptr<const Executable> executableOf(const PJRT_Executable* executable);

inline LoadedExecutable& fromHandle(PJRT_LoadedExecutable* executable) {
  return *reinterpret_cast<LoadedExecutable*>(executable);
}
// Gives the reference to the caller, who destroys it with PJRT_LoadedExecutable_Destroy.
inline PJRT_LoadedExecutable* toHandle(Ref<LoadedExecutable> executable) {
  return reinterpret_cast<PJRT_LoadedExecutable*>(executable.detach());
}

}  // namespace isthmus::pjrt

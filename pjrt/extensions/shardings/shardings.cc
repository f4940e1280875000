// Extension 19: the shardings of an executable's parameters and outputs.
#include "pjrt/entry.h"
#include "pjrt/executable/loaded_executable.h"
#include "pjrt/extensions/extensions.h"

namespace isthmus::pjrt {
namespace {

Status parameterShardings(PJRT_Shardings_PJRT_Executable_ParameterShardings_Args& args) {
  ISTHMUS_REQUIRE(args, executable);
  const auto& shardings = args.executable->parameterShardings;
  bool known = !shardings.data.empty();
  args.num_parameters = args.executable->info.parameters.size();
  args.shardings = known ? shardings.data.data() : nullptr;
  args.sharding_sizes = known ? shardings.sizes.data() : nullptr;
  return {};
}

Status outputShardings(PJRT_Shardings_PJRT_Executable_OutputShardings_Args& args) {
  ISTHMUS_REQUIRE(args, executable);
  const auto& shardings = args.executable->outputShardings;
  bool known = !shardings.data.empty();
  args.num_outputs = args.executable->info.outputs.size();
  args.shardings = known ? shardings.data.data() : nullptr;
  args.sharding_sizes = known ? shardings.sizes.data() : nullptr;
  return {};
}

}  // namespace

PJRT_Extension_Base& shardingsExtension() {
  static PJRT_Shardings_Extension extension = {
      .base = {sizeof(PJRT_Shardings_Extension), PJRT_Extension_Type_Shardings, nullptr},
      .PJRT_Shardings_PJRT_Executable_ParameterShardings = kEntry<&parameterShardings>,
      .PJRT_Shardings_PJRT_Executable_OutputShardings = kEntry<&outputShardings>,
  };
  return extension.base;
}

}  // namespace isthmus::pjrt

// A launch from any thread, where a session is for one.
#pragma once

#include "conformance/plugin.h"

namespace isthmus::conformance {

// Of one argument and one result, on one device. The result is the caller's to destroy.
inline Outcome launch(const Plugin& plugin, PJRT_LoadedExecutable* executable,
                      PJRT_Buffer* argument, PJRT_Buffer** result) {
  PJRT_Buffer* const arguments[1] = {argument};
  PJRT_Buffer* const* argumentLists[1] = {arguments};
  PJRT_Buffer** outputLists[1] = {result};
  auto options = make<PJRT_ExecuteOptions>();
  auto args = make<PJRT_LoadedExecutable_Execute_Args>();
  args.executable = executable;
  args.options = &options;
  args.argument_lists = argumentLists;
  args.num_devices = 1;
  args.num_args = 1;
  args.output_lists = outputLists;
  return plugin.call(&PJRT_Api::PJRT_LoadedExecutable_Execute, args);
}

}  // namespace isthmus::conformance

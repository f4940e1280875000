// Stages of the compiler by hand: a program in, the program after a stage out.
#pragma once

#include <iosfwd>
#include <string>

#include "isthmus/status.h"

namespace isthmus {

struct StageCommand {
  std::string file;  // a program, or what a dump or an earlier command wrote; "-": standard input
  std::string from, to;  // names of stages; empty: the first, the last
  bool times = false;    // what each stage took, to `log`
};

// Writes the program after the last stage to `out`: its operations, the plan, LLVM IR, assembly. Up
// to `schedule`, stages run for the target model that names no machine; if later ones are asked
// for, all run for this CPU. Errors are those of import and of the stages.
Status runStages(const StageCommand& command, std::ostream& out, std::ostream& log);

}  // namespace isthmus

#include "backends/shared/staging/staged_executable.h"

namespace isthmus {

Status StagedExecutable::loadHostFunctions(const HostFunctionProvider* host) {
  if (!host) return {};
  ISTHMUS_ASSIGN_OR_RETURN(hostFunctions_, host->load(program().host));
  return {};
}

std::shared_ptr<const ProgramEvents> StagedExecutable::profiledEvents() const {
  std::call_once(eventsOnce_,
                 [this] { events_ = makeProgramEvents(program().profile, program().info); });
  return events_;
}

Status StagedExecutable::checkCounts(const RunRequest& request) const {
  const size_t parameters = program().info.parameters.size();
  const size_t results = program().info.outputs.size();
  if (request.parameters.size() == parameters && request.results.size() == results) return {};
  return internalError("program ", program().info.name, " was given ", request.parameters.size(),
                       " parameters and ", request.results.size(), " results, expected ",
                       parameters, " and ", results);
}

}  // namespace isthmus

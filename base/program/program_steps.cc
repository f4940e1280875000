#include "base/program/program_steps.h"

namespace isthmus {

bool ProgramSteps::isValid() const {
  for (const ProgramStep& step : steps) {
    for (int32_t text : {step.name, step.op, step.category, step.source, step.stack, step.scope}) {
      if (text < 0 || static_cast<size_t>(text) >= texts.size()) return false;
    }
  }
  return true;
}

std::shared_ptr<const ProgramEvents> makeProgramEvents(const ProgramSteps& steps,
                                                       const ProgramInfo& info) {
  auto events = std::make_shared<ProgramEvents>();
  events->run.name = events->run.module = info.name;
  auto cost = [&](const char* name) {
    auto found = info.costs.find(name);
    return found == info.costs.end() ? 0 : found->second;
  };
  events->run.flops = cost("flops");
  events->run.bytes = cost("bytes accessed");
  events->steps.reserve(steps.steps.size());
  for (const ProgramStep& step : steps.steps) {
    trace::EventInfo& event = events->steps.emplace_back();
    event.name = steps.texts[step.name];
    event.op = steps.texts[step.op];
    event.category = steps.texts[step.category];
    event.module = info.name;
    event.source = steps.texts[step.source];
    event.stack = steps.texts[step.stack];
    event.scope = steps.texts[step.scope];
    event.flops = step.flops;
    event.bytes = step.bytes;
  }
  return events;
}

}  // namespace isthmus

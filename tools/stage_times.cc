#include "tools/stage_times.h"

#include <map>
#include <ostream>
#include <string>

#include "base/trace/recorder.h"
#include "compiler/pipeline/pipeline.h"

namespace isthmus {

void startStageTimes() { trace::start(); }

void writeStageTimes(std::ostream& out) {
  std::map<std::string, int64_t> ns;
  // The names of events are part of it.
  trace::Recording recording = trace::take();
  for (const trace::ThreadEvents& thread : recording.threads) {
    for (const trace::Event& event : thread.events) {
      ns[event.info->name] += event.endNs - event.beginNs;
    }
  }
  for (const Stage& stage : allStages()) {
    auto found = ns.find("stage " + std::string(stage.name));
    if (found == ns.end()) continue;
    out << stage.name << " " << static_cast<double>(found->second) * 1e-6 << " ms\n";
  }
}

}  // namespace isthmus

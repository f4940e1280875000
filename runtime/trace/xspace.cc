// Lays events out on lines and writes them, field by field, as protobuf messages.
#include "runtime/trace/xspace.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "isthmus/wire_format.h"

namespace isthmus::trace {
namespace {

using wire::Writer;

// Field numbers of tensorflow/profiler's xplane.proto.
namespace field {
constexpr uint32_t kSpacePlanes = 1, kSpaceWarnings = 3;
constexpr uint32_t kPlaneId = 1, kPlaneName = 2, kPlaneLines = 3, kPlaneEventMetadata = 4,
                   kPlaneStatMetadata = 5, kPlaneStats = 6;
constexpr uint32_t kLineId = 1, kLineName = 2, kLineTimestampNs = 3, kLineEvents = 4,
                   kLineDurationPs = 9;
constexpr uint32_t kEventMetadataId = 1, kEventOffsetPs = 2, kEventDurationPs = 3, kEventStats = 4;
constexpr uint32_t kStatMetadataId = 1, kStatDouble = 2, kStatInt64 = 4, kStatString = 5,
                   kStatReference = 7;
constexpr uint32_t kMetadataId = 1, kMetadataName = 2, kMetadataStats = 5;
constexpr uint32_t kMapKey = 1, kMapValue = 2;
}  // namespace field

// Names that the readers of profiles know.
constexpr std::string_view kDevicePlane = "/device:CUSTOM:ISTHMUS:";
constexpr std::string_view kHostPlane = "/host:CPU";
constexpr std::string_view kRunLine = "XLA Modules";
constexpr std::string_view kStepLine = "XLA Ops";

// Messages of one plane share the numbers of names and of statistics.
class PlaneWriter {
 public:
  PlaneWriter(const Recording& recording, int64_t id, std::string_view name)
      : recording_(recording) {
    plane_.varint(field::kPlaneId, static_cast<uint64_t>(id));
    plane_.bytes(field::kPlaneName, name);
  }

  // `events` in the order of their beginnings.
  void line(int64_t id, std::string_view name, const std::vector<const Event*>& events) {
    Writer line;
    line.varint(field::kLineId, static_cast<uint64_t>(id));
    line.bytes(field::kLineName, name);
    line.varint(field::kLineTimestampNs, static_cast<uint64_t>(recording_.unixBeginNs));
    int64_t endNs = recording_.beginNs;
    for (const Event* event : events) {
      line.bytes(field::kLineEvents, message(*event));
      endNs = std::max(endNs, event->endNs);
    }
    line.varint(field::kLineDurationPs, picoseconds(endNs - recording_.beginNs));
    plane_.bytes(field::kPlaneLines, line.str());
  }

  void stat(std::string_view name, int64_t value) {
    plane_.bytes(field::kPlaneStats, integerStat(name, value));
  }

  std::string finish() {
    for (const auto& [name, id] : statIds_) {
      Writer metadata;
      metadata.varint(field::kMetadataId, static_cast<uint64_t>(id));
      metadata.bytes(field::kMetadataName, name);
      entry(field::kPlaneStatMetadata, id, metadata);
    }
    return plane_.take();
  }

 private:
  // Nothing is negative on the wire: an event that began before the recording begins with it.
  static uint64_t picoseconds(int64_t ns) {
    return static_cast<uint64_t>(std::max<int64_t>(ns, 0)) * 1000;
  }

  std::string message(const Event& event) {
    int64_t beginNs = std::max(event.beginNs, recording_.beginNs);
    Writer out;
    out.varint(field::kEventMetadataId, static_cast<uint64_t>(metadataOf(*event.info)));
    out.varint(field::kEventOffsetPs, picoseconds(beginNs - recording_.beginNs));
    out.varint(field::kEventDurationPs, picoseconds(event.endNs - beginNs));
    if (event.track == Track::kRun) {
      out.bytes(field::kEventStats, integerStat("run_id", event.run));
      out.bytes(field::kEventStats, integerStat("device_ordinal", event.device));
    }
    if (event.track == Track::kStep) {
      // With each event, since there are readers that do not look at the metadata's.
      reference(out, "hlo_op", event.info->op);
      reference(out, "hlo_module", event.info->module);
      reference(out, "source", event.info->source);
    }
    if (event.bytes != 0) out.bytes(field::kEventStats, integerStat("bytes", event.bytes));
    return out.take();
  }

  int64_t metadataOf(const EventInfo& info) {
    auto [found, isNew] = metadataIds_.try_emplace(&info, metadataIds_.size() + 1);
    int64_t id = found->second;
    if (!isNew) return id;
    Writer metadata;
    metadata.varint(field::kMetadataId, static_cast<uint64_t>(id));
    metadata.bytes(field::kMetadataName, info.name);
    auto text = [&](std::string_view name, const std::string& value) {
      if (value.empty()) return;
      Writer stat = statNamed(name);
      stat.bytes(field::kStatString, value);
      metadata.bytes(field::kMetadataStats, stat.str());
    };
    auto number = [&](std::string_view name, double value) {
      if (value == 0) return;
      Writer stat = statNamed(name);
      stat.real(field::kStatDouble, value);
      metadata.bytes(field::kMetadataStats, stat.str());
    };
    text("hlo_category", info.category);
    text("source_stack", info.stack);
    text("tf_op", info.scope);
    number("flops", info.flops);
    number("bytes_accessed", info.bytes);
    entry(field::kPlaneEventMetadata, id, metadata);
    return id;
  }

  // A text that is written once a plane, as the name of a statistic.
  void reference(Writer& out, std::string_view name, const std::string& value) {
    if (value.empty()) return;
    Writer stat = statNamed(name);
    stat.varint(field::kStatReference, static_cast<uint64_t>(statId(value)));
    out.bytes(field::kEventStats, stat.str());
  }

  Writer statNamed(std::string_view name) {
    Writer stat;
    stat.varint(field::kStatMetadataId, static_cast<uint64_t>(statId(name)));
    return stat;
  }

  std::string integerStat(std::string_view name, int64_t value) {
    Writer stat = statNamed(name);
    stat.varint(field::kStatInt64, static_cast<uint64_t>(value));
    return stat.take();
  }

  int64_t statId(std::string_view name) {
    auto found = statIds_.find(name);
    if (found != statIds_.end()) return found->second;
    return statIds_.emplace(std::string(name), statIds_.size() + 1).first->second;
  }

  // An entry of a map from numbers to messages.
  void entry(uint32_t map, int64_t key, const Writer& value) {
    Writer pair;
    pair.varint(field::kMapKey, static_cast<uint64_t>(key));
    pair.bytes(field::kMapValue, value.str());
    plane_.bytes(map, pair.str());
  }

  const Recording& recording_;
  Writer plane_;
  std::unordered_map<const EventInfo*, int64_t> metadataIds_;
  std::map<std::string, int64_t, std::less<>> statIds_;
};

bool beginsBefore(const Event* a, const Event* b) {
  if (a->beginNs != b->beginNs) return a->beginNs < b->beginNs;
  return a->endNs > b->endNs;
}

// An execution with its kernels. Those of one device may overlap, when several threads launch at
// once or a callback launches another: each then has a line of its own.
struct Execution {
  int64_t beginNs = 0;
  int64_t endNs = 0;
  std::vector<const Event*> runs;
  std::vector<const Event*> steps;

  void add(const Event& event) {
    bool isFirst = runs.empty() && steps.empty();
    beginNs = isFirst ? event.beginNs : std::min(beginNs, event.beginNs);
    endNs = isFirst ? event.endNs : std::max(endNs, event.endNs);
    (event.track == Track::kRun ? runs : steps).push_back(&event);
  }
};

std::string devicePlane(const Recording& recording, int device,
                        std::map<int64_t, Execution>& byRun) {
  std::vector<Execution*> executions;
  for (auto& [run, execution] : byRun) executions.push_back(&execution);
  std::sort(executions.begin(), executions.end(),
            [](const Execution* a, const Execution* b) { return a->beginNs < b->beginNs; });
  struct Lane {
    int64_t endNs = 0;
    std::vector<const Event*> runs;
    std::vector<const Event*> steps;
  };
  std::vector<Lane> lanes;
  for (Execution* execution : executions) {
    auto free = std::find_if(lanes.begin(), lanes.end(),
                             [&](const Lane& lane) { return lane.endNs <= execution->beginNs; });
    Lane& lane = free == lanes.end() ? lanes.emplace_back() : *free;
    lane.endNs = execution->endNs;
    lane.runs.insert(lane.runs.end(), execution->runs.begin(), execution->runs.end());
    lane.steps.insert(lane.steps.end(), execution->steps.begin(), execution->steps.end());
  }
  PlaneWriter plane(recording, device, std::string(kDevicePlane) + std::to_string(device));
  int64_t id = 1;
  for (size_t i = 0; i < lanes.size(); ++i) {
    std::string suffix = i == 0 ? "" : " #" + std::to_string(i + 1);
    for (auto [name, events] :
         {std::pair(kRunLine, &lanes[i].runs), {kStepLine, &lanes[i].steps}}) {
      std::sort(events->begin(), events->end(), beginsBefore);
      plane.line(id++, std::string(name) + suffix, *events);
    }
  }
  if (recording.dropped != 0) plane.stat("dropped_events", recording.dropped);
  return plane.finish();
}

}  // namespace

std::string toXSpace(const Recording& recording, const XSpaceOptions& options) {
  std::map<int, std::map<int64_t, Execution>> devices;
  bool hasHost = false;
  PlaneWriter host(recording, 0, kHostPlane);
  for (const ThreadEvents& thread : recording.threads) {
    std::vector<const Event*> events;
    for (const Event& event : thread.events) {
      if (event.track == Track::kHost) {
        events.push_back(&event);
      } else if (options.hasDevices) {
        devices[event.device][event.run].add(event);
      }
    }
    if (events.empty() || !options.hasHost) continue;
    std::sort(events.begin(), events.end(), beginsBefore);
    host.line(thread.threadId, thread.threadName, events);
    hasHost = true;
  }
  Writer space;
  for (auto& [device, runs] : devices) {
    space.bytes(field::kSpacePlanes, devicePlane(recording, device, runs));
  }
  if (hasHost) space.bytes(field::kSpacePlanes, host.finish());
  if (recording.dropped != 0) {
    space.bytes(field::kSpaceWarnings,
                "isthmus: " + std::to_string(recording.dropped) +
                    " events were dropped, the recording holds no more than " +
                    std::to_string(kMaxEvents));
  }
  return space.take();
}

}  // namespace isthmus::trace

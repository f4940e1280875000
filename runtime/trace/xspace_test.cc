// XSpace bytes, read back field by field; the numbers are those of xplane.proto.
#include "runtime/trace/xspace.h"

#include <gtest/gtest.h>

#include <map>

#include "isthmus/wire_format.h"

namespace isthmus::trace {
namespace {

struct Stat {
  std::string name;
  std::string text;
  double number = 0;
};

struct ReadEvent {
  std::string name;
  int64_t beginPs = 0;  // since the line's timestamp
  int64_t durationPs = 0;
  std::map<std::string, Stat> stats;  // its own and its metadata's
};

struct ReadLine {
  int64_t id = 0;
  std::string name;
  int64_t timestampNs = 0;
  std::vector<ReadEvent> events;
};

struct ReadPlane {
  int64_t id = 0;
  std::string name;
  std::map<std::string, ReadLine> lines;
  std::map<std::string, Stat> stats;
};

// Calls `each(field)` for the fields of a message with that number.
template <typename F>
void forEach(std::string_view message, uint32_t number, F each) {
  wire::Reader reader(message);
  for (wire::Field field; reader.next(field);) {
    if (field.number == number) each(field);
  }
  EXPECT_TRUE(reader.ok());
}

int64_t integer(std::string_view message, uint32_t number) {
  int64_t value = 0;
  forEach(message, number, [&](const wire::Field& field) { value = field.asInt64(); });
  return value;
}

std::string text(std::string_view message, uint32_t number) {
  std::string value;
  forEach(message, number, [&](const wire::Field& field) { value = field.bytes; });
  return value;
}

std::map<int64_t, std::string> mapOf(std::string_view message, uint32_t number) {
  std::map<int64_t, std::string> entries;
  forEach(message, number, [&](const wire::Field& field) {
    EXPECT_TRUE(entries.emplace(integer(field.bytes, 1), text(field.bytes, 2)).second);
    EXPECT_EQ(integer(text(field.bytes, 2), 1), integer(field.bytes, 1)) << "id beside its key";
  });
  return entries;
}

ReadPlane readPlane(std::string_view bytes) {
  ReadPlane plane;
  plane.id = integer(bytes, 1);
  plane.name = text(bytes, 2);
  std::map<int64_t, std::string> eventMetadata = mapOf(bytes, 4);
  std::map<int64_t, std::string> statMetadata = mapOf(bytes, 5);
  auto addStats = [&](std::string_view message, uint32_t number, std::map<std::string, Stat>& to) {
    forEach(message, number, [&](const wire::Field& field) {
      Stat stat;
      stat.name = text(statMetadata.at(integer(field.bytes, 1)), 2);
      forEach(field.bytes, 2, [&](const wire::Field& value) { stat.number = value.asDouble(); });
      forEach(field.bytes, 4, [&](const wire::Field& value) {
        stat.number = static_cast<double>(value.asInt64());
      });
      stat.text = text(field.bytes, 5);
      forEach(field.bytes, 7, [&](const wire::Field& value) {
        stat.text = text(statMetadata.at(value.asInt64()), 2);
      });
      to[stat.name] = stat;
    });
  };
  addStats(bytes, 6, plane.stats);
  forEach(bytes, 3, [&](const wire::Field& field) {
    ReadLine line;
    line.id = integer(field.bytes, 1);
    line.name = text(field.bytes, 2);
    line.timestampNs = integer(field.bytes, 3);
    forEach(field.bytes, 4, [&](const wire::Field& event) {
      const std::string& metadata = eventMetadata.at(integer(event.bytes, 1));
      ReadEvent& read = line.events.emplace_back();
      read.name = text(metadata, 2);
      read.beginPs = integer(event.bytes, 2);
      read.durationPs = integer(event.bytes, 3);
      addStats(metadata, 5, read.stats);
      addStats(event.bytes, 4, read.stats);
    });
    EXPECT_TRUE(plane.lines.emplace(line.name, line).second) << line.name;
  });
  return plane;
}

std::map<std::string, ReadPlane> readSpace(const std::string& bytes) {
  std::map<std::string, ReadPlane> planes;
  forEach(bytes, 1, [&](const wire::Field& field) {
    ReadPlane plane = readPlane(field.bytes);
    planes[plane.name] = plane;
  });
  return planes;
}

class XSpaceTest : public testing::Test {
 protected:
  XSpaceTest() {
    recording_.beginNs = 1000;
    recording_.unixBeginNs = 1'700'000'000'000'000'000;
    recording_.threads.push_back({.threadId = 77, .threadName = "worker"});
  }
  void add(const EventInfo& info, Track track, int device, int64_t run, int64_t begin, int64_t end,
           int64_t bytes = 0) {
    recording_.threads[0].events.push_back({.info = &info,
                                            .beginNs = begin,
                                            .endNs = end,
                                            .run = run,
                                            .bytes = bytes,
                                            .device = device,
                                            .track = track});
  }
  Recording recording_;
  EventInfo module_{.name = "jit_f", .module = "jit_f"};
  EventInfo dot_{.name = "f.py:3 dot_general",
                 .op = "dot_general",
                 .category = "dot",
                 .module = "jit_f",
                 .source = "/a/f.py:3",
                 .stack = "/a/f.py:3\n/a/g.py:1",
                 .scope = "jit(f)/dot_general",
                 .flops = 96,
                 .bytes = 80};
};

TEST_F(XSpaceTest, NothingGivesNothing) {
  recording_.threads[0].events.clear();
  EXPECT_EQ(toXSpace(recording_), "");
  EXPECT_EQ(toXSpace(Recording()), "");
}

TEST_F(XSpaceTest, DevicesHaveProgramsAndKernels) {
  add(dot_, Track::kStep, 2, 9, 1010, 1030);
  add(dot_, Track::kStep, 2, 9, 1005, 1010);
  add(module_, Track::kRun, 2, 9, 1005, 1031);
  auto planes = readSpace(toXSpace(recording_));
  ASSERT_EQ(planes.size(), 1u);
  const ReadPlane& plane = planes.at("/device:CUSTOM:ISTHMUS:2");
  EXPECT_EQ(plane.id, 2);
  ASSERT_EQ(plane.lines.size(), 2u);
  const ReadLine& modules = plane.lines.at("XLA Modules");
  const ReadLine& ops = plane.lines.at("XLA Ops");
  EXPECT_NE(modules.id, ops.id);
  EXPECT_EQ(modules.timestampNs, 1'700'000'000'000'000'000);
  ASSERT_EQ(modules.events.size(), 1u);
  EXPECT_EQ(modules.events[0].name, "jit_f");
  EXPECT_EQ(modules.events[0].beginPs, 5'000);
  EXPECT_EQ(modules.events[0].durationPs, 26'000);
  EXPECT_EQ(modules.events[0].stats.at("run_id").number, 9);
  EXPECT_EQ(modules.events[0].stats.at("device_ordinal").number, 2);
  ASSERT_EQ(ops.events.size(), 2u);
  EXPECT_EQ(ops.events[0].beginPs, 5'000) << "in the order of their beginnings";
  const ReadEvent& dot = ops.events[1];
  EXPECT_EQ(dot.name, "f.py:3 dot_general");
  EXPECT_EQ(dot.beginPs, 10'000);
  EXPECT_EQ(dot.durationPs, 20'000);
  EXPECT_EQ(dot.stats.at("hlo_op").text, "dot_general");
  EXPECT_EQ(dot.stats.at("hlo_module").text, "jit_f");
  EXPECT_EQ(dot.stats.at("hlo_category").text, "dot");
  EXPECT_EQ(dot.stats.at("source").text, "/a/f.py:3");
  EXPECT_EQ(dot.stats.at("source_stack").text, "/a/f.py:3\n/a/g.py:1");
  EXPECT_EQ(dot.stats.at("tf_op").text, "jit(f)/dot_general");
  EXPECT_EQ(dot.stats.at("flops").number, 96);
  EXPECT_EQ(dot.stats.at("bytes_accessed").number, 80);
}

TEST_F(XSpaceTest, OverlappingExecutionsHaveLinesOfTheirOwn) {
  add(module_, Track::kRun, 0, 1, 1000, 1100);
  add(dot_, Track::kStep, 0, 1, 1000, 1090);
  add(module_, Track::kRun, 0, 2, 1050, 1060);
  add(module_, Track::kRun, 0, 3, 1100, 1110);
  // An execution that has not ended yet.
  add(dot_, Track::kStep, 0, 4, 1101, 1120);
  auto planes = readSpace(toXSpace(recording_));
  const auto& lines = planes.at("/device:CUSTOM:ISTHMUS:0").lines;
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines.at("XLA Modules").events.size(), 2u);
  EXPECT_EQ(lines.at("XLA Modules #2").events.size(), 1u);
  EXPECT_EQ(lines.at("XLA Ops").events.size(), 1u);
  EXPECT_EQ(lines.at("XLA Ops #2").events.size(), 1u);
}

TEST_F(XSpaceTest, ThreadsAreLinesOfTheHost) {
  EventInfo copy{.name = "copy to host"};
  add(copy, Track::kHost, 0, 0, 1001, 1003, 4096);
  add(copy, Track::kHost, 0, 0, 990, 1002);  // began before the recording
  auto planes = readSpace(toXSpace(recording_));
  ASSERT_EQ(planes.size(), 1u);
  const ReadLine& line = planes.at("/host:CPU").lines.at("worker");
  EXPECT_EQ(line.id, 77);
  ASSERT_EQ(line.events.size(), 2u);
  EXPECT_EQ(line.events[0].beginPs, 0);
  EXPECT_EQ(line.events[0].durationPs, 2'000);
  EXPECT_EQ(line.events[0].stats.count("bytes"), 0u);
  EXPECT_EQ(line.events[1].stats.at("bytes").number, 4096);
}

TEST_F(XSpaceTest, OptionsLeaveOutDevicesOrTheHost) {
  EventInfo copy{.name = "copy to host"};
  add(copy, Track::kHost, 0, 0, 1001, 1003);
  add(module_, Track::kRun, 0, 1, 1000, 1100);
  EXPECT_EQ(readSpace(toXSpace(recording_)).size(), 2u);
  auto host = readSpace(toXSpace(recording_, {.hasDevices = false}));
  EXPECT_EQ(host.size(), 1u);
  EXPECT_EQ(host.count("/host:CPU"), 1u);
  auto device = readSpace(toXSpace(recording_, {.hasHost = false}));
  EXPECT_EQ(device.size(), 1u);
  EXPECT_EQ(device.count("/host:CPU"), 0u);
}

TEST_F(XSpaceTest, SaysWhatWasDropped) {
  add(module_, Track::kRun, 0, 1, 1000, 1100);
  recording_.dropped = 5;
  std::string bytes = toXSpace(recording_);
  EXPECT_NE(text(bytes, 3).find("5 events were dropped"), std::string::npos);
  auto planes = readSpace(bytes);
  EXPECT_EQ(planes.at("/device:CUSTOM:ISTHMUS:0").stats.at("dropped_events").number, 5);
}

}  // namespace
}  // namespace isthmus::trace

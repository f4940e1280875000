// Times each step from its beginning to that of the next, and each thread's part of a split one.
#include "backends/cpu/profile/program_trace.h"

namespace isthmus::cpu {
namespace {

// Steps are handed to the recorder this many at a time.
constexpr size_t kBatch = 512;

// Records what the pool's threads do of a kernel, and otherwise passes everything on.
class TracedServices final : public RunServices {
 public:
  TracedServices(RunServices& services, std::shared_ptr<const ProgramEvents> events)
      : services_(services), events_(std::move(events)), info_(&events_->run) {}
  void setStep(const trace::EventInfo* info) { info_ = info; }

  int numThreads() const override { return services_.numThreads(); }
  void parallelFor(int64_t tiles, int64_t grain, TileFunction function, void* context) override {
    Tiles traced{function, context, info_, &events_};
    services_.parallelFor(tiles, grain, runTiles, &traced);
  }
  void* allocateScratch(size_t bytes) override { return services_.allocateScratch(bytes); }
  void freeScratch(void* data, size_t bytes) override { services_.freeScratch(data, bytes); }
  Collectives& collectives() override { return services_.collectives(); }

 private:
  struct Tiles {
    TileFunction function;
    void* context;
    const trace::EventInfo* info;
    const std::shared_ptr<const ProgramEvents>* events;
  };
  static void runTiles(void* context, int64_t begin, int64_t end) {
    const Tiles& tiles = *static_cast<const Tiles*>(context);
    trace::Event event;
    event.info = tiles.info;
    event.beginNs = trace::now();
    tiles.function(tiles.context, begin, end);
    event.endNs = trace::now();
    trace::record(event, *tiles.events);
  }

  RunServices& services_;
  std::shared_ptr<const ProgramEvents> events_;
  const trace::EventInfo* info_;
};

}  // namespace

struct TracedRun::Impl {
  struct Run : IsthmusRun {
    Impl* self;
  };
  Run run;
  RunRequest request;
  TracedServices services;
  std::shared_ptr<const ProgramEvents> events;
  std::vector<trace::Event> batch;
  trace::Event current;  // the step that goes on, if it has an info
  trace::Event whole;

  Impl(std::shared_ptr<const ProgramEvents> programEvents, const RunRequest& asked)
      : request(asked),
        services(*asked.services, programEvents),
        events(std::move(programEvents)) {}

  void endStep(int64_t now) {
    if (!current.info) return;
    current.endNs = now;
    batch.push_back(current);
    current.info = nullptr;
    if (batch.size() >= kBatch) flush();
  }

  void flush() {
    trace::record(batch, events);
    batch.clear();
  }

  static void beginStep(IsthmusRun* run, int64_t step) {
    Impl& self = *static_cast<Run*>(run)->self;
    int64_t now = trace::now();
    self.endStep(now);
    if (step < 0 || static_cast<size_t>(step) >= self.events->steps.size()) return;
    self.current.info = &self.events->steps[static_cast<size_t>(step)];
    self.current.beginNs = now;
    self.services.setStep(self.current.info);
  }
};

TracedRun::TracedRun(std::shared_ptr<const ProgramEvents> events, const RunRequest& request,
                     Status* status, const CallSites* callSites)
    : impl_(std::make_unique<Impl>(std::move(events), request)) {
  Impl& impl = *impl_;
  impl.batch.reserve(kBatch);
  impl.request.services = &impl.services;
  impl.run = {};
  impl.run.self = &impl;
  impl.run.beginStep = Impl::beginStep;
  impl.run.request = &impl.request;
  impl.run.services = &impl.services;
  impl.run.status = status;
  impl.run.callSites = callSites;
  impl.whole.track = trace::Track::kRun;
  impl.whole.info = &impl.events->run;
  impl.whole.device = request.deviceId;
  impl.whole.run = trace::nextRun();
  impl.current = impl.whole;
  impl.current.track = trace::Track::kStep;
  impl.current.info = nullptr;
  impl.whole.beginNs = trace::now();
}

TracedRun::~TracedRun() = default;

IsthmusRun* TracedRun::run() { return &impl_->run; }

void TracedRun::finish() {
  Impl& impl = *impl_;
  impl.whole.endNs = trace::now();
  impl.endStep(impl.whole.endNs);
  impl.batch.push_back(impl.whole);
  impl.flush();
}

}  // namespace isthmus::cpu

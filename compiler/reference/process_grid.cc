// Processes in turn.
#include "compiler/reference/process_grid.h"

#include "isthmus/thread.h"

namespace isthmus::reference {

void ProcessGrid::advance() {
  ++generation_;
  waiting_ = 0;
  progress_.notify_all();
}

template <typename Condition>
Status ProcessGrid::waitFor(Condition condition) {
  std::unique_lock<std::mutex> lock(baton_, std::adopt_lock);
  while (!condition() && !isStuck_) {
    if (++waiting_ == running_) {
      isStuck_ = true;
      advance();
      break;
    }
    uint64_t seen = generation_;
    progress_.wait(lock, [&] { return generation_ != seen; });
  }
  bool holds = condition();
  lock.release();
  if (holds) return {};
  return failedPrecondition("every process waits for another, or for one that has ended");
}

StatusOr<std::vector<std::vector<Value>>> ProcessGrid::run(mlir::ModuleOp module,
                                                           const InterpreterOptions& options,
                                                           std::vector<Program> programs) {
  if (programs.size() != static_cast<size_t>(numReplicas_) * numPartitions_) {
    return invalidArgument("got ", programs.size(), " programs for ", numReplicas_, " replicas by ",
                           numPartitions_, " partitions");
  }
  std::vector<std::vector<Value>> results(programs.size());
  Status first;
  running_ = programs.size();
  ThreadGroup threads;
  for (size_t i = 0; i < programs.size(); ++i) {
    bool isStarted = threads.start({.name = "isthmus-process"}, [&, i] {
      baton_.lock();
      InterpreterOptions own = options;
      own.process = {static_cast<uint32_t>(i) / numPartitions_,
                     static_cast<uint32_t>(i) % numPartitions_, this};
      Interpreter interpreter(module, own);
      StatusOr<std::vector<Value>> given =
          interpreter.run(programs[i].function, std::move(programs[i].arguments));
      if (given.ok()) {
        results[i] = std::move(given).value();
      } else if (first.ok()) {
        first = given.status();
      }
      --running_;
      // Those who wait look again whether there is still somebody to wait for.
      advance();
      baton_.unlock();
    });
    if (isStarted) continue;
    std::lock_guard lock(baton_);
    first =
        resourceExhausted("no thread can be started for each of ", programs.size(), " processes");
    // Those that run wait for the others in vain.
    isStuck_ = true;
    advance();
    break;
  }
  threads.join();
  if (!first.ok()) return first;
  return results;
}

StatusOr<std::vector<std::vector<Value>>> ProcessGrid::exchange(const std::string& key,
                                                                const std::vector<uint32_t>& group,
                                                                uint32_t process,
                                                                std::vector<Value> brought) {
  // A fast process may be back before the others have left the last rendezvous.
  ISTHMUS_RETURN_IF_ERROR(waitFor([&] { return rendezvous_[key].brought.count(process) == 0; }));
  rendezvous_[key].brought[process] = std::move(brought);
  advance();
  ISTHMUS_RETURN_IF_ERROR(waitFor([&] { return rendezvous_[key].brought.size() == group.size(); }));
  Rendezvous& rendezvous = rendezvous_[key];
  std::vector<std::vector<Value>> all;
  for (uint32_t member : group) {
    auto it = rendezvous.brought.find(member);
    if (it == rendezvous.brought.end()) return invalidArgument("processes disagree on their group");
    all.push_back(it->second);
  }
  if (++rendezvous.left == group.size()) {
    rendezvous_.erase(key);
    advance();
  }
  return all;
}

void ProcessGrid::send(const std::string& channel, std::vector<Value> values) {
  channels_[channel].push_back(std::move(values));
  advance();
}

StatusOr<std::vector<Value>> ProcessGrid::receive(const std::string& channel) {
  ISTHMUS_RETURN_IF_ERROR(waitFor([&] { return !channels_[channel].empty(); }));
  std::vector<Value> values = std::move(channels_[channel].front());
  channels_[channel].pop_front();
  return values;
}

StatusOr<std::string> ProcessGrid::nextInfeed() {
  if (infeed_.empty()) return failedPrecondition("the infeed is empty");
  std::string function = std::move(infeed_.front());
  infeed_.pop_front();
  return function;
}

}  // namespace isthmus::reference

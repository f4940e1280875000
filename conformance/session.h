// What a check works with: a client of the plugin and short forms of the common calls.
//
// Each short form throws Failure if the plugin refuses what it may not refuse. The handles free
// themselves. A session notes the calls that it makes and the last program that it compiled, which
// reports show.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/plugin.h"
#include "conformance/values.h"

namespace isthmus::conformance {

class Session;

// Frees a handle of the plugin at its end.
template <typename Handle>
class Owned {
 public:
  Owned() = default;
  Owned(Session& session, Handle* handle) : session_(&session), handle_(handle) {}
  Owned(Owned&& other) noexcept { *this = std::move(other); }
  Owned& operator=(Owned&& other) noexcept {
    if (this == &other) return *this;
    reset();
    session_ = other.session_;
    handle_ = other.release();
    return *this;
  }
  ~Owned() { reset(); }

  Handle* get() const { return handle_; }
  Handle* release() {
    Handle* handle = handle_;
    handle_ = nullptr;
    return handle;
  }
  void reset();
  explicit operator bool() const { return handle_ != nullptr; }

 private:
  Session* session_ = nullptr;
  Handle* handle_ = nullptr;
};

using Buffer = Owned<PJRT_Buffer>;
using LoadedExecutable = Owned<PJRT_LoadedExecutable>;
using Executable = Owned<PJRT_Executable>;
using Event = Owned<PJRT_Event>;

struct CompileShape {
  int replicas = 1;
  int partitions = 1;
};

// What a check was at, in memory that outlives its process.
struct Progress {
  char call[256];       // the last one noted
  char program[65536];  // the last one compiled, or its beginning
};

class Session {
 public:
  // `progress`, if not null, is kept up to date.
  explicit Session(const Plugin& plugin, Progress* progress = nullptr);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const Plugin& plugin() const { return plugin_; }
  const PJRT_Api& api() const { return plugin_.api(); }
  // For sessions of other clients beside this one.
  Progress* progress() const { return progress_; }

  // Calls an entry and notes it. `must`: and fails the check unless it succeeds.
  template <typename Args>
  Outcome call(PJRT_Entry<Args> PJRT_Api::* slot, Args& args) {
    note(Plugin::functionName<Args>());
    Outcome outcome = plugin_.call(slot, args);
    if (!outcome.ok()) note("  -> " + nameOf(outcome.code) + ": " + outcome.message);
    return outcome;
  }
  template <typename Args>
  void must(PJRT_Entry<Args> PJRT_Api::* slot, Args& args) {
    succeed(Plugin::functionName<Args>(), call(slot, args));
  }
  // Fails the check unless the call gives an error with a message; UNIMPLEMENTED will do.
  template <typename Args>
  Outcome mustFail(PJRT_Entry<Args> PJRT_Api::* slot, Args& args, std::string_view why) {
    Outcome outcome = call(slot, args);
    refuse(Plugin::functionName<Args>(), outcome, why);
    return outcome;
  }
  // For what a plugin need not have: skips the check on UNIMPLEMENTED.
  template <typename Args>
  void mayLack(PJRT_Entry<Args> PJRT_Api::* slot, Args& args) {
    if (!plugin_.has(slot)) throw Skip(Plugin::functionName<Args>() + " is not in the table");
    Outcome outcome = call(slot, args);
    if (outcome.code == PJRT_Error_Code_UNIMPLEMENTED) throw Skip(outcome.message);
    succeed(Plugin::functionName<Args>(), outcome);
  }

  // The client, made when it is first asked for.
  PJRT_Client* client();
  std::vector<PJRT_Device*> devices();  // addressable
  PJRT_Device* device(size_t index = 0);
  PJRT_Memory* defaultMemory(PJRT_Device* device);
  std::string platformName();

  Buffer fromHost(const HostArray& array, PJRT_Device* device = nullptr);
  HostArray toHost(const Buffer& buffer);
  // The outcome of the copy, for buffers that may hold an error.
  Outcome tryToHost(PJRT_Buffer* buffer, HostArray* array);

  LoadedExecutable compile(std::string_view program, CompileShape shape = {});
  Outcome tryCompile(std::string_view program, LoadedExecutable* executable,
                     CompileShape shape = {}, std::string_view format = "mlir");
  Executable executableOf(const LoadedExecutable& loaded);
  size_t numOutputs(const LoadedExecutable& loaded);

  struct ExecuteSettings {
    std::vector<int64_t> nonDonatable;
    int launchId = 0;
    bool wantsEvents = true;
    PJRT_Device* device = nullptr;
  };
  // [device][argument] -> [device][output]; waits for the launch's own events.
  std::vector<std::vector<Buffer>> execute(const LoadedExecutable& loaded,
                                           const std::vector<std::vector<PJRT_Buffer*>>& arguments,
                                           const ExecuteSettings& settings);
  Outcome tryExecute(PJRT_LoadedExecutable* loaded,
                     const std::vector<std::vector<PJRT_Buffer*>>& arguments, size_t outputs,
                     const ExecuteSettings& settings, std::vector<std::vector<Buffer>>* results);
  // On one device.
  std::vector<Buffer> run(const LoadedExecutable& loaded,
                          const std::vector<const Buffer*>& arguments);
  // The results of a program for arrays.
  std::vector<HostArray> evaluate(std::string_view program,
                                  const std::vector<HostArray>& arguments);

  Outcome await(PJRT_Event* event);
  Outcome awaitReady(const Buffer& buffer);
  bool isDeleted(const Buffer& buffer);

  void expect(bool holds, std::string expected, std::string got);
  void expectEqual(const HostArray& expected, const HostArray& got, Tolerance tolerance = {});
  void succeed(std::string_view what, const Outcome& outcome);
  void refuse(std::string_view what, const Outcome& outcome, std::string_view why);

  void note(std::string line);
  const std::string& trace() const { return trace_; }
  const std::string& program() const { return program_; }

 private:
  const Plugin& plugin_;
  PJRT_Client* client_ = nullptr;
  std::string trace_;
  std::string program_;
  Progress* progress_;
};

template <typename Handle>
void Owned<Handle>::reset() {
  if (handle_ == nullptr) return;
  auto destroy = [&](auto slot, auto args, auto member) {
    args.*member = release();
    session_->must(slot, args);
  };
  if constexpr (std::is_same_v<Handle, PJRT_Buffer>) {
    destroy(&PJRT_Api::PJRT_Buffer_Destroy, make<PJRT_Buffer_Destroy_Args>(),
            &PJRT_Buffer_Destroy_Args::buffer);
  } else if constexpr (std::is_same_v<Handle, PJRT_LoadedExecutable>) {
    destroy(&PJRT_Api::PJRT_LoadedExecutable_Destroy, make<PJRT_LoadedExecutable_Destroy_Args>(),
            &PJRT_LoadedExecutable_Destroy_Args::executable);
  } else if constexpr (std::is_same_v<Handle, PJRT_Executable>) {
    destroy(&PJRT_Api::PJRT_Executable_Destroy, make<PJRT_Executable_Destroy_Args>(),
            &PJRT_Executable_Destroy_Args::executable);
  } else {
    destroy(&PJRT_Api::PJRT_Event_Destroy, make<PJRT_Event_Destroy_Args>(),
            &PJRT_Event_Destroy_Args::event);
  }
}

}  // namespace isthmus::conformance

// Writes what a program looks like after each stage to files, and reads edited ones back.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "isthmus/status.h"

namespace isthmus {

// The dump of one compilation: a folder `<root>/<sequence>-<program>` with one file per stage, for
// example `03-simplify.mlir`, `05-schedule.mlir`, `plan.txt`. All methods may be called from any
// thread. Problems with the file system are reported once on stderr and never fail a compilation.
class Dump {
 public:
  // `dumpRoot` (flag ISTHMUS_DUMP) and `overrideRoot` (flag ISTHMUS_OVERRIDE) may be empty: the
  // corresponding methods then do nothing.
  Dump(std::string_view dumpRoot, std::string_view overrideRoot, std::string_view programName);

  bool enabled() const { return !folder_.empty(); }
  // Whether there may be edited files.
  bool overrides() const { return !overrideFolder_.empty(); }

  // Where write() puts a file; relative if the root is.
  std::string pathOf(std::string_view fileName) const { return folder_ / fileName; }

  // Writes `text` to `<folder>/<fileName>`.
  void write(std::string_view fileName, std::string_view text);

  // The contents of `<overrideRoot>/<program>/<fileName>`, if there is such a file.
  std::optional<std::string> readOverride(std::string_view fileName) const;

 private:
  std::filesystem::path folder_;
  std::filesystem::path overrideFolder_;
};

}  // namespace isthmus

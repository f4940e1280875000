// The level from the flag, and the write.
#include "isthmus/log.h"

#include <unistd.h>

#include <string>

#include "isthmus/flags.h"

namespace isthmus {
namespace {

constexpr std::string_view kNames[] = {"debug", "info", "warning", "error", "off"};

LogLevel levelOfFlag() {
  const std::string& text = flagString("ISTHMUS_LOG");
  for (int level = 0; level < 5; ++level) {
    if (text == kNames[level]) return static_cast<LogLevel>(level);
  }
  logLine(LogLevel::kWarning,
          "ISTHMUS_LOG=" + text + " is not one of debug, info, warning, error, off; warning holds");
  return LogLevel::kWarning;
}

}  // namespace

bool logs(LogLevel level) {
  static const LogLevel from = levelOfFlag();
  return level >= from && level < LogLevel::kOff;
}

void logLine(LogLevel level, std::string_view text) {
  std::string line = "isthmus ";
  line += kNames[static_cast<int>(level)];
  line += ": ";
  line += text;
  line += '\n';
  // What cannot be written is lost; there is nowhere to say so.
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace isthmus

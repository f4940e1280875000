// The level from the flag, and the write.
#include "isthmus/log.h"

#include <unistd.h>

#include <string>

#include "isthmus/flags.h"

namespace isthmus {
namespace {

constexpr std::string_view kNames[] = {"debug", "info", "warning", "error", "off"};

constexpr std::string_view kCompilation = "compile";

LogLevel levelOfFlag() {
  const std::string& text = flagString("ISTHMUS_LOG");
  if (text == kCompilation) return LogLevel::kWarning;
  for (int level = 0; level < 5; ++level) {
    if (text == kNames[level]) return static_cast<LogLevel>(level);
  }
  logLine(LogLevel::kWarning,
          "ISTHMUS_LOG=" + text +
              " is not one of debug, info, warning, error, off, compile; warning holds");
  return LogLevel::kWarning;
}

void writeLine(std::string_view topic, std::string_view text) {
  std::string line = "isthmus ";
  line += topic;
  line += ": ";
  line += text;
  line += '\n';
  // What cannot be written is lost; there is nowhere to say so.
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace

bool logs(LogLevel level) {
  static const LogLevel from = levelOfFlag();
  return level >= from && level < LogLevel::kOff;
}

bool logsCompilation() {
  static const bool isAsked = flagString("ISTHMUS_LOG") == kCompilation;
  return isAsked;
}

void logCompilation(std::string_view text) {
  if (logsCompilation()) writeLine(kCompilation, text);
}

void logLine(LogLevel level, std::string_view text) {
  writeLine(kNames[static_cast<int>(level)], text);
}

}  // namespace isthmus

// Lines on stderr for the person who runs the program: ISTHMUS_LOG says from which level on.
#pragma once

#include <string_view>

#include "isthmus/status.h"

namespace isthmus {

enum class LogLevel { kDebug, kInfo, kWarning, kError, kOff };

// True if lines of this level are printed; for what is costly to say.
bool logs(LogLevel level);

// True if ISTHMUS_LOG is `compile`: what the compiler makes of each program, beside warnings.
bool logsCompilation();
// Prints "isthmus compile: text" and a line end, if so.
void logCompilation(std::string_view text);

// Prints "isthmus warning: text" and a line end, in one write, so that threads do not mix.
void logLine(LogLevel level, std::string_view text);

// The arguments are streamed into the line, if the level is printed and there is memory for it.
template <typename... P>
void log(LogLevel level, const P&... parts) noexcept {
  try {
    if (logs(level)) logLine(level, internal::concatenate(parts...));
  } catch (...) {  // there is nowhere to say so
  }
}

}  // namespace isthmus

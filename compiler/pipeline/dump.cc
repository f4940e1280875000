#include "compiler/pipeline/dump.h"

#include <cstdio>
#include <fstream>
#include <sstream>
#include <system_error>

namespace isthmus {
namespace {

// Program names come from the caller: only what is safe in a file name is kept.
std::string fileNameOf(std::string_view programName) {
  std::string name;
  for (char c : programName.substr(0, 80)) {
    bool safe = std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-';
    name += safe ? c : '_';
  }
  return name.empty() ? "program" : name;
}

void warnOnce(std::string_view what, std::string_view why) {
  static std::atomic<bool> warned{false};
  if (warned.exchange(true)) return;
  std::fprintf(stderr, "isthmus: cannot dump to %.*s: %.*s\n", static_cast<int>(what.size()),
               what.data(), static_cast<int>(why.size()), why.data());
}

}  // namespace

Dump::Dump(std::string_view dumpRoot, std::string_view overrideRoot, std::string_view programName) {
  static std::atomic<int> sequence{0};
  std::string name = fileNameOf(programName);
  if (!dumpRoot.empty()) {
    char number[16];
    std::snprintf(number, sizeof number, "%04d-", sequence++);
    std::filesystem::path folder = std::filesystem::path(dumpRoot) / (number + name);
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) {
      warnOnce(folder.string(), error.message());
    } else {
      folder_ = std::move(folder);
    }
  }
  if (!overrideRoot.empty()) overrideFolder_ = std::filesystem::path(overrideRoot) / name;
}

void Dump::write(std::string_view fileName, std::string_view text) {
  if (folder_.empty()) return;
  std::filesystem::path path = folder_ / fileName;
  std::ofstream out(path, std::ios::binary);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  if (!out) warnOnce(path.string(), "write failed");
}

std::optional<std::string> Dump::readOverride(std::string_view fileName) const {
  if (overrideFolder_.empty()) return std::nullopt;
  std::ifstream in(overrideFolder_ / fileName, std::ios::binary);
  if (!in) return std::nullopt;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace isthmus

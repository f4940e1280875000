// isthmus-conform: judges a PJRT plugin by the C API alone.
//
//   isthmus-conform PLUGIN.so [--only PATTERN] [--platform NAME] [--grade N] [--timeout SECONDS]
//                   [--junit FILE] [--html FILE] [--repro DIR] [--list] [--quiet]
//
// Runs the checks up to grade N (all of them by default) whose names contain PATTERN; with
// --platform, the client must report that name. Exit status: 0 if none failed, 1 if one did, 2 if
// the command line is wrong.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

#include "conformance/report.h"
#include "conformance/runner.h"

namespace isthmus::conformance {
namespace {

constexpr char kUsage[] = R"(usage: isthmus-conform PLUGIN.so [OPTION...]
Judges a PJRT plugin by the C API alone: a grade from 0 (it loads) to 4 (complete), and what it does wrong.
  --grade 0..4       the checks up to this grade (4)
  --only PATTERN     the checks with this in their name
  --platform NAME    the client must report this platform
  --option NAME=VALUE   an option of the client; several times for several. true and false are bools, 7 is an
                     int64, 1,2 are int64s, 0.5 is a float, all else strings; NAME:TYPE=VALUE says which it is
  --timeout SECONDS  how long one check may take (60)
  --junit FILE, --html FILE   reports
  --repro DIR        the program and the calls of each failure
  --list             what would be checked
  --quiet            failures only
)";

struct Options {
  RunSettings run;
  std::string only, junit, html, repro, platform;
  int grade = kNumGrades - 1;
  bool list = false;
  bool quiet = false;
  bool help = false;
};

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    auto value = [&](const char* name, std::string& into) {
      if (argument != name || i + 1 >= argc) return false;
      into = argv[++i];
      return true;
    };
    std::string number, option;
    if (value("--only", options.only) || value("--junit", options.junit) ||
        value("--html", options.html) || value("--repro", options.repro) ||
        value("--platform", options.platform)) {
      continue;
    }
    if (value("--option", option)) {
      try {
        options.run.clientOptions.push_back(parseClientOption(option));
      } catch (const std::runtime_error& error) {
        std::cerr << "isthmus-conform: --option " << option << ": " << error.what() << "\n";
        return false;
      }
    } else if (value("--grade", number)) {
      options.grade = std::atoi(number.c_str());
    } else if (value("--timeout", number)) {
      options.run.timeoutSeconds = std::atof(number.c_str());
    } else if (argument == "--list") {
      options.list = true;
    } else if (argument == "--help" || argument == "-h") {
      options.help = true;
    } else if (argument == "--quiet") {
      options.quiet = true;
    } else if (argument[0] != '-' && options.run.plugin.empty()) {
      options.run.plugin = argument;
    } else {
      std::cerr << "isthmus-conform: what is " << argument << "?\n";
      return false;
    }
  }
  const bool complete = options.list || options.help || !options.run.plugin.empty();
  const bool valid =
      options.grade >= 0 && options.grade < kNumGrades && options.run.timeoutSeconds > 0;
  if (!complete || !valid) {
    std::cerr << kUsage;
  }
  return complete && valid;
}

std::vector<Check> selectChecks(const Options& options) {
  std::vector<Check> selected;
  for (Check& check : allChecks()) {
    if (static_cast<int>(check.grade) > options.grade) continue;
    if (check.name.find(options.only) != std::string::npos) selected.push_back(std::move(check));
  }
  return selected;
}

bool writeFile(const std::string& path, const std::string& text) {
  if (path.empty()) return true;
  std::ofstream file(path);
  file << text;
  if (file.flush()) return true;
  std::cerr << "isthmus-conform: cannot write " << path << "\n";
  return false;
}

int run(const Options& options) {
  const std::vector<Check> checks = selectChecks(options);
  if (options.list) {
    for (const Check& check : checks) {
      std::cout << static_cast<int>(check.grade) << "  " << check.name << ": " << check.rule
                << "\n";
    }
    return 0;
  }
  if (checks.empty()) {
    std::cerr << "isthmus-conform: no check has '" << options.only << "' in its name\n";
    return 2;
  }
  if (!options.platform.empty()) setenv("ISTHMUS_CONFORM_PLATFORM", options.platform.c_str(), 1);
  const std::vector<Result> results = runChecks(checks, options.run, [&](const Result& result) {
    if (!options.quiet || result.isFailure()) std::cout << toText(result) << std::flush;
  });
  std::cout << summary(results);
  bool written = writeFile(options.junit, toJunit(results, options.run.plugin)) &&
                 writeFile(options.html, toHtml(results, options.run.plugin));
  if (!options.repro.empty() && !writeRepros(results, options.repro)) {
    std::cerr << "isthmus-conform: cannot write to " << options.repro << "\n";
    written = false;
  }
  const bool failed = std::any_of(results.begin(), results.end(),
                                  [](const Result& result) { return result.isFailure(); });
  return !failed && written ? 0 : 1;
}

}  // namespace
}  // namespace isthmus::conformance

int main(int argc, char** argv) {
  isthmus::conformance::Options options;
  if (!isthmus::conformance::parse(argc, argv, options)) return 2;
  if (options.help) return std::fputs(isthmus::conformance::kUsage, stdout) < 0;
  return isthmus::conformance::run(options);
}

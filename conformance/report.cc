#include "conformance/report.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

namespace isthmus::conformance {
namespace {

constexpr const char* kGradeNames[] = {"loads", "runs x + 1", "trains a perceptron",
                                       "what JAX does every day", "complete"};

const char* nameOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass:
      return "pass";
    case Verdict::kFail:
      return "FAIL";
    case Verdict::kSkip:
      return "skip";
    case Verdict::kCrash:
      return "CRASH";
    case Verdict::kHang:
      return "HANG";
  }
  return "?";
}

std::string escape(const std::string& text) {
  std::string escaped;
  for (char c : text) {
    if (c == '<') {
      escaped += "&lt;";
    } else if (c == '>') {
      escaped += "&gt;";
    } else if (c == '&') {
      escaped += "&amp;";
    } else if (c == '"') {
      escaped += "&quot;";
    } else if (static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t') {
      escaped += c;
    } else {
      escaped += '?';
    }
  }
  return escaped;
}

size_t count(const std::vector<Result>& results, Verdict verdict) {
  return static_cast<size_t>(std::count_if(results.begin(), results.end(),
                                           [&](const Result& r) { return r.verdict == verdict; }));
}

// "add" and "f32" of "op.add.f32.edge".
bool splitOpName(const std::string& name, std::string* op, std::string* type) {
  std::istringstream in(name);
  std::string family;
  return std::getline(in, family, '.') && family == "op" && std::getline(in, *op, '.') &&
         std::getline(in, *type, '.');
}

// For each operation and type: how many cases passed of how many.
struct Support {
  int passed = 0;
  int all = 0;
};
using Matrix = std::map<std::string, std::map<std::string, Support>>;

Matrix supportMatrix(const std::vector<Result>& results) {
  Matrix matrix;
  for (const Result& result : results) {
    std::string op, type;
    if (!splitOpName(result.check->name, &op, &type)) continue;
    Support& support = matrix[op][type];
    ++support.all;
    support.passed += result.verdict == Verdict::kPass;
  }
  return matrix;
}

std::string matrixHtml(const Matrix& matrix) {
  std::set<std::string> types;
  for (const auto& [op, row] : matrix) {
    for (const auto& [type, support] : row) types.insert(type);
  }
  std::string html = "<table><tr><th></th>";
  for (const std::string& type : types) html += "<th>" + escape(type) + "</th>";
  html += "</tr>\n";
  for (const auto& [op, row] : matrix) {
    html += "<tr><th>" + escape(op) + "</th>";
    for (const std::string& type : types) {
      auto it = row.find(type);
      if (it == row.end()) {
        html += "<td></td>";
        continue;
      }
      const Support& s = it->second;
      html += s.passed == s.all ? "<td class=pass>" : "<td class=fail>";
      html += std::to_string(s.passed) + "/" + std::to_string(s.all) + "</td>";
    }
    html += "</tr>\n";
  }
  return html + "</table>\n";
}

// What each grade means, and how far the plugin is with it.
std::string gradesHtml(const std::vector<Result>& results) {
  const int grade = gradeOf(results);
  std::string html =
      "<h2>Grades</h2>\n<p>A plugin has a grade if it passes all checks of it and of those "
      "below.\n<table><tr><th>grade</th><th>what a plugin of it does</th><th>checks passed</th>"
      "<th></th></tr>\n";
  for (int i = 0; i < kNumGrades; ++i) {
    Support support;
    for (const Result& result : results) {
      if (static_cast<int>(result.check->grade) != i) continue;
      ++support.all;
      support.passed += result.verdict == Verdict::kPass;
    }
    html += "<tr><td>" + std::to_string(i) + "</td><td>" + kGradeNames[i] + "</td><td>" +
            std::to_string(support.passed) + " of " + std::to_string(support.all) + "</td>" +
            (support.all == 0 ? "<td class=skip>not asked"
             : i <= grade     ? "<td class=pass>has it"
                              : "<td class=fail>not yet") +
            "</td></tr>\n";
  }
  return html + "</table>\n";
}

// The calls of a failed check as a comment above a program that makes a client, so that a debugger
// can stand where the check stood.
std::string reproSource(const Result& result) {
  std::string source = "// " + result.check->name + ": " + result.check->rule + "\n// expected " +
                       result.expected + "\n// got " + result.got +
                       "\n// The calls of the check, in order:\n";
  std::istringstream trace(result.trace);
  for (std::string line; std::getline(trace, line);) source += "//   " + line + "\n";
  return source + R"(//
// Build: cc -I INCLUDE repro.c -ldl, with the pjrt_c_api.h of OpenXLA in INCLUDE/xla/pjrt/c.
#include <dlfcn.h>
#include <stdio.h>

#include "xla/pjrt/c/pjrt_c_api.h"

int main(int argc, char** argv) {
  void* library = dlopen(argv[1], RTLD_NOW);
  if (!library) return fprintf(stderr, "%s\n", dlerror()), 1;
  const PJRT_Api* (*get_api)(void) = (const PJRT_Api* (*)(void))dlsym(library, "GetPjrtApi");
  const PJRT_Api* api = get_api();
  PJRT_Plugin_Initialize_Args initialize = {PJRT_Plugin_Initialize_Args_STRUCT_SIZE};
  api->PJRT_Plugin_Initialize(&initialize);
  PJRT_Client_Create_Args create = {PJRT_Client_Create_Args_STRUCT_SIZE};
  PJRT_Error* error = api->PJRT_Client_Create(&create);
  printf("client %p, error %p\n", (void*)create.client, (void*)error);
  // Add the calls above here.
  return error != NULL;
}
)";
}

}  // namespace

std::string describeGrade(int grade) {
  if (grade < 0) return "none";
  return std::to_string(grade) + " (" + kGradeNames[grade] + ")";
}

std::string toText(const Result& result) {
  std::string text = std::string(nameOf(result.verdict)) + "  " + result.check->name;
  if (result.verdict == Verdict::kSkip) return text + ": " + result.got + "\n";
  if (!result.isFailure()) return text + "\n";
  text += "\n      rule      " + result.check->rule + "\n      expected  " + result.expected +
          "\n      got       " + result.got + "\n";
  return text;
}

std::string summary(const std::vector<Result>& results) {
  const int grade = gradeOf(results);
  std::string text = std::to_string(count(results, Verdict::kPass)) + " pass, " +
                     std::to_string(count(results, Verdict::kFail)) + " fail, " +
                     std::to_string(count(results, Verdict::kCrash)) + " crash, " +
                     std::to_string(count(results, Verdict::kHang)) + " hang, " +
                     std::to_string(count(results, Verdict::kSkip)) +
                     " skip\ngrade: " + describeGrade(grade) + "\n";
  const auto failure = std::find_if(results.begin(), results.end(),
                                    [](const Result& result) { return result.isFailure(); });
  if (failure == results.end()) return text;
  if (failure->check->name.starts_with("plugin.")) {
    return text + "It cannot be judged here: " + failure->check->name + ": " + failure->got + "\n";
  }
  text += "missing for the next:\n";
  int shown = 0;
  for (const Result& result : results) {
    if (!result.isFailure() || static_cast<int>(result.check->grade) > grade + 1) continue;
    if (++shown > 10) return text + "  …\n";
    text += "  " + result.check->name + "\n";
  }
  return text;
}

std::string toJunit(const std::vector<Result>& results, const std::string& plugin) {
  const size_t failures = count(results, Verdict::kFail) + count(results, Verdict::kHang);
  std::string xml = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<testsuites><testsuite name=\"" +
                    escape("isthmus-conform " + plugin) + "\" tests=\"" +
                    std::to_string(results.size()) + "\" failures=\"" + std::to_string(failures) +
                    "\" errors=\"" + std::to_string(count(results, Verdict::kCrash)) +
                    "\" skipped=\"" + std::to_string(count(results, Verdict::kSkip)) + "\">\n";
  for (const Result& result : results) {
    char seconds[32];
    std::snprintf(seconds, sizeof(seconds), "%.3f", result.seconds);
    xml += "<testcase classname=\"grade" + std::to_string(static_cast<int>(result.check->grade)) +
           "\" name=\"" + escape(result.check->name) + "\" time=\"" + seconds + "\">";
    if (result.verdict == Verdict::kSkip) {
      xml += "<skipped message=\"" + escape(result.got) + "\"/>";
    } else if (result.isFailure()) {
      const char* tag = result.verdict == Verdict::kCrash ? "error" : "failure";
      xml += std::string("<") + tag + " message=\"" +
             escape("expected " + result.expected + ", got " + result.got) + "\">" +
             escape(result.check->rule + "\n" + result.trace + "\n" + result.program) + "</" + tag +
             ">";
    }
    xml += "</testcase>\n";
  }
  return xml + "</testsuite></testsuites>\n";
}

std::string toHtml(const std::vector<Result>& results, const std::string& plugin) {
  std::string html =
      R"(<!doctype html><html lang="en"><meta charset="utf-8"><title>PJRT conformance</title><style>
body{font:15px sans-serif;margin:2em auto;max-width:70em}pre{background:#f4f4f4;padding:1em;overflow:auto}
table{border-collapse:collapse;font-size:12px}td,th{border:1px solid #ddd;padding:2px 5px}th{text-align:left}
.pass{background:#d8f0d8}.fail{background:#f6c8c8}.skip{background:#eee}</style>
)";
  html += "<h1>PJRT conformance of " + escape(plugin) + "</h1>\n" +
          "<p><code>isthmus-conform</code> called this plugin by PJRT's C API alone, each check in "
          "a process of its own. To see one again: <code>isthmus-conform PLUGIN.so --only "
          "NAME</code>, with <code>--repro DIR</code> for its program and its calls.\n<pre>" +
          escape(summary(results)) + "</pre>\n" + gradesHtml(results) + "<h2>Failures</h2>\n";
  if (std::none_of(results.begin(), results.end(), [](const Result& r) { return r.isFailure(); })) {
    html += "<p>None.\n";
  }
  for (const Result& result : results) {
    if (!result.isFailure()) continue;
    html += "<details><summary class=fail>" + escape(result.check->name) + ": " +
            escape(result.got) + "</summary><p>Rule: " + escape(result.check->rule) +
            "<p>Expected: " + escape(result.expected);
    if (!result.program.empty()) html += "<pre>" + escape(result.program) + "</pre>";
    if (!result.trace.empty()) html += "<pre>" + escape(result.trace) + "</pre>";
    html += "</details>\n";
  }
  html +=
      "<h2>Operations and types</h2>\n<p>Cases that passed of those that were run, each compared "
      "with the "
      "reference evaluator of StableHLO; where nothing stands, there is no case.\n" +
      matrixHtml(supportMatrix(results)) +
      "<h2>All checks</h2>\n<table><tr><th>result</th><th>grade</th><th>check</th><th>rule</th>"
      "<th>seconds</th></tr>\n";
  for (const Result& result : results) {
    char seconds[32];
    std::snprintf(seconds, sizeof(seconds), "%.2f", result.seconds);
    const bool isSkipped = result.verdict == Verdict::kSkip;
    html += std::string("<tr><td class=") +
            (isSkipped            ? "skip"
             : result.isFailure() ? "fail"
                                  : "pass") +
            ">" + nameOf(result.verdict) + "</td><td>" +
            std::to_string(static_cast<int>(result.check->grade)) + "</td><td>" +
            escape(result.check->name) + "</td><td>" + escape(result.check->rule) +
            (isSkipped ? " (skipped: " + escape(result.got) + ")" : "") + "</td><td>" + seconds +
            "</td></tr>\n";
  }
  return html + "</table></html>\n";
}

bool writeRepros(const std::vector<Result>& results, const std::string& folder) {
  auto write = [&](const std::string& name, const std::string& text) {
    std::ofstream file(folder + "/" + name);
    file << text;
    return static_cast<bool>(file.flush());
  };
  for (const Result& result : results) {
    if (!result.isFailure()) continue;
    if (!result.program.empty() && !write(result.check->name + ".mlir", result.program))
      return false;
    if (!write(result.check->name + ".c", reproSource(result))) return false;
  }
  return true;
}

}  // namespace isthmus::conformance

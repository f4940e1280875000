#include "conformance/op_cases.h"

#include <set>
#include <stdexcept>

namespace isthmus::conformance {

// conformance/op_cases_data.S: the text of all cases.
extern "C" const char isthmus_op_cases_begin[];
extern "C" const char isthmus_op_cases_end[];

namespace {

// Lines of the file, each `keyword rest`:
//   case OP TYPES TOLERANCE NAME / program BYTES, then so many bytes and a newline / captures /
// (a tolerance is a number of ulps, after "max" of those of the largest element)
//   argument TYPE DIMS HEX, result TYPE DIMS HEX with dims as 2x3 ("-" for none) / end
class CaseReader {
 public:
  explicit CaseReader(std::string_view text) : text_(text) {}

  std::vector<OpCase> readAll() {
    std::vector<OpCase> cases;
    while (!text_.empty()) {
      std::string_view line = takeLine();
      const std::string_view keyword = takeWord(line);
      if (keyword == "case") {
        OpCase& added = cases.emplace_back();
        added.op = takeWord(line);
        added.types = takeWord(line);
        added.tolerance = readTolerance(takeWord(line));
        added.name = line;
      } else if (cases.empty()) {
        throw std::runtime_error("cases begin with a line `case`");
      } else if (keyword == "program") {
        cases.back().program = takeBytes(std::stoull(std::string(takeWord(line))));
      } else if (keyword == "captures") {
        cases.back().captures = true;
      } else if (keyword == "argument" || keyword == "result") {
        HostArray array = readArray(line);
        (keyword == "result" ? cases.back().results : cases.back().arguments)
            .push_back(std::move(array));
      } else if (keyword != "end") {
        throw std::runtime_error("unknown line of a case: " + std::string(keyword));
      }
    }
    return cases;
  }

 private:
  std::string_view takeLine() {
    const size_t end = std::min(text_.find('\n'), text_.size());
    std::string_view line = text_.substr(0, end);
    text_.remove_prefix(std::min(end + 1, text_.size()));
    return line;
  }
  static std::string_view takeWord(std::string_view& line) {
    const size_t end = std::min(line.find(' '), line.size());
    std::string_view word = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
    return word;
  }
  std::string takeBytes(size_t count) {
    if (count + 1 > text_.size()) throw std::runtime_error("a program goes past the end");
    std::string bytes(text_.substr(0, count));
    text_.remove_prefix(count + 1);
    return bytes;
  }
  static Tolerance readTolerance(std::string_view text) {
    Tolerance tolerance;
    tolerance.ofLargest = text.starts_with("max");
    if (tolerance.ofLargest) text.remove_prefix(3);
    tolerance.ulps = std::stoll(std::string(text));
    return tolerance;
  }
  static HostArray readArray(std::string_view line) {
    HostArray array;
    array.type = typeOfName(takeWord(line));
    if (array.type == PJRT_Buffer_Type_INVALID) throw std::runtime_error("unknown element type");
    std::string_view dims = takeWord(line);
    while (dims != "-" && !dims.empty()) {
      const size_t end = std::min(dims.find('x'), dims.size());
      array.dims.push_back(std::stoll(std::string(dims.substr(0, end))));
      dims.remove_prefix(std::min(end + 1, dims.size()));
    }
    auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
    for (size_t i = 0; i + 1 < line.size(); i += 2) {
      array.bytes.push_back(static_cast<char>(digit(line[i]) * 16 + digit(line[i + 1])));
    }
    if (array.bytes.size() != static_cast<size_t>(array.size()) * elementBytes(array.type)) {
      throw std::runtime_error("an array of another size than its dimensions");
    }
    return array;
  }

  std::string_view text_;
};

// What every framework's everyday programs are made of, in the types that they use.
Grade gradeOf(const OpCase& c) {
  static const std::set<std::string> kOps = {"add",
                                             "subtract",
                                             "multiply",
                                             "divide",
                                             "maximum",
                                             "minimum",
                                             "negate",
                                             "exponential",
                                             "log",
                                             "tanh",
                                             "sqrt",
                                             "rsqrt",
                                             "abs",
                                             "sign",
                                             "power",
                                             "compare",
                                             "select",
                                             "convert",
                                             "constant",
                                             "iota",
                                             "reshape",
                                             "transpose",
                                             "slice",
                                             "pad",
                                             "concatenate",
                                             "reverse",
                                             "gather",
                                             "scatter",
                                             "reduce",
                                             "while",
                                             "if",
                                             "case",
                                             "dot_general",
                                             "convolution",
                                             "dynamic_slice",
                                             "dynamic_update_slice",
                                             "broadcast_in_dim",
                                             "sort",
                                             "clamp",
                                             "and",
                                             "or",
                                             "not",
                                             "xor",
                                             "floor",
                                             "ceil",
                                             "logistic",
                                             "sine",
                                             "cosine"};
  static const std::set<std::string> kTypes = {"f32", "s32", "pred", "u8", "u32", "s64"};
  // XLA's own plugin for CPUs returns any operand where one is no number, unless it is told not to.
  const bool isAboutNan =
      c.types == "f32" && (c.op == "maximum" || c.op == "minimum" || c.op == "clamp");
  // Nor does it take functions for elements that read values from outside.
  const bool isEveryday =
      kOps.contains(c.op) && kTypes.contains(c.types) && !isAboutNan && !c.captures;
  return isEveryday ? Grade::kFramework : Grade::kComplete;
}

void runCase(Session& s, const Check& check) {
  const OpCase& c = opCases()[check.index];
  LoadedExecutable executable;
  const Outcome compiled = s.tryCompile(c.program, &executable);
  if (compiled.code == PJRT_Error_Code_UNIMPLEMENTED) {
    throw Failure("the operation " + c.op + " of " + c.types, "UNIMPLEMENTED: " + compiled.message);
  }
  s.succeed("PJRT_Client_Compile", compiled);
  std::vector<Buffer> buffers;
  std::vector<const Buffer*> pointers;
  buffers.reserve(c.arguments.size());
  for (const HostArray& array : c.arguments) {
    buffers.push_back(s.fromHost(array));
    pointers.push_back(&buffers.back());
  }
  const std::vector<Buffer> results = s.run(executable, pointers);
  s.expect(results.size() == c.results.size(), std::to_string(c.results.size()) + " results",
           std::to_string(results.size()));
  for (size_t i = 0; i < results.size(); ++i) {
    s.expectEqual(c.results[i], s.toHost(results[i]), c.tolerance);
  }
}

std::string describe(Tolerance tolerance) {
  if (tolerance.ulps == 0) return "bit for bit";
  return "within " + std::to_string(tolerance.ulps) + " ulps" +
         (tolerance.ofLargest ? " of the largest element" : "");
}

}  // namespace

std::vector<OpCase> parseOpCases(std::string_view text) { return CaseReader(text).readAll(); }

const std::vector<OpCase>& opCases() {
  static const std::vector<OpCase> cases = parseOpCases(
      {isthmus_op_cases_begin, static_cast<size_t>(isthmus_op_cases_end - isthmus_op_cases_begin)});
  return cases;
}

std::vector<Check> opChecks() {
  std::vector<Check> checks;
  const std::vector<OpCase>& cases = opCases();
  for (size_t i = 0; i < cases.size(); ++i) {
    const OpCase& c = cases[i];
    checks.push_back(
        {"op." + c.op + "." + c.types + (c.name.empty() ? "" : "." + c.name), gradeOf(c),
         "an operation computes what StableHLO's specification says, " + describe(c.tolerance),
         &runCase, i});
  }
  return checks;
}

}  // namespace isthmus::conformance

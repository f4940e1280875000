#include "tools/op_cases.h"

#include <fstream>
#include <sstream>

namespace isthmus {

std::vector<OpCase> readOpCases(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::vector<OpCase> cases;
  std::string line;
  while (std::getline(in, line)) {
    std::istringstream words(line);
    std::string keyword, tolerance;
    words >> keyword;
    if (keyword == "case") {
      OpCase& one = cases.emplace_back();
      words >> one.op >> one.type >> tolerance >> one.name;
    } else if (keyword == "program" && !cases.empty()) {
      size_t bytes = 0;
      words >> bytes;
      cases.back().program.resize(bytes);
      in.read(cases.back().program.data(), static_cast<std::streamsize>(bytes));
    }
  }
  return cases;
}

std::string oneLine(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\t') c = ' ';
  }
  return text;
}

}  // namespace isthmus

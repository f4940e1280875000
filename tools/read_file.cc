#include "tools/read_file.h"

#include <fstream>
#include <iostream>
#include <iterator>

namespace isthmus {

StatusOr<std::string> readAll(const std::string& name) {
  std::ifstream file;
  if (name != "-") {
    file.open(name, std::ios::binary);
    if (!file) return notFound(name, ": cannot be read");
  }
  std::istream& in = name == "-" ? std::cin : file;
  return std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

}  // namespace isthmus
